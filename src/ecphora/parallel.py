"""Runs two functions at once."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import TypeVar

A = TypeVar("A")
B = TypeVar("B")


def run_both(first: Callable[[], A], second: Callable[[], B]) -> tuple[A, B]:
    """Call both functions, the second in a thread of its own, and return both results; raises what one raises.

    It returns when both have ended. The thread sees the context variables of the caller.
    """
    context = copy_context()
    with ThreadPoolExecutor(1, "ecphora-second") as pool:
        other = pool.submit(context.run, second)
        return first(), other.result()
