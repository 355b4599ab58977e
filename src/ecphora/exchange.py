"""Exchanges: a prompt and the response that was given to it, stored as one node with links to the memories behind it.

An exchange is EISA's episode. It is no memory: other strategies never recall it, so a response is no evidence for
itself. It is deleted with the first memory that was recalled for it, since the response may repeat that memory.
"""

from collections.abc import Collection
from datetime import datetime

from . import documents
from .forget import is_tombstoned
from .graph import Graph, epoch_seconds
from .ids import EXCHANGE_PREFIX, content_id
from .model import Edge, Episode, Kind, Link, Node, NodeId, Vector, WriteBatch
from .recollection import Recollection
from .stages.eisa.necessity import RECALL_SOURCE
from .validate import check_question


def exchange_id(recollection: Recollection, response: str) -> NodeId:
    """The id of a response to a prompt asked at one time; the same in every scope."""
    query = recollection.query
    return content_id(query.text, repr(epoch_seconds(query.now)), response, prefix=EXCHANGE_PREFIX)


def exchange_batch(
    recollection: Recollection,
    response: str,
    used_ids: Collection[NodeId],
    graph: Graph,
    *,
    source: str | None,
    session: str | None,
    embedder: str,
    vector: Vector,
    now: datetime,
) -> WriteBatch:
    """The write batch of an exchange: its node, and links to all hits, of weight 1 if it used the hit and 0 if not.

    If the recall stored its question as an episode, the exchange is linked to it and takes its place in EISA. The batch
    is empty if a hit was forgotten meanwhile, if this exchange was forgotten before, and if it is stored already.
    """
    query = recollection.query
    node = Node(
        exchange_id(recollection, response),
        Kind.EXCHANGE,
        response,
        query.now,
        now,
        session=session,
        title=check_question(query.text),
        source=source,
    )
    hit_ids = [hit.id for hit in recollection]
    is_known = all(graph.row(id_) is not None for id_ in hit_ids)
    if not is_known or is_tombstoned(node, graph.tombstones) or graph.row(node.id) is not None:
        return WriteBatch()
    question_ids = documents.node_ids_of(graph, documents.document_id(Episode(query.text, source=RECALL_SOURCE), None))
    return WriteBatch(
        nodes=(node,),
        vectors={node.id: vector},
        edges=(
            *(Edge(node.id, id_, Link.BASED_ON, float(id_ in used_ids)) for id_ in hit_ids),
            *(Edge(node.id, id_, Link.RESPONDS_TO) for id_ in question_ids),
        ),
        embedder=embedder,
    )
