"""What two claims are about: the words of the one that fit the other, apart from what its memory says besides.

"I live in Lisbon and have two cats" and "I moved to Porto" are about where somebody lives, not about cats. Which clause
of a memory fits the other claim, their vectors tell; without an embedder all of its statement does.
"""

from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass

import numpy as np

from ..language.claim_words import FIELD_STEMS, FILLERS
from ..language.claims import Statement
from ..language.clauses import Clause, clauses
from ..language.values import Sort, values
from ..language.words import words
from ..model import Vectors
from .comparing import passage
from .matter import Matter

Embed = Callable[[Sequence[str]], Vectors]
"""Makes vectors of texts."""
NEAR = 0.6
"""How near to another claim a clause is that is of its matter, in parts of the cosine of the nearest."""


@dataclass(frozen=True, slots=True)
class Side:
    """A claim: the whole text of its memory, and its statement."""

    text: str
    statement: Statement


def matter(own: Side, other: Side, embed: Embed | None = None) -> Matter:
    """What a claim is about, seen from another one that it replaces or that replaces it.

    Its memory is read around its statement; what stands further away is beside the matter. The values in which both
    differ are neither.
    """
    near, theirs = (passage(side.text, side.statement.text, None) for side in (own, other))
    told = clauses(near)
    fit = _fit(told, theirs, embed)
    shared = frozenset(words(other.text))
    about = _stems(" ".join(clause.text for clause in fit), {value.sort for value in values(theirs)}, shared)
    about |= {stem for name in own.statement.fields & other.statement.fields for stem in FIELD_STEMS[name]}
    rest = " ".join([*own.text.split(near, 1), *(clause.text for clause in told if clause not in fit)])
    return Matter(about, frozenset(words(rest)) - FILLERS - about - shared)


def _fit(told: Sequence[Clause], other: str, embed: Embed | None) -> list[Clause]:
    """The clauses that fit another text: those nearly as near as the nearest, and the first one of its part."""
    if embed is None or len(told) < 2:
        return list(told)
    vectors = embed([other, *(clause.text for clause in told)])
    cosines = (vectors[1:] @ vectors[0]).tolist()
    part, most = told[int(np.argmax(cosines))].part, max(cosines)
    first = next(clause for clause in told if clause.part == part)
    return [clause for clause, cosine in zip(told, cosines, strict=True) if clause is first or cosine >= NEAR * most]


def _stems(text: str, differ: Container[Sort], shared: frozenset[str]) -> frozenset[str]:
    """The stems of a text, without those of values of some sorts that are not ``shared``."""
    found = [text[value.start : value.end] for value in values(text) if value.sort in differ]
    return frozenset(words(text)) - FILLERS - (frozenset(words(" ".join(found))) - shared)
