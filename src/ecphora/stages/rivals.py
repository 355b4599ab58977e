"""Which earlier claim a new one replaces: looked up by words and meaning, never by reading all.

With a judge, what is alike passes a gate and is read closely; without one, the rules of :mod:`.succession` decide.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import ceil

import numpy as np
from numpy.typing import NDArray

from ..language.claim_words import FIELD_STEMS
from ..language.claims import Form, program
from ..language.values import Sort
from ..language.words import english, hashed
from ..model import Rows, Scores, Vectors
from ..ports import Left
from . import choose
from .comparing import MANY, Judge, nearest, passage, shown, signs
from .heard import Heard
from .pace import steps
from .succession import MEASURES, NEAR, Told, Verdict, contradicts, paired, replaces, says_otherwise

Score = Callable[[Sequence[tuple[str, str]]], NDArray[np.float64]]
"""A cross-encoder: the log-odds that the later text replaces the earlier one, for each pair."""
CANDIDATES = 20
"""Earlier memories that a new one is compared with: those that share the rarest words."""
LIKEST = 16
"""Memories that are compared because they mean much the same: a fact may change without any of its words."""
COMMON = 0.35
"""What it tells to share a word that is everywhere; a rare one tells 1."""
FIRM = 0.5
"""How sure a replacement must be by the rules for more than the best one to be taken."""
SURE, AGREED = 0.8, 0.5
"""How sure one must be that was read closely, and one of which the rules are sure too."""
PLAIN, DOUBTED = 0.65, -2.0
"""How sure the rules must be; and of two values for the same, how much the reading may doubt it for them to be kept."""
MOST = 5
"""Earlier claims that one statement may replace: a fact is seldom told more often before it changes."""
EACH, AT_LEAST = 0.4, 200
"""Pairs that are read closely: so many for each new memory, or so many in all."""
AT_ONCE, GROUP = 8, 4
"""Where time is limited: the most pairs that are read, and memories that are worked on, between two looks at the clock.
"""
NOTHING: Mapping[int, Iterable[int]] = {}
BLOCK = 512
"""New memories whose cosines with all others are taken at once."""


@dataclass(frozen=True, slots=True)
class Rival:
    """A claim that another one replaces, is replaced by, or contradicts: its memory's row, and its place there."""

    row: int
    place: int
    verdict: Verdict
    told: Told


@dataclass(frozen=True, slots=True)
class Pair:
    """Two memories that may be worth a close reading: the new one's row, the other's, and how much they promise.

    ``rarity`` says how much sharing a stem of the new one's tells, ``alike`` is the cosine of the two.
    """

    row: int
    other: int
    promise: float
    rarity: Mapping[str, float]
    alike: float


@dataclass(frozen=True, slots=True)
class Faced:
    """The two statements of a pair of memories that are nearest to each other, each with its row and its place."""

    later: tuple[int, int, Told]
    earlier: tuple[int, int, Told]
    rule: Verdict | None
    signs: Mapping[str, float]
    texts: tuple[str, str]


