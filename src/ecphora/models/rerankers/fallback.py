"""A reader that another one stands in for while it does not answer."""

import threading
import time
from collections.abc import Callable, Sequence
from datetime import date

import numpy as np
from numpy.typing import NDArray

from ...errors import LLMError, ReaderUnavailable
from ...model.ports import Passage, Reader
from ...model.reprs import call_repr
from ...model.validation import check_component, check_count, check_number

FIRST_PAUSE, LONGEST_PAUSE = 10.0, 600.0
"""Seconds of the first pause after failures in a row, which each further failure doubles, and of the longest."""


class FallbackReader:
    """Reads with ``reader``, and with ``fallback`` whatever the reader is not available for.

    Without a fallback it raises ``ReaderUnavailable`` instead, and a recall goes on without reading.

    Failures are counted. After ``max_failures`` in a row the reader gets a pause: until it is over, ``fallback`` reads
    alone, or nothing. Then one call tries the reader again; if it fails, the next pause is twice as long. ``clock``
    returns seconds from any start. Safe to share between threads if both readers are.
    """

    def __init__(
        self,
        reader: Reader,
        fallback: Reader | None = None,
        *,
        max_failures: int = 3,
        first_pause: float = FIRST_PAUSE,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._reader = check_component("reader", reader, "a reader", "read")
        self._fallback = None if fallback is None else check_component("fallback", fallback, "a reader or None", "read")
        self.name = reader.name if fallback is None else f"{reader.name}, else {fallback.name}"
        self._max_failures = check_count("max_failures", max_failures)
        self._first_pause = check_number("first_pause", first_pause, minimum=0)
        self._clock = clock
        self._lock = threading.Lock()
        self._failure_count = 0
        self._failures_in_row = 0
        self._paused_until = 0.0
        self._last_error: str | None = None

    def __repr__(self) -> str:
        return call_repr("FallbackReader", self._reader, self._fallback)

    @property
    def batch_size(self) -> int:
        """That of the reader, or that of the fallback during a pause."""
        with self._lock:
            stand_in = self._fallback if self._is_paused() else None
            return (stand_in or self._reader).batch_size

    @property
    def failure_count(self) -> int:
        """How many calls the reader has failed."""
        with self._lock:
            return self._failure_count

    @property
    def last_error(self) -> str | None:
        """What was wrong at the last failure, None if there was none."""
        with self._lock:
            return self._last_error

    def read(self, question: str, passages: Sequence[Passage], /, *, asked_on: date) -> NDArray[np.float64]:
        """Log-odds of the reader, or of the fallback; raises what the fallback raises.

        Without a fallback it raises ``ReaderUnavailable``, also during a pause.
        """
        if self._may_try():
            try:
                scores = self._reader.read(question, passages, asked_on=asked_on)
            except (ReaderUnavailable, LLMError) as error:
                self._add_failure(str(error))
            else:
                self._end_failures()
                return scores
        if self._fallback is None:
            raise ReaderUnavailable(f"{self._reader.name} did not answer: {self.last_error}")
        return self._fallback.read(question, passages, asked_on=asked_on)

    def _is_paused(self) -> bool:
        return self._failures_in_row >= self._max_failures and self._clock() < self._paused_until

    def _may_try(self) -> bool:
        """Whether this call tries the reader; the call that ends a pause begins another, so that it tries alone."""
        with self._lock:
            if self._is_paused():
                return False
            if self._failures_in_row >= self._max_failures:
                self._begin_pause()
            return True

    def _begin_pause(self) -> None:
        doublings = min(self._failures_in_row - self._max_failures, 30)
        self._paused_until = self._clock() + min(self._first_pause * 2.0**doublings, LONGEST_PAUSE)

    def _add_failure(self, problem: str) -> None:
        with self._lock:
            self._failure_count += 1
            self._failures_in_row += 1
            self._last_error = problem
            if self._failures_in_row >= self._max_failures:
                self._begin_pause()

    def _end_failures(self) -> None:
        with self._lock:
            self._failures_in_row = 0
