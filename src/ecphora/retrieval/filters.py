"""The rows that a query may return, by node kind, filters and time; and the exchanges that it may return.

Names of speakers in a filter compare without case, accents and width, because people and models write them as they
please. Sessions and sources are written by programs, as ids and paths in which every character counts: they compare
exactly.

A condition on metadata is decided once for each distinct value of a key, not once for each row. A column has the values
of one key. It is made when a filter first asks for the key, and extended as the graph grows. :func:`match_by_reading`
is the same without columns: a loop over the metadata of some rows.
"""

import difflib
import operator
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from types import MappingProxyType
from typing import Any, TypeGuard, get_args

import numpy as np
from numpy.typing import NDArray

from ..language.names.mentions import fold_name
from ..model.conditions import (
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
    MetadataValue,
    Ne,
    Not,
    NotIn,
    Or,
)
from ..model.graph.columns import Vocabulary
from ..model.graph.graph import CachedDerivation, Graph, epoch_seconds
from ..model.reprs import show
from ..model.types import Filter, Kind, Link, Mask, Query, Rows
from . import validity

MAX_READ_ROWS = 256
"""The number of rows up to which metadata is read row by row, so that no column is made for a few."""


def eligible(graph: Graph, query: Query) -> Mask:
    """The episodes that pass the query's filter and happened and were recorded by its ``as_of`` and ``known_at``."""
    return matching(graph, query, graph.episodes)


def matching(graph: Graph, query: Query, among: Mask) -> Mask:
    """The same for other rows, such as exchanges: the rows of ``among`` that pass the query's filter and times."""
    nodes, where = graph.nodes, query.where
    mask = among.copy()
    _apply_names_and_bounds(mask, graph, where)
    if query.as_of is not None:
        has_happened = nodes["happened"] <= epoch_seconds(query.as_of)
        mask &= (
            has_happened | validity.claimed_valid_at(graph, epoch_seconds(query.as_of))
            if query.retroactive
            else has_happened
        )
    if query.known_at is not None:
        mask &= nodes["recorded"] <= epoch_seconds(query.known_at)
    _apply_condition(mask, graph, where)
    return mask


def notices(graph: Graph, query: Query, among: Mask | None = None) -> tuple[str, ...]:
    """What to tell about a query's filter: the names that no memory has by the times of the query."""
    where = query.where
    if not any(getattr(where, field) for field in FIELDS):
        return ()
    visible = matching(graph, replace(query, where=Filter()), graph.episodes if among is None else among)
    return unknown_name_notices(graph, where, visible)


def _apply_names_and_bounds(mask: Mask, graph: Graph, where: Filter) -> None:
    """Clear the rows whose speaker, session, source, times or trust a filter leaves out."""
    nodes = graph.nodes
    for name_column in FIELDS:
        wanted, unwanted = getattr(where, name_column), getattr(where, f"not_{name_column}")
        if wanted is not None:  # of an empty list, no name is one
            mask &= _has_name(graph, name_column, wanted)
        if unwanted:
            mask &= ~_has_name(graph, name_column, unwanted)
    for column, start, end in (
        ("happened", where.after, where.before),
        ("recorded", where.recorded_after, where.recorded_before),
    ):
        if isinstance(start, datetime):  # a filter has parsed its bounds
            mask &= nodes[column] >= epoch_seconds(start)
        if isinstance(end, datetime):
            mask &= nodes[column] < epoch_seconds(end)
    if where.min_trust > 0:
        mask &= nodes["trust"] >= np.float32(where.min_trust)


def _has_name(graph: Graph, field: str, names: str | Iterable[str]) -> Mask:
    """Whether each row has one of some names as its speaker, session or source."""
    is_wanted = np.zeros(len(getattr(graph, field).names) + 1, np.bool_)  # the last entry stands for no name, -1
    is_wanted[find_codes(graph, field, names)] = True
    has_name: Mask = is_wanted[graph.nodes[field]]
    return has_name


def _apply_condition(mask: Mask, graph: Graph, where: Filter) -> None:
    """Clear the rows whose metadata does not meet the condition of a filter."""
    condition = where.condition
    if condition is None:
        return
    rows = np.flatnonzero(mask)
    mask &= match_by_reading(graph, condition, rows) if len(rows) <= MAX_READ_ROWS else match(graph, condition)


