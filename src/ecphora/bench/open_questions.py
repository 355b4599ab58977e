"""What the papers left open, measured: a memory just begun, names badly found, and too much brought back.

Each figure's category says under which condition it was taken, the strategies are ``fused`` and the baselines.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..graph import LINKS, Graph
from ..model import Link, Mask
from ..ports import Strategy
from . import metrics
from .ablate import Reply, replied
from .cache import Cached
from .datasets import Case, Question
from .figures import Figure, Metric
from .learning import parts
from .metrics import Numbers
from .run import Tick
from .spaces import Space, space

SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
"""Memories of a part, for the growth of recall with a memory."""
ASKED = 200
"""Questions of a set that are asked of parts of one size, about."""
RATES = (0.1, 0.2, 0.3, 0.4, 0.5)
"""Which part of the mentions of names is lost, or leads to another name."""
CUT = 5
"""Documents that are looked at."""
GROWN, LOST, FALSE, LEAST, SURE = "memories", "names lost", "names false", "documents", "confidence"
"""The conditions, as the categories begin."""
STEPS = len(SIZES) + 1 + 2 * len(RATES) + 1
"""How many steps :func:`run` reports."""
_MENTIONS = LINKS.index(Link.MENTIONS)


@dataclass(frozen=True, slots=True)
class Asked:
    """The replies of each strategy, by its name, to the same questions."""

    replies: Mapping[str, list[Reply]]

    def figures(self, set_: str, category: str) -> Iterator[Figure]:
        """The fraction of the gold among the first five documents."""
        for name, found in self.replies.items():
            values = np.array([np.mean(np.array(one.places) <= CUT) for one in found])
            if len(values):
                low, high = metrics.interval(values)
                yield Figure(set_, name, category, Metric.FRACTION, CUT, len(values), float(values.mean()), low, high)


def run(
    name: str, cases: Sequence[Case], ways: Sequence[Strategy], embedder: Cached, tick: Tick = lambda _steps: None
) -> Iterator[Figure]:
    """Everything, for one set; the last strategy is the one to be compared with the others."""
    yield from grown(name, cases, ways, embedder, tick)
    spaces = [space(case, ways[0], embedder) for case in cases]
    yield from misread(name, spaces, ways, tick)
    yield from least(name, spaces, ways)
    yield from reliable(name, spaces, ways[-1])
    tick(1)


# ---- cold start


def grown(
    name: str, cases: Sequence[Case], strategies: Sequence[Strategy], embedder: Cached, tick: Tick = lambda _steps: None
) -> Iterator[Figure]:
    """Recall from memories of 1 to 1,024 episodes, each of which holds the whole evidence of its questions."""
    longest = max(len(case.episodes) for case in cases)
    for size in SIZES:
        if size // 2 < longest:
            found = [replace(part, questions=_answerable(part)) for part in parts(cases, size)]
            whole = sum(len(part.questions) for part in found)
            some = found[:: max(1, round(whole / ASKED))]
            asked = _asked([space(part, strategies[0], embedder) for part in some], strategies)
            yield from asked.figures(name, f"{GROWN} {size}")
        tick(1)


def _answerable(part: Case) -> tuple[Question, ...]:
    return tuple(question for question in part.questions if question.answerable)


# ---- imperfect extraction


def misread(
    name: str, spaces: Sequence[Space], strategies: Sequence[Strategy], tick: Tick = lambda _steps: None
) -> Iterator[Figure]:
    """Recall where a part of the mentions of names was lost, or leads to another name."""
    for category, rate, spoiled in (
        ("names as found", 0.0, lost),
        *((f"{LOST} {rate:.0%}", rate, lost) for rate in RATES),
        *((f"{FALSE} {rate:.0%}", rate, false) for rate in RATES),
    ):
        worse = [replace(one, graph=spoiled(one.graph, rate)) for one in spaces]
        yield from _asked(worse, strategies).figures(name, category)
        tick(1)


def lost(graph: Graph, rate: float) -> Graph:
    """The graph without a part of its mentions."""
    return replace(graph, edges=graph.edges.keep(~_drawn(graph, rate)), _parent=None)


def false(graph: Graph, rate: float) -> Graph:
    """The graph with a part of its mentions leading to the names of others of these mentions."""
    drawn = np.flatnonzero(_drawn(graph, rate))
    names = graph.edges["dst"][drawn]
    return replace(graph, edges=graph.edges.put(drawn, dst=np.roll(names, max(1, len(names) // 2))), _parent=None)


def _drawn(graph: Graph, rate: float) -> Mask:
    """A part of the mentions, the same at every run: by a hash of their rows."""
    edges = graph.edges
    mixed = (edges["src"].astype(np.uint64) * 2654435761 + edges["dst"].astype(np.uint64) * 40503) % 1000
    return np.equal(edges["links"], _MENTIONS) & (mixed < 1000 * rate)


# ---- knowing

BINS = 10
"""Into how many bins of equal width confidence is dealt."""


def reliable(name: str, spaces: Sequence[Space], strategy: Strategy) -> Iterator[Figure]:
    """How often the answer is there at each confidence, answerable and unanswerable questions counting the same.

    A figure for each tenth of confidence, ``k`` being its number from 0, ``apart`` the mean confidence in it; and their
    mean distance, weighted by how many questions lie in each: the expected calibration error.
    """
    answerable: list[bool] = []
    confidence: list[float] = []
    for one in spaces:
        for place, question in enumerate(one.case.questions):
            answerable.append(question.answerable)
            confidence.append(strategy.activate(one.cues[place], one.graph).confidence)
    there, sure = np.array(answerable), np.array(confidence)
    if there.all() or not there.any():
        return
    counts = np.where(there, 0.5 / there.sum(), 0.5 / (~there).sum())
    bins = np.minimum((sure * BINS).astype(int), BINS - 1)
    error = 0.0
    for number in np.unique(bins).tolist():
        some = bins == number
        weight = float(counts[some].sum())
        right, mean = float(counts[some & there].sum()) / weight, float(counts[some] @ sure[some]) / weight
        error += weight * abs(right - mean)
        low, high = metrics.interval(np.where(there[some], 1.0, 0.0))
        n = int(some.sum())
        yield Figure(name, strategy.name, SURE, Metric.RELIABILITY, number, n, right, low, high, apart=mean)
    yield Figure(name, strategy.name, SURE, Metric.CALIBRATION_ERROR, None, len(there), error, error, error)


# ---- over-retrieval


def least(name: str, spaces: Sequence[Space], strategies: Sequence[Strategy]) -> Iterator[Figure]:
    """How many documents each strategy must bring back for the recall that the best baseline has at ten.

    The value is the least such number; ``category`` says the recall. The last strategy is the one to be compared.
    """
    asked = _asked(spaces, strategies).replies
    curves = {way: np.array([_curve(one) for one in found]).mean(axis=0) for way, found in asked.items()}
    goal = max(float(curve[9]) for way, curve in curves.items() if way != strategies[-1].name)
    for way, curve in curves.items():
        count = float(np.searchsorted(curve, goal - 1e-9) + 1)
        yield Figure(name, way, f"{LEAST} for {goal:.3f}", Metric.FIRED, None, len(asked[way]), count, count, count)


def _curve(reply: Reply) -> Numbers:
    """The fraction of the gold among the first 1, 2, … 60 documents."""
    places = np.array(reply.places)
    return np.array([np.mean(places <= k) for k in range(1, 61)])


def _asked(spaces: Sequence[Space], strategies: Sequence[Strategy]) -> Asked:
    replies: dict[str, list[Reply]] = {strategy.name: [] for strategy in strategies}
    for one in spaces:
        for place, question in enumerate(one.case.questions):
            if question.answerable and question.evidence:
                for strategy in strategies:
                    replies[strategy.name].append(replied(one, place, strategy.activate(one.cues[place], one.graph)))
    return Asked(replies)
