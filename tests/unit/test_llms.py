"""The adapters of language models: what is sent, what is understood, and that what breaks says so."""

import sys
import types
from pathlib import Path
from typing import Any

import pytest

from ecphora.errors import InvalidInput, LLMUnavailable, UnknownName
from ecphora.language.token_count import estimate_tokens
from ecphora.llms.llamacpp import LlamaCppLLM
from ecphora.llms.openai_chat import OpenAILLM
from ecphora.ports import LLM, Prompt, Reply
from ecphora.settings import Settings, load
from ecphora.testing import FakeChatServer, ScriptedLLM
from ecphora.testing.llms import Response, chat_completion

KEY = "sk-secret-123"
SCHEMA = {"type": "object", "properties": {"held": {"type": "boolean"}}, "required": ["held"]}
PLAIN = Prompt("Be brief.", "Hello.")
FORMED = Prompt("Be brief.", "Is it held?", SCHEMA, max_tokens=9)


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "all_proxy", "HTTP_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)


def chat(server: FakeChatServer, **options: Any) -> OpenAILLM:
    waits: list[float] = options.pop("waits", [])
    return OpenAILLM("small", base_url=server.url, api_key=KEY, sleep=waits.append, **options)


def asked(server: FakeChatServer, prompt: Prompt = PLAIN, **options: Any) -> Reply:
    llm = chat(server, **options)
    try:
        return llm.complete(prompt)
    finally:
        llm.close()


def refusing(word: str, message: str) -> Any:
    """A server that takes no body in which a word stands."""

    def answer(body: dict[str, Any]) -> str | Response:
        return (400, {}, {"error": {"message": message}}) if word in str(body) else '{"held": true}'

    return answer


# ---- OpenAI


def test_what_is_sent_and_what_it_cost() -> None:
    with FakeChatServer("Good day.") as server:
        reply = asked(server, prices=(2.0, 10.0), seed=3)
    assert server.requests == [
        {
            "model": "small",
            "max_tokens": 512,
            "stream": False,
            "temperature": 0,
            "seed": 3,
            "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hello."}],
        }
    ]
    assert server.authorizations == [f"Bearer {KEY}"]
    assert (reply.text, reply.tokens_in, reply.tokens_out) == ("Good day.", 11, 7)
    assert reply.cost_usd == pytest.approx((11 * 2 + 7 * 10) / 1e6)
    assert 0 < reply.seconds < 60


def test_tokens_are_estimated_where_the_server_counts_none() -> None:
    with FakeChatServer((200, {}, {"choices": [{"message": {"content": "Good day."}}]})) as server:
        reply = asked(server)
    assert reply.tokens_in == estimate_tokens("Be brief.") + estimate_tokens("Hello.")
    assert reply.tokens_out == estimate_tokens("Good day.")


def test_a_schema_is_sent_as_such() -> None:
    with FakeChatServer('{"held": true}') as server:
        asked(server, FORMED)
    assert server.requests[0]["response_format"] == {
        "type": "json_schema",
        "json_schema": {"name": "reply", "strict": True, "schema": SCHEMA},
    }
    assert server.requests[0]["max_tokens"] == 9


@pytest.mark.parametrize("status", [400, 422])
def test_a_server_that_takes_no_schema_is_asked_in_words_from_then_on(status: int) -> None:
    def answer(body: dict[str, Any]) -> str | Response:
        form = body.get("response_format", {}).get("type")
        return (status, {}, {"detail": "what is this?"}) if form else '{"held": true}'

    with FakeChatServer(answer) as server:
        llm = chat(server)
        for _ in range(2):
            assert llm.complete(FORMED).text == '{"held": true}'
        llm.close()
    forms = [body.get("response_format", {}).get("type") for body in server.requests]
    assert forms == ["json_schema", "json_object", None, None]
    assert '"held"' in server.requests[2]["messages"][0]["content"]
    assert '"held"' not in server.requests[0]["messages"][0]["content"]


@pytest.mark.parametrize(
    ("word", "message", "left"),
    [
        ("max_tokens", "Unsupported parameter: use 'max_completion_tokens'", {"max_completion_tokens": 512}),
        ("temperature", "temperature does not support 0", {"max_tokens": 512, "seed": 0}),
        ("seed", "unknown field: seed", {"max_tokens": 512, "temperature": 0}),
    ],
)
def test_what_a_server_does_not_know_is_left_out(word: str, message: str, left: dict[str, int]) -> None:
    with FakeChatServer(refusing(f"'{word}'", message)) as server:
        asked(server)
    assert word not in server.requests[1]
    assert left.items() <= server.requests[1].items()
    assert len(server.requests) == 2


