"""What SynapticRAG's history, thresholds and remedies are worth: ``python benchmarks/synaptic_history.py --data DATA``.

    python benchmarks/synaptic_history.py --data DATA --set realtalk --set locomo --part history --embedder e5

A conversation is stored in memory turn by turn, each turn as a query too where the strategy asks for it, and then its
questions are asked. Parts: ``history`` and ``published-history``, the practical and the published form with and
without the potential and the spikes of earlier turns; ``costh``, the published form at several cosine thresholds;
``remedies``, one remedy at a time against over-retrieval; ``baselines``, the baselines of the paper.

Columns: recall@5 and @10 with the differences to dense and to the first row of the same run, bold if the 95% interval
over questions excludes 0; the memories that fire per question; the share of gold among them, and the share of the gold
that they hold (micro averages); the share that as many memories of dense hold; and the charged memories, the share of
all with a potential above 0 and below the threshold when the questions are asked. ERC: the share of the gold among as
many documents as fire in the first row, ``as published`` (micro average, as in the paper).
"""

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ecphora import strategies
from ecphora.cli.learn import open_embedder
from ecphora.maintenance.learn import datasets
from ecphora.maintenance.learn.query_spaces import QuerySpace
from ecphora.model.graph.graph import Graph
from ecphora.model.graph.updates import apply_batch
from ecphora.model.ports import Activation, Strategy
from ecphora.model.types import Access, AccessKind, Query, WriteBatch
from ecphora.remember.write_recall import writes_on_store
from ecphora.strategies.baselines import Dense
from ecphora.strategies.synaptic.lif_neuron import stimulate
from ecphora.strategies.synaptic.network_state import network_state
from ecphora.strategies.synaptic.strategy import FAITHFUL, PublishedSynaptic, Synaptic
from ecphora.testing import NOON, sample_node
from ecphora_bench.spaces import build_query_space

