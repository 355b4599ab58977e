"""What each remedy of SYNAPSE is worth: ``python benchmarks/synapse_remedies.py --data DATA --set realtalk``.

``--part rows``: recall of ``synapse`` with what it adds to the paper, or leaves out, switched back one at a time, and of
``synapse-faithful`` with one of these at a time. ``--part small``: the same in memories of a few episodes, for what is
meant for them; each holds the whole evidence of its questions. ``--part gate``: the refusals of both at several gates,
of answerable questions (false) and of unanswerable ones (true). Behind a value is its difference to the first row of
its block with the 95% interval of paired questions, bold if that excludes 0; = if no question differs.
"""

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from ecphora.bench.ablation.strategy_results import StrategyResults, build_spaces
from ecphora.bench.datasets import Case, read_cases
from ecphora.bench.embedding_cache import CachingEmbedder
from ecphora.bench.learning.training_examples import space_parts
from ecphora.bench.recall.metrics import Numbers, bootstrap_interval
from ecphora.embedders.packaged import PACKAGED_EMBEDDERS
from ecphora.model import Evidence
from ecphora.ports import Strategy
from ecphora.stages.retrieval.confidence import DEFAULT_BANDS
from ecphora.stages.synapse.layer_consolidation import LayerConfig
from ecphora.strategies import resolve_strategy
from ecphora.strategies.synapse import FAITHFUL, Synapse

SIZES = (4, 8, 16, 64)
"""Episodes of a small memory."""
QUESTIONS_PER_SIZE = 400
"""Questions of a set that are asked of memories of one size, about."""
GATES = (0.05, 0.08, 0.1, 0.12, 0.15, 0.2)
FOR_SMALL_MEMORIES = ("protect_anchors", "repeat_iteration", "blend_few_edges", "fall_back_in_cold_start")
"""What is measured in small memories."""


@dataclass(frozen=True)
class Block:
    """Rows of a table; differences are to the first."""

    rows: list[Strategy]


def toggles(names: Sequence[str], start: Synapse, other: Synapse) -> Iterator[Synapse]:
    """A preset with one field at a time as in the other preset; a field ``layer_config.x`` is one of the layer."""
    for name in names:
        layer, value = name.removeprefix("layer_config."), other
        if layer != name:
            changed = replace(start.layer_config, **{layer: getattr(other.layer_config, layer)})
            yield replace(start, layer_config=changed, name=f"{start.name}, {layer} = {getattr(changed, layer)}")
        else:
            changed = replace(start, **{name: getattr(value, name)})
            yield replace(changed, name=f"{start.name}, {name} = {getattr(value, name)}")


def different_fields() -> list[str]:
    """The fields in which the presets differ and that may change a recall."""
    ours, theirs = Synapse(), FAITHFUL
    apart = ("layer_config", "name", "W", "tau_gate", "needs_full_log", "ground_confidence")
    names = [name for name in Synapse.__slots__ if name not in apart and getattr(ours, name) != getattr(theirs, name)]
    layers = [
        f"layer_config.{name}"
        for name in LayerConfig.__slots__
        if getattr(ours.layer_config, name) != getattr(theirs.layer_config, name)
    ]
    return [*names, *layers]


def blocks(names: Sequence[str]) -> list[Block]:
    """The baseline, and both presets, each with one field at a time as in the other."""
    ours, theirs = Synapse(), FAITHFUL
    without_floor = replace(ours, use_similarity_floor=False, name="synapse, use_similarity_floor = False")
    floor = [without_floor] if len(names) > len(FOR_SMALL_MEMORIES) else []
    return [
        Block([resolve_strategy("dense")]),
        Block([ours, *toggles(names, ours, theirs), *floor]),
        Block([theirs, *toggles(names, theirs, ours)]),
    ]


def cell(values: Numbers, base: Numbers) -> str:
    """A mean, and its difference to that of ``base``."""
    change = values - base
    if values is base:
        return f"{values.mean():.3f}"
    if not change.any():
        return f"{values.mean():.3f} ="
    low, high = bootstrap_interval(change)
    bold = "**" if low > 0 or high < 0 else ""
    return f"{values.mean():.3f} {bold}{change.mean():+.3f}{bold} ({low:+.3f} to {high:+.3f})"


