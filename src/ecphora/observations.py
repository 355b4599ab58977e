"""What can be observed of a memory that came back for a question, and told in a clause.

Every observation is looked up in the graph and in the memory's own text: a word that stands in the question and in the
memory, who speaks, a date, a memory that leads to it. What is not so is not told, and no memory is named that may not
itself come back for the question.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from .graph import EPOCH, Graph, seconds
from .language import asked
from .language.people import ROLES
from .language.words import hashed, quotes, words
from .model import Cue, Kind, Mask, Node, Rows
from .ports import Activation
from .stages import people, standing
from .stages.covering import AROUND, Covering, around, covering
from .stages.seed import Postings
from .stages.signals.terms import standing_out

WORDS = 2
"""How many words are quoted of a memory."""
RARE = 0.4
"""How rare a word must be to be quoted: its idf, in parts of the highest that a ranked memory holds."""
CLOSE = 1.5
"""Standard deviations above the mean by which a memory is near to a word in meaning."""


@dataclass(frozen=True, slots=True)
class Clause:
    """One observation: ``head`` begins its words, ``other`` is the row of the memory it names, -1 for none.

    ``shown`` is the row whose text completes it, -1 for none: a name as it is, of a memory the words that it quotes.
    """

    head: str
    other: int = -1
    shown: int = -1


@dataclass(frozen=True, slots=True)
class Way:
    """By which rows and names a stage came to some rows, -1 for none; ``before`` is how it came to those rows."""

    by: Rows
    via: Rows
    before: Rows


@dataclass(frozen=True)
class Ranking:
    """A question with the rows as it ranks them, best first, and what is looked up once for all of them.

    ``allowed`` are the rows that may come back. ``shares`` and ``ways`` are those of the rows in ``order``, by stage.
    """

    graph: Graph
    cue: Cue
    allowed: Mask
    order: Rows
    shares: Mapping[str, NDArray[np.float64]]
    ways: Mapping[str, Way]

    @staticmethod
    def of(graph: Graph, cue: Cue, activation: Activation, allowed: Mask, order: Rows) -> "Ranking":
        """What is needed of an activation: it is large, and a ranking is kept as long as its recollection."""
        ways = {}
        for stage, trail in activation.trails.items():
            by = trail.by[order]
            ways[stage] = Way(by, trail.via[order], np.where(by >= 0, trail.by[by], -1))
        shares = {stage: values[order].astype(np.float64) for stage, values in activation.shares.items()}
        return Ranking(graph, cue, allowed, order, shares, ways)

    @cached_property
    def near(self) -> Rows:
        """The rows, then those around each as far as they may come back, -1 for none: shape ``(7, len(order))``."""
        near = around(self.graph, self.order)
        return np.where((near >= 0) & self.allowed[near], near, -1)

    @cached_property
    def covering(self) -> Covering:
        """Which words of the question the rows of ``near`` hold, ascending."""
        return covering(Postings.of(self.graph, self.cue), self._known)

    @cached_property
    def _known(self) -> Rows:
        known = np.unique(self.near)
        return known[known >= 0]

    @cached_property
    def held(self) -> Mask:
        """Which words of the question the text or title of each row of ``near`` holds: ``(*near.shape, words)``."""
        own = self.covering.own.copy()
        called = people.called(self.graph).by_word
        speakers = self.graph.nodes["speakers"][self._known]
        for place, word in enumerate(self.cue.words.tolist()):  # a memory is indexed with its speaker's name
            own[np.isin(speakers, called.get(word, ())), place] = False
        held = own[np.searchsorted(self._known, np.maximum(self.near, self._known[0]))]
        return held & (self.near >= 0)[..., None]

    @cached_property
    def asked(self) -> list[str]:
        """The words of the question, in the order of ``cue.words``."""
        found = list(dict.fromkeys(words(self.cue.text)))
        known = dict(zip(hashed(found).tolist(), found, strict=True))
        return [known.get(code, "") for code in self.cue.words.tolist()]

    @cached_property
    def rarity(self) -> NDArray[np.float64]:
        """The idf of each word of the question that is rare enough to be quoted, 0 for the others."""
        weights = self.covering.weights
        highest = (weights * self.held[0]).max(initial=0)
        return np.where(weights >= RARE * highest, weights, 0)

    @cached_property
    def likeness(self) -> NDArray[np.float64]:
        """How far each row stands out in likeness to each word of the question, in standard deviations."""
        terms = self.cue.terms
        if terms is None or not terms.any():
            return np.zeros((len(self.order), len(self.asked)))
        return standing_out(self.graph, self.cue, terms, (self.order,))[0].astype(np.float64) * terms.any(axis=1)

    def quote(self, text: str, weights: NDArray[np.float64]) -> str:
        """The words of the question in a text that weigh most, as they are written there; "" where none weighs."""
        worth = dict(zip(self.asked, weights.tolist(), strict=True))
        found = [(max(worth.get(word, 0) for word in one.words), one) for one in quotes(text, self.cue.text)]
        best = sorted((one for one in found if one[0] > 0), key=lambda one: (-one[0], -len(one[1].text)))[:WORDS]
        kept = {id(one) for _, one in best}
        said = [f"“{one.text}”{f' (for “{one.asked}”)' if one.kin else ''}" for _, one in found if id(one) in kept]
        return " and ".join(said)


@dataclass(frozen=True)
class Case:
    """One of the ranked memories, by its place from 0, and the places of those it is compared with."""

    ranking: Ranking
    place: int
    node: Node
    others: Sequence[int]

    @property
    def row(self) -> int:
        """Its row in the graph."""
        return int(self.ranking.order[self.place])

    @cached_property
    def ahead(self) -> dict[str, float]:
        """How far each share of its score is ahead of the mean of the others."""
        values = np.array(list(self.ranking.shares.values())).reshape(-1, len(self.ranking.order))
        rest = values[:, list(self.others)].mean(axis=1) if self.others else 0.0
        return dict(zip(self.ranking.shares, (values[:, self.place] - rest).tolist(), strict=True))

    @property
    def apart(self) -> NDArray[np.float64]:
        """What each word of the question weighs that it holds: its rarity, times which part of the others lacks it."""
        held = self.ranking.held[0]
        if not self.others:
            return held[self.place] * self.ranking.covering.weights
        return held[self.place] * self.ranking.rarity * (1 - held[list(self.others)].mean(axis=0))


# ---- the observations: None where there is none


def says(case: Case) -> Clause | None:
    """The rarest words of the question that it says and the others do not."""
    said = case.ranking.quote(case.node.text, case.apart)
    return Clause(f"says {said}") if said else _title(case)


def _title(case: Case) -> Clause | None:
    said = case.ranking.quote(case.node.title or "", case.apart)
    return Clause(f"has {said} in its title") if said else None


def _means(case: Case) -> Clause | None:
    """The word of the question that it does not say and comes nearest to; else that it is nearer to the question."""
    ranking, graph, cue = case.ranking, case.ranking.graph, case.ranking.cue
    if not case.others or cue.vector is None or not cue.meaning:
        return None
    like = ranking.likeness
    lead = like[case.place] - like[list(case.others)].mean(axis=0)
    lead[ranking.held[0, case.place] | (like[case.place] < CLOSE)] = 0
    if len(lead) and lead.max() > 0:
        word = ranking.asked[int(lead.argmax())]
        asked = next((one.asked for one in quotes(cue.text, cue.text) if word in one.words), None)
        return None if asked is None else Clause(f"is near to the question's “{asked}” in meaning")
    places = graph.vector_places[ranking.order[[case.place, *case.others]]]
    if (places < 0).any():
        return None
    cosines = np.vecdot(graph.vectors.view[places], cue.vector)
    return Clause("is nearer in meaning to the question") if cosines[0] > cosines[1:].max() else None


def _beside(case: Case) -> Clause | None:
    """The turn near it that says most of what the question asks and it does not say itself; else one that asks."""
    ranking = case.ranking
    held, near = ranking.held[:, case.place], ranking.near[:, case.place]
    beyond = (held & ~held[0]) @ ranking.rarity
    if beyond.max(initial=0) > 0:
        place = int(beyond.argmax())
        how = f"{'right' if place in {1, 1 + AROUND} else 'soon'} {'after' if place <= AROUND else 'before'}"
        return Clause(f"comes {how}", int(near[place]), int(near[place]))
    asks = near[1] >= 0 and ranking.graph.nodes["questions"][near[1]] and case.ahead.get("answers", 0) > 0
    return Clause("follows the question", int(near[1])) if asks else None


def _session(case: Case) -> Clause | None:
    """The best memory of its session that is ranked before it; none where that is told near it."""
    sessions, before = case.ranking.graph.nodes["sessions"], case.ranking.order[: case.place]
    mates = before[sessions[before] == sessions[case.row]]
    if sessions[case.row] < 0 or not len(mates) or mates[0] in case.ranking.near[:, case.place]:
        return None
    return Clause("is of the same session as", int(mates[0]))


def _speaks(case: Case) -> Clause | None:
    meant = people.meant(case.ranking.graph, case.ranking.cue)
    if case.node.speaker is None or case.ranking.graph.nodes["speakers"][case.row] not in meant:
        return None
    if case.node.speaker.casefold() in ROLES:
        return Clause(f"the {case.node.speaker}, who asks, speaks")
    who = "who is asked about" if len(meant) == 1 else "one of those asked about"
    return Clause(f"{one_line(case.node.speaker)}, {who}, speaks")


def _dates(case: Case) -> Clause | None:
    """That it happened in, or speaks of, a time that the question names."""
    for time in case.ranking.cue.when:
        start, end = seconds(time.start), seconds(time.end)
        if start <= seconds(case.node.happened_at) < end:
            return Clause(f"is of {day(case.node.happened_at)}, the time asked about")
        for first, last in _spans(case):
            if first < end and last > start:
                return Clause(f"speaks of {span(first, last)}, the time asked about")
    return None


def _tells_when(case: Case) -> Clause | None:
    return next((Clause(f"speaks of a time, {span(*one)}") for one in _spans(case)), None)


def _spans(case: Case) -> Iterator[tuple[float, float]]:
    """The stretches of time that it speaks of."""
    told = case.ranking.graph.told
    here = np.flatnonzero(told["rows"] == case.row)
    yield from zip(told["starts"][here].tolist(), told["ends"][here].tolist(), strict=True)


def _counts(case: Case) -> Clause | None:
    graph = case.ranking.graph
    places, _ = graph.postings(asked.numbers())
    return Clause("gives a number") if case.row in graph.words["rows"][places] else None


def _later(case: Case) -> Clause | None:
    happened = case.ranking.graph.nodes["happened"]
    rest = happened[case.ranking.order[list(case.others)]]
    if not len(rest) or happened[case.row] <= rest.max():
        return None
    return Clause(f"is later, of {day(case.node.happened_at)}")


def _led(case: Case) -> Clause | None:
    """The memory that led to it, and the name by which it did."""
    ranking, graph = case.ranking, case.ranking.graph
    by, via, before = _way(case, _led)
    if by in {-1, case.row}:  # it was touched by the question itself
        return _means(case)
    if via < 0 and graph.of_kind(Kind.ENTITY)[by]:
        by, via = before if before != case.row else -1, by
    if by < 0:
        return Clause("is linked to", shown=via)
    if not ranking.allowed[by]:
        return None
    return Clause("follows from", by, via if via in graph.named_by(np.array([by])) else -1)


def _replaces(case: Case) -> Clause | None:
    by, _, _ = _way(case, _replaces)
    if by < 0 or not case.ranking.allowed[by]:
        return None
    known = standing.successions(case.ranking.graph)
    for place in known.of.get(case.row, ()):
        if by in {int(known.old[place]), int(known.new[place])} and by != case.row:
            held_before = known.old[place] == case.row
            return Clause("contradicts" if known.against[place] else "held before" if held_before else "replaces", by)
    return Clause("replaces", by)


def _was_useful(_case: Case) -> Clause | None:
    return Clause("was of use for a question like this one")


def _accompanies(case: Case) -> Clause | None:
    by, _, _ = _way(case, _accompanies)
    return Clause("was of use together with", by) if by >= 0 and case.ranking.allowed[by] else None


def _way(case: Case, observe: "Observe") -> tuple[int, int, int]:
    """By which row and which name the strongest stage of an observation came, and how to that row; -1 for none."""
    ranking, place, found = case.ranking, case.place, (-1, -1, -1)
    most = 0.0
    for stage, way in ranking.ways.items():
        led = observe in OBSERVATIONS.get(stage, ()) and way.by[place] >= 0 and ranking.shares[stage][place] > 0
        if led and case.ahead[stage] > most:
            most, found = case.ahead[stage], (int(way.by[place]), int(way.via[place]), int(way.before[place]))
    return found


Observe = Callable[[Case], Clause | None]

_STAGES: tuple[tuple[tuple[Observe, ...], tuple[str, ...]], ...] = (
    ((says,), ("words", "words, standing out", "rarest word", "uncovered", "words met", "names asked")),
    ((says, _beside), ("words in context", "words in context, standing out", "around")),
    ((_means,), (
        "meaning", "meaning, standing out", "topic", "topic, standing out", "like words", "likest word", "least word",
        "close centroid", "further meaning", "near",
    )),
    ((_means, _beside), (
        "context", "context, standing out", "topic in context", "topic in context, standing out",
    )),
    ((_beside,), ("neighbour", "after", "two turns away", "answers", "told beside")),
    ((_session, _beside), ("session",)),
    ((_speaks,), ("speaker", "other speaker", "one of them")),
    ((_dates,), ("date", "date alone")),
    ((_tells_when,), ("when",)),
    ((_counts,), ("number",)),
    ((_later,), ("latest", "recency", "chronology", "last turns")),
    ((_title,), ("title",)),
    ((_led,), (
        "link", "shared names", "met names", "met again", "way", "engrams", "activation", "strands", "stimulus",
        "fired", "potential",
    )),
    ((_replaces,), ("standing", "successor")),
    ((_was_useful,), ("useful before",)),
    ((_accompanies,), ("used together",)),
)  # fmt: skip
OBSERVATIONS = {stage: observe for observe, stages in _STAGES for stage in stages}
"""What is observed where a stage is ahead, the first that holds; how long or how old a memory is explains nothing."""


# ---- words


def day(time: datetime) -> str:
    """A day: 3 May 2026."""
    return f"{time.day} {time:%B} {time.year:04}"


def span(start: float, end: float) -> str:
    """A stretch of time by its day, month or year; its first and last day where it is none of these."""
    first, last = EPOCH + timedelta(seconds=start), EPOCH + timedelta(seconds=max(start, end - 1))
    if first.date() == last.date():
        return day(first)
    if (first.day, first.month, last.month) == (1, 1, 12) and first.year == last.year:
        return f"{first.year:04}"
    if first.day == 1 and (first.year, first.month) == (last.year, last.month) and (last + timedelta(1)).day == 1:
        return f"{first:%B} {first.year:04}"
    return f"{day(first)} to {day(last)}"


def one_line(text: str) -> str:
    """A text with single spaces for all white space."""
    return " ".join(text.split())
