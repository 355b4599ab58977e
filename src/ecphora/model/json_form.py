"""The JSON form of public values: the same in Python (``to_dict``), on the command line (``--json``) and over HTTP.

A public value is a JSON object with the fields of its type by their names. Times are ISO 8601, enums their values,
tuples lists. A class says in ``json_form`` what differs. :mod:`ecphora.remote.wire` reads the form.
"""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from datetime import date
from enum import StrEnum
from functools import cache
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np

from ..errors import InvalidInput
from .conditions import Condition, mapping_of
from .reprs import ShortRepr, show


@dataclass(frozen=True, slots=True)
class JsonForm:
    """How the JSON object of a type differs from its fields.

    ``inline`` fields are replaced by their own fields, ``omitted`` ones are not written. ``derived`` values are written
    under a name of their own: with the type and the function that gives the value. Rerankers ignore them. ``encoders``
    write a field in another form than the usual form of its type. ``encode`` writes the whole object; all else is then
    ignored.
    """

    inline: tuple[str, ...] = ()
    omitted: tuple[str, ...] = ()
    derived: Mapping[str, tuple[Any, Callable[[Any], Any]]] = field(default_factory=dict)
    encoders: Mapping[str, Callable[[Any], Any]] = field(default_factory=dict)
    encode: Callable[[Any], Any] | None = None


DEFAULT_FORM = JsonForm()
"""The form of an object with all its fields and nothing else."""


class JsonObject(ShortRepr):
    """A mixin for dataclasses: their JSON form."""

    __slots__ = ()
    json_form: ClassVar[JsonForm] = DEFAULT_FORM

    def to_dict(self) -> dict[str, Any]:
        """The object as JSON values: the same that ``--json`` prints and the server answers."""
        found: dict[str, Any] = to_json(self)
        return found


def to_json(value: object) -> Any:
    """Return a public value, or a list or mapping of them, as JSON values: dicts, lists, texts, numbers, bools, None.

    Raises ``InvalidInput`` for a value that JSON cannot hold.
    """
    cls: Any = type(value)
    return _encoder_of(cls)(value)


def form_of(cls: type) -> JsonForm:
    """The form of a type."""
    form: JsonForm = getattr(cls, "json_form", DEFAULT_FORM)
    return form


@cache
def written_fields(cls: type) -> tuple[str, ...]:
    """The names of the fields of a dataclass that are written under their own names."""
    form = form_of(cls)
    return tuple(one.name for one in fields(cls) if one.name not in {*form.inline, *form.omitted})


def numbers_to_json(vector: object) -> list[Any]:
    """The numbers of a vector, a numpy array too."""
    return [to_json(one) for one in vector] if isinstance(vector, Iterable) else [to_json(vector)]


def key_to_json(key: object) -> str:
    """The key of a mapping. Raises ``InvalidInput`` if it is no text."""
    if not isinstance(key, str):
        raise InvalidInput(f"the key {show(key)} is no text; give a str")
    return key.value if isinstance(key, StrEnum) else key


@cache
def _object_encoder(cls: type) -> Callable[[Any], dict[str, Any]]:
    """What encodes a dataclass."""
    form = form_of(cls)
    if form.encode is not None:
        return form.encode
    encoders: list[tuple[str, Callable[[Any], Any]]] = [
        (name, form.encoders.get(name, to_json)) for name in written_fields(cls)
    ]
    if not form.inline and not form.derived:
        return lambda value: {name: encode_field(getattr(value, name)) for name, encode_field in encoders}

    def encode(value: object) -> dict[str, Any]:
        encoded = {name: to_json(get(value)) for name, (_, get) in form.derived.items()}
        for name in form.inline:
            encoded.update(to_json(getattr(value, name)))
        encoded.update((name, encode_field(getattr(value, name))) for name, encode_field in encoders)
        return encoded

    return encode


@cache
def _encoder_of(cls: type) -> Callable[[Any], Any]:
    """What encodes the values of a type."""
    if cls in _ENCODERS:
        return _ENCODERS[cls]
    for base, encode in _ENCODERS_OF_SUBCLASSES:
        if issubclass(cls, base):
            return encode
    return _object_encoder(cls) if is_dataclass(cls) else _refuse


def _refuse(value: object) -> Any:
    raise InvalidInput(f"{show(value)} cannot be written as JSON")


def _same(value: Any) -> Any:
    return value


def _encode_float(value: float) -> float:
    if not math.isfinite(value):
        raise InvalidInput(f"{value} is a number that JSON cannot hold; give a finite number")
    return value


def _encode_mapping(value: Mapping[Any, object]) -> dict[str, Any]:
    return {key_to_json(key): to_json(item) for key, item in value.items()}


def _encode_items(value: Iterable[object]) -> list[Any]:
    return list(map(to_json, value))


_ENCODERS: Mapping[type, Callable[[Any], Any]] = {
    type(None): _same,
    bool: _same,
    int: _same,
    str: _same,
    float: _encode_float,
    list: _encode_items,
    tuple: _encode_items,
    dict: _encode_mapping,
}
"""The encoders of the types that occur most."""
_ENCODERS_OF_SUBCLASSES: tuple[tuple[type, Callable[[Any], Any]], ...] = (
    (Condition, mapping_of),
    (StrEnum, lambda value: value.value),
    (date, lambda value: value.isoformat()),
    (str, str),
    (np.bool_, bool),
    (Integral, int),
    (Real, lambda value: _encode_float(float(value))),
    (Mapping, _encode_mapping),
)
"""The encoders of other values; the first type that a value is an instance of counts."""
