"""Two calls at once."""

import threading
from collections.abc import Callable

import pytest

from ecphora.model.cancellation import CallCancelled, Cancellation, check_cancellation, run_both


def test_both_calls_run_at_once_and_the_thread_can_be_cancelled() -> None:
    met = threading.Barrier(2, timeout=10)
    assert run_both(lambda: met.wait() >= 0, lambda: met.wait() >= 0) == (True, True)
    cancellation = Cancellation()

    def cancel_and_check() -> None:
        cancellation.cancel()
        check_cancellation()

    with pytest.raises(CallCancelled):
        cancellation.run(lambda: run_both(lambda: None, cancel_and_check))


@pytest.mark.parametrize("fails", [0, 1])
def test_error_of_either_call_is_raised_when_both_have_ended(fails: int) -> None:
    ended: list[int] = []

    def call(number: int) -> Callable[[], None]:
        def run() -> None:
            ended.append(number)
            if number == fails:
                raise ValueError(str(number))

        return run

    with pytest.raises(ValueError, match=str(fails)):
        run_both(call(0), call(1))
    assert sorted(ended) == [0, 1]
