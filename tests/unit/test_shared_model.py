"""Shared models: loaded once a process, released after the last use, and loaded again in a forked child."""

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
from ecphora.models.embedders import e5, onnx_runtime
from ecphora.models.embedders.e5 import E5Embedder
from ecphora.models.embedders.onnx_runtime import SharedModel
from ecphora.models.rerankers.late_interaction import LateInteractionReranker
from ecphora.models.update_scorer import E5UpdateScorer

pytestmark = pytest.mark.slow


class LoadedObject:
    """The object that is loaded."""


@pytest.fixture
def loads() -> list[LoadedObject]:
    """The objects that ``load`` returned."""
    return []


@pytest.fixture
def load(loads: list[LoadedObject]) -> Callable[[], LoadedObject]:
    def load_object() -> LoadedObject:
        loads.append(LoadedObject())
        return loads[-1]

    return load_object


@pytest.fixture
def model_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The model in a folder that no other test loads it from."""
    folder = tmp_path / "e5"
    folder.symlink_to(str(e5.MODEL_FOLDER), target_is_directory=True)
    monkeypatch.setattr(e5, "MODEL_FOLDER", folder)
    return folder


def test_models_of_one_key_are_one_object(loads: list[LoadedObject], load: Callable[[], LoadedObject]) -> None:
    first, second, other = SharedModel("a", load), SharedModel("a", load), SharedModel("b", load)
    assert first() is second() is first()
    assert other() is not first()
    assert len(loads) == 2


def test_concurrent_threads_load_once(loads: list[LoadedObject], load: Callable[[], LoadedObject]) -> None:
    ready = Barrier(4)

    def use(_: int) -> LoadedObject:
        shared = SharedModel("threads", load)
        ready.wait()
        return shared()

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(use, range(4)))
    assert len(loads) == 1
    assert all(model is loads[0] for model in found)


def test_unused_model_is_released(load: Callable[[], LoadedObject], loads: list[LoadedObject]) -> None:
    first, second = SharedModel("gone", load), SharedModel("gone", load)
    ref = weakref.ref(first())
    second()
    loads.clear()
    del first
    assert ref() is not None
    del second
    gc.collect()
    assert ref() is None


def test_failed_load_is_retried() -> None:
    answers: list[Exception | LoadedObject] = [OSError("no"), LoadedObject()]

    def load() -> LoadedObject:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    shared = SharedModel("fails", load)
    with pytest.raises(OSError, match="no"):
        shared()
    assert shared() is shared()


def test_memories_share_one_model_and_release_it(model_folder: Path, tmp_path: Path) -> None:
    memories = [Memory(tmp_path / f"{number}.db") for number in range(3)]
    for memory in memories:
        memory.remember("I moved to Porto.", speaker="Ana", happened_at="2026-05-03")
        memory.remember("I live in Lisbon.", speaker="Ana", happened_at="2026-01-03")
        assert memory.consolidate().counts
    loaded = weakref.ref(onnx_runtime._registry.models[e5.share_network(model_folder).key])
    assert E5Embedder()._network() is E5Embedder(source=model_folder)._network() is loaded()
    for memory in memories:
        memory.close()
    del memory, memories
    gc.collect()
    assert loaded() is None


def test_embedder_reader_and_update_scorer_share_one_model() -> None:
    reranker, update_scorer = LateInteractionReranker(), E5UpdateScorer()
    network = e5.share_network()()
    assert reranker._network() is update_scorer._network() is network


FORK_SCRIPT = """
import os, signal, threading, time
from ecphora.models.embedders import minilm, onnx_runtime

model, texts = minilm.MiniLMEmbedder(), ["I moved to Porto.", "The tea is cold."]
expected = model.embed(texts).tobytes()
busy, stop = minilm.MiniLMEmbedder(), threading.Event()

def embed():
    while not stop.is_set():
        busy.embed(["I moved to Porto last week. " * 20])

def hold():
    with onnx_runtime._registry.lock:
        stop.wait()

for work in (embed, hold):  # at the fork, one thread runs the model and one holds the lock
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


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
def test_forked_child_embeds_with_busy_parent_threads() -> None:
    result = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FORK_SCRIPT], capture_output=True, text=True, timeout=50, check=False
    )
    assert result.returncode == 0, result.stderr
