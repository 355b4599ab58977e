"""The command ``ecphora learn``: weights of ``fused`` from labeled sets and from a memory's own feedback."""

import json
import shlex
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

import click
import numpy as np
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from ecphora import __version__
from ecphora.errors import InvalidInput
from ecphora.maintenance.learn.fused_training import UNTRAINED, FusedExample, FusedModel, make_example, train
from ecphora.maintenance.learn.fused_weights import format_fused_model
from ecphora.maintenance.learn.readable_json import Json
from ecphora.memory import Memory
from ecphora.model.ports import Embedder, embedder_coverage, similarity_floor
from ecphora.model.types import Kind
from ecphora.retrieval.query import build_query
from ecphora.strategies.fused import weights
from ecphora.strategies.fused.feature_matrix import Genre

from .. import datasets
from ..command_options import FILE, FOLDER, NEW_FILE, embedder_option, open_embedder, progress_bar, set_option
from ..embedding_cache import CachingEmbedder
from ..recall.recall_run import Tick
from .training_examples import RankingScore, TrainingReport, dataset_examples, evaluate_training

FEEDBACK = "feedback"
"""The name of a memory's own feedback among the sets."""
DIGITS = 4
"""Decimals of the figures that are stored with weights."""


def examples_by_dataset(
    names: Sequence[str], folders: Sequence[Path], embedder: CachingEmbedder, tick: Tick
) -> dict[str, list[FusedExample]]:
    """The examples of named sets, each from the first folder that has it."""
    found = {}
    for name in names:
        found[name] = dataset_examples(name, list(datasets.read_cases(name, _find_folder(name, folders))), embedder)
        tick(1)
    return found


def feedback_examples(memory: Memory, embedder: Embedder) -> list[FusedExample]:
    """The examples of a memory's feedback: the questions and the memories that were used."""
    graph = memory.graph()
    found = []
    for row in np.flatnonzero(graph.of_kind(Kind.QUESTION) & (graph.vector_positions >= 0)).tolist():
        node = memory.get(graph.id(row))
        edges, _ = graph.edges_from(np.array([row]))
        used = graph.edges["dst"][edges[graph.edges["weights"][edges] > 0]]
        if node is not None:
            query = build_query(
                node.text,
                node.happened_at,
                vector=embedder.embed([node.text], is_query=True)[0],
                embedder=embedder.name,
                embedder_coverage=embedder_coverage(embedder, node.text),
                similarity_floor=similarity_floor(embedder),
            )
            found.append(
                make_example(
                    query,
                    graph,
                    dataset=FEEDBACK,
                    space=node.id,
                    question_id=node.id,
                    document_numbers=np.arange(len(graph)),
                    gold=used.tolist(),
                    is_answerable=True if len(used) else None,
                )
            )
    return found


def _find_folder(name: str, folders: Sequence[Path]) -> Path:
    for folder in folders:
        if name in datasets.dataset_names(folder):
            return folder
    known = ", ".join(sorted({name for folder in folders for name in datasets.dataset_names(folder)})) or "none"
    raise InvalidInput(f"no set {name!r} in {', '.join(map(str, folders))}; there are: {known}")


def train_weights(
    examples: Mapping[str, list[FusedExample]],
    *,
    from_scratch: bool,
    genre: Genre | None = None,
    embedder: str,
    command: str,
    with_report: bool,
) -> tuple[FusedModel, str, dict[str, TrainingReport]]:
    """Train on examples by set, and format the weights with their provenance; ``with_report`` cross-validates.

    ``from_scratch`` starts from zero, otherwise training starts from the weights of the package. With a genre, only the
    ranker's weights for it are trained. Raises
    ``InvalidInput`` if no example has both evidence and other memories.
    """
    all_examples = [example for group in examples.values() for example in group]
    if not any(example.is_trainable for example in all_examples):
        raise InvalidInput(
            "nothing to learn from: no question has both evidence and other memories in its candidate pool"
        )
    prior = UNTRAINED if from_scratch else FusedModel(*weights.load_fused_model(embedder))
    trained = train(all_examples, prior, genre=genre)
    reports = dict(evaluate_training(dict(examples), prior, trained, genre)) if with_report else {}
    provenance: dict[str, Json] = {
        "ecphora": __version__,
        "embedder": embedder,
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        "command": command,
        "built_upon": "nothing" if from_scratch else weights.load_fused_provenance(),
        "questions": {name: sum(example.is_full_space for example in group) for name, group in examples.items()},
        "figures": {name: _report_fields(report) for name, report in reports.items()},
    }
    return trained, format_fused_model(trained, provenance), reports


def _report_fields(report: TrainingReport) -> Json:
    return {
        kind: {
            name: round(value, DIGITS) if isinstance(value, float) else value for name, value in asdict(score).items()
        }
        for kind, score in (
            ("training", report.training),
            ("cross_validation", report.cross_validation),
            ("held_out", report.held_out),
        )
        if score is not None
    }


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
    help="Start from zero, also for what a reader says.  [default: from the weights of the package]",
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

    Trains on sets of questions whose evidence is known, in the format of `ecphora bench recall`, and on the feedback in
    a memory. Nothing is read for it, so the weights of what a reader says stay as they are. Use the weights with
    `ecphora recall --weights FILE` or ECPHORA_WEIGHTS; without them, the weights of the package are used.
    """
    names = list(dict.fromkeys(dataset_names))
    if bool(names) != bool(folders) or not (names or db):
        raise click.UsageError("give something to learn from: --data DIR with --set NAME, or --db PATH, or both")
    with open_embedder(embedder) as model, progress_bar("learning", len(names)) as tick:
        found = examples_by_dataset(names, folders, model, tick)
        if db is not None:
            with Memory(db, scope=scope, embedder=model, zone="UTC") as memory:
                found[FEEDBACK] = feedback_examples(memory, model)
        _, written, reports = train_weights(
            found,
            from_scratch=from_scratch,
            genre=next((one for one in Genre if one.label == genre), None),
            embedder=model.name,
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
        click.echo(json.dumps({name: _report_fields(report) for name, report in reports.items()}))
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
