"""Dormancy: a memory without an access during many retrievals in a row is dormant. SYNAPSE, §2.5."""

from dataclasses import dataclass

import numpy as np

from ...model.graph.graph import CachedDerivation, Graph
from ...model.types import AccessKind, Mask, Rows


def dormant_mask(graph: Graph, W: int) -> Mask:  # noqa: N803
    """The episodes without an access during the last ``W`` retrievals that stimulated anything.

    Every access counts: encoded, stimulated, recalled or used. Marks are no accesses.
    """
    counts = graph.derive("retrievals", _count_retrievals, depends_on_log=True)
    return graph.episodes & (counts.total - counts.at_last_access >= W)


@dataclass(frozen=True, slots=True)
class _RetrievalCounts:
    """The number of retrievals that stimulated anything, in all and by the time of each row's last access."""

    total: int
    at_last_access: Rows


def _count_retrievals(graph: Graph, before: CachedDerivation[_RetrievalCounts] | None) -> _RetrievalCounts:
    last, count, start = np.zeros(len(graph), np.intp), 0, 0
    if before is not None:
        last[: before.node_count], count, start = before.value.at_last_access, before.value.total, before.access_count
    table = graph.accesses
    is_stimulated = graph.has_access_kind(AccessKind.STIMULATED)
    new_entries = np.flatnonzero(is_stimulated[start:]) + start
    # A retrieval logs its stimulated rows in ascending order at one time: a new one begins where the time changes or
    # the row number falls.
    last_before = np.flatnonzero(is_stimulated[:start])[-1:]
    entries = np.concatenate([last_before, new_entries])
    rows, times = table["rows"][entries], table["at"][entries]
    begins = np.r_[[True] * (1 - len(last_before)), (times[1:] != times[:-1]) | (rows[1:] <= rows[:-1])][
        : len(new_entries)
    ]
    number = np.zeros(len(table) - start, np.intp)
    number[new_entries - start] = begins
    number = count + np.cumsum(number)
    is_access = graph.has_access_kind(*AccessKind, accesses=slice(start, None))
    last[table["rows"][start:][is_access]] = number[is_access]
    return _RetrievalCounts(int(number[-1]) if len(number) else count, last)
