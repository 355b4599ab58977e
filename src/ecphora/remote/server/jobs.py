"""Jobs: long calls that run in the background, whose progress can be asked for and that can be canceled."""

import logging
import secrets
import threading
from collections import Counter, OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from ...errors import StoreBusy, StoreClosed
from ...model.ports import Clock
from .failures import error_dict, status_of

MAX_JOBS = 1000
"""Jobs that are remembered; beyond that, the job that ended first is forgotten."""
MAX_WAITING_JOBS = 100
"""Jobs that may wait for their turn."""
SERVER_ERROR = 500

_log = logging.getLogger("ecphora.remote.server")

JobProgress = Callable[[int, int], None]


class JobState(StrEnum):
    """How far a job is."""

    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELED = "canceled"


ENDED = frozenset({JobState.DONE, JobState.FAILED, JobState.CANCELED})


class _JobCanceled(Exception):
    """Ends a job from within, at a place where everything is consistent."""


@dataclass(slots=True)
class Job:
    """A call in the background. ``done`` of ``total`` items are processed, 0 of 0 until it has counted them.

    ``result`` is the JSON of what the call returned, ``error`` why it failed; both are null until then.
    """

    id: str
    scope: str
    created_at: datetime
    state: JobState = JobState.WAITING
    done: int = 0
    total: int = 0
    ended_at: datetime | None = None
    result: Any = None
    error: dict[str, str] | None = None
    cancel: threading.Event = field(default_factory=threading.Event, repr=False)

    def to_dict(self) -> dict[str, Any]:
        """The job as JSON values."""
        return {
            "id": self.id,
            "scope": self.scope,
            "state": self.state.value,
            "done": self.done,
            "total": self.total,
            "created_at": self.created_at.isoformat(),
            "ended_at": None if self.ended_at is None else self.ended_at.isoformat(),
            "result": self.result,
            "error": self.error,
        }


class Jobs:
    """The jobs of a server; one runs at a time, the others wait for their turn."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._jobs: OrderedDict[str, Job] = OrderedDict()
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="ecphora-job")
        self._is_closed = False

    def start(self, scope: str, function: Callable[[JobProgress], Any]) -> Job:
        """Run a function of the progress in the background. Raises ``StoreBusy`` if too many wait."""
        job = Job(secrets.token_urlsafe(12), scope, self._clock())
        with self._lock:
            if self._is_closed:
                raise StoreClosed("the server is stopping")
            if sum(one.state == JobState.WAITING for one in self._jobs.values()) >= MAX_WAITING_JOBS:
                raise StoreBusy(f"{MAX_WAITING_JOBS} jobs wait already; try again later")
            self._jobs[job.id] = job
            ended = [one.id for one in self._jobs.values() if one.state in ENDED]
            for id_ in ended[: max(len(self._jobs) - MAX_JOBS, 0)]:
                del self._jobs[id_]
            self._pool.submit(self._run, job, function)
        self._tell(job)
        return job

    def find(self, id_: str) -> Job | None:
        """The job with an id; None if there is none, or if it ended long ago."""
        return self._jobs.get(id_)

    def cancel(self, job: Job) -> None:
        """End a job after its current step; everything written before stays. A job that has ended stays as it is."""
        with self._lock:
            job.cancel.set()
            if job.state == JobState.WAITING:
                self._end(job, JobState.CANCELED)
        self._tell(job)

    def count_by_state(self) -> dict[str, int]:
        """The number of jobs in each state."""
        with self._lock:
            counts = Counter(job.state for job in self._jobs.values())
        return {state.value: counts[state] for state in JobState}

    def close(self) -> None:
        """Cancel every job and wait until the running job has ended."""
        with self._lock:
            self._is_closed = True
            jobs = list(self._jobs.values())
        for job in jobs:
            self.cancel(job)
        self._pool.shutdown(wait=True)

    def _run(self, job: Job, function: Callable[[JobProgress], Any]) -> None:
        def progress(done: int, total: int) -> None:
            job.done, job.total = done, total
            self._tell(job)
            if job.cancel.is_set() and done < total:
                raise _JobCanceled

        with self._lock:
            if job.state != JobState.WAITING:
                return
            job.state = JobState.RUNNING
        self._tell(job)
        state = JobState.FAILED
        try:
            job.result = function(progress)
            state = JobState.DONE
        except _JobCanceled:
            state = JobState.CANCELED
        except Exception as error:  # noqa: BLE001  # whatever it is, the job says so
            job.error = error_dict(error)["error"]
            if status_of(error) == SERVER_ERROR:
                _log.error("job %s failed", job.id, exc_info=error)
        finally:
            with self._lock:
                self._end(job, state)
            self._tell(job)

    def _tell(self, job: Job) -> None:
        """Tell others of the state of a job; nobody else is to know it here."""

    def _end(self, job: Job, state: JobState) -> None:
        job.ended_at = self._clock()
        job.state = state
