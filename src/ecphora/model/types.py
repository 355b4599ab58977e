"""The data types of the memory graph: frozen dataclasses with no behavior beyond small derived values.

This file is over 400 lines because it holds the data types that everything imports.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, field
from datetime import date, datetime
from enum import StrEnum
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..errors import InvalidTime
from . import conditions
from .conditions import Condition, parse_condition, parse_names
from .json_form import JsonForm, JsonObject, numbers_to_json, to_json
from .reprs import ShortRepr, call_repr
from .times import read_time

NodeId = str
Metadata = conditions.Metadata
"""Texts, numbers, booleans, None, or lists of such values, by name."""
Vector = NDArray[np.float32]
"""One text's embedding, shape ``(dim,)``, unit length."""
Vectors = NDArray[np.float32]
"""Several embeddings, shape ``(texts, dim)``, unit rows."""
Scores = NDArray[np.float32]
"""One number for each row of a graph; 0 means not active. Stages exchange nothing else."""
Floats = NDArray[np.float64]
"""64-bit numbers, for sums that must not lose digits."""
Rows = NDArray[np.intp]
"""Row numbers of a graph."""
Mask = NDArray[np.bool_]
"""One boolean for each row of a graph."""


class Kind(StrEnum):
    """What a node stands for."""

    EPISODE = "episode"
    ENTITY = "entity"
    INSIGHT = "insight"
    CLAIM = "claim"
    QUESTION = "question"
    DESCRIPTION = "description"
    EXCHANGE = "exchange"


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
    DESCRIBES = "describes"
    DESCRIBED_IN = "described_in"
    BASED_ON = "based_on"
    RESPONDS_TO = "responds_to"
    CAUSES = "causes"
    ELABORATES = "elaborates"
    PRECEDES = "precedes"


When = str | date | datetime
"""A time as callers give it: an ISO 8601 text, a date or a datetime; without an offset it is local time."""
PRIOR = "prior"
"""The feature for the score that a memory has before any evidence: part of the sum, but no reason."""
MENTION_LINKS = frozenset({Link.MENTIONS, Link.ABOUT})
"""The links that keep an entity in the graph: it is deleted with the last of them."""
ENTITY_LINKS = MENTION_LINKS | {Link.DESCRIBES}
"""The links whose target is an entity."""
SOURCE_LINKS = {
    Kind.INSIGHT: Link.DERIVED_FROM,
    Kind.QUESTION: Link.ANSWERED_BY,
    Kind.CLAIM: Link.CLAIMED_IN,
    Kind.DESCRIPTION: Link.DESCRIBED_IN,
    Kind.EXCHANGE: Link.BASED_ON,
}
"""The kinds derived from memories, and the link to their sources: such a node is deleted with its first source."""
UNINDEXED_KINDS = frozenset(Kind) - {Kind.EPISODE}
"""The kinds whose terms are not indexed: no query matches their text, and they do not change document frequencies."""
UNEMBEDDED_KINDS = frozenset({Kind.ENTITY, Kind.CLAIM})
"""The kinds that have no vector of their own."""


class AccessKind(StrEnum):
    """Why a node was accessed."""

    ENCODED = "encoded"
    STIMULATED = "stimulated"
    RECALLED = "recalled"
    USED = "used"


class Mark(StrEnum):
    """How a node was marked. A mark is not an access; the latest of each pair of marks decides."""

    PINNED = "pinned"
    UNPINNED = "unpinned"
    ARCHIVED = "archived"
    UNARCHIVED = "unarchived"


ACCESS_KINDS: tuple[AccessKind | Mark, ...] = (*AccessKind, *Mark)
"""Every kind of access log entry. Its position is its code in files and graphs: new kinds come last."""
ACCESS_KIND_CODES = {kind: code for code, kind in enumerate(ACCESS_KINDS)}


def parse_access_kind(name: str) -> AccessKind | Mark:
    """Return the access kind or mark of that name; raises ``ValueError`` for an unknown name."""
    return Mark(name) if name in list(Mark) else AccessKind(name)


class Evidence(StrEnum):
    """How well a recollection answers its question: the band of its confidence."""

    STRONG = "strong"
    WEAK = "weak"
    NONE = "none"


class Rerank(StrEnum):
    """When a recall has a reranker read its best candidates: if the ranking leaves doubt, never, or always."""

    AUTO = "auto"
    NEVER = "never"
    ALWAYS = "always"


class Include(StrEnum):
    """What a recall returns besides the memories, if asked to."""

    ENGRAMS = "engrams"
    INSIGHTS = "insights"
    EXCHANGES = "exchanges"


@dataclass(frozen=True, slots=True, repr=False)
class Interval(JsonObject):
    """A half-open time interval, ``start <= t < end``."""

    start: datetime
    end: datetime


