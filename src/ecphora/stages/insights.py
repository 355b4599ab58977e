"""Insights: what several memories tell together, drawn in sleep. Cognitive Weave, Algorithm 1 and equation 6.

An insight quotes those of its sources that say most of all for their length, or is what a language model makes of them,
if that says more and nothing that no source says. It goes with the first of its sources that is forgotten, and does not
hold once one of them is replaced. It is found by its meaning alone: no word of it is read, so it changes no rank.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime

import numpy as np

from ..graph import LINKS, Graph, seconds
from ..language.tokens import tokens
from ..model import Edge, Link, Mask, Node, Rows, Vector, Vectors
from ..patterns import lazy_pattern
from ..ports import Left, Reader
from . import clusters, importance, standing, synthesis, telling
from .clusters import Clustering
from .oracle import costs, insight_id, insight_of, quoted

_DERIVED = LINKS.index(Link.DERIVED_FROM)
_SENTENCE = lazy_pattern(
    r"(?<!\b[A-Z]\.)(?<!\b[A-Z][a-z]\.)(?<!\bMrs\.)(?<=[.!?…])[\"'”’)\]]*\s+|(?<=[。！？])[」』”）]*\s*|\n+"
)


@dataclass(frozen=True, slots=True)
class Writer:
    """A language model that tells memories in its own words: ``write`` may give None, ``embed`` makes vectors of texts.

    ``floor`` is the cosine at which the embedder finds two texts unrelated.
    """

    write: Callable[[Sequence[Node]], str | None]
    embed: Callable[[Sequence[str]], Vectors]
    floor: float = 0.0


@dataclass(frozen=True, slots=True)
class Drawing:
    """How insights are drawn. All inferred.

    ``clustering`` compares meanings without what all memories have in common. Of a cluster at most the part ``overlap``
    may be told already. A memory counts that says at least ``enough`` of what the middle one says, and asks nothing.
    There is one insight for ``every`` so many memories at most. ``token_cost`` is lambda of equation 6; what a
    language model says needs a source of cosine ``supported`` for each of its sentences.
    """

    clustering: Clustering = field(default_factory=lambda: Clustering(near=0.45, tau=0.45))
    overlap: float = 0.5
    enough: float = 0.6
    every: int = 20
    token_cost: float = 0.002
    supported: float = 0.5
    fading: importance.Fading = field(default_factory=importance.Fading)


@dataclass(frozen=True, slots=True)
class Drawn:
    """Insights and the edges to their sources; ``refused`` texts of a language model were not used.

    ``whole`` says that none is missing because the time ran out.
    """

    nodes: tuple[Node, ...] = ()
    edges: tuple[Edge, ...] = ()
    refused: int = 0
    whole: bool = True


def drawn(
    graph: Graph,
    new: Rows,
    read: Reader,
    now: datetime,
    write: Writer | None = None,
    *,
    how: Drawing | None = None,
    left: Left | None = None,
) -> Drawn:
    """The insights that some new memories complete, and those over insights of which no higher one tells.

    Costs what is new times what there is. Deterministic but for the texts of ``write``; an id follows from the sources.
    ``left`` bounds the time: if it runs out, the last ones are missing, never the first. The same call finds them once
    the others are written.
    """
    ground = _Ground(graph, how or Drawing(), now)
    found = list(_found(ground, new))
    rows = np.unique(np.concatenate([np.concatenate([one.rows, one.leaves]) for one in found])) if found else new[:0]
    known = {graph.row(node.id): node for node in read(rows)} if found else {}
    nodes: list[Node] = []
    edges: list[Edge] = []
    refused = 0
    for one in found:
        sources = [known[row] for row in one.rows.tolist() if row in known]
        leaves = [known[row] for row in one.leaves.tolist() if row in known]
        if len(sources) < len(one.rows) or len(leaves) < len(one.leaves):
            continue  # one was forgotten meanwhile
        id_ = insight_id(node.id for node in sources)
        if graph.row(id_) is not None or id_ in graph.barred:
            continue
        if nodes and left is not None and left() <= 0:
            return Drawn(tuple(nodes), tuple(edges), refused, whole=False)
        text, no = _text(ground, one.leaves, sources, leaves, write)
        refused += no
        nodes.append(insight_of(text, sources, now, one.level))
        edges.extend(Edge(id_, source.id, Link.DERIVED_FROM) for source in sources)
    return Drawn(tuple(nodes), tuple(edges), refused)


@dataclass(frozen=True, slots=True, eq=False)
class _Cluster:
    """What an insight is to tell: rows of one level, and the memories below them."""

    level: int
    rows: Rows
    leaves: Rows


class _Ground:
    """What is the same for every insight of a run: vectors, what memories weigh, and what is told already."""

    def __init__(self, graph: Graph, how: Drawing, now: datetime) -> None:
        self.graph, self.how = graph, how
        self.mean = _mean(graph)
        self.space = _apart(graph.vectors.view, self.mean)
        weights = importance.importance(graph, how.fading, seconds(now)).astype(np.float64)
        self.weights = np.maximum(weights, 1e-6)
        self.insights = telling.every(graph)
        self.told = np.zeros(len(graph), np.bool_)
        edges, known = graph.edges, [one.row for one in self.insights if one.holds]
        self.told[edges["dst"][(edges["links"] == _DERIVED) & np.isin(edges["src"], known)]] = True

    def vectors(self, rows: Rows) -> Vectors:
        """The unit vectors of some rows, without what all memories have in common."""
        found: Vectors = self.space[self.graph.vector_places[rows]]
        return found


def _mean(graph: Graph) -> Vector:
    """The mean vector of all memories: what they have in common, as who is talking, and in what tone."""
    held = graph.episodes[graph.vectored["rows"]]
    vectors = graph.vectors.view
    if not held.any():
        return np.zeros(vectors.shape[1], np.float32)
    return (held.astype(np.float32) @ vectors / np.float32(held.sum())).astype(np.float32)


def _apart(vectors: Vectors, mean: Vector) -> Vectors:
    """Unit vectors of what is special in some unit vectors, zeros where that is nothing."""
    special = vectors - mean
    lengths = np.sqrt(np.einsum("ij,ij->i", special, special))[:, None]
    return np.divide(special, lengths, out=np.zeros_like(special), where=lengths > 1e-3)


def saying(graph: Graph, enough: float) -> Mask:
    """The memories that state something: they do not ask, and say ``enough`` of what the middle one says, or more.

    What a memory says is the sum of ln(memories / memories with the word) over its words.
    """
    table, episodes = graph.words, graph.episodes
    _, which, counts = np.unique(table["words"], return_inverse=True, return_counts=True)
    rarity = np.log(max(1, int(episodes.sum())) / counts)
    said = np.bincount(table["rows"], rarity[which], minlength=len(graph))
    middle = float(np.median(said[episodes])) if episodes.any() else 0.0
    found: Mask = episodes & ~graph.nodes["questions"] & (said >= enough * middle)
    return found


def _found(ground: _Ground, new: Rows) -> Iterator[_Cluster]:
    """The clusters of every level, those around the new first."""
    graph, how = ground.graph, ground.how
    may = saying(graph, how.enough) & ~telling.replaced(graph)
    room = int(graph.episodes.sum()) // how.every - sum(one.level == 1 for one in ground.insights)
    for rows in _clusters(ground, new[may[new]], may, room, {}):
        yield _Cluster(1, rows, rows)
    # An insight gets its vector when it is written, so those of the last run are new here.
    earlier = np.flatnonzero(graph.episodes[: new[0]]) if len(new) else new
    last = int(earlier[-1]) if len(earlier) else -1
    below = {one.row: one.sources for one in ground.insights}
    for level in sorted({one.level for one in ground.insights}):
        lower = np.array([one.row for one in ground.insights if one.level == level and one.holds], np.intp)
        among = np.zeros(len(graph), np.bool_)
        among[lower] = True
        room = len(lower) // how.clustering.smallest - sum(one.level == level + 1 for one in ground.insights)
        for rows in _clusters(ground, lower[lower > last], among, room, below):
            yield _Cluster(level + 1, rows, _leaves(rows, below))


def _leaves(rows: Rows, below: dict[int, Rows]) -> Rows:
    """The memories below some insights; memories themselves are below themselves."""
    return np.unique(np.concatenate([below.get(row, np.array([row])) for row in rows.tolist()])).astype(np.intp)


def _clusters(ground: _Ground, seeds: Rows, among: Mask, room: int, below: dict[int, Rows]) -> Iterator[Rows]:
    """At most ``room`` clusters around some rows: where most is alike first, and mostly of what nothing tells yet."""
    graph, space, how = ground.graph, ground.space, ground.how.clustering
    near = clusters.nearest(graph, space, seeds, among, how) if room > 0 else iter(())
    ranked = sorted(
        (one for one in near if len(one[1]) >= how.smallest - 1),
        key=lambda one: (-round(float(one[2].sum()), 4), one[0]),
    )
    for row, others, _ in ranked:
        if ground.told[row]:
            continue
        rows = clusters.joined(graph, space, row, np.unique(np.append(others, row)), how)
        if ground.told[rows].mean() > ground.how.overlap or not _several(graph, rows, how):
            continue
        if clusters.good(graph, space, rows, how) and not _at_odds(graph, _leaves(rows, below)):
            ground.told[rows] = True
            yield rows
            room -= 1
            if not room:
                return


def _several(graph: Graph, rows: Rows, how: Clustering) -> bool:
    """Whether some rows are as many as a cluster has, the pieces of one text counted once."""
    documents = graph.nodes["documents"][rows]
    whole = int((documents < 0).sum()) + len(np.unique(documents[documents >= 0]))
    return whole >= how.smallest and len(rows) <= how.largest


def _at_odds(graph: Graph, rows: Rows) -> bool:
    """Whether one of some memories replaces or contradicts another of them."""
    known = standing.successions(graph)
    return len(known) > 0 and bool((np.isin(known.old, rows) & np.isin(known.new, rows)).any())


# ---- its words


def _text(
    ground: _Ground, rows: Rows, sources: Sequence[Node], leaves: Sequence[Node], write: Writer | None
) -> tuple[str, bool]:
    """What an insight over some memories says, and whether a language model's text was refused.

    Such a text must have a smaller L (equation 6) than the quotes, and a source near to each of its sentences.
    """
    vectors, weights = ground.vectors(rows), ground.weights[rows] / ground.weights[rows].sum()
    price = costs(leaves, ground.how.token_cost)
    chosen = synthesis.extract(vectors, weights, price)
    text = quoted([leaves[place] for place in chosen])
    said = (write.write(sources) or "").strip() if write is not None else ""
    if write is None or not said:
        return text, False
    sentences = [part for part in map(str.strip, _SENTENCE.split(said)) if any(map(str.isalnum, part))]
    if not sentences:
        return text, True
    made = write.embed(sentences)
    own: Vectors = ground.graph.vectors.view[ground.graph.vector_places[rows]]
    near = (own @ made.T).max(axis=0) >= write.floor + (1 - write.floor) * ground.how.supported
    related = np.maximum(0, vectors @ _apart(made, ground.mean).T).max(axis=1)
    loss = float(-(weights * related).sum()) + ground.how.token_cost * tokens(said)
    fair = near.all() and loss < synthesis.objective(chosen, vectors, weights, price)
    return (said, False) if fair else (text, True)
