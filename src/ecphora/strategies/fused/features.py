"""Features of the candidate pool, one number for each row of a :class:`~..candidate_pool.CandidatePool`.

Every group returns features by name. The value 0 is neutral, so a feature that does not apply has no effect.
"""

from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from ...language import question
from ...language.classes import Instances, asked_instances, hash_text
from ...model.graph.columns import best_of_group, find_keys, rank_in_group
from ...model.graph.graph import CachedDerivation, Graph, changed_rows
from ...model.ids import ENTITY_PREFIX
from ...model.times import EPOCH
from ...model.types import Kind, Query, Rows, Scores
from ...retrieval import entity_links, fusion, temporal
from ...retrieval.bm25 import question_word_count, word_counts
from ...retrieval.entity_links import rarity
from ...retrieval.fusion import NormalizedScores, top_k
from ...retrieval.identifiers import quantity_rows
from ...retrieval.speakers import named_speakers, speaker_index
from .candidate_pool import CandidatePool, build_pool

SHORT_QUESTION, LONG_QUESTION = 8, 60
"""The distinct words of a question up to which shared words do not count by themselves, and from which they count
fully: the vector of a whole dialogue says little, its rare words say much."""
SIMILARITY = "similarity"
"""The feature of rows that are not compared by English vectors."""
LOWEST, HIGHEST = -3.0, 8.0
"""The range of the deviations: a single close text of many can have a hundred."""


def similarity_features(pool: CandidatePool) -> dict[str, Scores]:
    """Features of similarity.

    ``English similarity`` is the similarity of the English vectors, 0 for a row without one; ``similarity`` is by the
    scope's embedder, 0 for a row with an English similarity. BM25 stands in where the embedder does not read the
    question, and for a row without a vector. ``bm25 of long question`` is the z-score of BM25, times how long the
    question is, from 0 for ``SHORT_QUESTION`` words to 1 for ``LONG_QUESTION``.
    """
    first_stage, rows = pool.first_stage, pool.rows
    is_english = pool.is_english
    lexical = _deviations(first_stage.bm25, pool)
    covered = np.float32(pool.query.embedder_coverage) * (pool.graph.vector_positions[rows] >= 0)
    length = length_share(pool, SHORT_QUESTION, LONG_QUESTION)
    features = {"bm25 of long question": length * np.minimum(first_stage.bm25.zscore(rows), HIGHEST)}
    for name, english, scope in (
        ("", first_stage.english_cosine, first_stage.cosine),
        (" with previous turn", first_stage.english_cosine_with_previous, first_stage.cosine_with_previous),
    ):
        other = covered * _deviations(scope, pool) + (1 - covered) * lexical
        features[f"{SIMILARITY}{name}"] = np.where(is_english, 0, other)
        features[f"English similarity{name}"] = (
            np.zeros(len(rows), np.float32) if english is None else np.where(is_english, _deviations(english, pool), 0)
        )
    return {name: values.astype(np.float32) for name, values in features.items()}


def length_share(pool: CandidatePool, shortest: int, longest: int) -> float:
    """How long the question is, from 0 for ``shortest`` distinct words to 1 for ``longest``."""
    return float(np.clip((question_word_count(pool.query.term_hashes) - shortest) / (longest - shortest), 0, 1))


def _deviations(scores: NormalizedScores, pool: CandidatePool) -> Scores:
    return np.clip(scores.standardize(pool.rows), LOWEST, HIGHEST)


LEXICAL_FALLBACK = {
    "dense similarity": "bm25",
    "dense similarity with previous turn": "bm25 with previous turn",
}
"""The lexical score that stands in for each dense score where the embedder does not cover the query."""
MAX_ZSCORE = 6.0
"""The cap of z-scores: a rare term in a single row can have a z-score of a hundred."""


