"""Shared by the bench commands: options, data sets, output files, progress."""

import shlex
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import click
from rich.console import Console

from ecphora.cli.context import HomePath
from ecphora.cli.learn import FOLDER, Decorator, embedder_option, open_embedder
from ecphora.errors import InvalidInput
from ecphora.maintenance.learn import datasets
from ecphora.maintenance.learn.embedding_cache import CachingEmbedder
from ecphora.model.types import Rerank

from .question_limit import DISTRACTORS, cut_episodes
from .recall.recall_run import make_run
from .strategy_variants import SYNTAX

TABLE_WIDTH = 116
"""Width in columns of a table when the output is not a terminal."""

NEW_FOLDER = HomePath(file_okay=False, path_type=Path)
JSON_TARGET = HomePath(dir_okay=False, allow_dash=True)
POSITIVE_INT = click.IntRange(min=1)


def limit_option(help_text: str = "The most questions of a set.") -> Decorator:
    """The option that bounds the questions."""
    return click.option("--limit", type=POSITIVE_INT, help=help_text)


def json_option(help_text: str = "Write the figures as JSON lines; - is stdout.") -> Decorator:
    """The option that names the target of the figures."""
    return click.option("--json", "json_target", type=JSON_TARGET, metavar="FILE", help=help_text)


def strategy_option(help_text: str) -> Decorator:
    """The option that chooses strategies, and variants of them."""
    return click.option(
        "--strategy", "strategy_names", multiple=True, metavar="STRATEGY", help=f"{help_text}  STRATEGY: {SYNTAX}."
    )


def data_options(*, is_required: bool = True) -> Decorator:
    """The options that name the folders of sets."""
    return _combine(
        click.option("--data", type=FOLDER, required=is_required, help="Folder of the data sets."),
        click.option(
            "--docs", "documents", type=FOLDER, help="Folder of the sets' documents, if they are not in --data."
        ),
    )


def rerank_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options that say when the built-in reranker reads; see :func:`rerank_words`."""
    return _combine(
        click.option(
            "--rerank",
            type=click.Choice([rerank.value for rerank in Rerank]),
            default=Rerank.AUTO.value,
            show_default=True,
            help="When the built-in reranker reads the best memories: in doubt, never or always.",
        ),
        click.option(
            "--rerank-ms",
            type=click.FloatRange(min=0, min_open=True),
            metavar="MS",
            help="A deadline for reading in each recall, in milliseconds.  [default: none]",
        ),
    )(command)


def rerank_words(rerank: str, rerank_ms: float | None) -> dict[str, Sequence[str]]:
    """The options of :func:`rerank_options` with their values, those left out that are the default."""
    return {
        "--rerank": [rerank] if rerank != Rerank.AUTO else [],
        "--rerank-ms": [] if rerank_ms is None else [f"{rerank_ms:g}"],
    }


worlds_option = click.option(
    "--worlds",
    "world_count",
    type=POSITIVE_INT,
    default=2,
    show_default=True,
    help="Worlds of probes of a kind in each form, for days in each language.",
)
"""The option that says how many worlds of probes are made."""


distractors_option = click.option(
    "--distractors",
    type=click.IntRange(min=0),
    default=DISTRACTORS,
    show_default=True,
    help="With --limit: the most episodes of a space that are stored beside the evidence of its questions.",
)
"""The option that says how much of a space is stored with a limit of questions."""


def dataset_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options that choose the questions and the output of the figures."""
    return _combine(data_options(), json_option(), limit_option(), embedder_option)(command)


def conversion_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options that name a converted set and its folder."""
    return _combine(
        click.option("--name", "dataset_name", required=True, help="Name of the converted set."),
        click.option("--out", type=NEW_FOLDER, required=True, help="Folder of the converted set."),
    )(command)


def _combine(*options: Decorator) -> Decorator:
    """Options as one decorator; --help lists them in this order."""

    def add(command: Callable[..., None]) -> Callable[..., None]:
        for option in reversed(options):
            command = option(command)
        return command

    return add


@dataclass(frozen=True, slots=True)
class BenchOptions:
    """The options of a run: the source of the questions and the target of the figures.

    ``data`` is None for a run without data sets.
    """

    data: Path | None
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
            next(datasets.read_cases(name, self.data_folder, self.documents), None)
        return unique_names

    def read_cases(self, name: str) -> list[datasets.Case]:
        """The spaces of a set, with at most ``limit`` questions."""
        return list(datasets.read_cases(name, self.data_folder, self.documents, self.limit))

    def read_cut_cases(self, name: str, distractors: int) -> list[datasets.Case]:
        """The spaces of a set; with a ``limit`` of questions, episodes that these do not need are cut too."""
        cases = self.read_cases(name)
        return cases if self.limit is None else [cut_episodes(case, distractors) for case in cases]

    @property
    def data_folder(self) -> Path:
        """The folder of the data sets; raises ``InvalidInput`` if none is given."""
        if self.data is None:
            raise InvalidInput("no folder of data sets is given; name it with --data")
        return self.data

    def command_line(
        self, name: str, options: Mapping[str, Sequence[str]], *, program: Sequence[str] = ("ecphora", "bench")
    ) -> str:
        """The command line that repeats the run, without folders, which differ between machines."""
        words = [*program, name, *(("--data", "DATA") if self.data else ())]
        words += ("--docs", "DOCS") if self.documents else ()
        words += [word for option, values in options.items() for value in values for word in (option, value)]
        words += ("--embedder", self.embedder) if self.embedder else ()
        return shlex.join([*words, *(("--limit", str(self.limit)) if self.limit else ())])

    @property
    def console(self) -> Console:
        """The console for tables; prints nothing if JSON goes to stdout."""
        return Console(width=None if sys.stdout.isatty() else TABLE_WIDTH, quiet=self.json_target == "-")

    @contextmanager
    def open_run(
        self, command: str, *, append: bool = False
    ) -> Iterator[tuple[CachingEmbedder, Console, Callable[[str], None]]]:
        """The embedder, the console, and the function that writes lines; the run's line is written first."""
        with ExitStack() as stack:
            embedder = stack.enter_context(open_embedder(self.embedder))
            write = stack.enter_context(open_lines(self.json_target, append=append))
            write(make_run(embedder.name, command).to_json_line())
            yield embedder, self.console, write


@contextmanager
def open_lines(target: str | None, *, append: bool = False) -> Iterator[Callable[[str], None]]:
    """A function that writes lines to a file, to stdout for ``-``, nowhere for None. Each line is flushed.

    An existing file is written anew, or with ``append`` continued.
    """
    if target is None:
        yield lambda _line: None
        return
    try:
        opener = click.open_file(target, "a" if append else "w", "utf-8")
    except OSError as error:
        raise InvalidInput(f"{target} cannot be written ({error})") from error
    with opener as file:
        yield lambda line: click.echo(line, file=file)