FIELDS: Mapping[str, str] = {"speakers": "speaker", "sessions": "session", "sources": "source"}
"""The fields of a filter that take names, which are columns and vocabularies of a graph too, and the noun for one."""
MAX_NEAR = 5
"""The stored names shown for a name that no memory has."""
MAX_COMPARED = 1_000
"""The stored names that are compared with the unknown name: of more, the names that appeared last."""


def find_codes(graph: Graph, field: str, names: str | Iterable[str]) -> list[int]:
    """The codes of the stored names that some names of a filter stand for.

    A speaker's name stands for itself if it is stored, else for all stored ones that differ in case, accents or width
    alone.
    """
    vocabulary: Vocabulary = getattr(graph, field)
    found: list[int] = []
    for name in (names,) if isinstance(names, str) else names:
        if (code := vocabulary.code(name)) >= 0:
            found.append(code)
        elif field == "speakers":
            found += _folded_speakers(graph).get(fold_name(name), ())
    return found


def unknown_name_notices(graph: Graph, where: Filter, visible: Mask) -> tuple[str, ...]:
    """A notice for each name asked for that none of the visible rows has, with the stored names near to it."""
    return tuple(_notices(graph, where, visible))


def _notices(graph: Graph, where: Filter, visible: Mask) -> Iterator[str]:
    for column, noun in FIELDS.items():
        names: str | tuple[str, ...] | None = getattr(where, column)
        if not names:
            continue
        codes = np.unique(graph.nodes[column][visible])
        known = set(codes[codes >= 0].tolist())
        for name in (names,) if isinstance(names, str) else names:
            if known.isdisjoint(find_codes(graph, column, name)):
                stored: tuple[str, ...] = getattr(graph, column).names
                near = ", ".join(map(show, _near(name, [stored[code] for code in sorted(known)[-MAX_COMPARED:]])))
                yield f"no {noun} {show(name)}; near: {near}" if near else f"no {noun} {show(name)}"


def _near(name: str, stored: Sequence[str]) -> list[str]:
    """The stored names that are written alike, or that have all words of the name or are part of it, nearest first."""
    by_form: dict[str, list[str]] = {}
    for one in stored:
        by_form.setdefault(fold_name(one), []).append(one)
    form = fold_name(name)
    words = set(form.split())
    alike = difflib.get_close_matches(form, by_form, MAX_NEAR)
    related = (one for one in by_form if words and ((own := set(one.split())) <= words or words <= own) and own)
    return [one for near in dict.fromkeys((*alike, *related)) for one in by_form[near]][:MAX_NEAR]


def _folded_speakers(graph: Graph) -> Mapping[str, tuple[int, ...]]:
    """The codes of speakers by the folded forms of their names."""
    return graph.derive("folded speakers", _update_folded_speakers)[1]


_FoldedSpeakers = tuple[int, Mapping[str, tuple[int, ...]]]
"""How many speakers are folded, and their codes by form."""


def _update_folded_speakers(graph: Graph, before: CachedDerivation[_FoldedSpeakers] | None) -> _FoldedSpeakers:
    count, known = (0, {}) if before is None else before.value
    names = graph.speakers.names
    if len(names) == count:
        return count, known
    codes = dict(known)
    for code, name in enumerate(names[count:], count):
        form = fold_name(name)
        codes[form] = (*codes.get(form, ()), code)
    return len(names), codes


MAX_EXACT_INT = 2**53
"""Whole numbers up to this one are exact as a float."""
Ordering = Gt | Gte | Lt | Lte
KeyCondition = Eq | Ne | Ordering | In | NotIn | Contains | Exists
COMPARISONS: Mapping[type[Condition], Callable[[Any, Any], Any]] = MappingProxyType(
    {Gt: operator.gt, Gte: operator.ge, Lt: operator.lt, Lte: operator.le}
)
"""How the conditions on the order of two values compare."""


def _no_rows() -> Rows:
    return np.zeros(0, np.intp)