def lexical_dense_features(pool: CandidatePool) -> dict[str, Scores]:
    """Features of lexical and dense similarity.

    Each of four scores counts as a z-score, and all but one also divided by the best. ``first-stage rank`` is minus
    log(1 + rank) by first-stage score. ``rarest term`` is the idf of the rarest query term in a row, divided by the
    highest; ``window term coverage`` what the turns around it cover together; ``novel term coverage`` what a row covers
    of the terms that the top candidate does not.
    """
    first_stage, rows, coverage, scores = pool.first_stage, pool.rows, pool.term_coverage, pool.scores
    normalized = {
        "dense similarity": first_stage.cosine,
        "dense similarity with previous turn": first_stage.cosine_with_previous,
        "bm25": first_stage.bm25,
        "bm25 with previous turn": first_stage.bm25_with_previous,
    }
    features = {f"{name} z-score": np.minimum(score.zscore(rows), MAX_ZSCORE) for name, score in normalized.items()}
    by_best = {name: score.max_normalize(rows) for name, score in normalized.items()}
    # Where the embedder does not cover the query, BM25 stands in for the cosine.
    uncovered_share = np.float32(1 - pool.query.embedder_coverage)
    features["bm25"] = by_best["bm25"]
    for dense, lexical in LEXICAL_FALLBACK.items():
        features[dense] = (1 - uncovered_share) * by_best[dense] + uncovered_share * by_best[lexical]
        features[f"{dense} z-score"] += uncovered_share * features[f"{lexical} z-score"]
    rank = np.searchsorted(np.sort(-scores), -scores)  # how many are better: equal scores share a rank
    features["first-stage rank"] = -np.log1p(rank).astype(np.float32)
    is_missing = ~coverage.in_row[pool.top_candidates[:1]].any(axis=0)
    return features | {
        "rarest term": coverage.rarest_term(),
        "window term coverage": coverage.weighted_fraction(coverage.in_window),
        "novel term coverage": coverage.weighted_fraction(coverage.in_row & is_missing),
    }


SATURATION_LENGTH = 60
"""The length in terms from which a longer turn says no more."""


def speaker_features(pool: CandidatePool) -> dict[str, Scores]:
    """Features of the speaker and of the turn.

    ``named speaker`` is the fraction of others' turns if the one person meant speaks: who speaks all the time is no
    evidence. ``other speaker`` is 1 if somebody else speaks, and ``one of named speakers`` if one of several persons
    meant speaks. For utterances only: ``turn length`` is how much the turn says, the logarithm of its length in terms,
    scaled to 0..1; ``is question`` marks a turn that ends with a question, ``mentions time`` one that mentions a time,
    and ``entity count`` is log(1 + number of entities mentioned).
    """
    graph, rows = pool.graph, pool.rows
    named = named_speakers(graph, pool.query)
    speakers = graph.nodes["speakers"][rows]
    is_utterance = speakers >= 0
    is_named = (speakers[:, None] == named).any(axis=1)
    entity_counts = np.bincount(pool.mentions.row_index, minlength=len(rows))
    lengths = np.minimum(graph.nodes["lengths"][rows], SATURATION_LENGTH)
    features = {
        "named speaker": (is_named & (len(named) == 1)) * _share_of_others(graph, named),
        "other speaker": ~is_named & is_utterance & (len(named) == 1),
        "one of named speakers": is_named & (len(named) > 1),
        "turn length": np.log1p(lengths) / np.log1p(SATURATION_LENGTH) * is_utterance,
        "is question": graph.nodes["is_question"][rows] & is_utterance,
        "mentions time": temporal.mentions_time(graph, rows) & is_utterance,
        "entity count": np.log1p(entity_counts) * is_utterance,
    }
    return {name: values.astype(np.float32) for name, values in features.items()}


def _share_of_others(graph: Graph, named: Rows) -> float:
    """The fraction of the turns of others than the one speaker meant."""
    speakers = graph.nodes["speakers"][graph.episodes]
    return 1 - float(np.mean(speakers == named[0])) if len(named) == 1 else 0.0


