"""The nouns for persons and animals that are somebody's: "sister", "boss", "landlord", "dog", in fourteen languages.

A *relation* is what such nouns mean, named by the English word. Where a language tells older from younger siblings by
the noun, these are relations of their own.
"""

from collections.abc import Mapping
from functools import cache

_NOUNS = {
    "sister": "en sister; de Schwester; es hermana; fr sœur; it sorella; pt irmã; nl zus zusje; sv syster systern; "
    "pl siostra siostry siostrze siostrę siostrą; ru сестра сестры сестре сестру сестрой; tr kardeşim kız_kardeşim",
    "brother": "en brother; de Bruder; es hermano; fr frère; it fratello; pt irmão; nl broer broertje; "
    "sv bror brodern; pl brat brata bratu bratem; ru брат брата брату братом; tr erkek_kardeşim",
    "older sister": "tr ablam; ja 姉 お姉さん 姉さん; zh 姐姐 大姐; ko 언니 누나",
    "younger sister": "ja 妹; zh 妹妹; ko 여동생",
    "older brother": "tr abim ağabeyim; ja 兄 お兄さん 兄さん; zh 哥哥 大哥; ko 오빠",
    "younger brother": "ja 弟; zh 弟弟; ko 남동생",
    "mother": "en mother mom mum mama; de Mutter Mama; es madre mamá; fr mère maman; it madre mamma; pt mãe; "
    "nl moeder; sv mamma mor; pl mama matka mamy matki mamę; ru мама мать мамы маме маму; tr annem; ja 母 お母さん; "
    "zh 妈妈 母亲; ko 엄마 어머니",
    "father": "en father dad papa; de Vater Papa; es padre papá; fr père papa; it padre papà; pt pai; nl vader; "
    "sv pappa far; pl tata ojciec taty ojca; ru папа отец папы отца; tr babam; ja 父 お父さん; zh 爸爸 父亲; "
    "ko 아빠 아버지",
    "wife": "en wife; de Frau Ehefrau; es esposa mujer; fr femme épouse; it moglie; pt esposa mulher; nl vrouw; "
    "sv fru; pl żona żony żonę żoną; ru жена жены жене жену женой; tr eşim karım; ja 妻 嫁 奥さん; "
    "zh 老婆 妻子 太太; ko 아내 와이프",
    "husband": "en husband; de Mann Ehemann; es esposo marido; fr mari; it marito; pt marido esposo; nl man; sv man; "
    "pl mąż męża mężem; ru муж мужа мужу мужем; tr eşim kocam; ja 夫 旦那 主人; zh 老公 丈夫; ko 남편",
    "partner": "en partner spouse; de Partner Partnerin; es pareja cónyuge; fr compagnon compagne conjoint conjointe; "
    "it compagno compagna coniuge; "
    "pt companheiro companheira; nl partner; sv sambo; pl partner partnerka; ru партнёр",
    "girlfriend": "en girlfriend; de Freundin; es novia; fr copine; it fidanzata; pt namorada; nl vriendin; "
    "sv flickvän; pl dziewczyna; ru девушка; tr kız_arkadaşım; ja 彼女; zh 女朋友 女友; ko 여자친구 여친",
    "boyfriend": "en boyfriend; de Freund; es novio; fr copain; it fidanzato; pt namorado; nl vriend; sv pojkvän; "
    "pl chłopak; ru парень; tr erkek_arkadaşım; ja 彼氏; zh 男朋友 男友; ko 남자친구 남친",
    "fiance": "en fiancée fiancé fiancee fiance; de Verlobte Verlobter Verlobten; es prometida prometido; "
    "fr fiancée fiancé; it promessa_sposa; pt noiva noivo; nl verloofde; pl narzeczona narzeczony; ru невеста жених; "
    "tr nişanlım; ja 婚約者; zh 未婚妻 未婚夫; ko 약혼자",
    "daughter": "en daughter; de Tochter; es hija; fr fille; it figlia; pt filha; nl dochter; sv dotter dottern; "
    "pl córka córki córce córkę córką; ru дочь дочка дочери; tr kızım; ja 娘; zh 女儿; ko 딸",
    "son": "en son; de Sohn; es hijo; fr fils; it figlio; pt filho; nl zoon; sv son sonen; pl syn syna synowi synem; "
    "ru сын сына сыну сыном; tr oğlum; ja 息子; zh 儿子; ko 아들",
    "child": "en child kid; de Kind; es niño niña; fr enfant; pt criança; nl kind; sv barn; pl dziecko; ru ребёнок; "
    "ja 子供; zh 孩子; ko 아이",
    "sibling": "en sibling; ru сестра брат; ja 姉妹 兄弟",
    "grandmother": "en grandmother grandma granny nan nana; de Großmutter Oma; es abuela; fr grand-mère mamie; "
    "it nonna; pt avó vovó; nl oma; sv mormor farmor; pl babcia babci babcię; ru бабушка бабушки; "
    "tr büyükannem anneannem babaannem; ja 祖母 おばあちゃん; zh 奶奶 外婆 姥姥; ko 할머니",
    "grandfather": "en grandfather grandpa granddad; de Großvater Opa; es abuelo; fr grand-père papi; it nonno; "
    "pt avô vovô; nl opa; sv morfar farfar; pl dziadek dziadka; ru дедушка дедушки; tr dedem; ja 祖父 おじいちゃん; "
    "zh 爷爷 外公 姥爷; ko 할아버지",
    "granddaughter": "en granddaughter; de Enkelin; es nieta; fr petite-fille; pt neta; nl kleindochter; "
    "sv sondotter; pl wnuczka; ru внучка; tr kız_torunum; ja 孫娘; zh 孙女; ko 손녀",
    "grandson": "en grandson; de Enkel; es nieto; fr petit-fils; it nipote; pt neto; nl kleinzoon; sv dotterson; "
    "pl wnuk; ru внук; tr torunum; ja 孫; zh 孙子; ko 손자",
    "aunt": "en aunt auntie; de Tante; es tía; fr tante; it zia; pt tia; nl tante; sv moster faster; pl ciocia; "
    "ru тётя тетя; tr teyzem halam; ja 叔母 伯母; zh 阿姨 姑姑; ko 이모 고모",
    "uncle": "en uncle; de Onkel; es tío; fr oncle; it zio; pt tio; nl oom; sv farbror morbror; pl wujek; ru дядя; "
    "tr amcam dayım; ja 叔父 伯父; zh 叔叔 舅舅; ko 삼촌 외삼촌",
    "cousin": "en cousin; de Cousin Cousine; es primo prima; fr cousin cousine; it cugino cugina; pt primo prima; "
    "nl neef nichtje; sv kusin kusinen; pl kuzyn kuzynka; ru кузен кузина; tr kuzenim; ja いとこ 従兄弟; "
    "zh 表哥 表姐 表弟 表妹 堂哥 堂姐; ko 사촌",
    "niece": "en niece; de Nichte; es sobrina; fr nièce; it nipote; pt sobrinha; nl nichtje; sv systerdotter; "
    "pl siostrzenica; ru племянница; tr yeğenim; ja 姪; zh 侄女 外甥女; ko 조카",
    "nephew": "en nephew; de Neffe Neffen; es sobrino; fr neveu; it nipote; pt sobrinho; nl neefje; sv systerson; "
    "pl siostrzeniec; ru племянник; tr yeğenim; ja 甥; zh 侄子 外甥; ko 조카",
    "mother-in-law": "en mother-in-law; de Schwiegermutter; es suegra; fr belle-mère; it suocera; pt sogra; "
    "nl schoonmoeder; sv svärmor; pl teściowa; ru свекровь тёща теща; tr kayınvalidem; ja 義母 義理の母; "
    "zh 婆婆 岳母; ko 시어머니 장모님",
    "father-in-law": "en father-in-law; de Schwiegervater; es suegro; fr beau-père; it suocero; pt sogro; "
    "nl schoonvader; sv svärfar; pl teść; ru свёкор тесть; tr kayınpederim; ja 義父; zh 公公 岳父; "
    "ko 시아버지 장인어른",
    "sister-in-law": "en sister-in-law; de Schwägerin; es cuñada; fr belle-sœur; it cognata; pt cunhada; "
    "nl schoonzus; sv svägerska; pl szwagierka; ru невестка; tr yengem; ja 義姉 義妹; zh 嫂子 弟妹; ko 형수 올케",
    "brother-in-law": "en brother-in-law; de Schwager; es cuñado; fr beau-frère; it cognato; pt cunhado; nl zwager; "
    "sv svåger; pl szwagier; ru шурин; tr eniştem; ja 義兄 義弟; zh 姐夫 妹夫; ko 매형 처남",
    "friend": "en friend buddy; de Freund Freundin; es amigo amiga; fr ami amie; it amico amica; pt amigo amiga; "
    "nl vriend vriendin; sv vän kompis; pl przyjaciel przyjaciółka kolega koleżanka; ru друг подруга; tr arkadaşım; "
    "ja 友達 友人 親友; zh 朋友 闺蜜; ko 친구",
    "neighbor": "en neighbor neighbour; de Nachbar Nachbarin Nachbarn; es vecino vecina; fr voisin voisine; "
    "it vicino vicina; pt vizinho vizinha; nl buurman buurvrouw; sv granne grannen; pl sąsiad sąsiadka; "
    "ru сосед соседка; tr komşum komşumuz; ja 隣人 お隣; zh 邻居; ko 이웃 옆집",
    "colleague": "en colleague coworker co-worker; de Kollege Kollegin Kollegen; es compañero compañera colega; "
    "fr collègue; it collega; pt colega; nl collega; sv kollega kollegan; pl kolega koleżanka; ru коллега; "
    "tr iş_arkadaşım; ja 同僚; zh 同事; ko 동료",
    "roommate": "en roommate flatmate housemate; de Mitbewohner Mitbewohnerin; "
    "es compañero_de_piso compañera_de_piso; fr colocataire coloc; it coinquilino coinquilina; nl huisgenoot; "
    "pl współlokator współlokatorka; ru сосед_по_комнате; tr ev_arkadaşım; ja ルームメイト; zh 室友; ko 룸메이트",
    "boss": "en boss manager supervisor; de Chef Chefin Vorgesetzte Vorgesetzter; es jefe jefa; "
    "fr patron patronne chef; it capo; pt chefe; nl baas; sv chef chefen; pl szef szefowa szefa szefowej; "
    "ru начальник начальница босс шеф; tr patronum patronumuz müdürüm; ja 上司 部長 店長; zh 老板 上司; "
    "ko 상사 사장님 팀장님",
    "landlord": "en landlord landlady; de Vermieter Vermieterin Hauswirt; es casero casera arrendador; "
    "fr propriétaire proprio; it padrone_di_casa padrona_di_casa; pt senhorio senhoria; nl huisbaas verhuurder; "
    "sv hyresvärd hyresvärden; pl wynajmujący gospodarz; ru арендодатель хозяин_квартиры хозяйка_квартиры; "
    "tr ev_sahibim ev_sahibimiz; ja 大家さん; zh 房东; ko 집주인",
    "tenant": "en tenant lodger; de Mieter Mieterin Untermieter; es inquilino inquilina; fr locataire; it inquilino; "
    "pt inquilino inquilina; nl huurder; sv hyresgäst; pl lokator najemca; ru жилец квартирант; "
    "tr kiracım kiracımız; ja 借主; zh 房客 租客; ko 세입자",
    "doctor": "en doctor gp; de Arzt Ärztin Hausarzt Hausärztin; es médico médica doctora doctor; "
    "fr médecin docteur; it medico dottore dottoressa; pt médico médica; nl huisarts dokter; sv läkare läkaren; "
    "pl lekarz lekarka; ru врач доктор; tr doktorum doktorumuz; ja 主治医 かかりつけ医; zh 医生; ko 의사 주치의",
    "dentist": "en dentist; de Zahnarzt Zahnärztin; es dentista; fr dentiste; it dentista; pt dentista; nl tandarts; "
    "sv tandläkare tandläkaren; pl dentysta dentystka; ru стоматолог зубной; tr dişçim; ja 歯医者; zh 牙医; "
    "ko 치과의사",
    "vet": "en vet veterinarian; de Tierarzt Tierärztin; es veterinario veterinaria; fr vétérinaire véto; "
    "it veterinario veterinaria; pt veterinário veterinária; nl dierenarts; sv veterinär veterinären; "
    "pl weterynarz weterynarka; ru ветеринар; tr veterinerimiz veterinerim; ja 獣医; zh 兽医; ko 수의사",
    "therapist": "en therapist psychologist physio physiotherapist; "
    "de Therapeut Therapeutin Physiotherapeut Physiotherapeutin; es terapeuta psicóloga psicólogo; fr psy kiné; "
    "it terapeuta psicologa; pt terapeuta psicóloga; nl therapeut; sv terapeut; pl terapeuta terapeutka; "
    "ru психолог терапевт; tr terapistim; zh 心理医生; ko 상담사",
    "teacher": "en teacher tutor; de Lehrer Lehrerin; es profesor profesora maestra maestro; "
    "fr prof professeur maîtresse; it insegnante maestra maestro; pt professor professora; nl leraar lerares juf; "
    "sv lärare läraren; pl nauczyciel nauczycielka; ru учитель учительница; tr öğretmenim; ja 担任; zh 老师 班主任; "
    "ko 담임",
    "accountant": "en accountant bookkeeper; de Steuerberater Steuerberaterin Buchhalter Buchhalterin; "
    "es contable contador contadora gestor gestora; fr comptable; it commercialista contabile; "
    "pt contador contadora contabilista; nl boekhouder accountant; sv revisor revisorn; pl księgowa księgowy; "
    "ru бухгалтер; tr muhasebecim muhasebecimiz; ja 税理士 会計士; zh 会计; ko 회계사 세무사",
    "lawyer": "en lawyer attorney solicitor; de Anwalt Anwältin Rechtsanwalt Rechtsanwältin; es abogado abogada; "
    "fr avocat avocate; it avvocato avvocata; pt advogado advogada; nl advocaat; sv advokat advokaten; "
    "pl adwokat prawnik; ru адвокат юрист; tr avukatım avukatımız; ja 弁護士; zh 律师; ko 변호사",
    "plumber": "en plumber; de Klempner Klempnerin Installateur; es fontanero plomero; fr plombier; it idraulico; "
    "pt encanador canalizador; nl loodgieter; sv rörmokare rörmokaren; pl hydraulik; ru сантехник; tr tesisatçımız; "
    "ja 水道屋; zh 水管工; ko 배관공",
    "electrician": "en electrician; de Elektriker Elektrikerin; es electricista; fr électricien; it elettricista; "
    "pt eletricista; nl elektricien; sv elektriker elektrikern; pl elektryk; ru электрик; tr elektrikçimiz; "
    "ja 電気屋; zh 电工; ko 전기기사",
    "hairdresser": "en hairdresser barber; de Friseur Friseurin; es peluquera peluquero; fr coiffeuse coiffeur; "
    "it parrucchiera parrucchiere; pt cabeleireira cabeleireiro; nl kapper kapster; sv frisör; pl fryzjer fryzjerka; "
    "ru парикмахер; tr kuaförüm; ja 美容師; zh 理发师; ko 미용사",
    "babysitter": "en babysitter nanny childminder sitter; de Babysitter Babysitterin Tagesmutter; "
    "es niñera canguro; fr nounou baby-sitter; it babysitter tata; pt babá ama; nl oppas; sv barnvakt barnvakten; "
    "pl opiekunka niania; ru няня; tr bakıcımız; ja ベビーシッター; zh 保姆; ko 베이비시터",
    "coach": "en coach trainer; de Trainer Trainerin; es entrenador entrenadora; fr entraîneur coach; "
    "it allenatore allenatrice; pt treinador treinadora; nl trainer; sv tränare tränaren; pl trener trenerka; "
    "ru тренер; tr antrenörüm antrenörümüz; ja コーチ; zh 教练; ko 코치",
    "cleaner": "en cleaner; de Putzfrau Putzhilfe; es limpiadora asistenta; fr femme_de_ménage; nl schoonmaakster; "
    "sv städare; pl sprzątaczka; ru уборщица; zh 清洁工; ko 청소부",
    "mechanic": "en mechanic; de Mechaniker Mechanikerin; es mecánico; fr garagiste mécanicien; it meccanico; "
    "pt mecânico; nl monteur; sv mekaniker; pl mechanik; ru механик; tr tamircimiz; ja 整備士; zh 修车师傅; ko 정비사",
    "pet": "en pet; de Haustier; es mascota; fr animal; it animale; pt animal_de_estimação; nl huisdier; sv husdjur; "
    "pl zwierzak; ru питомец; tr evcil_hayvanım; ja ペット; zh 宠物; ko 반려동물",
    "dog": "en dog puppy; de Hund Hündin Welpe Welpen; es perro perra perrita perrito; fr chien chienne chiot; "
    "it cane cagnolino; pt cachorro cachorra cão cadela; nl hond hondje; sv hund hunden; "
    "pl pies psa psu psem suczka; ru собака собаку собаки пёс щенок; tr köpeğim köpeğimiz; ja 犬 愛犬; "
    "zh 小狗 狗狗 狗; ko 강아지",
    "cat": "en cat kitten kitty; de Katze Kater Kätzchen; es gato gata gatita gatito; fr chat chatte chaton; "
    "it gatto gatta gattino; pt gato gata gatinho; nl kat poes kater; sv katt katten; pl kot kota kotu kotka; "
    "ru кошка кот кота кошку; tr kedim kedimiz; ja 猫 愛猫; zh 猫 小猫 猫咪; ko 고양이",
    "rabbit": "en rabbit bunny; de Kaninchen Hase Hasen; es conejo coneja; fr lapin; it coniglio; pt coelho; "
    "nl konijn; sv kanin kaninen; pl królik królika; ru кролик; tr tavşanım; ja うさぎ ウサギ; zh 兔子; ko 토끼",
    "hamster": "en hamster; de Hamster; es hámster; fr hamster; it criceto; pt hamster; nl hamster; sv hamster; "
    "pl chomik; ru хомяк; tr hamsterim; ja ハムスター; zh 仓鼠; ko 햄스터",
    "bird": "en parrot budgie canary bird; de Papagei Wellensittich Vogel; es loro canario; fr perroquet perruche; "
    "it pappagallo canarino; pt papagaio; nl papegaai parkiet; sv papegoja; pl papuga; ru попугай; tr papağanım; "
    "ja インコ; zh 鹦鹉; ko 앵무새",
    "horse": "en horse pony mare; de Pferd Pony Stute; es caballo yegua; fr cheval jument poney; it cavallo; "
    "pt cavalo égua; nl paard; sv häst hästen; pl koń konia klacz; ru лошадь конь; tr atım",
    "turtle": "en turtle tortoise; de Schildkröte; es tortuga; fr tortue; it tartaruga; pt tartaruga; nl schildpad; "
    "sv sköldpadda; pl żółw; ru черепаха; tr kaplumbağam; ja カメ 亀; zh 乌龟; ko 거북이",
}  # fmt: skip
"""The nouns of each relation, by language; ``_`` is a space within a noun."""
NARROWER_RELATIONS: Mapping[str, tuple[str, ...]] = {
    "child": ("daughter", "son"),
    "sibling": ("sister", "brother", "older sister", "younger sister", "older brother", "younger brother"),
    "partner": ("wife", "husband", "girlfriend", "boyfriend", "fiance"),
    "pet": ("dog", "cat", "rabbit", "hamster", "bird", "horse", "turtle"),
}
"""The relations that a wider one includes: "our pet" may be a dog."""
CHANGING_RELATIONS = frozenset(
    """
    wife husband partner girlfriend boyfriend fiance boss landlord mother father mother-in-law father-in-law dentist vet
    accountant lawyer hairdresser cleaner
    """.split()  # noqa: SIM905
)
"""Relations of which somebody has one at a time; of the others, there may be several."""
_MAY_BE_ORDINARY = frozenset(
    """
    man mann frau vrouw femme fille mujer mulher kind animal far mor bror son barn fru chef brat syn kot pies primo
    prima capo
    """.split()  # noqa: SIM905
)
"""Nouns that are a relation only with a possessive: "meine Frau" is a wife, "die Frau" is not."""


