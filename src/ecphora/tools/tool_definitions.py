"""Definitions of tools for function calling: their JSON schemas, and the check of the arguments that a model gives."""

import json
import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from ..errors import InvalidInput
from ..model.reprs import show

ValueType = Literal["string", "integer", "boolean", "strings"]
"""The type of an argument; ``strings`` is a list of strings."""
JsonSchema = dict[str, Any]
"""A JSON schema."""
MAX_ITEMS = 100
"""The items of the longest list that an argument may be."""
_EXPECTED = {
    "string": "a string",
    "integer": "a whole number",
    "boolean": "true or false",
    "strings": "a list of strings",
}


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a tool. One that is not required may be left out, be null or be an empty string."""

    name: str
    type: ValueType
    description: str
    is_required: bool = False
    choices: tuple[str, ...] = ()

    def schema(self, *, is_nullable: bool) -> JsonSchema:
        """The JSON schema of the parameter."""
        type_: str = "array" if self.type == "strings" else self.type
        schema: JsonSchema = {
            "type": [type_, "null"] if is_nullable else type_,
            "description": self.description,
        }
        if self.type == "strings":
            schema["items"] = {"type": "string"}
        if self.choices:
            schema["enum"] = [*self.choices, None] if is_nullable else list(self.choices)
        return schema

    def check(self, value: object) -> Any:
        """The value in the form that the tool takes, None if it was not given; raises ``InvalidInput``."""
        if value is None or (isinstance(value, str) and not value.strip() and not self.is_required):
            if self.is_required:
                raise InvalidInput(f"{self.name} is missing; give {self._expected}")
            return None
        if isinstance(value, float) and self.type == "integer" and math.isfinite(value) and value.is_integer():
            value = int(value)
        if not self._accepts(value):
            raise InvalidInput(f"{self.name} is {show(value)}; give {self._expected}")
        return value

    def _accepts(self, value: object) -> bool:
        match self.type:
            case "string":
                return isinstance(value, str) and (not self.choices or value in self.choices)
            case "integer":
                return isinstance(value, int) and not isinstance(value, bool)
            case "boolean":
                return isinstance(value, bool)
            case "strings":
                return (
                    isinstance(value, list)
                    and 0 < len(value) <= MAX_ITEMS
                    and all(isinstance(item, str) for item in value)
                )

    @property
    def _expected(self) -> str:
        if self.choices:
            return f"one of {', '.join(map(repr, self.choices))}"
        if self.type == "strings":
            return f"a list of 1 to {MAX_ITEMS} strings"
        return _EXPECTED[self.type]


@dataclass(frozen=True, slots=True)
class FunctionTool:
    """A tool that a language model may call.

    ``is_read_only`` says that it changes nothing, ``is_destructive`` that it may erase something.
    """

    name: str
    title: str
    description: str
    parameters: tuple[Parameter, ...]
    is_read_only: bool = False
    is_destructive: bool = False

    def schema(self, *, is_strict: bool = False) -> JsonSchema:
        """The JSON schema of the arguments.

        With ``is_strict``, every parameter is required and the optional ones may be null, as OpenAI's strict mode wants
        it; else the optional ones may be left out.
        """
        required = [one.name for one in self.parameters if one.is_required or is_strict]
        return {
            "type": "object",
            "properties": {
                one.name: one.schema(is_nullable=is_strict and not one.is_required) for one in self.parameters
            },
            "required": required,
            "additionalProperties": False,
        }

    def check_arguments(self, arguments: object) -> dict[str, Any]:
        """Every argument by its name, None if it was not given; raises ``InvalidInput``.

        ``arguments`` is a mapping, or the text of a JSON object; :func:`read_json_texts` says which texts in it are
        read as JSON.
        """
        given = read_json_texts(parse_arguments(arguments), self.schema())
        names = [one.name for one in self.parameters]
        if unknown := [name for name in given if name not in names]:
            raise InvalidInput(
                f"{self.name} takes no argument {show(unknown[0])}; its arguments are {', '.join(names)}"
            )
        return {one.name: one.check(given.get(one.name)) for one in self.parameters}


def parse_arguments(arguments: object) -> Mapping[str, object]:
    """The arguments as a mapping; a text is parsed as JSON, and an empty one means no arguments."""
    if arguments is None or arguments == "":
        return {}
    found = arguments
    if isinstance(arguments, str | bytes | bytearray):
        try:
            found = json.loads(arguments)
        except (ValueError, RecursionError) as error:
            raise InvalidInput(f"the arguments are not JSON ({str(error)[:100]}); give a JSON object") from error
    if not isinstance(found, Mapping):
        raise InvalidInput(f"the arguments are {show(found)}; give a JSON object")
    return found


def read_json_texts(value: Any, schema: JsonSchema) -> Any:
    """The value with each text that stands for JSON read, where a schema asks for another type than a text.

    Some hosts send ``"[1, 2]"`` for a list and ``"3"`` for a number. A text is read if the schema allows no string and
    the text is JSON of a type that it allows; any other stays as it is, for the check of the arguments to refuse.
    """
    types = schema.get("type", "string")
    types = {types} if isinstance(types, str) else set(types)
    if isinstance(value, str) and "string" not in types:
        value = _parse_json_of(types, value)
    if isinstance(value, Mapping):
        known = schema.get("properties", {})
        return {key: read_json_texts(item, known[key]) if key in known else item for key, item in value.items()}
    return value


def _parse_json_of(types: Collection[str], text: str) -> Any:
    """A text parsed as JSON if that gives a value of one of the types, else the text itself."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return found if any(_has_json_type(found, name) for name in types) else text


def _has_json_type(value: object, name: str) -> bool:
    """Whether a JSON value has a type of JSON Schema, where 3.0 is an integer and no boolean is a number."""
    match name:
        case "array":
            return isinstance(value, list)
        case "object":
            return isinstance(value, dict)
        case "boolean":
            return isinstance(value, bool)
        case "number":
            return type(value) is int or (isinstance(value, float) and math.isfinite(value))
        case "integer":
            return type(value) is int or (isinstance(value, float) and value.is_integer())
    return False
