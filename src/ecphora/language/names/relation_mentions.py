"""Relations in questions and memories: whom "my sister" or "the accountant" asks about, and the names that texts give.

The nouns are in :mod:`.relation_lexicon`. A name counts only next to its noun: "my sister Marta", "Marta, my sister",
"our accountant is Ms Okoro", "meine Schwester Marta", 妹の美咲. Plurals give no names.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

from ...model.lazy import lazy_pattern
from ..lexicon_file import lexicon_words, read_lexicon
from ..terms import count_unspaced
from .adjacent_names import TITLES, CapitalizedNames, NameFinder, adjacent_name, complement_name, predicate_name
from .alias_phrases import NameLocator
from .mentions import names, normalize_name
from .relation_lexicon import NARROWER_RELATIONS, needs_possessive, nouns_by_language, relations_by_noun
from .relation_mentions_cjk import CJK_LANGUAGES, cjk_asked_nouns, cjk_mentions


class Owner(StrEnum):
    """Whose relation somebody is: the speaker's ("my"), the addressee's ("your"), a named person's, or unknown."""

    SPEAKER = "speaker"
    ADDRESSEE = "addressee"
    NAMED = "named"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class AskedRelation:
    """A phrase of a question, from ``start`` to ``end``, that stands for somebody by a relation, such as "my sister".

    ``relations`` are what its noun can mean. ``owner_name`` is the name of the owner if the question names one, "" if
    not. ``is_former`` is True for "my old boss"; ``qualifiers`` are other words before the noun, such as "older".
    """

    relations: tuple[str, ...]
    start: int
    end: int
    owner: Owner
    owner_name: str = ""
    qualifiers: frozenset[str] = frozenset()
    is_former: bool = False


@dataclass(frozen=True, slots=True)
class RelationMention:
    """The name that a text gives to a relation, and whose relation it is."""

    name: str
    owner: Owner
    owner_name: str = ""
    qualifiers: frozenset[str] = frozenset()
    is_former: bool = False


MAX_QUESTION_CHARS = 400
"""A longer text is not read as a question about a relation."""
_HAS_BARE_NOUNS = frozenset(("sv", "pl", "ru", "tr"))
"""Languages in which a noun without article or possessive may be meant."""
_BESIDE_CAPITALS = _HAS_BARE_NOUNS | {"de"}
"""Languages in which another word with a capital may stand next to a name."""
_OTHERS = lazy_pattern(
    r"(?:\b(?:his|her|its|their|sein\w*|ihr\w*|su|sus|son|sa|leur|suo|sua|seu|zijn|haar|hun|hans|hennes|deras|sin|jego|jej|"
    r"ich|его|её|ее|их|onun|onların|a|an|no|ein\w*|un|une|una|uma|um|een|en|ett)|['’]s)\s+\Z",
    re.IGNORECASE,
)
"""A possessive of a third person, or an indefinite article, before a noun without its own."""


def _other_ones() -> frozenset[str]:
    """Words that tell another one than the present."""
    return lexicon_words("names", "all languages", "other ones")


def _ignored_qualifiers() -> frozenset[str]:
    """Words that do not tell one from another."""
    return lexicon_words("names", "all languages", "ignored qualifiers")


_POSSESSOR = lazy_pattern(
    rf"\s(?:of|de|del|von|di|van|do|da)\s(?:(?:{TITLES}|doña|don)\b\.?\s)?(?P<name>[A-ZÀ-Þ]\w{{1,30}})(?![\w'’])"
)
"""A name after a noun that says whose relation it is, as in "the sister of Ben"."""
_POSSESSOR_PHRASE = lazy_pattern(
    r"\s(?:of|de|del|du|von|vom|di|della|van|do|da|des|der|(?:mein|dein|sein|ihr|unser)e[rs])\b", re.IGNORECASE
)
"""The beginning of a phrase that says whose relation it is, as in "the sister of my boss"."""
_OTHER_MEANING = lazy_pattern(
    r"\s(?:park|food|stores?|shops?|shows?|walkers?|walking|sitters?|house|beds?|litter|flap|toys?|training|trainers?|breeds?|"
    r"owners?|hair|collar|leash|clinic|office|fights?|riding|lovers?|he|she|they|we|I|who|whose|that|from|with)\b"
)
"""What makes another thing of an English noun before it ("the dog park"), or says which one ("the dog he met")."""
_INFLECTIONS = {"de": "(?:e?s|n)?"}
"""Endings of a noun in the singular."""
_NAME_QUESTION_WORDS = frozenset(
    """
    who whose what which is s was are name names called again the of by give tell me full first wie heißt heisst wer
    ist der die das vorname quién quien es cómo como se llama cuál nombre de qui est comment appelle quel nom chi è si
    chiama nome quem qual hoe heet naam kto jak imię ma на как зовут кто имя vad heter vem är kim adı ne
    """.split()  # noqa: SIM905
)
_NAME_QUESTION_CJK = lazy_pattern(
    "是谁|谁是|谁|叫什么(?:名字)?|的?名字(?:是什么)?|は?(?:誰|だれ)(?:です)?か?|の?名前は?(?:何)?(?:です)?か?"
    "|(?:이|가|은|는)?\\s?(?:누구|이름)[가-힣]*|뭐[가-힣]*"
)
"""Words of questions that ask for nothing but a name."""
_QUALIFIER = (
    r"(?!(?:my|our|your|his|her|their|its|the|an?|of|and|or|to|for|with|in|at|on|is|was|are|that|who|has|had|will|did|do|"
    r"does|mein\w*|unser\w*|sein\w*|ihr\w*|und|oder|der|die|das|den|dem|mi|su|de|del|y|mon|ma|sa|son|du|des|et|e|di|da|"
    r"van|en)\b)(?-i:[^\W\dA-ZÄÖÜ])[\w-]{0,23}"
)
"""A word between a possessive and its noun."""
_WORD = lazy_pattern(r"[^\W\d_]+(?:-[^\W\d_]+)*")


