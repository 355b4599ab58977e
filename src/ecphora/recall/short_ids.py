"""Short ids: a unique prefix stands for the whole id.

An id that Ecphora assigned, or a UUID, is a digest: any prefix of four characters or more will do, as in git. In an id
that the caller gave, numbers are never cut: ``msg-1`` is not ``msg-10``.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence

from ..errors import InvalidInput
from ..model.graph.graph import CachedDerivation, Graph
from ..model.lazy_pattern import lazy_pattern
from ..model.types import NodeId

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
