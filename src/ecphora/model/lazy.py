"""What is computed at its first use: patterns, so that importing a hundred of them costs nothing, and properties.

Before Python 3.12, ``functools.cached_property`` holds one lock for all instances of a class while it computes a value,
so that threads with an object each wait for one another; the one of this module has no lock.
"""

import re
from collections.abc import Callable
from typing import Any, Generic, TypeVar, cast, overload

T = TypeVar("T")
Self = TypeVar("Self", bound="cached_property[Any]")


class cached_property(Generic[T]):  # noqa: N801  # named as in functools
    """A property that is computed when it is first read. Threads that read it at once may each compute it."""

    def __init__(self, compute: Callable[[Any], T]) -> None:
        self._compute = compute
        self.__doc__ = compute.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self: Self, instance: None, owner: type | None = None) -> Self: ...
    @overload
    def __get__(self, instance: object, owner: type | None = None) -> T: ...
    def __get__(self, instance: object | None, owner: type | None = None) -> Any:
        """The value; kept in the instance's ``__dict__``, where it is found without this method from then on."""
        if instance is None:
            return self
        value = instance.__dict__[self._name] = self._compute(instance)
        return value


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
