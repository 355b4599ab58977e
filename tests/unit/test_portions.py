"""Portions of an import: worked examples of where a portion may end and what it contains."""

from datetime import timedelta

import pytest

from ecphora.maintenance.interchange.import_plan import split_into_portions
from ecphora.model.types import Edge, Kind, Link, Node, ValidityEnd
from ecphora.testing import NOON, sample_entity, sample_node

KINDS = {"i": Kind.INSIGHT, "c": Kind.CLAIM, "q": Kind.QUESTION}


def nodes(names: str) -> list[Node]:
    """Episodes, entities (in capitals), and nodes derived from episodes."""
    return [
        sample_entity(name)
        if name.isupper()
        else sample_node(name, kind=KINDS.get(name[0], Kind.EPISODE), document="d" if name.startswith("d") else None)
        for name in names.split()
    ]


def edge(text: str) -> Edge:
    """An edge from the text "src dst", optionally with its link and provenance."""
    src, dst, *options = text.split()
    link = Link(options[0]) if options else Link.MENTIONS
    return Edge(
        src, f"entity:{dst.lower()}" if dst.isupper() else dst, link, provenance=options[1] if options[1:] else None
    )


def cut(names: str, edges: list[str], size: int = 1) -> str:
    """The nodes of each portion and the number of its edges."""
    found = split_into_portions(nodes(names), [edge(text) for text in edges], [], size)
    return " | ".join(f"{' '.join(n.text for n in portion.nodes)} +{len(portion.edges)}" for portion in found)


@pytest.mark.parametrize(
    ("names", "edges", "expected"),
    [
        ("", [], " +0"),
        ("a b c", [], "a +0 | b +0 | c +0"),
        ("a X b", ["a X", "b X"], "a X +1 | b +1"),
        ("a b X Y", ["a X", "b Y"], "a b X Y +2"),  # a memory is in one portion with its names
        ("a X b", ["b X"], "a +0 | X b +1"),  # an entity is in the portion of its first mention that remains
        ("a X b c", ["b X", "c X"], "a +0 | X b +1 | c +1"),
        ("a X b", ["a X", "b X", "a b association"], "a X +1 | b +2"),  # later links do not delay a portion
        ("a b i c1", ["i a derived_from", "i b derived_from"], "a +0 | b +0 | i +2 | c1 +0"),
        ("i a b", ["i a derived_from", "i b derived_from"], "i a b +2"),  # in any order of the file
        ("c1 a b", ["c1 a claimed_in"], "c1 a +1 | b +0"),
        ("q1 a b", ["q1 b answered_by"], "q1 a b +1"),
        ("a d1 d2 b", [], "a +0 | d1 d2 +0 | b +0"),  # the chunks of a text
        ("a X b Y c", ["a X", "b Y", "a Y alias c", "c X"], "a X +1 | b Y +1 | c +2"),  # with its provenance
        ("a b X", ["b a association", "a X"], "a b X +2"),  # edges keep their order, so that a waits for b
        ("a b", ["old a association", "a old mentions"], "a +2 | b +0"),  # nodes stored earlier need not be in the file
    ],
)
def test_portion_ends_where_its_references_are_complete(names: str, edges: list[str], expected: str) -> None:
    assert cut(names, edges) == expected


def test_portion_has_the_requested_size() -> None:
    assert cut("a b c d e", ["e a association"], 2) == "a b +0 | c d +0 | e +1"


def test_validity_end_is_in_the_portion_of_the_superseding_edge() -> None:
    ends = [ValidityEnd(name, NOON + timedelta(days=day), NOON) for day, name in enumerate(("a", "b", "old", "a"))]
    edges = [edge("c a supersedes")]
    found = split_into_portions(nodes("a b c"), edges, ends, 1)
    assert [[ends.index(end) for end in portion.validity_ends] for portion in found] == [[2], [1], [0, 3]]


def test_links_without_nodes_are_one_portion() -> None:
    ends = [ValidityEnd("a", NOON, NOON)]
    (found,) = split_into_portions([], [edge("a X"), edge("b X")], ends, 1)
    assert (len(found.edges), found.validity_ends) == (2, ends)
