"""Tells which of English, German, Spanish, French and Portuguese a text is in, by its commonest words."""

import re
from collections.abc import Collection
from enum import StrEnum

from ..model.lazy_pattern import lazy_pattern
from .lexicon_file import phrase_pattern


class European(StrEnum):
    """A European language whose dates are read."""

    ENGLISH = "en"
    GERMAN = "de"
    SPANISH = "es"
    FRENCH = "fr"
    PORTUGUESE = "pt"


def phrase_patterns(name: str, key: str) -> dict[European, re.Pattern[str]]:
    """The phrases of a file of the lexicon in the section of each language, by language."""
    return {language: phrase_pattern(name, language.name.lower(), key) for language in European}


def word_set(words: str) -> frozenset[str]:
    """A set of words from a text that has them apart by spaces."""
    return frozenset(words.split())


_WORD = lazy_pattern(r"[^\W\d_]+")
_ASCII_WORD = lazy_pattern("[a-z]+")
"""Equals ``_WORD`` on ASCII text in lower case, and is faster."""
_COMMON_WORDS = {
    European.ENGLISH: word_set(
        "a the of and to in is it you that was for on are with as i his they be at have this from or had by but what "
        "we can were all your when how an she which do their if will about then them would so these her him has my me "
        "did does s t m ll ve re am not our who where why he"
    ),
    European.GERMAN: word_set(
        "der die das und ist ich nicht ein eine einen einem einer den dem des mit auf für von zu im wir er sie es war "
        "habe hat haben wie auch sich noch bei mir mein meine dein am um wann wo wer was an nach aus vom zum zur oder "
        "aber wenn dass wird werden sind kann dann nur schon sehr hatte waren bin uns ihr ihm vor bis seit hier so "
        "zwei drei gestern vorgestern heute übermorgen märz mai letzte letzten letzter letztes nächste nächsten woche "
        "wochen monat jahr wochenende montag dienstag mittwoch donnerstag freitag samstag sonntag"
    ),
    European.SPANISH: word_set(
        "el los las una un con y en lo del que de la por para se su al es no mi me te qué cómo más pero muy fue era "
        "está hay como si ha he yo tú nos le les o ya también cuando dónde quién ser son esta este todo a cuál cuándo "
        "dos tres últimos últimas fin ayer hoy anoche anteayer mañana pasado pasada semana mes año hace marzo mayo "
        "lunes martes miércoles jueves viernes sábado domingo"
    ),
    European.FRENCH: word_set(
        "le la les un une des et est dans en du de que qui pour pas sur au aux ce cette il elle je tu nous vous on "
        "mon ma mes son sa ses avec ne se par plus mais ou où j l qu c n ai suis sont était été fait comme y leur a à "
        "deux trois quand quel quelle quels quelles étaient étais hier aujourd demain dernier dernière semaine mois "
        "année mars août lundi mardi mercredi jeudi vendredi samedi dimanche"
    ),
    European.PORTUGUESE: word_set(
        "o os as um uma com e em não na no do da dos das ao à que de para por se sua seu é eu ele ela nós você mais "
        "mas foi estava muito meu minha quando onde quem são está há nos pelo pela também já ou isso este esta a me "
        "dois duas três últimos últimas atrás fim ontem hoje amanhã anteontem passado passada semana mês ano março "
        "maio segunda terça quarta quinta sexta feira sábado domingo"
    ),
}
"""Each language's commonest words, and its words of time."""


def common_words(language: European) -> frozenset[str]:
    """The commonest words of a language, and its words of time."""
    return _COMMON_WORDS[language]


def words_of(text: str) -> set[str]:
    """The words of a text in lower case, without digits and marks."""
    return set((_ASCII_WORD if text.isascii() else _WORD).findall(text.lower()))


def european_language(words: set[str], preferred: Collection[European] = ()) -> European | None:
    """The language with most of a text's words among its commonest ones; None if no word is among them.

    Between languages with equally many, a language among ``preferred`` wins, then the first.
    """
    likely = likely_languages(words)
    return next((language for language in likely if language in preferred), likely[0] if likely else None)


def likely_languages(words: set[str]) -> list[European]:
    """All languages with the most of a text's words among their commonest ones, of at least one word."""
    counts = {language: len(words & common) for language, common in _COMMON_WORDS.items()}
    most = max(counts.values())
    return [language for language, count in counts.items() if count == most] if most else []
