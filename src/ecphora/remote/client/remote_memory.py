"""``connect``: a memory behind a server, with the methods, results and errors of ``Memory``."""

import inspect
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from datetime import tzinfo
from functools import cache, wraps
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Self, TextIO, TypeVar, cast, get_type_hints

from ...aio import same_parameters
from ...consolidation.run import ConsolidationResult
from ...errors import EcphoraError, ServerError
from ...memory import Entities, Facts, Maintenance, Memory
from ...model.cancellation import Cancellation
from ...model.ports import Progress
from ...model.reprs import OpenInEachProcess, call_repr
from ...model.types import DEFAULT_RECALL_OPTIONS, Backup, RememberResult, TransferResult
from ...model.validation import check_name, check_progress
from ...remember.documents import warn_of_blocked
from ..wire import arguments_to_json
from . import transfer
from .server_connection import ServerConnection, error_of

if TYPE_CHECKING:  # an extra
    import httpx2

LOCAL_METHODS = {
    "build_query": "strategies run on the server",
    "evidence_bands": "the server has its own",
    "graph": "it is the whole memory; open the file on its machine",
    "is_read_only": "the server has the store",
    "strategy": "the server has its own; recall(strategy=...) names another",
    "tools": "connect the model to the server by the Model Context Protocol",
    "unlogged_count": "the server has the access log",
    "zone": "the token or the server has its own; connect(zone=...) names another",
}
"""The public names of ``Memory`` that a ``RemoteMemory`` lacks, and why."""
READS = frozenset({
    "get", "chunks", "find", "count", "history", "scopes", "insights", "why_not", "updates", "batches", "decayed",
})  # fmt: skip
"""The methods that only read: a request whose answer got lost is sent again."""
LOGGED_READS = frozenset({"recall", "answer"})
"""The methods that only read if their options have ``log_access=False``."""
FIRST_POLL_SECONDS, MAX_POLL_SECONDS = 0.05, 2.0
"""The first and the longest pause between two questions how far a job is."""
UNFINISHED_STATES = frozenset({"waiting", "running"})

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")


def connect(
    url: str,
    token: str | None = None,
    scope: str = "default",
    *,
    timeout: float = 60.0,
    retries: int = 2,
    zone: str | tzinfo | None = None,
    http_client: "httpx2.Client | None" = None,
) -> "RemoteMemory":
    """Return a memory behind the server at ``url``, such as ``http://127.0.0.1:8765``; ``scope`` says whose.

    ``token`` is one made by ``ecphora token create``; None for a server without tokens. A call waits at most
    ``timeout`` seconds for the server to accept it, and for each part of the answer. A request is sent again up to
    ``retries`` times where that is safe: if it was not sent, if the server refused it for its rate, and if it only
    reads. ``zone`` is where the user is, as in :class:`~ecphora.Memory`, but with a name of the tz database; None for
    the zone of the token, or else of the server. ``http_client`` is an ``httpx2.Client`` of your own, for proxies or
    certificates; you close it.

    Nothing is sent before the first call. Raises ``InvalidInput`` for an argument that cannot be used, and
    ``ServerUnavailable`` if the package httpx2 is missing.
    """
    name = check_name("scope", scope)
    return RemoteMemory(
        ServerConnection(url, token, timeout=timeout, retries=retries, zone=zone, http_client=http_client), name
    )


def missing_name(owner: str, name: str) -> AttributeError:
    """The error for a name that a memory behind a server lacks."""
    reason = LOCAL_METHODS.get(name)
    hint = "" if reason is None else f": {reason}"
    return AttributeError(f"{owner} has no {name!r}{hint}")


@dataclass(frozen=True, slots=True)
class JobStart:
    """The server's answer that it has started a job."""

    job: str


@dataclass(frozen=True, slots=True)
class JobError:
    """Why a job failed."""

    type: str
    message: str


