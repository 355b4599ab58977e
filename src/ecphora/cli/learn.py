"""The command ``ecphora learn``: weights of ``fused`` from labeled sets and from a memory's own feedback.

The commands of the benchmarks, which read labeled sets too, take their options, embedder and progress bar from here.
"""

import json
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import click
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from .. import __version__
from ..maintenance.learn.embedding_cache import CachingEmbedder
from ..maintenance.learn.temporary_memory import Tick
from ..maintenance.learn.trained_weights import (
    FEEDBACK,
    examples_by_dataset,
    feedback_examples,
    report_fields,
    train_weights,
)
from ..maintenance.learn.training_examples import RankingScore, TrainingReport
from ..memory import Memory
from ..strategies.fused.feature_matrix import Genre
from .context import HomePath, open_context

# ---- what the commands of the benchmarks share

FOLDER = HomePath(exists=True, file_okay=False, path_type=Path)
FILE = HomePath(exists=True, dir_okay=False, path_type=Path)
NEW_FILE = HomePath(dir_okay=False, path_type=Path)

Decorator = Callable[[Callable[..., None]], Callable[..., None]]
"""Adds options to a command."""

embedder_option = click.option(
    "--embedder", metavar="NAME", help="As for the other commands.  [env ECPHORA_EMBEDDER; default e5]"
)
"""The option of the commands that embed."""


def set_option(help_text: str, *, is_required: bool = False) -> Decorator:
    """The option that chooses sets."""
    return click.option("--set", "dataset_names", multiple=True, required=is_required, metavar="NAME", help=help_text)


def open_embedder(embedder: str | None) -> CachingEmbedder:
    """The embedder named by the argument or else the environment, with a cache of its embeddings."""
    return CachingEmbedder(open_context(as_json=False, embedder=embedder).settings.make_embedder())


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


# ---- the command


def print_reports(reports: Mapping[str, TrainingReport], console: Console) -> None:
    """Print the results of training, set by set."""
    table = Table("set", "weights", box=SIMPLE_HEAD, padding=(0, 1))
    for name in ("n", "recall@5", "recall@10", "all@5", "AUROC"):
        table.add_column(name, justify="right")
    for name, report in reports.items():
        for number, (kind, score) in enumerate(
            (
                ("training", report.training),
                ("cross-validated, all sets", report.cross_validation),
                ("held out", report.held_out),
            )
        ):
            if score is not None:
                table.add_row(name if not number else "", kind, *_cells(score))
        table.add_section()
    console.print(table)


def _cells(score: RankingScore) -> tuple[str, ...]:
    values = (score.recall_at_5, score.recall_at_10, score.recall_all_at_5, score.auroc)
    return (str(score.questions), *("" if value is None else f"{value:.3f}" for value in values))


@click.command()
@click.option("--data", "folders", type=FOLDER, multiple=True, help="Folder of labeled sets; may be repeated.")
@set_option("Set to learn from; may be repeated.")
@click.option("--db", type=FILE, metavar="PATH", help="A memory to learn from, by its feedback.")
@click.option("--scope", metavar="NAME", default="default", show_default=True, help="The scope of the memory.")
@click.option("--out", "output", type=NEW_FILE, required=True, metavar="FILE", help="The file of the weights, as JSON.")
@click.option(
    "--from-scratch",
    is_flag=True,
    help="Start from zero, also for what a reranker says.  [default: from the weights of the package]",
)
@click.option(
    "--genre",
    type=click.Choice([genre.label for genre in Genre]),
    help="Train only the ranker's weights for memories of this genre, and keep all else.",
)
@click.option("--no-cross-validation", is_flag=True, help="Skip the cross-validation, which trains many times.")
@embedder_option
@click.option("--json", "as_json", is_flag=True, help="Write the figures as JSON to stdout, and nothing else.")
def learn(
    *,
    folders: Sequence[Path],
    dataset_names: Sequence[str],
    db: Path | None,
    scope: str,
    output: Path,
    from_scratch: bool,
    genre: str | None,
    no_cross_validation: bool,
    embedder: str | None,
    as_json: bool,
) -> None:
    """Train the weights of fused: its ranker, and the model of its confidence.

    Trains on labeled sets, which are questions whose evidence is known, and on the feedback in a memory. A set is
    NAME.docs.jsonl with NAME.questions.jsonl; lab/fused.md describes their lines. Nothing is read for it, so the
    weights of what a reranker says stay as they are. Use the weights with `ecphora recall --weights FILE` or
    ECPHORA_WEIGHTS; without them, the weights of the package are used.
    """
    names = list(dict.fromkeys(dataset_names))
    if bool(names) != bool(folders) or not (names or db):
        raise click.UsageError("give something to learn from: --data DIR with --set NAME, or --db PATH, or both")
    with open_embedder(embedder) as model, progress_bar("learning", len(names)) as tick:
        found = examples_by_dataset(Memory, names, folders, model, tick)
        if db is not None:
            with Memory(db, scope=scope, embedder=model, zone="UTC") as memory:
                found[FEEDBACK] = feedback_examples(memory, model)
        _, written, reports = train_weights(
            found,
            from_scratch=from_scratch,
            genre=next((one for one in Genre if one.label == genre), None),
            embedder=model.name,
            version=__version__,
            command=shlex.join(
                [
                    *_command_words(names, folders, embedder, from_scratch=from_scratch, genre=genre),
                    *(("--db", "DB") if db else ()),
                ]
            ),
            with_report=not no_cross_validation,
        )
    output.write_text(written, encoding="utf-8")
    if as_json:
        click.echo(json.dumps({name: report_fields(report) for name, report in reports.items()}))
    else:
        print_reports(reports, Console(highlight=False))
        click.echo(f"written to {output}")


def _command_words(
    names: Sequence[str], folders: Sequence[Path], embedder: str | None, *, from_scratch: bool, genre: str | None
) -> list[str]:
    """The command line that repeats the training, without folders, which differ between machines."""
    words = ["ecphora", "learn", *(word for _ in folders for word in ("--data", "DATA"))]
    words += [word for name in names for word in ("--set", name)]
    words += ["--embedder", embedder] if embedder else []
    return [*words, *(["--genre", genre] if genre else []), *(["--from-scratch"] if from_scratch else [])]
