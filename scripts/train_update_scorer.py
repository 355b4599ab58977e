"""Train the update scorer and its judge, measure them, write weights/update_adapters.npz and update_judge.json.

    .venv/bin/pip install torch && .venv/bin/python scripts/train_update_scorer.py [--keep | --review]

An hour and a half on two cores; ``--keep`` leaves the adapters as they are (no torch, five minutes), ``--review`` goes
on from them (half an hour). Those that come with the package were trained in four calls: from the start with three
rounds and one, before there was ``twins.jsonl``; then ``--review`` with it three times, the first time with only 1,600
of its cases, at a ``RATE`` of 1.4e-3, 1e-3 and 8e-4.

From scripts/data, all written for this project: ``changes.jsonl`` are short conversations with one change or a
look-alike each, ``plain.jsonl`` such in the plainest words, ``everyday.jsonl`` such as people tell an assistant,
friends or colleagues outright, ``twins.jsonl`` likewise, a change and behind it its look-alike; ``talks.changes.jsonl``
marks the changes in the long talks of ``talks.docs.jsonl``, ``histories.changes.jsonl`` those in ``histories.jsonl``,
which are what one person told an assistant, or several told each other, over months; and those cases of tests/changes
that were read. Every pair of memories is read by the code that consolidation runs. Four fifths of the cases and all
but nine talks teach low-rank adapters (LoRA; Hu et al. 2021, arXiv:2106.09685) to all-MiniLM-L6-v2, which then reads
both texts at once; the rest teaches the judge what a reading is worth beside other signs, so it never sees a reading of
what the adapters have seen. The gate learns from the talks. The readings that the judge learns from are those of the
8-bit graph that is used in the end. The numbers that it prints are of judges that were trained on the other pairs.
"""
# ruff: noqa: INP001, T201  # a script that prints

import argparse
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from adapter_training import train_adapters
from numpy.typing import NDArray

from ecphora import Episode, Memory, SQLiteStore
from ecphora.bench.embedding_cache import CachingEmbedder
from ecphora.consolidation.facts.alignment import align
from ecphora.consolidation.facts.judge import GATE_FEATURES, JUDGE_FEATURES, UpdateJudge
from ecphora.consolidation.facts.memory_statements import MemoryStatements
from ecphora.consolidation.facts.update_candidates import CandidateSearch
from ecphora.embedders import minilm
from ecphora.learn import Json, fit_logistic, format_json
from ecphora.ports import NodeReader
from ecphora.stages.retrieval.linear import LinearModel
from ecphora.update_scorers.minilm_lora import Adapters, MiniLMUpdateScorer

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
"""The parts of the tests' cases that were read while the rules were written; the others stay unseen."""
WEIGHTS = HERE.parent / "src" / "ecphora" / "weights"
PLAIN, EVERYDAY, TWINS = (HERE / "data" / f"{name}.jsonl" for name in ("plain", "everyday", "twins"))
PLAIN_PREFIX = "case:plain-"
REVIEW_EPOCHS, PLAIN_REPEATS = 2, 2
"""Further rounds at half the step that include the plain cases, and how often these are repeated in a round."""
CLEAR_NEGATIVE_LOGIT, NEGATIVE_SAMPLING = -3.0, 3
"""The log-odds below which a pair that is no change counts as learned; one in how many of these is reviewed."""
FOLDS = 5
"""Every fifth case teaches the judge, the others the adapters."""
JUDGE_SPACES = ("a3", "c2", "h3", "h8", "h14", "h18", "h20", "h26", "h30")
"""The talks and histories that teach the judge."""
JUDGE_PAIRS_PER_MEMORY = 2.0
"""Pairs of these for each memory that teach it, those that promise most: more than consolidation reads."""
HARD_NEGATIVES = 4_000
"""Pairs of the talks that are no change and teach the adapters: those that look most like one."""
EPOCHS, RATE = 4, 1e-3
"""Rounds of the adapters' training, and the highest step."""
RIDGE, BIAS = 2.0, 1e-3
"""The ridge on a sign's weight and on the bias."""
NEUTRAL_JUDGE = UpdateJudge(LinearModel(0.0, {}), LinearModel(0.0, {}))
"""A judge that lets everything through."""

