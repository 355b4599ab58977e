"""Claims of a language model: facts that it extracts from statements, and which replace which by subject and attribute.

Cognitive Weave's contradiction check with a model, docs/explanation/papers.md 5.8.1: a fact is compared only with facts
of the same subject and attribute. The later fact of a single-valued attribute replaces the
earlier fact, and a denial replaces the fact that it denies. Of two facts of the same time, neither replaces the other;
a fact that would replace a fact that it may not end contradicts that fact.

The claims of language models by subject and attribute: a claim is compared only with claims of its key, by a lookup.

Cognitive Weave's contradiction check with a model, docs/explanation/papers.md 5.8.1.
The index of a graph grows with the graph.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np

from ...language.terms import extract_terms
from ...model.graph.graph import CachedDerivation, Graph
from ...model.ids import CLAIM_PREFIX, content_id
from ...model.types import Edge, Kind, Link, Metadata, Node, NodeId
from ...retrieval.validity import TOPIC_KEY, Attribution, may_supersede
from .claims import ClaimBatch
from .memory_statements import Timestamp, Timestamps

SELF_SUBJECTS = frozenset({"i", "me", "myself", "speaker", "the speaker", "user", "the user"})
"""Subjects by which a model may refer to the speaker."""
FACT_KEY = "fact"
"""The metadata key of a model's claim whose value is the normal form of its subject and attribute."""


@dataclass(frozen=True, slots=True)
class IndexedClaim:
    """What is needed of a claim to compare others with it."""

    id: NodeId
    moment: Timestamp
    metadata: Mapping[str, Any]
    voice: Attribution


class ClaimIndex:
    """The models' claims of a graph by subject and attribute, and those added since."""

    def __init__(self, graph: Graph) -> None:
        self._graph, self._moments = graph, Timestamps(graph)
        self._by_key = {key: list(claims) for key, claims in graph.derive("claim index", _grow_index).items()}

    def comparable(self, key: str) -> Sequence[IndexedClaim]:
        """The claims of the same subject and attribute, in the order they were added."""
        return self._by_key.get(key, ())

    def add(self, claim: IndexedClaim) -> None:
        """Add a claim that the graph does not have yet."""
        self._by_key.setdefault(str(claim.metadata[FACT_KEY]), []).append(claim)

    def entry(self, node: Node, source: NodeId) -> IndexedClaim:
        """The entry of a new claim: its moment is the moment of its source memory."""
        row = self._graph.row(source)
        moment = Timestamp(0.0) if row is None else self._moments.timestamp(row)
        return IndexedClaim(node.id, moment, node.metadata, _attribution(node.speaker, node.trust, node.metadata))


def claim_key(subject: str, attribute: str) -> str:
    """Subject and attribute as stems: equal for claims to compare."""
    return "\x1f".join(" ".join(extract_terms(part)) for part in (subject, attribute))


def _attribution(speaker: str | None, trust: float, metadata: Mapping[str, Any]) -> Attribution:
    subject = str(metadata["subject"])
    is_self = subject.casefold() in SELF_SUBJECTS or not set(extract_terms(subject)).isdisjoint(
        extract_terms(speaker or "")
    )
    return Attribution(speaker, trust, is_self)


def _grow_index(
    graph: Graph, cached: CachedDerivation[dict[str, tuple[IndexedClaim, ...]]] | None
) -> dict[str, tuple[IndexedClaim, ...]]:
    first, by_key = (0, {}) if cached is None else (cached.node_count, dict(cached.value))
    moments = Timestamps(graph)
    for row, metadata in _claims_of_models(graph, first):
        number, trust = int(graph.nodes["speakers"][row]), float(graph.nodes["trust"][row])
        voice = _attribution(None if number < 0 else graph.speakers.names[number], trust, metadata)
        claim = IndexedClaim(graph.id(row), moments.timestamp(_source_row(graph, row)), metadata, voice)
        key = str(metadata[FACT_KEY])
        by_key[key] = (*by_key.get(key, ()), claim)
    return by_key


def _source_row(graph: Graph, row: int) -> int:
    """The row of a claim's source memory; the claim's own row if that is gone."""
    edge_indices, _ = graph.edges_from(np.array([row]), Link.CLAIMED_IN)
    sources = graph.edges["dst"][edge_indices]
    return int(sources[0]) if len(sources) else row


def _claims_of_models(graph: Graph, first_row: int) -> Iterator[tuple[int, Mapping[str, Any]]]:
    for row, metadata in enumerate(graph.nodes["metadata"][first_row:], first_row):
        if metadata and FACT_KEY in metadata and graph.id(row).startswith(CLAIM_PREFIX):
            yield row, metadata


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
        return claim_key(self.subject, self.attribute)

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


def claim_facts(graph: Graph, facts: Sequence[Fact]) -> ClaimBatch:
    """Make the claims of some facts, and find what they replace among themselves and in the graph."""
    batch, index = ClaimBatch(), ClaimIndex(graph)
    for fact in sorted(facts, key=lambda item: (item.source.happened_at, item.source.seq)):
        node = fact.to_node()
        if graph.row(node.id) is not None or node.id in batch.nodes:
            continue
        batch.nodes[node.id] = node
        batch.edges[Edge(node.id, fact.source.id, Link.CLAIMED_IN)] = None
        claim = index.entry(node, fact.source.id)
        for other in index.comparable(fact.key):
            later, earlier = (claim, other) if claim.moment.is_after(other.moment) else (other, claim)
            if later.moment.is_after(earlier.moment) and _is_supersession(later.metadata, earlier.metadata):
                link = Link.SUPERSEDES if may_supersede(later.voice, earlier.voice) else Link.CONTRADICTS
                batch.edges[Edge(later.id, earlier.id, link, LLM_CONFIDENCE)] = None
        index.add(claim)
    return batch


def _is_supersession(later: Mapping[str, Any], earlier: Mapping[str, Any]) -> bool:
    is_same_value = extract_terms(str(later["value"])) == extract_terms(str(earlier["value"]))
    if is_same_value:
        return bool(later["polarity"] != earlier["polarity"])
    return bool(later["polarity"] and earlier["polarity"] and later["single"] and earlier["single"])
