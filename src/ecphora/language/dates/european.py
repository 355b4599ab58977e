"""Rewrites German, Spanish, French and Portuguese phrases of time in place into the English that ``dates`` parses.

It does not interpret dates and needs no reference time; unrecognized phrases stay. The phrases of one language are
read: the language with most of the text's common words. A text without any such word is left to the English grammar.

Conventions: 9/3/2026 is the ninth of March where the text is in one of the four languages. A month alone, "segunda" or
"été" count only next to words that make them dates, a repeated day ("jeden Montag", "los lunes", "le lundi") is none.
"""

from ..european_languages import European, word_set
from .french import RULES as FRENCH
from .german import RULES as GERMAN
from .phrases import PhraseRules
from .portuguese import RULES as PORTUGUESE
from .spanish import RULES as SPANISH

EUROPEAN_RULES: dict[European, PhraseRules] = {
    European.GERMAN: GERMAN,
    European.SPANISH: SPANISH,
    European.FRENCH: FRENCH,
    European.PORTUGUESE: PORTUGUESE,
}
"""The rewrite rules of each language, in their order."""

_GERMAN_WEEKDAYS = word_set("montag dienstag mittwoch donnerstag freitag samstag sonnabend sonntag")
_GERMAN_DAY_PARTS = word_set("morgen vormittag mittag nachmittag abend nacht")

HINTS: dict[European, frozenset[str]] = {
    European.GERMAN: _GERMAN_WEEKDAYS
    | word_set(
        "gestern heute morgen vorgestern übermorgen neulich letztens "
        "januar jänner februar märz april mai juni juli august september oktober november dezember "
        "woche wochen wochenende monat monate monaten monats jahr jahre jahren jahres tag tagen tage stunde stunden "
        "minuten quartal jahrzehnt nacht abend frühling frühjahr sommer herbst winter "
        "ersten zweiten dritten vierten fünften sechsten siebten achten neunten zehnten elften zwölften dreizehnten "
        "vierzehnten fünfzehnten sechzehnten siebzehnten achtzehnten neunzehnten zwanzigsten einundzwanzigsten "
        "zweiundzwanzigsten dreiundzwanzigsten vierundzwanzigsten fünfundzwanzigsten sechsundzwanzigsten "
        "siebenundzwanzigsten achtundzwanzigsten neunundzwanzigsten dreißigsten einunddreißigsten"
    )
    | {day + part for day in _GERMAN_WEEKDAYS for part in _GERMAN_DAY_PARTS},
    European.SPANISH: word_set(
        "ayer hoy anoche anteayer antier mañana lunes martes miércoles jueves viernes sábado domingo enero febrero "
        "marzo abril mayo junio julio agosto septiembre setiembre octubre noviembre diciembre semana semanas mes "
        "meses año años día días hora horas minutos trimestre década noche tarde quincena veintiuno veintidós "
        "veintitrés veinticuatro veinticinco veintiséis veintisiete veintiocho veintinueve primavera verano otoño "
        "invierno"
    ),
    European.FRENCH: word_set(
        "hier demain aujourd lundi mardi mercredi jeudi vendredi samedi dimanche janvier février mars avril mai juin "
        "juillet août septembre octobre novembre décembre semaine semaines mois an ans année années jour jours heure "
        "heures minutes trimestre décennie nuit soir matin après week weekend printemps été automne hiver vingt"
    ),
    European.PORTUGUESE: word_set(
        "ontem hoje amanhã anteontem segunda terça quarta quinta sexta sábado domingo janeiro fevereiro março abril "
        "maio junho julho agosto setembro outubro novembro dezembro semana semanas mês meses ano anos dia dias hora "
        "horas minutos trimestre década noite tarde manhã primavera verão outono inverno"
    ),
}
"""The words without which a text in a language names no time, unless it has a digit."""
ALL_HINTS = frozenset().union(*HINTS.values())
