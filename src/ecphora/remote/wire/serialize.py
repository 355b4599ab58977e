"""The wire format: public values as JSON values. ``deserialize`` reads them, ``wire_forms`` defines the format.

What is not written: the vectors and term hashes of a query. A condition on metadata becomes the mapping that stands for
it, a list or tuple in metadata becomes a list, and the groups of a recollection name their hits by id.
"""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import is_dataclass
from datetime import date, datetime
from enum import StrEnum
from functools import cache
from numbers import Integral, Real
from typing import Any

import numpy as np

from ...errors import InvalidInput
from ...model.conditions import Condition, mapping_of
from ...model.reprs import show
from ...model.types import Hit, HitGroup, Media, MediaQuery, Why
from ...recall.recollection import Recollection
from ...remember.messages import is_message
from .forms import ARGUMENT_TYPES, LOCAL_ARGUMENTS, form_of, written_fields

MESSAGE_FIELDS = (
    "role", "type", "name", "content", "text", "output", "tool_calls", "function_call", "refusal", "audio",
    "additional_kwargs", "created_at", "timestamp",
)  # fmt: skip
"""What is sent of a chat message that is an object of a client library: all that ``remember.messages`` reads."""


def to_json(value: object) -> Any:
    """Return a public value, or a list or mapping of them, as JSON values: dicts, lists, texts, numbers, bools, None.

    Raises ``InvalidInput`` for a value that JSON cannot hold.
    """
    cls: Any = type(value)
    return _encoder_of(cls)(value)


def arguments_to_json(arguments: Mapping[str, object]) -> dict[str, Any]:
    """Return the arguments of a call as JSON values; times, chat messages and iterables in any form that calls take.

    Raises ``InvalidInput`` for an argument that cannot be sent, such as a language model.
    """
    for name, reason in LOCAL_ARGUMENTS.items():
        if arguments.get(name) is not None:
            raise InvalidInput(f"{name} cannot be sent to a server: {reason}; leave it out")
    return {name: _argument_to_json(name, value) for name, value in arguments.items() if name not in LOCAL_ARGUMENTS}


def _argument_to_json(name: str, value: object) -> Any:
    """Return an argument, or an item of one, as JSON values."""
    if isinstance(value, (Recollection, Condition, *ARGUMENT_TYPES)):
        return to_json(value)
    if is_message(value):
        return _message_to_json(value)
    if isinstance(value, datetime):  # whole: a text to the second would stand for that second
        return value.isoformat(timespec="microseconds")
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, Iterable) and not isinstance(value, str | bytes | bytearray):
        return [_argument_to_json(name, item) for item in value]
    if is_dataclass(value):
        raise InvalidInput(f"{name} is {show(value)}, which cannot be sent to a server; give a text")
    try:
        return to_json(value)
    except InvalidInput as error:
        raise InvalidInput(f"{name} is {show(value)}, which cannot be sent to a server") from error


