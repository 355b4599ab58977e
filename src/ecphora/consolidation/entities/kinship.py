"""Resolves "my sister": once a speaker has named the only one, their mentions without a name link to her entity."""

from dataclasses import dataclass, field

import numpy as np

from ...language.chat_roles import is_assistant
from ...language.names.kin_mentions import KIN_WORDS, kin_mentions
from ...language.names.mentions import entity_id
from ...language.terms import extract_terms, hash_terms
from ...model.graph.graph import CachedDerivation, Graph
from ...model.ports import NodeSource
from ...model.types import Edge, Link, Rows

KIN_MENTION_WEIGHT = 0.5
"""The weight of a mention without a name."""


@dataclass(frozen=True, slots=True)
class KinMentions:
    """A speaker's mentions of one relation: the row that first gave each name, and the mentions without a name.

    ``qualifiers_by_name`` are the words, such as "older", that distinguish the named persons; ``unnamed_mentions`` are
    pairs of row and qualifier. ``is_plural`` says that the speaker has more than one such relation.
    """

    row_by_name: dict[str, int] = field(default_factory=dict)
    qualifiers_by_name: dict[str, frozenset[str]] = field(default_factory=dict)
    unnamed_mentions: tuple[tuple[int, str], ...] = ()
    is_plural: bool = False


KinTable = dict[tuple[int, str], KinMentions]
"""By speaker number and relation."""


def resolve_kin(graph: Graph, new_rows: Rows, read: NodeSource) -> tuple[Edge, ...]:
    """The ``MENTIONS`` edges that new memories, or names that they give, resolve."""
    new_row_set = set(new_rows.tolist())

    def extend(grown: Graph, before: CachedDerivation[KinTable] | None) -> KinTable:
        return _extend_kin_table(grown, before, read)

    kin_table = graph.derive("kinship", extend)
    edges: list[Edge] = []
    for mentions in kin_table.values():
        if mentions.is_plural or len(mentions.row_by_name) != 1:
            continue
        ((name, naming_row),) = mentions.row_by_name.items()
        rows = [
            row
            for row, qualifier in mentions.unnamed_mentions
            if _is_compatible(qualifier, mentions.qualifiers_by_name[name])
        ]
        if naming_row not in new_row_set:
            rows = [row for row in rows if row in new_row_set]
        if rows and graph.row(name) is not None:
            mentioning_rows = _mentioning_rows(graph, int(graph.rows([name])[0]))
            edges += [
                Edge(graph.id(row), name, Link.MENTIONS, KIN_MENTION_WEIGHT, graph.id(naming_row))
                for row in dict.fromkeys(rows)
                if row not in mentioning_rows
            ]
    return tuple(edges)


def _is_compatible(qualifier: str, qualifiers: frozenset[str]) -> bool:
    """Whether "my older sister" may be one introduced as "my sister"; not one introduced as "my little sister"."""
    return not qualifier or qualifier in qualifiers


def _mentioning_rows(graph: Graph, name: int) -> frozenset[int]:
    edge_indices, _ = graph.edges_to(np.array([name]), Link.MENTIONS)
    return frozenset(graph.edges["src"][edge_indices].tolist())


def _extend_kin_table(graph: Graph, cached: CachedDerivation[KinTable] | None, read: NodeSource) -> KinTable:
    kin_table: KinTable = {} if cached is None else dict(cached.value)
    first = 0 if cached is None else cached.node_count
    assistants = [number for number, name in enumerate(graph.speakers.names) if is_assistant(name)]
    speakers = graph.nodes["speakers"]
    places, _ = graph.postings(
        np.unique(hash_terms(extract_terms(" ".join((*KIN_WORDS, *(f"{word}s" for word in KIN_WORDS))))))
    )
    rows = np.unique(graph.terms["rows"][places]).astype(np.intp)
    rows = rows[(rows >= first) & (speakers[rows] >= 0) & ~np.isin(speakers[rows], assistants) & graph.episodes[rows]]
    nodes = {node.id: node for node in read(rows)} if len(rows) else {}
    speaker_ids = {entity_id(name) for name in graph.speakers.names}
    for row in rows.tolist():
        node = nodes.get(graph.id(row))
        mentions = () if node is None else kin_mentions(node.text)
        named_relations = {mention.relation for mention in mentions if mention.name is not None}
        for mention in mentions:
            key = (int(speakers[row]), mention.relation)
            known_mentions = kin_table.get(key, KinMentions())
            id_ = "" if mention.name is None else entity_id(mention.name)
            if mention.is_plural:
                kin_table[key] = KinMentions(
                    known_mentions.row_by_name,
                    known_mentions.qualifiers_by_name,
                    known_mentions.unnamed_mentions,
                    is_plural=True,
                )
            elif id_ and id_ not in speaker_ids:
                qualifiers = known_mentions.qualifiers_by_name.get(id_, frozenset()) | (
                    {mention.qualifier} if mention.qualifier else set()
                )
                row_by_name = {id_: row} | known_mentions.row_by_name
                kin_table[key] = KinMentions(
                    row_by_name,
                    {**known_mentions.qualifiers_by_name, id_: qualifiers},
                    known_mentions.unnamed_mentions,
                    known_mentions.is_plural,
                )
            elif not id_ and mention.relation not in named_relations:
                unnamed = (*known_mentions.unnamed_mentions, (row, mention.qualifier))
                kin_table[key] = KinMentions(
                    known_mentions.row_by_name, known_mentions.qualifiers_by_name, unnamed, known_mentions.is_plural
                )
    return kin_table
