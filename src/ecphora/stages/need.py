"""Need: EISA's episodic necessity checker. Whether a text is an episode, or matter for another memory.

Published as a text classifier over the text itself. A graph holds no text, so ours reads what a row has: its vector and
a few columns. It is logistic regression; ``scripts/train_encm.py`` trains it and prints how often it errs.
"""

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from ..graph import LINKS, Earlier, Graph
from ..language.scripts import unspaced
from ..language.statements import asks
from ..language.words import hashed
from ..model import Cue, Link, Mask

COLUMNS = ("asks", "spoken", "words", "titled", "dated")
"""What is read besides the vector: ends by asking, has a speaker or a session, log(1 + distinct words) where it has
neither (what is said may be long), has a title, speaks of a date."""
DENSE = 5
"""So many characters and pairs of a script without spaces count as one word; inferred from how texts are translated."""
CHARACTERS = 0.25
"""A text of which so many of the distinct words are single characters of such a script is written in it."""
RECALL = "recall"
"""The source of what recalling leaves behind. It was answered from episodes, so it is one."""
THRESHOLD = 0.25
"""The probability from which a text is taken for an episode: others are left out only at odds of 3 to 1; inferred."""
READ = 0.5
"""A cue of which the embedder reads less is judged by its columns alone."""
Numbers = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Head:
    """A logistic classifier: one weight for each of ``COLUMNS``, and one for each number of a vector, or none."""

    bias: float
    columns: tuple[float, ...]
    vector: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class Encm:
    """The checker: ``alone`` reads columns; ``reading`` also reads the vectors of one embedder, where that is used.

    Texts in scripts without spaces are always judged by ``alone``: the one embedder it is trained on reads English.
    A text is taken for an episode unless the probability that it is one lies below ``threshold``: what is wrongly taken
    for one costs a search, what is wrongly taken for none is never found again.
    """

    alone: Head
    reading: Head | None = None
    threshold: float = THRESHOLD


def asked(graph: Graph) -> Mask:
    """The episodes that recalling left behind: questions that were asked."""
    left = graph.sources.number(RECALL)
    return graph.episodes & (left >= 0) & (graph.nodes["sources"] == left)


def bank(graph: Graph, encm: Encm) -> Mask:
    """The episodes that belong to the episodic bank; the others belong to the semantic one."""
    return graph.episodes & (needs(graph, encm) >= encm.threshold)


def needs(graph: Graph, encm: Encm) -> Numbers:
    """How probable it is of each row that it is an episode, in 0..1; derived once a graph."""
    return graph.derived(("need", encm), lambda grown, _: _of_rows(grown, encm))


def need(cue: Cue, encm: Encm) -> bool:
    """Whether a cue is to be answered from episodes."""
    return probability(cue, encm) >= encm.threshold


def probability(cue: Cue, encm: Encm) -> float:
    """How probable it is that a cue is to be answered from episodes, in 0..1."""
    columns, head = cue_columns(cue), encm.reading
    if head is None or cue.vector is None or len(cue.vector) != len(head.vector) or not readable(cue):
        return float(_logistic(_by_columns(columns, encm.alone))[0])
    return float(_logistic(_by_columns(columns, head) + _by_vector(cue.vector[None], head))[0])


def cue_columns(cue: Cue) -> Numbers:
    """What is read of a cue besides its vector, shape ``(1, len(COLUMNS))``: as if it were stored bare."""
    words = np.unique(cue.words)
    length = _length(np.array([len(words)]), np.array([_unspaced(words)]))[0]
    return np.array([[asks(cue.text), False, length, False, bool(cue.when)]], np.float32)


def readable(cue: Cue) -> bool:
    """Whether the vector of a cue may be read."""
    return cue.meaning >= READ and not _unspaced(np.unique(cue.words))


@dataclass(frozen=True, slots=True)
class Seen:
    """What is read of each row besides its vector: ``columns``, shape ``(rows, len(COLUMNS))``, and by ``read`` whether
    the vector may be read too."""

    columns: Numbers
    read: Mask


