"""Cognitive Weave's strands of the oracle: the relations that an extractor finds are stored, typed and followed."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

from ecphora import Memory
from ecphora.model.types import Extraction, Link, Mention, Relation, RelationType
from ecphora.models.embedders.hashing import HashingEmbedder
from ecphora.remember.encode import RELATION_LINKS
from ecphora.strategies.weave.strand_types import STORED_LINKS
from ecphora.strategies.weave.strategy import FAITHFUL, Weave
from ecphora.testing import FakeClock

TEXTS = (
    "The Storm came in May.",
    "The Train left at nine.",
    "It rained.",
    "The Storm and the Train: one moved the other.",
)


@dataclass(frozen=True, slots=True)
class OneRelation:
    """An extractor that finds Storm and Train, and in a text that names both one relation of them."""

    type: RelationType
    subject: str = "Storm"
    object: str = "Train"

    def extract(self, texts: Sequence[str], /) -> list[Extraction]:
        return [self._extract(text) for text in texts]

    def _extract(self, text: str) -> Extraction:
        mentions = tuple(Mention(name) for name in ("Storm", "Train") if name in text)
        relation = Relation(self.subject, "moved", self.object, self.type)
        return Extraction(mentions, (relation,) if len(mentions) == 2 else ())


def _memory(path: Path, extractor: OneRelation) -> Memory:
    return Memory(
        path, embedder=HashingEmbedder(64), extractor=extractor, strategy=replace(Weave(), omega=99), clock=FakeClock()
    )


@pytest.mark.parametrize("type_", RELATION_LINKS)
@pytest.mark.parametrize("together", [True, False], ids=["one batch", "one by one"])
def test_relation_joins_the_memories_of_its_ends(tmp_path: Path, type_: RelationType, together: bool) -> None:
    """From the latest earlier memory of the subject to the one that states it, and on to that of the object."""
    with _memory(tmp_path / "m.db", OneRelation(type_)) as memory:
        for texts in [TEXTS] if together else [[text] for text in TEXTS]:
            memory.remember(texts)
        graph = memory.graph()
        edges = graph.edges_of_link(RELATION_LINKS[type_])
        pairs = list(zip(graph.edges["src"][edges].tolist(), graph.edges["dst"][edges].tolist(), strict=True))
        storm, train, _, both = np.flatnonzero(graph.episodes).tolist()
        assert pairs == [(storm, both), (both, train)]


def test_relation_of_names_in_one_memory_joins_it_once(tmp_path: Path) -> None:
    """The latest earlier memory of both is the cause and the effect: one strand says as much as two."""
    with _memory(tmp_path / "m.db", OneRelation(RelationType.CAUSES)) as memory:
        memory.remember([TEXTS[3], "Storm against Train."])
        assert len(memory.graph().edges_of_link(Link.CAUSES)) == 1


def test_relation_without_a_type_or_a_known_name_adds_no_link(tmp_path: Path) -> None:
    for number, extractor in enumerate(
        (OneRelation(RelationType.RELATED_TO), OneRelation(RelationType.CAUSES, "Rain", "Snow"))
    ):
        with _memory(tmp_path / f"{number}.db", extractor) as memory:
            memory.remember(TEXTS)
            assert not len(memory.graph().edges_of_link(*RELATION_LINKS.values()))


def test_every_relation_link_is_a_type_of_strand() -> None:
    assert set(RELATION_LINKS.values()) <= set(STORED_LINKS.values())


@pytest.mark.parametrize("strategy", [Weave(), FAITHFUL], ids=lambda one: one.name)
@pytest.mark.parametrize("type_", RELATION_LINKS)
def test_recall_follows_relations(tmp_path: Path, type_: RelationType, strategy: Weave) -> None:
    """With one seed and no other strand than the relation, the train is reached from the memory that states it."""
    with _memory(tmp_path / "m.db", OneRelation(type_)) as memory:
        memory.remember(TEXTS)
        graph, query = memory.graph(), memory.build_query(TEXTS[3])
        found = replace(strategy, candidates=1, max_hops=1).activate(query, graph)
        stated = int(np.argmax(found.contributions["dense similarity"]))
        ends = graph.edges["dst"][graph.edges_from(np.array([stated]), RELATION_LINKS[type_])[0]]
        assert len(ends) == 1
        assert found.contributions["strands"][ends[0]] > 0
