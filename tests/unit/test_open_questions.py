"""Open questions of the papers: noise of extraction, what more hits cost, other memories, and tunneling."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ecphora.maintenance.learn.datasets import Case, Question
from ecphora.maintenance.learn.embedding_cache import CachingEmbedder
from ecphora.model.ports import Activation
from ecphora.model.types import Episode, Extraction, Link, Mention
from ecphora.models.embedders.hashing import HashingEmbedder
from ecphora.retrieval.fusion import LinearModel
from ecphora.strategies import resolve_strategy
from ecphora.strategies.fused.feature_matrix import Genre
from ecphora.strategies.fused.ranker import Ranker
from ecphora.strategies.fused.strategy import Fused
from ecphora.strategies.synapse.strategy import Synapse
from ecphora_bench.ablation import open_question_tables, over_retrieval, tunneling_metrics
from ecphora_bench.ablation.ablation_run import QuestionResult
from ecphora_bench.ablation.extraction_noise import Noise, NoisyExtractor
from ecphora_bench.ablation.strategy_results import StrategyResults, build_spaces, ranked_questions
from ecphora_bench.recall.run_records import ANSWERABLE, Figure, Metric

NAMES = tuple(f"Name{letter}" for letter in "abcdefghij")


class WordExtractor:
    """Takes every word for a name."""

    def extract(self, texts: Sequence[str], /) -> list[Extraction]:
        return [Extraction(tuple(map(Mention, text.split()))) for text in texts]


def noisy(noise: Noise, rate: float, seed: int = 0) -> NoisyExtractor:
    return NoisyExtractor(WordExtractor(), noise, rate, NAMES, seed)


def names_of(extractor: NoisyExtractor, *texts: str) -> list[list[str]]:
    return [[mention.name for mention in extraction.mentions] for extraction in extractor.extract(texts)]


@pytest.fixture
def embedder(tmp_path: Path) -> Iterator[CachingEmbedder]:
    with CachingEmbedder(HashingEmbedder(64), tmp_path / "cache") as cached:
        yield cached


def case(name: str, *texts: str) -> Case:
    episodes = tuple(Episode(text, id=f"{name}{n}", session="s") for n, text in enumerate(texts))
    questions = tuple(Question(f"{name}q{n}", one, "plain", frozenset({f"{name}{n}"})) for n, one in enumerate(texts))
    return Case(name, episodes, questions)


# ---- noise

texts = st.lists(st.lists(st.sampled_from(NAMES), min_size=1, unique=True).map(" ".join), min_size=1, max_size=5)
noises = st.sampled_from(Noise)


@given(texts, noises)
def test_noise_of_rate_0_changes_nothing(texts: list[str], noise: Noise) -> None:
    assert names_of(noisy(noise, 0.0), *texts) == [text.split() for text in texts]


@given(texts, noises, st.floats(0, 1), st.integers(0, 3))
def test_noise_does_not_depend_on_the_batch(texts: list[str], noise: Noise, rate: float, seed: int) -> None:
    extractor = noisy(noise, rate, seed)
    assert names_of(extractor, *texts) == [names_of(extractor, text)[0] for text in texts]


@pytest.mark.medium
@given(texts, st.floats(0, 1), st.floats(0, 1))
def test_lost_names_stay_lost_at_a_higher_rate(texts: list[str], one: float, other: float) -> None:
    low, high = sorted((one, other))
    pairs = zip(names_of(noisy(Noise.LOST, low), *texts), names_of(noisy(Noise.LOST, high), *texts), strict=True)
    for more, fewer in pairs:
        assert [name for name in more if name in fewer] == fewer


@pytest.mark.medium
@given(texts, noises)
def test_noise_of_rate_1_leaves_no_mention_as_it_was(texts: list[str], noise: Noise) -> None:
    for text, found in zip(texts, names_of(noisy(noise, 1.0), *texts), strict=True):
        if noise is Noise.LOST:
            assert found == []
        else:
            assert 0 < len(found) <= len(text.split())
            assert set(found) <= set(NAMES)
        for name in text.split():
            assert [name] != names_of(noisy(noise, 1.0), name)[0]


@given(st.floats(0, 1), st.sampled_from(NAMES))
def test_merged_name_is_the_same_in_every_text(rate: float, name: str) -> None:
    extractor = noisy(Noise.MERGED, rate)
    [alone], [beside] = names_of(extractor, name), names_of(extractor, f"{name} Else")
    assert alone == beside[:1]


@pytest.mark.medium
def test_noise_spoils_about_as_many_mentions_as_its_rate_says() -> None:
    lines = [f"{name} {n}" for name in NAMES for n in range(80)]
    for noise in (Noise.LOST, Noise.FALSE):
        kept = sum(
            line.split()[0] in found for line, found in zip(lines, names_of(noisy(noise, 0.3), *lines), strict=True)
        )
        assert kept / len(lines) == pytest.approx(0.7, abs=0.05)
    assert names_of(noisy(Noise.FALSE, 0.5, seed=1), *lines) != names_of(noisy(Noise.FALSE, 0.5, seed=2), *lines)


def test_noise_keeps_a_name_without_another() -> None:
    alone = NoisyExtractor(WordExtractor(), Noise.FALSE, 1.0, ("Ana",))
    assert names_of(alone, "Ana") == [["Ana"]]


@pytest.mark.medium
def test_extractor_of_a_case_fills_its_memory(embedder: CachingEmbedder) -> None:
    one, dense = case("a", "Ana met Bo in Porto.", "Bo met Ana."), resolve_strategy("dense")
    counts = []
    for rate in (0.0, 1.0):
        [space] = build_spaces([one], [dense], embedder, [noisy(Noise.LOST, rate)])["dense"]
        counts.append(int(space.graph.has_link(Link.MENTIONS).sum()))
    assert counts[0] > 0
    assert counts[1] == 0


# ---- other memories, and limits


def test_joined_space_has_its_own_questions_and_the_memories_of_the_next() -> None:
    cases = [case("a", "x", "y"), case("b", "z"), case("c", "v")]
    joined = over_retrieval.join_spaces(cases, 2, 2)
    assert [episode.id for episode in joined.episodes] == ["c0", "a/a0", "a/a1", "b/b0"]
    assert [episode.session for episode in joined.episodes] == ["s", "a/s", "a/s", "b/s"]
    assert (joined.space, joined.questions) == ("c", cases[2].questions)


@pytest.mark.medium
def test_limit_figures_give_the_share_of_gold_and_the_tokens(embedder: CachingEmbedder) -> None:
    bm25 = resolve_strategy("bm25")
    spaces = build_spaces([case("a", "red harbor", "blue harbor", "green valley")], [bm25], embedder)
    figures = {(one.metric, one.k): one.value for one in over_retrieval.limit_figures("s", spaces, [bm25])}
    # two of the three questions bring back two documents, one of them gold; the third brings back its own alone
    assert figures[Metric.PRECISION, 5] == pytest.approx((1 / 2 + 1 / 2 + 1) / 3)
    assert figures[Metric.HIT_TOKENS, 5] == pytest.approx((6 + 6 + 3) / 3)


def test_equal_recall_counts_the_documents_for_the_recall_of_the_best_baseline() -> None:
    def ranked(*ranks: float) -> list[QuestionResult]:
        return [QuestionResult((rank,), 0.0, 0, 0) for rank in ranks]

    found = StrategyResults({"dense": ranked(1, 8), "bm25": ranked(90, 90), "fused": ranked(2, 3)})
    figures = {one.strategy: one for one in over_retrieval.equal_recall_figures("s", found)}
    assert {name: one.value for name, one in figures.items()} == {"dense": 8, "bm25": 61, "fused": 3}
    assert figures["fused"].category == "documents for recall 1.000"


def test_difference_is_paired_by_question() -> None:
    def results(*ranks: float) -> StrategyResults:
        return StrategyResults({"dense": [QuestionResult((rank,), 0.0, 0, 0) for rank in ranks]})

    [figure] = results(9, 1, 9, 1).recall_figures("s", "names lost 10%", 5, reference=results(1, 1, 9, 1))
    assert figure.value == pytest.approx(0.5)
    assert figure.difference is not None
    assert figure.difference.value == pytest.approx(-0.25)
    assert figure.difference.low <= -0.25 <= figure.difference.high


# ---- tunneling


def test_missing_share_is_that_of_anchors_that_are_no_result() -> None:
    assert tunneling_metrics.missing_share(np.array([0, 1, 2, 3]), np.array([1, 7])) == 0.75
    assert tunneling_metrics.missing_share(np.empty(0, np.intp), np.array([1])) == 0


def test_contribution_index_counts_anchors_that_lose_more_than_half() -> None:
    scores = np.array([1, 3, 1, 4], np.float32)
    inhibition = np.array([-2, -1, -2, 0], np.float32)
    activation = Activation(scores, {"redundancy": inhibition})
    anchors = np.arange(4)
    assert tunneling_metrics.contribution_index(anchors, np.array([2, 3]), activation) == 0.25  # row 0 alone
    assert tunneling_metrics.contribution_index(anchors, np.array([3]), activation) == 0.5
    assert tunneling_metrics.contribution_index(anchors, np.array([3]), Activation(scores)) == 0


@pytest.mark.medium
def test_fused_without_inhibition_scores_without_its_redundancy(embedder: CachingEmbedder) -> None:
    model = LinearModel(-3.0, {"bm25": 1.0, "redundancy": -2.0})
    fused = Fused(Ranker(*[model] * len(Genre)))
    [space] = build_spaces([case("a", "red harbor", "red harbor boats", "green valley")], [fused], embedder)["fused"]
    query = space.queries[0]
    found, off = fused.activate(query, space.graph), tunneling_metrics.InhibitionOff(fused).activate(query, space.graph)
    lowered = found.contributions["redundancy"]
    assert lowered.any()
    active = found.scores > 0
    assert off.scores[active] == pytest.approx(np.maximum(0, found.scores - lowered)[active])
    assert not off.scores[~active].any()


@pytest.mark.medium
def test_synapse_without_inhibition_has_no_tunneling(embedder: CachingEmbedder) -> None:
    lines = [f"the harbor of {name} has {n} boats and ferries" for n, name in enumerate(NAMES * 5)]
    narrow = Synapse(top_k=1, beta=5.0, protect_anchors=False)
    [space] = build_spaces([case("a", *lines)], [narrow], embedder)["synapse"]
    indices = [
        [one.tunneling_index(space.queries[number], space.graph) for _, number in ranked_questions([space])]
        for one in (narrow, Synapse(top_k=1, beta=0.0))
    ]
    assert max(indices[0]) > 0
    assert max(indices[1]) == 0
    labels = [label for label, _ in tunneling_metrics.conditions(Synapse())]
    assert labels == ["inhibition on", "inhibition without remedy", "inhibition off"]


# ---- tables


def test_figures_have_a_table_and_a_column() -> None:
    def place(category: str, metric: Metric, k: int | None) -> tuple[str, str]:
        return open_question_tables.title_and_column(Figure("s", "dense", category, metric, k, 1, 0.5, 0, 1))

    assert place(ANSWERABLE, Metric.RECALL, 5) == ("recall", "@5")
    assert place("names lost 10%", Metric.RECALL, 5) == ("recall@5, names lost", "10%")
    assert place("inhibition off", Metric.RECALL, 10) == ("recall@10, by inhibition", "inhibition off")
    assert place("low similarity", Metric.LOSS, 30) == ("low similarity", "loss@30")
