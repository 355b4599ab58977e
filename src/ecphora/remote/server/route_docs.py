"""The OpenAPI document: its text on each route, and what FastAPI leaves to be added."""

from collections.abc import Callable, Mapping
from typing import Any

from fastapi import FastAPI
from pydantic.json_schema import models_json_schema

from ... import __version__
from . import schemas
from .access_control import OPEN_PATHS, ZONE_HEADER
from .operations import Operation
from .tokens import Right

JSON, NDJSON, SQLITE = "application/json", "application/x-ndjson", "application/vnd.sqlite3"
REF = "#/components/schemas/{model}"
FAILURES: Mapping[int, str] = {
    400: "An argument cannot be used; nothing was written.",
    401: "There is no token, or it is unknown, revoked or expired.",
    403: "The token does not allow this, or the request comes from a page or by a name that is not allowed.",
    404: "There is no such thing.",
    408: "The body arrives too slowly.",
    409: "It contradicts what is stored: `IdCollision`, `StaleWrite` or `EmbedderMismatch`.",
    413: "The body is too large.",
    429: "The token has sent too many requests; `Retry-After` says how many seconds to wait.",
    500: "An error of the server; its log says more.",
    503: "The server or its file is busy or cannot be used; `Retry-After` is set if trying again helps.",
    507: "No space is left on the server's disk.",
}
"""The statuses of requests that failed, and what they mean."""
_HEADERS = {"Retry-After": {"description": "Seconds to wait.", "schema": {"type": "integer"}}}
_ZONE_PARAMETER = {
    "name": ZONE_HEADER,
    "in": "header",
    "description": "Where the user is: a name of the tz database; by default the zone of the token or server.",
    "schema": {"type": "string"},
    "example": "Europe/Lisbon",
}
_EXTRA_MODELS = (schemas.ErrorAnswer,)
_NOT_USED = ("HTTPValidationError", "ValidationError")
DESCRIPTION = """Associative long-term memory for LLM agents.

Each operation is a method of `Memory` in Python: the JSON object of the body has its arguments, and the answer is its
result as JSON. `scope` says whose memory it is. A scope comes into being when something is written to it.
"""

ResponseDocs = dict[int | str, dict[str, Any]]


def failure_docs(*statuses: int) -> ResponseDocs:
    """The documentation of failed requests."""
    content = {JSON: {"schema": {"$ref": REF.format(model=schemas.ErrorAnswer.__name__)}}}
    return {
        status: {
            "description": FAILURES[status],
            "content": content,
            **({"headers": _HEADERS} if status in {429, 503} else {}),
        }
        for status in statuses
    }


def operation_failures(operation: Operation) -> ResponseDocs:
    """The documentation of the failed requests of an operation."""
    full = (507,) if Right.WRITE in operation.rights else ()
    return failure_docs(400, 401, 403, 408, 409, 413, 429, 500, 503, *full)


def operation_description(operation: Operation) -> str:
    """The documentation of an operation: the method's, and what its token needs."""
    rights = " and ".join(f"`{right.value}`" for right in operation.rights)
    return f"{operation.description}\n\nThe token needs the right to {rights}."


def route_options(operation: Operation) -> dict[str, Any]:
    """What FastAPI is told of the route of an operation, besides its endpoint and its answer."""
    return {
        "methods": ["POST"],
        "operation_id": operation.id,
        "summary": operation.name.replace("_", " ").replace(".", ": "),
        "description": operation_description(operation),
        "tags": [operation.view or "memory"],
    }


def openapi_document(app: FastAPI, build: Callable[[], dict[str, Any]]) -> Callable[[], dict[str, Any]]:
    """What makes the document, once: FastAPI's, with the types that it does not see and without those it adds."""

    def make() -> dict[str, Any]:
        if app.openapi_schema is None:
            app.openapi_schema = _complete(build())
        return app.openapi_schema

    return make


def _complete(document: dict[str, Any]) -> dict[str, Any]:
    _, extra = models_json_schema([(model, "serialization") for model in _EXTRA_MODELS], ref_template=REF)
    components = document.setdefault("components", {}).setdefault("schemas", {})
    for name, schema in extra["$defs"].items():
        components.setdefault(name, schema)
    for name in _NOT_USED:
        components.pop(name, None)
    for path, methods in document["paths"].items():
        for operation in methods.values():
            operation["responses"].pop("422", None)  # answered with 400
            parameters = operation.get("parameters", [])
            if any(parameter["name"] == "scope" for parameter in parameters):
                parameters.append(_ZONE_PARAMETER)
            operation["security"] = [] if path in OPEN_PATHS else [{"token": []}]
    bearer = {"type": "http", "scheme": "bearer", "description": "A token of `ecphora token create`."}
    document["components"]["securitySchemes"] = {"token": bearer}
    document["info"]["version"] = __version__
    return document
