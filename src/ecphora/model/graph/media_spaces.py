"""The vectors of media in a graph: a space of its own for each model."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import groupby
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from ...errors import InvalidInput
from ..types import Mask, MediaQuery, MediaVector, NodeId, Rows
from .columns import Column, Table


@dataclass(frozen=True, slots=True)
class MediaSpace:
    """The vectors of one model, in ``vectors``; ``places`` has the row and the position of the medium of each."""

    vectors: Column
    places: Table = field(default_factory=lambda: Table.empty(rows="i4", positions="i4"))


MediaSpaces = Mapping[str, MediaSpace]
"""The spaces by the names of their models."""


def no_media() -> MediaSpaces:
    """No spaces."""
    return MappingProxyType({})


def with_vectors(spaces: MediaSpaces, vectors: Iterable[MediaVector], row_by_id: Mapping[NodeId, int]) -> MediaSpaces:
    """The spaces with some vectors added; a vector takes the place of an earlier one of the same medium."""
    known = sorted((one for one in vectors if one.node in row_by_id), key=lambda one: one.model)  # stable
    if not known:
        return spaces
    grown = dict(spaces)
    for model, group in groupby(known, key=lambda one: one.model):
        added = list(group)
        rows = np.array([row_by_id[one.node] for one in added])
        positions = np.array([one.position for one in added])
        values = np.stack([one.vector for one in added])
        space = grown.get(model) or MediaSpace(Column(values[:0]))
        is_kept = ~np.isin(_place_keys(space.places["rows"], space.places["positions"]), _place_keys(rows, positions))
        if not is_kept.all():
            space = MediaSpace(Column(space.vectors.view[is_kept]), space.places.keep(is_kept))
        grown[model] = MediaSpace(space.vectors.append(values), space.places.append(rows=rows, positions=positions))
    return MappingProxyType(grown)


def check_dims(spaces: MediaSpaces, vectors: Iterable[MediaVector]) -> None:
    """Raise ``InvalidInput`` if a vector is not as long as earlier vectors of its model, in the spaces or the list."""
    dims = {model: space.vectors.view.shape[1] for model, space in spaces.items()}
    for one in vectors:
        check_dim(one, dims.setdefault(one.model, len(one.vector)))


def check_dim(one: MediaVector, dim: int) -> None:
    """Raise ``InvalidInput`` if the vector of a medium does not have ``dim`` numbers, the length for its model."""
    if one.vector.shape != (dim,):
        raise InvalidInput(
            f"a medium of {one.node!r} has a vector of {one.vector.size:,} numbers, the other vectors of {one.model!r} "
            f"have {dim:,}; make it with that model, or give its own model another name"
        )


def check_query(spaces: MediaSpaces, query: MediaQuery) -> None:
    """Raise ``InvalidInput`` if no medium can be compared with a query: its model or the length of its vector differ.

    Where there are no vectors at all, every query is right.
    """
    space = spaces.get(query.model)
    if space is None and spaces:
        known = ", ".join(sorted(map(repr, spaces)))
        raise InvalidInput(f"this scope has no media with vectors of {query.model!r}; it has vectors of {known}")
    if space is not None and space.vectors.view.shape[1:] != (len(query.vector),):
        raise InvalidInput(
            f"media_query has a vector of {len(query.vector):,} numbers, the vectors of {query.model!r} have "
            f"{space.vectors.view.shape[1]:,}; make it with that model"
        )


def missing_vectors(
    spaces: MediaSpaces, vectors: Iterable[MediaVector], row_by_id: Callable[[NodeId], int | None]
) -> list[MediaVector]:
    """Those vectors whose media have none of the same model yet."""
    return [one for one in vectors if not _has_vector(spaces.get(one.model), row_by_id(one.node), one.position)]


def _has_vector(space: MediaSpace | None, row: int | None, position: int) -> bool:
    if space is None or row is None:
        return False
    return bool(((space.places["rows"] == row) & (space.places["positions"] == position)).any())


def _place_keys(rows: Rows, positions: Rows) -> NDArray[np.int64]:
    """One number for each pair of a row and a position."""
    return (rows.astype(np.int64) << 32) | positions.astype(np.int64)


def vectors_of(spaces: MediaSpaces, row: int, node: NodeId) -> tuple[MediaVector, ...]:
    """The vectors of the media of a row, for a node that takes its place."""
    return tuple(
        MediaVector(node, int(space.places["positions"][place]), model, space.vectors.view[place].copy())
        for model, space in spaces.items()
        for place in np.flatnonzero(space.places["rows"] == row).tolist()
    )


def keep_rows(spaces: MediaSpaces, keep: Mask, new_rows: Rows) -> MediaSpaces:
    """The spaces without the rows that are not kept; ``new_rows`` are the new numbers of all rows that are kept."""
    shorter: dict[str, MediaSpace] = {}
    for model, space in spaces.items():
        is_kept = keep[space.places["rows"]]
        places = space.places.keep(is_kept)
        if len(places):
            places = places.replace(np.arange(len(places)), rows=new_rows[places["rows"]])
            shorter[model] = MediaSpace(Column(space.vectors.view[is_kept]), places)
    return MappingProxyType(shorter)
