"""EcphoryRAG: a cue wakes engrams, their centroid wakes more, and the memories that mention them come back.

Z. Liao, "EcphoryRAG", 2025, arXiv 2510.08958. Only a part of its text could be had: numbers are those of
sections of docs/papers.md, which follows the paper's design where its public code departs from it.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ..graph import Graph
from ..model import Cue, Mask, Scores
from ..ports import Activation, Trail
from ..reprs import ShortRepr
from ..stages import choose, cooccurrence, cues, fuse, gate, hop, seed

HALF = np.float32(0.5)
"""What engrams and the memory itself each weigh in a memory's score. Inferred, 4.11."""


@dataclass(frozen=True, slots=True, repr=False)
class Ecphory(ShortRepr):
    """The paper's settings, and four remedies for what it leaves open.

    ``k_initial`` engrams begin, and each of ``L`` hops from the ``seeds`` best adds as many; ``k_final`` are kept.
    ``chunks`` memories are what a reader gets, and what a hop along co-occurrence starts from. ``by_question`` ranks
    engrams by the question alone, as published, and not by all cues. The remedies: ``back_off`` searches by words too,
    ``neighbours`` hops along co-occurrence too, ``rarity`` makes common names count less, ``certainty`` lets an engram
    count as surely as it is a name.
    """

    k_initial: int = 20
    L: int = 1
    seeds: int = 10
    k_final: int = 40
    chunks: int = 5
    name_weight: float = cues.NAME
    question_weight: float = cues.QUESTION
    by_question: bool = False  # deviation: ranks by all cues (4.12.2) where the paper has cos(h_e, h_query) (4.5)
    back_off: bool = True  # deviation: 4.12.3
    neighbours: bool = True  # deviation: 4.11; the paper has the graph and describes no step on it
    rarity: bool = True  # deviation: 4.11, HippoRAG's node specificity, less steep
    certainty: bool = True  # deviation: 4.12.3
    name: str = "ecphory"

    def activate(self, cue: Cue, graph: Graph, /) -> Activation:
        """Score every memory that the cue touches, itself or by its engrams."""
        if not graph.episodes.any():
            return Activation(graph.zeros())
        allowed = choose.allowed(graph, cue)
        search = hop.search(graph, allowed)
        found = cues.matched(
            graph, cue, search, allowed, name=self.name_weight, question=self.question_weight, rare=self.rarity
        )
        direct = self._direct(graph, cue, found.meaning, allowed)  # C_0, cut to no number
        woken = hop.Woken.none(found.question if self.by_question and found.question.any() else found.scores)
        woken = woken.plus(woken.nearest(found.scores, self.k_initial))  # E_0
        for _ in range(self.L):
            woken = self._hopped(graph, search, woken, direct, allowed)
        # What was added ranks by the cues of the beginning, not by the centroid that led there: no drift.
        part = self._mentioning(graph, search, woken, self.k_final)
        shares = {"engrams": HALF * part.scores * allowed, **direct}
        scores = fuse.summed(shares)
        by = part.by.copy()
        by[search.index.rows] = woken.by
        return Activation(
            scores=scores,
            shares=shares,
            trails={"engrams": Trail(by, np.full(len(graph), -1, np.intp))},
            confidence=gate.confidence(graph, cue, scores, found.meaning, fuse.of_best(fuse.summed(direct))),
        )

    def _direct(self, graph: Graph, cue: Cue, meaning: Scores, allowed: Mask) -> dict[str, Scores]:
        """Half the cosine of question and memory (4.11); with back-off half of meaning and words, each of its best."""
        if not self.back_off:
            return {"meaning": (HALF * cue.meaning * meaning).astype(np.float32)}
        words = seed.words(graph, cue) * allowed
        shares = {"meaning": cue.meaning * fuse.of_best(meaning), "words": fuse.of_best(words)}
        best = max(float(fuse.summed(shares).max()), 1e-6)
        return {stage: (HALF / best * share).astype(np.float32) for stage, share in shares.items()}

    def _hopped(
        self, graph: Graph, search: hop.Search, woken: hop.Woken, direct: Mapping[str, Scores], allowed: Mask
    ) -> hop.Woken:
        """One hop: to the engrams near the centroid of the seeds, and to those met in the best memories so far."""
        index, seeds, grown = search.index, woken.best(self.seeds), woken
        if len(seeds):
            vectors = hop.vectors_of(graph, index.rows[seeds], allowed)
            centre = hop.centroid(vectors, woken.ranks[seeds])
            near = search.similar(hop.cosines(graph, hop.unit(centre)[None, :])[0])
            new = woken.nearest(near, self.k_initial)  # E_new
            grown = woken.plus(new, by=int(index.rows[seeds[0]]))
        if not self.neighbours:
            return grown
        part = self._mentioning(graph, search, woken, len(index))
        so_far = fuse.of_best(fuse.summed({"engrams": HALF * part.scores * allowed, **direct}))
        # inferred: as strong as the memory it was met in, where 4.11 ranks by cos(query) / mentions and takes k_initial
        met = cooccurrence.met(graph, index, choose.best(so_far, allowed, self.chunks), so_far)
        return grown.plus(met.places, met.by, met.strengths)

    def _mentioning(self, graph: Graph, search: hop.Search, woken: hop.Woken, k: int) -> cooccurrence.Mentioning:
        """What each memory has of the best of the k best engrams (4.11)."""
        kept = woken.best(k)
        values = woken.ranks[kept]
        if self.certainty:
            values = values * cooccurrence.certainty(search.index, kept)
        return cooccurrence.mentioning(graph, search.index, kept, values, rare=self.rarity)


FAITHFUL = Ecphory(
    by_question=True, back_off=False, neighbours=False, rarity=False, certainty=False, name="ecphory-faithful"
)
"""The paper's read path on our engrams, cues without a language model.

The weights of cues and the halves of a score are inferred (4.11)."""
