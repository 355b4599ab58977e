"""Loads a model once per process, for all its users, and frees it with the last of them.

A forked child loads the model again: a thread of the parent may have been inside it, and its locks would stay locked
in the child forever.
"""

import os
from collections.abc import Callable, Hashable
from threading import RLock
from typing import Any, Generic, TypeVar
from weakref import WeakValueDictionary

T = TypeVar("T")


class _Registry:
    """The models loaded in this process, by key."""

    def __init__(self) -> None:
        self.lock = RLock()  # held while loading; reentrant, as loading a model may load another
        self.models: WeakValueDictionary[Hashable, Any] = WeakValueDictionary()


_registry = _Registry()
_parent_models: list[Any] = []
"""Models of the parent process: never used in this child, and never destroyed."""


def _reset_registry() -> None:
    """Start with an empty registry in a forked child."""
    global _registry  # noqa: PLW0603  # there is one per process
    _parent_models.extend(_registry.models.values())
    _registry = _Registry()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_reset_registry)


class SharedModel(Generic[T]):
    """A reference to the object that ``load`` returns; all references with the same ``key`` share one object.

    The first call loads it. It is freed with its last reference. Safe to share between threads and in a forked child.
    """

    def __init__(self, key: Hashable, load: Callable[[], T]) -> None:
        self.key = key
        self._load = load
        self._cached: tuple[_Registry, T] | None = None

    def __call__(self) -> T:
        """Return the loaded object; raises what ``load`` raises, and tries again at the next call."""
        registry, cached = _registry, self._cached
        if cached is not None and cached[0] is registry:
            return cached[1]
        with registry.lock:
            found: T | None = registry.models.get(self.key)
            if found is None:
                found = registry.models[self.key] = self._load()
        self._cached = registry, found
        return found
