"""Word lists of general language.

``SENTENCE_STARTERS`` never begin a name in running text; ``COMMON_WORDS`` are too ordinary to be names merely because a
sentence begins with them in a capital.
"""

from ..model.lazy import lazy_pattern


def _word_set(text: str) -> frozenset[str]:
    return frozenset(text.split())


SENTENCE_STARTERS = _word_set(
    """
    a aah about above absolutely according across actually after afterward afterwards again against ah aha ahh ahhh
    ain aint all along alongside already alright also although always am amazing amid among amongst an and another
    any anytime anyway anyways apparently are aren arent around as asap ask asked asking at attended attending aw
    awesome aww awww based basically bc be because been before behind being below beneath beside besides between
    beyond born both bought bravo brb bring brought btw but buy by bye call called calling came can cant cause
    certainly check cheers clearly come coming compare congrats congratulations considering cool could couldn
    couldnt coz currently cuz cya damn dang darn dear definitely describe despite did didn didnt do does doesn
    doesnt don done dont down due dunno during each eek either enjoy enjoyed enough especially even eventually ever
    every exactly excellent except excluding explain fantastic feel feeling feels felt few finally find first
    firstly following for formerly fortunately found from furthermore fyi gave geez generally get getting gimme give
    given giving glad go going gone gonna goodbye gosh got gotcha gotta guess ha had hadn hah haha hahah hahaha has
    hasn hasnt have haven havent having he hear heard hearing hehe hello help helped helping hence her here heres
    hers herself hes hey hi him himself his hiya hm hmm honestly hooray hope hopefully hoping how howdy however hows
    huh hurray i id idk if ikr ill im imagine imo in including incredible indeed initially inside instead into is
    isn isnt it itll its itself ive jeez jk join joined just keep keeping kept kinda knew know knowing kudos last
    lastly lately later learn learned learning least lemme less let lets like likewise list literally lived living
    lmao lol look looked looking looks love loved loving luckily madam made make making many may maybe me meanwhile
    meet meeting mention messrs met might mine miss missed missing mm mmm more moreover most mr mrs ms much must my
    myself nah name named near need needed neither never nevertheless next nice no none nonetheless nope nor not now
    np nvm obviously of off often oh ohh ok okay omg on once one ones only onto oof ooh ooo oooh oops or originally
    other others otherwise ouch our ours ourselves out outside over particularly past per perhaps personally phew
    play played playing please pls possibly previously probably ps put r rarely read reading really recently
    regarding remember remind rn sadly said saw say says second secondly see seeing seems seen seldom send sent
    seriously several shall she shes should shouldn shouldnt show showed similarly since sir so some sometimes soon
    sorry sorta sounds speak speaking specifically start started starting still such suddenly sure surely take taken
    taking talk talked talking tbh tell telling than thank thanks that thats the their theirs them themselves then
    there therefore theres these they theyre theyve think thinking third this tho those though thought through
    throughout thus thx till titled to today told tomorrow tonight too took totally toward towards tried truly try
    trying ttyl twice ty u ugh uh uh-huh uhh um umm under underneath unfortunately unless until up upon ur us use
    used using usually via visit visited visiting wanna want wanted was wasn wasnt watch watched watching we welcome
    well went were weren werent weve what whatever whats when whenever where wheres wherever whether whew which
    while who whoa whom whos whose why will wish wishing with within without woah won wonderful wont woo woohoo work
    worked working would wouldn wouldnt wow y'all ya yall yas yay yea yeah yep yes yess yesterday yet yikes yo you
    youll your youre yours yourself youve yum yup
    """
)
"""Function words, interjections, and verbs that begin a sentence."""

