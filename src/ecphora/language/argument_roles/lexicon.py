"""What a word says of the parties of a relation: as a verb, as a noun for a party, as a noun for what passes.

The words are in ``lexicon/roles.ini``. "Sell" and "buy" are one relation seen from its two sides: the subject of "sell"
is the object of "from" of "buy".

The common form of a verb's forms in English, German, Spanish, French and Portuguese: "lent" and "lends" are "lend".

Irregular forms come from ``lexicon/roles.ini``; of other words, the stem is the common form.
"""

import threading
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache

import Stemmer

from ...model.lazy import lazy_pattern
from ..language_identification import European, word_set
from ..lexicon_file import LexiconError, lexicon_rows, lexicon_value, lexicon_words
from ..terms import fold
from .grammar import FRAMES, GIVE, PLAIN, TAKE, Frame, Party, Slot

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
    lemma = _lemmas(language).get(fold(word)) or (_german_infinitive(word) if language is European.GERMAN else word)
    stemmers = _stemmers.__dict__
    stemmer = stemmers.get(language)  # a stemmer must not be shared between threads
    if stemmer is None:
        stemmer = stemmers[language] = Stemmer.Stemmer(_STEMMER_NAMES[language], 0)
    return str(stemmer.stemWord(lemma))


def _german_infinitive(word: str) -> str:
    """The likely infinitive of a regular German verb form, and of an irregular one behind a prefix that separates."""
    participle = _SEPARATED.match(word)
    if participle is not None:
        stem = _lemmas(European.GERMAN).get(fold(participle["form"]), "")
        return (participle["prefix"] or "") + (stem or _GERMAN_ENDING.sub("en", participle["form"].removeprefix("ge")))
    return _GERMAN_ENDING.sub("en", word) if len(word) > 4 else word


def may_be_participle(word: str) -> bool:
    """Whether an English word in lower case may be a participle of the perfect, or a past form."""
    return word.endswith("ed") or _lemmas(European.ENGLISH).get(word, word) != word


@cache
def _lemmas(language: European) -> dict[str, str]:
    """The first form of each row of irregular forms, by the folded forms of the row."""
    rows = lexicon_value("roles", language.section, "irregular forms").replace("\n", " ; ").split(" ; ")
    return {fold(form): row.split()[0] for row in rows if row for form in row.split()}


@dataclass(frozen=True, slots=True)
class Sense:
    """A relation of a verb or noun, and the party in each slot.

    A verb has a sense with a ``slot`` or ``word`` only if a name is in that slot, or the word is next to the verb.
    ``is_transfer`` says that something passes from the agent to the patient, so that "gave" may be said of a loan.
    """

    relation: str
    frame: Frame
    slot: Slot | None = None
    word: str = ""
    is_transfer: bool = False


MONEY = word_set("money euro euros dollar dollars franc francs pound pounds bucks cash cents")
"""The words that "$" stands for in the table of verbs."""
EQUAL_RELATIONS = frozenset(("marry", "meet", "date"))
"""The relations between equals, whose parties cannot be told apart."""
_TRANSFERS = frozenset(("give", "lend", "sell"))
_PARTIES = {"agent": Party.AGENT, "patient": Party.PATIENT}


def _rows(language: European, key: str, names: Container[str]) -> Iterator[tuple[str, str, list[str]]]:
    """The rows of a table of a language: a relation, the name of a frame or a party, and the words."""
    for head, words in lexicon_rows("roles", language.section, key, ":"):
        relation, _, name = head.partition(" ")
        if name not in names:
            raise LexiconError(f"lexicon/roles.ini has an unknown {head!r} in {key!r} of [{language.section}]")
        yield relation, name, words.split()


@cache
def _senses_by_verb(language: European) -> Mapping[str, tuple[Sense, ...]]:
    found: dict[str, tuple[Sense, ...]] = {}
    for relation, name, entries in _rows(language, "verbs", FRAMES):
        frame = FRAMES[name]
        for entry in entries:
            rest, _, slot = entry.partition("/")
            verb, _, word = rest.partition("+")
            form = verb_form(verb, language)
            is_transfer = relation in _TRANSFERS and frame in (GIVE, TAKE)
            sense = Sense(relation, frame, Slot(slot) if slot else None, word, is_transfer)
            found[form] = (*found.get(form, ()), sense)
    return found


@cache
def _excluded(language: European) -> frozenset[str]:
    return frozenset(verb_form(verb, language) for verb in lexicon_words("roles", language.section, "no relation"))


@lru_cache(maxsize=1 << 14)
def known_senses(word: str, language: European) -> tuple[Sense, ...]:
    """The senses of a verb that is in the table; none of another word."""
    return _senses_by_verb(language).get(verb_form(word, language), ())


@lru_cache(maxsize=1 << 14)
def senses(word: str, language: European) -> tuple[Sense, ...]:
    """The senses of a verb: from the table, or else a relation of its own; auxiliaries and the like have none."""
    form = verb_form(word, language)
    found = _senses_by_verb(language).get(form, ())
    if any(sense.slot is None and not sense.word for sense in found) or len(word) < 3 or form in _excluded(language):
        return found
    return (*found, Sense(form, PLAIN))


@lru_cache(maxsize=1 << 14)
def light_frame(word: str, language: European) -> Frame | None:
    """Whether a verb only carries a noun of relation: ``GIVE`` or ``TAKE``, by the side of its subject."""
    form = verb_form(word, language)
    give, take = _light_verbs(language)
    return GIVE if form in give else TAKE if form in take else None


@cache
def _light_verbs(language: European) -> tuple[frozenset[str], frozenset[str]]:
    give, take = (
        frozenset(verb_form(verb, language) for verb in lexicon_words("roles", language.section, key))
        for key in ("light verbs that give", "light verbs that take")
    )
    return give, take


@lru_cache(maxsize=1 << 14)
def person_nouns(word: str, language: European) -> tuple[tuple[str, Party], ...]:
    """The relations of a noun for a party of it, and which party; also of "reviewer", who reviews."""
    known = _persons_by_noun(language).get(word, ())
    if known or language is not European.ENGLISH or not word.endswith(("er", "or")) or len(word) < 6:
        return known
    return tuple(
        (sense.relation, Party.AGENT)
        for sense in senses(word[:-2], European.ENGLISH)
        if sense.slot is None and not sense.word and sense.frame.get(Slot.SUBJECT) is Party.AGENT
    )


@cache
def _persons_by_noun(language: European) -> Mapping[str, tuple[tuple[str, Party], ...]]:
    found: dict[str, tuple[tuple[str, Party], ...]] = {}
    for relation, name, nouns in _rows(language, "person nouns", _PARTIES):
        for noun in nouns:
            found[noun] = (*found.get(noun, ()), (relation, _PARTIES[name]))
    return found


@lru_cache(maxsize=1 << 14)
def event_nouns(word: str, language: European) -> tuple[Sense, ...]:
    """The relations of a noun for what passes between two people, or for what one does to the other."""
    table = _events_by_noun(language)
    return table.get(word) or table.get(word.removesuffix("s"), ())


@cache
def _events_by_noun(language: European) -> Mapping[str, tuple[Sense, ...]]:
    found: dict[str, tuple[Sense, ...]] = {}
    for relation, name, nouns in _rows(language, "event nouns", FRAMES):
        for noun in nouns:
            found[noun] = (*found.get(noun, ()), Sense(relation, FRAMES[name], is_transfer=relation in _TRANSFERS))
    return found
