"""Probes about facts that are told again with a new value, change back, or no longer hold."""

from collections.abc import Iterator
from random import Random

from ecphora_bench.probes.probe import Form, Half, Kind

from .draw import Draw
from .lists import Lists
from .worlds import Draft

PATTERNS = ("changed", "changed twice", "back", "withdrawn")
TIMELESS = ("changed", "withdrawn")
"""The patterns that can be told from the texts alone."""
TOLD = 16
"""The facts of a world."""
UNANSWERED = 6


def make(half: Half, worlds: int, rng: Random) -> Iterator[Draft]:
    """The worlds of this kind, in pairs: some facts only one of them holds."""
    lists = Lists(half, ("names", "around", "own", "updates"))
    facts = [name for name in lists.names("statement") if lists.find(f"{name} change")]
    for form in Form:
        for number in range(0, worlds, 2):
            pair = [
                Draft(f"updates-{half}-{form}-{number + place}", Kind.UPDATES, form, half, Draw(rng, lists))
                for place in range(2)
            ]
            order = rng.sample(facts, len(facts))
            told = order[:TOLD], order[-TOLD:]
            asked: dict[str, tuple[str, str]] = {}
            for draft, part in zip(pair, told, strict=True):
                asked |= {fact: _probe_fact(draft, fact) for fact in part}
            for draft, part in zip(pair, told, strict=True):
                for fact in [fact for fact in order if fact not in part][:UNANSWERED]:
                    id_, question = asked[fact]
                    draft.ask("never told", question, resembles=id_)
                draft.surround()
            yield from pair


def _probe_fact(draft: Draft, fact: str) -> tuple[str, str]:
    """Tell a fact in one of the patterns and ask for what holds; returns the id and the text of the first question."""
    draw = draft.draw
    first, second, third = (*draw.some(f"{fact} value", min(3, len(draw.lists.get(f"{fact} value")))), "")[:3]
    patterns = TIMELESS if draft.form is Form.STRINGS else PATTERNS
    possible = [pattern for pattern in patterns if _is_possible(pattern, fact, draw)]
    pattern = draw.rng.choice(possible)

    def tell(part: str, place: float, value: str = "", old: str = "") -> int:
        template = draw.rng.choice(draw.lists.get(f"{fact} {part}"))
        return draft.tell(draw.fill(template, v=value, old=old), draw.rng.uniform(place, place + 0.2))

    tell("statement", 0, first)
    if pattern == "withdrawn":
        gold = tell("withdrawn", 0.7)
    else:
        gold = tell("change", 0.35, second, first)
        if pattern == "back":
            gold = tell("back", 0.75, first)
        elif pattern == "changed twice":
            gold = tell("change", 0.75, third, second)
    questions = draw.some(f"{fact} question", 2)
    ids = [draft.ask(pattern, question, [gold]) for question in questions[: draw.rng.choice((1, 2))]]
    return ids[0], questions[0]


def _is_possible(pattern: str, fact: str, draw: Draw) -> bool:
    if pattern == "changed twice":
        return len(draw.lists.get(f"{fact} value")) > 2
    return bool(draw.lists.find(f"{fact} {'change' if pattern == 'changed' else pattern}"))
