"""Asks probes: every world through a real memory, in the form of its memories, by every strategy."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from ecphora import RecallOptions
from ecphora.maintenance.learn.embedding_cache import CachingEmbedder
from ecphora.maintenance.learn.temporary_memory import Tick
from ecphora.memory import Memory
from ecphora.model.ports import Strategy
from ecphora.model.types import Episode, Evidence, Rerank

from ..recall.recall_run import group_by_memory
from .probe import Form, Probe, ProbeMemory, worlds

HITS = 10
"""Memories to recall for a probe."""


@dataclass(frozen=True, slots=True)
class ProbeResult:
    """What one strategy brought back for a probe: the ids of the memories, best first, and the evidence."""

    probe: Probe
    strategy: str
    ranked: tuple[str, ...]
    evidence: Evidence

    @property
    def is_right_first(self) -> bool:
        """Whether the first memory is a right one."""
        return bool(self.ranked) and self.ranked[0] in self.probe.gold


@dataclass(slots=True)
class _Clock:
    now: datetime

    def __call__(self) -> datetime:
        return self.now


def count_steps(probes: Sequence[Probe], strategies: Sequence[Strategy]) -> int:
    """How many steps :func:`run` will report: one for each memory that is remembered, and one for each recall."""
    memories = sum(len(some[0].memories) for some in worlds(probes).values())
    return memories * len(group_by_memory(strategies)) + len(probes) * len(strategies)


def run(
    probes: Sequence[Probe],
    strategies: Sequence[Strategy],
    embedder: CachingEmbedder,
    tick: Tick = lambda _steps: None,
    *,
    rerank: Rerank = Rerank.AUTO,
    rerank_ms: float | None = None,
) -> Iterator[ProbeResult]:
    """Ask every probe by every strategy; ``rerank`` and ``rerank_ms`` are those of ``Memory.recall``."""
    for some in worlds(probes).values():
        embedder.embed([memory.text for memory in some[0].memories])  # one call fills the cache
        embedder.embed([probe.question for probe in some], is_query=True)
        for group in group_by_memory(strategies):
            with _remember_world(some[0], group[0], embedder) as (memory, clock):
                tick(len(some[0].memories))
                ids = {told.text: told.id for told in some[0].memories}
                for probe in some:
                    clock.now = probe.now
                    for strategy in group:
                        found = memory.recall(
                            probe.question,
                            limit=HITS,
                            strategy=strategy,
                            options=RecallOptions(log_access=False, explain=False, rerank_ms=rerank_ms),
                            rerank=rerank,
                        )
                        ranked = tuple(dict.fromkeys(ids.get(hit.text, hit.id) for hit in found))
                        yield ProbeResult(probe, strategy.name, ranked, found.evidence)
                    tick(len(group))


@contextmanager
def _remember_world(probe: Probe, strategy: Strategy, embedder: CachingEmbedder) -> Iterator[tuple[Memory, _Clock]]:
    clock = _Clock(probe.now)
    with (
        TemporaryDirectory(prefix="ecphora-probe-") as folder,
        Memory(Path(folder, "world.db"), embedder=embedder, clock=clock, strategy=strategy) as memory,
    ):
        _WRITERS[probe.form](memory, probe.memories, clock)
        yield memory, clock


def _remember_episodes(memory: Memory, memories: Sequence[ProbeMemory], _clock: _Clock) -> None:
    memory.remember([Episode(one.text, speaker=one.speaker, happened_at=one.time) for one in memories])


def _remember_strings(memory: Memory, memories: Sequence[ProbeMemory], _clock: _Clock) -> None:
    memory.remember([one.text for one in memories])


def _remember_messages(memory: Memory, memories: Sequence[ProbeMemory], _clock: _Clock) -> None:
    memory.remember([_message(one) for one in memories])


def _message(one: ProbeMemory) -> dict[str, object]:
    """A chat message; who is neither the user nor the assistant is named."""
    role = "assistant" if one.speaker == "assistant" else "user"
    message: dict[str, object] = {"role": role, "content": one.text, "created_at": one.time}
    return message if one.speaker == role else {**message, "name": one.speaker}


def _remember_by_tool(memory: Memory, memories: Sequence[ProbeMemory], clock: _Clock) -> None:
    """Call the tool ``remember`` for each memory, at its time."""
    tools = memory.tools(names=["remember"])
    for one in memories:
        clock.now = one.time or clock.now
        reply = tools.reply("remember", {"texts": [one.text]})
        if reply.is_error:
            raise AssertionError(f"the tool did not remember {one.text!r}: {reply.text}")


_WRITERS: dict[Form, Callable[[Memory, Sequence[ProbeMemory], _Clock], None]] = {
    Form.EPISODES: _remember_episodes,
    Form.STRINGS: _remember_strings,
    Form.MESSAGES: _remember_messages,
    Form.MCP: _remember_by_tool,
}
