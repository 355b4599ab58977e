"""A wrapper of a language model that parses replies, retries, tolerates failures and counts usage."""

import threading
from collections.abc import Callable, Iterable, MutableMapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from hashlib import blake2b
from itertools import takewhile
from typing import Generic, TypeVar

from ..errors import LLMError, LLMUnavailable, UnreadableReply
from ..language.terms import estimate_tokens
from ..model.cancellation import current_cancellation
from ..model.ports import LLM, Prompt, Reply, SecondsLeft
from ..model.reprs import call_repr
from ..model.types import LLMEstimate, LLMUsage
from ..model.validation import check_component, check_count, check_optional_count

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


MAX_FAILURES = 3
"""After so many prompts in a row without a result, no further one is sent in a run."""
RETRY_TOKENS = estimate_tokens(RETRY_PROMPT) + 60
"""What a repeated prompt has more, with the problem of the reply in words."""


@dataclass(frozen=True, slots=True)
class LLMBudget:
    """The most calls and tokens of a run, repeated prompts included; None for no limit."""

    max_calls: int | None = None
    max_tokens: int | None = None

    def __post_init__(self) -> None:
        check_optional_count("max_calls", self.max_calls)
        check_optional_count("max_tokens", self.max_tokens)


NO_LIMIT = LLMBudget()


@dataclass(frozen=True, slots=True)
class Request(Generic[T]):
    """A prompt, and what parses its reply; ``parse`` raises ``UnreadableReply`` if it cannot."""

    prompt: Prompt
    parse: Callable[[str], T]


class LLMRun:
    """Sends the prompts of one call. Not safe to share between threads.

    A prompt is sent only if the budget has room for its estimated tokens and its longest reply, and repeated only if
    the budget has room for that too. After ``MAX_FAILURES`` prompts in a row without a result, the rest are not sent.
    """

    def __init__(self, client: LLMClient, budget: LLMBudget = NO_LIMIT) -> None:
        self._client = client
        self._budget = budget
        self._failures_in_row = 0
        self._last_error = ""
        self.usage = LLMUsage()

    def ask_all(self, requests: Sequence[Request[T]]) -> list[Attempt[T]]:
        """The results of some requests, in their order; a request that was not sent has an error and no usage."""
        attempts: list[Attempt[T]] = []
        while len(attempts) < len(requests):
            current_cancellation().check()
            error, admitted = self._admit(requests[len(attempts) :])
            if not admitted:
                unsent: Attempt[T] = Attempt(None, LLMUsage(), error)
                attempts += [unsent] * (len(requests) - len(attempts))
                break
            for attempt in self._send(admitted):
                self.usage += attempt.usage
                self._failures_in_row = self._failures_in_row + 1 if attempt.value is None else 0
                self._last_error = attempt.error or self._last_error
                attempts.append(attempt)
        return attempts

    @property
    def has_given_up(self) -> bool:
        """Whether nothing is sent any more after failures in a row."""
        return self._failures_in_row >= MAX_FAILURES

    def resume(self) -> None:
        """Send prompts again after failures in a row."""
        self._failures_in_row = 0

    def ask(self, request: Request[T]) -> Attempt[T]:
        """The result of one request."""
        return self.ask_all([request])[0]

    def _send(self, admitted: Sequence[tuple[Request[T], int]]) -> list[Attempt[T]]:
        def send(item: tuple[Request[T], int]) -> Attempt[T]:
            request, max_calls = item
            return self._client.attempt(request.prompt, request.parse, max_calls=max_calls)

        if len(admitted) == 1:
            return [send(admitted[0])]
        with ThreadPoolExecutor(len(admitted)) as pool:
            return list(pool.map(send, admitted))

    def _admit(self, requests: Sequence[Request[T]]) -> tuple[str, list[tuple[Request[T], int]]]:
        """The next requests to send together, each with the calls it may take, or why none may be sent."""
        if self.has_given_up:
            return f"not asked after {MAX_FAILURES} failures in a row; the last: {self._last_error}", []
        calls, tokens = self._calls_left(), self._tokens_left()
        admitted: list[tuple[Request[T], int]] = []
        for request in requests[: self._client.max_concurrency]:
            first, repeated = _call_tokens(request.prompt), _call_tokens(request.prompt) + RETRY_TOKENS
            if calls < 1 or tokens < first:
                break
            retries = int(max(0, min(self._client.retries, calls - 1, (tokens - first) // repeated)))
            calls -= 1 + retries
            tokens -= first + retries * repeated
            admitted.append((request, 1 + retries))
        limits = (("calls", self._budget.max_calls), ("tokens", self._budget.max_tokens))
        budget = " and ".join(f"{limit:,} {name}" for name, limit in limits if limit is not None)
        return f"the budget of {budget} is used up", admitted

    def _calls_left(self) -> float:
        return float("inf") if self._budget.max_calls is None else self._budget.max_calls - self.usage.calls

    def _tokens_left(self) -> float:
        spent = self.usage.tokens_in + self.usage.tokens_out
        return float("inf") if self._budget.max_tokens is None else self._budget.max_tokens - spent


class ReplyCache:
    """The replies of a model, by digests of its prompts; in RAM, or in a mapping of the caller.

    In RAM it keeps ``max_replies``, and drops the oldest first. Safe to share between threads if the mapping is.
    """

    def __init__(self, replies: MutableMapping[str, str] | None, max_replies: int) -> None:
        self._replies: MutableMapping[str, str] = {}
        if replies is not None:
            self._replies = check_component(
                "cache", replies, "a mapping such as a dict", "get", "__getitem__", "__setitem__"
            )
        self._max_replies = max_replies if replies is None else None
        self._lock = threading.Lock()

    def get(self, *question: str) -> str | None:
        """What was written for a question, in parts; None if it is not known."""
        with self._lock:
            return self._replies.get(_digest(question))

    def put(self, reply: str, *question: str) -> None:
        """Keep what was written for a question."""
        with self._lock:
            if self._max_replies is not None and len(self._replies) >= self._max_replies:
                del self._replies[next(iter(self._replies))]
            self._replies[_digest(question)] = reply


def _digest(parts: Sequence[str]) -> str:
    return blake2b("\0".join(parts).encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


class PromptRecorder:
    """A language model that answers nothing and keeps the prompts, for an estimate of what they would cost."""

    name = "none"

    def __init__(self) -> None:
        self.prompts: list[Prompt] = []

    def complete(self, prompt: Prompt, /) -> Reply:
        """Keep the prompt and raise ``LLMUnavailable``."""
        self.prompts.append(prompt)
        raise LLMUnavailable("nothing is sent in a dry run")


def _call_tokens(prompt: Prompt) -> int:
    """The most tokens of a call, in and out."""
    return prompt_tokens(prompt) + prompt.max_tokens


def prompt_tokens(prompt: Prompt) -> int:
    """The estimated tokens of a prompt."""
    return estimate_tokens(prompt.system) + estimate_tokens(prompt.user)


def estimate_cost(prompts: Iterable[Prompt], retries: int) -> LLMEstimate:
    """What some prompts would cost if each may be repeated ``retries`` times."""
    tokens = [(prompt_tokens(prompt), prompt.max_tokens) for prompt in prompts]
    tokens_in, attempts = sum(count for count, _ in tokens), retries + 1
    return LLMEstimate(
        calls=len(tokens),
        tokens_in=tokens_in,
        max_calls=len(tokens) * attempts,
        max_tokens_in=tokens_in * attempts + RETRY_TOKENS * retries * len(tokens),
        max_tokens_out=sum(count for _, count in tokens) * attempts,
    )
