"""The commands ``ecphora bench``: options in, tables and files out."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
from rich.console import Console, Group

from .. import settings, strategies
from ..guest import Guest
from . import (
    ablate,
    ablation_tables,
    ablations,
    answer_figures,
    answer_files,
    answer_tables,
    answering,
    datasets,
    drawing,
    figures,
    open_questions,
    readers,
    report,
)
from .figures import Record
from .run import Outcome, record, run, steps
from .source import AT_LEAST_ONE, FILE, FOLDER, NEW_FILE, Source, cached, lines, progress, sources


@click.group()
def bench() -> None:
    """Measure recall on public data sets."""


@bench.command()
@sources
@click.option("--set", "sets", multiple=True, metavar="NAME", help="Set to run; may be repeated.  [default: all]")
@click.option(
    "--strategy", "chosen", multiple=True, metavar="NAME", help="Strategy to run; may be repeated.  [default: all]"
)
def recall(*, sets: Sequence[str], chosen: Sequence[str], **source: Any) -> None:
    """Index data sets, ask their questions, and print how much of the evidence comes back.

    Every space of a set is indexed on its own, once for all strategies that only read and once for each that writes.
    Embeddings are kept in the user's cache, so a second run is quick.
    """
    asked = Source(**source)
    ways = [strategies.by_name(name) for name in dict.fromkeys(chosen or strategies.known())]
    names = asked.checked(list(sets) or datasets.known(asked.data))
    with asked.running(asked.command("recall", {"--set": sets, "--strategy": chosen})) as (embedder, out, write):
        for name in names:
            cases = list(datasets.cases(name, asked.data, asked.docs, asked.limit))
            with progress(name, steps(cases, ways)) as tick:
                outcome = run(name, cases, ways, embedder, tick)
            _told(outcome, report.tables(outcome.figures), out, write)
        out.print(f"{report.WORDS} {report.TIMES}", highlight=False)


@bench.command("ablate")
@sources
@click.option(
    "--set",
    "sets",
    multiple=True,
    metavar="NAME",
    help=f"Set to run; may be repeated.  [default: {', '.join(ablations.SETS)}]",
)
@click.option(
    "--model", "chosen", multiple=True, metavar="NAME", help="Model to ablate; may be repeated.  [default: all]"
)
def ablate_(*, sets: Sequence[str], chosen: Sequence[str], **source: Any) -> None:
    """Run the papers' own ablations: each model whole and with a part left out, on the same questions.

    Prints a table of each model and set; ecphora bench report makes the tables of docs/models.md from the JSON lines.
    Differences to the whole model come with their 95 % bootstrap intervals over pairs.
    """
    asked = Source(**source)
    models = ablations.chosen(chosen)
    names = asked.checked(sets or ablations.SETS)
    with asked.running(asked.command("ablate", {"--set": sets, "--model": chosen})) as (embedder, out, write):
        for name in names:
            cases = list(datasets.cases(name, asked.data, asked.docs, asked.limit))
            with progress(name, ablate.steps(cases, models)) as tick:
                outcome = ablate.run(name, cases, models, embedder, tick)
            _told(outcome, ablation_tables.tables(outcome.figures), out, write)
        out.print(ablation_tables.WORDS, ablation_tables.SPECIAL_WORDS, sep="\n", highlight=False)


@bench.command("answer")
@sources
@click.option("--set", "sets", multiple=True, required=True, metavar="NAME", help="Set to answer; may be repeated.")
@click.option("--strategy", "chosen", multiple=True, metavar="NAME", help="Beside dense; may be repeated.  [fused]")
@click.option("--llm", metavar="NAME", help=f"{settings.LLMS}, or extractive for a trial.  [env ECPHORA_LLM]")
@click.option("--price", type=(float, float), metavar="IN OUT", help="US dollars for a million tokens in and out.")
@click.option("--tokens", type=AT_LEAST_ONE, default=1_000, show_default=True, help="Budget of a context.")
@click.option("--window", type=AT_LEAST_ONE, default=4_000, show_default=True, help="Budget of the full context.")
@click.option("--sample", type=AT_LEAST_ONE, help="Take so many questions of a set, evenly spread over it.")
@click.option("--at-once", type=AT_LEAST_ONE, default=4, show_default=True, help="Questions asked at a time.")
@click.option("--out", type=NEW_FILE, required=True, metavar="FILE", help="Keep the answers here, and go on from here.")
def answer(
    *,
    sets: Sequence[str],
    chosen: Sequence[str],
    llm: str | None,
    price: tuple[float, float] | None,
    tokens: int,
    window: int,
    sample: int | None,
    at_once: int,
    out: Path,
    **source: Any,
) -> None:
    """Have the questions of data sets answered, by one prompt, from what each way of recalling brings back.

    The contexts are the latest memories that fit the window (full), plain dense retrieval, and each strategy; all but
    the first have equal budgets. Every answer is appended to --out at once, and what stands there is not asked again:
    a run that was broken off goes on with the same command. ecphora bench report makes the tables of that file.
    """
    asked = Source(**source)
    ways = tuple(strategies.by_name(name) for name in dict.fromkeys(("dense", *(chosen or ("fused",)))))
    plan, names = answering.Plan(ways, tokens, window, at_once, price or (0.0, 0.0)), asked.checked(sets)
    guest = Guest(readers.reader(llm), at_once=at_once)
    single = {"--llm": readers.shown(llm), "--tokens": tokens, "--window": window, "--sample": sample, "--out": "FILE"}
    options = {name: [str(value)] for name, value in single.items() if value is not None}
    command = asked.command("answer", {"--set": sets, "--strategy": chosen, **options})
    before = answer_files.read(out)
    with cached(asked.embedder) as embedder, lines(asked.target) as put:
        begun = replace(record(embedder.name, command), reading=answering.reading(guest.name, plan))
        found = []
        with answer_files.appending(out, begun) as write:
            sitting = answering.Sitting(guest, plan, embedder, before.answered, write)
            for name in names:
                cases = list(datasets.cases(name, asked.data, asked.docs, asked.limit))
                cases = answering.spread(cases, sample) if sample else cases
                with progress(name, sitting.steps(name, cases)) as tick:
                    sitting.run(name, cases, tick)
                found += sitting.own(name, cases, answer_files.read(out))
        measured = list(answer_figures.measured(found))
        for line in (begun.line(), *(figure.line() for figure in measured)):
            put(line)
    asked.console.print(answer_tables.printed(begun, measured), highlight=False)


@bench.command("open")
@sources
@click.option("--set", "sets", multiple=True, required=True, metavar="NAME", help="Set to run; may be repeated.")
def open_(*, sets: Sequence[str], **source: Any) -> None:
    """Measure what the papers left open, for fused and the plain baselines.

    Recall as a memory grows from one episode to a thousand; recall where names were badly found; how much must be
    brought back for equal recall; and how often the answer is there at each confidence. `ecphora bench draw` makes
    pictures of the JSON lines.
    """
    asked = Source(**source)
    ways = [strategies.by_name(name) for name in ("dense", "bm25", "rrf", "fused")]
    names = asked.checked(sets)
    with asked.running(asked.command("open", {"--set": sets})) as (embedder, out, write):
        for name in names:
            cases = list(datasets.cases(name, asked.data, asked.docs, asked.limit))
            with progress(name, open_questions.STEPS) as tick:
                found = list(open_questions.run(name, cases, ways, embedder, tick))
            for figure in found:
                write(figure.line())
            out.print(drawing.table(found))


@bench.command("draw")
@click.argument("files", type=FILE, nargs=-1, required=True, metavar="FILE...")
@click.option("--into", type=FOLDER, required=True, help="Folder of the pictures.")
def draw(files: Sequence[Path], into: Path) -> None:
    """Draw pictures, as SVG, of the JSON lines of `ecphora bench open`: growth.svg, names.svg and reliability.svg."""
    found = [figure for file in files for one in figures.read(file) for figure in one.figures]
    for name, picture in drawing.pictures(found).items():
        (into / name).write_text(picture, "utf-8")
        click.echo(f"drawn: {into / name}")


@bench.command("report")
@click.argument("files", type=FILE, nargs=-1, required=True, metavar="FILE...")
@click.option("--into", type=FILE, help="Put the report between the markers of this file.  [default: print it]")
def report_(files: Sequence[Path], into: Path | None) -> None:
    """Make the tables of docs/evidence.md and docs/models.md from the JSON lines of runs.

    The figures of `bench recall` stand between the lines <!-- bench:start --> and <!-- bench:end -->, those of
    `bench ablate` between <!-- bench:MODEL:start --> and <!-- bench:MODEL:end -->, MODEL being `models` for what was
    measured on what.
    """
    records = [found for file in files for found in _records(file)]
    made = report.parts(records) | ablation_tables.parts(records) | answer_tables.parts(records)
    if into is None:
        click.echo("\n".join(f"## {name}\n\n{part}" if name else part for name, part in made.items()), nl=False)
    else:
        report.put_into(into, made)


def _records(file: Path) -> Iterator[Record]:
    """The runs of a file: of figures, or of answers, which are measured anew."""
    yield from (
        answer_figures.records(answer_files.read(file)) if answer_files.holds_answers(file) else figures.read(file)
    )


def _told(outcome: Outcome, tables: Group, out: Console, write: Callable[[str], None]) -> None:
    """Write the figures of a set, and print its tables, its size and what it took."""
    for figure in outcome.figures:
        write(figure.line())
    out.print(tables, _size(outcome), "", sep="\n", highlight=False)


def _size(outcome: Outcome) -> str:
    size = f"{outcome.episodes:,} documents in {outcome.spaces:,} space{'' if outcome.spaces == 1 else 's'}"
    took = "; ".join(f"{one.seconds:.1f} s ({', '.join(one.strategies)})" for one in outcome.indexing)
    return f"{size}, indexed in {took}; recalls took {outcome.recalling:.1f} s"


if __name__ == "__main__":
    bench()
