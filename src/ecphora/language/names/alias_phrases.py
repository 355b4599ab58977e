"""Aliases that a text states: "call me Bo", "Robert, everyone calls him Bob", "Katherine (Kate)", "née"."""

import re
from collections.abc import Iterable, Iterator

from ...model.lazy import lazy_pattern
from ..word_lists import COMMON_WORDS
from .mentions import names, normalize_name
from .nicknames import is_acronym, is_first_or_last_name, nickname_score

_NAME_CONTINUES = lazy_pattern(r"\w|\s[A-Z][a-z]")
_HINT = lazy_pattern(
    r"\bcalls?\b|\bcalled\b|a\.?k\.?a\b|\bn[ée]e\b|\bborn\b|\bshort for\b|\bnick|\bgo(?:es)? by\b|known as|\balias\b|"
    r"\bmy (?:\w+ )?name\b|\bstands for\b|\bI['’]?\s?a?m\b|\(|[\"“]",
    re.IGNORECASE,
)
_ALIAS_PHRASE = lazy_pattern(
    r"\b(?P<says>a\.?k\.?a\.?|(?:also|better|commonly|otherwise|formerly|previously|best)\s+(?:known\s+as|called)|alias|"
    r"nicknamed|goes\s+by|went\s+by|short\s+for|stands\s+for|n[ée]e|born)(?:\s+the\s+name)?,?\s+(?:the\s+)?",
    re.IGNORECASE,
)
_CLAUSE_START = lazy_pattern(r"(?:\s|,|\()+(?:who\s+)?(?:(?:is|was|are)\s+)?\Z")
_OTHERS_CALL = lazy_pattern(
    r"\b(?:everyone|everybody|people|friends|we|I|they|family|folks|kids|colleagues|all|teammates)\s+"
    r"(?:(?:always|usually|just|all|often)\s+){0,3}(?:calls?|called|nicknamed)\s+(?:him|her|them)\s+"
)
_SELF_INTRODUCTION = lazy_pattern(
    r"\b(?:(?:you\s+can|please|just|do|but|and|friends|everyone|everybody|people|they|folks|family)\s+)?"
    r"(?P<says>(?:[Cc]alls?\s+me|[Mm]y\s+(?:full\s+|real\s+|first\s+)?name(?:\s+is|['’]s)|I\s+go\s+by|I['’]?\s?a?m))\s+"
)
_PARENTHETICAL = lazy_pattern(r"\s\(([^()\n]{2,40})\)")
_QUOTED_NICKNAME = lazy_pattern(r"\s[\"“]([^\"“”\n]{2,20})[\"”]\s")
_LOOKBACK_CHARS = 400
"""Characters before "everyone calls him" in which the name is searched."""
_FOR_SHORT = lazy_pattern(r"\s+(?:for short|to (?:his|her|their|my|our) friends)\Z")


class NameLocator:
    """Finds which of some known names begins or ends at an offset of a text."""

    def __init__(self, known_names: Iterable[str]) -> None:
        self._names = frozenset(known_names)
        self._lengths = sorted(set(map(len, self._names)), reverse=True)

    def name_ending_at(self, text: str, at: int) -> str | None:
        """The longest known name that ends at an offset of a text, ignoring trailing spaces."""
        while at and text[at - 1].isspace():
            at -= 1
        for length in self._lengths:
            start = at - length
            if start >= 0 and text[start:at] in self._names and not text[max(0, start - 1) : start].isalnum():
                return text[start:at]
        return None

    def name_starting_at(self, text: str, at: int) -> str | None:
        """The longest known name that begins at an offset of a text."""
        for length in self._lengths:
            name = text[at : at + length]
            if name in self._names and not _NAME_CONTINUES.match(text, at + length):
                return name
        return None


