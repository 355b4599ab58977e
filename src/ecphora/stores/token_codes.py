"""Writes and reads what a reader keeps of texts, inside a transaction that the store holds."""

from collections.abc import Sequence

import apsw

from ..errors import StoreError
from ..model import NodeId, WriteBatch


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
    query = """SELECT t.value FROM node n JOIN token_codes t ON t.scope = n.scope AND t.node = n.seq
               WHERE n.scope = ? AND n.id = ? AND t.model = ?"""
    found = {id_: db.execute(query, (scope, id_, model)).get for id_ in ids}
    return {id_: codes for id_, codes in found.items() if isinstance(codes, bytes)}