def seen(graph: Graph) -> Seen:
    """What is read of each row; of a grown graph only what is new is looked at."""
    return graph.derived("seen by need", _grown)


def _grown(graph: Graph, before: Earlier[Seen] | None) -> Seen:
    start, edge = (before.nodes, before.edges) if before is not None else (0, 0)
    nodes, new = graph.nodes, len(graph) - start
    spoken = (nodes["speakers"][start:] >= 0) | (nodes["sessions"][start:] >= 0)
    first = int(np.searchsorted(graph.words["rows"], start))  # rows come in ascending order, here and below
    rows, words = graph.words["rows"][first:] - start, graph.words["words"][first:]
    count = np.bincount(rows, minlength=new)
    dense = _dense(np.bincount(rows[_characters(words)], minlength=new), count)
    dated = np.zeros(new, np.bool_)
    dated[graph.told["rows"][np.searchsorted(graph.told["rows"], start) :] - start] = True
    length = np.where(spoken, 0, _length(count, dense))
    fresh = np.stack([nodes["questions"][start:], spoken, length, np.zeros(new), dated], axis=1).astype(np.float32)
    columns, read = fresh, ~dense
    if before is not None:
        columns, read = np.concatenate([before.value.columns, fresh]), np.concatenate([before.value.read, read])
    about = np.equal(graph.edges["links"][edge:], LINKS.index(Link.ABOUT))
    columns[graph.edges["src"][edge:][about], COLUMNS.index("titled")] = 1
    return Seen(columns, read)


def _characters(words: NDArray[np.uint32]) -> Mask:
    """Which word hashes are those of single characters of scripts without spaces."""
    known = _hashes()
    return np.equal(known[np.minimum(np.searchsorted(known, words), len(known) - 1)], words)


@cache
def _hashes() -> NDArray[np.uint32]:
    """The hashes of those characters, ascending: kana, ideographs, hangul, Thai and so on."""
    return np.sort(hashed([char for char in map(chr, range(0xE00, 0xFB00)) if unspaced(char)]))


def _unspaced(words: NDArray[np.uint32]) -> bool:
    return bool(_dense(_characters(words).sum(keepdims=True), np.array([len(words)]))[0])


def _dense(characters: NDArray[np.int64], words: NDArray[np.int64]) -> Mask:
    return (words > 0) & (characters >= CHARACTERS * words)


def _length(words: NDArray[np.int64], dense: Mask) -> Numbers:
    return np.log1p(np.where(dense, words / DENSE, words)).astype(np.float32)


def _of_rows(graph: Graph, encm: Encm) -> Numbers:
    known, head = seen(graph), encm.reading
    found = _by_columns(known.columns, encm.alone)
    if head is not None and graph.vectors.view.shape[1] == len(head.vector):
        said = graph.derived(("read", head), lambda grown, before: _read(grown, before, head))
        rows = graph.vectored["rows"]
        found[rows] = np.where(known.read[rows], _by_columns(known.columns[rows], head) + said, found[rows])
    found[asked(graph)] = np.inf
    return _logistic(found)


def _read(graph: Graph, before: Earlier[Numbers] | None, head: Head) -> Numbers:
    """What the vectors add, in the order of table ``vectored``; of a grown graph only the new ones are read."""
    known = before.value if before is not None else np.zeros(0, np.float32)
    return np.concatenate([known, _by_vector(graph.vectors.view[len(known) :], head)])


def _by_columns(columns: Numbers, head: Head) -> Numbers:
    # einsum, not BLAS: what a row gets does not depend on its neighbors, and no spurious floating-point warning comes.
    return np.einsum("ij,j->i", columns, np.array(head.columns, np.float32)) + np.float32(head.bias)


def _by_vector(vectors: Numbers, head: Head) -> Numbers:
    return np.einsum("ij,j->i", vectors, np.array(head.vector, np.float32))


def _logistic(values: Numbers) -> Numbers:
    return (1 / (1 + np.exp(-np.clip(values, -60, 60)))).astype(np.float32)
