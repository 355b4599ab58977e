"""The memory that holds an identifier asked for comes first, and evidence is not strong if none holds it."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ecphora import Episode, Evidence, Memory
from ecphora.language.question import asks_for_replacement
from ecphora.language.terms import count_terms, extract_terms
from ecphora.model.graph.graph import Graph
from ecphora.model.graph.updates import apply_batch
from ecphora.model.types import Media, MediaKind, Query, WriteBatch
from ecphora.models.embedders.hashing import HashingEmbedder
from ecphora.remember.encode import analyze
from ecphora.retrieval.confidence import EvidenceBands
from ecphora.retrieval.fusion import LinearModel
from ecphora.retrieval.identifiers import find_holders, has_unknown_identifiers, identifier_tiers
from ecphora.retrieval.query import build_query
from ecphora.strategies.fused.candidate_pool import POOL_SIZE, build_pool
from ecphora.strategies.fused.feature_matrix import Genre
from ecphora.strategies.fused.features import compute_features
from ecphora.strategies.fused.ranker import Ranker
from ecphora.strategies.fused.strategy import ASKED_IDENTIFIER, Fused
from ecphora.testing import FakeClock, sample_batch, sample_node, sample_vector

BY_WORDS = Fused(Ranker(*[LinearModel(-5.0, {"bm25": 3.0, "dense similarity": 0.5})] * len(Genre)))
"""Without a weight for identifiers, which are in the words too."""
NOW = datetime(2027, 1, 1, tzinfo=UTC)
FILLERS = tuple(f"The {word} of the staging cluster is rebuilt on Sundays." for word in (
    "index", "cache", "backup", "proxy", "queue", "certificate", "dashboard", "pipeline"))  # fmt: skip


def graph_of(*texts: str, **fields: Any) -> Graph:
    """A graph of texts with the ids t0, t1, ..."""
    nodes = [sample_node(f"t{n}", text, minutes=n, seq=n + 1) for n, text in enumerate(texts)]
    batch = sample_batch(*nodes, revision=1, **fields)
    return apply_batch(Graph(), replace(batch, analyses={node.id: analyze(node) for node in nodes}))


def query_of(text: str) -> Query:
    return build_query(text, NOW, vector=sample_vector(text), embedder_coverage=1.0)


def without_identifiers(query: Query) -> Query:
    return replace(query, identifiers=(), quantities=())


def order_of(graph: Graph, query: Query, strategy: Fused | None = None) -> list[int]:
    activation = (strategy or Fused()).activate(query, graph)
    order = np.argsort(-activation.scores, kind="stable").tolist()
    return [row for row in order if activation.scores[row] > 0]


def all_eligible(graph: Graph) -> np.ndarray:
    return np.ones(len(graph), np.bool_)


PAIRS = [
    (
        "The admin panel, which nobody uses, has 8080.",
        "Which mail catcher of the office listens on port 8080?",
        "The mail catcher of the office listens on port 9080.",
    ),
    (
        "Ticket PAY-1482 is about double charges.",
        "Which refunds that are booked twice is PAY-1482 about?",
        "Ticket PAY-1428 is about refunds that are booked twice.",
    ),
    (
        "The plumber's number is +49 30 5550 1478.",
        "Which school called me at night from +493055501478?",
        "The school that called me at night has +49 30 5550 1487.",
    ),
]


@pytest.mark.parametrize(("holder", "question", "look_alike"), PAIRS)
def test_holder_ranks_before_a_look_alike(holder: str, question: str, look_alike: str) -> None:
    graph, query = graph_of(look_alike, *FILLERS, holder), query_of(question)
    assert order_of(graph, query)[0] == len(FILLERS) + 1
    assert order_of(graph, without_identifiers(query))[0] == 0  # what the tier is for


BY_WORDS = Fused(ranker=Ranker(*[LinearModel(-10.0, {"bm25": 5.0})] * len(Genre)))
"""``fused`` with a ranker that knows no identifiers, so that what ranks a holder first is its tier."""


def test_contributions_add_up_to_the_scores() -> None:
    graph = graph_of("The mail catcher listens on port 9080.", *FILLERS, "It is on port 8080.")
    activation = BY_WORDS.activate(query_of("Which mail catcher listens on port 8080?"), graph)
    gain = activation.contributions[ASKED_IDENTIFIER]
    assert np.flatnonzero(gain).tolist() == [len(graph) - 1]
    np.testing.assert_allclose(sum(activation.contributions.values()), activation.scores, rtol=1e-5, atol=1e-5)


def test_more_asked_identifiers_and_whole_ones_rank_higher() -> None:
    graph = graph_of("See nginx.conf.", "PAY-1482 and /etc/nginx/nginx.conf", "PAY-1482 is open", "/srv/nginx.conf")
    query = query_of("What do PAY-1482 and nginx.conf have in common?")
    holders = find_holders(graph, query, all_eligible(graph))
    tiers = identifier_tiers(graph, query, holders, all_eligible(graph)).tolist()
    assert tiers[1] > tiers[0] == tiers[2] > tiers[3] > 0


def test_part_counts_only_if_whole_and_part_are_few() -> None:
    graph = graph_of("nginx.conf", *["/a/nginx.conf"] * 3)
    query = query_of("What is in nginx.conf?")
    holders = find_holders(graph, query, all_eligible(graph))
    assert (len(holders[0].whole), len(holders[0].part)) == (1, 3)
    assert np.flatnonzero(identifier_tiers(graph, query, holders, all_eligible(graph))).tolist() == [0]


@pytest.mark.parametrize(
    ("holders", "others", "is_few"), [(3, 0, True), (4, 0, False), (4, 396, True), (4, 395, False)]
)
def test_identifier_of_many_memories_gives_no_tier(holders: int, others: int, is_few: bool) -> None:
    graph = graph_of(*["PAY-1482 again"] * holders, *["nothing"] * others)
    query = query_of("What is PAY-1482?")
    mask = all_eligible(graph)
    assert identifier_tiers(graph, query, find_holders(graph, query, mask), mask).any() == is_few


def test_only_eligible_memories_are_holders() -> None:
    graph, query = graph_of("PAY-1482 is open", "PAY-1428 is open"), query_of("What is PAY-1482?")
    mask = np.array([False, True])
    (found,) = find_holders(graph, query, mask)
    assert (found.whole.tolist(), found.look_alikes.tolist()) == ([], [1])
    assert has_unknown_identifiers(graph, query, mask)
    assert not has_unknown_identifiers(graph, query, all_eligible(graph))


@pytest.mark.medium
def test_holder_outside_the_best_is_a_candidate() -> None:
    text = "incident report of the checkout outage in the billing service"
    words = ["alpha", "beta", "gamma", "delta"] * POOL_SIZE
    graph = graph_of(*[f"{text} {word}" for word in words], "x +49 30 5550 1478")
    query = query_of(f"{text} +493055501478?")
    assert len(graph) - 1 not in build_pool(graph, without_identifiers(query)).rows
    assert len(graph) - 1 in build_pool(graph, query).rows
    assert order_of(graph, query)[0] == len(graph) - 1


def test_holder_of_the_whole_is_no_holder_of_a_part() -> None:
    graph = graph_of("nginx.conf and /a/nginx.conf", "/a/nginx.conf")
    (found,) = find_holders(graph, query_of("What is in nginx.conf?"), all_eligible(graph))
    assert (found.whole.tolist(), found.part.tolist()) == ([0], [1])


QUESTIONS = (
    "Where does the cluster run?",
    "What is rebuilt on Sundays in 2026?",
    "How many proxies cost 20 euros?",
    "",
)


@pytest.mark.medium
@pytest.mark.parametrize("question", QUESTIONS)
def test_question_without_an_identifier_ranks_bit_by_bit_as_without_the_index(question: str) -> None:
    texts = ("Port 8080 is the panel's.", *FILLERS, "PAY-1482 costs 20 euros.", "See /etc/nginx.conf in 2026.")
    nodes = [sample_node(f"t{n}", text, minutes=n, seq=n + 1) for n, text in enumerate(texts)]
    plain = apply_batch(Graph(), sample_batch(*nodes, revision=1))  # with words alone
    indexed = graph_of(*texts)
    assert len(indexed.identifiers) > len(plain.identifiers) == 0
    assert indexed.nodes["lengths"].tolist() == plain.nodes["lengths"].tolist()
    for column in ("rows", "hashes", "counts"):
        assert indexed.terms[column].tolist() == plain.terms[column].tolist()
    query = query_of(question)
    assert query.identifiers == ()
    before, after = compute_features(build_pool(plain, query)), compute_features(build_pool(indexed, query))
    new = {"identifier match", "other identifier", "quantity match"}
    assert all(before[name].tobytes() == after[name].tobytes() for name in before.keys() - new)
    old, now = BY_WORDS.activate(query, plain), BY_WORDS.activate(query, indexed)
    assert old.scores.tobytes() == now.scores.tobytes()
    assert old.confidence == now.confidence
    assert ASKED_IDENTIFIER not in now.contributions


def test_features_say_what_is_held() -> None:
    graph = graph_of("PAY-1482 costs 20 €", "PAY-1428 costs 20 kg", "ID /a/app.conf", "nothing")
    found = compute_features(build_pool(graph, query_of("Does PAY-1482 in app.conf cost 20 euros?")))
    assert found["identifier match"].tolist() == [0.5, 0, 0.25, 0]
    assert found["other identifier"].tolist() == [0, 0.5, 0, 0]
    assert found["quantity match"].tolist() == [1, 0, 0, 0]


def test_identifier_itself_is_not_what_replaced_it() -> None:
    graph = graph_of("The panel is on port 8080.", "The panel is on port 9090.")
    mask = all_eligible(graph)
    for text, expected in (("What is on port 8080?", [0]), ("Which port is used instead of 8080, port 8080?", [])):
        query = query_of(text)
        tiers = identifier_tiers(graph, query, find_holders(graph, query, mask), mask)
        assert np.flatnonzero(tiers).tolist() == expected
    assert not has_unknown_identifiers(graph, query_of("What replaced PAY-7777?"), mask)
    assert has_unknown_identifiers(graph, query_of("What is PAY-7777?"), mask)


@pytest.mark.parametrize(
    "question",
    [
        "What replaced PAY-1482?", "Which port do we use instead of 8080?", "What comes after version 2.3?",
        "Was hat PAY-1482 ersetzt?", "Welcher Port statt 8080?", "Quel port au lieu de 8080 ?",
        "¿Qué puerto en lugar de 8080?", "8080の代わりに何番を使う？", "什么取代了8080端口？", "Что вместо порта 8080?",
    ],
)  # fmt: skip
def test_question_for_a_replacement_is_recognized(question: str) -> None:
    assert asks_for_replacement(question)


@pytest.mark.parametrize(
    "question", ["What is PAY-1482?", "What listens on port 8080?", "Wer hat PAY-1482?", "What broke after v2.3?"]
)
def test_other_questions_ask_for_no_replacement(question: str) -> None:
    assert not asks_for_replacement(question)


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory(tmp_path / "m.db", embedder=HashingEmbedder(64), clock=FakeClock(), update_scorer=None) as opened:
        yield opened


@pytest.fixture
def remember(memory: Memory) -> Callable[..., None]:
    def write(*texts: str) -> None:
        memory.remember([Episode(text, id=f"e{n}") for n, text in enumerate(texts)])

    return write


BANDS = EvidenceBands(strong=0.0001, weak=0.00005)


def test_evidence_is_not_strong_if_no_memory_holds_the_identifier(
    memory: Memory, remember: Callable[..., None], tmp_path: Path
) -> None:
    remember("Port 9080 is the mail catcher's.", *FILLERS)
    with Memory(tmp_path / "m.db", embedder=HashingEmbedder(64), update_scorer=None, evidence_bands=BANDS) as lenient:
        found = lenient.recall("What is on port 8080?")
        assert found.evidence is Evidence.WEAK
        assert found.confidence < BANDS.strong
        assert lenient.recall("What is on port 9080?").evidence is Evidence.STRONG
        assert lenient.recall("What is the mail catcher's?").evidence is Evidence.STRONG


def test_number_that_is_held_as_a_word_is_known() -> None:
    graph = graph_of("It was 443 people who use it.")
    assert not has_unknown_identifiers(graph, query_of("What is on port 443?"), all_eligible(graph))
    assert has_unknown_identifiers(graph, query_of("What is on port 444?"), all_eligible(graph))


def test_archived_holder_ranks_last_and_expired_one_before_look_alikes(
    memory: Memory, remember: Callable[..., None]
) -> None:
    remember("Port 9080 is the mail catcher's port.", "The panel is on port 8080.", *FILLERS)
    question = "What is on port 8080?"
    assert memory.recall(question)[0].id == "e1"
    memory.maintenance.archive("e1")
    assert [hit.id for hit in memory.recall(question, limit=20)][-1] == "e1"
    memory.maintenance.unarchive("e1")
    memory.remember([Episode("The panel is behind port 7070 now.", id="new", supersedes="e1")])
    ids = [hit.id for hit in memory.recall(question, strategy=BY_WORDS)]
    assert ids.index("e1") < ids.index("e0")
    assert ids.index("e1") < ids.index("new")


def test_replacement_of_a_holder_stays_with_it_unless_it_has_another_identifier(
    memory: Memory, remember: Callable[..., None]
) -> None:
    question = "Is the admin panel on port 8080?"
    remember("Is port 9080 the admin panel's?", "The admin panel is on port 8080.", *FILLERS)
    memory.remember([Episode("The admin panel is no more.", id="plain", supersedes="e1")])
    assert [hit.id for hit in memory.recall(question, strategy=BY_WORDS)][:3] == ["plain", "e1", "e0"]
    memory.forget("plain")
    memory.remember([Episode("The admin panel is on port 7070.", id="other", supersedes="e1")])
    assert memory.recall(question)[0].id == "e1"


def test_reason_names_the_identifier(memory: Memory, remember: Callable[..., None]) -> None:
    remember("The mail catcher listens on port 9080.", "It is on port 8080.", *FILLERS)
    hit = memory.recall("Which mail catcher listens on port 8080?", strategy=BY_WORDS)[0]
    assert "has “8080”, which is asked for" in hit.reason
    assert ASKED_IDENTIFIER in [part.feature for part in hit.why.contributions]


def test_identifiers_of_title_heading_and_caption_are_indexed_and_those_of_the_speaker_are_not() -> None:
    node = sample_node("a", "text", title="PAY-1482", speaker="user_4711", heading="v2.3.1")
    node = replace(node, media=(Media("x.jpg", MediaKind.PICTURE, "the meter LMP-77"),))
    graph = apply_batch(Graph(), WriteBatch(nodes=(node,), analyses={"a": analyze(node)}, revision=1))
    for asked, is_held in (("PAY-1482", True), ("v2.3.1", True), ("LMP-77", True), ("user_4711", False)):
        (found,) = find_holders(graph, query_of(asked), all_eligible(graph))
        assert bool(len(found.whole)) == is_held


def test_analysis_has_the_words_first_and_identifiers_with_the_count_0() -> None:
    node = sample_node("a", "PAY-1482 costs 20 euros")
    analysis, (words, counts) = analyze(node), count_terms(extract_terms(node.text))
    assert analysis.term_hashes[: len(words)].tolist() == words.tolist()
    assert analysis.term_counts.tolist() == [*counts.tolist(), *[0] * (len(analysis.term_hashes) - len(words))]
    assert len(analysis.term_hashes) > len(words)
    assert analysis.length == int(counts.sum())


def test_forgetting_a_memory_forgets_its_identifiers(memory: Memory, remember: Callable[..., None]) -> None:
    remember("The panel is on port 8080.", "The catcher is on port 9080.")
    memory.forget("e0")
    graph = memory.graph()
    query = memory.build_query("What is on port 8080?")
    (found,) = find_holders(graph, query, graph.episodes)
    assert (found.whole.tolist(), len(found.look_alikes)) == ([], 1)
