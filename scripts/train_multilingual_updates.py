"""Train the update scorer for other languages than English; write weights/update_scorer.onnx and its judge.

    .venv/bin/pip install torch && .venv/bin/python scripts/train_multilingual_updates.py [--epochs N | --keep]

Half an hour on two cores. ``--keep`` keeps the head (no torch). Run ``train_update_scorer.py`` before, if at all: it
writes the other parts of weights/update_judge.json.

The head of the scorer (``interaction_graph.py``) is trained on the pairs of ``train_update_scorer.py`` and on two more
files of scripts/data. ``plain_languages.jsonl`` has changes and look-alikes in plain words in four languages.
``change_groups.jsonl`` has statements in thirteen languages, each with two messages that end it and four that only look
as if. Four fifths train the head. The rest of those that are not English trains the judge. The printed figures are
cross-validated over it.
"""
# ruff: noqa: INP001, T201  # a script that prints

import argparse
import hashlib
import json
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import date, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from interaction_training import TrainingQuestion, train_head
from train_update_scorer import (
    FOLDS,
    WEIGHTS,
    Labels,
    Numbers,
    TrainingPair,
    fit_linear_model,
    labels_of,
    memory_pairs,
    model_fields,
    read_lines,
    read_training_pairs,
    select_pairs,
    train_gate,
)

from ecphora import Episode, Memory, SQLiteStore
from ecphora.bench.embedding_cache import CachingEmbedder
from ecphora.consolidation.facts.judge import OTHER_LANGUAGE_FEATURES, UpdateJudge
from ecphora.embedders.e5.e5_embedder import E5Embedder
from ecphora.embedders.e5.e5_network import share_network
from ecphora.embedders.e5.interaction_head import InteractionHead, TokenStates, encode_passage
from ecphora.language.terms import is_english
from ecphora.learn import format_json
from ecphora.stages.retrieval.linear import LinearModel
from ecphora.update_scorers.late_interaction import HEAD_FILE

DATA = Path(__file__).parent / "data"
PLAIN_LANGUAGES, GROUPS = DATA / "plain_languages.jsonl", DATA / "change_groups.jsonl"
EPOCHS = 3
FIRST_DAY = date(2025, 1, 6)
"""The day of the statement of a group."""
THRESHOLDS = (0.5, 0.65, 0.8)
"""Confidences at which changes found and look-alikes taken for a change are printed."""


