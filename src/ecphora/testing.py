"""Contracts that every store, strategy and embedder must keep, shipped for those who write their own. No fixtures.

Subclass a contract in a test module and give it the one fixture it asks for::

    class TestMyStore(StoreContract):
        processes = True

        @pytest.fixture
        def locations(self, tmp_path_factory):
            return lambda: functools.partial(MyStore, tmp_path_factory.mktemp("store") / "memory")

The tests of stores and graphs that try many histories need Hypothesis; nothing else here needs more than the package.
"""
# ruff: noqa: S101, PLC0415  # these are tests; Hypothesis is imported by those that need it, so that the rest does not

import multiprocessing
import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import count
from multiprocessing.connection import Connection
from multiprocessing.synchronize import Barrier
from typing import Any

import numpy as np

from .embedders.hashing import Hashing
from .errors import EcphoraError, EmbedderMismatch, StaleChange, StoreClosed, WrongVector
from .graph import LINKS, Graph
from .language.names import entity_id
from .language.words import counted, hashed, words
from .model import (
    Access,
    Change,
    Cue,
    Edge,
    Forgotten,
    Interval,
    Kind,
    Link,
    Node,
    NodeId,
    Reading,
    Scores,
    Superseded,
    Touch,
    Vector,
)
from .ports import Embedder, Store, Strategy
from .strategies import BUILT_IN

NOON = datetime(2026, 5, 3, 12, tzinfo=UTC)
"""When the samples happen."""
SAMPLES = Hashing(16)
"""The embedder of the samples."""
SCOPE = "contract"
Opener = Callable[[], Store]
"""Opens a store; called again, it opens the same place. Picklable where several processes may open that place."""
Locations = Callable[[], Opener]
"""Gives an opener of a new, empty place at every call."""


class FakeClock:
    """A :data:`~ecphora.ports.Clock` that moves when told."""

    def __init__(self, now: datetime = NOON) -> None:
        self.now = now

    def __call__(self) -> datetime:
        """Tell the time."""
        return self.now

    def advance(self, **time: float) -> datetime:
        """Move by a ``timedelta`` of these arguments, and tell the new time."""
        self.now += timedelta(**time)
        return self.now


# ---- two graphs compared


def differences(a: Graph, b: Graph) -> list[str]:
    """What differs between two graphs, column by column and row by row; nothing if they are equal."""
    found = [] if a.revision == b.revision else [f"revision: {a.revision} != {b.revision}"]
    for table in ("nodes", "words", "told", "vectored", "edges", "accesses"):
        ours, theirs = getattr(a, table), getattr(b, table)
        for column in ours.names():
            found += _differing(f"{table}.{column}", ours[column], theirs[column])
    found += _differing("vectors", a.vectors.view, b.vectors.view)
    for codes in ("speakers", "sessions", "documents", "sources"):
        ours, theirs = getattr(a, codes).names, getattr(b, codes).names
        found += [] if ours == theirs else [f"{codes}: {ours} != {theirs}"]
    if a.barred != b.barred:
        found.append(f"barred: {sorted(map(str, a.barred ^ b.barred))} in one alone")
    for derived in ("previous", "following", "vector_places"):
        found += _differing(derived, getattr(a, derived), getattr(b, derived))
    found += _differing("kinship", a.kinship, b.kinship, within=1e-6)
    for graph, name in ((a, "first"), (b, "second")):
        lost = [node for row, node in enumerate(graph.nodes["ids"]) if graph.row(node) != row]
        found += [f"row(): the {name} graph does not find {lost}"] if lost else []
    return found


def _differing(name: str, ours: Any, theirs: Any, *, within: float = 0.0) -> list[str]:
    if not len(ours) and not len(theirs):
        return []
    if ours.shape != theirs.shape:
        return [f"{name}: shape {ours.shape} != {theirs.shape}"]
    if ours.dtype != theirs.dtype:
        return [f"{name}: type {ours.dtype} != {theirs.dtype}"]
    same = np.abs(ours - theirs) <= within if within else np.equal(ours, theirs)
    rows = [row for row in range(len(ours)) if not np.all(same[row])]
    return [f"{name}: row {row} is {ours[row]!r} != {theirs[row]!r}" for row in rows[:3]]


