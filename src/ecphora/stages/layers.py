"""The episodic-semantic graph of SYNAPSE as a layer over the memory graph: derived, never stored.

Episodes are joined in time and to the concepts of their window, concepts to those that came up with them. Concepts are
the entities of the graph. The layer is made at every consolidation, of as many whole windows as there were then: so it
follows from the graph alone, and all recalls between two consolidations share it.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..graph import LINKS, Earlier, Graph
from ..model import MENTIONING, Kind, Rows, Scores, Vectors
from .engrams import engrams
from .pagerank import pagerank
from .spread import Ways

DAY = 86_400.0
AT_ONCE = 512
"""Concepts compared with all others in one product."""

_MENTIONING = np.array([LINKS.index(link) for link in MENTIONING])


@dataclass(frozen=True, slots=True)
class Plan:
    """How a layer is made.

    ``N`` episodes a window, and from one consolidation to the next, or more while they are a part of ``lag`` of all,
    for a consolidation takes as long as the memory is large; ``K`` semantic edges that each row keeps; ``tau_dup``: the
    cosine from which two concepts are one, 1 for never; ``abstraction``: the weight between an episode and a concept;
    ``whole_window``: a concept belongs to every episode of a window that names it, not only to those that do; ``rho``:
    the decay of temporal edges a day; ``back``: temporal edges lead back as well.
    """

    N: int = 5
    K: int = 15
    tau_dup: float = 0.92
    abstraction: float = 1.0
    whole_window: bool = False
    rho: float = 0.01
    back: bool = False
    lag: float = 0.0

    def consolidated(self, n: int) -> int:
        """How many of n episodes the last consolidation knew: a multiple of a period that doubles as memories grow."""
        period = self.N
        while 2 * period <= self.lag * n:
            period *= 2
        return n // period * period


@dataclass(frozen=True, slots=True)
class Layer:
    """What a consolidation made: edges by source, those of a row from ``starts[row]`` to ``starts[row + 1]``.

    They join episodes and concepts, concepts and concepts, and the last turn of a session with the first of the next;
    the turns of a session are joined by the graph itself. ``rank`` is the PageRank of each row in parts of the
    highest. Rows that came later are beyond the end of both. ``episodes`` is how many the layer was made of.
    """

    plan: Plan
    starts: Rows
    targets: Rows
    weights: Scores
    rank: Scores
    episodes: int

    def leaving(self, graph: Graph, rows: Rows) -> Ways:
        """Every edge that leaves some rows of the graph, those to the turns beside them too."""
        inside = rows[rows < len(self.starts) - 1]
        counts = self.starts[inside + 1] - self.starts[inside]
        places = np.arange(counts.sum()) + np.repeat(self.starts[inside] - np.cumsum(counts) + counts, counts)
        stored = Ways(np.repeat(inside, counts), self.targets[places], self.weights[places])
        ways = stored.plus(_followed(graph, rows, graph.following[rows], self.plan.rho))
        return ways.plus(_followed(graph, rows, graph.previous[rows], self.plan.rho)) if self.plan.back else ways


def layer(graph: Graph, plan: Plan) -> Layer:
    """The layer of a graph as of its last consolidation."""
    return graph.derived(("episodic-semantic", plan), lambda grown, before: _consolidated(grown, before, plan))


def bond(seconds: NDArray[np.floating], rho: float) -> Scores:
    """``exp(-ρ·|τ_i - τ_j|)``, τ in days: the weight of a temporal edge over so many seconds."""
    return np.exp(-rho / DAY * np.abs(seconds)).astype(np.float32)


def _followed(graph: Graph, src: Rows, dst: Rows, rho: float) -> Ways:
    """Temporal edges; -1 at either end stands for none."""
    there = (src >= 0) & (dst >= 0)
    src, dst = src[there], dst[there]
    happened = graph.nodes["happened"]
    return Ways(src, dst, bond(happened[dst] - happened[src], rho))


# ---- consolidation


def _consolidated(graph: Graph, before: Earlier[Layer] | None, plan: Plan) -> Layer:
    episodes = np.flatnonzero(graph.episodes)
    episodes = episodes[: plan.consolidated(len(episodes))]
    if before is not None and before.value.episodes == len(episodes):
        return before.value
    concepts = _concepts(graph, episodes, plan)
    chain, bridges = _chained(graph, episodes, plan)
    edges = pruned(_semantic(concepts, episodes, plan), plan.K).plus(bridges)
    edges = edges.only(np.argsort(edges.src, kind="stable"))
    nodes = np.zeros(len(graph), np.bool_)
    nodes[episodes] = nodes[concepts.rows[concepts.named]] = True
    return Layer(
        plan=plan,
        starts=np.searchsorted(edges.src, np.arange(len(graph) + 1)),
        targets=edges.dst,
        weights=edges.weights,
        rank=pagerank(edges.plus(chain), nodes),
        episodes=len(episodes),
    )


@dataclass(frozen=True, slots=True)
class _Concepts:
    """The concepts of some episodes: ``rows`` of the graph, each with the sum of what was said of it.

    ``told[i]``, the number of an episode, mentions ``named[i]``, the place of a concept; no pair stands twice.
    """

    rows: Rows
    sums: Vectors
    told: Rows
    named: Rows

    def of_windows(self, size: int) -> tuple[Rows, Rows]:
        """Each window of so many episodes with each concept of it, by window."""
        return _pairs(self.told // size, self.named, len(self.rows))


def _concepts(graph: Graph, episodes: Rows, plan: Plan) -> _Concepts:
    known, edges = engrams(graph), graph.edges
    number = np.full(len(graph), -1, np.intp)
    number[episodes] = np.arange(len(episodes))
    mention = np.isin(edges["links"], _MENTIONING) & graph.of_kind(Kind.ENTITY)[edges["dst"]]
    src, named = edges["src"][mention], known.places(edges["dst"][mention])
    late = np.flatnonzero(number[src] < 0)
    late = late[graph.vector_places[src[late]] >= 0]
    sums = known.sums.copy() if len(late) or plan.tau_dup < 1 else known.sums
    if len(late):  # an engram holds mentions that are not consolidated yet
        np.subtract.at(sums, named[late], graph.vectors.view[graph.vector_places[src[late]]])
    there = number[src] >= 0
    told, named = _pairs(number[src[there]], named[there], len(known.rows))
    if plan.tau_dup < 1:
        same = merged(_centred(graph, episodes, sums, named), told, named, plan.tau_dup)
        moved = np.flatnonzero(same != np.arange(len(same)))
        np.add.at(sums, same[moved], sums[moved])
        told, named = _pairs(told, same[named], len(same))
    return _Concepts(known.rows, sums, told, named)


def _pairs(a: Rows, b: Rows, size: int) -> tuple[Rows, Rows]:
    """The distinct pairs of two columns, ascending; ``b`` is below ``size``."""
    return np.divmod(np.unique(a * max(1, size) + b), max(1, size))


def _unit(sums: Vectors) -> Vectors:
    return sums / np.maximum(np.sqrt(np.einsum("ij,ij->i", sums, sums)), 1e-12)[:, None]


def _semantic(concepts: _Concepts, episodes: Rows, plan: Plan) -> Ways:
    """Abstraction edges, both ways, and association edges."""
    src, dst = episodes[concepts.told], concepts.rows[concepts.named]
    windows, named = concepts.of_windows(plan.N)
    if plan.whole_window:
        src = episodes.reshape(-1, plan.N)[windows].ravel()
        dst = np.repeat(concepts.rows[named], plan.N)
    weights = np.full(len(src), plan.abstraction, np.float32)
    return Ways(src, dst, weights).plus(Ways(dst, src, weights), _associated(concepts, windows, named))


def _associated(concepts: _Concepts, windows: Rows, named: Rows) -> Ways:
    """Every two concepts of a window, both ways, by the cosine of what was said of them, where that is positive."""
    vectors, starts = _unit(concepts.sums), np.flatnonzero(np.r_[True, windows[1:] != windows[:-1]])
    cosines, pairs = [np.empty(0, np.float32)], [np.empty(0, np.intp)]
    for company in np.split(named, starts[1:]):
        if len(company) > 1:
            said = vectors[company]
            cosines.append((said @ said.T).ravel())
            pairs.append((company[:, None] * len(vectors) + company).ravel())
    pair, first = np.unique(np.concatenate(pairs), return_index=True)
    src, dst = np.divmod(pair, max(1, len(vectors)))
    cosine = np.minimum(1, np.concatenate(cosines)[first])
    ways = Ways(concepts.rows[src], concepts.rows[dst], cosine)
    return ways.only((src != dst) & (cosine > 0))


def pruned(ways: Ways, K: int) -> Ways:  # noqa: N803
    """The ``K`` strongest edges that leave each row, of equal ones those to the newest."""
    order = np.lexsort((-ways.dst, -ways.weights, ways.src))
    src = ways.src[order]
    place = np.arange(len(src)) - np.searchsorted(src, src)
    return ways.only(order[place < K])


def _centred(graph: Graph, episodes: Rows, sums: Vectors, named: Rows) -> Vectors:
    """Where concepts lie as seen from the middle of all episodes, unit rows; 0 for those named once.

    The more is said of a concept, the nearer its mean comes to the middle: there all old friends would be one.
    """
    counts = np.bincount(named, minlength=len(sums))
    places = graph.vector_places[episodes]
    among = np.zeros(len(graph.vectored), np.float32)
    among[places[places >= 0]] = 1 / max(1, int((places >= 0).sum()))
    middle = np.einsum("i,ij->j", among, graph.vectors.view)
    far = _unit(sums / np.maximum(1, counts)[:, None] - middle)
    far[counts < 2] = 0
    return far


def merged(vectors: Vectors, told: Rows, named: Rows, tau_dup: float) -> Rows:
    """For each concept the oldest that it is the same as, often itself: those whose cosine is ``tau_dup`` or more.

    A concept becomes one with the nearest older one, and with all that has become one with it. Two concepts that one
    text mentions are never the same. ``vectors`` are unit rows, or 0 for concepts that are not compared, in order of
    age; ``told[i]`` mentions ``named[i]``.
    """
    same = np.arange(len(vectors))
    pairs = _near(vectors, tau_dup)
    involved = {concept for _, older, newer in pairs for concept in (older, newer)}
    order = np.argsort(named, kind="stable")
    ends = np.searchsorted(named[order], np.arange(len(vectors) + 1))
    tellers = {concept: set(told[order[ends[concept] : ends[concept + 1]]].tolist()) for concept in involved}
    for _, older, newer in sorted(pairs, key=lambda pair: (pair[2], pair[0], pair[1])):
        oldest = int(same[older])
        if same[newer] == newer and oldest != newer and tellers[oldest].isdisjoint(tellers[newer]):
            same[newer] = oldest
            tellers[oldest] |= tellers[newer]
    return same


def _near(vectors: Vectors, tau_dup: float) -> list[tuple[float, int, int]]:
    """Pairs of rows ``i < j`` whose cosine is high enough, each with minus that cosine."""
    rows = np.flatnonzero(np.einsum("ij,ij->i", vectors, vectors) > 0)
    compared, found = vectors[rows], []
    for start in range(0, len(rows), AT_ONCE):
        cosines = compared[start : start + AT_ONCE] @ compared[start:].T
        older, newer = np.nonzero(cosines >= tau_dup)
        for i, j in zip(older.tolist(), newer.tolist(), strict=True):
            if i < j:
                found.append((-float(cosines[i, j]), int(rows[start + i]), int(rows[start + j])))
    return found


def _chained(graph: Graph, episodes: Rows, plan: Plan) -> tuple[Ways, Ways]:
    """The temporal edges among some episodes: those of the sessions, and those from each session to the next."""
    inside = np.zeros(len(graph), np.bool_)
    inside[episodes] = True
    before = graph.previous[episodes]
    while (skipped := (before >= 0) & ~inside[before]).any():
        before[skipped] = graph.previous[before[skipped]]
    spoken = graph.nodes["speakers"][episodes] >= 0
    turns = episodes[spoken]
    turns = turns[np.argsort(graph.nodes["happened"][turns], kind="stable")]
    first = np.isin(turns, episodes[before < 0])
    last = np.r_[-1, turns[:-1]][first]
    chain = (_followed(graph, before, episodes, plan.rho), _followed(graph, last, turns[first], plan.rho))
    if not plan.back:
        return chain
    return chain[0].plus(_turned(chain[0])), chain[1].plus(_turned(chain[1]))


def _turned(ways: Ways) -> Ways:
    return Ways(ways.dst, ways.src, ways.weights)
