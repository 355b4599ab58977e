"""Train the built-in reranker, and what tells questions about the present; write weights/reranker.onnx and
strategies/fused/weights/reading.json.

    .venv/bin/pip install torch
    .venv/bin/python training/fact_set.py FACTS
    .venv/bin/python training/sentence_set.py SENTENCES --data DATA
    .venv/bin/python training/train_reader.py FACTS SENTENCES --work FOLDER [--share SHARE] [--epochs N] [--rate RATE]
        [--resume] [--teach] [--keep]

The reranker learns from texts that were written for this project: training/data/memories without those that are held
back and without ``many``, the conversations training/data/talks, the paragraphs training/data/passages, the lists of
``fact_set.py``, and the drills of ``role_drills.py`` and ``polarity_drills.py``; and from the questions of
``sentence_set.py``. ``fused`` ranks the memories of each space for each question; the reranker learns to tell those
that answer from the other candidates. One space in ``FOLDS`` is kept apart. One space in ``PLAIN_SPACES`` is read as
plain texts, without speakers and days. The best candidates are read again by a cross-encoder, which
``train_cross_encoder.py`` trains. What both say is a feature of ``fused``; ``train_fused.py`` weighs it.

``--share`` takes a share of the spaces, ``--resume`` trains the reranker in the package further, ``--teach`` has it
learn from what the cross-encoder says, too. The reranker in the package was trained with ``--share 0.5 --epochs 2``,
when the head still read whole texts; then with ``--share 0.5 --epochs 2 --rate 8e-4 --resume --teach``, both with half
of the facts, a third of the drills about roles and none about what is not so; and then with ``--epochs 0.55 --rate 6e-4
--resume --teach``. Train the weights of ``fused`` and the confidence anew after it: what they weigh is what the
reranker says.

reading.json has a recency preference for each embedder: a linear regression over the vectors of the same questions,
which finds 1 for those about a present state, -1 for those about a former one, and 0 for others. ``--keep`` keeps the
reranker and trains only these. Candidates and token states are kept in ``--work`` for the next run; empty the folder
when the texts or the weights of ``fused`` change.
"""
# ruff: noqa: INP001, T201  # a script that prints

import argparse
import hashlib
import json
import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from zlib import crc32

import numpy as np
from interaction_training import PassageCodes, TrainingQuestion, train_head
from numpy.typing import NDArray
from polarity_drills import polarity_examples
from reranker_examples import RerankExample, read_examples
from role_drills import drill_examples
from update_groups import calibration_memories

from ecphora.maintenance.learn import Json, datasets, format_json
from ecphora.maintenance.learn.embedding_cache import CachingEmbedder
from ecphora.model.ports import Embedder, Passage
from ecphora.models.embedders.e5 import PASSAGE_PREFIX, E5Embedder, share_network
from ecphora.models.embedders.minilm import MiniLMEmbedder
from ecphora.models.rerankers.e5_cross_encoder import E5CrossEncoder
from ecphora.models.rerankers.late_interaction import HEAD_FILE, encode_question
from ecphora.strategies.fused.reranking import RecencyPreference

