"""Train what tells a change of facts, measure it, and write src/ecphora/weights/changes.npz and changes.json.

    .venv/bin/pip install torch && .venv/bin/python scripts/train_changes.py [--keep | --review]

An hour and a half on two cores; ``--keep`` leaves the adapters as they are (no torch, five minutes), ``--review`` goes
on from them (half an hour). Those that come with the package were trained in four calls: from the start with three
rounds and one, before there was ``twins.jsonl``; then ``--review`` with it three times, the first time with only 1,600
of its cases, at a ``RATE`` of 1.4e-3, 1e-3 and 8e-4.

From scripts/data, all written for this project: ``changes.jsonl`` are short conversations with one change or a
look-alike each, ``plain.jsonl`` such in the plainest words, ``everyday.jsonl`` such as people tell an assistant,
friends or colleagues outright, ``twins.jsonl`` likewise, a change and behind it its look-alike; ``talks.changes.jsonl``
marks the changes in the long talks of ``talks.docs.jsonl``, ``histories.changes.jsonl`` those in ``histories.jsonl``,
which are what one person told an assistant, or several told each other, over months; and those cases of tests/changes
that were read. Every pair of memories is seen through the very code that sleep runs. Four fifths of the cases and all
but nine talks teach low-rank adapters (LoRA; Hu et al. 2021, arXiv:2106.09685) to all-MiniLM-L6-v2, which then reads
both texts at once; the rest teaches the judge what a reading is worth beside other signs, so it never sees a reading of
what the adapters have seen. The gate learns from the talks. The readings that the judge learns from are those of the
8-bit graph that is used in the end. The numbers that it prints are of judges that were trained on the other pairs.
"""
# ruff: noqa: INP001, T201  # a script that prints

import argparse
import hashlib
import json
import math
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import minilm_source
import numpy as np
from numpy.typing import NDArray

from ecphora import Episode, Memory, SQLite
from ecphora.bench.cache import Cached
from ecphora.embedders import minilm
from ecphora.embedders.changes import ADAPTED, Adapters, MiniLMChanges, tokens
from ecphora.learn import Json, logistic, readable
from ecphora.ports import Reader
from ecphora.stages.comparing import GATE, SIGNS, Judge
from ecphora.stages.heard import Heard
from ecphora.stages.ranker import Head
from ecphora.stages.rivals import Rivals

HERE = Path(__file__).parent
CASES = HERE / "data" / "changes.jsonl"
TALKS, MARKS = (
    tuple(HERE / "data" / f"{name}.jsonl" for name in names)
    for names in (("talks.docs", "histories"), ("talks.changes", "histories.changes"))
)
TESTS = tuple(
    HERE.parent / "tests" / "changes" / f"{name}.jsonl"
    for name in ("matrix", "control", "held_matrix", "held_control", "everyday_matrix", "everyday_control")
)
READ = ("seen", "unseen", "held", "everyday-read")
"""The parts of the tests' cases that were read while the rules were written; the others stay unseen."""
WEIGHTS = HERE.parent / "src" / "ecphora" / "weights"
PLAIN, EVERYDAY, TWINS = (HERE / "data" / f"{name}.jsonl" for name in ("plain", "everyday", "twins"))
PLAINLY = "case:plain-"
REVIEW, PLAINER = 2, 2
"""After the first rounds, so many at half the step, with the plainest cases too, these so many times a round."""
CLEARLY, SOME = -3.0, 3
"""The log-odds below which a pair that is no change is learned; one in so many of these is reviewed."""
FIFTH = 5
"""Every fifth case teaches the judge, the others the adapters."""
HELD = ("a3", "c2", "h3", "h8", "h14", "h18", "h20", "h26", "h30")
"""The talks and histories that teach the judge."""
JUDGED = 2.0
"""Pairs of these for each memory that teach it, those that promise most: more than a night reads, as most are none."""
HARD = 4_000
"""Pairs of the talks that are no change and teach the adapters: those that look most like one."""
RANK, EPOCHS, BATCH, RATE, DROP, DECAY, SEED = 16, 4, 24, 1e-3, 0.1, 0.01, 0
"""Rank of the adapters, rounds, pairs at a time, the highest step, dropout, decay of weights, seed."""
RIDGE, BIAS = 2.0, 1e-3
"""The ridge on a sign's weight and on the bias."""
EVEN = Judge(Head(0.0, {}), Head(0.0, {}))
"""A judge without an opinion: lets everything through."""