class MediaKind(StrEnum):
    """What a medium is."""

    PICTURE = "picture"
    SOUND = "sound"
    VIDEO = "video"
    OTHER = "other"


def _encode_media(one: "Media") -> dict[str, Any]:
    """A medium, with a vector and its model if it has one: as callers give it, and no stored one."""
    vector = numbers_to_json(one.vector)
    has_vector = vector or one.model is not None
    found = {"reference": to_json(one.reference), "kind": to_json(one.kind), "caption": to_json(one.caption)}
    return {**found, "vector": vector, "model": to_json(one.model)} if has_vector else found


@dataclass(frozen=True, slots=True, repr=False)
class Media(JsonObject):
    """A picture, sound or video of a memory, by reference.

    ``reference`` is a URI or path; nothing is ever loaded from it. ``caption`` describes the content; it is indexed and
    embedded with the text of the memory. ``vector`` comes from an embedder of the caller, whose name is ``model``;
    vectors of different models are never compared. A medium that comes back from the memory has no vector.
    """

    json_form: ClassVar = JsonForm(encode=_encode_media)

    reference: str
    kind: str | MediaKind = MediaKind.PICTURE
    caption: str = ""
    vector: Sequence[float] = ()
    model: str | None = None


@dataclass(frozen=True, slots=True, repr=False)
class MediaQuery(JsonObject):
    """A vector to search media with: of a picture, a sound, or a text, by the model that made the vectors of media."""

    json_form: ClassVar = JsonForm(encoders={"vector": numbers_to_json})

    vector: Sequence[float]
    model: str


@dataclass(frozen=True, slots=True, repr=False)
class MediaVector(ShortRepr):
    """The vector of a medium of a memory, and the name of the model that made it; the vectors of a model form a space.

    ``position`` is the place of the medium in the media of the node, from 0.
    """

    node: NodeId
    position: int
    model: str
    vector: Vector


@dataclass(frozen=True, slots=True, repr=False)
class Episode(JsonObject):
    """An episode to remember, as the caller gives it.

    ``id`` is the caller's own id; by default the id follows from the content, and from how often it was said.
    ``happened_at`` takes an ISO 8601 string, a date or a datetime; without an offset it is local time of the memory's
    zone, and None means the time of recording. ``supersedes`` is the id of the memory that this one replaces from
    ``happened_at`` on, whoever said it. The fields are checked when the episode is remembered.

    ``trust``, 0 to 1, limits supersession: a memory never supersedes one of higher trust, neither by ``supersedes``
    nor through consolidation. It does not affect ranking yet. ``speaker`` limits it too: consolidation lets nobody else
    supersede what a speaker said of themselves, and an unknown speaker (None) supersedes only what an unknown speaker
    said. Speakers are compared exactly: "ana" is not "Ana".
    """

    text: str
    id: NodeId | None = None
    speaker: str | None = None
    session: str | None = None
    happened_at: When | None = None
    title: str | None = None
    source: str | None = None
    metadata: Metadata = field(default_factory=dict)
    trust: float = 1.0
    supersedes: NodeId | None = None
    media: tuple[Media, ...] = ()


