"""The speakers that a query names, and the index of speakers by their names."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ..language.argument_roles.roles import role_agreement
from ..language.chat_roles import Role, has_first_person, is_assistant, role_of
from ..language.names.mentions import entity_id
from ..language.terms import extract_terms, hash_terms
from ..model.graph.graph import CachedDerivation, Graph
from ..model.types import Link, NodeId, Query, Rows, Scores
from .entity_links import alias_groups, expand_aliases

MAIN_SHARE = 0.9
"""The part of all turns, without assistants' turns, that a main speaker says at least."""


def named_speaker_scores(graph: Graph, query: Query) -> Scores:
    """1 for each row spoken by the one speaker the query names; all 0 if it names none or several."""
    named = named_speakers(graph, query)
    scores = graph.zeros()
    if len(named) == 1:
        scores[graph.nodes["speakers"] == named[0]] = 1
    return scores


def named_speakers(graph: Graph, query: Query) -> Rows:
    """The speakers that the query names; in "what did I …", the user of the assistant."""
    index = speaker_index(graph)
    named = {speaker for term in query.term_hashes.tolist() for speaker in index.by_term.get(term, ())}
    if has_first_person(query.text):
        named.update(index.user_speakers)
    return np.array(sorted(named), np.intp)


def main_speaker(graph: Graph) -> str | None:
    """The name of the speaker who says nearly all that no assistant says, if there is one; a role is not a name.

    What has no speaker is not theirs. There is none if most of it has the speaker's own name: "Ana moved to Porto.",
    said by Ana, is not near to "Where do I live?".
    """
    names = graph.speakers.names
    speakers = graph.nodes["speakers"][graph.episodes]
    turns = np.bincount(speakers[speakers >= 0], minlength=len(names))
    told = {name: int(turns[number]) for number, name in enumerate(names) if not is_assistant(name)}
    total = sum(told.values()) + int((speakers < 0).sum())
    name = max(told, key=told.__getitem__, default=None)
    if name is None or role_of(name) is not None or told[name] < MAIN_SHARE * total:
        return None
    return name if told[name] > 2 * _count_own_name(graph, name) else None


def _count_own_name(graph: Graph, speaker: str) -> int:
    """How many turns of a speaker mention them by name."""
    entity = graph.row(entity_id(speaker))
    if entity is None:
        return 0
    edges, _ = graph.edges_to(np.array([entity], np.intp), Link.MENTIONS)
    rows = np.unique(graph.edges["src"][edges]).astype(np.intp)
    return int((graph.nodes["speakers"][rows] == graph.speakers.names.index(speaker)).sum())


def query_role_agreement(query: Query, text: str, speaker: str | None) -> float:
    """Whether the names of a question have the same parts in a text; "I" in the question is who says nearly all."""
    question = query.reranking_text
    is_user = speaker is not None and speaker == query.main_speaker and has_first_person(question)
    return role_agreement(question, text, Role.USER if is_user else speaker)


def query_entities(graph: Graph, query: Query) -> Rows:
    """The entities in the query and their aliases; a speaker's own name is not expanded.

    Other people use all of a speaker's names when they talk to them, so mentions of an alias do not identify the
    speaker meant.
    """
    rows = np.unique(graph.rows(query.entity_ids))
    if not alias_groups(graph).representative:
        return rows
    by_entity = speaker_index(graph).by_entity
    is_speaker = np.array([graph.id(row) in by_entity for row in rows.tolist()], np.bool_)
    return np.union1d(rows[is_speaker], expand_aliases(graph, rows[~is_speaker])).astype(np.intp)


@dataclass(frozen=True, slots=True)
class SpeakerIndex:
    """The first ``speaker_count`` speakers, by the hash of each term of a name and by the entity id of the name.

    ``user_speakers`` are those whose role is user.
    """

    speaker_count: int
    by_term: Mapping[int, tuple[int, ...]]
    user_speakers: tuple[int, ...]
    by_entity: Mapping[NodeId, tuple[int, ...]]


def speaker_index(graph: Graph) -> SpeakerIndex:
    """The index of speakers by name; a role is not a name."""
    return graph.derive("speaker index", _update_speaker_index)


def _update_speaker_index(graph: Graph, before: CachedDerivation[SpeakerIndex] | None) -> SpeakerIndex:
    known = SpeakerIndex(0, {}, (), {}) if before is None else before.value
    names = graph.speakers.names
    if len(names) == known.speaker_count:
        return known
    by_term, user_speakers, by_entity = dict(known.by_term), known.user_speakers, dict(known.by_entity)
    for number, name in enumerate(names[known.speaker_count :], known.speaker_count):
        role = role_of(name)
        user_speakers = (*user_speakers, number) if role is Role.USER else user_speakers
        for term in dict.fromkeys(hash_terms(extract_terms(name)).tolist()) if role is None else ():
            by_term[term] = (*by_term.get(term, ()), number)
        if role is None:
            by_entity[entity_id(name)] = (*by_entity.get(entity_id(name), ()), number)
    return SpeakerIndex(len(names), by_term, user_speakers, by_entity)
