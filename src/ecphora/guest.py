"""A language model as a guest: asked for a form, asked again, done without, and what it took counted."""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import astuple, dataclass, replace
from itertools import takewhile
from typing import Generic, TypeVar

from .errors import LLMError, UnreadableReply
from .ports import LLM, Left, Prompt, Reply
from .reprs import ShortRepr, call_repr
from .validate import check_count, check_part

T = TypeVar("T")

AGAIN = """

Your last reply could not be used: {problem}
Reply once more, in the form that was asked for, and with nothing else."""
"""What is put behind a question that is asked again because its reply could not be read."""


@dataclass(frozen=True, slots=True, repr=False)
class Spent(ShortRepr):
    """What a guest took: calls, of them ``retried``; questions it ``failed``; tokens, seconds and US dollars.

    Tokens, seconds and money are those of the replies that came.
    """

    calls: int = 0
    retried: int = 0
    failed: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    seconds: float = 0.0
    money: float = 0.0

    def __add__(self, other: "Spent") -> "Spent":
        return Spent(*(mine + its for mine, its in zip(astuple(self), astuple(other), strict=True)))

    def with_reply(self, reply: Reply) -> "Spent":
        """The same and what a reply took."""
        return self + Spent(0, 0, 0, reply.tokens_in, reply.tokens_out, reply.seconds, reply.money)


@dataclass(frozen=True, slots=True)
class Attempt(Generic[T]):
    """What came of a question: ``value`` or None, what it took, and the last ``trouble`` there was, in words."""

    value: T | None
    spent: Spent
    trouble: str | None = None


class Guest:
    """A language model that may fail: what it cannot do is done without it, and counted.

    ``retries`` are the further calls after a reply that cannot be read or no reply. At most ``at_once`` calls run at a
    time. Safe to share between threads.
    """

    def __init__(self, llm: LLM, *, retries: int = 1, at_once: int = 4) -> None:
        self._llm = check_part("llm", llm, "a language model", "complete")
        self._retries = check_count("retries", retries, least=0)
        self._at_once = check_count("at_once", at_once)
        self._room = threading.BoundedSemaphore(self._at_once)
        self._lock = threading.Lock()
        self._spent = Spent()

    def __repr__(self) -> str:
        return call_repr("Guest", self._llm)

    @property
    def name(self) -> str:
        """The model and how it is run."""
        return self._llm.name

    @property
    def spent(self) -> Spent:
        """What it took so far."""
        with self._lock:
            return self._spent

    def ask(self, prompt: Prompt, read: Callable[[str], T], /) -> T | None:
        """A reply as ``read`` makes it, which raises ``UnreadableReply`` for another form; None where it failed."""
        return self.attempt(prompt, read).value

    def ask_all(
        self, prompts: Sequence[Prompt], read: Callable[[str], T], /, *, left: Left | None = None
    ) -> list[T | None]:
        """The replies to several prompts, in their order.

        ``left`` bounds the time: then only the first ones that were answered in time come back. What is still being
        asked then goes on in the background, and its reply is counted and thrown away.
        """
        if left is not None:
            return self._ask_in_time(prompts, read, left)
        if len(prompts) < 2 or self._at_once == 1:
            return [self.ask(prompt, read) for prompt in prompts]
        with ThreadPoolExecutor(min(self._at_once, len(prompts))) as pool:
            return list(pool.map(lambda prompt: self.ask(prompt, read), prompts))

    def _ask_in_time(self, prompts: Sequence[Prompt], read: Callable[[str], T], left: Left) -> list[T | None]:
        replies: dict[int, T | None] = {}
        waiting = iter(range(len(prompts)))

        def work() -> None:
            while left() > 0:
                with self._lock:
                    place = next(waiting, None)
                if place is None:
                    return
                replies[place] = self.ask(prompts[place], read)

        # Daemons, unlike the threads of a pool, do not keep the process from ending before the last reply.
        workers = [threading.Thread(target=work, daemon=True) for _ in range(min(self._at_once, len(prompts)))]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join(max(0.0, left()))
        answered = takewhile(replies.__contains__, range(len(prompts)))
        return [replies[place] for place in answered]

    def attempt(self, prompt: Prompt, read: Callable[[str], T], /) -> Attempt[T]:
        """The same as ``ask`` for one prompt, with what this one question took and what went wrong."""
        value, spent, trouble, asked = None, Spent(), None, prompt
        for call in range(self._retries + 1):
            spent += Spent(calls=1, retried=int(call > 0))
            try:
                with self._room:
                    reply = self._llm.complete(asked)
                spent = spent.with_reply(reply)
                value = read(reply.text)
            except UnreadableReply as error:
                trouble = str(error)
                asked = replace(prompt, user=prompt.user + AGAIN.format(problem=trouble))
            except LLMError as error:
                trouble, asked = str(error), prompt
            else:
                break
        else:
            spent += Spent(failed=1)
        with self._lock:
            self._spent += spent
        return Attempt(value, spent, trouble)


def as_guest(llm: LLM | Guest | None) -> Guest | None:
    """A language model as a guest; one that is one already, or none, is passed through."""
    return llm if isinstance(llm, Guest | None) else Guest(llm)