def time_match_features(pool: CandidatePool) -> dict[str, Scores]:
    """Features of time and number.

    ``date match`` marks rows that happened in, or mention, a time the query names; ``rare date match`` is ``date
    match`` divided by the square root of how many rows match. ``day match`` is ``date match`` for times of at most
    about a month, ``year match`` for longer times if the query names no shorter time, both without open times. ``near
    day match`` marks rows told one day before or up to two days after a short time, except rows that match: much is
    told the day after.

    ``time for when-question`` marks rows that mention a time if the query asks when, ``number for how-many-question``
    rows with a number if it asks how many. ``recency for now-question`` is how late a row happened, in 0..1, if the
    query asks about the current state.
    """
    graph, rows, text = pool.graph, pool.rows, pool.query.text
    features = {
        name: np.zeros(len(rows), np.float32)
        for name in (
            "date match",
            "rare date match",
            "day match",
            "year match",
            "near day match",
            "time for when-question",
            "number for how-many-question",
            "recency for now-question",
        )
    }
    if pool.query.time_ranges:
        is_in_time = temporal.is_in_query_time(graph, pool.query)
        features["date match"] = is_in_time[rows]
        features["rare date match"] = (
            is_in_time[rows] / max(1.0, float(is_in_time[graph.episodes].sum())) ** 0.5
        ).astype(np.float32)
        features |= _day_matches(pool)
    if question.is_time_question(text):
        features["time for when-question"] = temporal.mentions_time(graph, rows).astype(np.float32)
    if question.is_quantity_question(text):
        entries, _ = graph.postings(question.number_term_hashes())
        features["number for how-many-question"] = np.isin(rows, graph.terms["rows"][entries]).astype(np.float32)
    if question.is_current_state_question(text):
        happened = graph.nodes["happened"]
        first, last = happened[graph.episodes].min(), happened[graph.episodes].max()
        features["recency for now-question"] = ((happened[rows] - first) / max(1.0, last - first)).astype(np.float32)
    return features


def _day_matches(pool: CandidatePool) -> dict[str, Scores]:
    """The features of days and years for a query that names a time that is not open; none for others."""
    graph, rows, times = pool.graph, pool.rows, temporal.asked_times(pool.query)
    if not times:
        return {}
    is_match = temporal.is_in_times(graph, pool.query, times)
    if not temporal.is_short(times[0]):
        return {"year match": is_match[rows].astype(np.float32)}
    is_near = np.logical_or.reduce([temporal.is_near(graph, time, 1, 2) for time in times])
    return {
        "day match": is_match[rows].astype(np.float32),
        "near day match": (is_near & ~is_match)[rows].astype(np.float32),
    }


def entity_features(pool: CandidatePool) -> dict[str, Scores]:
    """Features of entities.

    ``title match`` marks rows about a query entity; ``query entity coverage`` is the rarity-weighted fraction of the
    query entities that a row mentions. ``title link`` and ``shared entities`` are links from the best memories, see
    ``follow_entities``, and ``best entity link`` is the better of both. ``entity 1-hop`` and
    ``entity 2-hop`` follow the entities that the query or the best memories mention once and twice, see
    ``direct_mentions``. Links are multiplied by ``query.embedder_coverage``: in a language that the
    embedder does not cover few entities are found, and the memories they start from match by shared terms alone.
    """
    rows, embedder_coverage = pool.rows, np.float32(pool.query.embedder_coverage)
    title_link, shared_entities = (
        embedder_coverage * pool.title_links.strengths_of(rows),
        embedder_coverage * fusion.max_normalize(pool.shared_entities.strengths_of(rows)),
    )
    return {
        "title match": np.isin(rows, pool.title_matches).astype(np.float32),
        "query entity coverage": entity_links.entity_coverage(
            pool.graph, pool.query_entities, pool.mentions, len(rows)
        ),
        "title link": title_link,
        "shared entities": shared_entities,
        "entity 1-hop": embedder_coverage * pool.one_hop.strengths_of(rows),
        "entity 2-hop": embedder_coverage * pool.two_hop.strengths_of(rows),
        "best entity link": np.maximum(title_link, shared_entities),
    }


