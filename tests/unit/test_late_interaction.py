"""The built-in reader: what it reads of a memory, what it keeps, and which memories it prefers."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from ecphora import Memory
from ecphora.embedders.e5 import e5_network, interaction_head
from ecphora.embedders.e5.interaction_head import (
    MAX_CONTEXT_TOKENS,
    MAX_TEXT_TOKENS,
    TokenStates,
    encode_passage,
    passage_tokens,
)
from ecphora.embedders.hashing import HashingEmbedder
from ecphora.errors import ReaderUnavailable
from ecphora.ports import Passage
from ecphora.readers import e5_cross_encoder, late_interaction, minilm_cross_encoder
from ecphora.readers.e5_cross_encoder import MAX_TEXT_TOKENS as MAX_TEXT_TOKENS_READ_AGAIN
from ecphora.readers.e5_cross_encoder import E5CrossEncoder
from ecphora.readers.late_interaction import SUM_SHARE, LateInteractionReader, encode_question, question_tokens
from ecphora.readers.minilm_cross_encoder import MiniLMCrossEncoder

DAY = date(2026, 5, 3)


@pytest.fixture(scope="module")
def reader() -> LateInteractionReader:
    return LateInteractionReader()


def best(reader: LateInteractionReader, question: str, passages: Sequence[Passage]) -> int:
    return int(np.argmax(reader.read(question, passages, asked_on=DAY)))


@pytest.mark.parametrize(
    ("question", "texts"),
    [
        (
            "Where does Ana work?",
            ("Since May I work at Miller's, in the bakery.", "Ana, do you live far from here?", "The work is over."),
        ),
        (
            "Wo arbeitet Ana?",
            ("Seit Mai arbeite ich bei Müller in der Backstube.", "Ana, wo bist du?", "Die Arbeit am Dach ruht."),
        ),
        (
            "アナの職場はどこ？",
            ("五月からミュラーのパン屋で働いています。", "アナ、どこにいるの？", "屋根の工事は止まっています。"),
        ),
    ],
)
def test_memory_that_answers_is_preferred(question: str, texts: tuple[str, ...], reader: LateInteractionReader) -> None:
    passages = [Passage(text, speaker=speaker) for text, speaker in zip(texts, ("Ana", "Bo", "Bo"), strict=True)]
    assert best(reader, question, passages) == 0


def test_short_turn_is_read_with_the_turn_before(reader: LateInteractionReader) -> None:
    question = "How many guests came to the wedding?"
    turn = Passage("Forty, I think.", speaker="Ana")
    with_question = Passage("Forty, I think.", speaker="Ana", previous_turn="Bo: How many guests were there?")
    scores = reader.read(question, [turn, with_question], asked_on=DAY)
    assert scores[1] > scores[0]


@pytest.mark.medium
def test_kept_states_give_the_same_scores(reader: LateInteractionReader) -> None:
    passages = [Passage(f"Ana has {count} bikes.", happened_on=DAY) for count in range(3)]
    anew = LateInteractionReader().read("How many bikes?", passages[::-1], asked_on=DAY)[::-1]
    first, second = (reader.read("How many bikes?", passages, asked_on=DAY) for _ in range(2))
    assert first.tolist() == second.tolist() == anew.tolist()


@pytest.mark.medium
def test_question_is_encoded_once_for_all_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    encoded: list[tuple[str, date]] = []

    def encode(network: e5_network.E5Network, question: str, asked_on: date) -> TokenStates:
        encoded.append((question, asked_on))
        return encode_question(network, question, asked_on)

    reader, passages = LateInteractionReader(), [Passage(f"Ana has {count} bikes.") for count in range(3)]
    together = reader.read("How many bikes?", passages, asked_on=DAY)
    monkeypatch.setattr(late_interaction, "encode_question", encode)
    reader = LateInteractionReader()
    one_by_one = [reader.read("How many bikes?", [passage], asked_on=DAY)[0] for passage in passages]
    assert one_by_one == together.tolist()
    assert encoded == [("How many bikes?", DAY)]
    reader.read("How many bikes?", passages, asked_on=date(2026, 5, 4))
    assert len(encoded) == 2


def test_tokens_of_a_passage_are_the_end_of_its_context_and_the_start_of_its_text() -> None:
    network = e5_network.share_network()()
    tokens, is_context = passage_tokens(network, "blue " * 300, "red " * 300 + "green")
    assert (~is_context).sum() == MAX_TEXT_TOKENS + 1  # and the last token
    assert is_context.sum() <= 2 * MAX_CONTEXT_TOKENS
    green = network.tokenize("green", 10)
    assert tokens[: is_context.sum()][-1 - len(green) : -1] == green
    alone, alone_is_context = passage_tokens(network, "blue")
    assert len(alone) - alone_is_context.sum() == len(network.tokenize("blue", 10)) + 1


@pytest.mark.medium
def test_question_is_read_with_its_day() -> None:
    network = e5_network.share_network()()
    one, other = (question_tokens(network, "Where is Ana?", date(2026, 5, day)) for day in (3, 4))
    assert one != other


@pytest.mark.medium
@pytest.mark.parametrize("text", ["", " ", "\ud800", "🙂" * 500, "?!"])
def test_any_text_has_a_score(text: str, reader: LateInteractionReader) -> None:
    found = reader.read(text, [Passage(text), Passage(text, previous_turn=text, title=text)], asked_on=DAY)
    assert np.isfinite(found).all()


@pytest.mark.medium
def test_passages_are_read_again_by_a_cross_encoder(reader: LateInteractionReader) -> None:
    question = "Where does Ana work?"
    passages = [Passage("Since May I work at Miller's.", speaker="Ana"), Passage("Ana sings.", speaker="Bo")]
    first = reader.read(question, passages, asked_on=DAY)
    second = E5CrossEncoder().score(question, passages, asked_on=DAY)
    found = reader.reread(question, passages, first, asked_on=DAY)
    assert found == pytest.approx(SUM_SHARE * (first + second))
    assert second[0] > second[1] + 1


@pytest.mark.medium
def test_english_passages_are_also_read_by_a_cross_encoder(reader: LateInteractionReader) -> None:
    passages = [Passage("Since May I work at Miller's.", speaker="Ana"), Passage("Seit Mai bin ich in der Bäckerei.")]
    question = "Where does Ana work?"
    found = reader.read(question, passages, asked_on=DAY)
    english = MiniLMCrossEncoder().score(question, passages, asked_on=DAY)
    network, head = e5_network.share_network()(), reader._head()
    asked = encode_question(network, question, DAY)
    apart = [head.score(asked, encode_passage(network, one.statement)) for one in passages]
    assert found == pytest.approx([SUM_SHARE * (apart[0] + english[0]), apart[1]])


@pytest.mark.medium
def test_passage_that_is_too_long_for_the_cross_encoder_keeps_its_first_score(reader: LateInteractionReader) -> None:
    network = e5_network.share_network()()
    longest = " ".join(["blue"] * MAX_TEXT_TOKENS_READ_AGAIN)
    assert len(network.tokenize(longest, 1_000)) == MAX_TEXT_TOKENS_READ_AGAIN
    passages = [Passage(longest), Passage(f"{longest} blue")]
    found = reader.reread("What is blue?", passages, np.array([100.0, 100.0]), asked_on=DAY)
    assert found[0] < 90.0
    assert found[1] == 100.0


@pytest.mark.medium
def test_cross_encoder_reads_the_turn_before_and_the_day() -> None:
    scorer = E5CrossEncoder()
    turn = Passage("Forty, I think.", speaker="Ana")
    with_question = replace(turn, previous_turn="Bo: How many guests were there?")
    question = "How many guests came to the wedding?"
    alone, together = scorer.score(question, [turn, with_question], asked_on=DAY)
    assert together > alone
    assert scorer.score(question, [turn], asked_on=date(2020, 1, 1))[0] != alone
    assert scorer.score(question, [], asked_on=DAY).shape == (0,)


@pytest.mark.medium
@pytest.mark.parametrize("text", ["", "\ud800", "🙂" * 500])
def test_any_text_can_be_read_again(text: str, reader: LateInteractionReader) -> None:
    found = reader.reread(text, [Passage(text), Passage("a", previous_turn=text)], np.zeros(2), asked_on=DAY)
    assert np.isfinite(found).all()


@pytest.mark.medium
@pytest.mark.parametrize(
    ("module", "name"),
    [(e5_cross_encoder, "reader_adapters.npz"), (minilm_cross_encoder, "english_reader_adapters.npz")],
)
def test_recall_goes_on_without_the_adapters(
    module: ModuleType, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tmp_path.joinpath(name).write_bytes(b"no adapters")
    monkeypatch.setattr(module, "files", lambda _package: tmp_path)
    monkeypatch.setattr(module, "ADAPTERS_DIGEST", "0" * 64)  # shares none that are loaded
    with Memory(tmp_path / "m.db", embedder=HashingEmbedder(64), reader=LateInteractionReader()) as memory:
        memory.remember("I moved to Porto.", speaker="Ana")
        found = memory.recall("Where does Ana live?", reading="always")
    assert len(found) == 1
    assert found.cost.passages_read == (module is e5_cross_encoder)
    assert f"{name} is not the published one; fix it with: pip install" in str(found.cost.reader_error)


@pytest.mark.medium
def test_recall_goes_on_if_the_model_is_missing(tmp_path: Path) -> None:
    reader = LateInteractionReader(source=tmp_path)
    with pytest.raises(ReaderUnavailable, match=r"cannot read the model file .*; fix it with: pip install"):
        reader.read("Where?", [Passage("Here.")], asked_on=DAY)
    with Memory(tmp_path / "m.db", embedder=HashingEmbedder(64), reader=reader) as memory:
        memory.remember("I moved to Porto.", speaker="Ana")
        found = memory.recall("Where does Ana live?", reading="always")
    assert len(found) == 1
    assert found.cost.reader_error is not None


@pytest.mark.medium
def test_recall_goes_on_if_the_head_is_damaged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tmp_path.joinpath("reader.onnx").write_bytes(b"no graph")
    monkeypatch.setattr(interaction_head, "files", lambda _package: tmp_path)
    monkeypatch.setattr(late_interaction, "HEAD_DIGEST", "0" * 64)  # shares no loaded head
    with Memory(tmp_path / "m.db", embedder=HashingEmbedder(64), reader=LateInteractionReader()) as memory:
        memory.remember("I moved to Porto.", speaker="Ana")
        found = memory.recall("Where does Ana live?", reading="always")
    assert len(found) == 1
    assert "reader.onnx is not the published one; fix it with: pip install" in str(found.cost.reader_error)


def test_hashing_embedder_reads_nothing_by_default(tmp_path: Path) -> None:
    with Memory(tmp_path / "m.db", embedder=HashingEmbedder(64)) as memory:
        memory.remember("I moved to Porto.", speaker="Ana")
        assert memory.recall("Where does Ana live?", reading="always").cost.passages_read == 0


@pytest.mark.medium
def test_built_in_reader_reads_by_default(tmp_path: Path) -> None:
    with Memory(tmp_path / "m.db") as memory:
        memory.remember("I moved to Porto.", speaker="Ana")
        found = memory.recall("Where does Ana live?", reading="always")
    assert (found.cost.passages_read, found.cost.reader_error) == (1, None)
