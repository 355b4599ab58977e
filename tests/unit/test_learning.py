"""Training on labeled sets, its evaluation, and the papers' open questions, on a small data set."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from ecphora.cli.learn import learn
from ecphora.errors import InvalidInput
from ecphora.maintenance.learn import embedding_cache, training_examples
from ecphora.maintenance.learn.datasets import Case, Question
from ecphora.maintenance.learn.embedding_cache import CachingEmbedder
from ecphora.maintenance.learn.fused_training import UNTRAINED, FusedExample, FusedModel, train
from ecphora.maintenance.learn.training_examples import (
    assign_folds,
    cross_validate,
    rank_examples,
    score_results,
    space_parts,
)
from ecphora.memory import Memory
from ecphora.model.types import Episode
from ecphora.models.embedders.hashing import HashingEmbedder
from ecphora.strategies.fused import weights
from ecphora.strategies.fused.reranking import RERANKING_FEATURES
from ecphora.strategies.fused.strategy import Fused
from ecphora_bench.ablation import charts
from ecphora_bench.commands import bench
from ecphora_bench.recall.run_records import Figure, Metric

pytestmark = pytest.mark.slow

STRATEGY_WORDS = [word for name in ("dense", "synapse", "weave", "fused") for word in ("--strategy", name)]
COLORS = ("red", "blue", "green", "white", "black", "brown", "amber", "violet")


def harbor_case(name: str, count: int = 8) -> Case:
    """Turns about ferries and their captains, by two speakers."""
    episodes = tuple(
        Episode(f"The {color} ferry belongs to Captain {color.title()}son.", f"{name}{n}",
                speaker=("Ada", "Bo")[n % 2], session=f"s{n // 4}", happened_at=f"2024-05-{n + 1:02}")
        for n, color in enumerate(COLORS[:count])
    )  # fmt: skip
    questions = tuple(
        Question(f"{name}q{n}", f"Who owns the {color} ferry?", "plain", frozenset({f"{name}{n}"}))
        for n, color in enumerate(COLORS[:count])
    )
    unanswerable = Question(f"{name}x", "Who plays the cello?", "none", is_answerable=False)
    return Case(name, episodes, (*questions, unanswerable))


CASES = [harbor_case("a"), harbor_case("b"), harbor_case("c")]


@pytest.fixture
def embedder(tmp_path: Path) -> Iterator[CachingEmbedder]:
    with CachingEmbedder(HashingEmbedder(64), tmp_path / "cache") as cached:
        yield cached


# ---- small parts


def test_space_part_has_as_many_answerable_as_unanswerable_questions() -> None:
    found = list(space_parts(CASES, 4))
    assert [(part.space, len(part.episodes), len(part.questions)) for part in found] == [
        (name, 4, 8) for name in ("a", "a", "b", "b", "c", "c")
    ]
    for part in found:
        ids = {episode.id for episode in part.episodes}
        answerable = [question for question in part.questions if question.is_answerable]
        unanswerable = [question for question in part.questions if not question.is_answerable]
        assert len(answerable) == len(unanswerable) == 4
        assert all(question.gold <= ids for question in answerable)
        assert {question.text for question in answerable}.isdisjoint(question.text for question in unanswerable)
        assert all(not question.gold for question in unanswerable)


def test_questions_with_evidence_in_two_parts_are_left_out() -> None:
    both = Question("q", "Which ferries are there?", "plain", frozenset({"a0", "a7"}))
    case = Case("a", CASES[0].episodes, (both, CASES[0].questions[0]))
    [part] = space_parts([case], 4)
    assert [question.id for question in part.questions] == ["aq0"]  # no other question has its evidence in one part


# ---- training examples and figures


def test_examples_of_a_data_set(embedder: CachingEmbedder) -> None:
    found = training_examples.dataset_examples(Memory, "ferries", CASES, embedder)
    full_spaces = [one for one in found if one.is_full_space]
    assert [(one.dataset, one.space, one.is_answerable) for one in full_spaces[:9]] == [("ferries", "a", True)] * 8 + [
        ("ferries", "a", False)
    ]
    assert {one.dataset for one in found if not one.is_full_space} == {
        f"ferries in parts of {size}" for size in training_examples.PART_SIZES
    }
    assert all(one.is_trainable for one in full_spaces if one.is_answerable)
    taught = train(found, UNTRAINED)
    score = score_results(rank_examples(found, taught))
    assert (score.questions, score.recall_at_5) == (27, 1.0)
    assert score.auroc is not None
    assert score.auroc > 0.9
    assert score_results(rank_examples(found, UNTRAINED)).recall_at_5 < 1


def test_cross_validation_trains_on_other_spaces(embedder: CachingEmbedder) -> None:
    found = [one for one in training_examples.dataset_examples(Memory, "ferries", CASES, embedder) if one.is_full_space]
    training_spaces: list[set[str]] = []

    def train(examples: list[FusedExample]) -> FusedModel:
        training_spaces.append({one.space for one in examples})
        return UNTRAINED

    assert len(cross_validate(found, train)) == len(found)
    assert training_spaces == [{"b", "c"}, {"a", "c"}, {"a", "b"}]
    assert set(assign_folds([one for one in found if one.space == "a"])) == set(range(training_examples.FOLDS))


# ---- the command


def write_dataset(folder: Path) -> Path:
    for part, lines in (
        ("docs", [{"space": case.space, "id": one.id, "text": one.text, "speaker": one.speaker,
                   "session": one.session, "time": one.happened_at} for case in CASES for one in case.episodes]),
        ("questions", [{"space": case.space, "id": one.id, "question": one.text, "evidence": sorted(one.gold),
                        "answerable": one.is_answerable, "category": "x"} for case in CASES for one in case.questions]),
    ):  # fmt: skip
        (folder / f"ferries.{part}.jsonl").write_text("\n".join(map(json.dumps, lines)), "utf-8")
    return folder


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ECPHORA_EMBEDDER", "hashing:64")
    monkeypatch.setattr(embedding_cache, "user_cache_dir", lambda name: str(tmp_path / "cache" / name))
    return write_dataset(tmp_path)


def test_learn_command_writes_weights(data: Path) -> None:
    target = data / "weights.json"
    words = ["--data", str(data), "--set", "ferries", "--out", str(target), "--json"]
    result = CliRunner().invoke(learn, words, catch_exceptions=False)
    assert json.loads(result.stdout)["ferries"]["cross_validation"]["recall_at_5"] == 1.0
    found = json.loads(target.read_text("utf-8"))
    assert found["provenance"]["questions"] == {"ferries": 27}
    assert found["provenance"]["built_upon"] == weights.load_fused_provenance()
    assert found["provenance"]["embedder"] == "hashing/64"
    assert found["provenance"]["command"] == "ecphora learn --data DATA --set ferries"
    assert "held_out" not in found["provenance"]["figures"]["ferries"]  # no other set has dialogue
    utterance, package = (
        weights.parse_fused_model(target.read_text("utf-8"))[0].utterance,
        weights.load_fused_model()[0].utterance,
    )
    assert utterance != package
    kept = {name: weight for name, weight in package.weights.items() if name in RERANKING_FEATURES}
    assert kept  # the questions are learned from without a reranker
    assert {name: utterance.weights[name] for name in kept} == kept


def test_learn_command_trains_one_genre(data: Path) -> None:
    target = data / "weights.json"
    words = ["--data", str(data), "--set", "ferries", "--genre", "utterance", "--out", str(target), "--json"]
    CliRunner().invoke(learn, words, catch_exceptions=False)
    text = target.read_text("utf-8")
    found, package = FusedModel(*weights.parse_fused_model(text)), FusedModel(*weights.load_fused_model())
    assert found.ranker.utterance != package.ranker.utterance
    assert replace(found, ranker=replace(found.ranker, utterance=package.ranker.utterance)) == package
    assert json.loads(text)["provenance"]["command"] == "ecphora learn --data DATA --set ferries --genre utterance"


def test_learn_command_knows_the_genres(data: Path) -> None:
    words = ["--data", str(data), "--set", "ferries", "--out", str(data / "weights.json")]
    result = CliRunner().invoke(learn, [*words, "--genre", "note"])
    assert result.exit_code == 2
    assert "'utterance', 'statement', 'passage', 'long turn'" in " ".join(result.output.split())


def test_learn_command_keeps_the_weights_for_other_genres(data: Path) -> None:
    target = data / "weights.json"
    words = ["--data", str(data), "--set", "ferries", "--genre", "statement", "--out", str(target)]
    CliRunner().invoke(learn, [*words, "--no-cross-validation"], catch_exceptions=False)
    assert weights.parse_fused_model(target.read_text("utf-8")) == weights.load_fused_model()  # all are utterances


def test_learn_command_rejects_an_unknown_set(data: Path) -> None:
    words = ["--data", str(data), "--set", "boats", "--out", str(data / "weights.json")]
    with pytest.raises(InvalidInput, match=r"no set 'boats' .*there are: ferries"):
        CliRunner().invoke(learn, words, catch_exceptions=False)
    assert not (data / "weights.json").exists()


def test_learn_command_uses_the_feedback_of_a_memory(data: Path) -> None:
    target, db = data / "weights.json", data / "m.db"
    run = CliRunner()
    with Memory(db, embedder=HashingEmbedder(64)) as memory:
        memory.remember(CASES[0].episodes)
        assert "nothing to learn from" in str(
            run.invoke(learn, ["--db", str(db), "--out", str(target), "--no-cross-validation"]).exception
        )
        for question in CASES[0].questions[:6]:
            found = memory.recall(question.text)
            memory.feedback(found, [hit.id for hit in found if hit.id in question.gold])
        run.invoke(learn, ["--db", str(db), "--out", str(target), "--no-cross-validation"], catch_exceptions=False)
    written_ = json.loads(target.read_text("utf-8"))
    assert written_["provenance"]["questions"] == {"feedback": 6}
    ranker, answerability = weights.parse_fused_model(target.read_text("utf-8"))
    assert ranker.utterance != weights.load_fused_model()[0].utterance
    assert answerability == weights.load_fused_model()[1]  # feedback does not train the answerability model
    with Memory(db, embedder=HashingEmbedder(64), strategy=Fused(ranker, answerability)) as memory:
        assert memory.recall(CASES[0].questions[7].text)[0].id == "a7"


def test_learn_command_learns_no_order_from_a_single_memory(data: Path) -> None:
    target, db = data / "weights.json", data / "m.db"
    with Memory(db, embedder=HashingEmbedder(64)) as memory:
        memory.remember("Ana lives in Porto.")
        recollection = memory.recall("Where does Ana live?")
        memory.feedback(recollection, [hit.id for hit in recollection])
    arguments = ["--db", str(db), "--out", str(target), "--no-cross-validation"]
    CliRunner().invoke(learn, arguments, catch_exceptions=False)
    assert weights.parse_fused_model(target.read_text("utf-8"))[0] == weights.load_fused_model()[0]


def test_learn_command_needs_a_source(data: Path) -> None:
    for words in ([], ["--data", str(data)], ["--set", "ferries"]):
        result = CliRunner().invoke(learn, [*words, "--out", str(data / "weights.json")])
        assert result.exit_code == 2
        assert "give something to learn from" in result.output


def test_open_questions_command_and_draw_write_pictures(data: Path) -> None:
    lines, pictures = data / "open.jsonl", data / "pictures"
    pictures.mkdir()
    run = CliRunner()
    words = ["open-questions", "--data", str(data), "--set", "ferries", "--spaces", "2", "--json", str(lines)]
    shown = run.invoke(bench, [*words, *STRATEGY_WORDS], catch_exceptions=False).stdout
    for title in (
        "names lost",
        "names merged",
        "memories",
        "other spaces",
        "precision",
        "hit_tokens",
        "tunneling, by inhibition",
    ):
        assert title in shown
    figures = [json.loads(line) for line in lines.read_text("utf-8").splitlines()[1:]]
    assert {figure["strategy"] for figure in figures} == {"dense", "synapse", "weave", "fused"}
    assert {figure["category"] for figure in figures} >= {"memories 4", "names false 10%", "other spaces 1"}
    [own, two] = (
        next(f["n"] for f in figures if f["category"] == category) for category in ("other spaces 0", "other spaces 1")
    )
    assert own == two == 16  # the questions of two spaces of three
    part = run.invoke(bench, [*words[:-2], *STRATEGY_WORDS, "--part", "recall"], catch_exceptions=False).stdout
    assert "@10" in part
    assert "names lost" not in part
    more = data / "recall.jsonl"
    words = ["recall", "--data", str(data), "--set", "ferries", "--strategy", "fused", "--json", str(more)]
    run.invoke(bench, words, catch_exceptions=False)
    printed = run.invoke(bench, ["draw", str(lines), str(more), "--out", str(pictures)], catch_exceptions=False).stdout
    assert [line.rsplit("/", 1)[1] for line in printed.splitlines()] == ["growth.svg", "names.svg", "reliability.svg"]
    assert "ferries: recall@5" in (pictures / "growth.svg").read_text("utf-8")
    assert "ferries: answer there, by confidence" in (pictures / "reliability.svg").read_text("utf-8")


def test_reliability_chart_has_a_line_per_strategy_and_a_point_per_bin() -> None:
    points = [
        Figure("s", strategy, "all", Metric.RELIABILITY, k, 1, value, value, value, secondary_value=mean)
        for strategy in ("fused", "dense")
        for k, (mean, value) in enumerate([(0.05, 0.0), (0.15, 0.5)])
    ]
    [(name, picture)] = charts.svg_files(points).items()
    assert name == "reliability.svg"
    assert picture.count("<circle") == 4
    assert picture.count(">dense</text>") == picture.count(">fused</text>") == 1
