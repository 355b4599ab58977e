"""The routes of operations: they answer what the method returns, in the form that the OpenAPI document says."""

import inspect
import json
from pathlib import Path
from typing import Any

import pytest

from ecphora import Filter, HashingEmbedder, Memory, RecallOptions, rename_scope
from ecphora.errors import InvalidInput
from ecphora.memory import Entities, Facts, Maintenance
from ecphora.model.json_form import to_json
from ecphora.remote.server import operations
from ecphora.remote.server.operations import OPERATIONS, Operation

from .conftest import Server

BODIES: dict[str, Any] = {
    "remember": {"content": "Cy sold the boat.", "speaker": "Cy"},
    "recall": {"question": "Where does Ana live?", "as_of": "2026-12-01"},
    "why_not": {"question": "Where does Ana live?", "id": "IDS[2]"},
    "answer": {"question": "Where does Ana live?"},
    "get": {"id": "IDS[0]"},
    "chunks": {"id": "IDS[0]"},
    "find": {"where": {"speakers": ["Ana"], "after": "2026-01-01"}, "order": "happened_at", "limit": 1},
    "count": {"where": {"metadata": {"year": {"$gte": 2026}}}},
    "history": {"id": "IDS[1]"},
    "update": {"id": "IDS[0]", "text": "Ana moved to Faro.", "mode": "supersede"},
    "forget": {"ids": ["IDS[2]"], "dry_run": True},
    "maintenance.undo": {},
    "insights": {},
    "facts.updates": {},
    "facts.accept": {"old": "IDS[0]", "new": "IDS[1]"},
    "facts.reject": {"old": "IDS[0]", "new": "IDS[1]"},
    "entities.merge": {"name": "Ana", "other": "Bo Costa"},
    "entities.split": {"name": "Ana", "other": "Bo Costa"},
    "maintenance.batches": {},
    "maintenance.decayed": {},
    "maintenance.pin": {"ids": "IDS[0]"},
    "maintenance.unpin": {"ids": "IDS[0]"},
    "maintenance.archive": {"ids": ["IDS[0]"]},
    "maintenance.unarchive": {"ids": ["IDS[0]"]},
}
"""A request of each operation that succeeds after a consolidation, but for those that take a recollection."""
WITH_RECOLLECTION = (operations.FEEDBACK, operations.RECORD_RESPONSE)


def test_every_public_method_is_an_operation_or_stays_local() -> None:
    others = (operations.CONSOLIDATE, operations.SCOPES, operations.EXPORT, operations.IMPORT, operations.BACKUP)
    names = {operation.name for operation in (*OPERATIONS, *others)}
    public = {name for name in vars(Memory) if not name.startswith("_")}
    assert {name.rstrip("_") for name in public - operations.LOCAL_METHODS} == {
        name for name in names if "." not in name
    }
    for view, cls in {"facts": Facts, "entities": Entities, "maintenance": Maintenance}.items():
        methods = {f"{view}.{name}" for name in vars(cls) if not name.startswith("_")}
        assert methods == {name for name in names if name.startswith(view)}


