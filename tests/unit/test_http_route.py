"""The way to a host: directly, or through the proxy that the environment names."""

import os
import sys
from collections.abc import Callable
from datetime import date

import pytest

from ecphora.errors import EcphoraError, EmbedderUnavailable, LLMUnavailable, RerankerUnavailable
from ecphora.model.ports import Passage, Prompt
from ecphora.models import http_client
from ecphora.models.embedders.openai_embeddings import OpenAIEmbedder
from ecphora.models.http_client import find_route
from ecphora.models.llms.openai_chat import OpenAILLM
from ecphora.models.rerankers.rerank_endpoint import EndpointReranker
from ecphora.testing import FakeRerankServer
from ecphora.testing.servers import FakeServer

NOBODY = "http://127.0.0.1:1"
"""A proxy that does not run."""
SetVariables = Callable[..., None]


@pytest.fixture
def set_proxies(monkeypatch: pytest.MonkeyPatch) -> SetVariables:
    """Sets variables of proxies, in an environment without others."""
    for name in [name for name in os.environ if name.lower().endswith("_proxy")]:
        monkeypatch.delenv(name)

    def set_variables(**variables: str) -> None:
        for name, value in variables.items():
            monkeypatch.setenv(name, value)

    return set_variables


@pytest.mark.parametrize("url", [
    "http://localhost:8765", "https://LOCALHOST", "http://127.0.0.1:8765", "http://127.8.8.8/v1", "http://[::1]:8765",
    "http://[::1]", "ftp://x", "http://[::1", "memory.example",
])  # fmt: skip
def test_loopback_and_no_address_take_no_proxy(url: str, set_proxies: SetVariables) -> None:
    set_proxies(HTTP_PROXY=NOBODY, https_proxy=NOBODY)
    assert find_route(url).proxy is None


@pytest.mark.parametrize(("variables", "url", "proxy", "source"), [
    ({"HTTP_PROXY": "http://p:3128"}, "http://memory.example:8", "http://p:3128", "HTTP_PROXY"),
    ({"http_proxy": "p:3128"}, "http://memory.example", "http://p:3128", "http_proxy"),
    ({"HTTPS_PROXY": "http://p", "HTTP_PROXY": "http://q"}, "https://memory.example", "http://p", "HTTPS_PROXY"),
    ({"ALL_PROXY": "socks5://p"}, "https://memory.example", "socks5://p", "ALL_PROXY"),
    ({"ALL_PROXY": "http://p", "HTTP_PROXY": "http://q"}, "http://10.0.0.1", "http://q", "HTTP_PROXY"),
    ({"HTTPS_PROXY": "http://p"}, "http://memory.example", None, ""),
    ({}, "http://memory.example", None, ""),
])  # fmt: skip
def test_route_takes_the_proxy_of_the_scheme(
    variables: dict[str, str], url: str, proxy: str | None, source: str, set_proxies: SetVariables
) -> None:
    set_proxies(**variables)
    route = find_route(url)
    assert (route.proxy, route.source) == (proxy, source)


@pytest.mark.parametrize(("no_proxy", "bypassed", "sent"), [
    ("memory.example", "http://memory.example:8765", "http://amemory.example"),
    (".example, other", "http://memory.example", "http://example.org"),
    ("*.example", "http://memory.example", "http://example.org"),
    ("*", "http://memory.example", None),
    ("other, *", "http://memory.example", None),
    ("memory.example:80", "http://memory.example:80", "http://memory.example:81"),
    ("10.0.0.0/8", "http://10.3.2.1", "http://11.0.0.1"),
    ("fd00::/8", "http://[fd00::7]:8765", "http://[fe00::7]"),
    ("[fd00::7]", "http://[fd00::7]:8765", "http://[fd00::8]:8765"),
    ("no/thing, Memory.Example", "http://MEMORY.example", "http://x.org/memory.example"),
])  # fmt: skip
def test_route_honors_no_proxy(no_proxy: str, bypassed: str, sent: str | None, set_proxies: SetVariables) -> None:
    set_proxies(HTTP_PROXY="http://p:3128", NO_PROXY=no_proxy)
    assert find_route(bypassed).proxy is None
    assert sent is None or find_route(sent).proxy == "http://p:3128"


@pytest.mark.medium
def test_endpoint_on_the_loopback_is_asked_directly(set_proxies: SetVariables) -> None:
    set_proxies(HTTP_PROXY=NOBODY, http_proxy=NOBODY, ALL_PROXY="socks5://127.0.0.1:1")
    with FakeRerankServer("jina") as server:
        reranker = EndpointReranker("m", shape="jina", base_url=server.url, retries=0)
        assert len(reranker.score("Where?", [Passage("Here.")], asked_on=date(2026, 5, 3))) == 1
        reranker.close()


MODELS: tuple[tuple[type[EcphoraError], Callable[[str], object]], ...] = (
    (EmbedderUnavailable, lambda url: OpenAIEmbedder("m", base_url=url, retries=0).embed(["a"])),
    (LLMUnavailable, lambda url: OpenAILLM("m", base_url=url, retries=0).complete(Prompt("", "Hello"))),
    (
        RerankerUnavailable,
        lambda url: EndpointReranker("m", shape="jina", base_url=url, retries=0).score(
            "Where?", [Passage("Here.")], asked_on=date(2026, 5, 3)
        ),
    ),
)


@pytest.mark.medium
@pytest.mark.parametrize(("error_type", "ask"), MODELS)
def test_proxy_that_does_not_run_is_named(
    error_type: type[EcphoraError], ask: Callable[[str], object], set_proxies: SetVariables
) -> None:
    set_proxies(HTTP_PROXY="http://ana:secret@127.0.0.1:1/x")
    way = "through the proxy http://127.0.0.1:1 that HTTP_PROXY names: .*; check the proxy, or add model.example to NO_"
    with pytest.raises(error_type, match=way) as caught:
        ask("http://model.example/v1")
    assert "secret" not in str(caught.value)


@pytest.mark.medium
@pytest.mark.parametrize("status", [200, 500])
def test_answer_without_end_of_an_endpoint_is_not_read_to_the_end(status: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_client, "MAX_ANSWER_BYTES", 1 << 20)
    with FakeServer("/v1/embeddings", (status, {}, "1" * (2 << 20))) as server:
        model = OpenAIEmbedder("m", base_url=f"{server.address}/v1", retries=0)
        with pytest.raises(EmbedderUnavailable, match="answers with more than 1 MiB"):
            model.embed(["a"])
        model.close()


@pytest.mark.parametrize(("error_type", "ask"), MODELS)
def test_proxy_that_cannot_be_used_names_the_mend(
    error_type: type[EcphoraError],
    ask: Callable[[str], object],
    set_proxies: SetVariables,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "socksio", None)
    set_proxies(ALL_PROXY="socks5://127.0.0.1:1")
    with pytest.raises(
        error_type, match=r"ALL_PROXY names is a SOCKS proxy.*pip install 'httpx2\[socks\]', or add mod"
    ):
        ask("http://model.example/v1")
    set_proxies(ALL_PROXY="gopher://127.0.0.1:1")
    with pytest.raises(
        error_type, match=r"gopher://127\.0\.0\.1:1 that ALL_PROXY names cannot be used; give http://HO"
    ):
        ask("http://model.example/v1")
    set_proxies(ALL_PROXY="http://p:x")
    with pytest.raises(error_type, match="cannot be used"):
        ask("http://model.example/v1")
