"""Records: what a host keeps under a key, each a memory with exactly the host's content.

Hosts overwrite, delete and put again under the same key, so a record is replaced in place and may return after it was
deleted. A record without a visible character is stored too: its memory then says so in words.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Any, Self

from ..errors import IdCollision, StaleWrite
from ..memory import Memory
from ..model.conditions import Condition, Eq, parse_condition
from ..model.ids import content_id
from ..model.text_format import strip_invisible
from ..model.types import Episode, Filter, Hit, Metadata, Node, NodeId, When
from ..recall.recollection import Recollection

KIND, KEY, CONTENT = "record_kind", "record_key", "record_content"
"""The metadata of a record: what it is for, its key, and its content where the text of the memory differs from it."""
Conditions = Mapping[str, Any] | Condition | None
"""Conditions on metadata, as a filter takes them; None for all records."""
EMPTY = "(empty)"
"""The text of a record without a visible character."""


@dataclass(frozen=True, slots=True)
class Record:
    """What is kept under a key: its content, the metadata that the host gave, and the memory that it is."""

    key: str
    content: str
    metadata: Metadata
    node: Node


class Records:
    """The records of one kind in a memory; records of other kinds, and other memories, are out of sight.

    ``kind`` names the host and what it keeps, such as ``"langgraph"``. Safe to share between threads, as the memory is.
    """

    def __init__(self, memory: Memory, kind: str) -> None:
        self.memory = memory
        self.kind = kind

    def id_of(self, key: str) -> NodeId:
        """The id of the memory under a key."""
        return content_id(self.kind, key, prefix=f"{self.kind}:")

    def put(
        self,
        key: str,
        content: str,
        metadata: Metadata | None = None,
        *,
        speaker: str | None = None,
        session: str | None = None,
        happened_at: When | None = None,
        title: str | None = None,
        source: str | None = None,
    ) -> None:
        """Store a content under a key, in place of what is there, whose speaker, session, time and title stay."""
        episode = Episode(content, None, speaker, session, happened_at, title, source, metadata or {})
        while not self.put_if(self.get(key), key, episode):
            pass  # another process was faster

    def put_all(self, episodes: Mapping[str, Episode]) -> None:
        """Store the texts of episodes under their keys, as :meth:`put` does; what is new is one commit."""
        new = {key: self._memory_of(key, one) for key, one in episodes.items() if self.get(key) is None}
        created: frozenset[NodeId] = frozenset()
        with suppress(IdCollision):  # another process was faster
            created = frozenset(self.memory.remember(new.values(), restore=True).created)
        for key, episode in episodes.items():
            while self.id_of(key) not in created and not self.put_if(self.get(key), key, episode):
                pass

    def put_if(self, current: Record | None, key: str, episode: Episode) -> bool:
        """Store the text of an episode under a key if the record there is still the current one, None for none.

        Returns False if it is not.
        """
        one = self._memory_of(key, episode)
        try:
            if current is None:
                return bool(self.memory.remember(one, restore=True).created)
            self.memory.update(
                self.id_of(key),
                one.text,
                mode="replace",
                metadata=one.metadata,
                restore=True,
                if_unchanged=current.node,
            )
        except StaleWrite:
            return False
        except IdCollision:
            if current is not None or self.get(key) is None:
                raise
            return False
        return True

    def _memory_of(self, key: str, episode: Episode) -> Episode:
        """The memory of a record."""
        content = episode.text
        text = content if strip_invisible(content).strip() else EMPTY
        own = {KIND: self.kind, KEY: key} | ({CONTENT: content} if text != content else {})
        return replace(episode, text=text, id=self.id_of(key), metadata={**episode.metadata, **own})

    def get(self, key: str) -> Record | None:
        """The record under a key, None if there is none."""
        node = self.memory.get(self.id_of(key))
        return None if node is None else _record_of(node)

    def delete(self, keys: Iterable[str]) -> int:
        """Erase the records under some keys; returns how many there were."""
        return len(self.memory.forget(map(self.id_of, keys)).episode_ids)

    def erase(self, condition: Conditions = None) -> int:
        """Erase the records whose metadata meets a condition; returns how many there were."""
        return len(self.memory.forget(where=self.filter(condition)).episode_ids)

    def find(self, condition: Conditions = None, *, newest_first: bool = False) -> Iterator[Record]:
        """The records whose metadata meets a condition, in the order in which they were stored."""
        return map(_record_of, find_all(self.memory, self.filter(condition), newest_first=newest_first))

    def search(self, question: str, condition: Conditions = None, *, limit: int = 10) -> Recollection:
        """The records that belong to a question and meet a condition, as hits with their evidence and reasons."""
        return self.memory.recall(question, limit=limit, where=self.filter(condition))

    def filter(self, condition: Conditions = None) -> Filter:
        """The filter for the records of this kind whose metadata meets a condition."""
        given = condition if isinstance(condition, Condition) else parse_condition(condition or {})
        of_kind = Eq(KIND, self.kind)
        return Filter(metadata=of_kind if given is None else of_kind & given)


class MemoryOwner:
    """What closes its memory at the end of a ``with`` or by ``close``, if it has opened it itself."""

    memory: Memory
    _owns_memory = False

    def close(self) -> None:
        """Close the memory, unless it was given."""
        if self._owns_memory:
            self.memory.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


def find_all(memory: Memory, where: Filter, *, newest_first: bool = False) -> Iterator[Node]:
    """All memories that pass a filter, in the order in which they were stored."""
    order, cursor = "-recorded_at" if newest_first else "recorded_at", None
    while True:
        page = memory.find(where=where, order=order, limit=500, after=cursor)
        yield from page
        if (cursor := page.cursor) is None:
            return


def hit_fields(hit: Hit, found: Recollection) -> dict[str, Any]:
    """What a host is told of a hit: score, reason and validity, where it comes from, and how sure the recall is."""
    return {
        "score": hit.score,
        "reason": hit.reason,
        "evidence": found.evidence.value,
        "confidence": found.confidence,
        "speaker": hit.node.speaker,
        "session": hit.node.session,
        "source": hit.node.source,
        "happened_at": hit.node.happened_at.isoformat(),
        "validity": None if hit.validity is None else hit.validity.to_dict(),
    }


def record_of_hit(hit: Hit) -> Record:
    """The record that a hit is."""
    return _record_of(hit.node)


def _record_of(node: Node) -> Record:
    metadata = {name: value for name, value in node.metadata.items() if name not in {KIND, KEY, CONTENT}}
    content = node.metadata.get(CONTENT, node.text)
    return Record(str(node.metadata[KEY]), str(content), metadata, node)
