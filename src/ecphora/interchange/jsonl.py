"""A scope as JSON Lines and back, nothing lost. Words are read anew on the way in, missing vectors made anew.

The first line is a header; then one line each for nodes in their order, edges, ends of validity, accesses, what was
forgotten on purpose, and, if asked for, vectors. Fields at their default are left out. Numbers given out by a store
(``seq``, revisions) stay behind: the order of the lines says the same, and that of its pieces where in a text each
begins; the count of an access, ``nth``, goes along.
Ends stand in the order of their nodes.

An import commits portion by portion, each whole (:mod:`.portions`): broken off at any instant, what is there is sound,
and the same import goes on from there.
"""

import base64
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields, replace
from datetime import datetime
from itertools import chain
from typing import Any, TextIO, TypeVar

from .. import encode
from ..errors import EmbedderMismatch, IdCollision, InvalidRecord, StaleChange, StoreBusy, WrongVector
from ..model import (
    MENTIONING,
    TELLING,
    UNEMBEDDED,
    UNREAD,
    Access,
    Change,
    Count,
    Edge,
    Forgotten,
    Kind,
    Node,
    NodeId,
    Superseded,
    Touch,
    Vector,
)
from ..ports import Embedder, Progress, Store
from ..visible import spelled_out
from .portions import Portion, portions
from .records import Contents, parsed

VERSION = 1
BATCH = 512
"""Nodes committed together, with their vectors, edges and ends; more where fewer would not be whole."""
LOGGED = 20_000
"""Accesses committed together."""
TRIES = 20
"""How often an import is planned anew because another process changed the scope meanwhile."""

T = TypeVar("T")


def write(store: Store, scope: str, out: TextIO, *, now: datetime, vectors: bool = False) -> Count:
    """Write a scope to a text file; ``now`` is the time of the export."""
    change = store.changes(scope, 0)
    places = {node.id: place for place, node in enumerate(change.nodes)}
    ends = sorted(change.superseded, key=lambda end: places[end.node])  # those of one node keep their order
    forgotten = sorted({(gone.node, gone.digest) for gone in change.forgotten})
    embedded = [node.id for node in change.nodes if node.id in change.vectors] if vectors else []
    header = {
        "ecphora": VERSION,
        "scope": scope,
        "embedder": change.embedder,
        "exported_at": now.isoformat(),
        "revision": change.revision,
        "vectors": vectors,
        **({"whole_log": True} if change.whole_log else {}),
    }
    records: Iterable[Mapping[str, Any]] = chain(
        [header],
        ({"node": _plain(node, "seq", "start")} for node in change.nodes),
        ({"edge": _plain(edge)} for edge in change.edges),
        ({"superseded": _plain(end)} for end in ends),
        ({"access": _plain(access, "seq")} for access in change.accesses),
        ({"forgotten": {"node": node, "digest": digest.hex()}} for node, digest in forgotten),
        (
            {"vector": {"node": id_, "model": change.embedder, "value": _base64(change.vectors[id_])}}
            for id_ in embedded
        ),
    )
    out.writelines(_line(record) for record in records)
    return Count(
        nodes=len(change.nodes),
        edges=len(change.edges),
        superseded=len(change.superseded),
        accesses=len(change.accesses),
        forgotten=len(forgotten),
        vectors=len(embedded),
    )


def read(
    lines: Iterable[str],
    store: Store,
    scope: str,
    embedder: Embedder,
    *,
    restore: bool = False,
    progress: Progress | None = None,
) -> Count:
    """Read an export into a scope, which may hold memories already.

    Everything is checked before the first write. What stands there already is left as it is, so that importing twice,
    or again after an interruption, is harmless. What was forgotten there on purpose stays so, unless ``restore`` is
    set; what the file calls forgotten does not come back later either, but no memory that is there is erased.

    Raises ``InvalidRecord`` with the number of a line that cannot be read, ``IdCollision`` for an id that stands for
    something else there, and ``EmbedderMismatch`` if the scope is of another embedder.
    """
    contents = parsed(lines, VERSION)
    done = Count()
    for _ in range(TRIES):
        plan = _planned(contents, store.changes(scope, 0), scope, embedder, restore=restore)
        known = plan.known - done.nodes
        try:
            for change in _changes(plan, embedder, progress):
                written = store.commit(scope, change)
                done = _added(done, written)
        except StaleChange:
            continue  # another process was quicker: what is left to do has changed
        return replace(done, known=known, refused=plan.refused, notices=plan.notices)
    raise StoreBusy(f"other processes changed scope {scope!r} {TRIES} times meanwhile; import again")


