"""Training of fused: regression whose weights keep their signs, and what questions teach columns and signs."""

import json
from collections.abc import Mapping
from dataclasses import replace
from importlib.resources import files

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ecphora import weights
from ecphora.errors import InvalidRecord
from ecphora.learn import weights as written
from ecphora.learn.ranking import UNTAUGHT, Lesson, Trained, knowing, ranker, train
from ecphora.learn.regression import bounded, logistic
from ecphora.model import START
from ecphora.stages.covering import Covering
from ecphora.stages.knowing import SIGNS, signs
from ecphora.stages.ranker import FLOOR, Head, Ranker
from ecphora.stages.sheet import NOTED, SPOKEN, WRITTEN, Sheet

# ---- regression


def examples(count: int = 400, seed: int = 3) -> tuple[np.ndarray, np.ndarray]:
    draw = np.random.default_rng(seed)  # noqa: TID251  # a fixed seed
    features = np.column_stack([draw.normal(size=(count, 3)), np.ones(count)])
    odds = features @ np.array([1.5, -2.0, 0.0, 0.5])
    return features, (draw.random(count) < 1 / (1 + np.exp(-odds))).astype(float)


def test_a_bound_that_does_not_bind_changes_nothing() -> None:
    features, labels = examples()
    ridge = np.full(4, 0.1)
    free = logistic(features, labels, ridge)
    sign = np.array([1.0, -1.0, 0.0, 0.0])
    kept = bounded(features, labels, np.ones(len(labels)), ridge=ridge, sign=sign, prior=np.zeros(4))
    assert kept == pytest.approx(free, abs=1e-4)
    assert free[0] > 1 > -1 > free[1]


@given(st.lists(st.sampled_from([-1.0, 0.0, 1.0]), min_size=4, max_size=4), st.integers(0, 3))
def test_signs_are_kept_and_the_rest_is_best(signs_: list[float], seed: int) -> None:
    features, labels = examples(80, seed)
    sign, ridge, ones = np.array(signs_), np.full(4, 0.5), np.ones(80)
    found = bounded(features, labels, ones, ridge=ridge, sign=sign, prior=np.zeros(4))
    assert (found * sign >= 0).all()

    def loss(at: np.ndarray) -> float:
        odds = features @ at
        return float(np.sum(np.logaddexp(0, odds) - labels * odds) + 0.25 * at @ at)

    for place in range(4):  # no step along an axis that keeps the signs is better
        for step in (-1e-2, 1e-2):
            other = found.copy()
            other[place] += step
            assert other[place] * sign[place] < 0 or loss(other) >= loss(found) - 1e-6


def test_examples_count_as_often_as_they_are_said_to() -> None:
    features, labels = examples(60)
    counts = np.where(np.arange(60) < 20, 3.0, 1.0)
    repeated = np.repeat(np.arange(60), counts.astype(int))
    free, ridge = np.zeros(4), np.full(4, 0.3)
    once = bounded(features, labels, counts, ridge=ridge, sign=free, prior=free)
    assert once == pytest.approx(logistic(features[repeated], labels[repeated], ridge), abs=1e-4)


def test_what_teaches_nothing_leaves_the_prior() -> None:
    prior = np.array([0.5, -0.25, 0.0, 0.0])
    features = np.zeros((4, 4))
    found = bounded(features, np.ones(4), np.ones(4), ridge=np.ones(4), sign=np.zeros(4), prior=prior)
    assert found == pytest.approx(prior)


# ---- lessons


def pool(columns: Mapping[str, list[float]], sorts: list[int], covered: list[int] | None = None) -> Sheet:
    size = len(sorts)
    own = np.zeros((size, 2), np.bool_)
    own[[] if covered is None else covered, 0] = True
    zeros = np.zeros(size, np.float32)
    named = {name: np.array(values, np.float32) for name, values in columns.items()}
    base = dict.fromkeys(("rank", "date", "speaker", "other speaker", "good", "asks"), zeros)
    return Sheet(
        rows=np.arange(size),
        columns=base | named,
        sorts=np.array(sorts),
        meaning=zeros,
        words=zeros,
        covering=Covering(np.ones(2), np.array([True, True]), own, own),
        dated=False,
        strange=False,
    )


def told(
    good: list[float], gold: set[int], *, sort: int = SPOKEN, answerable: bool = True, **columns: list[float]
) -> Lesson:
    return Lesson(
        set="s",
        space="one",
        question="q",
        whole=True,
        sheet=pool({"good": good, **columns}, [sort] * len(good)),
        documents=np.arange(len(good)),
        gold=frozenset(gold),
        answerable=answerable,
    )


LESSONS = [told([0.1 * n % 1, 2.0, 0.3], {1}, asks=[1.0, 0.0, 1.0]) for n in range(30)]


def test_a_head_learns_from_the_rows_of_its_sort() -> None:
    found = ranker(LESSONS, UNTAUGHT.ranker)
    assert found.spoken.weights["good"] > 0 > found.spoken.weights["asks"]
    assert (found.noted, found.written) == (UNTAUGHT.ranker.noted, UNTAUGHT.ranker.written)
    assert found.columns == tuple(found.spoken.weights)


