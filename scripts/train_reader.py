"""Train the built-in reader and what ``fused`` makes of its scores; write weights/reader.onnx and weights/reading.json.

    .venv/bin/pip install torch
    .venv/bin/python scripts/train_reader.py --work FOLDER --data DATA [--epochs N] [--rate RATE] [--keep]
        [--resume SHARE] [--sentences FOLDER]

The reader learns from texts that were written for this project: scripts/data/memories without those that are held back
and without ``many``, and the conversations scripts/data/talks. ``fused`` ranks the memories of each space for each
question; the reader learns to tell those that answer from the other candidates. One space in ``PLAIN_SPACES`` is read
as plain texts, without speakers and days. Half an hour to an hour on two cores.
The best candidates are read again by a cross-encoder, which ``train_cross_encoder.py`` trains.

``--resume SHARE`` trains the reader in the package further, on a share of the spaces. ``--sentences`` adds the
questions of ``sentence_set.py``. The reader in the package was trained with ``--resume 0.6 --sentences FOLDER
--epochs 2 --rate 4e-4``.

The reading policy learns from questions that the reader has not seen: one space in ``FOLDS`` of these texts, and the
sets ``POLICY_SETS`` of ``--data``. ``--keep`` keeps the reader and trains only the policy. Candidates, token states and
scores are kept in ``--work`` for the next run; empty the folder when the texts or the weights of ``fused`` change.
"""
# ruff: noqa: INP001, T201  # a script that prints

import argparse
import hashlib
import json
import pickle
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from pathlib import Path
from zlib import crc32

import numpy as np
from interaction_training import TrainingQuestion, train_head
from numpy.typing import NDArray
from read_candidates import compare_candidates, reread_candidates
from reader_examples import ReadingExample, read_examples
from reader_policy import (
    FORMER,
    MANY,
    MANY_CANDIDATES,
    OWN,
    ReadExample,
    confidences,
    fit_compared_preference,
    fit_comparison,
    fit_confidence,
    fit_ranking,
    fit_uncompared_preference,
    genre_weights,
    newer_answer_model,
)
from update_groups import judge_memories

from ecphora.bench import datasets
from ecphora.bench.embedding_cache import CachingEmbedder
from ecphora.bench.recall.metrics import auroc
from ecphora.embedders.e5.e5_embedder import E5Embedder
from ecphora.embedders.e5.e5_network import share_network
from ecphora.embedders.e5.interaction_head import InteractionHead, TokenStates, encode_passage
from ecphora.embedders.minilm import MiniLMEmbedder
from ecphora.learn import Json, format_json
from ecphora.model import Evidence
from ecphora.ports import Embedder, Passage
from ecphora.readers.e5_cross_encoder import ADAPTERS_FILE
from ecphora.readers.late_interaction import HEAD_FILE, encode_question
from ecphora.stages.fused.feature_matrix import Genre
from ecphora.stages.fused.newer_answers import CandidatePairs, Preferences, standardize_cosines
from ecphora.stages.fused.reading import MAX_LOG_ODDS, NAMED_SPEAKER_PREFERENCE, does_name_speaker
from ecphora.stages.fused.recency_preference import RecencyPreferences
from ecphora.stages.retrieval.confidence import DEFAULT_BANDS

HERE = Path(__file__).parent
WEIGHTS = HERE.parent / "src" / "ecphora" / "weights"
POLICY = WEIGHTS / "reading.json"
MEMORIES = HERE / "data" / "memories"
SOURCES = (
    *((MEMORIES, name) for name in ("de", "en", "es", "it", "ja", "ko", "long", "many", "mixed")),
    *((MEMORIES, name) for name in ("nl", "pl", "pt", "ru", "short", "sv", "tr", "zh")),
    (HERE / "data", "talks"),
)
"""The folders and names of the sets of our own; with scripts/data/speakers, other questions lose."""
QUESTION_STATES = HERE / "data" / "question_states.jsonl"
"""Questions about a present state, a former one, or neither."""
POLICY_SETS = ("lihua", "longmemeval_mini", "musique", "timeqa")
"""Sets of ``--data``, with licenses that allow it, that train the policy as well, and not the reader."""
SENTENCES = "sentences"
"""The set of ``sentence_set.py`` to train on."""
FOLDS, POLICY_FOLD = 6, 0
"""One space in six trains the policy; of ``many``, those that the update scorer was not trained on do."""
PLAIN_SPACES = 2
"""One space in so many is read as plain texts."""
EPOCHS, RATE = 3, 1e-3


