"""Where the default strategy ``fused`` is ahead of the baselines and where it is behind, question by question.

``python benchmarks/ahead.py --data DIR --set NAME… [--probes] [--limit N] [--rerank WHEN] [--json FILE]``

Each set is divided by the category of its questions. The categories with fewer than 200 questions of a set are pooled
as "others"; a set without a larger one stays whole. For each of these, for every baseline and for recall@1, @3, @5 and
@10, the table has the mean of ``fused``, the mean of the baseline, and the mean difference over the same questions with
its 95% bootstrap interval. It is marked "behind" if the whole interval is below 0, and "ahead" if it is above. For sets
recall@k is the fraction of the gold evidence among the first k documents, for probes whether any right memory is there,
as in ``ecphora bench probes``. Questions without a right answer are left out. ``dense-english`` is left out if the
embedder has no English vectors.

Intervals are over questions, which are taken as independent. Those of one space are not quite, and most sets have too
few spaces to draw spaces instead: such an interval is somewhat too narrow.

``--json FILE`` appends the recall of every question to the file, and the table is of the whole file. So sets can be
measured one run at a time; a set that is measured again replaces its earlier results. With ``--json FILE`` alone the
table is made from the file, and nothing is measured. ``--json -`` writes the lines to stdout, and no table.
"""

import json
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import click
import numpy as np
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ecphora import strategies
from ecphora.cli import learn
from ecphora.cli.learn import progress_bar
from ecphora.errors import EcphoraError, InvalidInput, InvalidRecord
from ecphora.maintenance.learn import datasets, metrics
from ecphora.maintenance.learn.embedding_cache import CachingEmbedder
from ecphora.model.ports import Strategy
from ecphora.model.types import Rerank
from ecphora_bench import command_options
from ecphora_bench.command_options import BenchOptions, rerank_words
from ecphora_bench.probes import probe_run
from ecphora_bench.probes.loading import choose_probes, load_maker
from ecphora_bench.probes.probe import Half, Kind, Probe
from ecphora_bench.probes.probe_sets import set_name
from ecphora_bench.recall import intervals, recall_run
from ecphora_bench.recall.recall_tables import describe_setup, format_number
from ecphora_bench.recall.run_records import ALL, Difference, Run

CUTS = (1, 3, 5, 10)
"""The cuts of a ranking."""
MIN_QUESTIONS = 200
"""Questions that a category needs for rows of its own."""
OTHERS = "others"
"""The categories of a set that have fewer questions."""
DEFAULT = "fused"
BASELINES = (*(name for name in strategies.BASELINES if name != "recency"), *strategies.ENGLISH)
ROUNDING = 1e-9
"""How far an end of an interval may lie from 0 by rounding alone."""

LEGEND = (
    f"difference: mean recall of {DEFAULT} less that of the baseline over the same questions, with the 95% bootstrap "
    "interval over questions. Questions of one space are not quite independent, so where a set has few spaces the "
    "interval is somewhat too narrow."
)


@dataclass(frozen=True, slots=True)
class QuestionRecall:
    """The recall of one question by strategy, at each of the cuts."""

    dataset: str
    category: str
    question: str
    recall: Mapping[str, tuple[float, ...]]

    def to_json_line(self) -> str:
        """The question as a line of JSON."""
        return json.dumps(asdict(self), ensure_ascii=False)

    @staticmethod
    def from_fields(fields: Mapping[str, Any]) -> "QuestionRecall":
        """The question of a line's fields; raises ``TypeError``, ``ValueError`` or ``KeyError`` if they are none."""
        recall = {name: tuple(map(float, values)) for name, values in dict(fields["recall"]).items()}
        if DEFAULT not in recall or any(len(values) != len(CUTS) for values in recall.values()):
            raise ValueError(f"recall is not of {DEFAULT} and baselines at {len(CUTS)} cuts each")
        return QuestionRecall(**{**fields, "recall": recall})


@dataclass(frozen=True, slots=True)
class MeasuredSet:
    """The questions of a set, and the run that measured them; None if nothing was kept of it."""

    questions: tuple[QuestionRecall, ...]
    run: Run | None = None


@dataclass(frozen=True, slots=True)
class Lead:
    """The mean recall at ``k`` of ``fused`` over ``n`` questions, and how far it lies above that of a baseline."""

    dataset: str
    category: str
    k: int
    n: int
    value: float
    difference: Difference

    @property
    def is_behind(self) -> bool:
        """Whether the whole interval is below 0."""
        return self.difference.high < -ROUNDING

    @property
    def is_ahead(self) -> bool:
        """Whether the whole interval is above 0."""
        return self.difference.low > ROUNDING


