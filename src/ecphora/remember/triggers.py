"""The triggers of refinement: so many new memories, the end of a session, a pause. Cognitive Weave, section 3.4.

A cursor stores how far a process has come. ``AutoConsolidate`` triggers consolidation; a strategy that refines what is
stored, such as ``weave``, is triggered by the number of memories beyond its own cursor.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

import numpy as np

from ..errors import InvalidInput
from ..model.graph.graph import Graph
from ..model.reprs import ShortRepr, show
from ..model.types import Rows
from ..model.validation import check_flag, check_optional_count

CURSOR = "consolidation"
"""The name of the cursor that stores how far consolidation has come."""


def pending_rows(graph: Graph, cursor: str = CURSOR) -> Rows:
    """The rows of the memories beyond a cursor, oldest first."""
    first = int(np.searchsorted(graph.nodes["seq"], graph.cursors.get(cursor, 0), "right"))
    return np.flatnonzero(graph.episodes[first:]) + first


def has_enough_pending(graph: Graph, cursor: str, count: int) -> bool:
    """Whether ``count`` or more memories lie beyond a cursor: the trigger by the number of new memories."""
    return len(pending_rows(graph, cursor)) >= count


@dataclass(frozen=True, slots=True, repr=False)
class AutoConsolidate(ShortRepr):
    """When to consolidate automatically: every ``every_turns`` new memories, when a session ends, or at the first
    memory after a pause of ``after_idle``."""

    every_turns: int | None = None
    on_session_end: bool = False
    after_idle: timedelta | None = None

    def __post_init__(self) -> None:
        check_optional_count("every_turns", self.every_turns)
        check_flag("on_session_end", self.on_session_end)
        if self.after_idle is not None and not (
            isinstance(self.after_idle, timedelta) and self.after_idle > timedelta(0)
        ):
            raise InvalidInput(f"after_idle is {show(self.after_idle)}; give a timedelta above 0, or None")

    def is_due(self, graph: Graph, session: str | None, now: datetime) -> bool:
        """Whether to consolidate before a new memory of this session is written."""
        new = pending_rows(graph)
        if not len(new):
            return False
        last = int(new[-1])
        if self.every_turns is not None and len(new) >= self.every_turns:
            return True
        number = int(graph.nodes["sessions"][last])
        if self.on_session_end and number >= 0 and graph.sessions.names[number] != session:
            return True
        return (
            self.after_idle is not None
            and now.timestamp() - graph.nodes["recorded"][last] >= self.after_idle.total_seconds()
        )
