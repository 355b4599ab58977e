"""The genre of a memory: utterance, statement, passage or long turn; and the words that make a turn long."""

from dataclasses import replace

import numpy as np

from ecphora.language.names.mentions import entity_id
from ecphora.model.graph.graph import Graph
from ecphora.model.graph.updates import apply_batch
from ecphora.model.types import Edge, Link
from ecphora.retrieval.bm25 import word_counts
from ecphora.strategies.fused.candidate_pool import build_pool
from ecphora.strategies.fused.feature_matrix import LONG_TURN_WORDS, Genre, build_feature_matrix, dialogue_share, genres
from ecphora.testing.samples import sample_batch, sample_entity, sample_node, sample_query


def test_genre_of_memories() -> None:
    graph = apply_batch(
        Graph(),
        replace(
            sample_batch(
                sample_node("turn", "A turn that nobody answers.", speaker="Ana", minutes=5),
                sample_node("note", "A note.", minutes=5),
                sample_node("text", "A text."),
                sample_node("titled", "A text with a title."),
                sample_node("dated", "A text with a title and a time.", minutes=5),
                sample_entity("Text"),
                sample_node("ask", "Turn one.", speaker="Ana", session="chat"),
                sample_node("reply", "A turn. " + "word " * 2 * LONG_TURN_WORDS, speaker="bot", session="chat"),
                sample_node("title", "A text without a speaker does not count as a turn.", session="chat"),
                sample_node("other", "Turn two.", speaker="Ana", session="other chat"),
                sample_node(
                    "ja",
                    "来週の火曜日の午後三時から会議室で打ち合わせをします。資料は前日までに共有してください。",
                    speaker="Yui",
                    session="日本",
                ),
            ),
            edges=tuple(Edge(one, entity_id("Text"), Link.ABOUT) for one in ("titled", "dated", "turn")),
            revision=1,
        ),
    )
    assert build_feature_matrix(build_pool(graph, sample_query("turn note text"))).genres.tolist() == [
        Genre.STATEMENT,
        Genre.STATEMENT,
        Genre.STATEMENT,
        Genre.PASSAGE,
        Genre.STATEMENT,
        Genre.LONG_TURN,
        Genre.LONG_TURN,
        Genre.STATEMENT,
        Genre.STATEMENT,
        Genre.STATEMENT,
    ]


def genres_of(*turns: tuple[str | None, str | None], minutes: float = 1) -> list[Genre]:
    """The genres of turns, given as speaker and session, ``minutes`` apart."""
    nodes = [
        sample_node(f"t{n}", f"Turn {n}.", speaker=speaker, session=session, minutes=minutes * n, seq=n + 1)
        for n, (speaker, session) in enumerate(turns)
    ]
    graph = apply_batch(Graph(), sample_batch(*nodes, revision=1))
    return [Genre(one) for one in genres(graph, np.arange(len(graph))).tolist()]


def test_turns_of_several_speakers_that_follow_each_other_are_a_conversation() -> None:
    assert genres_of(("Ana", "s"), ("Ben", "s"), ("Ana", "s")) == [Genre.UTTERANCE] * 3
    assert genres_of(("Ana", "s"), ("Ben", "s")) == [Genre.UTTERANCE] * 2  # half of the turns follow another
    assert genres_of(("Ana", "s"), ("Ana", "s"), ("Ana", "s")) == [Genre.STATEMENT] * 3
    assert genres_of(("Ana", "s"), ("Ben", "t"), ("Ana", "t")) == [Genre.STATEMENT, Genre.UTTERANCE, Genre.UTTERANCE]
    mixed = genres_of(("Ana", "s"), (None, "s"), ("Ben", "s"))
    assert mixed[1] is Genre.STATEMENT


