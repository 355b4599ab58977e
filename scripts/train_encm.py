"""Train EISA's necessity checker on scripts/data/encm.jsonl, measure it, and write src/ecphora/weights/encm.json.

    .venv/bin/python scripts/train_encm.py [--data DIR]

Every line counts twice: as a memory with its speaker and title, and as a cue, bare. The lines were written for this
project; whether one is needed from episodic memory is our judgement. With ``--data``, the folder of the public sets,
the error outside our own lines is measured too: turns of conversations and questions are needed, paragraphs of
encyclopaedias are not. Nothing is left to chance: two runs write the same file.
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

from ecphora.bench import datasets
from ecphora.bench.cache import Cached
from ecphora.embedders.minilm import MiniLM
from ecphora.learn import Json, logistic, readable
from ecphora.memory import Memory
from ecphora.model import Cue, Episode
from ecphora.stages import need
from ecphora.weights import encm_of

HERE = Path(__file__).parent
LINES = HERE / "data" / "encm.jsonl"
WEIGHTS = HERE.parent / "src" / "ecphora" / "weights" / "encm.json"
FOLDS = 5
BIAS, COLUMN, VECTOR = 1e-3, 1.0, 0.1
"""The ridge on the bias, on a column's weight, and on that of a vector's number (of .03, .1, .3, 1, 3 the one with the
least log loss in cross-validation)."""
NEEDED = ("locomo", "realtalk", "lihua")
NOT_NEEDED = ("musique", "2wikimultihopqa", "hotpotqa")
SAMPLE = 1_000
"""So many documents of a public set are measured, spread evenly over it."""

Numbers = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Examples:
    """Texts as the checker sees them: columns, vectors, whether the vector may be read, and the line of each."""

    columns: Numbers
    vectors: Numbers
    read: NDArray[np.bool_]
    line: NDArray[np.int64]

    def features(self, *, vectors: bool) -> Numbers:
        """A bias, the columns, and the vectors."""
        ones = np.ones((len(self.columns), 1))
        return np.hstack([ones, self.columns, self.vectors] if vectors else [ones, self.columns])


def main() -> None:
    """Train, measure, write."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, help="the folder of the public sets")
    data = parser.parse_args().data
    lines = [json.loads(line) for line in LINES.read_text(encoding="utf-8").splitlines()]
    labels = np.array([line["need"] for line in lines], np.float64)
    with Cached(MiniLM()) as embedder:
        episodes = [Episode(line["text"], str(n), line["speaker"], title=line["title"]) for n, line in enumerate(lines)]
        rows, cues = seen(episodes, [line["text"] for line in lines], embedder)
        provenance: dict[str, Json] = {
            "trained_by": "scripts/train_encm.py",
            "lines": len(lines),
            "needed": int(labels.sum()),
            "lines_sha256": hashlib.sha256(LINES.read_bytes()).hexdigest(),
            "cross_validated": crossed(rows, cues, labels),
        }
        file: dict[str, Json] = {
            "what": "EISA's necessity checker, a logistic regression; see ecphora.stages.need",
            "provenance": provenance,
            "embedder": embedder.name,
            "threshold": need.THRESHOLD,
            "columns": list(need.COLUMNS),
            "alone": head(trained((rows, cues), labels, vectors=False)),
            "reading": head(trained((rows, cues), labels, vectors=True)),
        }
        if data is None:
            provenance.update(known_outside(file))
        else:
            provenance["out_of_domain"] = dict(outside(data, encm_of(json.dumps(file), embedder.name), embedder))
    WEIGHTS.write_text(readable(file), encoding="utf-8")
    print(readable(provenance), end="")


def known_outside(file: Mapping[str, Json]) -> dict[str, Json]:
    """What was measured outside our lines before, as long as the weights are the same."""
    old = json.loads(WEIGHTS.read_text(encoding="utf-8"))
    same = all(old[key] == file[key] for key in ("threshold", "columns", "alone", "reading"))
    return {"out_of_domain": old["provenance"]["out_of_domain"]} if same else {}


def seen(episodes: Sequence[Episode], asked: Sequence[str], embedder: Cached) -> tuple[Examples, Examples]:
    """Texts as memories, of which long ones have several pieces, and as cues, by the very code that judges them."""
    with TemporaryDirectory() as folder, Memory(Path(folder, "encm.db"), embedder=embedder) as memory:
        memory.remember(episodes)
        graph = memory.graph()
        rows = np.flatnonzero(graph.episodes)
        as_rows = Examples(
            columns=need.seen(graph).columns[rows].astype(np.float64),
            vectors=graph.vectors.view[graph.vector_places[rows]].astype(np.float64),
            read=need.seen(graph).read[rows],
            line=np.array([int(graph.id(row).partition("#")[0]) for row in rows.tolist()]),
        )
        cues = [memory.cue(text) for text in asked]
    return as_rows, as_cues(cues)