def resolve(document: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    return document["components"]["schemas"][schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema


JSON_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "boolean": (bool,),
    "null": (type(None),),
    "number": (int, float),
    "array": (list,),
    "object": (dict,),
}


def fits(document: dict[str, Any], schema: dict[str, Any], value: Any) -> bool:
    """Whether a value has the form that a schema says: with these fields and no others, all of them documented."""
    schema = resolve(document, schema)
    if "anyOf" in schema:
        return any(fits(document, one, value) for one in schema["anyOf"])
    kind = schema.get("type")
    if kind is None or "enum" in schema:
        return value in schema.get("enum", [value])
    if not isinstance(value, JSON_TYPES[kind]) or (isinstance(value, bool) and kind != "boolean"):
        return False
    if isinstance(value, list):
        return all(fits(document, schema["items"], one) for one in value)
    if isinstance(value, dict) and "properties" in schema:
        known = schema["properties"]
        return set(value) == set(known) and all(fits(document, known[name], one) for name, one in value.items())
    return True


@pytest.mark.medium
@pytest.mark.parametrize(
    "operation", [one for one in OPERATIONS if one not in WITH_RECOLLECTION], ids=lambda one: one.name
)
def test_answer_has_the_form_that_is_documented(
    server: Server, scope: str, token: str, remembered: list[str], operation: Operation
) -> None:
    after_consolidation = {"maintenance.undo", "maintenance.batches", "facts.accept", "facts.reject", "facts.updates"}
    if operation.name in {*after_consolidation, "insights"}:
        consolidate(server, token, scope)
    text = json.dumps(BODIES[operation.name])
    for number, id_ in enumerate(remembered):
        text = text.replace(f"IDS[{number}]", id_)
    answer = server.post(operation.path, json.loads(text), token=token, scope=scope)
    assert answer.status_code == 200, answer.text
    document = server.app.openapi()
    documented = document["paths"][operation.path]["post"]
    assert documented["operationId"] == operation.name.replace(".", "_")
    schema = documented["responses"]["200"]["content"]["application/json"]["schema"]
    assert fits(document, schema, answer.json()), answer.text
    body = documented["requestBody"]["content"]["application/json"]["schema"]
    names = set(resolve(document, body)["properties"])
    local = {"self", "progress", "llm"}
    assert names == set(inspect.signature(operation.function).parameters) - local


def consolidate(server: Server, token: str, scope: str) -> dict[str, Any]:
    """Consolidate and wait for the end of the job."""
    job = server.post("/v1/consolidate", {}, token=token, scope=scope).json()["job"]
    while (answer := server.get(f"/v1/jobs/{job}", token=token).json())["state"] in {"waiting", "running"}:
        pass
    found: dict[str, Any] = answer
    return found


@pytest.mark.medium
def test_answer_is_what_the_method_returns(server: Server, scope: str, token: str, remembered: list[str]) -> None:
    with Memory(server.db, scope=scope, embedder=HashingEmbedder()) as memory:
        node = memory.get(remembered[0])
        assert server.post("/v1/get", {"id": remembered[0]}, token=token, scope=scope).json() == to_json(node)
        found = memory.recall("Where does Ana live?", options=RecallOptions(log_access=False))
        answer = server.post("/v1/recall", {"question": "Where does Ana live?"}, token=token, scope=scope).json()
        assert [hit["id"] for hit in answer["hits"]] == [hit.id for hit in found]
        assert [hit["score"] for hit in answer["hits"]] == pytest.approx([hit.score for hit in found])
        assert answer["evidence"] == found.evidence.value
        assert [hit["reason"] for hit in answer["hits"]] == [hit.reason for hit in found]
    assert server.post("/v1/get", {"id": "nobody"}, token=token, scope=scope).json() is None


@pytest.mark.parametrize(
    ("path", "body", "call"),
    [
        ("recall", {"question": " "}, lambda memory: memory.recall(" ")),
        ("recall", {"question": "x", "limit": 0}, lambda memory: memory.recall("x", limit=0)),
        ("recall", {"question": "x", "as_of": "soon"}, lambda memory: memory.recall("x", as_of="soon")),
        ("recall", {"question": "x", "strategy": "magic"}, lambda memory: memory.recall("x", strategy="magic")),
        ("remember", {"content": "x", "trust": 2}, lambda memory: memory.remember("x", trust=2)),
        ("forget", {"where": {}}, lambda memory: memory.forget(where=Filter())),
        ("find", {"after": "nonsense"}, lambda memory: memory.find(after="nonsense")),
        ("maintenance/pin", {"ids": "nobody"}, lambda memory: memory.maintenance.pin("nobody")),
    ],
)
def test_error_is_the_methods_own(server: Server, scope: str, path: str, body: dict[str, Any], call: Any) -> None:
    answer = server.post(f"/v1/{path}", body, token=server.token(scope), scope=scope)
    with Memory(server.db, scope=scope, embedder=HashingEmbedder()) as memory, pytest.raises(InvalidInput) as caught:
        call(memory)
    assert answer.status_code == 400
    assert answer.json() == {"error": {"type": type(caught.value).__name__, "message": str(caught.value)}}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"content": b"{", "headers": {"Content-Type": "application/json"}}, "JSON"),
        ({"content": b"\xff", "headers": {"Content-Type": "application/json"}}, "body"),
        ({"content": b"[" * 100_000, "headers": {"Content-Type": "application/json"}}, "body"),
        ({"content": b'{"question": "x"}'}, "Content-Type"),
        ({"content": b'"x"', "headers": {"Content-Type": "application/json"}}, "JSON object"),
        ({"content": b"", "headers": {"Content-Type": "application/json"}}, "required"),
        ({"content": b'{"question": "\\ud800"}', "headers": {"Content-Type": "application/json"}}, "surrogate"),
        ({"content": b'{"question": "x", "limit": NaN}', "headers": {"Content-Type": "application/json"}}, "limit"),
        ({"body": {"question": "x", "progress": True}}, "progress"),
        ({"body": {"question": "x", "nonsense": True}}, "nonsense"),
        ({"body": {"question": "x", "stream": True}}, "stream"),
        ({"body": {"question": "x", "where": 3}}, "where"),
        ({"body": {"question": "x", "where": {"metadata": {"a": {"$or": {}}}}}}, "$or"),
        ({"body": {}}, "question"),
    ],
)
def test_body_that_cannot_be_used_is_refused(
    server: Server, scope: str, token: str, options: dict[str, Any], words: str
) -> None:
    answer = server.post("/v1/recall", token=token, scope=scope, **options)
    assert answer.status_code == 400
    assert answer.json()["error"]["type"].startswith("Invalid")
    assert words.lower() in answer.json()["error"]["message"].lower()


