"""What a benchmark run puts on record, as JSON lines: one for the run, one a figure."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from ..errors import InvalidRecord

ANSWERABLE = "answerable"
"""The category of all answerable questions that have evidence."""
ALL = "all"
"""The category of all questions."""
UNANSWERABLE = "unanswerable"
"""The category of all questions that the memory does not answer."""


class Metric(StrEnum):
    """What a figure measures; see :mod:`.metrics`. Where nothing else is said it is a part, in 0..1.

    ``STRONG``, ``WEAK`` and ``NONE`` are parts of the questions whose evidence falls into that band.
    ``MS_…`` are milliseconds a recall, embedding included; ``INDEX_S`` the seconds that filling the memory took. From
    ``F1`` on they are of answers: see :mod:`.answer_figures`. The others are of ablations: see :mod:`.ablate`.
    """

    FRACTION = "fraction"
    ANY = "any"
    ALL = "all"
    NDCG = "ndcg"
    AUROC = "auroc"
    MS_P50 = "ms_p50"
    MS_P95 = "ms_p95"
    INDEX_S = "index_s"
    FALSE_REFUSAL = "false_refusal"
    RIGHT_REFUSAL = "right_refusal"
    THRESHOLD = "threshold"
    REFUSED = "refused"
    LOSS = "loss"
    FIRED = "fired"
    PRECISION = "precision"
    ERC = "erc"
    ERC_MG = "erc_mg"
    ERC_GAIN = "erc_gain"
    RELIABILITY = "reliability"
    CALIBRATION_ERROR = "calibration_error"
    STRONG = "strong"
    WEAK = "weak"
    NONE = "none"
    F1 = "f1"
    EXACT = "exact"
    EVIDENCE = "evidence"
    TOKENS = "tokens"
    NOT_HELD_PRECISION = "not_held_precision"
    NOT_HELD_RECALL = "not_held_recall"
    NOT_HELD_ACCURACY = "not_held_accuracy"
    CALLS = "calls"
    FAILED = "failed"
    TOKENS_IN = "tokens_in"
    TOKENS_OUT = "tokens_out"
    SECONDS = "seconds"
    MONEY = "money"


ANSWERS = frozenset(list(Metric)[list(Metric).index(Metric.F1) :])
"""The metrics of answers."""


@dataclass(frozen=True, slots=True)
class Difference:
    """How far a figure lies above that of ``to``, over the same questions, with the 95 % interval of that."""

    to: str
    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Figure:
    """One number over ``n`` questions, with its 95 % interval.

    ``k`` is the cut of the ranking, ``None`` where the metric has none. ``apart`` is, for times, the same percentile in
    milliseconds without the embedding, and for reliability the mean confidence. ``model``, for ablations only, is the
    model that ``strategy`` is compared with, and ``against`` how it compares.
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
    model: str | None = None
    against: Difference | None = None

    def line(self) -> str:
        """The figure as a line of JSON; the fields that only some have are left out where they are empty."""
        fields = asdict(self)
        for name in ("apart", "model", "against"):
            if fields[name] is None:
                del fields[name]
        return json.dumps(fields, ensure_ascii=False)

    @staticmethod
    def of(fields: Mapping[str, Any]) -> "Figure":
        """The figure of a line's fields; raises ``ValueError``, ``TypeError`` or ``KeyError`` if they are none."""
        against = Difference(**fields["against"]) if fields.get("against") is not None else None
        return Figure(**{**fields, "metric": Metric(fields["metric"]), "against": against})


@dataclass(frozen=True, slots=True)
class Machine:
    """Where it ran."""

    platform: str
    cpus: int


@dataclass(frozen=True, slots=True)
class Reading:
    """Who answered, and how it was asked: ``system`` and ``user`` are the prompt's text, ``digest`` is of both.

    ``tokens`` bound what a strategy brings back, ``window`` the full context. What was read by a ``plumbing`` model
    proves that everything works, and nothing of how good an answer can be.
    """

    model: str
    digest: str
    system: str
    user: str
    tokens: int
    window: int
    plumbing: bool


@dataclass(frozen=True, slots=True)
class Run:
    """What must be the same for the figures to be the same.

    ``commit`` is the state of the repository, ending in ``-dirty`` if files were changed since; ``None`` outside one.
    ``versions`` are those of Python and of the packages that do the numbers. ``reading`` is for answers only.
    """

    commit: str | None
    versions: Mapping[str, str]
    embedder: str
    machine: Machine
    date: str
    command: str
    reading: Reading | None = None

    def line(self) -> str:
        """The run as a line of JSON."""
        fields = asdict(self)
        if self.reading is None:
            del fields["reading"]
        return json.dumps(fields, ensure_ascii=False)

    @staticmethod
    def of(fields: Mapping[str, Any]) -> "Run":
        """The run of a line's fields; raises ``TypeError`` or ``KeyError`` if they are none."""
        machine = Machine(**fields["machine"])
        reading = Reading(**fields["reading"]) if fields.get("reading") is not None else None
        return Run(**{**fields, "machine": machine, "reading": reading})


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
                figure = Figure.of(fields)
            else:
                if record is not None:
                    yield record
                record = Record(Run.of(fields))
                continue
        except (ValueError, TypeError, KeyError) as error:
            raise InvalidRecord(f"{path}:{number}: neither a run nor a figure of the bench ({error})") from error
        if record is None:
            raise InvalidRecord(f"{path}:{number}: a figure before the line of its run")
        record.figures.append(figure)
    if record is None:
        raise InvalidRecord(f"{path}: no run in it; write one with: ecphora bench recall --json {path}")
    yield record
