"""The arguments of the tools: those in the documentation, and what an answer and an update are stored with."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from ecphora.memory import Memory
from ecphora.model.types import Episode
from ecphora.models.embedders.hashing import HashingEmbedder
from ecphora.testing import FakeClock
from ecphora.tools.memory_tools import TOOLS
from ecphora.tools.tool_definitions import FunctionTool, read_json_texts

ANA = Episode("Ana moved to Porto.", id="home", speaker="Ana", happened_at="2026-05-03")


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory(tmp_path / "m.db", embedder=HashingEmbedder(64), update_scorer=None, clock=FakeClock()) as opened:
        yield opened


def test_table_of_the_docs_has_every_argument_of_a_tool(memory: Memory) -> None:
    page = (Path(__file__).parents[2] / "docs" / "how-to" / "tools.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `(\w+)` \| (.+?) \|", page, re.MULTILINE))
    for tool in memory.tools().anthropic():
        schema = cast(dict[str, Any], tool["input_schema"])
        assert re.findall(r"`(\w+)`", rows[str(tool["name"])]) == list(schema["properties"])


def test_answer_is_stored_with_what_a_recall_may_have_shown_beside_the_memories(memory: Memory) -> None:
    tools = memory.tools()
    memory.remember(ANA)
    for question, text in (("Who moved to Porto?", "Ana did."), ("Who moved to Porto then?", "Still Ana.")):
        assert tools.call("remember", {"texts": [text], "question": question}).startswith("Stored")
    later, earlier = memory.recall(question, include="exchanges").exchanges
    assert (later.response, earlier.id in later.source_ids) == ("Still Ana.", True)


def test_update_goes_back_to_an_earlier_text(memory: Memory) -> None:
    tools = memory.tools()
    first = memory.remember("Ana lives in Porto.").id
    moved = memory.update(first, "Ana lives in Ghent.", mode="supersede").id
    arguments = {"id": moved, "text": "Ana lives in Porto.", "mode": "supersede"}
    assert "which supersedes" in tools.call("update", arguments)
    assert tools.call("update", arguments).startswith("Nothing changed: ")
    assert len(memory) == 3


VALUES: dict[str, object] = {"strings": ["[1]", "3", "true"], "integer": 3, "boolean": False, "string": '["a"]'}
"""A value of each type of an argument; texts that look like JSON where a text is asked for."""


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_arguments_are_taken_as_the_json_text_that_stands_for_them(tool: FunctionTool) -> None:
    given = {one.name: one.choices[0] if one.choices else VALUES[one.type] for one in tool.parameters}
    texts = {name: value if isinstance(value, str) else json.dumps(value) for name, value in given.items()}
    assert tool.check_arguments(texts) == tool.check_arguments(given) == given
    assert tool.check_arguments(json.dumps(texts)) == given


@pytest.mark.parametrize("texts", ['"Ana"', "Ana", "[", "{}", "3", "null", "[" * 100_000])
def test_text_that_is_no_list_stays_refused_where_a_list_is_asked_for(texts: str, memory: Memory) -> None:
    assert memory.tools().call("remember", {"texts": texts}).startswith("Error: texts is ")


@pytest.mark.parametrize("limit", ["three", "3.5", "true", "NaN", "1e999", "[3]"])
def test_text_that_is_no_whole_number_stays_refused_where_one_is_asked_for(limit: str, memory: Memory) -> None:
    assert memory.tools().call("find", {"limit": limit}).startswith("Error: limit is ")


def test_text_is_kept_where_a_schema_allows_a_string_too() -> None:
    either = {"type": ["string", "array"], "items": {"type": "string"}}
    assert read_json_texts('["a"]', either) == '["a"]'
    assert read_json_texts("2.5", {"type": "number"}) == 2.5
