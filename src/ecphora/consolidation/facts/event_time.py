"""Event times, and which of two texts is known to be later."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...model.graph.graph import DAY, Graph
from ...model.types import Mask, Rows

MIN_DOCUMENT_GAP = DAY
"""Minimum seconds between two documents for one to be later: files that are copied together differ by less."""


@dataclass(frozen=True, slots=True)
class Timestamp:
    """When a text was written or said, in seconds since 1970.

    A document is a text without a speaker that has a source or is split into chunks. One that is not ``is_dated`` was
    written at an unknown time before it was stored.
    """

    at: float
    is_document: bool = False
    is_dated: bool = True

    def is_after(self, other: "Timestamp") -> bool:
        """Whether it is known to be later than another.

        Of two texts of equal time neither is later, in whatever order they were stored. The chunks of a document share
        its time. Of two documents the later one must have a date of its own, at least a day after the other's.
        """
        if not self.is_document:
            return self.at > other.at
        return self.is_dated and self.at - other.at > (MIN_DOCUMENT_GAP if other.is_document else 0.0)


@dataclass(frozen=True)
class Timestamps:
    """The timestamps of the rows of a graph."""

    graph: Graph

    @cached_property
    def _is_document(self) -> Mask:
        nodes = self.graph.nodes
        return (nodes["speakers"] < 0) & ((nodes["documents"] >= 0) | (nodes["sources"] >= 0))

    @cached_property
    def _is_dated(self) -> Mask:
        return self.graph.nodes["happened"] != self.graph.nodes["recorded"]

    def timestamp(self, row: int) -> Timestamp:
        """The timestamp of a row."""
        return Timestamp(
            float(self.graph.nodes["happened"][row]), bool(self._is_document[row]), bool(self._is_dated[row])
        )

    def comparable_rows(self, row: int, others: Rows) -> Rows:
        """Of ``others``, the rows that are known to be earlier or later than ``row``."""
        happened = self.graph.nodes["happened"]
        difference = happened[others] - happened[row]
        later = np.where(difference > 0, others, row)
        min_gap = np.where(self._is_document[others] & self._is_document[row], MIN_DOCUMENT_GAP, 0.0)
        known = (np.abs(difference) > min_gap) & (self._is_dated[later] | ~self._is_document[later])
        return others[known]
