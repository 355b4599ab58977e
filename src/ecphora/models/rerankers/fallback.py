"""A reranker that another one stands in for while it does not answer."""

import threading
import time
from collections.abc import Callable, Sequence
from datetime import date

import numpy as np
from numpy.typing import NDArray

from ...errors import LLMError, RerankerUnavailable
from ...model.ports import Passage, Reranker
from ...model.reprs import call_repr
from ...model.validation import check_component, check_count, check_number

FIRST_PAUSE, LONGEST_PAUSE = 10.0, 600.0
"""Seconds of the first pause after failures in a row, which each further failure doubles, and of the longest."""


class FallbackReranker:
    """Reads with ``reranker``, and with ``fallback`` whatever the reranker is not available for.

    Without a fallback it raises ``RerankerUnavailable`` instead, and a recall goes on without reading.

    Failures are counted. After ``max_failures`` in a row the reranker gets a pause: until it is over, ``fallback``
    reads alone, or nothing. Then one call tries the reranker again; if it fails, the next pause is twice as long.
    ``clock`` returns seconds from any start. Safe to share between threads if both rerankers are.
    """

    def __init__(
        self,
        reranker: Reranker,
        fallback: Reranker | None = None,
        *,
        max_failures: int = 3,
        first_pause: float = FIRST_PAUSE,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._reranker = check_component("reranker", reranker, "a reranker", "score")
        self._fallback = (
            None if fallback is None else check_component("fallback", fallback, "a reranker or None", "score")
        )
        self.name = reranker.name if fallback is None else f"{reranker.name}, else {fallback.name}"
        self._max_failures = check_count("max_failures", max_failures)
        self._first_pause = check_number("first_pause", first_pause, minimum=0)
        self._clock = clock
        self._lock = threading.Lock()
        self._failure_count = 0
        self._failures_in_row = 0
        self._paused_until = 0.0
        self._last_error: str | None = None

    def __repr__(self) -> str:
        return call_repr("FallbackReranker", self._reranker, self._fallback)

    @property
    def batch_size(self) -> int:
        """The batch size of the reranker, or of the fallback during a pause."""
        with self._lock:
            stand_in = self._fallback if self._is_paused() else None
            return (stand_in or self._reranker).batch_size

    @property
    def failure_count(self) -> int:
        """How many calls the reranker has failed."""
        with self._lock:
            return self._failure_count

    @property
    def last_error(self) -> str | None:
        """What was wrong at the last failure, None if there was none."""
        with self._lock:
            return self._last_error

    def score(self, question: str, passages: Sequence[Passage], /, *, asked_on: date) -> NDArray[np.float64]:
        """Log-odds of the reranker, or of the fallback; raises what the fallback raises.

        Without a fallback it raises ``RerankerUnavailable``, also during a pause.
        """
        if self._may_try():
            try:
                scores = self._reranker.score(question, passages, asked_on=asked_on)
            except (RerankerUnavailable, LLMError) as error:
                self._add_failure(str(error))
            else:
                self._end_failures()
                return scores
        if self._fallback is None:
            raise RerankerUnavailable(f"{self._reranker.name} did not answer: {self.last_error}")
        return self._fallback.score(question, passages, asked_on=asked_on)

    def _is_paused(self) -> bool:
        return self._failures_in_row >= self._max_failures and self._clock() < self._paused_until

    def _may_try(self) -> bool:
        """Whether this call tries the reranker; the call that ends a pause begins another, so that it tries alone."""
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
