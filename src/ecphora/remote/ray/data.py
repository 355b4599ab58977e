"""Bulk work by Ray Data: actors that take one scope after another, on all machines of a cluster."""

import json
import logging
from collections.abc import Iterator, Sequence
from typing import Any

from ...maintenance.bulk import Executor, ScopeOutcome, ScopeWork, run_scope
from .session import check_ray, ray_session

Batch = dict[str, Any]


class _Worker:
    """An actor of Ray Data; it keeps the models that it has loaded."""

    def __init__(self, work: ScopeWork) -> None:
        self._work = work

    def __call__(self, batch: Batch) -> Batch:
        return {"outcome": [json.dumps(run_scope(self._work, str(scope)).to_dict()) for scope in batch["scope"]]}


def ray_data(address: str, workers: int | None = None) -> Executor:
    """An executor of actors on a Ray cluster, or ``local`` for one of this process's own.

    Without ``workers`` as many actors run as the cluster has CPUs. A scope whose actor was killed is given to another.
    Raises ``InvalidInput`` if Ray is not installed.
    """
    check_ray()

    def execute(work: ScopeWork, scopes: Sequence[str]) -> Iterator[ScopeOutcome]:
        with ray_session(address) as ray:
            from ray import data  # noqa: PLC0415  # see ray_session

            logging.getLogger("ray.data").setLevel(logging.ERROR)
            data.DataContext.get_current().enable_progress_bars = False
            count = min(workers or max(int(ray.cluster_resources().get("CPU", 1)) - 1, 1), len(scopes))
            rows = data.from_items([{"scope": scope} for scope in scopes], override_num_blocks=len(scopes))
            done = rows.map_batches(
                _Worker,
                fn_constructor_args=(work,),
                batch_size=1,
                num_cpus=1,
                compute=data.ActorPoolStrategy(size=count),
            )
            for row in done.iter_rows():
                yield ScopeOutcome(**json.loads(row["outcome"]))

    return execute
