"""Ids as people read and type them: the beginning of an id stands for the whole where no other begins so.

An id that Ecphora made, or a UUID, is a digest: any four characters or more of its beginning will do, as in git. A name
that somebody gave means something, and its numbers are never cut: ``msg-1`` is not ``msg-10``.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping

from .errors import InvalidInput
from .graph import Graph
from .model import NodeId

SHORTEST = 4
"""Characters of the shortest beginning that stands for an id."""
SHOWN = 8
"""Characters of a digest that are shown, where they are enough."""
CANDIDATES = 10
"""Ids that an error lists."""
_DIGEST = re.compile(r"([a-z]+:)?(?:[0-9a-f]{16}|[0-9a-f]{32}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})")


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
    wholes = {id_: _split(id_) for id_ in ids}
    starts = {whole[: _shown(whole)] for whole, _ in wholes.values() if _DIGEST.fullmatch(whole)}
    lengths = {len(start) for start in starts}
    near = {other for other in _ids(graph) if any(other[:length] in starts for length in lengths)}
    return {id_: _unique(whole, near) + piece for id_, (whole, piece) in wholes.items()}


def _stands_for(given: str, id_: str, *, names: bool) -> bool:
    if _DIGEST.fullmatch(id_):
        return True
    return names and not (given[-1].isdigit() and id_[len(given) :][:1].isdigit())


def _ids(graph: Graph) -> Iterator[NodeId]:
    """The ids of a graph; of a long text its own, not those of its pieces."""
    documents = graph.documents.names
    for id_, document in zip(graph.nodes["ids"].tolist(), graph.nodes["documents"].tolist(), strict=True):
        yield id_ if document < 0 else documents[document]


def _split(id_: NodeId) -> tuple[NodeId, str]:
    """A digest, and the mark of a piece behind it."""
    head, mark, place = id_.rpartition("#")
    return (head, mark + place) if mark and place.isdecimal() and _DIGEST.fullmatch(head) else (id_, "")


def _shown(digest: str) -> int:
    return digest.find(":") + 1 + SHOWN


def _unique(whole: str, near: Iterable[str]) -> str:
    if not _DIGEST.fullmatch(whole):
        return whole
    shared = max((_shared(whole, other) for other in near if other != whole), default=0)
    return whole[: max(_shown(whole), shared + 1)]


def _shared(one: str, other: str) -> int:
    """How many characters two texts have in common at their beginning."""
    return next(
        (place for place, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(map(len, (one, other)))
    )