@dataclass(frozen=True, slots=True)
class _Plan:
    """What is still to be written, in order, and what is not."""

    portions: Sequence[Portion] = ()
    vectors: Mapping[NodeId, Vector] = field(default_factory=dict)
    accesses: Sequence[Access] = ()
    whole_log: bool = False
    returned: Mapping[NodeId, Sequence[Forgotten]] = field(default_factory=dict)
    """What was forgotten once and came back, by the node that came back: to be written together."""
    forgotten: Sequence[Forgotten] = ()
    known: int = 0
    refused: int = 0
    notices: tuple[str, ...] = ()


def _planned(contents: Contents, there: Change, scope: str, embedder: Embedder, *, restore: bool) -> _Plan:
    """Compare a file with what a scope holds; raises before anything is written."""
    if there.embedder is not None and there.embedder != embedder.name:
        raise EmbedderMismatch(
            f"scope {scope!r} was embedded by {there.embedder!r}, the import would use {embedder.name!r}; "
            "import with the first, or into another scope"
        )
    stored = {node.id: node for node in there.nodes}
    _check_collisions(contents, stored)
    _check_ends(contents, stored)
    barred: set[NodeId | bytes] = {gone.node for gone in there.forgotten}
    barred |= {gone.digest for gone in there.forgotten}
    missing = [node for node in contents.nodes if node.id not in stored]
    refused = set() if restore else {node.id for node in missing if _is_barred(node, barred)}
    kept = _kept(contents, missing, refused)
    here = stored.keys() | {node.id for node in kept}
    vectors, notices = _usable(contents, kept, embedder)
    returned, forgotten, alive = _forgotten(contents, there, kept, stored)
    if alive:
        notices += (f"{alive} memories that the file calls forgotten are here and stay; erase them with forget",)
    edges = [edge for edge in contents.edges if {edge.src, edge.dst, edge.evidence or edge.src} <= here]
    ends = [end for end in contents.superseded if end.node in here]
    return _Plan(
        portions=portions(kept, _beyond(edges, there.edges), _beyond(ends, there.superseded), BATCH),
        vectors=vectors,
        accesses=_unlogged([access for access in contents.accesses if access.node in here], there.accesses),
        whole_log=contents.whole_log,
        returned=returned,
        forgotten=forgotten,
        known=sum(1 for node in contents.nodes if node.id in stored),
        refused=len(refused),
        notices=notices,
    )  # fmt: skip


def _check_collisions(contents: Contents, stored: Mapping[NodeId, Node]) -> None:
    """Raise ``IdCollision`` for the first id that stands for one thing in the file and for another in the scope."""
    documents = {node.document for node in stored.values() if node.document is not None}
    pieces = {node.document: set[NodeId]() for node in contents.nodes if node.document is not None}
    for node in contents.nodes:
        if node.document is not None:
            pieces[node.document].add(node.id)
    for node in contents.nodes:
        other = stored.get(node.id)
        clash = (
            node.id in documents
            or (node.document is not None and node.document in stored)
            or (other is not None and not _same(node, other))
        )
        if clash:
            raise _collision(node.id, contents.lines[node.id])
    for other in stored.values():
        if other.document in pieces and other.id not in pieces[other.document]:
            raise _collision(other.document, contents.lines[min(pieces[other.document])])


def _collision(id_: NodeId | None, line: int) -> IdCollision:
    return IdCollision(
        f"line {line}: the id {id_!r} already stands for another memory; import into another scope, "
        "or forget the one that is there"
    )


