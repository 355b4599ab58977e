"""The lines of an export as checked items: everything that can be wrong with a line is found here, before any write."""

import base64
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, TypeVar

import numpy as np

from .. import encode
from ..errors import InvalidInput, InvalidRecord
from ..language.moments import moment
from ..model import (
    Access,
    Edge,
    Episode,
    Forgotten,
    Kind,
    Link,
    Metadata,
    Node,
    NodeId,
    Superseded,
    Touch,
    Vector,
)
from ..stages.matter import CLAIM
from ..validate import check_name, check_number, check_optional_name

T = TypeVar("T")
Record = dict[str, Any]
"""One JSON object, not yet checked."""
_LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)
_POSITIONS = 2**31


@dataclass(slots=True)
class Contents:
    """A file's items in their order; ``lines`` says where each node stands, ``mentioned`` where nodes are spoken of."""

    nodes: list[Node] = field(default_factory=list)
    edges: list[Edge] = field(default_factory=list)
    superseded: list[Superseded] = field(default_factory=list)
    accesses: list[Access] = field(default_factory=list)
    forgotten: list[Forgotten] = field(default_factory=list)
    vectors: dict[NodeId, tuple[str, Vector]] = field(default_factory=dict)
    whole_log: bool = False
    lines: dict[NodeId, int] = field(default_factory=dict)
    mentioned: list[tuple[NodeId, int]] = field(default_factory=list)


def parsed(lines: Iterable[str], version: int) -> Contents:
    """Check every line of an export; raises ``InvalidRecord`` with the number of the first that cannot be read."""
    contents = Contents()
    headed = False
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            record = json_object(line.removeprefix("\ufeff") if number == 1 else line)
            if headed:
                _take(record, contents, number)
            else:
                _check_header(record, version)
                contents.whole_log = record.get("whole_log") is True
                headed = True
        except (InvalidInput, ValueError) as error:
            raise InvalidRecord(f"line {number}: {error}") from error
    if not headed:
        raise InvalidRecord('the file is empty; an export begins with a line {"ecphora": 1, ...}')
    contents.nodes = encode.with_starts(contents.nodes)
    return contents


def json_object(line: str) -> Record:
    """One line as a JSON object; raises ``InvalidRecord`` for anything else, numbers that are not finite included."""
    try:
        record = json.loads(line, parse_constant=_refused)
    except RecursionError as error:
        raise InvalidRecord("the JSON is nested too deeply") from error
    except ValueError as error:
        raise InvalidRecord(f"this is no JSON ({error})") from error
    if not isinstance(record, dict):
        raise InvalidRecord(f"this is a JSON {type(record).__name__}, not an object")
    return record


def _refused(constant: str) -> None:
    raise InvalidRecord(f"{constant} is no number that JSON knows")


def _check_header(record: Record, version: int) -> None:
    found = record.get("ecphora")
    if found is None:
        raise InvalidRecord('this is no export of a memory: it would begin with a line {"ecphora": 1, ...}')
    if found != version or isinstance(found, bool):
        raise InvalidRecord(f"the export has format {found!r}, this version reads {version}; upgrade ecphora")


def _take(record: Record, contents: Contents, number: int) -> None:
    """Check one line after the header and put it where it belongs."""
    (name, item), *rest = record.items() or [("", None)]
    if rest or name not in _TAKERS or not isinstance(item, dict):
        raise InvalidRecord(f"a line is an object of one key, {', '.join(_TAKERS)}, and an object under it")
    _TAKERS[name](item, contents, number)


def _node(item: Record, contents: Contents, number: int) -> None:
    taken = _Fields(item)
    id_, kind = taken.text("id"), Kind(taken.text("kind"))
    document = taken.maybe_text("document")
    node = Node(
        id=id_,
        kind=kind,
        text=taken.text("text"),
        happened_at=taken.time("happened_at"),
        recorded_at=taken.time("recorded_at"),
        speaker=taken.maybe_text("speaker"),
        session=taken.maybe_text("session"),
        title=taken.maybe_text("title"),
        source=taken.maybe_text("source"),
        document=document,
        position=int(taken.number("position", 0.0)),
        heading=taken.maybe_text("heading"),
        valid_from=taken.maybe_time("valid_from"),
        valid_to=taken.maybe_time("valid_to"),
        trust=taken.number("trust", 1.0),
        metadata=taken.metadata("metadata"),
    )
    taken.finish()
    made = {
        Kind.ENTITY: encode.ENTITY,
        Kind.INSIGHT: encode.INSIGHT,
        Kind.QUESTION: encode.QUESTION,
        Kind.CLAIM: CLAIM,
    }
    if any((kind == one) != id_.startswith(prefix) for one, prefix in made.items()):
        raise InvalidRecord(f"a node of kind {kind.value!r} cannot have the id {id_!r}")
    if not 0 <= node.position < _POSITIONS:
        raise InvalidRecord(f"position is {node.position}; give a number from 0")
    # What holds for an episode handed in by a caller holds here; a piece of a long text may be blank.
    text = "." if document is not None and node.text and not node.text.strip() else node.text
    names = (node.speaker, node.session, None, node.title, node.source, node.metadata, node.trust)
    encode.draft(Episode(text, None if kind in made else id_, *names), _LONG_AGO)
    check_name("id", id_)
    check_optional_name("heading", node.heading)
    if document is not None:
        check_name("document", document)
    if id_ in contents.lines:
        raise InvalidRecord(f"the node {id_!r} stood in line {contents.lines[id_]} already")
    contents.lines[id_] = number
    contents.nodes.append(node)


