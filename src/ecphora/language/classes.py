"""Questions that ask for a class of things ("which cities", "what pets", "my vehicle"), and the instances of classes.

The instances come from a lexicon, ``lexicon/classes.npz``, which ``training/build_class_lexicon.py`` makes of WordNet,
GeoNames and CLDR. It is read when a question asks for a class, not before. WordNet is English; in other languages only
classes of places are known.
"""

import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ..model.graph.columns import find_keys, group_starts
from ..model.lazy import lazy_pattern
from .names.mentions import names, normalize_name
from .terms import UNSPACED_CHARS, count_unspaced, extract_terms, fold, hash_terms, surface_forms

Hashes = NDArray[np.uint32]

TermPair = tuple[int, int]
"""The hashes of a word's first and last term; the last is 0 if there is one term only."""
LEXICON_ARRAYS = (
    "nouns", "pair_starts", "pair_ends", "name_starts", "name_ends", "first_terms", "second_terms", "names",
)  # fmt: skip
"""The arrays of the lexicon's file.

Of each sense of a noun, ascending by the noun's hash: its instances in ``first_terms`` and ``second_terms``, and in
``names``, from start to end.
"""
TITLE_NOUNS = frozenset(
    "album band book comic documentary film game movie musical novel opera play podcast poem series show song".split()  # noqa: SIM905
)
"""Classes whose instances have titles or names that no lexicon holds."""
MAX_QUESTION_WORDS = 60
"""A longer text is not read as a question for a class."""
MAX_SKIPPED_WORDS = 5
"""How many words may stand between an interrogative and its noun, as in "what are the names of my pets"."""

_WORD = lazy_pattern(rf"[{UNSPACED_CHARS}]+|[^\W\d_{UNSPACED_CHARS}]+")
_ASCII_WORD = lazy_pattern("[a-z]+")
"""Equals ``_WORD`` on folded ASCII text; ``_WORD`` is slow to compile."""
_UNSPACED_INTERROGATIVE = lazy_pattern("哪|什么|什麼|甚麼|何|どの|どんな|どこ|列|挙げ|全部|所有|すべて|어느|무슨|어떤")
_ASKING = frozenset(
    """
    which what list all every each any many
    welche welcher welches welchen welchem que cuales cual quel quels quelle quelles quale quali quais qual каких какие
    my our your his her their
    """.split()  # noqa: SIM905
)
"""Words before the noun of a class: interrogatives, words for a list, and possessives."""
_BETWEEN = frozenset("of is are was were the a an my our your his her their some all other new".split())  # noqa: SIM905
"""Function words that may stand between a word of ``_ASKING`` and the noun."""
_STOP = frozenset(
    """
    did does do is are was were am has have had would could will can should shall may might must of in on at for to from
    with by about and or but that who whom which what when where why how i you he she it we they not during after before
    since until while as than so if because there the a an this these those my your his her our their its
    war waren hat haben habe ist sind ha han he
    """.split()  # noqa: SIM905
)


@dataclass(frozen=True, slots=True)
class Instances:
    """The instances of some classes, as hashes; ``terms`` and ``names`` are ascending, ``terms`` distinct.

    ``is_word`` says which of the terms is an instance by itself. ``pairs`` are instances of several terms: the first
    and the last, as indices into ``terms``, shape ``(pairs, 2)``. ``has_titles`` is True if any title may be one.
    """

    terms: Hashes
    is_word: NDArray[np.bool_]
    pairs: NDArray[np.intp]
    names: Hashes
    has_titles: bool


def asked_instances(question: str) -> Instances | None:
    """The instances of the classes that a question asks for; None if it asks for none."""
    nouns = tuple(asked_nouns(question))
    return _instances(nouns) if nouns else None


@dataclass(frozen=True, slots=True)
class TextInstance:
    """An instance as a text mentions it: ``noun`` is the class, ``key`` is equal for spellings of the same instance."""

    text: str
    key: str
    noun: str


def find_instances(text: str, question: str) -> list[TextInstance]:
    """What a text mentions of the classes that a question asks for; the question's own words are left out."""
    asked_terms = set(extract_terms(question))
    found: dict[str, TextInstance] = {}
    for noun in dict.fromkeys(asked_nouns(question)):
        instances = _instances((noun,))
        for name in names(text):
            normal = normalize_name(name)
            is_known = find_keys(instances.names, np.array([hash_text(normal)], np.uint32))[1][0]
            if (is_known or (instances.has_titles and " " in normal)) and not asked_terms.issuperset(
                extract_terms(name)
            ):
                found.setdefault(normal, TextInstance(name, normal, noun))
        for words, terms in _known_words(text, instances):
            if not asked_terms.issuperset(terms):
                found.setdefault(" ".join(terms), TextInstance(words, " ".join(terms), noun))
    return list(found.values())


