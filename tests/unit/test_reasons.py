"""The reason of a hit: what distinguishes it from the others, chosen by the contributions to the score."""

import pickle
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ecphora import RecallOptions
from ecphora.memory import Memory
from ecphora.model.graph.graph import Graph
from ecphora.model.ports import Activation, ActivationPath
from ecphora.model.types import PRIOR, Episode, Filter, Query
from ecphora.models.embedders.hashing import HashingEmbedder
from ecphora.recall import reasons as reason_clauses
from ecphora.recall.ranking import Comparison, Ranking
from ecphora.recall.reasons import Clause, build_reasons
from ecphora.testing import FakeClock


@dataclass(frozen=True)
class FixedStrategy:
    """Gives the episodes, in order of rows, fixed contributions, optionally with paths (parent row, entity row)."""

    contributions: Mapping[str, Sequence[float]]
    paths: Mapping[str, Mapping[int, tuple[int, int]]] | None = None
    name: str = "fixed"

    def activate(self, _cue: Query, graph: Graph, /) -> Activation:
        """The contributions and their sum."""
        rows = np.flatnonzero(graph.episodes)
        columns = {stage: graph.zeros() for stage in self.contributions}
        for stage, values in self.contributions.items():
            columns[stage][rows] = values
        paths_by_stage = {}
        for stage, path in (self.paths or {}).items():
            paths_by_stage[stage] = ActivationPath(np.full(len(graph), -1, np.intp), np.full(len(graph), -1, np.intp))
            for row, (parent, via) in path.items():
                paths_by_stage[stage].parent[row], paths_by_stage[stage].via_entity[row] = parent, via
        return Activation(np.sum(list(columns.values()), axis=0), columns, paths_by_stage)


def turn(text: str, speaker: str | None = None, **fields: Any) -> Episode:
    return Episode(text, speaker=speaker, **{"happened_at": "2026-05-03", **fields})


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory(tmp_path / "memory.db", embedder=HashingEmbedder(64), update_scorer=None, clock=FakeClock()) as opened:
        yield opened


def reasons_by_text(memory: Memory, question: str, **options: Any) -> dict[str, str]:
    """The reason of each memory that comes back, by its text."""
    found = memory.recall(question, **{"options": RecallOptions(log_access=False), **options})
    return {hit.text: hit.reason for hit in found}


# ---- distinguishing contributions


def test_reason_starts_with_the_largest_lead(memory: Memory) -> None:
    memory.remember([turn("A cat sat.", "Ana"), turn("It rained.", "Bo"), turn("It snowed.", "Bo")])
    question = "Did Ana see a cat?"
    words_first = FixedStrategy({"bm25": (9, 0, 0), "named speaker": (5, 0, 0), PRIOR: (1, 1, 1)})
    speaker_first = FixedStrategy({"bm25": (5, 0, 0), "named speaker": (9, 0, 0), PRIOR: (1, 1, 1)})
    assert (
        reasons_by_text(memory, question, strategy=words_first)["A cat sat."]
        == "says “cat”; Ana, who is asked about, speaks"
    )
    assert reasons_by_text(memory, question, strategy=speaker_first)["A cat sat."] == (
        "Ana, who is asked about, speaks; says “cat”"
    )


def test_reason_leaves_out_what_all_hits_share(memory: Memory) -> None:
    texts = ["The cat sat in Oslo.", "The cat ran.", "A cat slept.", "One cat woke."]
    memory.remember([turn(text, "Ana") for text in texts])
    strategy = FixedStrategy({"named speaker": (9, 9, 9, 9), "bm25": (2, 1, 1, 1)})
    assert reasons_by_text(memory, "Was Ana's cat in Oslo?", strategy=strategy)["The cat sat in Oslo."] == "says “Oslo”"


def test_reason_compares_with_lower_hits_only(memory: Memory) -> None:
    memory.remember([turn("The cat is in Oslo."), turn("A cat."), turn("It rained."), turn("It snowed.")])
    strategy = FixedStrategy({"bm25": (4, 3, 2, 1)})
    found = reasons_by_text(memory, "Is a cat in Oslo?", strategy=strategy)
    assert list(found.values())[:2] == ["says “cat” and “Oslo”", "says “cat”"]


def test_reason_of_a_single_hit_is_empty(memory: Memory) -> None:
    memory.remember(turn("A cat sat."))
    hit = memory.recall("cat")[0]
    assert hit.reason == ""
    assert hit.why.contributions


def test_reason_is_empty_without_explain(memory: Memory) -> None:
    memory.remember([turn("A cat sat."), turn("A dog ran.")])
    assert [hit.reason for hit in memory.recall("cat", options=RecallOptions(explain=False))] == ["", ""]


# ---- ineligible memories


