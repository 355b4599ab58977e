"""First-stage retrieval and the candidate pool: the memories for which all later features are computed.

The pool has the rows with the best dense and BM25 scores, alone or together with the turn before; the turns next to the
best of them; the rows reached by entity links; the rows that hold an identifier that is asked for; and the rows of the
time that is asked about, if the question asks for nothing else. So the features cost the same in a memory of a thousand
turns and of a hundred thousand.
"""

from dataclasses import dataclass

import numpy as np

from ...model.graph.graph import Graph
from ...model.types import Mask, Query, Rows, Scores
from ...retrieval import dense, entity_links, filters, fusion, identifiers, speakers, temporal
from ...retrieval.bm25 import Postings, TermCoverage, term_coverage
from ...retrieval.entity_links import Mentions, ReachedRows
from ...retrieval.fusion import NormalizedScores
from ...retrieval.identifiers import IdentifierHolders
from .feedback_boost import SimilarQuestionBoost, similar_question_boost

POOL_SIZE = 200
"""How many of the best rows by first-stage score enter the pool."""
MAX_PER_SOURCE = 40
"""How many rows enter the pool by cosine alone, by BM25 alone, and by each kind of entity link."""
MAX_TOP_CANDIDATES = 32
"""How many of the best rows of the pool are its top candidates."""
ZSCORE_WEIGHT, COVERAGE_WEIGHT, DENSE_WEIGHT, TITLE_BOOST = 0.3, 0.5, 2.0, 0.35
"""The weights of z-scores and of covered terms in the first-stage score, and what a title that the query names adds
when seeds are chosen."""
HOP_SEEDS = 5
"""How many of the best rows the entity hops start from."""


@dataclass(frozen=True, slots=True)
class FirstStageScores:
    """First-stage scores, a number for each row of the graph.

    ``cosine`` and ``cosine_with_previous`` are the query's cosines with a row and with the row and its previous turn,
    rescaled from the embedder's similarity floor and times ``query.embedder_coverage``; ``english_cosine`` and
    ``english_cosine_with_previous`` for the English vectors, None without them. ``bm25`` and ``bm25_with_previous`` are
    BM25 likewise; ``idf_coverage`` is the idf-weighted fraction of the query's terms. ``combined`` is their sum divided
    by the best eligible one.
    """

    cosine: NormalizedScores
    cosine_with_previous: NormalizedScores
    bm25: NormalizedScores
    bm25_with_previous: NormalizedScores
    idf_coverage: Scores
    combined: Scores
    english_cosine: NormalizedScores | None = None
    english_cosine_with_previous: NormalizedScores | None = None


@dataclass(frozen=True, slots=True)
class CandidatePool:
    """A query, a graph, and the pool: ``rows``, ascending, all of them eligible.

    ``first_stage`` has an entry for every row of the graph. ``query_entities`` are the entities in the query and their
    aliases, ``title_matches`` the rows about such an entity; these rows and the entity links may lead out of the pool.
    ``top_candidates`` are indices into the pool, the best by first-stage score first. ``similarity_to_top`` are the
    cosines of the pool with the top candidates, shape ``(len(rows), len(top_candidates))``, times
    ``query.embedder_coverage``; a row's cosine with itself is 0. ``term_coverage`` says which query terms the pool
    contains, ``mentions`` which entities. ``similar_question_boost`` has the rows used for a similar question before.
    ``identifier_holders`` are the rows with the query's identifiers, and ``identifier_tiers`` the tier of each row of
    the graph; ``time_tiers`` are likewise the tiers by the time asked about. All rows of a tier are in the pool.
    """

    graph: Graph
    query: Query
    eligible: Mask
    rows: Rows
    first_stage: FirstStageScores
    query_entities: Rows
    title_matches: Rows
    title_links: ReachedRows
    shared_entities: ReachedRows
    one_hop: ReachedRows
    two_hop: ReachedRows
    top_candidates: Rows
    similarity_to_top: Scores
    term_coverage: TermCoverage
    similar_question_boost: SimilarQuestionBoost
    mentions: Mentions
    identifier_holders: tuple[IdentifierHolders, ...]
    identifier_tiers: Rows
    time_tiers: Rows

    @property
    def scores(self) -> Scores:
        """The first-stage score of each row of the pool."""
        return self.first_stage.combined[self.rows]

    @property
    def is_english(self) -> Mask:
        """Which rows of the pool are compared with the question by English vectors: both are English."""
        if self.first_stage.english_cosine is None:
            return np.zeros(len(self.rows), np.bool_)
        found: Mask = self.graph.english_vector_positions[self.rows] >= 0
        return found


