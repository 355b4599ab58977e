"""Measures open questions of the papers, for any strategies.

Each figure's category names its condition; a level of a condition, such as a rate, is the last word. Small memories
(cold start) are measured here, and the others in :mod:`.stress`, :mod:`.extraction_noise`, :mod:`.over_retrieval` and
:mod:`.tunneling_metrics`. :func:`run` measures everything.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from enum import StrEnum

from ecphora.maintenance.learn.datasets import Case, Question
from ecphora.maintenance.learn.embedding_cache import CachingEmbedder
from ecphora.maintenance.learn.temporary_memory import Tick
from ecphora.maintenance.learn.training_examples import space_parts
from ecphora.model.ports import Strategy

from ..recall.run_records import ANSWERABLE, Figure
from . import extraction_noise, over_retrieval, stress, tunneling_metrics
from .strategy_results import BASELINES, CUTOFFS, StrategyResults, build_spaces

MEMORY_SIZES = (1, 4, 16, 64, 256, 1024)
"""Memories of a part, for the growth of recall with a memory."""
QUESTIONS_PER_SIZE = 200
"""Questions of a set that are asked of parts of one size, about."""
CUTOFF = 5
"""Documents of a ranking that are used for small memories."""
MEMORIES = "memories"
"""The condition, as the categories begin."""


class Part(StrEnum):
    """What can be measured by itself."""

    RECALL = "recall"
    STRESS = "stress"
    LIMITS = "limits"
    TUNNELING = "tunneling"
    OTHERS = "others"
    GROWTH = "growth"
    NOISE = "noise"


STEP_COUNT = len(MEMORY_SIZES) + extraction_noise.STEP_COUNT + len(over_retrieval.OTHER_SPACES) + 2
"""How many steps :func:`run` reports."""


def run(
    name: str,
    cases: Sequence[Case],
    strategies: Sequence[Strategy],
    embedder: CachingEmbedder,
    tick: Tick = lambda _steps: None,
    *,
    parts: Collection[Part] = tuple(Part),
) -> Iterator[Figure]:
    """Some parts, or everything, for one set."""
    spaces = build_spaces(cases, strategies, embedder)
    results = StrategyResults.collect(spaces, strategies)
    reference = next((one.name for one in strategies if one.name in BASELINES), strategies[0].name)
    for k in CUTOFFS if Part.RECALL in parts else ():
        yield from results.difference_figures(name, ANSWERABLE, k, reference)
    if Part.STRESS in parts:
        yield from stress.stress_figures(name, spaces, strategies, results, reference)
    if Part.LIMITS in parts:
        yield from over_retrieval.equal_recall_figures(name, results)
        yield from over_retrieval.limit_figures(name, spaces, strategies)
    tick(1)
    if Part.TUNNELING in parts:
        yield from tunneling_metrics.tunneling_figures(name, spaces, strategies)
    tick(1)
    if Part.OTHERS in parts:
        yield from over_retrieval.other_memory_figures(name, cases, strategies, embedder, tick, alone=results)
    if Part.GROWTH in parts:
        yield from growth_figures(name, cases, strategies, embedder, tick)
    if Part.NOISE in parts:
        yield from extraction_noise.noise_figures(name, cases, strategies, embedder, tick)


# ---- cold start


def growth_figures(
    name: str,
    cases: Sequence[Case],
    strategies: Sequence[Strategy],
    embedder: CachingEmbedder,
    tick: Tick = lambda _steps: None,
) -> Iterator[Figure]:
    """Recall from memories of 1 to 1,024 episodes, each of which holds the whole evidence of its questions."""
    longest = max(len(case.episodes) for case in cases)
    for size in MEMORY_SIZES:
        if size // 4 < longest:
            found = [replace(part, questions=_answerable(part)) for part in space_parts(cases, size)]
            whole = sum(len(part.questions) for part in found)
            some = found[:: max(1, round(whole / QUESTIONS_PER_SIZE))]
            asked = StrategyResults.collect(build_spaces(some, strategies, embedder), strategies)
            yield from asked.recall_figures(name, f"{MEMORIES} {size}", CUTOFF)
        tick(1)


def _answerable(part: Case) -> tuple[Question, ...]:
    return tuple(question for question in part.questions if question.is_answerable)
