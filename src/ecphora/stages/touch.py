"""What a cue touches, and the pool of memories that are looked at closely: all later columns are of the pool alone.

The pool is what is near by meaning or by words, alone or together with the turn before it; the turns beside the best of
it; and what names lead to. So looking closely costs the same in a memory of a thousand turns and of a hundred thousand.
"""

from dataclasses import dataclass

import numpy as np

from ..graph import Graph
from ..model import Cue, Mask, Rows, Scores
from . import choose, fuse, links, seed
from .covering import Covering, covering
from .links import Linked

POOL = 200
"""How many of the best by direct score are looked at."""
FOUND = 40
"""How many by meaning alone, by words alone, and by each kind of way along names."""
LEADERS = 32
"""How many of the best speak for what the cue is about."""
SPREAD, COVERED, TITLE = 0.3, 0.5, 0.35
"""What standard deviations above the mean count in the direct score, what the words covered do, and what a title that
the cue names counts for leading on."""
FIRST = 5
"""How many of the best are asked for the names they mention."""


@dataclass(frozen=True, slots=True)
class Direct:
    """What the cue touches by itself, a number for each row of the graph.

    ``meaning`` and ``context`` are cosines of a row and of it with the row before it, times how far the embedder reads
    the cue; ``words`` and ``together`` are BM25 likewise; ``covered`` is the rarity-weighted part of the cue's words.
    ``whole`` puts them together, in parts of the best that may come back.
    """

    meaning: Scores
    context: Scores
    words: Scores
    together: Scores
    covered: Scores
    whole: Scores


@dataclass(frozen=True, slots=True)
class View:
    """A cue, a graph, and the pool: ``rows``, ascending, all of which may come back.

    ``direct``, ``titled`` and the ways along names have an entry for every row of the graph. ``leaders`` are places in
    the pool, the best by direct score first. ``alike`` are the cosines of the pool with the leaders, shape
    ``(len(rows), len(leaders))``, a row's with itself 0, times how far the embedder reads the cue. ``covering`` says which words of the cue the pool holds.
    """

    graph: Graph
    cue: Cue
    allowed: Mask
    rows: Rows
    direct: Direct
    titled: Scores
    about: Linked
    sharing: Linked
    met: Linked
    again: Linked
    leaders: Rows
    alike: Scores
    covering: Covering

    @property
    def strength(self) -> Scores:
        """The direct score of each row of the pool."""
        return self.direct.whole[self.rows]


def look(graph: Graph, cue: Cue) -> View:
    """Touch every row, follow names from the best, and gather the pool."""
    allowed = choose.allowed(graph, cue)
    direct = touched(graph, cue, allowed)
    titled = links.titled(graph, cue) * allowed
    reached = (direct.whole + TITLE * titled).astype(np.float32)
    about, sharing = links.followed(graph, cue, reached, choose.best(reached, allowed, links.SEEDS))
    met = links.met(graph, cue, reached, choose.best(reached, allowed, FIRST))
    further = fuse.of_best((reached + met.scores) * allowed)
    again = links.met(graph, cue, further, choose.best(further, allowed, FIRST))
    best = choose.top(np.where(allowed, direct.whole, -1), POOL)  # a small memory is looked at whole
    beside = np.concatenate([graph.previous[best[:FOUND]], graph.following[best[:FOUND]]])
    found = [
        choose.best(scores, allowed, FOUND)
        for scores in (direct.meaning, direct.words, titled, about.scores, sharing.scores, met.scores, again.scores)
    ]
    rows = np.unique(np.concatenate([best, beside[beside >= 0], *found])).astype(np.intp)
    rows = rows[allowed[rows]]
    leaders = choose.top(direct.whole[rows], LEADERS)
    return View(
        graph=graph,
        cue=cue,
        allowed=allowed,
        rows=rows,
        direct=direct,
        titled=titled,
        about=about,
        sharing=sharing,
        met=met,
        again=again,
        leaders=leaders,
        alike=np.float32(cue.meaning) * _alike(graph, rows, leaders),
        covering=covering(graph, cue, rows),
    )


def touched(graph: Graph, cue: Cue, allowed: Mask) -> Direct:
    """What the cue touches by meaning and by words."""
    cosine = seed.meaning(graph, cue)
    meaning, context = cue.meaning * cosine, cue.meaning * seed.in_context(graph, cosine)
    words, together = seed.words(graph, cue), seed.words_in_context(graph, cue)
    covered = seed.covered(graph, cue)
    whole = COVERED * covered + fuse.of_best(meaning * allowed) + fuse.of_best(words * allowed)
    for scores in (meaning, context, words, together):
        whole += SPREAD * fuse.above_mean(scores, graph.episodes)
    return Direct(meaning, context, words, together, covered, fuse.of_best((whole * allowed).astype(np.float32)))


def _alike(graph: Graph, rows: Rows, leaders: Rows) -> Scores:
    places, stored = graph.vector_places[rows], graph.vectors.view
    if not len(stored):
        return np.zeros((len(rows), len(leaders)), np.float32)
    vectors = np.where((places >= 0)[:, None], stored[np.maximum(places, 0)], np.float32(0))
    alike: Scores = np.einsum("id,jd->ij", vectors, vectors[leaders], optimize=False)
    alike[leaders, np.arange(len(leaders))] = 0
    return alike