def alias_pairs(text: str, speaker: str | None) -> tuple[tuple[str, str], ...]:
    """The pairs of names that a text states as aliases, as written: the alias, and the name it stands for."""
    if not _HINT.search(text):
        return ()
    locator = NameLocator(names(text))
    candidates = [
        *_parenthetical_aliases(text, locator),
        *_phrase_aliases(text, locator),
        *(_self_aliases(text, speaker, locator) if speaker else ()),
    ]
    pairs = {
        (normalize_name(one), normalize_name(two)): (one, two)
        for one, two in candidates
        if _is_valid_name(one) and _is_valid_name(two)
    }
    return tuple(pair for (one, two), pair in pairs.items() if one != two)


def _is_valid_name(name: str) -> bool:
    return len(normalize_name(name)) > 1 and normalize_name(name) not in COMMON_WORDS


def _parenthetical_aliases(text: str, locator: NameLocator) -> Iterator[tuple[str, str]]:
    """Aliases in parentheses or quotation marks after a name, if they can be forms of it."""
    for match in _PARENTHETICAL.finditer(text):
        name, inner = locator.name_ending_at(text, match.start()), _FOR_SHORT.sub("", match[1].strip(" \"“”'"))
        if name is None or not inner[:1].isupper():
            continue
        full_key, inner_key = normalize_name(name), normalize_name(inner)
        if (
            _FOR_SHORT.search(match[1])
            or nickname_score(inner_key, full_key.split()[0])
            or is_acronym(inner_key, full_key)
        ):
            yield inner, name
        elif (
            nickname_score(full_key.split()[0], inner_key)
            or is_acronym(full_key, inner_key)
            or is_first_or_last_name(full_key, inner_key)
        ):
            yield name, inner
    for match in _QUOTED_NICKNAME.finditer(text):
        quoted_names = names(match[1])
        given, family = locator.name_ending_at(text, match.start()), locator.name_starting_at(text, match.end())
        if given and family and quoted_names and quoted_names[0] == match[1]:
            yield match[1], f"{given} {family}"
            yield match[1], given


def _phrase_aliases(text: str, locator: NameLocator) -> Iterator[tuple[str, str]]:
    for match in _ALIAS_PHRASE.finditer(text):
        clause_start = _CLAUSE_START.search(text, max(0, match.start() - 20), match.start())
        name = None if clause_start is None else locator.name_ending_at(text, clause_start.start())
        alias = locator.name_starting_at(text, match.end())
        if name is None or alias is None:
            continue
        if match["says"].lower() in ("née", "nee", "born"):
            maiden = normalize_name(alias).split()
            is_family_name = len(maiden) == 1 and len(normalize_name(name).split()) > 1
            if match["says"].lower() == "born" and text[match.end() + len(alias) :][:1] not in ("", ",", ")", "."):
                continue
            yield (f"{name.split()[0]} {alias}" if is_family_name else alias), name
        elif "for" in match["says"].lower().split():
            yield name, alias
        else:
            yield alias, name
    for match in _OTHERS_CALL.finditer(text):
        window_start = max(0, match.start() - _LOOKBACK_CHARS)
        start = max(window_start - 1, *(text.rfind(mark, window_start, match.start()) for mark in ".!?\n")) + 1
        earlier_names = names(text[start : match.start()].strip(" ,"))
        alias = locator.name_starting_at(text, match.end())
        if len(earlier_names) == 1 and alias is not None:
            yield alias, earlier_names[0]


def _self_aliases(text: str, speaker: str, locator: NameLocator) -> Iterator[tuple[str, str]]:
    """Aliases that speakers state of themselves.

    "I am Irish" gives no name, so after a mere "I am" the name must fit the speaker's.
    """
    for match in _SELF_INTRODUCTION.finditer(text):
        stated_name = locator.name_starting_at(text, match.end())
        if stated_name is None:
            continue
        stated_key, speaker_key = normalize_name(stated_name), normalize_name(speaker)
        is_plain_statement = match["says"].startswith("I") and "go" not in match["says"]
        if (
            not is_plain_statement
            or is_first_or_last_name(speaker_key, stated_key)
            or nickname_score(stated_key, speaker_key.split()[0])
            or nickname_score(speaker_key, stated_key.split()[0])
        ):
            yield (speaker, stated_name) if is_first_or_last_name(speaker_key, stated_key) else (stated_name, speaker)
