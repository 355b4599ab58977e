"""Looks memories up without a question: by a short id, and pages of them in an order, their number, and their chunks.

A memory is a short text, or a document: the chunks of a long text count as one memory.

An id that Ecphora assigned, or a UUID, is a digest: any prefix of four characters or more will do, as in git. In an id
that the caller gave, numbers are never cut: ``msg-1`` is not ``msg-10``.
"""

import base64
import binascii
import json
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from ..errors import InvalidInput
from ..model.graph.graph import CachedDerivation, Graph
from ..model.lazy import lazy_pattern
from ..model.ports import NodeSource
from ..model.reprs import show
from ..model.types import Mask, Node, NodeId, Page, Query, Rows
from ..model.validation import check_number, check_string
from ..remember import documents
from ..retrieval import filters


class Order(StrEnum):
    """The orders of :meth:`Memory.find`: by event time or recording time, ascending or (``-``) descending."""

    OLDEST = "happened_at"
    NEWEST = "-happened_at"
    FIRST_RECORDED = "recorded_at"
    LAST_RECORDED = "-recorded_at"


_COLUMNS = {"happened_at": "happened", "recorded_at": "recorded"}


@dataclass(frozen=True, slots=True)
class Cursor:
    """A place in an order: just behind the memory with this time and id, whether it is still there or not."""

    order: Order
    seconds: float
    id: NodeId

    def to_text(self) -> str:
        """The cursor as callers pass it on: an opaque text."""
        return base64.urlsafe_b64encode(json.dumps([self.order.value, self.seconds, self.id]).encode()).decode()

    @classmethod
    def from_text(cls, text: object, order: Order) -> "Cursor":
        """Read the cursor of a page in the same order; raises ``InvalidInput`` for any other text."""
        try:
            name, seconds, id_ = json.loads(
                base64.b64decode(check_string("after", text), altchars=b"-_", validate=True)
            )
            found = cls(Order(name), check_number("after", seconds), check_string("after", id_))
        except (binascii.Error, ValueError, TypeError, RecursionError) as error:
            raise InvalidInput(
                f"after is {show(text)}, which is no cursor; give page.cursor of an earlier page"
            ) from error
        if found.order != order:
            raise InvalidInput(
                f"after is a cursor in the order {found.order.value!r}, not {order.value!r}; give the same order for "
                "all pages"
            )
        return found


def memory_rows(graph: Graph) -> Mask:
    """One row for each memory: every episode that is not a chunk, and the first chunk of each document."""
    mask, document_codes = graph.episodes.copy(), graph.nodes["documents"]
    chunks = np.flatnonzero(mask & (document_codes >= 0))
    mask[chunks] = False
    by_position = chunks[np.lexsort((graph.nodes["positions"][chunks], document_codes[chunks]))]
    _, first = np.unique(document_codes[by_position], return_index=True)
    mask[by_position[first]] = True
    return mask


def count_memories(graph: Graph, query: Query) -> int:
    """The number of memories that pass the filter of a query."""
    return int((memory_rows(graph) & filters.eligible(graph, query)).sum())


def find_page(
    graph: Graph, query: Query, read_nodes: NodeSource, *, order: Order, limit: int, after: Cursor | None
) -> Page:
    """The next memories in an order that pass the filter of a query."""
    rows, seconds = _next_rows(graph, query, order, limit + 1, after)
    memories, notices = _read_memories(graph, rows[:limit], read_nodes), filters.notices(graph, query)
    if len(rows) <= limit:
        return Page(memories, notices=notices)
    last = Cursor(order, float(seconds[limit - 1]), _memory_id(graph, int(rows[limit - 1])))
    return Page(memories, last.to_text(), notices)


def check_order(value: object) -> Order:
    """Check the order of a page."""
    if isinstance(value, str) and value in set(Order):
        return Order(value)
    raise InvalidInput(f"order is {show(value)}; give one of {', '.join(repr(one.value) for one in Order)}")


def _next_rows(
    graph: Graph, query: Query, order: Order, limit: int, after: Cursor | None
) -> tuple[Rows, np.ndarray[tuple[int], np.dtype[np.float64]]]:
    """The first ``limit`` rows behind a cursor and their times; memories of one time are in the order of their ids."""
    sign = -1.0 if order.value.startswith("-") else 1.0
    times = graph.nodes[_COLUMNS[order.value.removeprefix("-")]]
    rows = np.flatnonzero(memory_rows(graph) & filters.eligible(graph, query))
    if after is not None:
        rows = rows[sign * times[rows] >= sign * after.seconds]
    rows = rows[np.argsort(sign * times[rows], kind="stable")]
    if after is not None:
        is_tie = times[rows] == after.seconds
        seen = [place for place in np.flatnonzero(is_tie).tolist() if _memory_id(graph, rows[place]) <= after.id]
        rows = np.delete(rows, seen)
    if len(rows) > limit:  # with all memories of the time at which the page ends, to sort them by id
        rows = rows[sign * times[rows] <= sign * times[rows[limit - 1]]]
    keys = [(sign * float(times[row]), _memory_id(graph, row)) for row in rows.tolist()]
    rows = rows[sorted(range(len(rows)), key=keys.__getitem__)][:limit]
    return rows, times[rows]


def _memory_id(graph: Graph, row: int) -> NodeId:
    """The id of the memory that a row belongs to: its document's, or its own."""
    document = int(graph.nodes["documents"][row])
    return graph.documents.names[document] if document >= 0 else graph.id(row)


