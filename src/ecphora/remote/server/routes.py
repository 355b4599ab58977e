"""The routes of the operations: one POST for each method."""

import asyncio
import inspect
import json
from collections.abc import Callable, Iterable
from contextlib import closing
from dataclasses import replace
from datetime import tzinfo
from functools import partial
from http import HTTPStatus
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

from fastapi import Body, Depends, FastAPI, Query, Request
from pydantic import BaseModel
from starlette.requests import ClientDisconnect
from starlette.responses import JSONResponse, Response

from ...errors import InvalidInput
from ...memory import Memory
from ...model.json_form import to_json
from ...model.types import RecallOptions
from ...model.validation import MAX_NAME_CHARS
from ...stores.sqlite import SQLiteStore
from ..wire import argument_names, arguments_from_json
from . import operations
from .access_control import check_rights, check_rights_anywhere
from .admission import check_items
from .failures import RequestError
from .jobs import JobProgress
from .openapi import JSON, NDJSON, SQLITE, JobStart, answer_type, body_model, operation_failures, route_options
from .operations import Operation
from .service import PartWriter, Service, StreamResponse, WritePart, encode_json, read_lines
from .tokens import Grant, Right

BACKUP_HEADERS = {"episodes": "Ecphora-Episodes", "sha256": "Ecphora-Sha256", "damage": "Ecphora-Damage"}
"""The headers of a backup, for what the method returns of the copy."""
IMPORT_FLAGS = {
    "restore": "Also import what was forgotten here.",
    "change_existing": "Also import what ends, archives, links or blocks memories that the file does not bring; needs "
    "the right to read too.",
}
"""The parameters of an import, in its address."""
PART_BYTES = 1 << 18
"""Bytes of a backup that are sent together."""
ScopeName = Annotated[
    str, Query(min_length=1, max_length=MAX_NAME_CHARS, description="The scope: whose memory it is.", examples=["ana"])
]
Endpoint = Callable[..., Any]


def add_operations(app: FastAPI, service: Service) -> None:
    """Add the routes of every operation."""
    for operation in operations.OPERATIONS:
        _add_call(app, service, operation)
    _add_consolidate(app, service)
    _add_scopes(app, service)
    _add_export(app, service)
    _add_import(app, service)
    _add_backup(app, service)


def grant_of(request: Request) -> Grant:
    """What the token of a request allows, as the admission found it."""
    grant: Grant = request.state.grant
    return grant


def zone_of(request: Request) -> tzinfo | None:
    """Where the user of a request is, as the admission found it; None for the zone of the server."""
    zone: tzinfo | None = request.state.zone
    return zone


def check_parameters(request: Request, *names: str) -> None:
    """Refuse parameters in the address that a route does not have, such as a scope that is misspelled."""
    given = [name for name, _value in request.query_params.multi_items()]
    if not set(given) <= set(names):  # the name itself may be a token that was put in the wrong place
        raise InvalidInput(f"the address has a parameter that is not known; known are {', '.join(names) or 'none'}")
    if len(given) > len(set(given)):
        raise InvalidInput("the address has a parameter twice; give it once")


def scope_of(operation: Operation, parameters: Iterable[inspect.Parameter]) -> Endpoint:
    """A dependency: the scope of a request, if the token has the operation's rights in it."""
    names = ("scope", *(parameter.name for parameter in parameters))

    async def check(request: Request, scope: ScopeName = "default") -> str:
        check_parameters(request, *names)
        check_rights(grant_of(request), scope, operation.rights)
        request.state.memory_scope = scope
        return scope

    return check


def arguments_of(operation: Operation, body: object, grant: Grant) -> dict[str, Any]:
    """The arguments of a request. Without the right to write, a recall leaves no trace in the access log."""
    if isinstance(body, bytes):
        raise InvalidInput("the body has no type; send it with Content-Type: application/json")
    check_items(body)
    arguments = arguments_from_json(operation.function, body)
    if arguments.get("record"):
        check_rights_anywhere(grant, (Right.WRITE,))
    if "options" in argument_names(operation.function) and not grant.has_right(Right.WRITE):
        arguments["options"] = replace(arguments.get("options") or RecallOptions(), log_access=False)
    return arguments


