"""Train the built-in reader, and what tells questions about the present; write weights/reader.onnx and
weights/reading.json.

    .venv/bin/pip install torch
    .venv/bin/python scripts/train_reader.py --work FOLDER [--epochs N] [--rate RATE] [--keep] [--resume SHARE]
        [--sentences FOLDER]

The reader learns from texts that were written for this project: scripts/data/memories without those that are held back
and without ``many``, and the conversations scripts/data/talks. ``fused`` ranks the memories of each space for each
question; the reader learns to tell those that answer from the other candidates. One space in ``FOLDS`` is kept apart.
One space in ``PLAIN_SPACES`` is read as plain texts, without speakers and days. Half an hour to an hour on two cores.
The best candidates are read again by a cross-encoder, which ``train_cross_encoder.py`` trains. What both say is a
feature of ``fused``; ``train_fused.py`` weighs it.

``--resume SHARE`` trains the reader in the package further, on a share of the spaces. ``--sentences`` adds the
questions of ``sentence_set.py``. The reader in the package was trained with ``--resume 0.6 --sentences FOLDER
--epochs 2 --rate 4e-4``.

reading.json has a recency preference for each embedder: a linear regression over the vectors of the same questions,
which finds 1 for those about a present state, -1 for those about a former one, and 0 for others. ``--keep`` keeps the
reader and trains only these. Candidates and token states are kept in ``--work`` for the next run; empty the folder when
the texts or the weights of ``fused`` change.
"""
# ruff: noqa: INP001, T201  # a script that prints

import argparse
import hashlib
import json
import pickle
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from zlib import crc32

import numpy as np
from interaction_training import TrainingQuestion, train_head
from numpy.typing import NDArray
from reader_examples import ReadingExample, read_examples
from update_groups import judge_memories

from ecphora.bench import datasets
from ecphora.bench.embedding_cache import CachingEmbedder
from ecphora.embedders.e5.e5_embedder import E5Embedder
from ecphora.embedders.e5.e5_network import share_network
from ecphora.embedders.e5.interaction_head import TokenStates, encode_passage
from ecphora.embedders.minilm import MiniLMEmbedder
from ecphora.learn import Json, format_json
from ecphora.ports import Embedder, Passage
from ecphora.readers.late_interaction import HEAD_FILE, encode_question
from ecphora.stages.fused.recency_preference import RecencyPreference

HERE = Path(__file__).parent
WEIGHTS = HERE.parent / "src" / "ecphora" / "weights"
PREFERENCES = WEIGHTS / "reading.json"
MEMORIES = HERE / "data" / "memories"
SOURCES = (
    *((MEMORIES, name) for name in ("de", "en", "es", "it", "ja", "ko", "long", "many", "mixed")),
    *((MEMORIES, name) for name in ("nl", "pl", "pt", "ru", "short", "sv", "tr", "zh")),
    (HERE / "data", "talks"),
)
"""The folders and names of the sets of our own; with scripts/data/speakers, other questions lose."""
MANY = "many"
"""The set of memories about many matters, with which the evidence gets worse."""
NEWEST, FORMER = "update", "then"
"""The categories of questions about the present state of a matter that changed, and about a former one."""
SENTENCES = "sentences"
"""The set of ``sentence_set.py`` to train on."""
FOLDS, FOLD_APART = 6, 0
"""One space in six is kept apart; of ``many``, those that the update scorer was not trained on are."""
PLAIN_SPACES = 2
"""One space in so many is read as plain texts."""
EPOCHS, RATE = 3, 1e-3
VECTOR_RIDGE = 0.003
"""The ridge on the weights of a question's vector, for each question and in units of the vectors' variance."""
PREFERENCE_SCALE = 2.0
"""By how much the regression's values are too small: the texts have far more questions about matters that never changed
than a user asks, many of them in the present tense.
"""