@dataclass(frozen=True, slots=True, repr=False)
class Node(JsonObject):
    """One node of the memory graph.

    ``happened_at`` is event time, ``recorded_at`` recording time; ``valid_from`` and ``valid_to`` bound the time in
    which the text is valid (``None``: open). ``seq`` counts insertions and accesses of a scope; the store assigns it,
    0 means not yet stored. A long text is stored as several chunks: nodes that share a ``document`` and count
    ``position`` up; joined in that order they are the text again. A chunk begins at character ``start`` of the text,
    under the heading path ``heading``: "Guide > Timers", or None. The ``text`` of an exchange is the response, its
    ``title`` the prompt.
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
    media: tuple[Media, ...] = ()


@dataclass(frozen=True, slots=True, repr=False)
class TextAnalysis(ShortRepr):
    """The analysis of one text: all that recall needs to know of its terms.

    ``term_hashes`` are the distinct term hashes in ascending order, ``term_counts`` how often each occurs; both have
    the same length. The hashes of identifiers and quantities follow, in ascending order, with the count 0.
    ``time_mentions`` are the time intervals that the text mentions, with relative dates resolved against the time it
    was said.
    """

    term_hashes: NDArray[np.uint32]
    term_counts: NDArray[np.uint8]
    is_question: bool = False
    time_mentions: tuple[Interval, ...] = ()

    @property
    def length(self) -> int:
        """The number of terms, repetitions included."""
        return int(self.term_counts.sum())


@dataclass(frozen=True, slots=True, repr=False)
class Edge(JsonObject):
    """A directed, typed, weighted edge; ``provenance`` is the episode that supports it, if that is not ``src``.

    The edge is deleted with that episode, and with either end.
    """

    src: NodeId
    dst: NodeId
    link: Link
    weight: float = 1.0
    provenance: NodeId | None = None


@dataclass(frozen=True, slots=True, repr=False)
class Access(JsonObject):
    """One entry of the access log: that a node was stored, stimulated, recalled, used or marked, and when.

    The ``ENCODED`` access of storing an episode is implicit: a graph logs it under the node's own ``seq``.
    ``count`` is the number of accesses of this kind to the node up to this access, expired ones included; like ``seq``
    the store assigns it, 0 means not yet stored.
    """

    node: NodeId
    at: datetime
    kind: AccessKind | Mark
    strength: float = 1.0
    seq: int = 0
    count: int = 0


@dataclass(frozen=True, slots=True, repr=False)
class LogRetention(ShortRepr):
    """What is left of the access log: up to ``through_seq``, a node keeps the last ``keep_last`` accesses of a kind."""

    through_seq: int = 0
    keep_last: int = 0


FULL_LOG = LogRetention()
"""The retention of a log from which nothing has expired."""


@dataclass(frozen=True, slots=True, repr=False)
class ValidityEnd(JsonObject):
    """From ``valid_to`` on the node is no longer valid; known since ``recorded_at``. An edge names the successor."""

    node: NodeId
    valid_to: datetime
    recorded_at: datetime


@dataclass(frozen=True, slots=True, repr=False)
class Tombstone(ShortRepr):
    """The record of a forgotten memory: its id, and a digest of its content by which a copy is recognized.

    Nothing else is kept. Neither reveals the text, though a guess of the exact text can be confirmed.
    """

    node: NodeId
    digest: bytes


@dataclass(frozen=True, slots=True, repr=False)
class UndoBatch(JsonObject):
    """A write batch that can be undone by its id: when it was written, and how many items of each name it wrote."""

    id: str
    at: datetime
    counts: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, repr=False)
class WriteBatch(ShortRepr):
    """The unit of writing to a store, atomic: all of it is written or nothing.

    Forgetting a node also deletes the entities that nothing else mentions, the insights derived from it, and the
    questions that it answered; they need not be named. ``entities`` stay, with the spelling and times of a memory that
    is not forgotten. The ends of validity of the nodes in ``restored_validity`` are deleted, as what superseded them is
    forgotten. Applied in the order ``tombstones``, ``entities``, ``restored_validity``, ``nodes``, ``vectors``,
    ``english_vectors``, ``edges``, ``validity_ends``, ``accesses``.

    ``embedder`` names the model that made ``vectors``; ``switch_embedder`` makes this model the scope's embedder, once
    every episode has its vector. ``english_embedder`` names the model of ``english_vectors``, the second vectors of
    English texts. A store leaves out the English vectors if the scope has English vectors of another model, or if its
    vectors come from another model than ``embedder``; ``switch_embedder`` deletes English vectors of another model.

    ``token_codes`` are a reranker's encodings of texts, and ``code_model`` names the model that made them; no graph has
    token codes, so a store does not return them.

    ``cursors`` say how far each incremental process has come, by its name: the highest ``seq`` that is processed.
    ``undo_batch`` names the undo batch that the rows belong to; ``undoes`` is the id of the latest undo batch, whose
    rows are all deleted and whose cursors are set back. ``needs_full_log`` keeps the scope's access log complete from
    here on; otherwise a store may let old accesses expire, and ``retention`` says which are left.

    ``expected_revision`` makes a store refuse the batch with ``StaleWrite`` if the scope has another revision;
    ``read_revision`` makes a store refuse the batch only if a node that the batch refers to was written after that
    revision, or if the provenance of an edge is gone: the text that was read is no longer there. ``revision`` is 0
    until the batch is committed; the store returns it with the new revision and every ``seq``.
    """

    nodes: tuple[Node, ...] = ()
    analyses: Mapping[NodeId, TextAnalysis] = field(default_factory=dict)
    vectors: Mapping[NodeId, Vector] = field(default_factory=dict)
    english_vectors: Mapping[NodeId, Vector] = field(default_factory=dict)
    token_codes: Mapping[NodeId, bytes] = field(default_factory=dict)
    media_vectors: tuple[MediaVector, ...] = ()
    edges: tuple[Edge, ...] = ()
    validity_ends: tuple[ValidityEnd, ...] = ()
    accesses: tuple[Access, ...] = ()
    tombstones: tuple[Tombstone, ...] = ()
    entities: tuple[Node, ...] = ()
    restored_validity: tuple[NodeId, ...] = ()
    cursors: Mapping[str, int] = field(default_factory=dict)
    undo_batch: UndoBatch | None = None
    undoes: str | None = None
    embedder: str | None = None
    english_embedder: str | None = None
    code_model: str | None = None
    switch_embedder: bool = False
    needs_full_log: bool = False
    retention: LogRetention = FULL_LOG
    expected_revision: int | None = None
    read_revision: int | None = None
    revision: int = 0


@dataclass(frozen=True, slots=True, repr=False)
class TransferResult(JsonObject):
    """What an export or import wrote.

    ``existing`` nodes were there already, ``blocked`` ones have a tombstone there; ``skipped`` items of the file name
    memories that the import does not bring, and were left out; ``notices`` are messages for the user.
    """

    nodes: int = 0
    edges: int = 0
    validity_ends: int = 0
    accesses: int = 0
    tombstones: int = 0
    vectors: int = 0
    existing: int = 0
    blocked: int = 0
    skipped: int = 0
    notices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, repr=False)
class CopyResult(JsonObject):
    """The scopes that were copied, and the scopes that were there already, equal to the source's."""

    copied: tuple[str, ...] = ()
    existing: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, repr=False)
