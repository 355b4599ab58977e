"""Conditions on metadata: what each matches, the mappings that stand for them, and their errors."""

import pickle
from collections.abc import Mapping
from enum import StrEnum
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ecphora.errors import InvalidInput
from ecphora.model.conditions import (
    MAX_DEPTH,
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
    parse_condition,
)

TALE = {"age": 3, "city": "Porto", "tags": ["sea", "boat", 7], "open": True, "end": None}


def matches(condition: object, metadata: Mapping[str, Any] = TALE) -> bool:
    parsed = parse_condition(condition)
    assert parsed is not None
    return parsed.matches(metadata)


@pytest.mark.parametrize(
    "condition",
    [
        {"age": 3}, {"age": 3.0}, {"age": {"$eq": 3}}, {"age": {"$ne": 4}},
        {"age": {"$ne": "3"}}, {"age": {"$ne": True}},
        {"age": {"$gt": 2.5}}, {"age": {"$gte": 3}}, {"age": {"$lt": 4}},
        {"age": {"$lte": 3}}, {"age": {"$gt": 2, "$lt": 4}},
        {"city": {"$gt": "Ghent"}}, {"city": {"$lte": "Porto"}}, {"city": {"$in": ["Faro", "Porto"]}}, {"open": True},
        {"city": {"$nin": ["Faro"]}}, {"city": {"$nin": []}}, {"city": {"$contains": "ort"}}, {"end": None},
        {"end": {"$exists": True}}, {"zoo": {"$exists": False}}, {"zoo": {"$ne": 1}}, {"zoo": {"$nin": [1]}},
        {"zoo": {"$not": {"$gt": 1}}}, {"zoo": {"$not_contains": "x"}},
        # lists: an item is enough, an operand that is a list is the whole list
        {"tags": "sea"}, {"tags": {"$in": ["x", "boat"]}}, {"tags": {"$gt": 6}}, {"tags": {"$contains": "boat"}},
        {"tags": {"$contains": 7.0}}, {"tags": ["sea", "boat", 7]},
        {"tags": {"$ne": ["sea"]}}, {"tags": {"$nin": ["x"]}},
        # combinations, with the spellings of other stores
        {"age": 3, "city": "Porto"}, {"$and": [{"age": 3}, {"city": "Porto"}]},
        {"$or": [{"age": 9}, {"city": "Porto"}]}, {"$not": {"age": 9}}, {"$nor": [{"age": 9}, {"city": "Faro"}]},
        {"age": {"gte": 3}, "city": {"in": ["Porto"]}},
        {"AND": [{"age": {"gt": 2}}, {"OR": [{"age": 9}, {"open": True}]}]}, {"NOT": [{"age": 9}, {"city": "Faro"}]},
        {"$and": [Eq("age", 3), {"city": "Porto"}]}, Eq("age", 3) & Eq("city", "Porto"), Eq("age", 9) | Ne("age", 9),
        ~Eq("age", 9), And(Gte("age", 3), Lte("age", 3)), Or(Lt("age", 3), Contains("tags", "sea")), Not(Gt("age", 3)),
        In("city", {"Porto"}), NotIn("city", ("Faro",)), Exists("end"), Exists("zoo", exists=False),
    ],
    ids=str,
)  # fmt: skip
def test_condition_matches(condition: object) -> None:
    assert matches(condition)
    assert not matches({"$not": condition})


@pytest.mark.parametrize(
    "condition",
    [
        {"age": 4}, {"age": "3"}, {"age": True}, {"open": 1}, {"age": {"$ne": 3}},
        {"age": {"$gt": 3}}, {"age": {"$gte": 3.5}}, {"age": {"$lt": 3}}, {"age": {"$lte": 2}}, {"age": {"$gt": "2"}},
        {"open": {"$gte": 0}}, {"end": {"$lt": 1}}, {"city": {"$in": []}}, {"city": {"$in": ["porto"]}},
        {"city": {"$nin": ["Porto"]}}, {"city": {"$contains": "ORT"}}, {"age": {"$contains": 3}},
        {"city": {"$contains": 3}}, {"city": {"$not_contains": "ort"}}, {"end": {"$exists": False}},
        {"zoo": {"$exists": True}}, {"zoo": None}, {"zoo": {"$gt": 0}}, {"zoo": {"$in": [None]}},
        {"zoo": {"$contains": ""}},
        {"tags": "oat"}, {"tags": {"$contains": "oat"}}, {"tags": {"$ne": "sea"}}, {"tags": ["boat", "sea", 7]},
        {"tags": ["sea", "boat"]}, {"tags": {"$nin": ["x", "sea"]}}, {"tags": {"$contains": True}},
        {"age": 3, "city": "Faro"}, {"$or": [{"age": 9}, {"city": "Faro"}]}, {"$nor": [{"age": 9}, {"city": "Porto"}]},
        {"NOT": [{"age": 9}, {"city": "Porto"}]}, {"age": {"$gt": 2, "$lt": 3}}, {"tags": {"$not": {"$eq": "sea"}}},
    ],
    ids=str,
)  # fmt: skip
def test_condition_does_not_match(condition: object) -> None:
    assert not matches(condition)
    assert matches({"$not": condition})


