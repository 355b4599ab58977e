"""A knowledge graph of entities, observations and relations, as in MCP's reference memory server, kept as memories.

Every observation is a memory: its text is the observation, its title the name of the entity. An entity and a relation
are memories too, with a text that can be found. Their source is ``knowledge-graph``, and their metadata says what they
are. The order is the order in which they were stored.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import count
from typing import Any

from ...errors import InvalidInput
from ...model.ids import content_id
from ...model.reprs import show
from ...model.text_format import strip_invisible
from ...model.types import Episode, Filter, Node, NodeId
from ...model.validation import MAX_NAME_CHARS

SOURCE = "knowledge-graph"
"""The source of every memory that belongs to the graph."""
KIND, NAME, ENTITY_TYPE, FROM, TO, RELATION_TYPE, CONTENT = (
    "graph", "name", "entityType", "from", "to", "relationType", "content",
)  # fmt: skip
"""The keys of the metadata."""
ENTITY, OBSERVATION, RELATION = "entity", "observation", "relation"
"""The values of ``graph`` in the metadata."""
MEMBERS = Filter(sources=SOURCE, metadata={KIND: {"$exists": True}})
"""The memories that belong to the graph of a scope."""
EMPTY_TEXT = "(empty)"
"""The text of a memory whose observation has no visible character."""


@dataclass(frozen=True, slots=True)
class Relation:
    """A directed relation between two entities, which need not exist."""

    source: str
    target: str
    type: str

    def to_dict(self) -> dict[str, str]:
        """The relation as JSON values."""
        return {"from": self.source, "to": self.target, "relationType": self.type}


@dataclass(frozen=True, slots=True)
class Entity:
    """A named entity with its observations, each of them once."""

    name: str
    type: str
    observations: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The entity as JSON values."""
        return {"name": self.name, "entityType": self.type, "observations": list(self.observations)}


@dataclass(frozen=True, slots=True)
class KnowledgeGraph:
    """Entities, each name once, and relations, each once."""

    entities: tuple[Entity, ...] = ()
    relations: tuple[Relation, ...] = ()


def build_graph(nodes: Iterable[Node]) -> KnowledgeGraph:
    """The graph of the memories that pass :data:`MEMBERS`, without superseded memories."""
    types: dict[str, str] = {}
    observations: dict[str, dict[str, None]] = {}
    relations: dict[Relation, None] = {}
    for node in sorted((node for node in nodes if node.valid_to is None), key=lambda node: node.seq):
        values = {key: str(value) for key, value in node.metadata.items()}
        if values[KIND] == ENTITY and {NAME, ENTITY_TYPE} <= values.keys():
            types[values[NAME]] = values[ENTITY_TYPE]
        elif values[KIND] == OBSERVATION and NAME in values:
            observations.setdefault(values[NAME], {})[values.get(CONTENT, node.text)] = None
        elif values[KIND] == RELATION and {FROM, TO, RELATION_TYPE} <= values.keys():
            relations[Relation(values[FROM], values[TO], values[RELATION_TYPE])] = None
    entities = (Entity(name, type_, tuple(observations.get(name, ()))) for name, type_ in types.items())
    return KnowledgeGraph(tuple(entities), tuple(relations))


def missing_episodes(graph: KnowledgeGraph, nodes: Collection[Node]) -> list[Episode]:
    """The memories to write so that the graph of ``nodes``, which pass :data:`MEMBERS`, contains ``graph``.

    An entity that exists keeps its type, and gets the observations that it lacks. The ids follow from the content; an
    id that has another text by now is replaced by another id.
    """
    stored = build_graph(nodes)
    observations, relations = {one.name: set(one.observations) for one in stored.entities}, set(stored.relations)
    texts = {node.id: node.text for node in nodes}
    drafts: list[_Draft] = []
    for entity in graph.entities:
        known = observations.get(entity.name)
        drafts += [_entity_draft(entity)] if known is None else []
        drafts += [_observation_draft(entity.name, one) for one in entity.observations if one not in (known or ())]
    drafts += [_relation_draft(relation) for relation in graph.relations if relation not in relations]
    return [next(one for one in draft.candidates() if texts.get(str(one.id), one.text) == one.text) for draft in drafts]


def count_kinds(ids: Collection[NodeId], episodes: Iterable[Episode]) -> Counter[str]:
    """How many of some memories are entities, observations and relations; ``episodes`` are these and others."""
    chosen = set(ids)
    return Counter(str(episode.metadata[KIND]) for episode in episodes if episode.id in chosen)


# ---- JSON values


def entity_from_json(value: Mapping[str, Any]) -> Entity:
    """An entity from its JSON values; raises ``InvalidInput``, or ``KeyError`` for a missing value."""
    observations = value["observations"]
    if not isinstance(observations, list):
        raise InvalidInput(f"observations is {show(observations)}; a list of texts is needed")
    return Entity(
        _text(value, "name"), _text(value, ENTITY_TYPE), tuple(_check_text("observations", one) for one in observations)
    )


def relation_from_json(value: Mapping[str, Any]) -> Relation:
    """A relation from its JSON values; raises ``InvalidInput``, or ``KeyError`` for a missing value."""
    return Relation(_text(value, FROM), _text(value, TO), _text(value, RELATION_TYPE))


def merge_entities(entities: Iterable[Entity]) -> list[Entity]:
    """The entities, merged by name: each with the type of the first, and the observations of all, each once."""
    merged: dict[str, Entity] = {}
    for entity in entities:
        first = merged.get(entity.name, entity)
        observations = dict.fromkeys((*first.observations, *entity.observations))
        merged[entity.name] = Entity(first.name, first.type, tuple(observations))
    return list(merged.values())


def _text(value: Mapping[str, Any], key: str) -> str:
    return _check_text(key, value[key])


def _check_text(field_: str, value: object) -> str:
    if not isinstance(value, str):
        raise InvalidInput(f"{field_} is {show(value)}; a text is needed")
    if any("\ud800" <= letter <= "\udfff" for letter in value):
        raise InvalidInput(f"{field_} is {show(value)}, which is not valid Unicode")
    return value


# ---- memories


@dataclass(frozen=True, slots=True)
class _Draft:
    """A part of the graph as a memory to write. ``part`` identifies it: its kind, and its names."""

    part: tuple[str, ...]
    text: str
    metadata: Mapping[str, str]
    title: str

    def candidates(self) -> Iterator[Episode]:
        """The memory, with one id after the other."""
        for attempt in count():
            yield Episode(
                text=self.text if strip_invisible(self.text).strip() else EMPTY_TEXT,
                id=content_id(*self.part, *([str(attempt)] if attempt else []), prefix="graph:"),
                title=self.title if self.title.strip() and len(self.title) <= MAX_NAME_CHARS else None,
                source=SOURCE,
                metadata={KIND: self.part[0], **self.metadata},
            )


def _entity_draft(entity: Entity) -> _Draft:
    metadata = {NAME: entity.name, ENTITY_TYPE: entity.type}
    return _Draft((ENTITY, entity.name), f"{entity.name} ({entity.type})", metadata, entity.name)


def _observation_draft(name: str, content: str) -> _Draft:
    exact = {} if strip_invisible(content).strip() else {CONTENT: content}
    return _Draft((OBSERVATION, name, content), content, {NAME: name, **exact}, name)


def _relation_draft(relation: Relation) -> _Draft:
    metadata = {FROM: relation.source, TO: relation.target, RELATION_TYPE: relation.type}
    text = f"{relation.source} {relation.type.replace('_', ' ')} {relation.target}"
    return _Draft((RELATION, relation.source, relation.target, relation.type), text, metadata, "")
