"""Fact updates found by the cross-encoder: the scored pairs, their order, and the effect of the score."""

import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from ecphora import Episode, Memory
from ecphora.consolidation import plan
from ecphora.consolidation.facts import update_classifier
from ecphora.consolidation.facts.alignment import MAX_WINDOW_CHARS, statement_window
from ecphora.consolidation.facts.claims import MIN_SCORED_PAIRS
from ecphora.consolidation.facts.update_classifier import GATE_FEATURES, UpdateClassifier
from ecphora.consolidation.facts.update_finder import MIN_PENDING_CONFIDENCE, MIN_PENDING_WITH_RULE
from ecphora.errors import InvalidRecord
from ecphora.models.embedders.hashing import HashingEmbedder
from ecphora.models.update_scorer import E5UpdateScorer
from ecphora.retrieval.fusion import LinearModel
from ecphora.retrieval.validity import MIN_CONFIDENCE
from ecphora.testing import ConstantScorer, FakeClock

NOW = datetime(2027, 1, 1, tzinfo=UTC)
MIN_LOG_ODDS, MIN_PENDING_LOG_ODDS = (
    float(np.log(confidence / (1 - confidence))) for confidence in (MIN_CONFIDENCE, MIN_PENDING_CONFIDENCE)
)
LAKE = Episode(
    "The owner of the house by the lake is Marta now, she bought it.", "new", "Ana", "s2", "2026-05-03T10:00"
)
HILL = Episode("The house by the lake is owned by the old baker.", "old", "Ana", "s1", "2026-02-03T10:00")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "m.db"


def open_memory(path: Path, update_scorer: ConstantScorer) -> Memory:
    return Memory(path, embedder=HashingEmbedder(64), update_scorer=update_scorer, clock=FakeClock(NOW))


def superseding_ids(memory: Memory, id_: str) -> tuple[str, ...]:
    hits = [hit for hit in memory.recall("house by the lake", limit=9) if hit.id == id_]
    return hits[0].validity.superseded_by if hits and hits[0].validity else ()


@pytest.mark.medium
@pytest.mark.parametrize(("log_odds", "found"), [(12.0, ("new",)), (-12.0, ())])
def test_cross_encoder_decides_on_the_update(path: Path, log_odds: float, found: tuple[str, ...]) -> None:
    with open_memory(path, ConstantScorer(log_odds)) as memory:
        memory.remember([HILL, LAKE])
        memory.consolidate()
        assert superseding_ids(memory, "old") == found


def test_earlier_text_is_the_first_of_a_scored_pair(path: Path) -> None:
    update_scorer = ConstantScorer(12.0)
    with open_memory(path, update_scorer) as memory:
        memory.remember(LAKE)
        memory.consolidate()
        memory.remember(HILL)
        memory.consolidate()
        assert update_scorer.received_pairs == [(f"Ana: {HILL.text}", f"Ana: {LAKE.text}")]
        assert superseding_ids(memory, "old") == ("new",)


def test_text_without_a_speaker_is_scored_as_the_users(path: Path) -> None:
    """The scorer was trained on messages; without a name before it, it finds fewer changes."""
    update_scorer = ConstantScorer(12.0)
    with open_memory(path, update_scorer) as memory:
        memory.remember([replace(HILL, speaker=None), replace(LAKE, speaker=None)])
        memory.consolidate()
        assert update_scorer.received_pairs == [(f"user: {HILL.text}", f"user: {LAKE.text}")]


def test_texts_of_unknown_order_are_not_scored(path: Path) -> None:
    update_scorer = ConstantScorer(12.0)
    with open_memory(path, update_scorer) as memory:
        memory.remember([Episode(text.text, happened_at="2026-02-03") for text in (HILL, LAKE)])
        memory.consolidate()
        assert not update_scorer.received_pairs


def test_other_languages_are_scored(path: Path) -> None:
    update_scorer = ConstantScorer(12.0)
    with open_memory(path, update_scorer) as memory:
        memory.remember(
            Episode("Ich wohne in Lissabon am Fluss.", speaker="Ana", session="a", happened_at="2026-02-03")
        )
        memory.remember(
            Episode("Ich wohne jetzt in Porto am Fluss.", speaker="Ana", session="b", happened_at="2026-03-03")
        )
        memory.consolidate()
        assert update_scorer.received_pairs
        assert [update.confidence > 0.8 for update in memory.facts.updates()] == [True]


