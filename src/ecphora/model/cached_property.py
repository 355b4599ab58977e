"""``cached_property`` without a lock.

Before Python 3.12, ``functools.cached_property`` holds one lock for all instances of a class while it computes a value,
so that threads with an object each wait for one another.
"""

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

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
