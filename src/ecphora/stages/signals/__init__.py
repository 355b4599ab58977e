"""Columns of the pool: what each model knows of a memory, as one number for each row of a :class:`~..touch.View`.

Every function gives named columns; 0 says nothing, so a signal that a memory or a question lacks fades out by itself.
"""

from ...graph import EPOCH, Graph
from ...model import Cue, Scores
from ..touch import View, look
from . import company, direct, names, people, terms, times, together

GROUPS = {
    "touched": direct.columns,
    "words by meaning": terms.columns,
    "person and kind of turn": people.columns,
    "company": company.columns,
    "time and number": times.columns,
    "names": names.columns,
    "together": together.columns,
}
"""The groups of columns; an ablation leaves one out."""


def columns(view: View) -> dict[str, Scores]:
    """All columns of a view, by name."""
    return {name: values for group in GROUPS.values() for name, values in group(view).items()}


def named() -> dict[str, tuple[str, ...]]:
    """The names of the columns of each group."""
    nothing = look(Graph(), Cue("", EPOCH))
    return {name: tuple(group(nothing)) for name, group in GROUPS.items()}
