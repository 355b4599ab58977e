"""The feature matrix: all that the ranker and the answerability model read of a pool, without the graph.

For the best candidates it has features of what they state: who did what to whom, about whom, and whether it is stated
as a fact.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from ...language.chat_roles import is_assistant
from ...language.language_identification import likely_languages, words_of
from ...language.question import asks_what_addressee_said
from ...language.statements.acknowledgement import is_acknowledgement
from ...language.statements.asked_facts import AskedFact, asked_fact, lacks, states
from ...language.statements.factuality import asks_for_facts, asks_for_stay, factuality, is_stay
from ...language.statements.subject import asks_about_relation, asks_about_self, name_coverage, subject_agreement
from ...model.graph.graph import Graph
from ...model.ports import Passage
from ...model.types import Mask, Query, Rows, Scores
from ...retrieval.bm25 import TermCoverage, word_counts
from ...retrieval.speakers import query_role_agreement
from ...retrieval.temporal import titled_mask
from .candidate_pool import CandidatePool
from .features import compute_features, session_counts

LONG_TURN_WORDS = 60
"""The words of a turn, on average over a session and without stop words, from which its turns are long."""
MIN_KNOWN_TERMS = 0.3
"""The fraction of the query's terms that memories must contain for long texts without a speaker to be long turns."""


class Genre(IntEnum):
    """The genre of a memory.

    An utterance is a turn of a conversation: at least two speak in its session, and mostly one turn follows another. A
    long turn is a turn, short or long, of a session whose turns have ``LONG_TURN_WORDS`` words or more on average, as
    in a chat with an assistant that answers in paragraphs; other texts of so many words are ranked like it, unless the
    memories lack most terms of the query, as memories in another language do: long turns are ranked by terms. A passage
    has a title, and neither a speaker nor a time that the caller gave. All others are statements: what one person
    tells, notes, plain texts.
    """

    UTTERANCE = 0
    STATEMENT = 1
    PASSAGE = 2
    LONG_TURN = 3

    @property
    def label(self) -> str:
        """The name in files of weights."""
        return self.name.lower().replace("_", " ")


@dataclass(frozen=True, slots=True, eq=False)
class FeatureMatrix:
    """The rows of a pool, their features by name, and the genre of each as a :class:`Genre`.

    ``cosine``, ``english_cosine`` (of the English vectors, 0 without) and ``bm25`` are not normalized;
    ``term_coverage`` says which query terms each row contains. ``reranker_scores`` are the log-odds of a reranker, NaN
    for a row that was not scored. They are the lowest there are for a row that states nothing that could answer,
    whatever the reranker says: it is about others, no fact, or over (:func:`may_answer`). ``has_query_date`` is True if
    the query names a time, ``has_unknown_entity`` if it names an entity that no memory mentions.
    """

    rows: Rows
    features: Mapping[str, Scores]
    genres: Rows
    cosine: Scores
    english_cosine: Scores
    bm25: Scores
    term_coverage: TermCoverage
    has_query_date: bool
    has_unknown_entity: bool
    reranker_scores: Scores

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def is_read(self) -> bool:
        """Whether a reranker has read any row."""
        return bool(np.isfinite(self.reranker_scores).any())


def build_feature_matrix(pool: CandidatePool) -> FeatureMatrix:
    """Compute the feature matrix of a pool."""
    graph, query, rows = pool.graph, pool.query, pool.rows
    english = pool.first_stage.english_cosine
    return FeatureMatrix(
        rows=rows,
        features=compute_features(pool),
        genres=genres(pool.graph, rows, knows_terms=_knows_terms(pool.term_coverage)),
        cosine=pool.first_stage.cosine.scores[rows],
        english_cosine=np.zeros(len(rows), np.float32) if english is None else english.scores[rows],
        bm25=pool.first_stage.bm25.scores[rows],
        term_coverage=pool.term_coverage,
        has_query_date=bool(query.time_ranges),
        has_unknown_entity=len(graph.rows(query.entity_ids)) < len(query.entity_ids),
        reranker_scores=np.full(len(rows), np.nan, np.float32),
    )


def _knows_terms(coverage: TermCoverage) -> bool:
    """Whether the memories contain enough of the query's terms to rank by them."""
    return bool(coverage.in_corpus.sum() >= MIN_KNOWN_TERMS * len(coverage.in_corpus))


def genres(graph: Graph, rows: Rows, *, knows_terms: bool = True) -> Rows:
    """The genre of each row as a :class:`Genre`; ``knows_terms`` is False if the memories lack the query's terms."""
    nodes = graph.nodes
    has_time = nodes["happened"][rows] != nodes["recorded"][rows]  # without a given time, ``happened`` is ``recorded``
    counts, sessions = session_counts(graph), nodes["sessions"][rows] + 1
    has_long_turns = counts.words[sessions] >= LONG_TURN_WORDS * np.maximum(counts.turns[sessions], 1)
    follow = 2 * counts.following[sessions] >= counts.chunks[sessions]
    is_conversation = (counts.speaker_counts[sessions] >= 2) & follow
    is_passage = ~has_time & titled_mask(graph)[rows]
    spoken = np.where(has_long_turns, Genre.LONG_TURN, np.where(is_conversation, Genre.UTTERANCE, Genre.STATEMENT))
    is_long = (word_counts(graph)[rows] >= LONG_TURN_WORDS) & knows_terms
    told = np.where(is_passage, Genre.PASSAGE, np.where(is_long, Genre.LONG_TURN, Genre.STATEMENT))
    return np.where(nodes["speakers"][rows] >= 0, spoken, told)


