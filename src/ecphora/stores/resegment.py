"""Other pieces in the place of those that a text is stored in, inside a transaction that its store holds.

The pieces take over the rows of those before them, so that they keep their place in the order of writing and the
revision that wrote them; if they are more, rows are added. What belonged to one piece goes to the one that has most of
its text: links, claims, accesses. What holds for the whole text, its ends and marks, each takes over from the piece
that it has most of. The names that a piece mentions, its words and its vector are those of its text.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import apsw

from ..errors import StaleChange
from ..model import MARKING, MENTIONING, Change, Link, Node, NodeId, Touch
from . import rows
from .commit import ALL_COLUMNS, Scope

_OWN = ("id", "text", "document", "position", "start", "heading", *rows.READING)
"""The columns in which the pieces of a text differ."""
_COPIED = ", ".join(name for name in (*rows.NODE, *rows.READING) if name not in {"seq", "id"})
_UPDATE = f"UPDATE node SET {', '.join(f'{name} = ?' for name in _OWN)} WHERE scope = ? AND seq = ?"  # noqa: S608
_MENTIONING = {link.value for link in MENTIONING}
_MARKS = {rows.TOUCH_NUMBERS[touch] for touch in MARKING}
_ENCODED = rows.TOUCH_NUMBERS[Touch.ENCODED]


@dataclass(frozen=True, slots=True)
class NewPieces:
    """A text that is stored in pieces, as it was read, and the pieces to be put in their place.

    ``change`` is what remembering these would write: their nodes first, with readings, vectors, names and mentions.
    ``heirs`` has for each old piece the place of the new one that has most of it, ``ancestors`` the same for each new
    one. ``claim_id`` gives the id of what a new piece, by its place, claims in so many words; None if it does not.
    """

    old: tuple[Node, ...]
    new: tuple[Node, ...]
    change: Change
    heirs: tuple[int, ...]
    ancestors: tuple[int, ...]
    claim_id: Callable[[int, str], NodeId | None]


class Resegmentation:
    """New pieces of some texts of one scope on their way into the file."""

    def __init__(self, db: apsw.Connection, scope: Scope) -> None:
        self._db = db
        self._scope = scope
        self._key = scope.key
        self._revision = scope.revision + 1
        self._seq = scope.seq
        self._logged = 0  # accesses added, less those taken out

    def write(self, texts: Sequence[NewPieces]) -> None:
        """Write all of them; every reader must read anew."""
        for text in texts:
            self._write(text)
        self._db.execute(
            "UPDATE scope SET revision = ?1, adopted = ?1, seq = ?2, log_size = max(0, log_size + ?3) WHERE key = ?4",
            (self._revision, self._seq, self._logged, self._key),
        )

    def _write(self, text: NewPieces) -> None:
        old, revision = self._checked(text)
        new = [*old[: len(text.new)], *(self._added(old[0]) for _ in text.new[len(old) :])]
        heirs = {seq: new[place] for seq, place in zip(old, text.heirs, strict=True)}
        taken: dict[int, list[int]] = {seq: [] for seq in old}
        for seq, place in zip(new, text.ancestors, strict=True):
            taken[old[place]].append(seq)
        names = dict(zip((node.id for node in text.old), (text.new[place].id for place in text.heirs), strict=True))
        mentioned = self._unmentioned(old)
        self._move_edges(old, heirs, taken, names, first=new[0])
        self._move_ends(old, taken)
        self._move_accesses(old, heirs, taken)
        self._rewrite(text, old, new)
        self._name_claims(text, new)
        self._mention(text, new, revision)
        self._embed(text, new, revision)
        self._drop_names(mentioned)

    def _checked(self, text: NewPieces) -> tuple[list[int], int]:
        """The ``seq`` of each old piece and the revision that wrote the first; they must stand as they were read."""
        query = "SELECT id, text, seq, revision FROM node WHERE scope = ? AND id = ?"
        found = [row for node in text.old for row in self._rows(query, node.id)]
        if [row[:2] for row in found] != [(node.id, node.text) for node in text.old]:
            raise StaleChange(f"{text.old[0].document!r} is not stored any more as it was read")
        return [row[2] for row in found], found[0][3]

    def _rows(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        return self._db.execute(query, (self._key, *values)).fetchall()

    def _next(self) -> int:
        self._seq += 1
        return self._seq

    def _added(self, like: int) -> int:
        """A row more, which says what another one does; its own columns are yet to be written."""
        seq = self._next()
        self._db.execute(
            f"INSERT INTO node (scope, revision, seq, id, {_COPIED}) "  # noqa: S608
            f"SELECT scope, revision, ?, ?, {_COPIED} FROM node WHERE scope = ? AND seq = ?",
            (seq, _interim(seq), self._key, like),
        )
        return seq

    # ---- what belongs to the old pieces

    def _unmentioned(self, old: Iterable[int]) -> list[int]:
        """Take out which names the old pieces mention, and say which they were; what shows so by another text stays."""
        gone: dict[int, None] = {}
        for seq in old:
            query = "SELECT rowid, dst, link FROM edge WHERE scope = ? AND src = ? AND evidence IS NULL"
            for rowid, dst, link in self._rows(query, seq):
                if link in _MENTIONING:
                    self._db.execute("DELETE FROM edge WHERE rowid = ?", (rowid,))
                    gone[int(dst)] = None
        return list(gone)

    def _move_edges(
        self,
        old: Iterable[int],
        heirs: Mapping[int, int],
        taken: Mapping[int, Sequence[int]],
        names: Mapping[NodeId, NodeId],
        *,
        first: int,
    ) -> None:
        """Move every edge of the old pieces; of several that become one the strongest stays.

        That a text replaces another, or is replaced, holds for the whole: the first piece says so, and of each.
        """
        found: dict[int, tuple[Any, ...]] = {}
        columns = "rowid, revision, src, dst, link, weight, evidence"
        for where, values in (("src", old), ("dst", old), ("evidence", names)):
            query = f"SELECT {columns} FROM edge WHERE scope = ? AND {where} = ?"  # noqa: S608
            for value in values:
                found.update((row[0], row[1:]) for row in self._rows(query, value))
        moved: dict[tuple[Any, ...], tuple[int, float]] = {}
        for rowid in sorted(found):
            revision, src, dst, link, weight, evidence = found[rowid]
            self._db.execute("DELETE FROM edge WHERE rowid = ?", (rowid,))
            start, ends = heirs.get(src, src), [heirs.get(dst, dst)]
            if link == Link.SUPERSEDES.value:
                start, ends = first if src in heirs else src, list(taken.get(dst) or ends)
            for end in ends:
                if start == end and src != dst:
                    continue  # it led from one piece to another: both are one now
                edge = (start, end, link, names.get(evidence, evidence))
                since, strongest = moved.get(edge, (revision, weight))
                moved[edge] = since, max(strongest, weight)
        self._db.executemany(
            "INSERT INTO edge (scope, revision, src, dst, link, weight, evidence) VALUES (?, ?, ?, ?, ?, ?, ?)",
            (
                (self._key, revision, src, dst, link, weight, evidence)
                for (src, dst, link, evidence), (revision, weight) in moved.items()
            ),
        )

    def _move_ends(self, old: Iterable[int], taken: Mapping[int, Sequence[int]]) -> None:
        moved: list[tuple[Any, ...]] = []
        for seq in old:
            query = "SELECT revision, valid_to, recorded_at FROM superseded WHERE scope = ? AND node = ? ORDER BY rowid"
            for revision, valid_to, recorded_at in self._rows(query, seq):
                moved += [(self._key, revision, heir, valid_to, recorded_at) for heir in taken[seq]]
            self._db.execute("DELETE FROM superseded WHERE scope = ? AND node = ?", (self._key, seq))
        self._db.executemany("INSERT INTO superseded VALUES (?, ?, ?, ?, ?)", moved)

    def _move_accesses(self, old: Iterable[int], heirs: Mapping[int, int], taken: Mapping[int, Sequence[int]]) -> None:
        """Move what the log has of the old pieces, and number it anew; what has expired stays counted."""
        groups: dict[tuple[int, int], list[tuple[Any, ...]]] = {}
        counts: dict[tuple[int, int], int] = {}
        for seq in old:
            query = (
                "SELECT touch, nth, seq, revision, at, strength FROM access WHERE scope = ? AND node = ? ORDER BY seq"
            )
            last: dict[tuple[int, int], int] = {}
            for touch, nth, at_seq, *rest in self._rows(query, seq):
                for place, heir in enumerate(taken[seq] if touch in _MARKS else (heirs[seq],)):
                    group = (heir, int(touch))
                    groups.setdefault(group, []).append((at_seq if place == 0 else self._next(), *rest))
                    last[group] = max(last.get(group, 0), int(nth))
            for group, nth in last.items():
                stored = int(group[1] == _ENCODED)  # that it was stored is its first
                counts[group] = counts.get(group, stored) + nth - stored
            self._db.execute("DELETE FROM access WHERE scope = ? AND node = ?", (self._key, seq))
            self._logged -= self._db.changes()
        for (node, touch), moved in groups.items():
            first = counts[node, touch] - len(moved) + 1
            for nth, (at_seq, *rest) in enumerate(sorted(moved), first):
                columns = "scope, node, touch, nth, seq, revision, at, strength"
                self._db.execute(
                    f"INSERT INTO access ({columns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",  # noqa: S608
                    (self._key, node, touch, nth, at_seq, *rest),
                )
            self._logged += len(moved)

    # ---- what the new pieces say

    def _rewrite(self, text: NewPieces, old: Sequence[int], new: Sequence[int]) -> None:
        for seq in old[len(new) :]:
            self._db.execute("DELETE FROM node WHERE scope = ? AND seq = ?", (self._key, seq))
        self._rename(new, map(_interim, new))
        for seq, node in zip(new, text.new, strict=True):
            own = (node.id, node.text, node.document, node.position, node.start, node.heading)
            reading = rows.reading_row(text.change.readings.get(node.id))
            try:
                self._db.execute(_UPDATE, (*own, *reading, self._key, seq))
            except apsw.ConstraintError as error:
                raise StaleChange(f"the id {node.id!r} stands for another memory ({error})") from error

    def _rename(self, seqs: Iterable[int], ids: Iterable[NodeId]) -> None:
        self._db.executemany(
            "UPDATE node SET id = ? WHERE scope = ? AND seq = ?",
            ((id_, self._key, seq) for seq, id_ in zip(seqs, ids, strict=True)),
        )

    def _name_claims(self, text: NewPieces, new: Sequence[int]) -> None:
        """Give each claim the id that follows from where it stands now, and drop those that stand nowhere any more."""
        places = {seq: place for place, seq in enumerate(new)}
        claims: dict[int, NodeId | None] = {}
        homes: dict[int, int] = {}
        for seq in new:
            query = """SELECT c.seq, c.text FROM edge e JOIN node c ON c.scope = e.scope AND c.seq = e.src
                       WHERE e.scope = ? AND e.dst = ? AND e.link = ?"""
            for claim, words in self._rows(query, seq, Link.CLAIMED_IN.value):
                nearest = sorted(range(len(new)), key=lambda place: abs(place - places[seq]))
                found = [(place, id_) for place in nearest if (id_ := text.claim_id(place, str(words)))]
                home, id_ = found[0] if found else (places[seq], None)
                if id_ in claims.values():
                    id_ = None
                claims[int(claim)], homes[int(claim)] = id_, new[home]
        for claim in claims:
            self._db.execute(
                "UPDATE edge SET dst = ? WHERE scope = ? AND src = ? AND link = ?",
                (homes[claim], self._key, claim, Link.CLAIMED_IN.value),
            )
        self._rename(claims, map(_interim, claims))
        for claim, id_ in claims.items():
            if id_ is None:
                self._db.execute("DELETE FROM node WHERE scope = ? AND seq = ?", (self._key, claim))
            else:
                self._rename([claim], [id_])

    def _mention(self, text: NewPieces, new: Sequence[int], revision: int) -> None:
        seqs = dict(zip((node.id for node in text.new), new, strict=True))
        names = {node.id: node for node in text.change.nodes if node.id not in seqs}
        for edge in text.change.edges:
            if edge.link not in MENTIONING:
                continue
            if edge.dst not in seqs:
                seqs[edge.dst] = self._name(names[edge.dst])
            self._db.execute(
                "INSERT INTO edge (scope, revision, src, dst, link, weight, evidence) VALUES (?, ?, ?, ?, ?, ?, ?)",
                (self._key, revision, seqs[edge.src], seqs[edge.dst], edge.link.value, edge.weight, edge.evidence),
            )

    def _name(self, node: Node) -> int:
        """The ``seq`` of a name, which is written if it is not there."""
        query = "SELECT seq FROM node WHERE scope = ? AND id = ?"
        for (known,) in self._rows(query, node.id):
            return int(known)
        seq = self._next()
        values = (self._key, self._revision, *rows.node_row(node, seq), *rows.reading_row(None))
        marks = ", ".join("?" * len(values))
        self._db.execute(f"INSERT INTO node (scope, revision, {ALL_COLUMNS}) VALUES ({marks})", values)  # noqa: S608
        return seq

    def _embed(self, text: NewPieces, new: Sequence[int], revision: int) -> None:
        """Write the vectors of the scope's model; those of another that it is changed over to are made anew later."""
        model, dim = self._scope.embedder, self._scope.dim
        for seq, node in zip(new, text.new, strict=True):
            self._db.execute("DELETE FROM vector WHERE scope = ? AND node = ?", (self._key, seq))
            vector = text.change.vectors.get(node.id)
            if model is not None and vector is not None:
                self._db.execute(
                    "INSERT INTO vector (scope, model, node, revision, value) VALUES (?, ?, ?, ?, ?)",
                    (self._key, model, seq, revision, rows.vector_blob(vector, dim or len(vector), node.id)),
                )

    def _drop_names(self, mentioned: Iterable[int]) -> None:
        """Delete those names that nothing mentions any more."""
        self._db.executemany(
            """DELETE FROM node WHERE scope = ?1 AND seq = ?2 AND kind = 'entity' AND NOT EXISTS
               (SELECT 1 FROM edge WHERE scope = ?1 AND dst = ?2 AND link IN ('mentions', 'about'))""",
            ((self._key, seq) for seq in mentioned),
        )


def _interim(seq: int) -> NodeId:
    """An id that no memory has, while those of several are exchanged."""
    return f"\x00{seq}"
