"""Evidence for strands: use, and later memories that repeat a link. Cognitive Weave, 3.4.2 and equation 8.

Nothing is stored: use follows from the access log, later evidence from the associations of later particles. So
replaying a log gives the same strengths, and what is forgotten strengthens nothing.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...model.graph.columns import find_keys, join_by_key, rank_in_group
from ...model.graph.graph import DAY, CachedDerivation, Graph
from ...model.types import AccessKind, Link, Rows

MAX_TOGETHER = 10
"""How many memories of a recall, from the first on, count as used together."""
SATURATION = 5.0
"""Evidence n counts 1 - exp(-n / 5), as uses do in importance."""

Floats = NDArray[np.float64]


def saturate(evidence: Floats) -> Floats:
    """Evidence as a feature in 0..1: phi_4 of equation 8."""
    return 1 - np.exp(-evidence / SATURATION)


def strengthen(strengths: NDArray[np.float32], evidence: Floats, weight: float) -> NDArray[np.float32]:
    """Equation 8, log-linear: log S grows by ``weight`` times the evidence, and S never exceeds 1 by it."""
    grown = np.minimum(np.maximum(1, strengths), strengths * np.exp(weight * saturate(evidence)))
    return grown.astype(np.float32)


# ---- use


@dataclass(frozen=True, slots=True)
class _PairUses:
    """Pairs of rows that one recall returned: ascending keys, and uses, decayed to the time ``at``."""

    keys: NDArray[np.int64]
    uses: Floats
    at: float


def uses_together(graph: Graph, rows: Rows, others: Rows, *, half_life: float, now: float) -> Floats:
    """How often one recall returned both rows of each pair; a use counts half after ``half_life`` days.

    The cost of a further recall is at most ``MAX_TOGETHER`` squared pairs.
    """
    found: _PairUses = graph.derive(
        ("uses together", half_life), lambda grown, before: _count_uses(grown, before, half_life), depends_on_log=True
    )
    index, is_known = find_keys(found.keys, _pair_keys(rows, others))
    uses = np.zeros(len(rows))
    uses[is_known] = found.uses[index[is_known]] * np.exp2(-max(0.0, now - found.at) / DAY / half_life)
    return uses


def _pair_keys(rows: Rows, others: Rows) -> NDArray[np.int64]:
    low, high = np.minimum(rows, others).astype(np.int64), np.maximum(rows, others).astype(np.int64)
    return (low << 32) | high


def _count_uses(graph: Graph, before: CachedDerivation[_PairUses] | None, half_life: float) -> _PairUses:
    known = _PairUses(np.empty(0, np.int64), np.empty(0), 0.0) if before is None else before.value
    recalled = graph.accesses_of_kind(AccessKind.RECALLED, first=0 if before is None else before.access_count)
    if not len(recalled):
        return known
    rows, at = graph.accesses["rows"][recalled].astype(np.intp), graph.accesses["at"][recalled]
    _, recall = np.unique(at, return_inverse=True)  # the hits of one recall are logged at one instant
    order = np.argsort(recall, kind="stable")
    order = order[rank_in_group(recall[order]) < MAX_TOGETHER]
    rows, at, recall = rows[order], at[order], recall[order]
    first, last = join_by_key(recall, recall, int(recall[-1]) + 1)
    is_pair = rows[first] < rows[last]
    first, last = first[is_pair], last[is_pair]
    end = max(known.at, float(at.max()))
    keys = np.concatenate([known.keys, _pair_keys(rows[first], rows[last])])
    uses = np.concatenate(
        [known.uses * np.exp2(-(end - known.at) / DAY / half_life), np.exp2(-(end - at[first]) / DAY / half_life)]
    )
    distinct, index = np.unique(keys, return_inverse=True)
    totals = np.bincount(index, uses, len(distinct)).astype(np.float64)
    return _PairUses(distinct, totals, end)


# ---- later evidence


def later_evidence(graph: Graph) -> NDArray[np.int32]:
    """For each entry of table ``edges``: how many later particles are associated with both of its ends.

    A particle is associated with earlier ones only, at most ``k`` of them, which bounds the work for each new one.
    """
    counts: NDArray[np.int32] = graph.derive("later evidence", _count_later_evidence)
    return counts


def _count_later_evidence(graph: Graph, before: CachedDerivation[NDArray[np.int32]] | None) -> NDArray[np.int32]:
    counts, start = np.zeros(len(graph.edges), np.int32), 0
    if before is not None:
        counts[: len(before.value)], start = before.value, before.edge_count
    edges = graph.edges
    new = graph.edges_of_link(Link.ASSOCIATION, first=start)
    if not len(new):
        return counts
    src, dst = edges["src"][new].astype(np.intp), edges["dst"][new].astype(np.intp)
    # Every path: a later particle, one of its neighbors, an association of that neighbor; the path counts if the later
    # particle is associated with the far end, too.
    neighbors, neighbor = np.unique(dst, return_inverse=True)
    out_edges, of_neighbor = graph.edges_from(neighbors, Link.ASSOCIATION)
    first, last = join_by_key(neighbor, of_neighbor, len(neighbors))
    far = edges["dst"][out_edges[last]].astype(np.intp)
    is_repeated = np.isin(src[first] * len(graph) + far, src * len(graph) + dst)
    np.add.at(counts, out_edges[last[is_repeated]], 1)
    return counts
