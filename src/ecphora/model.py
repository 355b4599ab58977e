"""The memory graph as plain frozen data: what passes between the rooms. No behaviour beyond small derived values."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from .reprs import ShortRepr, call_repr
from .tables import html_table, text_table

NodeId = str
Scalar = str | int | float | bool | None
Metadata = Mapping[str, Scalar]
Vector = NDArray[np.float32]
"""One text's embedding, shape ``(dim,)``, unit length."""
Vectors = NDArray[np.float32]
"""Several embeddings, shape ``(texts, dim)``, unit rows."""
Scores = NDArray[np.float32]
"""One number for each row of a graph; 0 means not active. The whole interface between stages."""
Rows = NDArray[np.intp]
"""Row numbers of a graph."""
Mask = NDArray[np.bool_]
"""One yes or no for each row of a graph."""


class Kind(StrEnum):
    """What a node stands for."""

    EPISODE = "episode"
    ENTITY = "entity"
    INSIGHT = "insight"
    CLAIM = "claim"
    QUESTION = "question"


class Link(StrEnum):
    """What an edge means, read from its source to its destination."""

    MENTIONS = "mentions"
    ABOUT = "about"
    TEMPORAL = "temporal"
    ASSOCIATION = "association"
    DERIVED_FROM = "derived_from"
    SUPPORTS = "supports"
    CONTRADICTS = "contradicts"
    SUPERSEDES = "supersedes"
    ANSWERED_BY = "answered_by"
    CLAIMED_IN = "claimed_in"
    ALIAS = "alias"


START = "start"
"""The share of a score that a memory has before anything speaks for or against it: part of the sum, no reason."""
MENTIONING = frozenset({Link.MENTIONS, Link.ABOUT})
"""The links by which an entity is there at all: one that is left without them goes with the last."""
TELLING = {Kind.INSIGHT: Link.DERIVED_FROM, Kind.QUESTION: Link.ANSWERED_BY, Kind.CLAIM: Link.CLAIMED_IN}
"""The kinds that tell of memories, and by which link: such a node goes with the first memory that it tells of."""
UNREAD = frozenset(Kind) - {Kind.EPISODE}
"""The kinds whose words are not read: no question finds them by their words, and they change the rank of none."""
UNEMBEDDED = frozenset({Kind.ENTITY, Kind.CLAIM})
"""The kinds that have no vector of their own."""


class Touch(StrEnum):
    """Why a node was accessed, or how it was marked: see :data:`MARKING`. New ones come last."""

    ENCODED = "encoded"
    STIMULATED = "stimulated"
    RECALLED = "recalled"
    USED = "used"
    PROTECTED = "protected"
    RELEASED = "released"
    ARCHIVED = "archived"
    RETURNED = "returned"


MARKING = frozenset({Touch.PROTECTED, Touch.RELEASED, Touch.ARCHIVED, Touch.RETURNED})
"""What marks a node without being an access of it; the latest of each pair decides: protected or released, archived or
returned."""


class Evidence(StrEnum):
    """How well a recollection answers its cue."""

    STRONG = "strong"
    WEAK = "weak"
    NONE = "none"


@dataclass(frozen=True, slots=True, repr=False)
class Interval(ShortRepr):
    """A half-open stretch of time, ``start <= t < end``."""

    start: datetime
    end: datetime


@dataclass(frozen=True, slots=True, repr=False)
class Episode(ShortRepr):
    """What somebody wants remembered, before it is a memory.

    ``id`` is the caller's own name for it; without one the id follows from the content. ``happened_at`` takes an ISO
    8601 string, a date or a datetime; without a zone it is read as UTC, and without any it is the time of recording.
    ``supersedes`` names the memory that this one replaces from ``happened_at`` on; whoever said it, it ends.
    The fields are checked when it is remembered.

    ``trust``, 0 to 1, bounds who may end whom: a memory never ends one of higher trust, neither by ``supersedes`` nor
    as found by consolidation. It has no part in ranking yet. ``speaker`` bounds it too: in consolidation nobody else
    ends what a speaker said of themselves, and an unknown speaker (None) ends only what an unknown one said. Speakers
    are told apart to the letter: "ana" is not "Ana".
    """

    text: str
    id: NodeId | None = None
    speaker: str | None = None
    session: str | None = None
    happened_at: object = None
    title: str | None = None
    source: str | None = None
    metadata: Metadata = field(default_factory=dict)
    trust: float = 1.0
    supersedes: NodeId | None = None