Numbers = NDArray[np.float64]
PUBLISHED = "as published"
MAX_SPIKES = 16
"""Where a neuron seldom fires its spike train grows without end, and with its square the time: it is cut (1.11.2)."""


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a table: a strategy, and the most memories that it returns of those that fire."""

    name: str
    strategy: Strategy
    limit: int | None = None


def history_rows() -> list[Row]:
    """Each part of the history alone, in the practical form."""
    ours = Synaptic(writes_on_store=True)
    return [
        Row("`synaptic`", Synaptic()),
        Row("potential kept", replace(ours, keeps_potential=True)),
        Row("past spikes counted", replace(ours, counts_past_spikes=True)),
        Row("both", replace(ours, keeps_potential=True, counts_past_spikes=True)),
    ]


def published_history_rows() -> list[Row]:
    """The published form with and without each part of the history."""
    cut = replace(FAITHFUL, max_spikes=MAX_SPIKES)
    at_rest = replace(cut, is_physiological=True)
    return [
        Row(PUBLISHED, FAITHFUL),
        Row("the last 16 spikes", cut),
        Row("the last spike alone", replace(cut, max_spikes=1)),
        Row("16 spikes, no potential kept", replace(cut, keeps_potential=False)),
        Row("16 spikes, neuron at rest 0", at_rest),
        Row("16 spikes, neuron at rest 0, no potential kept", replace(at_rest, keeps_potential=False)),
    ]


def costh_rows() -> list[Row]:
    """The published form at cosine thresholds of its search range (1.2)."""
    values = (0.0, 0.1, 0.2, FAITHFUL.cos_th, 0.3, 0.4)
    return [Row(f"cos_th = {value:.3f}", replace(FAITHFUL, cos_th=value)) for value in values]


def remedy_rows() -> list[Row]:
    """One remedy of papers.md 1.11 at a time, on the published form; the last rows are the practical form."""
    at_rest = replace(FAITHFUL, is_physiological=True, max_spikes=MAX_SPIKES)
    return [
        Row(PUBLISHED, FAITHFUL),
        Row("limit of 10", FAITHFUL, limit=10),
        Row("propagation control: stimulus_th × 3", replace(FAITHFUL, stimulus_th=3 * FAITHFUL.stimulus_th)),
        Row("early stop: one generation", replace(FAITHFUL, max_generations=1)),
        Row("marginal stimulus: epsilon = .05", replace(FAITHFUL, epsilon=0.05)),
        Row("cos_th: the .95 quantile", replace(FAITHFUL, cos_th=None, quantile=0.95)),
        Row("tau of 3 turns", replace(FAITHFUL, tau_init=2.0, tau_scale=1.0)),
        Row("ranked by stimulus", replace(FAITHFUL, rank_by_stimulus=True)),
        Row("neuron at rest 0, 16 spikes", at_rest),
        *(Row(f"the same, v_th × {by}", replace(at_rest, v_th=by * FAITHFUL.v_th)) for by in (1.5, 2)),
        Row("all remedies of the earlier preset", PublishedSynaptic()),
        Row("practical: threshold of .9 alone, no propagation", Synaptic(max_generations=1)),
        Row("practical: propagation alone, no threshold", Synaptic(firing_fraction=0.0)),
        Row("`synaptic`, both", Synaptic()),
    ]


def baseline_rows() -> list[Row]:
    """The baselines of the paper."""
    names = ("myagent", "myagent-adapted", "memorybank", "memorybank-adapted")
    return [
        Row(PUBLISHED, FAITHFUL),
        *(Row(f"`{name}`", strategies.resolve_strategy(name)) for name in names),
        Row("`synaptic`", Synaptic()),
    ]


PARTS = {
    "history": history_rows,
    "published-history": published_history_rows,
    "costh": costh_rows,
    "remedies": remedy_rows,
    "baselines": baseline_rows,
}


def store(space: QuerySpace, strategy: Strategy) -> QuerySpace:
    """A space whose turns were stored one by one with a strategy: their vectors alone, in a graph of its own.

    That is ten times as fast as a memory. The parts of a long text are turns of their own here, which stimulate each
    other; in a memory they are stored together.
    """
    if not writes_on_store(strategy):
        return space
    episodes = np.flatnonzero(space.graph.episodes & (space.graph.vector_positions >= 0))
    vectors = space.graph.vectors.rows(space.graph.vector_positions[episodes])
    floor = space.queries[0].similarity_floor
    graph, seq = Graph(), 0
    for row, vector in zip(episodes.tolist(), vectors, strict=True):
        cue = Query("", NOON, vector=vector, similarity_floor=floor)
        stimulus = strategy.activate(cue, graph).stimulus
        node = sample_node(space.graph.id(row), "", seq=seq + 1)
        accesses = tuple(
            Access(graph.id(place), node.recorded_at, AccessKind.STIMULATED, float(stimulus[place]), seq + 2 + count)
            for count, place in enumerate(np.flatnonzero(stimulus).tolist())
        )
        batch = WriteBatch(nodes=(node,), vectors={node.id: vector}, accesses=accesses, revision=graph.revision + 1)
        graph, seq = apply_batch(graph, batch), seq + 1 + len(accesses)
    return replace(space, graph=graph, document_numbers=space.document_numbers[episodes])


@dataclass(frozen=True, slots=True)
class Answer:
    """What a strategy returned for a question: how many memories fired, and where its gold is in the ranking."""

    fired: int
    gold: int
    is_gold: NDArray[np.bool_]

    def hits(self, k: int) -> int:
        """How many of the first k documents are gold."""
        return int(self.is_gold[:k].sum())


def answer(space: QuerySpace, place: int, activation: Activation, limit: int | None) -> Answer:
    """Rank the documents of one question; all that fired count, or the first ``limit``."""
    scores = activation.scores
    order = np.argsort(-scores, kind="stable")
    order = order[scores[order] > 0]
    _, first = np.unique(space.document_numbers[order], return_index=True)
    documents = space.document_numbers[order[np.sort(first)]]
    has_fired = activation.contributions.get("fired", np.zeros(len(scores), np.float32)) > 0
    fired = len(np.unique(space.document_numbers[has_fired]))
    gold = space.gold_documents(place)
    return Answer(fired if limit is None else min(fired, limit), len(gold), np.isin(documents, gold))


def ask(space: QuerySpace, row: Row) -> Iterator[Answer]:
    """The answers to the questions of a space that have gold."""
    for place, (question, query) in enumerate(zip(space.case.questions, space.queries, strict=True)):
        if question.has_ranking:
            yield answer(space, place, row.strategy.activate(query, space.graph), row.limit)


def charge_fraction(space: QuerySpace, strategy: Strategy) -> float:
    """The share of the memories whose potential is above 0 and below the threshold at the turn of a question."""
    if not isinstance(strategy, Synaptic | PublishedSynaptic) or not writes_on_store(strategy):
        return 0.0
    rows = np.flatnonzero(space.graph.episodes)
    state = network_state(space.graph, strategy.neuron)
    found = stimulate(strategy.neuron, state.neurons.select(rows), np.zeros(len(rows)), state.turns_since_spike(rows))
    potential = np.where(found.has_fired, strategy.neuron.v_th, found.state.V)
    return float(((potential > 0) & (potential < strategy.neuron.v_th)).mean())


def recalls(answers: Sequence[Answer], k: int) -> Numbers:
    """The recall@k of each question."""
    return np.array([one.hits(k) / one.gold for one in answers])


def number(value: float, *, is_signed: bool = False) -> str:
    """A number with three digits and no leading zero."""
    return f"{value:{'+' if is_signed else ''}.3f}".replace("0.", ".", 1)


def share(hits: int, of: int) -> str:
    """A ratio, or a dash for none."""
    return number(hits / of) if of else "–"


def difference(found: Numbers, base: Numbers) -> str:
    """The mean difference over questions, bold if its 95% interval excludes 0."""
    gain = found - base
    is_sure = abs(gain.mean()) > 1.96 * gain.std() / len(gain) ** 0.5
    return f"**{number(gain.mean(), is_signed=True)}**" if is_sure else number(gain.mean(), is_signed=True)


@dataclass(frozen=True, slots=True)
class References:
    """The answers that a row is compared with: those of dense, and those of the first row of its table."""

    dense: Sequence[Answer]
    first: Sequence[Answer]


def cells(row: Row, answers: Sequence[Answer], references: References, charge: float, *, has_erc: bool) -> str:
    """The cells of a row."""
    parts = []
    for k in (5, 10):
        found, to_dense = recalls(answers, k), difference(recalls(answers, k), recalls(references.dense, k))
        parts += [f"{number(found.mean())} {to_dense}", difference(found, recalls(references.first, k))]
    fired, gold = sum(one.fired for one in answers), sum(one.gold for one in answers)
    hits = sum(one.hits(one.fired) for one in answers)
    same = sum(two.hits(one.fired) for one, two in zip(answers, references.dense, strict=True))
    parts += [f"{fired / len(answers):.1f}", share(hits, fired), share(hits, gold), share(same, gold), number(charge)]
    if has_erc:
        parts.append(share(sum(one.hits(two.fired) for one, two in zip(answers, references.first, strict=True)), gold))
    return f"| {row.name} | " + " | ".join(parts) + " |"


def measure(spaces: Sequence[QuerySpace], rows: Sequence[Row], *, has_erc: bool) -> None:
    """Print the table of some rows; conversations are stored anew for each row that writes."""
    dense = Row("`dense`", Dense())
    base = [one for space in spaces for one in ask(space, dense)]
    heads = ["recall@5", "to row 1", "recall@10", "to row 1"]
    heads += ["fire", "gold among them", "of the gold", "dense, as many", "charged"]
    heads += ["ERC"] if has_erc else []
    print("|  | " + " | ".join(heads) + " |\n| --- |" + " ---: |" * len(heads))
    first: list[Answer] = []
    for row in (*rows, dense):
        stored = [store(space, row.strategy) for space in spaces]
        answers = [one for space in stored for one in ask(space, row)]
        first = first or answers
        charge = float(np.mean([charge_fraction(space, row.strategy) for space in stored]))
        print(cells(row, answers, References(base, first), charge, has_erc=has_erc), flush=True)
    print()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--set", dest="names", action="append", required=True)
    parser.add_argument("--part", dest="parts", action="append", choices=PARTS, required=True)
    parser.add_argument("--embedder", default="e5")
    parser.add_argument("--spaces", type=int, default=None, help="the first so many conversations of each set")
    arguments = parser.parse_args()
    with open_embedder(arguments.embedder) as embedder:
        for name in arguments.names:
            cases = list(datasets.read_cases(name, arguments.data))[: arguments.spaces]
            spaces = [build_query_space(case, Dense(), embedder) for case in cases]
            asked = sum(one.has_ranking for case in cases for one in case.questions)
            for part in arguments.parts:
                print(f"{part}: {name}, {len(cases)} conversations, {asked} questions, {embedder.name}\n")
                measure(spaces, PARTS[part](), has_erc=part == "baselines")


if __name__ == "__main__":
    main()