def passage_share(genres_of_rows: Rows) -> float:
    """The fraction of the rows that are passages."""
    return float((genres_of_rows == Genre.PASSAGE).mean())


def dialogue_share(genres_of_rows: Rows) -> float:
    """The fraction of the rows that are turns of a conversation."""
    return float(np.isin(genres_of_rows, (Genre.UTTERANCE, Genre.LONG_TURN)).mean())


ROLE_AGREEMENT, SUBJECT_AGREEMENT, MISSING_NAMES = "role agreement", "subject agreement", "missing names"
NOT_A_FACT, FORMER_STATE = "not a fact", "former state"
STATEMENT_FEATURES = (ROLE_AGREEMENT, SUBJECT_AGREEMENT, MISSING_NAMES, NOT_A_FACT, FORMER_STATE)
"""The features of candidates whose text was read; 0 for all others."""


def statement_features(
    query: Query, passages: Sequence[Passage], genres_of_rows: Rows, preference: float
) -> dict[str, Scores]:
    """The features of ``n`` candidates of some genres, each of shape ``(n,)``; all but two are of statements.

    What is said in a conversation or a long text hangs on what was said before, and its words tell less of it. So
    there, ``subject agreement`` only says that a candidate is about another relation than "my brother" in the question,
    an assistant's if the question asks for facts of the user, or not an assistant's if it asks what that said.

    ``role agreement`` is 1 if who does what to whom is as in the question, -1 if it is reversed; it counts if it is
    reversed in one. ``subject agreement`` is 1 if a candidate is about the person whom the question asks about, -1 if
    it is about others; it counts if one is about others. ``missing names`` is the part of the question's names that a
    candidate does not mention, if another one mentions one. ``not a fact`` is 1 for what is asked, supposed, advised
    or reported, unless the question may ask for that. ``former state`` is ``preference`` for a state that is over: 1 if
    the newest of several answers is meant, -1 if an older one.
    """
    question = query.search_text
    roles = [query_role_agreement(query, one.text, one.speaker) for one in passages]
    covered = np.array([name_coverage(question, one.text, one.speaker) for one in passages])
    statements = np.flatnonzero(genres_of_rows == Genre.STATEMENT).tolist()
    subjects, supposed, former = np.zeros((3, len(passages)), np.float32)
    wants_facts = asks_for_facts(query.text)
    is_of_self = asks_about_self(query.text) and wants_facts
    if asks_what_addressee_said(query.text) and any(is_assistant(one.speaker) for one in passages):
        subjects[:] = [0 if is_assistant(one.speaker) else -1 for one in passages]
    elif is_of_self or asks_about_relation(query.text):
        for place, one in enumerate(passages):
            if not is_of_self or is_assistant(one.speaker):
                subjects[place] = min(0.0, subject_agreement(query.text, one.text, one.speaker))
    for place in statements:  # the analysis of a text takes a tenth of a millisecond
        text, meant = passages[place].text, factuality(passages[place].text)
        subjects[place] = subject_agreement(query.text, text, passages[place].speaker)
        supposed[place], former[place] = wants_facts and not meant.is_fact, preference * meant.is_former
    missing = np.where(genres_of_rows == Genre.STATEMENT, 1 - covered, 0) if covered.any() else np.zeros(len(passages))
    return {
        ROLE_AGREEMENT: np.array(roles if min(roles, default=0) < 0 else np.zeros(len(roles)), np.float32),
        SUBJECT_AGREEMENT: subjects if subjects.min(initial=0) < 0 else np.zeros(len(subjects), np.float32),
        MISSING_NAMES: missing.astype(np.float32),
        NOT_A_FACT: supposed,
        FORMER_STATE: former,
    }


def stay_mask(query: Query, passages: Sequence[Passage]) -> Mask:
    """Which candidates tell where somebody is for a while; none if a question may ask for that."""
    if asks_for_stay(query.text):
        return np.zeros(len(passages), np.bool_)
    return np.array([is_stay(one.text) for one in passages], np.bool_)


def acknowledgement_mask(passages: Sequence[Passage]) -> Mask:
    """Which candidates state nothing, such as "Noted."."""
    return np.array([is_acknowledgement(one.text) for one in passages], np.bool_)


def stating_mask(query: Query, passages: Sequence[Passage], states: Callable[[str, AskedFact], bool] = states) -> Mask:
    """Which candidates state what a question asks of the same person, if that is one of :class:`AskedFact`."""
    fact = asked_fact(query.text)
    if fact is None:
        return np.zeros(len(passages), np.bool_)
    least = 0.0 if asks_about_self(query.text) else 0.01  # "New address: Mill Lane 7." is the speaker's
    has_rules = bool(likely_languages(words_of(query.text)))
    return np.array(
        [
            states(one.text, fact) and not (has_rules and subject_agreement(query.text, one.text, one.speaker) < least)
            for one in passages
        ],
        np.bool_,
    )


def lacking_mask(query: Query, passages: Sequence[Passage]) -> Mask:
    """Which candidates cannot tell the birthday that a question asks for: they have none of its words."""
    fact = asked_fact(query.text)
    return np.array([fact is AskedFact.BIRTHDAY and lacks(one.text, fact) for one in passages], np.bool_)


def may_answer(features: Mapping[str, Scores]) -> Mask:
    """Which candidates state, as a fact of now, something of the person whom a question asks about."""
    return (
        (features[ROLE_AGREEMENT] >= 0)
        & (features[SUBJECT_AGREEMENT] >= 0)
        & (features[NOT_A_FACT] == 0)
        & (features[FORMER_STATE] <= 0)
    )
