"""The statements of memories, each parsed once, and the order of the memories in time."""

from collections.abc import Iterable

import numpy as np

from ...language.chat_roles import is_assistant
from ...language.statements.statements import statements
from ...model.graph.graph import Graph
from ...model.ports import NodeReader
from ...model.types import Node, Rows
from .event_time import Timestamps
from .utterances import Utterance


class MemoryStatements:
    """The statements of a graph's memories.

    ``time_order`` are the episode rows in order of time, ``turn_numbers`` the position of each row in it, and
    ``has_statements`` masks the rows that are read for statements, without an assistant's rows. ``moments`` are the
    timestamps of the rows.
    """

    def __init__(self, graph: Graph, read: NodeReader) -> None:
        self.graph = graph
        self._read = read
        self._utterances: dict[int, tuple[Utterance, ...]] = {}
        self._nodes: dict[int, Node] = {}
        self.moments = Timestamps(graph)
        nodes = graph.nodes
        order = np.lexsort((nodes["seq"], nodes["happened"]))
        self.time_order: Rows = order[graph.episodes[order]]
        self.turn_numbers: Rows = np.zeros(len(graph), np.intp)
        self.turn_numbers[self.time_order] = np.arange(len(self.time_order))
        assistants = [number for number, name in enumerate(graph.speakers.names) if is_assistant(name)]
        self.has_statements = graph.episodes & ~np.isin(nodes["speakers"], assistants)

    def fetch(self, rows: Iterable[int]) -> None:
        """Fetch the rows that are not yet fetched, in one call."""
        missing = [row for row in rows if row not in self._nodes]
        if missing:
            ids = {node.id: node for node in self._read(np.array(missing, np.intp))}
            for row in missing:
                if (node := ids.get(self.graph.id(row))) is not None:
                    self._nodes[row] = node

    def node(self, row: int) -> Node:
        """The node of a fetched row."""
        return self._nodes[row]

    def utterances(self, row: int) -> tuple[Utterance, ...]:
        """The statements of a fetched row; none if the memory was forgotten meanwhile."""
        if row not in self._utterances:
            node = self._nodes.get(row)
            found = () if node is None else statements(node.text, node.speaker, node.happened_at)
            turn, moment = int(self.turn_numbers[row]), self.moments.timestamp(row)
            self._utterances[row] = tuple(
                Utterance(
                    statement, node.speaker, node.session or node.document, node.happened_at, turn, moment, node.trust
                )
                for statement in found
                if node
            )
        return self._utterances[row]
