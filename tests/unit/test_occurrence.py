"""Whether words occur in a text."""

import pytest

from ecphora.language.terms import WordSequence

TEXT = "Ana's sisters moved to São Paulo; 私は東京に住んでいます。 Banana."


@pytest.mark.parametrize(
    "words", ["Ana", "ANA", "ana's", "sister", "sisters", "Sao Paulo", "são paulo", "moving to", "東京", "東 京"]
)
def test_words_of_the_text_occur_whatever_their_form(words: str) -> None:
    assert WordSequence(TEXT).contains(words)


@pytest.mark.parametrize("words", ["", " ", "!", "👋", "Paulo São", "Ana moved", "nan", "Porto", "大阪", "Anna"])
def test_other_words_do_not_occur(words: str) -> None:
    assert not WordSequence(TEXT).contains(words)
