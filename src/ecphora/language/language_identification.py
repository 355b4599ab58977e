"""Tells whether a text is English or clearly in another language, from frequent words and scripts, for short texts.

A text without evidence, such as a name, a number or code, is not clearly in another language: it counts as English.

The most frequent words of English and of 27 other languages in Latin script are words of general use that short texts
hold: function words, question words, numbers, and frequent verbs. A prefix before an apostrophe (``qu'``) counts as a
word. A word that is common in English too, if only as a noun (``hat``), is also in ``ENGLISH_WORDS``, where it
outweighs the other meaning.
"""

import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache

from ..model.lazy import lazy_pattern
from .scripts import count_unspaced, latin_fraction, stream_safe

ENGLISH_WORDS = """
a about after again ago al all already also always am an and another any anyone anything are aren't as ask asked at
away back be because been before behind being best better between big book both bought box bring but buy by call
called came can can't car card change cheap child coat code come comes cost costs could couldn't cut date day days de
dear den did didn't die diet dig do dock does doesn't dog doing dollar don don't done door dose dove down during each
eight else end even ever every fall family far fast fat few fin final find fine first five flat flood floor for form
found four fort free friend from fund gave get gets gift give given go goes going gone good got ha had half hand hans
has hat have haven't he he's hell hello her here here's hers hey hi him his home host hour hours house how how's i i'd
i'll i'm i've if im in instead into is isn't it it's its ja job just keep kept kind knew know last later leave left less
let let's like list live lives lock long longer look lost lot lots love made make man mark may maybe me mean meet
meeting men mere might mine minute minutes mom money month months more morning most mother moved much must my name need
needed needs never new next nice night nine no noon nor not note nothing now number of off ok okay old on once one only
open or order other our out over own page paid pan par part pay people per phone pick place plan plane please pole por
post present price problem pub put quite rat rate rather read really rent right room run said sale same saw say says
school see seen send sent set seven she she's should sick side since sin six so some someone something sold son soon
sorry spring stay stays stale start started still stop such sure take taken takes talk team tell ten test than thank
thanks that that's the their them then there there's these they they're they've thing things think third this those
though thought three through tide till time times to today told tomorrow tonight too took top tot tour town try tune
turn twelve two um under undo until up us use used van very via visit wait want wanted wants war was wasn't watch water
way we we'll we're we've week weeks well went were what what's when where where's which while who who's whom whose why
will win with without woman won won't word work works would wrong year years yes yesterday yet you you'll you're
you've your yours dad mum sister brother fixed added removed update v version build error branch release bug deploy
naïve fiancé fiancée résumé cliché façade née exposé crème brûlée café cafés jalapeño soirée
"""

