"""Writes and reads what a reader keeps of texts, inside a transaction that the store holds."""

from collections.abc import Sequence

import apsw

from ..errors import StoreError
from ..model import NodeId, WriteBatch
from .node_reader import split_ids


def write_token_codes(db: apsw.Connection, scope: int, batch: WriteBatch) -> None:
    """Write the token codes of a batch; each replaces those of its node that another model made.

    Those of nodes that are gone are left out: nothing of what was forgotten comes back.
    """
    if not batch.token_codes:
        return
    if batch.code_model is None:
        raise StoreError("a batch with token codes must name what made them")
    db.executemany(
        """INSERT INTO token_codes (scope, node, model, value)
           SELECT scope, seq, ?3, ?4 FROM node WHERE scope = ?1 AND id = ?2
           ON CONFLICT DO UPDATE SET model = excluded.model, value = excluded.value WHERE model <> excluded.model""",
        ((scope, node, batch.code_model, codes) for node, codes in batch.token_codes.items()),
    )


def read_token_codes(db: apsw.Connection, scope: int, model: str, ids: Sequence[NodeId]) -> dict[NodeId, bytes]:
    """The token codes of nodes that a model has made."""
    found: dict[NodeId, bytes] = {}
    for part in split_ids(ids):
        query = f"""SELECT n.id, t.value FROM node n JOIN token_codes t ON t.scope = n.scope AND t.node = n.seq
                    WHERE n.scope = ? AND t.model = ? AND n.id IN ({", ".join("?" * len(part))})"""  # noqa: S608
        rows = db.execute(query, (scope, model, *part))
        found.update((str(id_), codes) for id_, codes in rows if isinstance(codes, bytes))
    return found
