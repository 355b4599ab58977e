"""A knowledge graph of entities, observations and relations, kept as memories, in the shapes of the reference server.

Every observation is a memory: its text is the observation, its title the name of the entity. An entity and a relation
are memories too, with a text that can be found. Their source is ``knowledge-graph``, and their metadata says what they
are. The order is the order in which they were stored.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

import numpy as np

from ...errors import IdCollision, InvalidInput
from ...memory import Memory
from ...model.ids import content_id
from ...model.reprs import show
from ...model.text_format import strip_invisible
from ...model.types import Episode, Evidence, Filter, Node, NodeId
from ...model.validation import MAX_NAME_CHARS, MAX_QUESTION_CHARS

SOURCE = "knowledge-graph"
"""The source of every memory that belongs to the graph."""
KIND, NAME, ENTITY_TYPE, FROM, TO, RELATION_TYPE, CONTENT = (
    "graph", "name", "entityType", "from", "to", "relationType", "content",
)  # fmt: skip
"""The keys of the metadata."""
ENTITY, OBSERVATION, RELATION = "entity", "observation", "relation"
"""The values of ``graph`` in the metadata."""
EMPTY_TEXT = "(empty)"
"""The text of a memory whose observation has no visible character."""
MAX_RECALLED = 5
"""The memories whose entities a search adds to those that contain the query."""
MAX_ATTEMPTS = 5
"""How often an id that is in use is replaced by another one."""

Part = tuple[str, ...]
"""What identifies a part of the graph: its kind, and its names."""


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
class GraphView:
    """A graph, or a part of one: entities by name, and relations."""

    entities: Mapping[str, Entity]
    relations: tuple[Relation, ...]

    def to_dict(self) -> dict[str, Any]:
        """The graph as JSON values."""
        return {
            "entities": [entity.to_dict() for entity in self.entities.values()],
            "relations": [relation.to_dict() for relation in self.relations],
        }

    def select(self, names: Iterable[str]) -> "GraphView":
        """The entities with these names, and the relations that begin or end at one of them."""
        wanted = set(names)
        entities = {name: entity for name, entity in self.entities.items() if name in wanted}
        return GraphView(
            entities, tuple(one for one in self.relations if one.source in entities or one.target in entities)
        )


@dataclass(frozen=True, slots=True)
class _Stored:
    """The graph, the ids of the memories that hold its parts, and what identifies the state that it was read from."""

    state: bytes
    view: GraphView
    ids: Mapping[Part, list[NodeId]] = field(default_factory=dict)


class KnowledgeGraph:
    """The knowledge graph in the scope of a memory. Safe to share between threads."""

    def __init__(self, memory: Memory, *, log_access: bool = True) -> None:
        self._memory, self._log_access = memory, log_access
        self._lock = Lock()
        self._stored: _Stored | None = None

    # ---- read

    def read(self) -> GraphView:
        """The whole graph."""
        return self._load().view

    def open(self, names: Iterable[str]) -> GraphView:
        """The entities with these names, and their relations; unknown names are left out."""
        return self.read().select(names)

    def search(self, query: str) -> GraphView:
        """The entities whose name, type or observations contain the query, whatever its case, and those recalled."""
        view, text = self.read(), query.lower()
        names = {
            entity.name
            for entity in view.entities.values()
            if any(text in value.lower() for value in (entity.name, entity.type, *entity.observations))
        }
        return view.select(names | self._recalled_names(query))

    def _recalled_names(self, query: str) -> set[str]:
        if not query.strip() or len(query) > MAX_QUESTION_CHARS:
            return set()
        where = Filter(sources=SOURCE)
        found = self._memory.recall(query, limit=MAX_RECALLED, where=where, explain=False, log_access=self._log_access)
        if found.evidence is Evidence.NONE:
            return set()
        keys = (NAME, FROM, TO)
        return {str(hit.node.metadata[key]) for hit in found for key in keys if key in hit.node.metadata}

    # ---- write

    def create_entities(self, entities: Sequence[Entity]) -> list[Entity]:
        """Add entities with their observations; those whose name exists are left out. Returns the new ones."""

        def missing(view: GraphView) -> list[Entity]:
            return [entity for entity in merge_entities(entities) if entity.name not in view.entities]

        return self._add(
            missing, lambda entity: [_entity_episode(entity), *map(_observation_of(entity.name), entity.observations)]
        )

    def create_relations(self, relations: Sequence[Relation]) -> list[Relation]:
        """Add relations that do not exist yet; returns them."""

        def missing(view: GraphView) -> list[Relation]:
            known = set(view.relations)
            return [relation for relation in dict.fromkeys(relations) if relation not in known]

        return self._add(missing, lambda relation: [_relation_episode(relation)])

    def add_observations(self, additions: Sequence[tuple[str, Sequence[str]]]) -> list[tuple[str, list[str]]]:
        """Add observations to entities, given as pairs of a name and contents; returns what is new, in pairs.

        Raises ``InvalidInput`` for an entity that does not exist; then nothing is written.
        """

        def missing(view: GraphView) -> list[tuple[str, list[str]]]:
            known: dict[str, set[str]] = {}
            results = []
            for name, contents in additions:
                if name not in view.entities:
                    raise InvalidInput(f"Entity with name {name} not found")
                seen = known.setdefault(name, set(view.entities[name].observations))
                new = [content for content in dict.fromkeys(contents) if content not in seen]
                seen.update(new)
                results.append((name, new))
            return results

        return self._add(missing, lambda addition: map(_observation_of(addition[0]), addition[1]))

    def delete_entities(self, names: Iterable[str]) -> None:
        """Erase entities with their observations, and the relations that begin or end at them."""
        wanted = set(names)

        def is_concerned(part: Part) -> bool:
            return bool(wanted & set(part[1:3])) if part[0] == RELATION else part[1] in wanted

        self._forget(is_concerned)

    def delete_observations(self, deletions: Iterable[tuple[str, Iterable[str]]]) -> None:
        """Erase observations of entities, given as pairs of a name and contents."""
        parts = {(OBSERVATION, name, content) for name, contents in deletions for content in contents}
        self._forget(parts.__contains__)

    def delete_relations(self, relations: Iterable[Relation]) -> None:
        """Erase relations."""
        parts = {(RELATION, relation.source, relation.target, relation.type) for relation in relations}
        self._forget(parts.__contains__)

    def _add(
        self, missing: "Callable[[GraphView], list[Any]]", to_episodes: "Callable[[Any], Iterable[_Draft]]"
    ) -> list[Any]:
        """Write what is missing in the graph, in one commit; returns it."""
        for attempt in range(MAX_ATTEMPTS):
            items = missing(self.read())
            episodes = [draft.to_episode(attempt) for item in items for draft in to_episodes(item)]
            try:
                if episodes:
                    self._memory.remember(episodes, restore=True)
            except IdCollision:  # a text was replaced, or another process has added the entity with another type
                if attempt == MAX_ATTEMPTS - 1:
                    raise
            else:
                return items
        raise AssertionError

    def _forget(self, is_concerned: Callable[[Part], bool]) -> None:
        """Erase the memories of some parts, and those that they superseded: else these would be part of it again."""
        ids = [id_ for part, ids in self._load().ids.items() if is_concerned(part) for id_ in ids]
        found = [history.predecessors for id_ in ids if (history := self._memory.history(id_)) is not None]
        ids += [node.id for nodes in found for node in nodes if node.source == SOURCE]
        if ids:
            self._memory.forget(ids)

    # ---- load

    def _load(self) -> _Stored:
        """The graph as of the last commit of any process, which is read again only if its memories have changed."""
        with self._lock:
            graph = self._memory.graph()
            code = graph.sources.code(SOURCE)
            rows = np.flatnonzero(graph.nodes["sources"] == code) if code >= 0 else graph.rows(())
            state = b"".join(graph.nodes[column][rows].tobytes() for column in ("seq", "valid_to"))
            if self._stored is None or self._stored.state != state:
                self._stored = _build(state, self._nodes())
            return self._stored

    def _nodes(self) -> list[Node]:
        """The memories of the graph in the order of storing, without those that were superseded."""
        page = self._memory.find(where=Filter(sources=SOURCE, metadata={KIND: {"$exists": True}}), limit=2**31)
        return sorted((node for node in page if node.valid_to is None), key=lambda node: node.seq)


# ---- JSON values


def entity_from_json(value: Mapping[str, Any]) -> Entity:
    """An entity from its JSON values; raises ``InvalidInput``, or ``KeyError`` for one that is missing."""
    observations = value["observations"]
    if not isinstance(observations, list):
        raise InvalidInput(f"observations is {show(observations)}; a list of texts is needed")
    return Entity(
        _text(value, "name"), _text(value, ENTITY_TYPE), tuple(_check_text("observations", one) for one in observations)
    )


def relation_from_json(value: Mapping[str, Any]) -> Relation:
    """A relation from its JSON values; raises ``InvalidInput``, or ``KeyError`` for one that is missing."""
    return Relation(_text(value, FROM), _text(value, TO), _text(value, RELATION_TYPE))


def merge_entities(entities: Iterable[Entity]) -> list[Entity]:
    """The entities, those of one name as one: the type of the first, and the observations of all, each once."""
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
    return value


# ---- memories


@dataclass(frozen=True, slots=True)
class _Draft:
    """A part of the graph as a memory to write."""

    part: Part
    text: str
    metadata: Mapping[str, str]
    title: str

    def to_episode(self, attempt: int) -> Episode:
        """The memory; each attempt has another id."""
        return Episode(
            text=self.text if strip_invisible(self.text).strip() else EMPTY_TEXT,
            id=content_id(*self.part, *([str(attempt)] if attempt else []), prefix="graph:"),
            title=self.title if self.title.strip() and len(self.title) <= MAX_NAME_CHARS else None,
            source=SOURCE,
            metadata={KIND: self.part[0], **self.metadata},
        )


def _entity_episode(entity: Entity) -> _Draft:
    metadata = {NAME: entity.name, ENTITY_TYPE: entity.type}
    return _Draft((ENTITY, entity.name), f"{entity.name} ({entity.type})", metadata, entity.name)


def _observation_of(name: str) -> Callable[[str], _Draft]:
    def draft(content: str) -> _Draft:
        exact = {} if strip_invisible(content).strip() else {CONTENT: content}
        return _Draft((OBSERVATION, name, content), content, {NAME: name, **exact}, name)

    return draft


def _relation_episode(relation: Relation) -> _Draft:
    metadata = {FROM: relation.source, TO: relation.target, RELATION_TYPE: relation.type}
    text = f"{relation.source} {relation.type.replace('_', ' ')} {relation.target}"
    return _Draft((RELATION, relation.source, relation.target, relation.type), text, metadata, "")


def _build(state: bytes, nodes: Iterable[Node]) -> _Stored:
    types: dict[str, str] = {}
    observations: dict[str, dict[str, None]] = {}
    relations: dict[Relation, None] = {}
    ids: dict[Part, list[NodeId]] = {}
    for node in nodes:
        values = {key: str(value) for key, value in node.metadata.items()}
        part: Part
        if values[KIND] == ENTITY and {NAME, ENTITY_TYPE} <= values.keys():
            types.setdefault(values[NAME], values[ENTITY_TYPE])
            part = (ENTITY, values[NAME])
        elif values[KIND] == OBSERVATION and NAME in values:
            content = values.get(CONTENT, node.text)
            observations.setdefault(values[NAME], {})[content] = None
            part = (OBSERVATION, values[NAME], content)
        elif values[KIND] == RELATION and {FROM, TO, RELATION_TYPE} <= values.keys():
            relation = Relation(values[FROM], values[TO], values[RELATION_TYPE])
            relations[relation] = None
            part = (RELATION, relation.source, relation.target, relation.type)
        else:
            continue
        ids.setdefault(part, []).append(node.id)
    entities = {name: Entity(name, type_, tuple(observations.get(name, ()))) for name, type_ in types.items()}
    return _Stored(state, GraphView(entities, tuple(relations)), ids)