def build_pool(graph: Graph, query: Query) -> CandidatePool:
    """Score every row, follow entities from the best, and gather the pool."""
    mask, postings = filters.eligible(graph, query), Postings.for_query(graph, query)
    scores = first_stage(graph, query, mask, postings)
    query_entities = speakers.query_entities(graph, query)
    title_matches = entity_links.rows_about(graph, query_entities)
    title_matches = title_matches[mask[title_matches]]
    best = fusion.top_k(np.where(mask, scores.combined, -1), POOL_SIZE)  # a small memory enters the pool whole
    # Only the best rows and rows reached by entities can be seeds.
    candidates, boosted = np.union1d(best, title_matches), scores.combined.copy()
    boosted[title_matches] += TITLE_BOOST
    seeds = candidates[fusion.top_rows(boosted[candidates], mask[candidates], entity_links.MAX_SEEDS)]
    title_links, shared_entities = entity_links.follow_entities(graph, query_entities, seeds, boosted[seeds])
    one_hop = entity_links.direct_mentions(graph, query_entities, seeds[:HOP_SEEDS], boosted[seeds[:HOP_SEEDS]])
    candidates = np.union1d(candidates, one_hop.rows)
    boosted[one_hop.rows] += one_hop.strengths
    seeds = candidates[fusion.top_rows(boosted[candidates], mask[candidates], HOP_SEEDS)]
    two_hop = entity_links.direct_mentions(graph, query_entities, seeds, fusion.max_normalize(boosted[seeds]))
    adjacent = np.concatenate([graph.previous_rows[best[:MAX_PER_SOURCE]], graph.next_rows[best[:MAX_PER_SOURCE]]])
    retrieved = (scores.cosine, scores.bm25, scores.english_cosine)
    sources = [fusion.top_rows(one.scores, mask, MAX_PER_SOURCE) for one in retrieved if one is not None]
    question_boost = similar_question_boost(graph, scores.cosine.scores)
    sources += [question_boost.rows[:MAX_PER_SOURCE]]
    sources += [
        links.rows[fusion.top_rows(links.strengths, mask[links.rows], MAX_PER_SOURCE)]
        for links in (title_links, shared_entities, one_hop, two_hop)
    ]
    holders = identifiers.find_holders(graph, query, mask)
    tiers = identifiers.identifier_tiers(graph, query, holders, mask)
    time_tiers = temporal.time_tiers(graph, query, mask, scores.combined)
    sources += [np.flatnonzero(tiers), np.flatnonzero(time_tiers)]
    rows = np.unique(np.concatenate([best, adjacent[adjacent >= 0], title_matches[:MAX_PER_SOURCE], *sources])).astype(
        np.intp
    )
    rows = rows[mask[rows]]
    top_candidates = fusion.top_k(scores.combined[rows], MAX_TOP_CANDIDATES)
    return CandidatePool(
        graph=graph,
        query=query,
        eligible=mask,
        rows=rows,
        first_stage=scores,
        query_entities=query_entities,
        title_matches=title_matches,
        title_links=title_links,
        shared_entities=shared_entities,
        one_hop=one_hop,
        two_hop=two_hop,
        top_candidates=top_candidates,
        similarity_to_top=np.float32(query.embedder_coverage)
        * _similarity_to_top(graph, rows, top_candidates, query.similarity_floor),
        term_coverage=term_coverage(postings, rows),
        similar_question_boost=question_boost,
        mentions=entity_links.entity_mentions(graph, rows),
        identifier_holders=holders,
        identifier_tiers=tiers,
        time_tiers=time_tiers,
    )


def first_stage(graph: Graph, query: Query, eligible: Mask, postings: Postings) -> FirstStageScores:
    """The dense and lexical scores of every row."""
    scores = (
        *_dense_scores(graph, query, dense.cosine_with(graph, query.vector)),
        postings.bm25(),
        postings.bm25_with_previous_turn(),
    )
    cosine, cosine_with_previous, bm25, bm25_with_previous = normalized = [
        NormalizedScores.from_scores(score, graph.episodes, eligible) for score in scores
    ]
    coverage = postings.idf_coverage()
    total = COVERAGE_WEIGHT * coverage + DENSE_WEIGHT * cosine.max_normalize() + bm25.max_normalize()
    for score, weight in zip(normalized, (DENSE_WEIGHT, DENSE_WEIGHT, 1, 1), strict=True):
        total += ZSCORE_WEIGHT * weight * score.zscore()
    combined = fusion.max_normalize((total * eligible).astype(np.float32))
    english_cosine, english_cosine_with_previous = _english_scores(graph, query, eligible)
    return FirstStageScores(
        cosine,
        cosine_with_previous,
        bm25,
        bm25_with_previous,
        coverage,
        combined,
        english_cosine,
        english_cosine_with_previous,
    )


def _english_scores(graph: Graph, query: Query, eligible: Mask) -> tuple[NormalizedScores | None, ...]:
    """The cosines of the English vectors, alone and with the previous turn; None without them."""
    if query.english_vector is None:
        return None, None
    cosine = dense.cosine_with(graph, query.english_vector, use_english=True)
    has_vector = graph.episodes & (graph.english_vector_positions >= 0)
    scores = (cosine, dense.with_previous_turn(graph, cosine, use_english=True))
    return tuple(NormalizedScores.from_scores(score, has_vector, eligible) for score in scores)


def _dense_scores(graph: Graph, query: Query, cosine: Scores) -> tuple[Scores, Scores]:
    return (
        query.embedder_coverage * dense.above_floor(cosine, query.similarity_floor),
        query.embedder_coverage * dense.above_floor(dense.with_previous_turn(graph, cosine), query.similarity_floor),
    )


def _similarity_to_top(graph: Graph, rows: Rows, top_candidates: Rows, floor: float) -> Scores:
    if not len(graph.vectors):
        return np.zeros((len(rows), len(top_candidates)), np.float32)
    similarity = dense.above_floor(dense.pairwise_cosines(graph, rows, rows[top_candidates]), floor)
    similarity[top_candidates, np.arange(len(top_candidates))] = 0
    return similarity
