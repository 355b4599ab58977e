"""Who speaks, and of whom: the person a question names against the person a memory comes from."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ..graph import Earlier, Graph
from ..language.people import ROLES, first_person
from ..language.words import hashed, words
from ..model import Cue, Rows, Scores


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


@dataclass(frozen=True, slots=True)
class Called:
    """The first so many speakers by the hash of each word of their names, and those that are the user by their role."""

    speakers: int
    by_word: Mapping[int, tuple[int, ...]]
    users: tuple[int, ...]


def called(graph: Graph) -> Called:
    """How the speakers are called; a role is no name."""
    return graph.derived("called", _called)


def _called(graph: Graph, before: Earlier[Called] | None) -> Called:
    known = Called(0, {}, ()) if before is None else before.value
    names = graph.speakers.names
    if len(names) == known.speakers:
        return known
    by_word, users = dict(known.by_word), known.users
    for number, name in enumerate(names[known.speakers :], known.speakers):
        role = ROLES.get(name.casefold())
        users = (*users, number) if role == "user" else users
        for word in dict.fromkeys(hashed(words(name)).tolist()) if role is None else ():
            by_word[word] = (*by_word.get(word, ()), number)
    return Called(len(names), by_word, users)
