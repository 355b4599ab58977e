"""Ablations: who is asked from which memory, and what is made of the answers, against values worked out by hand."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

from ecphora import strategies
from ecphora.bench import query_spaces
from ecphora.bench.ablation import ablation_run, registry
from ecphora.bench.ablation.ablation_run import question_result
from ecphora.bench.ablation.comparison import LOW_SIMILARITY, QuestionColumns, ResultColumns, compare
from ecphora.bench.ablation.registry import BASELINES, DENSE
from ecphora.bench.ablation.variants import Model, PaperMeasurement, TrainedPerFold, Variant
from ecphora.bench.datasets import Case, Question
from ecphora.bench.embedding_cache import CachingEmbedder
from ecphora.bench.query_spaces import QuerySpace, build_query_space
from ecphora.bench.recall import metrics, recall_run
from ecphora.bench.recall.figures import UNANSWERABLE, Difference, Figure, Metric
from ecphora.embedders.hashing import HashingEmbedder
from ecphora.errors import UnknownName
from ecphora.graph import Graph
from ecphora.graph_updates import apply_batch
from ecphora.model import Episode, Query
from ecphora.ports import Activation
from ecphora.strategies.eisa import Eisa
from ecphora.testing.samples import sample_batch, sample_node, sample_query

LONG = "".join(f"The {n}th barrel holds plum brandy and stands in the cellar. " for n in range(60))


@pytest.fixture
def embedder(tmp_path: Path) -> Iterator[CachingEmbedder]:
    with CachingEmbedder(HashingEmbedder(64), tmp_path / "cache") as cached:
        yield cached


@dataclass(frozen=True)
class Way:
    """Ranks as BM25 does from the turn ``first`` on."""

    name: str = "way"
    first: int = 0
    writes_on_store: bool = False

    def activate(self, cue: Query, graph: Graph, /) -> Activation:
        found = strategies.resolve_strategy("bm25").activate(cue, graph)
        scores = found.scores.copy()
        scores[: self.first] = 0
        return replace(found, scores=scores, contributions={}, stimulus=scores)


def village(space: str, *colours: str) -> Case:
    episodes = tuple(
        Episode(f"Ferry number {n} is {colour}.", f"{space}{n}", happened_at=f"2024-05-0{n + 1}")
        for n, colour in enumerate(colours)
    )
    questions = tuple(
        Question(f"{space}q{n}", f"Which ferry is {colour}?", "plain", frozenset({f"{space}{n}"}))
        for n, colour in enumerate(colours)
    )
    return Case(space, episodes, questions)


CASES = [village("a", "blue", "red"), village("b", "green", "white", "black")]


def of(found: Sequence[Figure], strategy: str, metric: Metric, k: int | None = None, category: str = "") -> Figure:
    [one] = [f for f in found if (f.strategy, f.metric, f.k) == (strategy, metric, k) and category in ("", f.category)]
    return one


# ---- asking


def test_each_memory_is_filled_once(embedder: CachingEmbedder, monkeypatch: pytest.MonkeyPatch) -> None:
    filled: list[tuple[str, str]] = []
    remembered = recall_run.temporary_memory

    def counted(case: Case, strategy: Way, *rest: object) -> object:
        filled.append((case.space, strategy.name))
        return remembered(case, strategy, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(query_spaces, "temporary_memory", counted)
    writing = Variant("writing", Way("writing", writes_on_store=True))
    variants = (
        Variant("reading", Way()),
        Variant("another reading", Way(first=1)),
        Variant("from the same", Way(first=1, writes_on_store=True), memory_owner=writing),
        Variant("writing otherwise", Way("other", writes_on_store=True)),
    )
    model = Model("stirring", writing, variants)
    told: list[int] = []
    outcome = ablation_run.run("set", CASES, [model], embedder, told.append)
    assert filled == [(space, name) for name in ("writing", "dense", "other") for space in ("a", "b")]
    assert sum(told) == ablation_run.count_steps(CASES, [model]) == 3 * 5 + 5 * (5 + len(BASELINES))
    assert [one.strategies for one in outcome.indexing_times] == [
        ("writing", "from the same"),
        ("reading", "another reading", *(way.label for way in BASELINES)),
        ("writing otherwise",),
    ]
    assert (outcome.spaces, outcome.episodes) == (2, 5)
    labels = [way.label for way in (*model.all_variants, *BASELINES)]
    assert list(dict.fromkeys(figure.strategy for figure in outcome.figures)) == labels
    assert {figure.model for figure in outcome.figures} == {"stirring"}
    whole = of(outcome.figures, "writing", Metric.RECALL, 5)
    assert (whole.n, whole.value, whole.difference) == (5, 1.0, None)
    cut = of(outcome.figures, "from the same", Metric.RECALL, 5)
    assert cut.value == 3 / 5  # the first turn of both spaces is left out
    assert cut.difference is not None
    assert cut.difference.value == pytest.approx(-2 / 5)
    assert -0.85 < cut.difference.low < -2 / 5 < cut.difference.high <= 0


def test_passages_of_a_library_stir_nothing(embedder: CachingEmbedder) -> None:
    library = [replace(case, episodes=tuple(replace(one, happened_at=None) for one in case.episodes)) for case in CASES]
    model = Model("stirring", Variant("writing", Way("writing", writes_on_store=True)))
    assert [one.strategies[0] for one in ablation_run.run("set", CASES, [model], embedder).indexing_times] == [
        "writing",
        "dense",
    ]
    [shared] = ablation_run.run("set", library, [model], embedder).indexing_times
    assert shared.strategies == ("writing", *(way.label for way in BASELINES))
    assert ablation_run.count_steps(library, [model]) == ablation_run.count_steps(CASES, [model]) - 5


def test_what_is_for_talk_is_not_asked_of_a_library(embedder: CachingEmbedder) -> None:
    model = Model("m", Variant("whole", Way()), (Variant("talk", Way(first=1), requires_dates=True),))
    library = [replace(case, episodes=tuple(replace(one, happened_at=None) for one in case.episodes)) for case in CASES]
    for cases, there in ((CASES, True), (library, False)):
        found = ablation_run.run("set", cases, [model], embedder).figures
        assert ("talk" in {figure.strategy for figure in found}) is there


def test_what_is_trained_learns_from_the_other_spaces(embedder: CachingEmbedder) -> None:
    seen: list[list[str]] = []

    def train(spaces: Sequence[QuerySpace]) -> Way:
        seen.append([space.case.space for space in spaces])
        assert all(len(space.queries) == len(space.case.questions) for space in spaces)
        return Way("trained")

    model = Model(
        "side", Variant("plain", Way()), (Variant("trained", TrainedPerFold(train), requires_other_spaces=True),)
    )
    both = ablation_run.run("set", CASES, [model], embedder)
    assert seen == [["b"], ["a"]]
    assert of(both.figures, "trained", Metric.RECALL, 5).value == 1
    alone = ablation_run.run("set", CASES[:1], [model], embedder)
    assert seen == [["b"], ["a"]]
    assert {figure.strategy for figure in alone.figures} == {"plain", *(way.label for way in BASELINES)}
    assert ablation_run.count_steps(CASES[:1], [model]) == 2 + 2 * (1 + len(BASELINES))


def test_questions_are_dealt_where_spaces_are_few(embedder: CachingEmbedder) -> None:
    seen: list[list[str]] = []

    def train(spaces: Sequence[QuerySpace]) -> Way:
        seen.append([question.id for space in spaces for question in space.case.questions])
        return Way("trained")

    model = Model("side", Variant("plain", Way()), (Variant("trained", TrainedPerFold(train)),))
    found = ablation_run.run("set", CASES[1:], [model], embedder).figures
    assert seen == [["bq1", "bq2"], ["bq0", "bq2"], ["bq0", "bq1"]]
    assert of(found, "trained", Metric.RECALL, 5).value == 1


def test_an_empty_set_has_no_figures(embedder: CachingEmbedder) -> None:
    assert ablation_run.run("set", [], [Model("m", Variant("m", Way()))], embedder).figures == ()


def test_the_same_figures_as_a_run_of_recalls(embedder: CachingEmbedder) -> None:
    cases = [*CASES, Case("c", (Episode(LONG, "long"), Episode("Plum brandy.", "short")), CASES[0].questions[:0])]
    cases[2] = replace(cases[2], questions=(Question("q", "Where is the brandy?", "x", frozenset({"long", "short"})),))
    ours = ablation_run.run("set", cases, [Model("way", Variant("way", Way(first=1)))], embedder).figures
    theirs = recall_run.run(
        "set", cases, [Way(first=1), *map(strategies.resolve_strategy, ("dense", "fused"))], embedder
    ).figures
    for name in ("way", "dense", "fused"):
        for k in (5, 10, 30):
            mine, other = (of(some, name, Metric.RECALL, k, "answerable") for some in (ours, theirs))
            assert (mine.n, mine.value, mine.low, mine.high) == (other.n, other.value, other.low, other.high)


def test_places_of_documents_and_what_fired() -> None:
    nodes = [sample_node(f"n{n}", seq=n + 1) for n in range(4)]
    nodes += [sample_node(f"d#{n}", document="d", position=n, seq=n + 5) for n in (1, 2)]
    graph = apply_batch(Graph(), replace(sample_batch(*nodes), revision=1))
    asked = Question("q", "?", "plain", frozenset({"n0", "n2", "n3", "d"}))
    space = QuerySpace.from_graph(Case("s", (), (asked,)), graph, [sample_query("?")])
    scores = np.array([0.5, 0.9, 0.4, 0, 0.8, 0.7], np.float32)
    fired = np.array([1, 0, 0, 0, 1, 1], np.float32)
    reply = question_result(space, 0, Activation(scores, {"fired": fired, "rest": scores - fired}, confidence=0.7))
    assert reply.gold_ranks == (3, 4, np.inf, 2)  # d's second piece takes no place of its own
    assert (reply.confidence, reply.fired_count, reply.fired_gold_count) == (0.7, 2, 2)
    nothing = question_result(space, 0, Activation(graph.zeros(), confidence=0.7))
    assert (set(nothing.gold_ranks), nothing.confidence, nothing.fired_count, nothing.fired_gold_count) == (
        {np.inf},
        0,
        0,
        0,
    )


def test_how_near_the_gold_is() -> None:
    graph = apply_batch(
        Graph(), replace(sample_batch(*(sample_node(f"n{n}", f"text {n}") for n in range(3))), revision=1)
    )
    gold = [frozenset({"n0"}), frozenset({"n0", "n2"}), frozenset[str]()]
    questions = tuple(Question(str(n), "?", "plain", one) for n, one in enumerate(gold))
    vector = graph.vectors.view[2]
    cues = [sample_query("?", vector=vector)] * 3
    space = QuerySpace.from_graph(Case("s", (), questions), graph, cues)
    assert ablation_run.max_gold_cosine(space, 0) == pytest.approx(float(graph.vectors.view[0] @ vector))
    assert ablation_run.max_gold_cosine(space, 1) == pytest.approx(1, abs=1e-3)
    assert ablation_run.max_gold_cosine(space, 2) == 1
    assert ablation_run.max_gold_cosine(replace(space, queries=(sample_query("?", vector=None),) * 3), 1) == 1


# ---- measuring


def replies(*places: tuple[float, ...], confidence: Sequence[float] = (), fired: Sequence[int] = ()) -> ResultColumns:
    counts = np.array(fired or [0] * len(places), np.float64)
    caught = [sum(place <= count for place in some) for some, count in zip(places, counts.tolist(), strict=True)]
    sure = np.array(confidence or [0.5] * len(places), np.float64)
    return ResultColumns(places, sure, counts, np.array(caught, np.float64))


def asked(
    gold: Sequence[int], *, answerable: Sequence[int] = (), far: Sequence[int] = (), several: Sequence[int] = ()
) -> QuestionColumns:
    return QuestionColumns(
        np.array(answerable or [1] * len(gold), np.bool_),
        np.array(gold, np.float64),
        np.array(far or [0] * len(gold), np.bool_),
        np.array(several or [0] * len(gold), np.bool_),
    )


FULL = Variant("full", Way())
LESS = Variant("less", Way())


def test_all_of_the_evidence_and_questions_of_several_hops() -> None:
    given = {FULL: replies((1, 6), (2, 12), (5,))}
    found = list(compare("set", Model("m", FULL), given, asked([2, 2, 1], several=[0, 1, 0])))
    assert of(found, "full", Metric.RECALL_ALL, 5).value == pytest.approx(1 / 3)
    assert of(found, "full", Metric.RECALL, 10, category="multi-hop").value == 0.5


def test_only_answerable_questions_with_gold_are_ranked() -> None:
    model = Model("m", FULL, (LESS,))
    given = {
        FULL: replies((1, 7), (3,), (), (1,), confidence=(0.9, 0.1, 0.3, 0.15)),
        LESS: replies((1, 40), (np.inf,), (), (1,), confidence=(0.9, 0.9, 0.9, 0.9)),
    }
    found = list(compare("set", model, given, asked([2, 1, 0, 1], answerable=[1, 1, 1, 0])))
    assert [of(found, "full", Metric.RECALL, k).value for k in (5, 10, 30)] == [0.75, 1, 1]
    less = of(found, "less", Metric.RECALL, 10, "answerable")
    assert (less.n, less.value) == (2, 0.25)
    assert less.difference is not None
    assert less.difference.value == -0.75  # the mean of -1/2 and -1
    assert (less.difference.low, less.difference.high) == (-1, -0.5)
    false, right = (of(found, "full", metric) for metric in (Metric.FALSE_REFUSAL, Metric.TRUE_REFUSAL))
    assert (false.n, false.value, false.category) == (3, 1 / 3, "answerable")
    assert (right.n, right.value, right.category) == (1, 1, UNANSWERABLE)
    area = of(found, "full", Metric.AUROC)
    assert (area.n, area.value) == (4, 2 / 3)
    assert of(found, "less", Metric.AUROC).value == 0.5


def test_a_variant_may_be_compared_with_another_than_the_whole() -> None:
    least = Variant("least", Way(), reference=LESS)
    given = {FULL: replies((1,), (1,)), LESS: replies((1,), (7,)), least: replies((7,), (7,))}
    found = list(compare("set", Model("m", FULL, (LESS, least)), given, asked([1, 1])))
    first = [f for f in found if f.metric is Metric.RECALL and f.k == 5]
    assert [f.difference and (f.difference.reference, f.difference.value) for f in first] == [
        None, ("full", -0.5), ("less", -0.5),
    ]  # fmt: skip


def test_without_unanswerable_questions_nothing_can_be_refused_rightly() -> None:
    found = list(compare("set", Model("m", FULL), {FULL: replies((1,))}, asked([1])))
    assert {f.metric for f in found} == {Metric.RECALL, Metric.RECALL_ALL, Metric.FALSE_REFUSAL}
    none = list(compare("set", Model("m", FULL), {FULL: replies(())}, asked([0], answerable=[0])))
    assert {f.metric for f in none} == {Metric.TRUE_REFUSAL}


def test_equal_counts() -> None:
    """ERC by hand: what fired against the first as many of others, and at least as many as there is gold."""
    model = Model("m", FULL, (LESS,), frozenset({PaperMeasurement.EQUAL_COUNT}))
    given = {
        FULL: replies((1, 2), (2,), (5,), fired=(1, 2, 9)),
        LESS: replies((1, 2), (1,), (5,), fired=(2, 1, 0)),
        DENSE: replies((1, 2), (3,), (9,)),
    }
    found = list(compare("set", model, given, asked([2, 1, 1], answerable=[1, 1, 0])))
    erc = of(found, "full", Metric.ERC)
    assert (erc.n, erc.value) == (2, 2 / 3)  # 1 of 2 and 1 of 1; the third is unanswerable
    assert of(found, "full", Metric.ERC_MG).value == erc.value
    assert of(found, "full", Metric.PRECISION).value == pytest.approx(2 / 3)
    assert of(found, "full", Metric.FIRED_COUNT).value == 1.5
    assert of(found, "full", Metric.ERC_GAIN).value == pytest.approx((2 - 1) / 3)
    less = of(found, "less", Metric.ERC)
    assert less.value == 1
    assert less.difference is not None
    assert less.difference.value == pytest.approx(1 / 3)
    assert of(found, "less", Metric.FIRED_COUNT).value == 1.5
    assert of(found, "less", Metric.ERC_GAIN).value == pytest.approx((3 - 2) / 3)  # dense by what fired in "less"
    assert of(found, "dense", Metric.ERC).value == pytest.approx(1 / 3)
    assert of(found, "dense", Metric.ERC_MG).value == pytest.approx(2 / 3)
    assert of(found, "dense", Metric.PRECISION).value == pytest.approx(1 / 3)
    assert not [f for f in found if f.strategy == "dense" and f.metric is Metric.FIRED_COUNT]


def test_nothing_fired_leaves_no_equal_counts() -> None:
    model = Model("m", FULL, paper_measurements=frozenset({PaperMeasurement.EQUAL_COUNT}))
    found = list(compare("set", model, {FULL: replies((1,)), DENSE: replies((1,))}, asked([1])))
    assert Metric.ERC not in {f.metric for f in found}


def test_low_similarity() -> None:
    """Where the gold is far from the question, ``full`` loses a half, ``less`` everything."""
    model = Model("m", FULL, (LESS,), frozenset({PaperMeasurement.LOW_SIMILARITY}))
    near, far = [(1.0,)] * 10, [(1.0,), (31.0,)] * 5
    given = {FULL: replies(*near, *far), LESS: replies(*near, *[(np.inf,)] * 10)}
    found = list(compare("set", model, given, asked([1] * 20, far=[0] * 10 + [1] * 10)))
    there = of(found, "full", Metric.RECALL, 30, LOW_SIMILARITY)
    assert (there.n, there.value) == (10, 0.5)
    loss = of(found, "full", Metric.LOSS, 30)
    assert (loss.n, loss.value) == (10, 1 - 0.5 / 0.75)
    assert loss.low < loss.value < loss.high
    assert of(found, "less", Metric.LOSS, 30).value == 1
    few = list(compare("set", model, given, asked([1] * 20, far=[0] * 11 + [1] * 9)))
    assert Metric.LOSS not in {f.metric for f in few}
    lost = {FULL: replies(*[(np.inf,)] * 20)}
    assert of(list(compare("set", model, lost, asked([1] * 20, far=[1] * 20))), "full", Metric.LOSS, 30).value == 0


def test_the_gate() -> None:
    """The largest threshold below which fewer than 1 of 40 answerable questions lie, and what else lies there."""
    model = Model("m", FULL, paper_measurements=frozenset({PaperMeasurement.GATE}))
    sure = [0.4] + [0.5 + n / 100 for n in range(39)]
    given = {FULL: replies(*[(1,)] * 44, confidence=(*sure, 0.1, 0.39, 0.4, 0.9))}
    found = list(compare("set", model, given, asked([1] * 44, answerable=[1] * 40 + [0] * 4)))
    at = of(found, "full", Metric.THRESHOLD)
    assert (at.n, at.value) == (40, 0.4)
    refused = of(found, "full", Metric.GATE_REFUSAL)
    assert (refused.n, refused.value, refused.category) == (4, 0.5, UNANSWERABLE)
    more = {FULL: replies(*[(1,)] * 44, confidence=(0.1, *sure, 0.39, 0.4, 0.9))}
    found = list(compare("set", model, more, asked([1] * 44, answerable=[1] * 41 + [0] * 3)))
    assert of(found, "full", Metric.THRESHOLD).value == 0.4  # 1 of 41 is less than 2.5%
    without = list(compare("set", model, {FULL: replies((1,))}, asked([1])))
    assert Metric.THRESHOLD not in {f.metric for f in without}


def test_rivals_stand_only_in_the_special_measurements(monkeypatch: pytest.MonkeyPatch) -> None:
    ours = Model("m", FULL, paper_measurements=frozenset({PaperMeasurement.GATE}))
    theirs = Model("other", LESS)
    monkeypatch.setattr(registry, "MODELS", {"m": ours, "other": theirs})
    assert ablation_run.variants_to_run([ours]) == [FULL, LESS, *BASELINES]
    assert ablation_run.variants_to_run([theirs]) == [LESS, *BASELINES]
    given = {way: replies((1,), (1,), confidence=(0.5, 0.4)) for way in (FULL, LESS)}
    found = list(compare("set", ours, given, asked([1, 1], answerable=[1, 0])))
    assert {f.metric for f in found if f.strategy == "less"} == {Metric.THRESHOLD, Metric.GATE_REFUSAL}
    assert {f.metric for f in found if f.strategy == "full"} > {Metric.THRESHOLD, Metric.RECALL}


def test_equal_answers_differ_by_nothing() -> None:
    given = {way: replies(*[(float(n % 7 + 1),) for n in range(50)]) for way in (FULL, LESS)}
    found = list(compare("set", Model("m", FULL, (LESS,)), given, asked([1] * 50)))
    same = of(found, "less", Metric.RECALL, 5)
    assert same.low < same.value < same.high
    assert same.difference == Difference("full", 0, 0, 0)
    assert metrics.bootstrap_interval(np.array([n % 7 < 5 for n in range(50)], np.float64)) == (same.low, same.high)


# ---- the registry


def test_models_are_chosen_by_name() -> None:
    assert registry.select_models([]) == list(registry.MODELS.values())
    name = next(iter(registry.MODELS))
    assert registry.select_models([name, name]) == [registry.MODELS[name]]
    with pytest.raises(UnknownName, match=f"no model is called 'guess'; choose one of .*{name}"):
        registry.select_models(["guess"])


@pytest.mark.parametrize("model", registry.MODELS.values(), ids=lambda model: model.name)
def test_the_registry_is_in_order(model: Model) -> None:
    assert registry.MODELS[model.name] is model
    labels = [way.label for way in dict.fromkeys([*model.all_variants, *registry.rival_variants(model), *BASELINES])]
    assert len(set(labels)) == len(labels)
    asked_ = [way.strategy for way in model.all_variants if not isinstance(way.strategy, TrainedPerFold)]
    assert all(one != other for place, one in enumerate(asked_) for other in asked_[:place])
    for place, way in enumerate(model.all_variants):
        assert way.memory_owner is None or way.memory_owner in model.all_variants
        assert way.reference is None or way.reference in model.all_variants[:place]


def test_the_side_network_learns_to_tell_evidence_from_what_is_near(embedder: CachingEmbedder) -> None:
    [trained] = [
        way.strategy for way in registry.MODELS["eisa"].all_variants if isinstance(way.strategy, TrainedPerFold)
    ]
    found = [build_query_space(case, strategies.resolve_strategy("dense"), embedder) for case in CASES]
    made = trained.train(found)
    plain = registry.MODELS["eisa"].full.strategy
    assert isinstance(made, Eisa)
    assert isinstance(plain, Eisa)
    assert made.side_net is not None
    cue, graph = found[0].queries[1], found[0].graph
    right, wrong = graph.rows(["a1", "a0"])

    def margin(way: Eisa) -> float:
        scores = replace(way, kappa=0.0, necessity_classifier=None, theta_sim=0.0).activate(cue, graph).scores
        return float(scores[right] - scores[wrong])

    assert margin(made) > margin(plain)
    unanswerable = replace(CASES[0], questions=(Question("q", "Why?", "none", is_answerable=False),))
    assert trained.train([build_query_space(unanswerable, strategies.resolve_strategy("dense"), embedder)]) == plain
