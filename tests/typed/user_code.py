"""Code as a user writes it: mypy and pyright check its types (scripts/check). Nothing here runs."""

from collections.abc import Sequence
from datetime import UTC, date, datetime

import numpy as np
from numpy.typing import NDArray

import ecphora
from ecphora import (
    AsyncMemory,
    Episode,
    Evidence,
    FactUpdate,
    Filter,
    Hit,
    Memory,
    MessageOptions,
    Node,
    Page,
    Recollection,
    RememberResult,
    When,
)
from ecphora.model.conditions import Gte, In


class Constant:
    """The smallest embedder: a name, a size and an embed function."""

    name = "constant"
    dim = 2

    def embed(self, texts: Sequence[str], /, *, is_query: bool = False) -> NDArray[np.float32]:
        """The same unit vector for every text."""
        return np.tile(np.array([1, 0], np.float32), (len(texts), 1))


def remember(memory: Memory) -> list[str]:
    """Remember one text, and many."""
    one = memory.remember("Ana moved to Porto.", speaker="Ana", happened_at="2026-05-03", metadata={"channel": "chat"})
    more = memory.remember([Episode("She works at a bakery.", happened_at=date(2026, 6, 1)), "It is open on Sundays."])
    return [one.id, *more.ids, *more.created, *more.existing, *more.blocked, *more.unread]


def converse(memory: Memory) -> list[dict[str, str]]:
    """Remember chat messages, ask what matters for them, and put the memories before them."""
    conversation = [{"role": "user", "content": "Where does Ana live?"}]
    options = MessageOptions(speakers={"user": "Ana"}, keep_tool_results=True)
    found = memory.recall(conversation, limit=3)
    result = memory.remember([*conversation, Episode("A note."), "A text."], message_options=options)
    count: int = sum(result.omitted.values())
    text: str = found.to_prompt(budget=500 + count)
    return [*found.to_messages(500, role="user"), *conversation, {"role": "user", "content": text}]


def recall(memory: Memory, at: When | None = None) -> Hit | None:
    """Recall with a filter and as of a time; a slice of what comes back is a sequence of hits."""
    where = Filter(speakers="Ana", after=datetime(2026, 1, 1, tzinfo=UTC))
    found: Recollection = memory.recall("Where does Ana live?", limit=5, where=where, as_of=at, goal="visit her")
    if found.evidence is Evidence.NONE:
        return None
    assert Filter(sources={"$nin": ["tool"]}) == Filter(not_sources="tool")
    recent = Filter(metadata={"year": {"$gte": 2026}, "tags": ["travel"]}, min_trust=0.5)
    assert memory.count(where=Filter(metadata=Gte("year", 2026) & ~In("city", ["Faro"]))) <= memory.count(where=recent)
    shown: Sequence[Hit] = found[:3]
    texts = [(hit.text, hit.score, hit.reason, hit.validity is None) for hit in shown]
    return found[0] if texts else None


def look_after(memory: Memory) -> list[Node]:
    """Use the maintenance functions."""
    memory.consolidate(seconds=2.0)
    updates: list[FactUpdate] = memory.facts.updates(limit=10)
    for update in updates:
        memory.facts.reject(update.old.id, update.new.id)
    memory.entities.merge("Ana", "Ana Silva")
    memory.maintenance.pin([node.id for node in memory.maintenance.decayed()])
    page: Page = memory.find(order="-recorded_at", limit=10)
    for node in page:
        memory.update(node.id, node.text.strip(), mode="replace")
    memory.remember("Ana sails.", metadata={"tags": ["sea", 1], "year": 2026})
    memory.forget("a", dry_run=True)
    return [insight.node for insight in memory.insights()] if updates else []


def run_tool(memory: Memory) -> str:
    """Offer the tools to a model, and run its call."""
    tools = memory.tools(names=["recall", "find"], budget=800, session="chat")
    names: list[str] = [tool["name"] for tool in [*tools.openai("responses"), *tools.anthropic(strict=True)]]
    reply = tools.reply("recall", '{"question": "Where does Ana live?"}')
    return reply.text if reply.is_error else tools.call(names[0], {"question": "Where?"})


async def use_async() -> int:
    """Use an AsyncMemory; its parameters and results are those of Memory."""
    async with AsyncMemory("agent.db", embedder=Constant(), scope="ana") as memory:
        stored: RememberResult = await memory.remember("Ana moved to Porto.", speaker="Ana", happened_at="2026-05-03")
        found: Recollection = await memory.recall("Where does Ana live?", limit=3)
        updates: list[FactUpdate] = await memory.facts.updates(limit=3)
        await memory.maintenance.pin(stored.ids)
        node: Node | None = await memory.get(stored.id)
        await memory.remember("Ana", speaker=3)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
        await memory.recall("Ana", limit="3")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
        await memory.maintenance.pin(3)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
        AsyncMemory("agent.db", scope=3)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
        return len(found) + len(updates) + (node is not None)


async def use_server_async() -> int:
    """Use a memory behind a server with asyncio; its parameters and results are those of Memory."""
    async with ecphora.connect_async("http://127.0.0.1:8765", "ecp_...", scope="ana", retries=1) as memory:
        stored: RememberResult = await memory.remember("Ana moved to Porto.", speaker="Ana", happened_at="2026-05-03")
        found: Recollection = await memory.recall("Where does Ana live?", where=Filter(speakers="Ana"))
        updates: list[FactUpdate] = await memory.facts.updates(limit=3)
        await memory.maintenance.pin(stored.ids)
        node: Node | None = await memory.get(stored.id)
        await memory.remember("Ana", speaker=3)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
        await memory.maintenance.pin(3)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
        ecphora.connect_async("http://x", scope=3)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
        return len(found) + len(updates) + (node is not None)


def use_server() -> None:
    """Use a memory behind a server as one in the process."""
    with ecphora.connect("http://127.0.0.1:8765", "ecp_...", scope="ana") as memory:
        ids = memory.remember(["Ana moved to Porto.", Episode("A note.")], metadata={"year": 2026}, progress=None).ids
        found: Recollection = memory.recall("Where?", where=Filter(speakers="Ana"), as_of=date(2026, 6, 1))
        hit: Hit = found[0]
        memory.feedback(found, [hit.id])
        node: Node | None = memory.get(ids[0])
        updates: list[FactUpdate] = memory.facts.updates(limit=3)
        memory.maintenance.pin([update.old.id for update in updates])
        counts = memory.consolidate(seconds=1.0, progress=print).counts
        print(node, counts, memory.backup("copy.db", overwrite=True).size, len(memory))


def main() -> None:
    """Use a custom embedder."""
    with Memory("agent.db", embedder=Constant(), scope="ana") as memory:
        remember(memory)
        recall(memory)
        converse(memory)
        look_after(memory)
        run_tool(memory)
        answer = memory.answer("Where does Ana live?", limit=3)
        print(answer.text, answer.cited_ids, ecphora.__version__)
