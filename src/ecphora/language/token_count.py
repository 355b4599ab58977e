"""Estimates the number of tokens of a text. An estimate for budgets, not a tokenizer."""

from .scripts import count_unspaced

CHARS_PER_TOKEN = 4
"""Approximate characters a token in scripts with spaces, for common tokenizers."""


def estimate_tokens(text: str) -> int:
    """Estimate the tokens of a text, at least 1: one a character in scripts without spaces."""
    unspaced_count = count_unspaced(text)
    return max(1, unspaced_count + -(-(len(text) - unspaced_count) // CHARS_PER_TOKEN))
