"""Ids as people read and type them: the beginning of an id stands for the whole where no other begins so.

An id that Ecphora made, or a UUID, is a digest: any four characters or more of its beginning will do, as in git. A name
that somebody gave means something, and its numbers are never cut: ``msg-1`` is not ``msg-10``.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence

from .errors import InvalidInput
from .graph import Earlier, Graph
from .model import NodeId
from .patterns import lazy_pattern

SHORTEST = 4
"""Characters of the shortest beginning that stands for an id."""
SHOWN = 8
"""Characters of a digest that are shown, where they are enough."""
CANDIDATES = 10
"""Ids that an error lists."""
_DIGEST = lazy_pattern(r"([a-z]+:)?(?:[0-9a-f]{16}|[0-9a-f]{32}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})")


def complete(given: NodeId, graph: Graph, *, names: bool = True) -> NodeId:
    """The id of this graph that an id or its beginning stands for; ``given`` itself where there is none.

    An id that is there, or was forgotten, stands for itself. ``names=False`` leaves out ids that somebody gave: for
    what cannot be taken back. Raises ``InvalidInput``, with the candidates, where several ids begin so.
    """
    if graph.row(given) is not None or len(graph.document_rows(given)) or {given, f"{given}#1"} & graph.barred:
        return given
    head, mark, place = given.rpartition("#")
    if mark and place.isdecimal():  # a piece of a long text
        whole = complete(head, graph, names=names)
        return given if whole == head else f"{whole}#{place}"
    return complete_among(given, _ids(graph), names=names)


def complete_among(given: str, ids: Iterable[str], *, names: bool = True) -> str:
    """The same among ids of any kind."""
    if len(given) < SHORTEST:
        return given
    fits: Callable[[str], bool] = lambda id_: _stands_for(given, id_, names=names)  # noqa: E731
    found = sorted({id_ for id_ in ids if id_.startswith(given) and fits(id_)})
    if given in found or not found:
        return given
    if len(found) > 1:
        more = f" and {len(found) - CANDIDATES:,} more" if len(found) > CANDIDATES else ""
        raise InvalidInput(f"{len(found):,} ids begin with {given!r}: {', '.join(found[:CANDIDATES])}{more}")
    return found[0]


def abbreviate(ids: Iterable[NodeId], graph: Graph) -> Mapping[NodeId, str]:
    """Each id as short as it stands for itself alone: digests are cut, names that somebody gave are not."""
    return {id_: _unique(whole, graph) + piece for id_, (whole, piece) in ((id_, _split(id_)) for id_ in ids)}


def _stands_for(given: str, id_: str, *, names: bool) -> bool:
    if _DIGEST.fullmatch(id_):
        return True
    return names and not (given[-1].isdigit() and id_[len(given) :][:1].isdigit())


def _ids(graph: Graph) -> Sequence[NodeId]:
    """The ids of a graph in their order; of a long text its own, not those of its pieces."""
    return graph.derived("ids", _sorted_ids)


def _sorted_ids(graph: Graph, before: Earlier[list[NodeId]] | None) -> list[NodeId]:
    start, known = (0, []) if before is None else (before.nodes, before.value)
    nodes, documents = graph.nodes, graph.documents.names
    new = zip(nodes["ids"][start:].tolist(), nodes["documents"][start:].tolist(), strict=True)
    given = sorted({id_ if document < 0 else documents[document] for id_, document in new})
    places = ((id_, bisect_left(known, id_)) for id_ in given)
    return sorted([*known, *(id_ for id_, place in places if known[place : place + 1] != [id_])])


def _split(id_: NodeId) -> tuple[NodeId, str]:
    """A digest, and the mark of a piece behind it."""
    head, mark, place = id_.rpartition("#")
    return (head, mark + place) if mark and place.isdecimal() and _DIGEST.fullmatch(head) else (id_, "")


def _shown(digest: str) -> int:
    return digest.find(":") + 1 + SHOWN


def _unique(whole: NodeId, graph: Graph) -> str:
    if not _DIGEST.fullmatch(whole):
        return whole
    known = _ids(graph)
    place = bisect_left(known, whole)
    near = (*known[max(0, place - 1) : place], *known[place : place + 2])  # the likest ids stand beside it
    shared = max((_shared(whole, other) for other in near if other != whole), default=0)
    return whole[: max(_shown(whole), shared + 1)]


def _shared(one: str, other: str) -> int:
    """How many characters two texts have in common at their beginning."""
    return next(
        (place for place, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(map(len, (one, other)))
    )
