"""What the MCP server offers with ``--profile reference``: the tools of the protocol's reference memory server.

The names, arguments and results are those of ``@modelcontextprotocol/server-memory``, so its prompts and files work.
"""

import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

import jsonschema
from mcp_types import CallToolResult, Resource, ResourceTemplate, TextContent, Tool, ToolAnnotations

from ...errors import IdCollision, InvalidInput
from ...memory import Memory
from ...model.reprs import show
from ...tools.tool_definitions import read_json_texts
from ..server.tokens import ALL_RIGHTS, Right
from .knowledge_graph import KnowledgeGraph, entity_from_json, relation_from_json

GRAPH_URI = "memory://knowledge-graph"
"""The URI of the whole graph."""
MIME_TYPE = "application/json"

JsonSchema = dict[str, Any]


def _text(description: str) -> JsonSchema:
    return {"type": "string", "description": description}


def _object(properties: Mapping[str, JsonSchema]) -> JsonSchema:
    return {"type": "object", "properties": dict(properties), "required": list(properties)}


def _list(items: JsonSchema, description: str = "") -> JsonSchema:
    return {"type": "array", "items": items, **({"description": description} if description else {})}


_ENTITIES = _list(
    _object(
        {
            "name": _text("The entity's name"),
            "entityType": _text("The entity's type, such as person"),
            "observations": _list({"type": "string"}, "What is known about the entity, one fact each"),
        }
    )
)
_RELATIONS = _list(
    _object(
        {
            "from": _text("The name of the entity where the relation begins"),
            "to": _text("The name of the entity where it ends"),
            "relationType": _text("What the relation is, in active voice, such as works_at"),
        }
    )
)
_GRAPH = _object({"entities": _ENTITIES, "relations": _RELATIONS})
_SUCCESS = _object({"success": {"type": "boolean"}, "message": {"type": "string"}})


@dataclass(frozen=True, slots=True)
class _Effect:
    """What a tool does to the graph."""

    is_read_only: bool = False
    is_destructive: bool = False

    def annotations(self) -> ToolAnnotations:
        """The hints for a host."""
        return ToolAnnotations(
            read_only_hint=self.is_read_only,
            destructive_hint=self.is_destructive,
            idempotent_hint=self.is_read_only or self.is_destructive,
            open_world_hint=False,
        )


_READS, _ADDS, _ERASES = _Effect(is_read_only=True), _Effect(), _Effect(is_destructive=True)


@dataclass(frozen=True, slots=True)
class _GraphTool:
    """A tool of the reference server: ``run`` returns the text of the result and its structured content."""

    name: str
    description: str
    arguments: JsonSchema
    result: JsonSchema
    effect: _Effect
    run: Callable[[KnowledgeGraph, Mapping[str, Any]], tuple[object, dict[str, Any]]]

    def definition(self) -> Tool:
        """The definition for a client."""
        return Tool(
            name=self.name,
            title=self.name.replace("_", " ").title(),
            description=self.description,
            input_schema=self.arguments,
            output_schema=self.result,
            annotations=self.effect.annotations(),
        )


def _create_entities(graph: KnowledgeGraph, given: Mapping[str, Any]) -> tuple[object, dict[str, Any]]:
    created = [
        entity.to_dict() for entity in graph.create_entities([entity_from_json(one) for one in given["entities"]])
    ]
    return created, {"entities": created}


def _create_relations(graph: KnowledgeGraph, given: Mapping[str, Any]) -> tuple[object, dict[str, Any]]:
    relations = graph.create_relations([relation_from_json(one) for one in given["relations"]])
    created = [relation.to_dict() for relation in relations]
    return created, {"relations": created}


def _add_observations(graph: KnowledgeGraph, given: Mapping[str, Any]) -> tuple[object, dict[str, Any]]:
    added = graph.add_observations([(one["entityName"], one["contents"]) for one in given["observations"]])
    results = [{"entityName": name, "addedObservations": contents} for name, contents in added]
    return results, {"results": results}


def _delete_entities(graph: KnowledgeGraph, given: Mapping[str, Any]) -> tuple[object, dict[str, Any]]:
    graph.delete_entities(given["entityNames"])
    return _success("Entities deleted successfully")


def _delete_observations(graph: KnowledgeGraph, given: Mapping[str, Any]) -> tuple[object, dict[str, Any]]:
    graph.delete_observations([(one["entityName"], one["observations"]) for one in given["deletions"]])
    return _success("Observations deleted successfully")


def _delete_relations(graph: KnowledgeGraph, given: Mapping[str, Any]) -> tuple[object, dict[str, Any]]:
    graph.delete_relations([relation_from_json(one) for one in given["relations"]])
    return _success("Relations deleted successfully")


def _success(message: str) -> tuple[object, dict[str, Any]]:
    return message, {"success": True, "message": message}


def _read_graph(graph: KnowledgeGraph, _given: Mapping[str, Any]) -> tuple[object, dict[str, Any]]:
    found = graph.read().to_dict()
    return found, found


def _search_nodes(graph: KnowledgeGraph, given: Mapping[str, Any]) -> tuple[object, dict[str, Any]]:
    found = graph.search(given["query"]).to_dict()
    return found, found


def _open_nodes(graph: KnowledgeGraph, given: Mapping[str, Any]) -> tuple[object, dict[str, Any]]:
    found = graph.open(given["names"]).to_dict()
    return found, found


