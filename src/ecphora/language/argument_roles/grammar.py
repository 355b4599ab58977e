"""The small words by which the place of a name next to a verb is read: auxiliaries, prepositions, question words."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from ..european_languages import European, word_set
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


_SLOTS = (Slot.TO, Slot.FOR, Slot.FROM, Slot.POSSESSOR, Slot.OTHER, Slot.NONE)


def _slots(*prepositions: str) -> dict[str, Slot]:
    """The slot of each preposition; the arguments are the prepositions of each slot, in the order of ``_SLOTS``."""
    return {word: slot for slot, words in zip(_SLOTS, prepositions, strict=False) for word in words.split()}


GRAMMARS: Mapping[European, Grammar] = {
    European.ENGLISH: Grammar(
        language=European.ENGLISH,
        auxiliaries=word_set(
            "do does did has have had is are was were am will would shall should can could may might must"
        ),
        passive=word_set("is are was were am be been being get gets got getting"),
        between=word_set(
            "do does did has have had is are was were am be been being will would shall should can could may might "
            "must not never ever always often still also just once already even only soon finally later then again "
            "sometimes usually gladly kindly now recently both all get gets got getting"
        ),
        prepositions=_slots(
            "to unto", "for", "from off", "of", "on after about at over against into in with around under through"
        ),
        by=frozenset(("by",)),
        asks_subject=word_set("who what which whoever"),
        asks_object=word_set("whom"),
        asks=word_set("who whom whose what which how when where why"),
        first_person=word_set("i me my mine myself"),
        pronouns=word_set("he she they we you it him her them us who someone somebody everyone nobody"),
        articles=word_set("the a an my our his her their your this that some"),
        breaks=word_set("because when while if that who whom which but so although though since until whether where"),
    ),
    European.SPANISH: Grammar(
        language=European.SPANISH,
        auxiliaries=word_set("ha han había he has"),
        passive=word_set("fue fueron es son era sido"),
        between=word_set("ha han había he has fue fueron es son era sido no le les lo la los las me te se nos ya "
                         "todavía aún también siempre nunca"),
        prepositions=_slots("a al", "para", "de del", "", "con en sobre contra"),
        by=frozenset(("por",)),
        asks_subject=word_set("quién quiénes"),
        asks_object=word_set(""),
        asks=word_set("quién quiénes qué cuánto cuánta cuántos cuál cuándo dónde cómo"),
        first_person=word_set("yo me mi mí"),
        pronouns=word_set("él ella ellos ellas tú usted nosotros"),
        articles=word_set("el la los las un una mi su"),
        breaks=word_set("porque cuando mientras si que quien pero"),
        follows_verb=True,
        needs_preposition=True,
    ),
    European.FRENCH: Grammar(
        language=European.FRENCH,
        auxiliaries=word_set("a ont avait est sont ai as"),
        passive=word_set("est sont fut été était"),
        between=word_set("a ont avait ai as est sont fut été était ne n pas lui leur l le la les en y me m se s te t "
                         "déjà encore aussi toujours jamais"),
        prepositions=_slots("à au aux", "pour", "de du d", "", "avec chez en sur dans contre envers"),
        by=frozenset(("par",)),
        asks_subject=word_set("qui"),
        asks_object=word_set(""),
        asks=word_set("qui que quoi combien quel quelle quand où comment pourquoi"),
        first_person=word_set("je j me m moi mon ma mes"),
        pronouns=word_set("il elle ils elles on nous vous tu"),
        articles=word_set("le la les un une l mon ma son sa"),
        breaks=word_set("parce quand pendant si que mais dont"),
    ),
    European.PORTUGUESE: Grammar(
        language=European.PORTUGUESE,
        auxiliaries=word_set("tem têm tinha"),
        passive=word_set("foi foram é são era sido"),
        between=word_set("tem têm tinha foi foram é são era sido não lhe lhes me te se já ainda também sempre nunca"),
        prepositions=_slots("à ao às aos", "para", "de do da", "", "com em no na sobre contra"),
        by=word_set("por pelo pela"),
        asks_subject=word_set("quem"),
        asks_object=word_set(""),
        asks=word_set("quem que quanto quanta quantos qual quando onde como"),
        first_person=word_set("eu me mim meu minha"),
        pronouns=word_set("ele ela eles elas você nós tu"),
        articles=word_set("o a os as um uma meu minha"),
        breaks=word_set("porque quando enquanto se mas"),
        follows_verb=True,
    ),
    European.GERMAN: Grammar(
        language=European.GERMAN,
        auxiliaries=word_set("hat haben hatte hatten habe ist sind war wird werden will soll muss kann"),
        passive=word_set("wurde wurden wird worden"),
        between=word_set("hat haben hatte habe ist war wird wurde wurden noch schon auch nicht nie immer gerade"),
        prepositions=_slots(
            "an", "für", "von vom", "", "bei gegen unter", "mit über auf zu zum zur in nach aus wegen am im beim"
        ),
        by=frozenset(("von", "vom", "durch")),
        asks_subject=word_set("wer"),
        asks_object=word_set("wen wem was"),
        asks=word_set("wer wen wem wessen was wie welche welchen welches welcher wann wo warum"),
        first_person=word_set("ich mir mich mein meine meiner meinem meinen"),
        pronouns=word_set("er sie wir ihr man jemand niemand es"),
        articles=word_set("der die das den dem des ein eine einen einem einer"),
        breaks=word_set("weil wenn während ob dass aber denn"),
        joins_names=False,
    ),
}  # fmt: skip
