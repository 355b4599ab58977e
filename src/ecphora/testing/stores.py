"""The contract of stores."""
# ruff: noqa: S101, PLC0415  # these are tests; Hypothesis is imported by those that need it, so that the rest does not

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

from ..errors import EcphoraError, EmbedderMismatch, InvalidInput, StaleChange, StoreClosed, WrongVector
from ..graph import Graph
from ..language.names import entity_id
from ..model import Batch, Change, Edge, Forgotten, Interval, Kind, Link, Node, NodeId, Superseded
from ..ports import Store
from ..strategies import BUILT_IN
from .histories import _histories
from .samples import (
    NOON,
    SAMPLES,
    SCOPE,
    TURNS,
    Opener,
    _access,
    _grown,
    differences,
    sample_change,
    sample_cue,
    sample_name,
    sample_node,
    sample_question,
    sample_reading,
    sample_vector,
)

Locations = Callable[[], Opener]
"""Gives an opener of a new, empty place at every call."""


class StoreContract:
    """What every store must keep. The fixture ``locations`` gives openers of new places: see :data:`Locations`.

    ``processes`` says that several processes may open one place at once and that a process may be killed; its openers
    must be picklable.
    """

    processes: bool = False

    def faults(self, store: Store) -> list[str]:
        """What the store finds wrong inside itself; stores that can look override or offer ``faults()``."""
        look: Callable[[], Iterable[str]] = getattr(store, "faults", list)
        return list(look())

    # ---- one change

    def test_commit_gives_revision_and_ascending_seq(self, locations: Locations) -> None:
        """Revisions count up by one; nodes and accesses share one ascending count."""
        with closing(locations()()) as store:
            first = store.commit(SCOPE, sample_change(sample_node("a"), sample_node("b"), accesses=(_access("a"),)))
            second = store.commit(SCOPE, sample_change(sample_node("c"), accesses=(_access("b"), _access("c"))))
            assert (first.revision, second.revision) == (1, 2)
            given = [number for change in (first, second) for number in _numbers(change)]
            assert given == sorted(set(given))
            assert given[0] > 0
            assert first.embedder == SAMPLES.name

    def test_what_is_read_is_what_was_written(self, locations: Locations) -> None:
        """Every field of every part comes back, through commit and through changes alike."""
        told = (Interval(NOON - timedelta(days=1), NOON),)
        node = sample_node(
            "a", "Ça \0 \u2028 你好", minutes=0.001, speaker="Ana", session="s", title="t", source="src", document="d",
            position=3, valid_from=NOON - timedelta(days=9), valid_to=NOON + timedelta(days=9), trust=0.25,
            metadata={"n": 1, "x": 0.1, "yes": True, "no": None, "text": "ü\0"},
        )  # fmt: skip
        change = sample_change(
            node, sample_name("Ana"), readings={"a": sample_reading("read this read?", told=told)},
            edges=(Edge("a", "entity:ana", Link.ABOUT, 0.5, "a"),), accesses=(_access("a", 0.75),),
            superseded=(Superseded("a", NOON + timedelta(days=2), NOON),),
        )  # fmt: skip
        with closing(locations()()) as store:
            written, read = store.commit(SCOPE, change), store.changes(SCOPE, 0)
            for answer in (written, read):
                assert [replace(one, seq=0) for one in answer.nodes] == list(change.nodes)
                assert (answer.edges, answer.superseded) == (change.edges, change.superseded)
                assert [replace(one, seq=0, nth=0) for one in answer.accesses] == list(change.accesses)
                reading, expected = answer.readings["a"], change.readings["a"]
                assert (reading.words.tolist(), reading.counts.tolist(), reading.question, reading.told) == (
                    expected.words.tolist(), expected.counts.tolist(), True, told,
                )  # fmt: skip
                assert np.allclose(answer.vectors["a"], change.vectors["a"], atol=1e-3)
            assert written.vectors["a"].tolist() == read.vectors["a"].tolist()
            assert store.nodes(SCOPE, ["a"]) == [replace(written.nodes[0], valid_to=NOON + timedelta(days=2))]

    def test_a_change_is_written_whole_or_not_at_all(self, locations: Locations) -> None:
        """A change that cannot be written raises a clear error and leaves nothing behind."""
        with closing(locations()()) as store:
            store.commit(SCOPE, sample_change(sample_node("a"), sample_node("b"), accesses=(_access("a"),)))
            before = _grown(store)
            good, bad = sample_node("new"), np.full(16, np.nan, np.float32)
            refused: list[tuple[type[EcphoraError], Change]] = [
                (WrongVector, sample_change(good, vectors={"new": np.ones(3, np.float32)})),
                (WrongVector, sample_change(good, vectors={"new": bad})),
                (WrongVector, sample_change(good, vectors={"new": np.full(16, np.inf, np.float32)})),
                (WrongVector, sample_change(good, vectors={"new": np.full(16, 1e30, np.float32)})),
                (StaleChange, sample_change(good, sample_node("a", "another"))),
                (StaleChange, sample_change(good, sample_node("new", "twice"))),
                (StaleChange, sample_change(good, edges=(Edge("new", "missing", Link.MENTIONS),))),
                (StaleChange, sample_change(good, edges=(Edge("missing", "new", Link.MENTIONS),))),
                (StaleChange, sample_change(good, superseded=(Superseded("missing", NOON, NOON),))),
                (StaleChange, sample_change(good, vectors={"missing": sample_vector("x")})),
                (EmbedderMismatch, sample_change(good, embedder="another model")),
                (EcphoraError, sample_change(good, embedder=None)),
            ]
            for kind, change in refused:
                # Forgetting comes first in a change: it must be undone with the rest.
                with _raises(kind):
                    store.commit(SCOPE, replace(change, forgotten=(Forgotten("b", b"digest"),)))
                assert differences(before, _grown(store)) == []
            with _raises(StaleChange):
                store.commit("another scope", sample_change(good, edges=(Edge("new", "a", Link.MENTIONS),)))
            assert [info.name for info in store.scopes()] == [SCOPE]
            assert store.commit(SCOPE, sample_change(good)).revision == 2
            assert self.faults(store) == []

    def test_nodes_come_in_the_order_asked_for(self, locations: Locations) -> None:
        """Missing ones are left out; many can be asked for at once."""
        with closing(locations()()) as store:
            ids = [f"n{place}" for place in range(1200)]
            store.commit(SCOPE, sample_change(*(sample_node(id_) for id_ in ids)))
            asked = [*reversed(ids), "missing", "n3"]
            assert [node.id for node in store.nodes(SCOPE, asked)] == [*reversed(ids), "n3"]
            assert store.nodes(SCOPE, []) == []
            assert store.nodes("another scope", ids) == []

    def test_the_later_end_holds(self, locations: Locations) -> None:
        """Of several ends of one memory the last one written counts, in the graph and in the node."""
        with closing(locations()()) as store:
            ends = [Superseded("a", NOON + timedelta(days=day), NOON + timedelta(hours=day)) for day in (3, 1, 2)]
            store.commit(SCOPE, sample_change(sample_node("a"), superseded=tuple(ends[:2])))
            assert store.nodes(SCOPE, ["a"])[0].valid_to == ends[1].valid_to
            store.commit(SCOPE, Change(superseded=tuple(ends[2:])))
            assert store.nodes(SCOPE, ["a"])[0].valid_to == ends[2].valid_to
            graph = _grown(store)
            assert graph.nodes["valid_to"].tolist() == [
                (ends[2].valid_to - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds()
            ]

    def test_a_forgotten_node_takes_everything_along(self, locations: Locations) -> None:
        """Its words, vector, edges and accesses go; its id and digest stay."""
        with closing(locations()()) as store:
            edges = (Edge("a", "entity:ana", Link.MENTIONS), Edge("b", "entity:ana", Link.MENTIONS))
            accesses = (_access("a"), _access("b"))
            nodes = (sample_node("a", speaker="Ana"), sample_node("b", speaker="Ben"), sample_name("Ana"))
            store.commit(SCOPE, sample_change(*nodes, edges=edges, accesses=accesses))
            store.commit(SCOPE, Change(forgotten=(Forgotten("a", b"digest"),)))
            assert [node.id for node in store.nodes(SCOPE, ["a", "b"])] == ["b"]
            graph = _grown(store)
            assert [len(graph), len(graph.edges), len(graph.vectored)] == [2, 1, 1]
            assert {access.node for row in range(2) for access in graph.accesses_of(row)} == {"b"}
            assert graph.barred == {"a", b"digest"}
            assert graph.speakers.names == ("Ben",)
            assert self.faults(store) == []

    def test_a_name_goes_with_its_last_mention(self, locations: Locations) -> None:
        """Also for a reader who learns of a second mention and of the loss of the first at once."""
        with closing(locations()()) as store:
            mention = Edge("a", "entity:ana", Link.MENTIONS)
            store.commit(SCOPE, sample_change(sample_node("a"), sample_name("Ana"), edges=(mention,)))
            early = _grown(store)
            store.commit(SCOPE, sample_change(sample_node("b"), edges=(replace(mention, src="b"),)))
            late = _grown(store)
            store.commit(SCOPE, Change(forgotten=(Forgotten("a", b"digest"),)))
            for reader in (early, late):
                grown = reader.plus(store.changes(SCOPE, reader.revision))
                assert grown.row("entity:ana") is not None
                assert differences(grown, _grown(store)) == []
            written = store.commit(SCOPE, Change(forgotten=(Forgotten("b", b"digest"),)))
            assert len(_grown(store)) == len(early.plus(store.changes(SCOPE, early.revision))) == 0
            assert [gone.node for gone in written.forgotten] == ["b"]
            assert self.faults(store) == []

    def test_an_insight_goes_with_any_of_its_sources(self, locations: Locations) -> None:
        """It tells of all of them; and so does an insight upon it. Grown and reloaded graphs agree."""
        with closing(locations()()) as store:
            told = sample_change(*(sample_node(name, f"text of {name}") for name in ("a", "b", "c")))
            ids = [f"insight:{level}" for level in "123"]
            insights = [replace(sample_node(id_, "insight"), kind=Kind.INSIGHT) for id_ in ids]
            sources = (("insight:1", "a"), ("insight:1", "b"), ("insight:2", "insight:1"), ("insight:3", "c"))
            edges = tuple(Edge(src, dst, Link.DERIVED_FROM) for src, dst in sources)
            grown = Graph().plus(store.commit(SCOPE, told))
            grown = grown.plus(store.commit(SCOPE, Change(nodes=tuple(insights), edges=edges)))
            grown = grown.plus(store.commit(SCOPE, Change(forgotten=(Forgotten("a", b"a"),))))
            assert list(grown.nodes["ids"]) == ["b", "c", "insight:3"]
            assert differences(grown, _grown(store)) == []

    def test_a_question_goes_with_any_of_its_answers(self, locations: Locations) -> None:
        """Whether it was used or not; taken back alone, a question leaves everything else as it was."""
        with closing(locations()()) as store:
            told = sample_change(*(sample_node(name) for name in ("a", "b", "c")))
            before = Graph().plus(store.commit(SCOPE, told))
            grown = before
            for name, *answers in (("one", "a", "b"), ("two", "b", "a"), ("three", "c"), ("four", "b", "c")):
                grown = grown.plus(store.commit(SCOPE, sample_question(name, *answers)))
            assert grown.edges["weights"].tolist() == [1, 0, 1, 0, 1, 1, 0]
            assert (int(grown.episodes.sum()), len(grown.accesses), len(grown.vectored)) == (3, 3, 7)
            back = grown.plus(store.commit(SCOPE, Change(forgotten=(Forgotten("question:four", b"four"),))))
            assert differences(back, _grown(store)) == []
            assert list(back.nodes["ids"]) == ["a", "b", "c", *(f"question:{name}" for name in ("one", "two", "three"))]
            gone = back.plus(store.commit(SCOPE, Change(forgotten=(Forgotten("a", b"a"),))))
            assert list(gone.nodes["ids"]) == ["b", "c", "question:three"]
            assert differences(gone, grown.plus(store.changes(SCOPE, grown.revision))) == []
            last = gone.plus(store.commit(SCOPE, Change(forgotten=(Forgotten("question:three", b"three"),))))
            without = before.plus(Change(forgotten=(Forgotten("a", b"a"),)))
            apart = [found for found in differences(without, last) if not found.startswith(("revision", "barred"))]
            assert apart == differences(last, _grown(store)) == self.faults(store) == []

    def test_marks_are_kept(self, locations: Locations) -> None:
        """Each name keeps its own, the last written."""
        with closing(locations()()) as store:
            grown = Graph().plus(store.commit(SCOPE, Change(marks={"one": 1, "two": 5})))
            grown = grown.plus(store.commit(SCOPE, Change(marks={"one": 3})))
            assert grown.marks == _grown(store).marks == {"one": 3, "two": 5}

    def test_a_batch_is_taken_back_to_the_row(self, locations: Locations) -> None:
        with closing(locations()()) as store:
            store.commit(SCOPE, Change(nodes=(sample_node("a"), sample_node("b")), marks={"sleep": 1}))
            before = replace(store.changes(SCOPE, 0), revision=0)
            for night in ("first", "second"):
                claim = replace(sample_node(f"{night} claim"), kind=Kind.CLAIM)
                edges = (Edge(claim.id, "a", Link.CLAIMED_IN), Edge("a", "b", Link.ASSOCIATION))
                batch = Batch(night, NOON, {"claims": 1})
                store.commit(SCOPE, Change(nodes=(claim,), edges=edges, marks={"sleep": 2, night: 1}, batch=batch))
            assert [batch.id for batch in store.batches(SCOPE)] == ["first", "second"]
            assert dict(store.batches(SCOPE)[0].wrote) == {"claims": 1}
            with _raises(InvalidInput):  # what a later one wrote may rest on it
                store.commit(SCOPE, Change(undo="first"))
            store.commit(SCOPE, Change(undo="second"))
            store.commit(SCOPE, Change(undo="first"))
            assert replace(store.changes(SCOPE, 0), revision=0) == before
            assert store.batches(SCOPE) == []
            with _raises(InvalidInput):
                store.commit(SCOPE, Change(undo="first"))

    def test_an_access_to_what_is_gone_is_left_out(self, locations: Locations) -> None:
        """Another process may have forgotten what was recalled: there is nothing to log then."""
        with closing(locations()()) as store:
            store.commit(SCOPE, sample_change(sample_node("a")))
            written = store.commit(SCOPE, Change(accesses=(_access("gone"), _access("a"))))
            assert [access.node for access in written.accesses] == ["a"]
            assert [access.node for access in store.changes(SCOPE, 1).accesses] == ["a"]

    def test_scopes_are_listed_by_name(self, locations: Locations) -> None:
        """Each with its revision, episodes and embedder."""
        with closing(locations()()) as store:
            assert store.scopes() == []
            for scope in ("b", "a"):
                store.commit(scope, sample_change(sample_node("x"), sample_name("Ana")))
            store.commit("b", Change(accesses=(_access("x"),)))
            listed = [(info.name, info.revision, info.episodes, info.embedder) for info in store.scopes()]
            assert listed == [("a", 1, 1, SAMPLES.name), ("b", 2, 1, SAMPLES.name)]

    def test_an_unknown_scope_is_empty(self, locations: Locations) -> None:
        """Reading it makes nothing."""
        with closing(locations()()) as store:
            assert differences(_grown(store, "nobody"), Graph()) == []
            assert store.scopes() == []

    def test_what_was_committed_is_there_after_reopening(self, locations: Locations) -> None:
        """Closing and opening again changes nothing."""
        opener = locations()
        with closing(opener()) as store:
            store.commit(SCOPE, sample_change(sample_node("a"), accesses=(_access("a"),)))
            before = _grown(store)
        with closing(opener()) as store:
            assert differences(before, _grown(store)) == []

    def test_closing(self, locations: Locations) -> None:
        """Closing twice is harmless; using a closed store says so."""
        store = locations()()
        store.commit(SCOPE, sample_change(sample_node("a")))
        store.close()
        store.close()
        uses: list[Callable[[], object]] = [
            lambda: store.commit(SCOPE, Change()),
            lambda: store.changes(SCOPE, 0),
            lambda: store.nodes(SCOPE, ["a"]),
            store.scopes,
        ]
        for use in uses:
            with _raises(StoreClosed):
                use()

    # ---- many histories

    def test_grown_equals_reloaded(self, locations: Locations) -> None:
        """Through any history, by own commits or by ``changes`` from any revision, the graph is one and the same."""
        from hypothesis import settings
        from hypothesis.stateful import run_state_machine_as_test

        histories: Any = _histories()
        profile = settings(settings.default, stateful_step_count=12, suppress_health_check=_all_checks())
        machine: Any = lambda: histories(locations())  # noqa: E731  # Hypothesis says class, and means what makes one
        run_state_machine_as_test(machine, settings=profile)

    def test_scopes_know_nothing_of_each_other(self, locations: Locations) -> None:
        """Whatever is committed to one scope, another one's graph, nodes and recall stay the same, bit for bit."""
        from hypothesis import given, settings
        from hypothesis import strategies as st

        store = locations()()
        texts = [text for _, _, text in TURNS]
        ours = [sample_node(f"n{place}", text, speaker="Ana", session="s") for place, text in enumerate(texts)]
        edges = tuple(Edge(node.id, "entity:porto", Link.MENTIONS) for node in ours if "Porto" in node.text)
        store.commit("ours", sample_change(*ours, sample_name("Porto"), edges=edges, accesses=(_access("n0"),)))
        before = self._seen(store, ours)
        numbers = st.integers(0, len(ours) - 1)

        @settings(suppress_health_check=_all_checks())
        @given(st.lists(st.tuples(numbers, st.sampled_from(texts), st.sampled_from(["add", "forget", "end", "touch"]))))
        def check(history: list[tuple[int, str, str]]) -> None:
            there = {node.id for node in _nodes(store, "theirs")}
            for number, text, act in history:
                id_ = f"n{number}"
                if act == "add" and id_ not in there:
                    mentioned = "entity:porto" not in there
                    names = (sample_name("Porto"),) if mentioned else ()
                    edge = (Edge(id_, "entity:porto", Link.MENTIONS),)
                    store.commit("theirs", sample_change(sample_node(id_, text, speaker="Eve"), *names, edges=edge))
                    there |= {id_, "entity:porto"}
                elif act == "forget" and id_ in there:
                    store.commit("theirs", Change(forgotten=(Forgotten(id_, b"digest"),)))
                    there = {node.id for node in _nodes(store, "theirs")}
                elif act == "end" and id_ in there:
                    store.commit("theirs", Change(superseded=(Superseded(id_, NOON, NOON),)))
                elif act == "touch":
                    store.commit("theirs", Change(accesses=(_access(id_),)))
            after = self._seen(store, ours)
            assert differences(before[0], after[0]) == []
            assert before[1:] == after[1:]

        try:
            check()
        finally:
            store.close()

    def _seen(self, store: Store, ours: Sequence[Node]) -> tuple[Graph, object, object, object]:
        """Everything that can be seen of the scope ``ours``."""
        graph = _grown(store, "ours")
        cues = [sample_cue(text) for text in ("Where does Ana live in Porto?", "school lunch")]
        recalled = [
            (name, activation.scores.tobytes(), activation.confidence)
            for name, strategy in BUILT_IN.items()
            for activation in (strategy.activate(cue, graph) for cue in cues)
        ]
        info = [info for info in store.scopes() if info.name == "ours"]
        return graph, store.nodes("ours", [node.id for node in ours]), info, recalled

    # ---- many processes

    def test_several_processes_write_at_once(self, locations: Locations) -> None:
        """Nothing is lost, nothing is numbered twice."""
        if not self.processes:
            return
        opener, writers, commits = locations(), 4, 25
        opener().close()
        context = multiprocessing.get_context("spawn")
        start = context.Barrier(writers)
        processes = [
            context.Process(target=_write_some, args=(pickle.dumps(opener), f"w{number}", commits, start))
            for number in range(writers)
        ]
        for process in processes:
            process.start()
        for process in processes:
            process.join()
        assert [process.exitcode for process in processes] == [0] * writers
        with closing(opener()) as store:
            written = store.changes(SCOPE, 0)
            ids = {f"w{number}-{place}" for number in range(writers) for place in range(commits)}
            assert {node.id for node in written.nodes} == ids
            assert written.revision == writers * commits
            assert sorted(_numbers(written)) == list(range(1, 2 * writers * commits + 1))
            assert written.vectors.keys() == ids
            assert self.faults(store) == []

    def test_a_killed_process_loses_nothing_acknowledged(self, locations: Locations) -> None:
        """``kill -9`` amid writes: what was acknowledged is there, nothing is half there, and writing goes on."""
        if not self.processes:
            return
        opener = locations()
        context = multiprocessing.get_context("spawn")
        acknowledged: list[NodeId] = []
        for turn, enough in enumerate((1, 8, 30)):
            here, there = context.Pipe(duplex=False)
            process = context.Process(target=_write_forever, args=(pickle.dumps(opener), f"k{turn}", there))
            process.start()
            there.close()
            acknowledged += [here.recv_bytes().decode() for _ in range(enough)]
            process.kill()
            acknowledged += _rest(here)
            process.join()
            here.close()
            with closing(opener()) as store:
                self._nothing_is_half_there(store, acknowledged)
                acknowledged.append(f"after-{turn}")
                store.commit(SCOPE, _entry(acknowledged[-1]))

    def _nothing_is_half_there(self, store: Store, acknowledged: Sequence[NodeId]) -> None:
        assert self.faults(store) == []
        written = store.changes(SCOPE, 0)
        episodes = {node.id for node in written.nodes if node.kind is Kind.EPISODE}
        assert episodes >= set(acknowledged)
        assert len(episodes) == written.revision
        assert written.vectors.keys() == written.readings.keys() == episodes
        assert {access.node for access in written.accesses} == episodes
        assert {(edge.src, edge.dst) for edge in written.edges} == {(id_, entity_id(id_)) for id_ in episodes}
        for id_ in episodes:
            expected = _entry(id_)
            assert written.vectors[id_].tolist() == expected.vectors[id_].tolist()
            assert written.readings[id_].words.tolist() == expected.readings[id_].words.tolist()


def _entry(id_: NodeId) -> Change:
    """A change with one of everything."""
    edges = (Edge(id_, entity_id(id_), Link.MENTIONS),)
    return sample_change(sample_node(id_), sample_name(id_), edges=edges, accesses=(_access(id_),))


def _numbers(change: Change) -> list[int]:
    return [node.seq for node in change.nodes] + [access.seq for access in change.accesses]


def _nodes(store: Store, scope: str) -> tuple[Node, ...]:
    return store.changes(scope, 0).nodes


@contextmanager
def _raises(kind: type[EcphoraError]) -> Iterator[None]:
    try:
        yield
    except kind as error:
        if not str(error):
            raise AssertionError(f"{type(error).__name__} says nothing") from error
    else:
        raise AssertionError(f"nothing was raised where {kind.__name__} belongs")


def _write_some(opener: bytes, name: str, commits: int, start: Barrier) -> None:
    """Run in a process of its own: commit so many changes together with the others."""
    store = pickle.loads(opener)()  # noqa: S301  # our own, from the process that started this one
    start.wait(60)
    for place in range(commits):
        id_ = f"{name}-{place}"
        store.commit(SCOPE, sample_change(sample_node(id_), accesses=(_access(id_),)))
    store.close()


def _write_forever(opener: bytes, name: str, acknowledge: Connection) -> None:
    """Run in a process of its own until it is killed: commit, and say so after each."""
    store = pickle.loads(opener)()  # noqa: S301  # our own, from the process that started this one
    for place in count():
        store.commit(SCOPE, _entry(f"{name}-{place}"))
        acknowledge.send_bytes(f"{name}-{place}".encode())


def _rest(pipe: Connection) -> list[NodeId]:
    """What a killed process still said; a last word cut short was not said."""
    said: list[NodeId] = []
    try:
        while True:
            said.append(pipe.recv_bytes().decode())
    except (EOFError, OSError):
        return said


def _all_checks() -> list[Any]:
    """Hypothesis warns of fixtures that are not reset between examples, and of slow disks: neither matters here."""
    from hypothesis import HealthCheck

    return list(HealthCheck)