def _known_words(text: str, instances: Instances) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The words of a text that are instances, with their terms: adjacent pairs, then single words."""
    forms = surface_forms(text)
    terms = list(forms)
    places, is_known = find_keys(instances.terms, hash_terms(terms))
    pairs = set(map(tuple, instances.pairs[np.isin(instances.pairs, places[is_known]).all(axis=1)].tolist()))
    for first, last in pairwise(range(len(terms))):
        if is_known[first] and is_known[last] and (places[first], places[last]) in pairs:
            yield f"{forms[terms[first]]} {forms[terms[last]]}", (terms[first], terms[last])
    for index in np.flatnonzero(is_known).tolist():
        if instances.is_word[places[index]]:
            yield forms[terms[index]], (terms[index],)


def asked_nouns(question: str) -> Iterator[str]:
    """The nouns of the classes that a question asks for, folded, in order."""
    words = _words(question)
    if len(words) > MAX_QUESTION_WORDS:
        return
    if not question.isascii() and _UNSPACED_INTERROGATIVE.search(question):
        yield from dict.fromkeys(word for word in words if count_unspaced(word) and _noun(word))
    found = dict.fromkeys(
        place for start, word in enumerate(words) if word in _ASKING and (place := _asked_place(words, start)) >= 0
    )
    yield from dict.fromkeys(noun for place in found if (noun := _noun_at(words, place)))


def hash_text(text: str) -> int:
    """The hash of a noun or of a normalized name."""
    return zlib.crc32(text.encode("utf-8", "surrogatepass"))


def _words(question: str) -> list[str]:
    """The folded words of a question; of scripts without spaces, pairs of characters."""
    folded = fold(question)
    if folded.isascii():
        return _ASCII_WORD.findall(folded)
    words: list[str] = []
    for run in _WORD.findall(folded):
        words.extend([run[i : i + 2] for i in range(len(run) - 1)] if count_unspaced(run) else [run])
    return words


def _asked_place(words: list[str], start: int) -> int:
    """The place of the noun that a word asks for: the last of the first nouns in a row after it; -1 if none follows."""
    end = min(len(words), start + 2 + MAX_SKIPPED_WORDS)
    for place in range(start + 1, end):
        if _noun_at(words, place):
            return _last_in_a_row(words, place)
        if words[place] in _STOP and words[place] not in _BETWEEN:
            return -1
    return -1


def _last_in_a_row(words: list[str], place: int) -> int:
    """The place of the last of some nouns in a row: "piano lesson" asks for a lesson."""
    following = place + len(_noun_at(words, place).split())
    while following < len(words) and (noun := _noun_at(words, following)):
        place, following = following, following + len(noun.split())
    return place


def _noun_at(words: list[str], place: int) -> str:
    """The noun of a class that begins at a place: two words, else one word; "" for none."""
    if words[place] in _STOP:
        return ""
    return _noun(" ".join(words[place : place + 2])) or _noun(words[place])


@lru_cache(maxsize=1 << 12)
def _noun(word: str) -> str:
    """The form of a word that is a noun of the lexicon: itself or its singular; "" for none."""
    nouns = _array("nouns")
    for form in _singulars(word):
        code = hash_text(form)
        place = int(np.searchsorted(nouns, np.uint32(code)))
        if place < len(nouns) and nouns[place] == code:
            return form
    return ""


def _singulars(word: str) -> Iterator[str]:
    yield word
    if len(word) > 3 and word.endswith("s"):
        yield word[:-1]
        if word.endswith("es"):
            yield word[:-2]
        if word.endswith("ies"):
            yield word[:-3] + "y"


@lru_cache(maxsize=64)
def _instances(nouns: tuple[str, ...]) -> Instances:
    senses = np.flatnonzero(np.isin(_array("nouns"), np.array([hash_text(noun) for noun in nouns], np.uint32)))
    first, second = _slices("first_terms", "pair", senses), _slices("second_terms", "pair", senses)
    is_pair = second != 0
    terms = np.sort(np.concatenate([first, second[is_pair]]))  # np.unique hashes first, which takes longer
    terms = terms[group_starts(terms)]
    is_word = np.zeros(len(terms), np.bool_)
    is_word[np.searchsorted(terms, first[~is_pair])] = True
    pairs = np.searchsorted(terms, np.stack([first[is_pair], second[is_pair]], axis=1))
    known_names = np.sort(_slices("names", "name", senses))
    return Instances(terms, is_word, pairs, known_names, has_titles=not TITLE_NOUNS.isdisjoint(nouns))


def _slices(name: str, kind: str, senses: NDArray[np.intp]) -> Hashes:
    """The parts of an array that belong to some senses."""
    values = _array(name)
    starts, ends = _array(f"{kind}_starts")[senses].tolist(), _array(f"{kind}_ends")[senses].tolist()
    return np.concatenate([values[:0], *(values[start:end] for start, end in zip(starts, ends, strict=True))])


@cache
def _array(name: str) -> Hashes:
    """One array of the lexicon; most questions need only the nouns."""
    with files(__package__).joinpath("lexicon", "classes.npz").open("rb") as file, np.load(file) as arrays:
        array: Hashes = arrays[name]
        return array