def main() -> None:
    """Train and write."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--work", type=Path, required=True, help="folder for candidates and token states")
    parser.add_argument("--epochs", type=int, default=EPOCHS)
    parser.add_argument("--rate", type=float, default=RATE, help="the highest learning rate")
    parser.add_argument("--keep", action="store_true", help="keep the reader, train only the policy")
    parser.add_argument("--resume", type=float, metavar="SHARE", help="train the reader in the package further")
    parser.add_argument("--sentences", type=Path, help="folder of the set of sentence_set.py, to train on too")
    parser.add_argument("--data", type=Path, required=True, help="folder of the public sets that train the policy")
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    share = 1.0 if options.resume is None else options.resume
    provenance = json.loads(POLICY.read_text(encoding="utf-8"))["provenance"]
    examples = [example for folder, name in SOURCES for example in load_examples(options.work, folder, name, share)]
    trained = [  # with ``MANY``, the evidence gets worse
        as_plain_texts(example) for example in examples if not (example.dataset == MANY or trains_policy(example.space))
    ]
    sentence_paths: list[Path] = []
    if options.sentences is not None:
        trained += load_examples(options.work, options.sentences, SENTENCES)
        sentence_paths = [options.sentences / f"{SENTENCES}.{part}.jsonl" for part in ("docs", "questions")]
    kept_apart = [example for example in examples if trains_policy(example.space)]
    for name in POLICY_SETS:
        kept_apart += load_examples(options.work, options.data, name)
    print(f"{len(trained)} questions train the reader, {len(kept_apart)} the policy", flush=True)
    head_path = WEIGHTS / HEAD_FILE
    if not options.keep:
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
        embedder.name.partition("/")[0]: fit_preferences(embedder, examples)
        for embedder in (E5Embedder(), MiniLMEmbedder())
    }
    readings = load_readings(options.work, head_path, kept_apart)
    pairs = [
        (example, np.clip(reading[: len(example.candidates)][:MANY_CANDIDATES], -MAX_LOG_ODDS, MAX_LOG_ODDS))
        for example, reading in zip(kept_apart, readings, strict=True)
        if 0 < len(example.candidates) == len(example.log_odds)  # chunks of long texts are not read one by one
    ]
    read = [read_example(*pair, preferences["multilingual-e5-small"]) for pair in pairs]
    weights = fit_ranking(read)
    read = reread_candidates(options.work, read, [example for example, _ in pairs], genre_weights(weights))
    weights = fit_ranking(read)
    read = compare_candidates(read, [example for example, _ in pairs], genre_weights(weights))
    weights = fit_comparison(read, weights)
    confidence = fit_confidence(read)
    file: dict[str, Json] = {
        "provenance": {
            "trained_by": "scripts/train_reader.py",
            "resume": provenance["resume"],
            "sentences": provenance["sentences"],
            "questions": {**provenance["questions"], "policy": len(read)},
            "sha256": dict(digests()),
        },
        "reading": {genre.label: weight for genre, weight in zip(Genre, genre_weights(weights), strict=True)},
        "newer_answers": asdict(newer_answer_model(weights)),
        "confidence": {"bias": confidence.bias, "features": dict(confidence.weights)},
        "recency_preferences": {
            name: {
                part: {"bias": model.bias, "weights": np.round(model.weights.astype(float), 3).tolist()}
                for part, model in (("compared", models.compared), ("uncompared", models.uncompared))
            }
            for name, models in preferences.items()
        },
    }
    POLICY.write_text(format_json(file), encoding="utf-8")
    print_figures(read)


def read_example(
    example: ReadingExample,
    reading: NDArray[np.float64],
    models: RecencyPreferences,
) -> ReadExample:
    """What the policy's weights depend on, of the candidates that may be read; none are compared yet."""
    names_speaker = does_name_speaker(example.question, [one.speaker for one in example.candidates if one.speaker])
    factor = NAMED_SPEAKER_PREFERENCE if names_speaker else 1.0
    values = (factor * model.value_of(example.question_vector) for model in (models.compared, models.uncompared))
    return ReadExample(
        example.dataset,
        example.space,
        example.category,
        example.is_answerable,
        example.answerability,
        names_speaker,
        Preferences(*values),
        example.log_odds[:MANY_CANDIDATES],
        reading.astype(np.float32),
        example.genres[:MANY_CANDIDATES],
        CandidatePairs(
            standardize_cosines(example.cosines[:MANY_CANDIDATES, :MANY_CANDIDATES]),
            example.order[:MANY_CANDIDATES],
            np.full((len(reading), len(reading)), np.nan, np.float32),
        ),
        example.is_answer[:MANY_CANDIDATES],
    )


def fit_preferences(embedder: Embedder, examples: Sequence[ReadingExample]) -> RecencyPreferences:
    """The models that tell questions about the present state and a former one, of the vectors of an embedder."""
    states = [json.loads(line) for line in QUESTION_STATES.read_text(encoding="utf-8").splitlines()]
    with CachingEmbedder(embedder) as cache:
        vectors = cache.embed([example.question for example in examples], is_query=True)
        state_vectors = cache.embed([line["question"] for line in states], is_query=True)
    categories = np.array([example.category for example in examples])
    older = np.array([example.dataset != MANY for example in examples])
    asks_former = np.array([line["state"] == "former" for line in states])
    return RecencyPreferences(
        compared=fit_compared_preference(vectors, categories == FORMER, state_vectors, asks_former),
        uncompared=fit_uncompared_preference(vectors[older], categories[older].tolist()),
    )


