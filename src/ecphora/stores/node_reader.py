"""Reads nodes by their ids, inside a transaction that the store holds."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import apsw

from ..model import Node, NodeId
from . import row_mapping

IDS_PER_QUERY = 500
"""Ids in one query."""
_NODE_COLUMNS = ", ".join(row_mapping.NODE_COLUMNS)


def read_nodes(db: apsw.Connection, scope: int, ids: Sequence[NodeId]) -> list[Node]:
    """The nodes with these ids, in their order, each with its validity; missing ones are left out."""
    found: dict[NodeId, Node] = {}
    for part in split_ids(list(dict.fromkeys(ids))):
        placeholders = ", ".join("?" * len(part))
        query = f"SELECT {_NODE_COLUMNS} FROM node WHERE scope = ? AND id IN ({placeholders})"  # noqa: S608
        found.update((node.id, node) for node in map(row_mapping.row_to_node, db.execute(query, (scope, *part))))
        ends = db.execute(
            f"""SELECT n.id, s.valid_to FROM validity_end s JOIN node n ON n.scope = s.scope AND n.seq = s.node
                WHERE s.scope = ? AND n.id IN ({placeholders}) ORDER BY s.revision""",  # noqa: S608
            (scope, *part),
        )
        for id_, valid_to in ends:
            end = row_mapping.parse_time(valid_to, f"an end of node {id_!r}")
            found[str(id_)] = replace(found[str(id_)], valid_to=end)
    return [found[id_] for id_ in ids if id_ in found]


def split_ids(ids: Sequence[NodeId]) -> Iterator[Sequence[NodeId]]:
    """Some ids in parts that fit into one query each."""
    for start in range(0, len(ids), IDS_PER_QUERY):
        yield ids[start : start + IDS_PER_QUERY]


def read_document_chunks(db: apsw.Connection, scope: int) -> dict[NodeId, list[NodeId]]:
    """The ids of the chunks of every chunked text of a scope, in their order, by the text's id."""
    query = "SELECT document, id FROM node WHERE scope = ? AND document IS NOT NULL ORDER BY document, position, seq"
    found: dict[NodeId, list[NodeId]] = {}
    for document, chunk in db.execute(query, (scope,)):
        found.setdefault(str(document), []).append(str(chunk))
    return found
