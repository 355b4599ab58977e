"""The commands with a language model: what it would cost, and how texts were read."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from ecphora import InvalidInput, LLMExtractor
from ecphora.cli.main import main
from ecphora.errors import UnknownName
from ecphora.settings import load
from ecphora.testing import FakeChatServer

PORTO = {"text": 1, "name": "Porto", "type": "place", "description": "", "importance": 4}
REPLY = json.dumps({"mentions": [PORTO], "relations": []})


def ecphora(*args: str, code: int = 0) -> Result:
    result = CliRunner().invoke(main, args)
    assert result.exit_code == code, result.output
    return result


@pytest.fixture
def server(clean_environment: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeChatServer]:
    with FakeChatServer(lambda _: REPLY) as opened:
        monkeypatch.setenv("ECPHORA_LLM", "openai:small")
        monkeypatch.setenv("ECPHORA_LLM_BASE_URL", opened.url)
        monkeypatch.setenv("ECPHORA_EXTRACTOR", "llm")
        yield opened


def test_remember_dry_run_tells_the_cost_and_leaves_no_file(
    server: FakeChatServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = ecphora("remember", "--dry-run", "Ana moved to Porto.").stdout
    assert "would remember: " in shown
    assert "the language model would get 1 prompt of about" in shown
    assert "at most 2 calls" in shown
    assert "$" not in shown
    monkeypatch.setenv("ECPHORA_LLM_PRICES", "1,1000000")
    assert "500 tokens out, which is $500.00" in ecphora("remember", "--dry-run", "Ana moved to Porto.").stdout
    found = json.loads(ecphora("remember", "--dry-run", "--json", "Ana moved to Porto.").stdout)
    assert (found["estimate"]["calls"], found["extraction"]) == (1, None)
    assert not Path("ecphora.db").exists()
    assert server.requests == []


@pytest.mark.medium
def test_remember_says_how_texts_were_read(server: FakeChatServer) -> None:
    assert "the language model read 1 texts with 18 tokens" in ecphora("remember", "Ana moved to Porto.").stderr
    found = json.loads(ecphora("remember", "--json", "Ben moved to Porto.").stdout)
    assert (found["extraction"]["by_model"], found["estimate"]) == (1, None)
    assert "would remember: " in ecphora("remember", "--dry-run", "Bo moved to Porto.").stdout
    assert json.loads(ecphora("count", "--json").stdout) == {"count": 2}


def test_remember_without_the_model_says_so(clean_environment: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ECPHORA_EXTRACTOR", "llm")
    assert "the extractor is llm, and no language model is set" in ecphora("remember", "a", code=1).stderr
    with FakeChatServer("nonsense", "nonsense") as server:
        monkeypatch.setenv("ECPHORA_LLM", "openai:small")
        monkeypatch.setenv("ECPHORA_LLM_BASE_URL", server.url)
        assert "1 texts were left to the rules: it holds no JSON" in ecphora("remember", "Ana moved.").stderr


@pytest.mark.medium
def test_consolidate_dry_run_tells_the_cost(server: FakeChatServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ECPHORA_EXTRACTOR")
    ecphora("remember", "Ana moved to Porto.")
    assert "the language model would get 1 prompt" in ecphora("consolidate", "--dry-run").stdout
    found = json.loads(ecphora("consolidate", "--dry-run", "--json").stdout)
    assert (found["estimate"]["max_calls"], found["usage"]["calls"]) == (2, 0)
    assert server.requests == []


@pytest.mark.parametrize("prices", ["1", "1,2,3", "a,b", "-1,2", "inf,1", "nan,1", ""])
def test_prices_are_checked(prices: str, clean_environment: None) -> None:
    settings = load({}, arguments={"llm": "openai:m", "llm_prices": prices})
    with pytest.raises(InvalidInput, match="llm_prices"):
        settings.make_llm()


@pytest.mark.parametrize("tokens", ["0", "-3", "x", "1e3", "9" * 30])
def test_extractor_tokens_are_checked(tokens: str, clean_environment: None) -> None:
    arguments = {"llm": "openai:m", "extractor": "llm", "extractor_tokens": tokens}
    with pytest.raises(InvalidInput, match="extractor_tokens"):
        load({}, arguments=arguments).make_extractor()


def test_settings_make_the_extractor(clean_environment: None) -> None:
    values: dict[str, Any] = {"llm": "openai:m", "extractor": "llm", "extractor_tokens": "1000"}
    assert isinstance(load({}, arguments=values).make_extractor(), LLMExtractor)
    with pytest.raises(UnknownName, match="rules or llm, or the name of a plug-in"):
        load({}, arguments={"extractor": "nobody"}).make_extractor()