def main() -> None:
    """Train, measure, write."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--keep", action="store_true", help="keep the head, train only the judge")
    parser.add_argument("--epochs", type=int, default=EPOCHS)
    options = parser.parse_args()
    with CachingEmbedder(E5Embedder()) as embedder:
        language_pairs = [pair for pair in read_language_pairs(embedder) if pair.label is not None]
        path = WEIGHTS / HEAD_FILE
        if not options.keep:
            english = [pair for pair in read_training_pairs(embedder) if pair.label is not None]
            selected = [*select_pairs(english, train_gate(english)), *language_pairs]
            questions = training_questions([pair for pair in selected if not pair.trains_judge])
            path.write_bytes(train_head(list(questions), options.epochs))
            print(f"HEAD_DIGEST in update_scorers/late_interaction.py: {sha256(path)}")
    judge_pairs = [pair for pair in language_pairs if pair.trains_judge and not is_english(" ".join(pair.texts))]
    logits = score(InteractionHead(path.read_bytes()), judge_pairs)
    rows = [{**pair.features, "cross-encoder log-odds": logit} for pair, logit in zip(judge_pairs, logits, strict=True)]
    labels = np.array([bool(pair.label) for pair in judge_pairs])
    judge_path = WEIGHTS / "update_judge.json"
    file = json.loads(judge_path.read_text(encoding="utf-8"))
    file["other languages"] = model_fields(fit_linear_model(OTHER_LANGUAGE_FEATURES, rows, labels))
    file["provenance"]["other languages"] = {
        "trained_by": "scripts/train_multilingual_updates.py",
        "pairs": len(rows),
        "sha256": {one.name: sha256(one) for one in (PLAIN_LANGUAGES, GROUPS, path)},
    }
    judge_path.write_text(format_json(file), encoding="utf-8")
    print_figures(judge_pairs, cross_validate(judge_pairs, rows, labels), labels)


def sha256(path: Path) -> str:
    """The digest of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def read_language_pairs(embedder: CachingEmbedder) -> Iterator[TrainingPair]:
    """The pairs of the plain cases and of the groups; a space is named by its language and its case."""
    plain = ({**case, "language": case["id"].partition("-")[0]} for case in read_lines(PLAIN_LANGUAGES))
    in_twos = ((index // 2, case) for index, case in enumerate(plain))
    with TemporaryDirectory() as folder:
        store = SQLiteStore(Path(folder) / "m.db")
        for index, case in (*in_twos, *enumerate(group_cases())):
            space = f"{case['language']}:{case['id']}"
            memory = Memory(store, scope=space, embedder=embedder)
            memory.remember(
                [Episode(text, id_, speaker, session, at) for id_, at, speaker, session, text in case["told"]]
            )
            labels = case["labels"] if "labels" in case else labels_of(case)
            yield from memory_pairs(memory, space, labels, trains_judge=index % FOLDS == 0)
        store.close()


def group_cases() -> Iterator[dict[str, Any]]:
    """The groups as conversations: the statement, then its later messages, one a week.

    The pairs of two later messages have no label.
    """
    for number, group in enumerate(read_lines(GROUPS)):
        later = [*group["new"], *group["not"]]
        order = np.random.default_rng(number).permutation(len(later)).tolist()  # noqa: TID251  # seeded
        messages = [("old", group["speaker"], group["old"]), *((str(place), *later[place]) for place in order)]
        ids = [id_ for id_, *_ in messages]
        labels: dict[tuple[str, str], bool | None] = dict.fromkeys(
            (one, other) for one in ids for other in ids if "old" not in (one, other)
        )
        yield {
            "id": f"group-{number}",
            "language": group["lang"],
            "told": [
                [id_, str(FIRST_DAY + timedelta(weeks=week)), speaker, f"s{week}", text]
                for week, (id_, speaker, text) in enumerate(messages)
            ],
            "labels": labels | {("old", str(place)): True for place in range(len(group["new"]))},
        }


def training_questions(pairs: Sequence[TrainingPair]) -> Iterator[TrainingQuestion]:
    """The pairs with the states of their tokens; the earlier text is the question of all texts that come later."""
    states = encode_texts(pairs)
    by_earlier: dict[tuple[str, str], list[TrainingPair]] = {}
    for pair in pairs:
        by_earlier.setdefault((pair.space, pair.texts[0]), []).append(pair)
    for (_, earlier), group in by_earlier.items():
        labels = np.array([bool(pair.label) for pair in group])
        yield TrainingQuestion(states[earlier], [states[pair.texts[1]] for pair in group], labels)


def score(head: InteractionHead, pairs: Sequence[TrainingPair]) -> list[float]:
    """The head's log-odds of the pairs."""
    states = encode_texts(pairs)
    return [head.score(*(states[text] for text in pair.texts)) for pair in pairs]


def encode_texts(pairs: Sequence[TrainingPair]) -> dict[str, TokenStates]:
    """The states of each text's tokens."""
    network = share_network()()
    texts = list(dict.fromkeys(text for pair in pairs for text in pair.texts))
    with ThreadPoolExecutor(2) as pool:
        return dict(zip(texts, pool.map(lambda text: encode_passage(network, text), texts), strict=True))


def cross_validate(pairs: Sequence[TrainingPair], rows: Sequence[dict[str, float]], labels: Labels) -> Numbers:
    """The probability of each pair by a judge trained on the other folds; a space is in one fold."""
    spaces = sorted({pair.space for pair in pairs})
    folds = np.array([spaces.index(pair.space) % FOLDS for pair in pairs])
    probabilities = np.zeros(len(pairs))
    neutral = LinearModel(0.0, {})
    for fold in range(FOLDS):
        inside, outside = (np.flatnonzero(mask).tolist() for mask in (folds == fold, folds != fold))
        model = fit_linear_model(OTHER_LANGUAGE_FEATURES, [rows[place] for place in outside], labels[outside])
        judge = UpdateJudge(neutral, neutral, model)
        probabilities[inside] = [judge.probability(rows[place], is_english=False) for place in inside]
    return probabilities


def print_figures(pairs: Sequence[TrainingPair], probabilities: Numbers, labels: Labels) -> None:
    """Print how many changes are found and how many look-alikes are taken for one, by language and kind of case."""
    kinds = [f"{pair.space.partition(':')[0]} {'groups' if 'group' in pair.space else 'plain'}" for pair in pairs]
    for kind in (*sorted(set(kinds)), "groups", "plain"):
        part = np.array([one.endswith(kind) for one in kinds])
        for threshold in THRESHOLDS:
            accepted = part & (probabilities >= threshold)
            found, wrong = int((accepted & labels).sum()), int((accepted & ~labels).sum())
            print(
                f"{kind}, threshold {threshold}: {found} of {int((part & labels).sum())} changes, "
                f"{wrong} of {int((part & ~labels).sum())} look-alikes",
                flush=True,
            )


if __name__ == "__main__":
    main()
