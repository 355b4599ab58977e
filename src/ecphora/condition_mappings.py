"""The Mongo-like mappings that stand for conditions on metadata, as users of other stores write them: both ways."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .conditions import (
    And,
    Condition,
    Contains,
    Eq,
    Exists,
    Gt,
    Gte,
    In,
    Lt,
    Lte,
    Ne,
    Not,
    NotIn,
    Or,
    check_depth,
)
from .errors import InvalidInput
from .reprs import show

COMPARISONS: Mapping[str, Callable[[str, Any], Condition]] = {
    **{comparison.operator: comparison for comparison in (Eq, Ne, Gt, Gte, Lt, Lte, Contains)},
    In.operator: In,
    NotIn.operator: NotIn,
    Exists.operator: lambda key, value: Exists(key, exists=value),
    "$not_contains": lambda key, value: Not(Contains(key, value)),
}
"""The operators under a key. Without the ``$`` they mean the same."""
COMBINATIONS: Mapping[str, Callable[..., Condition]] = {
    "$and": And,
    "$or": Or,
    "$nor": lambda *conditions: Not(Or(*conditions)),
}
"""The operators over conditions, which take a list."""
UPPERCASE = {"AND": "$and", "OR": "$or", "NOT": "$nor"}
"""Another spelling, in which ``NOT`` takes a list: none of its conditions is met."""
NAME_OPERATORS = "$eq or $ne with a name, or $in or $nin with a list of names"
"""The operators on a speaker, session or source, as errors list them."""


def parse_condition(value: object) -> Condition | None:
    """Return the condition that a mapping, or a condition, stands for; None for an empty mapping.

    A mapping gives values or operators by key, such as ``{"age": {"$gte": 3}, "city": "Porto"}``; all must be met.
    Raises ``InvalidInput`` for an unknown operator, a wrong operand and for more than ``MAX_DEPTH`` levels.
    """
    if isinstance(value, Mapping) and not value:
        return None
    return _parse(value, "metadata", 1)


def mapping_of(condition: Condition) -> dict[str, Any]:
    """Return the mapping that stands for a condition, of plain values; ``parse_condition`` gives the condition back.

    Raises ``InvalidInput`` for a metadata key that begins with ``$``, and for a condition of another class.
    """
    if isinstance(condition, Not):
        return {Not.operator: mapping_of(condition.condition)}
    if isinstance(condition, And | Or):
        return {condition.operator: [mapping_of(one) for one in condition.conditions]}
    if not isinstance(condition, Eq | Ne | Gt | Gte | Lt | Lte | Contains | In | Exists):
        raise InvalidInput(f"no mapping stands for {show(condition)}; give a condition of ecphora.conditions")
    if condition.key.startswith("$"):
        raise InvalidInput(
            f"no mapping stands for a condition on {show(condition.key)}: in mappings, $ marks operators"
        )
    match condition:
        case In():
            operand: object = list(condition.values)
        case Exists():
            operand = condition.exists
        case _:
            operand = list(condition.value) if isinstance(condition.value, list | tuple) else condition.value
    return {condition.key: {condition.operator: operand}}


def parse_names(
    field: str, operators: Mapping[str, object], not_names: str | tuple[str, ...]
) -> tuple[tuple[str, ...] | None, tuple[str, ...]]:
    """Return the names that a mapping of operators on a name asks for, and those that it leaves out.

    None asks for no name in particular, an empty tuple is met by no name. ``not_names`` are left out too. Raises
    ``InvalidInput`` for an empty mapping, an unknown operator, and an operand that is no name or list of names.
    """
    if not operators:
        raise InvalidInput(f"{field} is {{}}, which has no operator; leave it out, or give {NAME_OPERATORS}")
    if not isinstance(not_names, str | tuple | list):
        raise InvalidInput(f"not_{field} is {show(not_names)}; give a name or a tuple of names")
    asked_for: list[list[str]] = []
    left_out = [not_names] if isinstance(not_names, str) else list(not_names)
    for name, operand in operators.items():
        operator = f"${name}" if isinstance(name, str) and not name.startswith("$") else name
        if operator in (In.operator, NotIn.operator) and isinstance(operand, list | tuple | set | frozenset):
            names = list(operand)
        elif operator in (Eq.operator, Ne.operator):
            names = [operand]
        else:
            raise InvalidInput(f"{show(name)} of {field} is {show(operand)}; give {NAME_OPERATORS}")
        if not all(isinstance(one, str) for one in names):
            raise InvalidInput(f"{show(name)} of {field} is {show(operand)}; give {NAME_OPERATORS}")
        if operator in (Eq.operator, In.operator):
            asked_for.append(names)
        else:
            left_out += names
    wanted = (
        [one for one in dict.fromkeys(asked_for[0]) if all(one in names for names in asked_for)] if asked_for else None
    )
    return None if wanted is None else tuple(wanted), tuple(dict.fromkeys(left_out))


def _parse(value: object, name: str, depth: int) -> Condition:
    """Parse a mapping, or take a condition; ``name`` is what it belongs to, ``depth`` its level."""
    check_depth(depth)
    if isinstance(value, Condition):
        return value
    if not isinstance(value, Mapping):
        raise InvalidInput(f"{name} is {show(value)}; give a mapping such as {{'age': {{'$gte': 3}}}}, or a condition")
    return _all_of(name, [_parse_entry(key, operand, depth) for key, operand in value.items()])


def _parse_entry(key: object, operand: object, depth: int) -> Condition:
    """Parse one entry of a mapping: an operator over conditions, or a key of the metadata."""
    if not isinstance(key, str):
        raise InvalidInput(f"the metadata key {show(key)} is no text; give a str")
    operator = key
    if key in UPPERCASE and isinstance(operand, list | tuple) and any(isinstance(one, Mapping) for one in operand):
        operator = UPPERCASE[key]
    if operator in COMBINATIONS:
        if not isinstance(operand, list | tuple):
            raise InvalidInput(f"{key} is {show(operand)}; give a list of conditions, each a mapping")
        return COMBINATIONS[operator](*(_parse(one, f"one of {key}", depth + 1) for one in operand))
    if operator == Not.operator:
        return Not(_parse(operand, key, depth + 1))
    if operator in COMPARISONS:
        raise InvalidInput(f"{key} stands alone; put it under the key that it is about: {{'age': {{{key!r}: ...}}}}")
    if key.startswith("$"):
        raise InvalidInput(f"{show(key)} is no operator; give one of {', '.join([*COMBINATIONS, '$not'])}, or a key")
    return _parse_operators(key, operand, depth) if isinstance(operand, Mapping) else Eq(key, operand)  # type: ignore[arg-type]  # Eq checks it


def _parse_operators(key: str, operators: Mapping[object, object], depth: int) -> Condition:
    """Parse the operators under a key."""
    check_depth(depth)
    parts: list[Condition] = []
    for name, operand in operators.items():
        operator = name if not isinstance(name, str) or name.startswith("$") else f"${name}"
        if operator == Not.operator and isinstance(operand, Mapping):
            parts.append(Not(_parse_operators(key, operand, depth + 1)))
        elif operator == Not.operator:
            raise InvalidInput(f"$not of {show(key)} is {show(operand)}; give operators, such as {{'$gte': 3}}, or $ne")
        elif isinstance(operator, str) and operator in COMPARISONS:
            parts.append(COMPARISONS[operator](key, operand))
        else:
            names = ", ".join([*COMPARISONS, "$not"])
            raise InvalidInput(f"{show(name)} is no operator for a value; give one of {names}")
    return _all_of(show(key), parts)


def _all_of(name: str, parts: Sequence[Condition]) -> Condition:
    if not parts:
        raise InvalidInput(f"{name} is {{}}, which has no condition; give at least one, or leave it out")
    return parts[0] if len(parts) == 1 else And(*parts)