COMMON_WORDS = _word_set(
    """
    ability able accept access accordingly achieve achieved action active activities activity actor actress add
    added adding addition additional additionally address adventure advice affect afternoon age agree agreed ahead
    airport album albums allergy allow allows almost alone alternatively amount analyst ancient angel angry animal
    animals anniversary answer answers anxiety anybody anyone anything anywhere apart apartment app apply
    appointment appreciate appreciated approach apps architecture area areas arm army arrive arrived art artist
    artists aside assist assistance ate atmosphere attacks attention aunt author authors autumn available average
    avoid awareness away baby back bad bag bake baking balance banana band bank bar baseball basic basketball bath
    battery beach bear beat beautiful beauty became become bed bee beer beginning believe believed benefit best bet
    better big biggest bike biking billion biology bird birds birth birthday bit black blend blessed blue blueberry
    board boat body boil book books boring boss bottle box boy boyfriend brand brands brave bread break breakfast
    breath bridge bright bringing brings bro brother brown brush buddy bug build building built bummer bunch bus
    business busy butter butterfly button cable cafe cake calm camera camping captain capture car card cards care
    career caring carry case cash cat catch cats caught celebrate century certain chair challenge challenges
    challenging chance change changed changes changing chapter character characters charger chat cheese chef
    chemistry cherish chess chicken children chocolate choice choices choose chop chose church city class classes
    classic classical clay clear clever client clients climbing clock close closed closer clothes clothing coach
    code coding coffee coin cold college color colors combination combine combined comes comfortable commitment
    common communication communities community company compared competition competitive completely complex computer
    concerns concert conclusion concurrent confidence confident connect connected connecting connection connections
    conscience consequently consider contact contemporary continue continued contrast contribute contributing
    contributions control conversation cooking corner cost count country couple courage course cousin cover cozy
    crash crazy create created creates creating crucial cultural culture cup current customer customers cut cute
    cycling dad daddy daily dance dancing dangerous dark data database date daughter day days deal dealing death
    debt decade decide decided decision dedicated dedication deep degree delighted delivery depression depth desert
    design designer designs desk dessert detail details determination determined develop developer devil diet
    difference different difficult dinner director discount discover discovered discuss dish ditto diverse divorce
    doctor dog dogs doing domestic door dozen dragon drain drama drawing dream dreams dress drink drinking drive
    driver driving drove drums dude dye dynamic earlier early earth easily easy eat eating economic educational
    effect effective effects effort eight eighty elder elements eleven else email emotional emotions empty encourage
    encouragement encouraging end ended ends energy engaged engineer enjoying ensure environment epic episode error
    escape essential evening event events everybody everyone everything everywhere exam example examples excited
    exciting exercise expect experience experiences explore explored exploring extra extremely eye face faced faces
    facing fact facts failure faith fall false families family famous fan fans fantasy far farm farmer fashion fast
    father favorite favourite fear fears feature features feelings female festival fetch fifty fight figure file
    filled film films final finance finding finger fingers finish finished fire fish fit fitness five fix fixed
    flight floor flower flowers focus focused focusing fold folder folks follow followed food football forest fork
    form forty forward fought four free freedom fresh friend friendly friends friendship fries fruit fry full fully
    fun funny further future gain gallery game games gaming garden garlic gather gathering genre gets ghost gift
    gifts girl girlfriend gives global goal goals goes gold golf good gorgeous government gradually grandfather
    grandma grandmother grandpa granny grass grateful gray great greatly green grew grey grill group grow growing
    growth guidance guitar guy guys gym half hand handle hands handsome hang happen happened happiness happy hard
    hardware hat head health healthy heavy helps hero hidden high highlighted highlights hiking historic historical
    history hit hockey hold holding holiday home honest hopes horse hospital hot hotel hour hours house huge human
    humans hundred husband iconic idea ideas identity impact importance important impossible impressed impressive
    improve improvements improving include included increase increasing info injury inspiration inspire inspired
    inspiring intense interest interested interesting interests international internet introduction involved island
    issue issues jealous jewelry job joining journey joy justice keen key keyboard keys kid kids kind kindness king
    kitchen kitten knife known lab lack lake lamp landscape language laptop large largely latest laughter law lawn
    lawyer lead leader leads leaf leave leaves left lesson lessons letter level levels library life light limit
    lines link lion literature little live lives loan local locations long longer lose losing loss lost lot lots
    lovely low lucky lunch magazine magical mail main mainly maintain maintaining makes male mama man manage managed
    manager managing marathon market marriage match matches math matter matters mean meaning means medicine
    meditation meds members membership memorable memories memory men mental mentioned mentor message middle midnight
    million mind minute minutes mirror mistake mistakes mix mixed model modern mom moment moments mommy money
    monster month monthly months moon morning mostly mother motivated motivation mountain mountains mouse move moved
    moves movie movies moving multiple mum mummy museum music names national natural nature nearby nearly necessary
    needs negative neighbor neighborhood neighbors neighbour network new news newspaper night nights nine ninety
    noble nobody noon normal normally notable notably note notes nothing noticed novel novels nurse obstacles ocean
    offer offering offers office officer oil old onion online open opened opening opinion opportunities opportunity
    option options orange order organizations organized outdoor outdoors overall overview own package paid pain
    painting pal papa paper parade parents park part participated particular partly parts party pass passion path
    patience patterns pay paying peace people perfect performance performing persistence person personal personality
    perspective pet pets phone photo photos physical physically physics piano pick picked picture piece pieces pilot
    pink pitch pizza place plan plane planned planning plans plant plants plate player players plays pleased plenty
    plus poem poems poetry point points police political politics poor pop popular position positive possible post
    posted potato potential pottery pour power powerful practical practice practicing precious prepare prepared
    presence present president pretty prevent previous price prince princess private problem problems process
    products professional professor progress project projects promotion proper protect proud provide public pull
    puppy purple purpose pursue pursuing push putting quality quarter queen question questions quick quickly quite
    rabbit race radio rain ran range rare rate rather reach ready real reality reason reasons receive recent recipe
    recommendations red reduce reflect reflects regular rejection related relationship relationships relaxation
    release relief religion rely remove rent replace represent require research researcher residents resort respect
    responsibility rest restaurant result results return returned rice right ring rinse risk river road roast rock
    role roof room roses roughly routine run running sad safe safety salad sale salt same save saving saying scare
    scared scene scenes school science scientist screen sea search season section seek seem self sell sense sentence
    series serve served server serving session sessions set setback sets setting seven seventy shape share shared
    sharing ship shirt shocked shoes shop short shot showing shown shows side sign significant silly silver similar
    simple singer singing sister sit sitting situation situations six sixty size skiing skills sky sleep sleeping
    slice slow small smaller smart snack snake snow soap soccer social society soda soft software sold soldier
    solution solutions solve somebody somehow someone something sometime somewhat somewhere son song songs sound
    soup special specific spend spending spent spider spill spiritual spoon sports spot spread spring sprinkle
    stability stage stand standing stands star stars starts startup station stay staying step steps stir stomach
    stood stop stopped store stories storm story strange street strength stress strong struggles struggling student
    students study studying stuff style styles success successful sugar suggest suggestion suggestions suit summary
    summer sun sunflower sunrise sunset sunshine super support suppose surfing surprised surround surrounded survive
    sustainability sweet swimming switch system table tackle takes talent target taste taught tax tea teach teacher
    team teams techniques television ten tennis terms test text thankful thankfully theater theatre theme therapy
    thing things thirty thoughts thousand three thrilled throw ticket tickets tiger time times tiny tip tips tired
    together tomato tons top topic topics toss total touch tough tournament towel town toy toys track traditional
    train transition travel traveling travelling treat treatment tree trees trip truck true trust truth turn turned
    turning turns turtle twelve twenty two type types typically ultimately uncle unconditional understand
    understanding understood unique university upcoming update updated updates useful user users uses vacation value
    varies variety various vegan vegetable veggie veggies version very video videos view views village villain
    violin vision voice volleyball vs wait waiter waiting wake walk walked walking wall war warm water way ways weak
    wear wearing weather website wedding week weekday weekend weekly weeks weight weird white whole wide wife win
    wind window wine winner winning winter witch wizard woke wolf woman women wonder wondering word words workout
    works workshop worlds worried worries worry worse worst worth write writer writing written wrong wrote yard year
    yearly years yellow yoga young younger yummy zero
    """
)
"""Ordinary English words."""

