"""Readable JSON for trained numbers."""

import json
import re
import textwrap
from collections.abc import Mapping, Sequence

Json = str | int | float | bool | None | Sequence["Json"] | Mapping[str, "Json"]

_NUMBERS = re.compile(r"\[([\s\d.,eE+-]*)\]")


def readable(value: Json) -> str:
    """JSON with a line for each key, and lists of numbers filled into lines of 120 characters."""
    text = json.dumps(value, indent=2, ensure_ascii=False)
    return _NUMBERS.sub(lambda found: _filled(found[1]), text) + "\n"


def _filled(numbers: str) -> str:
    return textwrap.fill(f"[{' '.join(numbers.split())}]", 118, subsequent_indent="    ")
