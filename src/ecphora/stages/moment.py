"""When something was told, as far as that is known: which of two texts is known to be the later one."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..graph import Graph
from ..model import Mask, Rows

DAY = 86_400.0
"""Seconds between two documents of which one is later: files that are copied together differ by less."""


@dataclass(frozen=True, slots=True)
class Moment:
    """When a text was told, in seconds since 1970.

    A ``document`` is a text of no speaker that has a source or is cut into pieces. One that is not ``dated`` was
    written at some time before it was handed in.
    """

    at: float
    document: bool = False
    dated: bool = True

    def after(self, other: "Moment") -> bool:
        """Whether it is known to be later than another.

        Of two texts of one time neither is, in whatever order they were written. The pieces of a document share its
        time. Of two documents the later one must bear a date of its own, a day from the other's at least.
        """
        if not self.document:
            return self.at > other.at
        return self.dated and self.at - other.at > (DAY if other.document else 0.0)


class Moments:
    """The moments of the rows of a graph."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph

    @cached_property
    def _documents(self) -> Mask:
        nodes = self.graph.nodes
        return (nodes["speakers"] < 0) & ((nodes["documents"] >= 0) | (nodes["sources"] >= 0))

    @cached_property
    def _dated(self) -> Mask:
        return self.graph.nodes["happened"] != self.graph.nodes["recorded"]

    def of(self, row: int) -> Moment:
        """The moment of a row."""
        return Moment(float(self.graph.nodes["happened"][row]), bool(self._documents[row]), bool(self._dated[row]))

    def ordered(self, row: int, others: Rows) -> Rows:
        """Of some rows, those of which it is known whether they are earlier or later than another."""
        happened = self.graph.nodes["happened"]
        apart = happened[others] - happened[row]
        later = np.where(apart > 0, others, row)
        least = np.where(self._documents[others] & self._documents[row], DAY, 0.0)
        known = (np.abs(apart) > least) & (self._dated[later] | ~self._documents[later])
        return others[known]
