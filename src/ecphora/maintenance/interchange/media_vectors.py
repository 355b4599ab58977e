"""The vectors of media in an export, checked against the memories and the spaces that they go to."""

from ...errors import InvalidInput, InvalidRecord
from ...model.graph.media_spaces import check_dim
from ...model.types import WriteBatch
from .records import ExportContents


def check_media_vectors(contents: ExportContents, current: WriteBatch) -> None:
    """Raise an error for a vector of a medium that its memory does not have, or of another length than its model's."""
    spaces = {one.model: len(one.vector) for one in current.media_vectors}
    counts = {node.id: len(node.media) for node in contents.nodes}
    for node, line in contents.references:
        for one in contents.media_vectors.get(node, ()):
            if one.position >= counts.get(node, 0):
                raise InvalidRecord(f"line {line}: {node!r} has no medium {one.position} in this file")
            try:
                check_dim(one, spaces.setdefault(one.model, len(one.vector)))
            except InvalidInput as error:
                raise InvalidRecord(f"line {line}: {error}") from error