@cache
def nouns_by_language(relation: str) -> Mapping[str, tuple[str, ...]]:
    """The nouns of a relation, by the code of their language; none for a relation that is not known."""
    return {
        code: tuple(noun.replace("_", " ") for noun in nouns.split())
        for code, _, nouns in (
            entry.strip().partition(" ") for entry in _NOUNS.get(relation, "").split(";") if entry.strip()
        )
    }


@cache
def relations_by_noun() -> Mapping[str, tuple[str, ...]]:
    """The relations that each noun stands for, by the noun in lower case."""
    found: dict[str, tuple[str, ...]] = {}
    for relation in _NOUNS:
        for nouns in nouns_by_language(relation).values():
            for noun in nouns:
                known = found.get(noun.lower(), ())
                found[noun.lower()] = known if relation in known else (*known, relation)
    return found


def all_nouns(relation: str) -> tuple[str, ...]:
    """The nouns of a relation and of the relations that it includes, in all languages."""
    relations = (relation, *NARROWER_RELATIONS.get(relation, ()))
    return tuple(
        dict.fromkeys(noun for one in relations for nouns in nouns_by_language(one).values() for noun in nouns)
    )


def needs_possessive(noun: str) -> bool:
    """Whether a noun stands for a relation only with a possessive."""
    return noun.lower() in _MAY_BE_ORDINARY
