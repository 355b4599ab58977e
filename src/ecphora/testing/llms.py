"""Language models for tests: one that follows a script, a server that does, and the contract of all."""
# ruff: noqa: S101  # these are tests

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from types import TracebackType
from typing import Any, Self

from ..errors import LLMUnavailable
from ..language.tokens import tokens
from ..ports import LLM, Prompt, Reply
from ..prompts import replies

Said = str | Mapping[str, Any] | Sequence[Any]
"""A reply: a text, or anything that is sent as JSON."""
Response = tuple[int, Mapping[str, str], Any]
"""A server's answer: status, headers, and a text or anything that is sent as JSON."""


class ScriptedLLM:
    """A language model that says what it is told to, and keeps what it was asked in ``prompts``.

    ``script`` is a list of replies, given in turn, or a function of the prompt. The calls numbered in ``fails``, from
    0, raise ``LLMUnavailable`` and take no reply of the list. A call beyond the list is a failure of the test.
    """

    def __init__(
        self, script: Sequence[Said] | Callable[[Prompt], Said], *, fails: Collection[int] = (), name: str = "scripted"
    ) -> None:
        self.name = name
        self.prompts: list[Prompt] = []
        self._script = script if callable(script) else list(script)
        self._fails = fails
        self._lock = Lock()

    def complete(self, prompt: Prompt, /) -> Reply:
        """The next reply; it takes no time and costs nothing, its tokens are estimated."""
        with self._lock:
            call = len(self.prompts)
            self.prompts.append(prompt)
            if call in self._fails:
                raise LLMUnavailable(f"call {call} fails by the script")
            if callable(self._script):
                said = self._script(prompt)
            else:
                assert self._script, f"call {call} is not in the script: {prompt.user[:200]!r}"
                said = self._script.pop(0)
        text = said if isinstance(said, str) else json.dumps(said, ensure_ascii=False)
        return Reply(text, tokens(prompt.system) + tokens(prompt.user), tokens(text), 0.0)


class ChatServer:
    """An OpenAI-compatible server on the loopback that follows a script; a context, with its address in ``url``.

    ``responses`` are given in turn, the last for ever: the text of a reply, a whole response of status, headers and
    content, or a function of the request's body that gives either. ``asked`` has the bodies, ``keys`` the
    authorizations.
    """

    def __init__(self, *responses: str | Response | Callable[[dict[str, Any]], str | Response]) -> None:
        self.responses = list(responses)
        self.asked: list[dict[str, Any]] = []
        self.keys: list[str | None] = []
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                status, headers, content = server._answer(self.path, body, self.headers["Authorization"])
                sent = (content if isinstance(content, str) else json.dumps(content)).encode()
                self.send_response(status)
                for name, value in {**headers, "Content-Length": str(len(sent))}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(sent)

            def log_message(self, *_: object) -> None:
                pass

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = Thread(target=self._http.serve_forever, args=(0.01,), daemon=True)
        self.url = f"http://127.0.0.1:{self._http.server_port}/v1"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()

    def _answer(self, path: str, body: dict[str, Any], key: str | None) -> Response:
        self.asked.append(body)
        self.keys.append(key)
        if path != "/v1/chat/completions":
            return 404, {}, {"error": {"message": f"no such path: {path}"}}
        one = self.responses.pop(0) if len(self.responses) > 1 else self.responses[0]
        given = one(body) if callable(one) else one
        return given if isinstance(given, tuple) else (200, {}, chat_answer(given))


def chat_answer(text: str, tokens_in: int = 11, tokens_out: int = 7) -> dict[str, Any]:
    """A reply as OpenAI's server wraps it."""
    usage = {"prompt_tokens": tokens_in, "completion_tokens": tokens_out, "total_tokens": tokens_in + tokens_out}
    message = {"role": "assistant", "content": text}
    return {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}], "usage": usage}


class LLMContract:
    """What every language model must keep. The fixture ``llm`` gives the one to prove; it need not be clever.

    ``broken`` gives one that cannot answer, if there is such a thing.
    """

    texts: Sequence[str] = ("Hello.", "你好", "👋", "\ud800", "\0", "<|im_end|>", '"}', "word " * 200)
    """What is asked: texts of every kind that may come."""
    schema: Mapping[str, Any] = {
        "type": "object",
        "properties": {"held": {"type": "boolean"}},
        "required": ["held"],
        "additionalProperties": False,
    }

    def broken(self) -> LLM | None:
        """One that cannot answer."""
        return None

    def test_it_says_what_it_is(self, llm: LLM) -> None:
        """By a name that stays the same."""
        assert llm.name
        assert llm.name == llm.name.strip()

    def test_it_replies_and_says_what_that_took(self, llm: LLM) -> None:
        """A text, and numbers that can be added up."""
        for text in self.texts:
            _assert_reply(llm.complete(Prompt("Reply in a word.", text, limit=4)))
        _assert_reply(llm.complete(Prompt("", "Hello.", limit=4)))

    def test_a_reply_follows_its_schema(self, llm: LLM) -> None:
        """As far as it can be read."""
        prompt = Prompt('Reply with JSON: {"held": true}', "Is water wet?", self.schema, limit=40)
        assert isinstance(replies.read(llm.complete(prompt).text, self.schema)["held"], bool)

    def test_it_may_be_asked_by_several_at_once(self, llm: LLM) -> None:
        """Every one is answered."""
        prompts = [Prompt("Reply in a word.", f"Say {number}.", limit=4) for number in range(8)]
        with ThreadPoolExecutor(4) as pool:
            for reply in pool.map(llm.complete, prompts):
                _assert_reply(reply)

    def test_one_that_cannot_answer_says_so(self) -> None:
        """By the one error that callers know, every time."""
        llm = self.broken()
        if llm is None:
            return
        for _ in range(2):
            said = ""
            try:
                llm.complete(Prompt("", "Hello."))
            except LLMUnavailable as error:
                said = str(error)
            assert said, "it answered, or did not say what is wrong"


def _assert_reply(reply: Reply) -> None:
    assert isinstance(reply.text, str)
    assert reply.tokens_in > 0
    assert reply.tokens_out >= 0
    assert reply.seconds >= 0
    assert reply.money >= 0
