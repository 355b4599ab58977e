"""Entity resolution: proposes aliases for short forms, nicknames, misspellings, and pairs that a text states.

Each ``ALIAS`` edge has the memory that supports it as provenance, so a merge can be undone, and is dropped when that
memory is forgotten. Precision comes before recall: a rule matches only if nothing contradicts it.
"""

from collections.abc import Iterable

import numpy as np

from ...language.names.mentions import entity_id
from ...language.names.nicknames import (
    MIN_VARIANT_LETTERS,
    has_same_first_and_last_name,
    is_compatible_name,
    is_first_or_last_name,
    is_possible_alias,
)
from ...model.graph.graph import Graph
from ...model.ports import NodeSource
from ...model.types import Edge, Link, NodeId, Rows
from ...retrieval import entity_links
from . import kinship
from .alias_rules import NamePair, match_misspelling, match_nickname, match_short_form
from .name_index import NameIndex

STATED_CONFIDENCE = 1.0
"""The confidence of a merge that a text states."""
FIRM_CONFIDENCE = 0.95
"""A merge of at least this confidence is not retracted when another person of that name appears."""
MAX_SUPPORTING_EDGES = 3
"""Edges of one pair, each with a memory of its own: the merge lasts while one of these memories does."""


def resolve_entities(graph: Graph, new_rows: Rows, read: NodeSource) -> tuple[Edge, ...]:
    """Propose aliases of the names that new memories mention, and resolve mentions of kin.

    Returns ``ALIAS`` edges between names, with weight 0 for a retraction, and ``MENTIONS`` edges of weight 0.5 from
    memories that say "my sister" to the one sister that their speaker has named. The cost grows with the new memories.
    """
    return (*EntityResolver(graph, read).resolve(new_rows), *kinship.resolve_kin(graph, new_rows, read))


