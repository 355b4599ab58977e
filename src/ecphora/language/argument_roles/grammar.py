"""The small words by which the place of a name next to a verb is read: auxiliaries, prepositions, question words."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property

from ..european_languages import European
from ..lexicon_file import lexicon_words, read_lexicon
from .frames import Slot

CONJUNCTIONS = frozenset("and or & und oder y e et ou".split())  # noqa: SIM905
"""The words that join two names, or two clauses."""


@dataclass(frozen=True)
class Grammar:
    """The small words of a language.

    ``between`` may stand between a subject and its verb, ``auxiliaries`` also before the subject of a question.
    ``passive`` auxiliaries make the subject the object. ``asks_subject`` and ``asks_object`` are question words for
    persons, ``breaks`` words at which a clause ends. ``follows_verb`` says that the subject of a question may follow
    the verb, ``needs_preposition`` that a person as an object has one. ``joins_names`` says that
    words with capitals side by side are one name, which they are not where nouns have capitals.
    """

    language: European
    auxiliaries: frozenset[str]
    passive: frozenset[str]
    between: frozenset[str]
    prepositions: Mapping[str, Slot]
    by: frozenset[str]
    asks_subject: frozenset[str]
    asks_object: frozenset[str]
    asks: frozenset[str]
    first_person: frozenset[str]
    pronouns: frozenset[str]
    articles: frozenset[str]
    breaks: frozenset[str]
    follows_verb: bool = False
    needs_preposition: bool = False
    joins_names: bool = True

    @cached_property
    def small_words(self) -> frozenset[str]:
        """The words that are neither a verb nor a noun."""
        return self.articles | self.breaks | self.by | self.prepositions.keys() | self.asks | CONJUNCTIONS

    def preposition(self, slot: Slot) -> str:
        """The first preposition of a slot."""
        return next(word for word, found in self.prepositions.items() if found is slot)


@cache
def grammar_of(language: European) -> Grammar:
    """The small words of a language, from ``lexicon/roles.ini``."""
    section = language.section

    def words(key: str) -> frozenset[str]:
        return lexicon_words("roles", section, key)

    return Grammar(
        language=language,
        auxiliaries=words("auxiliaries"),
        passive=words("passive"),
        between=words("between"),
        prepositions=_prepositions(section),
        by=words("by"),
        asks_subject=words("asks subject"),
        asks_object=words("asks object"),
        asks=words("asks"),
        first_person=words("first person"),
        pronouns=words("pronouns"),
        articles=words("articles"),
        breaks=words("breaks"),
        follows_verb=language in (European.SPANISH, European.PORTUGUESE),
        needs_preposition=language is European.SPANISH,
        joins_names=language is not European.GERMAN,
    )


def _prepositions(section: str) -> dict[str, Slot]:
    """The slot of each preposition of a language."""
    values = read_lexicon("roles")[section]
    return {word: slot for slot in Slot for word in values.get(f"prepositions {slot}", "").split()}
