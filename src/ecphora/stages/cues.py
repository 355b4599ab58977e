"""Cues: what of a question wakes engrams, each part searched for itself. EcphoryRAG, sections 4.5 and 4.11."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..graph import Graph
from ..model import Cue, Mask, Rows, Scores
from . import hop
from .cooccurrence import rarity

NAME, QUESTION = 1.0, 0.7
"""The weights of a name in the question and of the whole question. Inferred, section 4.11."""


@dataclass(frozen=True, slots=True)
class Matched:
    """How well each engram fits a question, by place, in 0..1.

    ``scores`` is the best of the cues, weight times cosine; ``question`` the cosine with the whole question alone, as
    far as its language is read. ``named`` are the places of the names that were cues. ``meaning`` has the cosine of the
    question with each memory that may come back, cut to 0..1.
    """

    scores: hop.Similarities
    question: hop.Similarities
    named: Rows
    meaning: Scores


def matched(
    graph: Graph, cue: Cue, search: hop.Search, allowed: Mask, *, name: float, question: float, rare: bool
) -> Matched:
    """Search by every cue and merge: an engram's score is the maximum over the cues of weight times cosine.

    A name's cue is its own engram, so that engram has cosine 1 with it. ``rare`` weighs a name by its rarity: one that
    every memory mentions says little of what is asked.
    """
    scores = np.zeros(len(search.index), np.float32)
    whole, meaning = scores, graph.zeros()
    if cue.vector is not None and len(graph.vectored):
        cosine = hop.cosines(graph, cue.vector[None, :])[0]
        whole = (cue.meaning * search.similar(cosine)).astype(np.float32)
        scores = (question * whole).astype(np.float32)
        meaning[graph.vectored["rows"]] = np.maximum(0, cosine)
        meaning *= allowed
    named, weights = _named(graph, cue, search, allowed, name=name, rare=rare)
    if len(named):
        own = hop.vectors_of(graph, search.index.rows[named], allowed)
        for place, weight, cosine in zip(named, weights, hop.cosines(graph, own), strict=True):
            similar = search.similar(cosine)
            similar[place] = 1
            scores = np.maximum(scores, weight * similar)
    return Matched(scores, whole, named, meaning)


def _named(
    graph: Graph, cue: Cue, search: hop.Search, allowed: Mask, *, name: float, rare: bool
) -> tuple[Rows, NDArray[np.float32]]:
    """The names in the question that a memory which may come back mentions, and the weight of each."""
    rows = np.unique(graph.rows(cue.entities))
    edges, which = graph.edges_to(rows)
    heard = np.unique(which[allowed[graph.edges["src"][edges]]])
    named = search.index.places(rows[heard])
    weights = np.full(len(named), name, np.float32)
    return named, weights * rarity(graph, search.index.mentions[named]) if rare else weights
