"""Facts that a language model extracts from statements, as claims, and which replace which by subject and attribute.

Cognitive Weave's contradiction check with a model, docs/papers.md 5.8.1: a fact is compared only with those of the same
subject and attribute; of a single-valued attribute the later one replaces the earlier, and a denial what it denies. Of
two facts of the same time, neither replaces the other; a fact that would replace one it may not end contradicts it.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np

from ...graph import CachedDerivation, Graph
from ...ids import CLAIM_PREFIX, content_id
from ...language.terms import extract_terms
from ...model import Edge, Kind, Link, Metadata, Node, NodeId
from ...stages.retrieval.claim_topic import TOPIC_KEY
from ...stages.retrieval.trust import Attribution, may_supersede
from .claims import ClaimBatch
from .event_time import Timestamp, Timestamps

SELF_SUBJECTS = frozenset({"i", "me", "myself", "speaker", "the speaker", "user", "the user"})
"""Subjects by which a model may refer to the speaker."""
FACT_KEY = "fact"
"""The metadata key of a model's claim whose value is the normal form of its subject and attribute."""
LLM_CONFIDENCE = 0.9
"""The confidence of an update between a model's facts."""


@dataclass(frozen=True, slots=True)
class Fact:
    """One fact of one memory: subject, attribute, value; ``is_single_valued`` if one value holds at a time."""

    source: Node
    subject: str
    attribute: str
    value: str
    polarity: bool = True
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    is_single_valued: bool = True

    @property
    def key(self) -> str:
        """Subject and attribute as stems: equal for facts to compare."""
        return "\x1f".join(" ".join(extract_terms(part)) for part in (self.subject, self.attribute))

    def to_node(self) -> Node:
        """The claim node of the fact; its id is derived from the memory and the fact's content."""
        content = (self.source.id, self.key, " ".join(extract_terms(self.value)), str(self.polarity))
        metadata: Metadata = {
            TOPIC_KEY: " ".join(extract_terms(f"{self.attribute} {self.value}")),
            FACT_KEY: self.key,
            "subject": self.subject,
            "attribute": self.attribute,
            "value": self.value,
            "polarity": self.polarity,
            "single": self.is_single_valued,
        }
        return Node(
            id=content_id(*content, prefix=CLAIM_PREFIX),
            kind=Kind.CLAIM,
            text=f"{self.subject}: {self.attribute}: {'' if self.polarity else 'not '}{self.value}",
            happened_at=self.source.happened_at,
            recorded_at=self.source.recorded_at,
            speaker=self.source.speaker,
            session=self.source.session,
            valid_from=self.valid_from,
            valid_to=self.valid_to,
            trust=self.source.trust,
            metadata=metadata,
        )


@dataclass(frozen=True, slots=True)
class _KnownFact:
    """What is needed of a stored fact to compare others with it."""

    id: NodeId
    moment: Timestamp
    metadata: Mapping[str, Any]
    voice: Attribution


def claim_facts(graph: Graph, facts: Sequence[Fact]) -> ClaimBatch:
    """Make the claims of some facts, and find what they replace among themselves and in the graph."""
    batch, moments = ClaimBatch(), Timestamps(graph)
    by_key = {key: list(known_facts) for key, known_facts in graph.derive("known facts", _known_facts).items()}
    for fact in sorted(facts, key=lambda item: (item.source.happened_at, item.source.seq)):
        node = fact.to_node()
        if graph.row(node.id) is not None or node.id in batch.nodes:
            continue
        batch.nodes[node.id] = node
        batch.edges[Edge(node.id, fact.source.id, Link.CLAIMED_IN)] = None
        voice = _voice(node.speaker, node.trust, node.metadata)
        row = graph.row(fact.source.id)
        known_fact = _KnownFact(
            node.id, Timestamp(0.0) if row is None else moments.timestamp(row), node.metadata, voice
        )
        for other in by_key.get(fact.key, ()):
            later, earlier = (known_fact, other) if known_fact.moment.is_after(other.moment) else (other, known_fact)
            if later.moment.is_after(earlier.moment) and _is_supersession(later.metadata, earlier.metadata):
                link = Link.SUPERSEDES if may_supersede(later.voice, earlier.voice) else Link.CONTRADICTS
                batch.edges[Edge(later.id, earlier.id, link, LLM_CONFIDENCE)] = None
        by_key.setdefault(fact.key, []).append(known_fact)
    return batch


def _voice(speaker: str | None, trust: float, metadata: Mapping[str, Any]) -> Attribution:
    subject = str(metadata["subject"])
    is_self = subject.casefold() in SELF_SUBJECTS or not set(extract_terms(subject)).isdisjoint(
        extract_terms(speaker or "")
    )
    return Attribution(speaker, trust, is_self)


def _is_supersession(later: Mapping[str, Any], earlier: Mapping[str, Any]) -> bool:
    is_same_value = extract_terms(str(later["value"])) == extract_terms(str(earlier["value"]))
    if is_same_value:
        return bool(later["polarity"] != earlier["polarity"])
    return bool(later["polarity"] and earlier["polarity"] and later["single"] and earlier["single"])


def _known_facts(
    graph: Graph, cached: CachedDerivation[dict[str, tuple[_KnownFact, ...]]] | None
) -> dict[str, tuple[_KnownFact, ...]]:
    first, by_key = (0, {}) if cached is None else (cached.node_count, dict(cached.value))
    moments = Timestamps(graph)
    for row, metadata in _fact_claims(graph, first):
        number, trust = int(graph.nodes["speakers"][row]), float(graph.nodes["trust"][row])
        voice = _voice(None if number < 0 else graph.speakers.names[number], trust, metadata)
        known_fact = _KnownFact(graph.id(row), moments.timestamp(_source_row(graph, row)), metadata, voice)
        key = str(metadata[FACT_KEY])
        by_key[key] = (*by_key.get(key, ()), known_fact)
    return by_key


def _source_row(graph: Graph, row: int) -> int:
    """The row of a claim's source memory; the claim's own row if that is gone."""
    edge_indices, _ = graph.edges_from(np.array([row]), Link.CLAIMED_IN)
    sources = graph.edges["dst"][edge_indices]
    return int(sources[0]) if len(sources) else row


def _fact_claims(graph: Graph, first_row: int) -> Iterator[tuple[int, Mapping[str, Any]]]:
    for row, metadata in enumerate(graph.nodes["metadata"][first_row:], first_row):
        if metadata and FACT_KEY in metadata and graph.id(row).startswith(CLAIM_PREFIX):
            yield row, metadata