def test_a_column_says_nothing_against_its_meaning() -> None:
    worse = [told([2.0, 0.0, 1.0], {1}, asks=[0.0, 1.0, 0.0]) for _ in range(20)]
    assert ranker(worse, UNTAUGHT.ranker).spoken.weights == {}


def test_of_a_text_in_pieces_the_best_touched_is_learned_from() -> None:
    pieces = replace(
        told([1.0, 0.0, 0.0, 0.5], {7}, sort=WRITTEN, rank=[-1.0, 0.0, -2.0, -3.0]), documents=np.array([7, 7, 7, 8])
    )
    other = told([0.0, 1.0], {0}, sort=WRITTEN)
    found = ranker([pieces, other], UNTAUGHT.ranker)  # of document 7 the second piece, which is not good
    assert "good" not in found.written.weights


def test_small_parts_and_unanswered_questions_teach_no_ranking() -> None:
    for lesson in LESSONS[:1]:
        assert lesson.teaches
        assert not replace(lesson, whole=False).teaches
        assert not replace(lesson, answerable=False, gold=frozenset()).teaches
        assert not replace(lesson, gold=frozenset({99})).teaches
    assert ranker([replace(one, whole=False) for one in LESSONS], UNTAUGHT.ranker) == UNTAUGHT.ranker


def test_knowing_learns_what_tells_an_answer_from_none() -> None:
    there = [told([2.0 + 0.01 * n, 0.0], {0}) for n in range(20)]
    lacking = [told([0.1 + 0.01 * n, 0.0], set(), answerable=False) for n in range(20)]
    taught = Trained(Ranker(Head(-3, {"good": 2.0}), Head(-3, {}), Head(-3, {})), UNTAUGHT.knowing)
    found = knowing([*there, *lacking], taught.ranker, UNTAUGHT.knowing)
    assert (found.text, found.text_bias) == (UNTAUGHT.knowing.text, 0.0)

    def sure(one: Lesson) -> float:
        return found.probability(one.sheet, taught.ranker.weigh(one.sheet))

    assert min(map(sure, there)) > 0.5 > max(map(sure, lacking))
    assert knowing(there, taught.ranker, UNTAUGHT.knowing) == UNTAUGHT.knowing  # nothing to tell apart


def test_the_same_event_told_of_another_is_a_sign() -> None:
    spoken = pool({"good": [2.0, 0.2], "speaker": [0.0, 1.0], "other speaker": [1.0, 0.0]}, [SPOKEN, SPOKEN])
    head = Head(-3, {"good": 1.0, "speaker": 5.0, "other speaker": -5.0})
    found = dict(zip(SIGNS, signs(spoken, Ranker(head, head, head).weigh(spoken)), strict=True))
    assert found["person"] == 1
    assert found["right person"] == pytest.approx(-1.8)  # with the person left out of both
    theirs = pool({"good": [2.0, 0.2], "speaker": [1.0, 0.0], "other speaker": [0.0, 1.0]}, [SPOKEN, SPOKEN])
    found = dict(zip(SIGNS, signs(theirs, Ranker(head, head, head).weigh(theirs)), strict=True))
    assert found["right person"] == pytest.approx(1.8)


def test_shares_add_up_and_each_row_has_the_head_of_its_sort() -> None:
    sheet = pool({"good": [1.0, 1.0, 1.0]}, [SPOKEN, NOTED, WRITTEN])
    heads = Ranker(Head(-9, {"good": 1.0}), Head(-8, {"good": 2.0}), Head(-7, {}))
    weighed = heads.weigh(sheet)
    assert weighed.odds.tolist() == [-8, -6, -7]
    assert weighed.scores.tolist() == [-8 - FLOOR, -6 - FLOOR, -7 - FLOOR]
    assert np.sum([*weighed.shares.values()], axis=0).tolist() == weighed.scores.tolist()
    assert weighed.shares[START].tolist() == [-9 - FLOOR, -8 - FLOOR, -7 - FLOOR]


# ---- written down


def test_weights_are_read_as_they_were_written() -> None:
    taught = train(LESSONS, UNTAUGHT)
    text = written.text(taught, {"command": "ecphora learn"})
    assert Trained(*weights.fused_of(text)) == taught
    assert json.loads(text)["provenance"] == {"command": "ecphora learn"}
    for broken in ("", "{}", "[]", text.replace('"bias"', '"base"'), text.replace("looked at", "looked for")):
        with pytest.raises(InvalidRecord, match="make them with ecphora learn"):
            weights.fused_of(broken)


def test_the_weights_of_the_package_say_where_they_come_from() -> None:
    found = json.loads(files("ecphora.weights").joinpath("fused.json").read_text("utf-8"))
    assert set(found["provenance"]["questions"]) == set(found["provenance"]["figures"])
    assert {"locomo", "realtalk", "beam_100k", "memdaily"}.isdisjoint(found["provenance"]["questions"])
    taught = Trained(*weights.fused())
    for head in taught.ranker.heads:
        assert head.weights
        assert all(abs(weight) < 20 for weight in head.weights.values())
