"""A wrapper of a language model that parses replies, retries, tolerates failures and counts usage."""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Generic, TypeVar

from .cancellation import current_cancellation
from .errors import LLMError, UnreadableReply
from .llm_usage import LLMUsage
from .ports import LLM, Prompt, SecondsLeft
from .reprs import call_repr
from .validate import check_component, check_count

T = TypeVar("T")

RETRY_PROMPT = """

Your last reply could not be used: {problem}
Reply once more, in the form that was asked for, and with nothing else."""
"""The text appended to a prompt that is sent again because its reply could not be parsed."""


@dataclass(frozen=True, slots=True)
class Attempt(Generic[T]):
    """The result of a prompt: the parsed ``value`` or None, the usage, and the last ``error``, in words."""

    value: T | None
    usage: LLMUsage
    error: str | None = None


class LLMClient:
    """A language model that may fail: a failure gives None and is counted.

    ``retries`` is the number of further calls after a missing or unreadable reply. At most ``max_concurrency`` calls
    run at a time. Safe to share between threads.
    """

    def __init__(self, llm: LLM, *, retries: int = 1, max_concurrency: int = 4) -> None:
        self._llm = check_component("llm", llm, "a language model", "complete")
        self._retries = check_count("retries", retries, minimum=0)
        self._max_concurrency = check_count("max_concurrency", max_concurrency)
        self._semaphore = threading.BoundedSemaphore(self._max_concurrency)
        self._lock = threading.Lock()
        self._usage = LLMUsage()

    def __repr__(self) -> str:
        return call_repr("LLMClient", self._llm)

    @property
    def name(self) -> str:
        """The model and how it is run."""
        return self._llm.name

    @property
    def retries(self) -> int:
        """How many further calls a prompt may take after a missing or unreadable reply."""
        return self._retries

    @property
    def max_concurrency(self) -> int:
        """How many calls may run at a time."""
        return self._max_concurrency

    @property
    def usage(self) -> LLMUsage:
        """The usage so far."""
        with self._lock:
            return self._usage

    def ask(self, prompt: Prompt, parse: Callable[[str], T], /) -> T | None:
        """The reply as parsed by ``parse``, which raises ``UnreadableReply`` if it cannot; None on failure."""
        return self.attempt(prompt, parse).value

    def ask_all(
        self, prompts: Sequence[Prompt], parse: Callable[[str], T], /, *, time_left: SecondsLeft | None = None
    ) -> list[T | None]:
        """The replies to several prompts, in their order.

        ``time_left`` bounds the time: only the leading replies that came in time are returned. Calls still running go
        on in the background; their replies are counted and discarded.
        """
        if time_left is not None:
            return self._ask_until_deadline(prompts, parse, time_left)
        cancellation = current_cancellation()

        def ask(prompt: Prompt) -> T | None:
            cancellation.check()
            return self.ask(prompt, parse)

        if len(prompts) < 2 or self._max_concurrency == 1:
            return [ask(prompt) for prompt in prompts]
        with ThreadPoolExecutor(min(self._max_concurrency, len(prompts))) as pool:
            return list(pool.map(ask, prompts))

    def _ask_until_deadline(
        self, prompts: Sequence[Prompt], parse: Callable[[str], T], time_left: SecondsLeft
    ) -> list[T | None]:
        replies: dict[int, T | None] = {}
        waiting = iter(range(len(prompts)))
        cancellation = current_cancellation()

        def work() -> None:
            while time_left() > 0 and not cancellation.is_cancelled:
                with self._lock:
                    place = next(waiting, None)
                if place is None:
                    return
                replies[place] = self.ask(prompts[place], parse)

        # Daemons, unlike the threads of a pool, do not keep the process from ending before the last reply.
        workers = [threading.Thread(target=work, daemon=True) for _ in range(min(self._max_concurrency, len(prompts)))]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join(max(0.0, time_left()))
        answered = takewhile(replies.__contains__, range(len(prompts)))
        return [replies[place] for place in answered]

    def attempt(self, prompt: Prompt, parse: Callable[[str], T], /, *, max_calls: int | None = None) -> Attempt[T]:
        """Do the same as ``ask``, and return the usage and the error of this prompt too.

        ``max_calls`` may allow fewer calls than the retries of this client do.
        """
        value, usage, problem, next_prompt = None, LLMUsage(), None, prompt
        for call in range(self._retries + 1 if max_calls is None else min(max_calls, self._retries + 1)):
            usage += LLMUsage(calls=1, retries=int(call > 0))
            try:
                with self._semaphore:
                    reply = self._llm.complete(next_prompt)
                usage += LLMUsage(0, 0, 0, reply.tokens_in, reply.tokens_out, reply.seconds, reply.cost_usd)
                value = parse(reply.text)
            except UnreadableReply as error:
                problem = str(error)
                next_prompt = replace(prompt, user=prompt.user + RETRY_PROMPT.format(problem=problem))
            except LLMError as error:
                problem, next_prompt = str(error), prompt
            else:
                break
        else:
            usage += LLMUsage(failures=1)
        with self._lock:
            self._usage += usage
        return Attempt(value, usage, problem)


def as_llm_client(llm: LLM | LLMClient | None) -> LLMClient | None:
    """Wrap a language model in an ``LLMClient``; a client or None is returned as it is."""
    return llm if isinstance(llm, LLMClient | None) else LLMClient(llm)
