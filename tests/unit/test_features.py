"""The candidate pool of a query, its features, and their effect in ``fused``."""

import math
from dataclasses import replace
from datetime import timedelta
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ecphora.language.question import is_current_state_question, is_quantity_question, is_time_question
from ecphora.model.graph.graph import Graph
from ecphora.model.graph.updates import apply_batch
from ecphora.model.types import PRIOR, Edge, Interval, Link, Query, ValidityEnd
from ecphora.retrieval import dense, temporal
from ecphora.retrieval.dense import term_zscores
from ecphora.strategies.fused import candidate_pool, features, weights
from ecphora.strategies.fused.candidate_pool import POOL_SIZE, build_pool
from ecphora.strategies.fused.ranker import MIN_LOG_ODDS, Ranker
from ecphora.strategies.fused.strategy import SIMILAR_QUESTION, Fused
from ecphora.testing.samples import (
    NOON,
    TURNS,
    sample_batch,
    sample_entity,
    sample_graph,
    sample_node,
    sample_query,
    sample_question_batch,
    sample_vector,
)


def feature_values(graph: Graph, query: Query) -> dict[str, dict[str, float]]:
    """The features by name and id."""
    pool = build_pool(graph, query)
    ids = [graph.id(row) for row in pool.rows.tolist()]
    return {
        name: dict(zip(ids, values.tolist(), strict=True)) for name, values in features.compute_features(pool).items()
    }


# ---- the pool


@pytest.mark.parametrize("size", [1, 2, 7, 40])
def test_pool_of_a_small_memory_has_all_episodes(size: int) -> None:
    graph = sample_graph(size)
    for query in (sample_query("Where does Ana live?"), sample_query("?!", vector=None)):
        assert build_pool(graph, query).rows.tolist() == np.flatnonzero(graph.episodes).tolist()


@pytest.mark.medium
def test_pool_of_a_large_memory_is_limited_and_has_the_match() -> None:
    nodes = [sample_node(f"n{n}", f"The {n}th barrel holds plum brandy.", minutes=n, session="s") for n in range(900)]
    graph = apply_batch(Graph(), replace(sample_batch(*nodes), revision=1))
    pool = build_pool(graph, sample_query("What is in the 733th barrel?"))
    assert POOL_SIZE <= len(pool.rows) < 2 * POOL_SIZE
    assert graph.row("n733") in pool.rows
    assert {graph.row("n732"), graph.row("n734")} <= set(pool.rows.tolist())  # the adjacent turns


@pytest.mark.medium
@given(st.integers(0, 6), st.booleans())
def test_pool_has_eligible_rows_only(minute: int, has_speaker: bool) -> None:
    graph = sample_graph()
    query = sample_query("Where does Ana live?", as_of=NOON + timedelta(minutes=5 * minute))
    pool = build_pool(graph, query)
    assert all(row <= minute for row in pool.rows.tolist())
    assert len(pool.top_candidates) == len(pool.rows)


# ---- features


def test_features_are_finite_and_zero_without_a_match() -> None:
    graph = sample_graph()
    for query in (
        sample_query("Where does Ana live in Porto?"),
        sample_query("?!", vector=None),
        sample_query("x", embedder_coverage=0.0),
    ):
        for values in feature_values(graph, query).values():
            assert all(np.isfinite(list(values.values())))
    nothing = feature_values(graph, sample_query("?!", vector=None))
    for name in (
        "dense similarity",
        "bm25",
        "dense similarity with previous turn",
        "window term coverage",
        "novel term coverage",
        "title match",
        "title link",
        "entity 1-hop",
        "date match",
        "number for how-many-question",
    ):
        assert set(nothing[name].values()) == {0.0}
    assert features.feature_names_by_group().keys() == features.FEATURE_GROUPS.keys()


def test_speaker_and_turn_features() -> None:
    found = feature_values(sample_graph(), sample_query("What did Ana say?"))
    assert [id_ for id_, value in found["named speaker"].items() if value] == ["t0", "t2", "t4", "t6"]
    assert found["named speaker"]["t0"] == pytest.approx(3 / 7)  # the share of the turns of others
    assert [id_ for id_, value in found["other speaker"].items() if value] == ["t1", "t3"]
    assert [id_ for id_, value in found["is question"].items() if value] == ["t1", "t3"]
    assert found["turn length"]["t5"] == 0  # it has no speaker
    assert found["entity count"]["t2"] == pytest.approx(np.log(2))
    both_speakers = feature_values(sample_graph(), sample_query("What did Ana and Ben say?"))
    assert [id_ for id_, value in both_speakers["one of named speakers"].items() if value] == [
        "t0",
        "t1",
        "t2",
        "t3",
        "t4",
        "t6",
    ]
    assert not any([*both_speakers["named speaker"].values(), *both_speakers["other speaker"].values()])


