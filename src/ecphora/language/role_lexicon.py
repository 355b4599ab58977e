"""Which party of a relation is the subject of a verb, and which are its objects, in five languages.

"Sell" and "buy" are one relation seen from its two sides: the subject of "sell" is the object of "from" of "buy".
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum, StrEnum
from functools import cache, lru_cache

from .european_languages import European, word_set
from .verb_forms import verb_form


class Party(IntEnum):
    """A side of a relation: who acts, gives or is above; and who is acted upon, receives or is below."""

    AGENT = 1
    PATIENT = -1


class Slot(StrEnum):
    """The place of a name beside a verb."""

    SUBJECT = "subject"
    OBJECT = "object"
    TO = "to"
    FOR = "for"
    FROM = "from"
    POSSESSOR = "possessor"
    OTHER = "other"


Frame = Mapping[Slot, Party]
_A, _P = Party.AGENT, Party.PATIENT
_PLAIN: Frame = {
    Slot.SUBJECT: _A, Slot.OBJECT: _P, Slot.TO: _P, Slot.FOR: _P, Slot.POSSESSOR: _P, Slot.OTHER: _P
}  # fmt: skip
_EQUALS: Frame = {Slot.SUBJECT: _A, Slot.POSSESSOR: _P}
GIVE: Frame = {Slot.SUBJECT: _A, Slot.OBJECT: _P, Slot.TO: _P, Slot.FOR: _P}
_TAKE: Frame = {Slot.SUBJECT: _P, Slot.FROM: _A}
_OWE: Frame = {Slot.SUBJECT: _P, Slot.OBJECT: _A, Slot.TO: _A}
_BELOW_FOR: Frame = {Slot.SUBJECT: _P, Slot.FOR: _A}
_BELOW_OF: Frame = {Slot.SUBJECT: _P, Slot.POSSESSOR: _A}
_BELOW_TO: Frame = {Slot.SUBJECT: _P, Slot.TO: _A}


@dataclass(frozen=True, slots=True)
class Sense:
    """A verb's relation, and the party in each slot; a verb ``needed`` with a slot has the sense only with it.

    ``is_transfer`` says that something passes from the agent to the patient, so that "gave" may be said of a loan.
    """

    relation: str
    frame: Frame
    needed: Slot | None = None
    is_transfer: bool = False


_TRANSFERS = frozenset(("give", "lend", "sell"))
_VERBS: Mapping[European, tuple[tuple[str, str, Frame, Slot | None], ...]] = {
    European.ENGLISH: (
        ("give", "give hand present donate send", GIVE, None),
        ("give", "receive obtain accept inherit", _TAKE, Slot.FROM),
        ("give", "get", _TAKE, None),
        ("give", "have", _TAKE, Slot.FROM),
        ("pay", "pay repay return", GIVE, None),
        ("give", "let", GIVE, None),
        ("lend", "lend loan", GIVE, None),
        ("lend", "borrow", _TAKE, None),
        ("lend", "owe", _OWE, None),
        ("sell", "sell", GIVE, None),
        ("sell", "buy purchase", _TAKE, None),
        ("teach", "teach tutor coach train instruct explain", _PLAIN, None),
        ("teach", "learn", _TAKE, None),
        ("tell", "tell", GIVE, None),
        ("tell", "hear", _TAKE, Slot.FROM),
        ("employ", "employ hire", _PLAIN, None),
        ("employ", "work", _BELOW_FOR, Slot.FOR),
        ("manage", "manage supervise lead oversee head", _PLAIN, None),
        ("manage", "work", _BELOW_OF, Slot.POSSESSOR),
        ("manage", "report answer", _BELOW_TO, Slot.TO),
        ("beat", "beat defeat", _PLAIN, None),
        ("beat", "lose", _BELOW_TO, Slot.TO),
        ("call", "call phone ring telephone", _PLAIN, None),
        ("adopt", "adopt", _PLAIN, None),
        ("rent", "rent lease", _TAKE, Slot.FROM),
        ("rent", "rent lease", GIVE, Slot.TO),
        ("treat", "treat", _PLAIN, None),
        ("marry", "marry", _EQUALS, None),
        ("meet", "meet", _EQUALS, None),
        ("date", "date", _EQUALS, None),
    ),
    European.GERMAN: (
        ("give", "geben schenken schicken senden", GIVE, None),
        ("give", "bekommen kriegen erhalten", _TAKE, None),
        ("lend", "leihen verleihen borgen", GIVE, None),
        ("lend", "ausleihen leihen borgen", _TAKE, Slot.FROM),
        ("lend", "schulden", _OWE, None),
        ("sell", "verkaufen", GIVE, None),
        ("sell", "kaufen", _TAKE, None),
        ("teach", "unterrichten beibringen", _PLAIN, None),
        ("teach", "lernen", _TAKE, Slot.FROM),
        ("employ", "einstellen beschäftigen", _PLAIN, None),
        ("employ", "arbeiten", _BELOW_FOR, Slot.FOR),
        ("manage", "leiten", _PLAIN, None),
    ),
    European.SPANISH: (
        ("give", "dar regalar enviar", GIVE, None),
        ("give", "recibir", _TAKE, None),
        ("lend", "prestar", GIVE, None),
        ("lend", "deber", _OWE, None),
        ("sell", "vender", GIVE, None),
        ("sell", "comprar", _TAKE, Slot.FROM),
        ("teach", "enseñar", GIVE, None),
        ("teach", "aprender", _TAKE, Slot.FROM),
        ("employ", "contratar", _PLAIN, None),
        ("employ", "trabajar", _BELOW_FOR, Slot.FOR),
    ),
    European.FRENCH: (
        ("give", "donner offrir envoyer", GIVE, None),
        ("give", "recevoir", _TAKE, None),
        ("lend", "prêter", GIVE, None),
        ("lend", "emprunter", {Slot.SUBJECT: _P, Slot.TO: _A}, None),
        ("lend", "devoir", _OWE, None),
        ("sell", "vendre", GIVE, None),
        ("sell", "acheter", _TAKE, Slot.FROM),
        ("teach", "enseigner", GIVE, None),
        ("employ", "embaucher", _PLAIN, None),
        ("employ", "travailler", _BELOW_FOR, Slot.FOR),
    ),
    European.PORTUGUESE: (
        ("give", "dar oferecer enviar", GIVE, None),
        ("give", "receber", _TAKE, None),
        ("lend", "emprestar", GIVE, None),
        ("lend", "dever", _OWE, None),
        ("sell", "vender", GIVE, None),
        ("sell", "comprar", _TAKE, Slot.FROM),
        ("teach", "ensinar", _PLAIN, None),
        ("teach", "aprender", _TAKE, Slot.FROM),
        ("employ", "contratar", _PLAIN, None),
        ("employ", "trabalhar", _BELOW_FOR, Slot.FOR),
    ),
}
"""A relation, verbs of it, the parties in their slots, and the slot without which they mean something else."""
_NO_RELATION = {
    European.ENGLISH: "be do go come say think know make want like love need feel become seem happen "
    "try start stop keep plan live divorce wed resemble befriend talk chat speak argue agree "
    "fight play travel",
    European.GERMAN: "sein tun gehen kommen sagen denken wissen machen wollen mögen müssen können werden haben "
    "treffen heiraten sprechen reden leben wohnen",
    European.SPANISH: "ser estar hacer ir venir decir pensar saber querer poder tener haber casar hablar vivir conocer",
    European.FRENCH: "être avoir faire aller venir dire penser savoir vouloir pouvoir épouser parler vivre rencontrer",
    European.PORTUGUESE: "ser estar fazer ir vir dizer pensar saber querer poder ter casar falar viver conhecer",
}
"""Verbs that take no person as an object, that are auxiliaries, or whose parties are equals."""
_NOUNS: tuple[tuple[str, Party, str], ...] = (
    ("manage", _A, "boss manager supervisor superior"),
    ("manage", _P, "subordinate assistant deputy"),
    ("employ", _A, "employer"),
    ("employ", _P, "employee"),
    ("teach", _A, "teacher tutor coach trainer instructor mentor"),
    ("teach", _P, "student pupil apprentice trainee mentee"),
    ("rent", _A, "landlord landlady"),
    ("rent", _P, "tenant lodger subtenant"),
    ("lend", _A, "creditor lender"),
    ("lend", _P, "debtor borrower"),
    ("sell", _P, "customer buyer"),
    ("treat", _A, "doctor dentist therapist physiotherapist"),
    ("treat", _P, "patient"),
    ("parent", _A, "mother father mom mum dad parent"),
    ("parent", _P, "son daughter child"),
    ("aunt", _A, "aunt uncle"),
    ("aunt", _P, "niece nephew"),
    ("grandparent", _A, "grandmother grandfather grandma grandpa"),
    ("grandparent", _P, "grandson granddaughter grandchild"),
    ("godparent", _A, "godmother godfather"),
    ("godparent", _P, "godson goddaughter godchild"),
)
"""English nouns for one party of a relation to the other: who is the boss of somebody manages them."""


@cache
def _senses_by_verb(language: European) -> Mapping[str, tuple[Sense, ...]]:
    found: dict[str, tuple[Sense, ...]] = {}
    for relation, verbs, frame, needed in _VERBS[language]:
        sense = Sense(relation, frame, needed, relation in _TRANSFERS and frame is not _OWE)
        for verb in verbs.split():
            form = verb_form(verb, language)
            found[form] = (*found.get(form, ()), sense)
    return found


@cache
def _excluded(language: European) -> frozenset[str]:
    return frozenset(verb_form(verb, language) for verb in word_set(_NO_RELATION[language]))


@lru_cache(maxsize=1 << 14)
def known_senses(word: str, language: European) -> tuple[Sense, ...]:
    """The senses of a verb that is in the table; none of another word."""
    return _senses_by_verb(language).get(verb_form(word, language), ())


@lru_cache(maxsize=1 << 14)
def senses(word: str, language: European) -> tuple[Sense, ...]:
    """The senses of a verb: those of the table, or else a relation of its own; none of auxiliaries and the like."""
    form = verb_form(word, language)
    found = _senses_by_verb(language).get(form)
    if found is not None:
        return found
    return () if len(word) < 3 or form in _excluded(language) else (Sense(form, _PLAIN),)


@lru_cache(maxsize=1 << 14)
def noun_relation(word: str) -> tuple[str, Party] | None:
    """The relation of an English noun for a party of it, and which party; also of "reviewer", who reviews."""
    known = _relations_by_noun().get(word)
    if known is not None or not word.endswith(("er", "or")) or len(word) < 6:
        return known
    sense = senses(word[:-2], European.ENGLISH)
    return (sense[0].relation, Party.AGENT) if sense else None


@cache
def _relations_by_noun() -> Mapping[str, tuple[str, Party]]:
    return {noun: (relation, party) for relation, party, nouns in _NOUNS for noun in nouns.split()}
