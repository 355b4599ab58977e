"""How the public types are written as JSON, where they are not simply an object with their fields.

The wire format: a value of a public type is a JSON object with the type's fields by their names; times are ISO 8601,
enums their values, tuples lists. :data:`FORMS` lists what differs. Every result has at least the fields that the
command line prints for it with ``--json``, under the same names.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from typing import Any

from ...model.types import Episode, Filter, Goal, Hit, Insight, Media, MediaQuery, Query
from ...recall.explain import WhyNot
from ...recall.recollection import Recollection
from ...remember.messages import MessageOptions


@dataclass(frozen=True, slots=True)
class Form:
    """How a type is written. ``inline`` fields are replaced by their own fields, ``omitted`` ones are not written.

    ``derived`` values are written under a name of their own: with the type and the function that gives the value.
    Reading ignores them, unless ``deserialize`` says otherwise.
    """

    inline: tuple[str, ...] = ()
    omitted: tuple[str, ...] = ()
    derived: Mapping[str, tuple[Any, Callable[[Any], Any]]] = field(default_factory=dict)


VECTORS = (
    "vector", "word_vectors", "english_vector", "term_hashes", "identifiers", "quantities", "media"
)  # fmt: skip
"""The fields of a query that are not written: arrays and hashes, which only strategies use."""
DEFAULT_FORM = Form()
FORMS: Mapping[type, Form] = {
    Goal: Form(omitted=("vector",)),
    Hit: Form(inline=("node",), omitted=("find_reason",), derived={"reason": (str, lambda hit: hit.reason)}),
    Insight: Form(inline=("node",)),
    Query: Form(omitted=VECTORS),
    Recollection: Form(
        inline=("cost",),
        omitted=("find_groups",),
        derived={"question": (str, lambda found: found.query.text)},
    ),
    WhyNot: Form(derived={"sentence": (str, str)}),
}
"""The types that are not written as an object with their fields. ``Why`` and ``HitGroup``: see ``serialize``."""
ARGUMENT_TYPES = (Filter, Episode, Media, MediaQuery, MessageOptions)
"""The types that callers write: reading them refuses an unknown field, which may be a typing error."""
LOCAL_ARGUMENTS: Mapping[str, str] = {
    "llm": "the server uses the language model that it was started with",
    "progress": "a function cannot be sent",
    "out": "the answer is the export",
    "lines": "the body of the request is the export",
    "path": "files are those of the server's machine",
}
"""The arguments that stay where they are, and why."""


def form_of(cls: type) -> Form:
    """The form of a type."""
    return FORMS.get(cls, DEFAULT_FORM)


@cache
def written_fields(cls: type) -> tuple[str, ...]:
    """The names of the fields of a dataclass that are written under their own names."""
    form = form_of(cls)
    return tuple(one.name for one in fields(cls) if one.name not in {*form.inline, *form.omitted})
