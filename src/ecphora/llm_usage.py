"""What a language model consumed, and what it would consume."""

from dataclasses import astuple, dataclass
from typing import Any

from .reprs import ShortRepr


@dataclass(frozen=True, slots=True, repr=False)
class LLMUsage(ShortRepr):
    """What a language model consumed. ``calls`` include ``retries``; ``failures`` counts prompts without a result.

    ``cost_usd`` is in US dollars. Tokens, seconds and dollars are those of the replies received.
    """

    calls: int = 0
    retries: int = 0
    failures: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    seconds: float = 0.0
    cost_usd: float = 0.0

    def __add__(self, other: "LLMUsage") -> "LLMUsage":
        return LLMUsage(*(mine + its for mine, its in zip(astuple(self), astuple(other), strict=True)))


@dataclass(frozen=True, slots=True, repr=False)
class LLMEstimate(ShortRepr):
    """What prompts would cost before any is sent; all tokens are estimated.

    ``calls`` and ``tokens_in`` are those of the prompts, each sent once. The ``max_`` fields are upper bounds: they
    count every prompt as often as it may be repeated, and every reply as long as it may be.
    """

    calls: int = 0
    tokens_in: int = 0
    max_calls: int = 0
    max_tokens_in: int = 0
    max_tokens_out: int = 0

    def max_cost_usd(self, prices: tuple[float, float]) -> float:
        """The most US dollars, given the prices of a million tokens in and out."""
        return (self.max_tokens_in * prices[0] + self.max_tokens_out * prices[1]) / 1e6

    def to_dict(self) -> dict[str, Any]:
        """The estimate as JSON values."""
        return {
            "calls": self.calls,
            "tokens_in": self.tokens_in,
            "max_calls": self.max_calls,
            "max_tokens_in": self.max_tokens_in,
            "max_tokens_out": self.max_tokens_out,
        }
