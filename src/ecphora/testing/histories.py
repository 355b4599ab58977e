"""Random histories of one place, written and read through two handles. Hypothesis is imported when they are made."""
# ruff: noqa: S101, PLC0415  # these are tests; Hypothesis is imported by those that need it, so that the rest does not

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

import numpy as np

from ..graph import LINKS, Graph
from ..model import Change, Edge, Forgotten, Kind, Link, NodeId, Superseded, Touch
from ..stages import chronology, engrams, fading, importance
from .samples import (
    NOON,
    SAMPLES,
    SCOPE,
    Opener,
    _access,
    _grown,
    differences,
    sample_change,
    sample_name,
    sample_node,
    sample_question,
    sample_vector,
)


class _Handles:
    """Two handles on one place, the graph that the writer had after every change, and one that the reader lets grow."""

    def __init__(self, opener: Opener) -> None:
        super().__init__()
        self.writer, self.reader = opener(), opener()
        self.graphs = [Graph()]
        self.followed = Graph()

    def teardown(self) -> None:
        now = self.graphs[-1]
        for graph in self.graphs:
            again = graph.plus(self.reader.changes(SCOPE, graph.revision))
            assert differences(now, again) == []
        self.writer.close()
        self.reader.close()

    def commit(self, change: Change) -> None:
        self.graphs.append(self.graphs[-1].plus(self.writer.commit(SCOPE, change)))
        assert self.graphs[-1].revision == len(self.graphs) - 1

    def alive(self, kind: Kind = Kind.EPISODE) -> list[NodeId]:
        graph = self.graphs[-1]
        return [graph.id(row) for row in np.flatnonzero(graph.of_kind(kind)).tolist()]

    def some(self, picks: Iterable[int]) -> list[NodeId]:
        alive = self.alive()
        return list(dict.fromkeys(alive[number % len(alive)] for number in picks))

    def asked(self, name: str, picks: list[int]) -> Change:
        """Keeps a question in the place of the one of that name; without an answer it only takes that one back."""
        asked = sample_question(name, *self.some(picks), used=sum(picks) % 3)
        (question,) = asked.nodes
        there = question.id in self.alive(Kind.QUESTION)
        forgotten = (Forgotten(question.id, question.id.encode()),) if there else ()
        return replace(asked, forgotten=forgotten) if picks else Change(forgotten=forgotten)


def _assert_derived(graph: Graph) -> None:
    """What was derived once must not outlive its truth, and what grew must be what is made at once."""
    anew = replace(graph, _parent=None)
    grown, made = engrams.engrams(graph), engrams.engrams(anew)
    assert grown.rows.tolist() == made.rows.tolist()
    assert grown.mentions.tolist() == made.mentions.tolist()
    assert np.allclose(grown.sums, made.sums, atol=1e-5)
    assert chronology.last_touch(graph).tolist() == chronology.last_touch(anew).tolist()
    for marked in (fading.protected, fading.archived):
        assert marked(graph).tolist() == marked(anew).tolist()
    use, now = importance.Fading(), NOON.timestamp() + 1e6
    assert importance.importance(graph, use, now).tolist() == importance.importance(anew, use, now).tolist()
    assert len(graph.kinship) == len(graph)
    for row in range(len(graph)):
        asked = np.array([row])
        assert np.array_equal(graph.edges_from(asked)[0], np.flatnonzero(graph.edges["src"] == row))
        assert np.array_equal(graph.edges_to(asked)[0], np.flatnonzero(graph.edges["dst"] == row))


