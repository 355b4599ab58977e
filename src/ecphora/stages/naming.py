"""The names of a graph by their words and spelling, and who mentions them: what comparing new names with known costs.

An index grows with the graph, so a new name is compared with the few that begin or end alike, never with all.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from ..graph import LINKS, Earlier, Graph
from ..language import addressing
from ..language.names import entity_id, key, names
from ..language.nicknames import FORMAL, NICKNAMES, SHORTEST, SPELLED, TYPED, respelled
from ..language.people import ROLES
from ..model import Kind, Link, Node, Rows
from ..ports import Reader

READ = 12
"""Memories of a name that are read for how it is used: the latest."""
NEAR = 200
"""Names that share a word, a beginning or an ending; of a word that more names share nothing is concluded."""

_NAMING = [LINKS.index(link) for link in (Link.MENTIONS, Link.ABOUT)]
_PREFIX = len(entity_id(""))


@dataclass(frozen=True, slots=True)
class Index:
    """The names of entities: those that hold, begin or end with what, and the speakers by the words of their names."""

    speakers: int
    by: Mapping[Hashable, tuple[int, ...]]
    speaking: Mapping[str, tuple[int, ...]]
    """The numbers of the speakers of a name; more than one if it is spelled in several ways."""
    sharing: Mapping[str, frozenset[str]]
    """The names of speakers that begin or end with a word."""


@dataclass(frozen=True, slots=True)
class Where:
    """The memories that mention a name, ascending, their sessions and speakers; ``loose`` if one has neither."""

    rows: Rows
    sessions: frozenset[int]
    speakers: frozenset[int]
    loose: bool


class Naming:
    """Looks names up and reads how texts use them, each text once."""

    def __init__(self, graph: Graph, read: Reader) -> None:
        self.graph = graph
        self._read = read
        self._index = graph.derived("names by word", _indexed)
        self._among = graph.derived("speakers of sessions", _speakers)
        self._nodes: dict[int, Node | None] = {}
        self._where: dict[int, Where] = {}
        self._written: dict[int, dict[str, str]] = {}
        self._excerpts: dict[tuple[int, int], str] = {}
        self._used: dict[tuple[object, int, int], bool] = {}
        self._silent = frozenset(number for number, name in enumerate(graph.speakers.names) if name.casefold() in ROLES)

    def key(self, name: int) -> str:
        """The normal form of a name."""
        return self.graph.id(name)[_PREFIX:]

    def speaks(self, name: str) -> bool:
        """Whether somebody of that name speaks."""
        return name in self._index.speaking

    def numbers(self, name: str) -> frozenset[int]:
        """The speakers of a name."""
        return frozenset(self._index.speaking.get(name, ()))

    def speaker(self, row: int) -> str | None:
        """Who says a memory; a role is nobody."""
        number = int(self.graph.nodes["speakers"][row])
        return None if number < 0 or number in self._silent else self.graph.speakers.names[number]

    def sharing(self, word: str) -> set[str]:
        """The names of several words, of entities and speakers, that begin or end with a word."""
        known = self._index.by
        rows = {*known.get(("first", word), ()), *known.get(("last", word), ())}
        return {
            name for name in ({self.key(row) for row in rows} | self._index.sharing.get(word, set())) if " " in name
        }

    def near(self, name: int) -> list[int]:
        """The names that one may be the same as: of a common word, a nickname, or nearly its spelling."""
        found: dict[int, None] = {}
        own = self.key(name)
        for one, rule in looked_up(own):
            rows = self._index.by.get(one, ())
            if len(rows) <= NEAR:
                found.update((row, None) for row in rows if rule is None or rule(self.key(row), own))
        found.pop(name, None)
        return list(found)

    def beginning(self, short: str) -> set[str]:
        """The speakers whose name begins with some letters."""
        return {name for name in self._index.speaking if name.startswith(short)}

    def where(self, name: int) -> Where:
        """Where a name is mentioned; not where kin alone leads to it."""
        if name not in self._where:
            graph = self.graph
            places, _ = graph.edges_to(np.array([name]))
            named = np.isin(graph.edges["links"][places], _NAMING) & (graph.edges["weights"][places] >= 1)
            rows = np.unique(graph.edges["src"][places[named]]).astype(np.intp)
            rows = rows[graph.episodes[rows]]
            sessions, speakers = self.told_in(rows), graph.nodes["speakers"][rows]
            untitled = rows[(sessions < 0) & (speakers < 0)]
            self._where[name] = Where(
                rows,
                frozenset(sessions[sessions >= 0].tolist()),
                frozenset(speakers[speakers >= 0].tolist()) - self._silent,
                bool(len(untitled)) and not self._titled(untitled),
            )
        return self._where[name]

    def told_in(self, rows: Rows) -> Rows:
        """The session or else the document of each row, -1 for neither."""
        nodes = self.graph.nodes
        documents = nodes["documents"][rows].astype(np.int64)
        first = len(self.graph.sessions.names)
        told = np.where(documents >= 0, first + documents, -1)
        return np.where(nodes["sessions"][rows] >= 0, nodes["sessions"][rows], told).astype(np.intp)

    def among(self, session: int) -> frozenset[int]:
        """Who speaks in a session."""
        return self._among.get(session, frozenset())

    def called_in(self, session: int) -> frozenset[str]:
        """The names of those who speak in a session."""
        return frozenset(key(self.graph.speakers.names[number]) for number in self.among(session))

    def used(self, how: Callable[[str], bool], name: int, rows: Rows) -> bool:
        """Whether one of some memories of a name, of the latest, uses it in a way."""
        found = rows[-READ:].tolist()
        self.fetch(found)
        return any(self._uses(how, row, name) for row in found)

    def _uses(self, how: Callable[[str], bool], row: int, name: int) -> bool:
        known = (how, row, name)
        if known not in self._used:
            if (row, name) not in self._excerpts:
                node, spelled = self.node(row), self.written(row, self.key(name))
                shown = "" if node is None or spelled is None else addressing.excerpt(node.text, spelled)
                self._excerpts[row, name] = shown
            self._used[known] = how(self._excerpts[row, name])
        return self._used[known]

    def written(self, row: int, name: str) -> str | None:
        """How a memory that was fetched writes a name, None if it does not."""
        if row not in self._written:
            node = self.node(row)
            self._written[row] = {} if node is None else {key(one): one for one in reversed(names(node.text))}
        return self._written[row].get(name)

    def apart(self, short: int, full: int) -> bool:
        """Whether some text, of the latest, speaks of two names as of two persons."""
        both = np.intersect1d(self.where(short).rows, self.where(full).rows)[-READ:].tolist()
        self.fetch(both)
        for row in both:
            node = self.node(row)
            if node is None:
                continue
            one, two = (self.written(row, self.key(name)) for name in (short, full))
            if one and two and addressing.apart(node.text, one, two):
                return True
        return False

    def fetch(self, rows: Iterable[int]) -> None:
        """Read some memories that are not yet read."""
        missing = [row for row in rows if row not in self._nodes]
        if missing:
            found = {node.id: node for node in self._read(np.array(missing, np.intp))}
            self._nodes.update((row, found.get(self.graph.id(row))) for row in missing)

    def node(self, row: int) -> Node | None:
        """A memory that was fetched; None if it was forgotten meanwhile."""
        return self._nodes.get(row)

    def _titled(self, rows: Rows) -> bool:
        places, _ = self.graph.edges_from(rows)
        return bool((self.graph.edges["links"][places] == LINKS.index(Link.ABOUT)).any())


# ---- the index


def registered(name: str) -> set[Hashable]:
    """Under what a name is found."""
    words = name.split()
    found: set[Hashable] = {("first", words[0]), ("last", words[-1]), ("begins", words[0][:SHORTEST])}
    whole = "".join(words)
    if len(whole) >= SPELLED:
        half = _half(len(whole))
        found |= {("^", whole[:half], len(whole)), ("$", whole[-half:], len(whole))}
    return found


def looked_up(name: str) -> list[tuple[Hashable, Callable[[str, str], bool] | None]]:
    """Under what those are found that a name may be the same as, and what else must hold of both."""
    words = name.split()
    found: set[Hashable] = {(place, word) for place in ("first", "last") for word in (words[0], words[-1])}
    first = words[0]
    others = {*NICKNAMES.get(first, ()), *FORMAL.get(first, ())}
    found |= {("first", other) for other in others}
    found |= {("first", first[:end]) for end in range(SHORTEST, len(first))}
    begun: list[Hashable] = [("begins", first[:SHORTEST])] if len(words) == 1 and len(first) >= SHORTEST else []
    whole, nearly = "".join(words), set[Hashable]()
    for length in range(len(whole) - 1, len(whole) + 2) if len(whole) >= SPELLED else ():
        half = _half(length)
        nearly |= {("^", whole[:half], length), ("$", whole[-half:], length)}
    return [
        *((one, None) for one in found),
        *((one, str.startswith) for one in begun),
        *((one, respelled) for one in nearly),
    ]


def _half(length: int) -> int:
    """Letters at the beginning or the end that stand if one letter of so many is wrong."""
    return SHORTEST if length >= TYPED else SHORTEST - 1


def _indexed(graph: Graph, before: Earlier[Index] | None) -> Index:
    known = Index(0, {}, {}, {}) if before is None else before.value
    first = 0 if before is None else before.nodes
    by = dict(known.by)
    fresh: dict[Hashable, list[int]] = {}
    for row in (np.flatnonzero(graph.of_kind(Kind.ENTITY)[first:]) + first).tolist():
        for one in registered(graph.id(row)[_PREFIX:]):
            fresh.setdefault(one, []).append(row)
    by.update((one, (*by.get(one, ()), *rows)) for one, rows in fresh.items())
    speaking, sharing = dict(known.speaking), dict(known.sharing)
    names = graph.speakers.names
    for number, name in enumerate(names[known.speakers :], known.speakers):
        normal = key(name)
        if not normal or name.casefold() in ROLES:
            continue
        speaking[normal] = (*speaking.get(normal, ()), number)
        for word in {normal.split()[0], normal.split()[-1]}:
            sharing[word] = sharing.get(word, frozenset()) | {normal}
    return Index(len(names), by, speaking, sharing)


def _speakers(graph: Graph, before: Earlier[dict[int, frozenset[int]]] | None) -> dict[int, frozenset[int]]:
    """Who speaks in each session."""
    known = {} if before is None else dict(before.value)
    first = 0 if before is None else before.nodes
    sessions, speakers = graph.nodes["sessions"][first:], graph.nodes["speakers"][first:]
    there = (sessions >= 0) & (speakers >= 0) & graph.episodes[first:]
    fresh: dict[int, set[int]] = {}
    for session, speaker in np.unique(np.stack([sessions[there], speakers[there]]), axis=1).T.tolist():
        fresh.setdefault(session, set()).add(speaker)
    known.update((session, known.get(session, frozenset()) | some) for session, some in fresh.items())
    return known