def _add_route(
    app: FastAPI,
    operation: Operation,
    endpoint: Endpoint,
    *,
    answer: Any,
    body: type[BaseModel] | None = None,
    status: int = HTTPStatus.OK,
    parameters: tuple[inspect.Parameter, ...] = (),
    **options: Any,
) -> None:
    """Add a route. Its endpoint gets the request, the scope, the other parameters, and the body if there is one."""
    request = inspect.Parameter("request", inspect.Parameter.KEYWORD_ONLY, annotation=Request)
    scope = request.replace(name="scope", annotation=Annotated[str, Depends(scope_of(operation, parameters))])
    signature = [request, scope, *parameters]
    if body is not None:
        examples: dict[str, Any] | None = {"example": {"value": operation.example}} if operation.example else None
        is_required = any(field.is_required() for field in body.model_fields.values())
        signature.append(
            request.replace(
                name="body",
                annotation=Annotated[body, Body(openapi_examples=examples)],
                default=inspect.Parameter.empty if is_required else {},
            )
        )
    endpoint.__signature__ = inspect.Signature(signature)  # type: ignore[attr-defined]  # what FastAPI reads
    app.add_api_route(
        operation.path,
        endpoint,
        response_model=answer,
        status_code=status,
        responses=operation_failures(operation),
        **{**route_options(operation), **options},
    )


def _add_call(app: FastAPI, service: Service, operation: Operation) -> None:
    """Add the route of an operation that answers with what its method returns."""

    async def endpoint(request: Request, scope: str, body: Any) -> Response:
        grant = grant_of(request)
        arguments = arguments_of(operation, body, grant)

        def call(memory: Memory) -> Any:
            return operations.run_operation(operation, memory, arguments, service.llm)

        answer = await service.call(scope, zone_of(request), call, grant.name)
        return Response(answer, media_type=JSON)

    answer = answer_type(operation.answer)
    _add_route(app, operation, endpoint, body=body_model(operation), answer=answer)


def _add_consolidate(app: FastAPI, service: Service) -> None:
    """Add the route of consolidation, which starts a job."""
    operation = operations.CONSOLIDATE

    async def endpoint(request: Request, scope: str, body: Any) -> Response:
        arguments, zone = arguments_of(operation, body, grant_of(request)), zone_of(request)
        operations.check_consolidate(arguments)

        def run(progress: JobProgress) -> Any:
            def consolidate(memory: Memory) -> Any:
                return operations.consolidate(memory, arguments, service.llm, progress)

            return to_json(service.with_memory(scope, zone, consolidate))

        job = await asyncio.to_thread(service.jobs.start, scope, run)
        return JSONResponse({"job": job.id}, HTTPStatus.ACCEPTED, {"Location": f"/v1/jobs/{job.id}"})

    body = body_model(operation)
    _add_route(app, operation, endpoint, body=body, answer=JobStart, status=HTTPStatus.ACCEPTED)


def _add_scopes(app: FastAPI, service: Service) -> None:
    """Add the route of the list of scopes, which shows the scopes that the token may read."""
    operation = operations.SCOPES

    async def endpoint(request: Request) -> Response:
        grant = grant_of(request)
        check_parameters(request)
        check_rights_anywhere(grant, operation.rights)
        found = [info for info in await service.run(service.list_scopes, grant.name) if grant.has_scope(info.name)]
        return Response(encode_json(to_json(found)), media_type=JSON)

    app.add_api_route(
        operation.path,
        endpoint,
        response_model=answer_type(operation.answer),
        responses=operation_failures(operation),
        **route_options(operation),
    )


class NDJSONResponse(Response):
    """For the OpenAPI document: the answer is lines of JSON."""

    media_type = NDJSON


class SQLiteResponse(Response):
    """For the OpenAPI document: the answer is a file of SQLite."""

    media_type = SQLITE


