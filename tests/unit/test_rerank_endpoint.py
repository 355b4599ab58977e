"""The reranker of rerank endpoints: requests, scores and wrong answers."""

import sys
from contextlib import closing
from datetime import date
from typing import Any

import pytest

from ecphora.errors import InvalidInput, RerankerUnavailable
from ecphora.model.ports import Passage
from ecphora.models.rerankers.rerank_endpoint import EndpointReranker
from ecphora.testing import FakeRerankServer

KEY = "sk-secret-123"
QUESTION, TODAY = "Where does Ana live?", date(2026, 5, 3)
PASSAGES = [
    Passage("In Porto.", "Ana", date(2026, 5, 1), title="Chat", previous_turn="Bo: Where do you live?"),
    Passage("Lunch is ready."),
]
TEXTS = ["Bo: Where do you live?\nChat · 2026-05-01 Ana: In Porto.", "Lunch is ready."]


COMMON = {"query": QUESTION, "model": "small", "documents": TEXTS, "top_n": 2}


@pytest.mark.parametrize(
    ("shape", "body"),
    [
        ("jina", {**COMMON, "return_documents": False}),
        ("cohere", COMMON),
        ("vllm", {**COMMON, "truncate_prompt_tokens": -1}),
        ("tei", {"query": QUESTION, "texts": TEXTS, "raw_scores": True, "return_text": False, "truncate": True}),
        ("llama-server", COMMON),
    ],
)
def test_request_has_the_form_of_its_shape(shape: str, body: dict[str, Any]) -> None:
    with (
        FakeRerankServer(shape) as server,
        closing(EndpointReranker("small", shape=shape, base_url=server.url, api_key=KEY)) as reranker,
    ):
        reranker.score(QUESTION, PASSAGES, asked_on=TODAY)
    assert server.requests == [body]
    assert server.authorizations == [f"Bearer {KEY}"]


@pytest.mark.parametrize(
    ("shape", "name"),
    [
        ("jina", "m at api.jina.ai (jina)"),
        ("cohere", "m at api.cohere.com (cohere)"),
        ("vllm", "m at localhost:8000 (vllm)"),
    ],
)
def test_endpoint_has_a_usual_address(shape: str, name: str) -> None:
    assert EndpointReranker("m", shape=shape).name == name


def test_name_has_no_secrets() -> None:
    reranker = EndpointReranker("m", shape="tei", base_url="http://user:pass@host:8080", api_key=KEY)
    assert reranker.name == "m at host:8080 (tei)"
    assert KEY not in repr(reranker)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"shape": "other"}, "jina, cohere, vllm, tei, llama-server"),
        ({"shape": "tei"}, "base_url is missing"),
        ({"shape": "jina", "base_url": ""}, "base_url"),
        ({"shape": "jina", "scale": "cosine"}, "'log_odds' or 'probability'"),
        ({"shape": "jina", "batch_size": 0}, "batch_size"),
        ({"shape": "jina", "api_key": "sk-1\n"}, "API key"),
    ],
)
def test_invalid_options_are_rejected(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        EndpointReranker("m", **options)


def rerank(*responses: Any, **options: Any) -> list[float]:
    waits: list[float] = options.pop("waits", [])
    with (
        FakeRerankServer("jina", *responses) as server,
        closing(EndpointReranker("m", shape="jina", base_url=server.url, sleep=waits.append, **options)) as reranker,
    ):
        return [round(float(score), 2) for score in reranker.score(QUESTION, PASSAGES, asked_on=TODAY)]


def results(*scores: object) -> dict[str, Any]:
    return {"results": [{"index": index, "relevance_score": score} for index, score in enumerate(scores)][::-1]}


def test_probabilities_become_log_odds() -> None:
    assert rerank(results(0.5, 0.9)) == [0, 2.2]
    assert rerank(results(0, 1)) == [-13.82, 13.82]
    assert rerank(results(-1e-9, 1 + 1e-9)) == [-13.82, 13.82]


@pytest.mark.medium
def test_logits_are_not_taken_for_probabilities() -> None:
    with pytest.raises(RerankerUnavailable, match=r"from -3\.5 to 0\.2.*scale='log_odds'"):
        rerank(results(-3.5, 0.2))
    with pytest.raises(RerankerUnavailable, match=r"from 0\.2 to 3\.5.*scale='log_odds'"):
        rerank(results(3.5, 0.2))
    assert rerank(results(-3.5, 0.2), scale="log_odds") == [-3.5, 0.2]


def test_empty_passage_is_sent_as_a_space() -> None:
    with (
        FakeRerankServer("jina") as server,
        closing(EndpointReranker("m", shape="jina", base_url=server.url)) as reranker,
    ):
        reranker.score(QUESTION, [Passage("")], asked_on=TODAY)
    assert server.requests[0]["documents"] == [" "]


@pytest.mark.medium
def test_request_is_sent_again_after_an_error_of_the_server() -> None:
    waits: list[float] = []
    assert rerank((503, {}, "busy"), results(0.5, 0.9), waits=waits) == [0, 2.2]
    assert waits == [0.5]
    with pytest.raises(RerankerUnavailable, match=r"m at 127.*gives no scores: 503 busy"):
        rerank((503, {}, "busy"), waits=waits)
    with pytest.raises(RerankerUnavailable, match="401 no such key; check the API key"):
        rerank((401, {}, {"detail": "no such key"}))


@pytest.mark.parametrize(
    "answer",
    [
        results(0.5),
        results(0.5, 0.5, 0.5),
        {"results": [{"index": 0, "relevance_score": 0.5}, {"index": 0, "relevance_score": 0.5}]},
        {"results": [{"index": index, "relevance_score": 0.5} for index in (0, 1, 1)]},
        {"results": [{"index": 0, "score": 0.5}, {"index": 1, "score": 0.5}]},
        results("high", "low"),
        results(None, 0.5),
        results(float("nan"), 0.5),
        {"results": None},
        {"scores": []},
        [{"index": 0, "relevance_score": 0.5}],
        "<html>",
    ],
)
def test_invalid_response_is_an_error(answer: Any) -> None:
    with pytest.raises(RerankerUnavailable, match="m at 127"):
        rerank(answer)


def test_missing_httpx2_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "httpx2", None)
    with pytest.raises(RerankerUnavailable, match=r"ecphora\[openai\]"):
        EndpointReranker("m", shape="jina").score(QUESTION, PASSAGES, asked_on=TODAY)
