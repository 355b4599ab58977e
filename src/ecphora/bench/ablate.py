"""The papers' own ablations: each model whole and with a part left out, over the same questions of the same memories.

Every space is indexed once for all that only read, and once for each strategy that writes; then strategies are asked
directly, without fetching texts. Where a set's documents were told at no time, new ones stir nothing: a library is not
a talk, and to ask of each of ten thousand passages what it stirs takes long. What is made of the answers stands in
:mod:`.comparison`.
"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from ..ports import Activation, Strategy
from ..stages import choose
from ..strategies.baselines import Dense
from .ablations import BASELINES, rivals
from .cache import Cached
from .comparison import LOW, MULTI_HOP, Asked, Replies, compared
from .datasets import Case
from .run import Indexing, Outcome, Tick
from .spaces import Space, space
from .variants import Model, Trained, Variant

SPACE_FOLDS, QUESTION_FOLDS = 10, 5
"""Into how many folds spaces are dealt at most, and questions where there are fewer than three spaces."""
FIRED = "fired"
"""The share that says whether a row fired."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What a strategy made of one question.

    ``places`` are those of the gold in the ranking of documents, from 1, infinite for what did not come back;
    ``fired`` counts the documents that fired and ``caught`` the gold among them.
    """

    places: tuple[float, ...]
    confidence: float
    fired: int
    caught: int


def needed(models: Sequence[Model]) -> list[Variant]:
    """Every strategy that must be asked for the tables of some models, each once."""
    ways = [way for model in models for way in (*model.ways, *rivals(model))]
    return list(dict.fromkeys([*ways, *BASELINES]))


def steps(cases: Sequence[Case], models: Sequence[Model]) -> int:
    """How many steps :func:`run` will report: one an episode of each memory, one an answer."""
    ways = _askable(needed(models), cases)
    episodes, questions = (
        sum(map(len, column)) for column in ([c.episodes for c in cases], [c.questions for c in cases])
    )
    return episodes * len(_homes(ways, cases)) + questions * len(ways)


def run(
    name: str, cases: Sequence[Case], models: Sequence[Model], embedder: Cached, tick: Tick = lambda _steps: None
) -> Outcome:
    """Run a set: index every space, ask every question by every variant, and measure."""
    replies: dict[Variant, Replies] = {}
    asked: Asked | None = None
    indexing: list[Indexing] = []
    recalling = 0.0
    for writer, ways in _homes(_askable(needed(models), cases), cases):
        started = time.perf_counter()
        spaces = [space(case, writer, embedder, tick) for case in cases]
        indexed = time.perf_counter()
        asked = asked or _asked(spaces)
        replies.update((way, _replies(spaces, way, tick)) for way in ways)
        recalling += time.perf_counter() - indexed
        indexing.append(Indexing(tuple(way.label for way in ways), indexed - started))
    figures = [figure for model in models for figure in compared(name, model, replies, asked)] if asked else []
    return Outcome(tuple(figures), len(cases), sum(len(case.episodes) for case in cases), tuple(indexing), recalling)


def _askable(ways: Sequence[Variant], cases: Sequence[Case]) -> list[Variant]:
    """Those that can be asked: what is trained needs other spaces to learn from, and what is for talk needs talk."""
    several, told = len(cases) > 1, _told(cases)
    return [way for way in ways if (several or not way.apart) and (told or not way.talk)]


def _told(cases: Sequence[Case]) -> bool:
    return any(case.told for case in cases)


def _homes(ways: Sequence[Variant], cases: Sequence[Case]) -> list[tuple[Strategy, list[Variant]]]:
    """The strategies that fill a memory each, with the variants that recall from it."""
    stirring = _told(cases)
    found: dict[Variant | None, tuple[Strategy, list[Variant]]] = {}
    for way in ways:
        writer = way.writer(stirring=stirring)
        home = None if writer is None else way.home or way
        found.setdefault(home, (writer or Dense(), []))[1].append(way)
    return list(found.values())


def _asked(spaces: Sequence[Space]) -> Asked:
    questions = [(space, place, one) for space in spaces for place, one in enumerate(space.case.questions)]
    return Asked(
        np.array([one.answerable for _, _, one in questions], np.bool_),
        np.array([len(one.evidence) for _, _, one in questions], np.float64),
        np.array([nearest(space, place) < LOW for space, place, _ in questions], np.bool_),
        np.array([one.category == MULTI_HOP for _, _, one in questions], np.bool_),
    )


def nearest(space: Space, place: int) -> float:
    """The highest cosine of a question with its gold evidence; 1 where nothing can be compared."""
    graph, vector = space.graph, space.cues[place].vector
    held = np.isin(space.documents[graph.vectored["rows"]], space.gold(place))
    if vector is None or not held.any():
        return 1.0
    return float((graph.vectors.view[held] @ vector).max())


def _replies(spaces: Sequence[Space], way: Variant, tick: Tick) -> Replies:
    found: list[Reply] = []
    for strategy, some in _taught(spaces, way):
        for one in some:
            for place, cue in enumerate(one.cues):
                found.append(replied(one, place, strategy.activate(cue, one.graph)))
                tick(1)
    return Replies(
        tuple(one.places for one in found),
        np.array([one.confidence for one in found], np.float64),
        np.array([one.fired for one in found], np.float64),
        np.array([one.caught for one in found], np.float64),
    )


def _taught(spaces: Sequence[Space], way: Variant) -> Iterator[tuple[Strategy, Sequence[Space]]]:
    """A strategy with the spaces it is asked of, in their order; one that is trained once for each fold, without it."""
    if not isinstance(way.strategy, Trained):
        yield way.strategy, spaces
        return
    folds = folded(spaces, apart=way.apart)
    for fold in folds:
        yield way.strategy.train([one for other in folds if other is not fold for one in other]), fold


def folded(spaces: Sequence[Space], *, apart: bool = False) -> list[list[Space]]:
    """Spaces in at most ten folds, in their order; of fewer than three the questions are dealt, unless kept apart."""
    if len(spaces) < 3 and not apart:
        return [[part] for one in spaces for part in one.dealt(QUESTION_FOLDS)]
    bounds = np.linspace(0, len(spaces), min(len(spaces), SPACE_FOLDS) + 1).astype(int).tolist()
    return [list(spaces[start:end]) for start, end in pairwise(bounds)]


def replied(space: Space, place: int, activation: Activation) -> Reply:
    """What an activation makes of a question: active documents, in the order of their best pieces."""
    graph = space.graph
    rows = choose.best(activation.scores, choose.allowed(graph, space.cues[place]), len(graph))
    documents, firsts = np.unique(space.documents[rows], return_index=True)
    order = np.sort(firsts)
    gold = space.gold(place)
    placed = dict(zip(documents.tolist(), (np.searchsorted(order, firsts) + 1).tolist(), strict=True))
    fired = np.unique(space.documents[rows[activation.shares[FIRED][rows] > 0]]) if FIRED in activation.shares else ()
    return Reply(
        places=tuple(float(placed.get(one, np.inf)) for one in gold.tolist()),
        confidence=activation.confidence if len(rows) else 0.0,
        fired=len(fired),
        caught=int(np.isin(gold, fired).sum()),
    )
