"""Cancellation of a call that runs in another thread."""

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ecphora import Memory
from ecphora.consolidation import plan
from ecphora.consolidation.run import RunLimits
from ecphora.model.cancellation import CallCancelled, Cancellation, check_cancellation, current_cancellation
from ecphora.model.ports import Prompt, Reply
from ecphora.model.types import Vector
from ecphora.models.embedders import onnx_runtime
from ecphora.models.embedders.hashing import HashingEmbedder
from ecphora.models.llm_client import LLMClient

SECONDS = 10
"""After so many seconds a test that waits has failed."""


def test_call_stops_at_its_next_check() -> None:
    cancellation, steps = Cancellation(), list[int]()

    def call() -> None:
        for step in range(3):
            check_cancellation()
            steps.append(step)
            assert cancellation.cancel()

    with pytest.raises(CallCancelled):
        cancellation.run(call)
    assert steps == [0]
    check_cancellation()  # outside the call nothing is cancelled


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
                check_cancellation()
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
        check_cancellation()
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
        check_cancellation()

    with pytest.raises(CallCancelled):
        cancellation.run(call)
    assert llm.count <= 2 + max_concurrency


@pytest.mark.medium
def test_embedder_of_the_package_stops_between_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    cancellation, embedded, has_stopped = Cancellation(), list[str](), threading.Event()

    def check() -> None:
        has_stopped.set()
        check_cancellation()

    def encode(text: str) -> Vector:
        embedded.append(text)
        cancellation.cancel()
        assert len(embedded) == 1 or has_stopped.wait(SECONDS)
        return np.zeros(4, np.float32)

    monkeypatch.setattr(onnx_runtime, "check_cancellation", check)
    encoder = onnx_runtime.UnbatchedEncoder(lambda: encode, 4)
    with pytest.raises(CallCancelled):
        cancellation.run(lambda: encoder([f"text {number}" for number in range(500)]))
    assert len(embedded) < 500


def test_consolidation_with_a_time_limit_checks_wherever_it_looks_at_the_time() -> None:
    cancellation, limits = Cancellation(), RunLimits(60.0)
    assert cancellation.run(limits.time_left) > 0

    def call() -> float:
        cancellation.cancel()
        return limits.time_left()

    with pytest.raises(CallCancelled):
        cancellation.run(call)


def test_backup_that_is_cancelled_leaves_no_file(tmp_path: Path) -> None:
    cancellation = Cancellation()
    with Memory(tmp_path / "m.db", embedder=HashingEmbedder(16)) as memory:
        memory.remember("Ana lives in Porto.")
        with pytest.raises(CallCancelled):
            cancellation.run(
                lambda: memory.backup(tmp_path / "copy.db", progress=lambda _done, _total: void(cancellation.cancel()))
            )
    assert [path.name for path in tmp_path.iterdir()] == ["m.db"]


def void(_result: object) -> None:
    """Nothing, whatever was done."""


@pytest.mark.parametrize("seconds", [None, 60.0])
def test_consolidation_that_is_cancelled_finds_no_more_and_writes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seconds: float | None
) -> None:
    cancellation, steps = Cancellation(), list[object]()
    next_step = plan.next_step

    def cancel(*args: Any) -> object:
        steps.append(next_step(*args))
        cancellation.cancel()
        return steps[-1]

    monkeypatch.setattr(plan, "next_step", cancel)
    monkeypatch.setattr("ecphora.consolidation.run._try_commit_step", None)  # not called
    with Memory(tmp_path / "m.db", embedder=HashingEmbedder(16), update_scorer=None) as memory:
        memory.remember(["Ana lives in Porto.", "Ana lives in Faro now."])
        with pytest.raises(CallCancelled):
            cancellation.run(lambda: memory.consolidate(seconds=seconds))
        assert len(steps) == 1
        assert memory.maintenance.batches() == []
