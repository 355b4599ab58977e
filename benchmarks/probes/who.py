"""Probes about who did what to whom, and about whose statement it was."""

from collections.abc import Iterator
from itertools import pairwise
from random import Random

from ecphora_bench.probes.probe import Form, Half, Kind

from .draw import Draw
from .lists import Lists
from .own_statements import tell_of_others, tell_state
from .voices import about
from .worlds import Draft

TEN = ("birthplace", "instrument")
"""What ten people each say about themselves, one of these in a world."""
SUPPOSED = ("residence", "job", "drink")
"""What the user says beside advice, hearsay, a quotation, a supposition, another person and a former state."""
RELATIONS = 7
"""The relations of a world, each between three people in a ring."""
ASKED_OF_TEN = 4
SPEAKERS = 8
"""The people of whom a world knows what ten people say; the others only appear."""


def make(half: Half, worlds: int, rng: Random) -> Iterator[Draft]:
    """The worlds of this kind, in pairs: of each thing in ``SUPPOSED`` only one holds the statement of the user."""
    lists = Lists(half, ("names", "around", "own", "who"))
    for form in Form:
        for number in range(0, worlds, 2):
            pair = [
                Draft(f"who-{half}-{form}-{number + place}", Kind.WHO, form, half, Draw(rng, lists))
                for place in range(2)
            ]
            for place, draft in enumerate(pair):
                _probe_rings(draft)
                _probe_ten(draft, TEN[place])
            _probe_supposed(pair, rng)
            for draft in pair:
                draft.surround()
            yield from pair


def _probe_rings(draft: Draft) -> None:
    draw = draft.draw
    relations = [name for name in draw.lists.names("of") if draw.lists.find(f"{name} statement")]
    for relation in draw.rng.sample(relations, min(RELATIONS, len(relations))):
        *people, stranger = draw.some("person", 4)
        things = _things(relation, draw)
        edges = list(pairwise([*people, people[0]]))
        keys = [
            draft.tell(draw.fill(draw.pick(f"{relation} statement"), a=a, b=b, x=thing))
            for (a, b), thing in zip(edges, things, strict=True)
        ]
        asked = []
        for place, side in ((0, "of"), (1, "to"), (2, draw.rng.choice(("of", "to")))):
            a, b = edges[place]
            question = draw.fill(draw.pick(f"{relation} {side}"), a=a, b=b)
            asked.append(draft.ask(relation, question, [keys[place]]))
        side = draw.rng.choice(("of", "to"))
        absent = draw.fill(draw.pick(f"{relation} {side}"), a=stranger, b=stranger if side == "to" else people[0])
        draft.ask(relation, absent, resembles=asked[0])


def _things(relation: str, draw: Draw) -> list[str]:
    if relation == "owes":
        return [str(5 * n) for n in draw.rng.sample(range(2, 40), 3)]
    return draw.some(f"{relation} x", 3) if draw.lists.find(f"{relation} x") else ["", "", ""]


def _probe_ten(draft: Draft, relation: str) -> None:
    """Ten people of whom most say the same of themselves; asked about four, and about one who did not say it."""
    draw = draft.draw
    people = draw.some("speaker", 10)
    values = draw.rng.sample(draw.lists.get(f"{relation} value"), SPEAKERS)
    keys = [
        draft.tell(draw.fill(draw.pick(f"{relation} statement"), v=value), speaker=name)
        for name, value in zip(people, values, strict=False)
    ]
    for name in people[SPEAKERS:]:
        draft.tell(draw.fill(draw.pick("around"), person=people[0]), speaker=name)
    questions = [
        about(draw.pick(f"{relation} question"), people[place]) for place in (*range(ASKED_OF_TEN), len(people) - 1)
    ]
    asked = [draft.ask("ten people", questions[place], [keys[place]]) for place in range(ASKED_OF_TEN)]
    draft.ask("ten people", questions[-1], resembles=asked[0])


def _probe_supposed(pair: list[Draft], rng: Random) -> None:
    """What the user says, among what is no statement of the user; without that in the partner."""
    for relation in SUPPOSED:
        holder, partner = pair if rng.random() < 0.5 else pair[::-1]
        question = holder.draw.pick(f"{relation} question")
        for draft in pair:
            tell_of_others(draft, relation, 6)
        id_ = holder.ask("supposed", question, [tell_state(holder, relation)])
        partner.ask("supposed", question, resembles=id_)
