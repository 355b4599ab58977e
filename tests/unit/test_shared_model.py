"""What is loaded once a process: by all who use it, for as long as one does, and anew in a forked child."""

import gc
import os
import subprocess
import sys
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest

from ecphora import Memory
from ecphora.embedders import minilm, shared_model
from ecphora.embedders.minilm import MiniLMEmbedder
from ecphora.embedders.shared_model import SharedModel
from ecphora.update_scorers.minilm_lora import MiniLMUpdateScorer

pytestmark = pytest.mark.slow


class Thing:
    """What is loaded."""


@pytest.fixture
def loads() -> list[Thing]:
    """What ``load`` made."""
    return []


@pytest.fixture
def load(loads: list[Thing]) -> Callable[[], Thing]:
    def make() -> Thing:
        loads.append(Thing())
        return loads[-1]

    return make


@pytest.fixture
def shipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The model in a folder that no other test has loaded it from."""
    folder = tmp_path / "minilm"
    folder.symlink_to(str(minilm.MODEL_FOLDER), target_is_directory=True)
    monkeypatch.setattr(minilm, "MODEL_FOLDER", folder)
    return folder


def test_shares_of_one_key_are_of_one_object(loads: list[Thing], load: Callable[[], Thing]) -> None:
    one, same, other = SharedModel("a", load), SharedModel("a", load), SharedModel("b", load)
    assert one() is same() is one()
    assert other() is not one()
    assert len(loads) == 2


def test_four_threads_load_once(loads: list[Thing], load: Callable[[], Thing]) -> None:
    ready = Barrier(4)

    def use(_: int) -> Thing:
        mine = SharedModel("threads", load)
        ready.wait()
        return mine()

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(use, range(4)))
    assert len(loads) == 1
    assert all(each is loads[0] for each in found)


def test_what_nobody_uses_is_let_go(load: Callable[[], Thing], loads: list[Thing]) -> None:
    one, same = SharedModel("gone", load), SharedModel("gone", load)
    ref = weakref.ref(one())
    same()
    loads.clear()
    del one
    assert ref() is not None
    del same
    gc.collect()
    assert ref() is None


def test_a_load_that_failed_is_tried_again() -> None:
    answers: list[Exception | Thing] = [OSError("no"), Thing()]

    def load() -> Thing:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    mine = SharedModel("fails", load)
    with pytest.raises(OSError, match="no"):
        mine()
    assert mine() is mine()


def test_memories_share_one_model_and_let_it_go(shipped: Path, tmp_path: Path) -> None:
    memories = [Memory(tmp_path / f"{number}.db") for number in range(3)]
    for memory in memories:
        memory.remember("I moved to Porto.", speaker="Ana", happened_at="2026-05-03")
        memory.remember("I live in Lisbon.", speaker="Ana", happened_at="2026-01-03")
        assert memory.consolidate().counts
    keys = ("minilm", str(shipped)), ("changes", ("minilm", str(shipped)))
    loaded = [weakref.ref(shared_model._registry.models[key]) for key in keys]
    assert MiniLMEmbedder()._network() is MiniLMEmbedder(source=shipped)._network() is loaded[0]()
    for memory in memories:
        memory.close()
    del memory, memories
    gc.collect()
    assert [ref() for ref in loaded] == [None, None]


def test_the_reader_of_changes_shares_the_model_of_the_embedder(shipped: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    networks: list[minilm.MiniLMNetwork] = []
    begin = minilm.MiniLMNetwork.__init__

    def note(network: minilm.MiniLMNetwork, folder: Path) -> None:
        networks.append(network)
        begin(network, folder)

    monkeypatch.setattr(minilm.MiniLMNetwork, "__init__", note)
    model, reader = MiniLMEmbedder(), MiniLMUpdateScorer()
    reader.score([("I live in Lisbon.", "I moved to Porto.")])
    model.embed(["I moved to Porto."])
    assert len(networks) == 1


FORKED = """
import os, signal, threading, time
from ecphora.embedders import minilm, shared_model

model, texts = minilm.MiniLMEmbedder(), ["I moved to Porto.", "The tea is cold."]
expected = model.embed(texts).tobytes()
busy, stop = minilm.MiniLMEmbedder(), threading.Event()

def embed():
    while not stop.is_set():
        busy.embed(["I moved to Porto last week. " * 20])

def hold():
    with shared_model._registry.lock:
        stop.wait()

for work in (embed, hold):  # one thread is inside the model when the child is forked, one is loading another
    threading.Thread(target=work).start()
time.sleep(0.05)
child = os.fork()
if child == 0:
    signal.alarm(40)
    os._exit(0 if model.embed(texts).tobytes() == expected == minilm.MiniLMEmbedder().embed(texts).tobytes() else 1)
code = os.waitpid(child, 0)[1]
stop.set()
assert code == 0, code
assert model.embed(texts).tobytes() == expected
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_forked_child_embeds_whatever_its_parent_was_doing() -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FORKED], capture_output=True, text=True, timeout=50, check=False
    )
    assert done.returncode == 0, done.stderr
