"""Who speaks, and of whom: the person a question names against the person a memory comes from."""

from functools import lru_cache

import numpy as np

from ..graph import Graph
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
    asked = set(cue.words.tolist())
    me = first_person(cue.text)
    return np.array(
        [
            number
            for number, name in enumerate(graph.speakers.names)
            if (me and ROLES.get(name.casefold()) == "user")
            or (name.casefold() not in ROLES and not asked.isdisjoint(_name_words(name)))
        ],
        np.intp,
    )


@lru_cache(maxsize=4096)
def _name_words(name: str) -> tuple[int, ...]:
    return tuple(hashed(words(name)).tolist())
