"""Reads and writes bundles of the Open Knowledge Format 0.2: a folder of Markdown files with YAML frontmatter.

A memory is written as a concept of the type "Memory", in a file of its own. The keys of OKF say what they can:
``sources``, ``generated``, ``status`` and ``stale_after``. The other keys are the fields of a memory, and
``metadata`` is its metadata. Such a file gives exactly that memory again; any other concept becomes a memory of its
own, with the rest of its frontmatter as metadata.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ....errors import InvalidInput
from ....model.ids import content_id
from ....model.ports import Progress, Store
from ....model.reprs import show
from ....model.times import parse_time
from ....model.types import Episode, Kind, Link, Media, Node, NodeId, Omission, TransferResult, WriteBatch
from ....remember.documents import reassemble
from ..files.folders import SourceFile, open_folder, read_text
from ..files.progress import ProgressMeter
from ..imported_episodes import UNREADABLE_TIME, Entry, as_metadata, build_episode, episode_or_omission
from ..supersession import Successor, predecessors_first
from .frontmatter import BAD_FRONTMATTER, dump_frontmatter, load_frontmatter, split_frontmatter

NAME = "okf"
OKF_VERSION = "0.2"
TYPE = "Memory"
RESERVED = frozenset({"index.md", "log.md"})
NO_TYPE = "a concept without a type"
MORE_PREDECESSORS = "a second memory that the same one supersedes"
TRUST_BY_TIER: Mapping[str, float] = {"human-reviewed": 1.0, "machine-confirmed": 0.8, "unverified": 0.6}
"""The trust of concepts by their trust tier; a memory supersedes none of a higher tier."""
PRODUCER = "ecphora/1"
"""Who generated a file, with the version of the keys in it; a file of another producer is read as any concept."""
_LINK = re.compile(r"\]\(([^)\s:]+\.md)(?:#[^)\s]*)?\)")
_TYPE_LINE = re.compile(rb"^type[ \t]*:[ \t]*\S", re.MULTILINE)
_MAX_STARTS = 20
"""The concepts of a bundle without an index that are looked at to recognize it."""
_MAX_SLUG_CHARS = 40
_MAX_TITLE_CHARS = 80


class OkfImporter:
    """Concepts as memories. ``status``, ``stale_after`` and ``verified`` are kept, and give a memory its trust."""

    name = NAME
    title = "Open Knowledge Format (OKF), a folder of Markdown files or its archive; Ecphora exports such a folder"
    fields = {  # noqa: RUF012  # the port asks for a mapping
        "title": "title, or the name of the file", "happened_at": "happened_at, generated.at or timestamp",
        "speaker": "speaker, or the person in generated.by", "session": "session", "source": "source",
    }  # fmt: skip

    def matches(self, path: str, /) -> bool:
        """Whether it is a folder whose index names the version, or whose first files are all concepts."""
        try:
            if (Path(path) / ".obsidian").exists():
                return False
            starts = list[bytes]()
            with open_folder(path, (".md",)) as found:
                for one in found:
                    if not isinstance(one, SourceFile):
                        continue
                    if one.place == "index.md" and b"okf_version" in _start(one):
                        return True
                    if _is_concept(one) and len(starts) < _MAX_STARTS:
                        starts.append(_start(one))
                    elif "/" in one.place and len(starts) == _MAX_STARTS:
                        break
            return bool(starts) and all(one.startswith(b"---") and _TYPE_LINE.search(one) for one in starts)
        except (InvalidInput, OSError, ValueError):
            return False

    def read(self, path: str, /, *, progress: Progress | None = None) -> Iterator[Episode | Omission]:
        """Yield the concepts, each behind the one that it supersedes."""
        return predecessors_first(_read_bundle(path, progress))


def _start(file: SourceFile) -> bytes:
    with file.open() as data:
        return data.read(4_096)


def _is_concept(file: SourceFile) -> bool:
    return file.place.rpartition("/")[2] not in RESERVED


# ---- reading


def _read_bundle(path: str, progress: Progress | None) -> Iterator[Successor | Omission]:
    with open_folder(path, (".md",)) as listing:
        found = list(listing)
        files = [one for one in found if isinstance(one, SourceFile) and _is_concept(one)]
        meter = ProgressMeter(progress, sum(file.size for file in files))
        yield from (one for one in found if isinstance(one, Omission))
        count = 0
        for file in files:
            text = read_text(file)
            items = list(_read_concept(file, text)) if isinstance(text, str) else [text]
            count += any(one != Omission(NO_TYPE, file.place) for one in items)
            if not count and file is files[-1]:
                break
            yield from items
            meter.advance(file.size)
        if not count:
            raise InvalidInput(f"{show(path)} has no concept: no Markdown file with a type in its frontmatter")
        meter.finish()


def _read_concept(file: SourceFile, text: str) -> Iterator[Successor | Omission]:
    source, body = split_frontmatter(text)
    header = load_frontmatter(source) if source is not None else {}
    if header is None:
        yield Omission(BAD_FRONTMATTER, file.place)
        return
    if not header.get("type"):
        yield Omission(NO_TYPE, file.place)
        return
    generated = header.get("generated")
    by = generated.get("by") if isinstance(generated, dict) else None
    is_own = header["type"] == TYPE and by == PRODUCER
    items = _own_memory(header, body, file.place) if is_own else _foreign_memory(header, body, file.place)
    predecessors = header.get("supersedes")
    names = predecessors if isinstance(predecessors, list) else [] if predecessors is None else [predecessors]
    keys = [_concept_key(one, file.place) for one in names if isinstance(one, str)]
    own_id = header.get("id")
    for item in items:
        if isinstance(item, Omission):
            yield item
        else:
            key = own_id if isinstance(own_id, str) else _concept_key(file.place, "")
            yield Successor(key, item, keys[0] if keys else None, file.place)
            yield from (Omission(MORE_PREDECESSORS, file.place) for _ in keys[1:])


def _concept_key(name: str, place: str) -> str:
    """What a concept is known by: its id, or the path of its file in the bundle, without ``.md``."""
    if not name.endswith(".md"):
        return name
    folder = [] if name.startswith("/") else place.split("/")[:-1]
    parts = list[str]()
    for part in [*folder, *name.split("/")]:
        if part == "..":
            parts = parts[:-1]
        elif part not in {"", "."}:
            parts.append(part)
    return "/".join(parts).removesuffix(".md")


def _own_memory(header: Mapping[str, Any], body: str, place: str) -> Iterator[Episode | Omission]:
    """The memory of a file that Ecphora wrote."""
    try:
        time = parse_time(header.get("happened_at"))
    except InvalidInput:
        time = None
        yield Omission(UNREADABLE_TIME, place)
    trust, metadata = header.get("trust", 1.0), header.get("metadata")
    yield episode_or_omission(
        Episode(
            text=_unwrap(body),
            **{name: header.get(name) for name in ("id", "speaker", "session", "source")},
            title=header.get("title") if header.get("has_title", True) else None,
            happened_at=time,
            metadata=as_metadata(metadata) if isinstance(metadata, dict) else {},
            trust=float(trust) if isinstance(trust, int | float) and 0 <= trust <= 1 else 0.0,
            media=tuple(_read_media(header.get("media"))),
        ),
        place,
    )


def _read_media(value: object) -> Iterator[Media]:
    for one in value if isinstance(value, list) else ():
        if isinstance(one, dict) and isinstance(one.get("reference"), str):
            yield Media(one["reference"], kind=str(one.get("kind", "other")), caption=str(one.get("caption", "")))


def _unwrap(body: str) -> str:
    """The text of a memory: the body without the blank line before it and the line end behind it."""
    return body.removeprefix("\n").removesuffix("\n")


def _foreign_memory(header: Mapping[str, Any], body: str, place: str) -> Iterator[Episode | Omission]:
    """The memory of a concept of another producer."""
    generated = header.get("generated")
    generated = generated if isinstance(generated, dict) else {}
    by = generated.get("by")
    person = by.removeprefix("human:") if isinstance(by, str) and by.startswith("human:") else None
    links = list(dict.fromkeys(_concept_key(link, place) for link in _LINK.findall(body)))
    left = {"title", "happened_at", "speaker", "session", "supersedes"}
    entry = Entry(
        place,
        str(header.get("id") or _concept_key(place, "")),
        body.strip() or header.get("description") or header.get("title") or "",
        speaker=header.get("speaker") or person,
        session=header.get("session"),
        happened_at=header.get("happened_at") or generated.get("at") or header.get("timestamp"),
        title=header.get("title") or place.rpartition("/")[2].removesuffix(".md"),
        metadata={
            **{key: value for key, value in header.items() if key not in left},
            **{f"generated_{key}": value for key, value in generated.items()},
            **({"links": links} if links else {}),
            "trust_tier": _trust_tier(header.get("verified")),
        },
        trust=TRUST_BY_TIER[_trust_tier(header.get("verified"))],
        zone=UTC,
    )
    yield from build_episode(NAME, entry)


def _trust_tier(verified: object) -> str:
    """Who has confirmed a concept: a person, a program or nobody."""
    events = verified if isinstance(verified, list) else [verified]
    actors = [str(one["by"]) for one in events if isinstance(one, dict) and one.get("by")]
    if any(actor.startswith("human:") for actor in actors):
        return "human-reviewed"
    return "machine-confirmed" if actors else "unverified"


# ---- writing


def export_okf(store: Store, scope: str, folder: str | Path, *, now: datetime) -> TransferResult:
    """Write the memories of a scope into a new folder, a file each, and an index; ``now`` is the time of the export.

    What is derived from memories, such as names and insights, is not written, nor are vectors. Raises ``InvalidInput``
    if the folder holds anything.
    """
    root = Path(folder)
    try:
        if root.exists() and (not root.is_dir() or any(root.iterdir())):
            raise InvalidInput(f"{show(str(root))} is not an empty folder; give a new one")
        root.mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as error:
        if isinstance(error, InvalidInput):
            raise
        raise InvalidInput(f"cannot make the folder {show(str(root))}: {error}") from error
    contents = store.changes_since(scope, 0)
    documents: dict[NodeId, list[Node]] = {}
    for node in contents.nodes:
        if node.kind is Kind.EPISODE:
            documents.setdefault(node.document or node.id, []).append(node)
    superseded, ends = _validity(contents, {node.id: id_ for id_, nodes in documents.items() for node in nodes})
    years: Counter[str] = Counter()
    for id_, nodes in documents.items():
        memory = reassemble(sorted(nodes, key=lambda node: node.position))
        year = f"{memory.happened_at.year:04}"
        years[year] += 1
        (root / year).mkdir(exist_ok=True)
        text = write_concept(memory, superseded.get(id_, ()), ends.get(id_))
        (root / year / file_name(memory)).write_text(text, encoding="utf-8", newline="")
    listing = "".join(f"* [{year}]({year}/) - {count:,} memories\n" for year, count in sorted(years.items()))
    index = f'---\nokf_version: "{OKF_VERSION}"\n---\n\n# Memories, {now.date().isoformat()}\n\n{listing}'
    (root / "index.md").write_text(index, encoding="utf-8", newline="")
    return TransferResult(nodes=years.total(), edges=sum(map(len, superseded.values())), validity_ends=len(ends))


def _validity(
    contents: WriteBatch, documents: Mapping[NodeId, NodeId]
) -> tuple[dict[NodeId, list[NodeId]], dict[NodeId, datetime]]:
    """Which memories each memory supersedes, and when memories ended; ``documents`` has the memory of a node."""
    superseded: dict[NodeId, dict[NodeId, None]] = {}
    for edge in contents.edges:
        if edge.link is Link.SUPERSEDES and edge.src in documents and edge.dst in documents:
            superseded.setdefault(documents[edge.src], {})[documents[edge.dst]] = None
    ends: dict[NodeId, datetime] = {}
    for end in contents.validity_ends:
        if end.node in documents:
            id_ = documents[end.node]
            ends[id_] = min(ends.get(id_, end.valid_to), end.valid_to)
    return {id_: list(old) for id_, old in superseded.items()}, ends


def write_concept(memory: Node, supersedes: Sequence[NodeId] = (), ended_at: datetime | None = None) -> str:
    """A memory as a file of the bundle; ``supersedes`` are the ids of its predecessors."""
    valid_to = min((one for one in (ended_at, memory.valid_to) if one is not None), default=None)
    title = memory.title or " ".join(memory.text.split())[:_MAX_TITLE_CHARS] or TYPE
    fields: dict[str, Any] = {
        "type": TYPE,
        "title": title,
        "has_title": memory.title is not None,
        "id": memory.id,
        "speaker": memory.speaker,
        "session": memory.session,
        "happened_at": memory.happened_at.isoformat(),
        "valid_from": memory.valid_from and memory.valid_from.isoformat(),
        "valid_to": valid_to and valid_to.isoformat(),
        "status": "stable" if ended_at is None else "deprecated",
        "stale_after": valid_to and valid_to.date().isoformat(),
        "supersedes": list(supersedes) or None,
        "trust": memory.trust,
        "generated": {"by": PRODUCER, "at": memory.recorded_at.isoformat()},
        "source": memory.source,
        "sources": None if memory.source is None else [{"resource": memory.source}],
        "metadata": {key: list(one) if isinstance(one, tuple) else one for key, one in memory.metadata.items()} or None,
        "media": [{"reference": one.reference, "kind": str(one.kind), "caption": one.caption} for one in memory.media],
    }
    kept = {
        key: value for key, value in fields.items() if value not in (None, []) and (key, value) != ("has_title", True)
    }
    return f"{dump_frontmatter(kept)}\n{memory.text}\n"


def file_name(memory: Node) -> str:
    """The name of a memory's file: its day, some of its words, and a digest of its id."""
    words = unicodedata.normalize("NFKD", memory.title or memory.text[:200]).encode("ascii", "ignore").decode().lower()
    slug = re.sub(r"[^a-z0-9]+", "-", words).strip("-")[:_MAX_SLUG_CHARS].strip("-") or "memory"
    return f"{memory.happened_at:%m-%d}-{slug}-{content_id(memory.id)[:12]}.md"
