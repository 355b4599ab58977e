"""What the OpenAPI document allows, and what it does not, is answered as it says: no error of the server is found."""

import pkgutil
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.specs.openapi.checks import negative_data_rejection, positive_data_acceptance

from .conftest import ALL_RIGHTS, Server

pytestmark = pytest.mark.slow

ALWAYS_ACCEPTED = frozenset(
    {"/health", "/metrics", "/v1/backup", "/v1/chunks", "/v1/get", "/v1/history", "/v1/maintenance/batches",
     "/v1/scopes"}
)  # fmt: skip
"""The paths that answer all that the document allows. The others refuse a time that is no date, an id that does not
exist, a filter that is empty, which no schema can say, or 3.0 for 3."""


def not_checked(server: Server, path: str) -> tuple[Any, ...]:
    """The checks that do not hold for a path. A body that is required and wrong is refused; one that is optional may be
    left out, which counts as wrong here if that is what was changed."""
    body = server.app.openapi()["paths"][path].get("post", {}).get("requestBody", {})
    is_refused = "application/json" in body.get("content", {}) and body.get("required", False)
    return (() if path in ALWAYS_ACCEPTED else (positive_data_acceptance,)) + (
        () if is_refused else (negative_data_rejection,)
    )


@schemathesis.serializer("application/x-ndjson")
def lines(_context: Any, value: Any) -> bytes:
    """The body of an import."""
    return str(value).encode("utf-8", "replace")


@pytest.fixture(scope="module")
def fuzzed(make_server: Any) -> Iterator[Server]:
    """A server of its own, with a memory that requests may hit.

    All modules are imported before: pytest parses them, which fails in a thread while Hypothesis, in another one,
    changes the limit of recursion.
    """
    for name in ("ecphora.consolidation", "ecphora.maintenance.interchange", "ecphora.retrieval", "ecphora.strategies"):
        for module in pkgutil.walk_packages(import_module(name).__path__, f"{name}."):
            import_module(module.name)
    with make_server() as server:
        token = server.token(rights=ALL_RIGHTS)
        server.post("/v1/remember", {"content": ["Ana moved to Porto.", "0"]}, token=token)
        yield server


def test_document_is_kept_by_every_route(fuzzed: Server) -> None:
    token = fuzzed.token(rights=ALL_RIGHTS)
    headers = {"Authorization": f"Bearer {token}", "Host": "127.0.0.1"}
    schema: Any = schemathesis.openapi.from_asgi("/openapi.json", app=fuzzed.app, headers=headers)
    operations = [result.ok() for result in schema.get_all_operations()]
    assert {operation.path for operation in operations} == set(fuzzed.app.openapi()["paths"])
    zones = {GenerationMode.POSITIVE: {"Ecphora-Zone": "Europe/Lisbon"}}  # no schema can say which zones there are
    for operation in operations:
        for mode in GenerationMode:

            @settings(
                max_examples=4,
                deadline=None,
                database=None,
                phases=[Phase.generate, Phase.shrink],
                suppress_health_check=list(HealthCheck),
            )
            @given(case=operation.as_strategy(generation_mode=mode))
            def keeps(case: Any) -> None:
                excluded, zone = not_checked(fuzzed, case.operation.path), zones.get(case.meta.generation.mode, {})
                case.validate_response(case.call(headers={**headers, **zone}), excluded_checks=excluded)

            try:
                keeps()
            except Unsatisfiable:
                assert operation.path == "/health"  # nothing about it can be wrong


def test_document_names_the_errors_and_examples_of_every_operation(fuzzed: Server) -> None:
    document = fuzzed.app.openapi()
    assert "HTTPValidationError" not in document["components"]["schemas"]
    for path, methods in document["paths"].items():
        for operation in methods.values():
            assert operation["operationId"].replace("_", "").isalpha()
            assert operation["description"]
            assert "422" not in operation["responses"]
            if path == "/health":
                assert operation["security"] == []
                continue
            assert operation["security"] == [{"token": []}]
            assert {"401", "403", "429"} <= set(operation["responses"])
            if path.startswith("/v1/") and "jobs" not in path:
                assert {"400", "409", "413", "503"} <= set(operation["responses"])
    recall = document["paths"]["/v1/recall"]["post"]
    assert set(recall["responses"]["200"]["content"]) == {"application/json"}
    examples = recall["requestBody"]["content"]["application/json"]["examples"]
    assert examples["example"]["value"]["question"] == "Where does Ana live?"
    question = document["components"]["schemas"]["RecallRequest"]["properties"]["question"]
    text, *messages = question["anyOf"]
    assert (text["minLength"], text["maxLength"]) == (1, 20_000)
    assert [one["type"] for one in messages] == ["object", "array"]