@dataclass(frozen=True, slots=True)
class MetadataColumn:
    """The values of one metadata key: the rows that have the key, and for each the code of its value.

    The codes number the distinct values. ``texts`` and ``numbers`` are the values of these types, ``others`` are lists,
    booleans, None, and whole numbers that are not exact as a float; each with their codes.
    """

    rows: Rows = field(default_factory=_no_rows)
    codes: Rows = field(default_factory=_no_rows)
    code_by_value: Mapping[Hashable, int] = field(default_factory=dict)
    texts: tuple[str, ...] = ()
    text_codes: Rows = field(default_factory=_no_rows)
    numbers: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    number_codes: Rows = field(default_factory=_no_rows)
    others: tuple[MetadataValue, ...] = ()
    other_codes: Rows = field(default_factory=_no_rows)

    def append(self, rows: list[int], values: Iterable[MetadataValue]) -> "MetadataColumn":
        """Return the column with the values of more rows."""
        new_codes: dict[Hashable, int] = {}
        codes: list[int] = []
        texts: list[str] = []
        numbers: list[float] = []
        others: list[MetadataValue] = []
        text_codes: list[int] = []
        number_codes: list[int] = []
        other_codes: list[int] = []
        for value in values:
            key = value if isinstance(value, str) else _hashable(value)
            code = self.code_by_value.get(key, -1)
            if code < 0 and (code := new_codes.get(key, -1)) < 0:
                code = new_codes[key] = len(self.code_by_value) + len(new_codes)
                if isinstance(value, str):
                    texts.append(value)
                    text_codes.append(code)
                elif _is_exact(value):
                    numbers.append(value)
                    number_codes.append(code)
                else:
                    others.append(value)
                    other_codes.append(code)
            codes.append(code)
        return MetadataColumn(
            rows=_append(self.rows, rows),
            codes=_append(self.codes, codes),
            code_by_value={**self.code_by_value, **new_codes} if new_codes else self.code_by_value,
            texts=(*self.texts, *texts),
            text_codes=_append(self.text_codes, text_codes),
            numbers=np.concatenate([self.numbers, np.array(numbers, np.float64)]),
            number_codes=_append(self.number_codes, number_codes),
            others=(*self.others, *others),
            other_codes=_append(self.other_codes, other_codes),
        )


def match(graph: Graph, condition: Condition) -> Mask:
    """The rows whose metadata meets a condition."""
    kind = type(condition)
    if isinstance(condition, And | Or) and kind in (And, Or):
        masks = [match(graph, one) for one in condition.conditions]
        return np.logical_and.reduce(masks) if kind is And else np.logical_or.reduce(masks)
    if isinstance(condition, Not) and kind is Not:
        return ~match(graph, condition.condition)
    if isinstance(condition, KeyCondition) and kind in get_args(KeyCondition):
        mask = np.full(len(graph), condition.matches({}))
        column = _column(graph, condition.key)
        mask[column.rows] = _match_values(column, condition)[column.codes]
        return mask
    return match_by_reading(graph, condition, np.arange(len(graph)))


def match_by_reading(graph: Graph, condition: Condition, rows: Rows) -> Mask:
    """The rows, of some rows, whose metadata meets a condition, read one by one."""
    mask, metadata = np.zeros(len(graph), np.bool_), graph.nodes["metadata"]
    for row in rows.tolist():
        mask[row] = condition.matches(metadata[row] or {})
    return mask


def _column(graph: Graph, key: str) -> MetadataColumn:
    """The column of a key; only columns of keys that some memory has are kept, else filters could fill the RAM."""
    if key not in graph.derive("metadata keys", _metadata_keys):
        return MetadataColumn()
    return graph.derive(("metadata", key), partial(_extend_column, key))


def _metadata_keys(graph: Graph, previous: CachedDerivation[frozenset[str]] | None) -> frozenset[str]:
    known, start = (frozenset[str](), 0) if previous is None else (previous.value, previous.node_count)
    return known.union(*filter(None, graph.nodes["metadata"][start:].tolist()))


