"""Compares who did what to whom: the parts of names in a question with their parts in a text.

No parser: the order of names, verbs and prepositions is read by rules, for English, German, Spanish, French and
Portuguese.
"""

from collections.abc import Iterator, Sequence

from ...model.lazy import lazy_pattern
from ..chat_roles import Role, role_of
from ..statements.clauses import SENTENCE_BREAK
from .grammar import Grammar, Slot, grammar_of
from .lexicon import event_nouns, person_nouns, senses
from .questions import RoleQuestion, role_question
from .sentences import Parties, relations
from .units import USER, Unit, UnitKind, sentences, split_units

TRANSFER_AGREEMENT = 0.5
"""The agreement between two relations in which something passes from one to the other, such as "gave" and "lent"; and
the agreement of a part that follows only from the part of the other name."""
MAX_CHARS = 2000
"""Characters of a question or text that are read, from its beginning."""
_WORD = lazy_pattern(r"[^\W_]+")


def role_agreement(question: str, text: str, speaker: str | None = None) -> float:
    """Whether the names of a question have the same parts in a text, in -1..1.

    Positive if who acts and who is acted upon is the same, negative if it is reversed, 0 if the text does not say, or
    is about another relation: "Whom did Jonas invite?" agrees with "Jonas invited Mira", and is opposed by "Mira
    invited Jonas". ``speaker`` is who "I" is in the text; "I" in the question is the user.
    """
    asked = role_question(question[:MAX_CHARS])
    if asked is None:
        return 0.0
    text = text[:MAX_CHARS]
    first_person = _speaker_number(asked, speaker)
    words = asked.words if first_person is None else frozenset(("",))
    if not _has_any(text, words):
        return 0.0
    grammar = grammar_of(asked.language)
    fit = misfit = 0.0
    parts = (part for part in SENTENCE_BREAK.split(text) if _has_any(part, words) and _has_relation(part, asked))
    for sentence in (one for part in parts for one in sentences(_units(part, asked, first_person))):
        if not any(unit.number is not None and unit.number < len(asked.names) for unit in sentence):
            continue
        for weight, asked_parties, parties in _comparisons(sentence, asked, grammar):
            agreement = {party is parties.get(number) for number, party in asked_parties.items() if number in parties}
            is_complete = asked_parties.keys() <= parties.keys() or not grammar.joins_names
            if len(agreement) != 1 or not is_complete:
                continue
            if True in agreement:
                fit = max(fit, weight)
            else:
                misfit = max(misfit, weight)
    if fit == misfit:
        return 0.0
    return fit if fit > misfit else -misfit


def _has_any(text: str, words: frozenset[str]) -> bool:
    """Whether a text has one of some words in lower case, as a word or inside a word."""
    lower = text.lower()
    return any(word in lower for word in words)


def _has_relation(text: str, asked: RoleQuestion) -> bool:
    """Whether a text has a word for a relation that is asked about; most texts have none and need not be read."""
    language = asked.language
    for word in _WORD.findall(text.lower()):
        for sense in (*senses(word, language), *event_nouns(word, language)):
            if sense.relation in asked.parties or (asked.transfer is not None and sense.is_transfer):
                return True
            if sense.relation in ("give", "pay") and "lend" in asked.parties:
                return True
        if any(relation in asked.parties for relation, _ in person_nouns(word, language)):
            return True
    return (
        "→" in text
        or "->" in text
        or any(grammar_of(language).prepositions.get(word) is Slot.FROM for word in _WORD.findall(text.lower()))
    )


def _speaker_number(asked: RoleQuestion, speaker: str | None) -> int | None:
    """The number of the asked name that the speaker of a text has."""
    is_user = speaker is None or role_of(speaker) is Role.USER
    words = frozenset((USER,) if is_user else str(speaker).lower().split())
    return next((number for number, name in enumerate(asked.names) if words <= name or name <= words), None)


def _comparisons(
    sentence: Sequence[Unit], asked: RoleQuestion, grammar: Grammar
) -> Iterator[tuple[float, Parties, Parties]]:
    """Weights, the parties of the asked names in the question, and their parties in a sentence."""
    for relation in relations(sentence, grammar):
        weight = TRANSFER_AGREEMENT if relation.is_inferred else 1.0
        wanted = asked.parties.get(relation.name)
        if wanted is None and relation.is_transfer:
            wanted, weight = asked.transfer, TRANSFER_AGREEMENT
        if wanted:
            yield weight, wanted, relation.parties


def _units(text: str, asked: RoleQuestion, first_person: int | None) -> Iterator[Unit]:
    """The units of a text, in which the asked names have their numbers, and each other name has a number of its own."""
    others: dict[str, int] = {}
    for unit in split_units(text, asked.language, asked.words):
        if unit.number is None and unit.kind is not UnitKind.NAME:
            yield unit
            continue
        is_speaker = unit.number is not None
        number = first_person if is_speaker else _name_number(frozenset(unit.word.split()), asked.names)
        if number is None:
            number = len(asked.names) + others.setdefault("" if is_speaker else unit.word, len(others))
        yield unit._replace(number=number)


def _name_number(words: frozenset[str], names: Sequence[frozenset[str]]) -> int | None:
    return next((number for number, name in enumerate(names) if words <= name or name <= words), None)
