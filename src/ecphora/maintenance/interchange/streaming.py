"""Imports episodes as they are read: commits them in batches, and counts what was found, stored and left out.

An import that was interrupted is simply started again. An episode is the same if it has the same id, or without an id
the same content and time, so what is stored already is skipped.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, tzinfo
from typing import ClassVar, Protocol

from ...errors import InvalidInput
from ...language.chat_roles import Role
from ...model.graph.graph import Graph
from ...model.ids import content_id
from ...model.json_form import JsonForm, JsonObject
from ...model.ports import Progress
from ...model.types import Episode, NodeId, Omission, RememberResult
from ...model.validation import check_episode_fields, check_long_call, check_name, check_number
from ...remember.documents import document_id, node_ids_of

BATCH_SIZE = 512
"""The episodes that are committed together."""
MAX_PLACES = 3
"""The places that are kept of each reason for leaving something out."""
UNUSABLE = "a memory that cannot be stored"
"""The reason of an episode with a field that no memory may have."""


class EpisodeMemory(Protocol):
    """What an import needs of :class:`ecphora.Memory`."""

    zone: tzinfo

    def graph(self) -> Graph:
        """The memory graph as of the last commit."""
        ...

    def remember(self, content: list[Episode], *, restore: bool = False, dry_run: bool = False) -> RememberResult:
        """Remember several episodes."""
        ...


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """What an import changes of every episode: ``trust``, if given; ``user`` is the speaker who is the user."""

    trust: float | None = None
    user: str | None = None

    def __post_init__(self) -> None:
        if self.trust is not None:
            check_number("trust", self.trust, minimum=0, maximum=1)
        if self.user is not None:
            check_name("user", self.user)


UNCHANGED = ImportOptions()
"""Episodes are stored as they are read."""


@dataclass(frozen=True, slots=True, repr=False)
class ImportSummary(JsonObject):
    """What a file holds: messages (episodes), conversations (sessions), its first and last time, and who speaks.

    ``omitted`` counts what is left out by its reason, ``places`` has the first places of each reason.
    """

    messages: int = 0
    conversations: int = 0
    first: datetime | None = None
    last: datetime | None = None
    speakers: Mapping[str, int] = field(default_factory=dict)
    omitted: Mapping[str, int] = field(default_factory=dict)
    places: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, repr=False)
class ImportReport(JsonObject):
    """What an import did: memories ``created`` now, ``existing`` before, and ``blocked`` because they were forgotten.

    ``found`` is what the file holds; with a dry run, nothing was written.
    """

    json_form: ClassVar = JsonForm(inline=("found",))

    created: int = 0
    existing: int = 0
    blocked: int = 0
    dry_run: bool = False
    found: ImportSummary = field(default_factory=ImportSummary)


def import_episodes(
    memory: EpisodeMemory,
    items: Iterable[Episode | Omission],
    *,
    restore: bool = False,
    dry_run: bool = False,
    progress: Progress | None = None,
    total: int = 0,
    options: ImportOptions = UNCHANGED,
) -> ImportReport:
    """Remember the episodes of an importer in batches of 512, as they are read; a dry run writes nothing.

    May be killed at any time and started again: every batch is committed whole or not at all. What is stored already
    stays as it is. An episode that no memory can hold is left out like an :class:`Omission`. ``progress`` gets the
    episodes that were read, and ``total``, the episodes of the file if that is known.
    """
    check_long_call(progress, restore=restore, dry_run=dry_run)
    tally, repeats = _Tally(), _RepeatCounter()
    created = existing = blocked = 0
    batch: dict[NodeId, Episode] = {}
    pretended: set[NodeId] = set()  # what a dry run would have stored
    graph = memory.graph()

    def commit() -> None:
        nonlocal created, existing, blocked, graph
        if batch:
            result = memory.remember(list(batch.values()), restore=restore, dry_run=dry_run)
            created += len(result.created)
            existing += len(result.existing)
            blocked += len(result.blocked)
            if dry_run:
                pretended.update(result.created)
            batch.clear()
            graph = memory.graph()
        if progress is not None:
            progress(tally.messages, max(total, tally.messages))

    for item in _checked(items, memory.zone, options):
        tally.add(item)
        if isinstance(item, Omission):
            continue
        episode = repeats.number(item)
        id_ = _id_of(episode)
        if id_ in batch or id_ in pretended or _is_stored(episode, id_, graph):
            existing += 1
        else:
            batch[id_] = replace(episode, supersedes=None) if dry_run else episode
        if len(batch) >= BATCH_SIZE or tally.messages % BATCH_SIZE == 0:
            commit()
    commit()
    return ImportReport(created, existing, blocked, dry_run, tally.summary())


def summarize(items: Iterable[Episode | Omission], zone: tzinfo, options: ImportOptions = UNCHANGED) -> ImportSummary:
    """Count what an importer reads, and write nothing; a time without an offset is local time of ``zone``."""
    tally = _Tally()
    for item in _checked(items, zone, options):
        tally.add(item)
    return tally.summary()


def _checked(items: Iterable[Episode | Omission], zone: tzinfo, options: ImportOptions) -> Iterator[Episode | Omission]:
    """The items with the options applied; an episode that cannot be stored becomes an omission."""
    for item in items:
        if isinstance(item, Omission):
            yield item
            continue
        episode = item if options.trust is None else replace(item, trust=options.trust)
        if options.user is not None and episode.speaker == options.user:
            episode = replace(episode, speaker=Role.USER.value)
        try:
            yield check_episode_fields(episode, zone)[0]
        except InvalidInput as error:
            yield Omission(UNUSABLE, str(error))


def _id_of(episode: Episode) -> NodeId:
    """The id that the memory gives a checked episode."""
    return episode.id or document_id(episode, _time_of(episode))


def _time_of(episode: Episode) -> datetime | None:
    """The time of a checked episode."""
    return episode.happened_at if isinstance(episode.happened_at, datetime) else None


def _is_stored(episode: Episode, id_: NodeId, graph: Graph) -> bool:
    """Whether an episode was imported before; under an id of its own, from the same source.

    Its text or title may have been changed in the other program since then. Without a source, the memory compares the
    contents, and raises ``IdCollision`` if they differ.
    """
    ids = node_ids_of(graph, id_)
    if not ids or episode.id is None:
        return bool(ids)
    (row,) = graph.rows(ids[:1])
    code = int(graph.nodes["sources"][row])
    return episode.source is not None and code >= 0 and graph.sources.names[code] == episode.source


class _RepeatCounter:
    """Numbers what is said again in a file without a time, as the memory numbers it in a list of episodes."""

    def __init__(self) -> None:
        self._counts: Counter[NodeId] = Counter()
        self._last: dict[str | None, NodeId] = {}

    def number(self, episode: Episode) -> Episode:
        """The episode, from its second occurrence on with the id of its occurrence."""
        is_repeatable = (
            (episode.id, episode.happened_at, episode.title) == (None, None, None)
            and episode.source in {None, Role.TOOL.value}
            and not episode.media
        )
        if not is_repeatable:
            self._last.pop(episode.session, None)
            return episode
        id_ = document_id(episode, None)
        if self._last.get(episode.session) != id_:
            self._counts[id_] += 1
        self._last[episode.session] = id_
        return episode if self._counts[id_] == 1 else replace(episode, id=content_id(id_, str(self._counts[id_])))


class _Tally:
    """Counts items as they pass."""

    def __init__(self) -> None:
        self.messages = 0
        self._sessions: set[str] = set()
        self._first: datetime | None = None
        self._last: datetime | None = None
        self._speakers: Counter[str] = Counter()
        self._omitted: Counter[str] = Counter()
        self._places: dict[str, list[str]] = {}

    def add(self, item: Episode | Omission) -> None:
        """Count a checked episode or an omission."""
        if isinstance(item, Omission):
            self._omitted[item.reason] += 1
            places = self._places.setdefault(item.reason, [])
            if item.place and len(places) < MAX_PLACES:
                places.append(item.place)
            return
        self.messages += 1
        if item.session is not None:
            self._sessions.add(item.session)
        if item.speaker is not None:
            self._speakers[item.speaker] += 1
        if (time := _time_of(item)) is not None:
            self._first = time if self._first is None else min(self._first, time)
            self._last = time if self._last is None else max(self._last, time)

    def summary(self) -> ImportSummary:
        """What was counted; the speakers and reasons that occur most come first."""
        return ImportSummary(
            self.messages,
            len(self._sessions),
            self._first,
            self._last,
            dict(self._speakers.most_common()),
            dict(self._omitted.most_common()),
            {reason: tuple(places) for reason, places in self._places.items()},
        )
