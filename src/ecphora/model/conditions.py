"""Conditions on metadata, as typed objects; ``condition_mappings`` parses the mappings that stand for them.

The rules, for every condition:

- Values compare within their type: numbers with numbers (1 equals 1.0), texts with texts by code point, booleans with
  booleans, None with None. Values of two types are never equal, and none is greater: ``True`` is not 1, "3" is not 3.
- A list meets a condition if one of its items does. A list as operand of ``Eq`` or ``Ne`` means the whole list, its
  items in this order.
- A missing key meets no condition but ``Ne``, ``NotIn``, ``Not`` and ``Exists(key, exists=False)``: ``Ne`` and
  ``NotIn`` are true wherever ``Eq`` and ``In`` are false. A key whose value is None is not missing.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from ..errors import InvalidInput
from .reprs import ShortRepr, call_repr, show

Scalar = str | int | float | bool | None
"""A metadata value that is not a list."""
MetadataValue = Scalar | Sequence[Scalar]
"""A metadata value."""
Metadata = Mapping[str, MetadataValue]
"""The metadata of a memory."""
MAX_DEPTH = 20
"""The levels of conditions within conditions."""
MAX_INT_BITS = 1024
"""The bits of the largest whole number in metadata."""
_LISTS, _NUMBERS = (list, tuple), (int, float)
"""The types of lists and of numbers, as tuples: these checks run for every memory, and are slower with unions."""


class Condition(ShortRepr, ABC):
    """A condition on the metadata of a memory. ``&``, ``|`` and ``~`` combine conditions."""

    __slots__ = ()

    @abstractmethod
    def matches(self, metadata: Metadata) -> bool:
        """Whether metadata meets the condition."""

    def __and__(self, other: "Condition") -> "And":
        return And(*_operands(self, And), *_operands(other, And))

    def __or__(self, other: "Condition") -> "Or":
        return Or(*_operands(self, Or), *_operands(other, Or))

    def __invert__(self) -> "Not":
        return Not(self)


# ---- conditions on one key


@dataclass(frozen=True, slots=True, repr=False)
class _Comparison(Condition):
    """A condition on the value of one key, or on each item of a list."""

    key: str
    value: MetadataValue

    operator: ClassVar[str]
    takes: ClassVar[str] = "a text, a number, a bool or None, or a list of these"

    def __post_init__(self) -> None:
        _check_key(self.key)
        if isinstance(self.value, list | tuple):
            object.__setattr__(self, "value", tuple(self.value))
        if not self._is_operand(self.value):
            raise InvalidInput(f"{self.operator} of {show(self.key)} is {show(self.value)}; give {self.takes}")

    @staticmethod
    def _is_operand(value: object) -> bool:
        """Whether the condition can compare with a value."""
        return _is_scalar(value) or (isinstance(value, tuple) and all(map(_is_scalar, value)))


class Eq(_Comparison):
    """The value of a key, or an item of it, equals ``value``."""

    __slots__ = ()
    operator = "$eq"

    def matches(self, metadata: Metadata) -> bool:
        """Whether metadata meets the condition."""
        return _meets(metadata, self.key, lambda value: _equal(value, self.value))


class Ne(_Comparison):
    """Neither the value of a key nor an item of it equals ``value``; also true without the key."""

    __slots__ = ()
    operator = "$ne"

    def matches(self, metadata: Metadata) -> bool:
        """Whether metadata meets the condition."""
        return not _meets(metadata, self.key, lambda value: _equal(value, self.value))


class _Ordering(_Comparison):
    """A condition on the order of two numbers, or of two texts."""

    __slots__ = ()
    takes = "a number or a text; a date as its ISO 8601 text"

    @staticmethod
    def _is_operand(value: object) -> bool:
        return _is_scalar(value) and value is not None and not isinstance(value, bool)

    @staticmethod
    @abstractmethod
    def _holds(value: float, bound: float) -> bool:
        """Whether a value is on the right side of the bound; both are numbers, or both texts."""

    def matches(self, metadata: Metadata) -> bool:
        """Whether metadata meets the condition."""
        bound, holds = self.value, self._holds
        return _meets(metadata, self.key, lambda value: _have_one_type(value, bound) and holds(value, bound))  # type: ignore[arg-type]  # both are numbers, or both texts


class Gt(_Ordering):
    """The value of a key, or an item of it, is greater than ``value``."""

    __slots__ = ()
    operator = "$gt"

    @staticmethod
    def _holds(value: float, bound: float) -> bool:
        return value > bound


class Gte(_Ordering):
    """The value of a key, or an item of it, is at least ``value``."""

    __slots__ = ()
    operator = "$gte"

    @staticmethod
    def _holds(value: float, bound: float) -> bool:
        return value >= bound


class Lt(_Ordering):
    """The value of a key, or an item of it, is less than ``value``."""

    __slots__ = ()
    operator = "$lt"

    @staticmethod
    def _holds(value: float, bound: float) -> bool:
        return value < bound


class Lte(_Ordering):
    """The value of a key, or an item of it, is at most ``value``."""

    __slots__ = ()
    operator = "$lte"

    @staticmethod
    def _holds(value: float, bound: float) -> bool:
        return value <= bound


class Contains(_Comparison):
    """The value of a key is a text that has ``value`` in it, case counts; or a list of which ``value`` is an item."""

    __slots__ = ()
    operator = "$contains"
    takes = "a text, a number, a bool or None"

    @staticmethod
    def _is_operand(value: object) -> bool:
        return _is_scalar(value)

    def matches(self, metadata: Metadata) -> bool:
        """Whether metadata meets the condition."""
        found = metadata.get(self.key)
        if isinstance(found, str):
            return isinstance(self.value, str) and self.value in found
        return isinstance(found, list | tuple) and any(_equal(item, self.value) for item in found)


@dataclass(frozen=True, slots=True, repr=False)
class In(Condition):
    """The value of a key, or an item of it, equals one of ``values``; of no values, none."""

    key: str
    values: Collection[Scalar]

    operator: ClassVar[str] = "$in"

    def __post_init__(self) -> None:
        _check_key(self.key)
        if not isinstance(self.values, list | tuple | set | frozenset) or not all(map(_is_scalar, self.values)):
            raise InvalidInput(
                f"{self.operator} of {show(self.key)} is {show(self.values)}; "
                "give a list of texts, numbers, bools or None"
            )
        object.__setattr__(self, "values", tuple(self.values))

    def matches(self, metadata: Metadata) -> bool:
        """Whether metadata meets the condition."""
        return _meets(metadata, self.key, lambda value: any(_equal(value, other) for other in self.values))


class NotIn(In):
    """Neither the value of a key nor an item of it equals one of ``values``; also true without the key."""

    __slots__ = ()
    operator = "$nin"

    def matches(self, metadata: Metadata) -> bool:
        """Whether metadata meets the condition."""
        return not In.matches(self, metadata)


@dataclass(frozen=True, slots=True, repr=False)
class Exists(Condition):
    """There is a value for a key, be it None; with ``exists=False``, there is none."""

    key: str
    exists: bool = True

    operator: ClassVar[str] = "$exists"

    def __post_init__(self) -> None:
        _check_key(self.key)
        if not isinstance(self.exists, bool):
            raise InvalidInput(f"{self.operator} of {show(self.key)} is {show(self.exists)}; give True or False")

    def matches(self, metadata: Metadata) -> bool:
        """Whether metadata meets the condition."""
        return (self.key in metadata) == self.exists


# ---- conditions on conditions


@dataclass(frozen=True, slots=True, repr=False, init=False)
class _Combination(Condition):
    """A condition on several conditions."""

    conditions: tuple[Condition, ...]

    operator: ClassVar[str]

    def __init__(self, *conditions: Condition) -> None:
        if not conditions:
            raise InvalidInput(f"{self.operator} has no condition; give at least one")
        _check_conditions(self.operator, conditions)
        object.__setattr__(self, "conditions", conditions)

    def __repr__(self) -> str:
        return call_repr(type(self).__name__, *self.conditions)


class And(_Combination):
    """All of some conditions are met."""

    __slots__ = ()
    operator = "$and"

    def matches(self, metadata: Metadata) -> bool:
        """Whether metadata meets the condition."""
        return all(condition.matches(metadata) for condition in self.conditions)


class Or(_Combination):
    """At least one of some conditions is met."""

    __slots__ = ()
    operator = "$or"

    def matches(self, metadata: Metadata) -> bool:
        """Whether metadata meets the condition."""
        return any(condition.matches(metadata) for condition in self.conditions)


@dataclass(frozen=True, slots=True, repr=False)
class Not(Condition):
    """A condition is not met: true also for a missing key of which the condition would be false."""

    condition: Condition

    operator: ClassVar[str] = "$not"

    def __post_init__(self) -> None:
        _check_conditions(self.operator, (self.condition,))

    def matches(self, metadata: Metadata) -> bool:
        """Whether metadata meets the condition."""
        return not self.condition.matches(metadata)


# ---- checks and comparisons


def _check_key(key: object) -> None:
    if not isinstance(key, str):
        raise InvalidInput(f"the metadata key {show(key)} is no text; give a str")


def _check_conditions(operator: str, conditions: Iterable[object]) -> None:
    for condition in conditions:
        if not isinstance(condition, Condition):
            raise InvalidInput(f"one of {operator} is {show(condition)}; give a condition, such as Eq('city', 'Porto')")
        check_depth(1 + _depth(condition))


def check_depth(depth: int) -> None:
    """Raise ``InvalidInput`` for more than ``MAX_DEPTH`` levels."""
    if depth > MAX_DEPTH:
        raise InvalidInput(f"the conditions have more than {MAX_DEPTH} levels; give fewer conditions within conditions")


def _depth(condition: Condition) -> int:
    """The levels of a condition, 1 for a condition on a key."""
    if isinstance(condition, Not):
        return 1 + _depth(condition.condition)
    return 1 + max(map(_depth, condition.conditions)) if isinstance(condition, _Combination) else 1


def _operands(condition: object, combination: type[_Combination]) -> tuple[Condition, ...]:
    """The conditions of a combination of one type; any other condition by itself."""
    return condition.conditions if isinstance(condition, combination) else (condition,)  # type: ignore[return-value]  # the constructor checks it


def _is_scalar(value: object) -> bool:
    if isinstance(value, int):
        return value.bit_length() <= MAX_INT_BITS
    return value is None or isinstance(value, str) or (isinstance(value, float) and math.isfinite(value))


def _have_one_type(value: object, other: object) -> bool:
    """Whether two values are both numbers, both texts, both booleans or both None."""
    if type(value) is type(other):  # the common case, for every memory
        return not isinstance(value, _LISTS)
    if isinstance(value, bool) or isinstance(other, bool):
        return False
    return (isinstance(value, _NUMBERS) and isinstance(other, _NUMBERS)) or (
        isinstance(value, str) and isinstance(other, str)
    )


def _equal(value: object, other: object) -> bool:
    """Whether two values have one type and are equal; two lists, whether all their items are."""
    if isinstance(value, _LISTS) and isinstance(other, _LISTS):
        return len(value) == len(other) and all(map(_equal, value, other))
    return _have_one_type(value, other) and value == other


def _meets(metadata: Metadata, key: str, is_met: Callable[[MetadataValue], bool]) -> bool:
    """Whether the value of a key, or an item of it, meets a condition on a value."""
    if key not in metadata:
        return False
    value = metadata[key]
    return is_met(value) or (isinstance(value, _LISTS) and any(map(is_met, value)))


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
        raise InvalidInput(f"no mapping stands for {show(condition)}; give a condition of ecphora.model.conditions")
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
    """Return the names that a mapping of operators on a name asks for, and the names that it leaves out.

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
    """Parse a mapping, or take a condition; ``name`` says where it stands, ``depth`` its level."""
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
