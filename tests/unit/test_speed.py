"""The synthetic memories of ``ecphora bench speed``, its engines and its percentiles."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from ecphora_bench.speed import speed_tables
from ecphora_bench.speed.measure import EngineSpeed, percentile
from ecphora_bench.speed.peers import PEERS, fuse, make_engine
from ecphora_bench.speed.speed_run import SpeedPlan, SpeedRow
from ecphora_bench.speed.synthetic import (
    STOP_WORDS,
    Corpus,
    SyntheticEmbedder,
    nearest_cosines,
    number_of,
    vector_recall,
    vectors_of,
)


def test_memories_follow_from_their_numbers() -> None:
    corpus = Corpus(100)
    whole = list(corpus.episodes())
    assert list(corpus.episodes(37, 63)) == whole[37:63]
    assert list(Corpus(100).episodes()) == whole
    assert [number_of(episode.text) for episode in whole] == list(range(100))
    assert [episode.session for episode in whole[19:21]] == ["s0", "s1"]
    assert len({episode.speaker for episode in whole[:20]}) == 2
    assert Corpus(100).questions(3)[2].text == corpus.questions(3)[2].text


def test_texts_have_the_words_that_the_module_says() -> None:
    words = [episode.text.split() for episode in Corpus(400).episodes()]
    assert np.mean([len(some) for some in words]) == pytest.approx(28, abs=1)
    assert np.mean([word in STOP_WORDS for some in words for word in some]) == pytest.approx(0.45, abs=0.02)


def test_text_without_a_number_has_none() -> None:
    assert number_of("What did they say?") is None
    assert number_of("babababa.") is None


def test_question_is_nearest_to_its_memory_and_others_are_near() -> None:
    corpus = Corpus(2_000)
    questions = corpus.questions(5)
    embedder = SyntheticEmbedder(questions)
    vectors = embedder.embed([episode.text for episode in corpus.episodes()])
    assert np.array_equal(vectors, vectors_of(np.arange(2_000)))
    for question in questions:
        cosines = vectors @ embedder.embed([question.text], is_query=True)[0]
        assert cosines.argmax() == question.number
        assert np.sort(cosines)[-3] > 0.5


def test_vector_recall_is_the_share_of_the_nearest() -> None:
    corpus = Corpus(300)
    (question,) = corpus.questions(1)
    order = np.argsort(-vectors_of(np.arange(300)) @ question.vector).tolist()
    least = nearest_cosines(corpus, [question])
    assert vector_recall([question], [order[:10]], least) == 1
    assert vector_recall([question], [order[:5]], least) == 0.5
    assert vector_recall([question], [[*order[:7], *order[50:53]]], least) == 0.7


def test_percentile_is_a_sample() -> None:
    samples = [float(number) for number in range(100, 0, -1)]
    assert (percentile(samples, 50), percentile(samples, 99), percentile([3.0], 99)) == (50, 99, 3)


def test_fusion_adds_reciprocal_ranks() -> None:
    assert fuse([1, 2, 3], [3, 4]) == [3, 1, 2, 4]


@pytest.mark.medium
@pytest.mark.parametrize("name", ["fused", "exact", *PEERS])
def test_engine_finds_what_it_stores(name: str, tmp_path: Path) -> None:
    if name in PEERS and not PEERS[name].is_installed:
        pytest.skip(f"{name} is not installed")
    corpus = Corpus(60)
    questions = corpus.questions(4)
    make_engine(name, SyntheticEmbedder()).build(tmp_path, corpus)
    engine = make_engine(name, SyntheticEmbedder(questions))
    engine.open(tmp_path, corpus)
    assert [engine.recall(question)[0] for question in questions] == [question.number for question in questions]
    found = [engine.nearest(question) for question in questions]
    assert vector_recall(questions, found, nearest_cosines(corpus, questions)) > 0.9
    for episode in corpus.episodes(60, 61):
        engine.write(episode)
    engine.close()
    engine.rebuild()


def test_measurement_reaches_no_other_machine() -> None:
    code = (
        "import socket; from ecphora_bench.speed.measure import forbid_network, NetworkForbidden; forbid_network()\n"
        "find, reach = lambda: socket.getaddrinfo('localhost', 80), lambda: socket.socket().connect(('127.0.0.1', 9))\n"
        "for call in (find, reach):\n"
        "    try: call()\n"
        "    except NetworkForbidden: print('refused')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["refused", "refused"]


def test_missing_peers_are_named_and_not_run() -> None:
    missing = [name for name, peer in PEERS.items() if not peer.is_installed]
    plan = SpeedPlan([10], ["fused"], list(PEERS), 1, 1, 1)
    assert list(plan.missing_peers) == missing
    assert plan.engines == ("fused", "exact", *(name for name in PEERS if name not in missing))


def test_curves_have_a_line_for_each_engine() -> None:
    def row(engine: str, memories: int, milliseconds: float) -> SpeedRow:
        speed = EngineSpeed(milliseconds, 1, 1, None, 1, 1, 1, 1, None, 1, 1)
        return SpeedRow(engine, memories, 1.0, speed)

    failed = SpeedRow("mem0", 100, None, None, "build: not done in 1 s")
    svg = speed_tables.curves([row("fused", 100, 1.0), row("exact", 100, 10.0), row("fused", 1_000, 10.0), failed])
    assert svg.count("<svg") == 1
    assert 'd="M36.0,180.0L290.0,26.0"' in svg
    assert ">fused<" in svg
    assert "mem0" not in svg
    assert speed_tables.errors([failed]) == ["mem0, 100 memories: build: not done in 1 s"]
