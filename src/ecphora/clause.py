"""One clause of a reason, and what builds it."""

from collections.abc import Callable
from dataclasses import dataclass

from .ranking import Comparison


@dataclass(frozen=True, slots=True)
class Clause:
    """One clause: ``text`` begins it, ``other_row`` is the row of the memory that it names, -1 for none.

    ``quoted_row`` is the row whose text completes it, -1 for none: an entity's name, or quoted words of a memory.
    ``is_general`` is True for a comparison that names nothing of the memory.
    """

    text: str
    other_row: int = -1
    quoted_row: int = -1
    is_general: bool = False


ClauseBuilder = Callable[[Comparison], Clause | None]
"""Returns the clause for a memory, None if it does not apply."""
