"""A memory behind a server behaves like a memory: one suite for both, and what only the remote one does.

This file is over 400 lines because every test of the suite runs with the same three kinds of memory.
"""

import asyncio
import inspect
import io
import threading
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import fields
from datetime import date
from operator import attrgetter
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from ecphora import (
    AsyncRemoteMemory,
    Episode,
    Evidence,
    Filter,
    HashingEmbedder,
    InvalidInput,
    Media,
    MediaQuery,
    Memory,
    MessageOptions,
    MissReason,
    RecallOptions,
    Recollection,
    RemoteMemory,
    connect,
    connect_async,
)
from ecphora.errors import IdCollision, InvalidRecord, InvalidText, InvalidTime, UnknownName
from ecphora.model.conditions import Gte, In
from ecphora.model.types import Rerank

from .conftest import Server

pytestmark = pytest.mark.medium

SECONDS = 30
"""After so many seconds a test that waits has failed."""
ANA = Episode("I moved to Porto.", "porto", "Ana", "s1", "2026-05-03", metadata={"tags": ["sea", 1], "year": 2026})
BO = Episode("Bo likes rain in Lisbon.", "rain", "Bo", "s2", "2026-05-04", title="Weather", source="chat")
GHENT = Episode("I have a flat in Ghent now.", "ghent", "Ana", "s1", "2026-09-14")


