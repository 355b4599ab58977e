"""The pool beside its readable twin, which follows names from all rows and keeps a number for every row."""

import random
from dataclasses import replace
from datetime import timedelta
from functools import cache

import numpy as np
import pytest

from ecphora.graph import Graph
from ecphora.language.names import entity_id
from ecphora.model import Cue, Edge, Filter, Interval, Link, Rows, Scores
from ecphora.stages import choose, fuse, links, signals, touch
from ecphora.stages.links import Linked
from ecphora.stages.seed import Postings
from ecphora.testing import NOON, sample_change, sample_cue, sample_name, sample_node, sample_vector

WORDS = [first + second for first in ("ri", "bo", "scho", "lun", "por", "gar", "mil") for second in ("ver", "at", "ol")]
NAMES = [f"{first}{second}" for first in ("An", "Mi", "Bo", "Zo", "Ru", "Li") for second in ("a", "na", "ko", "mel")]
TURNS = 600


@cache
def talk(seed: int) -> Graph:
    """Turns in sessions among passages with titles, that mention names, some often and some hardly ever."""
    dice = random.Random(seed)  # noqa: S311  # not for secrets
    nodes, edges = [], []
    for place in range(TURNS):
        passage = dice.random() < 0.2
        text = " ".join(dice.choices(WORDS, weights=range(1, len(WORDS) + 1), k=dice.randint(2, 9)))
        speaker, session = (None, None) if passage else (dice.choice(NAMES[:2]), f"s{place // 12}")
        nodes.append(
            sample_node(f"n{place}", text, speaker=speaker, session=session, minutes=place, seq=place + len(NAMES) + 1)
        )
        mentioned = set(dice.choices(NAMES, weights=[1 / rank for rank in range(1, len(NAMES) + 1)], k=2))
        edges += [Edge(f"n{place}", entity_id(name), Link.MENTIONS) for name in sorted(mentioned)]
        if passage:
            edges.append(Edge(f"n{place}", entity_id(dice.choice(NAMES)), Link.ABOUT))
    names = [replace(sample_name(name), seq=place) for place, name in enumerate(NAMES, 1)]
    return Graph().plus(sample_change(*names, *nodes, edges=tuple(edges), bare=("n7", "n8"), revision=1))


def questions() -> list[Cue]:
    """Questions that name somebody and some that do not, with a vector and without, of all that is told and of part."""
    dice, found = random.Random(5), []  # noqa: S311  # not for secrets
    late = Interval(NOON + timedelta(minutes=300), NOON + timedelta(minutes=400))
    for place in range(16):
        text = " ".join([*dice.choices(NAMES, k=place % 3), *dice.choices(WORDS, k=3)])
        part = (
            Filter(),
            Filter(sessions=("s1", "s2", "s9")),
            Filter(after=NOON + timedelta(minutes=200)),
            Filter(speakers="x"),
        )
        found.append(sample_cue(text, where=part[place % 4], when=(late,) if place % 5 == 0 else ()))
    return [
        *found,
        *(replace(cue, vector=None) for cue in found[:6]),
        *(replace(cue, meaning=0.3) for cue in found[:6]),
        *(replace(cue, topic=sample_vector(cue.text[::-1])) for cue in found[:6]),
    ]


