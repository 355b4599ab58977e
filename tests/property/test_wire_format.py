"""Properties of the wire format: what is written as JSON and read back is equal, for any value of any public type."""

import inspect
import json
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from datetime import UTC, datetime, timedelta, timezone
from enum import Enum
from functools import cache
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ecphora.consolidation.run import ConsolidationResult
from ecphora.errors import InvalidInput
from ecphora.memory import Entities, Facts, Maintenance, Memory
from ecphora.model.conditions import (
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
    mapping_of,
    parse_condition,
)
from ecphora.model.json_form import to_json
from ecphora.model.types import (
    UNWRITTEN_FIELDS,
    AccessKind,
    Backup,
    Contribution,
    Episode,
    FactUpdate,
    Filter,
    ForgetResult,
    Goal,
    History,
    Hit,
    HitGroup,
    Insight,
    Mark,
    Media,
    MediaKind,
    Node,
    Page,
    Query,
    RememberResult,
    ScopeInfo,
    TransferResult,
    UndoBatch,
    Why,
)
from ecphora.recall.answering import Answer
from ecphora.recall.explain import WhyNot
from ecphora.recall.recollection import Recollection
from ecphora.remember.messages import MessageOptions
from ecphora.remote.wire import from_json

RESULTS: tuple[Any, ...] = (
    Answer, Backup, ConsolidationResult, FactUpdate, ForgetResult, History, Insight, Node, Page, Recollection,
    RememberResult, ScopeInfo, TransferResult, UndoBatch, WhyNot,
)  # fmt: skip
LOCAL = {"Graph", "Query"}
"""What methods return that only makes sense in the process of the memory."""

texts = st.text(st.characters(codec="utf-8"), max_size=8)
numbers = st.floats(allow_nan=False, allow_infinity=False)
zones = st.builds(timezone, st.integers(-600, 600).map(lambda minutes: timedelta(minutes=minutes))) | st.just(UTC)
times = st.datetimes(datetime(2, 1, 1), datetime(9998, 1, 1), timezones=zones)  # noqa: DTZ001  # bounds take no zone
scalars = texts | st.integers(-(2**70), 2**70) | numbers | st.booleans() | st.none()
metadata = st.dictionaries(texts, scalars | st.lists(scalars, max_size=3), max_size=3)


def keys() -> st.SearchStrategy[str]:
    return texts.filter(lambda key: not key.startswith("$"))


def conditions() -> st.SearchStrategy[Condition]:
    """Conditions of every class."""
    values = scalars | st.lists(scalars, max_size=2).map(tuple)
    bounds = texts | st.integers() | numbers
    leaf = st.one_of(
        *(st.builds(cls, keys(), values) for cls in (Eq, Ne)),
        *(st.builds(cls, keys(), bounds) for cls in (Gt, Gte, Lt, Lte)),
        st.builds(Contains, keys(), scalars),
        *(st.builds(cls, keys(), st.lists(scalars, max_size=3)) for cls in (In, NotIn)),
        st.builds(Exists, keys(), st.booleans()),
    )
    return st.recursive(
        leaf,
        lambda inner: (
            inner.map(Not)
            | st.lists(inner, min_size=1, max_size=3).flatmap(
                lambda parts: st.sampled_from([And, Or]).map(lambda cls: cls(*parts))
            )
        ),
        max_leaves=5,
    )


filters = st.builds(
    Filter,
    speakers=texts | st.lists(texts, max_size=2).map(tuple),
    sessions=st.lists(texts, max_size=2).map(tuple),
    sources=texts,
    metadata=metadata.map(lambda found: {key: value for key, value in found.items() if not key.startswith("$")}),
    after=st.none() | times,
    before=st.none() | times,
    recorded_after=st.none() | times,
    recorded_before=st.none() | times,
    min_trust=numbers,
)


@cache
def values_of(hint: Any) -> st.SearchStrategy[Any]:
    """Any value of a type."""
    origin, arguments = get_origin(hint), get_args(hint)
    known: dict[Any, st.SearchStrategy[Any]] = {
        str: texts, bool: st.booleans(), int: st.integers(0, 2**62), float: numbers, datetime: times,
        NoneType: st.none(), Any: scalars, AccessKind | Mark: st.sampled_from([*AccessKind, *Mark]),
        Filter: filters, Hit: hits(), Recollection: recollections(),
        Media: st.builds(Media, texts, st.sampled_from(MediaKind), texts),
    }  # fmt: skip
    if hint in known:
        return known[hint]
    if origin is tuple or origin is list:
        return st.lists(values_of(arguments[0]), max_size=2).map(origin)
    if origin is not None and issubclass(origin, Mapping):
        plain = arguments[1] not in {int, float, str}
        return metadata if plain else st.dictionaries(texts, values_of(arguments[1]), max_size=2)
    if origin in {Union, UnionType}:
        return st.one_of(*map(values_of, arguments))
    if issubclass(hint, Enum):
        return st.sampled_from(hint)
    hints = get_type_hints(hint)
    omitted = UNWRITTEN_FIELDS if hint in {Goal, Query} else ("reason_source", "group_source")
    return st.builds(hint, **{one.name: values_of(hints[one.name]) for one in fields(hint) if one.name not in omitted})


@st.composite
def hits(draw: st.DrawFn) -> Hit:
    hints = get_type_hints(Hit)
    names = ("node", "score", "why", "validity")
    reason = draw(texts)
    return Hit(reason_source=lambda: reason, **{name: draw(values_of(hints[name])) for name in names})


