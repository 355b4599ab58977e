"""Exchanges: a prompt and the response that was given to it, stored as one node with links to the memories behind it.

An exchange is EISA's episode. It is no memory: other strategies never recall it, so a response is no evidence for
itself. The response may repeat all that was shown for it: the memories that were recalled, the insights and earlier
exchanges shown with them. The exchange is deleted with the first of these memories and exchanges.
"""

from collections.abc import Collection, Iterator, Mapping
from datetime import datetime

from ..model.graph.graph import Graph, epoch_seconds
from ..model.graph.updates import is_tombstoned
from ..model.ids import EXCHANGE_PREFIX, content_id
from ..model.ports import NodeSource
from ..model.types import Edge, Episode, Kind, Link, Node, NodeId, Vector, WriteBatch
from ..model.validation import check_question
from ..remember import documents
from ..retrieval import insight_index
from ..retrieval.filters import RECALL_SOURCE
from .recollection import Recollection


def exchange_id(recollection: Recollection, response: str) -> NodeId:
    """The id of a response to a prompt asked at one time; the same in every scope."""
    query = recollection.query
    return content_id(query.text, repr(epoch_seconds(query.now)), response, prefix=EXCHANGE_PREFIX)


def exchange_batch(
    recollection: Recollection,
    response: str,
    graph: Graph,
    read: NodeSource,
    *,
    used_ids: Collection[NodeId],
    context_ids: Collection[NodeId],
    source: str | None,
    session: str | None,
    embedder: str,
    vector: Vector,
    now: datetime,
) -> WriteBatch:
    """The write batch of an exchange: its node, and links to all it may repeat, of weight 1 for hits that it used.

    The other links, also those to ``context_ids``, have weight 0. If the recall stored its question as an episode, the
    exchange is linked to it and takes its place in EISA. The batch is empty if something that was shown was forgotten
    or replaced meanwhile, if this exchange was forgotten before, and if it is stored already. ``read`` reads the nodes
    of ``graph``.
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
    source_ids = tuple(dict.fromkeys((*_source_ids(recollection, graph), *context_ids)))
    is_known = all(graph.row(id_) is not None for id_ in source_ids) and _is_unchanged(recollection, graph, read)
    if not is_known or is_tombstoned(node, graph.tombstones) or graph.row(node.id) is not None:
        return WriteBatch()
    question_ids = documents.node_ids_of(graph, documents.document_id(Episode(query.text, source=RECALL_SOURCE), None))
    return WriteBatch(
        nodes=(node,),
        vectors={node.id: vector},
        edges=(
            *(Edge(node.id, id_, Link.BASED_ON, float(id_ in used_ids)) for id_ in source_ids),
            *(Edge(node.id, id_, Link.RESPONDS_TO) for id_ in question_ids),
        ),
        embedder=embedder,
        read_revision=graph.revision,  # another process may replace a text without a trace in the ids
    )


def _source_ids(recollection: Recollection, graph: Graph) -> Iterator[NodeId]:
    """The memories and exchanges that a response may repeat; an insight stands for the memories that it summarizes.

    Consolidation may withdraw an insight, and then the exchange stays.
    """
    yield from (hit.id for hit in recollection)
    yield from (exchange.id for exchange in recollection.exchanges)
    for engram in recollection.engrams:
        yield from engram.ids
    insight_rows = set(graph.rows(insight.id for insight in recollection.insights).tolist())
    for record in insight_index.all_insights(graph) if insight_rows else ():
        if record.row in insight_rows:
            yield from (graph.id(row) for row in record.sources.tolist())


def _is_unchanged(recollection: Recollection, graph: Graph, read: NodeSource) -> bool:
    """Whether every text that was shown is still the text of its node; the text of an exchange never changes."""
    shown: Mapping[NodeId, str] = {
        **{hit.id: hit.text for hit in recollection},
        **{insight.id: insight.text for insight in recollection.insights},
    }
    return not shown or {node.id: node.text for node in read(graph.rows(shown))} == shown
