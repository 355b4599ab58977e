"""Fact updates on 120 cases and 120 look-alikes, written by hand for this project; none comes from a data set.

All of them are training data of ``scripts/train_update_scorer.py``, so these tests guard what has been reached. Results
on cases that nobody has read are measured by ``benchmarks/changes.py`` and reported in docs/consolidation.md.
"""

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ecphora import Episode, Memory, MiniLMEmbedder
from ecphora.model import Query, Validity, Vectors
from ecphora.ports import Embedder, Store
from ecphora.stages.retrieval.validity import supersessions, validity_of
from ecphora.stores.sqlite import SQLiteStore
from ecphora.testing import FakeClock

FOLDER = Path(__file__).parents[1] / "changes"
DAY = timedelta(days=1)
LATER = datetime(2030, 1, 1, tzinfo=UTC)
"""When it is asked: long after all was told."""
KINDS = ("replacement", "polarity", "retraction", "partial", "bounded")
FEW = 6
"""So many of the 60 look-alikes that most were not learned from may be taken for a change."""
OWN = re.compile(r"\b(?:I|me|my|mine|myself)\b", re.IGNORECASE)
"""The first person singular."""
OF_ANOTHER = 26
"""So many of the 96 cases that are not bounded are told by somebody else than who spoke of themselves."""
LEAST = 0.9
"""The part of the cases that must come out right."""


class Once:
    """MiniLM that embeds each text once: the cases share many."""

    def __init__(self) -> None:
        self._model, self._known = MiniLMEmbedder(), dict[str, Any]()
        self.name, self.dim = self._model.name, self._model.dim

    def coverage(self, text: str, /) -> float:
        return self._model.coverage(text)

    def embed(self, texts: Sequence[str], /, *, is_query: bool = False) -> Vectors:
        for text in texts:
            if text not in self._known:
                self._known[text] = self._model.embed([text], is_query=is_query)[0]
        return np.array([self._known[text] for text in texts], np.float32).reshape(len(texts), self.dim)


def cases(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (FOLDER / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()]


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Opens the memory of a case, told and consolidated."""
    store, embedder = SQLiteStore(tmp_path_factory.mktemp("changes") / "m.db"), Once()

    yield lambda case: slept(store, embedder, case)
    store.close()


def slept(store: Store, embedder: Embedder, case: dict[str, Any], *, rules: bool = False) -> Memory:
    """The memory of a case, told and consolidated; by ``rules`` alone, or as it is by default."""
    told = [Episode(t["text"], t["id"], t["speaker"], t["session"], t["at"]) for t in case["told"]]
    last = datetime.fromisoformat(case["told"][-1]["at"]).replace(tzinfo=UTC)
    how: dict[str, Any] = {"comparer": None} if rules else {}
    clock = FakeClock(last + timedelta(hours=1))
    memory = Memory(store, scope=case["id"], embedder=embedder, clock=clock, **how)
    memory.remember(told)
    memory.consolidate()
    return memory


def stands(memory: Memory, id_: str, at: datetime) -> Validity | None:
    graph = memory.graph()
    row = graph.row(id_)
    assert row is not None
    return validity_of(graph, row, Query("", LATER, as_of=at, retroactive=True))


def of_another(case: dict[str, Any]) -> bool:
    """Whether the new message is about what somebody else said of themselves, which it cannot end."""
    told = {one["id"]: one for one in case["told"]}
    old, new = told[case["old"]], told[case["new"]]
    return old["speaker"] != new["speaker"] and OWN.search(old["text"]) is not None


def right(memory: Memory, case: dict[str, Any]) -> bool:
    """Whether the old is replaced by the new from the day on, and by nothing else; a bounded one ends at its bound.

    What somebody else said of themselves still holds, and is contradicted by the new.
    """
    told = datetime.fromisoformat(next(t["at"] for t in case["told"] if t["id"] == case["new"])).replace(tzinfo=UTC)
    graph = memory.graph()
    known = supersessions(graph)
    pairs = {(graph.id(old), graph.id(new)) for old, new in zip(known.old.tolist(), known.new.tolist(), strict=True)}
    if pairs - {(case["old"], case["new"])}:
        return False
    if case["kind"] == "bounded":
        until = datetime.fromisoformat(case["until"]).replace(tzinfo=UTC)
        during, after = (stands(memory, case["new"], at) for at in (max(told, until - 2 * DAY), until + 2 * DAY))
        return bool(during and during.is_valid and after and not after.is_valid)
    if not pairs:
        return False
    since = told if case["since"] is None else datetime.fromisoformat(case["since"]).replace(tzinfo=UTC)
    before, after = stands(memory, case["old"], since - DAY), stands(memory, case["old"], max(since, told) + 2 * DAY)
    if of_another(case):
        return bool(after and after.is_valid and after.contradicted_by == (case["new"],) and not after.superseded_by)
    replaced = bool(after and not after.is_valid and after.superseded_by == (case["new"],))
    retracted = case["kind"] == "retraction"
    return replaced and (retracted or bool(before and before.is_valid))


@pytest.mark.slow
def test_facts_change_as_they_are_told_to(opened: Any) -> None:
    found: dict[str, list[bool]] = defaultdict(list)
    wrong = []
    for case in cases("matrix"):
        found[case["kind"]].append(right(opened(case), case))
        wrong += [case["id"]] if not found[case["kind"]][-1] else []
    assert {kind: len(results) for kind, results in found.items()} == dict.fromkeys(KINDS, 24)
    assert sum(of_another(case) for case in cases("matrix") if case["kind"] != "bounded") == OF_ANOTHER
    assert sum(map(sum, found.values())) >= LEAST * sum(map(len, found.values())), wrong


@pytest.mark.slow
def test_nothing_that_merely_resembles_a_change_is_one(opened: Any) -> None:
    linked = dict.fromkeys(("seen", "unseen"), 0)
    for case in cases("control"):
        linked[case["part"]] += len(supersessions(opened(case).graph()))
    assert linked["seen"] == 0
    assert linked["unseen"] <= FEW