def _same(one: Node, other: Node) -> bool:
    """Whether two nodes of one id are the same memory; a name is, however it was written and whenever first read."""
    if Kind.ENTITY in {one.kind, other.kind}:
        return one.kind == other.kind
    compared = ("kind", "text", "speaker", "session", "title", "source", "happened_at", "document", "position")
    return all(getattr(one, name) == getattr(other, name) for name in compared)


def _check_ends(contents: Contents, stored: Mapping[NodeId, Node]) -> None:
    """Raise ``InvalidRecord`` for the first line that speaks of a node that is in neither the file nor the scope."""
    for node, line in contents.mentioned:
        if node not in contents.lines and node not in stored:
            raise InvalidRecord(f"line {line}: no node {node!r} is in this file or in the scope it goes to")


def _is_barred(node: Node, barred: set[NodeId | bytes]) -> bool:
    return node.kind != Kind.ENTITY and (node.id in barred or encode.digest_of(node) in barred)


def _kept(contents: Contents, missing: Sequence[Node], refused: set[NodeId]) -> Sequence[Node]:
    """The nodes to write: without what tells of refused memories, and without the names that only these mention."""
    tellers: dict[NodeId, list[NodeId]] = {}
    for edge in contents.edges:
        if edge.link in TELLING.values():
            tellers.setdefault(edge.dst, []).append(edge.src)
    lost, telling = set(refused), list(refused)
    while telling:  # of insights upon insights, all
        telling = [teller for one in telling for teller in tellers.get(one, ()) if teller not in lost]
        lost.update(telling)
    mentions = [edge for edge in contents.edges if edge.link in MENTIONING]
    stay = [edge.src not in lost and edge.evidence not in lost for edge in mentions]
    lost |= {edge.dst for edge in mentions} - {edge.dst for edge, stays in zip(mentions, stay, strict=True) if stays}
    return [node for node in missing if node.id not in lost]


def _usable(
    contents: Contents, kept: Sequence[Node], embedder: Embedder
) -> tuple[Mapping[NodeId, Vector], tuple[str, ...]]:
    """The file's vectors of the nodes to write that are of the embedder, and what is to be said of the others."""
    wanted = {node.id for node in kept}
    of_model = {id_: vector for id_, (model, vector) in contents.vectors.items() if model == embedder.name}
    others = len(contents.vectors) - len(of_model)
    found = {id_: vector for id_, vector in of_model.items() if id_ in wanted}
    for id_, vector in found.items():
        if vector.shape != (embedder.dim,):
            raise WrongVector(
                f"the vector of {id_!r} has {len(vector)} numbers, {embedder.name!r} makes {embedder.dim}"
            )
    if not others:
        return found, ()
    return found, (f"{others} vectors of another model than {embedder.name!r} were left aside and made anew",)


def _forgotten(
    contents: Contents, there: Change, kept: Sequence[Node], stored: Mapping[NodeId, Node]
) -> tuple[Mapping[NodeId, Sequence[Forgotten]], Sequence[Forgotten], int]:
    """What the file says was forgotten: what came back since, what did not, and how many are alive in the scope."""
    known = set(there.forgotten)
    fresh = [gone for gone in dict.fromkeys(contents.forgotten) if gone not in known]
    alive = {gone for gone in fresh if gone.node in stored}
    back: dict[NodeId | bytes, NodeId] = {}
    for node in kept:
        back.setdefault(node.id, node.id)
        back.setdefault(encode.digest_of(node), node.id)
    returned: dict[NodeId, list[Forgotten]] = {}
    gone_for_good = []
    for gone in fresh:
        again = back.get(gone.node) or back.get(gone.digest)
        if gone in alive:
            continue
        if again is not None:
            returned.setdefault(again, []).append(gone)
        else:
            gone_for_good.append(gone)
    in_file = contents.lines.keys()  # restored where the file comes from: nothing to say of those
    return returned, gone_for_good, sum(1 for gone in alive if gone.node not in in_file)