HERE = Path(__file__).parent
WEIGHTS = HERE.parent / "src" / "ecphora" / "models" / "weights"
PREFERENCES = WEIGHTS.parents[1] / "strategies" / "fused" / "weights" / "reranking.json"
MEMORIES = HERE / "data" / "memories"
SOURCES = (
    *((MEMORIES, name) for name in ("de", "en", "es", "it", "ja", "ko", "long", "many", "mixed")),
    *((MEMORIES, name) for name in ("nl", "pl", "pt", "ru", "short", "sv", "tr", "zh")),
    (HERE / "data", "talks"),
)
"""The folders and names of the sets of our own; with training/data/speakers, other questions lose."""
MANY = "many"
"""The set of memories about many matters, with which the evidence gets worse."""
NEWEST, FORMER = "update", "then"
"""The categories of questions about the present state of a matter that changed, and about a former one."""
FACTS = ("facts-own", "facts-who")
"""The sets of ``fact_set.py``."""
PASSAGES, SENTENCES = "passages", "sentences"
"""The sets of titled paragraphs of our own, and that of ``sentence_set.py``."""
FOLDS, FOLD_APART = 6, 0
"""One space in six is kept apart; of ``many``, those that the update scorer was not trained on are."""
PLAIN_SPACES = 2
"""One space in so many is read as plain texts."""
TAUGHT_ANSWERS, TAUGHT_OTHERS = 2, 6
"""How many answers and other candidates of a question the cross-encoder reads as a teacher, at most."""
DRILL_SHARE = 0.5
"""The share of the drills about roles that are used. No teacher reads drills and facts: their labels are sure."""
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
    parser.add_argument("facts", type=Path, help="folder of the sets of fact_set.py")
    parser.add_argument("sentences", type=Path, help="folder of the set of sentence_set.py")
    parser.add_argument("--work", type=Path, required=True, help="folder for candidates and token states")
    parser.add_argument("--epochs", type=float, default=EPOCHS, help="less than 1: a share of the questions")
    parser.add_argument("--rate", type=float, default=RATE, help="the highest learning rate")
    parser.add_argument("--share", type=float, default=1.0, help="the share of the spaces to train on")
    parser.add_argument("--resume", action="store_true", help="train the reranker in the package further")
    parser.add_argument("--teach", action="store_true", help="learn from the cross-encoder, too")
    parser.add_argument("--keep", action="store_true", help="keep the reranker, train only the recency preferences")
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    provenance = json.loads(PREFERENCES.read_text(encoding="utf-8"))["provenance"]
    examples = [
        example
        for folder, name in SOURCES
        if name != MANY
        for example in load_examples(options.work, folder, name, options.share)
    ]
    head_path = WEIGHTS / HEAD_FILE
    if not options.keep:
        trained = [as_plain_texts(example) for example in examples if not is_kept_apart(example.space)]
        trained += load_examples(options.work, HERE / "data", PASSAGES, takes=take_all)
        trained += load_examples(options.work, options.sentences, SENTENCES, takes=take_all)
        taught = teach(options.work, trained) if options.teach else {}
        trained += [*thin(drill_examples(), DRILL_SHARE), *polarity_examples()]
        for name in FACTS:
            trained += map(as_plain_texts, load_examples(options.work, options.facts, name, takes=take_all))
        if options.epochs < 1:
            trained = thin(trained, options.epochs)
        print(f"{len(trained)} questions train the reranker", flush=True)
        questions = list(training_questions(options.work, trained, taught))
        start = head_path.read_bytes() if options.resume else None
        head_path.write_bytes(train_head(questions, max(1, int(options.epochs)), rate=options.rate, start=start))
        sentence_paths = [options.sentences / f"{SENTENCES}.{part}.jsonl" for part in ("docs", "questions")]
        provenance |= {
            "command": f"--share {options.share}" + " --resume" * options.resume + " --teach" * options.teach,
            "sentences": {path.name: sha256(path) for path in sentence_paths},
            "questions": {"reranker": len(trained)},
        }
        print(f"HEAD_DIGEST in models/rerankers/late_interaction.py: {sha256(head_path)}")
    preferences = {
        embedder.name.partition("/")[0]: fit_preference(embedder, examples)
        for embedder in (E5Embedder(), MiniLMEmbedder())
    }
    file: dict[str, Json] = {
        "provenance": {
            "trained_by": "training/train_reader.py",
            "command": provenance["command"],
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


def fit_preference(embedder: Embedder, examples: Sequence[RerankExample]) -> RecencyPreference:
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
    """The files of the training data and the reranker, each with its SHA-256."""
    paths = (
        folder / f"{name}.{part}.jsonl" for folder, name in SOURCES if name != MANY for part in ("docs", "questions")
    )
    for path in (*paths, WEIGHTS / HEAD_FILE):
        yield path.name, sha256(path)


def sha256(path: Path) -> str:
    """The SHA-256 of a file, in hexadecimal digits."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def is_kept_apart(space: str) -> bool:
    """Whether a space is kept apart from the training of the reranker."""
    if space.startswith("many_"):
        return space in calibration_memories()
    return crc32(space.encode()) % FOLDS == FOLD_APART


def thin(examples: Iterable[RerankExample], share: float) -> list[RerankExample]:
    """A share of some examples."""
    return [one for one in examples if crc32(f"x{one.question}{one.space}".encode()) % 1_000 < 1_000 * share]


def take_all(space: str, share: float) -> bool:
    """Take every space."""
    del space, share
    return True


def is_taken(space: str, share: float) -> bool:
    """Whether a space is used: those that are kept apart always, of the others a share."""
    return is_kept_apart(space) or crc32(f"share {space}".encode()) % 1_000 < 1_000 * share


def as_plain_texts(example: RerankExample) -> RerankExample:
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
) -> list[RerankExample]:
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
    result: list[RerankExample] = pickle.loads(path.read_bytes())  # noqa: S301  # written by this script
    return result


def training_questions(
    work: Path, examples: Sequence[RerankExample], taught: Mapping[tuple[str, Passage], float]
) -> Iterator[TrainingQuestion]:
    """The examples with the token codes of their texts, and what a teacher says of some."""
    path = work / "codes.pkl"
    codes: dict[str, bytes] = pickle.loads(path.read_bytes()) if path.exists() else {}  # noqa: S301
    network = share_network()()
    passages = {passage for example in examples for passage in (*example.candidates, *example.missed_answers)}
    texts = {text for passage in passages for text in (passage.own_text, passage.previous_turn) if text}
    new_texts = sorted(texts - codes.keys())
    with ThreadPoolExecutor(2) as pool:
        found = pool.map(network.token_codes, (PASSAGE_PREFIX + text for text in new_texts))
        codes.update(zip(new_texts, found, strict=True))
        path.write_bytes(pickle.dumps(codes))
        questions = sorted({example.question for example in examples})
        states = dict(zip(questions, pool.map(partial(encode_question, network), questions), strict=True))
    for example in examples:
        texts_read = (*example.candidates, *example.missed_answers)
        is_answer = np.concatenate([example.is_answer, np.ones(len(example.missed_answers), np.bool_)])
        pairs = [PassageCodes(codes[one.own_text], codes.get(one.previous_turn, b"")) for one in texts_read]
        log_odds = np.array([taught.get((example.question, one), np.nan) for one in texts_read])
        yield TrainingQuestion(states[example.question], pairs, is_answer, log_odds)


def teach(work: Path, examples: Sequence[RerankExample]) -> dict[tuple[str, Passage], float]:
    """What the cross-encoder of the package says of some answers and of the best other candidates of questions."""
    path = work / "taught.pkl"
    if path.exists():
        found: dict[tuple[str, Passage], float] = pickle.loads(path.read_bytes())  # noqa: S301  # own file
        return found
    found, scorer = {}, E5CrossEncoder()
    for example in examples:
        candidates = list(zip(example.candidates, example.is_answer, strict=True))
        right = [one for one, is_answer in candidates if is_answer][:TAUGHT_ANSWERS]
        wrong = [one for one, is_answer in candidates if not is_answer][:TAUGHT_OTHERS]
        scores = scorer.score(example.question, [*right, *wrong], asked_on=example.asked_on)
        found.update(((example.question, one), score) for one, score in zip([*right, *wrong], scores, strict=True))
    path.write_bytes(pickle.dumps(found))
    return found


if __name__ == "__main__":
    main()
