"""Tells where somebody is for a while from where they live: "I am staying in Kiel for the weekend"."""

from collections.abc import Mapping
from re import Pattern

from ...model.lazy import lazy_pattern
from ..dates.cjk import has_cjk
from ..european_languages import European, any_of, likely_languages, words_of

MAX_CHARS = 200
"""In a longer text a stay is one thing among others."""
_STAY: Mapping[European, Pattern[str]] = {
    European.ENGLISH: any_of(
        r"""
        (?:i|we|he|she|they)(?:'m|'re|'s| am| are| is) (?:just |only |currently )?(?:visiting|passing through|
            stopping over)
        on (?:holiday|vacation|an? (?:\w+ )?(?:trip|visit|getaway)) (?:in|at|to|near|around|with)
        """
    ),
    European.GERMAN: any_of(
        r"""
        (?:bin|sind|ist) <TO>(?:zu besuch|auf besuch|im urlaub|auf (?:durchreise|geschäftsreise|
            dienstreise|klassenfahrt))
        mache[n]? <TO>urlaub (?:in|an|auf)
        """
    ),
    European.SPANISH: any_of("(?:estoy|estamos|está|están) <TO>de (?:visita|vacaciones|viaje|paso)"),
    European.FRENCH: any_of(
        "(?:suis|sommes|est|sont) <TO>en (?:visite|vacances|voyage|déplacement) (?:à|en|au|aux|chez|dans)"
    ),
    European.PORTUGUESE: any_of("(?:estou|estamos|está|estão) <TO>de (?:visita|férias|viagem|passagem)"),
}
"""What is a stay by itself."""
_STAY_VERB: Mapping[European, Pattern[str]] = {
    European.ENGLISH: any_of(
        r"""
        (?<!been )(?:staying|spending|sleeping|camping|crashing|lodging|house-?sitting|cat-?sitting|dog-?sitting)
        (?:i|we)(?:'m|'re| am| are|'ll be| will be)(?: back| over| up| down| away| out)? (?:in|at|with)
        (?:i|we)(?:'ll| will) (?:stay|be staying|spend|sleep)
        """
    ),
    European.GERMAN: any_of(
        "bin ; sind ; bleibe ; bleiben ; übernachte ; übernachten ; verbringe ; verbringen ; schlafe ; schlafen ; "
        "wohne ; wohnen ; zelte ; zelten ; besuche ; besuchen"
    ),
    European.SPANISH: any_of(
        "estoy ; estamos ; estaré ; estaremos ; me quedo ; nos quedamos ; me quedaré ; paso ; pasamos ; me alojo ; "
        "nos alojamos ; duermo ; dormimos"
    ),
    European.FRENCH: any_of(
        "suis ; sommes ; reste ; restons ; passe ; passons ; loge ; logeons ; dors ; dormons ; séjourne ; séjournons"
    ),
    European.PORTUGUESE: any_of(
        "estou ; estamos ; estarei ; fico ; ficamos ; vou ficar ; passo ; passamos ; hospedo ; durmo ; dormimos"
    ),
}
"""Verbs that tell of a stay, with a time of :data:`_WHILE`."""
_WHILE: Mapping[European, Pattern[str]] = {
    European.ENGLISH: any_of(
        r"""
        (?:for|over|during) (?:the|this|a|an|one|two|three|four|five|six|ten|\d+|another|(?:just )?a few|
            (?:just )?a couple of|some) (?:long |more )?(?:weekend|nights?|days?|weeks?|holidays?|evening|afternoon|
            fortnight|months?|summer|conference|wedding|workshop)
        over (?:easter|christmas|new year|the holidays) ; (?:this|next) (?:weekend|week)
        until (?:tomorrow|next \w+|the weekend|(?:mon|tues|wednes|thurs|fri|satur|sun)day) ; tonight
        the (?:weekend|night|week|holidays) (?:in|at|with)
        """
    ),
    European.GERMAN: any_of(
        r"""
        (?:übers|am|das|dieses|nächstes|über das) (?:lange |nächste )?wochenende ; (?:diese|nächste) woche
        für (?:das wochenende|(?:eine|zwei|drei|vier|fünf|\d+|ein paar|einige) (?:nacht|nächte|tage?|wochen?|monate?))
        (?:eine|zwei|drei|vier|fünf|\d+|ein paar|einige) (?:nacht|nächte|tage) ; über (?:ostern|weihnachten|silvester)
        bis (?:morgen|(?:mon|diens|donners|frei|sams|sonn)tag|mittwoch|nächste woche) ; heute nacht
        """
    ),
    European.SPANISH: any_of(
        r"""
        (?:este|el|un|por el) fin de semana ; esta (?:semana|noche) ; (?:en|por) (?:semana santa|navidad)
        (?:por|durante)? ?(?:un[oa]s|un[oa]?|dos|tres|cuatro|cinco|\d+) (?:noches?|días?|semanas?|mes(?:es)?)
        hasta (?:mañana|el (?:lunes|martes|miércoles|jueves|viernes|sábado|domingo))
        """
    ),
    European.FRENCH: any_of(
        r"""
        (?:ce|le|pour le|un) week-?end ; cette (?:semaine|nuit) ; (?:à|pour) (?:pâques|noël)
        (?:pour |pendant )?(?:une|deux|trois|quatre|cinq|\d+|quelques) (?:nuits?|jours?|semaines?|mois)
        jusqu'à (?:demain|lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche)
        """
    ),
    European.PORTUGUESE: any_of(
        r"""
        (?:este|neste|no|o|um) fim de semana ; (?:esta|nesta) (?:semana|noite) ; n[oa] (?:natal|páscoa)
        (?:por|durante)? ?(?:uns|umas|uma?|dois|duas|três|quatro|cinco|\d+) (?:noites?|dias?|semanas?|m(?:ês|eses))
        até (?:amanhã|segunda|terça|quarta|quinta|sexta|sábado|domingo)
        """
    ),
}
"""A time after which a stay is over."""
_STAY_CJK = lazy_pattern(
    r"(?:这|這)?(?:周末|週末|这周|這週|几天|幾天|[两兩二三四五六七\d]+[天晚周週])[^。！？]{0,12}(?:待在|住在|在|去|待|住)|"
    r"(?:待|住|出差|旅游|旅遊|度假)[^。！？]{0,6}(?:几天|幾天|[一两兩二三四五六七\d]+[天晚周週]|周末|週末)|(?:出差|度假)中?$|"
    r"(?:週末|今週|数日|\d+泊|[一二三四五]泊|[\d一二三四五]+日間)[^。！？]{0,20}(?:泊ま|滞在|過ご|います|いる|行)|(?:出張|旅行|滞在)中"
)
"""A stay, in Chinese and Japanese."""
_ASKED = any_of(
    r"""
    (?:am|are|is|was|were) (?:i|we|you|he|she|they) ; stay(?:s|ing|ed)? ; spend(?:s|ing)? ; visit(?:s|ing|ed)? ; trip
    weekend ; wochenende ; fin de semana ; week-?end ; fim de semana ; (?:this|next) week ; (?:diese|nächste) woche
    (?:bin|sind|ist|war) (?:ich|wir|er|sie) ; übernacht\w* ; zu besuch ; quedo ; quedamos ; estoy ; suis-je ; estou
    """
)
"""What asks of a stay itself."""
_ASKED_CJK = lazy_pattern(r"周末|週末|出差|旅游|旅遊|旅行|出張|泊ま|滞在|现在在|現在在|どこにい")


def is_stay(text: str) -> bool:
    """Whether a text tells where somebody is for a while, and will then no longer be."""
    if len(text) > MAX_CHARS:
        return False
    if has_cjk(text):
        return _STAY_CJK.search(text) is not None
    return any(
        _STAY[language].search(text) or (_STAY_VERB[language].search(text) and _WHILE[language].search(text))
        for language in likely_languages(words_of(text)) or list(European)
    )


def asks_for_stay(question: str) -> bool:
    """Whether a question may ask where somebody is for a while."""
    return (_ASKED_CJK if has_cjk(question) else _ASKED).search(question) is not None