# ---- samples


def sample_vector(text: str) -> Vector:
    """A unit vector of 16 numbers, the same for the same text, that a half-precision number holds exactly enough."""
    return SAMPLES.embed([text])[0].astype(np.float16).astype(np.float32)


def sample_reading(text: str, *, told: Sequence[Interval] = ()) -> Reading:
    """The words of a text."""
    found, counts = counted(words(text))
    return Reading(found, counts, text.endswith("?"), tuple(told))


def sample_node(id_: NodeId, text: str = "", *, minutes: float = 0, **fields: Any) -> Node:
    """An episode some minutes after noon; ``fields`` are those of :class:`~ecphora.model.Node`."""
    time = NOON + timedelta(minutes=minutes)
    return replace(Node(id_, Kind.EPISODE, text or id_, time, NOON), **fields)


def sample_name(name: str) -> Node:
    """An entity."""
    return sample_node(entity_id(name), name, kind=Kind.ENTITY)


def sample_change(*nodes: Node, bare: Iterable[NodeId] = (), **fields: Any) -> Change:
    """What adds nodes: every episode with its words, and with a vector unless it is ``bare``."""
    episodes = [node for node in nodes if node.kind is Kind.EPISODE]
    without = set(bare)
    change = Change(
        nodes=nodes,
        readings={node.id: sample_reading(node.text) for node in episodes},
        vectors={node.id: sample_vector(node.text) for node in episodes if node.id not in without},
        embedder=SAMPLES.name,
    )
    return replace(change, **fields)


def sample_cue(text: str, *, now: datetime = NOON + timedelta(days=30), **fields: Any) -> Cue:
    """A question with its words and its vector; every capitalised word is a name."""
    cue = Cue(
        text=text,
        now=now,
        vector=sample_vector(text),
        words=hashed(list(dict.fromkeys(words(text)))),
        entities=tuple(entity_id(word) for word in text.strip("?").split() if word.istitle()),
    )
    return replace(cue, **fields)


TURNS = (
    ("Ana", "monday", "I moved to Porto last week."),
    ("Ben", "monday", "How do you like it there?"),
    ("Ana", "monday", "The river is lovely, and Mia came along."),
    ("Ben", "tuesday", "Did Mia find a school?"),
    ("Ana", "tuesday", "Yes, she starts in June."),
    (None, None, "Porto lies at the mouth of the Douro."),
    ("Ana", None, "Remind me to call the school about lunch."),
)
"""Speakers, sessions and texts of the sample graph."""


def sample_graph(size: int = len(TURNS)) -> Graph:
    """The first turns of a talk with the names they mention, and one fact that no longer holds."""
    turns = [TURNS[place % len(TURNS)] for place in range(size)]
    nodes = [
        sample_node(f"t{place}", text, minutes=5 * place, speaker=speaker, session=session, seq=place + 1,
                    title="Porto" if speaker is None else None)
        for place, (speaker, session, text) in enumerate(turns)
    ]  # fmt: skip
    names = [sample_name(name) for name in ("Porto", "Mia") if any(name in node.text for node in nodes)]
    edges = [
        Edge(node.id, name.id, Link.ABOUT if node.title == name.text else Link.MENTIONS)
        for node in nodes
        for name in names
        if name.text in node.text
    ]
    ended = [Superseded("t0", NOON + timedelta(days=1), NOON)] if size > 4 else []
    change = sample_change(*nodes, edges=tuple(edges), superseded=tuple(ended))
    numbered = (replace(name, seq=size + place) for place, name in enumerate(names, 1))
    return Graph().plus(replace(change, nodes=(*nodes, *numbered), revision=1))


# ---- stores


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
                assert [replace(one, seq=0) for one in answer.accesses] == list(change.accesses)
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
                    there.discard(id_)
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


def _access(node: NodeId, strength: float = 1.0) -> Access:
    return Access(node, NOON, Touch.RECALLED, strength)