OTHER_WORDS = {
    "Afrikaans": """
        die en is nie ek jy hy sy ons julle hulle met op vir van in by hoe waar wie wanneer waarom watter het was
        word ook maar nog al my jou haar as of na uit oor tot baie geen wat dat dit om aan kan sal moet gaan hierdie
        daardie toe meer dan deur te wil so een twee drie
    """,
    "Catalan": """
        el la els les de del dels i és un una jo tu ell ella nosaltres que què qui quan on com quin quina quants
        quant per amb sense en es seu seva meu meva no sí més molt però està van ser hi ha he aquest aquesta ja al
        o perquè també als va fer té són era fins avui demà dos tres anys cada l' d' n' s' m' pot hem han tot bé
    """,
    "Croatian": """
        i u s na do ne to je se da što tko kada gdje kako zašto koji koja koje koliko o od za po kroz pri su bio
        bila bilo će imam ima mi ja ti on ona moj moja ali ili već samo još njegov tako kao vrlo također iz sam smo
        nije bi mu mogu može danas sutra ga kad biti nego dva tri imate hvala
    """,
    "Czech": """
        a v z na do ne to je se že co kdo kdy kde jak proč který která které kolik o od za po pro při jsou byl byla
        bylo bude mám má my já ty on ona můj moje ale nebo už jen ještě jeho její jejich tak jako velmi také si jsem
        ve ze podle mi není dnes zítra dva tři jsme aby může má s u i který než když
    """,
    "Danish": """
        og er ikke jeg vi du han hun de det den en et at i på med for af som til fra hvordan hvor hvem hvornår
        hvorfor hvilken hvad har havde skal kan om men også min mit din sin os mig dig så her der eller efter hele
        blev var vil var meget mange ved ud op når nu hvis bliver kommer dage år to tre
    """,
    "Dutch": """
        de het een en is niet ik wij we jij je zij ze hij te met op voor van den in bij hoe waar wie wanneer waarom
        welke welk hoeveel heeft hebben had zijn was waren wordt worden ook maar nog al mijn jouw haar ons onze mij
        er als of naar uit over tot vandaag morgen veel geen wat dat die dit deze om aan heb ben nu gaat gaan jaar
        weer eerste tweede komt wil kost weg mag mee dus terug laat dag dagen ligt heet keer hem meer neemt zit zelf
        doet na niks kan moet moeten staat blijft toch dan door twee drie vier vijf nee goed nieuwe waarmee welke
        ja hij zou zonder tegen onder hebt uw wel weken maand bedankt
    """,
    "Estonian": """
        ja on ei see et ma sa ta me te nad oli olen kui ka mis kes kus millal miks kuidas või aga siis oma mitte kas
        selle seda välja üle juba veel ning kuid mida nii pole oleks palju väga täna homme minu sinu tema kaks kolm
        aasta aastat eest pärast
    """,
    "Finnish": """
        ja on ei se että minä sinä hän me te he oli olen ovat mutta kun niin myös mikä mitä kuka missä milloin miksi
        miten tai jos sen joka ole vain nyt kuin tämä mukaan minun sinun kanssa jo mutta olla voi ollut en et eivät
        hänen sitä tänään huomenna kaksi kolme vielä paljon monta kuinka meidän teidän mihin mistä jälkeen sitten
        hyvin ennen asti pitää tulee olisi vuotta päivää
    """,
    "French": """
        le la les de des du et est un une je tu il elle nous vous ils elles pas ne que qui quoi où quand comment
        pourquoi quel quelle quels quelles combien dans sur avec pour par ce cette ces mon ma mes ton ta tes son sa
        ses au aux en sont était être avoir a ai as été mais ou donc plus très bien aussi y se lui leur leurs cela
        ça sans chez notre nos votre vos fait faire peut doit tout tous toute même après avant depuis jusqu' hier
        demain deux trois quatre cinq six sept huit neuf dix ans jour jours mois semaine merci oui non si on avait
        ont suis va vais sous entre moins toujours jamais encore déjà alors rien l' d' j' c' n' s' qu' m' t' lundi
        mardi mercredi jeudi vendredi samedi dimanche euros heures
    """,
    "German": """
        der die das und ist nicht ich wir sie ein eine einen einem einer zu mit auf für von den dem des im am bei wie
        wo wer wann warum welche welcher welches welchem welchen hat haben hatte sind war waren wird werden wurde
        auch aber noch nur schon mein meine meinen meiner dein deine sein seine ihr ihre ihren uns unser unsere mir
        mich dich dir es er wenn oder nach aus über bis heute morgen gestern viel viele kein keine keinen habe hab
        bin bist sich ab jetzt zum zur zwei drei vier fünf sechs sieben acht neun zehn als beim da wieder vor vom
        kommt mehr heißt um kostet geht gibt sagt bitte macht bleibt steht soll sollte neue neuen alle statt ersten
        zurück ohne dann kann können doch durch dafür unter du muss müssen nun darf selbst alles kam liegt weil
        wegen gut ihn ihm wollte will dass pro bekommt weg ins nimmt ja nein nichts wem wen gegen so in an was wieso
        woher wohin wohnt ob seit immer danke nächste nächsten nächstes letzte letzten mal nie man sehr hier
        womit wofür worüber zahlt
    """,
    "Hungarian": """
        a az és nem egy hogy van volt én te mi ti ők ez azt de is már csak ki mikor hol hogyan miért melyik mennyi
        meg el fel le be mint vagy ha még lesz kell nagyon nincs mit hány ezt kér volt lehet után ma holnap két
        három nekem neked igen jó minden sem szerint vannak kellene milyen hova
    """,
    "Icelandic": """
        og er ekki ég við þú hann hún það þeir þær að í á með fyrir af sem til frá hvernig hvar hver hvenær hvaða
        hvað hefur hafa var um en líka minn mín þinn sinn okkur mig þig svo hér þar eða eftir því þetta verið verður
        var ekki mjög eins upp út
    """,
    "Indonesian and Malay": """
        yang dan di ke dari ini itu tidak saya aku kamu kita kami mereka dia untuk dengan pada adalah apa siapa
        kapan dimana mana bagaimana mengapa kenapa berapa sudah belum akan bisa ada juga atau tapi tetapi karena
        oleh lebih sangat nya telah dalam ia para seperti hari orang tahun boleh anda hanya lagi kalau jadi satu dua
        tiga bila kerana
    """,
    "Italian": """
        il lo la i gli le di del dello della dei delle degli e è un uno una io tu lui lei noi voi che chi quando
        dove dov' come quale quali quanto quanti quanta quante perché per con senza in nel nella nei nelle si su sul
        sulla mio mia tuo tua suo sua nostro nostra non sì più molto ma sono era erano ha ho hai hanno abbiamo questo
        questa quello già al alla alle ai allo o anche ci da dal dalla dai ora va prima tre due quattro cinque sei
        fa giorno giorni oggi domani ieri anni anno mesi solo ancora dopo fino mi ti se stato stata cosa c' l' d'
        un' all' dell' nell' dall' sull' quest' com' fatto dice mai sempre grazie niente tutto tutti chiama paga
        serve a
    """,
    "Latvian": """
        un ir nav es tu viņš viņa mēs jūs viņi ka kas kad kur kā kāpēc kurš cik no uz ar par pie bet vai arī tas tā
        šis bija būs jau tikai vēl ļoti mans tavs pēc līdz lai
    """,
    "Lithuanian": """
        ir yra ne aš tu jis ji mes jūs jie kad kas kada kur kaip kodėl kuris kiek iš į su apie prie bet ar taip tai
        šis buvo bus jau tik dar labai mano tavo po iki o už nuo per
    """,
    "Norwegian": """
        og er ikke jeg vi du han hun de det den en et å at i på med for av som til fra hvordan hvor hvem når hvorfor
        hvilken hva har hadde skal kan om men også min mitt din sin oss meg deg så her der eller etter hele ble var
        vil mye mange ved ut opp nå hvis blir kommer dager år to tre
    """,
    "Polish": """
        i w z na do nie to jest się że co kto kiedy gdzie jak dlaczego który która które ile ilu o od za po przez
        dla przy są był była było będzie mam ma my ja ty on ona mój moja mnie ale lub czy już tylko jeszcze jego jej
        ich tak jako bardzo też bo mi mówi osób teraz nas tam mu musi nam trzy dwa pod ze we jaki jaka jakie tej tego
        tym tę ta ten dzień dziś jutro lat może można przed nic wszystko u a czego jakim jakiej komu dziękuję
    """,
    "Portuguese": """
        o os a as de do da dos das e é um uma eu você ele ela nós eles que quem quando onde como qual quais quanto
        quantos quantas quanta por pelo pela para pra pro com sem em no na nos nas se seu sua meu minha nosso nossa
        não sim mais muito mas está estão foi ser há este esta isso isto já ao aos à ou porque também só vai ficou
        tem têm até dias dia mês anos ano agora três dois duas cinco era depois antes faz volta nada foram tinha
        hoje amanhã ontem obrigado obrigada lhe me te ainda sobre entre quero bem tudo
    """,
    "Romanian": """
        și în nu este un o eu tu el ea noi voi că cine când unde cum care cât câte pe cu fără la se său sa meu mea
        mai foarte dar sunt era fost are am au acest această deja al ale sau de din pentru ce lui îi îmi fi fie ca
        să prin după azi mâine doi trei ani lor
    """,
    "Slovak": """
        a v z na do nie to je sa že čo kto kedy kde ako prečo ktorý ktorá ktoré koľko o od za po pre pri sú bol bola
        bolo bude mám má my ja ty on ona môj moja ale alebo už len ešte jeho jej ich tak veľmi aj som si vo zo podľa
        s u i dnes zajtra dva tri sme aby môže
    """,
    "Slovene": """
        in je ne na v z s za da se kdo kaj kdaj kje kako zakaj kateri koliko o od po pri so bil bila bilo bo imam
        ima mi jaz ti on ona moj moja ali že samo še njegov tako kot zelo tudi iz sem smo ki pa ni bi ko to lahko
        danes jutri
    """,
    "Spanish": """
        el la los las de del y es un una yo tú él ella nosotros ellos que qué quién quiénes cuándo dónde cómo cuál
        cuáles cuánto cuánta cuántos cuántas por para con en sin se su sus mi mis tu tus me te le les lo no sí más
        muy pero como está están fue ser hay ha he han este esta esto ese esa eso ya al o porque cuando donde también
        dos tres cuatro cinco seis siete ocho nueve diez nos nuestro nuestra día días tiene tengo desde antes ahora si
        hasta cada va dice mes otra otro hora vez queda todo todos llama años año noche lleva hace nada hoy mañana
        ayer era eran entre puede bien gracias solo sólo mucho mucha sobre quiero viene entonces son estaba a
    """,
    "Swahili": """
        na ya wa kwa ni la za katika kuwa hii hiyo huo yake wake lakini sana pia au kama mimi wewe yeye sisi nini
        nani lini wapi jinsi gani sasa leo kesho hapa cha vya watu alikuwa baada kila
    """,
    "Swedish": """
        och är inte jag vi du han hon de det den en ett att i på med för av som till från hur var vem när varför
        vilken vilket vilka har hade ska kan om men också min mitt mina din ditt sin oss mig dig så här där eller
        efter vad hela många ha går kostade kostar får fick hos nu säger fått tillbaka står dag dagar redan lite vid
        igen två tre fyra fem sex åt blir bli mycket vill upp tog egen inget hennes hans vårt vår mot än ingen
        ut över under utan alla bara hur tack
    """,
    "Tagalog": """
        ang ng sa na mga ay at si ni kay ko mo niya namin natin nila ako ikaw siya kami tayo sila hindi oo ito iyan
        iyon ano sino kailan saan paano bakit ilan may mayroon wala kung pero din rin lang nang para po dahil isang
        nasa ngayon bukas
    """,
    "Turkish": """
        ve bir bu ne mi mı mu mü için ile da de çok ben sen o biz siz onlar kim nerede zaman nasıl neden niye hangi
        kaç var yok değil ama gibi daha en olarak olan oldu ki ya kadar sonra benim senin bizim onun şu her şey bana
        sana mıyım misin evet hayır bugün yarın dün iki üç önce göre tarafından veya nereye kime
    """,
    "Vietnamese": """
        và là của không tôi bạn anh chị em có được cho với này đó một những các người khi nào ở đâu ai gì thế sao
        bao nhiêu rất cũng nhưng hay đã đang sẽ trong ra về năm ngày đi làm nhà từ như
    """,
}
"""By language, its most frequent words."""

