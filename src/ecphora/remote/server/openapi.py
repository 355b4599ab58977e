"""The OpenAPI document: its types, made from the signatures of methods and the JSON form of results, and its texts.

They describe and do not check: ``deserialize`` reads a request, and the memory checks it, so that an error has the type
and the message that it has without a server.
"""

import inspect
import types
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from datetime import date, datetime
from enum import Enum
from functools import cache
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from fastapi import FastAPI
from pydantic import BaseModel, ConfigDict, Field, create_model, model_validator
from pydantic.json_schema import models_json_schema

from ... import __version__
from ...consolidation.run import ConsolidationResult
from ...model.conditions import Condition
from ...model.json_form import form_of, written_fields
from ...model.types import Contribution, Hit, HitGroup, Media, MediaKind, Why
from ...model.validation import MAX_NAME_CHARS, MAX_QUESTION_CHARS, MAX_TEXT_CHARS
from ...recall.recollection import Recollection
from ..wire import ARGUMENT_TYPES, argument_names
from .access_control import OPEN_PATHS, ZONE_HEADER
from .operations import Operation
from .tokens import Right

_NAME = {"min_length": 1, "max_length": MAX_NAME_CHARS}
_TIME = "ISO 8601; a date alone means its beginning, without an offset it is local time of the memory's zone."
_END_TIME = (
    "ISO 8601; a date, or a time to the minute or second, means its end; without an offset it is local time of the "
    "memory's zone."
)
_COUNT = {"ge": 1}
CONSTRAINTS: Mapping[str, Mapping[str, Any]] = {
    "question": {"min_length": 1, "max_length": MAX_QUESTION_CHARS, "description": "What is asked."},
    "text": {"min_length": 1, "max_length": MAX_TEXT_CHARS, "description": "The text of a memory."},
    "content": {"description": "A text, an episode or a chat message, or a list of them."},
    "messages": {"description": "A chat message, or the conversation as a list of them."},
    "id": {"description": "The id of a memory."},
    "ids": {"description": "The id of a memory, or a list of ids."},
    "speaker": _NAME,
    "session": _NAME,
    "title": _NAME,
    "source": _NAME,
    "supersedes": {**_NAME, "description": "The id of the memory that this one ends."},
    "happened_at": {"description": _TIME},
    "after": {"description": "The earliest time, inclusive; in find, the cursor of the page before."},
    "before": {"description": "The latest time, exclusive."},
    "as_of": {"description": f"The point in event time asked about. {_END_TIME}"},
    "known_at": {"description": f"The point in recording time asked about. {_END_TIME}"},
    "limit": {**_COUNT, "description": "The most results."},
    "budget": {**_COUNT, "description": "The most tokens of the memories' texts, estimated."},
    "tokens": {**_COUNT, "description": "The most tokens of the language model."},
    "seconds": {"gt": 0, "description": "The most seconds that it may take."},
    "rerank_ms": {
        "gt": 0,
        "description": "A deadline for the reranker in milliseconds; without it, all chosen candidates are read.",
    },
    "trust": {"ge": 0, "le": 1},
    "min_trust": {"ge": 0, "le": 1},
    "where": {"description": "Which memories are eligible."},
    "metadata": {"description": "Texts, numbers, booleans, nulls or lists of these, by name; in a filter, conditions."},
    "goal": {"min_length": 1, "max_length": MAX_QUESTION_CHARS, "description": "What the answer is for."},
    "strategy": {"description": "How memories are scored; by default as the server was started."},
}
"""What is said of an argument or field of that name, whichever method or type has it."""
BOUND_CONSTRAINTS = frozenset({"min_length", "max_length", "ge", "gt", "le"})


class _Body(BaseModel):
    """The body of a request: described by its fields, and handed on as it came."""

    model_config = ConfigDict(extra="forbid")

    @model_validator(mode="wrap")
    @classmethod
    def _keep(cls, value: Any, handler: Any) -> Any:
        del handler
        return value


class ErrorDetail(BaseModel):
    """What went wrong: the name of the error's class in Python, and a message that says how to mend it."""

    type: str = Field(examples=["InvalidInput"])
    message: str = Field(examples=["limit is 0; give a whole number of at least 1"])


