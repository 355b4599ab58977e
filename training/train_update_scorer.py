"""Train the update scorer and its calibration, measure both, write update_adapters.npz, update_classifier.json.

    .venv/bin/pip install torch
    .venv/bin/python training/train_update_scorer.py [--epochs N | --resume SHARE | --keep]

An hour on two cores. ``--resume SHARE`` trains the adapters of the package further, on a share of the texts that have
an update and on fewer of the others, and takes the mean of the weights before and after (half an hour). ``--keep``
keeps the adapters (no torch, ten minutes). Both keep the gate.

The training data was written for this project. In training/data, ``changes.jsonl`` has short English conversations with
one fact update or a look-alike each, ``plain.jsonl`` the same in the simplest words, ``everyday.jsonl`` explicit
statements to an assistant, friends or colleagues, ``twins.jsonl`` pairs of such an update and its look-alike.
``talks.changes.jsonl`` labels the updates in the long conversations of ``talks.docs.jsonl``,
``histories.changes.jsonl`` those in ``histories.jsonl``, conversations over months with an assistant or between several
people. Of tests/changes, the cases in ``TRAINING_PARTS`` are used. ``update_groups.py`` has those in other languages,
and the memories ``many`` and ``logs``. All pairs of memories are analyzed by the code that consolidation runs. Four
fifths of the cases, groups and memories and all but nine conversations train the adapters (``pair_training.py``). The
rest trains the calibration, so it never sees scores of pairs that the adapters were trained on. The gate is trained on
the conversations. The calibration is trained on scores of the 8-bit graph of the package. The printed figures are
cross-validated.

The adapters of the package were trained in four runs: .8 epochs without pairs of unrelated messages, then 265 steps
at half the rate with them, then a quarter of the texts with all of ``many`` and without the mean, then 15% of the
texts with all of ``many`` and ``logs``. Two more runs, each ``--resume 1``, are not in the package. lab/training.md,
84, 86 and 94, and lab/superseded-decisions.md, 85, have the figures. The gate of the package is that of an earlier
run: trained again, it leaves out a change of the demo's chat. This file is over 400 lines because the pairs and the
calibration are made in one go.
"""
# ruff: noqa: INP001, T201  # a script that prints

import argparse
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from update_groups import (
    FOLDS,
    GROUPS,
    MEMORIES,
    MEMORY_CHANGES,
    PLAIN_LANGUAGES,
    Case,
    group_cases,
    memory_cases,
    plain_cases,
)

from ecphora import Episode, Memory, SQLiteStore
from ecphora.consolidation.facts.alignment import align
from ecphora.consolidation.facts.memory_statements import MemoryStatements
from ecphora.consolidation.facts.update_candidates import CandidateSearch
from ecphora.consolidation.facts.update_classifier import GATE_FEATURES, UpdateClassifier, load_update_classifier
from ecphora.maintenance.learn import Json, fit_logistic, format_json
from ecphora.maintenance.learn.embedding_cache import CachingEmbedder
from ecphora.maintenance.learn.metrics import auroc
from ecphora.model.ports import NodeSource
from ecphora.models.embedders import minilm
from ecphora.models.embedders.e5 import E5Embedder, share_network
from ecphora.models.embedders.pair_scoring import PairAdapters
from ecphora.models.update_scorer import ADAPTERS_FILE, E5UpdateScorer, pair_tokens
from ecphora.retrieval.fusion import LinearModel

if TYPE_CHECKING:
    from pair_training import PairGroup

