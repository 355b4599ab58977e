"""The HTTP server as an ASGI app: the routes behind the admission, over the memories of one file."""

import asyncio
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request
from starlette.middleware import Middleware
from starlette.responses import JSONResponse, PlainTextResponse, Response

from ... import __version__
from ...errors import EmbedderMismatch, InvalidInput, ServerError
from ...memory import Memory
from ...model.ports import LLM, Clock, Store
from ...model.times import utc_now
from ...settings import Settings
from .access_control import HEALTH_PATH, ZONE_HEADER, AccessPolicy, check_rights, check_rights_anywhere, cross_origin
from .admission import CONTENT_TYPE, AdmissionMiddleware, Limits, Metrics, Tracer, WriteLog
from .failures import RequestError, answer_failures
from .jobs import Job, Jobs
from .open_scopes import OpenScopes, closing_idle
from .openapi import DESCRIPTION, Health, JobAnswer, failure_docs, openapi_document
from .operations import CHANGE, READ
from .routes import BACKUP_HEADERS, add_operations, check_parameters, grant_of
from .service import Service

NEW_SCOPE_REVISION = 2**62
"""A revision that no scope reaches: reading the changes since it returns only the scope's revision and embedder."""


@dataclass(frozen=True, slots=True)
class ServerOptions:
    """What a server is made of, besides the memory file and its settings.

    At most ``open_scopes`` memories stay open, each until nobody has used it for ``idle_seconds``. ``threads`` calls
    run at once. ``tracer`` gets a span of each request.
    """

    policy: AccessPolicy
    limits: Limits = field(default_factory=Limits)
    open_scopes: int = 32
    idle_seconds: float = 600.0
    threads: int = 8
    clock: Clock = utc_now
    tracer: Tracer | None = None
    write_log: WriteLog = field(default=lambda line: print(line, file=sys.stderr, flush=True))  # noqa: T201  # its output


def memory_opener(settings: Settings, shared: Store | None = None) -> Any:
    """What opens the memory of a scope as the settings say, in a store that the memories share or in its own."""

    shared_extractor = settings.make_extractor() if settings.extractor == "llm" else None  # one model for all scopes

    def open_memory(scope: str) -> Memory:
        store = shared or settings.open_store()
        try:
            stored = store.changes_since(scope, NEW_SCOPE_REVISION).embedder
        finally:
            if shared is None:
                store.close()
        try:
            return Memory(
                shared or settings.db,
                scope=scope,
                embedder=settings.make_embedder(stored),
                extractor=shared_extractor or settings.make_extractor(),
                strategy=settings.make_strategy(),
                reranker=settings.make_reranker(),
                evidence_bands=settings.make_evidence_bands(),
                zone=settings.zone,
            )
        except InvalidInput as error:  # the settings are wrong, and not the request
            raise ServerError(f"the server cannot open this memory: {error}") from error

    return open_memory


def open_scopes(settings: Settings, options: ServerOptions) -> OpenScopes:
    """The memories of the settings' file or database, which is created if there is none.

    In a database they share their connections.

    Raises a ``StoreError`` if the file cannot be used, and ``ServerError`` or ``PluginError`` for settings with which
    no memory can be opened.
    """
    store = settings.open_store()
    shared = None if settings.store is None else store
    try:
        open_memory = memory_opener(settings, shared)
        with suppress(EmbedderMismatch):  # of one scope
            open_memory(settings.scope).close()
    except BaseException:
        store.close()
        raise
    if shared is None:
        store.close()
    return OpenScopes(open_memory, capacity=options.open_scopes, idle_seconds=options.idle_seconds, store=shared)


