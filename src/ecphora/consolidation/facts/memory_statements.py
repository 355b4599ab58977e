"""The statements of memories, each parsed once: who said them, where and when, and which of two is later."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

import numpy as np

from ...language.chat_roles import is_assistant
from ...language.statements.statements import Statement, statements
from ...model.graph.graph import DAY, Graph
from ...model.ports import NodeSource
from ...model.types import Mask, Node, Rows
from ...retrieval.validity import Attribution

MIN_DOCUMENT_GAP = DAY
"""Minimum seconds between two documents for one to be later: files that are copied together differ by less."""


@dataclass(frozen=True, slots=True)
class Timestamp:
    """When a text was written or said, in seconds since 1970.

    A document is a text without a speaker that has a source or is split into chunks. One that is not ``is_dated`` was
    written at an unknown time before it was stored.
    """

    at: float
    is_document: bool = False
    is_dated: bool = True

    def is_after(self, other: "Timestamp") -> bool:
        """Whether it is known to be later than another.

        Of two texts of equal time neither is later, in whatever order they were stored. The chunks of a document share
        its time. Of two documents the later one must have a date of its own, at least a day after the other's.
        """
        if not self.is_document:
            return self.at > other.at
        return self.is_dated and self.at - other.at > (MIN_DOCUMENT_GAP if other.is_document else 0.0)


@dataclass(frozen=True)
class Timestamps:
    """The timestamps of the rows of a graph."""

    graph: Graph

    @cached_property
    def _is_document(self) -> Mask:
        nodes = self.graph.nodes
        return (nodes["speakers"] < 0) & ((nodes["documents"] >= 0) | (nodes["sources"] >= 0))

    @cached_property
    def _is_dated(self) -> Mask:
        return self.graph.nodes["happened"] != self.graph.nodes["recorded"]

    def timestamp(self, row: int) -> Timestamp:
        """The timestamp of a row."""
        return Timestamp(
            float(self.graph.nodes["happened"][row]), bool(self._is_document[row]), bool(self._is_dated[row])
        )

    def comparable_rows(self, row: int, others: Rows) -> Rows:
        """Of ``others``, the rows that are known to be earlier or later than ``row``."""
        happened = self.graph.nodes["happened"]
        difference = happened[others] - happened[row]
        later = np.where(difference > 0, others, row)
        min_gap = np.where(self._is_document[others] & self._is_document[row], MIN_DOCUMENT_GAP, 0.0)
        known = (np.abs(difference) > min_gap) & (self._is_dated[later] | ~self._is_document[later])
        return others[known]


MAX_TURNS_APART = 6
"""Turns that a correction, or a sentence that names nothing, may refer back."""


@dataclass(frozen=True, slots=True)
class Utterance:
    """A statement in its context: speaker, time, session, and ``turn``, its memory's position in order of time.

    ``trust`` in 0..1 is its memory's trust, ``moment`` its timestamp, which says whether it is known to be later than
    another.
    """

    statement: Statement
    speaker: str | None
    session: str | None
    at: datetime
    turn: int
    moment: Timestamp
    trust: float = 1.0

    @property
    def voice(self) -> Attribution:
        """The attribution of the statement: speaker, trust, and whether it is about the speaker."""
        return Attribution(self.speaker, self.trust, self.statement.is_about_speaker)

    def is_nearby(self, other: "Utterance") -> bool:
        """Whether both lie within ``MAX_TURNS_APART`` turns of one conversation."""
        is_same_conversation = self.session == other.session and (
            self.session is not None or abs(self.at - other.at).days < 1
        )
        return is_same_conversation and abs(self.turn - other.turn) <= MAX_TURNS_APART


@dataclass(frozen=True, slots=True)
class RuleMatch:
    """A rule's verdict that a claim replaces another.

    ``confidence`` is in 0..1, ``basis`` says what the two share, and ``is_correction`` that the earlier claim was wrong
    from the start.
    """

    confidence: float
    basis: str
    is_correction: bool = False


def has_same_subject(new: Utterance, old: Utterance) -> bool:
    """Whether both may be about one person; true if either has no subject."""
    new_subjects, old_subjects = new.statement.subjects, old.statement.subjects
    speaker = (new.speaker or "").casefold()
    if not new_subjects or not old_subjects:
        return True
    if "?" in new_subjects or "you" in new_subjects:  # the person meant was mentioned just before
        return new.is_nearby(old) and (not old_subjects & {speaker} or new.speaker != old.speaker)
    if "?" in old_subjects or "you" in old_subjects:
        return new.is_nearby(old) and (
            bool(new_subjects - {(old.speaker or "").casefold()}) or new.speaker != old.speaker
        )
    if new_subjects & old_subjects:
        return True
    if new_subjects & _all_names(old):
        return True
    # "My sister Nadia" and "Nadia": one by relation, the other by name.
    names = {who.split("/")[-1] for who in new_subjects} & _all_names(old)
    return bool(names or ({who.split("/")[-1] for who in old_subjects} & _all_names(new)))


def _all_names(utterance: Utterance) -> frozenset[str]:
    statement = utterance.statement
    return statement.names | {part for name in statement.names for part in name.split()} | statement.former_terms


class MemoryStatements:
    """The statements of a graph's memories.

    ``time_order`` are the episode rows in order of time, ``turn_numbers`` the position of each row in it, and
    ``has_statements`` masks the rows that are read for statements, without an assistant's rows. ``moments`` are the
    timestamps of the rows.
    """

    def __init__(self, graph: Graph, read: NodeSource) -> None:
        self.graph = graph
        self._read = read
        self._utterances: dict[int, tuple[Utterance, ...]] = {}
        self._nodes: dict[int, Node] = {}
        self.moments = Timestamps(graph)
        nodes = graph.nodes
        order = np.lexsort((nodes["seq"], nodes["happened"]))
        self.time_order: Rows = order[graph.episodes[order]]
        self.turn_numbers: Rows = np.zeros(len(graph), np.intp)
        self.turn_numbers[self.time_order] = np.arange(len(self.time_order))
        assistants = [number for number, name in enumerate(graph.speakers.names) if is_assistant(name)]
        self.has_statements = graph.episodes & ~np.isin(nodes["speakers"], assistants)

    def fetch(self, rows: Iterable[int]) -> None:
        """Fetch the rows that are not yet fetched, in one call."""
        missing = [row for row in rows if row not in self._nodes]
        if missing:
            ids = {node.id: node for node in self._read(np.array(missing, np.intp))}
            for row in missing:
                if (node := ids.get(self.graph.id(row))) is not None:
                    self._nodes[row] = node

    def node(self, row: int) -> Node:
        """The node of a fetched row."""
        return self._nodes[row]

    def utterances(self, row: int) -> tuple[Utterance, ...]:
        """The statements of a fetched row; none if the memory was forgotten meanwhile."""
        if row not in self._utterances:
            node = self._nodes.get(row)
            found = () if node is None else statements(node.text, node.speaker, node.happened_at)
            turn, moment = int(self.turn_numbers[row]), self.moments.timestamp(row)
            self._utterances[row] = tuple(
                Utterance(
                    statement, node.speaker, node.session or node.document, node.happened_at, turn, moment, node.trust
                )
                for statement in found
                if node
            )
        return self._utterances[row]