def _entry(id_: NodeId) -> Change:
    """A change with one of everything."""
    edges = (Edge(id_, entity_id(id_), Link.MENTIONS),)
    return sample_change(sample_node(id_), sample_name(id_), edges=edges, accesses=(_access(id_),))


def _grown(store: Store, scope: str = SCOPE) -> Graph:
    return Graph().plus(store.changes(scope, 0))


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


def _histories() -> Callable[[Opener], Any]:  # noqa: C901  # one class of many small rules
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

    class Histories(RuleBasedStateMachine):
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

        @rule(new=episodes, bare=pick, backwards=st.booleans(), again=st.booleans())
        def add(self, new: list[Mapping[str, Any]], bare: int, backwards: bool, again: bool) -> None:
            there = set(self.alive())
            nodes = [sample_node(**fields) for fields in new if again or fields["id_"] not in there]
            change = sample_change(*nodes, bare=[node.id for node in nodes if bare < 20])
            if backwards:
                change = replace(change, vectors=dict(reversed(list(change.vectors.items()))))
            gone = tuple(Forgotten(node.id, node.id.encode()) for node in nodes if node.id in there)
            self.commit(replace(change, forgotten=gone))  # replaced within one change, where they were there

        @precondition(lambda self: bool(self.alive()))
        @rule(name=st.sampled_from(["Ana", "Porto", "Mia"]), picks=st.lists(pick, min_size=1, max_size=3))
        def mention(self, name: str, picks: list[int]) -> None:
            entity = sample_name(name)
            nodes = () if entity.id in self.alive(Kind.ENTITY) else (entity,)
            edges = tuple(Edge(id_, entity.id, LINKS[picks[0] % 2]) for id_ in self.some(picks))
            self.commit(sample_change(*nodes, edges=edges))

        @precondition(lambda self: bool(self.alive()))
        @rule(picks=st.lists(pick, max_size=4))
        def touch(self, picks: list[int]) -> None:
            self.commit(Change(accesses=tuple(_access(id_, 0.5) for id_ in self.some(picks))))

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

        @rule()
        def follow(self) -> None:
            self.followed = self.followed.plus(self.reader.changes(SCOPE, self.followed.revision))
            assert differences(self.graphs[-1], self.followed) == []

        @rule()
        def look(self) -> None:
            graph = self.graphs[-1]  # what was derived once must not outlive its truth
            assert len(graph.kinship) == len(graph)
            for row in range(len(graph)):
                asked = np.array([row])
                assert np.array_equal(graph.edges_from(asked)[0], np.flatnonzero(graph.edges["src"] == row))
                assert np.array_equal(graph.edges_to(asked)[0], np.flatnonzero(graph.edges["dst"] == row))

        @invariant()
        def reloaded(self) -> None:
            assert differences(self.graphs[-1], _grown(self.reader)) == []

    return Histories


# ---- strategies


