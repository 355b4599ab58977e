"""The warning that a text was not remembered, because it was forgotten before."""

import sys
import warnings
from collections.abc import Sequence

from ..model.reprs import show

SILENT_CALLERS = ("ecphora.cli.", "ecphora.remote.", "ecphora.tools.", "ecphora.memory")
"""The modules that report themselves what was blocked."""


class BlockedWarning(UserWarning):
    """A text was not remembered, because it was forgotten or replaced before."""


def warn_of_blocked(blocked: Sequence[str]) -> None:
    """Warn the caller of the function that calls this one of the ids in ``blocked``, once for all."""
    caller = sys._getframe(2).f_globals.get("__name__", "")  # noqa: SLF001  # as warnings.warn does
    if not blocked or str(caller).startswith(SILENT_CALLERS):
        return
    more = f" and {len(blocked) - 1} more" if len(blocked) > 1 else ""
    warnings.warn(
        f"{show(blocked[0])}{more} not remembered, because the text was forgotten or replaced before; "
        "call remember with restore=True to store it again",
        BlockedWarning,
        stacklevel=3,
    )
