"""Probes about what someone said about themselves, told in one wording and asked in another."""

from collections.abc import Iterator
from random import Random

from ecphora_bench.probes.probe import Form, Half, Kind

from .draw import Draw
from .lists import Lists
from .voices import about
from .worlds import ASSISTANT, Draft

UNANSWERED = 8
"""The questions without answer of a world: those whose answer its partner holds."""
WAYS = {
    Form.EPISODES: ("name", "first person"),
    Form.STRINGS: ("first person",),
    Form.MESSAGES: ("first person", "the user"),
    Form.MCP: ("the user", "first person"),
}
"""How a person is asked about in each form."""
CHANGES = 0.5
"""The part of the states that have changed, of those that can."""


def make(half: Half, worlds: int, rng: Random) -> Iterator[Draft]:
    """The worlds of this kind, in pairs: what one holds is asked without answer of the other."""
    lists = Lists(half, ("names", "around", "own"))
    relations = lists.names("statement")
    for form in Form:
        for number in range(0, worlds, 2):
            user = rng.choice(lists.get("speaker"))
            pair = [
                Draft(
                    f"own-statements-{half}-{form}-{number + place}", Kind.OWN_STATEMENTS, form, half, Draw(rng, lists)
                )
                for place in range(2)
            ]
            told = rng.sample(relations, len(relations))
            parts = told[::2], told[1::2]
            questions = {
                (relation, way): _question(relation, way, user, pair[0].draw) for relation in told for way in WAYS[form]
            }
            asked: dict[tuple[str, str], str] = {}
            for draft, part in zip(pair, parts, strict=True):
                draft.user = user
                for relation in relations:
                    tell_of_others(draft, relation, rng.choice((1, 2)))
                for relation in part:
                    is_change = bool(lists.find(f"{relation} change")) and rng.random() < CHANGES
                    gold = tell_change(draft, relation) if is_change else tell_state(draft, relation)
                    for way in WAYS[form]:
                        sort = "changed" if is_change else way
                        asked[relation, way] = draft.ask(sort, questions[relation, way], [gold])
            for draft, part in zip(pair, reversed(parts), strict=True):
                for relation in part[:UNANSWERED]:
                    way = rng.choice(WAYS[form])
                    draft.ask(way, questions[relation, way], resembles=asked[relation, way])
                draft.surround()
            yield from pair


def _question(relation: str, way: str, user: str, draw: Draw) -> str:
    question = draw.pick(f"{relation} question")
    if way == "first person":
        return question
    return about(question, user if way == "name" else "the user")


def tell_state(draft: Draft, relation: str) -> int:
    """Tell a state that never changes; returns its key."""
    draw = draft.draw
    template = draw.pick(f"{relation} statement")
    return draft.tell(draw.fill(template, v=draw.pick(f"{relation} value")), draw.rng.uniform(0.05, 0.7))


def tell_change(draft: Draft, relation: str) -> int:
    """Tell a change near the end, and half the time the former state before; returns the key of what holds now."""
    draw = draft.draw
    old, new = draw.some(f"{relation} value", 2)
    if draw.chance(0.5):
        draft.tell(draw.fill(draw.pick(f"{relation} statement"), v=old), draw.rng.uniform(0.05, 0.6))
    change = draw.pick(f"{relation} change")
    return draft.tell(draw.fill(change, v=new, old=old), draw.rng.uniform(0.88, 1))


def tell_of_others(draft: Draft, relation: str, count: int) -> None:
    """Tell the same of others, or what is no statement about the user."""
    draw = draft.draw
    for line in draw.some(f"{relation} other", min(count, len(draw.lists.get(f"{relation} other")))):
        speaker = ASSISTANT if line.startswith("assistant: ") else draft.user
        text = draw.fill(line.removeprefix("assistant: "), w=draw.pick(f"{relation} value"))
        draft.tell(text, draw.rng.uniform(0.1, 1), speaker)
