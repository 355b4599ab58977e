"""What memories claim, each read once, and in which order they were told."""

from collections.abc import Iterable

import numpy as np

from ..graph import Graph
from ..language.claims import statements
from ..language.people import ROLES
from ..model import Node, Rows
from ..ports import Reader
from .moment import Moments
from .succession import Told


class Heard:
    """The statements of a graph's memories.

    ``order`` are the episodes in order of time, ``turns`` the place of each row in it, and ``speaking`` marks the rows
    of those who speak of themselves: an assistant does not. ``moments`` say how well the time of each row is known.
    """

    def __init__(self, graph: Graph, read: Reader) -> None:
        self.graph = graph
        self._read = read
        self._told: dict[int, tuple[Told, ...]] = {}
        self._nodes: dict[int, Node] = {}
        self.moments = Moments(graph)
        nodes = graph.nodes
        order = np.lexsort((nodes["seq"], nodes["happened"]))
        self.order: Rows = order[graph.episodes[order]]
        self.turns: Rows = np.zeros(len(graph), np.intp)
        self.turns[self.order] = np.arange(len(self.order))
        roles = [name.casefold() for name in graph.speakers.names]
        silent = [number for number, name in enumerate(roles) if ROLES.get(name) == "assistant"]
        self.speaking = graph.episodes & ~np.isin(nodes["speakers"], silent)

    def fetch(self, rows: Iterable[int]) -> None:
        """Fetch what is still unread, together."""
        missing = [row for row in rows if row not in self._nodes]
        if missing:
            ids = {node.id: node for node in self._read(np.array(missing, np.intp))}
            for row in missing:
                if (node := ids.get(self.graph.id(row))) is not None:
                    self._nodes[row] = node

    def node(self, row: int) -> Node:
        """A memory that was fetched."""
        return self._nodes[row]

    def told(self, row: int) -> tuple[Told, ...]:
        """The statements of a memory that was fetched; none of one that was forgotten meanwhile."""
        if row not in self._told:
            node = self._nodes.get(row)
            found = () if node is None else statements(node.text, node.speaker, node.happened_at)
            turn, moment = int(self.turns[row]), self.moments.of(row)
            self._told[row] = tuple(
                Told(one, node.speaker, node.session or node.document, node.happened_at, turn, moment, node.trust)
                for one in found
                if node
            )
        return self._told[row]