WEEKDAYS = _word_set(
    """
    monday tuesday wednesday thursday friday saturday sunday mon tue tues wed thu thur thurs fri sat sun mondays
    tuesdays wednesdays thursdays fridays saturdays sundays
    """
)
"""Days of the week: dates, not names."""

MONTHS = _word_set(
    """
    january february march april may june july august september october november december jan feb mar apr jun jul
    aug sep sept oct nov dec
    """
)
"""Months: dates, not names."""

TIME_WORDS = _word_set(
    """
    spring summer autumn fall winter am pm bc ad bce ce utc gmt est pst
    """
)
"""Seasons and other words for times."""

DATE_WORDS = WEEKDAYS | MONTHS | TIME_WORDS
"""Words that are a date, or a part of a date, by themselves."""

COUNTABLE_NOUNS = _word_set(
    """
    times time people persons kids children men women dogs cats day days week weeks weekend weekends month months
    year years hour hours minute minutes min mins seconds decades centuries percent dollars euros pounds miles km
    kilometers meters feet inches of more less other ago am pm
    """
)
"""Countable nouns: a number before one is not part of the name before it."""

FOREIGN_STARTERS = _word_set(
    """
    le la les un une des el los las una unos il lo gli uno der die das ein eine einen den dem je tu elle nous vous
    ils elles ich du wir sie er es ihr yo él ella nosotros ellos mi mon ma mes mein meine ce cette ces c'est est
    este esta ese esa questo questa io lui lei noi loro eu ele ela não nao sim si sí oui non nein ja ya y et und e o
    où wo wer wie was wann warum quand comment qui que qué quién dónde donde cuándo cómo como porque pero mais aber
    ma però per para por pour mit avec con com dans en im am auf bei nach von zu aus hier gestern morgen heute ayer
    hoy mañana aujourd'hui demain ieri oggi domani ontem hoje amanhã hola bonjour salut hallo ciao olá merci gracias
    danke grazie obrigado het een de ik jij hij zij wij en maar ook
    """
)
"""Words that begin sentences in French, Spanish, German, Italian, Portuguese and Dutch: never a name by themselves."""