@pytest.mark.parametrize(
    ("bias", "count", "pending_count"),
    [
        (MIN_PENDING_LOG_ODDS - 0.01, 0, 0),
        (MIN_PENDING_LOG_ODDS + 0.01, 0, 1),
        (MIN_LOG_ODDS - 0.01, 0, 1),
        (MIN_LOG_ODDS + 0.01, 1, 0),
    ],
)
def test_classifier_decides_on_the_update(
    path: Path, monkeypatch: pytest.MonkeyPatch, bias: float, count: int, pending_count: int
) -> None:
    classifier = UpdateClassifier(update_classifier.load_update_classifier().gate, bias - 1.0, 0.5, 0.0)
    monkeypatch.setattr(plan, "load_update_classifier", lambda: classifier)
    with open_memory(path, ConstantScorer(2.0)) as memory:
        memory.remember(
            Episode("Unsere Miete kostet 900 € jeden Monat.", speaker="Ana", session="a", happened_at="2026-02-03")
        )
        memory.remember(
            Episode("Unsere Miete kostet 950 € jeden Monat.", speaker="Ana", session="b", happened_at="2026-03-03")
        )
        counts = memory.consolidate().counts
        assert (counts["supersedes"], counts["pending_updates"]) == (count, pending_count)
        assert len(memory.facts.updates()) == count
        assert len(memory.facts.updates(pending=True)) == pending_count


@pytest.mark.parametrize(
    ("texts", "confidence", "counts"),
    [
        (("I live in Lisbon.", "I moved to Porto."), MIN_PENDING_CONFIDENCE + 0.01, (1, 0)),
        (("I live in Lisbon.", "I moved to Porto."), MIN_PENDING_CONFIDENCE - 0.01, (0, 1)),
        (("I live in Lisbon.", "I moved to Porto."), MIN_PENDING_WITH_RULE - 0.01, (0, 0)),
        (("Ich wohne in Lissabon.", "Ich bin nach Porto gezogen."), MIN_PENDING_CONFIDENCE + 0.01, (0, 1)),
        (("Ich wohne in Lissabon.", "Ich bin nach Porto gezogen."), MIN_PENDING_WITH_RULE + 0.01, (0, 0)),
    ],
)
def test_certain_rule_needs_less_confidence(
    path: Path, texts: tuple[str, str], confidence: float, counts: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    classifier = UpdateClassifier(update_classifier.load_update_classifier().gate, 0.0, 1.0, 0.0)
    monkeypatch.setattr(plan, "load_update_classifier", lambda: classifier)
    with open_memory(path, ConstantScorer(float(np.log(confidence / (1 - confidence))))) as memory:
        for month, text in enumerate(texts, 1):
            memory.remember(text, speaker="Ana", session=f"s{month}", happened_at=f"2026-0{month}-03")
        memory.consolidate()
        found = [memory.facts.updates(pending=pending) for pending in (False, True)]
        assert tuple(map(len, found)) == counts
        assert all(update.new.text == texts[1] for part in found for update in part)


@pytest.mark.medium
def test_consolidation_scores_new_pairs_up_to_a_limit(path: Path) -> None:
    update_scorer = ConstantScorer(-12.0)
    start = datetime(2026, 1, 1, tzinfo=UTC)
    episodes = [
        Episode(f"My count of the {['red', 'blue', 'green'][n % 3]} birds in the garden is {n} today.", f"t{n}", "Ana",
                f"s{n // 9}", start + timedelta(hours=n))
        for n in range(150)
    ]  # fmt: skip
    with open_memory(path, update_scorer) as memory:
        memory.remember(episodes)
        memory.consolidate()
        assert len(update_scorer.received_pairs) == MIN_SCORED_PAIRS
        update_scorer.received_pairs.clear()
        memory.remember(Episode("My count of the red birds is 7.", "last", "Ana", "s99", "2026-09-01"))
        memory.consolidate()
        assert 0 < len(update_scorer.received_pairs) <= MIN_SCORED_PAIRS
        assert {later for _, later in update_scorer.received_pairs} == {"Ana: My count of the red birds is 7."}


class EmbedderWithFloor(HashingEmbedder):
    """An embedder whose unrelated texts have a cosine of .2."""

    similarity_floor = 0.2


def test_gate_reads_cosines_above_the_similarity_floor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cosines: list[float] = []

    def gate_log_odds(_classifier: UpdateClassifier, features: Mapping[str, Any]) -> NDArray[np.float64]:
        cosines.extend(features["cosine"])
        return np.zeros(len(features["cosine"]))

    monkeypatch.setattr(UpdateClassifier, "gate_log_odds", gate_log_odds)
    for number, embedder in enumerate((HashingEmbedder(64), EmbedderWithFloor(64))):
        with Memory(tmp_path / f"{number}.db", embedder=embedder, update_scorer=ConstantScorer(-12.0)) as memory:
            memory.remember([HILL, LAKE])
            memory.consolidate()
    plain, above_floor = cosines
    assert plain != 0
    assert above_floor == pytest.approx((plain - 0.2) / 0.8)


def test_statement_window_is_centered_in_a_long_text() -> None:
    statement = "I moved to Porto in May."
    text = "Talk. " * 200 + statement + " More." * 200
    window = statement_window(text, statement)
    assert statement in window
    assert len(window) == MAX_WINDOW_CHARS
    assert statement_window(statement, statement) == statement


def test_classifier_probability_follows_the_log_odds() -> None:
    classifier = UpdateClassifier(LinearModel(0.0, {}), -1.0, 0.5, 2.0)
    found = [classifier.probability(*values) for values in ((2.0, 0.0), (4.0, 0.0), (2.0, 0.25))]
    assert found == pytest.approx([0.5, 1 / (1 + np.exp(-1.0)), 1 / (1 + np.exp(-0.5))])
    assert classifier.gate_log_odds({name: np.ones(3) for name in GATE_FEATURES}) == pytest.approx(0.0)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        '{"gate": {"bias": 0, "features": {}}}',
        '{"gate": {"bias": 0, "features": {"luck": 1}}, "calibration": {"bias": 0, "score_weight": 1}}',
        '{"gate": {"bias": 0, "features": {}}, "calibration": {"bias": 0, "features": {}}}',
        "[]",
    ],
)
def test_invalid_classifier_weights_are_rejected(text: str) -> None:
    with pytest.raises(InvalidRecord, match="train_update_scorer"):
        update_classifier.parse_update_classifier(text)


