"""The common form of a verb's forms in English, German, Spanish, French and Portuguese: "lent" and "lends" are "lend".

Irregular forms come from a table; of other words, the stem is the common form.
"""

import threading
from functools import lru_cache

import Stemmer

from ...model.lazy import lazy_pattern
from ..european_languages import European
from ..terms import fold

_IRREGULAR_FORMS = {
    European.ENGLISH: (
        "be am is are was were been being; do does did done doing; "
        "babysit babysat babysitting; bear bore borne; become became; begin began begun; beat beaten; bind "
        "bound; bite bit bitten; blow blew blown; break broke broken; breed bred; bring brought; "
        "build built; buy bought; catch caught; choose chose chosen; come came coming; cut cutting; deal "
        "dealt; dig dug; "
        "draw drew drawn; drive drove driven; eat ate eaten; feed fed; feel felt; fight fought; find found; "
        "fly flew flown; "
        "forbid forbade forbidden; forget forgot forgotten; forgive forgave forgiven; "
        "get got gotten getting; give gave given giving; go went gone; grow grew grown; have had has having; "
        "hear heard; "
        "hide hid hidden; hit hitting; hold held; hurt; keep kept; know knew known; lay laid; lead led; "
        "leave left leaving; lend lent; let letting; lose lost losing; make made making; meet met; "
        "mislead misled; mistake mistook mistaken; oversee oversaw overseen; overhear overheard; rewrite "
        "rewrote rewritten; overtake overtook overtaken; owe owing; pay paid; put putting; read; ride rode "
        "ridden; "
        "ring rang rung; run ran running; say said; see saw seen; seek sought; sell sold; send sent; shake shook "
        "shaken; shoot shot; show shown; sing sang sung; sit sat; speak spoke spoken; spend spent; stand "
        "stood; stick stuck; swing swung; undertake undertook undertaken; withdraw withdrew withdrawn; "
        "foresee foresaw; lie lying; steal stole stolen; "
        "strike struck stricken; swear swore sworn; take took taken taking; teach taught; tear tore torn; "
        "tell told; throw threw thrown; understand understood; wake woke woken; wear wore worn; win won winning; "
        "write wrote written writing"
    ),
    European.GERMAN: (
        "leihen lieh liehen leiht leihe geliehen; verleihen verlieh verleiht verliehen; "
        "ausleihen ausgeliehen auslieh ausleiht; borgen borgt borgte geborgt; "
        "geben gibt gab gaben gegeben; schenken schenkt schenkte geschenkt; "
        "bekommen bekommt bekam bekamen; kriegen kriegt kriegte gekriegt; erhalten erhält erhielt erhielten; "
        "schulden schuldet schuldete geschuldet; kaufen kauft kaufte gekauft; abkaufen abgekauft; "
        "verkaufen verkauft verkaufte; einladen eingeladen lädt lud luden lade; anrufen angerufen ruft rief riefen; "
        "unterrichten unterrichtet unterrichtete; lernen lernt lernte gelernt; "
        "schicken schickt schickte geschickt; senden sendet sandte gesendet gesandt; "
        "bringen bringt brachte brachten gebracht; helfen hilft half halfen geholfen; "
        "treffen trifft traf trafen getroffen; sehen sieht sah sahen gesehen; "
        "schlagen schlägt schlug schlugen geschlagen; besuchen besucht besuchte; "
        "leiten leitet leitete geleitet; einstellen eingestellt; schreiben schreibt schrieb schrieben geschrieben; "
        "erzählen erzählt erzählte; zeigen zeigt zeigte gezeigt; malen malt malte gemalt; "
        "heiraten heiratet heiratete geheiratet; empfehlen empfiehlt empfahl empfohlen"
    ),
    European.SPANISH: (
        "pedir pide pidió pidieron pedí pido pedido; perder pierde perdió perdí; deber debe debo debía debió "
        "debido; prestar presta presto prestó prestaba prestado; "
        "dar da doy dio di daba dado; regalar regala regaló regalado regalé; recibir recibe recibió recibí recibido; "
        "vender vende vendió vendí vendido; comprar compra compró compré comprado; "
        "invitar invita invitó invité invitado invitada; llamar llama llamó llamé llamado; "
        "enseñar enseña enseñó enseñé enseñado; aprender aprende aprendió aprendí aprendido; "
        "contratar contrata contrató contratado contratada; "
        "enviar envía envió envié enviado; ayudar ayuda ayudó ayudé ayudado; visitar visita visitó visité visitado"
    ),
    European.FRENCH: (
        "devoir doit dois devait dû; prêter prête prêta prêtait prêté; emprunter emprunte emprunté; "
        "donner donne donnait donna donné; offrir offre offert offrait; recevoir reçoit reçu reçois recevait; "
        "vendre vend vends vendait vendu; acheter achète achetait acheté; "
        "inviter invite invitait invité invitée; appeler appelle appelait appelé appelée; "
        "apprendre apprend appris; enseigner enseigne enseigné; embaucher embauche embauché embauchée; "
        "envoyer envoie envoyait envoyé; aider aide aidait aidé aidée; visiter visite visitait visité"
    ),
    European.PORTUGUESE: (
        "dever deve devo devia deveu devido; emprestar empresta emprestou emprestei emprestado; "
        "dar dá dou deu dei dava dado; oferecer oferece ofereceu ofereci oferecido; "
        "receber recebe recebeu recebi recebido; vender vende vendeu vendi vendido; "
        "comprar compra comprou comprei comprado; convidar convida convidou convidei convidado convidada; "
        "ligar liga ligou liguei ligado; ensinar ensina ensinou ensinei ensinado; "
        "aprender aprende aprendeu aprendi aprendido; contratar contrata contratou contratado contratada; "
        "enviar envia enviou enviei enviado; ajudar ajuda ajudou ajudei ajudado; visitar visita visitou visitei"
    ),
}
_STEMMER_NAMES = {
    European.ENGLISH: "english",
    European.GERMAN: "german",
    European.SPANISH: "spanish",
    European.FRENCH: "french",
    European.PORTUGUESE: "portuguese",
}
_SEPARATED = lazy_pattern(
    r"(?P<prefix>an|auf|aus|bei|ein|mit|ab|zu|vor|nach|zurück|weg|her|hin)?(?P<form>ge\w{3,}(?:t|en))\Z"
)
_GERMAN_ENDING = lazy_pattern(r"(?:te?n?|en)\Z")
_stemmers = threading.local()