def gathered(graph: Graph, cue: Cue) -> tuple[Rows, list[Scores]]:
    """The rows of the pool, and how strongly each way along names reaches every row."""
    every, asked = np.arange(len(graph)), np.unique(graph.rows(cue.entities))
    allowed = choose.allowed(graph, cue)
    direct = touch.touched(graph, cue, allowed, Postings.of(graph, cue))
    titled: Scores = (np.isin(every, links.titled(graph, asked)) & allowed).astype(np.float32)
    reached: Scores = (direct.whole + touch.TITLE * titled).astype(np.float32)
    seeds = choose.best(reached, allowed, links.SEEDS)
    about, sharing = links.followed(graph, asked, seeds, reached[seeds])
    first = choose.best(reached, allowed, touch.FIRST)
    met = links.met(graph, asked, first, reached[first])
    further = fuse.of_best((reached + met.at(every)) * allowed)
    second = choose.best(further, allowed, touch.FIRST)
    again = links.met(graph, asked, second, further[second])
    best = choose.top(np.where(allowed, direct.whole, -1), touch.POOL)
    beside = [int(other[row]) for row in best[: touch.FOUND] for other in (graph.previous, graph.following)]
    ways = [way.at(every) for way in (about, sharing, met, again)]
    found = {*best.tolist(), *beside} - {-1}
    for scores in (direct.meaning.scores, direct.words.scores, titled, *ways):
        found |= set(choose.best(scores, allowed, touch.FOUND).tolist())
    return np.array([row for row in sorted(found) if allowed[row]], np.intp), ways


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow), pytest.param(2, marks=pytest.mark.slow)])
def test_the_pool_is_what_all_rows_would_give(seed: int) -> None:
    graph, smaller = talk(seed), 0
    for cue in questions():
        view = touch.look(graph, cue)
        rows, ways = gathered(graph, cue)
        assert view.rows.tolist() == rows.tolist()
        for way, expected in zip((view.about, view.sharing, view.met, view.again), ways, strict=True):
            assert way.at(rows) == pytest.approx(expected[rows], abs=1e-6)
        smaller += len(rows) < int(view.allowed.sum())
    assert smaller > 5  # of many a question not all that may come back is looked at


def test_what_was_told_since_the_last_question_is_found_likewise() -> None:
    graph, cues = talk(2), questions()
    for cue in cues[:3]:
        touch.look(graph, cue)  # what it looks up is kept for the graph that grows from this one
    nodes = [sample_node(f"m{place}", text, minutes=TURNS + place, session="s49", seq=2 * TURNS + place)
             for place, text in enumerate(("river", "boat river river", "porol garat"))]  # fmt: skip
    links_ = (Edge("m1", entity_id("Ana"), Link.MENTIONS), Edge("m2", entity_id("Ana"), Link.ABOUT))
    grown = graph.plus(sample_change(*nodes, edges=links_, revision=2))
    for cue in cues:
        found, fresh = touch.look(grown, cue), touch.look(replace(grown, _parent=None), cue)
        assert found.rows.tolist() == fresh.rows.tolist()
        expected = signals.columns(fresh)
        for name, values in signals.columns(found).items():
            assert np.allclose(values, expected[name], atol=1e-5), name


def test_cosines_with_the_leaders() -> None:
    graph = talk(0)
    for cue in questions():
        view = touch.look(graph, cue)
        for place, leader in enumerate(view.leaders.tolist()):
            there = graph.vector_places[view.rows[leader]]
            for at in (0, len(view.rows) // 2, leader):
                here = graph.vector_places[view.rows[at]]
                vectors = graph.vectors.view
                expected = 0.0 if at == leader or min(here, there) < 0 else float(vectors[here] @ vectors[there])
                assert view.alike[at, place] == pytest.approx(cue.meaning * expected, abs=1e-5)


def test_the_columns_of_all_rows_are_those_of_the_pool() -> None:
    graph = talk(1)
    for cue in questions():
        view = touch.look(graph, cue)
        columns = signals.columns(view)
        measured = {"meaning": view.direct.meaning, "context": view.direct.context, "words": view.direct.words}
        measured |= {"topic": view.direct.topic, "topic in context": view.direct.topic_context}
        for name, scores in measured.items():
            whole = fuse.of_best(scores.scores * view.allowed)[view.rows]
            if cue.meaning == 1 or name == "words":
                assert columns[name] == pytest.approx(whole, abs=1e-6)
        shared = view.sharing.at(np.arange(len(graph))) * view.allowed
        assert columns["shared names"] == pytest.approx(cue.meaning * fuse.of_best(shared)[view.rows], abs=1e-6)


def test_ways_to_no_row() -> None:
    nothing = np.empty(0, np.intp)
    way = Linked(nothing, np.empty(0, np.float32), nothing, nothing)
    assert way.at(np.array([0, 3])).tolist() == [0, 0]
    assert way.trail(talk(0)).by.max() == -1
