"""Who speaks, and of whom: the person a question names against the person a memory comes from."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ..graph import Earlier, Graph
from ..language.names import entity_id
from ..language.people import ROLES, first_person
from ..language.words import hashed, words
from ..model import Cue, NodeId, Rows, Scores
from . import links


def speaks(graph: Graph, cue: Cue) -> Scores:
    """1 for each row spoken by the one person the cue names; nothing if it names none or several."""
    named = meant(graph, cue)
    scores = graph.zeros()
    if len(named) == 1:
        scores[graph.nodes["speakers"] == named[0]] = 1
    return scores


def meant(graph: Graph, cue: Cue) -> Rows:
    """The speakers that the cue names; in "what did I …", the user of the assistant."""
    known = called(graph)
    named = {speaker for word in cue.words.tolist() for speaker in known.by_word.get(word, ())}
    if first_person(cue.text):
        named.update(known.users)
    return np.array(sorted(named), np.intp)


def asked(graph: Graph, cue: Cue) -> Rows:
    """The names in the cue, and those that are the same; for a speaker's own name just that.

    Others call a speaker by all their names while they talk to them: that tells nothing of the one meant.
    """
    rows = np.unique(graph.rows(cue.entities))
    if not links.same(graph).of:
        return rows
    known = called(graph).by_name
    own = np.array([graph.id(row) in known for row in rows.tolist()], np.bool_)
    return np.union1d(rows[own], links.alike(graph, rows[~own])).astype(np.intp)


@dataclass(frozen=True, slots=True)
class Called:
    """The first so many speakers by the hash of each word of their names and by the id of the name as a whole.

    ``users`` are those that are the user by their role.
    """

    speakers: int
    by_word: Mapping[int, tuple[int, ...]]
    users: tuple[int, ...]
    by_name: Mapping[NodeId, tuple[int, ...]]


def called(graph: Graph) -> Called:
    """How the speakers are called; a role is no name."""
    return graph.derived("called", _called)


def _called(graph: Graph, before: Earlier[Called] | None) -> Called:
    known = Called(0, {}, (), {}) if before is None else before.value
    names = graph.speakers.names
    if len(names) == known.speakers:
        return known
    by_word, users, by_name = dict(known.by_word), known.users, dict(known.by_name)
    for number, name in enumerate(names[known.speakers :], known.speakers):
        role = ROLES.get(name.casefold())
        users = (*users, number) if role == "user" else users
        for word in dict.fromkeys(hashed(words(name)).tolist()) if role is None else ():
            by_word[word] = (*by_word.get(word, ()), number)
        if role is None:
            by_name[entity_id(name)] = (*by_name.get(entity_id(name), ()), number)
    return Called(len(names), by_word, users, by_name)
