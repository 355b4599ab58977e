"""The commands ``ecphora bench``: options in, tables and files out."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
from rich.console import Console, Group

from ecphora import strategies
from ecphora.cli.learn import FILE, FOLDER, NEW_FILE, embedder_option, open_embedder, progress_bar, set_option
from ecphora.maintenance.learn import datasets
from ecphora.model.text_format import count_noun
from ecphora.model.types import Rerank
from ecphora.models.llm_client import LLMClient
from ecphora.models.llms.from_setting import LLM_CHOICES

from .ablation import ablation_run, ablation_tables, ablations, charts, open_question_tables, open_questions
from .answers import answer_files, answer_run, answer_summary, answer_tables, readers
from .command_options import (
    POSITIVE_INT,
    BenchOptions,
    conversion_options,
    dataset_options,
    distractors_option,
    open_lines,
    rerank_options,
    rerank_words,
    strategy_option,
)
from .conversion.dataset_files import Conversion, write_set
from .conversion.perltqa import MIN_COSINE, convert_perltqa
from .conversion.smrcs import convert_smrcs
from .probes.probe_command import probes_command
from .recall import recall_tables, run_records
from .recall.recall_run import RunOutcome, count_steps, make_run, run
from .recall.run_records import Figure, RunRecord
from .speed.speed_command import speed_command
from .strategy_variants import parse_strategies


@click.group(commands=[probes_command, speed_command])
def bench() -> None:
    """Measure recall on public data sets, and speed."""


@bench.command()
@dataset_options
@set_option("Set to run; may be repeated.  [default: all]")
@strategy_option("Strategy to run; may be repeated.  [default: all]")
@rerank_options
def recall(
    *,
    dataset_names: Sequence[str],
    strategy_names: Sequence[str],
    rerank: str,
    rerank_ms: float | None,
    **options: Any,
) -> None:
    """Index data sets, ask their questions, and print the fraction of the gold evidence recalled.

    Every space of a set is indexed on its own, once for all strategies that only read and once for each that writes.
    Embeddings are kept in the user's cache, so a second run is fast.
    """
    bench_options = BenchOptions(**options)
    recall_strategies = parse_strategies(strategy_names or strategies.strategy_names())
    names = bench_options.check_datasets(list(dataset_names) or datasets.dataset_names(bench_options.data_folder))
    with bench_options.open_run(
        bench_options.command_line(
            "recall",
            {
                "--set": dataset_names,
                "--strategy": strategy_names,
                **rerank_words(rerank, rerank_ms),
            },
        )
    ) as (embedder, out, write):
        all_figures: list[Figure] = []
        for name in names:
            cases = bench_options.read_cases(name)
            with progress_bar(name, count_steps(cases, recall_strategies)) as tick:
                when = Rerank(rerank)
                outcome = run(name, cases, recall_strategies, embedder, tick, rerank=when, rerank_ms=rerank_ms)
            _report_outcome(outcome, recall_tables.terminal_tables(outcome.figures), out, write)
            all_figures += outcome.figures
        out.print(recall_tables.legend(recall_tables.grids(all_figures)), highlight=False)


@bench.command("ablate")
@dataset_options
@set_option(f"Set to run; may be repeated.  [default: {', '.join(ablations.DEFAULT_DATASETS)}]")
@click.option(
    "--model", "model_names", multiple=True, metavar="NAME", help="Model to ablate; may be repeated.  [default: all]"
)
@strategy_option("Variant of your own to compare with its model; may be repeated.")
@distractors_option
def ablate_command(
    *,
    dataset_names: Sequence[str],
    model_names: Sequence[str],
    strategy_names: Sequence[str],
    distractors: int,
    **options: Any,
) -> None:
    """Run the papers' own ablations: each model complete and with parts left out, on the same questions.

    With --strategy synapse:beta=0 and no --model, only SYNAPSE complete, your variant and the baselines are run. With
    --limit, episodes that its questions do not need are not stored; --distractors says how many others are.

    Prints a table for each model and set; ecphora bench report makes the tables of lab/models.md from the JSON lines.
    Differences to the complete model have 95% bootstrap intervals over pairs.
    """
    bench_options = BenchOptions(**options)
    models = ablations.select_models(model_names, parse_strategies(strategy_names))
    names = bench_options.check_datasets(dataset_names or ablations.DEFAULT_DATASETS)
    words = {"--set": dataset_names, "--model": model_names, "--strategy": strategy_names}
    words["--distractors"] = [str(distractors)] if bench_options.limit else []
    with bench_options.open_run(bench_options.command_line("ablate", words)) as (embedder, out, write):
        for name in names:
            cases = bench_options.read_cut_cases(name, distractors)
            with progress_bar(name, ablation_run.count_steps(cases, models)) as tick:
                outcome = ablation_run.run(name, cases, models, embedder, tick)
            _report_outcome(outcome, ablation_tables.terminal_tables(outcome.figures), out, write)
        out.print(ablation_tables.LEGEND, ablation_tables.PAPER_LEGEND, sep="\n", highlight=False)


@bench.command("answer")
@dataset_options
@set_option("Set to answer; may be repeated.", is_required=True)
@strategy_option("Strategy besides dense; may be repeated.  [default: fused]")
@click.option("--llm", metavar="NAME", help=f"{LLM_CHOICES}, or extractive for a test.  [env ECPHORA_LLM]")
@click.option("--price", type=(float, float), metavar="IN OUT", help="US dollars for a million tokens in and out.")
@click.option("--budget", type=POSITIVE_INT, default=1_000, show_default=True, help="Tokens of a context.")
@click.option(
    "--window", "full_tokens", type=POSITIVE_INT, default=4_000, show_default=True, help="Tokens of the full context."
)
@click.option("--sample", type=POSITIVE_INT, help="Take this many questions of a set, spread evenly over it.")
@click.option("--concurrency", type=POSITIVE_INT, default=4, show_default=True, help="Questions asked at a time.")
@click.option(
    "--out", type=NEW_FILE, required=True, metavar="FILE", help="The file of the answers; a second run continues it."
)
def answer(
    *,
    dataset_names: Sequence[str],
    strategy_names: Sequence[str],
    llm: str | None,
    price: tuple[float, float] | None,
    budget: int,
    full_tokens: int,
    sample: int | None,
    concurrency: int,
    out: Path,
    **options: Any,
) -> None:
    """Have a language model answer the questions of data sets from several contexts, by one prompt.

    The contexts are the latest memories that fit the window (full), plain dense retrieval, and each strategy; all but
    the first have equal budgets. Every answer is appended to --out immediately, and an answered question is not asked
    again, so the same command continues an interrupted run. ecphora bench report makes the tables of that file.
    """
    bench_options = BenchOptions(**options)
    recall_strategies = tuple(parse_strategies(("dense", *(strategy_names or ("fused",)))))
    plan, names = (
        answer_run.AnswerPlan(recall_strategies, budget, full_tokens, concurrency, price or (0.0, 0.0)),
        bench_options.check_datasets(dataset_names),
    )
    llm_client = LLMClient(readers.make_reader(llm), max_concurrency=concurrency)
    single = {
        "--llm": readers.reader_label(llm),
        "--budget": budget,
        "--window": full_tokens,
        "--sample": sample,
        "--out": "FILE",
    }
    options = {name: [str(value)] for name, value in single.items() if value is not None}
    command = bench_options.command_line("answer", {"--set": dataset_names, "--strategy": strategy_names, **options})
    earlier_answers = answer_files.read_answers(out)
    with open_embedder(bench_options.embedder) as embedder, open_lines(bench_options.json_target) as write_json:
        run_record = replace(
            make_run(embedder.name, command), answer_setup=answer_run.answer_setup(llm_client.name, plan)
        )
        own_answers = []
        with answer_files.open_for_append(out, run_record) as write:
            answer_session = answer_run.AnswerRun(llm_client, plan, embedder, earlier_answers.done_keys, write)
            for name in names:
                cases = bench_options.read_cases(name)
                cases = answer_run.sample_questions(cases, sample) if sample else cases
                with progress_bar(name, answer_session.count_steps(name, cases)) as tick:
                    answer_session.run(name, cases, tick)
                own_answers += answer_session.own_answers(name, cases, answer_files.read_answers(out))
        measured_figures = list(answer_summary.measure(own_answers))
        for line in (run_record.to_json_line(), *(figure.to_json_line() for figure in measured_figures)):
            write_json(line)
    bench_options.console.print(answer_tables.terminal_tables(run_record, measured_figures), highlight=False)


@bench.command("open-questions")
@dataset_options
@set_option("Set to run; may be repeated.", is_required=True)
@strategy_option("Strategy to run; may be repeated.  [default: baselines, the five models, fused]")
@click.option("--spaces", type=POSITIVE_INT, help="The most spaces of a set.")
@click.option(
    "--part",
    "part_names",
    multiple=True,
    type=click.Choice([part.value for part in open_questions.Part]),
    help="Part to measure; may be repeated.  [default: all]",
)
def open_questions_command(
    *,
    dataset_names: Sequence[str],
    strategy_names: Sequence[str],
    spaces: int | None,
    part_names: Sequence[str],
    **options: Any,
) -> None:
    """Measure the papers' open questions.

    Recall as a memory grows from one episode to a thousand; recall with noisy entity extraction, among the memories of
    other spaces, and where the evidence is far from the question; what more hits cost; and cognitive tunneling.
    `ecphora bench draw` makes pictures of the JSON lines.
    """
    bench_options = BenchOptions(**options)
    recall_strategies = parse_strategies(strategy_names or ("dense", "bm25", "rrf", *strategies.PAPERS, "fused"))
    names = bench_options.check_datasets(dataset_names)
    parts = [open_questions.Part(name) for name in part_names] or list(open_questions.Part)
    words = {"--set": dataset_names, "--strategy": strategy_names, "--part": part_names}
    words["--spaces"] = [str(spaces)] if spaces else []
    with bench_options.open_run(bench_options.command_line("open-questions", words)) as (embedder, out, write):
        for name in names:
            cases = bench_options.read_cases(name)
            measured_figures: list[Figure] = []
            with progress_bar(name, open_questions.STEP_COUNT) as tick:
                for figure in open_questions.run(name, cases[:spaces], recall_strategies, embedder, tick, parts=parts):
                    write(figure.to_json_line())
                    measured_figures.append(figure)
            out.print(f"{name}:")
            for table in open_question_tables.question_tables(measured_figures):
                out.print(table)
        out.print(open_question_tables.LEGEND, highlight=False)


@bench.group("convert")
def convert() -> None:
    """Convert published data sets to benchmark sets.

    The files are not part of Ecphora. The result is two files, NAME.docs.jsonl and NAME.questions.jsonl, for --data of
    the other commands.
    """


@convert.command("smrcs")
@click.argument("file", type=FILE)
@conversion_options
def convert_smrcs_command(file: Path, dataset_name: str, out: Path) -> None:
    """Convert SMRCs, the dialogues of SynapticRAG's authors: dataset_EN.json or dataset_JA.json.

    Every trigger is asked of the turns before it.
    """
    _write_conversion(convert_smrcs(file), dataset_name, out)


@convert.command("perltqa")
@click.argument("dialogues", type=FILE)
@click.argument("questions", type=FILE)
@embedder_option
@click.option(
    "--min-cosine",
    type=click.FloatRange(-1, 1),
    default=MIN_COSINE,
    show_default=True,
    help="Least cosine of an answer and its turn. The default is that of the authors, for their embedder.",
)
@conversion_options
def convert_perltqa_command(
    dialogues: Path, questions: Path, *, embedder: str | None, min_cosine: float, dataset_name: str, out: Path
) -> None:
    """Convert PerLTQA as SynapticRAG's authors use it: filtered_dialogue.json and filtered_qa.json.

    The gold of a question is the turn that is most similar to its answer. Earlier questions and answers are stored too.
    """
    with open_embedder(embedder) as caching_embedder:
        conversion = convert_perltqa(dialogues, questions, caching_embedder, min_cosine=min_cosine)
    _write_conversion(conversion, dataset_name, out)


def _write_conversion(conversion: Conversion, name: str, folder: Path) -> None:
    """Write a set, and say how many tasks it has and what was dropped."""
    write_set(name, conversion.tasks, folder)
    click.echo(f"{folder / name}: {count_noun(len(conversion.tasks), 'recall task', 'recall tasks')}")
    for what, count in conversion.dropped.items():
        click.echo(f"dropped: {what} ({count:,})", err=True)


@bench.command("draw")
@click.argument("files", type=FILE, nargs=-1, required=True, metavar="FILE...")
@click.option("--out", type=FOLDER, required=True, help="Folder of the pictures.")
def draw(files: Sequence[Path], out: Path) -> None:
    """Draw JSON lines as SVG.

    Those of `ecphora bench open-questions` become growth.svg and names.svg, those of `ecphora bench recall`
    reliability.svg.
    """
    all_figures = [figure for file in files for record in run_records.read_records(file) for figure in record.figures]
    for name, svg in charts.svg_files(all_figures).items():
        (out / name).write_text(svg, "utf-8")
        click.echo(f"drawn: {out / name}")


@bench.command("report")
@click.argument("files", type=FILE, nargs=-1, required=True, metavar="FILE...")
@click.option(
    "--insert-into", type=FILE, help="Insert the report between the markers of this file.  [default: print it]"
)
def report_command(files: Sequence[Path], insert_into: Path | None) -> None:
    """Make the tables of lab/evidence.md and lab/models.md from the JSON lines of runs.

    The figures of `bench recall` are between the lines <!-- bench:start --> and <!-- bench:end -->, those of `bench
    ablate` between <!-- bench:MODEL:start --> and <!-- bench:MODEL:end -->, where MODEL is `models` for the setup of
    the measurements.
    """
    records = [record for file in files for record in _records(file)]
    sections = recall_tables.sections(records) | ablation_tables.sections(records) | answer_tables.sections(records)
    if insert_into is None:
        click.echo("\n".join(f"## {name}\n\n{part}" if name else part for name, part in sections.items()), nl=False)
    else:
        recall_tables.insert_sections(insert_into, sections)


def _records(file: Path) -> Iterator[RunRecord]:
    """The runs of a file of figures, or of a file of answers, which are measured again."""
    yield from (
        answer_summary.records(answer_files.read_answers(file))
        if answer_files.is_answer_file(file)
        else run_records.read_records(file)
    )


def _report_outcome(outcome: RunOutcome, tables: Group, out: Console, write: Callable[[str], None]) -> None:
    """Write the figures of a set, and print its tables, its size and its times."""
    for figure in outcome.figures:
        write(figure.to_json_line())
    out.print(tables, _describe_outcome(outcome), "", sep="\n", highlight=False)


def _describe_outcome(outcome: RunOutcome) -> str:
    size = f"{outcome.episodes:,} documents in {count_noun(outcome.spaces, 'space', 'spaces')}"
    indexing_text = "; ".join(
        f"{indexing.seconds:.1f} s ({', '.join(indexing.strategies)})" for indexing in outcome.indexing_times
    )
    return f"{size}, indexed in {indexing_text}; recalls took {outcome.recall_seconds:.1f} s"


if __name__ == "__main__":
    bench()
