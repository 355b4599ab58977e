"""The arguments of a call as JSON values. :mod:`.deserialize` reads them; results have the form of ``model.json_form``.

A condition on metadata becomes the mapping that stands for it, a list or tuple in metadata becomes a list.
"""

from collections.abc import Iterable, Mapping
from dataclasses import is_dataclass
from datetime import datetime
from typing import Any

import numpy as np

from ...errors import InvalidInput
from ...model.conditions import Condition
from ...model.json_form import key_to_json, to_json
from ...model.reprs import show
from ...model.types import Episode, Filter, Media, MediaQuery, RecallOptions
from ...recall.recollection import Recollection
from ...remember.messages import MessageOptions, is_message

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
