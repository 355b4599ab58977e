"""The printed forms of public objects: a short repr, and a recollection as a table, as HTML and as JSON."""

import dataclasses
import inspect
import json
import typing
from collections.abc import Iterator
from dataclasses import is_dataclass
from datetime import UTC, datetime
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, get_args, get_type_hints

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ecphora
from ecphora import (
    AsyncMemory,
    AutoConsolidate,
    Episode,
    Filter,
    LLMClient,
    Memory,
    OpenAILLM,
    Recollection,
    RemoteMemory,
    ToolSet,
)
from ecphora.memory import Entities, Facts, Maintenance
from ecphora.model.ports import Activation
from ecphora.model.reprs import MAX_REPR_CHARS, ShortRepr, call_repr
from ecphora.model.types import Contribution, Cost, Evidence, Hit, Kind, Node, Query, Validity, Why
from ecphora.models.embedders.hashing import HashingEmbedder
from ecphora.strategies import BUILT_IN, FAITHFUL
from ecphora.testing import NOON, FakeClock

LONG = "Ana moved\nto \x1b[31mPorto\x1b[0m, <b>she</b> said. " * 60


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory(tmp_path / "memory.db", embedder=HashingEmbedder(384), update_scorer=None, clock=FakeClock()) as opened:
        old = opened.remember(
            Episode(LONG, id="x" * 500, speaker="Ana" * 100, happened_at="2026-01-02", metadata={"k" * 300: "v" * 300})
        ).id
        opened.remember(Episode("Ana lives in Ghent.", id="new", supersedes=old, happened_at="2026-04-01"))
        opened.remember(["Ana lives in a house."] * 3 + [f"Ana has {n} cats." for n in range(30)])
        yield opened


def public(memory: Memory) -> dict[str, object]:
    """One of every public object."""
    found = memory.recall("Where does Ana live? " * 40, where=Filter(speakers=None, metadata={}), as_of="2026-12-01")
    first = found[0]
    return {
        "memory": memory,
        "found": found,
        "cue": found.query,
        "hit": first,
        "node": first.node,
        "why": first.why,
        "share": first.why.contributions[0],
        "cost": found.cost,
        "history": memory.history("new"),
        "graph": memory.graph(),
        "remembered": memory.remember([f"Ben has {n} cats." for n in range(40)]),
        "answer": memory.answer("Ana?"),
        "consolidated": memory.consolidate(),
        "batches": memory.maintenance.batches()[0],
        "erased": memory.forget(["new"]),
        "why not": memory.why_not("Ana?", "x" * 500),
        "scopes": memory.scopes()[0],
        "store": memory._store,
        "episode": Episode(LONG, speaker="Ana" * 100, metadata={"k": "v" * 900}),
        "trigger": AutoConsolidate(every_turns=5),
        "filter": Filter(speakers=tuple("abcdefghij" * 40), after="2026-01-01"),
        "embedder": HashingEmbedder(8),
        "guest": LLMClient(OpenAILLM("m" * 400, api_key="secret")),
        "chat": OpenAILLM("m", api_key="secret"),
        "openai": ecphora.OpenAIEmbedder("m", api_key="secret", base_url="https://user:secret@host/v1"),
        "llamacpp": ecphora.LlamaCppLLM("x" * 400 + ".gguf"),
        "minilm": ecphora.MiniLMEmbedder(),
        "e5": ecphora.E5Embedder(),
        "transformers": ecphora.SentenceTransformersEmbedder("m"),
        "activation": memory.strategy.activate(found.query, memory.graph()),
        **BUILT_IN,
        **FAITHFUL,
    }


@pytest.mark.medium
def test_repr_of_public_objects_is_one_short_line(memory: Memory) -> None:
    for name, one in public(memory).items():
        shown = repr(one)
        assert len(shown) <= MAX_REPR_CHARS, name
        assert "\n" not in shown, name
        assert "\x1b" not in shown, name
        assert "array(" not in shown, name
        assert " object at 0x" not in shown, name
        assert "secret" not in shown, name


def test_public_dataclasses_have_a_short_repr() -> None:
    """The classes that the package exports and that methods of Memory return."""
    exported = {getattr(ecphora, name) for name in ecphora.__all__}
    methods = [one for name, one in inspect.getmembers(Memory, inspect.isfunction) if not name.startswith("_")]
    hints = [typing.get_type_hints(one).get("return") for one in methods]
    returned = {one for hint in hints for one in (hint, *typing.get_args(hint))}
    classes = [one for one in exported | returned if inspect.isclass(one) and dataclasses.is_dataclass(one)]
    assert len(classes) > 20
    assert [one.__name__ for one in classes if one.__repr__ is object.__repr__ or "array" in repr(one)] == []
    plain = {one.__name__ for one in classes if not issubclass(one, ShortRepr)}
    assert plain == {"Graph"}  # its repr has counts


