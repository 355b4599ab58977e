"""EcphoryRAG: a cue activates engrams, their centroid activates more, and the memories that mention them are recalled.

Z. Liao, "EcphoryRAG", 2025, arXiv 2510.08958. Only a part of its text was available: numbers are those of sections of
docs/papers.md, which follows the paper's design where its public code differs from it.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ..graph import Graph
from ..model import Mask, Query, Scores
from ..ports import Activation, ActivationPath
from ..reprs import ShortRepr
from ..stages.ecphory import cooccurrence, cue_matching, engram_search
from ..stages.retrieval import bm25, confidence, filters, fusion, top_k

COMPONENT_WEIGHT = np.float32(0.5)
"""The weight of engrams, and of the memory itself, in a memory's score. Inferred, 4.11."""


@dataclass(frozen=True, slots=True, repr=False)
class Ecphory(ShortRepr):
    """The paper's settings, and four additions of ours.

    ``k_initial`` engrams are activated first, and each of ``L`` hops from the ``k_seeds`` best adds as many;
    ``k_final`` are kept. ``k_chunks`` memories are what a reader gets, and what a hop along co-occurrence starts from.
    ``rank_by_question`` ranks engrams by the question alone, as published, and not by all cues. The additions:
    ``use_lexical_backoff`` also scores by BM25, ``use_cooccurrence`` also hops along co-occurrence,
    ``use_specificity`` makes frequently mentioned names count less, ``use_certainty`` weighs an engram by the certainty
    that it is a name.
    """

    k_initial: int = 20
    L: int = 1
    k_seeds: int = 10
    k_final: int = 40
    k_chunks: int = 5
    name_weight: float = cue_matching.NAME_WEIGHT
    question_weight: float = cue_matching.QUESTION_WEIGHT
    rank_by_question: bool = False  # deviation: ranks by all cues (4.12.2) where the paper has cos(h_e, h_query) (4.5)
    use_lexical_backoff: bool = True  # deviation: 4.12.3
    use_cooccurrence: bool = True  # deviation: 4.11; the paper has the graph but describes no step on it
    use_specificity: bool = True  # deviation: 4.11, HippoRAG's node specificity, less steep
    use_certainty: bool = True  # deviation: 4.12.3
    name: str = "ecphory"

    def activate(self, query: Query, graph: Graph, /) -> Activation:
        """Score every memory that matches the cue, by itself or by its engrams."""
        if not graph.episodes.any():
            return Activation(graph.zeros())
        eligible = filters.eligible(graph, query)
        search = engram_search.prepare_search(graph, eligible)
        matches = cue_matching.match_cues(
            graph,
            query,
            search,
            eligible,
            name_weight=self.name_weight,
            question_weight=self.question_weight,
            use_specificity=self.use_specificity,
        )
        direct = self._direct_scores(graph, query, matches.memory_cosine, eligible)  # C_0, without a cutoff
        active = engram_search.ActiveEngrams.empty(
            matches.question_similarity
            if self.rank_by_question and matches.question_similarity.any()
            else matches.scores
        )
        active = active.activate(active.nearest_inactive(matches.scores, self.k_initial))  # E_0
        for _ in range(self.L):
            active = self._hop(graph, search, active, direct, eligible)
        # Added engrams rank by the initial cues, not by the centroid that led to them: no drift.
        mentions = self._best_mentions(graph, search, active, self.k_final)
        contributions = {"engrams": COMPONENT_WEIGHT * mentions.scores * eligible, **direct}
        scores = fusion.sum_contributions(contributions)
        parents = mentions.engram_rows.copy()
        parents[search.index.rows] = active.parent
        return Activation(
            scores=scores,
            contributions=contributions,
            paths={"engrams": ActivationPath(parents, np.full(len(graph), -1, np.intp))},
            confidence=confidence.heuristic_confidence(
                graph, query, scores, matches.memory_cosine, fusion.max_normalize(fusion.sum_contributions(direct))
            ),
            eligible=eligible,
        )

    def _direct_scores(self, graph: Graph, query: Query, cosines: Scores, eligible: Mask) -> dict[str, Scores]:
        """Half the cosine of question and memory (4.11); with back-off half of cosine and BM25, each over its best."""
        if not self.use_lexical_backoff:
            return {"dense similarity": (COMPONENT_WEIGHT * query.embedder_coverage * cosines).astype(np.float32)}
        lexical = bm25.bm25(graph, query) * eligible
        contributions = {
            "dense similarity": query.embedder_coverage * fusion.max_normalize(cosines),
            "bm25": fusion.max_normalize(lexical),
        }
        best = max(float(fusion.sum_contributions(contributions).max()), 1e-6)
        return {stage: (COMPONENT_WEIGHT / best * share).astype(np.float32) for stage, share in contributions.items()}

    def _hop(
        self,
        graph: Graph,
        search: engram_search.EngramSearch,
        active: engram_search.ActiveEngrams,
        direct: Mapping[str, Scores],
        eligible: Mask,
    ) -> engram_search.ActiveEngrams:
        """One hop: to the engrams nearest to the centroid of the seeds, and to those in the best memories so far."""
        index, seeds, result = search.index, active.top(self.k_seeds), active
        if len(seeds):
            vectors = engram_search.unit_vectors(graph, index.rows[seeds], eligible)
            center = engram_search.centroid(vectors, active.ranks[seeds])
            near = search.similarities(engram_search.cosines(graph, engram_search.normalize(center)[None, :])[0])
            new = active.nearest_inactive(near, self.k_initial)  # E_new
            result = active.activate(new, parent=int(index.rows[seeds[0]]))
        if not self.use_cooccurrence:
            return result
        mentions = self._best_mentions(graph, search, active, len(index))
        scores = fusion.max_normalize(
            fusion.sum_contributions({"engrams": COMPONENT_WEIGHT * mentions.scores * eligible, **direct})
        )
        # inferred: as strong as the memory that mentions it; 4.11 ranks by cos(query) / mentions and takes k_initial
        co_occurring = cooccurrence.co_occurring_engrams(
            graph, index, top_k.top_rows(scores, eligible, self.k_chunks), scores
        )
        return result.activate(co_occurring.places, co_occurring.episodes, co_occurring.strengths)

    def _best_mentions(
        self, graph: Graph, search: engram_search.EngramSearch, active: engram_search.ActiveEngrams, k: int
    ) -> cooccurrence.BestMentions:
        """The best of the k best engrams that each memory mentions (4.11)."""
        kept = active.top(k)
        values = active.ranks[kept]
        if self.use_certainty:
            values = values * cooccurrence.certainty(search.index, kept)
        return cooccurrence.best_mentions(graph, search.index, kept, values, use_specificity=self.use_specificity)


FAITHFUL = Ecphory(
    rank_by_question=True,
    use_lexical_backoff=False,
    use_cooccurrence=False,
    use_specificity=False,
    use_certainty=False,
    name="ecphory-faithful",
)
"""The paper's read path on our engrams, with cues found without a language model.

The weights of cues and the halves of a score are inferred (4.11)."""