def test_turn_length_grows_with_terms_and_saturates() -> None:
    nodes = (
        sample_node("a", "river boat school", speaker="Ana"),
        sample_node("b", "river?", speaker="Ana"),
        sample_node("c", "river boat school"),
        sample_node("d", "river " * 300, speaker="Ana"),
    )
    graph = apply_batch(Graph(), replace(sample_batch(*nodes), revision=1))
    found = feature_values(graph, sample_query("river"))["turn length"]
    assert found == pytest.approx({"a": math.log(4) / math.log(61), "b": math.log(2) / math.log(61), "c": 0, "d": 1})


def test_follows_question_feature_marks_the_answer() -> None:
    found = feature_values(sample_graph(), sample_query("Which school did Mia find?"))
    assert max(found["follows question"], key=lambda id_: found["follows question"][id_]) == "t4"
    assert found["next turn"]["t2"] == 0  # the next turn is of another session
    assert found["adjacent turn"]["t4"] == pytest.approx(found["follows question"]["t4"])


def test_coverage_features_are_fractions_of_the_query() -> None:
    found = feature_values(sample_graph(), sample_query("school lunch river"))
    assert (
        found["window term coverage"]["t6"]
        > found["window term coverage"]["t4"]
        == found["window term coverage"]["t3"]
        > 0
    )
    assert found["novel term coverage"]["t6"] == 0  # it is the best row
    assert found["novel term coverage"]["t2"] > 0 == found["novel term coverage"]["t3"]  # only the river is missing


def test_title_link_feature_has_a_path() -> None:
    """The query names a ferry; its owner is under a title that only the text about the ferry mentions."""
    ferry = sample_node("ferry", "The Kestrel belongs to Bram.", title="Kestrel")
    owner = sample_node("owner", "A gardener from Delft.", title="Bram")
    other = sample_node("other", "A plumber from Ghent.", title="Joris")
    names = [sample_entity(name) for name in ("Kestrel", "Bram", "Joris")]
    edges = [Edge(node.id, name.id, Link.ABOUT) for node, name in zip((ferry, owner, other), names, strict=True)]
    edges.append(Edge("ferry", names[1].id, Link.MENTIONS))
    graph = apply_batch(Graph(), replace(sample_batch(ferry, owner, other, *names, edges=tuple(edges)), revision=1))
    found = feature_values(graph, sample_query("Whose is Kestrel?", vector=None))
    assert found["title match"] == {"ferry": 1, "owner": 0, "other": 0}
    assert found["query entity coverage"] == {"ferry": 1, "owner": 0, "other": 0}
    assert found["title link"]["owner"] > 0 == found["title link"]["other"]
    assert found["entity 2-hop"]["owner"] > 0 == found["entity 2-hop"]["other"]
    path = Fused().activate(sample_query("Whose is Kestrel?", vector=None), graph).paths["title link"]
    assert path.parent[graph.rows(["owner"])[0]] == graph.row("ferry")
    assert path.via_entity[graph.rows(["owner"])[0]] == graph.row(names[1].id)


def test_entity_features_shrink_with_embedder_coverage() -> None:
    graph, query = sample_graph(), sample_query("Where does Ana live in Porto?")
    full, half_read = (
        feature_values(graph, query),
        feature_values(graph, replace(query, embedder_coverage=0.5, vector=None)),
    )
    assert max(half_read["entity 1-hop"].values()) > 0
    none = feature_values(graph, replace(query, embedder_coverage=0.0))
    for name in ("title link", "shared entities", "best entity link", "entity 1-hop", "entity 2-hop"):
        assert max(half_read[name].values()) <= 0.5
        assert not any(none[name].values())
    assert full["title match"] == none["title match"]
    assert full["query entity coverage"] == none["query entity coverage"]


