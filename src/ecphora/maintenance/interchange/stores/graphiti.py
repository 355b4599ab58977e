"""Reads the JSON of a Graphiti graph: its episodes, and its edges, the facts.

Graphiti keeps no file format of its own; the JSON is what its models give: an object with ``episodes`` and ``edges``
(or ``facts``), or an array of either.
"""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ....errors import InvalidInput
from ....model.ports import Progress
from ....model.reprs import show
from ....model.types import Episode, Omission
from ..files.folders import existing_path, first_bytes, show_path
from ..files.json_stream import BROKEN_REST, ITEMS, BrokenJson, read_values
from ..files.progress import ProgressMeter
from ..imported_episodes import Entry, as_time, build_episode
from ..supersession import Successor, predecessors_first

NAME = "graphiti"
ENTITY_NODE = "an entity, which follows from the facts"
UNKNOWN_ITEM = "an item that is neither an episode nor a fact"
_CONTENT_KEYS = ("content", "episode_body")
_NODE_KEYS = frozenset({"nodes", "entities", "entity_nodes", "communities", "community_nodes"})
_MARKS = (b'"fact"', b'"episode_body"', b'"entity_edges"', b'"source_description"', b'"source_node_uuid"')


class GraphitiImporter:
    """Episodes and facts as memories. A fact that became invalid is superseded by the fact that took its place.

    If the file has no such fact, a memory that says so ends it at that time.
    """

    name = NAME
    title = "Graphiti, episodes and edges as JSON"
    fields = {  # noqa: RUF012  # the port asks for a mapping
        "happened_at": "valid_at, or created_at; invalid_at ends a fact", "session": "group_id of an episode",
        "title": "name of an episode",
    }  # fmt: skip

    def matches(self, path: str, /) -> bool:
        """Whether it is JSON that begins with an episode or a fact."""
        start = first_bytes(path)
        return start.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in {b"{", b"["} and any(mark in start for mark in _MARKS)

    def read(self, path: str, /, *, progress: Progress | None = None) -> Iterator[Episode | Omission]:
        """Yield episodes and facts, a fact behind the one that it supersedes."""
        root = existing_path(path)
        if root.is_dir():
            raise InvalidInput(f"{show(path)} is a folder; give a JSON file")
        return predecessors_first(_read_graph(root, ProgressMeter(progress, 2 * root.stat().st_size)))


def _read_graph(root: Path, meter: ProgressMeter) -> Iterator[Successor | Omission]:
    successors, ended = _find_successors(root, meter)
    name, found = show_path(root.name), 0
    with root.open("rb") as file:
        try:
            for number, (place, item) in enumerate(read_values(meter.wrap(file), name, ITEMS), 1):
                origin = f"{name}, item {number}"
                if place[0] in _NODE_KEYS:
                    yield Omission(ENTITY_NODE, origin)
                elif not isinstance(item, Mapping):
                    yield Omission(UNKNOWN_ITEM, origin)
                elif isinstance(item.get("fact"), str):
                    found += 1
                    yield from _read_fact(item, origin, successors, ended)
                elif _content_of(item) is not None:
                    found += 1
                    yield from _read_episode(item, origin)
                else:
                    yield Omission(UNKNOWN_ITEM, origin)
        except BrokenJson:
            if not found:
                raise
            yield Omission(BROKEN_REST, name)
    if not found:
        raise InvalidInput(f"{show(str(root))} has no episode and no fact of Graphiti")
    meter.finish()


def _find_successors(root: Path, meter: ProgressMeter) -> tuple[dict[str, str], set[str]]:
    """Which fact each fact supersedes, by their keys, and which facts are superseded.

    The successor of a fact begins when the fact becomes invalid, and has the same subject; it is known only if there is
    one such fact, and supersedes one fact.
    """
    beginnings: dict[tuple[str, datetime], list[tuple[str, str]]] = {}
    endings: list[tuple[str, str, str, datetime]] = []
    with root.open("rb") as file, suppress(BrokenJson):  # the second reading reports it
        for place, item in read_values(meter.wrap(file), root.name, ITEMS):
            if place[0] in _NODE_KEYS or not isinstance(item, Mapping) or not isinstance(item.get("fact"), str):
                continue
            subject, relation = str(item.get("source_node_uuid")), str(item.get("name"))
            start, end = as_time(item.get("valid_at"), UTC), _end_of(item)
            if start:
                beginnings.setdefault((subject, start), []).append((_key_of(item), relation))
            if end:
                endings.append((_key_of(item), subject, relation, end))
    supersedes: dict[str, str] = {}
    for key, subject, relation, end in endings:
        later = [one for one in beginnings.get((subject, end), ()) if one[0] != key]
        later = [one for one in later if one[1] == relation] or later
        if len(later) == 1:
            supersedes.setdefault(later[0][0], key)
    return supersedes, set(supersedes.values())


def _key_of(item: Mapping[str, Any]) -> str:
    return str(item.get("uuid") or f"{item.get('source_node_uuid')}\x1f{item.get('fact')}\x1f{item.get('valid_at')}")


def _end_of(item: Mapping[str, Any]) -> datetime | None:
    return as_time(item.get("invalid_at"), UTC) or as_time(item.get("expired_at"), UTC)


def _content_of(item: Mapping[str, Any]) -> str | None:
    found = next((item[key] for key in _CONTENT_KEYS if isinstance(item.get(key), str)), None)
    return found if found is not None and ("valid_at" in item or "source" in item or "reference_time" in item) else None


def _read_episode(item: Mapping[str, Any], origin: str) -> Iterator[Successor | Omission]:
    left = {"uuid", "name", "group_id", "content", "episode_body", "valid_at", "content_embedding", "entity_edges"}
    entry = Entry(
        origin,
        str(item.get("uuid") or item.get("name") or ""),
        _content_of(item),
        session=item.get("group_id"),
        happened_at=item.get("valid_at") or item.get("reference_time") or item.get("created_at"),
        title=item.get("name"),
        metadata={**_rest(item, left), "graphiti": "episode"},
        zone=UTC,
    )
    yield from _successors(entry, ("episode", entry.key), None)


def _read_fact(
    item: Mapping[str, Any], origin: str, supersedes: Mapping[str, str], ended: set[str]
) -> Iterator[Successor | Omission]:
    key, end = _key_of(item), _end_of(item)
    left = {"uuid", "fact", "fact_embedding"}
    entry = Entry(
        origin,
        key,
        item["fact"],
        happened_at=item.get("valid_at") or item.get("created_at"),
        metadata={**_rest(item, left), "graphiti": "fact"},
        zone=UTC,
    )
    predecessor = supersedes.get(key)
    yield from _successors(entry, ("fact", key), None if predecessor is None else ("fact", predecessor))
    if end is not None and key not in ended:
        ending = Entry(
            origin,
            f"{key}\x1fend",
            f"No longer true: {item['fact']}",
            happened_at=end.isoformat(),
            metadata={"graphiti": "end of a fact"},
        )
        yield from _successors(ending, ("end", key), ("fact", key))


def _rest(item: Mapping[str, Any], left: set[str]) -> dict[str, Any]:
    return {key: value for key, value in item.items() if key not in left and value is not None and value != {}}


def _successors(
    entry: Entry, key: tuple[str, str], predecessor: tuple[str, str] | None
) -> Iterator[Successor | Omission]:
    for item in build_episode(NAME, entry):
        yield item if isinstance(item, Omission) else Successor(key, item, predecessor, entry.origin)
