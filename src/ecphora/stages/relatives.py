"""Whom a speaker means by "my sister": once they have named the only one, memories that do not name her lead to her."""

from dataclasses import dataclass, field

import numpy as np

from ..graph import LINKS, Earlier, Graph
from ..language.kin import KIN, kin
from ..language.names import entity_id
from ..language.people import ROLES
from ..language.words import hashed, words
from ..model import Edge, Link, Rows
from ..ports import Reader

RESOLVED = 0.5
"""The weight of a mention that names nobody."""

_MENTIONS = LINKS.index(Link.MENTIONS)


@dataclass(frozen=True, slots=True)
class Relatives:
    """What one speaker told of one kin: the names, each with the memory that first gave it, and where none is given.

    ``which`` are the words that tell them apart, by name; ``several`` says that the speaker has more than one.
    """

    named: dict[str, int] = field(default_factory=dict)
    which: dict[str, frozenset[str]] = field(default_factory=dict)
    bare: tuple[tuple[int, str], ...] = ()
    several: bool = False


Known = dict[tuple[int, str], Relatives]
"""By speaker and kin."""


def resolved(graph: Graph, new: Rows, read: Reader) -> tuple[Edge, ...]:
    """The mentions that new memories, or names that they give, resolve."""
    fresh = set(new.tolist())

    def told(grown: Graph, before: Earlier[Known] | None) -> Known:
        return _told(grown, before, read)

    known = graph.derived("relatives", told)
    edges: list[Edge] = []
    for relatives in known.values():
        if relatives.several or len(relatives.named) != 1:
            continue
        ((name, shown),) = relatives.named.items()
        rows = [row for row, which in relatives.bare if _may_mean(which, relatives.which[name])]
        if shown not in fresh:
            rows = [row for row in rows if row in fresh]
        if rows and graph.row(name) is not None:
            mentioning = _mentioning(graph, int(graph.rows([name])[0]))
            edges += [
                Edge(graph.id(row), name, Link.MENTIONS, RESOLVED, graph.id(shown))
                for row in dict.fromkeys(rows)
                if row not in mentioning
            ]
    return tuple(edges)


def _may_mean(which: str, known: frozenset[str]) -> bool:
    """Whether "my older sister" may be one who was named "my sister"; not one who was named "my little sister"."""
    return not which or which in known


def _mentioning(graph: Graph, name: int) -> frozenset[int]:
    places, _ = graph.edges_to(np.array([name]))
    return frozenset(graph.edges["src"][places[graph.edges["links"][places] == _MENTIONS]].tolist())


def _told(graph: Graph, before: Earlier[Known] | None, read: Reader) -> Known:
    known: Known = {} if before is None else dict(before.value)
    first = 0 if before is None else before.nodes
    silent = [number for number, name in enumerate(graph.speakers.names) if ROLES.get(name.casefold()) == "assistant"]
    speakers = graph.nodes["speakers"]
    places, _ = graph.postings(np.unique(hashed(words(" ".join((*KIN, *(f"{one}s" for one in KIN)))))))
    rows = np.unique(graph.words["rows"][places]).astype(np.intp)
    rows = rows[(rows >= first) & (speakers[rows] >= 0) & ~np.isin(speakers[rows], silent) & graph.episodes[rows]]
    nodes = {node.id: node for node in read(rows)} if len(rows) else {}
    own = {entity_id(name) for name in graph.speakers.names}
    for row in rows.tolist():
        node = nodes.get(graph.id(row))
        found = () if node is None else kin(node.text)
        given = {one.kin for one in found if one.name is not None}
        for one in found:
            at = (int(speakers[row]), one.kin)
            relatives = known.get(at, Relatives())
            id_ = "" if one.name is None else entity_id(one.name)
            if one.several:
                known[at] = Relatives(relatives.named, relatives.which, relatives.bare, several=True)
            elif id_ and id_ not in own:
                which = relatives.which.get(id_, frozenset()) | ({one.which} if one.which else set())
                named = {id_: row} | relatives.named
                known[at] = Relatives(named, {**relatives.which, id_: which}, relatives.bare, relatives.several)
            elif not id_ and one.kin not in given:
                bare = (*relatives.bare, (row, one.which))
                known[at] = Relatives(relatives.named, relatives.which, bare, relatives.several)
    return known
