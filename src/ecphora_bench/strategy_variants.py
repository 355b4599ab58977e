"""Strategies as the commands name them, ``synapse`` or ``synapse:beta=0,theta=.3``, and which can share a memory."""

import dataclasses
import math
from collections.abc import Iterable, Mapping
from types import NoneType, UnionType
from typing import Any, get_args, get_type_hints

from ecphora import strategies
from ecphora.errors import InvalidInput
from ecphora.model.ports import Strategy
from ecphora.strategies.weave.strategy import Weave

SYNTAX = "NAME, or NAME:FIELD=VALUE,… for a variant, such as synapse:beta=0, which is replace(Synapse(), beta=0)"
"""What the help says of a strategy."""
TRUTH = {"true": True, "false": False}
VALUE_TYPES = {bool: "true or false", int: "a whole number", float: "a number", NoneType: "none"}
"""The types that a field can be given in, and how an error names their values."""
WEAVE_READ_FIELDS = frozenset(
    {
        "candidates",
        "max_hops",
        "min_path_strength",
        "w_sim",
        "w_strand",
        "w_importance",
        "w_persona",
        "outside_time_factor",
        "undated_time_factor",
        "expired_factor",
        "use_tiers",
        "follow_insights",
        "use_types",
        "type_weights",
        "use_weight",
        "evidence_weight",
    }
)
"""The fields of ``Weave`` that only its recall reads: what it stores does not depend on them."""


def parse_strategies(texts: Iterable[str]) -> list[Strategy]:
    """The strategies of some texts, each text once; see :func:`parse_strategy`."""
    return [parse_strategy(text) for text in dict.fromkeys(texts)]


def parse_strategy(text: str) -> Strategy:
    """The strategy of a name, or with ``:FIELD=VALUE,…`` a copy of it with other fields, named by the whole text.

    Values are numbers, ``true``, ``false`` and, where a field may be None, ``none``. Raises ``InvalidInput`` for an
    unknown field or a wrong value; its message lists the fields.
    """
    name, has_fields, assignments = text.partition(":")
    strategy = strategies.resolve_strategy(name)
    if not has_fields:
        return strategy
    types = field_types(strategy)
    values: dict[str, Any] = {}
    for assignment in assignments.split(","):
        field, sign, value = (part.strip() for part in assignment.partition("="))
        if not sign:
            raise _error(text, f"{assignment!r} is not FIELD=VALUE", types)
        if field not in types:
            raise _error(text, f"{name} has no field {field!r}", types)
        if field in values:
            raise _error(text, f"{field} is given twice", types)
        values[field] = _parse_value(text, field, value, types)
    return dataclasses.replace(strategy, **values, name=text)  # type: ignore[type-var]  # only dataclasses have fields


def field_types(strategy: Strategy) -> Mapping[str, tuple[type, ...]]:
    """The fields of a strategy that a command can set, with the types that each takes."""
    if not dataclasses.is_dataclass(strategy):
        return {}
    hints = get_type_hints(type(strategy))
    types = {field.name: _plain_types(hints[field.name]) for field in dataclasses.fields(strategy) if field.init}
    return {name: found for name, found in types.items() if found}


def _plain_types(hint: Any) -> tuple[type, ...]:
    """The types of a hint, if all are among ``VALUE_TYPES``, else none."""
    types = get_args(hint) if isinstance(hint, UnionType) else (hint,)
    return types if set(types) <= VALUE_TYPES.keys() else ()


def _parse_value(text: str, field: str, value: str, types: Mapping[str, tuple[type, ...]]) -> bool | float | None:
    for type_ in types[field]:
        if type_ is NoneType and value.lower() == "none":
            return None
        if type_ is bool and value.lower() in TRUTH:
            return TRUTH[value.lower()]
        if type_ in {int, float}:
            try:
                number: float = type_(value)
            except ValueError:
                continue
            if not math.isnan(number):
                return number
    wanted = " or ".join(VALUE_TYPES[type_] for type_ in types[field])
    raise _error(text, f"{field} is {value!r}, not {wanted}", types)


def _error(text: str, what: str, types: Mapping[str, object]) -> InvalidInput:
    known = f"the fields are {', '.join(types)}" if types else "it has no fields that can be set"
    return InvalidInput(f"strategy {text!r}: {what}; {known}")


def fills_same_memory(strategy: Strategy, other: Strategy) -> bool:
    """Whether two strategies that write store the same: they differ in their names and in what recall reads at most."""
    return type(strategy) is type(other) and _storing_form(strategy) == _storing_form(other)


def _storing_form(strategy: Strategy) -> Strategy:
    """A strategy with its name and the fields that only recall reads at fixed values."""
    if isinstance(strategy, Weave):
        default = Weave()
        fixed = {field: getattr(default, field) for field in WEAVE_READ_FIELDS}
        return dataclasses.replace(strategy, **fixed, name="")
    if dataclasses.is_dataclass(strategy) and "name" in field_names(strategy):
        return dataclasses.replace(strategy, name="")
    return strategy


def field_names(strategy: Strategy) -> set[str]:
    """The names of a dataclass's fields."""
    return {field.name for field in dataclasses.fields(strategy)}  # type: ignore[arg-type]