def make_app(
    settings: Settings, options: ServerOptions, *, llm: LLM | None = None, make_jobs: Callable[[Clock], Jobs] = Jobs
) -> FastAPI:
    """The app that serves the memory file of the settings, which it creates if there is none.

    ``make_jobs`` makes what runs its jobs. The app closes the file when its lifespan ends. Raises what
    :func:`open_scopes` raises.
    """
    scopes = open_scopes(settings, options)
    db = None if settings.store is not None else Path(settings.db).absolute()
    service = Service(db, scopes, llm, options.threads, options.clock, make_jobs)
    metrics = Metrics(lambda: len(scopes), service.jobs.count_by_state)
    admission = Middleware(
        AdmissionMiddleware,
        policy=options.policy,
        limits=options.limits,
        metrics=metrics,
        clock=options.clock,
        write_log=options.write_log,
        tracer=options.tracer,
    )
    pages = cross_origin(
        options.policy,
        methods=("GET", "POST"),
        headers=("Authorization", "Content-Type", ZONE_HEADER),
        answer_headers=("Retry-After", "X-Request-Id", *BACKUP_HEADERS.values()),
    )
    app = FastAPI(
        title="Ecphora",
        version=__version__,
        description=DESCRIPTION,
        openapi_url=None,  # it needs a token like all else
        docs_url=None,  # pages that load scripts from elsewhere
        redoc_url=None,
        lifespan=lambda _app: _lifespan(service, options.tracer),
        middleware=[*pages, admission],
    )
    add_operations(app, service)
    _add_jobs(app, service)
    _add_status(app, service, metrics)
    answer_failures(app)
    app.openapi = openapi_document(app, app.openapi)  # type: ignore[method-assign]  # as FastAPI documents it
    return app


@asynccontextmanager
async def _lifespan(service: Service, tracer: Tracer | None) -> AsyncIterator[None]:
    """Close idle memories from time to time; in the end, end the jobs, write the access logs and close the file."""
    try:
        async with closing_idle(service.scopes):
            yield
    finally:
        await asyncio.to_thread(service.close)
        if tracer is not None:
            await asyncio.to_thread(tracer.close)


def _add_jobs(app: FastAPI, service: Service) -> None:
    """Add the routes of jobs. A job of a scope that a token is not for is unknown to it."""
    failures = failure_docs(400, 401, 403, 404, 408, 413, 429, 500, 503)

    async def find(request: Request, id_: str) -> Job:
        check_parameters(request)
        job = await asyncio.to_thread(service.jobs.find, id_)
        if job is None or not grant_of(request).has_scope(job.scope):
            raise RequestError(404, "there is no such job, or it ended long ago")
        request.state.memory_scope = job.scope
        return job

    @app.get("/v1/jobs/{id}", operation_id="get_job", tags=["jobs"], response_model=JobAnswer, responses=failures)
    async def get_job(request: Request, id: str) -> Response:  # noqa: A002
        """How far a job is. The token needs the right to `read` in the job's scope."""
        job = await find(request, id)
        check_rights(grant_of(request), job.scope, READ)
        return JSONResponse(job.to_dict())

    @app.post(
        "/v1/jobs/{id}/cancel",
        operation_id="cancel_job",
        tags=["jobs"],
        response_model=JobAnswer,
        responses=failures,
    )
    async def cancel_job(request: Request, id: str) -> Response:  # noqa: A002
        """End a job after its current step; everything written before stays.

        A job that has ended stays as it is. The token needs the right to `read` and `write` in the job's scope.
        """
        job = await find(request, id)
        check_rights(grant_of(request), job.scope, CHANGE)
        await asyncio.to_thread(service.jobs.cancel, job)
        return JSONResponse(job.to_dict())


async def health(request: Request) -> Response:
    """Whether the server answers. Needs no token."""
    check_parameters(request)
    return JSONResponse({"status": "ok"})


def _add_status(app: FastAPI, service: Service, metrics: Metrics) -> None:
    """Add the routes of the state and the features of the server."""

    app.get(
        HEALTH_PATH,
        operation_id="health",
        tags=["server"],
        response_model=Health,
        responses=failure_docs(400, 403, 503),
    )(health)

    @app.get(
        "/metrics",
        operation_id="metrics",
        tags=["server"],
        response_class=PlainTextResponse,
        responses=failure_docs(400, 401, 403, 429, 500, 503),
    )
    async def read_metrics(request: Request) -> Response:
        """Metrics of the server as Prometheus reads them. The token needs the right to `read` in every scope."""
        check_parameters(request)
        check_rights_anywhere(grant_of(request), READ, needs_all_scopes=True)
        return PlainTextResponse(metrics.to_text(), media_type=CONTENT_TYPE)

    @app.get("/openapi.json", operation_id="openapi", include_in_schema=False)
    async def openapi(request: Request) -> Response:
        """The OpenAPI document."""
        return JSONResponse(await service.run(app.openapi, grant_of(request).name))
