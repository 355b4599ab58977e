"""The records of a benchmark run, as JSON lines: one for the run, one for each figure."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from ecphora.errors import InvalidRecord

ANSWERABLE = "answerable"
"""The category of all answerable questions that have evidence."""
ALL = "all"
"""The category of all questions."""
UNANSWERABLE = "unanswerable"
"""The category of all unanswerable questions."""


class Metric(StrEnum):
    """What a figure measures; see :mod:`.metrics`. Where nothing else is said it is a part, in 0..1.

    ``STRONG``, ``WEAK`` and ``NONE`` are parts of the questions whose evidence falls into that band; ``RELIABILITY`` is
    the share of answerable questions in a bin of confidence, and ``CALIBRATION_ERROR`` is of these: see
    :mod:`.reliability`.
    ``TUNNELING`` to ``NOT_RETURNED`` are of open questions: see :mod:`..ablation.open_questions`.
    ``MS_…`` are milliseconds a recall, embedding included; ``INDEX_S`` the seconds that filling the memory took. From
    ``F1`` on they are of answers: see :mod:`..answers.answer_summary`. The others are of ablations: see
    :mod:`..ablation.comparison`.
    """

    RECALL = "recall"
    RECALL_ANY = "recall_any"
    RECALL_ALL = "recall_all"
    NDCG = "ndcg"
    AUROC = "auroc"
    MS_P50 = "ms_p50"
    MS_P95 = "ms_p95"
    INDEX_S = "index_s"
    FALSE_REFUSAL = "false_refusal"
    TRUE_REFUSAL = "true_refusal"
    THRESHOLD = "threshold"
    GATE_REFUSAL = "gate_refusal"
    LOSS = "loss"
    FIRED_COUNT = "fired_count"
    PRECISION = "precision"
    ERC = "erc"
    ERC_MG = "erc_mg"
    ERC_GAIN = "erc_gain"
    TUNNELING = "tunneling"
    MISSING_ANCHORS = "missing_anchors"
    HIT_TOKENS = "hit_tokens"
    NOT_RETURNED = "not_returned"
    RELIABILITY = "reliability"
    CALIBRATION_ERROR = "calibration_error"
    BRIER = "brier"
    STRONG = "strong"
    WEAK = "weak"
    NONE = "none"
    F1 = "f1"
    EXACT_MATCH = "exact_match"
    GOLD_RECALL = "gold_recall"
    CONTEXT_TOKENS = "context_tokens"
    NO_ANSWER_PRECISION = "no_answer_precision"
    NO_ANSWER_RECALL = "no_answer_recall"
    NO_ANSWER_ACCURACY = "no_answer_accuracy"
    CALLS = "calls"
    FAILURES = "failures"
    TOKENS_IN = "tokens_in"
    TOKENS_OUT = "tokens_out"
    SECONDS = "seconds"
    COST_USD = "cost_usd"


ANSWER_METRICS = frozenset(list(Metric)[list(Metric).index(Metric.F1) :])
"""The metrics of answers."""


@dataclass(frozen=True, slots=True)
class Difference:
    """How far a figure lies above that of ``reference``, over the same questions, with the 95% interval of that."""

    reference: str
    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Figure:
    """One number over ``n`` questions, with its 95% interval.

    ``k`` is the cut of the ranking, for reliability the number of the bin, from 0; ``None`` where the metric has none.
    ``secondary_value`` is, for times, the same percentile in milliseconds without the embedding, and for reliability
    the mean confidence. ``model``, for ablations only, is the model that ``strategy`` is compared with, and
    ``difference`` how it compares.
    """

    dataset: str
    strategy: str
    category: str
    metric: Metric
    k: int | None
    n: int
    value: float
    low: float
    high: float
    secondary_value: float | None = None
    model: str | None = None
    difference: Difference | None = None

    def to_json_line(self) -> str:
        """The figure as a line of JSON; the fields that only some have are left out where they are empty."""
        fields = asdict(self)
        for name in ("secondary_value", "model", "difference"):
            if fields[name] is None:
                del fields[name]
        return json.dumps(fields, ensure_ascii=False)

    @staticmethod
    def from_fields(fields: Mapping[str, Any]) -> "Figure":
        """The figure of a line's fields; raises ``ValueError``, ``TypeError`` or ``KeyError`` if they are none."""
        difference = Difference(**fields["difference"]) if fields.get("difference") is not None else None
        return Figure(**{**fields, "metric": Metric(fields["metric"]), "difference": difference})


@dataclass(frozen=True, slots=True)
class Machine:
    """The machine of a run."""

    platform: str
    cpus: int


@dataclass(frozen=True, slots=True)
class AnswerSetup:
    """Who answered, and how it was asked: ``system`` and ``user`` are the prompt's text, ``digest`` is of both.

    ``token_budget`` bounds what a strategy brings back, ``full_token_budget`` the full context. What a small model
    answers proves that everything works, and nothing of how good an answer can be.
    """

    model: str
    digest: str
    system: str
    user: str
    token_budget: int
    full_token_budget: int
    is_small_model: bool


@dataclass(frozen=True, slots=True)
class Run:
    """What must be the same for the figures to be the same.

    ``commit`` is the state of the repository, ending in ``-dirty`` if files were changed since; ``None`` outside one.
    ``versions`` are those of Python and of the packages that do the numbers. ``answer_setup`` is for answers only.
    """

    commit: str | None
    versions: Mapping[str, str]
    embedder: str
    machine: Machine
    date: str
    command: str
    answer_setup: AnswerSetup | None = None

    def to_json_line(self) -> str:
        """The run as a line of JSON."""
        fields = asdict(self)
        if self.answer_setup is None:
            del fields["answer_setup"]
        return json.dumps(fields, ensure_ascii=False)

    @staticmethod
    def from_fields(fields: Mapping[str, Any]) -> "Run":
        """The run of a line's fields; raises ``TypeError`` or ``KeyError`` if they are none."""
        machine = Machine(**fields["machine"])
        setup = AnswerSetup(**fields["answer_setup"]) if fields.get("answer_setup") is not None else None
        return Run(**{**fields, "machine": machine, "answer_setup": setup})


@dataclass(slots=True)
class RunRecord:
    """A run with its figures."""

    run: Run
    figures: list[Figure] = field(default_factory=list)


def read_records(path: Path) -> Iterator[RunRecord]:
    """Read the runs of a file of JSON lines; raises ``InvalidRecord`` for a line that is neither run nor figure."""
    record: RunRecord | None = None
    try:
        lines = path.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidRecord(f"{path}: cannot be read ({error})") from error
    for number, line in enumerate(lines, 1):
        try:
            fields = json.loads(line)
            if "metric" in fields:
                figure = Figure.from_fields(fields)
            else:
                if record is not None:
                    yield record
                record = RunRecord(Run.from_fields(fields))
                continue
        except (ValueError, TypeError, KeyError) as error:
            raise InvalidRecord(f"{path}:{number}: neither a run nor a figure of the bench ({error})") from error
        if record is None:
            raise InvalidRecord(f"{path}:{number}: a figure before the line of its run")
        record.figures.append(figure)
    if record is None:
        raise InvalidRecord(f"{path}: no run in it; write one with: ecphora bench recall --json {path}")
    yield record
