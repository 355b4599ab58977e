"""A language model as a reranker: it grades whether passages answer a question.

Weiwei Sun et al., "Is ChatGPT Good at Search? Investigating Large Language Models as Re-Ranking Agents", 2023,
arXiv:2304.09542, and Shengyao Zhuang et al., "Beyond Yes and No: Improving Zero-Shot LLM Rankers via Scoring
Fine-Grained Relevance Labels", 2023, arXiv:2310.14122, whose scale of four grades this is.
"""

from collections.abc import Sequence
from datetime import date
from functools import partial

import numpy as np
from numpy.typing import NDArray

from ...errors import RerankerUnavailable
from ...model.ports import LLM, Passage
from ...model.reprs import call_repr
from ...model.types import LLMUsage
from ...model.validation import check_count
from ..llm_client import LLMClient
from ..prompts import grades_prompt, replies

GRADE_LOG_ODDS = (-4.0, -2.0, 1.0, 4.0)
"""The log-odds of the grades 0 to 3: probabilities of .02, .12, .73 and .98. They are set by hand."""


class LLMReranker:
    """Asks a language model for a grade of each passage, in one prompt for up to ``batch_size`` passages.

    The model is told to grade each passage by itself, but it sees the others; a ``batch_size`` of 1 rules out that they
    matter. A reply that cannot be read is asked for once more, unless ``llm`` is an ``LLMClient`` with other retries.
    Safe to share between threads if the model is.
    """

    def __init__(self, llm: LLM | LLMClient, *, batch_size: int = 8) -> None:
        self._client = llm if isinstance(llm, LLMClient) else LLMClient(llm)
        self.name = f"{self._client.name} (grades)"
        self.batch_size = check_count("batch_size", batch_size)

    def __repr__(self) -> str:
        return call_repr("LLMReader", self.name)

    @property
    def usage(self) -> LLMUsage:
        """What the language model has consumed so far."""
        return self._client.usage

    def score(self, question: str, passages: Sequence[Passage], /, *, asked_on: date) -> NDArray[np.float64]:
        """Log-odds that each passage answers the question, by its grade.

        Raises ``RerankerUnavailable`` if the model does not answer, or does not grade every passage.
        """
        grades: list[int] = []
        for start in range(0, len(passages), self.batch_size):
            batch = passages[start : start + self.batch_size]
            prompt = grades_prompt(question, batch, today=asked_on)
            attempt = self._client.attempt(prompt, partial(replies.parse_grades, passage_count=len(batch)))
            if attempt.value is None:
                raise RerankerUnavailable(f"{self._client.name} gives no grades: {attempt.error}")
            grades += attempt.value
        return np.array([GRADE_LOG_ODDS[grade] for grade in grades], np.float64)
