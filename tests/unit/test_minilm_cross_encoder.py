"""The cross-encoder for English: what it reads of a question and a memory, and what it leaves to others."""

from dataclasses import replace
from datetime import date

import numpy as np
import pytest

from ecphora.embedders import minilm
from ecphora.embedders.minilm import MiniLMNetwork
from ecphora.embedders.scoring_head import PairTokens
from ecphora.ports import Passage
from ecphora.readers.minilm_cross_encoder import (
    CONTEXT,
    MAX_TEXT_TOKENS,
    QUESTION,
    TEXT,
    MiniLMCrossEncoder,
    pair_tokens,
    question_tokens,
    token_types,
)

pytestmark = pytest.mark.medium

DAY = date(2026, 5, 3)
QUESTION_TEXT = "How do I get to the office?"
ANSWER, OTHER = Passage("Rain or shine, I take the ferry."), Passage("The office is closed on Friday.")


@pytest.fixture(scope="module")
def reader() -> MiniLMCrossEncoder:
    return MiniLMCrossEncoder()


@pytest.fixture(scope="module")
def network() -> MiniLMNetwork:
    return minilm.share_network()()


def test_answer_in_other_words_comes_first(reader: MiniLMCrossEncoder) -> None:
    found = reader.score(QUESTION_TEXT, [OTHER, ANSWER], asked_on=DAY)
    assert found[1] > found[0] + 1


def test_texts_in_other_languages_have_no_score(reader: MiniLMCrossEncoder) -> None:
    german = Passage("Bei jedem Wetter nehme ich die Fähre ins Büro.")
    found = reader.score(QUESTION_TEXT, [german, ANSWER], asked_on=DAY)
    assert np.isnan(found).tolist() == [True, False]
    assert np.isnan(reader.score("Wie komme ich in das Büro?", [ANSWER], asked_on=DAY)).all()
    assert reader.score(QUESTION_TEXT, [], asked_on=DAY).shape == (0,)


def test_memory_that_is_too_long_has_no_score(reader: MiniLMCrossEncoder) -> None:
    longest = " ".join(["blue"] * MAX_TEXT_TOKENS)
    found = reader.score("What is blue?", [Passage(longest), Passage(f"{longest} blue")], asked_on=DAY)
    assert np.isnan(found).tolist() == [False, True]


def test_turn_before_stands_between_the_question_and_the_memory(network: MiniLMNetwork) -> None:
    start, end = network.first_token, network.last_token
    (blue,), (red,) = network.tokenize("blue", 9), network.tokenize("red", 9)
    alone = pair_tokens(network, [7, 8], Passage("blue"))
    assert alone == PairTokens([start, 7, 8, end, blue, end], [QUESTION] * 4 + [TEXT] * 2)
    both = pair_tokens(network, [7], Passage("blue", previous_turn="red"))
    assert both is not None
    assert both == PairTokens([start, 7, end, red, end, blue, end], [QUESTION] * 3 + [CONTEXT] * 2 + [TEXT] * 2)
    assert token_types(both) == [0, 0, 0, 0, 0, 1, 1]


def test_score_depends_on_turn_before_and_tokens_on_day(reader: MiniLMCrossEncoder, network: MiniLMNetwork) -> None:
    turn = Passage("Forty, I think.", speaker="Ana")
    with_question = replace(turn, previous_turn="Bo: How many guests were there?")
    alone, together = reader.score("How many guests came to the party?", [turn, with_question], asked_on=DAY)
    assert together > alone
    one, other = (question_tokens(network, "Where is Ana?", date(2026, 5, day)) for day in (3, 4))
    assert one != other


@pytest.mark.parametrize("text", ["", " ", "\ud800", "?!"])
def test_any_english_text_has_a_score(text: str, reader: MiniLMCrossEncoder) -> None:
    found = reader.score(text, [Passage(text), Passage(text, previous_turn=text, title=text)], asked_on=DAY)
    assert np.isfinite(found).all()


def test_adapters_of_zeros_change_no_state_and_types_of_tokens_count(network: MiniLMNetwork) -> None:
    """The graph's branch with adapters is that without them, and what is added."""
    ids = [network.first_token, 2_630, 3_899, network.last_token]
    adapters = {name: values * 0 for name, values in network._question_adapters.items()}
    plain = network.hidden_states(ids)
    np.testing.assert_allclose(network.adapted_states(ids, [0] * 4, adapters), plain, atol=1e-5)
    assert np.abs(network.adapted_states(ids, [0, 0, 1, 1], adapters) - plain).max() > 0.01