HERE = Path(__file__).parent
CASES = HERE / "data" / "changes.jsonl"
DIALOG_FILES, LABEL_FILES = (
    tuple(HERE / "data" / f"{name}.jsonl" for name in names)
    for names in (("talks.docs", "histories"), ("talks.changes", "histories.changes"))
)
TEST_FILES = tuple(
    HERE.parent / "tests" / "changes" / f"{name}.jsonl"
    for name in ("matrix", "control", "held_matrix", "held_control", "everyday_matrix", "everyday_control")
)
TRAINING_PARTS = ("seen", "unseen", "held", "everyday-read")
"""The parts of the test cases that were read while the rules were written; the others are never used for training."""
WEIGHTS = HERE.parent / "src" / "ecphora" / "models" / "weights"
PLAIN, EVERYDAY, TWINS = (HERE / "data" / f"{name}.jsonl" for name in ("plain", "everyday", "twins"))
CALIBRATION_SPACES = ("a3", "c2", "h3", "h8", "h14", "h18", "h20", "h26", "h30")
"""The conversations and histories that train the calibration."""
CALIBRATION_PAIRS_PER_MEMORY = 2.0
"""Pairs of these for each memory, those with the highest gate scores: more than consolidation scores."""
HARD_NEGATIVES = 4_000
"""Pairs of the conversations without an update that train the adapters: those with the highest gate scores."""
EPOCHS, NEGATIVES = 1.0, 5
"""Epochs of the adapters' training, and the later texts without an update that an epoch has of an earlier one."""
RESUME_RATE, RESUME_NEGATIVES = 8e-4, 4
"""The rate of further training, and its pairs of an earlier text without an update."""
RESUME_WITHOUT_UPDATE = {True: 0.4, False: 0.06}
"""Of earlier texts without an update, the share that trains further: in the memories, and elsewhere."""
ADAPTER_PAIRS, CALIBRATION_PAIRS = 7, 2
"""The pairs without an update of an earlier text of ``many`` or ``logs`` that train the adapters, and that train the
calibration: the closest."""
UNRELATED_PAIRS = 3_000
"""Pairs of unrelated messages of the groups that train the calibration."""
THRESHOLDS = (0.35, 0.4, 0.45, 0.5, 0.55)
"""Confidences at which updates found and look-alikes taken for one are printed."""
NAMED_KINDS = ("group", "many", "logs")
"""The kinds of texts whose spaces bear their name."""
RIDGE, BIAS = 2.0, 1e-3
"""The ridge on the weight of a feature and on the bias."""
NEUTRAL_CLASSIFIER = UpdateClassifier(LinearModel(0.0, {}), 0.0, 0.0, 0.0)
"""A classifier that accepts all pairs."""

Numbers = NDArray[np.float64]
Labels = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class TrainingPair:
    """A pair of memories: whether the later supersedes the earlier (None: doubtful), its gate features and texts,
    and the confidence of the rules."""

    space: str
    label: bool | None
    trains_calibration: bool
    gate_features: dict[str, float]
    texts: tuple[str, str]
    rule_confidence: float
    ids: tuple[str, str]