TOOLS: tuple[_GraphTool, ...] = (
    _GraphTool(
        "create_entities",
        "Add entities with observations to the knowledge graph; those whose name exists are left out",
        _object({"entities": _ENTITIES}),
        _object({"entities": _ENTITIES}),
        _ADDS,
        _create_entities,
    ),
    _GraphTool(
        "create_relations",
        "Add relations between entities to the knowledge graph, in active voice; those that exist are left out",
        _object({"relations": _RELATIONS}),
        _object({"relations": _RELATIONS}),
        _ADDS,
        _create_relations,
    ),
    _GraphTool(
        "add_observations",
        "Add observations to entities of the knowledge graph, which must exist",
        _object(
            {
                "observations": _list(
                    _object(
                        {
                            "entityName": _text("The entity's name"),
                            "contents": _list({"type": "string"}, "The observations to add, one fact each"),
                        }
                    )
                )
            }
        ),
        _object(
            {
                "results": _list(
                    _object({"entityName": {"type": "string"}, "addedObservations": _list({"type": "string"})})
                )
            }
        ),
        _ADDS,
        _add_observations,
    ),
    _GraphTool(
        "delete_entities",
        "Erase entities with their observations and relations from the knowledge graph",
        _object({"entityNames": _list({"type": "string"}, "The names of the entities")}),
        _SUCCESS,
        _ERASES,
        _delete_entities,
    ),
    _GraphTool(
        "delete_observations",
        "Erase observations of entities from the knowledge graph",
        _object(
            {
                "deletions": _list(
                    _object(
                        {
                            "entityName": _text("The entity's name"),
                            "observations": _list({"type": "string"}, "The observations to erase"),
                        }
                    )
                )
            }
        ),
        _SUCCESS,
        _ERASES,
        _delete_observations,
    ),
    _GraphTool(
        "delete_relations",
        "Erase relations from the knowledge graph",
        _object({"relations": {**_RELATIONS, "description": "The relations to erase"}}),
        _SUCCESS,
        _ERASES,
        _delete_relations,
    ),
    _GraphTool("read_graph", "Read the whole knowledge graph", _object({}), _GRAPH, _READS, _read_graph),
    _GraphTool(
        "search_nodes",
        "Search the knowledge graph for entities, by words in their names, types and observations, and by meaning",
        _object({"query": _text("What to search for")}),
        _GRAPH,
        _READS,
        _search_nodes,
    ),
    _GraphTool(
        "open_nodes",
        "Read entities of the knowledge graph by their names",
        _object({"names": _list({"type": "string"}, "The names of the entities")}),
        _GRAPH,
        _READS,
        _open_nodes,
    ),
)
"""The tools, in the order of the reference server."""


class ReferenceProfile:
    """The nine tools of the reference server, and its resource, as far as ``rights`` allow.

    Tools that change the graph need both rights, since they say what is there.
    """

    def __init__(self, memory: Memory, *, rights: Collection[Right] = ALL_RIGHTS) -> None:
        self._can_read, can_write = Right.READ in rights, Right.WRITE in rights
        self._graph = KnowledgeGraph(memory, log_access=can_write)
        can_write = can_write and not memory.is_read_only
        tools = [tool for tool in TOOLS if self._can_read and (can_write or tool.effect.is_read_only)]
        self._tools = {tool.name: tool for tool in tools}

    def tools(self) -> list[Tool]:
        """The definitions of the tools."""
        return [tool.definition() for tool in self._tools.values()]

    def call_tool(self, name: str, arguments: Mapping[str, Any]) -> CallToolResult:
        """Call a tool of the list."""
        tool = self._tools[name]
        arguments = read_json_texts(arguments, tool.arguments)
        try:
            _check_arguments(arguments, tool.arguments)
            text, content = tool.run(self._graph, arguments)
        except (InvalidInput, IdCollision) as error:
            return CallToolResult(content=[TextContent(type="text", text=str(error))], is_error=True)
        shown = text if isinstance(text, str) else _to_json(text)
        return CallToolResult(content=[TextContent(type="text", text=shown)], structured_content=content)

    def resources(self) -> list[Resource]:
        """The whole graph."""
        if not self._can_read:
            return []
        return [
            Resource(
                uri=GRAPH_URI,
                name="knowledge-graph",
                title="Knowledge Graph",
                description="The whole knowledge graph: entities and relations",
                mime_type=MIME_TYPE,
            )
        ]

    def resource_templates(self) -> list[ResourceTemplate]:
        """None."""
        return []

    def read_resource(self, uri: str) -> tuple[str, str] | None:
        """The graph as JSON and its MIME type; None for another URI."""
        if uri != GRAPH_URI or not self._can_read:
            return None
        return _to_json(self._graph.read().to_dict()), MIME_TYPE

    def updated_resources(self, name: str) -> tuple[str, ...]:
        """The URIs that clients may subscribe to and that a tool changes."""
        return () if self._tools[name].effect.is_read_only else (GRAPH_URI,)


def _to_json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2)


def _check_arguments(arguments: Mapping[str, Any], schema: JsonSchema) -> None:
    """Raise ``InvalidInput`` for arguments that do not fit a schema."""
    error = jsonschema.exceptions.best_match(jsonschema.Draft202012Validator(schema).iter_errors(arguments))
    if error is not None:
        place = error.json_path.removeprefix("$").removeprefix(".") or "the arguments"
        reason = error.message if len(error.message) < 200 else f"{show(error.instance)} is no {error.validator_value}"
        raise InvalidInput(f"{place}: {reason}")