def test_subclasses_of_texts_and_numbers_compare_like_them() -> None:
    class City(StrEnum):
        PORTO = "Porto"

    assert matches({"city": City.PORTO})
    assert matches({"city": "Porto"}, {"city": City.PORTO})
    assert matches({"age": np.float64(3)})
    assert not matches({"open": np.float64(1)})


def test_mapping_stands_for_typed_conditions() -> None:
    mapping = {"age": {"$gte": 3, "$lt": 9}, "tags": {"$contains": "x"}, "$or": [{"a": 1}, {"$not": {"b": [1, 2]}}]}
    assert parse_condition(mapping) == And(
        And(Gte("age", 3), Lt("age", 9)), Contains("tags", "x"), Or(Eq("a", 1), Not(Eq("b", (1, 2))))
    )
    assert parse_condition({}) is None
    assert parse_condition(Eq("a", 1)) == Eq("a", 1)
    assert parse_condition(Eq("a", 1)) != Gte("a", 1)


def test_conditions_are_hashable_and_combine_flatly() -> None:
    combined = Eq("a", [1]) & Ne("b", 2) & ~In("c", [3]) & (Exists("d") | Gt("e", 1) | Lte("f", 2))
    assert [type(one) for one in combined.conditions] == [Eq, Ne, Not, Or]
    assert combined == pickle.loads(pickle.dumps(combined))  # noqa: S301  # our own
    assert len({combined, Eq("a", [1]), Eq("a", (1,))}) == 2


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        (5, "metadata is 5; give a mapping"),
        ({"age": {"$gr": 3}}, r"'\$gr' is no operator for a value; give one of \$eq, .*\$gt, "),
        ({"age": {"$and": [{"$gt": 3}]}}, r"'\$and' is no operator for a value"),
        ({"age": {"city": 3}}, "'city' is no operator for a value"),
        ({"age": {3: 3}}, "3 is no operator for a value"),
        ({"$gr": [{"age": 3}]}, r"'\$gr' is no operator; give one of \$and, \$or, \$nor, \$not, or a key"),
        ({"$gte": 3}, r"\$gte stands alone; put it under the key"),
        ({"age": {}}, "'age' is {}, which has no condition; give at least one"),
        ({"$and": []}, r"\$and has no condition; give at least one"),
        ({"$or": {"age": 3}}, r"\$or is {'age': 3}; give a list of conditions"),
        ({"$or": ["age"]}, r"one of \$or is 'age'; give a mapping"),
        ({"$and": [{}]}, r"one of \$and is {}, which has no condition"),
        ({"$not": 5}, r"\$not is 5; give a mapping"),
        ({"age": {"$not": 5}}, r"\$not of 'age' is 5; give operators"),
        ({"age": {"$gt": None}}, r"\$gt of 'age' is None; give a number or a text; a date as its ISO 8601 text"),
        ({"age": {"$lte": True}}, r"\$lte of 'age' is True; give a number or a text"),
        ({"age": {"$lt": [3]}}, r"\$lt of 'age' is \(3,\); give a number or a text"),
        ({"age": {"$eq": float("nan")}}, r"\$eq of 'age' is nan; give a text, a number"),
        ({"age": [[3]]}, r"\$eq of 'age' is \(\[3\],\); give a text, a number"),
        ({"age": 10**5000}, r"\$eq of 'age' is a int; give a text, a number"),
        ({"age": {"$in": "Porto"}}, r"\$in of 'age' is 'Porto'; give a list"),
        ({"age": {"$nin": [[3]]}}, r"\$nin of 'age' is \[\[3\]\]; give a list"),
        ({"age": {"$contains": [3]}}, r"\$contains of 'age' is \(3,\); give a text, a number, a bool or None"),
        ({"age": {"$exists": 1}}, r"\$exists of 'age' is 1; give True or False"),
        ({5: 5}, "the metadata key 5 is no text; give a str"),
    ],
)
def test_wrong_condition_is_one_clear_error(condition: object, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        parse_condition(condition)


def test_typed_conditions_check_what_they_are_given() -> None:
    for make in (
        lambda: Eq(5, 5),  # type: ignore[arg-type]
        lambda: Exists(None),  # type: ignore[arg-type]
        lambda: In("k", 5),  # type: ignore[arg-type]
        And,
        lambda: Or(5),  # type: ignore[arg-type]
        lambda: Not({"age": 3}),  # type: ignore[arg-type]
        lambda: Eq("a", 1) & 5,  # type: ignore[operator]
    ):
        with pytest.raises(InvalidInput, match="give"):
            make()


@pytest.mark.medium
@pytest.mark.parametrize("level", ["$and", "$not", "$or"])
def test_depth_of_conditions_is_limited(level: str) -> None:
    def nested(depth: int) -> dict[str, Any]:
        condition: dict[str, Any] = {"age": 3}
        for _ in range(depth - 1):
            condition = {level: condition if level == "$not" else [condition]}
        return condition

    deepest = parse_condition(nested(MAX_DEPTH))
    assert deepest is not None
    for too_deep in (MAX_DEPTH + 1, 5_000):
        with pytest.raises(InvalidInput, match="more than 20 levels; give fewer"):
            parse_condition(nested(too_deep))
    with pytest.raises(InvalidInput, match="more than 20 levels"):
        Not(deepest)
    operators: dict[str, Any] = {"$gt": 1}
    for _ in range(5_000):
        operators = {"$not": operators}
    with pytest.raises(InvalidInput, match="more than 20 levels"):
        parse_condition({"age": operators})


# ---- a plain loop over values as the reference

SCALARS = st.sampled_from([None, True, False, 0, 1, 1.0, 2, -0.5, "", "a", "ab", "1"])
VALUES = SCALARS | st.lists(SCALARS, max_size=3)
KEYS = st.sampled_from(["k", "l", "m"])
METADATA = st.dictionaries(KEYS, VALUES, max_size=3)
OPERATORS = (
    st.tuples(st.sampled_from(["$eq", "$ne"]), VALUES)
    | st.tuples(st.sampled_from(["$gt", "$gte", "$lt", "$lte"]), st.sampled_from([0, 1, 1.5, "", "a", "b"]))
    | st.tuples(st.sampled_from(["$in", "$nin"]), st.lists(SCALARS, max_size=3))
    | st.tuples(st.just("$contains"), SCALARS)
    | st.tuples(st.just("$exists"), st.booleans())
).map(lambda pair: dict([pair]))
LEAVES = st.dictionaries(KEYS, OPERATORS, min_size=1, max_size=2)
MAPPINGS = st.recursive(
    LEAVES,
    lambda inner: (
        st.tuples(st.sampled_from(["$and", "$or", "$nor"]), st.lists(inner, min_size=1, max_size=3)).map(
            lambda pair: dict([pair])
        )
        | inner.map(lambda one: {"$not": one})
    ),
    max_leaves=6,
)


def reference_matches(condition: Mapping[str, Any], metadata: Mapping[str, Any]) -> bool:
    """Whether metadata meets a mapping: the documented rules as a loop over the values of each key."""
    for key, operand in condition.items():
        parts = [reference_matches(one, metadata) for one in operand] if isinstance(operand, list) else []
        met = {"$and": all(parts), "$or": any(parts), "$nor": not any(parts)}.get(key)
        if key == "$not":
            met = not reference_matches(operand, metadata)
        if not (reference_holds(key, operand, metadata) if met is None else met):
            return False
    return True


def reference_holds(key: str, operators: Mapping[str, Any], metadata: Mapping[str, Any]) -> bool:
    ((operator, operand),) = operators.items()
    if operator == "$exists":
        return (key in metadata) is operand
    if operator in {"$ne", "$nin"}:
        return not reference_holds(key, {"$eq" if operator == "$ne" else "$in": operand}, metadata)
    if key not in metadata:
        return False
    value = metadata[key]
    items = value if isinstance(value, list) else []
    if operator == "$contains":
        is_part = isinstance(value, str) and isinstance(operand, str) and operand in value
        return is_part or any(reference_equal(one, operand) for one in items)
    if operator in {"$eq", "$in"}:
        wanted = [operand] if operator == "$eq" else operand
        return any(reference_equal(one, other) for one in [value, *items] for other in wanted)
    signs = {"$gt": {1}, "$gte": {0, 1}, "$lt": {-1}, "$lte": {-1, 0}}[operator]
    comparable = [one for one in [value, *items] if reference_type(one) == reference_type(operand)]
    return any((one > operand) - (one < operand) in signs for one in comparable)


def reference_equal(value: object, other: object) -> bool:
    return reference_type(value) == reference_type(other) and value == other


def reference_type(value: object) -> object:
    """What must be the same of two values that are compared."""
    if isinstance(value, list):
        return [reference_type(one) for one in value]
    return "number" if type(value) in {int, float} else type(value).__name__


@pytest.mark.medium
@given(MAPPINGS, METADATA)
def test_condition_equals_the_reference(mapping: dict[str, Any], metadata: dict[str, Any]) -> None:
    condition = parse_condition(mapping)
    assert isinstance(condition, Condition)
    assert condition.matches(metadata) == reference_matches(mapping, metadata)
