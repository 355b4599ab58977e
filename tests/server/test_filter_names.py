"""Names in filters: which spellings of a speaker they find, and what is said of a name that no memory has."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from ecphora import Episode, Filter, HashingEmbedder, Memory
from ecphora.cli.main import main
from ecphora.retrieval.filters import MAX_NEAR

from .conftest import Server

EPISODES = [
    Episode("John likes rain.", id="john", speaker="John", session="chat-12", source="a.md", happened_at="2026-05-01"),
    Episode("Jonas likes snow.", id="jonas", speaker="Jonas", session="chat-13", happened_at="2026-05-02"),
    Episode("José likes fog.", id="jose", speaker="José", session="Chat-12", happened_at="2026-05-03"),
]
QUESTION = "Who likes rain?"
NOTICE = "no speaker 'Jon'; near: 'John', 'Jonas'"


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory(tmp_path / "m.db", embedder=HashingEmbedder(64), update_scorer=None) as opened:
        opened.remember(EPISODES)
        yield opened


def found_ids(memory: Memory, **fields: Any) -> list[str]:
    return sorted(node.id for node in memory.find(where=Filter(**fields)))


# ---- spellings


@pytest.mark.parametrize("name", ["José", "JOSE", "jose", "Jose\u0301", "Ｊｏｓｅ"])
def test_speaker_is_found_by_any_case_accents_and_width(name: str, memory: Memory) -> None:
    assert found_ids(memory, speakers=name) == ["jose"]
    assert found_ids(memory, not_speakers=name) == ["john", "jonas"]
    assert [hit.id for hit in memory.recall(QUESTION, where=Filter(speakers=name))] == ["jose"]
    assert memory.forget(where=Filter(speakers=name), dry_run=True).episode_ids == ("jose",)


def test_exact_name_of_a_speaker_comes_before_its_other_spellings(memory: Memory) -> None:
    memory.remember(Episode("Jose likes hail.", id="plain", speaker="Jose"))
    assert found_ids(memory, speakers="José") == ["jose"]
    assert found_ids(memory, speakers="Jose") == ["plain"]
    assert found_ids(memory, speakers="JOSE") == ["jose", "plain"]
    assert found_ids(memory, speakers=("JOSE", "JOHN")) == ["john", "jose", "plain"]


@pytest.mark.medium
def test_marks_that_tell_names_apart_are_no_accents(memory: Memory) -> None:
    memory.remember([Episode("か", id="ka", speaker="かな"), Episode("が", id="ga", speaker="がな")])
    assert found_ids(memory, speakers="がな") == ["ga"]


def test_sessions_and_sources_compare_exactly(memory: Memory) -> None:
    assert found_ids(memory, sessions="chat-12") == ["john"]
    assert found_ids(memory, sessions="CHAT-12") == found_ids(memory, sources="A.md") == []


# ---- names that no memory has


@pytest.mark.parametrize(
    ("fields", "notices"),
    [
        ({}, ()),
        ({"speakers": "john"}, ()),
        ({"speakers": "Jon"}, (NOTICE,)),
        ({"speakers": ("Jon", "John", "Zoe")}, (NOTICE, "no speaker 'Zoe'")),
        ({"speakers": "Jonas Berg"}, ("no speaker 'Jonas Berg'; near: 'Jonas'",)),
        ({"sessions": "chat-1"}, ("no session 'chat-1'; near: 'chat-13', 'chat-12', 'Chat-12'",)),
        ({"sources": "b.md", "speakers": "John"}, ("no source 'b.md'; near: 'a.md'",)),
        ({"speakers": ()}, ()),
        ({"not_speakers": "Jon"}, ()),
    ],
    ids=str,
)
def test_results_name_what_no_memory_has(fields: dict[str, Any], notices: tuple[str, ...], memory: Memory) -> None:
    where = Filter(**fields)
    assert memory.recall(QUESTION, where=where).notices == notices
    assert memory.answer(QUESTION, where=where).notices == notices
    assert memory.find(where=where).notices == notices
    if fields:
        assert memory.forget(where=where if where != Filter() else None, dry_run=True).notices == notices


def test_recollection_shows_its_notices(memory: Memory) -> None:
    found = memory.recall(QUESTION, where=Filter(speakers="Jon"))
    assert NOTICE in str(found)
    assert NOTICE.replace("'", "&#x27;") in found._repr_html_()
    assert found.to_dict()["notices"] == [NOTICE]


def test_names_of_forgotten_and_of_later_memories_are_not_shown(memory: Memory) -> None:
    where = Filter(speakers="Jon")
    assert memory.recall(QUESTION, where=where, as_of="2026-05-01").notices == ("no speaker 'Jon'; near: 'John'",)
    memory.forget("john")
    assert memory.find(where=where).notices == ("no speaker 'Jon'; near: 'Jonas'",)
    assert memory.find(where=Filter(speakers="John")).notices == ("no speaker 'John'; near: 'Jonas'",)


def test_near_names_are_few_and_on_one_line(memory: Memory) -> None:
    memory.remember([Episode("x", id=f"e{n}", speaker=f"Annabel\n{n}") for n in range(9)])
    (notice,) = memory.find(where=Filter(speakers="Annabel")).notices
    assert "\n" not in notice
    assert notice.count("Annabel\\n") == MAX_NEAR


@pytest.mark.parametrize(
    ("tool", "arguments", "head"),
    [
        ("recall", {"question": QUESTION}, "Nothing found"),
        ("find", {}, "Nothing found"),
        ("forget", {}, "Nothing erased"),
    ],
)
def test_tools_reply_with_the_names_near(tool: str, arguments: dict[str, Any], head: str, memory: Memory) -> None:
    reply = memory.tools().call(tool, {**arguments, "speaker": "Jon"})
    assert reply.startswith(f"{head}: {NOTICE}.")


@pytest.mark.medium
@pytest.mark.parametrize("command", [("recall", QUESTION), ("ask", QUESTION), ("find",), ("count",), ("forget",)])
def test_commands_note_the_names_near(command: tuple[str, ...], memory: Memory, tmp_path: Path) -> None:
    memory.close()
    arguments = [*command, "--db", str(tmp_path / "m.db"), "--speaker", "Jon"]
    assert NOTICE in CliRunner().invoke(main, arguments).stderr
    if command != ("count",):
        assert json.loads(CliRunner().invoke(main, [*arguments, "--json"]).stdout)["notices"] == [NOTICE]


@pytest.mark.medium
def test_answers_over_http_have_the_notices(server: Server, scope: str, token: str) -> None:
    content = [{"text": one.text, "speaker": one.speaker} for one in EPISODES]
    server.post("/v1/remember", {"content": content}, token=token, scope=scope)
    where = {"where": {"speakers": "Jon"}}
    for path, body in (("recall", {"question": QUESTION}), ("find", {}), ("forget", {"dry_run": True})):
        answer = server.post(f"/v1/{path}", {**body, **where}, token=token, scope=scope)
        assert answer.json()["notices"] == [NOTICE]
