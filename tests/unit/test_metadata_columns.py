"""Conditions decided by columns of metadata give what reading the metadata of every row gives."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ecphora.model.conditions import Condition, Eq, Gt, Metadata, parse_condition
from ecphora.model.graph.graph import Graph
from ecphora.model.graph.updates import apply_batch
from ecphora.model.types import Filter, Tombstone, WriteBatch
from ecphora.retrieval import filters
from ecphora.testing import sample_node, sample_query

BIG = 2**53
VALUES_OF_ONE_ITEM = (
    *(None, True, False, 0, 1, 1.0, -0.0, 2, -0.5, "", "a", "ab", "1", "é"),
    *(BIG, BIG + 1, float(BIG), BIG + 2, -BIG - 1, 2**1023),
)
SCALARS = st.sampled_from(VALUES_OF_ONE_ITEM)
VALUES = SCALARS | st.lists(SCALARS, max_size=3)
KEYS = st.sampled_from(["k", "l", "m"])
METADATA = st.dictionaries(KEYS, VALUES, max_size=3)
OPERATORS = (
    st.tuples(st.sampled_from(["$eq", "$ne"]), VALUES)
    | st.tuples(
        st.sampled_from(["$gt", "$gte", "$lt", "$lte"]), st.sampled_from([0, 1, 1.5, "", "a", "b", BIG, BIG + 1, -BIG])
    )
    | st.tuples(st.sampled_from(["$in", "$nin"]), st.lists(SCALARS, max_size=3))
    | st.tuples(st.just("$contains"), SCALARS)
    | st.tuples(st.just("$exists"), st.booleans())
).map(lambda pair: dict([pair]))
CONDITIONS = st.recursive(
    st.dictionaries(st.sampled_from(["k", "l", "zoo"]), OPERATORS, min_size=1, max_size=2),
    lambda inner: (
        st.tuples(st.sampled_from(["$and", "$or", "$nor"]), st.lists(inner, min_size=1, max_size=3)).map(
            lambda pair: dict([pair])
        )
        | inner.map(lambda one: {"$not": one})
    ),
    max_leaves=5,
).map(parse_condition)


def grow(graph: Graph, rows: list[dict[str, Any]]) -> Graph:
    nodes = tuple(
        sample_node(f"n{place}", seq=place + 1, metadata=metadata) for place, metadata in enumerate(rows, len(graph))
    )
    return apply_batch(graph, WriteBatch(nodes=nodes, revision=graph.revision + 1))


def read(graph: Graph, condition: Condition) -> list[bool]:
    """Whether each row meets a condition, without columns."""
    found: list[bool] = filters.match_by_reading(graph, condition, np.arange(len(graph))).tolist()
    return found


@pytest.mark.parametrize(
    "operator", ["$eq", "$ne", "$gt", "$gte", "$lt", "$lte", "$in", "$nin", "$contains", "$not_contains", "$exists"]
)
def test_every_operator_decides_every_value_as_reading_does(operator: str) -> None:
    values = [*VALUES_OF_ONE_ITEM, [], *([one] for one in VALUES_OF_ONE_ITEM), ["a", 1], [True, "ab", BIG]]
    metadata: list[dict[str, Any]] = [{"k": value} for value in values] + [{}, {"l": 1}]
    first = grow(Graph(), metadata[:15])
    filters.match(first, Eq("k", 1))
    graph = grow(first, metadata[15:] + metadata)
    operands: list[Any] = [True, False] if operator == "$exists" else list(VALUES_OF_ONE_ITEM)
    if operator in {"$gt", "$gte", "$lt", "$lte"}:
        operands = [one for one in operands if one is not None and not isinstance(one, bool)]
    elif operator in {"$in", "$nin"}:
        operands = [[], *([one] for one in operands), ["a", True, 7], [BIG + 1, 0]]
    elif operator in {"$eq", "$ne"}:
        operands += [[], ["a", 1], [1]]
    for operand in operands:
        condition = parse_condition({"k": {operator: operand}})
        assert condition is not None
        assert filters.match(graph, condition).tolist() == read(graph, condition), operand


@pytest.mark.medium
@given(st.lists(st.lists(METADATA, max_size=4), max_size=4), st.lists(CONDITIONS, min_size=1, max_size=3))
def test_columns_equal_reading_every_row_as_the_graph_grows(
    parts: list[list[dict[str, Any]]], conditions: list[Condition]
) -> None:
    graph = Graph()
    for part in parts:
        graph = grow(graph, part)
        for condition in conditions[:2]:
            assert filters.match(graph, condition).tolist() == read(graph, condition)
    reloaded = grow(Graph(), [metadata for part in parts for metadata in part])
    for condition in conditions:
        expected = read(graph, condition)
        assert filters.match(graph, condition).tolist() == expected
        assert filters.match(reloaded, condition).tolist() == expected


@pytest.mark.medium
@given(st.lists(METADATA, max_size=4), st.lists(METADATA, max_size=3), st.lists(METADATA, max_size=3), CONDITIONS)
def test_columns_of_two_graphs_grown_from_one_are_independent(
    rows: list[dict[str, Any]], first: list[dict[str, Any]], second: list[dict[str, Any]], condition: Condition
) -> None:
    graph = grow(Graph(), rows)
    filters.match(graph, condition)
    one, other = grow(graph, first), grow(graph, second)
    for grown in (one, other, graph):
        assert filters.match(grown, condition).tolist() == read(grown, condition)


@pytest.mark.parametrize("max_read_rows", [0, 10**6])
def test_filter_reads_few_rows_and_uses_columns_for_many(max_read_rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []

    def spy(name: str) -> None:
        original = getattr(filters, name)

        def record(*args: Any) -> Any:
            calls.append(name)
            return original(*args)

        monkeypatch.setattr(filters, name, record)

    spy("match")
    spy("match_by_reading")
    monkeypatch.setattr(filters, "MAX_READ_ROWS", max_read_rows)
    graph = grow(Graph(), [{"k": n} for n in range(5)])
    found = filters.eligible(graph, sample_query("x", where=Filter(metadata={"k": {"$gte": 3}})))
    assert found.tolist() == [False, False, False, True, True]
    assert calls == ["match" if max_read_rows == 0 else "match_by_reading"]


def test_column_is_gone_with_what_was_forgotten() -> None:
    graph = grow(Graph(), [{"k": 1}, {"k": 2}, {"k": 1}])
    assert filters.match(graph, Eq("k", 1)).tolist() == [True, False, True]
    shorter = apply_batch(graph, WriteBatch(tombstones=(Tombstone("n0", b""),), revision=2))
    assert filters.match(shorter, Eq("k", 1)).tolist() == [False, True]


def test_unknown_keys_leave_nothing_in_the_cache() -> None:
    graph = grow(Graph(), [{"k": 1}])
    filters.match(graph, Eq("k", 1))
    size = len(graph._derivations)
    for n in range(100):
        assert not filters.match(graph, Eq(f"unknown{n}", 1)).any()
    assert len(graph._derivations) == size


def test_texts_and_numbers_of_subclasses_are_found() -> None:
    class City(StrEnum):
        PORTO = "Porto"

    graph = grow(Graph(), [{"city": City.PORTO, "age": np.float64(3)}, {"city": "Porto", "age": 3}])
    for mapping in ({"city": "Porto"}, {"city": City.PORTO}, {"age": 3}, {"age": {"$gte": np.float64(3)}}):
        condition = parse_condition(mapping)
        assert condition is not None
        assert filters.match(graph, condition).all()


def test_condition_of_ones_own_is_read_row_by_row() -> None:
    class HasTwo(Condition):
        def matches(self, metadata: Metadata) -> bool:
            return len(metadata) == 2

    class GtOrNone(Gt):
        __slots__ = ()

        def matches(self, metadata: Mapping[str, Any]) -> bool:
            return metadata.get(self.key) is None or super().matches(metadata)

    graph = grow(Graph(), [{"k": 1, "l": 2}, {"k": None}, {"l": 9}, {}])
    assert filters.match(graph, HasTwo()).tolist() == [True, False, False, False]
    assert filters.match(graph, ~HasTwo() & Eq("l", 9)).tolist() == [False, False, True, False]
    assert filters.match(graph, GtOrNone("k", 1)).tolist() == [False, True, True, True]
