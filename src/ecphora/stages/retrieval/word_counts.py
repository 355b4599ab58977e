"""The words of a memory or a question, in scripts with spaces and without: both have the terms of a text, not the text.

In a script without spaces, such as Chinese, each character and each pair of characters is a term.
"""

from functools import cache

import numpy as np
from numpy.typing import NDArray

from ...graph import CachedDerivation, Graph
from ...language.scripts import count_unspaced
from ...language.terms import hash_terms
from ...model import Mask

CHARACTERS_PER_WORD = 5
"""How many characters and pairs of a script without spaces count as one word; inferred from translated texts."""
CHARACTERS_PER_QUESTION_WORD = 3
"""The same where a question may be too long: fewer, so that a dialogue of 50 characters is not taken for a question."""
START_SHIFT = 12
"""A hash without its last bits, so many, is its start."""
MIN_CHARACTER_SHARE = 0.25
"""The share of single characters of such a script among the distinct terms from which a text is written in it."""


def word_counts(graph: Graph) -> NDArray[np.float32]:
    """How many words each row has, stop words not counted; for a grown graph only new rows are read."""
    return graph.derive("word counts", _extend_word_counts)


def question_word_count(term_hashes: NDArray[np.uint32]) -> float:
    """How many different words a question has, stop words not counted, from its distinct terms."""
    count = len(term_hashes)
    return count / CHARACTERS_PER_QUESTION_WORD if lacks_spaces(term_hashes) else float(count)


def lacks_spaces(term_hashes: NDArray[np.uint32]) -> bool:
    """Whether a question of these distinct terms is written in a script without spaces."""
    return bool(is_mostly_characters(is_character(term_hashes).sum(keepdims=True), np.array([len(term_hashes)]))[0])


def _extend_word_counts(graph: Graph, cached: CachedDerivation[NDArray[np.float32]] | None) -> NDArray[np.float32]:
    start = 0 if cached is None else cached.node_count
    first = int(np.searchsorted(graph.terms["rows"], start))  # rows come in ascending order
    rows, hashes = graph.terms["rows"][first:] - start, graph.terms["hashes"][first:]
    new_count = len(graph) - start
    has_no_spaces = is_mostly_characters(
        np.bincount(rows[is_character(hashes)], minlength=new_count), np.bincount(rows, minlength=new_count)
    )
    lengths = graph.nodes["lengths"][start:]
    counts = np.where(has_no_spaces, lengths / CHARACTERS_PER_WORD, lengths).astype(np.float32)
    return counts if cached is None else np.concatenate([cached.value, counts])


def is_character(term_hashes: NDArray[np.uint32]) -> Mask:
    """Which term hashes are those of single characters of scripts without spaces."""
    hashes, starts = _character_hashes(), _character_starts()
    found = starts[term_hashes >> START_SHIFT]
    places = np.flatnonzero(found)  # few: the others begin as no character's hash does
    chosen = term_hashes[places]
    found[places] = hashes[np.minimum(np.searchsorted(hashes, chosen), len(hashes) - 1)] == chosen
    return found


@cache
def _character_hashes() -> NDArray[np.uint32]:
    """The hashes of those characters, ascending: kana, ideographs, hangul, Thai and so on."""
    return np.sort(hash_terms([char for char in map(chr, range(0xE00, 0xFB00)) if count_unspaced(char)]))


@cache
def _character_starts() -> Mask:
    """Which first bits the hash of one of those characters has."""
    starts = np.zeros(1 << 32 - START_SHIFT, np.bool_)
    starts[_character_hashes() >> START_SHIFT] = True
    return starts


def is_mostly_characters(character_counts: NDArray[np.int64], term_counts: NDArray[np.int64]) -> Mask:
    """Which texts are written in a script without spaces, from their distinct single characters and distinct terms."""
    return (term_counts > 0) & (character_counts >= MIN_CHARACTER_SHARE * term_counts)
