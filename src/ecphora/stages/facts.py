"""Facts that a language model took out of statements, as claims: which replaces which, by subject and attribute.

Cognitive Weave's contradiction check with a model, docs/papers.md 5.8.1: a fact is compared only with those of the same
subject and attribute; of a single-valued attribute the later one replaces the earlier, a denial what it denies. Of two
that were told at the same time, neither replaces the other; what would replace what it may not end contradicts it.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import blake2b
from typing import Any

import numpy as np

from ..graph import LINKS, Earlier, Graph
from ..language.words import words
from ..model import Edge, Kind, Link, Metadata, Node, NodeId
from .authority import Voice, may_end
from .claiming import Claims
from .matter import ABOUT, CLAIM
from .moment import Moment, Moments

SELF = frozenset({"i", "me", "myself", "speaker", "the speaker", "user", "the user"})
"""Subjects by which a model may name a speaker."""
_CLAIMED = LINKS.index(Link.CLAIMED_IN)
KEY = "fact"
"""The metadata of a claim by a model that has its subject and attribute in a form in which equal ones are equal."""
SURE = 0.9
"""How sure a replacement is that a model's facts show."""


@dataclass(frozen=True, slots=True)
class Fact:
    """One fact of one memory: subject, attribute, value; ``single`` if there is one such value at a time."""

    source: Node
    subject: str
    attribute: str
    value: str
    polarity: bool = True
    since: datetime | None = None
    until: datetime | None = None
    single: bool = True

    @property
    def key(self) -> str:
        """Subject and attribute as stems: what other facts of the same matter have too."""
        return "\x1f".join(" ".join(words(part)) for part in (self.subject, self.attribute))

    def node(self) -> Node:
        """The claim that it is kept as; its id follows from the memory and what the fact is of."""
        content = "\x1f".join((self.source.id, self.key, " ".join(words(self.value)), str(self.polarity)))
        metadata: Metadata = {
            ABOUT: " ".join(words(f"{self.attribute} {self.value}")),
            KEY: self.key,
            "subject": self.subject,
            "attribute": self.attribute,
            "value": self.value,
            "polarity": self.polarity,
            "single": self.single,
        }
        return Node(
            id=f"{CLAIM}{blake2b(content.encode(), digest_size=16).hexdigest()}",
            kind=Kind.CLAIM,
            text=f"{self.subject}: {self.attribute}: {'' if self.polarity else 'not '}{self.value}",
            happened_at=self.source.happened_at,
            recorded_at=self.source.recorded_at,
            speaker=self.source.speaker,
            session=self.source.session,
            valid_from=self.since,
            valid_to=self.until,
            trust=self.source.trust,
            metadata=metadata,
        )


@dataclass(frozen=True, slots=True)
class _Held:
    """A fact that is kept, as far as others are compared with it."""

    id: NodeId
    moment: Moment
    told: Mapping[str, Any]
    voice: Voice


def claimed(graph: Graph, facts: Sequence[Fact]) -> Claims:
    """The claims of some facts, and what they replace among themselves and among what the graph holds."""
    found, moments = Claims(), Moments(graph)
    by_key = {key: list(held) for key, held in graph.derived("facts", _known).items()}
    for fact in sorted(facts, key=lambda one: (one.source.happened_at, one.source.seq)):
        node = fact.node()
        if graph.row(node.id) is not None or node.id in found.nodes:
            continue
        found.nodes[node.id] = node
        found.edges[Edge(node.id, fact.source.id, Link.CLAIMED_IN)] = None
        voice = _voice(node.speaker, node.trust, node.metadata)
        row = graph.row(fact.source.id)
        own = _Held(node.id, Moment(0.0) if row is None else moments.of(row), node.metadata, voice)
        for other in by_key.get(fact.key, ()):
            later, earlier = (own, other) if own.moment.after(other.moment) else (other, own)
            if later.moment.after(earlier.moment) and _replaces(later.told, earlier.told):
                link = Link.SUPERSEDES if may_end(later.voice, earlier.voice) else Link.CONTRADICTS
                found.edges[Edge(later.id, earlier.id, link, SURE)] = None
        by_key.setdefault(fact.key, []).append(own)
    return found


def _voice(speaker: str | None, trust: float, told: Mapping[str, Any]) -> Voice:
    subject = str(told["subject"])
    own = subject.casefold() in SELF or not set(words(subject)).isdisjoint(words(speaker or ""))
    return Voice(speaker, trust, own)


def _replaces(later: Mapping[str, Any], earlier: Mapping[str, Any]) -> bool:
    same = words(str(later["value"])) == words(str(earlier["value"]))
    if same:
        return bool(later["polarity"] != earlier["polarity"])
    return bool(later["polarity"] and earlier["polarity"] and later["single"] and earlier["single"])


def _known(graph: Graph, before: Earlier[dict[str, tuple[_Held, ...]]] | None) -> dict[str, tuple[_Held, ...]]:
    first, found = (0, {}) if before is None else (before.nodes, dict(before.value))
    moments = Moments(graph)
    for row, metadata in _claims(graph, first):
        number, trust = int(graph.nodes["speakers"][row]), float(graph.nodes["trust"][row])
        voice = _voice(None if number < 0 else graph.speakers.names[number], trust, metadata)
        held = _Held(graph.id(row), moments.of(_source(graph, row)), metadata, voice)
        key = str(metadata[KEY])
        found[key] = (*found.get(key, ()), held)
    return found


def _source(graph: Graph, row: int) -> int:
    """The row of the memory that a claim was drawn from; its own where that is gone."""
    places, _ = graph.edges_from(np.array([row]))
    drawn = graph.edges["dst"][places[graph.edges["links"][places] == _CLAIMED]]
    return int(drawn[0]) if len(drawn) else row


def _claims(graph: Graph, first: int) -> Iterator[tuple[int, Mapping[str, Any]]]:
    for row, metadata in enumerate(graph.nodes["metadata"][first:], first):
        if metadata and KEY in metadata and graph.id(row).startswith(CLAIM):
            yield row, metadata
