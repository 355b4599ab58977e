"""The wire format: the arguments of a call and public values as JSON, and back.

Results have the form of ``model.json_form``. A condition on metadata becomes the mapping that stands for it, a list or
tuple in metadata becomes a list.
"""

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass, replace
from datetime import datetime
from enum import Enum
from functools import cache
from types import MappingProxyType, NoneType, UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints, overload

import numpy as np

from ..errors import InvalidInput
from ..model.conditions import Condition
from ..model.json_form import form_of, key_to_json, to_json
from ..model.reprs import show
from ..model.types import (
    AccessKind,
    Contribution,
    Episode,
    Filter,
    Hit,
    HitGroup,
    Mark,
    Media,
    MediaQuery,
    RecallOptions,
    Why,
    parse_access_kind,
)
from ..recall.recollection import Recollection
from ..remember.messages import MessageOptions, is_message

ARGUMENT_TYPES = (Filter, Episode, Media, MediaQuery, MessageOptions, RecallOptions)
"""The types that callers write: reading them refuses an unknown field, which may be a typing error."""
LOCAL_ARGUMENTS: Mapping[str, str] = {
    "llm": "the server uses the language model that it was started with",
    "progress": "a function cannot be sent",
    "out": "the answer is the export",
    "lines": "the body of the request is the export",
    "path": "the files are on the server's machine",
}
"""The arguments that stay where they are, and why."""
MESSAGE_FIELDS = (
    "role", "type", "name", "content", "text", "output", "tool_calls", "function_call", "refusal", "audio",
    "additional_kwargs", "created_at", "timestamp",
)  # fmt: skip
"""What is sent of a chat message that is an object of a client library: all that ``remember.messages`` reads."""


def arguments_to_json(arguments: Mapping[str, object]) -> dict[str, Any]:
    """Return the arguments of a call as JSON values; times, chat messages and iterables in any form that calls take.

    Raises ``InvalidInput`` for an argument that cannot be sent, such as a language model.
    """
    for name, reason in LOCAL_ARGUMENTS.items():
        if arguments.get(name) is not None:
            raise InvalidInput(f"{name} cannot be sent to a server: {reason}; leave it out")
    return {name: _argument_to_json(name, value) for name, value in arguments.items() if name not in LOCAL_ARGUMENTS}