def test_time_and_number_features_need_a_question_for_them() -> None:
    graph = sample_graph()
    june = Interval(NOON + timedelta(minutes=12), NOON + timedelta(minutes=18))
    assert set(feature_values(graph, sample_query("school"))["date match"].values()) == {0.0}
    found = feature_values(graph, sample_query("school", time_ranges=(june,)))
    assert [id_ for id_, value in found["date match"].items() if value] == ["t3"]
    assert found["rare date match"]["t3"] == 1
    now = feature_values(graph, sample_query("Where does Ana live now?"))["recency for now-question"]
    assert all(later > earlier for earlier, later in pairwise([now[f"t{n}"] for n in range(7)]))


def test_stored_questions_do_not_change_date_features() -> None:
    graph = sample_graph()
    query = sample_query("What did Ana say then?", time_ranges=(Interval(NOON, NOON + timedelta(minutes=6)),))
    expected = feature_values(graph, query)["rare date match"]
    with_question = apply_batch(graph, replace(sample_question_batch("then?", "t1"), revision=2))
    assert feature_values(with_question, query)["rare date match"] == expected


@pytest.mark.parametrize(
    ("question", "when", "many", "now"),
    [
        ("When did she leave?", True, False, False),
        ("How many ferries are there still?", False, True, True),
        ("何時に出ましたか", True, False, False),
        ("Wann fährt die Fähre?", True, False, False),
        ("¿Cuándo sale el ferry?", True, False, False),
        ("Combien de bateaux ?", False, True, False),
        ("Quantos barcos são?", False, True, False),
        ("现在有几只船？", False, True, True),
        ("Whenever she nowhere asked", False, False, False),
    ],
)
def test_question_kind_is_recognized(question: str, when: bool, many: bool, now: bool) -> None:
    assert (
        is_time_question(question),
        is_quantity_question(question),
        is_current_state_question(question),
    ) == (when, many, now)


def test_term_similarity_of_a_grown_graph_equals_a_new_one() -> None:
    """The sample of vectors that mean and deviation are taken from is that of the graph, not of an earlier one."""
    vectors = np.eye(16, dtype=np.float32)
    nodes = [sample_node(f"n{n}", f"{n}th barrel", minutes=n, session="s", seq=n + 1) for n in range(16)]
    batches = [
        replace(sample_batch(*part, vectors={node.id: vectors[int(node.id[1:])] for node in part}), revision=revision)
        for revision, part in enumerate((nodes[:8], nodes[8:]), 1)
    ]
    query = sample_query("pets 8th")
    graph = apply_batch(Graph(), batches[0])
    term_zscores(graph, query, vectors[[6, 3]], (np.arange(8),))
    grown = apply_batch(graph, batches[1])
    whole = sample_batch(*nodes, vectors={node.id: vectors[int(node.id[1:])] for node in nodes})
    new, rows = apply_batch(Graph(), replace(whole, revision=1)), np.arange(16)
    (found,), (expected,) = (term_zscores(one, query, vectors[[6, 3]], (rows,)) for one in (grown, new))
    assert np.array_equal(found, expected)


def test_term_zscores_match_words_by_vector() -> None:
    vectors = np.eye(16, dtype=np.float32)
    nodes = [sample_node(f"n{n}", f"{n}th barrel", minutes=60 * n, session=f"s{n}", seq=n + 1) for n in range(17)]
    batch = sample_batch(*nodes, vectors={node.id: vectors[n] for n, node in enumerate(nodes[:16])})
    graph, rows = apply_batch(Graph(), replace(batch, revision=1)), np.arange(17)
    outlier = pytest.approx((15 / 16) / (15 / 256) ** 0.5)  # one of sixteen vectors is similar
    for like in (0, 15):
        (found,) = term_zscores(graph, sample_query("pets"), vectors[[like]], (rows,))
        assert found[like, 0] == outlier
        assert np.flatnonzero(found).tolist() == [like]  # the last row has no vector
    (half_read,) = term_zscores(graph, sample_query("pets", embedder_coverage=0.5), vectors[[6]], (rows,))
    assert 2 * half_read[6, 0] == outlier
    both = term_zscores(graph, sample_query("pets"), vectors[[6]], (np.array([6, -1]), np.array([5])))
    assert [group[:, 0].tolist() for group in both] == [[outlier, 0], [0]]


def test_uncovered_query_uses_bm25_as_similarity() -> None:
    graph = sample_graph()
    uncovered = feature_values(graph, sample_query("school lunch", embedder_coverage=0.0))
    assert uncovered["dense similarity"] == uncovered["bm25"]
    assert set(uncovered["redundancy"].values()) == {0.0}


