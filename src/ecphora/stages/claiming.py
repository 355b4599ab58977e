"""The claims of what is new, and which earlier ones they replace: looked up by their words, never by reading all.

What a statement claims is read from its text when it is needed, and kept only where it matters to another one: where it
replaces, ends, bounds or contradicts. So the memory grows by what changed, not by what was said.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime
from hashlib import blake2b

import numpy as np

from ..graph import Graph
from ..language.claim_words import FIELD_STEMS
from ..language.claims import Form, Statement, statements
from ..language.people import ROLES
from ..language.values import Sort
from ..language.words import hashed
from ..model import Edge, Kind, Link, Mask, Node, NodeId, Rows
from ..ports import Reader
from . import choose, seed
from .standing import ABOUT
from .succession import NEAR, Told, Verdict, contradicts, replaces

CANDIDATES = 20
"""Earlier memories that a statement is compared with: those that share the rarest words."""
LIKEST = 5
"""Memories of the same speaker that are compared because they mean much the same."""
COMMON = 0.35
"""What it tells to share a word that is everywhere; a rare one tells 1."""
FIRM = 0.5
"""How sure a replacement must be for more than the best one to be taken."""
MOST = 5
"""Earlier claims that one statement may replace: a fact is seldom told more often before it changes."""
CLAIM = "claim:"
"""How the ids of claims begin; no episode's id may."""


@dataclass(frozen=True, slots=True)
class Claims:
    """What is to be written: claims, each with the memory it was drawn from, and and which is against which."""

    nodes: dict[NodeId, Node] = field(default_factory=dict)
    edges: dict[Edge, None] = field(default_factory=dict)


