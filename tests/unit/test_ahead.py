"""What benchmarks/ahead.py makes of the recall of questions: rows, paired intervals, the closing line, the file."""

import importlib
import json
import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ecphora.errors import InvalidInput, InvalidRecord
from ecphora_bench.recall import intervals
from ecphora_bench.recall.recall_run import make_run
from ecphora_bench.recall.run_records import Difference

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def ahead(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The module benchmarks/ahead.py."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return importlib.import_module("ahead")


@pytest.fixture
def ask(ahead: Any) -> Callable[..., Any]:
    """Makes the recall of a question that is the same at each cut, or has a value for each."""

    def make(fused: float, dense: float, category: str = "plain", dataset: str = "village") -> Any:
        return ahead.QuestionRecall(dataset, category, "q", {"dense": (dense,) * 4, "fused": (fused,) * 4})

    return make


@pytest.fixture
def lead(ahead: Any) -> Callable[..., Any]:
    """Makes a lead with this difference and interval."""

    def make(value: float, low: float, high: float, category: str = "plain", k: int = 5) -> Any:
        return ahead.Lead("village", category, k, 9, 0.5, Difference("rrf", value, low, high))

    return make


# ---- rows


def test_small_categories_are_pooled_and_come_last(ahead: Any, ask: Callable[..., Any]) -> None:
    counts = {"few": 199, "many": 200, "one": 1, "most": 201}
    pooled = ahead.pool_categories([ask(1, 0, name) for name, count in counts.items() for _ in range(count)])
    assert {name: len(some) for name, some in pooled.items()} == {"many": 200, "most": 201, "others": 200}
    assert list(pooled) == ["many", "most", "others"]
    assert {one.category for one in pooled["others"]} == {"few", "one"}


def test_set_without_a_large_category_is_one_row(ahead: Any, ask: Callable[..., Any]) -> None:
    questions = [ask(1, 0, name) for name in "ab" for _ in range(199)]
    assert ahead.pool_categories(questions) == {"all": questions}


def test_set_of_large_categories_has_no_others(ahead: Any, ask: Callable[..., Any]) -> None:
    assert list(ahead.pool_categories([ask(1, 0, "many")] * 200)) == ["many"]


# ---- intervals


def plain_interval(differences: list[float]) -> tuple[float, float]:
    """The readable version: the means of 1,000 resamples in order, interpolated between two neighbors."""
    draws = np.random.default_rng(intervals.SEED).integers(len(differences), size=(1_000, len(differences)))  # noqa: TID251
    means = sorted(sum(differences[place] for place in draw) / len(differences) for draw in draws.tolist())
    ends = []
    for part in (0.025, 0.975):
        place = part * 999
        below = int(place)
        ends.append(means[below] + (place - below) * (means[below + 1] - means[below]))
    return ends[0], ends[1]


def test_leads_are_means_and_intervals_of_the_differences_of_each_question(ahead: Any) -> None:
    draw = random.Random(7)  # noqa: S311
    names = ("dense", "fused", "bm25")
    columns = {name: [[draw.choice((0.0, 0.5, 1.0)) for _ in range(4)] for _ in range(13)] for name in names}
    questions = [
        ahead.QuestionRecall("village", "plain", str(place), {name: tuple(columns[name][place]) for name in names})
        for place in range(13)
    ]
    found = list(ahead.leads(questions))
    assert [(one.difference.reference, one.k) for one in found] == [
        (name, k) for name in ("dense", "bm25") for k in (1, 3, 5, 10)
    ]
    for one in found:
        cut = (1, 3, 5, 10).index(one.k)
        ours = [row[cut] for row in columns["fused"]]
        differences = [a - row[cut] for a, row in zip(ours, columns[one.difference.reference], strict=True)]
        assert (one.dataset, one.category, one.n) == ("village", "all", 13)
        assert one.value == pytest.approx(sum(ours) / 13)
        assert one.difference.value == pytest.approx(sum(differences) / 13)
        assert (one.difference.low, one.difference.high) == pytest.approx(plain_interval(differences))


def test_equal_difference_of_every_question_has_no_width(ahead: Any, ask: Callable[..., Any]) -> None:
    lead, *_ = ahead.leads([ask(value, value + 0.25) for value in (0.0, 0.75, 0.25, 0.5)])
    assert (lead.difference.low, lead.difference.high) == (-0.25, -0.25)
    assert lead.is_behind


def test_interval_is_behind_or_ahead_only_if_it_is_wholly_so(lead: Callable[..., Any]) -> None:
    ends = {(-0.2, -0.1): (True, False), (-0.2, 0.0): (False, False), (-0.2, 0.1): (False, False)}
    ends |= {(0.0, 0.1): (False, False), (0.1, 0.2): (False, True), (-0.2, -1e-17): (False, False)}
    assert {end: ((one := lead(0, *end)).is_behind, one.is_ahead) for end in ends} == ends


# ---- the table


def test_closing_line_counts_and_names_the_largest(ahead: Any, lead: Callable[..., Any]) -> None:
    found = [
        lead(-0.02, -0.03, -0.01),
        lead(-0.06, -0.08, -0.01, category="others", k=3),
        lead(-0.5, -0.9, 0.1),
        lead(0.1, 0.05, 0.2),
    ]
    assert ahead.closing_line(found) == (
        "2 of 4 intervals are wholly below 0; the largest such mean difference is -.060 (village, others, rrf, "
        "recall@3); 1 are wholly above 0; the mean of all differences is -.120."
    )
    assert ahead.closing_line(found[2:3]) == (
        "0 of 1 intervals are wholly below 0; 0 are wholly above 0; the mean of all differences is -.500."
    )


def test_rows_are_marked(ahead: Any, lead: Callable[..., Any], capsys: pytest.CaptureFixture[str]) -> None:
    found = [lead(-0.02, -0.03, -0.01), lead(0.1, 0.05, 0.2), lead(0.1, -0.05, 1)]
    ahead.Console(width=116).print(ahead.lead_table(found))
    rows = [line.split() for line in capsys.readouterr().out.splitlines() if line.startswith("village")]
    start = ["village", "plain", "9", "rrf", "@5", ".500"]
    assert rows == [
        [*start, ".520", "-.020", "-.030", "to", "-.010", "behind"],
        [*start, ".400", "+.100", "+.050", "to", "+.200", "ahead"],
        [*start, ".400", "+.100", "-.050", "to", "+1.000"],
    ]


# ---- the file


def test_set_that_is_measured_again_replaces_its_earlier_results(
    ahead: Any, ask: Callable[..., Any], tmp_path: Path
) -> None:
    path, run = tmp_path / "recall.jsonl", make_run("hashing", "first")
    runs = [
        (run, [ask(1, 0), ask(0.5, 0), ask(1, 1, dataset="town")]),
        (replace(run, command="second"), [ask(0, 1)]),
        (replace(run, command="interrupted"), []),
    ]
    lines = [one.to_json_line() for made, questions in runs for one in (made, *questions)]
    path.write_text("\n".join(lines) + "\n", "utf-8")
    sets = ahead.read_sets(path)
    assert {name: (one.run.command, list(one.questions)) for name, one in sets.items()} == {
        "village": ("second", [ask(0, 1)]),
        "town": ("first", [ask(1, 1, dataset="town")]),
    }


@pytest.mark.parametrize(
    "line",
    [
        "{",
        "[]",
        json.dumps({"dataset": "village", "category": "plain", "question": "q", "recall": {"dense": [1, 1, 1, 1]}}),
        json.dumps({"dataset": "village", "category": "plain", "question": "q", "recall": {"fused": [1, 1, 1]}}),
        json.dumps({"dataset": "village", "recall": {"fused": [1, 1, 1, 1]}}),
    ],
)
def test_line_of_another_kind_is_named(ahead: Any, line: str, tmp_path: Path) -> None:
    path = tmp_path / "recall.jsonl"
    path.write_text(f"{make_run('hashing', 'c').to_json_line()}\n{line}\n", "utf-8")
    with pytest.raises(InvalidRecord, match=r"recall\.jsonl:2: no line of benchmarks/ahead\.py"):
        ahead.read_sets(path)


def test_question_before_its_run_and_missing_file_are_errors(
    ahead: Any, ask: Callable[..., Any], tmp_path: Path
) -> None:
    path = tmp_path / "recall.jsonl"
    path.write_text(ask(1, 0).to_json_line(), "utf-8")
    with pytest.raises(InvalidRecord, match=":1:"):
        ahead.read_sets(path)
    with pytest.raises(InvalidInput, match="cannot be read"):
        ahead.read_sets(tmp_path / "absent.jsonl")
