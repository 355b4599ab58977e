"""What contracts, and tests of your own, are made of: a clock, two graphs compared, and samples of everything."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..embedders.hashing import Hashing
from ..graph import Graph
from ..language.names import entity_id
from ..language.words import counted, hashed, words
from ..model import Access, Change, Cue, Edge, Interval, Kind, Link, Node, NodeId, Reading, Superseded, Touch, Vector
from ..ports import Store

NOON = datetime(2026, 5, 3, 12, tzinfo=UTC)
"""When the samples happen."""
SAMPLES = Hashing(16)
"""The embedder of the samples."""
SCOPE = "contract"
Opener = Callable[[], Store]
"""Opens a store; called again, it opens the same place. Picklable where several processes may open that place."""


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
    if a.expiry != b.expiry:
        found.append(f"expiry: {a.expiry} != {b.expiry}")
    if a.marks != b.marks:
        found.append(f"marks: {dict(a.marks)} != {dict(b.marks)}")
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
    if same.all():
        return []
    rows = [row for row in range(len(ours)) if not np.all(same[row])]
    return [f"{name}: row {row} is {ours[row]!r} != {theirs[row]!r}" for row in rows[:3]]


# ---- samples


def sample_vector(text: str) -> Vector:
    """A unit vector of 16 numbers, the same for the same text, that a half-precision number holds exactly enough."""
    return _vector(text).copy()


def sample_reading(text: str, *, told: Sequence[Interval] = ()) -> Reading:
    """The words of a text."""
    found, counts = _counted(text)
    return Reading(found.copy(), counts.copy(), text.endswith("?"), tuple(told))


@lru_cache(maxsize=4096)
def _vector(text: str) -> Vector:
    return SAMPLES.embed([text])[0].astype(np.float16).astype(np.float32)


@lru_cache(maxsize=4096)
def _counted(text: str) -> tuple[NDArray[np.uint32], NDArray[np.uint8]]:
    return counted(words(text))


def sample_node(id_: NodeId, text: str = "", *, minutes: float = 0, **fields: Any) -> Node:
    """An episode some minutes after noon; ``fields`` are those of :class:`~ecphora.model.Node`."""
    time = NOON + timedelta(minutes=minutes)
    return replace(Node(id_, Kind.EPISODE, text or id_, time, NOON), **fields)


def sample_name(name: str) -> Node:
    """An entity."""
    return sample_node(entity_id(name), name, kind=Kind.ENTITY)


def sample_question(id_: NodeId, *answers: NodeId, used: int = 1) -> Change:
    """What keeps a question: with its vector, and what came back for it, of which the first ``used`` were of use."""
    node = sample_node(f"question:{id_}", id_, kind=Kind.QUESTION)
    edges = (Edge(node.id, answer, Link.ANSWERED_BY, float(place < used)) for place, answer in enumerate(answers))
    return Change(nodes=(node,), vectors={node.id: sample_vector(id_)}, edges=tuple(edges), embedder=SAMPLES.name)


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


def _access(node: NodeId, strength: float = 1.0) -> Access:
    return Access(node, NOON, Touch.RECALLED, strength)


def _grown(store: Store, scope: str = SCOPE) -> Graph:
    return Graph().plus(store.changes(scope, 0))
