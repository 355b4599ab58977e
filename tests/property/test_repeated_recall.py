"""Equal recalls give equal results: again, after others, in a fresh process, and on a busy machine."""

import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import count, islice, pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ecphora.memory
from ecphora import E5Embedder, Episode, Memory, RecallOptions, Recollection
from ecphora.maintenance.learn.datasets import read_cases
from ecphora.model.ports import Embedder, Passage
from ecphora.models.embedders.minilm import MiniLMEmbedder
from ecphora.models.rerankers.late_interaction import LateInteractionReranker
from ecphora.models.update_scorer import E5UpdateScorer
from ecphora.recall.candidate_reranking import CandidateReranking
from ecphora.testing import FakeClock
from ecphora.testing.rerankers import ASKED_ON

pytestmark = pytest.mark.slow

DATA = Path(__file__).parents[2] / "training" / "data" / "memories"
CASES = tuple(islice(read_cases("many", DATA), 3))
EPISODES = (
    *(replace(one, id=f"{case.space}-{one.id}") for case in CASES for one in case.episodes),
    *(
        Episode("The spare key hangs in the shed.", speaker="Ana", happened_at=f"2026-03-0{day}")  # a tie
        for day in (1, 2)
    ),
)
QUESTIONS = (
    *(question.text for case in CASES for question in case.questions[:2]),
    "Where does the spare key hang?",
)
TEXTS = tuple(episode.text for episode in EPISODES)[:12]
PASSAGES = tuple(
    Passage(text, speaker="Ana", previous_turn=before) for text, before in zip(TEXTS, ("", *TEXTS), strict=False)
)


def result_of(found: Recollection) -> str:
    """All of a recollection but its times; numbers with all their digits."""
    hits = [(hit.id, hit.score, hit.why.contributions, hit.validity, hit.reason) for hit in found]
    return repr((hits, found.confidence, found.evidence, found.groups, found.cost.passages_reranked))


def open_memory(path: Path) -> Memory:
    return Memory(path, clock=FakeClock())


def ask(memory: Memory, question: str, **options: float) -> str:
    return result_of(memory.recall(question, options=RecallOptions(log_access=False), **options))  # type: ignore[arg-type]


def ask_all(path: Path, questions: Sequence[str]) -> dict[str, str]:
    with open_memory(path) as memory:
        return {question: ask(memory, question) for question in questions}


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of a memory of many matters, in several languages."""
    found = tmp_path_factory.mktemp("repeated") / "m.db"
    with open_memory(found) as memory:
        memory.remember(EPISODES)
    return found


@pytest.fixture(scope="module")
def expected(path: Path) -> dict[str, str]:
    """The results when every question is asked once, each of a memory that was just opened."""
    return {question: ask_all(path, [question])[question] for question in QUESTIONS}


@pytest.fixture(scope="module")
def memory(path: Path) -> Iterator[Memory]:
    with open_memory(path) as opened:
        yield opened


def test_recall_reads_rereads_and_compares_times(memory: Memory) -> None:
    """Otherwise the other tests would say less than they seem to."""
    found = [memory.recall(question, options=RecallOptions(log_access=False)) for question in QUESTIONS]
    assert all(8 <= one.cost.passages_reranked <= 24 for one in found)
    features = {part.feature for one in found for hit in one for part in hit.why.contributions}
    assert {"reranking", "second reranking"} <= features
    assert {"newer answer", "older answer"} & features


@settings(max_examples=6)  # each asks all questions with the built-in models
@given(st.permutations(QUESTIONS))
def test_result_does_not_depend_on_the_questions_before(
    memory: Memory, expected: dict[str, str], questions: list[str]
) -> None:
    for question in questions:
        assert ask(memory, question) == expected[question]


def test_recall_that_is_not_logged_leaves_no_trace(memory: Memory, expected: dict[str, str]) -> None:
    revision = memory.graph().revision
    for _ in range(3):
        assert ask(memory, QUESTIONS[0]) == expected[QUESTIONS[0]]
    assert memory.graph().revision == revision


def test_work_of_a_recall_does_not_depend_on_the_clock(
    memory: Memory, expected: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    seconds = count(step=3600)  # an hour between any two looks at the clock
    slow = partial(CandidateReranking, clock=lambda: float(next(seconds)))
    monkeypatch.setattr(ecphora.memory, "CandidateReranking", slow)
    assert {question: ask(memory, question) for question in QUESTIONS} == expected
    assert memory.recall(QUESTIONS[0], options=RecallOptions(log_access=False)).cost.passages_left == 0
    monkeypatch.setattr(LateInteractionReranker, "batch_size", 6)  # after each batch, a look at the clock
    found = memory.recall(QUESTIONS[0], options=RecallOptions(log_access=False, rerank_ms=100.0))
    assert (found.cost.passages_reranked, found.cost.passages_left) == (6, 18)


def test_fresh_process_on_a_busy_machine_gives_the_same_results(path: Path, expected: dict[str, str]) -> None:
    with busy_processes(2):
        assert ask_in_fresh_process(path) == expected


def test_fresh_process_with_fewer_threads_gives_the_same_results(
    path: Path, expected: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        monkeypatch.setenv(name, "1")
    assert ask_in_fresh_process(path) == expected


def ask_in_fresh_process(path: Path) -> dict[str, str]:
    """The results of all questions, the last one first."""
    call = [sys.executable, __file__, str(path)]
    output = subprocess.run(call, check=True, capture_output=True, text=True).stdout
    return dict(zip(QUESTIONS[::-1], output.splitlines(), strict=True))


@contextmanager
def busy_processes(number: int) -> Iterator[None]:
    processes = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(number)]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


@pytest.mark.parametrize("embedder", [E5Embedder(), MiniLMEmbedder()], ids=repr)
def test_vector_is_the_same_to_the_last_bit_beside_others(embedder: Embedder) -> None:
    alone = np.concatenate([embedder.embed([text], is_query=True) for text in TEXTS])
    for size in (3, len(TEXTS)):
        parts = [embedder.embed(TEXTS[start : start + size], is_query=True) for start in range(0, len(TEXTS), size)]
        assert np.array_equal(alone, np.concatenate(parts))


def test_readings_are_the_same_to_the_last_bit_beside_others() -> None:
    question, first = QUESTIONS[0], np.zeros(len(PASSAGES))
    used = LateInteractionReranker()
    used.score(QUESTIONS[1], PASSAGES[::3], asked_on=ASKED_ON)
    alone = [LateInteractionReranker().score(question, [passage], asked_on=ASKED_ON)[0] for passage in PASSAGES]
    assert used.score(question, PASSAGES, asked_on=ASKED_ON).tolist() == alone
    again = [used.rescore(question, [passage], np.zeros(1), asked_on=ASKED_ON)[0] for passage in PASSAGES]
    assert used.rescore(question, PASSAGES, first, asked_on=ASKED_ON).tolist() == again


def test_update_scores_are_the_same_to_the_last_bit_beside_others() -> None:
    pairs = list(pairwise(TEXTS))
    alone = [E5UpdateScorer().score([pair])[0] for pair in pairs]
    assert E5UpdateScorer().score(pairs).tolist() == alone


if __name__ == "__main__":
    for line in ask_all(Path(sys.argv[1]), QUESTIONS[::-1]).values():
        print(line)  # noqa: T201  # read by the process that runs the tests