def print_recall(title: str, cases: Sequence[Case], embedder: CachingEmbedder, names: Sequence[str], cuts: Sequence[int]) -> None:
    """A row for each strategy: recall at each cut."""
    table = blocks(names)
    strategies = [row for block in table for row in block.rows]
    results = StrategyResults.collect(build_spaces(cases, strategies, embedder), strategies)
    count = len(results.results_by_strategy["dense"])
    print(f"\n{title}, {embedder.name}, {count} questions in {len(cases)} memories")
    print("| |", " | ".join(f"@{k}" for k in cuts), "|")
    print("| --- |", " | ".join("---:" for _ in cuts), "|")
    for block in table:
        base = {k: results.recalls(block.rows[0].name, k) for k in cuts}
        for row in block.rows:
            found = [base[k] if row is block.rows[0] else results.recalls(row.name, k) for k in cuts]
            print(f"| {row.name} |", " | ".join(cell(one, base[k]) for one, k in zip(found, cuts, strict=True)), "|")


def print_small(name: str, cases: Sequence[Case], embedder: CachingEmbedder) -> None:
    """Recall in small memories."""
    for size in SIZES:
        parts = [replace(one, questions=tuple(q for q in one.questions if q.is_answerable)) for one in space_parts(cases, size)]
        whole = sum(len(one.questions) for one in parts)
        some = parts[:: max(1, round(whole / QUESTIONS_PER_SIZE))]
        print_recall(f"{name}, {size} episodes", some, embedder, FOR_SMALL_MEMORIES, (1, 3, 5))


def print_gates(name: str, cases: Sequence[Case], embedder: CachingEmbedder) -> None:
    """The refusals at each gate."""
    presets = [Synapse(), replace(Synapse(), ground_confidence=False, name="synapse, ground_confidence = False"), FAITHFUL]
    spaces = build_spaces(cases, [Synapse()], embedder)["synapse"]
    answerable = np.array([question.is_answerable for space in spaces for question in space.case.questions])
    print(f"\n{name}, {embedder.name}, {answerable.sum()} answerable and {(~answerable).sum()} unanswerable questions")
    print("| |", " | ".join(f"{gate:.2f}" for gate in GATES), "|")
    print("| --- |", " | ".join("---:" for _ in GATES), "|")
    for preset in presets:
        refused = np.array([
            [is_refused(replace(preset, tau_gate=gate), space, number) for space in spaces for number in range(len(space.queries))]
            for gate in GATES
        ])
        for label, mask in (("false", answerable), ("true", ~answerable)):
            print(f"| {preset.name}, {label} |", " | ".join(f"{row[mask].mean():.3f}" for row in refused), "|", flush=True)


def is_refused(strategy: Strategy, space, number: int) -> bool:
    """Whether the evidence for a question is *none*."""
    found = strategy.activate(space.queries[number], space.graph)
    return DEFAULT_BANDS.band(found.confidence) is Evidence.NONE


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--data", type=Path, required=True)
    options.add_argument("--set", action="append", required=True)
    options.add_argument("--part", action="append", choices=("rows", "small", "gate"))
    options.add_argument("--spaces", type=int, help="how many spaces of a set, all by default")
    options.add_argument("--embedder", default="e5", choices=sorted(PACKAGED_EMBEDDERS))
    arguments = options.parse_args()
    embedder = CachingEmbedder(PACKAGED_EMBEDDERS[arguments.embedder]())
    parts = arguments.part or ["rows", "small", "gate"]
    for name in arguments.set:
        cases = list(read_cases(name, arguments.data))[: arguments.spaces]
        if "rows" in parts:
            print_recall(name, cases, embedder, different_fields(), (5, 10))
        if "small" in parts:
            print_small(name, cases, embedder)
        if "gate" in parts:
            print_gates(name, cases, embedder)


if __name__ == "__main__":
    main()