@lru_cache(maxsize=1 << 14)
def verb_form(word: str, language: European = European.ENGLISH) -> str:
    """The common form of a word in lower case: equal for all forms of a verb. Of other words than verbs, the stem."""
    lemma = _LEMMAS[language].get(fold(word)) or (_german_infinitive(word) if language is European.GERMAN else word)
    stemmers = _stemmers.__dict__
    stemmer = stemmers.get(language)  # a stemmer must not be shared between threads
    if stemmer is None:
        stemmer = stemmers[language] = Stemmer.Stemmer(_STEMMER_NAMES[language], 0)
    return str(stemmer.stemWord(lemma))


def _german_infinitive(word: str) -> str:
    """The likely infinitive of a regular German verb form, and of an irregular one behind a prefix that separates."""
    participle = _SEPARATED.match(word)
    if participle is not None:
        stem = _LEMMAS[European.GERMAN].get(fold(participle["form"]), "")
        return (participle["prefix"] or "") + (stem or _GERMAN_ENDING.sub("en", participle["form"].removeprefix("ge")))
    return _GERMAN_ENDING.sub("en", word) if len(word) > 4 else word


def may_be_participle(word: str) -> bool:
    """Whether an English word in lower case may be a participle of the perfect, or a past form."""
    return word.endswith("ed") or _LEMMAS[European.ENGLISH].get(word, word) != word


def _lemmas(table: str) -> dict[str, str]:
    """The first form of each row, by the folded forms of the row."""
    rows = [row.split() for row in table.split(";")]
    return {fold(form): row[0] for row in rows for form in row}


_LEMMAS = {language: _lemmas(table) for language, table in _IRREGULAR_FORMS.items()}
