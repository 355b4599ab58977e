"""The names in a filter: which stored names they stand for, and what to tell about those that no memory has.

Names of speakers compare without case, accents and width, because people and models write them as they please.
Sessions and sources are written by programs, as ids and paths in which every character counts: they compare exactly.
"""

import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from ...columns import Vocabulary
from ...graph import CachedDerivation, Graph
from ...language.name_normalization import fold_name
from ...model import Filter, Mask
from ...reprs import show

FIELDS: Mapping[str, str] = {"speakers": "speaker", "sessions": "session", "sources": "source"}
"""The fields of a filter that take names, which are columns and vocabularies of a graph too, and the noun for one."""
MAX_NEAR = 5
"""The stored names shown beside one that no memory has."""
MAX_COMPARED = 1_000
"""The stored names that are compared with it: of more, those that appeared last."""


def find_codes(graph: Graph, field: str, names: str | Iterable[str]) -> list[int]:
    """The codes of the stored names that some names of a filter stand for.

    A speaker's name stands for itself if it is stored, else for all stored ones that differ in case, accents or width
    alone.
    """
    vocabulary: Vocabulary = getattr(graph, field)
    found: list[int] = []
    for name in (names,) if isinstance(names, str) else names:
        if (code := vocabulary.code(name)) >= 0:
            found.append(code)
        elif field == "speakers":
            found += _folded_speakers(graph).get(fold_name(name), ())
    return found


def unknown_name_notices(graph: Graph, where: Filter, visible: Mask) -> tuple[str, ...]:
    """A notice for each name asked for that none of the visible rows has, with the stored names near to it."""
    return tuple(_notices(graph, where, visible))


def _notices(graph: Graph, where: Filter, visible: Mask) -> Iterator[str]:
    for field, noun in FIELDS.items():
        names: str | tuple[str, ...] | None = getattr(where, field)
        if not names:
            continue
        codes = np.unique(graph.nodes[field][visible])
        known = set(codes[codes >= 0].tolist())
        for name in (names,) if isinstance(names, str) else names:
            if known.isdisjoint(find_codes(graph, field, name)):
                stored: tuple[str, ...] = getattr(graph, field).names
                near = ", ".join(map(show, _near(name, [stored[code] for code in sorted(known)[-MAX_COMPARED:]])))
                yield f"no {noun} {show(name)}; near: {near}" if near else f"no {noun} {show(name)}"


def _near(name: str, stored: Sequence[str]) -> list[str]:
    """The stored names that are written alike, or that have all words of the name or are part of it, nearest first."""
    by_form: dict[str, list[str]] = {}
    for one in stored:
        by_form.setdefault(fold_name(one), []).append(one)
    form = fold_name(name)
    words = set(form.split())
    alike = difflib.get_close_matches(form, by_form, MAX_NEAR)
    related = (one for one in by_form if words and ((own := set(one.split())) <= words or words <= own) and own)
    return [one for near in dict.fromkeys((*alike, *related)) for one in by_form[near]][:MAX_NEAR]


def _folded_speakers(graph: Graph) -> Mapping[str, tuple[int, ...]]:
    """The codes of speakers by the folded forms of their names."""
    return graph.derive("folded speakers", _update_folded_speakers)[1]


_FoldedSpeakers = tuple[int, Mapping[str, tuple[int, ...]]]
"""How many speakers are folded, and their codes by form."""


def _update_folded_speakers(graph: Graph, before: CachedDerivation[_FoldedSpeakers] | None) -> _FoldedSpeakers:
    count, known = (0, {}) if before is None else before.value
    names = graph.speakers.names
    if len(names) == count:
        return count, known
    codes = dict(known)
    for code, name in enumerate(names[count:], count):
        form = fold_name(name)
        codes[form] = (*codes.get(form, ()), code)
    return len(names), codes
