"""Experience: what was of use for a question like this one. Learned from feedback, at once, and where it belongs alone.

A question with feedback is kept beside the memories that answered it. One that comes close to it in meaning lifts these
memories; any other lifts nothing, so what was learned of one matter cannot harm another. Nothing is trained for it.
Beyond that, memories that were of use together are bound to each other, and one that comes back brings its company.
"""

from dataclasses import dataclass

import numpy as np

from ..graph import LINKS, Graph
from ..model import Kind, Link, Rows, Scores

NEAR = 0.8
"""The cosine from which a question is like another one; at 1 it is the same."""
COMPANIONS = 5
"""How many of the best memories bring their company."""
_ANSWERED = LINKS.index(Link.ANSWERED_BY)


@dataclass(frozen=True, slots=True)
class Useful:
    """Rows that were of use before, each once, and how much like this one the question was, in 0..1."""

    rows: Rows
    values: Scores
    by: Rows


def useful(graph: Graph, meaning: Scores) -> Useful:
    """What answered questions like this one; ``meaning`` is the cosine of the cue with each row."""
    asked = np.flatnonzero(graph.of_kind(Kind.QUESTION))
    asked = asked[meaning[asked] > NEAR]
    edges, which = graph.edges_from(asked)
    used = (graph.edges["links"][edges] == _ANSWERED) & (graph.edges["weights"][edges] > 0)
    rows, by = graph.edges["dst"][edges[used]].astype(np.intp), asked[which[used]]
    values = np.minimum(1, (meaning[by] - NEAR) / (1 - NEAR)).astype(np.float32)
    order = np.lexsort((-values, rows))  # of each memory the question most like this one first
    first = order[np.r_[True, np.diff(rows[order]) != 0]] if len(order) else order
    return Useful(rows[first], values[first], by[first])


@dataclass(frozen=True, slots=True)
class Together:
    """Rows that were of use together with a seed, each once and ascending: how strongly, and with which seed."""

    rows: Rows
    values: Scores
    by: Rows


def together(graph: Graph, seeds: Rows, strengths: Scores) -> Together:
    """What was used together with any of some distinct seeds for one question or more, after Hebb.

    A partner has ``1 - exp(-n / 2)`` for ``n`` such questions, times their part among all for which both came back and
    one of the two was used: to come back in vain beside the other weakens the bond. That is divided by how many
    partners the seed has, and times the seed's strength; the best seed counts. Nothing of it is stored: it follows from
    the questions that are kept, and goes with them.
    """
    edges = graph.edges
    into, of_seed = _answers(graph, *graph.edges_to(seeds))
    if not len(into):
        nothing = np.empty(0, np.intp)
        return Together(nothing, np.empty(0, np.float32), nothing)
    first, last = _met(graph, into)
    seed, other = of_seed[first], edges["dst"][last].astype(np.intp)
    here, there = edges["weights"][into][first] > 0, edges["weights"][last] > 0
    told = (here | there) & (other != seeds[seed])
    pairs, pair = np.unique((seed * len(graph) + other)[told], return_inverse=True)
    both = np.bincount(pair, (here & there)[told], minlength=len(pairs))
    questions = np.bincount(pair, minlength=len(pairs))
    bound = both > 0
    seed, other = np.divmod(pairs[bound], len(graph))
    partners = np.bincount(seed, minlength=len(seeds))[seed]
    bond = (1 - np.exp(-both[bound] / 2)) * both[bound] / questions[bound] / partners
    values = (bond * strengths[seed]).astype(np.float32)
    order = np.lexsort((-values, other))  # of each memory the strongest seed first
    best = order[np.r_[True, np.diff(other[order]) != 0]] if len(order) else order
    return Together(other[best], values[best], seeds[seed[best]])


def _answers(graph: Graph, places: Rows, which: Rows) -> tuple[Rows, Rows]:
    answers = graph.edges["links"][places] == _ANSWERED
    return places[answers], which[answers]


def _met(graph: Graph, into: Rows) -> tuple[Rows, Rows]:
    """Every way memory -> question -> memory: the place in ``into`` of its first edge, and its last edge."""
    asked, which = np.unique(graph.edges["src"][into], return_inverse=True)
    out, of_question = _answers(graph, *graph.edges_from(asked))
    out = out[np.argsort(of_question, kind="stable")]
    fan = np.bincount(of_question, minlength=len(asked))
    ways = fan[which]
    first = np.repeat(np.arange(len(into)), ways)
    within = np.arange(len(first)) - np.repeat(np.cumsum(ways) - ways, ways)
    return first, out[(np.cumsum(fan) - fan)[which[first]] + within]
