"""What each remedy of SYNAPSE is worth: ``python benchmarks/synapse_remedies.py --data DATA --set realtalk``.

``--part rows``: recall of ``synapse`` with one field at a time as in ``synapse-faithful``, and the other way round.
``--part small``: the same in memories of a few episodes, for the fields that are meant for them; each memory holds the
whole evidence of its questions. ``--part gate``: the share of questions with evidence *none* at several gates, of the
answerable ones (false refusals) and of the others (true ones); also in memories of one episode, with the gate that is
off below ten nodes and with one that is always on. Behind a recall is its difference to the preset with the 95%
interval of paired questions, bold if that excludes 0, and ``=`` if no question differs.
"""

import argparse
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from unittest.mock import patch

import numpy as np

from ecphora.maintenance.learn.datasets import Case, read_cases
from ecphora.maintenance.learn.embedding_cache import CachingEmbedder
from ecphora.maintenance.learn.query_spaces import QuerySpace
from ecphora.maintenance.learn.regression import Numbers
from ecphora.maintenance.learn.training_examples import space_parts
from ecphora.model.graph.graph import Graph
from ecphora.model.ports import Strategy
from ecphora.model.types import Evidence, Mask, Query
from ecphora.models.embedders.from_setting import PACKAGED_EMBEDDERS
from ecphora.retrieval.confidence import DEFAULT_BANDS
from ecphora.strategies import resolve_strategy
from ecphora.strategies.synapse import confidence_gate
from ecphora.strategies.synapse.dual_trigger import TriggerResult
from ecphora.strategies.synapse.layer_consolidation import Layer
from ecphora.strategies.synapse.strategy import FAITHFUL, Synapse
from ecphora_bench.ablation.strategy_results import StrategyResults, build_spaces
from ecphora_bench.recall.intervals import bootstrap_interval

SIZES = (4, 8, 16, 64)
"""Episodes of a small memory."""
GATED_SIZE = 1
"""Episodes of the smallest memories, where the gate is off."""
QUESTIONS_PER_SIZE = 400
"""Questions of a set that are asked of memories of one size, about."""
GATES = (0.05, 0.08, 0.1, 0.12, 0.15, 0.2)
"""The gates of the sweep; the paper has .12."""
WITHOUT_RECALL = ("layer_config", "name", "W", "tau_gate", "needs_full_log", "ground_confidence")
"""Fields that change no recall of a memory that was not asked before."""
FOR_SMALL_MEMORIES = ("protect_anchors", "blend_cold_start")
"""Fields that are measured in small memories."""


@dataclass(frozen=True, slots=True, repr=False)
class DroppedConcepts(Synapse):
    """Concepts take the places of turns among the anchors, and then are none: what fewer anchors alone are worth."""

    def _find_anchors(self, query: Query, graph: Graph, eligible: Mask, layer: Layer) -> TriggerResult:
        trigger = Synapse._find_anchors(self, query, graph, eligible, layer)  # noqa: SLF001  # its own, of the base
        return replace(trigger, dense_anchors=trigger.dense_anchors[graph.episodes[trigger.dense_anchors]])


def different_fields(one: object, other: object) -> list[str]:
    """The fields in which two values differ, but for those without recall."""
    names = [field.name for field in fields(one)]  # type: ignore[arg-type]  # a dataclass
    return [name for name in names if name not in WITHOUT_RECALL and getattr(one, name) != getattr(other, name)]


def with_one_field(preset: Synapse, other: Synapse, names: Iterable[str]) -> Iterator[Synapse]:
    """A preset with one field at a time as in the other preset."""
    for name in names:
        value = getattr(other, name)
        yield replace(preset, **{name: value, "name": f"{preset.name}, {name} = {value}"})


def with_one_layer_field(preset: Synapse, other: Synapse) -> Iterator[Synapse]:
    """A preset with one parameter of its layer at a time as in the other preset."""
    for name in different_fields(preset.layer_config, other.layer_config):
        value = getattr(other.layer_config, name)
        layer = replace(preset.layer_config, **{name: value})
        yield replace(preset, layer_config=layer, name=f"{preset.name}, {name} = {value}")


def all_rows() -> list[list[Synapse]]:
    """Both presets, each followed by its variants."""
    ours, theirs = Synapse(), FAITHFUL
    names = different_fields(ours, theirs)
    dropped = {field.name: getattr(theirs, field.name) for field in fields(theirs)}
    dropped["name"] = f"{theirs.name}, concepts take places of anchors only"
    return [
        [
            ours,
            *with_one_field(ours, theirs, names),
            *with_one_layer_field(ours, theirs),
            replace(ours, use_similarity_floor=False, name=f"{ours.name}, use_similarity_floor = False"),
            replace(ours, anchors_per_trigger=5, name=f"{ours.name}, anchors_per_trigger = 5"),
        ],
        [
            theirs,
            *with_one_field(theirs, ours, names),
            *with_one_layer_field(theirs, ours),
            DroppedConcepts(**dropped),
            replace(theirs, anchors_per_trigger=5, name=f"{theirs.name}, anchors_per_trigger = 5"),
        ],
    ]


def small_rows() -> list[list[Synapse]]:
    """Both presets, each followed by its variants for small memories."""
    ours, theirs = Synapse(), FAITHFUL
    return [
        [ours, *with_one_field(ours, theirs, FOR_SMALL_MEMORIES)],
        [theirs, *with_one_field(theirs, ours, FOR_SMALL_MEMORIES)],
    ]


