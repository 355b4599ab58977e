"""Regular expressions that are compiled on first use: importing a module with a hundred of them costs nothing."""

import re
from functools import cached_property
from typing import Any, cast


class LazyPattern:
    """Stands for a compiled pattern. The first use compiles it; from then on its methods are the pattern's own."""

    def __init__(self, source: str, flags: int) -> None:
        self._source = source
        self._flags = flags

    @cached_property
    def _compiled(self) -> re.Pattern[str]:
        return re.compile(self._source, self._flags)

    def __getattr__(self, name: str) -> Any:
        """What the compiled pattern has under a name; kept, so that the next look-up is a plain one."""
        if name.startswith("__"):
            raise AttributeError(name)
        found = getattr(self._compiled, name)
        setattr(self, name, found)
        return found


def lazy_pattern(source: str, flags: int = 0) -> re.Pattern[str]:
    """A pattern as ``re.compile`` returns it, compiled when one of its methods or attributes is first used.

    The functions of ``re`` do not take it; call its methods. A wrong ``source`` raises ``re.error`` at first use.
    """
    return cast("re.Pattern[str]", LazyPattern(source, flags))
