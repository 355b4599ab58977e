"""Jobs that every replica can find: one actor keeps their states, of which the replica that runs a job tells it."""

import logging
import threading
from collections import OrderedDict
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from ray.exceptions import RayError

import ray

from ...model.ports import Clock
from ..server.jobs import ENDED, MAX_JOBS, Job, Jobs, JobState

BOARD = "ecphora-jobs"
"""The name of the actor, and of its namespace."""
SERVE_NAMESPACE = "serve"
"""The namespace of Serve's replicas."""
REPLICA_GONE = {
    "type": "ServerUnavailable",
    "message": "the replica that ran the job ended; what it wrote stays, so start the job again",
}
_log = logging.getLogger("ecphora.remote.ray")


@dataclass(frozen=True, slots=True)
class JobCopy:
    """A job as its replica last told it. ``replica`` is the name of that replica's actor."""

    job: dict[str, Any]
    replica: str


class JobBoard:
    """The states of the jobs of all replicas. It ends with Ray, and forgets the jobs then."""

    def __init__(self) -> None:
        self._copies: OrderedDict[str, JobCopy] = OrderedDict()
        self._canceled: set[str] = set()

    def put(self, copy: JobCopy) -> bool:
        """Keep the state of a job; return whether the job is to be canceled."""
        id_ = copy.job["id"]
        self._copies[id_] = copy
        if len(self._copies) > MAX_JOBS:
            self._canceled.discard(self._copies.popitem(last=False)[0])
        return id_ in self._canceled

    def get(self, id_: str) -> JobCopy | None:
        """The state of a job."""
        return self._copies.get(id_)

    def cancel(self, id_: str) -> None:
        """Have a job canceled; its replica hears of it at the job's next step."""
        if id_ in self._copies:
            self._canceled.add(id_)


def _find_board() -> Any:
    options = {"name": BOARD, "namespace": BOARD, "lifetime": "detached", "get_if_exists": True}
    return ray.remote(JobBoard).options(**options, num_cpus=0, max_restarts=-1).remote()


class SharedJobs(Jobs):
    """The jobs of a replica, and the view of all others'. One job runs at a time in each replica."""

    def __init__(self, clock: Clock) -> None:
        super().__init__(clock)
        self._board = _find_board()
        self._replica = ray.get_runtime_context().get_actor_name() or ""
        self._order = threading.Lock()

    def find(self, id_: str) -> Job | None:
        """The job with an id, of any replica; None if there is none, or if it ended long ago."""
        if (own := super().find(id_)) is not None:
            return own
        copy: JobCopy | None = ray.get(self._board.get.remote(id_))
        if copy is None:
            return None
        job = _job_of(copy)
        if job.state not in ENDED and not _is_running(copy.replica):
            copy = ray.get(self._board.get.remote(id_)) or copy  # it may have ended the job before it ended itself
            job = _job_of(copy)
            if job.state not in ENDED:
                job.state, job.error, job.ended_at = JobState.FAILED, REPLICA_GONE, self._clock()
        return job

    def cancel(self, job: Job) -> None:
        """End a job after its current step; a job of another replica hears of it at its next step."""
        if super().find(job.id) is not None:
            super().cancel(job)
        else:
            ray.get(self._board.cancel.remote(job.id))

    def _tell(self, job: Job) -> None:
        with self._order:  # so that no older state comes after a newer one
            try:
                is_canceled = ray.get(self._board.put.remote(JobCopy(job.to_dict(), self._replica)))
            except RayError:
                _log.exception("the state of job %s is not known to other replicas", job.id)
                return
        if is_canceled:
            job.cancel.set()


def _job_of(copy: JobCopy) -> Job:
    created, ended = (copy.job[name] for name in ("created_at", "ended_at"))
    return Job(
        **{
            **copy.job,
            "state": JobState(copy.job["state"]),
            "created_at": datetime.fromisoformat(created),
            "ended_at": None if ended is None else datetime.fromisoformat(ended),
        }
    )


def _is_running(replica: str) -> bool:
    try:
        ray.get_actor(replica, namespace=SERVE_NAMESPACE)
    except ValueError:
        return False
    return True
