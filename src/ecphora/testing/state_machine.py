"""Random histories of one store, written and read through two handles. Hypothesis is imported on use."""
# ruff: noqa: S101, PLC0415  # these are tests; Hypothesis is imported where needed, so that the rest does not

from collections.abc import Callable, Iterable, Mapping
from dataclasses import astuple, replace
from datetime import timedelta
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..model.graph.graph import Graph, archived_mask, last_access, pinned_mask
from ..model.graph.updates import apply_batch
from ..model.ports import SnapshotStore
from ..model.types import ACCESS_KINDS, AccessKind, Edge, Kind, Link, Mark, NodeId, Tombstone, ValidityEnd, WriteBatch
from ..remember import graph_cache
from ..retrieval import dense, entity_links, importance
from ..strategies.fused import features
from .samples import (
    NOON,
    SAMPLE_EMBEDDER,
    SAMPLE_ENGLISH_MODEL,
    SCOPE,
    StoreOpener,
    _load_graph,
    _sample_access,
    graph_differences,
    sample_batch,
    sample_english_vector,
    sample_entity,
    sample_media_vector,
    sample_node,
    sample_question_batch,
    sample_vector,
)


class _TwoHandles:
    """Two handles on one store, the writer's graph after every batch, and a graph that the reader updates."""

    def __init__(self, open_store: StoreOpener) -> None:
        super().__init__()
        self.writer, self.reader = open_store(), open_store()
        self.graphs = [Graph()]
        self.reader_graph = Graph()

    def teardown(self) -> None:
        latest = self.graphs[-1]
        for graph in self.graphs:
            updated = apply_batch(graph, self.reader.changes_since(SCOPE, graph.revision))
            assert graph_differences(latest, updated) == []
        self.writer.close()
        self.reader.close()

    def commit(self, batch: WriteBatch) -> None:
        self.graphs.append(apply_batch(self.graphs[-1], self.writer.commit(SCOPE, batch)))
        assert self.graphs[-1].revision == len(self.graphs) - 1

    def live_ids(self, kind: Kind = Kind.EPISODE) -> list[NodeId]:
        graph = self.graphs[-1]
        return [graph.id(row) for row in np.flatnonzero(graph.of_kind(kind)).tolist()]

    def pick_ids(self, picks: Iterable[int]) -> list[NodeId]:
        alive = self.live_ids()
        return list(dict.fromkeys(alive[number % len(alive)] for number in picks))

    def question_batch(self, name: str, picks: list[int]) -> WriteBatch:
        """Return a batch that replaces the question of that name; without an answer, only deletes it."""
        batch = sample_question_batch(name, *self.pick_ids(picks), used_count=sum(picks) % 3)
        (question,) = batch.nodes
        exists = question.id in self.live_ids(Kind.QUESTION)
        tombstones = (Tombstone(question.id, question.id.encode()),) if exists else ()
        return replace(batch, tombstones=tombstones) if picks else WriteBatch(tombstones=tombstones)


def _assert_derived_columns(graph: Graph) -> None:
    """Inherited derived columns must equal those computed from scratch."""
    fresh = replace(graph, _parent=None)
    grown, expected = entity_links.entity_vectors(graph), entity_links.entity_vectors(fresh)
    assert grown.rows.tolist() == expected.rows.tolist()
    assert np.allclose(grown.sums, expected.sums, atol=1e-5)
    assert last_access(graph).tolist() == last_access(fresh).tolist()
    for marked in (pinned_mask, archived_mask):
        assert marked(graph).tolist() == marked(fresh).tolist()
    settings, now = importance.ImportanceDecay(), NOON.timestamp() + 1e6
    assert importance.importance(graph, settings, now).tolist() == importance.importance(fresh, settings, now).tolist()
    for grown_values, fresh_values in zip(_turn_columns(graph), _turn_columns(fresh), strict=True):
        assert grown_values.tolist() == fresh_values.tolist()
    assert len(graph.previous_cosine) == len(graph.english_previous_cosine) == len(graph)
    for use_english in (False, True):
        grown_scores, fresh_scores = (
            dense.with_previous_turn(one, one.zeros() + np.float32(1), use_english=use_english)
            for one in (graph, fresh)
        )
        assert np.allclose(grown_scores, fresh_scores, atol=1e-5)
    for row in range(len(graph)):
        rows = np.array([row])
        assert np.array_equal(graph.edges_from(rows)[0], np.flatnonzero(graph.edges["src"] == row))
        assert np.array_equal(graph.edges_to(rows)[0], np.flatnonzero(graph.edges["dst"] == row))


def _turn_columns(graph: Graph) -> list[NDArray[Any]]:
    counts = features.session_counts(graph)
    return [graph.previous_rows, graph.next_rows, graph.lengths_with_previous[0], *astuple(counts)]


