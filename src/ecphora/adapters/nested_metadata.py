"""Metadata of a host that a memory cannot hold as it is: values within values are kept as JSON, under one key."""

import json
import math
from collections.abc import Mapping
from typing import Any

from ..errors import InvalidInput
from ..model.conditions import MAX_INT_BITS
from ..model.reprs import show
from ..model.types import Metadata

NESTED = "record_nested"
"""The key of the values that are no plain values; filters do not see them."""


def pack(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Metadata as a memory holds it. Raises ``InvalidInput`` for a value that JSON cannot hold."""
    nested = {name: value for name, value in metadata.items() if not _is_plain(value)}
    plain = {name: value for name, value in metadata.items() if name not in nested}
    if not nested:
        return plain
    try:
        return {**plain, NESTED: json.dumps(nested, ensure_ascii=False, allow_nan=False)}
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput(f"metadata {show(nested)} cannot be written as JSON: {error}") from error


def unpack(metadata: Metadata) -> dict[str, Any]:
    """Metadata as it was before ``pack``."""
    plain = {name: value for name, value in metadata.items() if name != NESTED}
    return plain | json.loads(str(metadata.get(NESTED, "{}")))


def _is_plain(value: object) -> bool:
    items = value if isinstance(value, list) else [value]
    return all(
        one is None
        or isinstance(one, str)
        or (isinstance(one, int) and one.bit_length() <= MAX_INT_BITS)
        or (isinstance(one, float) and math.isfinite(one))
        for one in items
    )
