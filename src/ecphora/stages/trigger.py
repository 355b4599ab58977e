"""The dual trigger: what a cue touches by itself, found by words and by meaning. SYNAPSE, §2.4, 1."""

from dataclasses import dataclass

import numpy as np

from ..graph import Graph
from ..model import Cue, Mask, Rows, Scores
from . import choose, fuse, seed


@dataclass(frozen=True, slots=True)
class Touched:
    """What a cue touches: cosines, how strongly each row would start as an anchor, how near it is, both in 0..1.

    ``lexical`` and ``dense`` are the anchors of the two triggers, best first.
    """

    cosine: Scores
    start: Scores
    near: Scores
    lexical: Rows
    dense: Rows

    @property
    def anchors(self) -> Rows:
        """All anchors, ascending."""
        return np.union1d(self.lexical, self.dense)


def touched(
    graph: Graph, cue: Cue, allowed: Mask, anchors: int, *, lexical: bool, context: bool, by_words: bool
) -> Touched:
    """The best ``anchors`` by each trigger, of those that may come back.

    Without ``lexical`` words find nothing. With ``context`` both triggers also read each turn together with the turn
    before it. ``by_words`` counts words as half of how near a row is; else nearness is the cosine.
    """
    read = cue.meaning if cue.vector is not None else 0.0
    cosine = seed.meaning(graph, cue)
    meaning, words = [cosine], [seed.words(graph, cue)]
    if context:
        meaning.append(seed.in_context(graph, cosine))
        words.append(seed.words_in_context(graph, cue))
    meaning = [np.maximum(0, scores * allowed) for scores in meaning]  # inferred: §2.8, no anchor holds others down
    words = [scores * allowed for scores in words]
    # Where the embedder reads nothing, words stand in for the cosine. deviation: the paper knows no such cue.
    unread = np.where(graph.vector_places >= 0, 1 - read, 1)
    start = read * meaning[0] + unread * fuse.of_best(words[0])
    near = read / 2 * np.mean([fuse.of_best(scores) for scores in meaning], axis=0)
    near += (1 - read / 2) * np.mean([fuse.of_best(scores) for scores in words], axis=0)
    found_by_words, found_by_meaning = anchors * lexical, anchors * (read > 0)
    return Touched(
        cosine=cosine,
        start=start.astype(np.float32),
        near=(near if by_words else start).astype(np.float32),
        lexical=np.concatenate([choose.best(scores, allowed, found_by_words) for scores in words]),
        dense=np.concatenate([choose.best(scores, allowed, found_by_meaning) for scores in meaning]),
    )
