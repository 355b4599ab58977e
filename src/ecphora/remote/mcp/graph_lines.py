"""The JSON Lines file of the reference server: reads it into a knowledge graph, and writes it."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from ...errors import InvalidInput, InvalidRecord
from ...maintenance.interchange.json_lines import SkippedLine, skipped_notices
from ...model.reprs import show
from .knowledge_graph import (
    ENTITY,
    RELATION,
    Entity,
    GraphView,
    KnowledgeGraph,
    Relation,
    entity_from_json,
    merge_entities,
    relation_from_json,
)


@dataclass(frozen=True, slots=True)
class GraphLines:
    """What a file of the reference server holds; the lines that are neither an entity nor a relation are skipped."""

    entities: tuple[Entity, ...]
    relations: tuple[Relation, ...]
    skipped: tuple[SkippedLine, ...] = ()


@dataclass(frozen=True, slots=True)
class GraphImport:
    """What an import added: the observations and relations that are new; and the lines that it skipped."""

    observations: int
    relations: int
    skipped: tuple[SkippedLine, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The counts as JSON values, with notices for the user."""
        return {
            "observations": self.observations,
            "relations": self.relations,
            "skipped_lines": len(self.skipped),
            "notices": list(self.notices),
        }

    @property
    def notices(self) -> tuple[str, ...]:
        """Messages for the user: which lines were skipped."""
        return skipped_notices(self.skipped)


def read_lines(lines: Iterable[str]) -> GraphLines:
    """The entities and relations of the reference server's file; blank lines are left out.

    Raises ``InvalidRecord`` with the number of the first line if no line is an entity or a relation.
    """
    entities, relations, skipped = list[Entity](), list[Relation](), list[SkippedLine]()
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            entry = json.loads(line)
            kind = entry["type"]
            if kind == ENTITY:
                entities.append(entity_from_json(entry))
            elif kind == RELATION:
                relations.append(relation_from_json(entry))
            else:
                raise InvalidInput(f"its type is {show(kind)}; an entity or a relation is needed")
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            reason = f"{error} is missing" if isinstance(error, KeyError) else str(error)
            skipped.append(SkippedLine(number, reason))
    if skipped and not entities and not relations:
        raise InvalidRecord(f"line {skipped[0].number} is no line of a knowledge graph: {skipped[0].reason}")
    return GraphLines(tuple(merge_entities(entities)), tuple(relations), tuple(skipped))


def write_lines(view: GraphView) -> Iterator[str]:
    """The lines of the reference server's file, as it writes them."""
    entries = [{"type": ENTITY, **entity.to_dict()} for entity in view.entities.values()]
    entries += [{"type": RELATION, **relation.to_dict()} for relation in view.relations]
    return (json.dumps(entry, ensure_ascii=False, separators=(",", ":")) for entry in entries)


def import_lines(graph: KnowledgeGraph, lines: Iterable[str]) -> GraphImport:
    """Add a file of the reference server to a graph.

    Every line is read before the first is written; those that cannot be used are skipped and named. An entity that
    exists gets the observations that it lacks. Raises ``InvalidRecord`` if no line can be used.
    """
    found = read_lines(lines)
    created = graph.create_entities(found.entities)
    added = graph.add_observations([(entity.name, entity.observations) for entity in found.entities])
    count = sum(len(entity.observations) for entity in created) + sum(len(contents) for _, contents in added)
    return GraphImport(count, len(graph.create_relations(found.relations)), found.skipped)