@st.composite
def recollections(draw: st.DrawFn) -> Recollection:
    hints = get_type_hints(Recollection)
    found = {hit.id: hit for hit in draw(st.lists(hits(), max_size=3))}
    names = ("query", "strategy", "evidence", "confidence", "cost")
    rest = {name: draw(values_of(hints[name])) for name in names}
    members = st.lists(st.sampled_from([*found.values()]), unique_by=id) if found else st.just([])
    groups = tuple(HitGroup(draw(texts), tuple(draw(members))) for _ in range(draw(st.integers(0, 2))))
    return Recollection(hits=tuple(found.values()), group_source=lambda: groups, **rest)


def through_json(value: object) -> Any:
    return json.loads(json.dumps(to_json(value), allow_nan=False))


def assert_equal(read: Any, written: Any) -> None:
    """Equal, but for the arrays of a query, which are not written."""
    if isinstance(written, Recollection):
        assert read.hits == written.hits
        assert [hit.reason for hit in read] == [hit.reason for hit in written]
        assert (read.groups, read.cost, read.strategy) == (written.groups, written.cost, written.strategy)
        assert (read.evidence, read.confidence) == (written.evidence, written.confidence)
        names = [one.name for one in fields(Query) if one.name not in UNWRITTEN_FIELDS]
        assert [getattr(read.query, name) for name in names] == [getattr(written.query, name) for name in names]
        assert read.query.vector is None
        assert read.to_dict() == written.to_dict()
    else:
        assert read == written


@pytest.mark.medium
@pytest.mark.parametrize("hint", RESULTS, ids=lambda hint: hint.__name__)
@given(data=st.data())
def test_result_read_back_is_equal(hint: Any, data: st.DataObject) -> None:
    value = data.draw(values_of(hint))
    written = through_json(value)
    assert_equal(from_json(hint, written), value)
    assert through_json(from_json(hint, written)) == written


def test_results_are_all_that_methods_return() -> None:
    members = [pair for cls in (Memory, Facts, Entities, Maintenance) for pair in inspect.getmembers(cls)]
    functions = [one for name, one in members if inspect.isfunction(one) and not name.startswith("_")]
    returned = {hint for one in functions for hint in _classes(get_type_hints(one).get("return"))}
    assert {one.__name__ for one in returned} - {one.__name__ for one in RESULTS} == LOCAL


def _classes(hint: Any) -> set[type]:
    parts = {part for one in get_args(hint) for part in (one, *get_args(one))}
    return {one for one in {hint, *parts} if isinstance(one, type) and is_dataclass(one)}


@pytest.mark.medium
@given(data=st.data(), hint=st.sampled_from(RESULTS))
def test_wrong_json_is_invalid_input(hint: Any, data: st.DataObject) -> None:
    """Whatever stands at any place: a value of the type, or ``InvalidInput``."""
    written = through_json(data.draw(values_of(hint)))
    name = data.draw(st.sampled_from(sorted(written)))
    wrong = {**written, name: data.draw(scalars | st.lists(scalars, max_size=2) | metadata)}
    without = {key: value for key, value in written.items() if key != name}
    for changed in (wrong, without, {**written, "from a newer version": 1}):
        try:
            found = from_json(hint, changed)
        except InvalidInput:
            continue
        assert isinstance(found, hint)


@pytest.mark.medium
@given(condition=conditions())
def test_mapping_of_a_condition_stands_for_it(condition: Condition) -> None:
    mapping = json.loads(json.dumps(mapping_of(condition)))
    assert parse_condition(mapping) == condition
    read = from_json(Filter, through_json(Filter(metadata=condition)))
    assert read.condition == condition


@pytest.mark.medium
@given(where=filters)
def test_filter_read_back_is_equal(where: Filter) -> None:
    assert from_json(Filter, through_json(where)) == where


@pytest.mark.medium
@given(
    episode=st.builds(Episode, texts, happened_at=st.none() | times.map(datetime.isoformat), metadata=metadata),
    options=st.builds(MessageOptions, st.dictionaries(texts, texts, max_size=2), st.booleans(), st.booleans()),
)
def test_arguments_read_back_are_equal(episode: Episode, options: MessageOptions) -> None:
    assert from_json(Episode, through_json(episode)) == episode
    assert from_json(MessageOptions, through_json(options)) == options


def test_fields_with_defaults_may_be_missing() -> None:
    for cls in RESULTS:
        required = [one for one in fields(cls) if one.default is MISSING and one.default_factory is MISSING]
        if not required:
            assert from_json(cls, {}) == cls()


def test_values_that_json_cannot_hold_are_invalid_input() -> None:
    for value in (float("nan"), float("inf"), b"x", object(), {1: 2}, np.float64("nan"), {"a": {1, 2}}):
        with pytest.raises(InvalidInput):
            to_json(value)


def test_json_of_numpy_values_is_plain() -> None:
    found = to_json([np.float32(0.5), np.int64(3), np.bool_(True), np.str_("x")])
    assert json.dumps(found) == '[0.5, 3, true, "x"]'


@pytest.mark.medium
@given(
    st.lists(st.builds(Contribution, texts, st.floats(allow_nan=False, allow_infinity=False), st.tuples(texts, texts)))
)
def test_contributions_are_written_as_objects_with_their_fields(contributions: list[Contribution]) -> None:
    assert to_json(Why(tuple(contributions))) == [
        {one.name: to_json(getattr(part, one.name)) for one in fields(Contribution)} for part in contributions
    ]