@dataclass(frozen=True, slots=True, repr=False)
class Node(ShortRepr):
    """One node of the memory graph.

    ``happened_at`` is event time, ``recorded_at`` the time of writing, ``valid_from`` and ``valid_to`` bound the time
    for which the text holds (``None``: open). ``seq`` counts insertions and accesses of a scope; the store gives it
    out, 0 means not yet stored. A long text is stored as several nodes that share a ``document`` and count
    ``position`` up; joined in that order they are the text again. Such a piece begins at the character ``start`` of
    the text, and stands there under ``heading``: "Guide > Timers", None where it stands under none.
    """

    id: NodeId
    kind: Kind
    text: str
    happened_at: datetime
    recorded_at: datetime = field(repr=False)
    speaker: str | None = None
    session: str | None = None
    title: str | None = None
    source: str | None = None
    document: NodeId | None = None
    position: int = 0
    start: int = 0
    heading: str | None = None
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    trust: float = 1.0
    metadata: Metadata = field(default_factory=dict)
    seq: int = 0

    def to_dict(self) -> dict[str, Any]:
        """The node as JSON values: every field that means something outside the store."""
        plain = ("id", "text", "speaker", "session", "title", "source", "document", "start", "heading")
        times = ("happened_at", "recorded_at", "valid_from", "valid_to")
        return {
            **{name: getattr(self, name) for name in plain},
            **{name: _iso(getattr(self, name)) for name in times},
            "trust": self.trust,
            "metadata": dict(self.metadata),
        }


@dataclass(frozen=True, slots=True, repr=False)
class Reading(ShortRepr):
    """What the analysis of language made of one text: all that recall needs to know of its words.

    ``words`` are the distinct word hashes in ascending order, ``counts`` how often each occurs; both have one length.
    ``told`` are the stretches of time the text speaks of, relative dates resolved against the time it was said.
    """

    words: NDArray[np.uint32]
    counts: NDArray[np.uint8]
    question: bool = False
    told: tuple[Interval, ...] = ()

    @property
    def length(self) -> int:
        """The number of words, repetitions included."""
        return int(self.counts.sum())


@dataclass(frozen=True, slots=True, repr=False)
class Edge(ShortRepr):
    """A directed, typed, weighted connection; ``evidence`` names the episode that says so, if it is not ``src``.

    It goes with that episode, as it goes with either end.
    """

    src: NodeId
    dst: NodeId
    link: Link
    weight: float = 1.0
    evidence: NodeId | None = None


@dataclass(frozen=True, slots=True, repr=False)
class Access(ShortRepr):
    """One touch of one node: SynapticRAG's spike, EISA's chronology and Cognitive Weave's use, in one log.

    That an episode was encoded when it was stored goes without saying: a graph logs it by the node's own ``seq``.
    ``nth`` counts the accesses of one kind to one node, those that have expired included; like ``seq`` it is given out
    by the store, 0 means not yet stored.
    """

    node: NodeId
    at: datetime
    touch: Touch
    strength: float = 1.0
    seq: int = 0
    nth: int = 0

    def to_dict(self) -> dict[str, Any]:
        """The access as JSON values; of which node is left out."""
        return {"at": self.at.isoformat(), "touch": self.touch.value, "strength": self.strength}


@dataclass(frozen=True, slots=True, repr=False)
class Expiry(ShortRepr):
    """What of the access log is left: of the accesses up to ``seq`` each node has the last ``kept`` of each kind."""

    seq: int = 0
    kept: int = 0


NOTHING_EXPIRED = Expiry()
"""The expiry of a log that is whole."""


@dataclass(frozen=True, slots=True, repr=False)
class Superseded(ShortRepr):
    """From ``valid_to`` on the node no longer holds; known since ``recorded_at``. What holds instead is an edge."""

    node: NodeId
    valid_to: datetime
    recorded_at: datetime


@dataclass(frozen=True, slots=True, repr=False)
class Forgotten(ShortRepr):
    """A memory that was erased on purpose, and the digest of its content by which its return is recognised.

    Id and digest are all that stays. Neither tells the text, though a guess of the exact text can be confirmed.
    """

    node: NodeId
    digest: bytes


@dataclass(frozen=True, slots=True, repr=False)
class Batch(ShortRepr):
    """One run of consolidation: when it was, and how much of what it wrote, by name. It can be undone by its id."""

    id: str
    at: datetime
    wrote: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, repr=False)
