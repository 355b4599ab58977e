"""The reranker with a fallback: failures are counted, and the reranker gets a pause after several in a row."""

from datetime import date
from threading import Event, Thread
from typing import Any

import pytest

from ecphora.errors import InvalidInput, LLMUnavailable, RerankerUnavailable
from ecphora.model.ports import Passage
from ecphora.models.rerankers.fallback import LONGEST_PAUSE, FallbackReranker
from ecphora.testing import ConstantReranker

QUESTION, TODAY = "Where does Ana live?", date(2026, 5, 3)
PASSAGES = [
    Passage("In Porto.", "Ana", date(2026, 5, 1), title="Chat", previous_turn="Bo: Where do you live?"),
    Passage("Lunch is ready."),
]


class Clock:
    """Seconds that a test sets."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


def read_one(reranker: FallbackReranker) -> float:
    return float(reranker.score(QUESTION, PASSAGES[:1], asked_on=TODAY)[0])


@pytest.mark.parametrize("error", [RerankerUnavailable("no answer"), LLMUnavailable("no answer")])
def test_fallback_reads_what_the_reader_cannot(error: Exception) -> None:
    broken = ConstantReranker(1, error=error)
    reranker = FallbackReranker(broken, ConstantReranker(2))
    assert (reranker.failure_count, reranker.last_error) == (0, None)
    assert read_one(reranker) == 2
    assert (reranker.failure_count, reranker.last_error) == (1, "no answer")
    broken.error = None
    assert read_one(reranker) == 1
    assert (reranker.failure_count, reranker.last_error) == (1, "no answer")
    assert reranker.name == "constant, else constant"


def test_fallback_hides_no_other_error() -> None:
    reranker = FallbackReranker(ConstantReranker(error=KeyError("bug")), ConstantReranker(2))
    with pytest.raises(KeyError):
        read_one(reranker)
    broken = ConstantReranker(error=RerankerUnavailable("no"))
    with pytest.raises(RerankerUnavailable):
        read_one(FallbackReranker(broken, broken))


def test_reader_gets_a_growing_pause_after_failures_in_a_row() -> None:
    clock, broken, fallback = Clock(), ConstantReranker(1, error=RerankerUnavailable("no")), ConstantReranker(2)
    broken.batch_size, fallback.batch_size = 32, 4
    reranker = FallbackReranker(broken, fallback, max_failures=2, first_pause=10, clock=clock)
    calls = broken.received_passages
    for expected in (1, 2, 2, 2):
        assert reranker.batch_size == (4 if expected == len(calls) == 2 else 32)
        assert read_one(reranker) == 2
        assert len(calls) == expected
    for pause, tries in ((10, 3), (20, 4), (40, 5)):
        clock.now += pause - 0.1
        assert (read_one(reranker), len(calls)) == (2, tries - 1)
        clock.now += 0.2
        assert reranker.batch_size == 32
        assert (read_one(reranker), len(calls)) == (2, tries)
    clock.now += 80.1
    broken.error = None
    assert read_one(reranker) == read_one(reranker) == 1
    broken.error = RerankerUnavailable("no")
    assert [read_one(reranker), len(calls)] == [2, 8]
    assert [read_one(reranker), len(calls)] == [2, 9], "one failure after a success begins no pause"
    assert reranker.failure_count == 7


def test_pause_has_a_limit() -> None:
    clock, broken = Clock(), ConstantReranker(1, error=RerankerUnavailable("no"))
    reranker = FallbackReranker(broken, ConstantReranker(2), max_failures=1, clock=clock)
    for tries in range(1, 40):
        read_one(reranker)
        assert len(broken.received_passages) == tries
        clock.now += LONGEST_PAUSE
    assert reranker.failure_count == 39


def test_only_one_call_tries_the_reader_after_a_pause() -> None:
    clock, begun, may_end = Clock(), Event(), Event()

    class Slow(ConstantReranker):
        def score(self, *arguments: Any, asked_on: date) -> Any:
            begun.set()
            assert may_end.wait(30)
            return super().score(*arguments, asked_on=asked_on)

    slow, fallback = Slow(1, error=RerankerUnavailable("no")), ConstantReranker(2)
    may_end.set()
    reranker = FallbackReranker(slow, fallback, max_failures=1, first_pause=10, clock=clock)
    read_one(reranker)
    may_end.clear()
    begun.clear()
    clock.now += 11
    slow.error = None
    trial = Thread(target=read_one, args=[reranker])
    trial.start()
    assert begun.wait(30)
    assert read_one(reranker) == 2
    may_end.set()
    trial.join()
    assert read_one(reranker) == 1


@pytest.mark.parametrize(
    ("options", "message"), [({"max_failures": 0}, "max_failures"), ({"first_pause": -1.0}, "first_pause")]
)
def test_fallback_rejects_invalid_options(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        FallbackReranker(ConstantReranker(), ConstantReranker(), **options)
    with pytest.raises(InvalidInput, match="fallback is the class ConstantReranker"):
        FallbackReranker(ConstantReranker(), ConstantReranker)  # type: ignore[arg-type]


def test_reader_without_fallback_raises_and_is_not_called_in_a_pause() -> None:
    clock, broken = Clock(), ConstantReranker(1, error=RerankerUnavailable("no"))
    reranker = FallbackReranker(broken, max_failures=1, first_pause=10, clock=clock)
    assert reranker.name == broken.name
    assert reranker.batch_size == broken.batch_size
    for _ in range(3):
        with pytest.raises(RerankerUnavailable, match="constant did not answer: no"):
            read_one(reranker)
    assert (len(broken.received_passages), reranker.failure_count) == (1, 1)
    broken.error, clock.now = None, clock.now + 11
    assert read_one(reranker) == 1