def main() -> None:
    """Train and write."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--work", type=Path, required=True, help="folder for candidates and token states")
    parser.add_argument("--epochs", type=int, default=EPOCHS)
    parser.add_argument("--rate", type=float, default=RATE, help="the highest learning rate")
    parser.add_argument("--keep", action="store_true", help="keep the reader, train only the recency preferences")
    parser.add_argument("--resume", type=float, metavar="SHARE", help="train the reader in the package further")
    parser.add_argument("--sentences", type=Path, help="folder of the set of sentence_set.py, to train on too")
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    share = 1.0 if options.resume is None else options.resume
    provenance = json.loads(PREFERENCES.read_text(encoding="utf-8"))["provenance"]
    examples = [
        example
        for folder, name in SOURCES
        if name != MANY
        for example in load_examples(options.work, folder, name, share)
    ]
    trained = [as_plain_texts(example) for example in examples if not is_kept_apart(example.space)]
    sentence_paths: list[Path] = []
    if options.sentences is not None:
        trained += load_examples(options.work, options.sentences, SENTENCES)
        sentence_paths = [options.sentences / f"{SENTENCES}.{part}.jsonl" for part in ("docs", "questions")]
    head_path = WEIGHTS / HEAD_FILE
    if not options.keep:
        print(f"{len(trained)} questions train the reader", flush=True)
        questions = list(training_questions(options.work, trained))
        start = None if options.resume is None else head_path.read_bytes()
        head_path.write_bytes(train_head(questions, options.epochs, rate=options.rate, start=start))
        provenance |= {
            "resume": options.resume,
            "sentences": {path.name: sha256(path) for path in sentence_paths},
            "questions": {"reader": len(trained)},
        }
        print(f"HEAD_DIGEST in readers/late_interaction.py: {sha256(head_path)}")
    preferences = {
        embedder.name.partition("/")[0]: fit_preference(embedder, examples)
        for embedder in (E5Embedder(), MiniLMEmbedder())
    }
    file: dict[str, Json] = {
        "provenance": {
            "trained_by": "scripts/train_reader.py",
            "resume": provenance["resume"],
            "sentences": provenance["sentences"],
            "questions": {**provenance["questions"], "preferences": len(examples)},
            "sha256": dict(digests()),
        },
        "recency_preferences": {
            name: {"bias": model.bias, "weights": np.round(model.weights.astype(float), 3).tolist()}
            for name, model in preferences.items()
        },
    }
    PREFERENCES.write_text(format_json(file), encoding="utf-8")


def fit_preference(embedder: Embedder, examples: Sequence[ReadingExample]) -> RecencyPreference:
    """The model that tells questions about the present state and a former one, of the vectors of an embedder."""
    with CachingEmbedder(embedder) as cache:
        vectors = cache.embed([example.question for example in examples], is_query=True)
    return fit_vectors(vectors, [example.category for example in examples])


def fit_vectors(vectors: NDArray[np.float32], categories: Sequence[str]) -> RecencyPreference:
    """Fit the model that finds 1 for questions about the present state, -1 for those about a former one, else 0."""
    names = np.array(categories)
    target = (names == NEWEST).astype(np.float64) - (names == FORMER)
    mean = vectors.mean(axis=0, dtype=np.float64)
    rows = vectors - mean
    ridge = VECTOR_RIDGE * float(rows.var()) * np.eye(rows.shape[1])
    weights = PREFERENCE_SCALE * np.linalg.solve(rows.T @ rows / len(rows) + ridge, rows.T @ target / len(rows))
    bias = PREFERENCE_SCALE * float(target.mean()) - float(mean @ weights)
    return RecencyPreference(bias, weights.astype(np.float32))


def digests() -> Iterator[tuple[str, Json]]:
    """The files of the training data and the reader, each with its SHA-256."""
    paths = (
        folder / f"{name}.{part}.jsonl" for folder, name in SOURCES if name != MANY for part in ("docs", "questions")
    )
    for path in (*paths, WEIGHTS / HEAD_FILE):
        yield path.name, sha256(path)


def sha256(path: Path) -> str:
    """The SHA-256 of a file, in hexadecimal digits."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def is_kept_apart(space: str) -> bool:
    """Whether a space is kept apart from the training of the reader."""
    if space.startswith("many_"):
        return space in judge_memories()
    return crc32(space.encode()) % FOLDS == FOLD_APART


def is_taken(space: str, share: float) -> bool:
    """Whether a space is used: those that are kept apart always, of the others a share."""
    return is_kept_apart(space) or crc32(f"share {space}".encode()) % 1_000 < 1_000 * share


def as_plain_texts(example: ReadingExample) -> ReadingExample:
    """The example, in one space of ``PLAIN_SPACES`` without speakers, days, titles and turns before.

    An answer that only the turn before explains keeps them.
    """
    if example.category == "context" or crc32(f"plain {example.space}".encode()) % PLAIN_SPACES:
        return example
    texts = (
        tuple(Passage(passage.text) for passage in passages)
        for passages in (example.candidates, example.missed_answers)
    )
    candidates, missed_answers = texts
    return replace(example, candidates=candidates, missed_answers=missed_answers)


def load_examples(
    work: Path, folder: Path, name: str, share: float = 1.0, *, takes: Callable[[str, float], bool] = is_taken
) -> list[ReadingExample]:
    """The examples of a share of the spaces of a set, those that it ``takes``, read from ``work`` or written there."""
    path = work / f"{name}.examples.pkl"
    if not path.exists():
        with CachingEmbedder(E5Embedder()) as embedder:
            found = [
                example
                for case in datasets.read_cases(name, folder)
                if takes(case.space, share)
                for example in read_examples(name, case, embedder)
            ]
        path.write_bytes(pickle.dumps(found))
        print(f"{name}: {len(found)} questions", flush=True)
    result: list[ReadingExample] = pickle.loads(path.read_bytes())  # noqa: S301  # written by this script
    return result


def training_questions(work: Path, examples: Sequence[ReadingExample]) -> Iterator[TrainingQuestion]:
    """The examples with the token states of their texts."""
    path = work / "states.pkl"
    states: dict[object, TokenStates] = pickle.loads(path.read_bytes()) if path.exists() else {}  # noqa: S301
    network = share_network()()

    def encode(passage: Passage) -> TokenStates:
        return encode_passage(network, passage.statement, passage.previous_turn)

    def encode_question_of(example: ReadingExample) -> TokenStates:
        return encode_question(network, example.question, example.asked_on)

    passages = {passage for example in examples for passage in (*example.candidates, *example.missed_answers)}
    new_passages = [passage for passage in passages if passage not in states]
    new_questions = {
        (example.question, example.asked_on): example
        for example in examples
        if (example.question, example.asked_on) not in states
    }
    if new_passages or new_questions:
        with ThreadPoolExecutor(2) as pool:
            states.update(zip(new_passages, pool.map(encode, new_passages), strict=True))
            states.update(zip(new_questions, pool.map(encode_question_of, new_questions.values()), strict=True))
        path.write_bytes(pickle.dumps(states))
    for example in examples:
        texts = (*example.candidates, *example.missed_answers)
        is_answer = np.concatenate([example.is_answer, np.ones(len(example.missed_answers), np.bool_)])
        yield TrainingQuestion(
            states[example.question, example.asked_on], [states[passage] for passage in texts], is_answer
        )


if __name__ == "__main__":
    main()
