"""The pool beside its readable twin, which follows names from all rows and keeps a number for every row."""

import random
from dataclasses import replace
from datetime import timedelta
from functools import cache

import numpy as np
import pytest

from ecphora.graph import Graph
from ecphora.graph_updates import apply_batch
from ecphora.language.name_normalization import entity_id
from ecphora.model import Edge, Filter, Interval, Link, Query, Rows, Scores
from ecphora.stages.fused import candidate_pool, features
from ecphora.stages.retrieval import entity_links, filters, fusion, top_k
from ecphora.stages.retrieval.bm25 import Postings
from ecphora.stages.retrieval.entity_links import ReachedRows
from ecphora.testing import NOON, sample_batch, sample_entity, sample_node, sample_query, sample_vector

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
    names = [replace(sample_entity(name), seq=place) for place, name in enumerate(NAMES, 1)]
    return apply_batch(
        Graph(), sample_batch(*names, *nodes, edges=tuple(edges), without_vectors=("n7", "n8"), revision=1)
    )


def questions() -> list[Query]:
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
        found.append(sample_query(text, where=part[place % 4], time_ranges=(late,) if place % 5 == 0 else ()))
    return [
        *found,
        *(replace(cue, vector=None) for cue in found[:6]),
        *(replace(cue, embedder_coverage=0.3) for cue in found[:6]),
        *(replace(cue, topic_vector=sample_vector(cue.text[::-1])) for cue in found[:6]),
    ]


def gathered(graph: Graph, cue: Query) -> tuple[Rows, list[Scores]]:
    """The rows of the pool, and how strongly each way along names reaches every row."""
    every, asked = np.arange(len(graph)), np.unique(graph.rows(cue.entity_ids))
    allowed = filters.eligible(graph, cue)
    direct = candidate_pool.first_stage(graph, cue, allowed, Postings.for_query(graph, cue))
    titled: Scores = (np.isin(every, entity_links.rows_about(graph, asked)) & allowed).astype(np.float32)
    reached: Scores = (direct.combined + candidate_pool.TITLE_BOOST * titled).astype(np.float32)
    seeds = top_k.top_rows(reached, allowed, entity_links.MAX_SEEDS)
    about, sharing = entity_links.follow_entities(graph, asked, seeds, reached[seeds])
    first = top_k.top_rows(reached, allowed, candidate_pool.HOP_SEEDS)
    met = entity_links.direct_mentions(graph, asked, first, reached[first])
    further = fusion.max_normalize((reached + met.strengths_of(every)) * allowed)
    second = top_k.top_rows(further, allowed, candidate_pool.HOP_SEEDS)
    again = entity_links.direct_mentions(graph, asked, second, further[second])
    best = top_k.top_k(np.where(allowed, direct.combined, -1), candidate_pool.POOL_SIZE)
    beside = [
        int(other[row])
        for row in best[: candidate_pool.MAX_PER_SOURCE]
        for other in (graph.previous_rows, graph.next_rows)
    ]
    ways = [way.strengths_of(every) for way in (about, sharing, met, again)]
    found = {*best.tolist(), *beside} - {-1}
    for scores in (direct.cosine.scores, direct.bm25.scores, titled, *ways):
        found |= set(top_k.top_rows(scores, allowed, candidate_pool.MAX_PER_SOURCE).tolist())
    return np.array([row for row in sorted(found) if allowed[row]], np.intp), ways


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow), pytest.param(2, marks=pytest.mark.slow)])
def test_the_pool_is_what_all_rows_would_give(seed: int) -> None:
    graph, smaller = talk(seed), 0
    for cue in questions():
        view = candidate_pool.build_pool(graph, cue)
        rows, ways = gathered(graph, cue)
        assert view.rows.tolist() == rows.tolist()
        for way, expected in zip(
            (view.title_links, view.shared_entities, view.one_hop, view.two_hop), ways, strict=True
        ):
            assert way.strengths_of(rows) == pytest.approx(expected[rows], abs=1e-6)
        smaller += len(rows) < int(view.eligible.sum())
    assert smaller > 5  # of many a question not all that may come back is looked at


def test_what_was_told_since_the_last_question_is_found_likewise() -> None:
    graph, cues = talk(2), questions()
    for cue in cues[:3]:
        candidate_pool.build_pool(graph, cue)  # what it looks up is kept for the graph that grows from this one
    nodes = [sample_node(f"m{place}", text, minutes=TURNS + place, session="s49", seq=2 * TURNS + place)
             for place, text in enumerate(("river", "boat river river", "porol garat"))]  # fmt: skip
    links_ = (Edge("m1", entity_id("Ana"), Link.MENTIONS), Edge("m2", entity_id("Ana"), Link.ABOUT))
    grown = apply_batch(graph, sample_batch(*nodes, edges=links_, revision=2))
    for cue in cues:
        found, fresh = (
            candidate_pool.build_pool(grown, cue),
            candidate_pool.build_pool(replace(grown, _parent=None), cue),
        )
        assert found.rows.tolist() == fresh.rows.tolist()
        expected = features.compute_features(fresh)
        for name, values in features.compute_features(found).items():
            assert np.allclose(values, expected[name], atol=1e-5), name


def test_cosines_with_the_leaders() -> None:
    graph = talk(0)
    for cue in questions():
        view = candidate_pool.build_pool(graph, cue)
        for place, leader in enumerate(view.top_candidates.tolist()):
            there = graph.vector_positions[view.rows[leader]]
            for at in (0, len(view.rows) // 2, leader):
                here = graph.vector_positions[view.rows[at]]
                vectors = graph.vectors.view
                expected = 0.0 if at == leader or min(here, there) < 0 else float(vectors[here] @ vectors[there])
                assert view.similarity_to_top[at, place] == pytest.approx(cue.embedder_coverage * expected, abs=1e-5)


def test_the_columns_of_all_rows_are_those_of_the_pool() -> None:
    graph = talk(1)
    for cue in questions():
        view = candidate_pool.build_pool(graph, cue)
        columns = features.compute_features(view)
        measured = {
            "dense similarity": view.first_stage.cosine,
            "dense similarity with previous turn": view.first_stage.cosine_with_previous,
            "bm25": view.first_stage.bm25,
        }
        measured |= {
            "topic similarity": view.first_stage.topic_cosine,
            "topic similarity with previous turn": view.first_stage.topic_cosine_with_previous,
        }
        for name, scores in measured.items():
            whole = fusion.max_normalize(scores.scores * view.eligible)[view.rows]
            if cue.embedder_coverage == 1 or name == "bm25":
                assert columns[name] == pytest.approx(whole, abs=1e-6)
        shared = view.shared_entities.strengths_of(np.arange(len(graph))) * view.eligible
        assert columns["shared entities"] == pytest.approx(
            cue.embedder_coverage * fusion.max_normalize(shared)[view.rows], abs=1e-6
        )


def test_ways_to_no_row() -> None:
    nothing = np.empty(0, np.intp)
    way = ReachedRows(nothing, np.empty(0, np.float32), nothing, nothing)
    assert way.strengths_of(np.array([0, 3])).tolist() == [0, 0]
    assert way.activation_path(talk(0)).parent.max() == -1
