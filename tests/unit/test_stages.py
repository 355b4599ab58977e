"""The stages of recall, each beside its readable twin: the same written as plain loops."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ecphora.graph import Graph
from ecphora.graph_updates import apply_batch
from ecphora.language.name_normalization import entity_id
from ecphora.language.terms import extract_terms
from ecphora.model import (
    Edge,
    Episode,
    Evidence,
    Filter,
    Interval,
    Kind,
    Link,
    Node,
    Query,
    Scores,
    ValidityEnd,
    WriteBatch,
)
from ecphora.stages.fused import session_context
from ecphora.stages.retrieval import (
    bm25,
    confidence,
    dense,
    entity_links,
    filters,
    fusion,
    speakers,
    temporal,
    token_budget,
    top_k,
)
from ecphora.stages.retrieval.bm25 import Postings
from ecphora.stages.retrieval.term_coverage import WINDOW_SIZE, TermCoverage, term_coverage
from ecphora.testing import NOON, sample_batch, sample_entity, sample_graph, sample_node, sample_query, sample_vector

VOCABULARY = ["river", "boat", "school", "lunch", "porto"]
NAMES = ["Ana", "Mia", "Porto"]


@st.composite
def graphs(draw: st.DrawFn) -> tuple[Graph, list[Node], list[Edge]]:
    """Random turns in sessions, with the names they mention or are about."""
    told = draw(
        st.lists(
            st.tuples(
                st.lists(st.sampled_from(VOCABULARY), min_size=1, max_size=6),
                st.sampled_from([None, "a", "b", "c"]),
                st.integers(0, 5),
                st.sets(st.sampled_from(NAMES)),
                st.sampled_from([None, *NAMES]),
            ),
            min_size=1,
            max_size=14,
        )
    )
    nodes = [
        sample_node(f"n{place}", " ".join(text), session=session, minutes=minutes)
        for place, (text, session, minutes, _, _) in enumerate(told)
    ]
    mentions = [
        Edge(f"n{place}", entity_id(name), Link.MENTIONS) for place, turn in enumerate(told) for name in sorted(turn[3])
    ]
    about = [Edge(f"n{place}", entity_id(turn[4]), Link.ABOUT) for place, turn in enumerate(told) if turn[4]]
    change = sample_batch(*nodes, *map(sample_entity, NAMES), edges=(*mentions, *about))
    numbered = tuple(replace(node, seq=seq) for seq, node in enumerate(change.nodes, 1))
    return apply_batch(Graph(), replace(change, nodes=numbered, revision=1)), nodes, [*mentions, *about]


texts = st.lists(st.sampled_from([*VOCABULARY, "zorro"]), max_size=4).map(" ".join)
strengths = st.lists(st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.9, 1.5, -0.5]), min_size=20, max_size=20)


def scored(graph: Graph, values: Sequence[float]) -> Scores:
    scores = graph.zeros()
    episodes = np.flatnonzero(graph.episodes)
    scores[episodes] = values[: len(episodes)]
    return scores


# ---- seed


def bm25_by_hand(documents: list[list[str]], query: list[str], *, k1: float = 1.2, b: float = 0.75) -> list[float]:
    """Equation 3.15 of Robertson and Zaragoza, 2009, with the idf that is never negative."""
    mean = max(1.0, sum(map(len, documents)) / len(documents))
    found = []
    for document in documents:
        counts, score = Counter(document), 0.0
        for word in query:
            holding = sum(word in other for other in documents)
            idf = math.log(1 + (len(documents) - holding + 0.5) / (holding + 0.5))
            score += idf * counts[word] * (k1 + 1) / (counts[word] + k1 * (1 - b + b * len(document) / mean))
        found.append(score)
    return found


@given(graphs(), texts)
def test_words_are_bm25(made: tuple[Graph, list[Node], list[Edge]], text: str) -> None:
    graph, nodes, _ = made
    expected = bm25_by_hand([extract_terms(node.text) for node in nodes], list(dict.fromkeys(extract_terms(text))))
    assert bm25.bm25(graph, sample_query(text)) == pytest.approx([*expected, 0, 0, 0], abs=1e-5)


@given(graphs(), texts)
def test_words_in_context_are_bm25_of_two_turns_as_one(made: tuple[Graph, list[Node], list[Edge]], text: str) -> None:
    graph, nodes, _ = made
    together = [
        extract_terms(node.text)
        + (extract_terms(nodes[graph.previous_rows[row]].text) if graph.previous_rows[row] >= 0 else [])
        for row, node in enumerate(nodes)
    ]
    expected = bm25_by_hand(together, list(dict.fromkeys(extract_terms(text))))
    assert bm25.bm25_with_previous_turn(graph, sample_query(text)) == pytest.approx([*expected, 0, 0, 0], abs=1e-5)


@given(graphs(), texts)
def test_covered_is_the_share_of_rarity(made: tuple[Graph, list[Node], list[Edge]], text: str) -> None:
    graph, nodes, _ = made
    cue = sample_query(text)
    asked = list(dict.fromkeys(extract_terms(text)))
    holding = {word: sum(word in extract_terms(node.text) for node in nodes) for word in asked}
    idf = {word: math.log(1 + (len(nodes) - n + 0.5) / (n + 0.5)) for word, n in holding.items()}
    whole = sum(idf.values()) or 1
    expected = [sum(idf[word] for word in asked if word in extract_terms(node.text)) / whole for node in nodes]
    assert bm25.idf_coverage(graph, cue) == pytest.approx([*expected, 0, 0, 0], abs=1e-5)
    assert bm25.bm25(graph, cue).max() <= bm25.max_score(graph, cue) + 1e-5


def around(graph: Graph, row: int) -> set[int]:
    rows = {row}
    for beside in (graph.previous_rows, graph.next_rows):
        step = row
        for _ in range(WINDOW_SIZE):
            step = int(beside[step]) if step >= 0 else -1
            rows.add(step)
    return rows - {-1}


@given(graphs(), texts, st.sets(st.integers(0, 13)))
def test_what_rows_and_those_around_them_hold(
    made: tuple[Graph, list[Node], list[Edge]], text: str, some: set[int]
) -> None:
    graph, nodes, _ = made
    rows = np.array(sorted(row for row in some if row < len(nodes)), np.intp)
    asked, held = list(dict.fromkeys(extract_terms(text))), [set(extract_terms(node.text)) for node in nodes]
    found = term_coverage(Postings.for_query(graph, sample_query(text)), rows)
    own = [[word in held[row] for word in asked] for row in rows.tolist()]
    near = [[any(word in held[other] for other in around(graph, row)) for word in asked] for row in rows.tolist()]
    assert found.in_row.tolist() == own
    assert found.in_window.tolist() == near
    assert found.in_corpus.tolist() == [any(word in one for one in held) for word in asked]
    assert found.weighted_fraction(found.in_row) == pytest.approx(
        bm25.idf_coverage(graph, sample_query(text))[rows], abs=1e-5
    )


def test_bm25_by_hand() -> None:
    nodes = (sample_node("a", "river boat boat"), sample_node("b", "river"))
    graph = apply_batch(Graph(), replace(sample_batch(*nodes), revision=1))
    scores = bm25.bm25(graph, sample_query("boat"))
    # idf = ln(1 + (2 - 1 + .5) / (1 + .5)) = ln 2; tf = 2 · 2.2 / (2 + 1.2 (.25 + .75 · 3 / 2))
    assert scores == pytest.approx([math.log(2) * 4.4 / (2 + 1.2 * 1.375), 0])


@given(graphs(), texts)
def test_the_context_score_is_the_cosine_with_the_context_vector(
    made: tuple[Graph, list[Node], list[Edge]], text: str
) -> None:
    graph, nodes, _ = made
    cue = sample_query(text)
    assert cue.vector is not None
    scores = dense.cosine(graph, cue)
    expected = []
    for row, node in enumerate(nodes):
        vector = sample_vector(node.text)
        assert scores[row] == pytest.approx(vector @ cue.vector, abs=1e-3)
        if (before := graph.previous_rows[row]) >= 0:
            vector = vector + 0.4 * sample_vector(nodes[before].text)
        expected.append(vector @ cue.vector / np.linalg.norm(vector))
    assert dense.with_previous_turn(graph, scores)[: len(nodes)] == pytest.approx(expected, abs=2e-3)


def test_no_vector_means_no_meaning() -> None:
    assert not dense.cosine(sample_graph(), sample_query("boat", vector=None)).any()
    assert dense.cosine(Graph(), sample_query("boat")).shape == (0,)


# ---- links


def followed(graph: Graph, cue: Query, scores: Scores, seeds: list[int], edges: list[Edge]) -> tuple[list[float], ...]:
    about, shared = [0.0] * len(graph), [0.0] * len(graph)
    episodes = max(2, int(graph.episodes.sum()))
    for start in seeds:
        strength = min(1.0, max(0.0, float(scores[start])))
        names = [edge.dst for edge in edges if edge.src == graph.id(start) and edge.link is Link.MENTIONS]
        sharing = Counter[int]()
        for name in names:
            arriving = [edge for edge in edges if edge.dst == name]
            if name in cue.entity_ids or len(arriving) > entity_links.MAX_MENTIONS:
                continue
            rarity = math.log(1 + episodes / len(arriving)) / math.log(1 + episodes)
            for edge in arriving:
                row = graph.row(edge.src)
                if row is None or row == start:
                    continue
                if edge.link is Link.ABOUT:
                    about[row] = max(about[row], strength)
                else:
                    sharing[row] += rarity * strength  # type: ignore[assignment]
        for row, sum_ in sharing.items():
            shared[row] = max(shared[row], sum_)
    return about, shared


@given(graphs(), strengths, st.sets(st.sampled_from(NAMES), max_size=1), st.integers(1, 8))
def test_links_are_followed(
    made: tuple[Graph, list[Node], list[Edge]], values: list[float], asked: set[str], k: int
) -> None:
    graph, _, edges = made
    scores = scored(graph, values)
    cue = sample_query(" ".join(asked))
    seeds = top_k.top_k(scores, k)
    ways = entity_links.follow_entities(graph, np.unique(graph.rows(cue.entity_ids)), seeds, scores[seeds])
    for reached, expected in zip(ways, followed(graph, cue, scores, seeds.tolist(), edges), strict=True):
        assert reached.strengths_of(np.arange(len(graph))) == pytest.approx(expected, abs=1e-5)
        assert np.isin(reached.parent, seeds).all()
        assert all(graph.id(via).startswith("entity:") for via in reached.via_entity)
        trail = reached.activation_path(graph)
        assert (
            np.flatnonzero(trail.parent >= 0).tolist()
            == np.flatnonzero(trail.via_entity >= 0).tolist()
            == reached.rows.tolist()
        )


def met(graph: Graph, asked: set[str], strengths: dict[int, float], edges: list[Edge]) -> list[float]:
    worth = dict.fromkeys((entity_id(name) for name in asked), 1.0)
    for edge in edges:
        for row, strength in strengths.items():
            if edge.src == graph.id(row):
                worth[edge.dst] = max(worth.get(edge.dst, 0.0), min(1.0, max(0.0, strength)))
    found, episodes = [0.0] * len(graph), max(2, int(graph.episodes.sum()))
    for edge in edges:
        fan = sum(other.dst == edge.dst for other in edges)
        rarity = math.log(1 + episodes / fan) / math.log(1 + episodes)
        value = worth.get(edge.dst, 0.0) * rarity * (1 if edge.link is Link.ABOUT else rarity)
        row = graph.rows([edge.src])[0]
        found[row] = max(found[row], value)
    return found


@given(graphs(), strengths, st.sets(st.sampled_from(NAMES), max_size=2), st.integers(1, 8))
def test_names_are_met(
    made: tuple[Graph, list[Node], list[Edge]], values: list[float], asked: set[str], k: int
) -> None:
    graph, _, edges = made
    scores = scored(graph, values)
    seeds = top_k.top_k(scores, k)
    reached = entity_links.direct_mentions(
        graph, np.unique(graph.rows(map(entity_id, sorted(asked)))), seeds, scores[seeds]
    )
    expected = met(graph, asked, {row: float(scores[row]) for row in seeds.tolist()}, edges)
    assert reached.strengths_of(np.arange(len(graph))) == pytest.approx(expected, abs=1e-5)
    assert (reached.strengths > 0).all()
    assert np.isin(reached.parent, [-1, *seeds]).all()


@given(graphs(), st.sets(st.sampled_from(NAMES), max_size=3))
def test_the_names_asked_count_by_their_rarity(made: tuple[Graph, list[Node], list[Edge]], asked: set[str]) -> None:
    graph, nodes, edges = made
    episodes = max(2, len(nodes))
    fans = {entity_id(name): sum(edge.dst == entity_id(name) for edge in edges) for name in asked}
    rarity = {name: math.log(1 + episodes / max(1, fan)) / math.log(1 + episodes) for name, fan in fans.items()}
    whole = sum(rarity.values()) or 1
    expected = [
        sum(rarity.get(name, 0) for name in {edge.dst for edge in edges if edge.src == node.id}) / whole
        for node in nodes
    ]
    rows = np.arange(len(nodes))
    found = entity_links.entity_coverage(
        graph, np.unique(graph.rows(fans)), entity_links.entity_mentions(graph, rows), len(rows)
    )
    assert found == pytest.approx(expected, abs=1e-5)


@given(graphs(), st.integers(0, 14))
def test_links_are_counted_on_as_a_graph_grows(made: tuple[Graph, list[Node], list[Edge]], first: int) -> None:
    whole, nodes, edges = made
    names = [replace(sample_entity(name), seq=place) for place, name in enumerate(NAMES, 1)]
    numbered = [replace(node, seq=place) for place, node in enumerate(nodes, len(NAMES) + 1)]
    graph = apply_batch(Graph(), sample_batch(*names, revision=1))
    for revision, part in enumerate((numbered[:first], numbered[first:]), 2):
        told = {node.id for node in part}
        graph = apply_batch(
            graph, sample_batch(*part, edges=tuple(e for e in edges if e.src in told), revision=revision)
        )
        counted = entity_links.mention_counts(graph)
        assert counted.tolist() == entity_links.mention_counts(replace(graph, _parent=None)).tolist()
    assert [counted[row] for row in graph.rows(whole.nodes["ids"])] == entity_links.mention_counts(whole).tolist()


def test_a_name_that_everything_mentions_leads_nowhere() -> None:
    nodes = [sample_node(f"n{place}", "x", seq=place + 1) for place in range(entity_links.MAX_MENTIONS + 1)]
    edges = tuple(Edge(node.id, "entity:ana", Link.MENTIONS) for node in nodes)
    change = sample_batch(*nodes, replace(sample_entity("Ana"), seq=len(nodes) + 1), edges=edges, revision=1)
    graph = apply_batch(Graph(), change)
    seeds, nothing, one = np.array([0]), np.empty(0, np.intp), np.ones(1, np.float32)
    for way in (
        *entity_links.follow_entities(graph, nothing, seeds, one),
        entity_links.direct_mentions(graph, nothing, seeds, one),
    ):
        assert not len(way.rows)


def test_titles_in_the_cue() -> None:
    graph = sample_graph()
    titled = [entity_links.rows_about(graph, graph.rows([entity_id(name)])) for name in ("Porto", "Zorro")]
    assert [[graph.id(row) for row in rows.tolist()] for rows in titled] == [["t5"], []]


# ---- company


@given(graphs(), strengths)
def test_a_session_is_as_good_as_its_best_three(
    made: tuple[Graph, list[Node], list[Edge]], values: list[float]
) -> None:
    graph, nodes, _ = made
    scores = scored(graph, values)
    expected = []
    for node in nodes:
        rows = [row for row, other in enumerate(nodes) if node.session and other.session == node.session]
        best = sorted((max(0.0, float(scores[row])) for row in rows), reverse=True)[:3]
        expected.append(sum(best) / 3)
    found = session_context.session_scores(graph, scores)
    assert found[graph.nodes["sessions"]] == pytest.approx([*expected, 0, 0, 0], abs=1e-6)
    assert found[-1] == 0


# ---- choose


def fact(id_: str, **fields: Any) -> Node:
    return sample_node(id_, **fields)


FACTS = (
    fact("a", speaker="Ana", session="s1", source="mail", minutes=0, metadata={"k": 1, "x": "y"}),
    fact("b", speaker="Ben", session="s1", source="chat", minutes=60, metadata={"k": 2}),
    fact("c", speaker="Ana", session="s2", minutes=120, recorded_at=NOON + timedelta(days=1)),
)


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        (Filter(), "abc"),
        (Filter(speakers=("Ana",)), "ac"),
        (Filter(speakers=("Ana", "Ben", "Zorro")), "abc"),
        (Filter(speakers=("Zorro",)), ""),
        (Filter(sessions=("s1",)), "ab"),
        (Filter(sources=("chat",)), "b"),
        (Filter(speakers=("Ana",), sessions=("s1",)), "a"),
        (Filter(metadata={"k": 1}), "a"),
        (Filter(metadata={"k": 1, "x": "z"}), ""),
        (Filter(after=NOON + timedelta(minutes=60)), "bc"),
        (Filter(before=NOON + timedelta(minutes=60)), "a"),
        (Filter(after=NOON, before=NOON), ""),
    ],
)
def test_a_filter_lets_through(where: Filter, expected: str) -> None:
    graph = apply_batch(Graph(), replace(sample_batch(*FACTS, sample_entity("Ana")), revision=1))
    found = filters.eligible(graph, sample_query("x", where=where))
    assert "".join(graph.id(row) for row in np.flatnonzero(found).tolist()) == expected


def test_a_filter_parses_its_bounds() -> None:
    assert Filter(after="2026-05-03").after == datetime(2026, 5, 3, tzinfo=UTC)
    assert Filter(before=date(2026, 5, 3)) == Filter(before="2026-05-03")


def test_as_of_is_event_time_and_known_at_recording_time() -> None:
    graph = apply_batch(Graph(), replace(sample_batch(*FACTS), revision=1))
    as_of = sample_query("x", as_of=NOON + timedelta(minutes=60))
    assert filters.eligible(graph, as_of).tolist() == [True, True, False]
    known_at = sample_query("x", known_at=NOON + timedelta(hours=23))
    assert filters.eligible(graph, known_at).tolist() == [True, True, False]


def test_a_filter_leaves_the_graph_alone() -> None:
    graph = sample_graph()
    filters.eligible(graph, sample_query("x", where=Filter(speakers=("Ana",))))
    assert graph.episodes.sum() == 7


@given(st.lists(st.tuples(st.sampled_from([0.0, 0.5, 0.5, 1.0, -1.0, 0.25]), st.booleans())), st.integers(1, 12))
def test_the_best_come_first_and_equal_ones_in_order(rows: list[tuple[float, bool]], limit: int) -> None:
    scores, mask = np.array([row[0] for row in rows], np.float32), np.array([row[1] for row in rows], np.bool_)
    possible = [row for row, (score, allowed) in enumerate(rows) if allowed and score > 0]
    expected = sorted(possible, key=lambda row: (-rows[row][0], row))[:limit]
    assert top_k.top_rows(scores, mask, limit).tolist() == expected


@given(st.lists(st.sampled_from([0.0, 0.5, 0.5, 1.0, -1.0]), max_size=15), st.integers(1, 20))
def test_the_top_rows_hold_the_highest_scores(values: list[float], k: int) -> None:
    scores = np.array(values, np.float32)
    rows = top_k.top_k(scores, k)
    assert len(set(rows.tolist())) == len(rows)
    assert scores[rows].tolist() == sorted(values, reverse=True)[: len(rows)]
    assert len(rows) >= min(k, sum(value > 0 for value in values))


def held(*words: tuple[int, ...]) -> TermCoverage:
    """Which of three words of a cue, the first as rare as the others together, each place holds."""
    own = np.array([[word in some for word in range(3)] for some in words], np.bool_).reshape(-1, 3)
    return TermCoverage(np.array([2.0, 1.0, 1.0]), np.ones(3, np.bool_), own, own)


@given(st.lists(st.tuples(st.integers(1, 50), st.integers(0, 9), st.sets(st.integers(0, 2)))), st.integers(0, 120))
def test_a_budget_is_used_up_and_never_exceeded(found: list[tuple[int, int, set[int]]], budget: int) -> None:
    sizes = [size for size, _, _ in found]
    scores = np.array(sorted((score for _, score, _ in found), reverse=True), np.float32)
    covers = held(*(tuple(words) for *_, words in found))
    chosen = token_budget.select_within(scores, sizes, budget, covers)
    left = budget - sum(sizes[place] for place in chosen)
    assert left >= 0
    assert all(size > left for place, size in enumerate(sizes) if place not in chosen)
    assert token_budget.select_within(scores, sizes, np.inf, held(*[()] * len(sizes))) == list(range(len(sizes)))
    whole = token_budget.select_within(scores, sizes, np.inf, covers)
    for count in range(len(whole) + 1):  # what is chosen first is chosen whenever there is room for it
        room = sum(sizes[place] for place in whole[:count])
        assert token_budget.select_within(scores, sizes, room, covers)[:count] == whole[:count]


def test_what_covers_more_of_a_cue_is_preferred_to_what_scores_a_little_more() -> None:
    sizes, words = [10, 10, 10, 10], held((0,), (0,), (1, 2), ())
    assert token_budget.select_within(np.array([5, 4.9, 4.8, 1], np.float32), sizes, 20, words) == [0, 2]
    assert token_budget.select_within(np.array([5, 4.9, 2.0, 1], np.float32), sizes, 20, words) == [0, 1]


# ---- fuse, gate, people, priors, times


def test_reciprocal_rank_by_hand() -> None:
    fused = fusion.reciprocal_rank(np.array([0.2, 0.9, 0.0, 0.2, -1.0], np.float32))
    assert fused == pytest.approx([1 / 62, 1 / 61, 0, 1 / 63, 0])


def test_above_mean_and_of_best() -> None:
    scores, first, none = np.array([1, 3, 100], np.float32), np.array([True, False, False]), np.zeros(3, np.bool_)
    measured = fusion.NormalizedScores.from_scores(scores, np.array([True, True, False]), np.array([True, True, False]))
    assert measured.zscore().tolist() == [0, 1, 98]
    assert measured.zscore(np.array([2, 1])).tolist() == [98, 1]
    assert measured.max_normalize() == pytest.approx([1 / 3, 1, 100 / 3])
    assert measured.max_normalize(np.array([1])).tolist() == [1]
    assert not fusion.NormalizedScores.from_scores(np.ones(3, np.float32), ~none, ~none).zscore().any()
    assert not fusion.NormalizedScores.from_scores(scores, none, none).zscore().any()
    assert not fusion.NormalizedScores.from_scores(-scores, ~none, first).max_normalize().any()
    assert fusion.max_normalize(np.array([-1, 2, 4], np.float32)).tolist() == [0, 0.5, 1]
    assert fusion.max_normalize(np.array([-1, 0], np.float32)).tolist() == [0, 0]
    assert fusion.max_normalize(np.zeros(0, np.float32)).shape == (0,)


def test_bands_of_evidence() -> None:
    assert [confidence.band(value) for value in (0, 0.199, 0.2, 0.499, 0.5, 1)] == [
        Evidence.NONE, Evidence.NONE, Evidence.WEAK, Evidence.WEAK, Evidence.STRONG, Evidence.STRONG,
    ]  # fmt: skip


def test_confidence_rises_with_what_is_covered() -> None:
    graph = sample_graph()
    asked = [sample_query(text, vector=None) for text in ("river lovely", "river zorro", "zorro")]
    ones = graph.episodes.astype(np.float32)
    found = [confidence.heuristic_confidence(graph, cue, ones, graph.zeros(), ones) for cue in asked]
    assert found == sorted(found, reverse=True)
    assert found[0] > found[1] > found[2] == 0
    assert confidence.heuristic_confidence(graph, asked[0], graph.zeros(), graph.zeros(), ones) == 0


def test_who_speaks() -> None:
    graph = sample_graph()
    spoken = [
        graph.id(row)
        for row in np.flatnonzero(speakers.named_speaker_scores(graph, sample_query("What did Ben say?"))).tolist()
    ]
    assert spoken == ["t1", "t3"]
    assert not speakers.named_speaker_scores(graph, sample_query("Did Ben call Ana?")).any()  # of two, neither is meant
    assert not speakers.named_speaker_scores(graph, sample_query("Who?")).any()


def test_the_user_is_who_says_i() -> None:
    nodes = (sample_node("a", "Lunch.", speaker="user"), sample_node("b", "Yes.", speaker="assistant"))
    graph = apply_batch(Graph(), replace(sample_batch(*nodes), revision=1))
    assert speakers.named_speaker_scores(graph, sample_query("What did I say?")).tolist() == [1, 0]
    assert speakers.named_speaker_scores(graph, sample_query("What did the user say?")).tolist() == [0, 0]


def test_speakers_are_known_by_each_of_their_names_as_they_come() -> None:
    graph = Graph()
    for place, name in enumerate(("Ana Lima", "User", "Rui Lima", "Ana Lima")):
        node = sample_node(f"n{place}", "Yes.", speaker=name, seq=place + 1)
        graph = apply_batch(graph, replace(sample_batch(node), revision=place + 1))
        speakers.speaker_index(graph)
    assert speakers.named_speakers(graph, sample_query("Where is Lima?")).tolist() == [0, 2]
    assert speakers.named_speakers(graph, sample_query("Where is Rui?")).tolist() == [2]
    assert speakers.named_speakers(graph, sample_query("Where am I, user?")).tolist() == [1]


def test_dates_told_and_happened() -> None:
    change = sample_batch(sample_node("told"), sample_node("happened", minutes=60), sample_node("neither"))
    hour = Interval(NOON + timedelta(minutes=60), NOON + timedelta(minutes=120))
    reading = replace(
        change.analyses["told"], time_mentions=(Interval(NOON + timedelta(minutes=119), NOON + timedelta(days=1)),)
    )
    graph = apply_batch(Graph(), replace(change, analyses={**change.analyses, "told": reading}, revision=1))
    assert temporal.in_asked_time(graph, sample_query("x", time_ranges=(hour,))).tolist() == [1, 1, 0]
    assert temporal.in_asked_time(graph, sample_query("x")).tolist() == [0, 0, 0]
    assert temporal.mentions_time(graph, np.array([2, 0])).tolist() == [False, True]


def test_outdated_by_both_clocks() -> None:
    end = ValidityEnd("old", NOON + timedelta(days=1), NOON + timedelta(days=5))
    change = sample_batch(sample_node("old"), sample_node("new"), validity_ends=(end,), revision=1)
    graph = apply_batch(Graph(), change)
    days = [
        (None, None, True), (0, None, False), (1, None, True), (2, 4, False), (2, 5, True), (None, 4, False),
    ]  # fmt: skip
    for as_of, known_at, expected in days:
        cue = sample_query(
            "x",
            as_of=None if as_of is None else NOON + timedelta(days=as_of),
            known_at=None if known_at is None else NOON + timedelta(days=known_at),
        )
        assert temporal.expired_mask(graph, cue).tolist() == [expected, False]


def test_nothing_is_no_accident() -> None:
    graph, cue = Graph(), sample_query("river")
    assert bm25.bm25(graph, cue).shape == bm25.bm25_with_previous_turn(graph, cue).shape == (0,)
    assert session_context.session_scores(graph, graph.zeros()).tolist() == [0]
    assert top_k.top_rows(graph.zeros(), graph.episodes, 5).tolist() == []
    assert not filters.eligible(graph, replace(cue, where=Filter(speakers=("Ana",)))).any()
    nothing = np.empty(0, np.intp)
    about, sharing = entity_links.follow_entities(graph, nothing, nothing, graph.zeros())
    assert about.strengths_of(nothing).shape == sharing.strengths_of(nothing).shape == (0,)
    assert term_coverage(Postings.for_query(graph, cue), nothing).in_window.shape == (0, 1)
    assert WriteBatch() == WriteBatch()
    assert Episode("x") == Episode("x")
    assert len(graph.of_kind(Kind.CLAIM)) == 0