def pool_categories(questions: Sequence[QuestionRecall]) -> dict[str, list[QuestionRecall]]:
    """The questions of a set by category, the small ones pooled as the last; all together if none is large."""
    counts = Counter(one.category for one in questions)
    names = [name for name, count in counts.items() if count >= MIN_QUESTIONS]
    if not names:
        return {ALL: list(questions)}
    by_name: dict[str, list[QuestionRecall]] = {name: [] for name in (*names, OTHERS)}
    for one in questions:
        by_name[one.category if one.category in names else OTHERS].append(one)
    return {name: some for name, some in by_name.items() if some}


def leads(questions: Sequence[QuestionRecall]) -> Iterator[Lead]:
    """The leads of ``fused`` in a set, over each baseline and at each cut."""
    for category, some in pool_categories(questions).items():
        columns = {name: np.array([one.recall[name] for one in some], np.float64) for name in some[0].recall}
        ours = columns.pop(DEFAULT)
        for baseline, theirs in columns.items():
            differences = ours - theirs
            for place, k in enumerate(CUTS):
                interval = intervals.bootstrap_interval(differences[:, place])
                difference = Difference(baseline, float(differences[:, place].mean()), *interval)
                value = float(ours[:, place].mean())
                yield Lead(some[0].dataset, category, k, len(some), value, difference)


def closing_line(found: Sequence[Lead]) -> str:
    """How many intervals are wholly below 0, the largest such difference, and the mean of all differences."""
    behind = [one for one in found if one.is_behind]
    parts = [f"{len(behind)} of {len(found)} intervals are wholly below 0"]
    if behind:
        worst = min(behind, key=lambda one: one.difference.value)
        where = f"{worst.dataset}, {worst.category}, {worst.difference.reference}, recall@{worst.k}"
        parts += [f"the largest such mean difference is {format_difference(worst.difference.value)} ({where})"]
    parts += [f"{sum(one.is_ahead for one in found)} are wholly above 0"]
    parts += [f"the mean of all differences is {format_difference(np.mean([one.difference.value for one in found]))}"]
    return "; ".join(parts) + "."


def format_difference(value: float | np.floating[Any]) -> str:
    """A difference as shown in a table: ``+.012``."""
    return f"{'-' if value < 0 else '+'}{format_number(abs(float(value)))}"


def lead_table(found: Sequence[Lead]) -> Table:
    """A row for each set, category, baseline and cut; every row has all names, so that its line says all."""
    table = Table(box=SIMPLE_HEAD, padding=0, show_edge=False)
    for name in ("set", "category", "n", "baseline", "recall", DEFAULT, "baseline's", "difference", "95% interval", ""):
        is_text = name in {"set", "category", "baseline", ""}
        table.add_column(name, justify="left" if is_text else "right", overflow="fold")
    before = ("", "")
    for one in found:
        difference = one.difference
        if before != (before := (one.dataset, one.category)):
            table.add_section()
        table.add_row(
            *(Text(one.dataset), Text(one.category), str(one.n), difference.reference, f"@{one.k}"),
            *(
                format_number(one.value),
                format_number(one.value - difference.value),
                format_difference(difference.value),
            ),
            f"{format_difference(difference.low)} to {format_difference(difference.high)}",
            "behind" if one.is_behind else "ahead" if one.is_ahead else "",
            style="bold red" if one.is_behind else "",
        )
    return table


# ---- measuring


def measure_set(
    name: str, cases: Sequence[datasets.Case], some: Sequence[Strategy], embedder: CachingEmbedder, **options: Any
) -> list[QuestionRecall]:
    """The recall of the questions of a set that have a ranking."""
    kept = [replace(one, questions=tuple(asked for asked in one.questions if asked.has_ranking)) for one in cases]
    kept = [one for one in kept if one.questions]
    if not kept:
        return []
    with progress_bar(name, recall_run.count_steps(kept, some)) as tick:
        results = recall_run.run(name, kept, some, embedder, tick, **options).results
    columns = [[one for one in results if one.strategy == strategy.name] for strategy in some]
    return [
        QuestionRecall(
            name,
            row[0].question.category,
            row[0].question.id,
            {
                one.strategy: tuple(metrics.recall_at_k(one.ranked_documents, row[0].question.gold, k) for k in CUTS)
                for one in row
            },
        )
        for row in zip(*columns, strict=True)
    ]


def measure_probes(
    name: str, probes: Sequence[Probe], some: Sequence[Strategy], embedder: CachingEmbedder, **options: Any
) -> list[QuestionRecall]:
    """The recall of the probes that have an answer."""
    answerable = [probe for probe in probes if probe.is_answerable]
    recall: dict[str, dict[str, tuple[float, ...]]] = {probe.id: {} for probe in answerable}
    with progress_bar(name, probe_run.count_steps(answerable, some)) as tick:
        for one in probe_run.run(answerable, some, embedder, tick, **options):
            values = tuple(metrics.recall_any_at_k(one.ranked, one.probe.gold, k) for k in CUTS)
            recall[one.probe.id][one.strategy] = values
    return [QuestionRecall(name, probe.sort, probe.id, recall[probe.id]) for probe in answerable]