MAX_CHARS = 2000
"""Characters of a text that are read, from its beginning."""
_UNSPACED_WEIGHT = 3
"""Latin letters that say about as much as one character of a script without spaces."""

_LETTERS = r"[^\W\d_]+"
_WORD = lazy_pattern(rf"(?<![\w./@\\#=&?-]){_LETTERS}(?:['’]{_LETTERS})*(?![\w@/\\=(\[-]|[.:]\w)|[.!?…:;\n\"“„«»¿¡(-]")
"""A word that is not part of a path, an address or an identifier; or a mark that may begin a sentence."""
_CAPITAL = r"[^\W\d_a-zß-öø-ÿ]"
_NAME_PARTICLES = lazy_pattern(
    rf"(\b{_CAPITAL}[\w'’-]* )(?:(?:v[ao]n (?:de[mnr]? )?|de (?:l[ao]s? )?|al|bin|d[aio]s?|de[il]|dell[ao]|e|el|ibn|la|"
    rf"le|ter|y|zu)\b ?)+(?={_CAPITAL})|\b(?:L[aeo]s?|[DV]an|D[aeiu]|Des|Dos|El|Al|Il|Ang) (?={_CAPITAL})"
)
"""Small words of names, as in "Maria de la Cruz" and "Los Angeles"; the word before them is kept."""


