"""Parses and checks the lines of an export: all errors in a line are found here, before any write."""

import base64
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import blake2b
from typing import Any, TypeVar

import numpy as np

from ...errors import InvalidInput, InvalidRecord
from ...model import ids
from ...model.times import parse_time
from ...model.types import (
    ENTITY_LINKS,
    Access,
    Edge,
    Episode,
    Kind,
    Link,
    Media,
    MediaKind,
    MediaVector,
    Metadata,
    Node,
    NodeId,
    Tombstone,
    ValidityEnd,
    Vector,
    parse_access_kind,
)
from ...model.validation import check_media, check_name, check_number, check_optional_name, check_question
from ...remember import documents

T = TypeVar("T")
Record = dict[str, Any]
"""One JSON object, not yet checked."""
_PLACEHOLDER_TIME = datetime(1970, 1, 1, tzinfo=UTC)
_MAX_POSITION = 2**31
_UNIT_TOLERANCE = 0.01
"""How far the length of a vector in half precision may be from 1."""
FORMAT_VERSION = 2
"""The format of exports."""


@dataclass(slots=True)
class ExportContents:
    """The items of an export in their order.

    ``line_by_node`` has the line number of each node, ``references`` the line numbers at which nodes are referred to,
    ``digest`` recognizes the same lines.
    """

    nodes: list[Node] = field(default_factory=list)
    edges: list[Edge] = field(default_factory=list)
    validity_ends: list[ValidityEnd] = field(default_factory=list)
    accesses: list[Access] = field(default_factory=list)
    tombstones: list[Tombstone] = field(default_factory=list)
    vectors: dict[NodeId, tuple[str, Vector]] = field(default_factory=dict)
    media_vectors: dict[NodeId, list[MediaVector]] = field(default_factory=dict)
    needs_full_log: bool = False
    line_by_node: dict[NodeId, int] = field(default_factory=dict)
    references: list[tuple[NodeId, int]] = field(default_factory=list)
    digest: str = ""


def parse_export(lines: Iterable[str]) -> ExportContents:
    """Check every line of an export; raises ``InvalidRecord`` with the number of the first invalid line."""
    contents, digest = ExportContents(), blake2b(digest_size=8)
    has_header = False
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        digest.update(line.strip().encode("utf-8", "surrogatepass") + b"\n")
        try:
            record = parse_object(line.removeprefix("\ufeff") if number == 1 else line)
            if has_header:
                _parse_record(record, contents, number)
            else:
                _check_version(record)
                contents.needs_full_log, has_header = record.get("needs_full_log") is True, True
        except (InvalidInput, ValueError) as error:
            raise InvalidRecord(f"line {number}: {error}") from error
    if not has_header:
        raise InvalidRecord(f'the file is empty; an export begins with a line {{"ecphora": {FORMAT_VERSION}, ...}}')
    contents.digest = digest.hexdigest()
    contents.nodes = documents.with_start_offsets(contents.nodes)
    return contents


def parse_object(line: str) -> Record:
    """Parse a line as a JSON object; raises ``InvalidRecord`` for anything else, including non-finite numbers."""
    try:
        record = json.loads(line, parse_constant=_reject_constant)
    except RecursionError as error:
        raise InvalidRecord("the JSON is nested too deeply") from error
    except ValueError as error:
        raise InvalidRecord(f"this is not JSON ({error})") from error
    if not isinstance(record, dict):
        raise InvalidRecord(f"this is a JSON {type(record).__name__}, not an object")
    return record


def _reject_constant(constant: str) -> None:
    raise InvalidRecord(f"{constant} is not a JSON number")


def _check_version(record: Record) -> None:
    """Check the header of an export: the file is one, in a format that can be read."""
    found = record.get("ecphora")
    if found is None:
        raise InvalidRecord(
            f'this is no export of a memory: one begins with a line {{"ecphora": {FORMAT_VERSION}, ...}}'
        )
    if found != FORMAT_VERSION:
        raise InvalidRecord(f"the export has format {found!r}, this version reads {FORMAT_VERSION}; upgrade ecphora")


