"""Feedback: which hits of a recollection were used, stored as accesses and as a question linked to all its hits."""

from collections.abc import Iterable, Sequence
from datetime import datetime

from ..model.graph.graph import Graph, epoch_seconds
from ..model.ids import QUESTION_PREFIX, content_id
from ..model.types import Access, AccessKind, Edge, Kind, Link, Node, NodeId, Query, WriteBatch
from ..model.validation import check_question
from .recollection import Recollection


def question_id(query: Query, used_ids: Iterable[NodeId]) -> NodeId:
    """The id of a question asked at one time with one set of used hits; the same in every scope."""
    return content_id(query.text, repr(epoch_seconds(query.now)), *sorted(used_ids), prefix=QUESTION_PREFIX)


def feedback_batch(
    recollection: Recollection, used_ids: Sequence[NodeId], graph: Graph, *, embedder: str, dim: int, now: datetime
) -> WriteBatch:
    """The write batch of feedback: the accesses of the used hits, and the question linked to all its hits.

    A link has weight 1 if the hit was used and 0 if not. The batch is empty if none of the hits exists any more, or if
    the same feedback is stored already.
    """
    query, id_ = recollection.query, question_id(recollection.query, used_ids)
    existing_ids = [hit.id for hit in recollection if graph.row(hit.id) is not None]
    if not existing_ids or graph.row(id_) is not None:
        return WriteBatch()
    question = Node(id_, Kind.QUESTION, check_question(query.text), query.now, now)
    return WriteBatch(
        nodes=(question,),
        vectors={} if query.vector is None or query.vector.shape != (dim,) else {id_: query.vector},
        edges=tuple(Edge(id_, hit, Link.ANSWERED_BY, float(hit in used_ids)) for hit in existing_ids),
        accesses=tuple(Access(hit, now, AccessKind.USED) for hit in used_ids),
        embedder=embedder,
    )
