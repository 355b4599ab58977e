"""The contract of stores.

This file is over 400 lines because it is the whole contract of a store, one class that a third party inherits.
"""
# ruff: noqa: S101, PLC0415  # these are tests; Hypothesis is imported where needed, so that the rest does not

import multiprocessing
import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import count
from multiprocessing.connection import Connection
from multiprocessing.synchronize import Barrier
from typing import Any

import numpy as np

from ..errors import EcphoraError, EmbedderMismatch, InvalidInput, StaleWrite, StoreClosed, UnknownName, WrongVector
from ..language.names.mentions import entity_id
from ..model.graph.graph import Graph
from ..model.graph.updates import apply_batch
from ..model.ports import ScopeStore, SnapshotStore, Store, TokenCodeStore
from ..model.types import (
    Edge,
    Interval,
    Kind,
    Link,
    Media,
    MediaKind,
    Node,
    NodeId,
    Tombstone,
    UndoBatch,
    ValidityEnd,
    WriteBatch,
)
from ..remember import graph_cache
from ..strategies import BUILT_IN
from .samples import (
    NOON,
    SAMPLE_EMBEDDER,
    SAMPLE_ENGLISH_MODEL,
    SCOPE,
    TURNS,
    StoreOpener,
    _load_graph,
    _sample_access,
    graph_differences,
    sample_analysis,
    sample_batch,
    sample_english_vector,
    sample_entity,
    sample_media_vector,
    sample_node,
    sample_query,
    sample_question_batch,
    sample_vector,
)
from .state_machine import _make_history_machine

Locations = Callable[[], StoreOpener]
"""Returns an opener of a new, empty store at every call."""


