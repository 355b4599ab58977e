"""The pool of a cue, the columns of what is in it, and what fused makes of them."""

from dataclasses import replace
from datetime import timedelta
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ecphora.graph import Graph
from ecphora.language import asked
from ecphora.model import START, Cue, Edge, Interval, Link, Superseded
from ecphora.stages import signals, touch
from ecphora.stages.sheet import NOTED, SPOKEN, WRITTEN, sheet
from ecphora.stages.touch import POOL, above, look
from ecphora.strategies.fused import USEFUL, Fused
from ecphora.testing.samples import (
    NOON,
    TURNS,
    sample_change,
    sample_cue,
    sample_graph,
    sample_name,
    sample_node,
    sample_question,
    sample_vector,
)


def columns(graph: Graph, cue: Cue) -> dict[str, dict[str, float]]:
    """By column and id."""
    view = look(graph, cue)
    ids = [graph.id(row) for row in view.rows.tolist()]
    return {name: dict(zip(ids, values.tolist(), strict=True)) for name, values in signals.columns(view).items()}


# ---- the pool


@pytest.mark.parametrize("size", [1, 2, 7, 40])
def test_a_small_memory_is_looked_at_whole(size: int) -> None:
    graph = sample_graph(size)
    for cue in (sample_cue("Where does Ana live?"), sample_cue("?!", vector=None)):
        assert look(graph, cue).rows.tolist() == np.flatnonzero(graph.episodes).tolist()


def test_the_pool_of_a_large_memory_is_small_and_holds_what_is_near() -> None:
    nodes = [sample_node(f"n{n}", f"The {n}th barrel holds plum brandy.", minutes=n, session="s") for n in range(900)]
    graph = Graph().plus(replace(sample_change(*nodes), revision=1))
    view = look(graph, sample_cue("What is in the 733th barrel?"))
    assert POOL <= len(view.rows) < 2 * POOL
    assert graph.row("n733") in view.rows
    assert {graph.row("n732"), graph.row("n734")} <= set(view.rows.tolist())  # told beside it


@given(st.integers(0, 6), st.booleans())
def test_what_may_not_come_back_is_not_in_the_pool(minute: int, speaks: bool) -> None:
    graph = sample_graph()
    cue = sample_cue("Where does Ana live?", as_of=NOON + timedelta(minutes=5 * minute))
    view = look(graph, cue)
    assert all(row <= minute for row in view.rows.tolist())
    assert len(view.leaders) == len(view.rows)


# ---- columns


def test_every_column_is_finite_and_silent_where_there_is_nothing() -> None:
    graph = sample_graph()
    for cue in (
        sample_cue("Where does Ana live in Porto?"),
        sample_cue("?!", vector=None),
        sample_cue("x", meaning=0.0),
    ):
        for values in columns(graph, cue).values():
            assert all(np.isfinite(list(values.values())))
    nothing = columns(graph, sample_cue("?!", vector=None))
    for name in ("meaning", "words", "context", "around", "uncovered", "title", "link", "met names", "date", "number"):
        assert set(nothing[name].values()) == {0.0}
    assert signals.named().keys() == signals.GROUPS.keys()


def test_the_person_meant_and_the_kind_of_turn() -> None:
    found = columns(sample_graph(), sample_cue("What did Ana say?"))
    assert [id_ for id_, value in found["speaker"].items() if value] == ["t0", "t2", "t4", "t6"]
    assert [id_ for id_, value in found["other speaker"].items() if value] == ["t1", "t3"]
    assert [id_ for id_, value in found["asks"].items() if value] == ["t1", "t3"]
    assert found["length"]["t5"] == 0  # nobody said it
    assert found["names"]["t2"] == pytest.approx(np.log(2))
    both = columns(sample_graph(), sample_cue("What did Ana and Ben say?"))
    assert [id_ for id_, value in both["one of them"].items() if value] == ["t0", "t1", "t2", "t3", "t4", "t6"]
    assert not any([*both["speaker"].values(), *both["other speaker"].values()])


def test_an_answer_follows_the_question_it_answers() -> None:
    found = columns(sample_graph(), sample_cue("Which school did Mia find?"))
    assert max(found["answers"], key=lambda id_: found["answers"][id_]) == "t4"
    assert found["after"]["t2"] == 0  # the next turn is of another session
    assert found["neighbour"]["t4"] == pytest.approx(found["answers"]["t4"])


def test_words_in_parts_of_the_cue() -> None:
    found = columns(sample_graph(), sample_cue("school lunch river"))
    assert found["around"]["t6"] > found["around"]["t4"] == found["around"]["t3"] > 0
    assert found["uncovered"]["t6"] == 0  # it is the best itself
    assert found["uncovered"]["t2"] > 0 == found["uncovered"]["t3"]  # the river alone is missing