def _extend_column(key: str, graph: Graph, previous: CachedDerivation[MetadataColumn] | None) -> MetadataColumn:
    column, start = (MetadataColumn(), 0) if previous is None else (previous.value, previous.node_count)
    new = graph.nodes["metadata"][start:].tolist()
    rows = [row for row, metadata in enumerate(new, start) if metadata and key in metadata]
    return column.append(rows, (new[row - start][key] for row in rows)) if rows else column


def _append(codes: Rows, added: list[int]) -> Rows:
    return np.concatenate([codes, np.array(added, np.intp)])


def _is_exact(value: object) -> TypeGuard[float]:
    """Whether a value is a number that is exact as a float."""
    return isinstance(value, float) or (
        isinstance(value, int) and not isinstance(value, bool) and abs(value) <= MAX_EXACT_INT
    )


def _hashable(value: object) -> Hashable:
    """A key that two values have in common only if no condition tells them apart."""
    if isinstance(value, list | tuple):
        return (list, tuple(map(_hashable, value)))
    if isinstance(value, str | float | int) and not isinstance(value, bool):
        return value
    return (type(value), repr(value))


def _match_values(column: MetadataColumn, condition: KeyCondition) -> Mask:
    """Which of a column's distinct values meet a condition on its key, by their codes."""
    if isinstance(condition, Ne):
        return ~_match_values(column, Eq(condition.key, condition.value))
    if isinstance(condition, NotIn):
        return ~_match_values(column, In(condition.key, condition.values))
    is_met = np.zeros(len(column.code_by_value), np.bool_)
    if isinstance(condition, Exists):
        return is_met if not condition.exists else ~is_met
    if isinstance(condition, Eq | In):
        operands = condition.values if isinstance(condition, In) else (condition.value,)
        codes = (column.code_by_value.get(_hashable(operand), -1) for operand in operands)
        is_met[[code for code in codes if code >= 0]] = True
    elif isinstance(condition, Contains):
        if isinstance(part := condition.value, str):
            is_met[column.text_codes] = [part in text for text in column.texts]
    else:
        _match_order(column, condition, is_met)
    key = condition.key
    for code, value in zip(column.other_codes.tolist(), column.others, strict=True):
        is_met[code] = condition.matches({key: value})
    return is_met


def _match_order(column: MetadataColumn, condition: Ordering, is_met: Mask) -> None:
    """Mark the texts and numbers that are on the right side of a bound of their type."""
    holds, bound = COMPARISONS[type(condition)], condition.value
    if isinstance(bound, str):
        is_met[column.text_codes] = [holds(text, bound) for text in column.texts]
    elif _is_exact(bound):
        is_met[column.number_codes] = holds(column.numbers, bound)
    else:
        is_met[column.number_codes] = [holds(number, bound) for number in column.numbers.tolist()]


RECALL_SOURCE = "recall"
"""The source of a stored recall question. It was answered from episodes, so it is an episode."""


def eligible_exchanges(graph: Graph, query: Query, eligible: Mask) -> Mask:
    """The exchanges that may be shown if only the memories under ``eligible`` may be.

    A response may repeat any memory that was recalled for it, so all these memories must be eligible, and the exchange
    must have happened and been recorded in time. An exchange with such memories needs no name or metadata that passes
    the query's filter; an exchange without them must pass the filter itself.
    """
    exchanges = graph.of_kind(Kind.EXCHANGE)
    if not exchanges.any():
        return exchanges
    edges = graph.edges_of_link(Link.BASED_ON)
    src, dst = graph.edges["src"][edges], graph.edges["dst"][edges]
    has_source = np.zeros(len(graph), np.bool_)
    has_source[src] = True
    allowed = matching(graph, query, exchanges)
    allowed |= has_source & matching(graph, replace(query, where=Filter()), exchanges)
    while True:  # an exchange may be based on another one
        blocked = np.zeros(len(graph), np.bool_)
        blocked[src[~(eligible | allowed)[dst]]] = True
        if not (allowed & blocked).any():
            return allowed
        allowed &= ~blocked


def answered_questions(graph: Graph) -> Mask:
    """The stored questions whose exchange stands for them."""
    mask = np.zeros(len(graph), np.bool_)
    mask[graph.edges["dst"][graph.edges_of_link(Link.RESPONDS_TO)]] = True
    return mask
