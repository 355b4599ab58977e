"""Cancellation of a call that runs in another thread."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from ecphora.cancellation import CallCancelled, Cancellation, check_cancelled, current_cancellation
from ecphora.llm_client import LLMClient
from ecphora.ports import Prompt, Reply


def test_call_stops_at_its_next_check() -> None:
    cancellation, steps = Cancellation(), list[int]()

    def call() -> None:
        for step in range(3):
            check_cancelled()
            steps.append(step)
            assert cancellation.cancel()

    with pytest.raises(CallCancelled):
        cancellation.run(call)
    assert steps == [0]
    check_cancelled()  # outside the call nothing is cancelled


def test_call_that_is_cancelled_before_it_begins_does_not_begin() -> None:
    cancellation = Cancellation()
    cancellation.cancel()
    with pytest.raises(CallCancelled):
        cancellation.run(pytest.fail)


def test_commit_runs_to_its_end_and_no_other_begins() -> None:
    cancellation, written = Cancellation(), list[str]()

    def call() -> None:
        with current_cancellation().commit():
            assert not cancellation.cancel()  # must be waited for
            with pytest.raises(CallCancelled):
                check_cancelled()
            written.append("first")
        assert cancellation.cancel()
        with current_cancellation().commit():
            written.append("second")

    with pytest.raises(CallCancelled):
        cancellation.run(call)
    assert written == ["first"]


def test_commit_that_fails_is_over() -> None:
    cancellation = Cancellation()
    with pytest.raises(ZeroDivisionError), cancellation.commit():
        raise ZeroDivisionError
    assert cancellation.cancel()


def test_calls_of_two_threads_are_cancelled_one_by_one() -> None:
    first, second, both_run = Cancellation(), Cancellation(), threading.Barrier(2)

    def call() -> str:
        both_run.wait(10)
        first.cancel()
        check_cancelled()
        return "done"

    with ThreadPoolExecutor(2) as pool:
        cancelled, done = pool.submit(first.run, call), pool.submit(second.run, call)
        assert isinstance(cancelled.exception(), CallCancelled)
        assert done.result() == "done"


class CancellingLLM:
    """Cancels its call while it writes its second reply."""

    name = "cancelling"

    def __init__(self, cancellation: Cancellation) -> None:
        self.cancellation, self.count = cancellation, 0

    def complete(self, prompt: Prompt, /) -> Reply:
        """Count the prompts, and cancel."""
        del prompt
        self.count += 1
        if self.count == 2:
            self.cancellation.cancel()
        return Reply("fine", 1, 1, 0.0)


@pytest.mark.parametrize("max_concurrency", [1, 2])
@pytest.mark.parametrize("has_time_limit", [False, True])
def test_language_model_is_asked_no_more_once_the_call_is_cancelled(
    max_concurrency: int, *, has_time_limit: bool
) -> None:
    cancellation = Cancellation()
    llm = CancellingLLM(cancellation)
    client = LLMClient(llm, max_concurrency=max_concurrency)
    prompts = [Prompt("system", f"user {number}") for number in range(20)]

    def call() -> None:
        client.ask_all(prompts, str, time_left=(lambda: 10.0) if has_time_limit else None)
        check_cancelled()

    with pytest.raises(CallCancelled):
        cancellation.run(call)
    assert llm.count <= 2 + max_concurrency