def test_genres_of_a_grown_graph_are_those_of_a_new_one() -> None:
    turns = (("Ana", "s"), ("Ana", "s"), ("Cleo", "t"), ("Ben", None), ("Ben", "s"), ("Ana", None), ("Cleo", "t"))
    graph, found = Graph(), []
    for n, (speaker, session) in enumerate(turns):
        node = sample_node(f"t{n}", f"Turn {n}.", speaker=speaker, session=session, minutes=n, seq=n + 1)
        graph = apply_batch(graph, sample_batch(node, revision=n + 1))
        found.append([Genre(one) for one in genres(graph, np.arange(len(graph))).tolist()])
    assert found == [genres_of(*turns[: n + 1]) for n in range(len(turns))]
    assert found[3] != found[4][:4]  # Ben makes a conversation of it


def test_turns_without_a_session_are_a_conversation_if_they_follow_each_other() -> None:
    loose = [("Ana", None), ("Ben", None), ("Ana", None)]
    assert genres_of(*loose) == [Genre.UTTERANCE] * 3
    assert genres_of(*loose, minutes=10 * 60) == [Genre.STATEMENT] * 3  # told on different days
    assert genres_of((None, None), (None, "s"), (None, "s")) == [Genre.STATEMENT] * 3


def test_speakers_who_follow_nobody_are_no_conversation() -> None:
    """Two speak, but each statement has a session of its own, or most have."""
    assert genres_of(*[(("Ana", "Ben")[n % 2], f"s{n}") for n in range(6)]) == [Genre.STATEMENT] * 6
    assert genres_of(("Ana", None), ("Ben", None), minutes=10 * 60) == [Genre.STATEMENT] * 2


def test_long_text_is_ranked_by_terms_if_the_memories_have_the_terms_of_the_question() -> None:
    """Not with the terms of another language, unless they are some three tenths."""
    long_text = "会议室 " * LONG_TURN_WORDS
    graph = apply_batch(Graph(), sample_batch(sample_node("long", long_text), sample_node("short", "Porto", seq=2)))

    def genres_for(question: str) -> list[int]:
        pool = build_pool(graph, sample_query(question))
        found = build_feature_matrix(pool)
        return found.genres[np.argsort(found.rows)].tolist()

    assert genres_for("会议室 Porto") == [Genre.LONG_TURN, Genre.STATEMENT]
    assert genres_for("meeting room Porto") == [Genre.LONG_TURN, Genre.STATEMENT]
    assert genres_for("meeting room city Porto") == [Genre.STATEMENT, Genre.STATEMENT]


def test_chunks_of_a_turn_count_as_one_turn() -> None:
    words = "word " * (LONG_TURN_WORDS // 2)
    chunks = [
        sample_node(f"c{n}", f"Chunk. {words}", speaker="bot", session="chat", document="reply", position=n)
        for n in range(4)
    ]
    graph = apply_batch(
        Graph(), sample_batch(sample_node("ask", "A chunk?", speaker="Ana", session="chat"), *chunks, revision=1)
    )
    assert set(genres(graph, np.arange(len(graph)))[graph.episodes]) == {Genre.LONG_TURN}


def test_word_counts_of_a_grown_graph_are_those_of_a_new_one() -> None:
    first = sample_batch(sample_node("a", "Three plain words", seq=1), revision=1)
    second = sample_batch(
        sample_node("b", "会議室で打ち合わせをします", seq=2), sample_node("c", "Tea", seq=3), revision=2
    )
    grown = apply_batch(Graph(), first)
    before = word_counts(grown).tolist()
    grown = apply_batch(grown, second)
    counts = word_counts(grown)
    assert counts[: len(before)].tolist() == before
    assert counts.tolist() == word_counts(apply_batch(apply_batch(Graph(), first), second)).tolist()
    assert (counts[grown.nodes["ids"] == "b"] < grown.nodes["lengths"][grown.nodes["ids"] == "b"]).all()
    assert (counts[grown.nodes["ids"] == "c"] == 1).all()


def test_long_turns_are_dialogue() -> None:
    assert dialogue_share(np.array([Genre.UTTERANCE, Genre.LONG_TURN, Genre.STATEMENT, Genre.PASSAGE])) == 0.5
