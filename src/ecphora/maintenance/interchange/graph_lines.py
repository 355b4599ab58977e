"""The JSON Lines file of MCP's reference memory server: reads a knowledge graph from it, and writes it."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import ClassVar

from ...errors import InvalidInput, InvalidRecord
from ...model.json_form import JsonForm, JsonObject
from ...model.reprs import show
from ...model.types import Episode, RememberResult
from .json_lines import SkippedLine, skipped_notices
from .knowledge_graph import (
    ENTITY,
    OBSERVATION,
    RELATION,
    Entity,
    KnowledgeGraph,
    Relation,
    count_kinds,
    entity_from_json,
    merge_entities,
    relation_from_json,
)


@dataclass(frozen=True, slots=True)
class GraphLines:
    """What a file of the reference server holds; the lines that are neither an entity nor a relation are skipped."""

    graph: KnowledgeGraph
    skipped: tuple[SkippedLine, ...] = ()


@dataclass(frozen=True, slots=True, repr=False)
class GraphImport(JsonObject):
    """What an import added, the memories left out because they were forgotten here, and the lines that it skipped."""

    json_form: ClassVar = JsonForm(
        omitted=("skipped",),
        derived={
            "skipped_lines": (int, lambda added: len(added.skipped)),
            "notices": (tuple[str, ...], lambda added: added.notices),
        },
    )

    entities: int
    observations: int
    relations: int
    blocked: int = 0
    skipped: tuple[SkippedLine, ...] = ()

    @classmethod
    def of(cls, result: RememberResult, episodes: Iterable[Episode], skipped: tuple[SkippedLine, ...]) -> "GraphImport":
        """What was added by remembering the episodes of a graph."""
        kinds = count_kinds(result.created, episodes)
        return cls(kinds[ENTITY], kinds[OBSERVATION], kinds[RELATION], len(result.blocked), skipped)

    @property
    def notices(self) -> tuple[str, ...]:
        """Messages for the user: which lines were skipped."""
        return skipped_notices(self.skipped)


def read_lines(lines: Iterable[str]) -> GraphLines:
    """The graph in a file of the reference server; blank lines are left out.

    Entities of one name are merged, and repeated items are kept once. Raises ``InvalidRecord`` with the number of the
    first line if no line is an entity or a relation.
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
    graph = KnowledgeGraph(tuple(merge_entities(entities)), tuple(dict.fromkeys(relations)))
    return GraphLines(graph, tuple(skipped))


def write_lines(graph: KnowledgeGraph) -> Iterator[str]:
    """The lines of the reference server's file, as it writes them, without line ends."""
    entries = [{"type": ENTITY, **entity.to_dict()} for entity in graph.entities]
    entries += [{"type": RELATION, **relation.to_dict()} for relation in graph.relations]
    return (json.dumps(entry, ensure_ascii=False, separators=(",", ":")) for entry in entries)