def decimals(value: float) -> str:
    """A share without the 0 before the point."""
    return f"{value:.3f}".replace("0.", ".", 1)


def with_sign(value: float, digits: int) -> str:
    """A difference with its sign, without one if it rounds to 0."""
    text = f"{value:+.{digits}f}".replace("0.", ".", 1).replace("-", "−")
    return text if text.strip("+−.0") else text[1:]


def cell(values: Numbers, base: Numbers | None) -> str:
    """A mean, and its difference to that of ``base``."""
    if base is None:
        return decimals(values.mean())
    change = values - base
    if not change.any():
        return f"{decimals(values.mean())} ="
    low, high = bootstrap_interval(change)
    bold = "**" if low > 0 or high < 0 else ""
    interval = f"{with_sign(low, 2)} to {with_sign(high, 2)}"
    return f"{decimals(values.mean())} {bold}{with_sign(change.mean(), 3)}{bold} ({interval})"


def print_line(label: str, cells: Iterable[str]) -> None:
    """Print a line of a table."""
    print("|", " | ".join((label, *cells)), "|", flush=True)


def print_recall(
    title: str, cases: Sequence[Case], embedder: CachingEmbedder, rows: list[list[Synapse]], cuts: tuple[int, ...]
) -> None:
    """Print a line for each strategy: recall at each cut, and its difference to the first of its list."""
    baseline = resolve_strategy("dense")
    strategies = [baseline, *(one for presets in rows for one in presets)]
    results = StrategyResults.collect(build_spaces(cases, strategies, embedder), strategies)
    count = len(results.recalls(baseline.name, cuts[0]))
    print(f"\n{title}, {embedder.name}, {count} questions of {len(cases)} memories\n")
    print_line("", (f"@{k}" for k in cuts))
    print_line("---", ("---:" for _ in cuts))
    print_line(baseline.name, (cell(results.recalls(baseline.name, k), None) for k in cuts))
    for preset, *variants in rows:
        print_line(f"**{preset.name}**", (cell(results.recalls(preset.name, k), None) for k in cuts))
        for one in variants:
            print_line(one.name, (cell(results.recalls(one.name, k), results.recalls(preset.name, k)) for k in cuts))


def small_memories(cases: Sequence[Case], size: int) -> list[Case]:
    """Some parts of ``size`` episodes, with the questions whose evidence they hold and as many that have none there."""
    parts = list(space_parts(cases, size))
    answerable = sum(len(one.questions) for one in parts) / 2
    return parts[:: max(1, round(answerable / QUESTIONS_PER_SIZE))]


def print_gates(title: str, cases: Sequence[Case], embedder: CachingEmbedder) -> None:
    """Print the refusals at each gate."""
    ours = Synapse()
    ungrounded = replace(ours, ground_confidence=False, name=f"{ours.name}, ground_confidence = False")
    spaces = build_spaces(cases, [ours], embedder)[ours.name]
    is_answerable = np.array([question.is_answerable for space in spaces for question in space.case.questions])
    print(f"\n{title}, {embedder.name}, {is_answerable.sum()} answerable questions, {(~is_answerable).sum()} others\n")
    print_line("", (decimals(gate) for gate in GATES))
    print_line("---", ("---:" for _ in GATES))
    rows: dict[str, Sequence[Strategy]] = {"dense": [resolve_strategy("dense")] * len(GATES)}
    rows |= {one.name: [replace(one, tau_gate=gate) for gate in GATES] for one in (ours, ungrounded, FAITHFUL)}
    for name, gated in rows.items():
        is_refused = np.array([refusals(one, spaces) for one in gated])
        for label, mask in (("false", is_answerable), ("true", ~is_answerable)):
            print_line(f"{name}, {label}", (decimals(row[mask].mean()) for row in is_refused))


def refusals(strategy: Strategy, spaces: Sequence[QuerySpace]) -> list[bool]:
    """For each question of some spaces, whether its evidence is *none*."""
    found = (strategy.activate(query, space.graph) for space in spaces for query in space.queries)
    return [DEFAULT_BANDS.band(one.confidence) is Evidence.NONE for one in found]


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--data", type=Path, required=True)
    options.add_argument("--set", action="append", required=True)
    options.add_argument("--part", action="append", choices=("rows", "small", "gate"))
    options.add_argument("--embedder", default="e5", choices=sorted(PACKAGED_EMBEDDERS))
    arguments = options.parse_args()
    embedder = CachingEmbedder(PACKAGED_EMBEDDERS[arguments.embedder]())
    parts = arguments.part or ["rows", "small", "gate"]
    for name in arguments.set:
        cases = list(read_cases(name, arguments.data))
        if "rows" in parts:
            print_recall(name, cases, embedder, all_rows(), (5, 10, 30))
        if "small" in parts:
            for size in SIZES:
                print_recall(f"{name}, {size} episodes", small_memories(cases, size), embedder, small_rows(), (1, 3, 5))
        if "gate" in parts:
            print_gates(name, cases, embedder)
            small = small_memories(cases, GATED_SIZE)
            print_gates(f"{name}, {GATED_SIZE} episode", small, embedder)
            with patch.object(confidence_gate, "MIN_NODES", 0):
                print_gates(f"{name}, {GATED_SIZE} episode, gate always on", small, embedder)


if __name__ == "__main__":
    main()