def _add_export(app: FastAPI, service: Service) -> None:
    """Add the route of exports, which answers with the export itself."""
    operation = operations.EXPORT

    async def endpoint(request: Request, scope: str, body: Any) -> Response:
        grant = grant_of(request)
        arguments = arguments_of(operation, body, grant)

        def export(write: WritePart, memory: Memory) -> None:
            out = PartWriter(write)
            operation.call(memory, arguments, out=out)
            out.flush()

        return StreamResponse(
            service,
            lambda write: service.with_memory(scope, zone_of(request), partial(export, write), is_repeatable=False),
            token_name=grant.name,
        )

    body = body_model(operation)
    _add_route(app, operation, endpoint, body=body, answer=None, response_class=NDJSONResponse)


def _add_import(app: FastAPI, service: Service) -> None:
    """Add the route of imports, whose body is the export, read as it arrives."""
    operation = operations.IMPORT

    async def endpoint(request: Request, scope: str, **flags: bool) -> Response:
        if flags["change_existing"]:
            check_rights(grant_of(request), scope, operations.CHANGE)
        parts = request.stream()

        def read(memory: Memory) -> Any:
            return operation.call(memory, flags, lines=read_lines(parts))

        try:
            result = await service.run(
                lambda: encode_json(to_json(service.with_memory(scope, zone_of(request), read, is_repeatable=False))),
                grant_of(request).name,
                is_stream=True,
            )
        except ClientDisconnect as error:
            raise RequestError(HTTPStatus.BAD_REQUEST, "the body ended early; nothing was imported") from error
        return Response(result, media_type=JSON)

    text = {"schema": {"type": "string", "description": "An export: a JSON object a line."}}
    _add_route(
        app,
        operation,
        endpoint,
        answer=answer_type(operation.answer),
        parameters=tuple(
            inspect.Parameter(
                name,
                inspect.Parameter.KEYWORD_ONLY,
                annotation=Annotated[bool, Query(description=description)],
                default=False,
            )
            for name, description in IMPORT_FLAGS.items()
        ),
        openapi_extra={"requestBody": {"required": True, "content": {NDJSON: text}}},
    )


def _add_backup(app: FastAPI, service: Service) -> None:
    """Add the route of backups, which answers with the copy of the file."""
    operation = operations.BACKUP

    async def endpoint(request: Request) -> Response:
        check_parameters(request)
        check_rights_anywhere(grant_of(request), operation.rights, needs_all_scopes=True)
        if (db := service.db) is None:
            raise InvalidInput("this server's memories are in PostgreSQL; back it up with pg_dump")
        response = StreamResponse(
            service,
            lambda write: _send_backup(db, response, write),
            token_name=grant_of(request).name,
            media_type=SQLITE,
        )
        return response

    header_docs = {
        BACKUP_HEADERS["episodes"]: {"description": "Episodes of all scopes.", "schema": {"type": "integer"}},
        BACKUP_HEADERS["sha256"]: {"description": "SHA-256 of the copy, in hex.", "schema": {"type": "string"}},
        BACKUP_HEADERS["damage"]: {
            "description": "What is damaged in the rows of the file: a list of texts in JSON.",
            "schema": {"type": "string"},
        },
    }
    app.add_api_route(
        operation.path,
        endpoint,
        response_class=SQLiteResponse,
        responses={
            200: {"description": "A copy of the file.", "headers": header_docs},
            **operation_failures(operation),
        },
        **route_options(operation),
    )


def _send_backup(db: Path, response: Response, write: WritePart) -> None:
    """Copy the file, and send the copy."""
    with TemporaryDirectory(prefix=".ecphora-backup-", dir=db.parent) as folder:
        with closing(SQLiteStore(db)) as store:
            made = store.backup(str(Path(folder, db.name)))
        values = {**made.to_dict(), "damage": json.dumps(made.damage)}
        response.headers.update({header: str(values[name]) for name, header in BACKUP_HEADERS.items()})
        response.headers["Content-Length"] = str(made.size)
        with Path(made.path).open("rb") as file:
            while part := file.read(PART_BYTES):
                write(part)