def digests() -> Iterator[tuple[str, Json]]:
    """The files of the training data and the reader, each with its SHA-256."""
    paths = (folder / f"{name}.{part}.jsonl" for folder, name in SOURCES for part in ("docs", "questions"))
    for path in (*paths, QUESTION_STATES, WEIGHTS / HEAD_FILE, WEIGHTS / ADAPTERS_FILE):
        yield path.name, sha256(path)


def sha256(path: Path) -> str:
    """The SHA-256 of a file, in hexadecimal digits."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def print_figures(read: Sequence[ReadExample]) -> None:
    """Print what reading changes on the questions kept apart, cross-validated by space."""
    names = ("fused", "reading", "not compared", "all")
    rankings: dict[str, list[tuple[ReadExample, NDArray[np.float32]]]] = {name: [] for name in names}
    found: list[tuple[ReadExample, float]] = []
    folds = np.array([crc32(f"fold {example.space}".encode()) % FOLDS for example in read])
    for fold in range(FOLDS):
        inside, outside = ([read[i] for i in np.flatnonzero(mask).tolist()] for mask in (folds == fold, folds != fold))
        weights = fit_ranking(outside)
        reading, newer_answers = genre_weights(weights), newer_answer_model(fit_comparison(outside, weights))
        for one in inside:
            if one.is_answer.any():
                rankings["fused"].append((one, one.log_odds))
                rankings["reading"].append((one, one.ranking(reading, None)))
                rankings["not compared"].append((one, one.without_comparison().ranking(reading, newer_answers)))
                rankings["all"].append((one, one.ranking(reading, newer_answers)))
        found += zip(inside, confidences(inside, fit_confidence(outside)).tolist(), strict=True)
    for name, ranked in rankings.items():
        print(f"{name}: first right / among three")
        kinds = sorted({(one.group, one.category) for one, _ in ranked})
        for kind in [*((group, None) for group in sorted({group for group, _ in kinds})), *kinds]:
            some = [(one, odds) for one, odds in ranked if kind in ((one.group, None), (one.group, one.category))]
            hits = [one.is_answer[np.argsort(-odds, kind="stable")[:3]] for one, odds in some]
            first, three = (np.mean([hit[:count].any() for hit in hits]) for count in (1, 3))
            print(f"    {kind[0]} {kind[1] or ''} {first:.3f} / {three:.3f} ({len(some)})")
    for group in (*OWN, "talks"):
        before = [(one, one.answerability) for one, _ in found]
        for name, values in (("fused", before), ("reading", found)):
            yes, no = (
                np.array([value for one, value in values if one.group == group and one.is_answerable is answerable])
                for answerable in (True, False)
            )
            shares = [
                f"{evidence.value}: {part} {np.mean([DEFAULT_BANDS.band(value) is evidence for value in some]):.2f}"
                for evidence in (Evidence.STRONG, Evidence.NONE)
                for part, some in (("answerable", yes), ("unanswerable", no))
            ]
            print(f"{group}, {name}: AUROC {auroc(yes, no):.3f}", *shares, sep=", ")


def trains_policy(space: str) -> bool:
    """Whether a space is kept apart from the training of the reader."""
    if space.startswith("many_"):
        return space in judge_memories()
    return crc32(space.encode()) % FOLDS == POLICY_FOLD


def is_taken(space: str, share: float) -> bool:
    """Whether a space is used: those that train the policy always, of the others a share."""
    return trains_policy(space) or crc32(f"share {space}".encode()) % 1_000 < 1_000 * share


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


def load_examples(work: Path, folder: Path, name: str, share: float = 1.0) -> list[ReadingExample]:
    """The examples of a share of the spaces of a set, read from ``work`` or made and written there."""
    path = work / f"{name}.examples.pkl"
    if not path.exists():
        with CachingEmbedder(E5Embedder()) as embedder:
            found = [
                example
                for case in datasets.read_cases(name, folder)
                if is_taken(case.space, share)
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


def load_readings(work: Path, head_path: Path, examples: Sequence[ReadingExample]) -> list[NDArray[np.float64]]:
    """The log-odds of a reader for the passages of each example, read from ``work`` or computed and written there."""
    content = head_path.read_bytes()
    path = work / f"{hashlib.sha256(content).hexdigest()[:16]}.readings.pkl"
    if not path.exists():
        head = InteractionHead(content)
        path.write_bytes(pickle.dumps(score_candidates(head, training_questions(work, examples))))
    found: list[NDArray[np.float64]] = pickle.loads(path.read_bytes())  # noqa: S301  # written by this script
    return found


def score_candidates(head: InteractionHead, questions: Iterable[TrainingQuestion]) -> list[NDArray[np.float64]]:
    """The reader's log-odds for the passages of each question."""

    def score(question: TrainingQuestion) -> NDArray[np.float64]:
        return np.array([head.score(question.question, passage) for passage in question.passages])

    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(score, questions))


if __name__ == "__main__":
    main()