def test_collision_of_ids_is_a_conflict(server: Server, scope: str, token: str) -> None:
    for text, status in (("Ana moved.", 200), ("Bo moved.", 409)):
        answer = server.post("/v1/remember", {"content": text, "id": "a"}, token=token, scope=scope)
        assert answer.status_code == status
    assert answer.json()["error"]["type"] == "IdCollision"


def test_scope_of_another_embedder_is_a_conflict(server: Server, scope: str, token: str) -> None:
    with Memory(server.db, scope=scope, embedder=HashingEmbedder(64)) as memory:
        memory.remember("Ana moved.")
    answer = server.post("/v1/recall", {"question": "x"}, token=token, scope=scope)
    assert (answer.status_code, answer.json()["error"]["type"]) == (409, "EmbedderMismatch")


@pytest.mark.medium
def test_feedback_takes_a_recollection_as_it_was_answered(
    server: Server, scope: str, token: str, remembered: list[str]
) -> None:
    found = server.post("/v1/recall", {"question": "Where does Ana live?"}, token=token, scope=scope).json()
    body = {"recollection": found, "used_ids": [remembered[0]]}
    id_ = server.post("/v1/feedback", body, token=token, scope=scope).json()
    with Memory(server.db, scope=scope, embedder=HashingEmbedder()) as memory:
        graph = memory.graph()
        row = graph.row(id_)
        assert row is not None
        assert graph.vector_positions[row] >= 0  # the wire has no vectors: the server has embedded the question again
    refused = server.post("/v1/feedback", {**body, "used_ids": ["nobody"]}, token=token, scope=scope)
    assert refused.status_code == 400


@pytest.mark.medium
def test_feedback_needs_a_recollection(server: Server, scope: str, token: str) -> None:
    body: dict[str, Any] = {"recollection": None, "used_ids": []}
    refused = server.post("/v1/feedback", body, token=token, scope=scope)
    assert (refused.status_code, refused.json()["error"]["type"]) == (400, "InvalidInput")
    assert "recollection is None; give what recall returned" in refused.json()["error"]["message"]


@pytest.mark.medium
def test_response_is_recorded_and_comes_back_as_an_exchange(server: Server, scope: str, token: str) -> None:
    question = {"question": "Where does Ana live?"}
    found = server.post("/v1/recall", question, token=token, scope=scope).json()
    body = {"recollection": found, "text": "In Porto.", "source": "small"}
    id_ = server.post("/v1/record-response", body, token=token, scope=scope).json()
    again = server.post("/v1/recall", {**question, "include": ["exchanges"]}, token=token, scope=scope).json()
    (exchange,) = again["exchanges"]
    assert (exchange["id"], exchange["prompt"], exchange["response"]) == (id_, "Where does Ana live?", "In Porto.")
    refused = server.post("/v1/record-response", {**body, "text": " "}, token=token, scope=scope)
    assert refused.status_code == 400
    unknown = server.post("/v1/recall", {**question, "include": ["dreams"]}, token=token, scope=scope)
    assert (unknown.status_code, unknown.json()["error"]["type"]) == (400, "InvalidInput")


@pytest.mark.medium
def test_media_are_stored_and_searched(server: Server, scope: str, token: str) -> None:
    cat = {"reference": "cat.jpg", "caption": "A cat.", "vector": [0, 1], "model": "clip"}
    content: list[Any] = [{"text": "The lodger.", "id": "cat", "media": [cat]}, {"text": "At the lake."}]
    assert server.post("/v1/remember", {"content": content}, token=token, scope=scope).status_code == 200
    body = {"question": "Where is this?", "options": {"media_query": {"model": "clip", "vector": [0.1, 1]}}}
    found = server.post("/v1/recall", body, token=token, scope=scope).json()
    assert found["hits"][0]["media"] == [{"reference": "cat.jpg", "kind": "picture", "caption": "A cat."}]
    assert found["hits"][1]["media"] == []
    assert "media" not in found["query"]
    for wrong in (3, {}, {"model": "clip"}, {"vector": [1, 0], "model": 3}, {"vector": [0, 0], "model": "clip"}):
        refused = server.post("/v1/recall", {**body, "options": {"media_query": wrong}}, token=token, scope=scope)
        assert (refused.status_code, refused.json()["error"]["type"][:7]) == (400, "Invalid")
    for medium in (3, {"reference": 3}, {**cat, "vector": [1]}, {**cat, "kind": "smell"}, {**cat, "size": 1}):
        wrong_content: list[Any] = [{"text": "A good text."}, {"text": "A text.", "media": [medium]}]
        refused = server.post("/v1/remember", {"content": wrong_content}, token=token, scope=scope)
        assert (refused.status_code, refused.json()["error"]["type"][:7]) == (400, "Invalid")
    assert len(server.post("/v1/find", {}, token=token, scope=scope).json()["memories"]) == 2


