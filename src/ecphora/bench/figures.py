"""What a benchmark run puts on record, as JSON lines: one for the run, one a figure."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from pathlib import Path

from ..errors import InvalidRecord

ANSWERABLE = "answerable"
"""The category of all answerable questions that have evidence."""
ALL = "all"
"""The category of all questions."""


class Metric(StrEnum):
    """What a figure measures; see :mod:`.metrics`. ``MS_…`` are milliseconds a recall, embedding included."""

    FRACTION = "fraction"
    ANY = "any"
    ALL = "all"
    NDCG = "ndcg"
    AUROC = "auroc"
    MS_P50 = "ms_p50"
    MS_P95 = "ms_p95"


@dataclass(frozen=True, slots=True)
class Figure:
    """One number over ``n`` questions, with its 95 % interval.

    ``k`` is the cut of the ranking, ``None`` where the metric has none. ``apart``, for the times only, is the same
    percentile in milliseconds without the embedding.
    """

    set: str
    strategy: str
    category: str
    metric: Metric
    k: int | None
    n: int
    value: float
    low: float
    high: float
    apart: float | None = None

    def line(self) -> str:
        """The figure as a line of JSON."""
        fields = asdict(self)
        if self.apart is None:
            del fields["apart"]
        return json.dumps(fields, ensure_ascii=False)


@dataclass(frozen=True, slots=True)
class Machine:
    """Where it ran."""

    platform: str
    cpus: int


@dataclass(frozen=True, slots=True)
class Run:
    """What must be the same for the figures to be the same.

    ``commit`` is the state of the repository, ending in ``-dirty`` if files were changed since; ``None`` outside one.
    ``versions`` are those of Python and of the packages that do the numbers.
    """

    commit: str | None
    versions: Mapping[str, str]
    embedder: str
    machine: Machine
    date: str
    command: str

    def line(self) -> str:
        """The run as a line of JSON."""
        return json.dumps(asdict(self), ensure_ascii=False)


@dataclass(slots=True)
class Record:
    """A run with its figures."""

    run: Run
    figures: list[Figure] = field(default_factory=list)


def read(path: Path) -> Iterator[Record]:
    """Read the runs of a file of JSON lines; raises ``InvalidRecord`` for a line that is neither run nor figure."""
    record: Record | None = None
    try:
        lines = path.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidRecord(f"{path}: cannot be read ({error})") from error
    for number, line in enumerate(lines, 1):
        try:
            fields = json.loads(line)
            if "metric" in fields:
                figure = Figure(**{**fields, "metric": Metric(fields["metric"])})
            else:
                if record is not None:
                    yield record
                record = Record(Run(**{**fields, "machine": Machine(**fields["machine"])}))
                continue
        except (ValueError, TypeError, KeyError) as error:
            raise InvalidRecord(f"{path}:{number}: neither a run nor a figure of the bench ({error})") from error
        if record is None:
            raise InvalidRecord(f"{path}:{number}: a figure before the line of its run")
        record.figures.append(figure)
    if record is None:
        raise InvalidRecord(f"{path}: no run in it; write one with: ecphora bench recall --json {path}")
    yield record