def as_cues(cues: Sequence[Cue]) -> Examples:
    """Cues as the checker sees them."""
    return Examples(
        columns=np.concatenate([need.cue_columns(cue) for cue in cues]).astype(np.float64),
        vectors=np.array([cue.vector for cue in cues], np.float64),
        read=np.array([need.readable(cue) for cue in cues]),
        line=np.arange(len(cues)),
    )


def trained(parts: Sequence[Examples], labels: Numbers, *, vectors: bool, but: int | None = None) -> Numbers:
    """The weights from all lines, or from all but those of one fold; a vector that is not read teaches nothing."""
    features, wanted = [], []
    for part in parts:
        use = part.read.copy() if vectors else np.ones(len(part.line), np.bool_)
        use &= fold(part.line) != but
        features.append(part.features(vectors=vectors)[use])
        wanted.append(labels[part.line[use]])
    width = features[0].shape[1]
    columns = 1 + len(need.COLUMNS)
    ridge = np.concatenate([[BIAS], np.full(columns - 1, COLUMN), np.full(width - columns, VECTOR)])
    return logistic(np.concatenate(features), np.concatenate(wanted), ridge)


def fold(line: NDArray[np.int64]) -> NDArray[np.int64]:
    """A line's fold, by a hash of its number: neighbours, which belong to one conversation, are spread."""
    digests = [hashlib.blake2b(str(number).encode(), digest_size=4).digest() for number in line.tolist()]
    return np.array([int.from_bytes(digest, "big") % FOLDS for digest in digests])


def crossed(rows: Examples, cues: Examples, labels: Numbers) -> dict[str, Json]:
    """How often the checker errs on lines it was not trained on."""
    found: dict[str, Json] = {}
    for name, vectors in (("alone", False), ("reading", True)):
        weights = [trained((rows, cues), labels, vectors=vectors, but=out) for out in range(FOLDS)]
        for kind, part in (("memories", rows), ("cues", cues)):
            use = part.read if vectors else np.ones(len(part.line), np.bool_)
            folds = fold(part.line)
            values = np.einsum("ij,ij->i", part.features(vectors=vectors), np.array(weights)[folds])[use]
            found[f"{name}, {kind}"] = errors(1 / (1 + np.exp(-values)), labels[part.line[use]])
    return found


def errors(p: Numbers, labels: Numbers) -> dict[str, Json]:
    """The part that is needed but not taken so, and the other way round, at the threshold; and the error at 0.5."""
    taken = p >= need.THRESHOLD
    needed = labels > 0.5
    found: dict[str, Json] = {"n": len(p)}
    if needed.any():
        found["missed"] = round(float((~taken[needed]).mean()), 4)
    if not needed.all():
        found["let_in"] = round(float(taken[~needed].mean()), 4)
    return {**found, "error_at_half": round(float(((p >= 0.5) != needed).mean()), 4)}


def head(weights: Numbers) -> dict[str, Json]:
    """The weights in the form of the file, with no more digits than matter."""
    columns = 1 + len(need.COLUMNS)
    numbers = [round(float(weight), 4) for weight in weights]
    return {"bias": numbers[0], "columns": numbers[1:columns], "vector": numbers[columns:]}


def outside(data: Path, encm: need.Encm, embedder: Cached) -> Iterator[tuple[str, Json]]:
    """How often each head errs on public sets, which it was not trained on."""
    for name in (*NEEDED, *NOT_NEEDED):
        needed = name in NEEDED
        cases = list(datasets.cases(name, data))
        told = [(case.space, episode) for case in cases for episode in case.episodes]
        picked = [told[place * len(told) // SAMPLE] for place in range(SAMPLE)] if len(told) > SAMPLE else told
        episodes = [replace(episode, id=f"{space}/{episode.id}") for space, episode in picked]
        questions = [question.text for case in cases for question in case.questions]
        with TemporaryDirectory() as folder, Memory(Path(folder, "encm.db"), embedder=embedder) as memory:
            memory.remember(episodes)
            graph = memory.graph()
            cues = [memory.cue(question) for question in questions]
        for kind, judge in (("alone", replace(encm, reading=None)), ("reading", encm)):
            rows = need.needs(graph, judge)[graph.episodes].astype(np.float64)
            asked = np.array([need.probability(cue, judge) for cue in cues])
            yield f"{name}, {kind}, memories", errors(rows, np.full(len(rows), float(needed)))
            yield f"{name}, {kind}, questions", errors(asked, np.ones(len(asked)))


if __name__ == "__main__":
    main()