def _parse_record(record: Record, contents: ExportContents, line_number: int) -> None:
    """Check one line after the header and add its item to the contents."""
    (name, item), *rest = record.items() or [("", None)]
    if rest or name not in _PARSERS or not isinstance(item, dict):
        raise InvalidRecord(f"a line is an object of one key, {', '.join(_PARSERS)}, and an object under it")
    _PARSERS[name](item, contents, line_number)


def _parse_node(item: Record, contents: ExportContents, line_number: int) -> None:
    fields = _FieldReader(item)
    id_, kind = fields.text("id"), Kind(fields.text("kind"))
    document = fields.optional_text("document")
    node = Node(
        id=id_,
        kind=kind,
        text=fields.text("text"),
        happened_at=fields.time("happened_at"),
        recorded_at=fields.time("recorded_at"),
        speaker=fields.optional_text("speaker"),
        session=fields.optional_text("session"),
        title=fields.optional_text("title"),
        source=fields.optional_text("source"),
        document=document,
        position=int(fields.number("position", 0.0)),
        heading=fields.optional_text("heading"),
        valid_from=fields.optional_time("valid_from"),
        valid_to=fields.optional_time("valid_to"),
        trust=fields.number("trust", 1.0),
        metadata=fields.metadata("metadata"),
        media=_parse_media(fields.objects("media")),
    )
    fields.check_no_unknown()
    prefixes = {
        Kind.ENTITY: ids.ENTITY_PREFIX,
        Kind.INSIGHT: ids.INSIGHT_PREFIX,
        Kind.QUESTION: ids.QUESTION_PREFIX,
        Kind.CLAIM: ids.CLAIM_PREFIX,
        Kind.DESCRIPTION: ids.DESCRIPTION_PREFIX,
        Kind.EXCHANGE: ids.EXCHANGE_PREFIX,
    }
    if any((kind == other) != id_.startswith(prefix) for other, prefix in prefixes.items()):
        raise InvalidRecord(f"a node of kind {kind.value!r} cannot have the id {id_!r}")
    if not 0 <= node.position < _MAX_POSITION:
        raise InvalidRecord(f"position is {node.position}; give a number from 0")
    # The checks of a caller's episode apply, except that a chunk of a long text may be blank.
    text = "." if document is not None and node.text and not node.text.strip() else node.text
    title = node.title
    if kind is Kind.EXCHANGE:
        check_question(title)  # the prompt, which may be longer than a title
        title = None
    names = (node.speaker, node.session, None, title, node.source, node.metadata, node.trust)
    episode = Episode(text, None if kind in prefixes else id_, *names, media=node.media)
    documents.check_episode(episode, _PLACEHOLDER_TIME)
    check_name("id", id_)
    check_optional_name("heading", node.heading)
    if document is not None:
        check_name("document", document)
    if id_ in contents.line_by_node:
        raise InvalidRecord(f"the node {id_!r} stood in line {contents.line_by_node[id_]} already; remove one of them")
    contents.line_by_node[id_] = line_number
    contents.nodes.append(node)


def _parse_edge(item: Record, contents: ExportContents, line_number: int) -> None:
    fields = _FieldReader(item)
    edge = Edge(
        fields.text("src"),
        fields.text("dst"),
        Link(fields.text("link")),
        fields.number("weight", 1.0),
        fields.optional_text("provenance"),
    )
    fields.check_no_unknown()
    if edge.provenance is not None:
        check_name("provenance", edge.provenance)
    if edge.link in ENTITY_LINKS and not edge.dst.startswith(ids.ENTITY_PREFIX):
        raise InvalidRecord(f"the link {edge.link.value!r} leads to {edge.dst!r}, which is no entity; remove this line")
    contents.references += [(edge.src, line_number), (edge.dst, line_number)]
    contents.edges.append(edge)


def _parse_validity_end(item: Record, contents: ExportContents, line_number: int) -> None:
    fields = _FieldReader(item)
    end = ValidityEnd(fields.text("node"), fields.time("valid_to"), fields.time("recorded_at"))
    fields.check_no_unknown()
    contents.references.append((end.node, line_number))
    contents.validity_ends.append(end)