def _make_history_machine() -> Callable[[StoreOpener], Any]:  # noqa: C901  # many rules, each simple
    """Return the state machine that writes random histories through two handles on one store."""
    from hypothesis import strategies as st
    from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

    pick = st.integers(0, 99)
    episodes = st.lists(
        st.fixed_dictionaries(
            {
                "id_": st.sampled_from([f"m{number}" for number in range(12)]),
                "minutes": st.sampled_from([0, 0, 1, 30, 59, 61, 200, -45]),
                "offset": st.sampled_from([0, 0, 13, -3.5]),
                "speaker": st.sampled_from([None, "Ana", "Ben"]),
                "session": st.sampled_from([None, "a", "b"]),
                "document": st.sampled_from([None, None, "d"]),
                "source": st.sampled_from([None, "mail"]),
                "text": st.sampled_from(["river boat", "boat boat?", "school", "你好"]),
                "metadata": st.sampled_from([{}, {"k": 1}, {"k": ["x", 1]}]),
                "valid_to": st.sampled_from([None, NOON]),
            }
        ),
        min_size=1,
        max_size=4,
        unique_by=lambda fields: str(fields["id_"]),
    )

    class Histories(_TwoHandles, RuleBasedStateMachine):
        @rule(new=episodes, bare=pick, backwards=st.booleans(), again=st.booleans())
        def add(self, new: list[Mapping[str, Any]], bare: int, backwards: bool, again: bool) -> None:
            existing = set(self.live_ids())
            nodes = [sample_node(**fields) for fields in new if again or fields["id_"] not in existing]
            batch = sample_batch(*nodes, without_vectors=[node.id for node in nodes if bare < 20])
            vectors = dict(reversed(list(batch.vectors.items()))) if backwards else batch.vectors
            tombstones = tuple(Tombstone(node.id, node.id.encode()) for node in nodes if node.id in existing)
            # Existing nodes are replaced within one batch.
            self.commit(replace(batch, vectors=vectors, tombstones=tombstones))

        @precondition(lambda self: bool(self.live_ids()))
        @rule(name=st.sampled_from(["Ana", "Porto", "Mia"]), picks=st.lists(pick, min_size=1, max_size=3))
        def mention(self, name: str, picks: list[int]) -> None:
            entity = sample_entity(name)
            nodes = () if entity.id in self.live_ids(Kind.ENTITY) else (entity,)
            edges = tuple(
                Edge(id_, entity.id, (Link.MENTIONS, Link.ABOUT)[picks[0] % 2]) for id_ in self.pick_ids(picks)
            )
            self.commit(sample_batch(*nodes, edges=edges))

        @precondition(lambda self: bool(self.live_ids()))
        @rule(picks=st.lists(pick, max_size=4), kind=st.sampled_from(ACCESS_KINDS))
        def touch(self, picks: list[int], kind: AccessKind | Mark) -> None:
            accesses = (replace(_sample_access(id_, 0.5), kind=kind) for id_ in self.pick_ids(picks))
            self.commit(WriteBatch(accesses=tuple(accesses)))

        @precondition(lambda self: bool(self.live_ids()))
        @rule(old=pick, new=pick, days=st.integers(-2, 2))
        def supersede(self, old: int, new: int, days: int) -> None:
            (old_id,), (new_id,) = self.pick_ids([old]), self.pick_ids([new])
            end = ValidityEnd(old_id, NOON + timedelta(days=days), NOON)
            self.commit(WriteBatch(validity_ends=(end,), edges=(Edge(new_id, old_id, Link.SUPERSEDES),)))

        @precondition(lambda self: bool(self.live_ids()))
        @rule(picks=st.lists(pick, min_size=1, max_size=3))
        def embed_later(self, picks: list[int]) -> None:
            vectors = {id_: sample_vector(f"{id_} again") for id_ in self.pick_ids(picks)}
            self.commit(WriteBatch(vectors=vectors, embedder=SAMPLE_EMBEDDER.name))

        @precondition(lambda self: bool(self.live_ids()))
        @rule(picks=st.lists(pick, min_size=1, max_size=3))
        def add_english_vectors(self, picks: list[int]) -> None:
            vectors = {id_: sample_english_vector(f"{id_} again") for id_ in self.pick_ids(picks)}
            self.commit(WriteBatch(english_vectors=vectors, english_embedder=SAMPLE_ENGLISH_MODEL))

        @precondition(lambda self: bool(self.live_ids()))
        @rule(picks=st.lists(pick, min_size=1, max_size=3), model=st.sampled_from(["clip", "clap"]))
        def add_media_vectors(self, picks: list[int], model: str) -> None:
            vectors = [sample_media_vector(id_, picks[0] % 2, model) for id_ in self.pick_ids(picks)]
            self.commit(WriteBatch(media_vectors=tuple(vectors)))

        @precondition(lambda self: bool(self.live_ids()))
        @rule(picks=st.lists(pick, min_size=1, max_size=4))
        def forget(self, picks: list[int]) -> None:
            self.commit(WriteBatch(tombstones=tuple(Tombstone(id_, id_.encode()) for id_ in self.pick_ids(picks))))

        @precondition(lambda self: bool(self.live_ids()))
        @rule(name=st.sampled_from(["where", "when", "who"]), picks=st.lists(pick, max_size=4))
        def ask(self, name: str, picks: list[int]) -> None:
            self.commit(self.question_batch(name, picks))

        @rule()
        def follow(self) -> None:
            self.reader_graph = apply_batch(
                self.reader_graph, self.reader.changes_since(SCOPE, self.reader_graph.revision)
            )
            assert graph_differences(self.graphs[-1], self.reader_graph) == []

        @rule()
        def look(self) -> None:
            _assert_derived_columns(self.graphs[-1])

        @rule()
        def keep_snapshot(self) -> None:
            if isinstance(self.writer, SnapshotStore):
                latest = self.graphs[-1]
                self.writer.write_graph_snapshot(SCOPE, latest.revision, graph_cache.to_bytes(latest))

        @invariant()
        def reloaded(self) -> None:
            assert graph_differences(self.graphs[-1], _load_graph(self.reader)) == []

        @invariant()
        def loaded_from_snapshot(self) -> None:
            stored = self.reader.graph_snapshot(SCOPE) if isinstance(self.reader, SnapshotStore) else None
            if stored is not None:
                found = graph_cache.to_graph(stored)
                assert found is not None
                found = apply_batch(found, self.reader.changes_since(SCOPE, found.revision))
                assert graph_differences(self.graphs[-1], found) == []

    return Histories