class Backup(JsonObject):
    """A verified copy of a store: its path, the episodes of all scopes, its size in bytes and its SHA-256 in hex.

    ``damage`` has a line for each kind of damaged rows in the store, and so in the copy, five at most: ``ecphora
    doctor`` repairs them.
    """

    path: str
    episodes: int
    size: int
    sha256: str
    damage: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, repr=False)
class ScopeInfo(JsonObject):
    """A scope as stored: its name, revision, number of episodes (a long text is one) and embedding model."""

    name: str
    revision: int
    episodes: int
    embedder: str | None


class MentionType(StrEnum):
    """What a mentioned name stands for; preferences and decisions are SYNAPSE's, the others EcphoryRAG's."""

    PERSON = "person"
    ORGANIZATION = "organization"
    PLACE = "place"
    THING = "thing"
    WORK = "work"
    EVENT = "event"
    PREFERENCE = "preference"
    DECISION = "decision"
    CONCEPT = "concept"
    DATE = "date"
    QUANTITY = "quantity"
    OTHER = "other"


class RelationType(StrEnum):
    """How the subject of a relation bears on its object.

    Each type but ``RELATED_TO`` is also the link of that name between the memories of subject and object.
    """

    SUPPORTS = "supports"
    CONTRADICTS = "contradicts"
    ELABORATES = "elaborates"
    CAUSES = "causes"
    PRECEDES = "precedes"
    RELATED_TO = "related_to"


DEFAULT_IMPORTANCE, MAX_IMPORTANCE = 3, 5
"""The default importance of a mention, and the highest, on EcphoryRAG's scale from 1."""


@dataclass(frozen=True, slots=True, repr=False)
class Mention(JsonObject):
    """A name found in a text; ``is_about`` says that the text is about it rather than merely naming it.

    ``type`` is None where nobody classified it. ``description`` says in a few words what the text says of the name, ""
    for nothing. ``importance`` is 1 to 5.
    """

    name: str
    is_about: bool = False
    type: MentionType | None = None
    description: str = ""
    importance: int = DEFAULT_IMPORTANCE


@dataclass(frozen=True, slots=True, repr=False)
class Relation(JsonObject):
    """What a text says of two names: ``subject`` ``predicate`` ``object``, as in "Ana" "moved to" "Porto"."""

    subject: str
    predicate: str
    object: str
    type: RelationType = RelationType.RELATED_TO


@dataclass(frozen=True, slots=True, repr=False)
class Extraction(JsonObject):
    """What an extractor found in one text."""

    mentions: tuple[Mention, ...] = ()
    relations: tuple[Relation, ...] = ()


@dataclass(frozen=True, slots=True, repr=False)
class LLMUsage(JsonObject):
    """What a language model consumed. ``calls`` include ``retries``; ``failures`` counts prompts without a result.

    ``cost_usd`` is in US dollars. Tokens, seconds and dollars count for replies received only.
    """

    calls: int = 0
    retries: int = 0
    failures: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    seconds: float = 0.0
    cost_usd: float = 0.0

    def __add__(self, other: "LLMUsage") -> "LLMUsage":
        return LLMUsage(*(mine + its for mine, its in zip(astuple(self), astuple(other), strict=True)))


@dataclass(frozen=True, slots=True, repr=False)
class LLMEstimate(JsonObject):
    """What prompts would cost before any is sent; all tokens are estimated.

    ``calls`` and ``tokens_in`` count every prompt once. The ``max_`` fields are upper bounds: they count every prompt
    as often as it may be repeated, and every reply as long as it may be.
    """

    calls: int = 0
    tokens_in: int = 0
    max_calls: int = 0
    max_tokens_in: int = 0
    max_tokens_out: int = 0

    def max_cost_usd(self, prices: tuple[float, float]) -> float:
        """The most US dollars, given the prices of a million tokens in and out."""
        return (self.max_tokens_in * prices[0] + self.max_tokens_out * prices[1]) / 1e6