def test_repr_shows_the_main_fields() -> None:
    node = Node("porto", Kind.EPISODE, "Ana moved to Porto.", NOON, NOON, speaker="Ana")
    at = "2026-05-03T12:00+00:00"
    fields = f"text='Ana moved to Porto.', happened_at={at}, speaker='Ana'"
    assert repr(node) == f"Node(id='porto', kind='episode', {fields})"
    hit = Hit(node, 3.14159, Why((Contribution("words", 1.2), Contribution("prior", 5.0))))
    assert repr(hit) == "Hit(node=Node('porto', …), score=3.142, why=Why(<2 Contribution>, …))"
    assert repr(hit.why) == "Why('words +1.20, prior +5.00')"
    assert repr(Query("Where?", NOON, np.ones(3, np.float32))) == f"Query(text='Where?', now={at}, vector=float32[3])"
    assert repr(Activation(np.ones(3, np.float32))) == "Activation(scores=float32[3])"
    assert repr(Episode("x" * 60)) == f"Episode(text='{'x' * 47}…')"
    assert repr(AutoConsolidate()) == "AutoConsolidate()"


@pytest.mark.medium
@given(st.lists(st.text() | st.integers() | st.binary() | st.lists(st.text()) | st.datetimes()))
def test_repr_has_a_maximum_length(values: list[object]) -> None:
    shown = call_repr("Something", *values, name=values)
    assert len(shown) <= MAX_REPR_CHARS
    assert "\n" not in shown


# ---- a recollection


def recollection(*hits: Hit, question: str = "Where does Ana live?") -> Recollection:
    return Recollection(Query(question, NOON), "fused", Evidence.STRONG, 0.93, hits, Cost(12.34, {"embed": 2.0}, 17))


def node(id_: str, text: str, **fields: Any) -> Node:
    return Node(id_, Kind.EPISODE, text, datetime(2026, 9, 14, tzinfo=UTC), NOON, **fields)


WORDS = Why((Contribution("words", 9.0),))
NEW = Hit(node("new", "I have a flat in Ghent now.", speaker="Ana"), 14.586, WORDS, None, lambda: "says “Ana”")
OLD = Hit(
    node("old", "I moved\n to Porto.", speaker="Benedita Vasconcelos"),
    1.2,
    Why(()),
    Validity(
        is_valid=False, valid_to=datetime(2026, 9, 14, tzinfo=UTC), superseded_by=("new",), contradicted_by=("c",)
    ),
)


def test_recollection_prints_as_a_table() -> None:
    assert str(recollection(NEW, OLD)) == (
        "Where does Ana live?  evidence strong (0.93), 2 memories, 17 tokens, 12.3 ms, fused\n"
        "  1   14.59  2026-09-14  Ana               I have a flat in Ghent now.\n"
        "     says “Ana”\n"
        "  2    1.20  2026-09-14  Benedita Vascon…  I moved to Porto."
        "  [held until 2026-09-14; superseded by new; contradicted by c]"
    )
    assert str(recollection()) == "Where does Ana live?  evidence strong (0.93), 0 memories, 17 tokens, 12.3 ms, fused"


@pytest.mark.medium
def test_table_has_two_lines_per_hit_for_any_text(memory: Memory) -> None:
    found = memory.recall("Ana moved to Porto", limit=5)
    lines = str(found).splitlines()
    assert [line[:5].strip() for line in lines[1::2]] == ["1", "2", "3", "4", "5"]
    assert [line[:5].strip() for line in lines[2::2]] == [""] * 5
    assert max(map(len, lines)) < 200
    assert "\x1b" not in str(found)
    assert "👩‍🔬" in str(recollection(Hit(node("a", "👩‍🔬 and \u202e\u200b"), 1, Why(()))))
    assert "\u202e" not in str(recollection(Hit(node("a", "a\u202eb"), 1, Why(()))))


