"""The adapters of language models: requests, replies, and errors."""

import sys
import types
from pathlib import Path
from typing import Any

import pytest

from ecphora.errors import InvalidInput, LLMUnavailable, UnknownName
from ecphora.language.terms import estimate_tokens
from ecphora.model.ports import LLM, Prompt, Reply
from ecphora.models.llms.llamacpp import LlamaCppLLM
from ecphora.models.llms.openai_chat import OpenAILLM
from ecphora.settings import Settings, load
from ecphora.testing import FakeChatServer, ScriptedLLM
from ecphora.testing.llms import chat_completion
from ecphora.testing.servers import Response

KEY = "sk-secret-123"
SCHEMA = {"type": "object", "properties": {"held": {"type": "boolean"}}, "required": ["held"]}
PROMPT = Prompt("Be brief.", "Hello.")
SCHEMA_PROMPT = Prompt("Be brief.", "Is it held?", SCHEMA, max_tokens=9)


def chat(server: FakeChatServer, **options: Any) -> OpenAILLM:
    waits: list[float] = options.pop("waits", [])
    return OpenAILLM("small", base_url=server.url, api_key=KEY, sleep=waits.append, **options)


def ask(server: FakeChatServer, prompt: Prompt = PROMPT, **options: Any) -> Reply:
    llm = chat(server, **options)
    try:
        return llm.complete(prompt)
    finally:
        llm.close()


def reject_word(word: str, message: str) -> Any:
    """The reply of a server that rejects bodies with a word."""

    def answer(body: dict[str, Any]) -> str | Response:
        return (400, {}, {"error": {"message": message}}) if word in str(body) else '{"held": true}'

    return answer


# ---- OpenAI


def test_request_and_cost() -> None:
    with FakeChatServer("Good day.") as server:
        reply = ask(server, prices=(2.0, 10.0), seed=3)
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


def test_tokens_are_estimated_if_the_server_counts_none() -> None:
    with FakeChatServer((200, {}, {"choices": [{"message": {"content": "Good day."}}]})) as server:
        reply = ask(server)
    assert reply.tokens_in == estimate_tokens("Be brief.") + estimate_tokens("Hello.")
    assert reply.tokens_out == estimate_tokens("Good day.")


def test_schema_is_sent_as_response_format() -> None:
    with FakeChatServer('{"held": true}') as server:
        ask(server, SCHEMA_PROMPT)
    assert server.requests[0]["response_format"] == {
        "type": "json_schema",
        "json_schema": {"name": "reply", "strict": True, "schema": SCHEMA},
    }
    assert server.requests[0]["max_tokens"] == 9


@pytest.mark.parametrize("status", [400, 422])
def test_server_without_schema_support_is_asked_without_from_then_on(status: int) -> None:
    def answer(body: dict[str, Any]) -> str | Response:
        format_type = body.get("response_format", {}).get("type")
        return (status, {}, {"detail": "what is this?"}) if format_type else '{"held": true}'

    with FakeChatServer(answer) as server:
        llm = chat(server)
        for _ in range(2):
            assert llm.complete(SCHEMA_PROMPT).text == '{"held": true}'
        llm.close()
    forms = [body.get("response_format", {}).get("type") for body in server.requests]
    assert forms == ["json_schema", "json_object", None, None]
    assert '"held"' in server.requests[2]["messages"][0]["content"]
    assert '"held"' not in server.requests[0]["messages"][0]["content"]


@pytest.mark.parametrize(
    ("word", "message", "expected"),
    [
        ("max_tokens", "Unsupported parameter: use 'max_completion_tokens'", {"max_completion_tokens": 512}),
        ("temperature", "temperature does not support 0", {"max_tokens": 512, "seed": 0}),
        ("seed", "unknown field: seed", {"max_tokens": 512, "temperature": 0}),
    ],
)
def test_unsupported_parameter_is_left_out(word: str, message: str, expected: dict[str, int]) -> None:
    with FakeChatServer(reject_word(f"'{word}'", message)) as server:
        ask(server)
    assert word not in server.requests[1]
    assert expected.items() <= server.requests[1].items()
    assert len(server.requests) == 2