def _message_to_json(value: object) -> Any:
    """Return a mapping or a chat message as JSON values; what JSON cannot hold in a message is sent as True.

    A message is read by the server, which takes texts from it and only counts what else it has.
    """
    if isinstance(value, Mapping):
        return {_key(key): _message_to_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return list(map(_message_to_json, value))
    if is_message(value):
        parts = ((name, getattr(value, name, None)) for name in MESSAGE_FIELDS)
        return {name: _message_to_json(part) for name, part in parts if part is not None}
    try:
        return to_json(value)
    except InvalidInput:
        return True


def _encode_media(one: Media) -> dict[str, Any]:
    """A medium, with a vector and its model if it has one: as callers give it, and no stored one."""
    vector = _numbers(one.vector)
    has_vector = vector or one.model is not None
    found = {"reference": to_json(one.reference), "kind": to_json(one.kind), "caption": to_json(one.caption)}
    return {**found, "vector": vector, "model": to_json(one.model)} if has_vector else found


def _numbers(vector: object) -> list[Any]:
    """The numbers of a vector, a numpy array too."""
    return [to_json(one) for one in vector] if isinstance(vector, Iterable) else [to_json(vector)]


def _encode_object(value: Any) -> dict[str, Any]:
    """An object with the fields of a dataclass, in the form of its type."""
    cls: type = type(value)
    return _object_encoder(cls)(value)


@cache
def _object_encoder(cls: type) -> Callable[[Any], dict[str, Any]]:
    """What encodes a dataclass."""
    form = form_of(cls)
    encoders: list[tuple[str, Callable[[Any], Any]]] = [
        (name, _FIELD_ENCODERS.get((cls, name), to_json)) for name in written_fields(cls)
    ]
    if not form.inline and not form.derived:
        return lambda value: {name: encode_field(getattr(value, name)) for name, encode_field in encoders}

    def encode(value: object) -> dict[str, Any]:
        encoded = {name: get(value) for name, (_, get) in form.derived.items()}
        for name in form.inline:
            encoded.update(_encode_object(getattr(value, name)))
        encoded.update((name, encode_field(getattr(value, name))) for name, encode_field in encoders)
        return encoded

    return encode


def _encode_recollection(found: Recollection) -> dict[str, Any]:
    """A recollection, its groups with the ids of their hits."""
    return {**_encode_object(found), "groups": [to_json(group) for group in found.groups]}


def _encode_hits(hits: Iterable[Hit]) -> list[dict[str, Any]]:
    """The hits of a recollection with their ranks."""
    return [{"rank": rank, **_encode_object(hit)} for rank, hit in enumerate(hits, 1)]


def _encode_why(why: Why) -> list[dict[str, Any]]:
    """The contributions to a score; a recall has hundreds of them, so the type of each field is not looked up."""
    return [
        {
            "feature": one.feature,
            "value": one.value if type(one.value) is float and math.isfinite(one.value) else to_json(one.value),
            "path": list(one.path),
        }
        for one in why.contributions
    ]


def _encode_float(value: float) -> float:
    if not math.isfinite(value):
        raise InvalidInput(f"{value} is a number that JSON cannot hold; give a finite number")
    return value


def _encode_mapping(value: Mapping[Any, object]) -> dict[str, Any]:
    return {_key(key): to_json(item) for key, item in value.items()}


def _key(key: object) -> str:
    if not isinstance(key, str):
        raise InvalidInput(f"the key {show(key)} is no text; give a str")
    return key.value if isinstance(key, StrEnum) else key


@cache
def _encoder_of(cls: type) -> Callable[[Any], Any]:
    """What encodes the values of a type."""
    if cls in _ENCODERS:
        return _ENCODERS[cls]
    for base, encode in _ENCODERS_OF_SUBCLASSES:
        if issubclass(cls, base):
            return encode
    return _encode_object if is_dataclass(cls) else _refuse


def _refuse(value: object) -> Any:
    raise InvalidInput(f"{show(value)} cannot be written as JSON")


def _same(value: Any) -> Any:
    return value


_ENCODERS: Mapping[type, Callable[[Any], Any]] = {
    type(None): _same,
    bool: _same,
    int: _same,
    str: _same,
    float: _encode_float,
    list: lambda value: list(map(to_json, value)),
    tuple: lambda value: list(map(to_json, value)),
    dict: _encode_mapping,
    Media: _encode_media,
    MediaQuery: lambda query: {"vector": _numbers(query.vector), "model": to_json(query.model)},
    Why: _encode_why,
    HitGroup: HitGroup.to_dict,
    Recollection: _encode_recollection,
}
"""The encoders of the types that occur most, and of those with a form of their own."""
_FIELD_ENCODERS: Mapping[tuple[type, str], Callable[[Any], Any]] = {(Recollection, "hits"): _encode_hits}
"""The encoders of fields whose form is not that of their type."""
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
"""The encoders of other values, by the first of these types that they are an instance of."""