@dataclass(frozen=True, slots=True)
class JobReport:
    """How far a job is."""

    state: str
    done: int
    total: int
    result: ConsolidationResult | None = None
    error: JobError | None = None


class _RemoteCalls:
    """Calls the methods of a memory, or of a view of it, over a connection; ``prefix`` leads to the view's routes."""

    def __init__(self, connection: ServerConnection, scope: str, prefix: str = "") -> None:
        self._connection, self.scope, self._prefix = connection, scope, prefix

    def _call(self, method: Callable[..., object], arguments: dict[str, Any]) -> Any:
        """Call a method of the server's memory; ``arguments`` are the arguments that were given."""
        name = method.__name__
        options = arguments.get("options", DEFAULT_RECALL_OPTIONS)
        logs = name in LOGGED_READS and getattr(options, "log_access", True) is not False
        data = self._connection.call(
            self._prefix + name.strip("_").replace("_", "-"),
            arguments_to_json(arguments),
            scope=None if name == "scopes" else self.scope,
            is_repeatable=name in READS or (name in LOGGED_READS and not logs),
        )
        return self._connection.decode(_result_type(method), data)


@cache
def _result_type(method: Callable[..., object]) -> Any:
    return get_type_hints(method)["return"]


def _remote(method: Callable[Concatenate[T, P], R]) -> Callable[Concatenate[_RemoteCalls, P], R]:
    """The same method of a memory behind a server."""
    signature = inspect.signature(method)

    @wraps(method)
    def call(self: _RemoteCalls, /, *args: P.args, **kwargs: P.kwargs) -> R:
        arguments = signature.bind(self, *args, **kwargs).arguments
        del arguments["self"]
        return cast("R", self._call(method, arguments))

    return cast("Callable[Concatenate[_RemoteCalls, P], R]", call)


class RemoteFacts(_RemoteCalls):
    """``Memory.facts`` behind a server."""

    updates = _remote(Facts.updates)
    accept = _remote(Facts.accept)
    reject = _remote(Facts.reject)


class RemoteEntities(_RemoteCalls):
    """``Memory.entities`` behind a server."""

    merge = _remote(Entities.merge)
    split = _remote(Entities.split)


class RemoteMaintenance(_RemoteCalls):
    """``Memory.maintenance`` behind a server."""

    batches = _remote(Maintenance.batches)
    undo = _remote(Maintenance.undo)
    decayed = _remote(Maintenance.decayed)
    pin = _remote(Maintenance.pin)
    unpin = _remote(Maintenance.unpin)
    archive = _remote(Maintenance.archive)
    unarchive = _remote(Maintenance.unarchive)