KATAKANA_LOANWORDS = _word_set(
    """
    アイス アイテム アイデア アイドル アドバイス アドレス アナタ アニメ アパート アプリ アルコール アルバイト
    アルバム アレルギー イカ イス イチゴ イヌ イベント イメージ インタビュー ウイルス ウサギ ウソ エアコン
    エネルギー エビ エラー エレベーター エンジン オフィス オレ オレンジ オーケストラ オーナー オーブン オープン
    カップ カップル カテゴリー カニ カフェ カメラ カラス カラー カレンダー カレー カロリー カーテン カード ガイド
    ガス ガソリン ガラス キス キッチン キミ キャベツ キャラクター キャリア キャンプ キロ キー ギター クイズ クジラ
    クマ クラス クリスマス クーポン グッズ グラス グラム グループ ケーキ ケース ゲーム コミック コミュニケーション
    コメント コンサート コンビニ コース コート コード コーヒー ゴルフ ゴール サイズ サイト サケ サッカー サポート
    サラダ サル サンドイッチ サンプル サービス システム シャツ シャワー シャンプー ショップ シリーズ シーズン シーン
    ジェット ジム ジャンル ジュース スカート スキル スケジュール スズメ スタイル スタッフ スタート ステーキ ステージ
    ストップ ストレス ストーブ ストーリー スピーチ スピード スプーン スポーツ スマホ スーパー スープ ズボン セミナー
    センター センチ セール ソファ ソフト ソース ゾウ タイトル タイプ タオル タクシー タコ タンパク ダイエット ダメ
    ダンス チケット チャンス チョウ チョコ チョコレート チーズ チーム ツアー ティッシュ テキスト テクノロジー テスト
    テニス テレビ テーブル テーマ ディナー デザイン デスク デパート データ デート トイレ トマト トラ トラック
    トラブル トレース トレーニング ドア ドクター ドライブ ドラマ ドル ドレス ドレッシング ナイフ ニュース ニンジン
    ネギ ネコ ネズミ ネット ノート ハイキング ハグ ハト ハンディ ハンバーガー ハーモニー バイク バイト バカ バス
    バスケ バスケットボール バター バッグ バナナ バランス バンド パスタ パスワード パズル パソコン パターン パパ
    パワー パン パーセント パーティー パートナー パートナーシップ ビジネス ビタミン ビデオ ビル ビール ピアノ ピザ
    ピーマン ファイル ファン フィルム フォーク フォーム フライパン ブドウ ブログ プラスチック プラン プレイ プレゼン
    プレゼント プログラム プロジェクト プール ベクトル ベッド ペット ペン ページ ホテル ホール ボク ボタン
    ボランティア ボール ポイント マグロ マジ マスク マネージャー ママ マラソン マンガ マンション ミス ミネラル
    ミルク ミーティング ムービー メガネ メッセージ メニュー メロン メンバー メーカー メートル メール モデル
    モノレール モード ヤバイ ユーザー ユーロ ヨガ ライオン ライト ライブ ラジオ ランチ ラーメン リスト リズム リンゴ
    リーダー ルール レストラン レタス レッスン レベル レポート レモン レンズ ロック ロボット ワイン ワクチン
    ワークショップ
    """
)
"""Japanese loanwords in katakana that are not names."""