class StoreContract:
    """The contract of every store. The fixture ``locations`` returns openers of new stores: see :data:`Locations`.

    ``supports_processes`` says that several processes may open one store at once and that a process may be killed; its
    openers must be picklable.
    """

    supports_processes: bool = False

    def check_integrity(self, store: Store) -> list[str]:
        """Return the problems that a store finds in itself; stores may override it or have ``check_integrity()``."""
        check: Callable[[], Iterable[str]] = getattr(store, "check_integrity", list)
        return list(check())

    # ---- single batches

    def test_commit_gives_revision_and_ascending_seq(self, locations: Locations) -> None:
        """Revisions increase by one; nodes and accesses share one ascending ``seq``."""
        with closing(locations()()) as store:
            first = store.commit(
                SCOPE, sample_batch(sample_node("a"), sample_node("b"), accesses=(_sample_access("a"),))
            )
            second = store.commit(
                SCOPE, sample_batch(sample_node("c"), accesses=(_sample_access("b"), _sample_access("c")))
            )
            assert (first.revision, second.revision) == (1, 2)
            seqs = [seq for batch in (first, second) for seq in _seqs(batch)]
            assert seqs == sorted(set(seqs))
            assert seqs[0] > 0
            assert first.embedder == SAMPLE_EMBEDDER.name

    def test_reads_return_what_was_written(self, locations: Locations) -> None:
        """Every field of every part comes back, through ``commit`` and ``changes_since`` alike."""
        mentions = (Interval(NOON - timedelta(days=1), NOON),)
        node = sample_node(
            "a", "Ça \0 \u2028 你好", minutes=0.001, offset=13, speaker="Ana", session="s", title="t", source="src",
            document="d", position=3, trust=0.25,
            valid_from=NOON - timedelta(days=9), valid_to=NOON + timedelta(days=9),
            metadata={"n": 1, "x": 0.1, "yes": True, "no": None, "text": "ü\0", "list": ["ü", 1, True, None]},
            media=(Media("ü \0.jpg", MediaKind.PICTURE, "你\u2028"), Media("b", MediaKind.SOUND), Media("a")),
        )  # fmt: skip
        batch = sample_batch(
            node, sample_entity("Ana"), analyses={"a": sample_analysis("read this read?", time_mentions=mentions)},
            edges=(Edge("a", "entity:ana", Link.ABOUT, 0.5, "a"),), accesses=(_sample_access("a", 0.75),),
            validity_ends=(ValidityEnd("a", NOON + timedelta(days=2), NOON),),
        )  # fmt: skip
        with closing(locations()()) as store:
            written, read = store.commit(SCOPE, batch), store.changes_since(SCOPE, 0)
            for result in (written, read):
                assert [replace(item, seq=0) for item in result.nodes] == list(batch.nodes)
                assert [item.happened_at.isoformat() for item in result.nodes] == [
                    item.happened_at.isoformat() for item in batch.nodes
                ], "the offset of a time is lost"
                assert (result.edges, result.validity_ends) == (batch.edges, batch.validity_ends)
                assert [replace(item, seq=0, count=0) for item in result.accesses] == list(batch.accesses)
                analysis, expected = result.analyses["a"], batch.analyses["a"]
                assert analysis.term_hashes.tolist() == expected.term_hashes.tolist()
                assert analysis.term_counts.tolist() == expected.term_counts.tolist()
                assert (analysis.is_question, analysis.time_mentions) == (True, mentions)
                assert np.allclose(result.vectors["a"], batch.vectors["a"], atol=1e-3)
                assert (dict(result.english_vectors), result.english_embedder) == ({}, None)
            assert written.vectors["a"].tolist() == read.vectors["a"].tolist()
            assert store.nodes(SCOPE, ["a"]) == [replace(written.nodes[0], valid_to=NOON + timedelta(days=2))]

    def test_commit_is_atomic(self, locations: Locations) -> None:
        """A batch that cannot be written raises a clear error and leaves nothing behind."""
        with closing(locations()()) as store:
            accesses, stored = (_sample_access("a"),), (replace(sample_media_vector("a", 0, "audio"), model="clap-2"),)
            nodes = (sample_node("a"), sample_node("b"))
            store.commit(SCOPE, sample_batch(*nodes, accesses=accesses, media_vectors=stored))
            before = _load_graph(store)
            good, bad = sample_node("new"), np.full(16, np.nan, np.float32)
            media = sample_media_vector("new")
            invalid: list[tuple[type[EcphoraError], WriteBatch]] = [
                (WrongVector, sample_batch(good, vectors={"new": np.ones(3, np.float32)})),
                (WrongVector, sample_batch(good, vectors={"new": bad})),
                (WrongVector, sample_batch(good, vectors={"new": np.full(16, np.inf, np.float32)})),
                (WrongVector, sample_batch(good, vectors={"new": np.full(16, 1e30, np.float32)})),
                (StaleWrite, sample_batch(good, sample_node("a", "another"))),
                (StaleWrite, sample_batch(good, sample_node("new", "twice"))),
                (StaleWrite, sample_batch(good, edges=(Edge("new", "missing", Link.MENTIONS),))),
                (StaleWrite, sample_batch(good, edges=(Edge("missing", "new", Link.MENTIONS),))),
                (StaleWrite, sample_batch(good, validity_ends=(ValidityEnd("missing", NOON, NOON),))),
                (StaleWrite, sample_batch(good, vectors={"missing": sample_vector("x")})),
                (WrongVector, sample_batch(good, english_vectors={"new": np.ones(3, np.float32)})),
                (StaleWrite, sample_batch(good, english_vectors={"missing": sample_english_vector("x")})),
                (StaleWrite, sample_batch(good, media_vectors=(sample_media_vector("missing"),))),
                (InvalidInput, sample_batch(good, media_vectors=(replace(media, model="clap-2"), media))),
                (InvalidInput, sample_batch(good, media_vectors=(media, replace(media, position=1, vector=bad)))),
                (WrongVector, sample_batch(good, media_vectors=(replace(media, vector=bad[:4]),))),
                (EmbedderMismatch, sample_batch(good, embedder="another model")),
                (EcphoraError, sample_batch(good, embedder=None)),
            ]
            for error_type, batch in invalid:
                # Tombstones are applied first: they must be rolled back with the rest.
                with _expect_error(error_type):
                    store.commit(SCOPE, replace(batch, tombstones=(Tombstone("b", b"digest"),)))
                assert graph_differences(before, _load_graph(store)) == []
            with _expect_error(StaleWrite):
                store.commit("another scope", sample_batch(good, edges=(Edge("new", "a", Link.MENTIONS),)))
            assert [info.name for info in store.scopes()] == [SCOPE]
            assert store.commit(SCOPE, sample_batch(good)).revision == 2
            assert self.check_integrity(store) == []

    def test_nodes_keep_requested_order(self, locations: Locations) -> None:
        """Missing nodes are left out; many can be requested at once."""
        with closing(locations()()) as store:
            ids = [f"n{i}" for i in range(1200)]
            store.commit(SCOPE, sample_batch(*(sample_node(id_) for id_ in ids)))
            requested = [*reversed(ids), "missing", "n3"]
            assert [node.id for node in store.nodes(SCOPE, requested)] == [*reversed(ids), "n3"]
            assert store.nodes(SCOPE, []) == []
            assert store.nodes("another scope", ids) == []

    def test_last_validity_end_wins(self, locations: Locations) -> None:
        """Of several ends of one memory the last one written counts, in the graph and in the node."""
        with closing(locations()()) as store:
            ends = [ValidityEnd("a", NOON + timedelta(days=day), NOON + timedelta(hours=day)) for day in (3, 1, 2)]
            store.commit(SCOPE, sample_batch(sample_node("a"), validity_ends=tuple(ends[:2])))
            assert store.nodes(SCOPE, ["a"])[0].valid_to == ends[1].valid_to
            store.commit(SCOPE, WriteBatch(validity_ends=tuple(ends[2:])))
            assert store.nodes(SCOPE, ["a"])[0].valid_to == ends[2].valid_to
            graph = _load_graph(store)
            assert graph.nodes["valid_to"].tolist() == [
                (ends[2].valid_to - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds()
            ]

    def test_forgetting_deletes_all_rows_of_a_node(self, locations: Locations) -> None:
        """Its terms, vectors, edges and accesses are deleted; its id and digest stay."""
        with closing(locations()()) as store:
            edges = (Edge("a", "entity:ana", Link.MENTIONS), Edge("b", "entity:ana", Link.MENTIONS))
            accesses = (_sample_access("a"), _sample_access("b"))
            nodes = (sample_node("a", speaker="Ana"), sample_node("b", speaker="Ben"), sample_entity("Ana"))
            store.commit(SCOPE, sample_batch(*nodes, edges=edges, accesses=accesses))
            store.commit(SCOPE, WriteBatch(tombstones=(Tombstone("a", b"digest"),)))
            assert [node.id for node in store.nodes(SCOPE, ["a", "b"])] == ["b"]
            graph = _load_graph(store)
            assert [len(graph), len(graph.edges), len(graph.vector_rows)] == [2, 1, 1]
            assert graph.english_vector_rows["rows"].tolist() == [graph.row("b")]
            assert {access.node for row in range(2) for access in graph.accesses_of(row)} == {"b"}
            assert graph.tombstones == {"a", b"digest"}
            assert graph.speakers.names == ("Ben",)
            assert self.check_integrity(store) == []

    def test_english_vectors_come_back_with_the_vectors(self, locations: Locations) -> None:
        """They come back through ``commit`` and ``changes_since`` alike; a later one replaces the earlier."""
        with closing(locations()()) as store:
            batch = sample_batch(sample_node("a"), sample_node("zh", "你好"), sample_node("b"))
            early = apply_batch(Graph(), store.commit(SCOPE, batch))
            assert graph_differences(early, _load_graph(store)) == []
            assert (early.vectors.view.shape, early.english_vectors.view.shape) == ((3, 16), (2, 8))
            assert early.english_vector_positions.tolist() == [0, -1, 1]
            late = {"zh": sample_english_vector("x"), "a": sample_english_vector("y")}
            written = store.commit(SCOPE, WriteBatch(english_vectors=late, english_embedder=SAMPLE_ENGLISH_MODEL))
            grown = apply_batch(early, written)
            assert grown.english_vector_positions.tolist() == [1, 2, 0]
            assert grown.english_vectors.view[1].tolist() == late["a"].tolist()
            assert graph_differences(grown, _load_graph(store)) == []
            assert graph_differences(grown, apply_batch(early, store.changes_since(SCOPE, early.revision))) == []
            assert self.check_integrity(store) == []

    def test_token_codes_stay_with_their_text(self, locations: Locations) -> None:
        """A store that keeps them gives them to who asks for their model, and deletes them with their node."""
        with closing(locations()()) as store:
            if not isinstance(store, TokenCodeStore):
                return
            codes = {"a": b"first", "b": b"second"}
            batch = sample_batch(sample_node("a"), sample_node("b"), token_codes=codes, code_model="e5")
            written = store.commit(SCOPE, batch)
            assert (dict(written.token_codes), written.code_model) == ({}, None)
            assert store.token_codes(SCOPE, "e5", ["b", "missing", "a"]) == codes
            assert store.token_codes(SCOPE, "another", ["a"]) == store.token_codes("no scope", "e5", ["a"]) == {}
            store.commit(SCOPE, WriteBatch(tombstones=(Tombstone("a", b"digest"),)))
            late = {"a": b"of what is forgotten", "b": b"late"}
            store.commit(SCOPE, WriteBatch(token_codes=late, code_model="e5"))
            assert store.token_codes(SCOPE, "e5", ["a", "b"]) == {"b": b"second"}
            store.commit(SCOPE, WriteBatch(token_codes=late, code_model="e6"))
            assert store.token_codes(SCOPE, "e6", ["a", "b"]) == {"b": b"late"}
            assert self.check_integrity(store) == []

    def test_snapshot_is_deleted_with_a_memory(self, locations: Locations) -> None:
        """It is of the latest revision, or none is written; nothing of it outlives what is deleted or changed."""
        with closing(locations()()) as store:
            if not isinstance(store, SnapshotStore):
                return
            assert store.graph_snapshot(SCOPE) is None
            store.write_graph_snapshot(SCOPE, 0, b"of no scope")
            early = apply_batch(Graph(), store.commit(SCOPE, sample_batch(sample_node("a"), sample_node("b"))))
            value = graph_cache.to_bytes(early)
            for wrong in (early.revision - 1, early.revision + 1):
                store.write_graph_snapshot(SCOPE, wrong, value)
                assert store.graph_snapshot(SCOPE) is None
            store.write_graph_snapshot(SCOPE, early.revision, value)
            later = apply_batch(early, store.commit(SCOPE, sample_batch(sample_node("c"))))
            stored = store.graph_snapshot(SCOPE)
            assert stored is not None
            assert (stored.revision, stored.value, store.graph_snapshot("another")) == (early.revision, value, None)
            assert len(stored.vectors.seqs) == len(stored.vectors.values) == 3
            found = graph_cache.to_graph(stored)
            assert found is not None
            assert graph_differences(early, found) == []
            found = apply_batch(found, store.changes_since(SCOPE, found.revision))
            assert graph_differences(later, found) == []
            store.commit(SCOPE, WriteBatch(tombstones=(Tombstone("a", b"digest"),)))
            assert store.graph_snapshot(SCOPE) is None
            store.write_graph_snapshot(SCOPE, early.revision, value)
            assert store.graph_snapshot(SCOPE) is None
            assert self.check_integrity(store) == []

    def test_english_vectors_of_another_model_are_left_out(self, locations: Locations) -> None:
        """Also English vectors that come with vectors of another embedder. All else of the batch is written."""
        with closing(locations()()) as store:
            early = apply_batch(Graph(), store.commit(SCOPE, sample_batch(sample_node("a"))))
            others = (
                sample_batch(sample_node("b"), english_embedder="another"),
                WriteBatch(
                    vectors={"a": sample_vector("x")},
                    english_vectors={"a": sample_english_vector("x")},
                    embedder="another",
                    english_embedder=SAMPLE_ENGLISH_MODEL,
                ),
            )
            for batch in others:
                written = store.commit(SCOPE, batch)
                assert (dict(written.english_vectors), written.english_embedder) == ({}, SAMPLE_ENGLISH_MODEL)
            found = store.changes_since(SCOPE, early.revision)
            assert (list(found.vectors), dict(found.english_vectors)) == (["b"], {})
            assert found.english_embedder == SAMPLE_ENGLISH_MODEL
            assert store.changes_since(SCOPE, found.revision).english_embedder == SAMPLE_ENGLISH_MODEL

    def test_switch_deletes_english_vectors_of_another_model(self, locations: Locations) -> None:
        """Those of the batch's model stay, whatever the embedder of the scope."""
        with closing(locations()()) as store:
            store.commit(SCOPE, sample_batch(sample_node("a")))
            new = WriteBatch(vectors={"a": sample_vector("x")}, embedder="another")
            store.commit(SCOPE, new)
            switch = WriteBatch(embedder="another", english_embedder=SAMPLE_ENGLISH_MODEL, switch_embedder=True)
            store.commit(SCOPE, switch)
            found = store.changes_since(SCOPE, 0)
            assert (found.embedder, found.english_embedder) == ("another", SAMPLE_ENGLISH_MODEL)
            assert (list(found.vectors), list(found.english_vectors)) == (["a"], ["a"])
            assert store.commit(SCOPE, replace(switch, english_embedder=None)).english_embedder is None
            found = store.changes_since(SCOPE, 0)
            assert (list(found.vectors), dict(found.english_vectors), found.english_embedder) == (["a"], {}, None)
            late = {"a": np.eye(3, dtype=np.float32)[0]}
            store.commit(SCOPE, WriteBatch(english_vectors=late, english_embedder="longer"))
            assert _load_graph(store).english_vectors.view.tolist() == [[1, 0, 0]]
            assert self.check_integrity(store) == []

    def test_media_vectors_have_a_space_for_each_model(self, locations: Locations) -> None:
        """They come back through ``commit`` and ``changes_since`` alike; a later one replaces the earlier."""
        with closing(locations()()) as store:
            vectors = [sample_media_vector("a", 1), sample_media_vector("b"), sample_media_vector("a", 1, "audio")]
            batch = sample_batch(sample_node("a"), sample_node("b"), media_vectors=tuple(reversed(vectors)))
            early = apply_batch(Graph(), store.commit(SCOPE, batch))
            assert graph_differences(early, _load_graph(store)) == []
            assert {model: space.vectors.view.shape for model, space in early.media_spaces.items()} == {
                "clip": (2, 4),
                "audio": (1, 5),
            }
            assert early.media_spaces["clip"].vectors.view.tolist() == [one.vector.tolist() for one in vectors[:2]]
            assert early.media_spaces["clip"].places["positions"].tolist() == [1, 0]
            later = replace(vectors[0], vector=vectors[1].vector)
            grown = apply_batch(early, store.commit(SCOPE, WriteBatch(media_vectors=(later,))))
            assert grown.media_spaces["clip"].places["rows"].tolist() == [1, 0]
            assert grown.media_spaces["clip"].vectors.view.tolist() == [vectors[1].vector.tolist()] * 2
            assert graph_differences(grown, _load_graph(store)) == []
            assert graph_differences(grown, apply_batch(early, store.changes_since(SCOPE, early.revision))) == []
            assert _load_graph(store, "another scope").media_spaces == {}
            assert self.check_integrity(store) == []

    def test_forgetting_deletes_media_vectors(self, locations: Locations) -> None:
        """A space goes with its last vector, and a node that is replaced in one batch keeps none of the old one's."""
        with closing(locations()()) as store:
            vectors = (sample_media_vector("a"), sample_media_vector("b"), sample_media_vector("a", 0, "audio"))
            batch = sample_batch(sample_node("a"), sample_node("b"), media_vectors=vectors)
            early = apply_batch(Graph(), store.commit(SCOPE, batch))
            again = sample_batch(sample_node("a", "new"), tombstones=(Tombstone("a", b"digest"),))
            grown = apply_batch(early, store.commit(SCOPE, again))
            assert list(grown.media_spaces) == ["clip"]
            assert grown.media_spaces["clip"].places["rows"].tolist() == [grown.row("b")]
            assert graph_differences(grown, _load_graph(store)) == []
            assert graph_differences(grown, apply_batch(early, store.changes_since(SCOPE, early.revision))) == []
            grown = apply_batch(grown, store.commit(SCOPE, WriteBatch(tombstones=(Tombstone("b", b"digest"),))))
            assert grown.media_spaces == _load_graph(store).media_spaces == {}
            assert self.check_integrity(store) == []

    def test_node_is_replaced_in_one_batch(self, locations: Locations) -> None:
        """A batch may forget a node and write another of the same id; readers at any revision see the new one."""
        with closing(locations()()) as store:
            mention = Edge("a", "entity:ana", Link.MENTIONS)
            nodes = (sample_node("a", "old"), sample_entity("Ana"), sample_node("b"))
            early = apply_batch(Graph(), store.commit(SCOPE, sample_batch(*nodes, edges=(mention,))))
            batch = sample_batch(sample_node("a", "new"), sample_entity("Ana"), edges=(mention,))
            written = store.commit(SCOPE, replace(batch, tombstones=(Tombstone("a", b"digest"),)))
            assert [node.text for node in store.nodes(SCOPE, ["a"])] == ["new"]
            assert list(_load_graph(store).nodes["ids"]) == ["b", "a", "entity:ana"]
            assert graph_differences(apply_batch(early, written), _load_graph(store)) == []
            grown = apply_batch(early, store.changes_since(SCOPE, early.revision))
            assert graph_differences(grown, _load_graph(store)) == []
            assert self.check_integrity(store) == []

    def test_changes_after_the_last_revision_are_empty(self, locations: Locations) -> None:
        """A revision that the scope has not reached gives no items, only the scope's revision and embedder."""
        with closing(locations()()) as store:
            store.commit(SCOPE, sample_batch(sample_node("a")))
            for revision in (1, 2**62):
                found = store.changes_since(SCOPE, revision)
                assert (found.revision, found.embedder) == (1, SAMPLE_EMBEDDER.name)
                assert (found.nodes, found.edges, found.accesses, dict(found.vectors)) == ((), (), (), {})
            unknown = store.changes_since("nobody", 2**62)
            assert (unknown.revision, unknown.embedder, unknown.nodes) == (0, None, ())

    def test_batch_is_refused_at_another_revision(self, locations: Locations) -> None:
        """A batch that expects a revision is written at that one, and raises ``StaleWrite`` at any other."""
        with closing(locations()()) as store:
            store.commit(SCOPE, sample_batch(sample_node("a"), expected_revision=0))
            for other in (0, 2):
                with _expect_error(StaleWrite):
                    store.commit(SCOPE, sample_batch(sample_node("b"), expected_revision=other))
            written = store.commit(SCOPE, sample_batch(sample_node("b"), expected_revision=1))
            assert (written.revision, written.expected_revision) == (2, None)
            assert list(_load_graph(store).nodes["ids"]) == ["a", "b"]

    def test_batch_is_refused_if_what_it_refers_to_was_rewritten(self, locations: Locations) -> None:
        """A batch with the revision that it was read at may refer only to nodes that have not been written since."""
        with closing(locations()()) as store:
            store.commit(SCOPE, sample_batch(sample_node("a", "old"), sample_node("b"), sample_node("c")))
            tombstones = (Tombstone("a", b"digest"), Tombstone("c", b"digest"))
            store.commit(SCOPE, replace(sample_batch(sample_node("a", "new")), tombstones=tombstones))
            claim, source = sample_node("claim", kind=Kind.CLAIM), Edge("claim", "a", Link.CLAIMED_IN)
            stale: tuple[WriteBatch, ...] = (
                sample_batch(claim, edges=(source,)),
                WriteBatch(edges=(Edge("b", "b", Link.ALIAS, provenance="a"),)),
                WriteBatch(edges=(Edge("b", "b", Link.ALIAS, provenance="c"),)),
                WriteBatch(vectors={"a": sample_vector("old")}, embedder=SAMPLE_EMBEDDER.name),
            )
            for batch in stale:
                with _expect_error(StaleWrite):
                    store.commit(SCOPE, replace(batch, read_revision=1))
            written = store.commit(SCOPE, sample_batch(claim, edges=(replace(source, dst="b"),), read_revision=1))
            assert (written.revision, written.read_revision) == (3, None)
            store.commit(SCOPE, WriteBatch(edges=(source,), read_revision=3))

    def test_entity_is_deleted_with_its_last_mention(self, locations: Locations) -> None:
        """Also for a reader that gets a second mention and the deletion of the first in one batch."""
        with closing(locations()()) as store:
            mention = Edge("a", "entity:ana", Link.MENTIONS)
            store.commit(SCOPE, sample_batch(sample_node("a"), sample_entity("Ana"), edges=(mention,)))
            early = _load_graph(store)
            store.commit(SCOPE, sample_batch(sample_node("b"), edges=(replace(mention, src="b"),)))
            late = _load_graph(store)
            store.commit(SCOPE, WriteBatch(tombstones=(Tombstone("a", b"digest"),)))
            for reader in (early, late):
                grown = apply_batch(reader, store.changes_since(SCOPE, reader.revision))
                assert grown.row("entity:ana") is not None
                assert graph_differences(grown, _load_graph(store)) == []
            written = store.commit(SCOPE, WriteBatch(tombstones=(Tombstone("b", b"digest"),)))
            assert len(_load_graph(store)) == len(apply_batch(early, store.changes_since(SCOPE, early.revision))) == 0
            assert [gone.node for gone in written.tombstones] == ["b"]
            assert self.check_integrity(store) == []

    def test_insight_is_deleted_with_any_source(self, locations: Locations) -> None:
        """An insight over it is deleted too. Updated and reloaded graphs agree."""
        with closing(locations()()) as store:
            episodes = sample_batch(*(sample_node(name, f"text of {name}") for name in ("a", "b", "c")))
            ids = [f"insight:{level}" for level in "123"]
            insights = [replace(sample_node(id_, "insight"), kind=Kind.INSIGHT) for id_ in ids]
            sources = (("insight:1", "a"), ("insight:1", "b"), ("insight:2", "insight:1"), ("insight:3", "c"))
            edges = tuple(Edge(src, dst, Link.DERIVED_FROM) for src, dst in sources)
            grown = apply_batch(Graph(), store.commit(SCOPE, episodes))
            grown = apply_batch(grown, store.commit(SCOPE, WriteBatch(nodes=tuple(insights), edges=edges)))
            grown = apply_batch(grown, store.commit(SCOPE, WriteBatch(tombstones=(Tombstone("a", b"a"),))))
            assert list(grown.nodes["ids"]) == ["b", "c", "insight:3"]
            assert graph_differences(grown, _load_graph(store)) == []

    def test_question_is_deleted_with_any_answer(self, locations: Locations) -> None:
        """Whether the answer was used or not; deleting only the question leaves everything else as it was."""
        with closing(locations()()) as store:
            episodes = sample_batch(*(sample_node(name) for name in ("a", "b", "c")))
            before = apply_batch(Graph(), store.commit(SCOPE, episodes))
            grown = before
            for name, *answers in (("one", "a", "b"), ("two", "b", "a"), ("three", "c"), ("four", "b", "c")):
                grown = apply_batch(grown, store.commit(SCOPE, sample_question_batch(name, *answers)))
            assert grown.edges["weights"].tolist() == [1, 0, 1, 0, 1, 1, 0]
            assert (grown.episode_count, len(grown.accesses), len(grown.vector_rows)) == (3, 3, 7)
            without_four = apply_batch(
                grown, store.commit(SCOPE, WriteBatch(tombstones=(Tombstone("question:four", b"four"),)))
            )
            assert graph_differences(without_four, _load_graph(store)) == []
            assert list(without_four.nodes["ids"]) == [
                "a",
                "b",
                "c",
                *(f"question:{name}" for name in ("one", "two", "three")),
            ]
            without_a = apply_batch(without_four, store.commit(SCOPE, WriteBatch(tombstones=(Tombstone("a", b"a"),))))
            assert list(without_a.nodes["ids"]) == ["b", "c", "question:three"]
            assert graph_differences(without_a, apply_batch(grown, store.changes_since(SCOPE, grown.revision))) == []
            without_three = apply_batch(
                without_a, store.commit(SCOPE, WriteBatch(tombstones=(Tombstone("question:three", b"three"),)))
            )
            expected = apply_batch(before, WriteBatch(tombstones=(Tombstone("a", b"a"),)))
            differences = [
                difference
                for difference in graph_differences(expected, without_three)
                if not difference.startswith(("revision", "tombstones"))
            ]
            assert (
                differences == graph_differences(without_three, _load_graph(store)) == self.check_integrity(store) == []
            )

    def test_cursors_are_stored(self, locations: Locations) -> None:
        """Each name keeps the last cursor written."""
        with closing(locations()()) as store:
            grown = apply_batch(Graph(), store.commit(SCOPE, WriteBatch(cursors={"one": 1, "two": 5})))
            grown = apply_batch(grown, store.commit(SCOPE, WriteBatch(cursors={"one": 3})))
            assert grown.cursors == _load_graph(store).cursors == {"one": 3, "two": 5}

    def test_undo_restores_every_row(self, locations: Locations) -> None:
        with closing(locations()()) as store:
            store.commit(SCOPE, WriteBatch(nodes=(sample_node("a"), sample_node("b")), cursors={"consolidation": 1}))
            before = replace(store.changes_since(SCOPE, 0), revision=0)
            for name in ("first", "second"):
                claim = replace(sample_node(f"{name} claim"), kind=Kind.CLAIM)
                edges = (Edge(claim.id, "a", Link.CLAIMED_IN), Edge("a", "b", Link.ASSOCIATION))
                batch = UndoBatch(name, NOON, {"claims": 1})
                store.commit(
                    SCOPE,
                    WriteBatch(nodes=(claim,), edges=edges, cursors={"consolidation": 2, name: 1}, undo_batch=batch),
                )
            assert [batch.id for batch in store.undo_batches(SCOPE)] == ["first", "second"]
            assert dict(store.undo_batches(SCOPE)[0].counts) == {"claims": 1}
            with _expect_error(InvalidInput):  # a later batch may depend on it
                store.commit(SCOPE, WriteBatch(undoes="first"))
            store.commit(SCOPE, WriteBatch(undoes="second"))
            store.commit(SCOPE, WriteBatch(undoes="first"))
            assert replace(store.changes_since(SCOPE, 0), revision=0) == before
            assert store.undo_batches(SCOPE) == []
            with _expect_error(InvalidInput):
                store.commit(SCOPE, WriteBatch(undoes="first"))

    def test_latest_batch_is_undone_first(self, locations: Locations) -> None:
        """Another process may commit a batch of its own between two commits of one batch."""
        with closing(locations()()) as store:
            store.commit(SCOPE, WriteBatch(nodes=(sample_node("a"), sample_node("b"))))
            for name in ("long", "short", "long"):
                edge = Edge("a", "b", Link.ASSOCIATION)
                store.commit(SCOPE, WriteBatch(edges=(edge,), undo_batch=UndoBatch(name, NOON, {"edges": 1})))
            assert [(one.id, one.counts["edges"]) for one in store.undo_batches(SCOPE)] == [("short", 1), ("long", 2)]
            with _expect_error(InvalidInput):
                store.commit(SCOPE, WriteBatch(undoes="short"))
            for undone, left in (("long", 1), ("short", 0)):
                store.commit(SCOPE, WriteBatch(undoes=undone))
                assert len(store.changes_since(SCOPE, 0).edges) == left

    def test_access_to_missing_node_is_dropped(self, locations: Locations) -> None:
        """Another process may have forgotten a recalled node: then there is nothing to log."""
        with closing(locations()()) as store:
            store.commit(SCOPE, sample_batch(sample_node("a")))
            written = store.commit(SCOPE, WriteBatch(accesses=(_sample_access("gone"), _sample_access("a"))))
            assert [access.node for access in written.accesses] == ["a"]
            assert [access.node for access in store.changes_since(SCOPE, 1).accesses] == ["a"]

    def test_scopes_are_listed_by_name(self, locations: Locations) -> None:
        """Each with its revision, episodes and embedder."""
        with closing(locations()()) as store:
            assert store.scopes() == []
            for scope in ("b", "a"):
                store.commit(scope, sample_batch(sample_node("x"), sample_entity("Ana")))
            store.commit("b", WriteBatch(accesses=(_sample_access("x"),)))
            listed = [(info.name, info.revision, info.episodes, info.embedder) for info in store.scopes()]
            assert listed == [("a", 1, 1, SAMPLE_EMBEDDER.name), ("b", 2, 1, SAMPLE_EMBEDDER.name)]

    def test_renamed_scope_keeps_everything(self, locations: Locations) -> None:
        """Its graph, nodes and undo batches, under the new name alone; other scopes stay as they are."""
        with closing(locations()()) as store:
            if not isinstance(store, ScopeStore):
                return
            graph, batches, nodes = _write_full_scope(store)
            store.rename_scope(SCOPE, "new")
            assert [info.name for info in store.scopes()] == ["another", "new"]
            assert graph_differences(_load_graph(store, "new"), graph) == []
            assert (store.undo_batches("new"), store.nodes("new", ["a", "b"])) == (batches, nodes)
            assert (store.undo_batches(SCOPE), store.nodes(SCOPE, ["a", "b"])) == ([], [])
            assert store.commit("new", WriteBatch(undoes="batch")).revision == graph.revision + 1
            assert self.check_integrity(store) == []

    def test_cloned_scope_is_independent(self, locations: Locations) -> None:
        """The copy reads like the first; then each changes without the other."""
        with closing(locations()()) as store:
            if not isinstance(store, ScopeStore):
                return
            graph, batches, nodes = _write_full_scope(store)
            store.clone_scope(SCOPE, "copy")
            assert [info.name for info in store.scopes()] == ["another", SCOPE, "copy"]
            for scope in (SCOPE, "copy"):
                assert graph_differences(_load_graph(store, scope), graph) == []
                assert (store.undo_batches(scope), store.nodes(scope, ["a", "b"])) == (batches, nodes)
            store.commit("copy", WriteBatch(undoes="batch"))
            store.commit("copy", sample_batch(sample_node("new"), accesses=(_sample_access("b"),)))
            store.commit("copy", WriteBatch(tombstones=(Tombstone("b", b"b"),)))
            assert graph_differences(_load_graph(store), graph) == []
            assert (store.undo_batches(SCOPE), store.nodes(SCOPE, ["a", "b"])) == (batches, nodes)
            store.commit(SCOPE, WriteBatch(tombstones=(Tombstone("b", b"b"),)))
            assert list(_load_graph(store, "copy").nodes["ids"]) == ["a", "entity:ana", "new"]
            assert self.check_integrity(store) == []

    def test_scopes_are_not_overwritten(self, locations: Locations) -> None:
        """A scope is neither renamed nor copied to the name of another; a missing one is an error. Nothing changes."""
        with closing(locations()()) as store:
            if not isinstance(store, ScopeStore):
                return
            graph, _, _ = _write_full_scope(store)
            infos = store.scopes()
            for change in (store.rename_scope, store.clone_scope):
                for name in ("another", SCOPE):
                    with _expect_error(InvalidInput):
                        change(SCOPE, name)
                with _expect_error(UnknownName):
                    change("nobody", "new")
            assert store.scopes() == infos
            assert graph_differences(_load_graph(store), graph) == []

    def test_an_unknown_scope_is_empty(self, locations: Locations) -> None:
        """Reading it creates nothing."""
        with closing(locations()()) as store:
            assert graph_differences(_load_graph(store, "nobody"), Graph()) == []
            assert store.scopes() == []

    def test_commits_survive_reopening(self, locations: Locations) -> None:
        """Closing and opening again changes nothing."""
        opener = locations()
        with closing(opener()) as store:
            store.commit(SCOPE, sample_batch(sample_node("a"), accesses=(_sample_access("a"),)))
            before = _load_graph(store)
        with closing(opener()) as store:
            assert graph_differences(before, _load_graph(store)) == []

    def test_close_is_idempotent_and_final(self, locations: Locations) -> None:
        """Closing twice is harmless; using a closed store raises ``StoreClosed``."""
        store = locations()()
        store.commit(SCOPE, sample_batch(sample_node("a")))
        store.close()
        store.close()
        uses: list[Callable[[], object]] = [
            lambda: store.commit(SCOPE, WriteBatch()),
            lambda: store.changes_since(SCOPE, 0),
            lambda: store.nodes(SCOPE, ["a"]),
            store.scopes,
        ]
        for use in uses:
            with _expect_error(StoreClosed):
                use()

    # ---- random histories

    def test_incremental_graph_equals_reloaded_graph(self, locations: Locations) -> None:
        """After any history, own commits and ``changes_since`` any revision lead to the same graph."""
        from hypothesis import settings
        from hypothesis.stateful import run_state_machine_as_test

        histories: Any = _make_history_machine()
        profile = settings(settings.default, stateful_step_count=12, suppress_health_check=_health_checks())
        machine: Any = lambda: histories(locations())  # noqa: E731  # Hypothesis wants a class, and takes a factory
        run_state_machine_as_test(machine, settings=profile)

    def test_scopes_are_isolated(self, locations: Locations) -> None:
        """Commits to one scope leave another scope's graph, nodes and recall unchanged, bit for bit."""
        from hypothesis import given, settings
        from hypothesis import strategies as st

        store = locations()()
        texts = [text for _, _, text in TURNS]
        ours = [sample_node(f"n{i}", text, speaker="Ana", session="s") for i, text in enumerate(texts)]
        edges = tuple(Edge(node.id, "entity:porto", Link.MENTIONS) for node in ours if "Porto" in node.text)
        store.commit("ours", sample_batch(*ours, sample_entity("Porto"), edges=edges, accesses=(_sample_access("n0"),)))
        before = self._visible_state(store, ours)
        numbers = st.integers(0, len(ours) - 1)

        @settings(suppress_health_check=_health_checks())
        @given(st.lists(st.tuples(numbers, st.sampled_from(texts), st.sampled_from(["add", "forget", "end", "touch"]))))
        def check(history: list[tuple[int, str, str]]) -> None:
            existing = {node.id for node in _read_nodes(store, "theirs")}
            for number, text, action in history:
                id_ = f"n{number}"
                if action == "add" and id_ not in existing:
                    is_first_mention = "entity:porto" not in existing
                    entities = (sample_entity("Porto"),) if is_first_mention else ()
                    edge = (Edge(id_, "entity:porto", Link.MENTIONS),)
                    store.commit("theirs", sample_batch(sample_node(id_, text, speaker="Eve"), *entities, edges=edge))
                    existing |= {id_, "entity:porto"}
                elif action == "forget" and id_ in existing:
                    store.commit("theirs", WriteBatch(tombstones=(Tombstone(id_, b"digest"),)))
                    existing = {node.id for node in _read_nodes(store, "theirs")}
                elif action == "end" and id_ in existing:
                    store.commit("theirs", WriteBatch(validity_ends=(ValidityEnd(id_, NOON, NOON),)))
                elif action == "touch":
                    store.commit("theirs", WriteBatch(accesses=(_sample_access(id_),)))
            after = self._visible_state(store, ours)
            assert graph_differences(before[0], after[0]) == []
            assert before[1:] == after[1:]

        try:
            check()
        finally:
            store.close()

    def _visible_state(self, store: Store, nodes: Sequence[Node]) -> tuple[Graph, object, object, object]:
        """Return everything that is visible of the scope ``ours``."""
        graph = _load_graph(store, "ours")
        queries = [sample_query(text) for text in ("Where does Ana live in Porto?", "school lunch")]
        recalled = [
            (name, activation.scores.tobytes(), activation.confidence)
            for name, strategy in BUILT_IN.items()
            for activation in (strategy.activate(query, graph) for query in queries)
        ]
        info = [info for info in store.scopes() if info.name == "ours"]
        return graph, store.nodes("ours", [node.id for node in nodes]), info, recalled

    # ---- processes

    def test_concurrent_processes_lose_nothing(self, locations: Locations) -> None:
        """No commit is lost, and no ``seq`` is assigned twice."""
        if not self.supports_processes:
            return
        opener, writers, commits = locations(), 4, 25
        opener().close()
        context = multiprocessing.get_context("spawn")
        start = context.Barrier(writers)
        processes = [
            context.Process(target=_write_commits, args=(pickle.dumps(opener), f"w{number}", commits, start))
            for number in range(writers)
        ]
        for process in processes:
            process.start()
        for process in processes:
            process.join()
        assert [process.exitcode for process in processes] == [0] * writers
        with closing(opener()) as store:
            written = store.changes_since(SCOPE, 0)
            ids = {f"w{number}-{i}" for number in range(writers) for i in range(commits)}
            assert {node.id for node in written.nodes} == ids
            assert written.revision == writers * commits
            assert sorted(_seqs(written)) == list(range(1, 2 * writers * commits + 1))
            assert written.vectors.keys() == written.english_vectors.keys() == ids
            assert self.check_integrity(store) == []

    def test_killed_process_loses_no_acknowledged_commit(self, locations: Locations) -> None:
        """After ``kill -9`` during writes: acknowledged commits are there, none is partial, and writing goes on."""
        if not self.supports_processes:
            return
        opener = locations()
        context = multiprocessing.get_context("spawn")
        acknowledged: list[NodeId] = []
        for round_, commit_count in enumerate((1, 8, 30)):
            receiver, sender = context.Pipe(duplex=False)
            process = context.Process(target=_write_forever, args=(pickle.dumps(opener), f"k{round_}", sender))
            process.start()
            sender.close()
            acknowledged += [receiver.recv_bytes().decode() for _ in range(commit_count)]
            process.kill()
            acknowledged += _drain(receiver)
            process.join()
            receiver.close()
            with closing(opener()) as store:
                self._assert_no_partial_commit(store, acknowledged)
                acknowledged.append(f"after-{round_}")
                store.commit(SCOPE, _entry_batch(acknowledged[-1]))

    def _assert_no_partial_commit(self, store: Store, acknowledged: Sequence[NodeId]) -> None:
        assert self.check_integrity(store) == []
        written = store.changes_since(SCOPE, 0)
        episodes = {node.id for node in written.nodes if node.kind is Kind.EPISODE}
        assert episodes >= set(acknowledged)
        assert len(episodes) == written.revision
        assert written.vectors.keys() == written.analyses.keys() == episodes
        assert {access.node for access in written.accesses} == episodes
        assert {(edge.src, edge.dst) for edge in written.edges} == {(id_, entity_id(id_)) for id_ in episodes}
        for id_ in episodes:
            expected = _entry_batch(id_)
            assert written.vectors[id_].tolist() == expected.vectors[id_].tolist()
            assert written.english_vectors[id_].tolist() == expected.english_vectors[id_].tolist()
            assert written.analyses[id_].term_hashes.tolist() == expected.analyses[id_].term_hashes.tolist()


def _entry_batch(id_: NodeId) -> WriteBatch:
    """Return a batch with one item of every type."""
    edges = (Edge(id_, entity_id(id_), Link.MENTIONS),)
    return sample_batch(sample_node(id_), sample_entity(id_), edges=edges, accesses=(_sample_access(id_),))


def _seqs(batch: WriteBatch) -> list[int]:
    return [node.seq for node in batch.nodes] + [access.seq for access in batch.accesses]


def _read_nodes(store: Store, scope: str) -> tuple[Node, ...]:
    return store.changes_since(scope, 0).nodes


def _write_full_scope(store: Store) -> tuple[Graph, list[UndoBatch], list[Node]]:
    """Write two scopes, one with something of everything; return its graph, its undo batches and two of its nodes."""
    edges = (Edge("a", "entity:ana", Link.ABOUT, 0.5, "a"), Edge("b", "entity:ana", Link.MENTIONS))
    end = ValidityEnd("b", NOON + timedelta(days=2), NOON)
    nodes = (
        sample_node("gone"),
        sample_node("a", "of ana", offset=-8, speaker="Ana"),
        sample_entity("Ana"),
        sample_node("b"),
    )
    accesses = (_sample_access("a"), _sample_access("b", 0.5))
    store.commit(SCOPE, sample_batch(*nodes, edges=edges, accesses=accesses, validity_ends=(end,)))
    store.commit(SCOPE, WriteBatch(tombstones=(Tombstone("gone", b"digest"),), cursors={"one": 2}))
    claim = replace(sample_node("claim"), kind=Kind.CLAIM)
    undo_batch = UndoBatch("batch", NOON, {"claims": 1})
    links = (Edge("claim", "a", Link.CLAIMED_IN), Edge("a", "b", Link.ASSOCIATION))
    store.commit(SCOPE, WriteBatch(nodes=(claim,), edges=links, cursors={"one": 5}, undo_batch=undo_batch))
    store.commit("another", sample_batch(sample_node("a")))
    return _load_graph(store), store.undo_batches(SCOPE), store.nodes(SCOPE, ["a", "b"])


@contextmanager
def _expect_error(error_type: type[EcphoraError]) -> Iterator[None]:
    try:
        yield
    except error_type as error:
        if not str(error):
            raise AssertionError(f"{type(error).__name__} says nothing") from error
    else:
        raise AssertionError(f"nothing was raised where {error_type.__name__} belongs")


def _write_commits(opener: bytes, name: str, commits: int, start: Barrier) -> None:
    """Run in a separate process: make ``commits`` commits, at the same time as the others."""
    store = pickle.loads(opener)()  # noqa: S301  # our own, from the process that started this one
    start.wait(60)
    for i in range(commits):
        id_ = f"{name}-{i}"
        store.commit(SCOPE, sample_batch(sample_node(id_), accesses=(_sample_access(id_),)))
    store.close()


def _write_forever(opener: bytes, name: str, acknowledge: Connection) -> None:
    """Run in a separate process until it is killed: acknowledge each commit."""
    store = pickle.loads(opener)()  # noqa: S301  # our own, from the process that started this one
    for i in count():
        store.commit(SCOPE, _entry_batch(f"{name}-{i}"))
        acknowledge.send_bytes(f"{name}-{i}".encode())


def _drain(pipe: Connection) -> list[NodeId]:
    """Return the acknowledgments left in the pipe of a killed process, without an incomplete last one."""
    acknowledged: list[NodeId] = []
    try:
        while True:
            acknowledged.append(pipe.recv_bytes().decode())
    except (EOFError, OSError):
        return acknowledged


def _health_checks() -> list[Any]:
    """Return all health checks: fixtures shared between examples and slow disks do not matter here."""
    from hypothesis import HealthCheck

    return list(HealthCheck)