def test_shipped_classifier_weights_name_their_training_data() -> None:
    found = json.loads((Path(update_classifier.__file__).parent / "update_classifier.json").read_text(encoding="utf-8"))
    assert set(found["provenance"]["sha256"]) >= {"changes.jsonl", "talks.changes.jsonl"}
    assert update_classifier.load_update_classifier().score_weight > 0


@pytest.mark.medium
@pytest.mark.parametrize(
    ("earlier", "update", "look_alike"),
    [
        (
            "Ana: I live in Lisbon by the river.",
            "Ana: I moved to Porto last week.",
            "Ana: We had a lovely day in Porto.",
        ),
        (
            "user: Ich wohne in Lissabon.",
            "user: Ich wohne jetzt in Porto.",
            "user: Mein Bruder ist nach Porto gezogen.",
        ),
        ("user: 会議は月曜です。", "user: 会議は火曜になりました。", "user: 娘のピアノは火曜になりました。"),
    ],
)
def test_update_scorer_distinguishes_a_move_from_a_look_alike(earlier: str, update: str, look_alike: str) -> None:
    moved, other = E5UpdateScorer().score([(earlier, update), (earlier, look_alike)])
    assert moved > 0 > other


@pytest.mark.medium
def test_update_scorer_gives_a_score_for_each_pair_in_order() -> None:
    pairs = [("I live by the river.", "I moved to Porto in May."), ("Ich wohne in Bonn.", "Ich wohne nun in Ulm.")]
    scorer = E5UpdateScorer()
    assert scorer.score(pairs).tolist() == [float(scorer.score([pair])[0]) for pair in pairs]
    assert scorer.score([]).tolist() == []


@pytest.mark.slow
def test_change_of_one_matter_ends_no_other(tmp_path: Path) -> None:
    """A scorer that never read unrelated messages let the last statement end nearly all of the others."""
    statements = (
        ("food", "My favourite food is ramen."),
        ("sister", "My sister Clara visits every Sunday."),
        ("rent", "I pay 850 pounds rent."),
        ("dog", "Our dog is called Biscuit, he's a beagle."),
        ("work", "I live in Leeds and work as a nurse at St James's."),
        ("standup", "Team standup is at 9:30 every morning."),
        ("new rent", "They put the rent up to 900."),
        ("new standup", "Standup moved to 10."),
        ("new food", "Honestly I've gone off ramen, pho is my thing these days."),
    )
    with Memory(tmp_path / "m.db", clock=FakeClock(NOW)) as memory:
        for month, (id_, text) in enumerate(statements, 1):
            memory.remember(text, id=id_, speaker="user", happened_at=f"2026-{month:02}-03")
        memory.consolidate()
        found = {(update.old.id, update.new.id) for update in memory.facts.updates()}
    assert found == {("food", "new food"), ("rent", "new rent"), ("standup", "new standup")}
