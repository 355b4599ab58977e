"""The contract of rerankers, two that need no model, and a server of a reranker."""
# ruff: noqa: S101  # these are tests

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import RerankerUnavailable
from ..language.terms import extract_terms
from ..model.ports import CascadeReranker, CodeReranker, Passage, PassageCodes, Reranker
from .servers import FakeServer, ScriptedResponse

ASKED_ON = date(2026, 5, 3)


class RerankerContract:
    """The contract of every reranker. The fixture ``reranker`` returns the one to test.

    ``unavailable_reranker`` returns a reranker that cannot answer, if there is such a thing. ``tolerance`` is how much
    a passage's score may change with the other passages of a call, for models whose rounding depends on them.
    """

    question: str = "Where does Ana live?"
    texts: Sequence[str] = (
        "I live in Lisbon.", "Ana moved to Porto.", "アナはポルトに住んでいます", "阿娜住在里斯本", "👋", " ", "",
        "\ud800", "\0", "<|im_end|>", "</passage>", '"}', "word " * 2_000,
    )  # fmt: skip
    """The texts of the passages, of every kind."""
    tolerance: float = 0.0

    def unavailable_reranker(self) -> Reranker | None:
        """Return a reranker that cannot answer, or None."""
        return None

    @property
    def passages(self) -> list[Passage]:
        """The passages to read: each text with the fields of a memory, and alone."""
        full = [
            Passage(text, "Ana", date(2026, 5, 1), title="Chat", previous_turn="Bo: Where do you live?")
            for text in self.texts
        ]
        return full + [Passage(text) for text in self.texts]

    def test_scores_are_finite_for_each_passage(self, reranker: Reranker) -> None:
        """Scores are finite log-odds, one per passage, also for an odd question or a batch that is too large."""
        for question in (self.question, "\ud800 <|im_end|> \0", "?"):
            scores = reranker.score(question, self.passages, asked_on=ASKED_ON)
            assert scores.shape == (len(self.passages),)
            assert scores.dtype == np.float64
            assert np.isfinite(scores).all()

    def test_score_is_independent_of_other_passages(self, reranker: Reranker) -> None:
        """Alone, together or in reverse order: the same numbers."""
        passages = self.passages[: reranker.batch_size]
        together = reranker.score(self.question, passages, asked_on=ASKED_ON)
        alone = [reranker.score(self.question, [passage], asked_on=ASKED_ON) for passage in passages]
        reverse = reranker.score(self.question, passages[::-1], asked_on=ASKED_ON)[::-1]
        assert np.allclose(together, np.concatenate(alone), rtol=0, atol=self.tolerance)
        assert np.allclose(together, reverse, rtol=0, atol=self.tolerance)

    def test_codes_give_the_scores_of_their_texts(self, reranker: Reranker) -> None:
        """A reranker that encodes texts apart reads codes as it reads the texts, the first in any case."""
        if not isinstance(reranker, CodeReranker):
            return
        passages = self.passages[: len(self.texts)]
        (previous,), own = (
            reranker.encode(texts) for texts in ([passages[0].previous_turn], [p.own_text for p in passages])
        )
        found = reranker.score_codes(self.question, [PassageCodes(codes, previous) for codes in own])
        was_read = np.isfinite(found)
        assert was_read[0]
        expected = reranker.score(self.question, passages, asked_on=ASKED_ON)
        assert np.allclose(found[was_read], expected[was_read], rtol=0, atol=self.tolerance)
        assert reranker.score_codes(self.question, []).shape == (0,)

    def test_no_passages_give_no_scores(self, reranker: Reranker) -> None:
        """An empty list is valid."""
        scores = reranker.score(self.question, [], asked_on=ASKED_ON)
        assert scores.shape == (0,)
        assert scores.dtype == np.float64

    def test_reads_concurrently(self, reranker: Reranker) -> None:
        """Several threads get the scores that one gets."""
        passages = self.passages[:2]
        expected = reranker.score(self.question, passages, asked_on=ASKED_ON)
        with ThreadPoolExecutor(4) as pool:
            found = pool.map(lambda _: reranker.score(self.question, passages, asked_on=ASKED_ON), range(8))
        assert all(np.allclose(scores, expected, rtol=0, atol=self.tolerance) for scores in found)

    def test_has_name_and_batch_size(self, reranker: Reranker) -> None:
        """The name is not empty and the batch size is positive."""
        assert reranker.name
        assert reranker.batch_size > 0

    def test_second_model_scores_each_passage_alone(self, reranker: Reranker) -> None:
        """A reranker with two models reads passages again: finite log-odds, independent of other passages."""
        if not isinstance(reranker, CascadeReranker):
            return
        assert reranker.rescore_batch_size > 0
        first = reranker.score(self.question, self.passages, asked_on=ASKED_ON)
        scores = reranker.rescore(self.question, self.passages, first, asked_on=ASKED_ON)
        reverse = reranker.rescore(self.question, self.passages[::-1], first[::-1], asked_on=ASKED_ON)[::-1]
        assert scores.shape == first.shape
        assert np.isfinite(scores).all()
        assert np.allclose(scores, reverse, rtol=0, atol=self.tolerance)
        assert reranker.rescore(self.question, [], np.zeros(0), asked_on=ASKED_ON).shape == (0,)

    def test_unavailable_raises_reader_unavailable(self) -> None:
        """Every call raises ``RerankerUnavailable`` with a message."""
        reranker = self.unavailable_reranker()
        if reranker is None:
            return
        for _ in range(2):
            message = ""
            try:
                reranker.score(self.question, self.passages, asked_on=ASKED_ON)
            except RerankerUnavailable as error:
                message = str(error)
            assert message, "it answered, or did not say what is wrong"