def _parse_access(item: Record, contents: ExportContents, line_number: int) -> None:
    fields = _FieldReader(item)
    access = Access(
        fields.text("node"), fields.time("at"), parse_access_kind(fields.text("kind")), fields.number("strength", 1.0),
        count=int(fields.number("count", 0.0)),
    )  # fmt: skip
    fields.check_no_unknown()
    if not 0 <= access.count < _MAX_POSITION:
        raise InvalidRecord(f"count is {access.count}; give a number from 0")
    contents.references.append((access.node, line_number))
    contents.accesses.append(access)


def _parse_tombstone(item: Record, contents: ExportContents, _: int) -> None:
    fields = _FieldReader(item)
    tombstone = Tombstone(check_name("node", fields.text("node")), bytes.fromhex(fields.text("digest")))
    fields.check_no_unknown()
    contents.tombstones.append(tombstone)


def _parse_vector(item: Record, contents: ExportContents, line_number: int) -> None:
    fields = _FieldReader(item)
    node, model, value = fields.text("node"), fields.text("model"), fields.text("value")
    fields.check_no_unknown()
    vector = np.frombuffer(base64.b64decode(value, validate=True), "<f2").astype(np.float32)
    if not len(vector) or not np.isfinite(vector).all():
        raise InvalidRecord(f"the vector of {node!r} is empty, or holds numbers that are not finite")
    contents.references.append((node, line_number))
    contents.vectors[node] = model, vector


def _parse_media(items: Sequence[Record]) -> tuple[Media, ...]:
    found = []
    for item in items:
        fields = _FieldReader(item)
        kind, caption = fields.optional_text("kind") or MediaKind.PICTURE, fields.optional_text("caption") or ""
        found.append(Media(fields.text("reference"), kind, caption))
        fields.check_no_unknown()
    return check_media(found)


def _parse_media_vector(item: Record, contents: ExportContents, line_number: int) -> None:
    fields = _FieldReader(item)
    node, position = fields.text("node"), int(fields.number("position", 0.0))
    model, value = check_name("model", fields.text("model")), fields.text("value")
    fields.check_no_unknown()
    vector = np.frombuffer(base64.b64decode(value, validate=True), "<f2").astype(np.float32)
    if not abs(float(np.linalg.norm(vector)) - 1) <= _UNIT_TOLERANCE:  # also for numbers that are not finite
        raise InvalidRecord(f"the vector of a medium of {node!r} does not have the length 1")
    if not 0 <= position < _MAX_POSITION:
        raise InvalidRecord(f"position is {position}; give a number from 0")
    contents.references.append((node, line_number))
    contents.media_vectors.setdefault(node, []).append(MediaVector(node, position, model, vector))


_PARSERS: Mapping[str, Callable[[Record, ExportContents, int], None]] = {
    "node": _parse_node,
    "edge": _parse_edge,
    "validity_end": _parse_validity_end,
    "access": _parse_access,
    "tombstone": _parse_tombstone,
    "vector": _parse_vector,
    "media_vector": _parse_media_vector,
}


class _FieldReader:
    """Reads the fields of one object one by one; fields that were not read are unknown."""

    def __init__(self, item: Record) -> None:
        self._unread = dict(item)

    def text(self, name: str) -> str:
        return self._check_type(name, str, self._unread.pop(name, None))

    def optional_text(self, name: str) -> str | None:
        value = self._unread.pop(name, None)
        return None if value is None else self._check_type(name, str, value)

    def time(self, name: str) -> datetime:
        return parse_time(self.text(name))

    def optional_time(self, name: str) -> datetime | None:
        text = self.optional_text(name)
        return None if text is None else parse_time(text)

    def number(self, name: str, default: float) -> float:
        return check_number(name, self._unread.pop(name, default))

    def metadata(self, name: str) -> Metadata:
        value: Metadata = self._check_type(name, dict, self._unread.pop(name, {}))
        return value

    def objects(self, name: str) -> list[Record]:
        items: list[Any] = self._check_type(name, list, self._unread.pop(name, []))
        return [self._check_type(name, dict, item) for item in items]

    def check_no_unknown(self) -> None:
        if self._unread:
            raise InvalidRecord(f"{', '.join(map(repr, self._unread))}: there is no such field")

    def _check_type(self, name: str, kind: type[T], value: object) -> T:
        if not isinstance(value, kind):
            problem = "is missing" if value is None else f"is {str(value)[:60]!r}, which has the wrong type"
            raise InvalidRecord(f"{name} {problem}")
        return value