def test_names_lead_on() -> None:
    """The cue names Ana's ferry, whose owner is told elsewhere under a title that only the first text mentions."""
    ferry = sample_node("ferry", "The Kestrel belongs to Bram.", title="Kestrel")
    owner = sample_node("owner", "A gardener from Delft.", title="Bram")
    other = sample_node("other", "A plumber from Ghent.", title="Joris")
    names = [sample_name(name) for name in ("Kestrel", "Bram", "Joris")]
    edges = [Edge(node.id, name.id, Link.ABOUT) for node, name in zip((ferry, owner, other), names, strict=True)]
    edges.append(Edge("ferry", names[1].id, Link.MENTIONS))
    graph = Graph().plus(replace(sample_change(ferry, owner, other, *names, edges=tuple(edges)), revision=1))
    found = columns(graph, sample_cue("Whose is Kestrel?", vector=None))
    assert found["title"] == {"ferry": 1, "owner": 0, "other": 0}
    assert found["names asked"] == {"ferry": 1, "owner": 0, "other": 0}
    assert found["link"]["owner"] > 0 == found["link"]["other"]
    assert found["met again"]["owner"] > 0 == found["met again"]["other"]
    way = Fused().activate(sample_cue("Whose is Kestrel?", vector=None), graph).trails["link"]
    assert way.by[graph.rows(["owner"])[0]] == graph.row("ferry")
    assert way.via[graph.rows(["owner"])[0]] == graph.row(names[1].id)


def test_names_lead_on_as_far_as_the_embedder_reads() -> None:
    graph, cue = sample_graph(), sample_cue("Where does Ana live in Porto?")
    whole, half = columns(graph, cue), columns(graph, replace(cue, meaning=0.5, vector=None))
    assert max(half["met names"].values()) > 0
    none = columns(graph, replace(cue, meaning=0.0))
    for name in ("link", "shared names", "way", "met names", "met again"):
        assert max(half[name].values()) <= 0.5
        assert not any(none[name].values())
    assert whole["title"] == none["title"]
    assert whole["names asked"] == none["names asked"]


def test_time_and_number_only_where_they_are_asked_for() -> None:
    graph = sample_graph()
    june = Interval(NOON + timedelta(minutes=12), NOON + timedelta(minutes=18))
    assert set(columns(graph, sample_cue("school"))["date"].values()) == {0.0}
    found = columns(graph, sample_cue("school", when=(june,)))
    assert [id_ for id_, value in found["date"].items() if value] == ["t3"]
    assert found["date alone"]["t3"] == 1
    now = columns(graph, sample_cue("Where does Ana live now?"))["latest"]
    assert all(later > earlier for earlier, later in pairwise([now[f"t{n}"] for n in range(7)]))


def test_what_was_asked_before_is_no_memory_of_a_time() -> None:
    graph = sample_graph()
    cue = sample_cue("What did Ana say then?", when=(Interval(NOON, NOON + timedelta(minutes=6)),))
    alone = columns(graph, cue)["date alone"]
    asked_of = graph.plus(replace(sample_question("then?", "t1"), revision=2))
    assert columns(asked_of, cue)["date alone"] == alone


@pytest.mark.parametrize(
    ("question", "when", "many", "now"),
    [
        ("When did she leave?", True, False, False),
        ("How many ferries are there still?", False, True, True),
        ("何時に出ましたか", True, False, False),
        ("现在有几只船？", False, True, True),
        ("Whenever she nowhere asked", False, False, False),
    ],
)
def test_what_a_question_asks_for(question: str, when: bool, many: bool, now: bool) -> None:
    assert (asked.when(question), asked.how_many(question), asked.now(question)) == (when, many, now)


@pytest.mark.parametrize(
    ("question", "topic"),
    [
        ("What did Ana paint last summer?", "Ana paint last summer"),
        ("In which year did the river rise?", "year did the river rise"),
        ("How many kinds of tea does she keep?", "tea does she keep"),
        ("what kind of tea", "tea"),
        ("Tea in Porto", "Tea in Porto"),
        ("Who?", "Who?"),
        ("…", "…"),
        ("", ""),
    ],
)
def test_what_a_question_is_about(question: str, topic: str) -> None:
    assert asked.topic(question, ()) == topic


def test_a_name_is_no_topic() -> None:
    assert asked.topic("What is Ana's take on Ána's tea?", {"ana"}) == "take on tea"
    assert asked.topic("Who is Ana?", {"ana"}) == "Who is Ana?"


