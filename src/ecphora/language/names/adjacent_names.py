"""The name that a text gives next to a noun for a person or an animal: "my sister Marta", "Marta, my sister", "Rex"."""

import re
from typing import Protocol

from ...model.lazy import lazy_pattern
from ..lexicon_file import lexicon_words
from ..word_lists import COMMON_WORDS, FOREIGN_STARTERS
from .mentions import normalize_name

NAME_WINDOW_CHARS = 40
"""Characters around a noun in which its name is searched."""
TITLES = (
    "Mr|Mrs|Ms|Mx|Miss|Dra|Dr|Prof|Engr|Ing|Dott|Herrn|Herr|Frau|Señora|Señor|Sra|Sr|Doña|Don|Madame|Monsieur|Mme|M|Signora|Signor|Sig|"
    "Dona|Mevrouw|Meneer|Mevr|Dhr|Pani|Pan|Fru|Alhaji"
)
"""Titles before a name; each may have a period."""

_AND = r"(?:and|or|und|oder|y|e|et|ou|en|och|i|и|ve)\b"
_TITLE = lazy_pattern(rf"(?:(?:{TITLES})\b\.?\s+){{1,2}}")
_NAME_FOLLOWS = lazy_pattern(
    r"['’]s\s+name\s+is\s+|(?:,?\s+(?:who\s+)?is)?\s+(?:called|named)\s+"
    r"|,?\s+(?:(?:que|qui|che|som|kt[oó]r[ay])\s+)?(?:heißt|heisst|namens|se\s+llama|llamad[ao]|s['’]appelle|appelée?|"
    r"nommée?|si\s+chiama|di\s+nome|se\s+chama|chamad[ao]|heet|genaamd|heter|ma\s+na\s+imię|imieniem|зовут|по\s+имени|"
    r"adı|isimli)\s+"
    r"|\s+(?=[^\W\d_])"
)
_APPOSITION = lazy_pattern(r"\s*[,(]\s*")
_NAME_PRECEDES = lazy_pattern(
    r"(?:\s+(?:is|became|ist|es|est|è|é|är|jest|это)(?:\s+(?:now|still|also|jetzt|ahora|nu|ora|agora))?|['’]s|\s*[,(]|\s+[—–-])\s*\Z"
)
_GIVING_VERB = lazy_pattern(
    r"\b(?:gave|gives?|giving|buy|bought|get|got|getting|sent|send|show|showed|showing|teach|taught|teaching|take|took|"
    r"taking|made|make|making|cook|cooked|lend|lent|read|offer|offered|bring|brought|play|played|owe|let|have|had)\s+\Z"
)
_NAME_END = lazy_pattern(rf"\s*(?:[.;:!?)\n]|\Z|,(?!\s*{_AND})(?!\s*[A-Z](?!['’\s]))|\s+who\b)")
_MENTION_END = lazy_pattern(rf"\s*(?:[.;:!?)\n]|\Z|,(?!\s*{_AND})|who\b)")
_PREDICATE_END = lazy_pattern(r"\s*(?:[.;:!?,)\n]|\Z|\s(?:since|from|at|now|who|and|und|y|et|seit|desde|depuis)\b)")
_COPULA = lazy_pattern(
    r"\s+(?:is|es|est|è|é|är|jest|ist|[—–])\s+(?:(?:now|currently|still|jetzt|nun|ahora|ora|agora|nu|teraz|maintenant)\s+)?"
)
_COMPLEMENT = lazy_pattern(r"\s+(?:as|als|como|comme|come|som|jako)\s+\Z")
_CLAUSE_BREAK = lazy_pattern(r"[.;:!?\n]")
_NOT_NAMES = frozenset(("christmas", "easter", "thanksgiving", "halloween", "disney", "god", "facebook", "instagram"))


class NameFinder(Protocol):
    """Finds a name that begins or ends at an offset of a text."""

    def name_starting_at(self, text: str, at: int, /) -> str | None:
        """The name that begins at an offset."""
        ...

    def name_ending_at(self, text: str, at: int, /) -> str | None:
        """The name that ends at an offset, ignoring trailing spaces."""
        ...


def without_titles(name: str) -> str:
    """A name without the titles before it: "Okoro" of "Ms Okoro"."""
    title = _TITLE.match(name)
    return name[title.end() :] if title else name


def adjacent_name(finder: NameFinder, text: str, start: int, end: int, *, ending: str = "") -> str | None:
    """The name given with a noun: next to it, by "is called", or before it, as in "Nadia is my sister".

    The noun with its possessive is ``text[start:end]``; ``ending`` is the inflection that follows, such as "'s".
    """
    name = _find_name(finder, text, start, end, ending)
    return name if name is not None and is_possible_name(name) else None


def predicate_name(finder: NameFinder, text: str, end: int) -> str | None:
    """The name that a verb ascribes to the noun that ends at an offset, as in "my boss is Óscar"."""
    copula = _COPULA.match(text, end)
    name = None if copula is None else _name_at(finder, text, copula.end())
    if copula is None or name is None or not _PREDICATE_END.match(text, text.index(name, copula.end()) + len(name)):
        return None
    return (
        name
        if is_possible_name(name) and normalize_name(name) not in lexicon_words("names", "english", "demonyms")
        else None
    )