@pytest.mark.medium
@pytest.mark.usefixtures("remembered")
def test_goal_is_taken_and_comes_back_without_its_vector(server: Server, scope: str, token: str) -> None:
    body = {"question": "What should I keep in mind?", "goal": "travel to Porto"}
    found = server.post("/v1/recall", body, token=token, scope=scope).json()
    assert found["query"]["goal"] == {"text": "travel to Porto", "embedder_coverage": 1.0}
    assert "Porto" in found["hits"][0]["text"]
    for wrong in ("", 3, ["a"]):
        refused = server.post("/v1/recall", {**body, "goal": wrong}, token=token, scope=scope)
        assert (refused.status_code, refused.json()["error"]["type"][:7]) == (400, "Invalid")
    refused = server.post("/v1/recall", {**body, "strategy": "dense"}, token=token, scope=scope)
    assert refused.status_code == 400
    assert "takes no goal" in refused.json()["error"]["message"]


def test_recording_an_answer_needs_the_right_to_write(server: Server, scope: str) -> None:
    reader = server.token(scope, rights=("read",))
    question = {"question": "Where does Ana live?"}
    assert server.post("/v1/answer", question, token=reader, scope=scope).status_code == 200
    refused = server.post("/v1/answer", {**question, "record": True}, token=reader, scope=scope)
    assert refused.status_code == 403


@pytest.mark.medium
def test_memory_sees_what_other_processes_wrote(server: Server, scope: str, token: str, remembered: list[str]) -> None:
    assert server.post("/v1/count", token=token, scope=scope).json() == len(remembered)
    with Memory(server.db, scope=scope, embedder=HashingEmbedder()) as memory:
        memory.remember("Cy sold the boat.")
    assert server.post("/v1/count", token=token, scope=scope).json() == len(remembered) + 1


@pytest.mark.medium
def test_scope_that_was_renamed_while_it_was_open_is_opened_again(
    server: Server, scope: str, remembered: list[str]
) -> None:
    token = server.token(scope, scope + " new")
    assert server.post("/v1/count", token=token, scope=scope).json() == len(remembered)
    rename_scope(server.db, scope, scope + " new")
    assert server.post("/v1/count", token=token, scope=scope).json() == 0
    assert server.post("/v1/count", token=token, scope=scope + " new").json() == len(remembered)


@pytest.mark.slow
def test_file_that_was_replaced_while_it_was_open_is_opened_again(make_server: Any, tmp_path: Path) -> None:
    with make_server() as server:
        token = server.token()
        server.post("/v1/remember", {"content": "Ana moved."}, token=token)
        with Memory(tmp_path / "other.db", embedder=HashingEmbedder()) as memory:
            memory.remember(["Bo moved.", "Cy moved."])
        for suffix in ("-wal", "-shm"):
            server.db.with_name(server.db.name + suffix).unlink(missing_ok=True)
        (tmp_path / "other.db").replace(server.db)
        assert server.post("/v1/count", token=token).json() == 2


@pytest.mark.medium
def test_reading_creates_no_scope(server: Server, scope: str) -> None:
    token = server.token(scope, rights=("admin",))
    for path, body in (
        ("recall", {"question": "x"}),
        ("count", {}),
        ("find", {}),
        ("export", {}),
        ("forget", {"ids": "x"}),
    ):
        assert server.post(f"/v1/{path}", body, token=token, scope=scope).status_code == 200
    assert consolidate(server, token, scope)["state"] == "done"
    assert server.post("/v1/scopes", token=token).json() == []
    server.post("/v1/remember", {"content": "Ana moved."}, token=token, scope=scope)
    assert [info["name"] for info in server.post("/v1/scopes", token=token).json()] == [scope]


def test_answer_takes_no_language_model_from_a_client(server: Server, scope: str, token: str) -> None:
    refused = server.post("/v1/answer", {"question": "x", "llm": "openai:x"}, token=token, scope=scope)
    assert refused.status_code == 400
    assert "llm" in refused.json()["error"]["message"]