def test_a_word_is_met_by_its_meaning_where_it_is_not_held() -> None:
    like = np.eye(16, dtype=np.float32)
    nodes = [sample_node(f"n{n}", f"{n}th barrel", minutes=n, session="s") for n in range(16)]
    change = sample_change(*nodes, vectors={node.id: like[place] for place, node in enumerate(nodes)})
    graph = Graph().plus(replace(change, revision=1))
    cue = sample_cue("pets 8th", terms=np.stack([like[6], like[3]]))
    out = pytest.approx((15 / 16) / (15 / 256) ** 0.5)  # of sixteen vectors one is like it
    found = columns(graph, cue)
    assert found["likest word"]["n6"] == pytest.approx(found["words met"]["n6"])  # it has nothing of the other word
    assert found["likest word"]["n6"] > 0
    assert {id_ for id_, value in found["like words"].items() if value} == {"n3", "n6"}
    assert found["words met"]["n4"] > found["words met"]["n12"] == 0  # beside the one that is like "8th"
    alone = columns(graph, sample_cue("pets", terms=like[6:7]))
    assert alone["like words"]["n6"] == alone["least word"]["n6"] == alone["words met"]["n5"] == out
    half = columns(graph, sample_cue("pets", terms=like[6:7], meaning=0.5))
    assert 2 * half["like words"]["n6"] == out
    held = columns(graph, sample_cue("8th", terms=like[3:4]))
    assert held["like words"]["n8"] == 0
    assert held["words met"]["n8"] == 4 > held["words met"]["n3"]
    bare = columns(graph, sample_cue("8th", terms=np.zeros((1, 16), np.float32)))
    assert bare["words met"]["n8"] == 4 > bare["words met"]["n3"] == 0


def test_where_the_embedder_reads_nothing_words_stand_in_for_meaning() -> None:
    graph = sample_graph()
    unread = columns(graph, sample_cue("school lunch", meaning=0.0))
    assert unread["meaning"] == unread["words"]
    assert set(unread["said better"].values()) == {0.0}


def test_cosines_are_counted_from_the_embedders_floor() -> None:
    assert above(np.array([0.7, 0.85, 1.0], np.float32), 0.7).tolist() == pytest.approx([0, 0.5, 1])
    graph, cue = sample_graph(), sample_cue("school lunch")
    raised = touch.look(graph, replace(cue, floor=0.2)).direct.meaning.scores
    plain = touch.look(graph, cue).direct.meaning.scores
    assert raised == pytest.approx((plain - 0.2) / 0.8, abs=1e-6)


def test_the_sorts_of_memories() -> None:
    graph = Graph().plus(
        replace(
            sample_change(
                sample_node("turn", "A turn.", speaker="Ana", minutes=5),
                sample_node("note", "A note.", minutes=5),
                sample_node("text", "A text."),
            ),
            revision=1,
        )
    )
    assert sheet(look(graph, sample_cue("turn note text"))).sorts.tolist() == [SPOKEN, NOTED, WRITTEN]


# ---- fused


def test_what_replaced_a_fact_stands_before_it() -> None:
    old = sample_node("old", "Ana lives in Porto.", speaker="Ana", seq=1)
    new = sample_node("new", "I have a flat in Ghent.", speaker="Ana", minutes=9, seq=2)
    change = sample_change(old, new, edges=(Edge("new", "old", Link.SUPERSEDES),))
    ended = Superseded("old", NOON + timedelta(minutes=9), NOON)
    graph = Graph().plus(replace(change, superseded=(ended,), revision=1))
    found = Fused().activate(sample_cue("Where in Porto does Ana live?"), graph)
    assert found.scores[1] > found.scores[0] > 0
    assert found.trails["successor"].by[1] == 0
    assert found.shares["outdated"][0] < 0
    before = Fused().activate(sample_cue("Where in Porto does Ana live?", as_of=NOON + timedelta(minutes=1)), graph)
    assert before.scores[0] > 0 == before.scores[1]


def test_more_may_speak_against_a_memory_than_for_it() -> None:
    fused = Fused()
    heads = [replace(head, bias=-16.0) for head in fused.ranker.heads]
    graph, cue = sample_graph(), sample_cue("school lunch")
    found = replace(fused, ranker=type(fused.ranker)(*heads)).activate(cue, graph)
    gone = graph.episodes & (found.scores == 0)
    assert gone.any()
    assert all(not share[gone].any() for share in found.shares.values())


def test_a_score_is_counted_from_where_every_memory_starts() -> None:
    found = Fused().activate(sample_cue("school lunch"), sample_graph())
    assert USEFUL not in found.shares
    assert found.shares[START][: len(TURNS)].min() > 0
    assert next(iter(found.shares)) == START


def test_confidence_falls_where_the_event_is_told_of_the_other_person() -> None:
    turns = [
        ("Ana", "I bought a rowing boat from the lighthouse keeper in May."),
        ("Ben", "My greenhouse lost two panes in the storm."),
        ("Ana", "The boat needs a coat of paint before summer."),
        ("Ben", "Tomatoes this year, no cucumbers."),
    ] * 10
    nodes = [sample_node(f"n{n}", text, minutes=n, speaker=who, session="s") for n, (who, text) in enumerate(turns)]
    graph = Graph().plus(replace(sample_change(*nodes), revision=1))
    vector = sample_vector(turns[0][1])
    right = Fused().activate(sample_cue("From whom did Ana buy a rowing boat?", vector=vector), graph)
    wrong = Fused().activate(sample_cue("From whom did Ben buy a rowing boat?", vector=vector), graph)
    assert right.confidence > wrong.confidence + 0.1
