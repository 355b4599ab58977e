"""The memories that hold the identifiers that a question asks for, and the tiers in which they rank."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..language.question import asks_for_replacement
from ..model.graph.graph import Graph
from ..model.types import AskedIdentifier, Mask, Query, Rows

MIN_FEW = 3
"""So many holders of an identifier are always few."""
MEMORIES_PER_HOLDER = 100
"""Holders are few as well if there is at most one for so many eligible memories."""


@dataclass(frozen=True, slots=True)
class IdentifierHolders:
    """The eligible rows that hold an identifier, ascending: ``whole``, or only as a ``part`` of another one.

    ``look_alikes`` are the rows that have another identifier of its kind and do not hold it.
    """

    whole: Rows
    part: Rows
    look_alikes: Rows


def find_holders(graph: Graph, query: Query, eligible: Mask) -> tuple[IdentifierHolders, ...]:
    """The holders of each identifier of a query."""
    return tuple(_find_holders(graph, identifier, eligible) for identifier in query.identifiers)


def identifier_tiers(graph: Graph, query: Query, holders: Sequence[IdentifierHolders], eligible: Mask) -> Rows:
    """The tier of each row, 0 for a row that holds no identifier that is asked for.

    A tier is higher the more identifiers a row holds whole, then the more it holds as a part. An identifier with many
    holders does not count: it is the topic of the memory, and the question asks for something about it. Nothing counts
    if the question asks for what replaced it.
    """
    tiers = np.zeros(len(graph), np.intp)
    if not holders or asks_for_replacement(query.text):
        return tiers
    few = max(MIN_FEW, int(eligible.sum()) // MEMORIES_PER_HOLDER)
    for one in holders:
        if len(one.whole) <= few:
            tiers[one.whole] += len(holders) + 1
            if len(one.whole) + len(one.part) <= few:
                tiers[one.part] += 1
    return tiers


def has_unknown_identifiers(graph: Graph, query: Query, eligible: Mask) -> bool:
    """Whether a query asks for identifiers of which no eligible memory holds any, not even as words.

    False if it asks for what replaced them: an answer need not repeat them.
    """
    if not query.identifiers or asks_for_replacement(query.text):
        return False
    if any(len(one.whole) or len(one.part) for one in find_holders(graph, query, eligible)):
        return False
    return not any(_has_words(graph, one, eligible) for one in query.identifiers)


def quantity_rows(graph: Graph, query: Query) -> Rows:
    """The rows that hold a quantity of a query, ascending."""
    return _rows_with(graph, query.quantities)


def _find_holders(graph: Graph, identifier: AskedIdentifier, eligible: Mask) -> IdentifierHolders:
    whole, part, alike = (
        rows[eligible[rows]]
        for rows in (_rows_with(graph, hashes) for hashes in (identifier.whole, identifier.part, (identifier.kind,)))
    )
    part = np.setdiff1d(part, whole)
    return IdentifierHolders(whole, part, np.setdiff1d(alike, np.concatenate([whole, part])))


def _rows_with(graph: Graph, hashes: Sequence[int]) -> Rows:
    entries, _ = graph.postings(np.array(hashes, np.uint32), "identifiers")
    return np.unique(graph.identifiers["rows"][entries]).astype(np.intp)


def _has_words(graph: Graph, identifier: AskedIdentifier, eligible: Mask) -> bool:
    """Whether one eligible memory has all words of an identifier, although none was recognized in it."""
    if not identifier.terms:
        return False
    entries, _ = graph.postings(np.array(identifier.terms, np.uint32))
    rows, counts = np.unique(graph.terms["rows"][entries], return_counts=True)
    return bool(eligible[rows[counts == len(identifier.terms)]].any())