def is_english(text: str) -> bool:
    """Whether a text is English, or at least not clearly in another language.

    Not English is a text whose letters are mostly of other scripts than Latin, or that has more frequent words of
    another language than of English. A name, a number or code alone is English. Only the first ``MAX_CHARS`` characters
    count.
    """
    text = unicodedata.normalize("NFC", stream_safe(text[:MAX_CHARS]))
    return _is_mostly_latin(text) and not _latin_evidence(text).is_of_another_language


def _is_mostly_latin(text: str) -> bool:
    if text.isascii():
        return True
    letters = sum(map(str.isalpha, text))
    latin = latin_fraction(text) * letters
    return latin >= letters - latin + (_UNSPACED_WEIGHT - 1) * count_unspaced(text)


def likely_foreign_languages(text: str) -> tuple[str, ...]:
    """The languages other than English with the most frequent words in a text in Latin script; none if it is English.

    They are named as in ``frequent_words.OTHER_WORDS``; only the first ``MAX_CHARS`` characters count.
    """
    text = unicodedata.normalize("NFC", stream_safe(text[:MAX_CHARS]))
    evidence = _latin_evidence(text)
    if not _is_mostly_latin(text) or not evidence.is_of_another_language:
        return ()
    most = max(evidence.by_language.values(), default=0)
    return tuple(sorted(language for language, value in evidence.by_language.items() if value == most))


