"""Train EISA's necessity checker on training/data/encm.jsonl, measure it, and write its necessity.json.

    .venv/bin/python training/train_necessity.py [--data DIR]

A line is used twice: as a memory with its speaker and title, and as a query without them. The lines and their labels
were written for this project. With ``--data``, the folder of the public sets, the error on other texts is measured too:
turns of conversations and questions are needed, paragraphs of encyclopaedias are not. The output is deterministic.
"""
# ruff: noqa: INP001, T201  # a script that prints

import argparse
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import NDArray

from ecphora.maintenance.learn import Json, datasets, fit_logistic, format_json
from ecphora.maintenance.learn.embedding_cache import CachingEmbedder
from ecphora.memory import Memory
from ecphora.model.types import Episode, Query
from ecphora.models.embedders.minilm import MiniLMEmbedder
from ecphora.strategies.eisa import episodic_necessity
from ecphora.strategies.eisa.weights import parse_necessity_classifier

HERE = Path(__file__).parent
LINES = HERE / "data" / "encm.jsonl"
WEIGHTS = HERE.parent / "src" / "ecphora" / "strategies" / "eisa" / "weights" / "necessity.json"
FOLDS = 5
BIAS_RIDGE, COLUMN_RIDGE, VECTOR_RIDGE = 1e-3, 1.0, 0.1
"""The ridge on the bias, on the weight of a feature, and on that of a vector component: of .03, .1, .3, 1, 3 the one
with the smallest log loss in cross-validation."""
NECESSARY_DATASETS = ("locomo", "realtalk", "lihua")
UNNECESSARY_DATASETS = ("musique", "2wikimultihopqa", "hotpotqa")
SAMPLE_SIZE = 1_000
"""The number of measured documents of a public set, spread evenly over it."""

Numbers = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Examples:
    """The features and vectors of texts, whether the vector is usable, and the line numbers."""

    text_features: Numbers
    vectors: Numbers
    is_vector_usable: NDArray[np.bool_]
    line_numbers: NDArray[np.int64]

    def features(self, *, vectors: bool) -> Numbers:
        """A bias, the text features, and optionally the vectors."""
        ones = np.ones((len(self.text_features), 1))
        return np.hstack([ones, self.text_features, self.vectors] if vectors else [ones, self.text_features])


