"""What holds comes before what it replaced, where a question asks of their matter."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..graph import Graph
from ..model import Cue, Mask, Rows, Scores
from ..ports import Trail
from . import people
from .standing import Hashes, Successions, holding, successions, visible

FIRST = 20
"""Memories of the best that lead to what holds instead of them."""
TOP = 3
"""Memories of the best that a question may have reached by meaning alone."""
MEANS = 0.5
"""How near to a question by meaning what comes first must be, in parts of the cosine of what it comes before."""
LIFTS = 2
"""Memories that may come before another one because they hold instead of it: the surest."""
ABOVE = 1.001
"""How far above a memory what replaced it comes back, in parts of its score."""
FAINTER = 0.95
"""How near to a memory what contradicts it comes back, in parts of its score."""


def led(graph: Graph, cue: Cue, scores: Scores, allowed: Mask) -> tuple[Scores, Trail]:
    """What a memory gains that holds at the time asked about, where another of the same matter would come before it.

    Only where the cue asks of that matter, and may know of it. So the newest comes first, or for a time that is past
    what held then; the others lose nothing. What contradicts a memory comes next to it.
    """
    known = successions(graph)
    gain, by = graph.zeros(), np.full(len(graph), -1, np.intp)
    trail = Trail(by, np.full(len(graph), -1, np.intp), one=True)
    if not len(known):
        return gain, trail
    asked = frozenset(cue.words.tolist()) - people.called(graph).by_word.keys()
    ask = _Ask(graph, cue, known, asked, visible(known, cue), holding(known, cue))
    lift = _Lift(scores.astype(np.float64), by)
    among = np.where(allowed, scores, 0)
    for place, row in enumerate(np.argsort(-among, kind="stable")[:FIRST].tolist()):
        if among[row] > 0:
            _follow(ask, lift, row, best=place < TOP)
    gain[:] = np.where(allowed, lift.reached - scores, 0)
    return gain, trail


@dataclass(frozen=True, slots=True)
class _Ask:
    """What a cue asks of the entries of ``known``: those it may know of are ``seen``, and some hold.

    ``asked`` are its words without the names of speakers.
    """

    graph: Graph
    cue: Cue
    known: Successions
    asked: Hashes
    seen: Mask
    holds: Mask

    def fronts(self, row: int, *, best: bool) -> list[int]:
        """The rows of what holds instead of a memory, the latest last."""
        known = self.known
        found: list[tuple[int, int]] = []
        for place in known.of.get(row, ()):
            front, behind = int(known.new[place]), int(known.old[place])
            if not self.holds[place]:
                front, behind = behind, front
            if behind == row and self.seen[place] and not known.against[place]:
                found += [(place, front)] if self._concerns(place, front, row, best=best) else []
        found.sort(key=lambda one: (-known.sure[one[0]], -known.start[one[0]]))
        return [front for place, front in sorted(found[:LIFTS], key=lambda one: known.start[one[0]])]

    def _concerns(self, place: int, front: int, behind: int, *, best: bool) -> bool:
        """Whether it asks of the matter of two memories, and of nothing else that the one behind says."""
        known = self.known
        beside = (known.old_beside if known.old[place] == behind else known.new_beside)[place]
        if beside is not None and self.asked & beside:
            return False
        if self.asked & known.about[place]:
            return True
        return best and beside is not None and self._near(front) >= MEANS * self._near(behind)

    def _near(self, row: int) -> float:
        """The cosine of its topic with a memory."""
        place = self.graph.vector_places[row]
        if place < 0 or self.cue.topic is None:
            return 0.0
        return float(np.einsum("i,i->", self.graph.vectors.view[place], self.cue.topic))

    def opposite(self, row: int) -> int | None:
        """The row of what contradicts a memory, the surest."""
        known = self.known
        places = [place for place in known.of.get(row, ()) if known.against[place] and self.seen[place]]
        places = [place for place in places if self.asked & known.about[place]]
        if not places:
            return None
        place = max(places, key=lambda place: known.sure[place])
        return int(known.new[place] if known.old[place] == row else known.old[place])


@dataclass(frozen=True, slots=True)
class _Lift:
    """Scores that are raised, and for each row the one by which it was."""

    reached: NDArray[np.float64]
    by: Rows

    def to(self, factor: float, row: int, other: int) -> None:
        """Raise a row to a part of the score of another that comes back."""
        if row != other and self.reached[other] > 0 and self.reached[row] < self.reached[other] * factor:
            self.reached[row], self.by[row] = self.reached[other] * factor, other


def _follow(ask: _Ask, lift: _Lift, row: int, *, best: bool) -> None:
    """Bring what contradicts a memory beside it, and before it what holds instead, and what holds instead of that."""
    if (other := ask.opposite(row)) is not None:
        lift.to(FAINTER, other, row)
    waiting, met = [row], {row}
    while waiting:
        last = waiting.pop(0)
        for front in ask.fronts(last, best=best):
            lift.to(ABOVE, front, last)
            last = front
            if front not in met:
                met.add(front)
                waiting.append(front)
