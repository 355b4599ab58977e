"""Short reprs of at most :data:`MAX_REPR_CHARS` characters, and objects that cannot be pickled."""

from collections.abc import Collection, Mapping
from dataclasses import MISSING, Field, fields
from datetime import datetime
from functools import singledispatch
from typing import NoReturn

import numpy as np

from ..errors import InvalidInput
from .text_format import collapse_whitespace, truncate

MAX_REPR_CHARS = 200
"""Characters of the longest repr."""
MAX_VALUE_CHARS = 48
"""Characters shown of a text."""
MAX_SHOWN_CHARS = 60
"""Characters of a value that an error shows."""


def show(value: object) -> str:
    """Return a value as an error message shows it: its repr on one line, shortened and printable anywhere."""
    try:
        text = collapse_whitespace(repr(value).encode("utf-8", "backslashreplace").decode())
    except Exception:  # noqa: BLE001  # a repr is the caller's code and may raise anything
        text = ""
    if not text or len(text) > 10 * MAX_SHOWN_CHARS:
        return f"a {type(value).__name__}"
    return text if len(text) <= MAX_SHOWN_CHARS else f"{text[:MAX_SHOWN_CHARS]}..."


class ShortRepr:
    """A mixin for dataclasses: the repr shows the fields that differ from their defaults, long values shortened."""

    __slots__ = ()

    def __repr__(self) -> str:
        own_fields: tuple[Field[object], ...] = fields(self)  # type: ignore[arg-type]  # for dataclasses alone
        values = ((field, getattr(self, field.name)) for field in own_fields if field.repr)
        given = {field.name: value for field, value in values if not _is_default(field, value)}
        return call_repr(type(self).__name__, **given)


def call_repr(name: str, /, *args: object, **kwargs: object) -> str:
    """Return the repr of an object as the call that would make it, shortened."""
    shown = [short_repr(value) for value in args] + [f"{field}={short_repr(value)}" for field, value in kwargs.items()]
    return truncate(f"{name}({', '.join(shown)})", MAX_REPR_CHARS)


@singledispatch
def short_repr(value: object) -> str:
    """Return one value in a few characters."""
    return truncate(collapse_whitespace(repr(value)), MAX_VALUE_CHARS)


@short_repr.register
def _(value: str) -> str:
    return repr(truncate(str(value), MAX_VALUE_CHARS))


@short_repr.register
def _(value: float) -> str:
    return f"{value:.4g}"


@short_repr.register
def _(value: datetime) -> str:
    return value.isoformat(timespec="minutes")


@short_repr.register
def _(value: np.ndarray) -> str:
    return f"{value.dtype}[{'×'.join(map(str, value.shape))}]"


@short_repr.register
def _(value: ShortRepr) -> str:
    first: Field[object] = fields(value)[0]  # type: ignore[arg-type]  # for dataclasses alone
    return f"{type(value).__name__}({short_repr(getattr(value, first.name))}, …)"


@short_repr.register
def _(value: Mapping) -> str:  # type: ignore[type-arg]
    return f"<{len(value)} entries>"


@short_repr.register
def _(value: bytes) -> str:
    return f"<{len(value)} bytes>"


@short_repr.register
def _(value: Collection) -> str:  # type: ignore[type-arg]
    items = list(value)
    if all(isinstance(item, str) for item in items) and sum(map(len, items)) <= MAX_VALUE_CHARS:
        return f"[{', '.join(map(repr, items))}]"
    return f"<{len(items)} {type(items[0]).__name__}>"


def _is_default(field: "Field[object]", value: object) -> bool:
    if isinstance(value, np.ndarray):
        return not value.size
    default = field.default if field.default_factory is MISSING else field.default_factory()
    return value is default or (type(value) is type(default) and bool(value == default))


class OpenInEachProcess:
    """The base of objects that cannot be pickled: each process opens its own."""

    __slots__ = ()

    def __reduce__(self) -> NoReturn:
        """Raise ``InvalidInput``."""
        name = type(self).__name__
        raise InvalidInput(
            f"a {name} holds an open file or connection and cannot be pickled or copied; "
            f"hand its arguments to the other process, and open a {name} there"
        )