class Change(ShortRepr):
    """The only thing a store can be asked to write: all of it or nothing.

    Forgetting a node takes along the entities that nothing else mentions, the insights derived from it, and the
    questions that it came back for; they need not be named. Applied in the order ``forgotten``, ``nodes``, ``vectors``,
    ``edges``, ``superseded``, ``accesses``.
    ``embedder`` names the model that made ``vectors``; ``adopt`` makes it the scope's own, once every episode has its
    vector. ``marks`` say how far a sleeper has come, by its name: the highest ``seq`` it has worked on. ``batch`` names
    the run that the change belongs to; ``undo`` is the id of the latest one, of which every row goes again, and the
    marks are what they were before it.
    ``whole_log`` says that the scope's access log is to stay whole from here on; where it is not, a store may let old
    accesses expire, and says by ``expiry`` which.
    ``revision`` is 0 until the change is committed; a store's answer carries the revision reached and every ``seq``.
    """

    nodes: tuple[Node, ...] = ()
    readings: Mapping[NodeId, Reading] = field(default_factory=dict)
    vectors: Mapping[NodeId, Vector] = field(default_factory=dict)
    edges: tuple[Edge, ...] = ()
    superseded: tuple[Superseded, ...] = ()
    accesses: tuple[Access, ...] = ()
    forgotten: tuple[Forgotten, ...] = ()
    marks: Mapping[str, int] = field(default_factory=dict)
    batch: Batch | None = None
    undo: str | None = None
    embedder: str | None = None
    adopt: bool = False
    whole_log: bool = False
    expiry: Expiry = NOTHING_EXPIRED
    revision: int = 0


@dataclass(frozen=True, slots=True, repr=False)
class Count(ShortRepr):
    """What was written out or in.

    ``known`` nodes stood there already, ``refused`` ones were forgotten there on purpose; ``notices`` is what else
    somebody should know.
    """

    nodes: int = 0
    edges: int = 0
    superseded: int = 0
    accesses: int = 0
    forgotten: int = 0
    vectors: int = 0
    known: int = 0
    refused: int = 0
    notices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, repr=False)
class Backup(ShortRepr):
    """A verified copy of a store: where it is, the episodes of all its scopes, its bytes, and their SHA-256 in hex."""

    path: str
    episodes: int
    size: int
    sha256: str

    def to_dict(self) -> dict[str, Any]:
        """The copy as JSON values."""
        return {"path": self.path, "episodes": self.episodes, "size": self.size, "sha256": self.sha256}


@dataclass(frozen=True, slots=True, repr=False)
class ScopeInfo(ShortRepr):
    """A scope as its store knows it."""

    name: str
    revision: int
    episodes: int
    embedder: str | None


@dataclass(frozen=True, slots=True, repr=False)
class Mention(ShortRepr):
    """A name found in a text; ``about`` says that the text is about it rather than merely naming it."""

    name: str
    about: bool = False


@dataclass(frozen=True, slots=True, repr=False)
class Filter(ShortRepr):
    """What may come back at all; an empty field lets everything through.

    Several names ask for any of them. ``after`` and ``before`` bound event time, half-open, and take what
    ``happened_at`` takes. Every pair of ``metadata`` must be there. The fields are checked when it is used.
    """

    speakers: str | tuple[str, ...] = ()
    sessions: str | tuple[str, ...] = ()
    sources: str | tuple[str, ...] = ()
    metadata: Metadata = field(default_factory=dict)
    after: object = None
    before: object = None


@dataclass(frozen=True, slots=True, repr=False)
class Cue(ShortRepr):
    """A question with all that the outside had to say of it; the strategies add nothing from outside.

    ``vector`` is ``None`` where no embedder is at hand. ``meaning`` in 0..1 says how far the embedder reads the cue's
    language, ``floor`` at which cosine it finds two texts unrelated. ``words`` are the hashes of the content words, in
    order. ``topic`` is the vector of what it asks about, without how it asks and of whom; ``terms`` has the vector of
    each of ``words`` that the topic holds, zeros for the others, shape ``(len(words), dim)``; both may be ``None``.
    ``entities`` are the ids of the names in the cue. ``when`` are the stretches of time it asks about. ``as_of``
    is in event time, ``known_at`` in recording time; with ``retroactive``, what was told after ``as_of`` speaks too, as
    far as it claims to hold by then. ``where`` says what may come back at all.
    """

    text: str
    now: datetime
    vector: Vector | None = None
    meaning: float = 1.0
    floor: float = 0.0
    words: NDArray[np.uint32] = field(default_factory=lambda: np.zeros(0, np.uint32))
    topic: Vector | None = None
    terms: Vectors | None = None
    entities: tuple[NodeId, ...] = ()
    when: tuple[Interval, ...] = ()
    as_of: datetime | None = None
    known_at: datetime | None = None
    retroactive: bool = False
    where: Filter = field(default_factory=Filter)