def test_a_prompt_that_is_refused_in_every_form_changes_nothing() -> None:
    with FakeChatServer(refusing("Is it", "the context is too long")) as server:
        llm = chat(server)
        with pytest.raises(LLMUnavailable, match="400 the context is too long"):
            llm.complete(FORMED)
        llm.complete(Prompt("", "Hello.", SCHEMA))
        llm.close()
    assert server.requests[-1]["response_format"]["type"] == "json_schema"
    assert len(server.requests) == 4


def test_it_waits_as_long_as_the_server_asks() -> None:
    waits: list[float] = []
    with FakeChatServer((429, {"Retry-After": "7"}, ""), (503, {}, {}), "Hello.") as server:
        assert asked(server, waits=waits).text == "Hello."
    assert waits == [7, 1]


def test_it_gives_up_after_its_retries() -> None:
    waits: list[float] = []
    with (
        FakeChatServer((429, {}, {"error": "quota"})) as server,
        pytest.raises(LLMUnavailable, match=r"small at 127\.0\.0\.1.*429 quota; wait, or ask for a higher quota"),
    ):
        asked(server, waits=waits, retries=1)
    assert waits == [0.5]


def test_nobody_there_is_said_so() -> None:
    with FakeChatServer("") as server:
        pass
    with pytest.raises(LLMUnavailable, match="check the base URL, and that the server runs"):
        asked(server, retries=0)


@pytest.mark.parametrize(("status", "mend"), [(401, "check the API key"), (404, "check the model's name")])
def test_a_refusal_names_its_mend_and_not_the_key(status: int, mend: str) -> None:
    with (
        FakeChatServer((status, {}, {"error": {"message": f"bad key {KEY}"}})) as server,
        pytest.raises(LLMUnavailable, match=rf"bad key \*\*\*; {mend}") as caught,
    ):
        asked(server)
    assert len(server.requests) == 1
    assert KEY not in str(caught.value)
    assert KEY not in repr(OpenAILLM("small", api_key=KEY))


@pytest.mark.parametrize(
    "answer",
    [{}, [], {"choices": []}, {"choices": [{"message": {"content": 7}}]}, {"choices": [{"message": "x"}]}, "<html>",
     {**chat_completion("x"), "usage": {"prompt_tokens": "many"}}, {**chat_completion("x"), "usage": [1]}],
)  # fmt: skip
def test_what_is_no_chat_is_said_so(answer: Any) -> None:
    with FakeChatServer((200, {}, answer)) as server, pytest.raises(LLMUnavailable, match=r"small at 127\.0\.0\.1"):
        asked(server)


def test_an_empty_reply_is_a_reply() -> None:
    with FakeChatServer((200, {}, {"choices": [{"message": {"content": None}}]})) as server:
        assert asked(server).text == ""


@pytest.mark.parametrize("options", [{"retries": -1}, {"api_key": "sk-1\n"}, {"prices": (-1.0, 0.0)}])
def test_options_that_cannot_work_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        OpenAILLM("small", **options)


def test_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "httpx", None)
    with pytest.raises(LLMUnavailable, match=r"ecphora\[openai\]"):
        OpenAILLM("small").complete(PLAIN)


# ---- llama.cpp


class Engine:
    """What the adapter uses of ``xllamacpp``."""

    given: list[Any]
    asked: list[dict[str, Any]]
    answer: Any

    def __init__(self, params: Any) -> None:
        if self.answer == "no model":
            raise RuntimeError("Failed to init server")
        self.given.append(params)

    def handle_chat_completions(self, request: dict[str, Any]) -> Any:
        self.asked.append(request)
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> type[Engine]:
    class Fresh(Engine):
        given, asked = [], []
        answer = chat_completion("Hello.")

    def params() -> types.SimpleNamespace:
        parts = ("model", "cpuparams", "cpuparams_batch")
        return types.SimpleNamespace(**{part: types.SimpleNamespace() for part in parts})

    module = types.ModuleType("xllamacpp")
    monkeypatch.setattr(module, "Server", Fresh, raising=False)
    monkeypatch.setattr(module, "CommonParams", params, raising=False)
    monkeypatch.setitem(sys.modules, "xllamacpp", module)
    return Fresh


