"""What a cue touches, and the pool of memories that are looked at closely: all later columns are of the pool alone.

The pool is what is near by meaning or by words, alone or together with the turn before it; the turns beside the best of
it; and what names lead to. So looking closely costs the same in a memory of a thousand turns and of a hundred thousand.
"""

from dataclasses import dataclass

import numpy as np

from ..graph import Graph
from ..model import Cue, Mask, Rows, Scores, Vector
from . import choose, fuse, links, people, seed
from .covering import Covering, covering
from .experience import Useful, useful
from .fuse import Measured
from .links import Linked, Naming
from .seed import Postings

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

    ``meaning`` and ``context`` are cosines of a row and of it with the row before it, counted from the embedder's floor
    and times how far it reads the cue; ``topic`` and ``topic_context`` are those with the cue's topic. ``words`` and
    ``together`` are BM25 likewise; ``covered`` is the rarity-weighted part of the cue's words. ``whole`` puts them
    together, in parts of the best that may come back.
    """

    meaning: Measured
    context: Measured
    topic: Measured
    topic_context: Measured
    words: Measured
    together: Measured
    covered: Scores
    whole: Scores


@dataclass(frozen=True, slots=True)
class View:
    """A cue, a graph, and the pool: ``rows``, ascending, all of which may come back.

    ``direct`` has an entry for every row of the graph. ``asked`` are the names in the cue and those that are the same,
    ``titled`` the rows about one of them; these and the ways along names may lead out of the pool. ``leaders`` are
    places in the pool, the best by direct score first. ``alike`` are the cosines of the pool with the leaders, shape
    ``(len(rows), len(leaders))``, a row's with itself 0, times how far the embedder reads the cue. ``covering`` says
    which words of the cue the pool holds, ``naming`` which names. ``useful`` is what was of use for a question like
    this one.
    """

    graph: Graph
    cue: Cue
    allowed: Mask
    rows: Rows
    direct: Direct
    asked: Rows
    titled: Rows
    about: Linked
    sharing: Linked
    met: Linked
    again: Linked
    leaders: Rows
    alike: Scores
    covering: Covering
    useful: Useful
    naming: Naming

    @property
    def strength(self) -> Scores:
        """The direct score of each row of the pool."""
        return self.direct.whole[self.rows]


def look(graph: Graph, cue: Cue) -> View:
    """Touch every row, follow names from the best, and gather the pool."""
    allowed, postings = choose.allowed(graph, cue), Postings.of(graph, cue)
    direct = touched(graph, cue, allowed, postings)
    asked = people.asked(graph, cue)
    titled = links.titled(graph, asked)
    titled = titled[allowed[titled]]
    best = choose.top(np.where(allowed, direct.whole, -1), POOL)  # a small memory is looked at whole
    # Only the best and what names lead to can be among the best of what is reached.
    near, reached = np.union1d(best, titled), direct.whole.copy()
    reached[titled] += TITLE
    seeds = near[choose.best(reached[near], allowed[near], links.SEEDS)]
    about, sharing = links.followed(graph, asked, seeds, reached[seeds])
    met = links.met(graph, asked, seeds[:FIRST], reached[seeds[:FIRST]])
    near = np.union1d(near, met.rows)
    reached[met.rows] += met.values
    seeds = near[choose.best(reached[near], allowed[near], FIRST)]
    again = links.met(graph, asked, seeds, fuse.of_best(reached[seeds]))
    beside = np.concatenate([graph.previous[best[:FOUND]], graph.following[best[:FOUND]]])
    found = [choose.best(measured.scores, allowed, FOUND) for measured in (direct.meaning, direct.words)]
    before = useful(graph, direct.meaning.scores)
    found += [before.rows[:FOUND]]
    found += [way.rows[choose.best(way.values, allowed[way.rows], FOUND)] for way in (about, sharing, met, again)]
    rows = np.unique(np.concatenate([best, beside[beside >= 0], titled[:FOUND], *found])).astype(np.intp)
    rows = rows[allowed[rows]]
    leaders = choose.top(direct.whole[rows], LEADERS)
    return View(
        graph=graph,
        cue=cue,
        allowed=allowed,
        rows=rows,
        direct=direct,
        asked=asked,
        titled=titled,
        about=about,
        sharing=sharing,
        met=met,
        again=again,
        leaders=leaders,
        alike=np.float32(cue.meaning) * _alike(graph, rows, leaders, cue.floor),
        covering=covering(postings, rows),
        useful=before,
        naming=links.naming(graph, rows),
    )


def touched(graph: Graph, cue: Cue, allowed: Mask, postings: Postings) -> Direct:
    """What the cue touches by meaning and by words."""
    scores = (
        *_near(graph, cue, cue.vector),
        *_near(graph, cue, cue.topic),
        postings.words(),
        postings.words_in_context(),
    )
    meaning, context, topic, topic_context, words, together = measured = [
        Measured.of(one, graph.episodes, allowed) for one in scores
    ]
    covered = postings.covered()
    whole = COVERED * covered + meaning.of_best() + topic.of_best() + words.of_best()
    for one in measured:
        whole += SPREAD * one.above_mean()
    strength = fuse.of_best((whole * allowed).astype(np.float32))
    return Direct(meaning, context, topic, topic_context, words, together, covered, strength)


def _near(graph: Graph, cue: Cue, vector: Vector | None) -> tuple[Scores, Scores]:
    cosine = seed.cosines(graph, vector)
    return (
        cue.meaning * above(cosine, cue.floor),
        cue.meaning * above(seed.in_context(graph, cosine), cue.floor),
    )


def above(cosines: Scores, floor: float) -> Scores:
    """Cosines counted from the one at which an embedder finds two texts unrelated: 0 there, 1 at 1."""
    if not floor:
        return cosines
    counted: Scores = np.maximum(-1, (cosines - np.float32(floor)) / np.float32(1 - floor))
    return counted


def _alike(graph: Graph, rows: Rows, leaders: Rows, floor: float) -> Scores:
    places, stored = graph.vector_places[rows], graph.vectors.view
    if not len(stored):
        return np.zeros((len(rows), len(leaders)), np.float32)
    vectors = stored[places]
    vectors[places < 0] = 0
    alike = above(np.vecdot(vectors[:, None], vectors[leaders]), floor)  # a matrix product may wake a second thread
    alike[leaders, np.arange(len(leaders))] = 0
    return alike