def asked_relations(question: str) -> tuple[AskedRelation, ...]:
    """The relations that a question asks about, in order, as by :func:`relations_in_question`.

    There are none if the question asks for nothing but the name, as "who is my boss".
    """
    found = relations_in_question(question)
    return () if found and _asks_for_name(question, found) else found


def relations_in_question(question: str) -> tuple[AskedRelation, ...]:
    """The relations in a question, in order, without those whose name it gives."""
    if len(question) > MAX_QUESTION_CHARS:
        return ()
    asked: dict[int, AskedRelation] = {}
    relations = relations_by_noun()
    if count_unspaced(question):
        for noun, start, end, is_own in cjk_asked_nouns(question):
            owner = Owner.SPEAKER if is_own else Owner.UNKNOWN
            asked[end] = AskedRelation(relations[noun], start, end, owner)
    for noun in _nouns_in(question.lower()):
        for code in _spaced_languages(noun):
            for match in _pattern((noun,), code).finditer(question):
                if match.end("noun") not in asked and (one := _asked_relation(question, relations[noun], code, match)):
                    asked[one.end] = one
    found: list[AskedRelation] = []
    for one in sorted(asked.values(), key=lambda relation: (relation.start, -relation.end)):
        if not found or one.start >= found[-1].end:
            found.append(one)
    return tuple(found)


def _asks_for_name(question: str, asked: Sequence[AskedRelation]) -> bool:
    """Whether a question has no other words than for "who is" and "what is the name of"."""
    rest = question
    for one in reversed(asked):
        rest = f"{rest[: one.start]} {rest[one.end :]}"
    return _NAME_QUESTION_WORDS.issuperset(_WORD.findall(_NAME_QUESTION_CJK.sub(" ", rest.lower())))


def relation_mentions(text: str, relation: str) -> Iterator[RelationMention]:
    """The names that a text gives to a relation or to a narrower relation, such as a dog for a pet."""
    folded, locator = text.lower(), None
    for one in (relation, *NARROWER_RELATIONS.get(relation, ())):
        for code, nouns in nouns_by_language(one).items():
            if code in CJK_LANGUAGES or not any(noun.lower() in folded for noun in nouns):
                continue
            locator = NameLocator(names(text)) if locator is None else locator
            finder = CapitalizedNames() if code in _BESIDE_CAPITALS else locator
            yield from _spaced_mentions(text, nouns, code, finder)
        if count_unspaced(text):
            for name, is_own in cjk_mentions(text, one):
                yield RelationMention(name, Owner.SPEAKER if is_own else Owner.UNKNOWN)


def _spaced_mentions(text: str, nouns: tuple[str, ...], code: str, finder: NameFinder) -> Iterator[RelationMention]:
    for match in _pattern(nouns, code).finditer(text):
        start, end = match.start(), match.end("head")
        owner = _owner(text, code, match)
        if owner is None:
            continue
        name = adjacent_name(finder, text, start, end, ending=match["ending"]) or complement_name(finder, text, start)
        if name is None and not match["ending"]:
            name = predicate_name(finder, text, end)
            is_plain_german = code == "de" and name is not None and " " not in name
            name = None if is_plain_german else name  # "ist Lehrerin" looks as "ist Marta" does
        if name is not None and normalize_name(name) not in relations_by_noun():
            qualifiers, is_former = _qualifiers(match)
            yield RelationMention(name, owner, match["owner"] or "", qualifiers, is_former)