def main() -> None:
    """Train, measure, write."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    mode = parser.add_mutually_exclusive_group()
    mode.add_argument("--keep", action="store_true", help="keep the adapters and the gate, train only the calibration")
    mode.add_argument("--epochs", type=float, default=EPOCHS)
    mode.add_argument("--resume", type=float, metavar="SHARE", help="train the adapters in the package further")
    parser.add_argument("--seed", type=int, default=0, help="of the draw of texts, so another one for each run")
    options = parser.parse_args()
    with CachingEmbedder(minilm.MiniLMEmbedder()) as embedder:
        english_pairs = [pair for pair in read_training_pairs(embedder) if pair.label is not None]
    with CachingEmbedder(E5Embedder()) as embedder:
        group_pairs = [pair for pair in read_group_pairs(embedder) if pair.label is not None]
    is_new = not options.keep and options.resume is None
    gate = train_gate(english_pairs) if is_new else load_update_classifier().gate
    selected = [*select_pairs(english_pairs, gate), *group_pairs]
    path = WEIGHTS / ADAPTERS_FILE
    if not options.keep:
        from pair_training import RATE, mean_adapters, train_adapters  # noqa: PLC0415  # torch, which only training needs

        pairs = [pair for pair in selected if not pair.trains_calibration]
        start = None if is_new else PairAdapters.from_bytes(path.read_bytes())
        adapters = train_adapters(
            share_network()(),
            pair_groups(pairs) if is_new else resume_groups(pairs, options.resume, options.seed),
            options.epochs,
            NEGATIVES if is_new else RESUME_NEGATIVES,
            rate=RATE if is_new else RESUME_RATE,
            start=start,
            seed=options.seed,
            save=lambda found: path.write_bytes(found.to_bytes()),
        )
        path.write_bytes((adapters if start is None else mean_adapters(start, adapters)).to_bytes())
        print(f"ADAPTERS_DIGEST in models/update_scorer.py: {sha256(path)}")
    calibration_pairs = sample_group_pairs([pair for pair in selected if pair.trains_calibration])
    scores = E5UpdateScorer().score([pair.texts for pair in calibration_pairs])
    features = np.stack([scores, [pair.rule_confidence for pair in calibration_pairs]], axis=1)
    labels = np.array([bool(pair.label) for pair in calibration_pairs])
    classifier = fit_classifier(gate, features, labels)
    print_figures(calibration_pairs, cross_validate(calibration_pairs, features, labels), labels)
    provenance: dict[str, Json] = {
        "trained_by": "training/train_update_scorer.py",
        "pairs": {
            "adapters": sum(not pair.trains_calibration for pair in selected),
            "gate": len(english_pairs),
            "calibration": len(calibration_pairs),
        },
        "changes": {
            "adapters": sum(bool(pair.label) for pair in selected if not pair.trains_calibration),
            "calibration": int(labels.sum()),
        },
        "sha256": {
            one.name: sha256(one)
            for one in (
                *(CASES, PLAIN, EVERYDAY, TWINS, *DIALOG_FILES, *LABEL_FILES, *TEST_FILES),
                *(PLAIN_LANGUAGES, GROUPS, *MEMORIES, *MEMORY_CHANGES, path),
            )
        },
    }
    classifier_path = WEIGHTS.parents[1] / "consolidation" / "facts" / "update_classifier.json"
    found: dict[str, Json] = {
        "provenance": provenance,
        "gate": {"bias": gate.bias, "features": dict(gate.weights)},
        "calibration": {
            "bias": classifier.bias,
            "score_weight": classifier.score_weight,
            "rule_weight": classifier.rule_weight,
        },
    }
    classifier_path.write_text(format_json(found), encoding="utf-8")


def sha256(path: Path) -> str:
    """The digest of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def pair_groups(training_pairs: Sequence[TrainingPair]) -> "list[PairGroup]":
    """The pairs by their earlier text."""
    from pair_training import PairGroup  # noqa: PLC0415  # torch, which only training needs

    network = share_network()()
    by_earlier: dict[tuple[str, str], list[TrainingPair]] = {}
    for pair in training_pairs:
        by_earlier.setdefault((pair.space, pair.texts[0]), []).append(pair)
    return [
        PairGroup([pair_tokens(network, *pair.texts) for pair in group], np.array([bool(pair.label) for pair in group]))
        for group in by_earlier.values()
    ]


def resume_groups(training_pairs: Sequence[TrainingPair], share: float, seed: int) -> "list[PairGroup]":
    """A share of the groups: of those with an update, and fewer of the others; in the memories only the closest."""
    random = np.random.default_rng(seed)  # noqa: TID251  # seeded
    result: list[PairGroup] = []
    for in_memories, share_without_update in RESUME_WITHOUT_UPDATE.items():
        pairs = [pair for pair in training_pairs if is_in_memory(pair) == in_memories]
        groups = pair_groups([*closest_pairs(pairs, ADAPTER_PAIRS)] if in_memories else pairs)
        for has_update, part in ((True, share), (False, share * share_without_update)):
            some = [group for group in groups if group.labels.any() == has_update]
            result += [some[place] for place in random.permutation(len(some))[: round(part * len(some))].tolist()]
    return result


def fit_classifier(gate: LinearModel, features: Numbers, labels: Labels) -> UpdateClassifier:
    """The classifier whose probabilities fit the labels; ``features`` are scores and confidences of the rules."""
    names = ("score", "rule")
    model = fit_linear_model(names, [dict(zip(names, row, strict=True)) for row in features.tolist()], labels)
    return UpdateClassifier(gate, model.bias, model.weights["score"], model.weights["rule"])


