"""The storage of CrewAI: what its protocol asks for, beside its own LanceDB storage, and a crew with it."""

import asyncio
import copy
import json
import os
from datetime import UTC, datetime, timedelta
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

if find_spec("crewai") is None:  # the environment of other tests stays as it is
    pytest.skip("needs crewai", allow_module_level=True)
os.environ |= {"CREWAI_DISABLE_TELEMETRY": "true", "OTEL_SDK_DISABLED": "true", "CREWAI_TRACING_ENABLED": "false"}

import crewai
from crewai import Agent, BaseLLM, Crew, Task
from crewai.memory.storage.backend import EmbeddingDimensionMismatchError, StorageBackend
from crewai.memory.storage.factory import set_memory_storage_factory
from crewai.memory.types import MemoryRecord

import ecphora
from ecphora import HashingEmbedder
from ecphora.adapters.crewai import CrewEmbedder, EcphoraStorage
from ecphora.errors import InvalidInput
from ecphora.model.ids import content_id
from ecphora.testing import AdapterContract, AdapterDriver

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of CrewAI and LanceDB
START = datetime(2026, 5, 3, 12)  # noqa: DTZ001  # CrewAI's times have no offset


@pytest.fixture(autouse=True)
def _storage_of_crewai(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """CrewAI writes the outputs of tasks here, not in the home of the user."""
    monkeypatch.setenv("CREWAI_STORAGE_DIR", str(tmp_path / "crewai"))


@pytest.fixture
def storage(memory: ecphora.Memory) -> EcphoraStorage:
    return EcphoraStorage(memory)


def record(id_: str, *vector: float, at: int = 0, **fields: Any) -> MemoryRecord:
    created_at = START + timedelta(hours=at)
    return MemoryRecord(
        **{
            "id": id_,
            "content": f"Content {id_}.",
            "embedding": list(vector) or None,
            "created_at": created_at,
            "last_accessed": created_at,
            **fields,
        }
    )


@pytest.fixture
def filled(storage: EcphoraStorage) -> EcphoraStorage:
    storage.save(
        [
            record("a", 1, 0, at=1, scope="/crew/one", categories=["x"], metadata={"k": 1, "deep": {"n": [1]}}),
            record("b", 0, 1, at=2, scope="/crew/one/two", categories=["x", "y"], source="ana", private=True),
            record("c", 3, 3, at=3, scope="/crew/ones", importance=0.9),
            record("d", at=4, scope="/"),
        ]
    )
    return storage


def ids(found: Any) -> str:
    return "".join(one.id if isinstance(one, MemoryRecord) else one[0].id for one in found)


class Driver(AdapterDriver):
    """A scope of CrewAI for each user, and the vectors of an embedder of Ecphora."""

    def __init__(self, memory: ecphora.Memory) -> None:
        super().__init__(memory)
        self.storage, self.embed = EcphoraStorage(memory), CrewEmbedder(HashingEmbedder(64))

    def keep(self, text: str, *, user: str, session: str) -> None:
        scope, (vector,) = f"/{user}/{session}", self.embed([text])
        id_ = content_id(scope, repr(text))
        self.storage.save([record(id_, *vector, content=text, scope=scope)])

    def find(self, question: str, *, user: str) -> list[str]:
        return [found.content for found, _ in self.storage.search(self.embed([question])[0], f"/{user}")]

    def forget(self, text: str, *, user: str) -> None:
        found = [one.id for one in self.storage.list_records(f"/{user}") if one.content == text]
        self.storage.delete(record_ids=found)


class TestContract(AdapterContract):
    driver = Driver
    restores_forgotten = True
    separates_users = True


# ---- the protocol


def test_it_is_a_storage_backend(storage: EcphoraStorage) -> None:
    assert isinstance(storage, StorageBackend)
    assert copy.deepcopy(storage) is storage


def test_a_record_comes_back_as_it_was_saved(filled: EcphoraStorage) -> None:
    given = record(
        "e", 0.1, 0.2, content="Olá 🌊\n", scope="/x", categories=["p", "q"], importance=0.25, source="s", private=True,
        metadata={"n": 1, "deep": {"a": [1, {"b": None}]}}, last_accessed=START + timedelta(days=2),
    )  # fmt: skip
    filled.save([given])
    found = filled.get_record("e")
    assert found is not None
    assert found.model_dump() == given.model_dump()
    assert found.embedding == pytest.approx(given.embedding)
    found.metadata["n"] = 2
    assert filled.get_record("e").metadata["n"] == 1  # type: ignore[union-attr]
    assert filled.get_record("z") is None
    d = filled.get_record("d")
    assert d is not None
    assert (d.embedding, d.source) == (None, None)


@pytest.mark.parametrize("content", ["", "  ", "\u200b", "'; DROP TABLE nodes; --", "a" * 9000, "x " * 9000, "a\x00b"])
def test_every_content_comes_back(storage: EcphoraStorage, content: str) -> None:
    storage.save([record("a", 1, 0, content=content)])
    assert storage.get_record("a").content == content  # type: ignore[union-attr]
    assert ids(storage.search([1, 0])) == "a"


def test_a_search_ranks_by_the_cosine(filled: EcphoraStorage) -> None:
    found = filled.search([2, 0])
    assert ids(found) == "acbd"
    assert [score for _, score in found] == pytest.approx([1, 0.7071, 0, 0], abs=1e-4)
    assert ids(filled.search([2, 0], limit=1)) == "a"
    assert ids(filled.search([2, 0], min_score=0.5)) == "ac"
    assert [score for _, score in filled.search([-1, 0], limit=1)] == [0]
    assert filled.search([2, 0], limit=0) == filled.search([]) == []
    assert EcphoraStorage(filled.memory, "other").search([1, 0, 0]) == []


def test_a_search_has_filters(filled: EcphoraStorage) -> None:
    assert ids(filled.search([1, 0], scope_prefix="/crew/one")) == "ab"
    assert ids(filled.search([1, 0], scope_prefix="crew/one/")) == "ab"
    assert ids(filled.search([1, 0], scope_prefix="/")) == "acbd"
    assert ids(filled.search([1, 0], categories=["y", "z"])) == "b"
    assert ids(filled.search([1, 0], categories=[])) == "acbd"
    assert ids(filled.search([1, 0], metadata_filter={"k": 1, "deep": {"n": [1]}})) == "a"
    assert ids(filled.search([1, 0], scope_prefix="/nowhere")) == ""


def test_vectors_of_another_length_are_refused(filled: EcphoraStorage) -> None:
    with pytest.raises(EmbeddingDimensionMismatchError):
        filled.search([1, 0, 0])
    with pytest.raises(EmbeddingDimensionMismatchError):
        filled.save([record("e", 1, 0, 0)])
    with pytest.raises(EmbeddingDimensionMismatchError):
        filled.update(record("a", 1, 0, 0))
    assert filled.get_record("e") is None
    filled.reset()
    with pytest.raises(EmbeddingDimensionMismatchError):
        filled.save([record("e", 1, 0, 0), record("f", 1, 0)])
    filled.save([record("e", 1, 0, 0)])
    assert ids(filled.search([1, 0, 0])) == "e"


@pytest.mark.parametrize(
    "fields",
    [{"metadata": {"at": START}}, {"metadata": {"x": {1}}}, {"metadata": {"x": float("nan")}}],
)
def test_records_that_cannot_be_kept_are_refused(storage: EcphoraStorage, fields: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        storage.save([record("ok", 1, 0), record("a", **fields)])
    assert storage.count() == 0
    with pytest.raises(InvalidInput):
        storage.save([record("a", float("nan"), 0)])


def test_saving_again_and_updating_replace(filled: EcphoraStorage, memory: ecphora.Memory) -> None:
    filled.save([record("a", 0, 1, content="New.", scope="/new"), record("e", 1, 1)])
    assert filled.get_record("a").content == "New."  # type: ignore[union-attr]
    assert filled.count("/new") == 1
    filled.update(record("a", 0, 1, content="Newer."))
    filled.update(record("f", 0, 1))  # a record that is not there is added
    assert filled.count() == memory.count() == 6
    assert ids(filled.search([0, 1], limit=2, min_score=0.99))[0] in "abf"
    filled.save([])
    filled.save([record("g", 1, 0), record("g", 1, 0, content="Last.")])
    assert filled.get_record("g").content == "Last."  # type: ignore[union-attr]


def test_deleting(filled: EcphoraStorage, memory: ecphora.Memory) -> None:
    assert filled.delete(record_ids=[]) == 0
    assert filled.delete(record_ids=["a", "z"]) == 1
    assert filled.delete(scope_prefix="/crew", record_ids=["d"]) == 0
    assert filled.delete(categories=["y"], older_than=START + timedelta(hours=2)) == 0
    assert filled.delete(categories=["y"], older_than=START + timedelta(hours=3)) == 1
    assert filled.delete(older_than=datetime(2026, 5, 3, 15, 30, tzinfo=UTC)) == 1
    assert ids(filled.list_records()) == "d"
    assert memory.count() == 1
    filled.save([record("a", 1, 0)])  # what was deleted may come back
    assert filled.delete(metadata_filter={"k": 2}) == 0
    assert filled.delete() == 2


def test_listing(filled: EcphoraStorage) -> None:
    assert ids(filled.list_records()) == "dcba"
    assert ids(filled.list_records("/crew", limit=2)) == "cb"
    assert ids(filled.list_records(limit=2, offset=1)) == "cb"
    assert filled.list_records(limit=0) == filled.list_records(offset=-1) == []


def test_scopes_and_categories(filled: EcphoraStorage) -> None:
    assert filled.list_scopes() == ["/crew"]
    assert filled.list_scopes("/crew/") == ["/crew/one", "/crew/ones"]
    assert filled.list_scopes("/crew/one") == ["/crew/one/two"]
    assert filled.list_scopes("/nowhere") == []
    assert filled.list_categories() == {"x": 2, "y": 1}
    assert filled.list_categories("/crew/one/two") == {"x": 1, "y": 1}
    assert (filled.count(), filled.count("/"), filled.count("/crew/one"), filled.count("/no")) == (4, 4, 2, 0)
    info = filled.get_scope_info("/crew/one/")
    assert info.model_dump() == {
        "path": "/crew/one",
        "record_count": 2,
        "categories": ["x", "y"],
        "oldest_record": START + timedelta(hours=1),
        "newest_record": START + timedelta(hours=2),
        "child_scopes": ["/crew/one/two"],
    }
    assert filled.get_scope_info("/nowhere").record_count == 0


def test_a_reset_spares_what_is_not_of_the_storage(filled: EcphoraStorage, memory: ecphora.Memory) -> None:
    memory.remember("Another memory.")
    other = EcphoraStorage(memory, "other")
    other.save([record("a", 1, 0)])
    filled.reset("/crew/one")
    assert ids(filled.list_records()) == "dc"
    filled.reset("/")
    assert filled.count() == 0
    assert other.count() == 1
    assert memory.count() == 2


def test_records_are_memories(filled: EcphoraStorage, memory: ecphora.Memory) -> None:
    (node,) = [node for node in memory.find() if node.text == "Content b."]
    assert node.source == "ana"
    assert node.happened_at == datetime(2026, 5, 3, 14, tzinfo=UTC)


def test_asyncio(storage: EcphoraStorage) -> None:
    async def work() -> None:
        await storage.asave([record("x", 1, 0)])
        assert ids(await storage.asearch([1, 0], limit=1, metadata_filter={})) == "x"
        assert await storage.adelete(record_ids=["x"]) == 1

    asyncio.run(work())


def test_the_embedder_is_one_of_ecphora() -> None:
    embedder = CrewEmbedder(HashingEmbedder(64))
    vectors = embedder(["one", "two"])
    assert [len(vector) for vector in vectors] == [64, 64]
    assert json.dumps(vectors)
    assert copy.deepcopy(embedder) is embedder
    with pytest.raises(InvalidInput):
        CrewEmbedder(3)  # type: ignore[arg-type]


# ---- beside CrewAI's own storage


def test_the_same_calls_give_the_same_as_lancedb(tmp_path: Path, storage: EcphoraStorage) -> None:
    pytest.importorskip("lancedb")
    from crewai.memory.storage.lancedb_storage import LanceDBStorage  # noqa: PLC0415  # needs lancedb

    lance = LanceDBStorage(path=tmp_path / "lance")
    answers = []
    for one in (lance, storage):
        one.save(
            [
                record("a", 1, 0, at=1, scope="/crew/one", categories=["x"], metadata={"k": 1}),
                record("b", 0, 1, at=2, scope="/crew/one/two", categories=["x", "y"]),
                record("c", 0.6, 0.8, at=3, scope="/other", importance=0.9),
            ]
        )
        one.update(record("c", 0.6, 0.8, at=3, scope="/other", content="New."))
        found: list[Any] = [
            ids(one.search([1, 0])),
            ids(one.search([1, 0], scope_prefix="/crew")),
            ids(one.search([1, 0], categories=["y"])),
            ids(one.search([1, 0], metadata_filter={"k": 1})),
            ids(one.list_records(limit=2)),
            one.list_scopes(),
            one.list_scopes("/crew"),
            one.list_categories(),
            one.count("/crew"),
            one.get_scope_info("/crew"),
            one.get_scope_info("/none"),
            one.get_record("c").content,  # type: ignore[union-attr]
            one.get_record("a").model_dump(),  # type: ignore[union-attr]
            one.delete(record_ids=["a"]),
            one.delete(categories=["y"]),
        ]
        one.reset("/other")
        answers.append([*found, one.count()])
    assert answers[0] == answers[1]


# ---- a crew


class ScriptedLLM(BaseLLM):
    """Answers what CrewAI asks of a model: extraction, analysis, and the task itself from what it was shown."""

    prompts: list[str] = []  # noqa: RUF012  # a field

    def call(self, messages: Any, *_: Any, **__: Any) -> str:
        text = messages if isinstance(messages, str) else "\n".join(str(one["content"]) for one in messages)
        self.prompts.append(text)
        if "insert_new" in text:
            return json.dumps({"actions": [], "insert_new": True})
        if "memories" in text and "extract" in text.casefold() and "Current Task" not in text:
            return json.dumps({"memories": ["The office is in Porto."]})
        if "suggested_scope" in text or "importance" in text.casefold():
            return json.dumps({"suggested_scope": "/office", "categories": ["place"], "importance": 0.7})
        return f"Thought: I know.\nFinal Answer: {'Porto' if 'The office is in Porto.' in text else 'I do not know.'}"

    def supports_function_calling(self) -> bool:
        return False


def crew_with(storage: Any, question: str) -> Any:
    llm = ScriptedLLM(model="scripted")
    options: dict[str, Any] = {} if storage is None else {"storage": storage}
    memory = crewai.Memory(embedder=CrewEmbedder(HashingEmbedder(64)), llm=llm, **options)
    agent = Agent(role="Clerk", goal="Answer.", backstory="Works here.", llm=llm, allow_delegation=False)
    task = Task(description=question, expected_output="A place.", agent=agent)
    return Crew(agents=[agent], tasks=[task], memory=memory, verbose=False), memory


def test_a_crew_remembers_from_one_run_to_the_next(tmp_path: Path) -> None:
    with ecphora.Memory(tmp_path / "crew.db", embedder=HashingEmbedder(64)) as store:
        crew, memory = crew_with(EcphoraStorage(store), "Note that the office is in another town now.")
        crew.kickoff()
        memory.drain_writes()
        assert "The office is in Porto." in {node.text for node in store.find()}
        memory.close()
    with ecphora.Memory(tmp_path / "crew.db", embedder=HashingEmbedder(64)) as store:
        crew, memory = crew_with(EcphoraStorage(store), "Where is the office?")
        assert str(crew.kickoff()) == "Porto"
        memory.close()
        assert store.recall("Where is the office?")[0].text == "The office is in Porto."


def test_the_memory_of_crewai_by_itself(storage: EcphoraStorage) -> None:
    set_memory_storage_factory(lambda spec: storage if spec == "lancedb" else None)
    try:
        memory = crewai.Memory(embedder=CrewEmbedder(HashingEmbedder(64)), llm=ScriptedLLM(model="scripted"))
    finally:
        set_memory_storage_factory(None)
    options: dict[str, Any] = {"scope": "/a", "categories": ["c"], "importance": 0.5}
    kept = memory.remember("The tree is green.", metadata={"n": 1}, **options)
    memory.remember("The lake is deep.", private=True, source="ana", **options)
    assert kept is not None
    assert [match.record.content for match in memory.recall("green tree", depth="shallow")] == ["The tree is green."]
    assert len(memory.recall("lake", depth="shallow", source="ana")) == 2
    assert [match.record.content for match in memory.recall("green tree", limit=1)] == ["The tree is green."]
    memory.update(kept.id, content="The tree is red.")
    assert memory.recall("tree", depth="shallow")[0].record.content == "The tree is red."
    assert memory.tree() == "/ (2 records)\n  /a (2 records)"
    assert memory.forget(record_ids=[kept.id]) == 1
    memory.reset()
    assert storage.count() == 0
    memory.close()
