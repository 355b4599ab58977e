"""The arguments of the tools: those in the documentation, and what an answer and an update are stored with."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from ecphora.embedders.hashing import HashingEmbedder
from ecphora.memory import Memory
from ecphora.model import Episode
from ecphora.testing import FakeClock

ANA = Episode("Ana moved to Porto.", id="home", speaker="Ana", happened_at="2026-05-03")


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory(tmp_path / "m.db", embedder=HashingEmbedder(64), update_scorer=None, clock=FakeClock()) as opened:
        yield opened


def test_table_of_the_docs_has_every_argument_of_a_tool(memory: Memory) -> None:
    page = (Path(__file__).parents[2] / "docs" / "tools.md").read_text(encoding="utf-8")
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