def _read_memories(graph: Graph, rows: Rows, read_nodes: NodeSource) -> tuple[Node, ...]:
    """The memories that rows belong to, long texts reassembled, without memories that were forgotten since."""
    ids = [_memory_id(graph, row) for row in rows.tolist()]
    node_ids = [node_id for id_ in ids for node_id in documents.node_ids_of(graph, id_)]
    nodes: dict[NodeId, list[Node]] = {}
    for node in read_nodes(graph.rows(node_ids)):
        nodes.setdefault(node.document or node.id, []).append(node)
    return tuple(documents.reassemble(nodes[id_]) for id_ in ids if id_ in nodes)


MIN_PREFIX_CHARS = 4
"""Characters of the shortest prefix that stands for an id."""
DISPLAY_CHARS = 8
"""Characters shown of a digest, where they are unique."""
MAX_LISTED_IDS = 10
"""Ids that an error message lists."""
_DIGEST = lazy_pattern(r"([a-z]+:)?(?:[0-9a-f]{16}|[0-9a-f]{32}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})")


def resolve_id(prefix: NodeId, graph: Graph, *, allow_names: bool = True) -> NodeId:
    """Return the id of this graph with that prefix, or ``prefix`` itself if there is none.

    An id that exists, or was forgotten, stands for itself. ``allow_names=False`` leaves out ids that callers gave, for
    operations that cannot be undone. Raises ``InvalidInput``, with the candidates, if several ids have the prefix.
    """
    if graph.row(prefix) is not None or len(graph.document_rows(prefix)) or {prefix, f"{prefix}#1"} & graph.tombstones:
        return prefix
    head, separator, position = prefix.rpartition("#")
    if separator and position.isdecimal():  # a chunk of a long text
        document = resolve_id(head, graph, allow_names=allow_names)
        return prefix if document == head else f"{document}#{position}"
    return resolve_among(prefix, _cached_ids(graph), allow_names=allow_names)


def resolve_among(prefix: str, ids: Iterable[str], *, allow_names: bool = True) -> str:
    """Resolve a prefix among ids of any kind, as :func:`resolve_id` does."""
    if len(prefix) < MIN_PREFIX_CHARS:
        return prefix
    may_match: Callable[[str], bool] = lambda id_: _may_abbreviate(prefix, id_, allow_names=allow_names)  # noqa: E731
    found = sorted({id_ for id_ in ids if id_.startswith(prefix) and may_match(id_)})
    if prefix in found or not found:
        return prefix
    if len(found) > 1:
        more = f" and {len(found) - MAX_LISTED_IDS:,} more" if len(found) > MAX_LISTED_IDS else ""
        raise InvalidInput(f"{len(found):,} ids begin with {prefix!r}: {', '.join(found[:MAX_LISTED_IDS])}{more}")
    return found[0]


def abbreviate(ids: Iterable[NodeId], graph: Graph) -> Mapping[NodeId, str]:
    """Return the shortest unique prefix of each id: digests are cut, ids that callers gave are not."""
    return {
        id_: _unique_prefix(head, graph) + suffix
        for id_, (head, suffix) in ((id_, _split_chunk_suffix(id_)) for id_ in ids)
    }


def _may_abbreviate(prefix: str, id_: str, *, allow_names: bool) -> bool:
    if _DIGEST.fullmatch(id_):
        return True
    return allow_names and not (prefix[-1].isdigit() and id_[len(prefix) :][:1].isdigit())


def _cached_ids(graph: Graph) -> Sequence[NodeId]:
    """Return the sorted ids of a graph; for a long text its own id, not the ids of its chunks."""
    return graph.derive("sorted ids", _merge_sorted_ids)


def _merge_sorted_ids(graph: Graph, previous: CachedDerivation[list[NodeId]] | None) -> list[NodeId]:
    start, known = (0, []) if previous is None else (previous.node_count, previous.value)
    nodes, documents = graph.nodes, graph.documents.names
    new = zip(nodes["ids"][start:].tolist(), nodes["documents"][start:].tolist(), strict=True)
    added = sorted({id_ if document < 0 else documents[document] for id_, document in new})
    positions = ((id_, bisect_left(known, id_)) for id_ in added)
    return sorted([*known, *(id_ for id_, position in positions if known[position : position + 1] != [id_])])


def _split_chunk_suffix(id_: NodeId) -> tuple[NodeId, str]:
    """Split an id into a digest and the suffix of a chunk."""
    head, separator, position = id_.rpartition("#")
    is_chunk = separator and position.isdecimal() and _DIGEST.fullmatch(head)
    return (head, separator + position) if is_chunk else (id_, "")


def _display_length(digest: str) -> int:
    return digest.find(":") + 1 + DISPLAY_CHARS


def _unique_prefix(id_: NodeId, graph: Graph) -> str:
    if not _DIGEST.fullmatch(id_):
        return id_
    known = _cached_ids(graph)
    position = bisect_left(known, id_)
    neighbors = (*known[max(0, position - 1) : position], *known[position : position + 2])
    shared = max((_common_prefix_length(id_, other) for other in neighbors if other != id_), default=0)
    return id_[: max(_display_length(id_), shared + 1)]


def _common_prefix_length(one: str, other: str) -> int:
    """Return the number of characters that two texts have in common at their beginning."""
    return next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(map(len, (one, other))))
