"""The commands ``ecphora bench``: options in, tables and files out."""

import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import click
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from .. import strategies
from ..embedders.minilm import MiniLM
from ..errors import InvalidInput
from . import datasets, figures, report
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


@bench.command()
@click.option("--data", type=FOLDER, required=True, help="Folder of the data sets.")
@click.option("--docs", type=FOLDER, help="Folder of the sets' documents, where they are not in --data.")
@click.option("--set", "sets", multiple=True, metavar="NAME", help="Set to run; may be repeated.  [default: all]")
@click.option(
    "--strategy", "chosen", multiple=True, metavar="NAME", help="Strategy to run; may be repeated.  [default: all]"
)
@click.option("--json", "target", type=TARGET, metavar="FILE", help="Write the figures as JSON lines; - is stdout.")
@click.option("--limit", type=click.IntRange(min=1), help="Take at most so many questions of a set.")
def recall(
    *,
    data: Path,
    docs: Path | None,
    sets: Sequence[str],
    chosen: Sequence[str],
    target: str | None,
    limit: int | None,
) -> None:
    """Index data sets, ask their questions, and print how much of the evidence comes back.

    Every space of a set is indexed on its own. Embeddings are kept in the user's cache, so a second run is quick.
    """
    names = list(dict.fromkeys(sets)) or datasets.known(data)
    if not names:
        raise InvalidInput(f"{data} holds no data set: no NAME.docs.jsonl.gz with its NAME.questions.jsonl.gz")
    ways = [strategies.by_name(name) for name in dict.fromkeys(chosen or strategies.known())]
    for name in names:
        next(datasets.cases(name, data, docs), None)  # what is wrong with a set is said before hours are spent
    out = Console(width=None if sys.stdout.isatty() else WIDTH, quiet=target == "-")
    with ExitStack() as stack:
        embedder = stack.enter_context(Cached(MiniLM()))
        command = _command(names=sets, chosen=chosen, docs=docs is not None, limit=limit)
        write = stack.enter_context(_lines(target))
        write(record(embedder.name, command).line())
        for name in names:
            cases = list(datasets.cases(name, data, docs, limit))
            with _progress(name, steps(cases, ways)) as tick:
                outcome = run(name, cases, ways, embedder, tick)
            for figure in outcome.figures:
                write(figure.line())
            out.print(report.tables(outcome.figures), _size(outcome), "", sep="\n", highlight=False)
        out.print(f"{report.WORDS} {report.TIMES}", highlight=False)


@bench.command("report")
@click.argument("files", type=FILE, nargs=-1, required=True, metavar="FILE...")
@click.option("--into", type=FILE, help="Put the report between the markers of this file.  [default: print it]")
def report_(files: Sequence[Path], into: Path | None) -> None:
    """Make the tables of docs/evidence.md from the JSON lines of runs."""
    made = report.markdown([found for file in files for found in figures.read(file)])
    if into is None:
        click.echo(made, nl=False)
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


def _command(*, names: Sequence[str], chosen: Sequence[str], docs: bool, limit: int | None) -> str:
    """The command line that does it again; folders differ from machine to machine."""
    words = ["ecphora", "bench", "recall", "--data", "DATA", *(("--docs", "DOCS") if docs else ())]
    words += [word for name in names for word in ("--set", name)]
    words += [word for name in chosen for word in ("--strategy", name)]
    return shlex.join([*words, *(("--limit", str(limit)) if limit else ())])


def _size(outcome: Outcome) -> str:
    size = f"{outcome.episodes:,} documents in {outcome.spaces:,} space{'' if outcome.spaces == 1 else 's'}"
    return f"{size}, indexed in {outcome.indexing:.1f} s; recalls took {outcome.recalling:.1f} s"


@contextmanager
def _progress(name: str, total: int) -> Iterator[Tick]:
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