class StrategyContract:
    """What every strategy must keep. The fixture ``strategy`` gives the one to prove."""

    def test_scores_are_aligned_and_explained(self, strategy: Strategy) -> None:
        """One finite float32 for every row, positive for episodes only; the shares add up to it."""
        for graph, cue in _asked():
            activation = strategy.activate(cue, graph)
            _assert_scores(graph, activation.scores)
            assert activation.scores[~graph.episodes].max(initial=0) <= 0
            for share in activation.shares.values():
                _assert_scores(graph, share)
            active = activation.scores != 0
            whole = np.sum([*activation.shares.values(), graph.zeros()], axis=0)
            assert np.allclose(whole[active], activation.scores[active], atol=1e-4)
            assert 0 <= activation.confidence <= 1
            assert activation.stimulus.shape in {(0,), (len(graph),)}

    def test_trails_lead_somewhere(self, strategy: Strategy) -> None:
        """Every step of a trail is a row of the graph, or -1 for none."""
        for graph, cue in _asked():
            for trail in strategy.activate(cue, graph).trails.values():
                for steps in (trail.by, trail.via):
                    assert steps.shape == (len(graph),)
                    assert ((steps >= -1) & (steps < len(graph))).all()

    def test_the_same_is_found_again(self, strategy: Strategy) -> None:
        """Nothing is left to chance, and nothing is kept from the question before."""
        for graph, cue in _asked():
            first = strategy.activate(cue, graph)
            strategy.activate(sample_cue("something else"), sample_graph(2))
            assert first.scores.tobytes() == strategy.activate(cue, graph).scores.tobytes()

    def test_the_graph_stays_as_it_is(self, strategy: Strategy) -> None:
        """Recall writes nothing into the graph."""
        for graph, cue in _asked():
            strategy.activate(cue, graph)
            assert differences(graph, sample_graph(int(graph.episodes.sum()))) == []

    def test_an_empty_graph_gives_nothing(self, strategy: Strategy) -> None:
        """No scores, and no confidence."""
        activation = strategy.activate(sample_cue("Where is Ana?"), Graph())
        assert activation.scores.shape == (0,)
        assert activation.confidence == 0

    def test_names_alone_give_nothing(self, strategy: Strategy) -> None:
        """A graph without an episode has nothing to bring back."""
        graph = Graph().plus(replace(sample_change(sample_name("Ana")), revision=1))
        assert strategy.activate(sample_cue("Where is Ana?"), graph).scores.max() <= 0

    def test_it_has_a_name(self, strategy: Strategy) -> None:
        """By which users choose it."""
        assert strategy.name


def _asked() -> Iterator[tuple[Graph, Cue]]:
    """Graphs of several sizes, each with questions of several kinds."""
    june = Interval(NOON, NOON + timedelta(days=30))
    for size in (1, 2, 5, len(TURNS), 40):
        graph = sample_graph(size)
        yield graph, sample_cue("Where does Ana live in Porto?")
        yield graph, sample_cue("Did Mia find a school?", vector=None)
        yield graph, sample_cue("lunch", meaning=0.0, when=(june,), as_of=NOON, known_at=NOON)
        yield graph, sample_cue("?!", vector=None)
        yield graph, sample_cue("Nobody knows Zorro", vector=-sample_vector("river"))


def _assert_scores(graph: Graph, scores: Scores) -> None:
    assert scores.dtype == np.float32
    assert scores.shape == (len(graph),)
    assert np.isfinite(scores).all()


# ---- embedders


class EmbedderContract:
    """What every embedder must keep. The fixture ``embedder`` gives the one to prove."""

    texts: Sequence[str] = (
        "Ana moved to Porto.", "Where does Ana live?", "Wo wohnt Ana?", "アナはどこに住んでいますか", "你好", "👋", "a",
        " ", "", "\ud800", "\0", "word " * 2_000,
    )  # fmt: skip
    """What is embedded: texts of every kind that may come."""

    def test_rows_are_unit_vectors(self, embedder: Embedder) -> None:
        """One float32 row of ``dim`` numbers a text, of length 1, for questions too."""
        for cue in (False, True):
            vectors = embedder.embed(self.texts, cue=cue)
            assert vectors.shape == (len(self.texts), embedder.dim)
            assert vectors.dtype == np.float32
            assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-3)

    def test_a_vector_does_not_depend_on_its_neighbours(self, embedder: Embedder) -> None:
        """Alone, together or turned round: the same numbers."""
        together = embedder.embed(self.texts)
        alone = np.concatenate([embedder.embed([text]) for text in self.texts])
        turned = embedder.embed(self.texts[::-1])[::-1]
        assert np.allclose(together, alone, atol=1e-6)
        assert np.allclose(together, turned, atol=1e-6)

    def test_no_texts_give_no_rows(self, embedder: Embedder) -> None:
        """An empty list is no error."""
        assert embedder.embed([]).shape == (0, embedder.dim)

    def test_it_says_what_it_is(self, embedder: Embedder) -> None:
        """A name, and how far it reads a text."""
        assert embedder.name
        assert embedder.dim > 0
        assert all(0 <= embedder.reads(text) <= 1 for text in self.texts)