def test_prompt_rejected_in_every_form_changes_no_options() -> None:
    with FakeChatServer(reject_word("Is it", "the context is too long")) as server:
        llm = chat(server)
        with pytest.raises(LLMUnavailable, match="400 the context is too long"):
            llm.complete(SCHEMA_PROMPT)
        llm.complete(Prompt("", "Hello.", SCHEMA))
        llm.close()
    assert server.requests[-1]["response_format"]["type"] == "json_schema"
    assert len(server.requests) == 4


def test_retry_waits_as_the_server_asks() -> None:
    waits: list[float] = []
    with FakeChatServer((429, {"Retry-After": "7"}, ""), (503, {}, {}), "Hello.") as server:
        assert ask(server, waits=waits).text == "Hello."
    assert waits == [7, 1]


def test_request_fails_after_its_retries() -> None:
    waits: list[float] = []
    with (
        FakeChatServer((429, {}, {"error": "quota"})) as server,
        pytest.raises(LLMUnavailable, match=r"small at 127\.0\.0\.1.*429 quota; wait, or ask for a higher quota"),
    ):
        ask(server, waits=waits, retries=1)
    assert waits == [0.5]


def test_unreachable_server_is_an_error() -> None:
    with FakeChatServer("") as server:
        pass
    with pytest.raises(LLMUnavailable, match="check the base URL, and that the server runs"):
        ask(server, retries=0)


@pytest.mark.parametrize(("status", "advice"), [(401, "check the API key"), (404, "check the model's name")])
def test_error_has_advice_and_hides_the_key(status: int, advice: str) -> None:
    with (
        FakeChatServer((status, {}, {"error": {"message": f"bad key {KEY}"}})) as server,
        pytest.raises(LLMUnavailable, match=rf"bad key \*\*\*; {advice}") as caught,
    ):
        ask(server)
    assert len(server.requests) == 1
    assert KEY not in str(caught.value)
    assert KEY not in repr(OpenAILLM("small", api_key=KEY))


@pytest.mark.parametrize(
    "answer",
    [{}, [], {"choices": []}, {"choices": [{"message": {"content": 7}}]}, {"choices": [{"message": "x"}]}, "<html>",
     {**chat_completion("x"), "usage": {"prompt_tokens": "many"}}, {**chat_completion("x"), "usage": [1]}],
)  # fmt: skip
def test_invalid_chat_completion_is_an_error(answer: Any) -> None:
    with FakeChatServer((200, {}, answer)) as server, pytest.raises(LLMUnavailable, match=r"small at 127\.0\.0\.1"):
        ask(server)


def test_empty_reply_is_valid() -> None:
    with FakeChatServer((200, {}, {"choices": [{"message": {"content": None}}]})) as server:
        assert ask(server).text == ""


@pytest.mark.parametrize("options", [{"retries": -1}, {"api_key": "sk-1\n"}, {"prices": (-1.0, 0.0)}])
def test_invalid_options_are_rejected(options: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        OpenAILLM("small", **options)


def test_missing_httpx2_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "httpx2", None)
    with pytest.raises(LLMUnavailable, match=r"ecphora\[openai\]"):
        OpenAILLM("small").complete(PROMPT)


# ---- llama.cpp


class FakeServer:
    """The part of ``xllamacpp`` that the adapter uses."""

    created: list[Any]
    requests: list[dict[str, Any]]
    answer: Any

    def __init__(self, params: Any) -> None:
        if self.answer == "no model":
            raise RuntimeError("Failed to init server")
        self.created.append(params)

    def handle_chat_completions(self, request: dict[str, Any]) -> Any:
        self.requests.append(request)
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> type[FakeServer]:
    class Fresh(FakeServer):
        created, requests = [], []
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


