"""An index of a graph's names by word and spelling, with the mentions of each name.

The index grows with the graph, so that a new name is compared with the few that begin or end alike, never with all.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from ...language.chat_roles import role_of
from ...language.names import name_usage
from ...language.names.alias_phrases import alias_pairs
from ...language.names.mentions import names, normalize_name
from ...language.names.nicknames import (
    FORMAL_NAMES,
    MIN_SHORT_FORM_LETTERS,
    MIN_TYPO_LETTERS,
    MIN_VARIANT_LETTERS,
    NICKNAMES,
    is_spelling_variant,
)
from ...model.graph.graph import CachedDerivation, Graph
from ...model.ids import ENTITY_PREFIX
from ...model.ports import NodeSource
from ...model.types import MENTION_LINKS, Kind, Link, Node, Rows

MAX_TEXTS_READ = 12
"""Maximum number of memories of a name whose texts are read for its usage: the latest."""
MAX_NAMES_PER_KEY = 200
"""Maximum number of names under a key; a key that more names share is ignored."""


@dataclass(frozen=True, slots=True)
class NameKeys:
    """The rows of entities by the keys of their names, and the speakers by name and by word."""

    speaker_count: int
    entities_by_key: Mapping[Hashable, tuple[int, ...]]
    speakers_by_name: Mapping[str, tuple[int, ...]]
    """The speaker numbers of a name; several if it is spelled in several ways."""
    speaker_names_by_word: Mapping[str, frozenset[str]]
    """The names of speakers that begin or end with a word."""


@dataclass(frozen=True, slots=True)
class NameMentions:
    """The memories that mention a name, ascending, with their sessions and speakers.

    ``has_loose_notes`` says that there are memories with neither session, document nor speaker, and no title.
    """

    rows: Rows
    sessions: frozenset[int]
    speakers: frozenset[int]
    has_loose_notes: bool


class NameIndex:
    """Looks up names and reads how texts use them, each text once."""

    def __init__(self, graph: Graph, read: NodeSource) -> None:
        self.graph = graph
        self._read = read
        self._keys = graph.derive("names by word", _extend_keys)
        self._session_speakers = graph.derive("session speakers", _extend_session_speakers)
        self._nodes: dict[int, Node | None] = {}
        self._mentions: dict[int, NameMentions] = {}
        self._spellings: dict[int, dict[str, str]] = {}
        self._excerpts: dict[tuple[int, int], str] = {}
        self._usages: dict[tuple[object, int, int], bool] = {}
        self._role_speakers = frozenset(number for number, name in enumerate(graph.speakers.names) if role_of(name))

    def key(self, name: int) -> str:
        """The normal form of a name."""
        return self.graph.id(name).removeprefix(ENTITY_PREFIX)

    def is_speaker(self, name: str) -> bool:
        """Whether somebody of that name speaks."""
        return name in self._keys.speakers_by_name

    def speaker_numbers(self, name: str) -> frozenset[int]:
        """The speakers of a name."""
        return frozenset(self._keys.speakers_by_name.get(name, ()))

    def speaker(self, row: int) -> str | None:
        """The speaker of a memory; None for a role."""
        number = int(self.graph.nodes["speakers"][row])
        return None if number < 0 or number in self._role_speakers else self.graph.speakers.names[number]

    def names_with_word(self, word: str) -> set[str]:
        """The names of several words, of entities and speakers, that begin or end with ``word``."""
        known = self._keys.entities_by_key
        rows = {*known.get(("first", word), ()), *known.get(("last", word), ())}
        return {
            name
            for name in ({self.key(row) for row in rows} | self._keys.speaker_names_by_word.get(word, set()))
            if " " in name
        }

    def similar_names(self, name: int) -> list[int]:
        """The rows of names that may be aliases: a shared word, a nickname, or a similar spelling."""
        found: dict[int, None] = {}
        name_key = self.key(name)
        for lookup_key, rule in lookup_keys(name_key):
            rows = self._keys.entities_by_key.get(lookup_key, ())
            if len(rows) <= MAX_NAMES_PER_KEY:
                found.update((row, None) for row in rows if rule is None or rule(self.key(row), name_key))
        found.pop(name, None)
        return list(found)

    def mentions(self, name: int) -> NameMentions:
        """The mentions of a name; without those resolved from kin alone."""
        if name not in self._mentions:
            graph = self.graph
            edge_indices, _ = graph.edges_to(np.array([name]), *MENTION_LINKS)
            is_by_name = graph.edges["weights"][edge_indices] >= 1
            rows = np.unique(graph.edges["src"][edge_indices[is_by_name]]).astype(np.intp)
            rows = rows[graph.episodes[rows]]
            sessions, speakers = self.conversation_numbers(rows), graph.nodes["speakers"][rows]
            loose_rows = rows[(sessions < 0) & (speakers < 0)]
            self._mentions[name] = NameMentions(
                rows,
                frozenset(sessions[sessions >= 0].tolist()),
                frozenset(speakers[speakers >= 0].tolist()) - self._role_speakers,
                bool(len(loose_rows)) and not self._has_title(loose_rows),
            )
        return self._mentions[name]

    def conversation_numbers(self, rows: Rows) -> Rows:
        """The number of the session, or else the document, of each row; -1 for neither."""
        nodes = self.graph.nodes
        documents = nodes["documents"][rows].astype(np.int64)
        session_count = len(self.graph.sessions.names)
        document_numbers = np.where(documents >= 0, session_count + documents, -1)
        return np.where(nodes["sessions"][rows] >= 0, nodes["sessions"][rows], document_numbers).astype(np.intp)

    def speakers_in(self, session: int) -> frozenset[int]:
        """The numbers of the speakers in a session."""
        return self._session_speakers.get(session, frozenset())

    def speaker_names_in(self, session: int) -> frozenset[str]:
        """The names of those who speak in a session."""
        return frozenset(normalize_name(self.graph.speakers.names[number]) for number in self.speakers_in(session))

    def has_usage(self, usage: Callable[[str], bool], name: int, rows: Rows) -> bool:
        """Whether one of the latest of some memories of a name uses it as ``usage`` says."""
        latest_rows = rows[-MAX_TEXTS_READ:].tolist()
        self.fetch(latest_rows)
        return any(self._has_usage_in(usage, row, name) for row in latest_rows)

    def _has_usage_in(self, usage: Callable[[str], bool], row: int, name: int) -> bool:
        cache_key = (usage, row, name)
        if cache_key not in self._usages:
            if (row, name) not in self._excerpts:
                node, spelling = self.node(row), self.spelling_in(row, self.key(name))
                excerpt = "" if node is None or spelling is None else name_usage.masked_excerpt(node.text, spelling)
                self._excerpts[row, name] = excerpt
            self._usages[cache_key] = usage(self._excerpts[row, name])
        return self._usages[cache_key]

    def spelling_in(self, row: int, name: str) -> str | None:
        """How a fetched memory spells a name; None if it does not mention it."""
        if row not in self._spellings:
            node = self.node(row)
            self._spellings[row] = (
                {} if node is None else {normalize_name(spelling): spelling for spelling in reversed(names(node.text))}
            )
        return self._spellings[row].get(name)

    def are_distinct(self, short: int, full: int) -> bool:
        """Whether one of the latest texts with both names treats them as two persons."""
        shared_rows = np.intersect1d(self.mentions(short).rows, self.mentions(full).rows)[-MAX_TEXTS_READ:].tolist()
        self.fetch(shared_rows)
        for row in shared_rows:
            node = self.node(row)
            if node is None:
                continue
            short_spelling, full_spelling = (self.spelling_in(row, self.key(name)) for name in (short, full))
            if (
                short_spelling
                and full_spelling
                and name_usage.has_distinct_uses(node.text, short_spelling, full_spelling)
            ):
                return True
        return False

    def fetch(self, rows: Iterable[int]) -> None:
        """Fetch the rows that are not yet fetched, in one call."""
        missing = [row for row in rows if row not in self._nodes]
        if missing:
            found = {node.id: node for node in self._read(np.array(missing, np.intp))}
            self._nodes.update((row, found.get(self.graph.id(row))) for row in missing)

    def node(self, row: int) -> Node | None:
        """The node of a fetched row; None if it was forgotten meanwhile."""
        return self._nodes.get(row)

    def stated_aliases(self, row: int) -> tuple[tuple[str, str], ...]:
        """The pairs of alias and name that a fetched memory states."""
        node = self.node(row)
        return () if node is None else alias_pairs(node.text, self.speaker(row))

    def _has_title(self, rows: Rows) -> bool:
        titles, _ = self.graph.edges_from(rows, Link.ABOUT)
        return len(titles) > 0


# ---- the index


def index_keys(name: str) -> set[Hashable]:
    """The keys under which a name is indexed."""
    words = name.split()
    keys: set[Hashable] = {("first", words[0]), ("last", words[-1]), ("begins", words[0][:MIN_SHORT_FORM_LETTERS])}
    letters = "".join(words)
    if len(letters) >= MIN_VARIANT_LETTERS:
        intact_length = _intact_length(len(letters))
        keys |= {("^", letters[:intact_length], len(letters)), ("$", letters[-intact_length:], len(letters))}
    return keys


def lookup_keys(name: str) -> list[tuple[Hashable, Callable[[str, str], bool] | None]]:
    """The keys under which possible aliases of a name are indexed, each with a condition on both names, or None."""
    words = name.split()
    keys: set[Hashable] = {(place, word) for place in ("first", "last") for word in (words[0], words[-1])}
    first = words[0]
    other_forms = {*NICKNAMES.get(first, ()), *FORMAL_NAMES.get(first, ())}
    keys |= {("first", other) for other in other_forms}
    keys |= {("first", first[:end]) for end in range(MIN_SHORT_FORM_LETTERS, len(first))}
    prefix_keys: list[Hashable] = (
        [("begins", first[:MIN_SHORT_FORM_LETTERS])] if len(words) == 1 and len(first) >= MIN_SHORT_FORM_LETTERS else []
    )
    letters, spelling_keys = "".join(words), set[Hashable]()
    for length in range(len(letters) - 1, len(letters) + 2) if len(letters) >= MIN_VARIANT_LETTERS else ():
        intact_length = _intact_length(length)
        spelling_keys |= {("^", letters[:intact_length], length), ("$", letters[-intact_length:], length)}
    return [
        *((key, None) for key in keys),
        *((key, str.startswith) for key in prefix_keys),
        *((key, is_spelling_variant) for key in spelling_keys),
    ]


def _intact_length(length: int) -> int:
    """The letters at the beginning or the end that must match if one of ``length`` letters is wrong."""
    return MIN_SHORT_FORM_LETTERS if length >= MIN_TYPO_LETTERS else MIN_SHORT_FORM_LETTERS - 1


def _extend_keys(graph: Graph, cached: CachedDerivation[NameKeys] | None) -> NameKeys:
    previous = NameKeys(0, {}, {}, {}) if cached is None else cached.value
    first = 0 if cached is None else cached.node_count
    entities_by_key = dict(previous.entities_by_key)
    new_rows: dict[Hashable, list[int]] = {}
    for row in graph.rows_of_kind(Kind.ENTITY, first).tolist():
        for key in index_keys(graph.id(row).removeprefix(ENTITY_PREFIX)):
            new_rows.setdefault(key, []).append(row)
    entities_by_key.update((key, (*entities_by_key.get(key, ()), *rows)) for key, rows in new_rows.items())
    speakers_by_name, speaker_names_by_word = dict(previous.speakers_by_name), dict(previous.speaker_names_by_word)
    names = graph.speakers.names
    for number, name in enumerate(names[previous.speaker_count :], previous.speaker_count):
        normal = normalize_name(name)
        if not normal or role_of(name):
            continue
        speakers_by_name[normal] = (*speakers_by_name.get(normal, ()), number)
        for word in {normal.split()[0], normal.split()[-1]}:
            speaker_names_by_word[word] = speaker_names_by_word.get(word, frozenset()) | {normal}
    return NameKeys(len(names), entities_by_key, speakers_by_name, speaker_names_by_word)


def _extend_session_speakers(
    graph: Graph, cached: CachedDerivation[dict[int, frozenset[int]]] | None
) -> dict[int, frozenset[int]]:
    """The speakers of each session; extends the cached ones with the new rows."""
    known = {} if cached is None else dict(cached.value)
    first = 0 if cached is None else cached.node_count
    sessions, speakers = graph.nodes["sessions"][first:], graph.nodes["speakers"][first:]
    has_speaker = (sessions >= 0) & (speakers >= 0) & graph.episodes[first:]
    new_speakers: dict[int, set[int]] = {}
    for session, speaker in np.unique(np.stack([sessions[has_speaker], speakers[has_speaker]]), axis=1).T.tolist():
        new_speakers.setdefault(session, set()).add(speaker)
    known.update((session, known.get(session, frozenset()) | numbers) for session, numbers in new_speakers.items())
    return known