class TableParser(HTMLParser):
    """The texts of the cells of an HTML table, and its tags."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.cells: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: object) -> None:  # noqa: ARG002
        self.tags.add(tag)
        if tag in {"td", "th", "caption"}:
            self.cells.append("")

    def handle_data(self, data: str) -> None:
        self.cells[-1] += data


def test_html_of_a_recollection_is_escaped() -> None:
    unsafe = Hit(
        node("e", "<script>alert('&')</script>", speaker="<b>Ana</b>"), 2.0, Why(()), None, lambda: "says “<i>”"
    )
    found = TableParser(recollection(unsafe, OLD, question="<img src=x>?")._repr_html_())
    assert found.tags == {"table", "caption", "thead", "tbody", "tr", "th", "td"}
    assert found.cells[0].startswith("<img src=x>?  evidence strong")
    assert found.cells[1:8] == ["", "score", "date", "speaker", "text", "reason", "validity"]
    assert found.cells[8:15] == [
        "1", "2.00", "2026-09-14", "<b>Ana</b>", "<script>alert('&')</script>", "says “<i>”", ""
    ]  # fmt: skip
    assert found.cells[-1] == "held until 2026-09-14; superseded by new; contradicted by c"


def test_recollection_to_dict_is_json() -> None:
    found = json.loads(json.dumps(recollection(NEW, OLD).to_dict()))
    assert set(found) == {
        "question", "query", "strategy", "evidence", "confidence", "milliseconds", "step_milliseconds", "tokens",
        "passages_reranked", "passages_left", "reranker_error", "hits", "groups", "engrams", "insights", "exchanges",
        "notices",
    }  # fmt: skip
    assert (found["evidence"], found["confidence"], found["milliseconds"], found["tokens"]) == (
        "strong",
        0.93,
        12.34,
        17,
    )
    first, second = found["hits"]
    assert (first["rank"], first["score"], first["id"], first["speaker"]) == (1, 14.586, "new", "Ana")
    assert first["happened_at"] == "2026-09-14T00:00:00+00:00"
    assert (first["reason"], first["validity"]) == ("says “Ana”", None)
    assert first["why"] == [{"feature": "words", "value": 9.0, "path": []}]
    assert second["validity"] == {
        "is_valid": False, "valid_to": "2026-09-14T00:00:00+00:00", "superseded_by": ["new"], "contradicted_by": ["c"]
    }  # fmt: skip


@pytest.mark.medium
def test_to_dict_of_public_objects_is_json(memory: Memory) -> None:
    first_id = memory.remember("My standup is at nine.", speaker="Jo", happened_at="2026-02-02").id
    memory.remember("My standup is at ten now.", speaker="Jo", happened_at="2026-04-07")
    objects = [*public(memory).values(), memory.history(first_id), *memory.facts.updates(), *memory.insights()]
    with_to_dict = [one for one in objects if hasattr(one, "to_dict")]
    assert len(with_to_dict) > 8
    for one in with_to_dict:
        found = one.to_dict()
        assert json.loads(json.dumps(found, allow_nan=False)) == found


def test_slices_of_a_recollection_are_tuples_of_hits() -> None:
    found = recollection(NEW, OLD)
    assert found[0] is NEW
    assert found[-1] is OLD
    assert found[:1] == (NEW,)
    assert found[::-1] == (OLD, NEW)
    first: str = found[0].id  # mypy checks both types
    all_hits: tuple[Hit, ...] = found[:]
    assert (first, all_hits) == ("new", (NEW, OLD))


PUBLIC_MODULES = ("ecphora.errors", "ecphora.model.ports", "ecphora.model.types", "ecphora.model.conditions")
"""The modules whose names are public besides those of ``ecphora`` itself."""
NOT_EXPORTED = {"Graph", "MessageObject"}
"""The graph that strategies read, and the protocol of a chat message, which callers need not name."""


@pytest.mark.parametrize(
    "owner", [Memory, Facts, Entities, Maintenance, AsyncMemory, RemoteMemory, ToolSet, Recollection]
)
def test_types_of_public_signatures_are_public(owner: type) -> None:
    """What a method takes or returns, and the fields of that, can be imported from a public module."""
    methods = {
        name: one.fget if isinstance(one, property) else one
        for name, one in inspect.getmembers(owner, lambda one: inspect.isfunction(one) or isinstance(one, property))
        if not name.startswith("_")
    }
    waiting = {
        found for method in methods.values() for hint in get_type_hints(method).values() for found in classes(hint)
    }
    checked: set[type] = set()
    while waiting:
        cls = waiting.pop()
        checked.add(cls)
        is_public = cls.__name__ in ecphora.__all__ or cls.__module__ in PUBLIC_MODULES or cls.__name__ in NOT_EXPORTED
        assert is_public, f"{owner.__name__} has {cls.__module__}.{cls.__name__} in a public signature"
        if is_dataclass(cls) and cls.__name__ not in NOT_EXPORTED:
            hints = {name: hint for name, hint in get_type_hints(cls).items() if name != "json_form"}
            waiting |= {found for hint in hints.values() for found in classes(hint)} - checked


def classes(hint: object) -> set[type]:
    """The classes of ours in a type."""
    inner = {found for part in get_args(hint) for found in classes(part)}
    is_ours = isinstance(hint, type) and hint.__module__.startswith("ecphora")
    return inner | ({hint} if is_ours and isinstance(hint, type) else set())


def test_surface_is_small() -> None:
    assert len(ecphora.__all__) <= 80
