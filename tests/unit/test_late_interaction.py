"""The built-in reranker: what it reads of a memory, what it keeps, and which memories it prefers."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path

import numpy as np
import pytest

from ecphora import Episode, Memory
from ecphora.errors import RerankerUnavailable
from ecphora.model.ports import Passage, PassageCodes
from ecphora.models.embedders import e5, token_codes
from ecphora.models.embedders.e5 import E5Embedder
from ecphora.models.embedders.hashing import HashingEmbedder
from ecphora.models.embedders.token_codes import (
    CODE_SIZE,
    CONTEXT_END,
    MAX_CONTEXT_TOKENS,
    MAX_TEXT_TOKENS,
    TokenCodec,
    TokenStates,
    best_part,
    decode,
)
from ecphora.models.rerankers import e5_cross_encoder, late_interaction
from ecphora.models.rerankers.e5_cross_encoder import MAX_TEXT_TOKENS as MAX_TEXT_TOKENS_READ_AGAIN
from ecphora.models.rerankers.e5_cross_encoder import E5CrossEncoder
from ecphora.models.rerankers.late_interaction import MAX_READ_TOKENS, SUM_SHARE, LateInteractionReranker

DAY = date(2026, 5, 3)


@pytest.fixture(scope="module")
def reranker() -> LateInteractionReranker:
    return LateInteractionReranker()


def best(reranker: LateInteractionReranker, question: str, passages: Sequence[Passage]) -> int:
    return int(np.argmax(reranker.score(question, passages, asked_on=DAY)))


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
def test_memory_that_answers_is_preferred(
    question: str, texts: tuple[str, ...], reranker: LateInteractionReranker
) -> None:
    passages = [Passage(text, speaker=speaker) for text, speaker in zip(texts, ("Ana", "Bo", "Bo"), strict=True)]
    assert best(reranker, question, passages) == 0


@pytest.mark.medium
def test_short_turn_is_read_with_the_turn_before(reranker: LateInteractionReranker) -> None:
    question = "How many guests came to the wedding?"
    turn = Passage("Forty, I think.", speaker="Ana")
    with_question = Passage("Forty, I think.", speaker="Ana", previous_turn="Bo: How many guests were there?")
    scores = reranker.score(question, [turn, with_question], asked_on=DAY)
    assert scores[1] > scores[0]


@pytest.mark.medium
def test_codes_of_a_text_give_the_scores_of_the_text(reranker: LateInteractionReranker) -> None:
    passages = [Passage(f"Ana has {count} bikes.", speaker="Bo", previous_turn="Ana: How many?") for count in range(3)]
    previous, *own = reranker.encode(["Ana: How many?", *(passage.own_text for passage in passages)])
    from_codes = reranker.score_codes("How many bikes?", [PassageCodes(one, previous) for one in own])
    anew = LateInteractionReranker().score("How many bikes?", passages[::-1], asked_on=DAY)[::-1]
    assert from_codes.tolist() == reranker.score("How many bikes?", passages, asked_on=DAY).tolist() == anew.tolist()


@pytest.mark.medium
def test_codes_come_from_the_run_that_embeds_a_text(monkeypatch: pytest.MonkeyPatch) -> None:
    network = e5.share_network()()
    runs: list[int] = []

    def count_runs(inputs: dict[str, object]) -> object:
        runs.append(1)
        return session.run(None, inputs)

    session = network._session
    monkeypatch.setattr(network, "_run", lambda inputs: count_runs(inputs)[0][0])  # type: ignore[index]
    monkeypatch.setattr(network, "_run_all", lambda inputs: [one[0] for one in count_runs(inputs)])  # type: ignore[attr-defined]
    embedder, reranker = E5Embedder(), LateInteractionReranker()
    embedder.embed(["A text of this test."])
    (codes,) = reranker.encode(["A text of this test."])
    embedder.embed(["A question of this test?"], is_query=True)
    embedder.embed_words("A question of this test?", ["question", "test"])
    reranker.score_codes("A question of this test?", [PassageCodes(codes)])
    assert len(runs) == 2
    assert codes == network.codec.encode(network.token_states("passage: A text of this test."))


def codes_of(count: int) -> bytes:
    """Codes of some tokens, no two alike."""
    rows = np.random.default_rng(count).standard_normal((count, CODE_SIZE)).astype(np.float32)  # noqa: TID251  # seeded
    return TokenCodec(np.zeros(CODE_SIZE, np.float32), np.eye(CODE_SIZE, dtype=np.float32)).encode(rows)


ASKED = TokenStates(decode(codes_of(7)), np.zeros(7, np.bool_))


@pytest.mark.parametrize(
    ("own", "previous", "read"),
    [(3, 100, MAX_CONTEXT_TOKENS), (3, 5, 5), (CONTEXT_END - 2, 100, 2), (CONTEXT_END, 100, 0), (3, 0, 0)],
)
def test_context_is_the_end_of_the_turn_before(own: int, previous: int, read: int) -> None:
    text, before = codes_of(own), codes_of(previous)
    states = TokenStates.from_codes(ASKED, text, before)
    assert states.is_context.tolist() == [True] * read + [False] * own
    assert np.array_equal(states.rows, np.concatenate([decode(before)[previous - read :], decode(text)]))


@pytest.mark.parametrize("at", [0, 30, 64, 130, 170])
def test_part_of_a_long_text_that_matches_the_question_is_read(at: int) -> None:
    rows = decode(codes_of(180))
    rows[at : at + 7] = 0.5 * ASKED.rows
    found = best_part(ASKED.rows, rows)
    assert len(found) <= MAX_TEXT_TOKENS
    assert all(any(np.array_equal(one, other) for other in found) for one in rows[at : at + 7])
    assert np.array_equal(best_part(ASKED.rows, rows[:MAX_TEXT_TOKENS]), rows[:MAX_TEXT_TOKENS])


@pytest.mark.medium
def test_reader_reads_a_bounded_number_of_tokens(reranker: LateInteractionReranker) -> None:
    codes = reranker.encode(["The mill by the river was painted blue, " * 8, "Ana has a bike."])
    pairs = [PassageCodes(codes[0])] * 20
    assert np.isfinite(reranker.score_codes("Who has a bike?", pairs)).sum() == MAX_READ_TOKENS // MAX_TEXT_TOKENS
    assert np.isfinite(reranker.score_codes("Who has a bike?", [PassageCodes(codes[1])] * 20)).all()


@pytest.mark.medium
@pytest.mark.parametrize("text", ["", " ", "\ud800", "🙂" * 500, "?!"])
def test_any_text_has_a_score(text: str, reranker: LateInteractionReranker) -> None:
    found = reranker.score(text, [Passage(text), Passage(text, previous_turn=text, title=text)], asked_on=DAY)
    assert np.isfinite(found).all()


@pytest.mark.medium
def test_passages_are_read_again_by_a_cross_encoder(reranker: LateInteractionReranker) -> None:
    question = "Where does Ana work?"
    passages = [Passage("Since May I work at Miller's.", speaker="Ana"), Passage("Ana sings.", speaker="Bo")]
    first = reranker.score(question, passages, asked_on=DAY)
    second = E5CrossEncoder().score(question, passages, asked_on=DAY)
    found = reranker.rescore(question, passages, first, asked_on=DAY)
    assert found == pytest.approx(SUM_SHARE * (first + second))
    assert second[0] > second[1] + 1


@pytest.mark.medium
def test_passage_that_is_too_long_for_the_cross_encoder_keeps_its_first_score(
    reranker: LateInteractionReranker,
) -> None:
    network = e5.share_network()()
    longest = " ".join(["blue"] * MAX_TEXT_TOKENS_READ_AGAIN)
    assert len(network.tokenize(longest, 1_000)) == MAX_TEXT_TOKENS_READ_AGAIN
    passages = [Passage(longest), Passage(f"{longest} blue")]
    found = reranker.rescore("What is blue?", passages, np.array([100.0, 100.0]), asked_on=DAY)
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
def test_any_text_can_be_read_again(text: str, reranker: LateInteractionReranker) -> None:
    found = reranker.rescore(text, [Passage(text), Passage("a", previous_turn=text)], np.zeros(2), asked_on=DAY)
    assert np.isfinite(found).all()


@pytest.mark.medium
def test_recall_goes_on_without_the_adapters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tmp_path.joinpath("weights").mkdir()
    tmp_path.joinpath("weights", "reranker_adapters.npz").write_bytes(b"no adapters")
    monkeypatch.setattr(e5_cross_encoder, "files", lambda _package: tmp_path)
    monkeypatch.setattr(e5_cross_encoder, "ADAPTERS_DIGEST", "0" * 64)  # shares none that are loaded
    with Memory(tmp_path / "m.db", embedder=HashingEmbedder(64), reranker=LateInteractionReranker()) as memory:
        memory.remember([Episode("I moved to Porto.", speaker="Ana", happened_at=f"2026-05-0{day}") for day in (1, 2)])
        found = memory.recall("Where does Ana live?", rerank="always")
    assert len(found) == 2
    assert found.cost.passages_reranked == 2
    assert "reranker_adapters.npz is not the published one; fix it with: pip install" in str(found.cost.reranker_error)


@pytest.mark.medium
def test_recall_goes_on_if_the_model_is_missing(tmp_path: Path) -> None:
    reranker = LateInteractionReranker(source=tmp_path)
    with pytest.raises(RerankerUnavailable, match=r"cannot read the model file .*; fix it with: pip install"):
        reranker.score("Where?", [Passage("Here.")], asked_on=DAY)
    with Memory(tmp_path / "m.db", embedder=HashingEmbedder(64), reranker=reranker) as memory:
        memory.remember("I moved to Porto.", speaker="Ana")
        found = memory.recall("Where does Ana live?", rerank="always")
    assert len(found) == 1
    assert found.cost.reranker_error is not None


@pytest.mark.medium
def test_recall_goes_on_if_the_head_is_damaged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tmp_path.joinpath("weights").mkdir()
    tmp_path.joinpath("weights", "reranker.onnx").write_bytes(b"no graph")
    monkeypatch.setattr(token_codes, "files", lambda _package: tmp_path)
    monkeypatch.setattr(late_interaction, "HEAD_DIGEST", "0" * 64)  # shares no loaded head
    with Memory(tmp_path / "m.db", embedder=HashingEmbedder(64), reranker=LateInteractionReranker()) as memory:
        memory.remember("I moved to Porto.", speaker="Ana")
        found = memory.recall("Where does Ana live?", rerank="always")
    assert len(found) == 1
    assert "reranker.onnx is not the published one; fix it with: pip install" in str(found.cost.reranker_error)


def test_hashing_embedder_reads_nothing_by_default(tmp_path: Path) -> None:
    with Memory(tmp_path / "m.db", embedder=HashingEmbedder(64)) as memory:
        memory.remember("I moved to Porto.", speaker="Ana")
        assert memory.recall("Where does Ana live?", rerank="always").cost.passages_reranked == 0


@pytest.mark.medium
def test_built_in_reader_reads_by_default(tmp_path: Path) -> None:
    with Memory(tmp_path / "m.db") as memory:
        memory.remember("I moved to Porto.", speaker="Ana")
        found = memory.recall("Where does Ana live?", rerank="always")
    assert (found.cost.passages_reranked, found.cost.reranker_error) == (1, None)