COMMON_WORDS_CJK = _word_set(
    """
    一家 一所 万一 上司 上市 下属 专区 世界 互联网 人 今 仏 仕 休息 伯母 伯父 住宅 体育 何 何时 侄女 侄子 保护 保险
    候诊 候车 停车 兄 全 全国 八百屋 制药 前 办公 医者 反省 叔叔 叔母 叔父 各 合同 同 同じ 同事 名牌 吸烟 周一 周三
    周二 周五 周六 周四 周日 周末 咨询 哥哥 唐诗 商业 园区 国立 国語 地区 地方 坊 城区 城市 堂哥 堂妹 堂姐 堂弟 夏天
    外甥 外贸 多 夜市 大型 奥 女 妈妈 妹 妹妹 姉 姐姐 姑姑 娘 婆 婶婶 婿 嫁 嬢 子会社 学习 学区 学校 孫 宋词 官立 客
    客様 小区 小型 小選挙 展示 展览 山区 工业 工程 市区 广告 店員 建筑 建设 开发 弟 弟弟 彼 快递 息子 战区 房地产
    担任 搬家 数学 旅游 旦那 旧官立 早市 普通 景区 曾经 最寄 有限 朋友 服务 本屋 某 某家 校区 株式 業者 模 次 次の
    歯医者 母 江湖 灾区 父 爸爸 爺 物流 特区 犬 猫 王 理科 生活 生鲜 田径 男 異 白天 白领 皆 皆様 看護師 石油 社区
    神 私人 私立 科技 秦朝 程序 等候 综合 美食 翻译 老年 職人 肉屋 股份 股市 自治 舅舅 节省 花屋 英語 著名 行政 表哥
    表妹 表姐 表弟 装修 誰 许多 设计 购物 贸易 赤 超市 软件 选举 運転手 運送 選挙 郊区 都市 都道府 重点 钟表 门市
    阿姨 集团 雷达 音楽 领导 风景 马上 魚屋 黄金 龙头
    """
)
"""Chinese and Japanese words that occur where a name would, and are not names."""

PREFIXES_CJK = _word_set(
    """
    上个月 上周 下个月 下周 今天 今年 今日 今晩 今朝 今週 介绍 以前 位于 先日 先月 先週 共绘 到达 前往 助力 去年
    参加 参观 发现 后来 実は 就读 抵达 探讨 搬到 明天 明年 明日 昨夜 昨天 昨年 昨日 最近 来年 来月 来自 来週 毎日
    毎週 毕业 现在 目前 离开 经过 考上 觉得 访问 路过 进入 附近 靠近
    """
)
"""Words that Chinese and Japanese write before a name without a space."""