class RemoteMemory(_RemoteCalls, OpenInEachProcess):
    """A memory behind a server, made by :func:`connect`: the methods, results and errors of ``Memory``.

    ``facts``, ``entities`` and ``maintenance`` are its views. A language model is the server's: ``llm`` is not sent.
    Besides the errors of ``Memory``, calls raise ``AccessDenied`` if the token does not allow them,
    ``ServerUnavailable`` if the server does not answer, and ``ServerError`` for any other failure of it. Safe to share
    between threads.
    """

    def __init__(
        self, connection: ServerConnection, scope: str, *, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        super().__init__(connection, scope)
        self._sleep = sleep
        self.facts = RemoteFacts(connection, scope, "facts/")
        self.entities = RemoteEntities(connection, scope, "entities/")
        self.maintenance = RemoteMaintenance(connection, scope, "maintenance/")

    def __repr__(self) -> str:
        return call_repr("RemoteMemory", self._connection.url, scope=self.scope)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> None:
        self.close()

    def __len__(self) -> int:
        """The number of memories; a long text, stored as several chunks, is one."""
        return self.count()

    def __getattr__(self, name: str) -> Any:
        raise missing_name("a RemoteMemory", name)

    def close(self) -> None:
        """Close the connections to the server; closing twice is harmless."""
        self._connection.close()

    # ---- remember, update, forget

    @same_parameters(Memory.remember)
    def remember(self, content: Any, **keywords: Any) -> RememberResult:
        """See :meth:`ecphora.Memory.remember`. ``progress`` is called once, at the end."""
        progress = check_progress(keywords.pop("progress", None))
        result: RememberResult = self._call(Memory.remember, {"content": content, **keywords})
        if not keywords.get("dry_run"):
            warn_of_blocked(result.blocked)
        if progress is not None:
            progress(len(result.ids), len(result.ids))
        return result

    update = _remote(Memory.update)
    forget = _remote(Memory.forget)
    feedback = _remote(Memory.feedback)
    record_response = _remote(Memory.record_response)

    # ---- recall

    recall = _remote(Memory.recall)
    why_not = _remote(Memory.why_not)
    answer = _remote(Memory.answer)

    # ---- look up

    get = _remote(Memory.get)
    chunks = _remote(Memory.chunks)
    find = _remote(Memory.find)
    count = _remote(Memory.count)
    history = _remote(Memory.history)
    scopes = _remote(Memory.scopes)
    insights = _remote(Memory.insights)

    # ---- consolidate

    @same_parameters(Memory.consolidate)
    def consolidate(self, **keywords: Any) -> ConsolidationResult:
        """See :meth:`ecphora.Memory.consolidate`. The server does it in the background, and this waits for the end.

        If waiting is interrupted, the server ends the consolidation after the step that it is at.
        """
        progress, connection = check_progress(keywords.pop("progress", None)), self._connection
        body = arguments_to_json(keywords)
        started = connection.call("consolidate", body, scope=self.scope, is_repeatable=False)
        path = f"jobs/{connection.decode(JobStart, started).job}"
        try:
            job = self._wait_for_job(path, progress)
        except BaseException:
            with suppress(EcphoraError):
                Cancellation().run(lambda: connection.call(f"{path}/cancel", {}, scope=None, is_repeatable=True))
            raise
        if job.error is not None:
            raise error_of(job.error.type, job.error.message)
        if job.result is None:
            raise ServerError("the consolidation was canceled; what it wrote before stays, and undo() reverts it")
        return job.result

    def _wait_for_job(self, path: str, progress: Progress | None) -> JobReport:
        """Ask how far a job is until it has ended."""
        pause, reported = FIRST_POLL_SECONDS, (0, 0)
        while True:
            job = self._connection.decode(JobReport, self._connection.get(path))
            if progress is not None and (job.done, job.total) != reported:
                reported = (job.done, job.total)
                progress(job.done, job.total)
            if job.state not in UNFINISHED_STATES:
                return job
            self._sleep(pause)
            pause = min(1.5 * pause, MAX_POLL_SECONDS)

    # ---- export, back up, import

    @same_parameters(Memory.export)
    def export(self, out: TextIO, **keywords: Any) -> TransferResult:
        """See :meth:`ecphora.Memory.export`. If the answer breaks off, what came before it stays in ``out``."""
        return transfer.export(self._connection, self.scope, out, arguments_to_json(keywords))

    @same_parameters(Memory.import_)
    def import_(self, lines: Iterable[str], **keywords: Any) -> TransferResult:
        """See :meth:`ecphora.Memory.import_`. ``progress`` is called once, at the end."""
        progress = check_progress(keywords.pop("progress", None))
        result = transfer.import_(self._connection, self.scope, lines, arguments_to_json(keywords))
        if progress is not None:
            progress(result.nodes, result.nodes)
        return result

    @same_parameters(Memory.backup)
    def backup(self, path: str | Path, **keywords: Any) -> Backup:
        """Copy the server's whole file, with every scope, to a file on this machine; see :meth:`ecphora.Memory.backup`.

        ``progress`` counts bytes. The token needs the right ``admin`` in every scope.
        """
        return transfer.backup(self._connection, path, **keywords)
