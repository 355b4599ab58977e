"""Compiles tables of words and phrases into patterns."""

import re

from ..lazy_pattern import lazy_pattern

_PLACEHOLDERS = {
    "'": "['’]",
    "<TO>": r"(?:\w+[\s,]+){0,6}?",
    "<START>": r"(?:(?<![^\n])|(?<=[.!?:;…–—*•-] ))",
    "<ON>": r"[^.!?;\n]{0,80}?",
}
"""What stands for an apostrophe of any kind, up to six words, the start of a sentence, and a part of one."""


def any_of(patterns: str) -> re.Pattern[str]:
    """Compile alternatives, separated by " ; " or line ends, each at word boundaries, in any case.

    A line that ends with "|" continues on the next one. An apostrophe matches every kind of apostrophe, ``<TO>`` up to
    six words, ``<START>`` the start of a sentence, and ``<ON>`` up to 80 characters of the same sentence.
    """
    joined_lines = re.sub(r"\|\n\s*", "|", patterns.strip())
    alternatives = [alternative for line in joined_lines.splitlines() for alternative in line.strip().split(" ; ")]
    joined = "|".join(alternatives)
    for placeholder, pattern in _PLACEHOLDERS.items():
        joined = joined.replace(placeholder, pattern)
    return lazy_pattern(rf"(?<![\w’'-])(?:{joined})(?![\w])", re.IGNORECASE)