class EntityResolver:
    """Compares the names of new memories with similar ones from an index, each pair once."""

    def __init__(self, graph: Graph, read: NodeSource) -> None:
        self.name_index = NameIndex(graph, read)
        known = entity_links.alias_groups(graph)
        self._confidences = dict(known.confidences)
        self._support_counts = dict(known.support_counts)
        self._seen_pairs: set[tuple[int, int]] = set()
        self._new_rows = np.zeros(0, np.intp)
        self._edges: dict[tuple[int, int], Edge] = {}
        self._groups: dict[int, set[int]] = {row: set(group) for group in known.groups.values() for row in group}

    def resolve(self, new_rows: Rows) -> tuple[Edge, ...]:
        """The alias edges that the new memories support."""
        graph, names = self.name_index.graph, self.name_index
        rows = np.unique(new_rows)
        self._new_rows = rows = rows[graph.episodes[rows]]
        names.fetch(rows.tolist())
        mentions = entity_links.entity_mentions(graph, rows)
        latest = {
            int(name): int(rows[place]) for name, place in zip(mentions.entities, mentions.row_index, strict=True)
        }
        for row in rows.tolist():
            self._propose_stated_aliases(row)
        for name, row in latest.items():
            self._retract_ambiguous(name, row)
            for pair in self._candidate_pairs(name):
                self._propose_matching_aliases(pair)
        return tuple(self._edges.values())

    def _propose_stated_aliases(self, row: int) -> None:
        """Propose the aliases that a memory states, where both names are known."""
        for alias, name in self.name_index.stated_aliases(row):
            alias_row, name_row = (
                self.name_index.graph.row(entity_id(alias)),
                self.name_index.graph.row(entity_id(name)),
            )
            if alias_row is not None and name_row is not None and alias_row != name_row:
                self._propose_alias(alias_row, name_row, STATED_CONFIDENCE, row)

    def _candidate_pairs(self, name: int) -> Iterable[NamePair]:
        """The pairs of a name and each similar one, short before full; each once."""
        names = self.name_index
        for other in names.similar_names(name):
            for short, full in ((name, other), (other, name)):
                short_key, full_key = names.key(short), names.key(full)
                if (short, full) not in self._seen_pairs and is_possible_alias(short_key, full_key):
                    self._seen_pairs.add((short, full))
                    yield NamePair(short, full, short_key, full_key)

    def _propose_matching_aliases(self, pair: NamePair) -> None:
        key = _ordered_pair(pair.short, pair.full)
        if (
            key in self._edges
            or self._confidences.get(key) == 0
            or self._support_counts.get(key, 0) >= MAX_SUPPORTING_EDGES
        ):
            return
        for rule in (match_short_form, match_nickname, match_misspelling):
            if (match := rule(self.name_index, pair)) is not None and len(match.rows):
                new_rows = match.rows[np.isin(match.rows, self._new_rows)]
                if len(new_rows) or not self._support_counts.get(key):
                    self._propose_alias(
                        pair.short, pair.full, match.confidence, int((new_rows if len(new_rows) else match.rows)[-1])
                    )
                return

    def _propose_alias(self, short: int, full: int, confidence: float, row: int) -> None:
        """Merge two names, unless that would join two persons: then retract all aliases of the short name."""
        key = _ordered_pair(short, full)
        if key in self._edges or self._support_counts.get(key, 0) >= MAX_SUPPORTING_EDGES:
            return
        group = self._groups.get(short, {short}) | self._groups.get(full, {full})
        if sum(self.name_index.is_speaker(self.name_index.key(one)) for one in group) > 1 or not self._is_one_person(
            group, key
        ):
            for one, two in list(self._confidences):
                if short in (one, two) and full not in (one, two) and self._confidences[one, two] > 0:
                    self._retract_alias(one, two, row)
            return
        self._edges[key] = Edge(
            self._node_id(short), self._node_id(full), Link.ALIAS, round(confidence, 2), self._node_id(row)
        )
        self._confidences[key] = confidence
        self._groups.update(dict.fromkeys(group, group))

    def _is_one_person(self, group: set[int], pair: tuple[int, int]) -> bool:
        """Whether the names of a group can be one person's; short single names are not checked."""
        named = [
            (name, key)
            for name in sorted(group)
            if " " in (key := self.name_index.key(name)) or len(key) >= MIN_VARIANT_LETTERS
        ]
        return all(
            is_compatible_name(key, other)
            or (one, two) == pair
            or self._confidences.get((one, two), 0) >= FIRM_CONFIDENCE
            for place, (one, key) in enumerate(named)
            for two, other in named[place + 1 :]
        )

    def _retract_ambiguous(self, name: int, row: int) -> None:
        """Retract aliases of a short name where a new name shows that two persons share it."""
        new_key, names = self.name_index.key(name), self.name_index
        words = new_key.split()
        for word in {words[0], words[-1]} if len(words) > 1 else ():
            short = names.graph.row(entity_id(word))
            if short is None:
                continue
            for other in self._groups.get(short, ()):
                key, other_key = _ordered_pair(other, short), names.key(other)
                is_ambiguous = (
                    is_first_or_last_name(word, other_key)
                    and not has_same_first_and_last_name(other_key, new_key)
                    and other != name
                )
                if is_ambiguous and 0 < self._confidences.get(key, 0) < FIRM_CONFIDENCE:
                    self._retract_alias(*key, row)

    def _retract_alias(self, one: int, two: int, row: int) -> None:
        key = _ordered_pair(one, two)
        self._confidences[key] = 0
        if key in self._edges and self._support_counts.get(key, 0) == 0:
            del self._edges[key]
        else:
            self._edges[key] = Edge(self._node_id(one), self._node_id(two), Link.ALIAS, 0.0, self._node_id(row))
        groups = entity_links.union_find(pair for pair, sure in self._confidences.items() if sure > 0)
        self._groups = {member: set(group) for group in groups.values() for member in group}

    def _node_id(self, row: int) -> NodeId:
        return self.name_index.graph.id(row)


def _ordered_pair(one: int, two: int) -> tuple[int, int]:
    return (min(one, two), max(one, two))