@dataclass(frozen=True, slots=True, repr=False)
class ExtractionReport(JsonObject):
    """How the texts of one call were read, and what the language model consumed for them.

    ``by_model`` texts were read by the model, ``cached`` had been read before, ``by_rules`` were left to the rules,
    because the model failed or the budget was used up: ``errors`` has each reason once. ``rejected`` counts names and
    relations of the model that do not occur in their text.
    """

    by_model: int = 0
    cached: int = 0
    by_rules: int = 0
    rejected: int = 0
    errors: tuple[str, ...] = ()
    usage: LLMUsage = field(default_factory=LLMUsage)


@dataclass(frozen=True, slots=True, repr=False)
class Filter(JsonObject):
    """Which memories are eligible; a field that is left out allows all.

    Several names match any of them, and an empty list of names matches nothing; memories with a name in
    ``not_speakers``, ``not_sessions`` or ``not_sources`` are left out, memories without a name are not. ``speakers``,
    ``sessions`` and ``sources`` also take a mapping of the operators ``$eq``, ``$in``, ``$ne`` and ``$nin``, as in
    ``{"$nin": ["tool"]}``: such a mapping becomes names in both fields. ``after`` and ``before`` bound event time,
    ``recorded_after`` and ``recorded_before`` recording time, half-open; they take what ``happened_at`` takes and are
    datetimes from then on, which have an offset if it was given. ``metadata`` is a mapping of values that must all
    match, or of operators (``{"age": {"$gte": 3}}``), or a condition of :mod:`ecphora.model.conditions`. ``min_trust``
    leaves out memories with less trust.

    Raises ``InvalidTime`` for a bound that is not a time, and ``InvalidInput`` for an unknown operator or a wrong
    operand; the other fields are checked when the filter is used.
    """

    speakers: str | tuple[str, ...] | Mapping[str, object] | None = None
    sessions: str | tuple[str, ...] | Mapping[str, object] | None = None
    sources: str | tuple[str, ...] | Mapping[str, object] | None = None
    metadata: Mapping[str, object] | Condition = field(default_factory=dict)
    after: When | None = None
    before: When | None = None
    recorded_after: When | None = None
    recorded_before: When | None = None
    min_trust: float = 0.0
    not_speakers: str | tuple[str, ...] = ()
    not_sessions: str | tuple[str, ...] = ()
    not_sources: str | tuple[str, ...] = ()

    def __post_init__(self) -> None:
        parse_condition(self.metadata)
        for name in ("speakers", "sessions", "sources"):
            if isinstance(names := getattr(self, name), Mapping):
                wanted, unwanted = parse_names(name, names, getattr(self, f"not_{name}"))
                object.__setattr__(self, name, wanted)
                object.__setattr__(self, f"not_{name}", unwanted)
        for name in ("after", "before", "recorded_after", "recorded_before"):
            if (bound := getattr(self, name)) is None:
                continue
            try:
                object.__setattr__(self, name, read_time(bound))
            except InvalidTime as error:
                raise InvalidTime(f"{name}: {error}") from error

    @property
    def condition(self) -> Condition | None:
        """The condition that ``metadata`` stands for; None if it is empty."""
        return parse_condition(self.metadata)


@dataclass(frozen=True, slots=True, repr=False)
class RecallOptions(JsonObject):
    """What a recall rarely needs besides its arguments. The fields are checked when they are used.

    ``retroactive``, together with ``as_of``, also returns memories that were told later but claim to hold by then.

    ``media_query`` is the vector of a picture or sound: memories whose media of the same model are near to it come back
    too. The ranks by text and by media are joined; the evidence comes from the text alone.

    With ``rerank_ms``, a deadline in milliseconds, the reranker starts no batch that would probably end later; the cost
    of the recall says how many candidates it left unread.

    ``explain=False`` leaves out the reasons. ``log_access=False`` leaves no trace in the access log.
    """

    retroactive: bool = False
    media_query: MediaQuery | None = None
    rerank_ms: float | None = None
    explain: bool = True
    log_access: bool = True


DEFAULT_RECALL_OPTIONS = RecallOptions()
"""The options of a recall that is given none."""


@dataclass(frozen=True, slots=True, repr=False)
class RelationName(JsonObject):
    """The name of a relation in a question: ``phrase`` "my sister" is ``name`` "Marta", as memory ``node`` tells."""

    phrase: str
    name: str
    node: NodeId


