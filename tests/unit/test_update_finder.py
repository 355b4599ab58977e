"""Changes of fact by a close reading: what is read, which way round, and what its score does."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

from ecphora import Episode, Memory, weights
from ecphora.consolidation.facts.alignment import MAX_WINDOW_CHARS, statement_window
from ecphora.consolidation.facts.claims import MIN_SCORED_PAIRS
from ecphora.consolidation.facts.judge import GATE_FEATURES, JUDGE_FEATURES, UpdateJudge
from ecphora.embedders.hashing import HashingEmbedder
from ecphora.errors import InvalidRecord
from ecphora.language.terms import is_english
from ecphora.stages.retrieval.linear import LinearModel
from ecphora.testing import ConstantScorer, FakeClock
from ecphora.update_scorers.minilm_lora import ADAPTED_MATRICES, Adapters, MiniLMUpdateScorer
from ecphora.weights import former_names

NOW = datetime(2027, 1, 1, tzinfo=UTC)
LAKE = Episode(
    "The owner of the house by the lake is Marta now, she bought it.", "new", "Ana", "s2", "2026-05-03T10:00"
)
HILL = Episode("The house by the lake is owned by the old baker.", "old", "Ana", "s1", "2026-02-03T10:00")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "m.db"


def memory(path: Path, comparer: ConstantScorer) -> Memory:
    return Memory(path, embedder=HashingEmbedder(64), update_scorer=comparer, clock=FakeClock(NOW))


def replaced(memory: Memory, id_: str) -> tuple[str, ...]:
    hits = [hit for hit in memory.recall("house by the lake", limit=9) if hit.id == id_]
    return hits[0].validity.superseded_by if hits and hits[0].validity else ()


@pytest.mark.parametrize(("odds", "found"), [(12.0, ("new",)), (-12.0, ())])
def test_what_is_read_decides(path: Path, odds: float, found: tuple[str, ...]) -> None:
    with memory(path, ConstantScorer(odds)) as one:
        one.remember([HILL, LAKE])
        one.consolidate()
        assert replaced(one, "old") == found


def test_the_earlier_is_read_first_even_if_it_is_told_last(path: Path) -> None:
    comparer = ConstantScorer(12.0)
    with memory(path, comparer) as one:
        one.remember(LAKE)
        one.consolidate()
        one.remember(HILL)
        one.consolidate()
        assert comparer.received_pairs == [(f"Ana: {HILL.text}", f"Ana: {LAKE.text}")]
        assert replaced(one, "old") == ("new",)


def test_without_a_known_order_nothing_is_read(path: Path) -> None:
    comparer = ConstantScorer(12.0)
    with memory(path, comparer) as one:
        one.remember([Episode(text.text, happened_at="2026-02-03") for text in (HILL, LAKE)])
        one.consolidate()
        assert not comparer.received_pairs


def test_other_languages_are_not_read(path: Path) -> None:
    comparer = ConstantScorer(12.0)
    with memory(path, comparer) as one:
        one.remember(Episode("Ich wohne in Lissabon am Fluss.", speaker="Ana", session="a", happened_at="2026-02-03"))
        one.remember(
            Episode("Ich wohne jetzt in Porto am Fluss.", speaker="Ana", session="b", happened_at="2026-03-03")
        )
        one.consolidate()
        assert not comparer.received_pairs


def test_a_night_reads_what_is_new_and_no_more_than_its_share(path: Path) -> None:
    comparer = ConstantScorer(-12.0)
    start = datetime(2026, 1, 1, tzinfo=UTC)
    told = [
        Episode(f"My count of the {['red', 'blue', 'green'][n % 3]} birds in the garden is {n} today.", f"t{n}", "Ana",
                f"s{n // 9}", start + timedelta(hours=n))
        for n in range(150)
    ]  # fmt: skip
    with memory(path, comparer) as one:
        one.remember(told)
        one.consolidate()
        assert len(comparer.received_pairs) == MIN_SCORED_PAIRS
        comparer.received_pairs.clear()
        one.remember(Episode("My count of the red birds is 7.", "last", "Ana", "s99", "2026-09-01"))
        one.consolidate()
        assert 0 < len(comparer.received_pairs) <= MIN_SCORED_PAIRS
        assert {later for _, later in comparer.received_pairs} == {"Ana: My count of the red birds is 7."}


def test_a_long_text_is_read_around_its_statement() -> None:
    statement = "I moved to Porto in May."
    text = "Talk. " * 200 + statement + " More." * 200
    shown = statement_window(text, statement, "Ana")
    assert shown.startswith("Ana: ")
    assert statement in shown
    assert len(shown) == MAX_WINDOW_CHARS + len("Ana: ")
    assert statement_window(statement, statement, None) == statement


def test_english_is_told_from_its_neighbours() -> None:
    assert is_english("I live in Lisbon. The movers are at our place in Porto now.")
    assert not is_english("Ich wohne jetzt in Berlin. Seit gestern bin ich in Hamburg, das war ein Umzug!")
    assert not is_english("Vivo en Madrid. Ahora me mudo a Sevilla con mi hermana.")
    assert not is_english("我住在里斯本。我搬到波尔图了。")


def test_the_judge_is_as_sure_as_the_odds_say() -> None:
    judge = UpdateJudge(LinearModel(0.0, {}), LinearModel(-1.0, {"cross-encoder log-odds": 0.5}))
    assert judge.probability(dict.fromkeys(JUDGE_FEATURES, 0.0) | {"cross-encoder log-odds": 2.0}) == pytest.approx(0.5)
    assert judge.gate_log_odds({name: np.ones(3) for name in GATE_FEATURES}) == pytest.approx(0.0)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        '{"gate": {"bias": 0, "features": {}}}',
        '{"gate": {"bias": 0, "features": {"luck": 1}}, "judge": {}}',
        "[]",
    ],
)
def test_weights_that_are_none_say_so(text: str) -> None:
    with pytest.raises(InvalidRecord, match="train_update_scorer"):
        weights.parse_update_judge(text)


def test_update_judge_weights_with_former_names_load() -> None:
    found = json.loads((Path(weights.__file__).parent / "update_judge.json").read_text(encoding="utf-8"))
    former_by_name = {name: former for former, name in former_names.UPDATE_FEATURES.items()}
    former = {
        part: {
            "bias": found[part]["bias"],
            "signs": {former_by_name[name]: weight for name, weight in found[part]["features"].items()},
        }
        for part in ("gate", "judge")
    }
    assert {*former_by_name} == {*GATE_FEATURES, *JUDGE_FEATURES}
    assert {"alike", "asks", "promise"} <= former["gate"]["signs"].keys() | former["judge"]["signs"].keys()
    assert weights.parse_update_judge(json.dumps(former)) == weights.load_update_judge()


def test_what_ships_names_its_lessons() -> None:
    found = json.loads((Path(weights.__file__).parent / "update_judge.json").read_text(encoding="utf-8"))
    assert set(found["provenance"]["sha256"]) >= {"changes.jsonl", "talks.changes.jsonl"}
    assert weights.load_update_judge().judge.weights["cross-encoder log-odds"] > 0


def test_adapters_survive_being_packed() -> None:
    half = np.ones((2, 2), np.float16)
    adapters = Adapters(dict.fromkeys(ADAPTED_MATRICES, (half, half)), np.zeros(8, np.float16), 0.5)
    again = Adapters.from_bytes(adapters.to_bytes())
    assert again.bias == 0.5
    np.testing.assert_array_equal(again.matrices["5.out"][1], half)
    for broken in (b"", b"PK", adapters.to_bytes()[:-60]):
        with pytest.raises(InvalidRecord, match="train_update_scorer"):
            Adapters.from_bytes(broken)


def test_it_knows_a_move_from_a_visit() -> None:
    lives = "Ana: I live in Lisbon, five minutes from the river."
    moved, visited = MiniLMUpdateScorer().score(
        [(lives, "Ana: I moved to Porto last week."), (lives, "Ana: We had a lovely weekend in Porto.")]
    )
    assert moved > 0 > visited