class ErrorAnswer(BaseModel):
    """The answer to a request that failed."""

    error: ErrorDetail


class JobStart(BaseModel):
    """A job that was started; ``GET /v1/jobs/{id}`` says how far it is."""

    job: str = Field(description="The id of the job.", examples=["dP3kV0yQm2Zt8a1c"])


class Health(BaseModel):
    """The server answers."""

    status: Literal["ok"]


def body_model(operation: Operation) -> type[BaseModel]:
    """The type of an operation's request: the arguments of its method that can be sent."""
    parameters = inspect.signature(operation.function).parameters
    hints = get_type_hints(operation.function)
    fields_: dict[str, Any] = {}
    for name, is_required in argument_names(operation.function).items():
        default = ... if is_required else _json_default(parameters[name].default)
        fields_[name] = (_constrained(name, _input_type(hints[name])), default)
    return create_model(
        f"{operation.title}Request",
        __base__=_Body,
        __doc__=f"The arguments of `{operation.name}`.",
        __config__=None,
        **fields_,
    )


def answer_type(hint: Any) -> Any:
    """The type that describes the JSON of a value of this type."""
    return _output_type(hint)


def _constrained(name: str, hint: Any) -> Any:
    """A type with the constraints of the name; bounds hold for the plain parts of a union only."""
    known = dict(CONSTRAINTS.get(name, {}))
    bounds = {key: known.pop(key) for key in BOUND_CONSTRAINTS & set(known)}
    if bounds:
        parts = _union_parts(hint)
        scalars = (str, int, float)
        hint = Union[tuple(Annotated[one, Field(**bounds)] if one in scalars else one for one in parts)]  # noqa: UP007
    return Annotated[hint, Field(**known)] if known else hint


def _union_parts(hint: Any) -> tuple[Any, ...]:
    return get_args(hint) if get_origin(hint) in {Union, types.UnionType} else (hint,)


def _json_default(default: Any) -> Any:
    """A default as JSON values; of an object, that nothing is set in it."""
    if is_dataclass(default):
        return {}
    return list(default) if isinstance(default, tuple) else default


# ---- the types of requests


def _input_type(hint: Any) -> Any:
    """A type of an argument, as JSON: what has no JSON form, such as a strategy's object, is left out of unions."""
    parts = [one for part in _union_parts(hint) if (one := _input_part(part)) is not None]
    if any(isinstance(one, type) and issubclass(one, Enum) for one in parts):
        parts = [one for one in parts if one is not str]  # the text is one of the enum's
    return Union[tuple(dict.fromkeys(parts))]  # noqa: UP007  # made at run time


def _input_part(hint: Any) -> Any:
    origin, arguments = get_origin(hint), get_args(hint)
    if hint in _INPUT_TYPES:
        return _INPUT_TYPES[hint]
    if origin is not None and origin is not Literal:
        return _container(origin, [_input_type(one) for one in arguments if one is not ...])
    if hint in ARGUMENT_TYPES:
        return _argument_model(hint)
    is_plain = origin is Literal or (isinstance(hint, type) and issubclass(hint, Enum))
    return hint if is_plain else None


def _container(origin: Any, items: list[Any]) -> Any:
    """The JSON type of a mapping, or of several items."""
    return dict[str, items[1]] if issubclass(origin, Mapping) else list[items[0]]  # type: ignore[valid-type]


@cache
def _argument_model(cls: Any) -> type[BaseModel]:
    """The model of a type that callers write, such as a filter."""
    hints = get_type_hints(cls)
    found: dict[str, Any] = {}
    for one in fields(cls):
        default = one.default if one.default_factory is MISSING else one.default_factory()
        type_ = _constrained(one.name, _input_type(hints[one.name]))
        found[one.name] = (type_, ... if default is MISSING else _json_default(default))
    config = ConfigDict(extra="forbid")
    return create_model(cls.__name__, __config__=config, __doc__=_markdown(cls.__doc__), **found)


# ---- the types of answers