def print_figures(calibration_pairs: Sequence[TrainingPair], probabilities: Numbers, labels: Labels) -> None:
    """Print how many updates are found and how many other pairs are taken for one, by kind of text."""
    kinds = [kind_of(pair) for pair in calibration_pairs]
    for kind in sorted(set(kinds)):
        part = np.array([one == kind for one in kinds])
        yes, no = probabilities[part & labels], probabilities[part & ~labels]
        area = f"{auroc(yes, no):.3f}" if len(yes) else "-"
        print(f"{kind}: {len(yes)} updates, {len(no)} others; AUROC {area}")
        for threshold in THRESHOLDS:
            found, wrong = (int((values >= threshold).sum()) for values in (yes, no))
            print(f"    at {threshold} {found} updates found, {wrong} wrong", flush=True)


def kind_of(pair: TrainingPair) -> str:
    """The kind of text of a pair."""
    if has_two_groups(pair):
        return "messages of different groups"
    language, colon, name = pair.space.partition(":")
    first = name.partition("-")[0].partition("_")[0]
    return (
        "conversations" if not colon else "cases" if language == "case" else first if first in NAMED_KINDS else "plain"
    )


def cross_validate(training_pairs: Sequence[TrainingPair], features: Numbers, labels: Labels) -> Numbers:
    """The probability of each pair by a classifier trained on the other folds; a space is in one fold."""
    spaces = sorted({pair.space for pair in training_pairs})
    parts = np.array([spaces.index(pair.space) % FOLDS for pair in training_pairs])
    probabilities = np.zeros(len(training_pairs))
    for part in range(FOLDS):
        held_out = parts == part
        classifier = fit_classifier(NEUTRAL_CLASSIFIER.gate, features[~held_out], labels[~held_out])
        probabilities[held_out] = [classifier.probability(*row) for row in features[held_out].tolist()]
    return probabilities


# ---- training pairs