def test_llamacpp_model_is_loaded_once(engine: type[FakeServer], gguf: Path) -> None:
    llm = LlamaCppLLM(gguf, context_tokens=128, threads=1)
    assert not engine.created
    assert llm.complete(SCHEMA_PROMPT).text == "Hello."
    llm.complete(Prompt("", "\ud800"))
    assert len(engine.created) == 1
    params = engine.created[0]
    assert (params.n_ctx, params.cpuparams.n_threads, params.model.path) == (128, 1, str(gguf))
    assert params.offline is True
    assert len(params.api_keys[0]) > 30
    assert params.endpoint_slots is False
    assert engine.requests[0]["response_format"] == {"type": "json_object", "schema": SCHEMA}
    assert engine.requests[0]["max_tokens"] == 9
    assert engine.requests[1]["messages"] == [{"role": "user", "content": "?"}]
    assert llm.name == "tiny@llamacpp"
    llm.close()
    llm.complete(PROMPT)
    assert len(engine.created) == 2


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ({"error": {"message": "request exceeds the context"}}, "exceeds the context; ask with less"),
        (ValueError("no schema"), "does not accept the prompt: no schema"),
        ("no model", "cannot be loaded"),
    ],
)
def test_llamacpp_error_names_the_problem(engine: type[FakeServer], gguf: Path, answer: Any, message: str) -> None:
    engine.answer = answer
    with pytest.raises(LLMUnavailable, match=message):
        LlamaCppLLM(gguf).complete(PROMPT)


def test_llamacpp_error_names_a_missing_file_or_extra(
    engine: type[FakeServer], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(LLMUnavailable, match="there is no file"):
        LlamaCppLLM(tmp_path / "none.gguf").complete(PROMPT)
    (tmp_path / "text").write_text("hello")
    with pytest.raises(LLMUnavailable, match="is not a GGUF file"):
        LlamaCppLLM(tmp_path / "text").complete(PROMPT)
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    with pytest.raises(LLMUnavailable, match=r"ecphora\[llamacpp\]"):
        LlamaCppLLM(tmp_path / "none.gguf").complete(PROMPT)
    with pytest.raises(InvalidInput):
        LlamaCppLLM("x", context_tokens=0)


# ---- settings


def test_settings_create_the_language_model(tmp_path: Path) -> None:
    assert Settings().make_llm() is None
    models: list[LLM | None] = [
        Settings(llm="openai:gpt").make_llm(),
        Settings(llm=f"llamacpp:{tmp_path}/a.gguf").make_llm(),
    ]
    assert [llm and llm.name for llm in models] == ["gpt@openai", "a@llamacpp"]
    for invalid in ("gpt", "openai:", "llamacpp:", "other:x"):
        with pytest.raises(UnknownName, match="openai:MODEL or llamacpp:PATH"):
            Settings(llm=invalid).make_llm()


def test_settings_choose_the_base_url(tmp_path: Path) -> None:
    environment = {"ECPHORA_LLM": "openai:gpt", "ECPHORA_OPENAI_BASE_URL": "http://one/v1", "OPENAI_API_KEY": KEY}
    with FakeChatServer("Hello.") as server:
        for environ in (
            {**environment, "ECPHORA_OPENAI_BASE_URL": server.url},
            {**environment, "ECPHORA_LLM_BASE_URL": server.url},
        ):
            llm = load(environ, tmp_path).make_llm()
            assert isinstance(llm, OpenAILLM)
            llm.complete(PROMPT)
            llm.close()
    assert server.authorizations == [f"Bearer {KEY}"] * 2
    assert KEY not in repr(load(environment, tmp_path))


# ---- the scripted model


def test_finished_script_is_an_assertion_error() -> None:
    llm = ScriptedLLM(["one", {"two": 2}], failing_calls={1})
    assert llm.complete(PROMPT).text == "one"
    with pytest.raises(LLMUnavailable):
        llm.complete(PROMPT)
    assert llm.complete(PROMPT).text == '{"two": 2}'
    with pytest.raises(AssertionError, match="call 3 is not in the script: 'Hello"):
        llm.complete(PROMPT)
