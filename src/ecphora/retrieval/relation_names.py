"""The names that memories give to relations in a question: "my sister" is Marta where a memory says "my sister Marta".

They are looked up when a question asks, in the memories that it may return. So a name is forgotten with its memory, and
what is remembered before consolidation, or by another process, counts at once.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from ..language.chat_roles import Role, is_assistant, role_of
from ..language.names.adjacent_names import without_titles
from ..language.names.mentions import entity_id, normalize_name
from ..language.names.persons import is_personal
from ..language.names.relation_lexicon import CHANGING_RELATIONS, all_nouns, nouns_or_wider
from ..language.names.relation_mentions import (
    AskedRelation,
    Owner,
    RelationMention,
    relation_mentions,
    relations_in_question,
)
from ..language.terms import extract_terms, hash_terms
from ..model.graph.graph import Graph
from ..model.ports import NodeSource
from ..model.types import Link, Mask, NodeId, Query, RelationName, Rows
from . import filters, temporal

MAX_MEMORIES = 64
"""How many memories with a noun of the relation are read."""
MAX_NAMES = 3
"""The most names of one relation."""


@dataclass(frozen=True, slots=True)
class _Found:
    """A mention with its memory: the id, the speaker, and whether the memory is still valid."""

    mention: RelationMention
    node: NodeId
    speaker: str | None
    is_valid: bool


def find_relation_names(
    graph: Graph, query: Query, asked: Iterable[AskedRelation], read_nodes: NodeSource
) -> tuple[RelationName, ...]:
    """The names of the relations that a query asks about, from the memories that it may return.

    Names that the question has itself are left out.
    """
    eligible, expired = filters.eligible(graph, query), temporal.expired_mask(graph, query)
    question = query.text.casefold()
    return tuple(
        RelationName(query.text[relation.start : relation.end], found.mention.name, found.node)
        for relation in asked
        for found in _select(relation, list(_find(graph, relation, eligible, expired, read_nodes)))
        if without_titles(found.mention.name).casefold() not in question
    )


def has_unknown_relation(graph: Graph, query: Query, eligible: Mask) -> bool:
    """Whether a query asks about a person by a relation, such as "my brother", that no eligible memory mentions."""
    return any(
        one.owner in {Owner.SPEAKER, Owner.NAMED}
        and is_personal(one.relations)
        and not len(_rows_with_noun(graph, nouns_or_wider(one.relations), eligible))
        for one in relations_in_question(query.text)
    )


def replace_relations(question: str, asked: Iterable[AskedRelation], found: Iterable[RelationName]) -> str:
    """A question with names in place of relations: "Where does Marta work?" for "Where does my sister work?"."""
    parts: list[str] = []
    at, known = 0, tuple(found)
    for relation in asked:
        phrase = question[relation.start : relation.end]
        names = [without_titles(one.name) for one in known if one.phrase == phrase]
        parts += [question[at : relation.start], ", ".join(names) or phrase]
        at = relation.end
    return "".join((*parts, question[at:]))


def entity_ids(graph: Graph, found: Iterable[RelationName]) -> tuple[NodeId, ...]:
    """The entities of the names that memories mention, with titles and without."""
    ids = dict.fromkeys(entity_id(name) for one in found for name in (one.name, without_titles(one.name)))
    return tuple(id_ for id_ in ids if graph.row(id_) is not None)


def _find(
    graph: Graph, asked: AskedRelation, eligible: Mask, expired: Mask, read_nodes: NodeSource
) -> Iterator[_Found]:
    """The mentions of a relation whose owner may be the one asked about, the newest first."""
    nouns = dict.fromkeys(noun for relation in asked.relations for noun in all_nouns(relation))
    rows = _rows_with_noun(graph, nouns, eligible)
    nodes = read_nodes(rows) if len(rows) else []
    by_id = {node.id: node for node in nodes}
    askers = _askers(graph)
    for row in rows.tolist():
        node = by_id.get(graph.id(row))  # None if another process has forgotten it
        if node is None:
            continue
        mentions = (mention for relation in asked.relations for mention in relation_mentions(node.text, relation))
        for mention in dict.fromkeys(mentions):
            if _fits(mention, asked, node.speaker, askers):
                yield _Found(mention, node.id, node.speaker, not expired[row])


def _rows_with_noun(graph: Graph, nouns: Iterable[str], eligible: Mask) -> Rows:
    """The eligible rows that have all terms of one of some nouns, newest first; of many, those with a name."""
    terms_by_noun = [np.unique(hash_terms(extract_terms(noun))) for noun in nouns]
    terms = np.unique(np.concatenate(terms_by_noun))
    entries, term_index = graph.postings(terms)
    rows = graph.terms["rows"][entries]
    found = [
        _rows_with_all(rows, np.isin(term_index, np.searchsorted(terms, noun_terms)), len(noun_terms))
        for noun_terms in terms_by_noun
    ]
    known = np.unique(np.concatenate(found)).astype(np.intp)
    known = known[eligible[known]]
    _, index = graph.edges_from(known, Link.MENTIONS)
    has_entity = np.isin(np.arange(len(known)), index)
    best = known[np.lexsort((known, graph.nodes["happened"][known], has_entity))][::-1][:MAX_MEMORIES]
    return best[np.lexsort((best, graph.nodes["happened"][best]))][::-1]


def _rows_with_all(rows: Rows, is_of_noun: Mask, term_count: int) -> Rows:
    """The rows that occur once for each of some terms."""
    distinct, counts = np.unique(rows[is_of_noun], return_counts=True)
    return distinct[counts == term_count]


def _askers(graph: Graph) -> frozenset[str]:
    """The speakers of whom one may be asking: the users of an assistant; without one, all but assistants and tools."""
    users = frozenset(name for name in graph.speakers.names if role_of(name) is Role.USER)
    return users or frozenset(name for name in graph.speakers.names if role_of(name) is None)


def _fits(mention: RelationMention, asked: AskedRelation, speaker: str | None, askers: frozenset[str]) -> bool:
    """Whether a mention may be of the relation asked about: of the same owner, and not of a former one."""
    is_distinct = asked.qualifiers and mention.qualifiers and asked.qualifiers.isdisjoint(mention.qualifiers)
    if mention.is_former != asked.is_former or is_distinct:
        return False
    owner = mention.owner_name or (speaker or "" if mention.owner is Owner.SPEAKER else "")
    if _is_same_person(mention.name, owner):
        return False
    if asked.owner is Owner.NAMED or mention.owner is Owner.NAMED:
        return _is_same_person(owner, asked.owner_name)
    if mention.owner is Owner.ADDRESSEE:
        return is_assistant(speaker)
    if mention.owner is Owner.SPEAKER and speaker is not None:
        return speaker in askers and (asked.owner is Owner.SPEAKER or len(askers) == 1)
    return True


def _is_same_person(one: str, other: str) -> bool:
    """Whether two names have the first word in common."""
    words = normalize_name(one).split()[:1]
    return bool(words) and words == normalize_name(other).split()[:1]


def _select(asked: AskedRelation, found: list[_Found]) -> list[_Found]:
    """The one name of a relation that changes, the newest; of others, those named most often.

    None if several speakers name different persons, since nobody knows who asks.
    """
    by_name: dict[str, _Found] = {}
    for one in sorted(found, key=lambda entry: not entry.is_valid):
        by_name.setdefault(_key(one), one)
    speakers = {one.speaker for one in found if one.mention.owner is Owner.SPEAKER and one.speaker is not None}
    if asked.owner is Owner.SPEAKER and len(speakers) > 1 and len(by_name) > 1:
        return []
    if CHANGING_RELATIONS.issuperset(asked.relations):
        return list(by_name.values())[:1]
    counts = Counter(map(_key, found))
    return sorted(by_name.values(), key=lambda one: -counts[_key(one)])[:MAX_NAMES]


def _key(found: _Found) -> str:
    return normalize_name(without_titles(found.mention.name))
