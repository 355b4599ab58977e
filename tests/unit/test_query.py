"""A built query: its terms, names, times and parts."""

from ecphora.retrieval.query import MAX_QUESTION_TERMS, build_query, question_words
from ecphora.testing import NOON, sample_graph


def test_query_has_entities_terms_and_times_of_its_text() -> None:
    query = build_query("Where did Ana go, Ana?", NOON, vector=None, embedder_coverage=0.5)
    assert (query.text, query.now, query.vector, query.embedder_coverage) == ("Where did Ana go, Ana?", NOON, None, 0.5)
    assert query.entity_ids == ("entity:ana",)
    assert len(query.term_hashes) == 2
    assert build_query("What happened yesterday?", NOON, vector=None, embedder_coverage=1).time_ranges[0].start < NOON


def test_words_of_a_question_are_those_of_its_terms_but_speakers() -> None:
    words = question_words("What did Ana paint, and what did Ana's friends paint?", sample_graph())
    assert words == {1: "paint", 2: "friends"}


def test_long_text_has_no_words_of_its_own() -> None:
    text = " ".join(f"word{number}" for number in range(MAX_QUESTION_TERMS + 1))
    assert question_words(f"What is {text}?", sample_graph()) == {}


def test_script_without_spaces_has_no_separate_words() -> None:
    assert list(question_words("小明昨天去了 Porto 吗？", sample_graph()).values()) == ["porto"]
