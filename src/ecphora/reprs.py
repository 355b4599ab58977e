"""Short reprs: one line of at most :data:`LONGEST` characters, however much an object holds."""

from collections.abc import Collection, Mapping
from dataclasses import MISSING, Field, fields
from datetime import datetime
from functools import singledispatch

import numpy as np

LONGEST = 200
"""Characters of the longest repr."""
TEXT = 48
"""Characters of a text that are shown."""


class ShortRepr:
    """Gives a dataclass a repr of its fields that differ from their defaults; long values are shortened or counted."""

    __slots__ = ()

    def __repr__(self) -> str:
        known: tuple[Field[object], ...] = fields(self)  # type: ignore[arg-type]  # for dataclasses alone
        values = ((field, getattr(self, field.name)) for field in known if field.repr)
        given = {field.name: value for field, value in values if not _default(field, value)}
        return call_repr(type(self).__name__, **given)


def call_repr(name: str, /, *args: object, **given: object) -> str:
    """The repr of an object as the call that would make it, shortened."""
    shown = [brief(value) for value in args] + [f"{field}={brief(value)}" for field, value in given.items()]
    return cut(f"{name}({', '.join(shown)})", LONGEST)


@singledispatch
def brief(value: object) -> str:
    """One value in a few characters."""
    return cut(" ".join(repr(value).split()), TEXT)


@brief.register
def _(value: str) -> str:
    return repr(cut(str(value), TEXT))


@brief.register
def _(value: float) -> str:
    return f"{value:.4g}"


@brief.register
def _(value: datetime) -> str:
    return value.isoformat(timespec="minutes")


@brief.register
def _(value: np.ndarray) -> str:
    return f"{value.dtype}[{'×'.join(map(str, value.shape))}]"


@brief.register
def _(value: ShortRepr) -> str:
    first: Field[object] = fields(value)[0]  # type: ignore[arg-type]  # for dataclasses alone
    return f"{type(value).__name__}({brief(getattr(value, first.name))}, …)"


@brief.register
def _(value: Mapping) -> str:  # type: ignore[type-arg]
    return f"<{len(value)} entries>"


@brief.register
def _(value: bytes) -> str:
    return f"<{len(value)} bytes>"


@brief.register
def _(value: Collection) -> str:  # type: ignore[type-arg]
    some = list(value)
    if all(isinstance(one, str) for one in some) and sum(map(len, some)) <= TEXT:
        return f"[{', '.join(map(repr, some))}]"
    return f"<{len(some)} {type(some[0]).__name__}>"


def cut(text: str, most: int) -> str:
    """A text of at most so many characters."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _default(field: "Field[object]", value: object) -> bool:
    if isinstance(value, np.ndarray):
        return not value.size
    made = field.default if field.default_factory is MISSING else field.default_factory()
    return value is made or (type(value) is type(made) and bool(value == made))