def complement_name(finder: NameFinder, text: str, start: int) -> str | None:
    """The name before the noun that starts at an offset, as in "Okoro, who does our books as our accountant"."""
    window_start = max(0, start - 2 * NAME_WINDOW_CHARS)
    complement = _COMPLEMENT.search(text, window_start, start)
    if complement is None:
        return None
    breaks = [found.end() for found in _CLAUSE_BREAK.finditer(text, window_start, complement.start())]
    found = None
    for at in range(max([window_start, *breaks]), complement.start()):
        if at and text[at - 1].isalnum():
            continue
        name = _name_at(finder, text, at)
        if name is not None and is_possible_name(name):
            if found is not None and name not in found:
                return None
            found = found or name
    return found


def is_possible_name(name: str) -> bool:
    """Whether a capitalized word may be the name of a person or an animal."""
    normal = normalize_name(name)
    return bool(normal) and normal not in COMMON_WORDS and normal.split()[0] not in _NOT_NAMES


def _name_at(finder: NameFinder, text: str, at: int) -> str | None:
    """The name that begins at an offset, which may have a title before it."""
    name, title = finder.name_starting_at(text, at), _TITLE.match(text, at)
    if title and (name is None or len(name) < len(title[0])):
        return finder.name_starting_at(text, title.end())
    return name


def _find_name(finder: NameFinder, text: str, start: int, end: int, ending: str) -> str | None:
    window_start = max(0, start - NAME_WINDOW_CHARS)
    if found := _NAME_FOLLOWS.match(text, end):
        name = _name_at(finder, text, found.end())
        if name is not None and (found[0].strip() or not (ending or _GIVING_VERB.search(text, window_start, start))):
            return name
    if ending:
        return None
    if found := _APPOSITION.match(text, end):
        name = _name_at(finder, text, found.end())
        if name is not None and _NAME_END.match(text, text.index(name, found.end()) + len(name)):
            return name
    if preceding := _NAME_PRECEDES.search(text, window_start, start):
        name = finder.name_ending_at(text, preceding.start())
        is_verb = preceding[0].strip() not in (",", "(")
        if (
            name is not None
            and (is_verb or _is_not_greeted(text, preceding.start(), name))
            and _MENTION_END.match(text, end)
        ):
            return name
    return None


def _is_not_greeted(text: str, end: int, name: str) -> bool:
    """Whether the name is not part of a greeting: "Hey Nadia, my sister" addresses Nadia and mentions somebody else."""
    head = text[max(0, end - len(name) - NAME_WINDOW_CHARS) : end]
    rest = head.rstrip()[: -len(name)].rstrip(" ,").lower()
    return not rest.endswith(("hi", "hey", "hello", "dear", "thanks", "thank you", "yes", "no", "oh", "wow", "sorry"))


# ---- languages that write other words next to a name with a capital

_WORD = r"[^\W\d_][\w-]{1,24}"
_CAPITALIZED = lazy_pattern(
    rf"(?P<title>(?:(?:{TITLES})\b\.?\s+){{0,2}})(?P<first>{_WORD})(?:[ ](?:(?:von|van|zu|de)\s+)?(?P<second>{_WORD}))?"
)
_LAST_WORDS = lazy_pattern(rf"(?<!\w)(?:(?:(?:{TITLES})\b\.?\s+)?{_WORD}\s+)?{_WORD}\s*\Z")
_NOUN_ENDING = lazy_pattern(
    r"(?:ung|ungen|heit|heiten|keit|keiten|schaft|schaften|tion|tionen|tät|tag|tags|zeit|abend|morgen|woche|jahr|chen|ment|nis|"
    r"stück|haus|geld|buch|arbeit|termin|kuchen|suppe|wagen|karte|schein|problem[e]?|schmerzen)\Z",
    re.IGNORECASE,
)


class CapitalizedNames:
    """Finds capitalized words as names, except German nouns that often stand next to a noun for a person.

    For German, which writes all nouns with a capital, and for languages in which such a noun begins a sentence without
    an article: there ``names`` takes both words for one name.
    """

    def name_starting_at(self, text: str, at: int, /) -> str | None:
        """The capitalized words at an offset, a title among them, but no more than two."""
        match = None if text[at - 1 : at] == "\n" else _CAPITALIZED.match(text, at)
        if match is None or not (match["title"] or _is_capitalized_name(match["first"])):
            return None
        if match["second"] and not _is_capitalized_name(match["second"]):
            return text[at : match.end("first")]
        return match[0]

    def name_ending_at(self, text: str, at: int, /) -> str | None:
        """The one or two capitalized words that end at an offset."""
        match = _LAST_WORDS.search(text, max(0, at - NAME_WINDOW_CHARS), at)
        words = [] if match is None else match[0].split()
        while words and not _is_capitalized_name(words[0]):
            words = words[1:]
        return " ".join(words) or None


def _is_capitalized_name(word: str) -> bool:
    return (
        word[0].isupper()
        and word.lower() not in lexicon_words("names", "german", "nouns")
        and word.lower() not in FOREIGN_STARTERS
        and not _NOUN_ENDING.search(word)
    )