Numbers = NDArray[np.float64]
Labels = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Lesson:
    """A pair of memories: whether the later replaces the earlier (None: doubtful), and what it shows."""

    space: str
    label: bool | None
    teaches_judge: bool
    gate_features: dict[str, float]
    features: dict[str, float]
    texts: tuple[str, str]


def main() -> None:
    """Train, measure, write."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--keep", action="store_true", help="keep the adapters, train gate and judge alone")
    which.add_argument("--review", action="store_true", help="go on from the adapters that are there: the second part")
    given = parser.parse_args()
    lessons = [lesson for lesson in read_lessons() if lesson.label is not None]
    gate = train_gate(lessons)
    read = select_lessons(lessons, gate)
    readers, judged = ([lesson for lesson in read if lesson.teaches_judge is which] for which in (False, True))
    path = WEIGHTS / "update_adapters.npz"
    if not given.keep:
        first = [lesson for lesson in readers if not lesson.space.startswith(PLAIN_PREFIX)]
        if not given.review:
            path.write_bytes(adapters_of(first, EPOCHS, RATE).to_bytes())
        again = [lesson for lesson in readers if lesson.space.startswith(PLAIN_PREFIX)] * PLAIN_REPEATS + hard_lessons(
            first
        )
        path.write_bytes(adapters_of(again, REVIEW_EPOCHS, RATE / 2, Adapters.from_bytes(path.read_bytes())).to_bytes())
    readings = MiniLMUpdateScorer().score([lesson.texts for lesson in judged]).tolist()
    promised = UpdateJudge(gate, NEUTRAL_JUDGE.judge)
    rows = [
        {
            **lesson.features,
            "gate log-odds": float(promised.gate_log_odds(lesson.gate_features)[0]),
            "cross-encoder log-odds": reading,
        }
        for lesson, reading in zip(judged, readings, strict=True)
    ]
    labels = np.array([bool(lesson.label) for lesson in judged])
    judge = fit_linear_model(JUDGE_FEATURES, rows, labels)
    provenance: dict[str, Json] = {
        "trained_by": "scripts/train_update_scorer.py",
        "pairs": {"adapters": len(readers), "gate": len(lessons), "judge": len(judged)},
        "changes": {"adapters": sum(bool(lesson.label) for lesson in readers), "judge": int(labels.sum())},
        "sha256": {
            path.name: hashlib.sha256(path.read_bytes()).hexdigest()
            for path in (CASES, PLAIN, EVERYDAY, TWINS, *DIALOG_FILES, *LABEL_FILES, *TEST_FILES)
        },
    }
    file: dict[str, Json] = {"provenance": provenance, "gate": _model_fields(gate), "judge": _model_fields(judge)}
    WEIGHTS.joinpath("update_judge.json").write_text(format_json(file), encoding="utf-8")
    sure = cross_validate(judged, rows, labels)
    for name, part in (
        ("cases", np.array([":" in one.space for one in judged])),
        ("talks", np.array([":" not in one.space for one in judged])),
    ):
        for least in (0.5, 0.6, 0.7, 0.75, 0.8):
            taken = part & (sure >= least)
            found, wrong = int((taken & labels).sum()), int((taken & ~labels).sum())
            print(f"{name}, from {least}: {found} of {int((part & labels).sum())} changes, {wrong} wrong", flush=True)


def adapters_of(lessons: Sequence[Lesson], epochs: int, rate: float, initial: Adapters | None = None) -> Adapters:
    """The adapters that some pairs teach."""
    return train_adapters(
        [lesson.texts for lesson in lessons], [bool(lesson.label) for lesson in lessons], epochs, rate, initial
    )


def cross_validate(lessons: Sequence[Lesson], rows: Sequence[dict[str, float]], labels: Labels) -> Numbers:
    """How sure a judge is of each pair that was trained on the other pairs: five parts, by space."""
    spaces = sorted({lesson.space for lesson in lessons})
    parts = np.array([spaces.index(lesson.space) % FOLDS for lesson in lessons])
    sure = np.zeros(len(lessons))
    for part in range(FOLDS):
        out = parts == part
        judge = UpdateJudge(
            NEUTRAL_JUDGE.gate,
            fit_linear_model(
                JUDGE_FEATURES, [row for row, left in zip(rows, out, strict=True) if not left], labels[~out]
            ),
        )
        sure[out] = [judge.probability(row) for row, left in zip(rows, out, strict=True) if left]
    return sure


# ---- lessons


def read_lessons() -> Iterator[Lesson]:
    """Every pair that the gate may see, of the cases and of the talks."""
    marks: dict[str, dict[tuple[str, str], bool]] = {}
    for mark in read_lines(*LABEL_FILES):
        marks.setdefault(mark["space"], {})[mark["old"], mark["new"]] = mark["sure"]
    spaces: dict[str, list[Episode]] = {}
    for turn in read_lines(*DIALOG_FILES):
        spaces.setdefault(turn["space"], []).append(
            Episode(turn["text"], turn["id"], turn["speaker"], turn["session"], turn["time"])
        )
    with TemporaryDirectory() as folder, CachingEmbedder(minilm.MiniLMEmbedder()) as embedder:
        store = SQLiteStore(Path(folder) / "m.db")
        for space, episodes in spaces.items():
            memory = Memory(store, scope=space, embedder=embedder)
            memory.remember(episodes)
            yield from memory_lessons(
                memory, space, {k: v or None for k, v in marks[space].items()}, teaches_judge=space in JUDGE_SPACES
            )
        twins = ((place // 2, case) for place, case in enumerate(read_lines(TWINS)))
        for place, case in (*enumerate(cases()), *twins):
            space = f"case:{case['id']}"
            memory = Memory(store, scope=space, embedder=embedder)
            memory.remember([Episode(text, id_, who, session, at) for id_, at, who, session, text in case["told"]])
            yield from memory_lessons(memory, space, labels_of(case), teaches_judge=place % FOLDS == 0)
        store.close()


def cases() -> Iterator[dict[str, Any]]:
    """The short conversations, and those of the tests that were read before, in the form of the former."""
    yield from read_lines(CASES, PLAIN, EVERYDAY)
    for case in read_lines(*TEST_FILES):
        if case["part"] in TRAINING_PARTS:
            told = [[turn[name] for name in ("id", "at", "speaker", "session", "text")] for turn in case["told"]]
            yield {"kind": "none", "old": None, "new": None, **case, "told": told}


def labels_of(case: dict[str, Any]) -> dict[tuple[str, str], bool | None]:
    """The pair of a case that is a change. Of a value that changed ``twice`` the older pairs are left open."""
    if case["kind"] == "none" or case["old"] is None:
        return {}
    told = [id_ for id_, *_ in case["told"]] if case.get("twice") else []
    older: dict[tuple[str, str], bool | None] = {(one, other): None for one in told for other in told}
    return older | {(case["old"], case["new"]): True}


def read_lines(*paths: Path) -> Iterator[dict[str, Any]]:
    """The objects of some files, a line each."""
    for path in paths:
        for line in path.read_text(encoding="utf-8").splitlines():
            yield json.loads(line)


def node_reader(memory: Memory) -> NodeReader:
    """A function that returns the memories of rows."""
    graph = memory.graph()
    return lambda rows: [node for row in rows.tolist() if (node := memory.get(graph.id(row))) is not None]


def memory_lessons(
    memory: Memory, space: str, labels: Mapping[tuple[str, str], bool | None], *, teaches_judge: bool
) -> Iterator[Lesson]:
    """The pairs of one memory."""
    graph = memory.graph()
    rows = np.flatnonzero(graph.episodes)
    statements = MemoryStatements(graph, node_reader(memory))
    columns: list[dict[str, float]] = []

    class Noting(UpdateJudge):
        def gate_log_odds(self, features: Mapping[str, Any]) -> Numbers:
            size = len(features["cosine"])
            columns.extend(
                {name: float(np.broadcast_to(features[name], size)[i]) for name in GATE_FEATURES} for i in range(size)
            )
            return np.zeros(size)

    pairs = CandidateSearch(statements, 0).pairs(rows, Noting(NEUTRAL_JUDGE.gate, NEUTRAL_JUDGE.judge))
    for pair, gate in zip(pairs, columns, strict=True):
        faced = align(statements, pair)
        if faced is not None:
            key = graph.id(faced.earlier[0]), graph.id(faced.later[0])
            yield Lesson(space, labels.get(key, False), teaches_judge, gate, dict(faced.features), faced.texts)


def select_lessons(lessons: Sequence[Lesson], gate: LinearModel) -> list[Lesson]:
    """The pairs that are read: all of the cases; of the talks the changes, and what looks most like one."""
    judge = UpdateJudge(gate, NEUTRAL_JUDGE.judge)
    cases = [lesson for lesson in lessons if ":" in lesson.space]
    talks = sorted(
        (one for one in lessons if ":" not in one.space),
        key=lambda one: -float(judge.gate_log_odds(one.gate_features)[0]),
    )
    held = [one for one in talks if one.teaches_judge]
    turns = len({one.texts[1] for one in held})
    free = [one for one in talks if not one.teaches_judge]
    return [
        *cases,
        *held[: round(JUDGE_PAIRS_PER_MEMORY * turns)],
        *(one for one in free if one.label),
        *[one for one in free if not one.label][:HARD_NEGATIVES],
    ]


def train_gate(lessons: Sequence[Lesson]) -> LinearModel:
    """The gate, learned from the talks, where changes are rare; prints what it lets through of a talk it has not seen.

    The cases teach it nothing: in a short memory everything is read, and their look-alikes speak of change as often.
    """
    talks = [one for one in lessons if ":" not in one.space]
    labels = np.array([bool(one.label) for one in talks])
    spaces = np.array([one.space for one in talks])
    rows = [one.gate_features for one in talks]
    promise = np.zeros(len(talks))
    for space in sorted(set(spaces)):
        others = spaces != space
        left = UpdateJudge(
            fit_linear_model(
                GATE_FEATURES, [row for row, other in zip(rows, others, strict=True) if other], labels[others]
            ),
            NEUTRAL_JUDGE.judge,
        )
        promise[~others] = [left.gate_log_odds(row)[0] for row, other in zip(rows, others, strict=True) if not other]
    turns = len({(one.space, one.texts[1]) for one in talks})
    for each in (0.5, 1.0, 2.0, 4.0):
        let = promise >= np.sort(promise)[::-1][min(len(talks) - 1, round(each * turns))]
        print(f"{each} pairs a memory: {let[labels].mean():.2f} of the marked changes", flush=True)
    return fit_linear_model(GATE_FEATURES, rows, labels)


def fit_linear_model(names: Sequence[str], rows: Sequence[dict[str, float]], labels: Labels) -> LinearModel:
    """Logistic regression on named signs."""
    values = np.array([[row[name] for name in names] for row in rows], np.float64)
    scale = values.std(axis=0) + 1e-6
    features = np.hstack([np.ones((len(rows), 1)), values / scale])
    weights = fit_logistic(features, labels.astype(np.float64), np.array([BIAS] + [RIDGE] * len(names)))
    return LinearModel(
        round(float(weights[0]), 4),
        {name: round(float(weight), 4) for name, weight in zip(names, weights[1:] / scale, strict=True)},
    )


def hard_lessons(lessons: Sequence[Lesson]) -> list[Lesson]:
    """The changes, and of the rest what the adapters as they are do not turn down clearly; of what they do, some."""
    readings = MiniLMUpdateScorer().score([lesson.texts for lesson in lessons]).tolist()
    return [
        lesson
        for place, (lesson, reading) in enumerate(zip(lessons, readings, strict=True))
        if lesson.label or reading > CLEAR_NEGATIVE_LOGIT or place % NEGATIVE_SAMPLING == 0
    ]


def _model_fields(model: LinearModel) -> Json:
    return {"bias": model.bias, "features": dict(model.weights)}


if __name__ == "__main__":
    main()