Numbers = NDArray[np.float64]
Labels = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Lesson:
    """A pair of memories: whether the later replaces the earlier (None: doubtful), and what it shows."""

    space: str
    label: bool | None
    judged: bool
    gate: dict[str, float]
    signs: dict[str, float]
    texts: tuple[str, str]


def main() -> None:
    """Train, measure, write."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--keep", action="store_true", help="keep the adapters, train gate and judge alone")
    which.add_argument("--review", action="store_true", help="go on from the adapters that are there: the second part")
    given = parser.parse_args()
    lessons = [lesson for lesson in taught() if lesson.label is not None]
    gate = gated(lessons)
    read = chosen(lessons, gate)
    readers, judged = ([lesson for lesson in read if lesson.judged is which] for which in (False, True))
    path = WEIGHTS / "changes.npz"
    if not given.keep:
        first = [lesson for lesson in readers if not lesson.space.startswith(PLAINLY)]
        if not given.review:
            path.write_bytes(adapted(first, EPOCHS, RATE).packed())
        again = [lesson for lesson in readers if lesson.space.startswith(PLAINLY)] * PLAINER + hard(first)
        path.write_bytes(adapted(again, REVIEW, RATE / 2, Adapters.unpacked(path.read_bytes())).packed())
    readings = MiniLMChanges().score([lesson.texts for lesson in judged]).tolist()
    promised = Judge(gate, EVEN.judge)
    rows = [
        {**lesson.signs, "promise": float(promised.promise(lesson.gate)[0]), "reading": reading}
        for lesson, reading in zip(judged, readings, strict=True)
    ]
    labels = np.array([bool(lesson.label) for lesson in judged])
    judge = head(SIGNS, rows, labels)
    provenance: dict[str, Json] = {
        "trained_by": "scripts/train_changes.py",
        "pairs": {"adapters": len(readers), "gate": len(lessons), "judge": len(judged)},
        "changes": {"adapters": sum(bool(lesson.label) for lesson in readers), "judge": int(labels.sum())},
        "sha256": {
            path.name: hashlib.sha256(path.read_bytes()).hexdigest()
            for path in (CASES, PLAIN, EVERYDAY, TWINS, *TALKS, *MARKS, *TESTS)
        },
    }
    file: dict[str, Json] = {"provenance": provenance, "gate": _json(gate), "judge": _json(judge)}
    WEIGHTS.joinpath("changes.json").write_text(readable(file), encoding="utf-8")
    sure = crossed(judged, rows, labels)
    for name, part in (
        ("cases", np.array([":" in one.space for one in judged])),
        ("talks", np.array([":" not in one.space for one in judged])),
    ):
        for least in (0.5, 0.6, 0.7, 0.75, 0.8):
            taken = part & (sure >= least)
            found, wrong = int((taken & labels).sum()), int((taken & ~labels).sum())
            print(f"{name}, from {least}: {found} of {int((part & labels).sum())} changes, {wrong} wrong", flush=True)


def crossed(lessons: Sequence[Lesson], rows: Sequence[dict[str, float]], labels: Labels) -> Numbers:
    """How sure a judge is of each pair that was trained on the other pairs: five parts, by space."""
    spaces = sorted({lesson.space for lesson in lessons})
    parts = np.array([spaces.index(lesson.space) % FIFTH for lesson in lessons])
    sure = np.zeros(len(lessons))
    for part in range(FIFTH):
        out = parts == part
        judge = Judge(
            EVEN.gate, head(SIGNS, [row for row, left in zip(rows, out, strict=True) if not left], labels[~out])
        )
        sure[out] = [judge.sure(row) for row, left in zip(rows, out, strict=True) if left]
    return sure


# ---- lessons


def taught() -> Iterator[Lesson]:
    """Every pair that the gate may see, of the cases and of the talks."""
    marks: dict[str, dict[tuple[str, str], bool]] = {}
    for mark in lines(*MARKS):
        marks.setdefault(mark["space"], {})[mark["old"], mark["new"]] = mark["sure"]
    spaces: dict[str, list[Episode]] = {}
    for turn in lines(*TALKS):
        spaces.setdefault(turn["space"], []).append(
            Episode(turn["text"], turn["id"], turn["speaker"], turn["session"], turn["time"])
        )
    with TemporaryDirectory() as folder, Cached(minilm.MiniLM()) as embedder:
        store = SQLite(Path(folder) / "m.db")
        for space, episodes in spaces.items():
            memory = Memory(store, scope=space, embedder=embedder)
            memory.remember(episodes)
            yield from seen(memory, space, {k: v or None for k, v in marks[space].items()}, judged=space in HELD)
        twins = ((place // 2, case) for place, case in enumerate(lines(TWINS)))
        for place, case in (*enumerate(cases()), *twins):
            space = f"case:{case['id']}"
            memory = Memory(store, scope=space, embedder=embedder)
            memory.remember([Episode(text, id_, who, session, at) for id_, at, who, session, text in case["told"]])
            yield from seen(memory, space, marked(case), judged=place % FIFTH == 0)
        store.close()


def cases() -> Iterator[dict[str, Any]]:
    """The short conversations, and those of the tests that were read before, in the form of the former."""
    yield from lines(CASES, PLAIN, EVERYDAY)
    for case in lines(*TESTS):
        if case["part"] in READ:
            told = [[turn[name] for name in ("id", "at", "speaker", "session", "text")] for turn in case["told"]]
            yield {"kind": "none", "old": None, "new": None, **case, "told": told}


def marked(case: dict[str, Any]) -> dict[tuple[str, str], bool | None]:
    """The pair of a case that is a change. Of a value that changed ``twice`` the older pairs are left open."""
    if case["kind"] == "none" or case["old"] is None:
        return {}
    told = [id_ for id_, *_ in case["told"]] if case.get("twice") else []
    older: dict[tuple[str, str], bool | None] = {(one, other): None for one in told for other in told}
    return older | {(case["old"], case["new"]): True}


def lines(*paths: Path) -> Iterator[dict[str, Any]]:
    """The objects of some files, a line each."""
    for path in paths:
        for line in path.read_text(encoding="utf-8").splitlines():
            yield json.loads(line)


def reader(memory: Memory) -> Reader:
    """What fetches the memories of rows."""
    graph = memory.graph()
    return lambda rows: [node for row in rows.tolist() if (node := memory.get(graph.id(row))) is not None]


def seen(memory: Memory, space: str, gold: Mapping[tuple[str, str], bool | None], *, judged: bool) -> Iterator[Lesson]:
    """The pairs of one memory."""
    graph = memory.graph()
    rows = np.flatnonzero(graph.episodes)
    rivals = Rivals(Heard(graph, reader(memory)), 0)
    columns: list[dict[str, float]] = []

    class Noting(Judge):
        def promise(self, found: Any) -> Numbers:
            size = len(found["alike"])
            columns.extend({name: float(np.broadcast_to(found[name], size)[i]) for name in GATE} for i in range(size))
            return np.zeros(size)

    pairs = list(rivals.promising(rows, Noting(EVEN.gate, EVEN.judge)))
    for pair, gate in zip(pairs, columns, strict=True):
        faced = rivals.faced(pair)
        if faced is not None:
            key = graph.id(faced.earlier[0]), graph.id(faced.later[0])
            yield Lesson(space, gold.get(key, False), judged, gate, dict(faced.signs), faced.texts)


def chosen(lessons: Sequence[Lesson], gate: Head) -> list[Lesson]:
    """The pairs that are read: all of the cases; of the talks the changes, and what looks most like one."""
    judge = Judge(gate, EVEN.judge)
    cases = [lesson for lesson in lessons if ":" in lesson.space]
    talks = sorted((one for one in lessons if ":" not in one.space), key=lambda one: -float(judge.promise(one.gate)[0]))
    held = [one for one in talks if one.judged]
    turns = len({one.texts[1] for one in held})
    free = [one for one in talks if not one.judged]
    return [
        *cases,
        *held[: round(JUDGED * turns)],
        *(one for one in free if one.label),
        *[one for one in free if not one.label][:HARD],
    ]


def gated(lessons: Sequence[Lesson]) -> Head:
    """The gate, learned from the talks, where changes are rare; prints what it lets through of a talk it has not seen.

    The cases teach it nothing: in a short memory everything is read, and their look-alikes speak of change as often.
    """
    talks = [one for one in lessons if ":" not in one.space]
    labels = np.array([bool(one.label) for one in talks])
    spaces = np.array([one.space for one in talks])
    rows = [one.gate for one in talks]
    promise = np.zeros(len(talks))
    for space in sorted(set(spaces)):
        others = spaces != space
        left = Judge(
            head(GATE, [row for row, other in zip(rows, others, strict=True) if other], labels[others]), EVEN.judge
        )
        promise[~others] = [left.promise(row)[0] for row, other in zip(rows, others, strict=True) if not other]
    turns = len({(one.space, one.texts[1]) for one in talks})
    for each in (0.5, 1.0, 2.0, 4.0):
        let = promise >= np.sort(promise)[::-1][min(len(talks) - 1, round(each * turns))]
        print(f"{each} pairs a memory: {let[labels].mean():.2f} of the marked changes", flush=True)
    return head(GATE, rows, labels)


def head(names: Sequence[str], rows: Sequence[dict[str, float]], labels: Labels) -> Head:
    """Logistic regression on named signs."""
    values = np.array([[row[name] for name in names] for row in rows], np.float64)
    scale = values.std(axis=0) + 1e-6
    features = np.hstack([np.ones((len(rows), 1)), values / scale])
    weights = logistic(features, labels.astype(np.float64), np.array([BIAS] + [RIDGE] * len(names)))
    return Head(
        round(float(weights[0]), 4),
        {name: round(float(weight), 4) for name, weight in zip(names, weights[1:] / scale, strict=True)},
    )


def hard(lessons: Sequence[Lesson]) -> list[Lesson]:
    """The changes, and of the rest what the adapters as they are do not turn down clearly; of what they do, some."""
    readings = MiniLMChanges().score([lesson.texts for lesson in lessons]).tolist()
    return [
        lesson
        for place, (lesson, reading) in enumerate(zip(lessons, readings, strict=True))
        if lesson.label or reading > CLEARLY or place % SOME == 0
    ]


def _json(found: Head) -> Json:
    return {"bias": found.bias, "signs": dict(found.weights)}


# ---- adapters


def adapted(  # noqa: C901, PLR0915  # a model and its training, top to bottom
    lessons: Sequence[Lesson], epochs: int, rate: float, begun: Adapters | None = None
) -> Adapters:
    """Low-rank adapters of all-MiniLM-L6-v2 and a head that reads its tokens, by AdamW on the pairs."""
    import torch  # noqa: PLC0415  # only training needs it
    from torch.nn import functional  # noqa: PLC0415

    torch.manual_seed(SEED)
    model = {name: torch.tensor(value) for name, value in minilm_source.weights().items()}
    network = minilm.shared()()
    pairs = [tokens(network, *lesson.texts) for lesson in lessons]
    labels = torch.tensor([float(bool(lesson.label)) for lesson in lessons])
    down, up = {}, {}
    for name in ADAPTED:
        rows, columns = model[name].shape
        down[name] = torch.nn.Parameter(torch.randn(rows, RANK) / math.sqrt(rows))
        up[name] = torch.nn.Parameter(torch.zeros(RANK, columns))
        if begun is not None:
            down[name].data, up[name].data = (torch.tensor(part).float() for part in begun.matrices[name])
    out = torch.nn.Parameter(torch.zeros(4 * 384)), torch.nn.Parameter(torch.zeros(()))
    if begun is not None:
        out[0].data, out[1].data = torch.tensor(begun.head).float(), torch.tensor(begun.bias).float()
    parameters = [*down.values(), *up.values(), *out]
    adam = torch.optim.AdamW(parameters, lr=rate, weight_decay=DECAY)
    steps = epochs * math.ceil(len(pairs) / BATCH)
    slower = torch.optim.lr_scheduler.LambdaLR(
        adam, lambda step: min(1, (step + 1) / (steps * 0.1)) * (0.5 + 0.5 * math.cos(math.pi * min(1, step / steps)))
    )

    def dropped(values: Any) -> Any:
        return functional.dropout(values, DROP)

    def line(x: Any, layer: int, part: str) -> Any:
        name = f"{layer}.{part}"
        return x @ model[name] + model[f"{name}.bias"] + (x @ down[name]) @ up[name]

    def normed(x: Any, name: str) -> Any:
        return functional.layer_norm(x, (384,), model[f"{name}.scale"], model[f"{name}.bias"], 1e-12)

    def odds(ids: Any, kinds: Any, mask: Any) -> Any:
        x = normed(model["words"][ids] + model["kinds"][kinds] + model["places"][: ids.shape[1]], "begin")
        bias = torch.where(mask[:, None, None, :] > 0, 0.0, -1e9)
        for layer in range(6):

            def heads(part: str, x: Any = x, layer: int = layer) -> Any:
                return line(x, layer, part).view(*x.shape[:2], 12, 32).transpose(1, 2)

            found = functional.scaled_dot_product_attention(heads("q"), heads("k"), heads("v"), attn_mask=bias)
            x = normed(x + dropped(line(found.transpose(1, 2).reshape(x.shape), layer, "o")), f"{layer}.attended")
            x = normed(x + dropped(line(functional.gelu(line(x, layer, "in")), layer, "out")), f"{layer}.passed")
        later = (mask * kinds)[..., None].float()
        earlier = (mask * (1 - kinds))[..., None].float()
        one, other = ((x * part).sum(1) / part.sum(1) for part in (earlier, later))
        return dropped(torch.cat([x[:, 0], one, other, one * other], -1)) @ out[0] + out[1]

    chance = np.random.default_rng(SEED)  # noqa: TID251  # the order of lessons, seeded
    for epoch in range(epochs):
        started, total = time.perf_counter(), 0.0
        batches = list(_batches(pairs, chance))
        for batch in batches:
            width = max(len(pairs[place][0]) for place in batch)
            ids, kinds, mask = (np.zeros((len(batch), width), np.int64) for _ in range(3))
            for row, place in enumerate(batch):
                size = len(pairs[place][0])
                ids[row, :size], kinds[row, :size], mask[row, :size] = *pairs[place], 1
            found = odds(torch.tensor(ids), torch.tensor(kinds), torch.tensor(mask))
            loss = functional.binary_cross_entropy_with_logits(found, labels[batch])
            adam.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(parameters, 1.0)
            adam.step()
            slower.step()
            total += loss.item()
        print(f"epoch {epoch + 1}: loss {total / len(batches):.3f}, {time.perf_counter() - started:.0f} s", flush=True)

    def kept(found: Any) -> NDArray[np.float16]:
        return found.detach().numpy().astype(np.float16)

    return Adapters(
        {name: (kept(down[name]), kept(up[name])) for name in ADAPTED}, kept(out[0]), float(out[1].detach())
    )


def _batches(pairs: Sequence[tuple[list[int], list[int]]], chance: np.random.Generator) -> Iterator[list[int]]:
    """Pairs of about one length together, in any order."""
    lengths = np.array([len(ids) for ids, _ in pairs]) + chance.uniform(0, 12, len(pairs))
    order = np.argsort(lengths, kind="stable")
    starts = np.arange(0, len(order), BATCH)
    chance.shuffle(starts)
    for start in starts.tolist():
        yield order[start : start + BATCH].tolist()


if __name__ == "__main__":
    main()