def test_cosines_are_scaled_from_the_similarity_floor() -> None:
    assert dense.above_floor(np.array([0.7, 0.85, 1.0], np.float32), 0.7).tolist() == pytest.approx([0, 0.5, 1])
    graph, query = sample_graph(), sample_query("school lunch")
    with_floor = candidate_pool.build_pool(graph, replace(query, similarity_floor=0.2)).first_stage.cosine.scores
    without_floor = candidate_pool.build_pool(graph, query).first_stage.cosine.scores
    assert with_floor == pytest.approx((without_floor - 0.2) / 0.8, abs=1e-6)


# ---- fused


def test_fused_ranks_the_successor_before_the_superseded_fact() -> None:
    old = sample_node("old", "Ana lives in Porto.", speaker="Ana", seq=1)
    new = sample_node("new", "I have a flat in Ghent.", speaker="Ana", minutes=9, seq=2)
    batch = sample_batch(old, new, edges=(Edge("new", "old", Link.SUPERSEDES),))
    end = ValidityEnd("old", NOON + timedelta(minutes=9), NOON)
    graph = apply_batch(Graph(), replace(batch, validity_ends=(end,), revision=1))
    found = Fused().activate(sample_query("Where in Porto does Ana live?"), graph)
    assert found.scores[1] > found.scores[0] > 0
    assert found.paths["successor"].parent[1] == 0
    assert found.contributions["expired"][0] < 0
    before = Fused().activate(sample_query("Where in Porto does Ana live?", as_of=NOON + timedelta(minutes=1)), graph)
    assert before.scores[0] > 0 == before.scores[1]


def test_fused_drops_memories_with_negative_scores() -> None:
    models = [replace(model, bias=-16.0) for model in weights.load_fused_model()[0].models]
    graph, query = sample_graph(), sample_query("school lunch")
    found = Fused(Ranker(*models)).activate(query, graph)
    is_dropped = graph.episodes & (found.scores == 0)
    assert is_dropped.any()
    assert all(not column[is_dropped].any() for column in found.contributions.values())


def test_fused_scores_start_with_the_prior() -> None:
    found = Fused().activate(sample_query("school lunch"), sample_graph())
    assert SIMILAR_QUESTION not in found.contributions
    assert found.contributions[PRIOR][: len(TURNS)].min() > 0
    assert next(iter(found.contributions)) == PRIOR


def test_score_of_zero_is_less_than_one_in_a_million() -> None:
    assert 1e-7 < 1 / (1 + math.exp(-MIN_LOG_ODDS)) < 1e-6


def test_confidence_is_lower_if_the_other_person_described_the_event() -> None:
    turns = [
        ("Ana", "I bought a rowing boat from the lighthouse keeper in May."),
        ("Ben", "My greenhouse lost two panes in the storm."),
        ("Ana", "The boat needs a coat of paint before summer."),
        ("Ben", "Tomatoes this year, no cucumbers."),
    ] * 3
    nodes = [sample_node(f"n{n}", text, minutes=n, speaker=who, session="s") for n, (who, text) in enumerate(turns)]
    graph = apply_batch(Graph(), replace(sample_batch(*nodes), revision=1))
    vector = sample_vector(turns[0][1])
    right = Fused().activate(sample_query("From whom did Ana buy a rowing boat?", vector=vector), graph)
    wrong = Fused().activate(sample_query("From whom did Ben buy a rowing boat?", vector=vector), graph)
    assert right.confidence > wrong.confidence + 0.05


def test_rare_date_match_is_one_over_the_root_of_the_memories_in_time() -> None:
    graph = sample_graph()
    asked = replace(sample_query("Where?"), time_ranges=(Interval(NOON, NOON + timedelta(days=1)),))
    in_time = np.flatnonzero(temporal.is_in_query_time(graph, asked) * graph.episodes)
    assert len(in_time) > 3
    found = feature_values(graph, asked)["rare date match"]
    assert max(found.values()) == pytest.approx(len(in_time) ** -0.5)


def test_best_session_has_a_session_score_of_one() -> None:
    assert max(feature_values(sample_graph(), sample_query("Which school?"))["session score"].values()) == 1


def test_adjacent_turns_are_reached_through_no_entity() -> None:
    paths = Fused().activate(sample_query("Which school did Mia find?"), sample_graph()).paths
    adjacent = [paths[name] for name in ("follows question", "next turn") if name in paths]
    assert adjacent
    assert all((path.via_entity == -1).all() and path.single_hop for path in adjacent)
