"""The index of models' claims: a claim is compared only with those of its subject and attribute."""

from dataclasses import replace

from ecphora.consolidation.facts.llm_claims import ClaimIndex, Fact, claim_key
from ecphora.model.graph.graph import Graph
from ecphora.model.graph.updates import apply_batch
from ecphora.model.types import Edge, Link, Node, WriteBatch
from ecphora.testing.samples import sample_node

MEMORY = replace(sample_node("a"), speaker="Ana")
CITY = Fact(MEMORY, "Ana", "home city", "Lisbon")
JOB = Fact(MEMORY, "Ana", "job", "teacher")


def graph_of(*facts: Fact) -> Graph:
    claims = [fact.to_node() for fact in facts]
    nodes: list[Node] = [MEMORY, *claims]
    edges = tuple(Edge(claim.id, MEMORY.id, Link.CLAIMED_IN) for claim in claims)
    numbered = tuple(replace(node, seq=seq) for seq, node in enumerate(nodes, 1))
    return apply_batch(Graph(), WriteBatch(nodes=numbered, edges=edges, revision=1))


def test_claims_are_comparable_with_those_of_their_subject_and_attribute_alone() -> None:
    index = ClaimIndex(graph_of(CITY, JOB))
    assert [claim.id for claim in index.comparable(CITY.key)] == [CITY.to_node().id]
    assert index.comparable(claim_key("Ben", "home city")) == ()


def test_key_ignores_inflection_and_case() -> None:
    assert claim_key("Ana", "Home Cities") == claim_key("ana", "home city")
    assert claim_key("Ana", "home city") != claim_key("Ana home", "city")


def test_added_claim_is_comparable_and_the_graph_keeps_its_own() -> None:
    graph, later = graph_of(CITY), replace(CITY, value="Porto")
    index = ClaimIndex(graph)
    index.add(index.entry(later.to_node(), MEMORY.id))
    assert [claim.metadata["value"] for claim in index.comparable(CITY.key)] == ["Lisbon", "Porto"]
    assert len(ClaimIndex(graph).comparable(CITY.key)) == 1


def test_claim_of_the_graph_equals_the_entry_of_its_node() -> None:
    graph = graph_of(CITY)
    index = ClaimIndex(graph)
    [stored] = index.comparable(CITY.key)
    assert stored == index.entry(CITY.to_node(), MEMORY.id)
    assert stored.voice.is_about_self