@pytest.fixture
def gguf(tmp_path: Path) -> Path:
    path = tmp_path / "tiny.gguf"
    path.write_bytes(b"GGUF and more")
    return path


def test_llamacpp_is_loaded_once_and_locked(engine: type[Engine], gguf: Path) -> None:
    llm = LlamaCppLLM(gguf, context_tokens=128, threads=1)
    assert not engine.given
    assert llm.complete(FORMED).text == "Hello."
    llm.complete(Prompt("", "\ud800"))
    assert len(engine.given) == 1
    params = engine.given[0]
    assert (params.n_ctx, params.cpuparams.n_threads, params.model.path) == (128, 1, str(gguf))
    assert params.offline is True
    assert len(params.api_keys[0]) > 30
    assert params.endpoint_slots is False
    assert engine.asked[0]["response_format"] == {"type": "json_object", "schema": SCHEMA}
    assert engine.asked[0]["max_tokens"] == 9
    assert engine.asked[1]["messages"] == [{"role": "user", "content": "?"}]
    assert llm.name == "tiny@llamacpp"
    llm.close()
    llm.complete(PLAIN)
    assert len(engine.given) == 2


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ({"error": {"message": "request exceeds the context"}}, "exceeds the context; ask with less"),
        (ValueError("no schema"), "does not accept the prompt: no schema"),
        ("no model", "cannot be loaded"),
    ],
)
def test_llamacpp_says_what_is_wrong(engine: type[Engine], gguf: Path, answer: Any, message: str) -> None:
    engine.answer = answer
    with pytest.raises(LLMUnavailable, match=message):
        LlamaCppLLM(gguf).complete(PLAIN)


def test_llamacpp_names_what_is_missing(engine: type[Engine], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(LLMUnavailable, match="there is no file"):
        LlamaCppLLM(tmp_path / "none.gguf").complete(PLAIN)
    (tmp_path / "text").write_text("hello")
    with pytest.raises(LLMUnavailable, match="is not a GGUF file"):
        LlamaCppLLM(tmp_path / "text").complete(PLAIN)
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    with pytest.raises(LLMUnavailable, match=r"ecphora\[llamacpp\]"):
        LlamaCppLLM(tmp_path / "none.gguf").complete(PLAIN)
    with pytest.raises(InvalidInput):
        LlamaCppLLM("x", context_tokens=0)


# ---- settings


def test_a_language_model_is_made_from_a_setting(tmp_path: Path) -> None:
    assert Settings().make_llm() is None
    made: list[LLM | None] = [
        Settings(llm="openai:gpt").make_llm(),
        Settings(llm=f"llamacpp:{tmp_path}/a.gguf").make_llm(),
    ]
    assert [llm and llm.name for llm in made] == ["gpt@openai", "a@llamacpp"]
    for wrong in ("gpt", "openai:", "llamacpp:", "other:x"):
        with pytest.raises(UnknownName, match="openai:MODEL or llamacpp:PATH"):
            Settings(llm=wrong).make_llm()


def test_where_a_language_model_is_asked(tmp_path: Path) -> None:
    environment = {"ECPHORA_LLM": "openai:gpt", "ECPHORA_OPENAI_BASE_URL": "http://one/v1", "OPENAI_API_KEY": KEY}
    with FakeChatServer("Hello.") as server:
        for given in (
            {**environment, "ECPHORA_OPENAI_BASE_URL": server.url},
            {**environment, "ECPHORA_LLM_BASE_URL": server.url},
        ):
            llm = load(given, tmp_path).make_llm()
            assert isinstance(llm, OpenAILLM)
            llm.complete(PLAIN)
            llm.close()
    assert server.authorizations == [f"Bearer {KEY}"] * 2
    assert KEY not in repr(load(environment, tmp_path))


# ---- the scripted one


def test_a_script_that_has_run_out_fails_the_test() -> None:
    llm = ScriptedLLM(["one", {"two": 2}], failing_calls={1})
    assert llm.complete(PLAIN).text == "one"
    with pytest.raises(LLMUnavailable):
        llm.complete(PLAIN)
    assert llm.complete(PLAIN).text == '{"two": 2}'
    with pytest.raises(AssertionError, match="call 3 is not in the script: 'Hello"):
        llm.complete(PLAIN)
