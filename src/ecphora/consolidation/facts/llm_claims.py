"""Claims of a language model: facts that it extracts from statements, and which replace which by subject and attribute.

Cognitive Weave's contradiction check with a model, docs/explanation/papers.md 5.8.1: a fact is compared only with facts
of the same subject and attribute (:mod:`.claim_index`). The later fact of a single-valued attribute replaces the
earlier fact, and a denial replaces the fact that it denies. Of two facts of the same time, neither replaces the other;
a fact that would replace a fact that it may not end contradicts that fact.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from ...language.terms import extract_terms
from ...model.graph.graph import Graph
from ...model.ids import CLAIM_PREFIX, content_id
from ...model.types import Edge, Kind, Link, Metadata, Node
from ...retrieval.validity import TOPIC_KEY, may_supersede
from .claim_index import FACT_KEY, ClaimIndex, claim_key
from .claims import ClaimBatch

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