def main() -> None:
    """Train, measure, write."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, help="the folder of the public sets")
    data = parser.parse_args().data
    lines = [json.loads(line) for line in LINES.read_text(encoding="utf-8").splitlines()]
    labels = np.array([line["need"] for line in lines], np.float64)
    with CachingEmbedder(MiniLMEmbedder()) as embedder:
        episodes = [Episode(line["text"], str(n), line["speaker"], title=line["title"]) for n, line in enumerate(lines)]
        rows, queries = make_examples(episodes, [line["text"] for line in lines], embedder)
        provenance: dict[str, Json] = {
            "trained_by": "training/train_necessity.py",
            "lines": len(lines),
            "needed": int(labels.sum()),
            "lines_sha256": hashlib.sha256(LINES.read_bytes()).hexdigest(),
            "cross_validated": cross_validate(rows, queries, labels),
        }
        file: dict[str, Json] = {
            "what": "EISA's necessity checker, a logistic regression; see ecphora.strategies.eisa.episodic_necessity",
            "provenance": provenance,
            "embedder": embedder.name,
            "threshold": episodic_necessity.THRESHOLD,
            "features": list(episodic_necessity.FEATURES),
            "feature_model": weight_fields(train((rows, queries), labels, vectors=False)),
            "vector_model": weight_fields(train((rows, queries), labels, vectors=True)),
        }
        if data is None:
            provenance.update(previous_out_of_domain(file))
        else:
            provenance["out_of_domain"] = dict(
                out_of_domain_errors(data, parse_necessity_classifier(json.dumps(file), embedder.name), embedder)
            )
    WEIGHTS.write_text(format_json(file), encoding="utf-8")
    print(format_json(provenance), end="")


def previous_out_of_domain(file: Mapping[str, Json]) -> dict[str, Json]:
    """The previous figures on the public sets, if the weights are the same."""
    old = json.loads(WEIGHTS.read_text(encoding="utf-8"))
    same = all(old[key] == file[key] for key in ("threshold", "features", "feature_model", "vector_model"))
    return {"out_of_domain": old["provenance"]["out_of_domain"]} if same else {}


def make_examples(
    episodes: Sequence[Episode], questions: Sequence[str], embedder: CachingEmbedder
) -> tuple[Examples, Examples]:
    """Examples of texts as memories (long ones have several chunks) and as queries, by the code of the classifier."""
    with TemporaryDirectory() as folder, Memory(Path(folder, "encm.db"), embedder=embedder) as memory:
        memory.remember(episodes)
        graph = memory.graph()
        rows = np.flatnonzero(graph.episodes)
        as_rows = Examples(
            text_features=episodic_necessity.row_features(graph).features[rows].astype(np.float64),
            vectors=graph.vectors.view[graph.vector_positions[rows]].astype(np.float64),
            is_vector_usable=episodic_necessity.row_features(graph).is_vector_usable[rows],
            line_numbers=np.array([int(graph.id(row).partition("#")[0]) for row in rows.tolist()]),
        )
        queries = [memory.build_query(text) for text in questions]
    return as_rows, query_examples(queries)


def query_examples(queries: Sequence[Query]) -> Examples:
    """Examples of queries."""
    return Examples(
        text_features=np.concatenate([episodic_necessity.query_features(query) for query in queries]).astype(
            np.float64
        ),
        vectors=np.array([query.vector for query in queries], np.float64),
        is_vector_usable=np.array([episodic_necessity.is_vector_usable(query) for query in queries]),
        line_numbers=np.arange(len(queries)),
    )


def train(parts: Sequence[Examples], labels: Numbers, *, vectors: bool, excluded_fold: int | None = None) -> Numbers:
    """The weights from all lines, or from all but one fold; without usable vectors, examples are left out."""
    features, targets = [], []
    for part in parts:
        selected = part.is_vector_usable.copy() if vectors else np.ones(len(part.line_numbers), np.bool_)
        selected &= fold_of(part.line_numbers) != excluded_fold
        features.append(part.features(vectors=vectors)[selected])
        targets.append(labels[part.line_numbers[selected]])
    width = features[0].shape[1]
    columns = 1 + len(episodic_necessity.FEATURES)
    ridge = np.concatenate([[BIAS_RIDGE], np.full(columns - 1, COLUMN_RIDGE), np.full(width - columns, VECTOR_RIDGE)])
    return fit_logistic(np.concatenate(features), np.concatenate(targets), ridge)


def fold_of(line: NDArray[np.int64]) -> NDArray[np.int64]:
    """The fold of a line, by a hash of its number, so that lines of one conversation are in several folds."""
    digests = [hashlib.blake2b(str(number).encode(), digest_size=4).digest() for number in line.tolist()]
    return np.array([int.from_bytes(digest, "big") % FOLDS for digest in digests])


def cross_validate(rows: Examples, queries: Examples, labels: Numbers) -> dict[str, Json]:
    """The error rates on held-out lines."""
    found: dict[str, Json] = {}
    for name, vectors in (("feature model", False), ("vector model", True)):
        weights = [train((rows, queries), labels, vectors=vectors, excluded_fold=fold) for fold in range(FOLDS)]
        for kind, part in (("memories", rows), ("queries", queries)):
            selected = part.is_vector_usable if vectors else np.ones(len(part.line_numbers), np.bool_)
            folds = fold_of(part.line_numbers)
            values = np.einsum("ij,ij->i", part.features(vectors=vectors), np.array(weights)[folds])[selected]
            found[f"{name}, {kind}"] = error_rates(1 / (1 + np.exp(-values)), labels[part.line_numbers[selected]])
    return found


def error_rates(probabilities: Numbers, labels: Numbers) -> dict[str, Json]:
    """The false negative and false positive rates at the threshold, and the error rate at 0.5."""
    classified = probabilities >= episodic_necessity.THRESHOLD
    needed = labels > 0.5
    found: dict[str, Json] = {"n": len(probabilities)}
    if needed.any():
        found["false_negative_rate"] = round(float((~classified[needed]).mean()), 4)
    if not needed.all():
        found["false_positive_rate"] = round(float(classified[~needed].mean()), 4)
    return {**found, "error_rate_at_half": round(float(((probabilities >= 0.5) != needed).mean()), 4)}


def weight_fields(weights: Numbers) -> dict[str, Json]:
    """The weights in the form of the file, rounded."""
    columns = 1 + len(episodic_necessity.FEATURES)
    numbers = [round(float(weight), 4) for weight in weights]
    return {"bias": numbers[0], "feature_weights": numbers[1:columns], "vector_weights": numbers[columns:]}


def out_of_domain_errors(
    data: Path, classifier: episodic_necessity.NecessityClassifier, embedder: CachingEmbedder
) -> Iterator[tuple[str, Json]]:
    """The error rates of both models on public sets, which are not used for training."""
    for name in (*NECESSARY_DATASETS, *UNNECESSARY_DATASETS):
        needed = name in NECESSARY_DATASETS
        cases = list(datasets.read_cases(name, data))
        all_episodes = [(case.space, episode) for case in cases for episode in case.episodes]
        sampled = (
            [all_episodes[index * len(all_episodes) // SAMPLE_SIZE] for index in range(SAMPLE_SIZE)]
            if len(all_episodes) > SAMPLE_SIZE
            else all_episodes
        )
        episodes = [replace(episode, id=f"{space}/{episode.id}") for space, episode in sampled]
        questions = [question.text for case in cases for question in case.questions]
        with TemporaryDirectory() as folder, Memory(Path(folder, "encm.db"), embedder=embedder) as memory:
            memory.remember(episodes)
            graph = memory.graph()
            queries = [memory.build_query(question) for question in questions]
        for kind, variant in (("feature model", replace(classifier, vector_model=None)), ("vector model", classifier)):
            rows = episodic_necessity.episode_probabilities(graph, variant)[graph.episodes].astype(np.float64)
            query_probabilities = np.array([episodic_necessity.query_probability(query, variant) for query in queries])
            yield f"{name}, {kind}, memories", error_rates(rows, np.full(len(rows), float(needed)))
            yield f"{name}, {kind}, questions", error_rates(query_probabilities, np.ones(len(query_probabilities)))


if __name__ == "__main__":
    main()