class Claiming:
    """Reads the statements of memories, each once, and finds what new ones replace."""

    def __init__(self, graph: Graph, read: Reader) -> None:
        self.graph = graph
        self._read = read
        self._first = 0
        self._known: dict[int, tuple[Told, ...]] = {}
        self._nodes: dict[int, Node] = {}
        nodes = graph.nodes
        order = np.lexsort((nodes["seq"], nodes["happened"]))
        order = order[graph.episodes[order]]
        self._turns = np.zeros(len(graph), np.intp)
        self._turns[order] = np.arange(len(order))
        self._order = order
        roles = [name.casefold() for name in graph.speakers.names]
        silent = [number for number, name in enumerate(roles) if ROLES.get(name) == "assistant"]
        self._speaking = ~np.isin(nodes["speakers"], silent)

    def of(self, rows: Rows) -> Claims:
        """The claims of some rows that matter to another claim, and those other ones."""
        found = Claims()
        self._first = int(rows[0]) if len(rows) else 0
        self._fetch(rows.tolist())
        for row in rows.tolist():
            for place, told in enumerate(self._told(row)):
                self._add(found, row, place, told)
        return found

    def _add(self, found: Claims, row: int, place: int, told: Told) -> None:
        statement = told.statement
        rivals = self._rivals(row, told) if _matters(statement) else []
        for other, at, verdict, rival in rivals:
            later, earlier = (row, place, told), (other, at, rival)
            if (rival.at, rival.turn) > (told.at, told.turn):
                later, earlier = earlier, later
            self._link(found, later, earlier, verdict)
        if statement.end is not None and not rivals:
            self._noted(found, row, place, told, frozenset())

    def _link(
        self, found: Claims, later: tuple[int, int, Told], earlier: tuple[int, int, Told], verdict: Verdict
    ) -> None:
        about = _about(later[2].statement, earlier[2].statement)
        old = self._noted(found, *earlier, about)
        since = _since(later[2], earlier[2], old, verdict)
        new = self._noted(found, *later, about, since=since)
        if old.id == new.id:
            return
        link = Link.CONTRADICTS if verdict.because == "never" else Link.SUPERSEDES
        found.edges[Edge(new.id, old.id, link, round(verdict.sure, 3))] = None

    def _noted(
        self, found: Claims, row: int, place: int, told: Told, about: frozenset[str], *, since: datetime | None = None
    ) -> Node:
        """The node of a claim: made if the graph has none yet."""
        source, statement = self._nodes[row], told.statement
        id_ = claim_id(source.id, place)
        known = found.nodes.get(id_)
        if known is None:
            known = Node(
                id=id_,
                kind=Kind.CLAIM,
                text=statement.text,
                happened_at=source.happened_at,
                recorded_at=source.recorded_at,
                speaker=source.speaker,
                session=source.session,
                valid_from=since or statement.start,
                valid_to=statement.end,
            )
            if self.graph.row(id_) is None:
                found.edges[Edge(id_, source.id, Link.CLAIMED_IN)] = None
        elif since is not None:
            known = replace(known, valid_from=since)
        had = set(str(known.metadata.get(ABOUT, "")).split())
        if about - had:
            known = replace(known, metadata={ABOUT: " ".join(sorted(had | about))})
        found.nodes[id_] = known
        return known

    # ---- which others to compare with

    def _rivals(self, row: int, told: Told) -> list[tuple[int, int, Verdict, Told]]:
        """The claims of others that a statement replaces, is replaced by, or contradicts; the surest of each memory."""
        rows, rarity = self._candidates(row, told)
        self._fetch(rows)
        hits: list[tuple[int, int, Verdict, Told]] = []
        for other in rows:
            best: tuple[Verdict, int, Told] | None = None
            alike = self._alike(row, other)
            for at, rival in enumerate(self._told(other)):
                later, earlier = (told, rival) if (told.at, told.turn) > (rival.at, rival.turn) else (rival, told)
                verdict = replaces(later, earlier, rarity, alike) or contradicts(later, earlier, rarity)
                if verdict is not None and (best is None or verdict.sure > best[0].sure):
                    best = verdict, at, rival
            if best is not None:
                hits.append((other, best[1], best[0], best[2]))
        hits.sort(key=lambda hit: (-hit[2].sure, -hit[3].turn))
        single = told.statement.forms & {Form.CORRECTS, Form.KEEPS}
        return hits[:1] if single else [hit for hit in hits if hit[2].sure >= FIRM][:MOST] or hits[:1]

    def _candidates(self, row: int, told: Told) -> tuple[list[int], dict[str, float]]:
        """The rows to compare with: those that share its rarest words, and those told just before in its session."""
        graph, statement = self.graph, told.statement
        stems = sorted(
            statement.stems
            | statement.former
            | statement.never
            | {stem for name in statement.fields for stem in FIELD_STEMS[name]}
        )
        places, which = graph.postings(hashed(stems)) if stems else (np.zeros(0, np.intp), np.zeros(0, np.intp))
        rows = graph.words["rows"][places]
        counts = np.bincount(which, minlength=len(stems))
        weights = np.maximum(COMMON, 1 / (1 + np.maximum(0, counts - 2) / (0.01 * len(self._order) + 3)))
        telling = weights * [1 + (stem in statement.focus) for stem in stems]
        # Of two that are new, the later one looks for the earlier; what was seen before does not look again.
        others = self._speaking & (self._before(row) | (np.arange(len(graph)) < self._first))
        shared = np.bincount(rows, telling[which], minlength=len(graph)) * others
        best = np.flatnonzero(shared)
        best = best[np.lexsort((-self._turns[best], -shared[best]))[:CANDIDATES]]
        turn = int(self._turns[row])
        near = self._order[max(0, turn - NEAR) : turn]
        near = near[graph.nodes["sessions"][near] == graph.nodes["sessions"][row]]
        like = self._likest(row) if Form.CHANGES in statement.forms else near[:0]
        rarity = dict(zip(stems, weights.tolist(), strict=True))
        return list(dict.fromkeys([*near.tolist(), *best.tolist(), *like.tolist()])), rarity

    def _before(self, row: int) -> Mask:
        """The memories that were told before one."""
        return self._turns < self._turns[row]

    def _likest(self, row: int) -> Rows:
        """The memories of the same speaker that mean most the same: a fact may change without any of its words."""
        graph = self.graph
        if graph.vector_places[row] < 0:
            return np.zeros(0, np.intp)
        cosine = seed.cosines(graph, graph.vectors.view[graph.vector_places[row]])
        same = graph.episodes & (graph.nodes["speakers"] == graph.nodes["speakers"][row])
        same &= self._before(row)
        return choose.best(cosine, same, LIKEST)

    def _alike(self, row: int, other: int) -> float:
        places, vectors = self.graph.vector_places, self.graph.vectors.view
        if places[row] < 0 or places[other] < 0:
            return 0.0
        return float(np.einsum("i,i->", vectors[places[row]], vectors[places[other]]))

    # ---- what was said

    def _fetch(self, rows: Iterable[int]) -> None:
        missing = [row for row in rows if row not in self._nodes]
        if missing:
            ids = {node.id: node for node in self._read(np.array(missing, np.intp))}
            for row in missing:
                if (node := ids.get(self.graph.id(row))) is not None:
                    self._nodes[row] = node

    def _told(self, row: int) -> tuple[Told, ...]:
        if row not in self._known:
            node = self._nodes.get(row)  # forgotten by another process meanwhile: then it says nothing
            found = () if node is None else statements(node.text, node.speaker, node.happened_at)
            turn = int(self._turns[row])
            self._known[row] = tuple(
                Told(one, node.speaker, node.session or node.document, node.happened_at, turn) for one in found if node
            )
        return self._known[row]


def claim_id(source: NodeId, place: int) -> NodeId:
    """The id of the claim that stands at a place of a memory; the same whenever it is drawn."""
    content = "\x1f".join((source, str(place)))
    return f"{CLAIM}{blake2b(content.encode(), digest_size=16).hexdigest()}"


def _since(later: Told, earlier: Told, old: Node, verdict: Verdict) -> datetime | None:
    """From when the later claim holds, where that is not what it says or when it was told."""
    if verdict.never_was:
        return old.valid_from or old.happened_at
    both = {value.form for value in later.statement.values if value.sort == Sort.DATE}
    both &= {value.form for value in earlier.statement.values}
    # The date that is changed, or that both name, is what they speak of, not since when it is so.
    return later.at if verdict.because == Sort.DATE or both else None


def _matters(statement: Statement) -> bool:
    """Whether it may replace or contradict something."""
    if statement.forms - {Form.UNCHANGED}:
        return True
    measured = any(value.sort != Sort.NAME for value in statement.values)
    return bool(statement.who) and (measured or statement.negated or "home" in statement.fields)


def _about(later: Statement, earlier: Statement) -> frozenset[str]:
    """The stems of what both claims are about."""
    fields = later.fields & earlier.fields
    units = {value.unit for value in (*later.values, *earlier.values) if value.unit}
    shared = (later.stems & earlier.stems) | units | {stem for name in fields for stem in FIELD_STEMS[name]}
    return frozenset(shared or earlier.stems)
