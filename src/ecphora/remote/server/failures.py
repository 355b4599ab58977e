"""How a failed request is answered: the status and the JSON of each error."""

import logging
import re
from collections.abc import Mapping
from http import HTTPStatus

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse

from ...errors import (
    EcphoraError,
    EmbedderMismatch,
    IdCollision,
    InvalidInput,
    ModelDamaged,
    PluginError,
    ServerError,
    StaleWrite,
    StoreBusy,
    StoreDamaged,
    StoreFull,
    StoreTooNew,
)
from ...model.reprs import show
from .tokens import TOKEN_PREFIX

STATUSES: Mapping[type[EcphoraError], int] = {
    InvalidInput: 400,
    IdCollision: 409,
    StaleWrite: 409,
    EmbedderMismatch: 409,
    StoreFull: 507,
    EcphoraError: 503,  # something that the server needs is missing, damaged or busy
}
"""The status of each error and of its subclasses; the status of all others, which nobody expected, is 500."""
LOGGED = (PluginError, ServerError, ModelDamaged, StoreDamaged, StoreTooNew)
"""The errors that only somebody where the server runs can mend. Their messages hold no text of a memory."""
RETRY_SECONDS = 1
"""Seconds after which a request that found the store busy may be tried again."""
TYPES = {
    400: "InvalidInput",
    401: "Unauthorized",
    403: "Forbidden",
    404: "UnknownName",
    405: "MethodNotAllowed",
    408: "RequestTimeout",
    413: "BodyTooLarge",
    429: "TooManyRequests",
    503: "StoreBusy",
}
"""The type of an error that no class of the package stands for, by its status."""

_TOKEN = re.compile(rf"{TOKEN_PREFIX}[\w-]+")
"""What an answer does not repeat of a path."""
_log = logging.getLogger("ecphora.server")


class RequestError(HTTPException):
    """A request that is refused before a memory sees it."""

    def __init__(self, status: int, message: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(status, message, headers)


def status_of(error: Exception) -> int:
    """The status that answers an error."""
    return next((STATUSES[cls] for cls in type(error).__mro__ if cls in STATUSES), 500)


def error_dict(error: Exception) -> dict[str, dict[str, str]]:
    """The JSON that answers an error; it says nothing of an error that nobody expected."""
    if isinstance(error, HTTPException):
        kind = TYPES.get(error.status_code, HTTPStatus(error.status_code).phrase.title().replace(" ", ""))
        message = str(error.detail)
    elif isinstance(error, EcphoraError):
        kind, message = type(error).__name__, str(error)
    else:
        kind, message = "InternalError", "an unexpected error; the server's log has it under the request's id"
    return {"error": {"type": kind, "message": message.encode("utf-8", "backslashreplace").decode()}}


def answer_error(error: Exception) -> JSONResponse:
    """The answer to a request that failed."""
    if isinstance(error, HTTPException):
        return JSONResponse(error_dict(error), error.status_code, error.headers)
    status = status_of(error)
    if status == HTTPStatus.INTERNAL_SERVER_ERROR or isinstance(error, LOGGED):
        _log.error("a request failed", exc_info=error)
    headers = {"Retry-After": str(RETRY_SECONDS)} if isinstance(error, StoreBusy) else None
    return JSONResponse(error_dict(error), status, headers)


def _route_error(request: Request, error: HTTPException) -> HTTPException:
    """The error of the framework for an unknown route or a wrong method, with what to do; others as they are."""
    path = show(_TOKEN.sub(f"{TOKEN_PREFIX}...", request.scope["path"])[:200])
    messages = {
        404: f"there is no route {path}; GET /openapi.json lists all routes",
        405: f"the route {path} does not take {request.method}; GET /openapi.json lists the methods of all routes",
    }
    return HTTPException(error.status_code, messages.get(error.status_code, error.detail), error.headers)


def answer_failures(app: FastAPI) -> None:
    """Answer every error of an app's routes in this form."""

    async def on_error(_request: Request, error: Exception) -> JSONResponse:
        return answer_error(error)

    async def on_http_error(request: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, HTTPException)  # noqa: S101  # its registered class
        return answer_error(error if isinstance(error, RequestError) else _route_error(request, error))

    async def on_invalid(_request: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, RequestValidationError)  # noqa: S101  # its registered class
        found = error.errors()[0]
        place = ".".join(str(part) for part in found["loc"])
        return answer_error(RequestError(400, f"{place}: {found['msg']}"))  # the input itself is not repeated

    app.add_exception_handler(Exception, on_error)
    app.add_exception_handler(EcphoraError, on_error)
    app.add_exception_handler(HTTPException, on_http_error)
    app.add_exception_handler(RequestValidationError, on_invalid)
