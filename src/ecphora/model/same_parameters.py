"""Gives a function the parameters of another, for type checkers and for ``inspect.signature``."""

import inspect
from collections.abc import Callable
from typing import Any, Concatenate, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")
Owner = TypeVar("Owner")


def same_parameters(
    other: Callable[Concatenate[Any, P], object],
) -> Callable[[Callable[Concatenate[Owner, ...], R]], Callable[Concatenate[Owner, P], R]]:
    """Make a decorator for a method that passes all its arguments on to the method ``other``."""

    def decorate(method: Callable[Concatenate[Owner, ...], R]) -> Callable[Concatenate[Owner, P], R]:
        parameters = tuple(inspect.signature(other).parameters.values())
        signature = inspect.signature(method).replace(parameters=parameters)
        method.__signature__ = signature  # type: ignore[attr-defined]
        return method

    return decorate