class InLoop:
    """An asynchronous memory, or a view of one, used like a ``Memory``: each call waits for a coroutine on a loop."""

    def __init__(self, target: Any, loop: asyncio.AbstractEventLoop) -> None:
        self._target, self._loop = target, loop

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._target, name)
        if not callable(found):
            return found if isinstance(found, str) else InLoop(found, self._loop)
        return lambda *args, **kwargs: self._call(found(*args, **kwargs))

    def __len__(self) -> int:
        return int(self._call(self._target.count()))

    def _call(self, made: Any) -> Any:
        return self._events(cast("AsyncGenerator[Any, None]", made)) if inspect.isasyncgen(made) else self._wait(made)

    def _wait(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(SECONDS)

    def _events(self, events: AsyncGenerator[Any, None]) -> Iterator[Any]:
        async def next_event() -> Any:
            return await anext(events, None)

        while (event := self._wait(next_event())) is not None:
            yield event


@contextmanager
def run_in_loop(make: Callable[[], AsyncRemoteMemory]) -> Iterator[InLoop]:
    """A memory for asyncio, on a loop in a thread."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        memory = make()
        yield InLoop(memory, loop)
        for end in (loop.shutdown_asyncgens, memory.close, loop.shutdown_default_executor):
            asyncio.run_coroutine_threadsafe(end(), loop).result(SECONDS)
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


@pytest.fixture(params=[pytest.param("local", marks=pytest.mark.slow), "remote", "async"])
def memory(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Any]:
    """An empty memory, in this process or behind a server. All are used as a ``Memory``."""
    if request.param == "remote":
        yield request.getfixturevalue("remote")
        return
    if request.param == "async":
        server, scope = request.getfixturevalue("server"), request.getfixturevalue("scope")
        with run_in_loop(lambda: connect_async(server.url, server.token(scope), scope)) as used:
            yield used
        return
    with Memory(tmp_path / "memory.db", embedder=HashingEmbedder(256)) as opened:
        yield opened


@pytest.fixture
def filled(memory: Memory) -> Memory:
    memory.remember([ANA, BO, GHENT])
    return memory


def test_remember_and_look_up(memory: Memory) -> None:
    result = memory.remember([ANA, BO, "A plain text."])
    assert (result.ids[:2], len(result.created), result.existing) == (("porto", "rain"), 3, ())
    again = memory.remember(ANA)
    assert (again.id, again.created, again.existing) == ("porto", (), ("porto",))
    node = memory.get("porto")
    assert node is not None
    assert (node.text, node.speaker, node.session) == ("I moved to Porto.", "Ana", "s1")
    assert node.happened_at.isoformat() == "2026-05-03T00:00:00+00:00"
    assert node.metadata == {"tags": ["sea", 1], "year": 2026}
    assert memory.get("nothing") is None
    assert memory.chunks("nothing") == []
    assert [chunk.text for chunk in memory.chunks("rain")] == ["Bo likes rain in Lisbon."]
    assert len(memory) == memory.count() == 3
    assert memory.count(where=Filter(speakers=("Ana", "Bo"))) == 2
    assert memory.count(where=Filter(metadata=Gte("year", 2026) & ~In("tags", ["land"]))) == 1
    assert memory.count(where=Filter(after=date(2026, 5, 4), sources="chat")) == 1


def test_texts_of_any_script_are_kept(memory: Memory) -> None:
    texts = ["👩‍🔬 met Zoë\u2028in São Paulo", "東京に住んでいます。", "a\x85b\x1cc \x00 d", "𝔘𝔫𝔦 \ufeff\u202e"]
    ids = memory.remember(texts, metadata={"ключ 🔑": "значение\u2029"}).ids
    assert [node.text for id_ in ids if (node := memory.get(id_))] == texts
    found = memory.recall("東京に住んでいますか")
    assert found.query.text == "東京に住んでいますか"
    out = io.StringIO()
    memory.export(out)
    assert len(out.getvalue().split("\n")) > len(texts)


def test_chat_messages_are_remembered_and_recalled_for(memory: Memory) -> None:
    conversation: list[Any] = [
        {"role": "user", "content": "My sister is Marta."},
        SimpleNamespace(role="assistant", content=[SimpleNamespace(type="text", text="Noted.")], tool_calls=[object()]),
        {"role": "tool", "content": "42", "name": "sum"},
    ]
    result = memory.remember(conversation, message_options=MessageOptions({"user": "Ana"}, keep_tool_results=False))
    assert result.omitted == {"tool_call": 1, "tool_result": 1}
    assert {node.speaker for node in memory.find()} == {"Ana", "assistant"}
    found = memory.recall([*conversation[:1], {"role": "user", "content": "Who is my sister?"}], limit=1)
    assert found.query.text == "My sister is Marta.\nWho is my sister?"
    assert len(found) == 1


def test_recall_returns_hits_with_reasons_and_groups(filled: Memory) -> None:
    found = filled.recall("Which cities has Ana lived in?", limit=2, where=Filter(speakers="Ana"), as_of="2026-10-01")
    assert isinstance(found, Recollection)
    assert {hit.id for hit in found} == {"porto", "ghent"}
    assert found.evidence in set(Evidence)
    assert found.query.where == Filter(speakers=("Ana",))
    assert str(found.query.as_of) == "2026-10-01 23:59:59.999999+00:00"
    assert {group.instance for group in found.groups} == {"Porto", "Ghent"}
    assert found.groups[0].hits[0] in found.hits
    assert abs(sum(part.value for part in found[0].why.contributions) - found[0].score) < 1e-3
    assert found[0].reason
    assert found[0].reason in str(found)
    assert "Ghent" in found.to_prompt(500)
    assert found.to_messages(500)[0]["role"] == "system"
    assert found.cost.milliseconds > 0
    assert (
        filled.recall("x", options=RecallOptions(explain=False, log_access=False), rerank=Rerank.NEVER)[0].reason == ""
    )


def test_why_not_says_what_is_missing(filled: Memory) -> None:
    assert filled.why_not("Where?", "nothing").miss_reason is MissReason.NOT_FOUND
    found = filled.why_not("Where does Ana live?", "rain", where=Filter(speakers="Ana"))
    assert (found.miss_reason, found.failed_filters) == (MissReason.FILTER, ("speakers",))
    assert "speakers" in str(found)


def test_find_pages_through_everything(filled: Memory) -> None:
    first = filled.find(order="happened_at", limit=2)
    assert [node.id for node in first] == ["porto", "rain"]
    rest = filled.find(order="happened_at", limit=2, after=first.cursor)
    assert ([node.id for node in rest], rest.cursor) == (["ghent"], None)


def test_update_and_history(filled: Memory) -> None:
    new_id = filled.update("porto", "I moved to Braga.", mode="supersede", happened_at="2026-06-01").id
    history = filled.history("porto")
    assert history is not None
    assert [node.id for node in history.successors] == [new_id]
    assert filled.update("rain", "Bo likes snow.", mode="replace").created == ("rain",)
    assert filled.history("nothing") is None


def test_forget_erases_and_says_what(filled: Memory) -> None:
    assert filled.forget({"porto"}, dry_run=True).episode_ids == ("porto",)
    gone = filled.forget(["porto", "nothing"])
    assert gone.episode_ids == ("porto",)
    assert "entity:porto" in gone.entity_ids
    assert bool(filled.forget("porto")) is False
    assert filled.remember(ANA).blocked == ("porto",)
    assert filled.remember(ANA, restore=True).created == ("porto",)
    assert set(filled.forget(where=Filter(speakers="Ana")).episode_ids) == {"porto", "ghent"}
    assert filled.forget(everything=True).episode_ids == ("rain",)


def test_media_rank_and_come_back(filled: Memory) -> None:
    vector: Any = np.array([0, 1], np.float32)
    filled.remember(Episode("The lodger.", id="cat", media=(Media("cat.jpg", "picture", "A cat.", vector, "clip"),)))
    found = filled.recall(
        "Where is this?", options=RecallOptions(media_query=MediaQuery(vector, "clip"), log_access=False)
    )
    assert (found[0].id, found[0].node.media) == ("cat", (Media("cat.jpg", caption="A cat."),))
    with pytest.raises(InvalidInput, match="has a vector of 3 numbers"):
        filled.recall("Where is this?", options=RecallOptions(media_query=MediaQuery((1, 0, 0), "clip")))


def test_goal_ranks_and_comes_back(filled: Memory) -> None:
    question, goal = "What should I keep in mind?", "travel to Porto"
    found = filled.recall(question, goal=goal, options=RecallOptions(log_access=False))
    assert found.query.goal is not None
    assert found.query.goal.text == goal
    assert "Porto" in found[0].text
    assert filled.feedback(found, [found[0].id])
    assert filled.recall([{"role": "user", "content": question}], goal=goal)[0].id == found[0].id
    with pytest.raises(InvalidInput, match="takes no goal"):
        filled.recall(question, goal=goal, strategy="dense")


def test_response_comes_back_as_an_exchange(filled: Memory) -> None:
    question = "Where does Ana live?"
    found = filled.recall(question)
    id_ = filled.record_response(found, "In Porto.", used_ids=[found[0].id], session="s9")
    again = filled.recall(question, include=("exchanges", "engrams"))
    (exchange,) = again.exchanges
    assert (exchange.id, exchange.response, exchange.used_ids) == (id_, "In Porto.", (found[0].id,))
    assert exchange.session == "s9"
    assert again.engrams
    assert set(again.engrams[0].ids) <= {hit.id for hit in again}


def test_record_response_needs_the_text_of_the_recall(filled: Memory) -> None:
    found = filled.recall("Where does Ana live?")
    filled.update(found[0].id, "Ana lives somewhere.", mode="replace")
    assert filled.record_response(found, "In Porto.") is None


def test_memory_is_updated_back_to_an_earlier_text(filled: Memory) -> None:
    first = filled.remember("Bo lives in Paris.").id
    second = filled.update(first, "Bo lives in Rome.", mode="supersede").id
    third = filled.update(second, "Bo lives in Paris.", mode="supersede")
    assert third.created
    assert filled.update(second, "Bo lives in Paris.", mode="supersede").existing == third.created


def test_feedback_is_stored_once(filled: Memory) -> None:
    found = filled.recall("Where does Ana live?")
    id_ = filled.feedback(found, [found[0].id])
    assert id_.startswith("question:")
    assert filled.feedback(found, (hit.id for hit in found[:1])) == id_
    assert filled.feedback(found, []) != id_
    with pytest.raises(InvalidInput, match="'nothing' is not among what came back"):
        filled.feedback(found, ["nothing"])


def test_consolidate_undo_and_views(filled: Memory) -> None:
    seen: list[tuple[int, int]] = []
    filled.remember(["My standup is at nine."], speaker="Jo", happened_at="2026-02-02")
    filled.remember(["My standup is at ten now."], speaker="Jo", happened_at="2026-04-07")
    planned = filled.consolidate(dry_run=True)
    assert planned.undo_batch is None
    done = filled.consolidate(progress=lambda *step: seen.append(step))
    assert done.undo_batch is not None
    assert done.counts["memories"] == 5
    assert all(0 <= count <= total for count, total in seen)
    assert [batch.id for batch in filled.maintenance.batches()] == [done.undo_batch.id]
    updates = filled.facts.updates(limit=10)
    for update in updates:
        assert filled.facts.reject(update.old.id, update.new.id).id.startswith("reject:")
    merged = filled.entities.merge("Porto", "Ghent")
    assert filled.maintenance.undo(merged.id).id == merged.id
    assert filled.entities.split("Porto", "Ghent").id.startswith("merge:")
    filled.maintenance.pin("porto")
    filled.maintenance.archive(["porto", "rain"])
    filled.maintenance.unarchive("porto")
    filled.maintenance.unpin(["porto"])
    assert filled.maintenance.decayed() == []
    assert isinstance(filled.insights(limit=3), list)
    assert filled.maintenance.undo() is not None


def test_answer_quotes_without_a_model(filled: Memory) -> None:
    answer = filled.answer("Where does Ana live?", limit=2, options=RecallOptions(log_access=False))
    assert answer.prompt is None
    assert answer.is_answered is bool(answer.cited_ids)


def test_export_and_import_give_the_same_memory(filled: Memory, tmp_path: Path) -> None:
    out = io.StringIO()
    filled.forget("rain")
    filled.remember([BO], restore=True)
    exported = filled.export(out, vectors=True)
    counts = (
        getattr(exported, one.name) for one in fields(exported) if one.name not in {"blocked", "existing", "notices"}
    )
    assert sum(counts) == len(out.getvalue().splitlines()) - 1
    assert exported.vectors == 3
    assert filled.import_(io.StringIO(out.getvalue())).existing == exported.nodes
    filled.forget(everything=True)
    assert filled.import_(out.getvalue().splitlines()).blocked == 3
    seen: list[tuple[int, int]] = []
    lines = iter(out.getvalue().splitlines(keepends=True))
    assert filled.import_(lines, restore=True, progress=lambda *step: seen.append(step)).nodes > 0
    assert seen
    assert filled.count() == 3
    with pytest.raises(InvalidRecord, match="line 1"):
        filled.import_(["{}"])


def test_backup_is_a_memory(filled: Memory, tmp_path: Path) -> None:
    path, seen = tmp_path / "copy.db", list[tuple[int, int]]()
    made = filled.backup(path, progress=lambda *step: seen.append(step))
    assert (made.path, made.size) == (str(path), path.stat().st_size)
    assert seen[-1][0] == seen[-1][1]
    with Memory(path, scope=filled.scope, embedder=HashingEmbedder(256)) as copy:
        assert copy.count() == 3
    with pytest.raises(InvalidInput, match="is there already"):
        filled.backup(path)
    assert filled.backup(str(path), overwrite=True).episodes >= 3
    with pytest.raises(InvalidInput, match="is a folder"):
        filled.backup(tmp_path, overwrite=True)
    assert [one.name for one in tmp_path.iterdir() if one.name.startswith(".")] == []


def test_scopes_are_listed(filled: Memory) -> None:
    assert [info.episodes for info in filled.scopes() if info.name == filled.scope] == [3]


@pytest.fixture(scope="module")
def both(server: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Memory, RemoteMemory]]:
    """The same memory in this process and behind a server."""
    path = tmp_path_factory.mktemp("local") / "memory.db"
    with (
        Memory(path, scope="both", embedder=HashingEmbedder(256)) as local,
        connect(server.url, server.token("both"), "both") as remote,
    ):
        for memory in (local, remote):
            memory.remember(ANA)
        yield local, remote


@pytest.mark.parametrize(
    ("name", "arguments", "error"),
    [
        ("remember", {"content": ""}, InvalidText),
        ("remember", {"content": "x", "happened_at": "yesterday"}, InvalidTime),
        ("remember", {"content": "lone \ud800"}, InvalidText),
        ("remember", {"content": ["a", "b"], "id": "one"}, InvalidInput),
        ("remember", {"content": Episode("another text", "porto")}, IdCollision),
        ("recall", {"question": "x", "limit": 0}, InvalidInput),
        ("recall", {"question": "x", "strategy": "unknown"}, UnknownName),
        ("recall", {"question": "x", "options": RecallOptions(retroactive=True)}, InvalidInput),
        ("recall", {"question": "x", "where": None}, InvalidInput),
        ("recall", {"question": "x" * 30_000}, InvalidText),
        ("recall", {"question": []}, InvalidInput),
        ("update", {"id": "nothing", "text": "x", "mode": "replace"}, InvalidInput),
        ("update", {"id": "porto", "text": "x", "mode": "mend"}, InvalidInput),
        ("forget", {"where": Filter()}, InvalidInput),
        ("find", {"order": "sideways"}, InvalidInput),
        ("find", {"after": "no cursor"}, InvalidInput),
        ("maintenance.undo", {}, InvalidInput),
        ("consolidate", {"seconds": -1}, InvalidInput),
        ("export", {"out": 3}, InvalidInput),
        ("import_", {"lines": "text"}, InvalidInput),
        ("consolidate", {"progress": 3}, InvalidInput),
    ],
)
def test_errors_have_the_class_and_message_of_memory(
    both: tuple[Memory, RemoteMemory], name: str, arguments: dict[str, Any], error: type[Exception]
) -> None:
    raised = []
    for memory in both:
        with pytest.raises(error) as caught:
            attrgetter(name)(memory)(**arguments)
        raised.append((type(caught.value), str(caught.value)))
    assert raised[0] == raised[1]