def _argument_to_json(name: str, value: object) -> Any:
    """Return an argument, or an item of an argument, as JSON values."""
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
        return {key_to_json(key): _message_to_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return list(map(_message_to_json, value))
    if is_message(value):
        parts = ((name, getattr(value, name, None)) for name in MESSAGE_FIELDS)
        return {name: _message_to_json(part) for name, part in parts if part is not None}
    try:
        return to_json(value)
    except InvalidInput:
        return True


T = TypeVar("T")
Decode = Callable[[Any], Any]


class _FormError(Exception):
    """A value that does not have the form of its type; ``path`` leads to it, innermost name first."""

    def __init__(self, problem: str) -> None:
        super().__init__(problem)
        self.path: list[str] = []


def _mismatch(value: object, expected: str) -> _FormError:
    return _FormError(f"is {show(value)}; give {expected}")


@overload
def from_json(hint: type[T], data: object, *, name: str = "") -> T: ...


@overload
def from_json(hint: Any, data: object, *, name: str = "") -> Any: ...


def from_json(hint: Any, data: object, *, name: str = "") -> Any:
    """Return the public value of a type, such as ``Recollection`` or ``list[Node]``, that JSON values stand for.

    Unknown fields of a result are ignored, so that the client of a newer server can read it. Raises ``InvalidInput``
    for JSON values that do not have the form of the type; the message says where, ``name`` being the whole.
    """
    try:
        return _decoder(hint)(data)
    except _FormError as error:
        place = ".".join([name, *reversed(error.path)] if name else reversed(error.path)).replace(".[", "[")
        raise InvalidInput(f"{place or 'the value'} {error}") from error


def arguments_from_json(function: Callable[..., object], body: object) -> dict[str, Any]:
    """Return the keyword arguments for a method that the JSON object of a request stands for.

    Filters, episodes, message options and recollections are read; the method itself checks all else. Raises
    ``InvalidInput`` for an argument that is unknown, missing, or cannot be sent.
    """
    name, accepted = function.__name__.rstrip("_"), argument_names(function)
    if not isinstance(body, Mapping):
        raise InvalidInput(f"the arguments of {name} are {show(body)}; give a JSON object")
    for argument in body:
        if argument in LOCAL_ARGUMENTS:
            raise InvalidInput(f"{argument} cannot be sent to a server: {LOCAL_ARGUMENTS[argument]}; leave it out")
        if argument not in accepted:
            raise InvalidInput(f"{name} has no argument {show(argument)}; it has {', '.join(accepted) or 'none'}")
    if missing := [one for one, is_required in accepted.items() if is_required and one not in body]:
        raise InvalidInput(f"{name} needs {missing[0]}; give it in the JSON object of the request")
    return {argument: _read_argument(argument, value) for argument, value in body.items()}


@cache
def argument_names(function: Callable[..., object]) -> Mapping[str, bool]:
    """The arguments of a method that can be sent, and whether each is required; a signature is read once."""
    parameters = inspect.signature(function).parameters.values()
    return MappingProxyType(
        {
            one.name: one.default is inspect.Parameter.empty
            for one in parameters
            if one.name != "self" and one.name not in LOCAL_ARGUMENTS
        }
    )


def _read_argument(name: str, value: object) -> object:
    """The value of an argument: an object of the type that the argument takes, or the JSON value itself."""
    if name == "content":
        return list(map(_content, value)) if isinstance(value, list) else _content(value)
    cls = _ARGUMENT_TYPE_BY_NAME.get(name)
    return value if cls is None or value is None else from_json(cls, value, name=name)


_ARGUMENT_TYPE_BY_NAME: Mapping[str, type] = {
    "where": Filter,
    "options": RecallOptions,
    "message_options": MessageOptions,
    "recollection": Recollection,
}
"""The types of the arguments that are objects."""


def _content(value: object) -> object:
    """One of the contents of ``remember``: an object with a text is an episode, unless it is a chat message."""
    is_episode = isinstance(value, Mapping) and "text" in value and not {"role", "type", "content"} & set(value)
    return from_json(Episode, value, name="content") if is_episode else value


# ---- decoders by type


@cache
def _decoder(hint: Any) -> Decode:
    """The function that reads a value of a type."""
    if hint in _DECODERS:
        return _DECODERS[hint]
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in {Union, UnionType}:
        return _union_decoder(arguments)
    if origin in {tuple, list}:
        return _items_decoder(origin, _decoder(arguments[0]))
    if origin is not None and issubclass(origin, Mapping):
        return _mapping_decoder(_decoder(arguments[1]))
    if isinstance(hint, type) and issubclass(hint, Enum):
        return _enum_decoder(hint)
    if is_dataclass(hint):
        return _object_decoder(hint)  # type: ignore[arg-type]  # a class, not an instance
    raise TypeError(f"{hint} is no type of the wire format")


def _plain_decoder(cls: type, expected: str) -> Decode:
    def decode(value: Any) -> Any:
        if not isinstance(value, cls) or (isinstance(value, bool) and cls is not bool):
            raise _mismatch(value, expected)
        return value

    return decode


def _decode_float(value: Any) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise _mismatch(value, "a number")
    try:
        return float(value)
    except OverflowError as error:
        raise _mismatch(value, "a number that fits into 64 bits") from error


def _decode_time(value: Any) -> datetime:
    try:
        found = datetime.fromisoformat(value)
    except (TypeError, ValueError) as error:
        raise _mismatch(value, "an ISO 8601 time") from error
    if found.utcoffset() is None:
        raise _mismatch(value, "a time with a time zone")
    return found


def _decode_access_kind(value: Any) -> AccessKind | Mark:
    try:
        return parse_access_kind(value)
    except ValueError as error:
        raise _mismatch(value, "a kind of access") from error


def _enum_decoder(cls: type[Enum]) -> Decode:
    def decode(value: Any) -> Enum:
        try:
            return cls(value)
        except ValueError as error:
            raise _mismatch(value, f"one of {', '.join(repr(one.value) for one in cls)}") from error

    return decode


def _union_decoder(arguments: tuple[Any, ...]) -> Decode:
    """A value that may be None; of several other types, the value as it is."""
    others = [one for one in arguments if one is not NoneType]
    decode = _decoder(others[0]) if len(others) == 1 else lambda value: value
    return lambda value: None if value is None and NoneType in arguments else decode(value)


def _items_decoder(cls: Callable[[Iterable[Any]], Any], decode: Decode) -> Decode:
    def decode_items(value: Any) -> Any:
        if not isinstance(value, list):
            raise _mismatch(value, "a list")
        return cls(_at(f"[{place}]", decode, item) for place, item in enumerate(value))

    return decode_items


def _mapping_decoder(decode: Decode) -> Decode:
    def decode_mapping(value: Any) -> dict[str, Any]:
        if not isinstance(value, Mapping):
            raise _mismatch(value, "an object")
        return {key: _at(key, decode, item) for key, item in value.items()}

    return decode_mapping


def _at(name: str, decode: Decode, value: Any) -> Any:
    """Decode a part; an error says where it is."""
    try:
        return decode(value)
    except _FormError as error:
        error.path.append(name)
        raise


def _object_decoder(cls: type) -> Decode:
    """What reads a dataclass in the form of its type."""
    if cls in ARGUMENT_TYPES:
        return lambda value: _read_argument_object(cls, value)
    form, hints = form_of(cls), get_type_hints(cls)
    own: list[tuple[Field[Any], Decode]] = [
        (one, _decoder(hints[one.name])) for one in fields(cls) if one.name not in {*form.inline, *form.omitted}
    ]
    inline = [(name, _decoder(hints[name])) for name in form.inline]

    def decode(value: Any) -> Any:
        if not isinstance(value, Mapping):
            raise _mismatch(value, "an object")
        found: dict[str, Any] = {name: decode_part(value) for name, decode_part in inline}
        for one, decode_part in own:
            if one.name in value:
                found[one.name] = _at(one.name, decode_part, value[one.name])
            elif _is_required(one):
                error = _FormError("is missing; give it")
                error.path.append(one.name)
                raise error
        return cls(**found)

    return decode


def _read_argument_object(cls: type, value: Any) -> Any:
    """An object that callers write; its fields are checked when it is used."""
    if not isinstance(value, Mapping):
        raise _mismatch(value, f"an object with fields of {cls.__name__}")
    names = [one.name for one in fields(cls)]
    if unknown := [name for name in value if name not in names]:
        raise InvalidInput(f"{cls.__name__} has no field {show(unknown[0])}; it has {', '.join(names)}")
    if missing := [one.name for one in fields(cls) if one.name not in value and _is_required(one)]:
        raise InvalidInput(f"{cls.__name__} needs {missing[0]}")
    found = {name: tuple(item) if isinstance(item, list) else item for name, item in value.items()}
    if cls is RecallOptions and found.get("media_query") is not None:
        found["media_query"] = _at("media_query", _decoder(MediaQuery), found["media_query"])
    if cls is Episode and isinstance(found.get("media"), tuple):
        found["media"] = tuple(_at("media", _decoder(Media), item) for item in found["media"])
    return cls(**found)


def _is_required(field: "Field[Any]") -> bool:
    return field.default is MISSING and field.default_factory is MISSING


def _decode_why(value: Any) -> Why:
    return Why(_decoder(tuple[Contribution, ...])(value))


def _decode_hit(value: Any) -> Hit:
    """A hit, with its reason."""
    hit = _decode_hit_fields(value)
    reason = _at("reason", _decoder(str), value.get("reason", ""))
    return replace(hit, reason_source=lambda: reason)


def _decode_recollection(value: Any) -> Recollection:
    """A recollection, with its groups of hits."""
    found = _decode_recollection_fields(value)
    hits = {hit.id: hit for hit in found.hits}
    decode_groups = _items_decoder(tuple, lambda group: _decode_group(group, hits))
    groups = _at("groups", decode_groups, value.get("groups", []))
    return replace(found, group_source=lambda: groups)


def _decode_group(value: Any, hits: Mapping[str, Hit]) -> HitGroup:
    """A group, which names its hits by their ids."""
    if not isinstance(value, Mapping):
        raise _mismatch(value, "an object")

    def decode_hit(id_: Any) -> Hit:
        if not isinstance(id_, str) or id_ not in hits:
            raise _mismatch(id_, "the id of a hit")
        return hits[id_]

    instance = _at("instance", _decoder(str), value.get("instance"))
    return HitGroup(instance, _at("ids", _items_decoder(tuple, decode_hit), value.get("ids")))


_DECODERS: Mapping[Any, Decode] = {
    Any: lambda value: value,
    object: lambda value: value,
    str: _plain_decoder(str, "a text"),
    bool: _plain_decoder(bool, "true or false"),
    int: _plain_decoder(int, "a whole number"),
    float: _decode_float,
    NoneType: _plain_decoder(NoneType, "null"),
    datetime: _decode_time,
    AccessKind | Mark: _decode_access_kind,
    Why: _decode_why,
    Hit: _decode_hit,
    Recollection: _decode_recollection,
}
"""The decoders of plain values, and of types with a form of their own."""
_decode_hit_fields: Callable[[Any], Hit] = _object_decoder(Hit)
_decode_recollection_fields: Callable[[Any], Recollection] = _object_decoder(Recollection)
