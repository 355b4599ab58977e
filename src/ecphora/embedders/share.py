"""Loads a model once a process, for all who use it, and lets go of it with the last of them.

A model is loaded anew in a child that was forked: a thread of the parent may have been inside it, and its locks would
stay locked in the child for ever.
"""

import os
from collections.abc import Callable, Hashable
from threading import RLock
from typing import Any, Generic, TypeVar
from weakref import WeakValueDictionary

T = TypeVar("T")


class _Registry:
    """What is loaded in this process, by key."""

    def __init__(self) -> None:
        self.lock = RLock()  # of a thread that loads; a model may ask for another while it is loaded
        self.loaded: WeakValueDictionary[Hashable, Any] = WeakValueDictionary()


_registry = _Registry()
_inherited: list[Any] = []
"""Models of the process that this one was forked from: never used here, and never destroyed."""


def _start_anew() -> None:
    """Begin with an empty registry, in a child that was forked."""
    global _registry  # noqa: PLW0603  # there is one a process
    _inherited.extend(_registry.loaded.values())
    _registry = _Registry()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_start_anew)


class Share(Generic[T]):
    """One user's share of what ``load`` makes; all shares of one ``key`` are of the same object.

    The first call loads it. It goes when no share of it is left. Safe to share between threads and in a forked child.
    """

    def __init__(self, key: Hashable, load: Callable[[], T]) -> None:
        self.key = key
        self._load = load
        self._held: tuple[_Registry, T] | None = None

    def __call__(self) -> T:
        """The loaded object; raises what ``load`` raises, and tries again at the next call."""
        registry, held = _registry, self._held
        if held is not None and held[0] is registry:
            return held[1]
        with registry.lock:
            found: T | None = registry.loaded.get(self.key)
            if found is None:
                found = registry.loaded[self.key] = self._load()
        self._held = registry, found
        return found
