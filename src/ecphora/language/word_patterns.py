"""Compiles tables of words and phrases into patterns."""

import re

from ..lazy_pattern import lazy_pattern

_GAP = r"(?:\w+[\s,]+){0,6}?"
"""Replaces ``<TO>`` in a pattern: up to six words."""


def any_of(patterns: str) -> re.Pattern[str]:
    """Compile alternatives, separated by " ; " or line ends, each at word boundaries, in any case.

    A line that ends with "|" continues on the next one. An apostrophe matches every kind of apostrophe, ``<TO>`` up to
    six words.
    """
    joined_lines = re.sub(r"\|\n\s*", "|", patterns.strip())
    alternatives = [alternative for line in joined_lines.splitlines() for alternative in line.strip().split(" ; ")]
    joined = "|".join(alternatives).replace("'", "['’]").replace("<TO>", _GAP)
    return lazy_pattern(rf"(?<![\w’'-])(?:{joined})(?![\w])", re.IGNORECASE)