def _histories() -> Callable[[Opener], Any]:  # noqa: C901  # many rules, each simple
    """The machine that writes random histories through two handles on one place."""
    from hypothesis import strategies as st
    from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

    pick = st.integers(0, 99)
    episodes = st.lists(
        st.fixed_dictionaries(
            {
                "id_": st.sampled_from([f"m{number}" for number in range(12)]),
                "minutes": st.sampled_from([0, 0, 1, 30, 59, 61, 200, -45]),
                "speaker": st.sampled_from([None, "Ana", "Ben"]),
                "session": st.sampled_from([None, "a", "b"]),
                "document": st.sampled_from([None, None, "d"]),
                "source": st.sampled_from([None, "mail"]),
                "text": st.sampled_from(["river boat", "boat boat?", "school", "你好"]),
                "metadata": st.sampled_from([{}, {"k": 1}]),
                "valid_to": st.sampled_from([None, NOON]),
            }
        ),
        min_size=1,
        max_size=4,
        unique_by=lambda fields: str(fields["id_"]),
    )

    class Histories(_Handles, RuleBasedStateMachine):
        @rule(new=episodes, bare=pick, backwards=st.booleans(), again=st.booleans())
        def add(self, new: list[Mapping[str, Any]], bare: int, backwards: bool, again: bool) -> None:
            there = set(self.alive())
            nodes = [sample_node(**fields) for fields in new if again or fields["id_"] not in there]
            change = sample_change(*nodes, bare=[node.id for node in nodes if bare < 20])
            vectors = dict(reversed(list(change.vectors.items()))) if backwards else change.vectors
            gone = tuple(Forgotten(node.id, node.id.encode()) for node in nodes if node.id in there)
            # Replaced within one change, where they were there.
            self.commit(replace(change, vectors=vectors, forgotten=gone))

        @precondition(lambda self: bool(self.alive()))
        @rule(name=st.sampled_from(["Ana", "Porto", "Mia"]), picks=st.lists(pick, min_size=1, max_size=3))
        def mention(self, name: str, picks: list[int]) -> None:
            entity = sample_name(name)
            nodes = () if entity.id in self.alive(Kind.ENTITY) else (entity,)
            edges = tuple(Edge(id_, entity.id, LINKS[picks[0] % 2]) for id_ in self.some(picks))
            self.commit(sample_change(*nodes, edges=edges))

        @precondition(lambda self: bool(self.alive()))
        @rule(picks=st.lists(pick, max_size=4), touch=st.sampled_from(list(Touch)))
        def touch(self, picks: list[int], touch: Touch) -> None:
            accesses = (replace(_access(id_, 0.5), touch=touch) for id_ in self.some(picks))
            self.commit(Change(accesses=tuple(accesses)))

        @precondition(lambda self: bool(self.alive()))
        @rule(old=pick, new=pick, days=st.integers(-2, 2))
        def supersede(self, old: int, new: int, days: int) -> None:
            (here,), (there,) = self.some([old]), self.some([new])
            end = Superseded(here, NOON + timedelta(days=days), NOON)
            self.commit(Change(superseded=(end,), edges=(Edge(there, here, Link.SUPERSEDES),)))

        @precondition(lambda self: bool(self.alive()))
        @rule(picks=st.lists(pick, min_size=1, max_size=3))
        def embed_later(self, picks: list[int]) -> None:
            vectors = {id_: sample_vector(f"{id_} again") for id_ in self.some(picks)}
            self.commit(Change(vectors=vectors, embedder=SAMPLES.name))

        @precondition(lambda self: bool(self.alive()))
        @rule(picks=st.lists(pick, min_size=1, max_size=4))
        def forget(self, picks: list[int]) -> None:
            self.commit(Change(forgotten=tuple(Forgotten(id_, id_.encode()) for id_ in self.some(picks))))

        @precondition(lambda self: bool(self.alive()))
        @rule(name=st.sampled_from(["where", "when", "who"]), picks=st.lists(pick, max_size=4))
        def ask(self, name: str, picks: list[int]) -> None:
            self.commit(self.asked(name, picks))

        @rule()
        def follow(self) -> None:
            self.followed = self.followed.plus(self.reader.changes(SCOPE, self.followed.revision))
            assert differences(self.graphs[-1], self.followed) == []

        @rule()
        def look(self) -> None:
            _assert_derived(self.graphs[-1])

        @invariant()
        def reloaded(self) -> None:
            assert differences(self.graphs[-1], _grown(self.reader)) == []

    return Histories
