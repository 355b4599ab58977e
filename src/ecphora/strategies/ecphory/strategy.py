"""EcphoryRAG: a cue activates engrams, their centroid activates more, and the memories that mention them are recalled.

Z. Liao, "EcphoryRAG", 2025, arXiv 2510.08958. Only a part of its text was available: numbers refer to sections of
docs/explanation/papers.md, which follows the paper's design where its public code differs from it.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from ...model.graph.graph import Graph
from ...model.ports import Activation, ActivationPath
from ...model.reprs import ShortRepr
from ...model.types import Mask, Query, Scores
from ...retrieval import confidence, filters, fusion
from . import chunk_search, cue_matching, engram_index, engram_search
from .chunk_search import BestMentions
from .engram_index import EngramIndex
from .engram_search import ActiveEngrams, CoOccurrences


@dataclass(frozen=True, slots=True, repr=False)
class Ecphory(ShortRepr):
    """The paper's settings, and additions of ours.

    ``k_initial`` engrams are activated first, and each of ``L`` hops from the ``k_seeds`` best adds as many;
    ``k_final`` are kept. A hop along co-occurrence starts from the ``k_chunks`` best memories; the authors' code keeps
    so many for its reader, here the caller's limit says how many come back.
    ``rank_by_question`` ranks engrams by the question alone, as published, and not by all cues. The additions:
    ``use_lexical_backoff`` also scores by BM25, ``use_cooccurrence`` also hops along co-occurrence,
    ``use_specificity`` makes frequently mentioned names count less, ``use_certainty`` weighs an engram by the certainty
    that it is a name. ``use_similarity_floor``: cosines count from the embedder's cosine of two unrelated texts.
    ``use_importance`` weighs an engram by the importance that a language model gave it, where one did.
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
    use_similarity_floor: bool = True  # deviation: the paper's embedder has no floor that matters
    use_importance: bool = True  # deviation: 4.11; the published code stores importance and never uses it
    name: str = "ecphory"

    def activate(self, query: Query, graph: Graph, /) -> Activation:
        """The read path (4.5): score every memory that matches the cue, by itself or by its engrams."""
        if not graph.episodes.any():
            return Activation(graph.zeros())
        eligible = filters.eligible(graph, query)
        # The cues: names of the question, and the whole question; C_0: the memories nearest to it, without a cutoff
        floor = query.similarity_floor if self.use_similarity_floor else 0.0
        search = engram_index.prepare_search(graph, eligible, similarity_floor=floor)
        matches = cue_matching.match_cues(
            graph,
            query,
            search,
            eligible,
            name_weight=self.name_weight,
            question_weight=self.question_weight,
            use_specificity=self.use_specificity,
        )
        direct = chunk_search.direct_scores(
            graph,
            query,
            matches.memory_cosine,
            eligible,
            use_lexical_backoff=self.use_lexical_backoff,
            similarity_floor=floor,
        )
        # E_0: the k_initial engrams nearest to the cues
        is_by_question = self.rank_by_question and matches.question_similarity.any()
        active = engram_search.nearest_to_cues(
            matches.question_similarity if is_by_question else matches.scores, matches.scores, self.k_initial
        )
        # L hops: E_new, the engrams nearest to the centroid of the seeds, and the graph neighbors
        for _ in range(self.L):
            active = engram_search.hop(
                graph,
                search,
                active,
                self._neighbors(graph, search.index, active, direct, eligible) if self.use_cooccurrence else None,
                k_seeds=self.k_seeds,
                k_initial=self.k_initial,
            )
        # The k_final engrams by the original cues, and the memories that mention them
        mentions = self._best_mentions(graph, search.index, active, self.k_final)
        contributions = chunk_search.chunk_contributions(mentions, direct, eligible)
        scores = fusion.sum_contributions(contributions)
        parents = mentions.engram_rows.copy()
        parents[search.index.rows] = active.parent
        engram_scores = graph.zeros()
        engram_scores[search.index.rows] = active.ranks * active.is_active
        return Activation(
            scores=scores,
            contributions=contributions,
            paths={"engrams": ActivationPath(parents, graph.no_rows())},
            confidence=confidence.heuristic_confidence(
                graph, query, scores, matches.memory_cosine, fusion.max_normalize(fusion.sum_contributions(direct))
            ),
            eligible=eligible,
            context_scores=engram_scores,
        )

    def _neighbors(
        self, graph: Graph, index: EngramIndex, active: ActiveEngrams, direct: Mapping[str, Scores], eligible: Mask
    ) -> CoOccurrences:
        """The engrams that the ``k_chunks`` best memories so far mention (4.11).

        inferred: as strong as the memory that mentions it; 4.11 ranks by cos(query) / mentions and takes k_initial.
        """
        mentions = self._best_mentions(graph, index, active, len(index))
        scores = fusion.max_normalize(
            fusion.sum_contributions(chunk_search.chunk_contributions(mentions, direct, eligible))
        )
        chunks = fusion.top_rows(scores, eligible, self.k_chunks)
        return engram_search.co_occurring_engrams(graph, index, chunks, scores)

    def _best_mentions(self, graph: Graph, index: EngramIndex, active: ActiveEngrams, k: int) -> BestMentions:
        """The best of the k best engrams that each memory mentions (4.11)."""
        kept, scores = engram_search.rank_by_cues(
            index, active, k, use_certainty=self.use_certainty, use_importance=self.use_importance
        )
        return chunk_search.best_mentions(graph, index, kept, scores, use_specificity=self.use_specificity)


FAITHFUL = Ecphory(
    rank_by_question=True,
    use_lexical_backoff=False,
    use_cooccurrence=False,
    use_specificity=False,
    use_certainty=False,
    use_similarity_floor=False,
    use_importance=False,
    name="ecphory-faithful",
)
"""The paper's read path on our engrams, with cues found without a language model.

The weights of cues and the halves of a score are inferred (4.11)."""