CENTROID_SIZE, RESIDUAL_SIZE = 3, 8
"""How many of the best make the centroid, and for how many the residual is taken."""


def centroid_features(pool: CandidatePool) -> dict[str, Scores]:
    """Features of the pool as a whole.

    ``centroid similarity`` is the cosine with the centroid of the best three, weighted by their scores; ``redundancy``
    the highest cosine with a candidate among the best that scores higher; ``residual similarity`` the cosine with the
    rest of the query after a candidate among the best eight is projected out.
    """
    if not len(pool.rows):
        return dict.fromkeys(("centroid similarity", "redundancy", "residual similarity"), pool.scores)
    scores = pool.scores
    is_better = scores[pool.top_candidates][None, :] > scores[:, None]
    return {
        "centroid similarity": _centroid_similarity(pool, CENTROID_SIZE),
        "redundancy": np.max(pool.similarity_to_top * is_better, axis=1, initial=0).astype(np.float32),
        "residual similarity": _residual_similarity(pool, RESIDUAL_SIZE),
    }


def _centroid_similarity(pool: CandidatePool, k: int) -> Scores:
    """The cosine of each row with the weighted sum of the best k, from the cosines with each of them."""
    top = pool.top_candidates[:k]
    weights = pool.scores[top]
    inner = pool.similarity_to_top[top, :k].copy()
    diagonal = np.arange(len(top))
    inner[diagonal, diagonal] = 1
    length = float(np.sqrt(max(float(weights @ inner @ weights), 1e-12)))
    with_self = pool.similarity_to_top[:, :k].copy()
    with_self[top, diagonal] = 1
    return (with_self @ weights / length).astype(np.float32)


def _residual_similarity(pool: CandidatePool, k: int) -> Scores:
    """The highest cosine with the query's residual without one of the best k rows, times that row's score."""
    cosine = pool.first_stage.cosine.scores[pool.rows]
    top = pool.top_candidates[:k]
    top_cosine = cosine[top]
    residual = (cosine[:, None] - pool.similarity_to_top[:, :k] * top_cosine) / np.sqrt(
        np.maximum(1 - top_cosine**2, 1e-3)
    )
    residual[top, np.arange(len(top))] = 0
    return np.max(residual * pool.scores[top], axis=1, initial=0).astype(np.float32)


TITLE_VALUE = 0.5
"""What a name of several words counts if the question asks for a title: it may be one."""


@dataclass(frozen=True, slots=True)
class InstanceMentions:
    """Which rows of the pool mention which instances: an entry for each pair, with the rarity of the instance.

    ``instances`` are numbers that tell instances apart.
    """

    row_index: Rows
    instances: Rows
    rarity: NDArray[np.float64]


def asked_class_features(pool: CandidatePool) -> dict[str, Scores]:
    """Features of the instances of the class asked for; the question's own words and the speakers are none.

    ``instance of asked class`` is the rarity of the rarest instance that a row mentions. ``repeated instance`` marks
    the rows that mention instances, all of which a row with a higher first-stage score mentions too.
    """
    rarest, is_repeated = np.zeros((2, len(pool.rows)), np.float32)
    instances = asked_instances(pool.query.text) if len(pool.rows) else None
    if instances is not None:
        mentions = _instance_mentions(pool, instances)
        np.maximum.at(rarest, mentions.row_index, mentions.rarity.astype(np.float32))
        is_repeated[mentions.row_index] = 1
        is_repeated[mentions.row_index[best_of_group(mentions.instances, pool.scores[mentions.row_index])]] = 0
    return {"instance of asked class": rarest, "repeated instance": is_repeated}


