"""Shared by the bench commands: options, data sets, output files, progress."""

import shlex
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import click
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from ..cli.context import HomePath, open_context
from ..errors import InvalidInput
from . import datasets
from .embedding_cache import CachingEmbedder
from .recall.recall_run import Tick, make_run

TABLE_WIDTH = 116
"""Width in columns of a table when the output is not a terminal."""

FOLDER = HomePath(exists=True, file_okay=False, path_type=Path)
NEW_FOLDER = HomePath(file_okay=False, path_type=Path)
JSON_TARGET = HomePath(dir_okay=False, allow_dash=True)
FILE = HomePath(exists=True, dir_okay=False, path_type=Path)
NEW_FILE = HomePath(dir_okay=False, path_type=Path)
POSITIVE_INT = click.IntRange(min=1)

embedder_option = click.option(
    "--embedder", metavar="NAME", help="As for the other commands.  [env ECPHORA_EMBEDDER; default e5]"
)
"""The option of the commands that embed."""


def open_embedder(embedder: str | None) -> CachingEmbedder:
    """The embedder named by the argument or else the environment, with a cache of its embeddings."""
    return CachingEmbedder(open_context(as_json=False, embedder=embedder).settings.make_embedder())


def dataset_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options that choose the questions and the output of the figures."""
    for option in (
        embedder_option,
        click.option("--limit", type=click.IntRange(min=1), help="The most questions of a set."),
        click.option(
            "--json",
            "json_target",
            type=JSON_TARGET,
            metavar="FILE",
            help="Write the figures as JSON lines; - is stdout.",
        ),
        click.option(
            "--docs", "documents", type=FOLDER, help="Folder of the sets' documents, if they are not in --data."
        ),
        click.option("--data", type=FOLDER, required=True, help="Folder of the data sets."),
    ):
        command = option(command)
    return command


def conversion_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options that name a converted set and its folder."""
    for option in (
        click.option("--out", type=NEW_FOLDER, required=True, help="Folder of the converted set."),
        click.option("--name", "dataset_name", required=True, help="Name of the converted set."),
    ):
        command = option(command)
    return command


@dataclass(frozen=True, slots=True)
class BenchOptions:
    """The options of a run: the source of the questions and the target of the figures."""

    data: Path
    documents: Path | None
    json_target: str | None
    limit: int | None
    embedder: str | None

    def check_datasets(self, names: Sequence[str]) -> list[str]:
        """The names of sets, each once; raises for a wrong name before any work is done."""
        if not names:
            raise InvalidInput(
                f"{self.data} holds no data set; a set is NAME.docs.jsonl.gz with NAME.questions.jsonl.gz"
            )
        for name in (unique_names := list(dict.fromkeys(names))):
            next(datasets.read_cases(name, self.data, self.documents), None)
        return unique_names

    def command_line(self, name: str, options: Mapping[str, Sequence[str]]) -> str:
        """The command line that repeats the run, without folders, which differ between machines."""
        words = ["ecphora", "bench", name, "--data", "DATA", *(("--docs", "DOCS") if self.documents else ())]
        words += [word for option, values in options.items() for value in values for word in (option, value)]
        words += ("--embedder", self.embedder) if self.embedder else ()
        return shlex.join([*words, *(("--limit", str(self.limit)) if self.limit else ())])

    @property
    def console(self) -> Console:
        """The console for tables; prints nothing if JSON goes to stdout."""
        return Console(width=None if sys.stdout.isatty() else TABLE_WIDTH, quiet=self.json_target == "-")

    @contextmanager
    def open_run(self, command: str) -> Iterator[tuple[CachingEmbedder, Console, Callable[[str], None]]]:
        """The embedder, the console, and the function that writes lines; the run's line is written first."""
        with ExitStack() as stack:
            embedder = stack.enter_context(open_embedder(self.embedder))
            write = stack.enter_context(open_lines(self.json_target))
            write(make_run(embedder.name, command).to_json_line())
            yield embedder, self.console, write


@contextmanager
def open_lines(target: str | None) -> Iterator[Callable[[str], None]]:
    """A function that writes lines to a file, to stdout for ``-``, nowhere for None. Each line is flushed."""
    if target is None:
        yield lambda _line: None
        return
    try:
        opener = click.open_file(target, "w", "utf-8")
    except OSError as error:
        raise InvalidInput(f"{target} cannot be written ({error})") from error
    with opener as file:
        yield lambda line: click.echo(line, file=file)


@contextmanager
def progress_bar(name: str, total: int) -> Iterator[Tick]:
    """A progress bar on stderr, removed when done; none if stderr is not a terminal."""
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