def _asked_relation(question: str, relations: tuple[str, ...], code: str, match: re.Match[str]) -> AskedRelation | None:
    """The relation at a match in a question; None if the question gives the name, or asks about somebody else's."""
    owner = _owner(question, code, match)
    finder = CapitalizedNames() if code in _BESIDE_CAPITALS else NameLocator(names(question))
    is_named = adjacent_name(finder, question, match.start(), match.end("head")) is not None
    has_other_meaning = code == "en" and _OTHER_MEANING.match(question, match.end()) is not None
    if owner is None or owner is Owner.ADDRESSEE or is_named or has_other_meaning:
        return None
    qualifiers, is_former = _qualifiers(match)
    possessor = _POSSESSOR.match(question, match.end()) if owner is Owner.UNKNOWN else None
    end, owner_name = match.end("noun"), match["owner"] or ""
    if possessor is None and owner is Owner.UNKNOWN and _POSSESSOR_PHRASE.match(question, end):
        return None
    if possessor is not None:
        end, owner, owner_name = possessor.end(), Owner.NAMED, possessor["name"]
    return AskedRelation(relations, match.start(), end, owner, owner_name, qualifiers, is_former)


def _owner(text: str, code: str, match: re.Match[str]) -> Owner | None:
    """Whose relation a match mentions; None if nobody can say whose: "his sister", "a sister"."""
    if match["own"]:
        return Owner.SPEAKER
    if match["your"]:
        return Owner.ADDRESSEE
    if match["owner"]:
        return Owner.NAMED
    if needs_possessive(match["noun"]) or not (match["article"] or _is_bare_noun(match["noun"].lower(), code)):
        return None
    before = text[max(0, match.start() - 24) : match.start()]
    is_others = not match["article"] and (
        _OTHERS.search(before) or not _other_ones().isdisjoint(before.lower().split()[-1:])
    )
    return None if is_others else Owner.SPEAKER if code == "tr" else Owner.UNKNOWN


@lru_cache(maxsize=256)
def _is_bare_noun(noun: str, code: str) -> bool:
    """Whether a noun may stand without an article: if it is no noun of a language that has articles."""
    return code in _HAS_BARE_NOUNS and not any(
        noun in map(str.lower, nouns)
        for relation in relations_by_noun().get(noun, ())
        for other, nouns in nouns_by_language(relation).items()
        if other not in _HAS_BARE_NOUNS
    )


def _qualifiers(match: re.Match[str]) -> tuple[frozenset[str], bool]:
    """The words before the noun that tell one from another, and whether they tell a former one."""
    words = set((match["which"] or "").lower().split())
    return frozenset(words - _other_ones() - _ignored_qualifiers()), not _other_ones().isdisjoint(words)


def _nouns_in(question: str) -> Iterator[str]:
    """The nouns of the lexicon in a question in lower case."""
    relations, words = relations_by_noun(), _WORD.findall(question)
    forms = dict.fromkeys(
        form
        for word in words
        for form in (word, word.removesuffix("s"), word.removesuffix("es"), word.removesuffix("n"))
    )
    yield from (noun for noun in _long_nouns() if noun in question)
    yield from (form for form in forms if form in relations)


@lru_cache(maxsize=1)
def _long_nouns() -> tuple[str, ...]:
    return tuple(noun for noun in relations_by_noun() if " " in noun)


@lru_cache(maxsize=256)
def _spaced_languages(noun: str) -> tuple[str, ...]:
    """The languages with spaces between words that have a noun, by their codes."""
    known = (nouns_by_language(relation) for relation in relations_by_noun()[noun])
    entries = [entry for nouns in known for entry in nouns.items()]
    codes = [code for code, nouns in entries if noun in map(str.lower, nouns) and code not in CJK_LANGUAGES]
    return tuple(dict.fromkeys(codes))


@lru_cache(maxsize=1024)
def _pattern(nouns: tuple[str, ...], code: str) -> re.Pattern[str]:
    """A pattern of some nouns in a language, with the words before them."""
    any_noun = "|".join(re.escape(noun) for noun in sorted(nouns, key=len, reverse=True))
    lists = read_lexicon("relations")
    adjectives = lists["adjectives after nouns"]
    words = (
        rf"(?P<own>{lists['own'][code]})\s{{1,3}}|(?P<your>{lists['your'][code]})\s{{1,3}}"
        rf"|(?P<article>{lists['articles'].get(code, '(?!)')})(?:\s{{1,3}}|(?<=['’]))"
        r"|(?P<owner>(?-i:[A-ZÀ-Þ])\w{1,30})['’]s\s{1,3}"
    )
    before = rf"(?:{words})(?P<which>(?:{_QUALIFIER}\s{{1,3}}){{0,2}}?)"
    before = f"(?:{before})?" if code in _HAS_BARE_NOUNS else before
    after = rf"(?:\s(?:{adjectives[code]}))?" if code in adjectives else ""
    head = f"(?P<head>(?P<noun>(?:{any_noun}){_INFLECTIONS.get(code, '')}){after})"
    return re.compile(rf"(?<![\w'’-]){before}{head}(?P<ending>['’]s\b)?(?![\w-])", re.IGNORECASE)
