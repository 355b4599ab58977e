"""Cancels a call that runs in another thread: it stops where it checks, and never in the middle of a commit.

A context variable holds the cancellation of the running call, so that methods need no parameter for it. A second thread
that helps with the call (:func:`run_both`) sees it too.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from threading import Lock
from typing import TypeVar

A = TypeVar("A")
B = TypeVar("B")
R = TypeVar("R")


class CallCancelled(BaseException):
    """Ends a call that was cancelled. Nobody waits for its result any more."""


class Cancellation:
    """Cancels one call: :meth:`run` runs it, :meth:`cancel` may be called by any thread."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._is_cancelled = self._is_committing = False
        self._interrupt: Callable[[], object] | None = None

    def run(self, call: Callable[[], R]) -> R:
        """Run the call. The checks in its thread see this cancellation."""
        token = _CURRENT.set(self)
        try:
            self.check()
            return call()
        finally:
            _CURRENT.reset(token)

    @property
    def is_cancelled(self) -> bool:
        """Whether the call was cancelled."""
        return self._is_cancelled

    def cancel(self) -> bool:
        """Let the call stop at its next check; False if it is committing, which is not stopped."""
        with self._lock:
            self._is_cancelled = True
            if self._interrupt is not None:
                self._interrupt()
            return not self._is_committing

    def check(self) -> None:
        """Raise ``CallCancelled`` if the call was cancelled."""
        if self._is_cancelled:
            raise CallCancelled

    @contextmanager
    def commit(self) -> Iterator[None]:
        """Run a block to its end, or not at all if the call was cancelled."""
        with self._lock:
            self.check()
            self._is_committing = True
        try:
            yield
        finally:
            with self._lock:
                self._is_committing = False

    @contextmanager
    def interruptible(self, interrupt: Callable[[], object]) -> Iterator[None]:
        """Run a block that waits and cannot check; a cancellation calls ``interrupt``, which ends the wait."""
        with self._lock:
            self.check()
            self._interrupt = interrupt
        try:
            yield
        finally:
            with self._lock:
                self._interrupt = None


_CURRENT: ContextVar[Cancellation] = ContextVar("ecphora_cancellation", default=Cancellation())  # noqa: B039  # never cancelled


def current_cancellation() -> Cancellation:
    """The cancellation of the call that runs here, for threads that work for it."""
    return _CURRENT.get()


def check_cancellation() -> None:
    """Raise ``CallCancelled`` if the call that runs here was cancelled."""
    _CURRENT.get().check()


def run_both(first: Callable[[], A], second: Callable[[], B]) -> tuple[A, B]:
    """Call both functions, the second in a thread of its own, and return both results; raises what one raises.

    It returns when both have ended. The thread sees the context variables of the caller.
    """
    context = copy_context()
    with ThreadPoolExecutor(1, "ecphora-second") as pool:
        other = pool.submit(context.run, second)
        return first(), other.result()