def _instance_mentions(pool: CandidatePool, instances: Instances) -> InstanceMentions:
    words, names = _word_mentions(pool, instances), _name_mentions(pool, instances)
    return InstanceMentions(
        np.concatenate([words.row_index, names.row_index]),
        np.concatenate([words.instances, names.instances + len(instances.terms) + len(instances.pairs)]),
        np.concatenate([words.rarity, names.rarity]),
    )


def _word_mentions(pool: CandidatePool, instances: Instances) -> InstanceMentions:
    """The mentions of instances by words; of two terms the rarity of the rarer one counts."""
    graph, terms = pool.graph, instances.terms
    entries, term_index = graph.postings(terms)
    term_rarity = rarity(np.bincount(term_index, minlength=len(terms)), graph.episode_count)
    row_index, is_in_pool = find_keys(pool.rows, graph.terms["rows"][entries].astype(np.intp))
    row_index, term_index = row_index[is_in_pool], term_index[is_in_pool]
    is_asked = np.isin(terms, pool.query.term_hashes)
    is_found = np.zeros(len(terms), np.bool_)
    is_found[term_index] = True
    known_pairs = np.flatnonzero(is_found[instances.pairs].all(axis=1) & ~is_asked[instances.pairs].all(axis=1))
    pairs = instances.pairs[known_pairs]
    pair_rows, found = _rows_of_pairs(row_index, term_index, pairs)
    is_word = (instances.is_word & ~is_asked)[term_index]
    return InstanceMentions(
        np.concatenate([row_index[is_word], pair_rows]),
        np.concatenate([term_index[is_word], known_pairs[found] + len(terms)]),
        np.concatenate([term_rarity[term_index[is_word]], term_rarity[pairs[found]].max(axis=1, initial=0)]),
    )


def _rows_of_pairs(row_index: Rows, term_index: Rows, pairs: Rows) -> tuple[Rows, Rows]:
    """The rows that have both terms of a pair, and the index of that pair."""
    if not len(pairs):
        return np.zeros(0, np.intp), np.zeros(0, np.intp)
    used, index = np.unique(pairs, return_inverse=True)
    place, is_used = find_keys(used, term_index)
    has_term = np.zeros((int(row_index.max()) + 1, len(used)), np.bool_)
    has_term[row_index[is_used], place[is_used]] = True
    first, last = index.reshape(pairs.shape).T
    rows, found = np.nonzero(has_term[:, first] & has_term[:, last])
    return rows, found


def _name_mentions(pool: CandidatePool, instances: Instances) -> InstanceMentions:
    """The mentions of instances by names."""
    graph = pool.graph
    entities, index = np.unique(pool.mentions.entities, return_inverse=True)
    speakers = speaker_index(graph).by_entity
    ids = [graph.id(entity) for entity in entities.tolist()]
    names = [id_.removeprefix(ENTITY_PREFIX) for id_ in ids]
    _, is_known = find_keys(instances.names, np.array([hash_text(name) for name in names], np.uint32))
    may_be_title = np.array([instances.has_titles and " " in name for name in names], np.bool_)
    values = np.where(is_known, 1, TITLE_VALUE * may_be_title)
    values[np.isin(entities, pool.query_entities)] = 0
    values[[id_ in speakers for id_ in ids]] = 0
    values *= rarity(entity_links.mention_counts(graph)[entities], graph.episode_count)
    is_instance = values[index] > 0
    return InstanceMentions(pool.mentions.row_index[is_instance], index[is_instance], values[index[is_instance]])


PART_MATCH = 0.5
"""What holding an identifier as a part of another one counts, against 1 for holding it whole."""


def identifier_features(pool: CandidatePool) -> dict[str, Scores]:
    """Features of identifiers and quantities.

    ``identifier match`` is the share of the asked identifiers that a row holds, ``other identifier`` the share of
    which it has another one of the same kind. ``quantity match`` is 1 for a row with a quantity of the question.
    """
    rows, holders = pool.rows, pool.identifier_holders
    match, look_alike, quantity = (np.zeros(len(rows), np.float32) for _ in range(3))
    for one in holders:
        match += (np.isin(rows, one.whole) + PART_MATCH * np.isin(rows, one.part)).astype(np.float32) / len(holders)
        look_alike += np.isin(rows, one.look_alikes).astype(np.float32) / len(holders)
    if pool.query.quantities:
        quantity = np.isin(rows, quantity_rows(pool.graph, pool.query)).astype(np.float32)
    return {"identifier match": match, "other identifier": look_alike, "quantity match": quantity}


