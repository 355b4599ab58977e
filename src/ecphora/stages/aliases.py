"""Names that are one: the short form and the full name, the nickname, the slip of the pen, and what a text says itself.

Proposed as links that name the memory which shows it, so each merge can be taken back, and goes when that memory is
forgotten. Seldom rather than wrongly: a rule speaks only where nothing speaks against it.
"""

from collections.abc import Iterable

import numpy as np

from ..graph import Graph
from ..language.names import entity_id
from ..language.nicknames import SPELLED, fuller, one_person, possible, related
from ..language.said_names import aliases
from ..model import Edge, Link, NodeId, Rows
from ..ports import Reader
from . import links, relatives
from .naming import Naming
from .same_name import Pair, nicknamed, same_fuller, spelled

TOLD = 1.0
"""How sure a merge is that a text states."""
FIRM = 0.95
"""What is as sure as this is not taken back because another person of that name turns up."""
SHOWN = 3
"""Links of one pair, each with a memory of its own: while one of these memories stays, the merge does."""


def merged(graph: Graph, new: Rows, read: Reader) -> tuple[Edge, ...]:
    """Propose which names that some new memories mention are the same as others, and whom they mean by their kin.

    Gives ``ALIAS`` links between names, of weight 0 where an earlier one is taken back, and ``MENTIONS`` links of
    weight 0.5 from memories that say "my sister" to the one sister that their speaker has named. Costs what is new.
    """
    return (*Merging(graph, read).of(new), *relatives.resolved(graph, new, read))


class Merging:
    """Compares the names of new memories with those that an index finds, each pair once."""

    def __init__(self, graph: Graph, read: Reader) -> None:
        self.names = Naming(graph, read)
        known = links.same(graph)
        self._sure = dict(known.sure)
        self._shown = dict(known.shown)
        self._judged: set[tuple[int, int]] = set()
        self._new = np.zeros(0, np.intp)
        self._found: dict[tuple[int, int], Edge] = {}
        self._groups: dict[int, set[int]] = {row: set(group) for group in known.groups.values() for row in group}

    def of(self, new: Rows) -> tuple[Edge, ...]:
        """What the new memories show, in their order."""
        graph, names = self.names.graph, self.names
        rows = np.unique(new)
        self._new = rows = rows[graph.episodes[rows]]
        names.fetch(rows.tolist())
        mentions = links.naming(graph, rows)
        latest = {int(name): int(rows[place]) for name, place in zip(mentions.names, mentions.of, strict=True)}
        for row in rows.tolist():
            self._told(row)
        for name, row in latest.items():
            self._retract(name, row)
            for pair in self._candidates(name):
                self._judge(pair)
        return tuple(self._found.values())

    def _told(self, row: int) -> None:
        """What a memory states of names, wherever both are known."""
        node = self.names.node(row)
        for other, whose in () if node is None else aliases(node.text, self.names.speaker(row)):
            one, two = self.names.graph.row(entity_id(other)), self.names.graph.row(entity_id(whose))
            if one is not None and two is not None and one != two:
                self._propose(one, two, TOLD, row)

    def _candidates(self, name: int) -> Iterable[Pair]:
        """The pairs of a new name and those known, short before full; each once."""
        names = self.names
        for other in names.near(name):
            for short, full in ((name, other), (other, name)):
                one, two = names.key(short), names.key(full)
                if (short, full) not in self._judged and possible(one, two):
                    self._judged.add((short, full))
                    yield Pair(short, full, one, two)

    def _judge(self, pair: Pair) -> None:
        key = _pair(pair.short, pair.full)
        if key in self._found or self._sure.get(key) == 0 or self._shown.get(key, 0) >= SHOWN:
            return
        for rule in (same_fuller, nicknamed, spelled):
            if (shown := rule(self.names, pair)) is not None and len(shown.rows):
                fresh = shown.rows[np.isin(shown.rows, self._new)]
                if len(fresh) or not self._shown.get(key):
                    self._propose(pair.short, pair.full, shown.sure, int((fresh if len(fresh) else shown.rows)[-1]))
                return

    def _propose(self, short: int, full: int, sure: float, row: int) -> None:
        """Merge two names, unless that would join two persons: then the short one is nobody's any more."""
        key = _pair(short, full)
        if key in self._found or self._shown.get(key, 0) >= SHOWN:
            return
        joined = self._groups.get(short, {short}) | self._groups.get(full, {full})
        if sum(self.names.speaks(self.names.key(one)) for one in joined) > 1 or not self._one(joined, key):
            for one, two in list(self._sure):
                if short in (one, two) and full not in (one, two) and self._sure[one, two] > 0:
                    self._take_back(one, two, row)
            return
        self._found[key] = Edge(self._id(short), self._id(full), Link.ALIAS, round(sure, 2), self._id(row))
        self._sure[key] = sure
        self._groups.update(dict.fromkeys(joined, joined))

    def _one(self, joined: set[int], pair: tuple[int, int]) -> bool:
        """Whether the names of a group can be one person's; short ones say little."""
        whole = [(name, key) for name in sorted(joined) if " " in (key := self.names.key(name)) or len(key) >= SPELLED]
        return all(
            related(key, other) or (one, two) == pair or self._sure.get((one, two), 0) >= FIRM
            for place, (one, key) in enumerate(whole)
            for two, other in whole[place + 1 :]
        )

    def _retract(self, name: int, row: int) -> None:
        """Take back that a short name is a fuller one's where a new name shows that two persons share it."""
        new, names = self.names.key(name), self.names
        words = new.split()
        for word in {words[0], words[-1]} if len(words) > 1 else ():
            short = names.graph.row(entity_id(word))
            if short is None:
                continue
            for other in self._groups.get(short, ()):
                key, known = _pair(other, short), names.key(other)
                shared = fuller(word, known) and not one_person(known, new) and other != name
                if shared and 0 < self._sure.get(key, 0) < FIRM:
                    self._take_back(*key, row)

    def _take_back(self, one: int, two: int, row: int) -> None:
        key = _pair(one, two)
        self._sure[key] = 0
        if key in self._found and self._shown.get(key, 0) == 0:
            del self._found[key]
        else:
            self._found[key] = Edge(self._id(one), self._id(two), Link.ALIAS, 0.0, self._id(row))
        groups = links.grouped(pair for pair, sure in self._sure.items() if sure > 0)
        self._groups = {member: set(group) for group in groups.values() for member in group}

    def _id(self, row: int) -> NodeId:
        return self.names.graph.id(row)


def _pair(one: int, two: int) -> tuple[int, int]:
    return (min(one, two), max(one, two))