def test_reason_never_names_ineligible_memories(memory: Memory) -> None:
    memory.remember([
        turn("The bakery is mine.", "Bo", id="secret", session="s", happened_at="2026-05-04"),
        turn("Well.", "Ana", id="well", session="s", happened_at="2026-05-03"),
        turn("Rain.", "Ana", id="rain", session="t", happened_at="2026-05-03"),
    ])  # fmt: skip
    strategy = FixedStrategy({"adjacent turn": (0, 9, 1), "title link": (0, 5, 1)}, {"title link": {1: (0, -1)}})
    question = "Whose bakery?"
    assert (
        reasons_by_text(memory, question, strategy=strategy)["Well."]
        == "comes right before secret, which says “bakery”"
    )
    assert reasons_by_text(memory, question, strategy=strategy, where=Filter(speakers="Ana"))["Well."] == ""
    assert reasons_by_text(memory, question, strategy=strategy, as_of="2026-05-03")["Well."] == ""
    for stage in ("successor", "co-use"):
        strategy = FixedStrategy({stage: (0, 9, 1)}, {stage: {1: (0, -1)}})
        assert "secret" in reasons_by_text(memory, question, strategy=strategy)["Well."]
        assert reasons_by_text(memory, question, strategy=strategy, where=Filter(speakers="Ana"))["Well."] == ""


# ---- lazy reasons


def test_reason_is_computed_on_first_access(tmp_path: Path) -> None:
    memory = Memory(tmp_path / "memory.db", embedder=HashingEmbedder(64), clock=FakeClock())
    memory.remember([turn(f"Turn {n}.", id=f"t{n}", session="s") for n in range(3)])
    memory.remember(turn("The bakery.", id="bakery", session="s"))
    strategy = FixedStrategy({"adjacent turn": (1, 2, 9, 0)})
    early, late = (
        memory.recall("Which bakery?", strategy=strategy, limit=1, options=RecallOptions(log_access=False))[0]
        for _ in range(2)
    )
    assert early.reason == "comes right before bakery, which says “bakery”"
    memory.close()
    assert early.reason == "comes right before bakery, which says “bakery”"
    assert late.reason == "comes right before bakery"


def test_copied_hits_have_the_reasons(memory: Memory) -> None:
    memory.remember([turn("A cat sat."), turn("A dog ran.")])
    found = memory.recall("Which cat?")
    for copy in (pickle.loads(pickle.dumps(found)), deepcopy(found)):  # noqa: S301
        assert [hit.reason for hit in copy] == [hit.reason for hit in found]


def test_clause_is_built_once_for_a_comparison(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Several features share a clause, and clauses fall back on others."""
    compared: list[tuple[int, tuple[int, ...]]] = []
    build = reason_clauses._title_clause

    def count(comparison: Comparison) -> Clause | None:
        compared.append((comparison.index, tuple(comparison.other_indices)))
        return build(comparison)

    monkeypatch.setattr(reason_clauses, "_title_clause", count)
    memory.remember([turn("Rain."), turn("Snow."), turn("Wind.")])
    strategy = FixedStrategy({"bm25": (3, 2, 1), "rarest term": (3, 2, 1), "bm25 with previous turn": (3, 2, 1)})
    assert set(reasons_by_text(memory, "Where is the boat?", strategy=strategy)) == {"Rain.", "Snow.", "Wind."}
    assert len(compared) == len(set(compared)) > 0


def test_similarity_reason_needs_a_vector_of_each(memory: Memory) -> None:
    """A memory without a vector is neither nearer nor farther."""
    memory.remember([turn("Boats."), turn("Wind.")])
    strategy = FixedStrategy({"dense similarity": (2, 1)})
    graph, query = memory.graph(), memory.build_query("Boats at sea")
    activation = strategy.activate(query, graph)
    nodes = [memory.get(graph.id(row)) for row in range(2)]

    def reasons(known: Graph) -> list[str]:
        ranking = Ranking.from_activation(known, query, activation, known.episodes, np.array([0, 1]))
        ranking = replace(ranking, query=replace(query, word_vectors=None))
        return build_reasons(ranking, [node for node in nodes if node is not None], lambda _rows: [])

    assert "nearer in meaning" in reasons(graph)[0]
    bare = replace(graph, vector_rows=graph.vector_rows.keep(np.array([True, False])), _parent=None)
    assert "nearer in meaning" not in reasons(bare)[0]


@pytest.mark.medium
def test_reason_names_the_word_that_a_memory_is_near_to_but_no_vague_one(tmp_path: Path) -> None:
    texts = ["Our boiler was repaired by Mr Aasen.", "The tram pass was 340 euros.", "My locker is 57B.", "It rained."]
    with Memory(tmp_path / "words.db") as memory:
        memory.remember([Episode(text, speaker="user") for text in texts])
        fixed = memory.recall("Who fixed the boiler?", rerank="never")
        price = memory.recall("How much was the tram pass?", rerank="never")
    assert "is near to the question's “fixed” in meaning" in fixed[0].reason
    assert price[0].node.text == texts[1]
    assert "“much”" not in price[0].reason