@dataclass(frozen=True, slots=True, repr=False)
class Goal(JsonObject):
    """What the caller is working towards while it asks: a cue besides the question.

    ``vector`` is ``None`` without an embedder; ``embedder_coverage`` says how much (0..1) of the goal's language it
    reads.
    """

    json_form: ClassVar = JsonForm(omitted=("vector",))

    text: str
    vector: Vector | None = None
    embedder_coverage: float = 1.0


@dataclass(frozen=True, slots=True, repr=False)
class AskedIdentifier(ShortRepr):
    """An identifier in a question, as the question writes it, with the hashes by which memories are looked up.

    A memory with a hash of ``whole`` holds the identifier. A memory with a hash of ``part`` holds a longer identifier
    that contains it, or a shorter form. A memory with the hash ``kind`` has an identifier of the same kind. ``terms``
    are the hashes of the identifier's words.
    """

    text: str
    whole: tuple[int, ...]
    part: tuple[int, ...]
    kind: int
    terms: tuple[int, ...]


UNWRITTEN_FIELDS = (
    "vector", "word_vectors", "english_vector", "term_hashes", "identifiers", "quantities", "media"
)  # fmt: skip
"""The fields of a query that its JSON form leaves out: arrays and hashes, which only strategies use."""


@dataclass(frozen=True, slots=True, repr=False)
class Query(JsonObject):
    """A question with its analysis and options: all that a strategy gets besides the graph.

    ``vector`` is ``None`` without an embedder; else ``embedder`` names the model. ``embedder_coverage`` says how much
    (0..1) of the query's language the embedder reads, ``similarity_floor`` at which cosine it finds two texts
    unrelated. ``english_vector`` is the vector of an English query for the English vectors of memories, else ``None``.

    ``term_hashes`` are the hashes of the content words, in order. ``word_vectors`` has the vectors of the content words
    as they stand in the query, zeros for words without a vector, shape ``(len(term_hashes), dim)``; ``None`` if the
    embedder gives none. ``entity_ids`` are the ids of the entities that the query names. ``relation_names`` are the
    names that memories give to relations in the query, such as "my sister"; ``named_text`` is the text with these names
    in their place, "" if there are none.

    ``main_speaker`` is the name of the speaker who says nearly all, "" without such a speaker; ``first_person_text`` is
    a question about this speaker in the first person, as the speaker would ask it, else "". ``time_ranges`` are the
    time intervals that the query asks about. ``identifiers`` are the identifiers that the query names, ``quantities``
    the hashes of its amounts with a unit.

    ``as_of`` is in event time, ``known_at`` in recording time; with ``retroactive``, what was said after ``as_of``
    counts too, as far as it claims to be valid by then. ``where`` says which memories are eligible. ``goal`` is what
    the caller is working towards, None if the caller names nothing.
    """

    json_form: ClassVar = JsonForm(omitted=UNWRITTEN_FIELDS)

    text: str
    now: datetime
    vector: Vector | None = None
    embedder: str = ""
    embedder_coverage: float = 1.0
    similarity_floor: float = 0.0
    term_hashes: NDArray[np.uint32] = field(default_factory=lambda: np.zeros(0, np.uint32))
    word_vectors: Vectors | None = None
    english_vector: Vector | None = None
    entity_ids: tuple[NodeId, ...] = ()
    relation_names: tuple[RelationName, ...] = ()
    named_text: str = ""
    main_speaker: str = ""
    first_person_text: str = ""
    time_ranges: tuple[Interval, ...] = ()
    identifiers: tuple[AskedIdentifier, ...] = ()
    quantities: tuple[int, ...] = ()
    as_of: datetime | None = None
    known_at: datetime | None = None
    retroactive: bool = False
    where: Filter = field(default_factory=Filter)
    goal: Goal | None = None
    media: MediaQuery | None = None

    @property
    def search_text(self) -> str:
        """The text that is searched for, whose terms and vectors the query has: names stand in place of relations."""
        return self.named_text or self.text

    @property
    def reranking_text(self) -> str:
        """The text that is read together with a memory, and whose English vector the query has."""
        return self.first_person_text or self.search_text


@dataclass(frozen=True, slots=True, repr=False)
class Contribution(JsonObject):
    """One feature's part of a score: ``value`` is the part, ``path`` the nodes along which the feature spread."""

    feature: str
    value: float
    path: tuple[NodeId, ...] = ()


def _encode_contribution(one: Contribution) -> dict[str, Any]:
    """A contribution; a recall has hundreds of them, so the type of each field is not looked up."""
    value = one.value if type(one.value) is float and math.isfinite(one.value) else to_json(one.value)
    return {"feature": one.feature, "value": value, "path": list(one.path)}