TURNS_PER_SESSION = 3
"""How many of a session's turns count for it."""
MAX_SESSION_ROWS = 500
"""How many of the best rows count, so that the cost does not grow with the memory."""


def session_scores(graph: Graph, scores: Scores) -> Scores:
    """The mean of the best three scores in each session, of the rows among the best 500 overall.

    The last entry is 0 and stands for no session.
    """
    means = np.zeros(len(graph.sessions.names) + 1, np.float32)
    sessions = graph.nodes["sessions"]
    rows = top_k(np.where(sessions >= 0, scores, 0), MAX_SESSION_ROWS)
    rows = rows[(sessions[rows] >= 0) & (scores[rows] > 0)]
    if not len(rows):
        return means
    rows = rows[np.argsort(sessions[rows], kind="stable")]  # by session, the best of each first
    number = sessions[rows]
    counts = rank_in_group(number) < TURNS_PER_SESSION
    return np.bincount(number[counts], scores[rows[counts]] / TURNS_PER_SESSION, len(means)).astype(np.float32)


Number = TypeVar("Number", bound=np.generic)
SPEAKER_BITS = 32
"""The bits of a speaker's code in the number of a pair of a session and a speaker."""


@dataclass(frozen=True, slots=True, eq=False)
class SessionCounts:
    """Counts of turns with a speaker, by the code of their session plus 1; the first entry is for none.

    ``turns`` counts each turn once, ``chunks`` each chunk of a turn, ``following`` the chunks that follow another row.
    ``words`` is the sum of their words. ``speakers`` has a number for each pair of a session and a speaker, ascending.
    ``previous_rows`` are the graph's.
    """

    turns: Rows
    chunks: Rows
    following: Rows
    words: NDArray[np.float64]
    speakers: NDArray[np.int64]
    previous_rows: Rows

    @property
    def speaker_counts(self) -> Rows:
        """The number of speakers of each session."""
        return np.bincount(self.speakers >> SPEAKER_BITS, minlength=len(self.turns))


def session_counts(graph: Graph) -> SessionCounts:
    """The counts of each session of a graph."""
    return graph.derive("session counts", _extend_counts)


def _extend_counts(graph: Graph, cached: CachedDerivation[SessionCounts] | None) -> SessionCounts:
    size, nodes, previous = len(graph.sessions.names) + 1, graph.nodes, graph.previous_rows
    empty, start = np.zeros(0, np.intp), 0
    known = SessionCounts(empty, empty, empty, np.zeros(0), np.zeros(0, np.int64), empty)
    if cached is not None:
        known, start = cached.value, cached.node_count
    rows = graph.rows_of_kind(Kind.EPISODE, start)
    rows = rows[nodes["speakers"][rows] >= 0]
    sessions = nodes["sessions"][rows] + 1
    turns, chunks = _grown_counts(known.turns, size), _grown_counts(known.chunks, size)
    following, words = _grown_counts(known.following, size), _grown_counts(known.words, size)
    np.add.at(turns, sessions, nodes["positions"][rows] == 0)
    np.add.at(chunks, sessions, 1)
    np.add.at(words, sessions, word_counts(graph)[rows])  # in the order of rows, so that sums are the same to the bit
    old = changed_rows(previous[:start], known.previous_rows)
    old = old[graph.episodes[old] & (nodes["speakers"][old] >= 0)]
    np.add.at(
        following, nodes["sessions"][old] + 1, (previous[old] >= 0).astype(np.intp) - (known.previous_rows[old] >= 0)
    )
    np.add.at(following, sessions, previous[rows] >= 0)
    return SessionCounts(turns, chunks, following, words, _session_speakers(graph, rows, known.speakers), previous)


