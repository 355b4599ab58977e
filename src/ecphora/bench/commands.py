"""The commands ``ecphora bench``: options in, tables and files out."""

import shlex
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
from rich.console import Console, Group
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from .. import settings, strategies
from ..errors import InvalidInput
from . import ablate, ablation_tables, ablations, datasets, drawing, figures, open_questions, report
from .cache import Cached
from .run import Outcome, Tick, record, run, steps

WIDTH = 116
"""Columns of a table where the output is no terminal."""

FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)
TARGET = click.Path(dir_okay=False, allow_dash=True)
FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.group()
def bench() -> None:
    """Measure recall on public data sets."""


by_embedder = click.option(
    "--embedder", metavar="NAME", help="As for the other commands.  [env ECPHORA_EMBEDDER; default minilm]"
)
"""The option of commands that embed."""


def cached(embedder: str | None) -> Cached:
    """The embedder of a setting, or of the environment's, with what it embedded before."""
    return Cached(settings.load().over(embedder=embedder).make_embedder())


def _sources(command: Callable[..., None]) -> Callable[..., None]:
    """The options that say which questions are asked and where the figures go."""
    for option in (
        by_embedder,
        click.option("--limit", type=click.IntRange(min=1), help="Take at most so many questions of a set."),
        click.option(
            "--json", "target", type=TARGET, metavar="FILE", help="Write the figures as JSON lines; - is stdout."
        ),
        click.option("--docs", type=FOLDER, help="Folder of the sets' documents, where they are not in --data."),
        click.option("--data", type=FOLDER, required=True, help="Folder of the data sets."),
    ):
        command = option(command)
    return command


@dataclass(frozen=True, slots=True)
class _Source:
    """Where the questions come from and where the figures go."""

    data: Path
    docs: Path | None
    target: str | None
    limit: int | None
    embedder: str | None

    def checked(self, names: Sequence[str]) -> list[str]:
        """The names of sets, each once; what is wrong with one is said before hours are spent."""
        if not names:
            raise InvalidInput(f"{self.data} holds no data set: no NAME.docs.jsonl.gz with its NAME.questions.jsonl.gz")
        for name in (found := list(dict.fromkeys(names))):
            next(datasets.cases(name, self.data, self.docs), None)
        return found

    def command(self, name: str, options: Mapping[str, Sequence[str]]) -> str:
        """The command line that does it again; folders differ from machine to machine."""
        words = ["ecphora", "bench", name, "--data", "DATA", *(("--docs", "DOCS") if self.docs else ())]
        words += [word for option, values in options.items() for value in values for word in (option, value)]
        words += ("--embedder", self.embedder) if self.embedder else ()
        return shlex.join([*words, *(("--limit", str(self.limit)) if self.limit else ())])

    @contextmanager
    def running(self, command: str) -> Iterator[tuple[Cached, Console, Callable[[str], None]]]:
        """The embedder, where to print, and where lines go: the first, of the run, is written."""
        with ExitStack() as stack:
            embedder = stack.enter_context(cached(self.embedder))
            write = stack.enter_context(_lines(self.target))
            write(record(embedder.name, command).line())
            yield embedder, Console(width=None if sys.stdout.isatty() else WIDTH, quiet=self.target == "-"), write


@bench.command()
@_sources
@click.option("--set", "sets", multiple=True, metavar="NAME", help="Set to run; may be repeated.  [default: all]")
@click.option(
    "--strategy", "chosen", multiple=True, metavar="NAME", help="Strategy to run; may be repeated.  [default: all]"
)
def recall(*, sets: Sequence[str], chosen: Sequence[str], **source: Any) -> None:
    """Index data sets, ask their questions, and print how much of the evidence comes back.

    Every space of a set is indexed on its own, once for all strategies that only read and once for each that writes.
    Embeddings are kept in the user's cache, so a second run is quick.
    """
    asked = _Source(**source)
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
@_sources
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
    asked = _Source(**source)
    models = ablations.chosen(chosen)
    names = asked.checked(sets or ablations.SETS)
    with asked.running(asked.command("ablate", {"--set": sets, "--model": chosen})) as (embedder, out, write):
        for name in names:
            cases = list(datasets.cases(name, asked.data, asked.docs, asked.limit))
            with progress(name, ablate.steps(cases, models)) as tick:
                outcome = ablate.run(name, cases, models, embedder, tick)
            _told(outcome, ablation_tables.tables(outcome.figures), out, write)
        out.print(ablation_tables.WORDS, ablation_tables.SPECIAL_WORDS, sep="\n", highlight=False)


@bench.command("open")
@_sources
@click.option("--set", "sets", multiple=True, required=True, metavar="NAME", help="Set to run; may be repeated.")
def open_(*, sets: Sequence[str], **source: Any) -> None:
    """Measure what the papers left open, for fused and the plain baselines.

    Recall as a memory grows from one episode to a thousand; recall where names were badly found; how much must be
    brought back for equal recall; and how often the answer is there at each confidence. `ecphora bench draw` makes
    pictures of the JSON lines.
    """
    asked = _Source(**source)
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
    records = [found for file in files for found in figures.read(file)]
    made = report.parts(records) | ablation_tables.parts(records)
    if into is None:
        click.echo("\n".join(f"## {name}\n\n{part}" if name else part for name, part in made.items()), nl=False)
    else:
        report.put_into(into, made)


@contextmanager
def _lines(target: str | None) -> Iterator[Callable[[str], None]]:
    """Where lines go: to a file, for ``-`` to stdout, for None nowhere. Each is handed over once it is written."""
    if target is None:
        yield lambda _line: None
        return
    try:
        opened = click.open_file(target, "w", "utf-8")
    except OSError as error:
        raise InvalidInput(f"{target} cannot be written ({error})") from error
    with opened as file:
        yield lambda line: click.echo(line, file=file)


def _told(outcome: Outcome, tables: Group, out: Console, write: Callable[[str], None]) -> None:
    """Write the figures of a set, and print its tables, its size and what it took."""
    for figure in outcome.figures:
        write(figure.line())
    out.print(tables, _size(outcome), "", sep="\n", highlight=False)


def _size(outcome: Outcome) -> str:
    size = f"{outcome.episodes:,} documents in {outcome.spaces:,} space{'' if outcome.spaces == 1 else 's'}"
    took = "; ".join(f"{one.seconds:.1f} s ({', '.join(one.strategies)})" for one in outcome.indexing)
    return f"{size}, indexed in {took}; recalls took {outcome.recalling:.1f} s"


@contextmanager
def progress(name: str, total: int) -> Iterator[Tick]:
    """A bar on stderr that is gone when it is done; none where stderr is no terminal."""
    console = Console(stderr=True)
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed:,} of {task.total:,}"),
        TimeElapsedColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )
    with bar:
        task = bar.add_task(name, total=total)

        def tick(done: int) -> None:
            bar.advance(task, done)

        yield tick


if __name__ == "__main__":
    bench()
