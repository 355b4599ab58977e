"""The guest: asked again, done without, counted, and never more at once than agreed."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, Lock

import pytest

from ecphora.errors import InvalidInput, LLMUnavailable, UnreadableReply
from ecphora.llm_client import LLMClient, LLMUsage
from ecphora.ports import Prompt, Reply
from ecphora.testing import ScriptedLLM

QUESTION = Prompt("Count.", "Next?")


def number(text: str) -> int:
    try:
        return int(text)
    except ValueError as error:
        raise UnreadableReply(f"{text!r} is no number") from error


def test_a_reply_that_can_be_read_takes_one_call() -> None:
    llm = ScriptedLLM(["7"])
    guest = LLMClient(llm)
    assert guest.ask(QUESTION, number) == 7
    assert guest.name == "scripted"
    assert llm.prompts == [QUESTION]
    assert guest.usage == LLMUsage(calls=1, tokens_in=4, tokens_out=1)


def test_it_is_told_what_was_wrong() -> None:
    llm = ScriptedLLM(["seven", "7"])
    guest = LLMClient(llm)
    assert guest.ask(QUESTION, number) == 7
    assert llm.prompts[1].user.startswith("Next?\n\nYour last reply could not be used: 'seven' is no number\n")
    assert (guest.usage.calls, guest.usage.retries, guest.usage.failures) == (2, 1, 0)


def test_after_silence_the_same_is_asked_again() -> None:
    llm = ScriptedLLM(["7"], failing_calls={0})
    assert LLMClient(llm).ask(QUESTION, number) == 7
    assert llm.prompts == [QUESTION] * 2


@pytest.mark.parametrize(("retries", "calls"), [(0, 1), (1, 2), (3, 4)])
def test_what_fails_is_none_and_counted(retries: int, calls: int) -> None:
    guest = LLMClient(ScriptedLLM(lambda _: "seven"), retries=retries)
    attempt = guest.attempt(QUESTION, number)
    assert attempt.value is None
    assert attempt.error == "'seven' is no number"
    assert attempt.usage == guest.usage
    assert (guest.usage.calls, guest.usage.retries, guest.usage.failures) == (calls, calls - 1, 1)


def test_a_server_that_is_silent_takes_no_tokens() -> None:
    guest = LLMClient(ScriptedLLM([], failing_calls=range(2)))
    assert guest.ask(QUESTION, number) is None
    assert guest.usage == LLMUsage(calls=2, retries=1, failures=1)


def test_a_mistake_of_the_caller_is_not_swallowed() -> None:
    with pytest.raises(ZeroDivisionError):
        LLMClient(ScriptedLLM(["7"])).ask(QUESTION, lambda _: 1 // 0)
    with pytest.raises(InvalidInput):
        LLMClient(ScriptedLLM([]), retries=-1)
    with pytest.raises(InvalidInput):
        LLMClient(ScriptedLLM([]), max_concurrency=0)


class Crowded:
    """Counts how many are in it at once; each waits for as many as may be."""

    name = "crowded"

    def __init__(self, at_once: int) -> None:
        self.inside = self.most = 0
        self._lock = Lock()
        self._barrier = Barrier(at_once)

    def complete(self, prompt: Prompt, /) -> Reply:
        with self._lock:
            self.inside += 1
            self.most = max(self.most, self.inside)
        self._barrier.wait(10)  # more than so many at once would break it, fewer would wait for ever
        with self._lock:
            self.inside -= 1
        return Reply(prompt.user, 1, 2, 0.5, 0.25)


def test_many_are_asked_at_once_but_not_too_many_and_come_back_in_order() -> None:
    llm = Crowded(3)
    guest = LLMClient(llm, max_concurrency=3)
    assert guest.ask_all([Prompt("", str(place)) for place in range(12)], number) == list(range(12))
    assert llm.most == 3
    assert guest.usage == LLMUsage(12, 0, 0, 12, 24, 6.0, 3.0)
    assert guest.ask_all([], number) == []


def test_totals_are_right_when_many_threads_ask() -> None:
    guest = LLMClient(ScriptedLLM(lambda prompt: prompt.user), max_concurrency=2)
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda place: guest.ask(Prompt("", str(place)), number), range(200)))
    assert found == list(range(200))
    assert guest.usage.calls == 200


def test_one_that_fails_costs_the_others_nothing() -> None:
    def script(prompt: Prompt) -> str:
        if prompt.user.startswith("1"):
            raise LLMUnavailable("no")
        return prompt.user

    guest = LLMClient(ScriptedLLM(script), max_concurrency=1)
    assert guest.ask_all([Prompt("", str(place)) for place in range(3)], number) == [0, None, 2]
    assert guest.usage.failures == 1
