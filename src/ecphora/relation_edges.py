"""Links between memories by the relations that an extractor found: Cognitive Weave's strands of the oracle, 3.3.4.

A memory states a relation of two names, as in "the storm delayed the train". Its type becomes a link from the latest
earlier memory of the subject to this one, and from this one to the latest earlier memory of the object.
"""

from collections.abc import Iterator, Mapping

import numpy as np

from .graph import Graph
from .language.name_normalization import entity_id
from .model import MENTION_LINKS, Edge, Extraction, Link, NodeId, RelationType

RELATION_LINKS: dict[RelationType, Link] = {
    type_: Link(type_.value) for type_ in RelationType if type_ is not RelationType.RELATED_TO
}
"""The link of each type of relation. ``RELATED_TO`` has none: it says no more than that a memory names both."""


def relation_edges(
    graph: Graph, memory: NodeId, extraction: Extraction, mentions_in_batch: Mapping[NodeId, NodeId]
) -> Iterator[Edge]:
    """The links of one memory by its relations; a name that no earlier memory has, and one memory for both, add none.

    ``mentions_in_batch`` has, for each entity that earlier memories of the same batch mention, the latest of these.
    """
    for relation in extraction.relations:
        link = RELATION_LINKS.get(relation.type)
        if link is None:
            continue
        of_subject, of_object = (
            mentions_in_batch.get(entity_id(name)) or _latest_mention(graph, name)
            for name in (relation.subject, relation.object)
        )
        if of_subject is not None:
            yield Edge(of_subject, memory, link)
        if of_object is not None and of_object != of_subject:
            yield Edge(memory, of_object, link)


def _latest_mention(graph: Graph, name: str) -> NodeId | None:
    entity = graph.row(entity_id(name))
    if entity is None:
        return None
    edges, _ = graph.edges_to(np.array([entity]), *MENTION_LINKS)
    return graph.id(int(graph.edges["src"][edges].max())) if len(edges) else None