def _output_type(hint: Any) -> Any:
    origin, arguments = get_origin(hint), get_args(hint)
    if hint in _OUTPUT_TYPES:
        return _OUTPUT_TYPES[hint]
    if origin in {Union, types.UnionType}:
        is_time = {str, date, datetime} <= set(arguments)  # as callers give it; a text on the wire
        skipped = {date, datetime} if is_time else set()
        parts = [_output_type(one) for one in arguments if not _is_condition(one) and one not in skipped]
        return Union[tuple(dict.fromkeys(parts))]  # noqa: UP007
    if origin is not None:
        return _container(origin, [_output_type(one) for one in arguments if one is not ...])
    return _answer_model(hint) if isinstance(hint, type) and is_dataclass(hint) else hint


def _is_condition(hint: Any) -> bool:
    return isinstance(hint, type) and issubclass(hint, Condition)


@cache
def _answer_model(cls: Any) -> type[BaseModel]:
    """The model of a type that methods return, in the form that the wire gives it."""
    name = f"{cls.__name__}Answer" if cls in ARGUMENT_TYPES else cls.__name__
    found = _answer_fields(cls)
    for taken in [one for one in found if hasattr(BaseModel, one)]:  # a name of pydantic's own, such as schema
        found[f"{taken}_"] = (found.pop(taken)[0], Field(alias=taken))
    return create_model(name, __doc__=_markdown(cls.__doc__), **found)


def _answer_fields(cls: Any) -> dict[str, Any]:
    form, hints = form_of(cls), get_type_hints(cls)
    found: dict[str, Any] = {one: (_output_type(type_), ...) for one, (type_, _get) in form.derived.items()}
    for one in form.inline:
        found.update(_answer_fields(hints[one]))
    for one in written_fields(cls):
        hint = hints[one]
        found[one] = (list[_RANKED_HIT] if (cls, one) == (Recollection, "hits") else _output_type(hint), ...)
    return found


def _markdown(text: str | None) -> str:
    return inspect.cleandoc(text or "").replace("``", "`")


_OUTPUT_TYPES: dict[Any, Any] = {None: None, object: Any}
"""The types of answers whose form differs from their class."""
_OUTPUT_TYPES[Why] = list[_output_type(Contribution)]  # type: ignore[misc]  # made at run time
_GROUP: Any = create_model(
    "HitGroup",
    __doc__="The hits that mention one instance of a class, by their ids.",
    instance=(str, ...),
    ids=(list[str], ...),
)
_OUTPUT_TYPES[HitGroup] = _GROUP
_OUTPUT_TYPES[Media] = create_model(
    "StoredMedia",
    __doc__="A picture, sound or video of a memory, by reference; its vector is not returned.",
    reference=(str, ...),
    kind=(MediaKind, ...),
    caption=(str, ...),
)
_RANKED_HIT: Any = create_model("RankedHit", __doc__=_markdown(Hit.__doc__), rank=(int, ...), **_answer_fields(Hit))


_INPUT_TYPES: Mapping[Any, Any] = {
    **{one: one for one in (str, int, float, bool, type(None), Any)},
    object: Any,
    date: None,  # a text beside it stands for it
    datetime: None,
    Recollection: _output_type(Recollection),
}
"""The types of arguments that are no class of ours; None for what has no JSON form of its own."""


class JobAnswer(BaseModel):
    """A job. `done` of `total` memories are processed, 0 of 0 until they are counted.

    `result` is what the method returned, null until then and if the job failed or was canceled.
    """

    id: str
    scope: str
    state: Literal["waiting", "running", "done", "failed", "canceled"]
    done: int
    total: int
    created_at: datetime
    ended_at: datetime | None
    result: _answer_model(ConsolidationResult) | None  # type: ignore[valid-type]  # made at run time
    error: ErrorDetail | None


# ---- the document

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
_EXTRA_MODELS = (ErrorAnswer,)
_NOT_USED = ("HTTPValidationError", "ValidationError")
DESCRIPTION = """Associative long-term memory for LLM agents.

Each operation is a method of `Memory` in Python: the JSON object of the body has its arguments, and the answer is its
result as JSON. `scope` says whose memory it is. A scope comes into being when something is written to it.
"""

ResponseDocs = dict[int | str, dict[str, Any]]


def failure_docs(*statuses: int) -> ResponseDocs:
    """The documentation of failed requests."""
    content = {JSON: {"schema": {"$ref": REF.format(model=ErrorAnswer.__name__)}}}
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