def read_training_pairs(embedder: CachingEmbedder) -> Iterator[TrainingPair]:
    """All pairs before the gate, of the cases and the conversations."""
    labels_by_space: dict[str, dict[tuple[str, str], bool]] = {}
    for label in read_lines(*LABEL_FILES):
        labels_by_space.setdefault(label["space"], {})[label["old"], label["new"]] = label["sure"]
    spaces: dict[str, list[Episode]] = {}
    for turn in read_lines(*DIALOG_FILES):
        spaces.setdefault(turn["space"], []).append(
            Episode(turn["text"], turn["id"], turn["speaker"], turn["session"], turn["time"])
        )
    with TemporaryDirectory() as folder:
        store = SQLiteStore(Path(folder) / "m.db")
        for space, episodes in spaces.items():
            memory = Memory(store, scope=space, embedder=embedder)
            memory.remember(episodes)
            yield from memory_pairs(
                memory,
                space,
                {k: v or None for k, v in labels_by_space[space].items()},
                trains_calibration=space in CALIBRATION_SPACES,
            )
        twins = ((index // 2, case) for index, case in enumerate(read_lines(TWINS)))
        for index, case in (*enumerate(cases()), *twins):
            space = f"case:{case['id']}"
            memory = Memory(store, scope=space, embedder=embedder)
            memory.remember(
                [Episode(text, id_, speaker, session, at) for id_, at, speaker, session, text in case["told"]]
            )
            yield from memory_pairs(memory, space, labels_of(case), trains_calibration=index % FOLDS == 0)
        store.close()


def sample_group_pairs(pairs: Sequence[TrainingPair]) -> list[TrainingPair]:
    """The pairs within a group or plain case, the closest of a memory, and some of unrelated messages."""
    unrelated = [pair for pair in pairs if has_two_groups(pair)]
    order = np.random.default_rng(0).permutation(len(unrelated))[:UNRELATED_PAIRS].tolist()  # noqa: TID251  # seeded
    in_memories = [pair for pair in pairs if is_in_memory(pair)]
    related = [pair for pair in pairs if not has_two_groups(pair) and not is_in_memory(pair)]
    return [*related, *closest_pairs(in_memories, CALIBRATION_PAIRS), *(unrelated[place] for place in order)]


def is_in_memory(pair: TrainingPair) -> bool:
    """Whether a pair is of the memories ``many`` or ``logs``."""
    return ":many_" in pair.space or ":logs_" in pair.space


def closest_pairs(pairs: Sequence[TrainingPair], count: int) -> Iterator[TrainingPair]:
    """The pairs with an update, and of the others of each earlier text those with the highest cosines."""
    by_earlier: dict[tuple[str, str], list[TrainingPair]] = {}
    for pair in pairs:
        if pair.label:
            yield pair
        else:
            by_earlier.setdefault((pair.space, pair.texts[0]), []).append(pair)
    for others in by_earlier.values():
        yield from sorted(others, key=lambda pair: -pair.gate_features["cosine"])[:count]


def has_two_groups(pair: TrainingPair) -> bool:
    """Whether the messages of a pair are of different groups."""
    first, second = (id_.partition("-")[0] for id_ in pair.ids)
    return ":group-" in pair.space and first != second


def read_group_pairs(embedder: CachingEmbedder) -> Iterator[TrainingPair]:
    """The pairs of the plain cases and of the groups; a space is named by its language and its case."""
    with TemporaryDirectory() as folder:
        store = SQLiteStore(Path(folder) / "m.db")
        for number, case in (*plain_cases(), *group_cases(), *memory_cases()):
            space = f"{case['language']}:{case['id']}"
            memory = Memory(store, scope=space, embedder=embedder)
            memory.remember(
                [Episode(text, id_, speaker, session, at) for id_, at, speaker, session, text in case["told"]]
            )
            labels = case["labels"] if "labels" in case else labels_of(case)
            yield from memory_pairs(memory, space, labels, trains_calibration=number % FOLDS == 0)
        store.close()


def cases() -> Iterator[Case]:
    """The short conversations, and the training parts of the test cases in the same form."""
    yield from read_lines(CASES, PLAIN, EVERYDAY)
    for case in read_lines(*TEST_FILES):
        if case["part"] in TRAINING_PARTS:
            turns = [[turn[name] for name in ("id", "at", "speaker", "session", "text")] for turn in case["told"]]
            yield {"kind": "none", "old": None, "new": None, **case, "told": turns}


def labels_of(case: dict[str, Any]) -> dict[tuple[str, str], bool | None]:
    """The pair of a case that is an update. If a value changed ``twice``, the older pairs have no label."""
    if case["kind"] == "none" or case["old"] is None:
        return {}
    ids = [id_ for id_, *_ in case["told"]] if case.get("twice") else []
    older: dict[tuple[str, str], bool | None] = {(old, new): None for old in ids for new in ids}
    return older | {(case["old"], case["new"]): True}


def read_lines(*paths: Path) -> Iterator[dict[str, Any]]:
    """The objects of some files of JSON lines."""
    for path in paths:
        for line in path.read_text(encoding="utf-8").splitlines():
            yield json.loads(line)


def node_source(memory: Memory) -> NodeSource:
    """A function that returns the memories of rows."""
    graph = memory.graph()
    return lambda rows: [node for row in rows.tolist() if (node := memory.get(graph.id(row))) is not None]


def memory_pairs(
    memory: Memory, space: str, labels: Mapping[tuple[str, str], bool | None], *, trains_calibration: bool
) -> Iterator[TrainingPair]:
    """The pairs of one memory."""
    graph = memory.graph()
    rows = np.flatnonzero(graph.episodes)
    statements = MemoryStatements(graph, node_source(memory))
    gate_features: list[dict[str, float]] = []

    class RecordingGate(UpdateClassifier):
        def gate_log_odds(self, features: Mapping[str, Any]) -> Numbers:
            size = len(features["cosine"])
            gate_features.extend(
                {name: float(np.broadcast_to(features[name], size)[i]) for name in GATE_FEATURES} for i in range(size)
            )
            return np.zeros(size)

    recorder = RecordingGate(*(getattr(NEUTRAL_CLASSIFIER, one.name) for one in fields(NEUTRAL_CLASSIFIER)))
    pairs = CandidateSearch(statements, 0).pairs(rows, recorder)
    for pair, gate in zip(pairs, gate_features, strict=True):
        aligned = align(statements, pair)
        if aligned is not None:
            key = graph.id(aligned.earlier[0]), graph.id(aligned.later[0])
            rule_confidence = 0.0 if aligned.rule_match is None else aligned.rule_match.confidence
            yield TrainingPair(
                space, labels.get(key, False), trains_calibration, gate, aligned.texts, rule_confidence, key
            )


def select_pairs(training_pairs: Sequence[TrainingPair], gate: LinearModel) -> list[TrainingPair]:
    """The pairs for training: all of the cases, and of the conversations the updates and the hardest negatives."""
    classifier = replace(NEUTRAL_CLASSIFIER, gate=gate)
    cases = [pair for pair in training_pairs if ":" in pair.space]
    conversations = sorted(
        (pair for pair in training_pairs if ":" not in pair.space),
        key=lambda pair: -float(classifier.gate_log_odds(pair.gate_features)[0]),
    )
    of_calibration = [pair for pair in conversations if pair.trains_calibration]
    turns = len({pair.texts[1] for pair in of_calibration})
    of_adapters = [pair for pair in conversations if not pair.trains_calibration]
    return [
        *cases,
        *of_calibration[: round(CALIBRATION_PAIRS_PER_MEMORY * turns)],
        *(pair for pair in of_adapters if pair.label),
        *[pair for pair in of_adapters if not pair.label][:HARD_NEGATIVES],
    ]


def train_gate(training_pairs: Sequence[TrainingPair]) -> LinearModel:
    """The gate, trained on the conversations, where updates are rare; prints its recall on held-out conversations.

    The cases are left out: in a short memory all pairs are scored, and look-alikes are as frequent as updates.
    """
    conversations = [pair for pair in training_pairs if ":" not in pair.space]
    labels = np.array([bool(pair.label) for pair in conversations])
    spaces = np.array([pair.space for pair in conversations])
    rows = [pair.gate_features for pair in conversations]
    log_odds = np.zeros(len(conversations))
    for space in sorted(set(spaces)):
        others = spaces != space
        classifier = replace(
            NEUTRAL_CLASSIFIER,
            gate=fit_linear_model(
                GATE_FEATURES, [row for row, other in zip(rows, others, strict=True) if other], labels[others]
            ),
        )
        log_odds[~others] = [
            classifier.gate_log_odds(row)[0] for row, other in zip(rows, others, strict=True) if not other
        ]
    turns = len({(pair.space, pair.texts[1]) for pair in conversations})
    for per_memory in (0.5, 1.0, 2.0, 4.0):
        passed = log_odds >= np.sort(log_odds)[::-1][min(len(conversations) - 1, round(per_memory * turns))]
        print(f"{per_memory} pairs per memory: {passed[labels].mean():.2f} of the labeled updates", flush=True)
    return fit_linear_model(GATE_FEATURES, rows, labels)


def fit_linear_model(names: Sequence[str], rows: Sequence[dict[str, float]], labels: Labels) -> LinearModel:
    """Logistic regression on named features."""
    values = np.array([[row[name] for name in names] for row in rows], np.float64)
    scale = values.std(axis=0) + 1e-6
    features = np.hstack([np.ones((len(rows), 1)), values / scale])
    weights = fit_logistic(features, labels.astype(np.float64), np.array([BIAS] + [RIDGE] * len(names)))
    return LinearModel(
        round(float(weights[0]), 4),
        {name: round(float(weight), 4) for name, weight in zip(names, weights[1:] / scale, strict=True)},
    )


if __name__ == "__main__":
    main()