class FakeRerankServer(FakeServer):
    """A reranker behind an endpoint of a shape of ``EndpointReranker``, scoring as :class:`OverlapReranker` does.

    ``url`` is its address, which ends before ``/rerank``. ``responses``, if given, are sent instead of scores.
    """

    def __init__(self, shape: str, *responses: ScriptedResponse | Callable[[dict[str, Any]], ScriptedResponse]) -> None:
        root = {"tei": "", "cohere": "/v2"}.get(shape, "/v1")
        super().__init__(f"{root}/rerank", *(responses or [partial(rerank_response, shape)]))
        self.url = self.address + root


def rerank_response(shape: str, body: Mapping[str, Any]) -> object:
    """Return the response of an endpoint to a request, best passage first, as the real ones do."""
    texts = body["texts" if shape == "tei" else "documents"]
    log_odds = OverlapReranker().score(body["query"], [Passage(text) for text in texts], asked_on=ASKED_ON)
    is_raw = body["raw_scores"] if shape == "tei" else shape == "llama-server"
    scores = log_odds if is_raw else 1 / (1 + np.exp(-log_odds))
    key = "score" if shape == "tei" else "relevance_score"
    order = np.argsort(-scores, kind="stable")[: body.get("top_n", len(texts))]
    results = [{"index": int(index), key: float(scores[index])} for index in order]
    return results if shape == "tei" else {"model": body["model"], "results": results}


class OverlapReranker:
    """A reranker for tests: the more of the question's terms a passage has, the likelier it answers."""

    name = "overlap"
    batch_size = 8

    def score(self, question: str, passages: Sequence[Passage], /, *, asked_on: date) -> NDArray[np.float64]:
        """Return log-odds from -6, where a passage has no term of the question, to 6, where it has all."""
        del asked_on
        terms = set(extract_terms(question))
        shared = [len(terms & set(extract_terms(str(passage)))) for passage in passages]
        return 12.0 * np.array(shared, np.float64) / max(1, len(terms)) - 6.0


class ConstantReranker:
    """A reranker for tests that gives every passage the same log-odds; ``received_passages`` records the passages.

    With ``error`` it raises that error instead.
    """

    name = "constant"
    batch_size = 8

    def __init__(self, log_odds: float = 6.0, *, error: Exception | None = None) -> None:
        self.log_odds = log_odds
        self.error = error
        self.received_passages: list[Passage] = []

    def score(self, question: str, passages: Sequence[Passage], /, *, asked_on: date) -> NDArray[np.float64]:
        """Return the same log-odds for each passage."""
        del question, asked_on
        self.received_passages += passages
        if self.error is not None:
            raise self.error
        return np.full(len(passages), self.log_odds)
