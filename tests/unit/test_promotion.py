"""After a change was found: which questions the new statement comes first for, and which leave the old one first."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from ecphora import Episode, Memory, MiniLMEmbedder
from ecphora.consolidation.facts.topic_extraction import StatementInContext, extract_topic
from ecphora.embedders.hashing import HashingEmbedder
from ecphora.language.clauses import clauses
from ecphora.language.statements import statements
from ecphora.model import Kind
from ecphora.ports import Embedder
from ecphora.stages.fused import promotion
from ecphora.testing import FakeClock

NOW = datetime(2027, 1, 1, tzinfo=UTC)
START = datetime(2026, 3, 1, 9, tzinfo=UTC)
CASES = {  # what was told, what replaced a part of it, a question about that, and one about the rest
    "home": (
        "I live in Lisbon and have two cats.",
        "I moved to Porto.",
        "Where does Ana live?",
        "How many cats does Ana have?",
    ),
    "date": (
        "The kite festival is on 4 June, and Tom's brother brings the tents.",
        "They had to put the festival off by a week, so it's on the 11th.",
        "When is the kite festival?",
        "Who brings the tents?",
    ),
    "person": (
        "My doctor is Dr Wu, and my barber is Mr Bell on the High Street.",
        "Dr Wu has left the practice, so I see Dr Amin when I'm ill.",
        "Who is Ana's doctor?",
        "Who is Ana's barber?",
    ),
    "amount": (
        "A ticket costs 4 euros. The museum is free for students, and they sell good postcards.",
        "They charge 6 euros since the summer.",
        "How much is a ticket?",
        "What do they sell at the museum?",
    ),
    "other words": (
        "Black tea for me, nothing in it. The kettle is a present from Tom.",
        "My stomach has won: I take mine with oat milk these days.",
        "How does Ana drink her tea?",
        "Who gave Ana the kettle?",
    ),
}


class Believing:
    """A cross-encoder that takes some pairs of texts for a change, and no other."""

    name = "believing"

    def __init__(self, *pairs: tuple[str, str]) -> None:
        self._pairs = {(f"Ana: {old}", f"Ana: {new}") for old, new in pairs}

    def score(self, pairs: Sequence[tuple[str, str]], /) -> NDArray[np.float64]:
        return np.array([12.0 if pair in self._pairs else -12.0 for pair in pairs], np.float64)


@pytest.fixture(scope="module")
def embedder() -> MiniLMEmbedder:
    return MiniLMEmbedder()


def told(path: Path, embedder: Embedder, texts: Sequence[str], changes: Sequence[tuple[int, int]]) -> Memory:
    """A memory of what Ana told every forty days, in which the later of some pairs are taken to replace the earlier."""
    comparer = Believing(*((texts[old], texts[new]) for old, new in changes))
    memory = Memory(path, embedder=embedder, update_scorer=comparer, clock=FakeClock(NOW))
    memory.remember(
        [
            Episode(text, f"m{place}", "Ana", f"s{place}", START + timedelta(days=40 * place))
            for place, text in enumerate(texts)
        ]
    )
    memory.consolidate()
    return memory


def first(memory: Memory, question: str, **when: object) -> str:
    return memory.recall(question, log_access=False, **when)[0].id  # type: ignore[arg-type]


@pytest.mark.parametrize("name", CASES)
def test_the_new_comes_first_for_its_matter_and_the_old_for_the_rest(
    tmp_path: Path, embedder: MiniLMEmbedder, name: str
) -> None:
    old, new, changed, kept = CASES[name]
    with told(tmp_path / "m.db", embedder, ["The lilac is out.", old, new], [(1, 2)]) as memory:
        assert [(change.old.id, change.new.id) for change in memory.facts.updates()] == [("m1", "m2")]
        assert first(memory, changed) == "m2"
        assert first(memory, kept) == "m1"


def test_for_a_time_that_is_past_what_held_then_comes_first(tmp_path: Path, embedder: MiniLMEmbedder) -> None:
    old, new, changed, _ = CASES["home"]
    with told(tmp_path / "m.db", embedder, [old, new], [(0, 1)]) as memory:
        assert first(memory, changed) == "m1"
        assert first(memory, changed, as_of="2026-03-20") == "m0"
        assert first(memory, "Where did Ana live in March 2026?") == "m0"


def test_what_changed_twice_is_followed_to_the_last(tmp_path: Path, embedder: MiniLMEmbedder) -> None:
    texts = ["I live in Lisbon.", "I moved to Porto.", "Boxes everywhere, we got the keys in Braga on Monday."]
    with told(tmp_path / "m.db", embedder, texts, [(0, 1), (1, 2)]) as memory:
        assert [hit.id for hit in memory.recall("Where does Ana live?")][:3] == ["m2", "m1", "m0"]


def test_of_two_that_replace_one_the_later_comes_first(tmp_path: Path, embedder: MiniLMEmbedder) -> None:
    texts = ["The call with Porto is on Mondays.", "We call them on Wednesdays.", "We call them on Fridays."]
    with told(tmp_path / "m.db", embedder, texts, [(0, 1), (0, 2)]) as memory:
        assert [hit.id for hit in memory.recall("When is the call with Porto?")][:2] == ["m2", "m1"]


def test_what_no_question_reaches_by_itself_is_led_to(tmp_path: Path) -> None:
    texts = ["The boat race starts at the mill.", "Zuzana shifted the start by the weir."]
    with told(tmp_path / "m.db", HashingEmbedder(64), texts, [(0, 1)]) as memory:
        graph, cue = memory.graph(), memory.build_query("Where will the boat race be?")
        old, new = (graph.row(id_) for id_ in ("m0", "m1"))
        scores = graph.zeros()
        scores[old] = 5.0
        gained, trail = promotion.promote_current(graph, cue, scores, graph.episodes)
        assert gained[new] > 5.0
        assert gained[old] == 0.0
        assert trail.parent[new] == old
        gained, _ = promotion.promote_current(graph, cue, graph.zeros(), graph.episodes)
        assert not gained.any()  # where the old one does not come back, nothing does for it


def test_what_is_forgotten_leaves_no_word_in_the_claims_of_others(tmp_path: Path, embedder: MiniLMEmbedder) -> None:
    old, new, *_ = CASES["home"]
    with told(tmp_path / "m.db", embedder, [old, new], [(0, 1)]) as memory:
        memory.forget("m0")
        graph = memory.graph()
        claims = np.flatnonzero(graph.of_kind(Kind.CLAIM)).tolist()
        held = " ".join(str(graph.nodes["metadata"][row]) for row in claims)
        assert claims
        assert "cat" not in held
        assert "lisbon" not in held


# ---- clauses


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("I live in Lisbon and have two cats.", ["I live in Lisbon", "have two cats."]),
        ("My sister Nora and her husband moved.", ["My sister Nora and her husband moved."]),
        ("Minh and Georgia are engaged.", ["Minh and Georgia are engaged."]),
        ("Viva fixed: 17 June, two o'clock.", ["Viva fixed: 17 June", "two o'clock."]),
        ("He sees Dr. Wu. She doesn't.", ["He sees Dr. Wu.", "She doesn't."]),
        ("", []),
        ("and, and, ,", ["and", "and", ","]),
    ],
)
def test_clauses_say_something_each(text: str, parts: list[str]) -> None:
    assert [clause.text for clause in clauses(text)] == parts


def side(text: str) -> StatementInContext:
    return StatementInContext(text, next(statements(text, "Ana", START)))


def test_a_claim_is_about_the_clause_that_fits_the_other(embedder: MiniLMEmbedder) -> None:
    old, new, *_ = CASES["home"]
    seen = extract_topic(side(old), side(new), embedder.embed)
    assert "live" in seen.terms
    assert seen.off_topic_terms == frozenset({"cat"})
    assert not {"lisbon", "porto"} & seen.terms  # the values in which both differ


def test_without_an_embedder_the_whole_statement_is_the_matter() -> None:
    old, new, *_ = CASES["home"]
    seen = extract_topic(side(old), side(new))
    assert {"live", "cat"} <= seen.terms
    assert seen.off_topic_terms == frozenset()


def test_what_stands_far_from_the_statement_is_beside_it(embedder: MiniLMEmbedder) -> None:
    old = "I live in Lisbon. " + "The weather was fine again today. " * 12 + "The gearbox broke."
    seen = extract_topic(side(old), side("I moved to Porto."), embedder.embed)
    assert seen.off_topic_terms is not None
    assert {"gearbox", "weather"} <= seen.off_topic_terms
