"""Writes the vectors of media, inside a transaction that the store holds."""

from collections.abc import Callable, Iterable
from dataclasses import replace

import apsw

from ..media_spaces import check_dim
from ..model import MediaVector, NodeId
from . import row_mapping


def write_media_vectors(
    db: apsw.Connection, scope: int, revision: int, seq_of: Callable[[NodeId], int], vectors: Iterable[MediaVector]
) -> tuple[MediaVector, ...]:
    """Write the vectors of media; return them as readers will see them. A vector replaces that of its medium.

    Raises ``InvalidInput`` if the vectors of one model differ in length, and ``WrongVector`` for another length than 1.
    """
    dims: dict[str, int] = {}
    written: list[MediaVector] = []
    query = "SELECT length(value) / 2 FROM media_vector WHERE scope = ? AND model = ? LIMIT 1"
    for one in sorted(vectors, key=lambda one: (seq_of(one.node), one.position, one.model)):  # in the order of reading
        if one.model not in dims:
            dims[one.model] = int(db.execute(query, (scope, one.model)).get or len(one.vector))
        check_dim(one, dims[one.model])
        blob = row_mapping.half_vector_to_blob(one.vector, dims[one.model], one.node)
        values = (scope, one.model, seq_of(one.node), one.position, revision, blob)
        db.execute("INSERT OR REPLACE INTO media_vector VALUES (?, ?, ?, ?, ?, ?)", values)
        written.append(replace(one, vector=row_mapping.half_blobs_to_vectors([blob], dims[one.model])[0][0]))
    return tuple(written)