def _changes(plan: _Plan, embedder: Embedder, progress: Progress | None) -> Iterator[Change]:
    """What is planned, as changes: what was forgotten with the first portion, accesses from the last one on."""
    done, total = 0, sum(len(portion.nodes) for portion in plan.portions)
    accesses = [plan.accesses[start : start + LOGGED] for start in range(0, len(plan.accesses), LOGGED)]
    for number, portion in enumerate(plan.portions, 1):
        back = [gone for node in portion.nodes for gone in plan.returned.get(node.id, ())]
        last = number == len(plan.portions)
        change = replace(
            _change(portion, plan.vectors, embedder),
            forgotten=(*(plan.forgotten if number == 1 else ()), *back),
            accesses=tuple(accesses.pop(0) if last and accesses else ()),
            whole_log=plan.whole_log and last,
        )
        if change != Change():
            yield change
        done += len(portion.nodes)
        if progress is not None and portion.nodes:
            progress(done, total)
    for part in accesses:
        yield Change(accesses=tuple(part), whole_log=plan.whole_log)


def _change(portion: Portion, known: Mapping[NodeId, Vector], embedder: Embedder) -> Change:
    """A portion with its readings and vectors; those that are not known are made."""
    embedded = [node for node in portion.nodes if node.kind not in UNEMBEDDED]
    made = encode.embedded(embedder, [node for node in embedded if node.id not in known])
    vectors = {node.id: known[node.id] if node.id in known else made[node.id] for node in embedded}
    return Change(
        nodes=tuple(portion.nodes),
        readings={node.id: encode.read(node) for node in portion.nodes if node.kind not in UNREAD},
        vectors=vectors,
        edges=tuple(portion.edges),
        superseded=tuple(portion.superseded),
        embedder=embedder.name if vectors else None,
    )


def _added(count: Count, written: Change) -> Count:
    return replace(
        count,
        nodes=count.nodes + len(written.nodes),
        edges=count.edges + len(written.edges),
        superseded=count.superseded + len(written.superseded),
        accesses=count.accesses + len(written.accesses),
        forgotten=count.forgotten + len(written.forgotten),
        vectors=count.vectors + len(written.vectors),
    )


def _beyond(items: Sequence[T], there: Iterable[T]) -> Sequence[T]:
    """The items that are not there yet, each as often as it is missing."""
    left = Counter(there)
    missing = []
    for item in items:
        if left[item] > 0:
            left[item] -= 1
        else:
            missing.append(item)
    return missing


def _unlogged(accesses: Sequence[Access], there: Sequence[Access]) -> Sequence[Access]:
    """The accesses that are not there yet, each as often as it is missing, and have not expired there."""
    left = Counter(_unnumbered(access) for access in there)
    oldest: dict[tuple[NodeId, Touch], Access] = {}
    for access in there:
        oldest.setdefault((access.node, access.touch), access)
    missing = []
    for access in accesses:
        known = oldest.get((access.node, access.touch))
        if left[_unnumbered(access)] > 0:
            left[_unnumbered(access)] -= 1
        elif known is None or access.at > known.at or known.nth == 1 + (known.touch == Touch.ENCODED):
            missing.append(access)
    return missing


def _unnumbered(access: Access) -> Access:
    return replace(access, seq=0, nth=0)


def _line(record: Mapping[str, Any]) -> str:
    # What is not seen is escaped: it may steer a terminal, or be taken for a line end.
    return spelled_out(json.dumps(record, ensure_ascii=False, separators=(",", ":"))) + "\n"


_WRITTEN: Mapping[type, Callable[[Any], Any]] = {datetime: datetime.isoformat}


def _plain(item: Node | Edge | Superseded | Access, *left_out: str) -> Mapping[str, Any]:
    """An item's fields as JSON values, without those at their default."""
    plain: dict[str, Any] = {}
    for each in fields(item):
        value = getattr(item, each.name)
        default = each.default if each.default_factory is MISSING else each.default_factory()
        if each.name not in left_out and (default is MISSING or value != default):
            plain[each.name] = _WRITTEN.get(type(value), lambda same: same)(value)
    return plain


def _base64(vector: Vector) -> str:
    return base64.b64encode(vector.astype("<f2").tobytes()).decode("ascii")