class Rivals:
    """Finds the rivals of the claims of new memories; what has a row below ``first`` was compared before."""

    def __init__(self, heard: Heard, first: int, judge: Judge | None = None, score: Score | None = None) -> None:
        self._heard, self.graph, self._first = heard, heard.graph, first
        self._judge, self._score = judge, score
        self._many = float(np.log1p(min(MANY, int(heard.speaking.sum()))))
        self._read: dict[tuple[int, int], list[Rival]] = {}

    def of(self, row: int, place: int) -> list[Rival]:
        """The rivals of a claim, the surest of each memory; :meth:`read` comes first where there is a judge."""
        told = self._heard.told(row)[place]
        if self._judge is None or self._score is None:
            return self._ruled(row, told) if _matters(told) else []
        never = self._ruled(row, told, replacing=False) if Form.NEVER in told.statement.forms else []
        return [*self._read.get((row, place), ()), *never]

    # ---- by rules alone

    def _ruled(self, row: int, told: Told, *, replacing: bool = True) -> list[Rival]:
        """What the rules say of all that is alike; without ``replacing`` only what contradicts."""
        like = next(self._likest(np.array([row]), alone=True)) if Form.CHANGES in told.statement.forms else []
        rows, rarity, _ = self._like(row, [told], like)
        self._heard.fetch(rows)
        hits: list[Rival] = []
        for other in rows:
            best: Rival | None = None
            alike = self._cosine(row, other)
            for at, rival in enumerate(self._heard.told(other)):
                later, earlier = (told, rival) if _order(told) > _order(rival) else (rival, told)
                verdict = replaces(later, earlier, rarity, alike) if replacing else None
                verdict = verdict or contradicts(later, earlier, rarity)
                if verdict is not None and (best is None or verdict.sure > best.verdict.sure):
                    best = Rival(other, at, verdict, rival)
            if best is not None:
                hits.append(best)
        return _taken(hits, told)

    # ---- by a close reading

    def read(self, rows: Rows, share: int, left: Left | None = None) -> None:
        """Read new memories closely beside what the gate or the rules let through, and keep what each replaces.

        Of the pairs that the gate lets through, the ``share`` that promise most. If the time runs out, the last
        memories and the last pairs are not read.
        """
        if self._judge is None or self._score is None:
            return
        told = rows[self._heard.speaking[rows]]
        parts = (told[place] for place in steps(len(told), 1, left))  # out of time: fewer
        valued = {row: list(self._valued(row)) for some in parts for row in some.tolist()}
        first = told[: len(valued)]
        pairs = sorted(self.promising(first, self._judge, valued), key=lambda pair: -pair.promise)
        wanted = [pair for place, pair in enumerate(pairs) if place < share or pair.other in valued[pair.row]]
        fair = [one for one in map(self.faced, wanted) if one is not None]
        found: dict[tuple[int, int], list[Rival]] = {}
        new = set(rows.tolist())
        for one, reading in zip(fair, _readings(fair, self._score, left), strict=False):  # out of time: fewer
            sure = self._judge.sure({**one.signs, "reading": reading})
            agreed = one.rule is not None and one.rule.sure >= PLAIN
            plain = one.rule is not None and _plain(one.rule) and reading > DOUBTED
            if sure < (AGREED if agreed else SURE) and not plain:
                continue
            verdict = Verdict(round(sure, 3), "read" if one.rule is None else one.rule.because, self._wrong(one))
            mine, other = (one.later, one.earlier) if one.later[0] in new else (one.earlier, one.later)
            found.setdefault(mine[:2], []).append(Rival(*other[:2], verdict, other[2]))
        self._read = {at: _taken(hits, self._heard.told(at[0])[at[1]], 0.0) for at, hits in found.items()}

    def _valued(self, row: int) -> Iterator[int]:
        """The others of which the rules see that a new memory gives two values for the same."""
        for told in self._heard.told(row):
            if any(value.sort in MEASURES for value in told.statement.values):
                yield from (hit.row for hit in self._ruled(row, told) if _plain(hit.verdict))

    def promising(self, rows: Rows, judge: Judge, also: Mapping[int, Iterable[int]] = NOTHING) -> Iterator[Pair]:
        """New memories beside what is alike, what was told just before, and ``also``, each with its promise.

        Not beside what is not known to be earlier or later: neither of the two can replace the other.
        """
        graph, heard = self.graph, self._heard
        rows = rows[heard.speaking[rows]]
        heard.fetch(rows.tolist())
        sessions, speakers = graph.nodes["sessions"], graph.nodes["speakers"]
        for row, like in zip(rows.tolist(), self._likest(rows), strict=True):
            told = heard.told(row)
            if not told:
                continue
            others, rarity, shared = self._like(row, told, [*like, *also.get(row, ())])
            these = heard.moments.ordered(row, np.array(others, np.intp))
            if not len(these):
                continue
            alike = np.array([self._cosine(row, other) for other in these.tolist()])
            columns = {
                **shown([one.statement for one in told]),
                "shared": np.minimum(4.0, shared[these]),
                "alike": alike,
                "speaker": speakers[these] == speakers[row],
                "session": (sessions[these] == sessions[row]) & (sessions[row] >= 0),
                "apart": np.log1p(np.abs(heard.turns[these] - heard.turns[row])),
            }
            promise = judge.promise(columns)
            for other, promised, cosine in zip(these.tolist(), promise.tolist(), alike.tolist(), strict=True):
                yield Pair(row, other, promised, rarity, cosine)

    def faced(self, pair: Pair) -> Faced | None:
        """The two statements of a pair that are nearest to each other; None where none can replace the other.

        So it is where which came first is not known, one says what never was or the same again, or it is no English.
        """
        heard = self._heard
        heard.fetch([pair.other])
        mine, theirs = heard.told(pair.row), heard.told(pair.other)
        if not mine or not theirs:
            return None
        (new, ours), (old, others) = (pair.row, mine), (pair.other, theirs)
        if _order(ours[0]) < _order(others[0]):
            (new, ours), (old, others) = (old, others), (new, ours)
        both = heard.node(old).text, heard.node(new).text
        if not ours[0].after(others[0]) or not english(" ".join(both)):
            return None
        place, at, rule = nearest(ours, others, pair.rarity, pair.alike)
        later, earlier = ours[place], others[at]
        if Form.NEVER in later.statement.forms | earlier.statement.forms:
            return None  # what never was replaces nothing: it contradicts
        if not says_otherwise(later.statement, earlier.statement):
            return None  # it says the same again, or more of it
        texts = (
            passage(both[0], earlier.statement.text, earlier.speaker),
            passage(both[1], later.statement.text, later.speaker),
        )
        if any(map(program, texts)):
            return None
        seen = {
            "promise": pair.promise,
            "many": self._many,
            **signs(paired(later, earlier, pair.rarity, pair.alike), rule),
        }
        return Faced((new, place, later), (old, at, earlier), rule, seen, texts)

    def _wrong(self, one: Faced) -> bool:
        """Whether what was replaced was wrong from the start: the later memory corrects what was said beside it."""
        corrects = any(Form.CORRECTS in told.statement.forms for told in self._heard.told(one.later[0]))
        return corrects and one.later[2].beside(one.earlier[2])

    # ---- what is alike

    def _like(
        self, row: int, told: Iterable[Told], like: Iterable[int]
    ) -> tuple[list[int], dict[str, float], NDArray[np.float64]]:
        """The rows to compare with: those told just before in its session, those that share its rarest words, ``like``.

        Also how much sharing each of its stems tells, and how much each row of the graph shares.
        """
        graph, heard = self.graph, self._heard
        several = [one.statement for one in told]
        stems = sorted(
            frozenset[str]().union(
                *(one.stems | one.former | one.never for one in several),
                *(FIELD_STEMS[name] for one in several for name in one.fields),
            )
        )
        places, which = graph.postings(hashed(stems)) if stems else (np.zeros(0, np.intp), np.zeros(0, np.intp))
        rows = graph.words["rows"][places]
        counts = np.bincount(which, minlength=len(stems))
        weights = np.maximum(COMMON, 1 / (1 + np.maximum(0, counts - 2) / (0.01 * len(heard.order) + 3)))
        focus = frozenset[str]().union(*(one.focus for one in several))
        telling = weights * [1 + (stem in focus) for stem in stems]
        shared: NDArray[np.float64] = np.where(
            self._others(row), np.bincount(rows, telling[which], minlength=len(graph)), 0.0
        )
        best = np.flatnonzero(shared)
        best = best[np.lexsort((-heard.turns[best], -shared[best]))[:CANDIDATES]]
        turn = int(heard.turns[row])
        near = heard.order[max(0, turn - NEAR) : turn]
        near = near[(graph.nodes["sessions"][near] == graph.nodes["sessions"][row]) & heard.speaking[near]]
        rarity = dict(zip(stems, weights.tolist(), strict=True))
        return list(dict.fromkeys([*near.tolist(), *best.tolist(), *like])), rarity, shared

    def _others(self, row: int) -> NDArray[np.bool_]:
        """Of two that are new, the later one looks for the earlier; what was seen before does not look again."""
        heard = self._heard
        return heard.speaking & ((heard.turns < heard.turns[row]) | (np.arange(len(self.graph)) < self._first))

    def _likest(self, rows: Rows, *, alone: bool = False) -> Iterator[list[int]]:
        """The memories that mean most the same as each of some, or those of its speaker ``alone``."""
        graph = self.graph
        places, vectors, speakers = graph.vector_places, graph.vectors.view, graph.nodes["speakers"]
        held, matrix = self._held
        for start in range(0, len(rows), BLOCK):
            block = rows[start : start + BLOCK]
            cosines: Scores = np.round(vectors[places[block]] @ matrix.T, 5)  # equal texts are equal in any block
            for row, cosine in zip(block.tolist(), cosines, strict=True):
                among = self._others(row)[held]
                if alone:
                    among &= speakers[held] == speakers[row]
                yield [] if places[row] < 0 else held[choose.best(cosine, among, LIKEST)].tolist()

    @cached_property
    def _held(self) -> tuple[Rows, Vectors]:
        """The rows that speak and have a vector, with their vectors."""
        places = self.graph.vector_places
        held = np.flatnonzero(self._heard.speaking & (places >= 0))
        return held, self.graph.vectors.view[places[held]]

    def _cosine(self, row: int, other: int) -> float:
        places, vectors = self.graph.vector_places, self.graph.vectors.view
        if places[row] < 0 or places[other] < 0:
            return 0.0
        return float(np.einsum("i,i->", vectors[places[row]], vectors[places[other]]))