def measure(
    options: BenchOptions, names: Sequence[str], probes: Sequence[Probe], embedder: CachingEmbedder, **rerank: Any
) -> Iterator[list[QuestionRecall]]:
    """The recall of questions, set by set, then of probes, kind by kind."""
    baselines = [name for name in BASELINES if embedder.english_embedder or name not in strategies.ENGLISH]
    some = [strategies.resolve_strategy(name) for name in (DEFAULT, *baselines)]
    for name in names:
        questions = measure_set(name, options.read_cases(name), some, embedder, **rerank)
        if not questions:
            click.echo(f"{name}: no question with a right answer", err=True)
        yield questions
    for name in dict.fromkeys(set_name(probe) for probe in probes):
        yield measure_probes(name, [one for one in probes if set_name(one) == name], some, embedder, **rerank)


# ---- the file


def read_sets(path: Path) -> dict[str, MeasuredSet]:
    """The sets of a file, each as it was measured last; raises ``InvalidRecord`` for a line of another kind."""
    try:
        lines = path.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{path} cannot be read ({error})") from error
    runs: list[tuple[Run, list[QuestionRecall]]] = []
    for number, line in enumerate(lines, 1):
        try:
            fields = json.loads(line)
            if "machine" in fields:
                runs.append((Run.from_fields(fields), []))
            else:
                runs[-1][1].append(QuestionRecall.from_fields(fields))
        except (ValueError, TypeError, KeyError, IndexError) as error:
            raise InvalidRecord(f"{path}:{number}: no line of benchmarks/ahead.py ({error})") from error
    sets: dict[str, MeasuredSet] = {}
    for run, questions in runs:
        for name in dict.fromkeys(one.dataset for one in questions):
            sets[name] = MeasuredSet(tuple(one for one in questions if one.dataset == name), run)
    return sets


def print_report(sets: Mapping[str, MeasuredSet], out: Console) -> None:
    """The table, the closing line, and the runs that measured."""
    found = [lead for one in sets.values() for lead in leads(one.questions)]
    if not found:
        raise InvalidInput("no question with a right answer was measured; choose other sets")
    out.print(lead_table(found))
    out.print(f"\n{LEGEND}", highlight=False)
    for run in dict.fromkeys((describe_setup(one.run), one.run.command) for one in sets.values() if one.run):
        out.print("", *run, sep="\n", highlight=False, markup=False)
    out.print(f"\n{closing_line(found)}", highlight=False, markup=False)


@click.command(help=__doc__.partition("\n")[0])
@command_options.data_options(is_required=False)
@learn.set_option("Set to measure; may be repeated.  [default: all of --data]")
@click.option("--probes", "use_probes", is_flag=True, help="Measure the probes of the test half, a set for each kind.")
@command_options.worlds_option
@command_options.limit_option("The most questions of a set, or of a kind of probes.")
@command_options.rerank_options
@command_options.json_option("Append the recall of each question, and print the table of the file; - is stdout.")
@learn.embedder_option
def main(
    *,
    dataset_names: Sequence[str],
    use_probes: bool,
    world_count: int,
    rerank: str,
    rerank_ms: float | None,
    **given: Any,
) -> None:
    options = BenchOptions(**given)
    path = None if options.json_target in {None, "-"} else Path(str(options.json_target))
    if dataset_names and options.data is None:
        raise click.UsageError("--set needs --data, the folder of the sets")
    if options.data is None and not use_probes:
        if path is None:
            raise click.UsageError("give --data or --probes to measure, or --json with the file of earlier runs")
        print_report(read_sets(path), options.console)
        return
    names = (
        []
        if options.data is None
        else options.check_datasets(list(dataset_names) or datasets.dataset_names(options.data))
    )
    probes = choose_probes(load_maker(), Kind, Half.TEST, worlds=world_count, limit=options.limit) if use_probes else []
    words = {"--set": dataset_names, "--worlds": [str(world_count)] if use_probes else []}
    command = options.command_line(
        "benchmarks/ahead.py", words | rerank_words(rerank, rerank_ms), program=("python",)
    ) + (" --probes" if use_probes else "")
    if path is not None and path.exists():
        read_sets(path)  # a wrong file is reported before anything is measured
    sets: dict[str, MeasuredSet] = {}
    with options.open_run(command, append=True) as (embedder, out, write):
        for questions in measure(options, names, probes, embedder, rerank=Rerank(rerank), rerank_ms=rerank_ms):
            if questions:
                write("\n".join(one.to_json_line() for one in questions))
                sets[questions[0].dataset] = MeasuredSet(tuple(questions))
    print_report(sets if path is None else read_sets(path), out)


if __name__ == "__main__":
    try:
        main()
    except EcphoraError as problem:
        sys.exit(f"error: {problem}")
