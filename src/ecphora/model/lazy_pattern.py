"""Regular expressions that compile on first use, so that importing a module with a hundred of them costs nothing."""

import re
from functools import cached_property
from typing import Any, cast


class LazyPattern:
    """A stand-in for a compiled pattern. The first use compiles it; from then on its methods are the pattern's own."""

    def __init__(self, source: str, flags: int) -> None:
        self._source = source
        self._flags = flags

    @cached_property
    def _compiled(self) -> re.Pattern[str]:
        return re.compile(self._source, self._flags)

    def __getattr__(self, name: str) -> Any:
        """The compiled pattern's attribute; cached on the instance, so that the next lookup is an ordinary one."""
        if name.startswith("__"):
            raise AttributeError(name)
        attribute = getattr(self._compiled, name)
        setattr(self, name, attribute)
        return attribute


def lazy_pattern(source: str, flags: int = 0) -> re.Pattern[str]:
    """Return a pattern that compiles when one of its methods or attributes is first used.

    The functions of ``re`` do not accept it; call its methods. An invalid ``source`` raises ``re.error`` at first use.
    """
    return cast("re.Pattern[str]", LazyPattern(source, flags))