@dataclass(frozen=True, slots=True)
class _Evidence:
    """How much of a text in Latin script is evidence of another language than English.

    A frequent word is evidence of 2, or 1 where it may begin a name ("Ben Carson"); an accented other word of 1 for any
    other language, or 2 without English words; an inverted mark (as in Spanish) of twice that. Evidence of 1 more than
    of English does not suffice.
    """

    english: int
    any_other: int
    by_language: Mapping[str, int]

    @property
    def is_of_another_language(self) -> bool:
        """Whether there is more evidence of another language than of English."""
        return max(self.by_language.values(), default=0) + self.any_other >= self.english + 2


def _latin_evidence(text: str) -> _Evidence:
    english_words, languages = _words()
    english, any_other = 0, 2 * ("¿" in text or "¡" in text)
    other: Counter[str] = Counter()
    for surface, may_be_name in _sentence_words(text):
        word = surface.lower()
        prefix = word[: word.find("'") + 1]
        known = languages.get(word) or languages.get(prefix, ())
        if word in english_words or (not known and word.endswith(("'s", "n't"))):
            english += 2
        elif not known and surface.islower() and not surface.isascii():
            any_other += 1
        for language in known:
            other[language] += 1 if may_be_name else 2
    return _Evidence(english, any_other if english else 2 * any_other, other)


def _sentence_words(text: str) -> Iterator[tuple[str, bool]]:
    """The words of a text, without words with a capital inside a sentence, and whether each may begin a name."""
    if not any(map(str.islower, text)) and sum(map(str.isalpha, text.split())) > 1:
        text = text.lower()
    text = _NAME_PARTICLES.sub(r"\1", text)
    begins = True
    for match in _WORD.finditer(text):
        word = match[0].replace("’", "'")
        if not word[0].isalpha():
            begins = True
            continue
        if word[0].islower() or word == "I" or word.startswith("I'"):
            yield word, False
        elif begins and (not word.isupper() or (len(word) == 1 and text[match.end() : match.end() + 1] != ".")):
            yield word, text[match.end() + 1 : match.end() + 2].isupper()
        begins = False


@cache
def _words() -> tuple[frozenset[str], Mapping[str, tuple[str, ...]]]:
    """The frequent words of English, and of each frequent word of other languages these languages."""
    languages: dict[str, tuple[str, ...]] = {}
    for language, words in OTHER_WORDS.items():
        for word in set(words.split()):
            languages[word] = (*languages.get(word, ()), language)
    return frozenset(ENGLISH_WORDS.split()), languages