def _edge(item: Record, contents: Contents, number: int) -> None:
    taken = _Fields(item)
    edge = Edge(
        taken.text("src"),
        taken.text("dst"),
        Link(taken.text("link")),
        taken.number("weight", 1.0),
        taken.maybe_text("evidence"),
    )
    taken.finish()
    if edge.evidence is not None:
        check_name("evidence", edge.evidence)
    contents.mentioned += [(edge.src, number), (edge.dst, number)]
    contents.edges.append(edge)


def _superseded(item: Record, contents: Contents, number: int) -> None:
    taken = _Fields(item)
    end = Superseded(taken.text("node"), taken.time("valid_to"), taken.time("recorded_at"))
    taken.finish()
    contents.mentioned.append((end.node, number))
    contents.superseded.append(end)


def _access(item: Record, contents: Contents, number: int) -> None:
    taken = _Fields(item)
    access = Access(
        taken.text("node"), taken.time("at"), Touch(taken.text("touch")), taken.number("strength", 1.0),
        nth=int(taken.number("nth", 0.0)),
    )  # fmt: skip
    taken.finish()
    if not 0 <= access.nth < _POSITIONS:
        raise InvalidRecord(f"nth is {access.nth}; give a number from 0")
    contents.mentioned.append((access.node, number))
    contents.accesses.append(access)


def _forgotten(item: Record, contents: Contents, _: int) -> None:
    taken = _Fields(item)
    gone = Forgotten(check_name("node", taken.text("node")), bytes.fromhex(taken.text("digest")))
    taken.finish()
    contents.forgotten.append(gone)


def _vector(item: Record, contents: Contents, number: int) -> None:
    taken = _Fields(item)
    node, model, value = taken.text("node"), taken.text("model"), taken.text("value")
    taken.finish()
    vector = np.frombuffer(base64.b64decode(value, validate=True), "<f2").astype(np.float32)
    if not len(vector) or not np.isfinite(vector).all():
        raise InvalidRecord(f"the vector of {node!r} is empty, or holds numbers that are not finite")
    contents.mentioned.append((node, number))
    contents.vectors[node] = model, vector


_TAKERS: Mapping[str, Callable[[Record, Contents, int], None]] = {
    "node": _node,
    "edge": _edge,
    "superseded": _superseded,
    "access": _access,
    "forgotten": _forgotten,
    "vector": _vector,
}


class _Fields:
    """The fields of one object, taken one by one; what is left at the end is one field too many."""

    def __init__(self, item: Record) -> None:
        self._left = dict(item)

    def text(self, name: str) -> str:
        return self._given(name, str, self._left.pop(name, None))

    def maybe_text(self, name: str) -> str | None:
        value = self._left.pop(name, None)
        return None if value is None else self._given(name, str, value)

    def time(self, name: str) -> datetime:
        return moment(self.text(name))

    def maybe_time(self, name: str) -> datetime | None:
        text = self.maybe_text(name)
        return None if text is None else moment(text)

    def number(self, name: str, default: float) -> float:
        return check_number(name, self._left.pop(name, default))

    def metadata(self, name: str) -> Metadata:
        value: Metadata = self._given(name, dict, self._left.pop(name, {}))
        return value

    def finish(self) -> None:
        if self._left:
            raise InvalidRecord(f"{', '.join(map(repr, self._left))}: there is no such field")

    def _given(self, name: str, kind: type[T], value: object) -> T:
        if not isinstance(value, kind):
            wrong = "is missing" if value is None else f"is {str(value)[:60]!r}, of another type than it should be"
            raise InvalidRecord(f"{name} {wrong}")
        return value