@dataclass(frozen=True, slots=True, repr=False)
class Why(ShortRepr):
    """Why a memory came back. The contributions' values add up to the hit's score."""

    json_form: ClassVar = JsonForm(encode=lambda why: list(map(_encode_contribution, why.contributions)))

    contributions: tuple[Contribution, ...]

    @property
    def path(self) -> tuple[NodeId, ...]:
        """The longest path on which the memory was reached; empty if the query matched it directly."""
        return max((contribution.path for contribution in self.contributions), key=len, default=())

    @property
    def ranked_contributions(self) -> tuple[Contribution, ...]:
        """The contributions, strongest first; the prior comes last."""
        return tuple(sorted(self.contributions, key=lambda part: (part.feature == PRIOR, -abs(part.value))))

    def __str__(self) -> str:
        return ", ".join(
            f"{part.feature} {part.value:+.2f}" for part in self.ranked_contributions if abs(part.value) >= 0.005
        )

    def __repr__(self) -> str:
        return call_repr("Why", str(self))


@dataclass(frozen=True, slots=True, repr=False)
class Validity(JsonObject):
    """Whether a memory is valid at the time asked about, given what other memories claim.

    ``valid_to`` is when it ceases to be valid, by its successor or by its own text; ``superseded_by`` are its
    successors, ``contradicted_by`` the memories that contradict it without superseding it.
    """

    is_valid: bool
    valid_to: datetime | None = None
    superseded_by: tuple[NodeId, ...] = ()
    contradicted_by: tuple[NodeId, ...] = ()


@dataclass(frozen=True, slots=True, repr=False)
class Hit(JsonObject):
    """One memory that came back, how strongly, and why.

    ``validity`` says whether it is still valid, None where nothing bounds, supersedes or contradicts it.
    ``reason_source`` is called for the text of ``reason``.
    """

    json_form: ClassVar = JsonForm(
        inline=("node",), omitted=("reason_source",), derived={"reason": (str, lambda hit: hit.reason)}
    )

    node: Node
    score: float
    why: Why
    validity: Validity | None = None
    reason_source: Callable[[], str] = field(default=str, repr=False, compare=False)

    @property
    def reason(self) -> str:
        """What distinguishes the memory from the memories after it: at most two clauses, separated by a semicolon.

        Empty where no reasons were asked for, where the memory is the only hit, and where nothing distinguishes it. The
        reason is computed when it is first read. If the ``Memory`` was closed before that, the reason names other
        memories without quoting them.
        """
        return self.reason_source()

    @property
    def is_exchange(self) -> bool:
        """Whether this is an earlier exchange, which ``eisa`` returns, and no memory."""
        return self.node.kind is Kind.EXCHANGE

    @property
    def id(self) -> NodeId:
        """The node's id."""
        return self.node.id

    @property
    def text(self) -> str:
        """The node's text."""
        return self.node.text


@dataclass(frozen=True, slots=True, repr=False)
class HitGroup(JsonObject):
    """The hits that mention an instance of the class that a question asks for, best first.

    ``instance`` is a word or name as the first of them writes it.
    """

    json_form: ClassVar = JsonForm(
        omitted=("hits",), derived={"ids": (tuple[NodeId, ...], lambda group: [hit.id for hit in group.hits])}
    )

    instance: str
    hits: tuple[Hit, ...]


@dataclass(frozen=True, slots=True, repr=False)
class EngramHit(JsonObject):
    """A person, place or thing that hits mention; ``ids`` are the ids of the hits, best first.

    ``score``, 0 to 1, says how near the engram is to the question. A language model read ``type``, ``description`` and
    ``importance``, 1 to 5, in the best of the hits; they are None without a language model.
    """

    id: NodeId
    name: str
    score: float
    ids: tuple[NodeId, ...]
    type: str | None = None
    description: str | None = None
    importance: float | None = None


@dataclass(frozen=True, slots=True, repr=False)
class InsightHit(JsonObject):
    """An insight near a question: a shortcut to the memories that it summarizes, whose ids are ``source_ids``.

    ``score`` is in 0..1; ``level`` is as in :class:`Insight`.
    """

    id: NodeId
    text: str
    score: float
    source_ids: tuple[NodeId, ...]
    level: int = 1


@dataclass(frozen=True, slots=True, repr=False)
class ExchangeHit(JsonObject):
    """An earlier prompt like the question, and the response that was given to it.

    An exchange says what was answered, not what is true. ``source_ids`` are the memories that were recalled for the
    prompt, and the earlier exchanges and the sources of insights that were shown with them; ``used_ids`` are the
    memories that the response used, as far as that is known. ``source`` is the model that gave the response.
    """

    id: NodeId
    prompt: str
    response: str
    happened_at: datetime
    score: float
    source_ids: tuple[NodeId, ...] = ()
    used_ids: tuple[NodeId, ...] = ()
    source: str | None = None
    session: str | None = None