INTERJECTIONS = _word_set(
    """
    ah aw aww bye cheers congrats congratulations dear haha hahaha hello hey hi lol no nope oh ok okay omg
    please so sorry
    thank thanks thx well wow yeah yep yes
    """
)
"""Words before the name of a person addressed."""

TITLE_SMALL_WORDS = _word_set(
    "a an and as at by de des du for from in into is la le les nor of on or over the to vs with"
)
"""Words in lower case in titles."""

DATE_PREPOSITIONS = _word_set(
    "after before by during each every from in last next of on since this through throughout till until"
)
"""Words after which a month is a date and not a person's name."""

HONORIFICS = _word_set(
    """
    archduchess archduke baron baroness caliph count countess dame dr duchess duke earl emperor empress king
    lady lord mr
    mrs ms pope prince princess prof professor queen sir sultan tsar viscount viscountess
    """
)
"""Ranks and titles that a full name may be written with or without."""

COMMON_SUFFIXES = tuple(
    sorted(
        _word_set(
            """
            ing ings tion tions sion ness ment ments ful less able ible ully ally ously ghly ently antly ately edly
            """
        )
    )
)
"""Endings of ordinary English words."""

CHINESE_SURNAMES = (
    "王李张刘陈杨黄赵吴周徐孙马朱胡郭何林罗郑梁谢宋唐许韩冯邓曹彭曾肖田董袁潘蒋蔡余杜叶程"
    "苏魏吕丁沈姚卢姜崔钟谭陆汪范廖石韦贾夏付邹熊白孟秦邱江尹薛闫段雷侯龙史陶黎贺顾毛郝龚邵万钱严覃武戴莫孔汤"
)
"""Common Chinese surnames with a single character that are not function words."""

FUNCTION_CHARS = (
    "的了和与跟或在从到去来往向于是有我你您他她它们这那哪个每为把被让给对就也还又很不没"
    "要想会能可说看由吃喝买住进出回过叫"
)
"""Chinese characters that occur before or after a name, seldom inside."""

POSSESSIVE_SUFFIX = lazy_pattern(r"['’ʼ][sS]?\Z")
CONTRACTION_ENDINGS = ("n't", "n’t", "'ll", "’ll", "'ve", "’ve", "'re", "’re", "'m", "’m", "'d", "’d")


def is_ordinary_word(word: str) -> bool:
    """Whether a capitalized word may be an ordinary one, by the word lists or by its ending."""
    base = base_form(word)
    if (
        base in SENTENCE_STARTERS
        or base in COMMON_WORDS
        or base in FOREIGN_STARTERS
        or base in DATE_WORDS
        or base.endswith(CONTRACTION_ENDINGS)
    ):
        return True
    if "-" in base:
        return any(part.islower() for part in word.split("-"))
    if len(base) > 5 and base.endswith(COMMON_SUFFIXES):
        return True
    plain = _REPEATED_LETTER.sub(r"\1", base)
    if plain != base and (plain in SENTENCE_STARTERS or plain in COMMON_WORDS):
        return True
    ending = _INFLECTION.search(base)
    if ending is None:
        return False
    stem = base[: ending.start()]
    stems = (stem + "y",) if ending["y"] else (stem, stem + "e")
    return any(stem in COMMON_WORDS or stem in SENTENCE_STARTERS for stem in stems)


_INFLECTION = lazy_pattern(r"(?:(?P<y>ies|ied)|e?s|e?d|ly)\Z")
_REPEATED_LETTER = lazy_pattern(r"(.)\1{2,}")


def base_form(word: str) -> str:
    return word.lower() if word.isalpha() else POSSESSIVE_SUFFIX.sub("", word).rstrip(".,!?").lower()