@dataclass(frozen=True, slots=True, repr=False)
class Share(ShortRepr):
    """One stage's part of a score: ``value`` is what it added, ``path`` the nodes it came by."""

    stage: str
    value: float
    path: tuple[NodeId, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The share as JSON values."""
        return {"stage": self.stage, "value": self.value, "path": list(self.path)}


@dataclass(frozen=True, slots=True, repr=False)
class Why(ShortRepr):
    """Why a memory came back. The shares' values add up to the hit's score."""

    shares: tuple[Share, ...]

    @property
    def path(self) -> tuple[NodeId, ...]:
        """The longest way by which the memory was reached, or nothing if the cue touched it directly."""
        return max((share.path for share in self.shares), key=len, default=())

    @property
    def ranked(self) -> tuple[Share, ...]:
        """The shares, strongest first; what a memory starts with comes last."""
        return tuple(sorted(self.shares, key=lambda share: (share.stage == START, -abs(share.value))))

    def __str__(self) -> str:
        return ", ".join(f"{share.stage} {share.value:+.2f}" for share in self.ranked if abs(share.value) >= 0.005)

    def __repr__(self) -> str:
        return call_repr("Why", str(self))


@dataclass(frozen=True, slots=True, repr=False)
class Standing(ShortRepr):
    """How a memory stands at the time asked about, by what other memories claim.

    ``until`` is when it ceases to hold, by what replaced it or by its own words; ``replaced_by`` are the memories that
    hold instead, ``contradicted_by`` those that say otherwise without replacing it.
    """

    holds: bool
    until: datetime | None = None
    replaced_by: tuple[NodeId, ...] = ()
    contradicted_by: tuple[NodeId, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The standing as JSON values."""
        return {
            "holds": self.holds,
            "until": _iso(self.until),
            "replaced_by": list(self.replaced_by),
            "contradicted_by": list(self.contradicted_by),
        }


@dataclass(frozen=True, slots=True, repr=False)
class Hit(ShortRepr):
    """One memory that came back, how strongly, and why.

    ``standing`` says whether it still holds, None where nothing bounds, replaces or contradicts it. ``find_reason``
    finds the text of ``reason``.
    """

    node: Node
    score: float
    why: Why
    standing: Standing | None = None
    find_reason: Callable[[], str] = field(default=str, repr=False, compare=False)

    @property
    def reason(self) -> str:
        """What sets it apart from the memories ranked after it, in words: at most two clauses, parted by a semicolon.

        Empty where no reasons were asked for, where it is alone, and where nothing tells it from the others. It is
        found when it is first read. Where the memory was closed before that, it names others without quoting them.
        """
        return self.find_reason()

    @property
    def id(self) -> NodeId:
        """The node's id."""
        return self.node.id

    @property
    def text(self) -> str:
        """The node's text."""
        return self.node.text

    def to_dict(self) -> dict[str, Any]:
        """The hit as JSON values: its score, its node's fields, how it stands, its reason and its shares."""
        return {
            "score": self.score,
            **self.node.to_dict(),
            "standing": None if self.standing is None else self.standing.to_dict(),
            "reason": self.reason,
            "why": [share.to_dict() for share in self.why.shares],
        }


@dataclass(frozen=True, slots=True, repr=False)
class Cost(ShortRepr):
    """What a recall cost: milliseconds in all and by step, and the tokens of the texts returned (estimated)."""

    milliseconds: float
    steps: Mapping[str, float]
    tokens: int


@dataclass(frozen=True, slots=True, repr=False)
class Recollection(ShortRepr):
    """What a cue brought back, best first. ``confidence`` in 0..1 is the value behind the ``evidence`` band.

    Its length is that of its hits, an index gives a hit and a slice a tuple of hits. ``print`` shows it as a table, and
    so does a notebook.
    """

    cue: Cue
    strategy: str
    evidence: Evidence
    confidence: float
    hits: tuple[Hit, ...]
    cost: Cost

    def __len__(self) -> int:
        return len(self.hits)

    def __iter__(self) -> Iterator[Hit]:
        return iter(self.hits)

    @overload
    def __getitem__(self, place: int) -> Hit: ...

    @overload
    def __getitem__(self, place: slice) -> tuple[Hit, ...]: ...

    def __getitem__(self, place: int | slice) -> Hit | tuple[Hit, ...]:
        return self.hits[place]

    def __str__(self) -> str:
        return text_table(self.to_dict())

    def _repr_html_(self) -> str:
        return html_table(self.to_dict())

    def to_dict(self) -> dict[str, Any]:
        """The recollection as JSON values, the hits with their ranks."""
        return {
            "question": self.cue.text,
            "strategy": self.strategy,
            "evidence": self.evidence.value,
            "confidence": round(self.confidence, 4),
            "milliseconds": round(self.cost.milliseconds, 3),
            "tokens": self.cost.tokens,
            "hits": [{"rank": rank, **hit.to_dict()} for rank, hit in enumerate(self.hits, 1)],
        }


@dataclass(frozen=True, slots=True, repr=False)
class Remembered(ShortRepr):
    """What became of the episodes handed to ``remember``, in their order.

    ``ids`` has one entry an episode. ``new`` were written now, ``known`` stood there already, ``refused`` were
    forgotten on purpose before and stay so.
    """

    ids: tuple[NodeId, ...]
    new: tuple[NodeId, ...] = ()
    known: tuple[NodeId, ...] = ()
    refused: tuple[NodeId, ...] = ()

    @property
    def id(self) -> NodeId:
        """The id of the first episode: the one, if one was handed in."""
        return self.ids[0]

    def to_dict(self) -> dict[str, Any]:
        """The ids as JSON values."""
        return {name: list(getattr(self, name)) for name in ("ids", "new", "known", "refused")}


@dataclass(frozen=True, slots=True, repr=False)
class Erased(ShortRepr):
    """What ``forget`` removed: ``episodes`` what was asked for, ``entities`` what nothing else had mentioned.

    Insights drawn from a memory and questions that it came back for go with it and are not listed; a question that was
    asked for by its own id stands among ``episodes``.
    """

    episodes: tuple[NodeId, ...]
    entities: tuple[NodeId, ...]

    def __bool__(self) -> bool:
        return bool(self.episodes)


@dataclass(frozen=True, slots=True, repr=False)
class Insight(ShortRepr):
    """What several memories say together, and these memories: a view of them that goes with any of them.

    ``level`` is 1 for insights over memories, one more for each level of insights over insights. ``holds`` is False
    once one of its sources was replaced.
    """

    node: Node
    level: int
    sources: tuple[Node, ...]
    holds: bool = True

    def to_dict(self) -> dict[str, Any]:
        """The insight as JSON values, its sources whole."""
        head = {"id": self.node.id, "text": self.node.text, "level": self.level, "holds": self.holds}
        return {**head, "sources": [node.to_dict() for node in self.sources]}


@dataclass(frozen=True, slots=True, repr=False)
class Succession(ShortRepr):
    """That consolidation found one memory to replace another, or where ``contradicts`` to say otherwise.

    ``since`` is from when the later one holds, ``until`` when it ceases to by its own words; ``sure`` is in 0..1.
    """

    old: Node
    new: Node
    since: datetime
    until: datetime | None
    sure: float
    contradicts: bool = False

    def to_dict(self) -> dict[str, Any]:
        """The change as JSON values, both memories whole."""
        return {
            "since": self.since.isoformat(),
            "until": _iso(self.until),
            "sure": self.sure,
            "contradicts": self.contradicts,
            "old": self.old.to_dict(),
            "new": self.new.to_dict(),
        }


@dataclass(frozen=True, slots=True, repr=False)
class History(ShortRepr):
    """A memory's life: what it replaced and what replaced it, oldest first, and the accesses to it that are kept.

    The ``nth`` of an access says how many of its kind there were, those that have expired included.
    """

    node: Node
    earlier: tuple[Node, ...]
    later: tuple[Node, ...]
    accesses: tuple[Access, ...]

    def to_dict(self) -> dict[str, Any]:
        """The history as JSON values."""
        return {
            "node": self.node.to_dict(),
            "earlier": [node.to_dict() for node in self.earlier],
            "later": [node.to_dict() for node in self.later],
            "accesses": [access.to_dict() for access in self.accesses],
        }


def _iso(time: datetime | None) -> str | None:
    return None if time is None else time.isoformat()
