"""What sessions say of memories: how well a session matches the query, and counts of its turns.

The genre of a memory follows from the counts; a grown graph reads what is new.
"""

from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from ...model.graph.columns import find_keys, rank_in_group
from ...model.graph.graph import CachedDerivation, Graph, changed_rows
from ...model.types import Kind, Rows, Scores
from ...retrieval.bm25 import word_counts
from ...retrieval.fusion import top_k

TURNS_PER_SESSION = 3
"""How many of a session's turns count for it."""
MAX_ROWS = 500
"""How many of the best rows count, so that the cost does not grow with the memory."""


def session_scores(graph: Graph, scores: Scores) -> Scores:
    """The mean of the best three scores in each session, of the rows among the best 500 overall.

    The last entry is 0 and stands for no session.
    """
    means = np.zeros(len(graph.sessions.names) + 1, np.float32)
    sessions = graph.nodes["sessions"]
    rows = top_k(np.where(sessions >= 0, scores, 0), MAX_ROWS)
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
    return graph.derive("session counts", _extend)


def _extend(graph: Graph, cached: CachedDerivation[SessionCounts] | None) -> SessionCounts:
    size, nodes, previous = len(graph.sessions.names) + 1, graph.nodes, graph.previous_rows
    empty, start = np.zeros(0, np.intp), 0
    known = SessionCounts(empty, empty, empty, np.zeros(0), np.zeros(0, np.int64), empty)
    if cached is not None:
        known, start = cached.value, cached.node_count
    rows = graph.rows_of_kind(Kind.EPISODE, start)
    rows = rows[nodes["speakers"][rows] >= 0]
    sessions = nodes["sessions"][rows] + 1
    turns, chunks = _grown(known.turns, size), _grown(known.chunks, size)
    following, words = _grown(known.following, size), _grown(known.words, size)
    np.add.at(turns, sessions, nodes["positions"][rows] == 0)
    np.add.at(chunks, sessions, 1)
    np.add.at(words, sessions, word_counts(graph)[rows])  # in the order of rows, so that sums are the same to the bit
    old = changed_rows(previous[:start], known.previous_rows)
    old = old[graph.episodes[old] & (nodes["speakers"][old] >= 0)]
    np.add.at(
        following, nodes["sessions"][old] + 1, (previous[old] >= 0).astype(np.intp) - (known.previous_rows[old] >= 0)
    )
    np.add.at(following, sessions, previous[rows] >= 0)
    return SessionCounts(turns, chunks, following, words, _speakers(graph, rows, known.speakers), previous)


def _speakers(graph: Graph, rows: Rows, known: NDArray[np.int64]) -> NDArray[np.int64]:
    nodes = graph.nodes
    pairs = np.unique((nodes["sessions"][rows].astype(np.int64) + 1 << SPEAKER_BITS) + nodes["speakers"][rows])
    _, is_known = find_keys(known, pairs)
    new = pairs[~is_known]
    return np.insert(known, np.searchsorted(known, new), new)


def _grown(counts: NDArray[Number], size: int) -> NDArray[Number]:
    found = np.zeros(size, counts.dtype)
    found[: len(counts)] = counts
    return found
