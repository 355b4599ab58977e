"""Readable JSON for trained numbers."""

import json
import re
import textwrap
from collections.abc import Mapping, Sequence

Json = str | int | float | bool | None | Sequence["Json"] | Mapping[str, "Json"]

_NUMBERS = re.compile(r"\[([\s\d.,eE+-]*)\]")


def format_json(value: Json) -> str:
    """Return JSON with a line for each key, and lists of numbers wrapped at 120 characters."""
    text = json.dumps(value, indent=2, ensure_ascii=False)
    return _NUMBERS.sub(lambda found: _wrap_numbers(found[1]), text) + "\n"


def _wrap_numbers(numbers: str) -> str:
    return textwrap.fill(f"[{' '.join(numbers.split())}]", 118, subsequent_indent="    ")