def _session_speakers(graph: Graph, rows: Rows, known: NDArray[np.int64]) -> NDArray[np.int64]:
    nodes = graph.nodes
    pairs = np.unique((nodes["sessions"][rows].astype(np.int64) + 1 << SPEAKER_BITS) + nodes["speakers"][rows])
    _, is_known = find_keys(known, pairs)
    new = pairs[~is_known]
    return np.insert(known, np.searchsorted(known, new), new)


def _grown_counts(counts: NDArray[Number], size: int) -> NDArray[Number]:
    found = np.zeros(size, counts.dtype)
    found[: len(counts)] = counts
    return found


def turn_context_features(pool: CandidatePool) -> dict[str, Scores]:
    """Features of the turns around each row, by their first-stage scores.

    ``adjacent turn`` is the better of the two turns next to it, ``next turn`` the one after it, ``two turns away`` the
    better of the turns two away. ``follows question`` is the score of the turn before it if that asks a question.
    ``session score`` is the mean of the best three turns of its session, divided by the mean of the best session.
    """
    graph, rows, scores = pool.graph, pool.rows, pool.first_stage.combined
    previous, following = graph.previous_rows[rows], graph.next_rows[rows]
    before, after = _scores_at(scores, previous), _scores_at(scores, following)
    is_question = _scores_at(graph.nodes["is_question"], previous)
    two_away = np.maximum(
        _scores_at(scores, _neighbors_of(graph.previous_rows, previous)),
        _scores_at(scores, _neighbors_of(graph.next_rows, following)),
    )
    sessions = session_scores(graph, scores)
    return {
        "adjacent turn": np.maximum(before, after),
        "next turn": after,
        "two turns away": two_away,
        "follows question": before * is_question,
        "session score": sessions[graph.nodes["sessions"][rows]] / max(float(sessions.max()), 1e-6),
    }


def _scores_at(scores: Scores, rows: Rows) -> Scores:
    found: Scores = np.where(rows >= 0, scores[rows], 0).astype(np.float32)
    return found


def _neighbors_of(neighbors: Rows, rows: Rows) -> Rows:
    return np.where(rows >= 0, neighbors[rows], -1)


FEATURE_GROUPS = {
    "similarity": similarity_features,
    "lexical and dense": lexical_dense_features,
    "speaker and turn type": speaker_features,
    "turn context": turn_context_features,
    "time match": time_match_features,
    "entities": entity_features,
    "centroid and redundancy": centroid_features,
    "asked class": asked_class_features,
    "identifiers and quantities": identifier_features,
}
"""The groups of features; an ablation leaves one out."""
STATEMENT_GROUPS = (
    "similarity",
    "speaker and turn type",
    "time match",
    "entities",
    "asked class",
    "identifiers and quantities",
)
"""The groups that rank statements. The turns next to a note say nothing of it, and what the words of a question and its
best memories have in common says less than the similarity of vectors: with all groups, statements rank worse."""
PLAIN_QUESTION, DIALOGUE = 24, 60
"""The distinct words of a question up to which all features count fully, and from which only similarity does: a whole
dialogue mentions its names and days in passing, and asks for none of them."""


def compute_features(pool: CandidatePool) -> dict[str, Scores]:
    """All features of a pool, by name; for a long question, all but the similarity features count less."""
    kept = np.float32(1 - length_share(pool, PLAIN_QUESTION, DIALOGUE))
    return {
        feature: values if name == "similarity" else kept * values
        for name, group in FEATURE_GROUPS.items()
        for feature, values in group(pool).items()
    }


def feature_names_by_group() -> dict[str, tuple[str, ...]]:
    """The names of the features of each group."""
    empty_pool = build_pool(Graph(), Query("", EPOCH))
    return {name: tuple(group(empty_pool)) for name, group in FEATURE_GROUPS.items()}
