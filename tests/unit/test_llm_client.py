"""The LLM client: retries, failures, usage and concurrency."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, Lock

import pytest

from ecphora.errors import InvalidInput, LLMUnavailable, UnreadableReply
from ecphora.model.ports import Prompt, Reply
from ecphora.model.types import LLMUsage
from ecphora.models.llm_client import LLMClient
from ecphora.testing import ScriptedLLM

QUESTION = Prompt("Count.", "Next?")


def parse_number(text: str) -> int:
    try:
        return int(text)
    except ValueError as error:
        raise UnreadableReply(f"{text!r} is not a number") from error


def test_valid_reply_takes_one_call() -> None:
    llm = ScriptedLLM(["7"])
    client = LLMClient(llm)
    assert client.ask(QUESTION, parse_number) == 7
    assert client.name == "scripted"
    assert llm.prompts == [QUESTION]
    assert client.usage == LLMUsage(calls=1, tokens_in=4, tokens_out=1)


def test_retry_prompt_names_the_problem() -> None:
    llm = ScriptedLLM(["seven", "7"])
    client = LLMClient(llm)
    assert client.ask(QUESTION, parse_number) == 7
    assert llm.prompts[1].user.startswith("Next?\n\nYour last reply could not be used: 'seven' is not a number\n")
    assert (client.usage.calls, client.usage.retries, client.usage.failures) == (2, 1, 0)


def test_unavailable_llm_is_asked_the_same_again() -> None:
    llm = ScriptedLLM(["7"], failing_calls={0})
    assert LLMClient(llm).ask(QUESTION, parse_number) == 7
    assert llm.prompts == [QUESTION] * 2


@pytest.mark.parametrize(("retries", "calls"), [(0, 1), (1, 2), (3, 4)])
def test_failure_is_none_and_counted(retries: int, calls: int) -> None:
    client = LLMClient(ScriptedLLM(lambda _: "seven"), retries=retries)
    attempt = client.attempt(QUESTION, parse_number)
    assert attempt.value is None
    assert attempt.error == "'seven' is not a number"
    assert attempt.usage == client.usage
    assert (client.usage.calls, client.usage.retries, client.usage.failures) == (calls, calls - 1, 1)


def test_unavailable_llm_costs_no_tokens() -> None:
    client = LLMClient(ScriptedLLM([], failing_calls=range(2)))
    assert client.ask(QUESTION, parse_number) is None
    assert client.usage == LLMUsage(calls=2, retries=1, failures=1)


def test_caller_errors_are_raised() -> None:
    with pytest.raises(ZeroDivisionError):
        LLMClient(ScriptedLLM(["7"])).ask(QUESTION, lambda _: 1 // 0)
    with pytest.raises(InvalidInput):
        LLMClient(ScriptedLLM([]), retries=-1)
    with pytest.raises(InvalidInput):
        LLMClient(ScriptedLLM([]), max_concurrency=0)


class CountingLLM:
    """Counts concurrent calls; each waits until the allowed number is reached."""

    name = "counting"

    def __init__(self, at_once: int) -> None:
        self.running = self.most = 0
        self._lock = Lock()
        self._barrier = Barrier(at_once)

    def complete(self, prompt: Prompt, /) -> Reply:
        with self._lock:
            self.running += 1
            self.most = max(self.most, self.running)
        self._barrier.wait(10)  # more calls would break the barrier, fewer would wait until the timeout
        with self._lock:
            self.running -= 1
        return Reply(prompt.user, 1, 2, 0.5, 0.25)


def test_concurrent_calls_are_limited_and_ordered() -> None:
    llm = CountingLLM(3)
    client = LLMClient(llm, max_concurrency=3)
    assert client.ask_all([Prompt("", str(index)) for index in range(12)], parse_number) == list(range(12))
    assert llm.most == 3
    assert client.usage == LLMUsage(12, 0, 0, 12, 24, 6.0, 3.0)
    assert client.ask_all([], parse_number) == []


@pytest.mark.medium
def test_usage_is_correct_with_many_threads() -> None:
    client = LLMClient(ScriptedLLM(lambda prompt: prompt.user), max_concurrency=2)
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda index: client.ask(Prompt("", str(index)), parse_number), range(200)))
    assert found == list(range(200))
    assert client.usage.calls == 200


def test_one_failure_does_not_affect_other_prompts() -> None:
    def script(prompt: Prompt) -> str:
        if prompt.user.startswith("1"):
            raise LLMUnavailable("no")
        return prompt.user

    client = LLMClient(ScriptedLLM(script), max_concurrency=1)
    assert client.ask_all([Prompt("", str(index)) for index in range(3)], parse_number) == [0, None, 2]
    assert client.usage.failures == 1
