"""Empty lists in filters: of names or values they match nothing, in every call that takes a filter."""

import asyncio
import inspect
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from ecphora import AsyncMemory, Episode, Filter, HashingEmbedder, InvalidInput, Memory
from ecphora.cli.main import main
from ecphora.model.json_form import to_json
from ecphora.recall.explain import MissReason
from ecphora.remote.server.operations import OPERATIONS
from ecphora.remote.wire import from_json

from .conftest import Server

IDS = ("a", "b")
EPISODES = [
    Episode(f"Ana likes {what}.", id=id_, speaker="Ana", session="s", source="chat", metadata={"n": 1})
    for id_, what in zip(IDS, ("rain", "snow"), strict=True)
]
QUESTION = "What does Ana like?"
ARGUMENTS: Mapping[str, dict[str, Any]] = {
    "recall": {"question": QUESTION},
    "answer": {"question": QUESTION},
    "why_not": {"question": QUESTION, "id": "a"},
    "find": {},
    "count": {},
    "forget": {},
}
"""The other arguments of the calls that take a filter."""
EMPTY: list[dict[str, Any]] = [
    *({name: []} for name in ("speakers", "sessions", "sources")),
    *({name: {"$in": []}} for name in ("speakers", "sessions", "sources")),
    {"sources": {"$in": ["chat"], "$eq": "mail"}},
    {"metadata": {"n": {"$in": []}}},
    {"speakers": [], "metadata": {"n": 1}},
]
"""Filters that nothing passes, as JSON."""
UNRESTRICTED: list[dict[str, Any]] = [
    {},
    *({name: None} for name in ("speakers", "sessions", "sources")),
    *({name: {"$nin": []}} for name in ("speakers", "sessions", "sources")),
    *({name: []} for name in ("not_speakers", "not_sessions", "not_sources")),
    {"metadata": {}},
]
"""Filters that restrict nothing."""


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory(tmp_path / "m.db", embedder=HashingEmbedder(64), update_scorer=None) as opened:
        opened.remember(EPISODES)
        yield opened


def test_calls_that_take_a_filter_are_all_tested() -> None:
    methods = inspect.getmembers(Memory, inspect.isfunction)
    with_filter = {
        name for name, one in methods if not name.startswith("_") and "where" in inspect.signature(one).parameters
    }
    assert with_filter == {*ARGUMENTS, "build_query"}
    assert {one.name for one in OPERATIONS if "where" in inspect.signature(one.function).parameters} == set(ARGUMENTS)


def selected(result: Any) -> list[str]:
    """The ids of the memories that a call used, from its result as JSON values."""
    if isinstance(result, int):
        return list(IDS[:result])
    if "miss_reason" in result:
        return [] if result["miss_reason"] == MissReason.FILTER else ["a"]
    if "hits" in result:
        return [hit["id"] for hit in result["hits"]]
    if "memories" in result:
        return [one["id"] for one in result["memories"]]
    return list(result["episode_ids"] if "episode_ids" in result else result["cited_ids"])


@pytest.mark.parametrize("where", EMPTY, ids=str)
@pytest.mark.parametrize("name", ARGUMENTS)
def test_empty_list_matches_nothing_in_a_memory(name: str, where: dict[str, Any], memory: Memory) -> None:
    found = getattr(memory, name)(**ARGUMENTS[name], where=Filter(**where))
    assert selected(to_json(found)) == []
    assert len(memory) == len(IDS)


@pytest.mark.parametrize("where", EMPTY, ids=str)
def test_empty_list_matches_nothing_in_an_asynchronous_memory(where: dict[str, Any], tmp_path: Path) -> None:
    async def call_all() -> list[Any]:
        async with AsyncMemory(tmp_path / "m.db", embedder=HashingEmbedder(64), update_scorer=None) as memory:
            await memory.remember(EPISODES)
            filter_ = Filter(**where)
            return [await getattr(memory, name)(**ARGUMENTS[name], where=filter_) for name in ARGUMENTS]

    assert [selected(to_json(one)) for one in asyncio.run(call_all())] == [[] for _ in ARGUMENTS]


@pytest.mark.medium
@pytest.mark.parametrize("name", ARGUMENTS)
def test_empty_list_matches_nothing_over_http(name: str, server: Server, scope: str, token: str) -> None:
    server.post("/v1/remember", {"content": to_json(EPISODES)}, token=token, scope=scope)
    path = next(one.path for one in OPERATIONS if one.name == name)
    for where in EMPTY:
        answer = server.post(path, {**ARGUMENTS[name], "where": where}, token=token, scope=scope)
        assert (answer.status_code, selected(answer.json())) == (200, [])
    for where in UNRESTRICTED if name != "forget" else ():
        answer = server.post(path, {**ARGUMENTS[name], "where": where}, token=token, scope=scope)
        assert (answer.status_code, bool(selected(answer.json()))) == (200, True)


@pytest.mark.parametrize("where", [*EMPTY, *UNRESTRICTED], ids=str)
def test_filter_keeps_its_empty_lists_on_the_wire(where: dict[str, Any]) -> None:
    assert to_json(from_json(Filter, to_json(Filter(**where)))) == to_json(Filter(**where))


@pytest.mark.parametrize("where", UNRESTRICTED, ids=str)
def test_filter_that_restricts_nothing_matches_all_and_is_refused_by_forget(
    where: dict[str, Any], memory: Memory
) -> None:
    assert memory.count(where=Filter(**where)) == len(IDS)
    assert {hit.id for hit in memory.recall(QUESTION, where=Filter(**where))} == set(IDS)
    with pytest.raises(InvalidInput, match="an empty filter would erase the whole scope"):
        memory.forget(where=Filter(**where))


def test_empty_list_of_unwanted_values_matches_all(memory: Memory) -> None:
    assert memory.count(where=Filter(metadata={"n": {"$nin": []}})) == len(IDS)


def test_empty_list_on_the_command_line_matches_nothing(memory: Memory, tmp_path: Path) -> None:
    memory.close()
    arguments = ["--where", json.dumps({"n": {"$in": []}}), "--db", str(tmp_path / "m.db"), "--json"]
    counted = CliRunner().invoke(main, ["count", *arguments])
    erased = CliRunner().invoke(main, ["forget", "--yes", *arguments])
    assert (json.loads(counted.stdout), json.loads(erased.stdout)["episode_ids"]) == ({"count": 0}, [])


def test_option_that_is_not_given_restricts_nothing(memory: Memory, tmp_path: Path) -> None:
    memory.close()
    counted = CliRunner().invoke(main, ["count", "--db", str(tmp_path / "m.db"), "--json"])
    assert json.loads(counted.stdout) == {"count": len(IDS)}


def test_empty_list_of_ids_is_refused_by_the_tools(memory: Memory) -> None:
    assert memory.tools().call("forget", {"ids": []}).startswith("Error: ids is []; give a list of 1 to 100 strings")
