"""Weights of ``fused`` from labeled sets and from a memory's own feedback, with their figures."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np

from ...errors import InvalidInput
from ...model.ports import Embedder, embedder_coverage, similarity_floor
from ...model.types import Kind
from ...retrieval.query import build_query
from ...strategies.fused import weights
from ...strategies.fused.feature_matrix import Genre
from . import datasets
from .embedding_cache import CachingEmbedder
from .fused_training import UNTRAINED, FusedExample, FusedModel, make_example, train
from .temporary_memory import LearningMemory, MemoryOpener, Tick
from .training_examples import TrainingReport, dataset_examples, evaluate_training
from .weight_files import Json, format_fused_model

FEEDBACK = "feedback"
"""The name of a memory's own feedback among the sets."""
DIGITS = 4
"""Decimals of the figures that are stored with weights."""


def examples_by_dataset(
    open_memory: MemoryOpener[LearningMemory],
    names: Sequence[str],
    folders: Sequence[Path],
    embedder: CachingEmbedder,
    tick: Tick = lambda _steps: None,
) -> dict[str, list[FusedExample]]:
    """The examples of named sets, each from the first folder that has it.

    ``open_memory`` opens the temporary memories that hold the spaces. ``tick`` is called after each set.
    """
    found = {}
    for name in names:
        found[name] = dataset_examples(
            open_memory, name, list(datasets.read_cases(name, _find_folder(name, folders))), embedder
        )
        tick(1)
    return found


def feedback_examples(memory: LearningMemory, embedder: Embedder) -> list[FusedExample]:
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
    version: str,
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
        "ecphora": version,
        "embedder": embedder,
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        "command": command,
        "built_upon": "nothing" if from_scratch else weights.load_fused_provenance(),
        "questions": {name: sum(example.is_full_space for example in group) for name, group in examples.items()},
        "figures": {name: report_fields(report) for name, report in reports.items()},
    }
    return trained, format_fused_model(trained, provenance), reports


def report_fields(report: TrainingReport) -> Json:
    """The figures of a report as JSON."""
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