def portions(rows: Rows, pending: int, left: Left | None) -> Iterator[tuple[Rows, int]]:
    """Some new memories in portions to be read one after the other, each with its share of the close readings.

    In a limited time the shares are those of a piece of ``pending`` memories, of which they are a part.
    """
    each = max(AT_LEAST / max(1, pending), EACH)
    for place in steps(len(rows), GROUP, left):
        some, due = rows[place], ceil(each * place.start)
        yield some, max(AT_LEAST, round(EACH * len(some))) if left is None else ceil(each * place.stop) - due


def _readings(faced: Sequence[Faced], score: Score, left: Left | None) -> list[float]:
    """What the cross-encoder says of some pairs, or of the first of them if the time runs out."""
    texts = [one.texts for one in faced]
    return [float(reading) for place in steps(len(texts), AT_ONCE, left) for reading in score(texts[place])]


def _plain(rule: Verdict) -> bool:
    """Whether the rules are sure that both give a value of one sort for the same."""
    return rule.sure >= PLAIN and rule.because in MEASURES


def _order(told: Told) -> tuple[object, int]:
    return told.at, told.turn


def _taken(hits: list[Rival], told: Told, firm: float = FIRM) -> list[Rival]:
    """The surest rivals: one of what corrects or keeps, else several if they are as sure as ``firm``."""
    hits = sorted(hits, key=lambda hit: (-hit.verdict.sure, -hit.told.turn))
    single = told.statement.forms & {Form.CORRECTS, Form.KEEPS}
    return hits[:1] if single else [hit for hit in hits if hit.verdict.sure >= firm][:MOST] or hits[:1]


def _matters(told: Told) -> bool:
    """Whether a claim may replace or contradict something, as far as the rules know."""
    statement = told.statement
    if Form.ASKS in statement.forms:
        return False
    if statement.forms - {Form.UNCHANGED}:
        return True
    measured = any(value.sort != Sort.NAME for value in statement.values)
    return bool(statement.who) and (measured or statement.negated or "home" in statement.fields)
