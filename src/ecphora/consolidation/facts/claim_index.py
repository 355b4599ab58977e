"""The claims of language models by subject and attribute: a claim is compared only with claims of its key, by a lookup.

Cognitive Weave's contradiction check with a model, docs/explanation/papers.md 5.8.1.
The index of a graph grows with the graph.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...language.terms import extract_terms
from ...model.graph.graph import CachedDerivation, Graph
from ...model.ids import CLAIM_PREFIX
from ...model.types import Link, Node, NodeId
from ...retrieval.validity import Attribution
from .event_time import Timestamp, Timestamps

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
