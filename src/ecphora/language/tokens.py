"""How many tokens of a language model a text will take, about. An estimate for budgets, not a tokenizer."""

from .scripts import unspaced

LETTERS = 4
"""Characters a token in scripts with spaces, roughly, in the tokenizers in use."""


def tokens(text: str) -> int:
    """An estimate of the tokens of a text, at least 1."""
    dense = unspaced(text)
    return max(1, dense + -(-(len(text) - dense) // LETTERS))