@dataclass(frozen=True, slots=True, repr=False)
class Cost(JsonObject):
    """What a recall cost: milliseconds in total and by step, and the estimated tokens of the returned texts.

    ``passages_reranked`` is how many memories the reranker has read, ``passages_left`` how many candidates a deadline
    or a failure has left unread. ``reranker_error`` says why it failed, None if it did not.
    """

    milliseconds: float
    step_milliseconds: Mapping[str, float]
    tokens: int
    passages_reranked: int = 0
    passages_left: int = 0
    reranker_error: str | None = None


@dataclass(frozen=True, slots=True, repr=False)
class RememberResult(JsonObject):
    """The result of ``remember``, in the order of the episodes.

    ``ids`` has one entry per episode. ``created`` were written now, ``existing`` were there already, ``blocked`` were
    forgotten before and stay forgotten. ``unread`` are the ids of ``created`` whose texts the embedder mostly cannot
    read: they are found by their words, not by meaning. ``omitted`` counts the parts of chat messages that are not
    remembered, by kind, such as ``tool_call`` and ``image_url``. ``extraction`` says how an extractor with a language
    model read the texts, None for other extractors. ``estimate`` is the cost that reading the texts would have; only a
    dry run has it.
    """

    ids: tuple[NodeId, ...]
    created: tuple[NodeId, ...] = ()
    existing: tuple[NodeId, ...] = ()
    blocked: tuple[NodeId, ...] = ()
    unread: tuple[NodeId, ...] = ()
    omitted: Mapping[str, int] = field(default_factory=dict)
    extraction: ExtractionReport | None = None
    estimate: LLMEstimate | None = None

    @property
    def id(self) -> NodeId:
        """The id of the first episode, or of the only one."""
        return self.ids[0]


@dataclass(frozen=True, slots=True)
class Omission:
    """Something of a file that an importer leaves out: ``reason`` is the same for all of a kind, ``place`` says where.

    ``Omission("a hidden message", "conversation 'Porto', message 4")``
    """

    reason: str
    place: str = ""


@dataclass(frozen=True, slots=True, repr=False)
class Page(JsonObject):
    """Some memories in an order; ``cursor`` leads to the page after this one, None if it is the last.

    A page is iterated like its memories. ``notices`` are messages for the user, such as the names in the filter that no
    memory has.
    """

    memories: tuple[Node, ...]
    cursor: str | None = None
    notices: tuple[str, ...] = ()

    def __iter__(self) -> Iterator[Node]:
        return iter(self.memories)

    def __len__(self) -> int:
        return len(self.memories)


@dataclass(frozen=True, slots=True, repr=False)
class ForgetResult(JsonObject):
    """What ``forget`` removed: ``episode_ids`` as asked for, ``entity_ids`` that nothing else mentioned.

    ``exchange_ids`` are the exchanges that go with a memory which was shown for their response. Insights derived from a
    memory and questions that it answered are removed with it and not listed; a question that was named by its own id is
    among ``episode_ids``. ``notices`` are messages for the user, such as the names in the filter that no memory has.
    """

    episode_ids: tuple[NodeId, ...]
    entity_ids: tuple[NodeId, ...]
    exchange_ids: tuple[NodeId, ...] = ()
    notices: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.episode_ids)


@dataclass(frozen=True, slots=True, repr=False)
class Insight(JsonObject):
    """A summary of several memories, with its sources; it is deleted with any of them.

    ``level`` is 1 for insights over memories, 2 for insights over such insights, and so on. ``is_valid`` is False once
    one of its sources was superseded.
    """

    json_form: ClassVar = JsonForm(inline=("node",))

    node: Node
    level: int
    sources: tuple[Node, ...]
    is_valid: bool = True


class FactRelation(StrEnum):
    """What a later memory does to an earlier one."""

    SUPERSEDES = "supersedes"
    CONTRADICTS = "contradicts"


@dataclass(frozen=True, slots=True, repr=False)
class FactUpdate(JsonObject):
    """A fact update that consolidation found: ``new`` supersedes ``old`` or contradicts it.

    ``valid_from`` is when ``new`` becomes valid, ``valid_to`` when it ends by its own text; ``confidence`` is in 0..1.
    """

    old: Node
    new: Node
    valid_from: datetime
    valid_to: datetime | None
    confidence: float
    relation: FactRelation = FactRelation.SUPERSEDES


@dataclass(frozen=True, slots=True, repr=False)
class History(JsonObject):
    """The history of a memory: its predecessors and successors, oldest first, and the accesses that are kept.

    The ``count`` of an access says how many accesses of its kind there were, expired accesses included.
    """

    node: Node
    predecessors: tuple[Node, ...]
    successors: tuple[Node, ...]
    accesses: tuple[Access, ...]


def _iso(time: datetime | None) -> str | None:
    return None if time is None else time.isoformat()
