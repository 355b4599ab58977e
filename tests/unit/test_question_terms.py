"""Terms of a question: without the function words of its language, and never without any."""

import re
from pathlib import Path

import pytest

from ecphora.language.lexicon_file import read_lexicon
from ecphora.language.question import question_terms
from ecphora.language.terms import extract_terms
from ecphora.memory import Memory
from ecphora.model.types import Episode
from ecphora.models.embedders.hashing import HashingEmbedder
from ecphora.testing import FakeClock


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("¿Qué es lo que dijo Marta sobre el contrato?", ["dijo", "marta", "contrato"]),
        ("que es lo que dijo Marta sobre el contrato", ["dijo", "marta", "contrato"]),
        ("QUE DIJO MARTA SOBRE EL CONTRATO", ["dijo", "marta", "contrato"]),
        ("O que é que a Marta disse sobre o contrato?", ["marta", "diss", "contrato"]),
        ("Qu’est-ce que Marta a dit sur le contrat ?", ["marta", "dit", "contrat"]),
        ("Quand a-t-elle signé le contrat ?", ["sign", "contrat"]),
        ("Was hat Marta über den Vertrag gesagt?", ["marta", "vertrag", "gesagt"]),
        ("Cos'è che ha detto Marta del contratto?", ["detto", "marta", "contratto"]),
        ("Wat heeft Marta over het contract gezegd?", ["marta", "contract", "gezegd"]),
    ],
)
def test_question_terms_leave_out_function_words(question: str, expected: list[str]) -> None:
    assert list(question_terms(question)) == expected


@pytest.mark.parametrize(
    "question", ["¿Qué es esto?", "Quando?", "Wer ist das?", "¿Y tú?", "Qui est-ce ?", "de", "?", ""]
)
def test_question_terms_are_all_if_none_has_content(question: str) -> None:
    assert list(question_terms(question)) == list(dict.fromkeys(extract_terms(question)))


@pytest.mark.parametrize(
    ("question", "kept"),
    [
        ("What is the plan for Los Angeles?", "los"),  # Spanish only
        ("When did Die Hard come out?", "die"),
        ("¿Cuándo viaja Ana a LA con su hermana?", "la"),
        ("¿Cuánto cuesta el té en la tienda?", "te"),  # tea, not "you"
        ("Quando arriva Mia con il treno?", "mia"),  # a name, not "my"
        ("Wat wil Wil voor zijn verjaardag?", "wil"),
        ("Was ist los mit dem Vertrag?", "los"),  # "the matter", not an article
        ("「het」の意味は何ですか。", "het"),
    ],
)
def test_question_terms_keep_what_has_content_here(question: str, kept: str) -> None:
    assert kept in question_terms(question)


def test_question_terms_keep_the_content_word_of_a_language_that_is_as_likely() -> None:
    assert "dos" in question_terms("Por que dos para Ana?")  # Spanish "two", Portuguese "of the"


def test_lists_share_no_word_with_capitals_or_spaces() -> None:
    for words in read_lexicon("languages")["function words"].values():
        assert words == words.lower()
        assert len(words.split()) == len(set(words.split()))


@pytest.mark.medium
@pytest.mark.parametrize(
    ("question", "contract", "filler", "quoted"),
    [
        (
            "¿Qué es lo que dijo Marta sobre el contrato?",
            "Marta dijo ayer en la oficina que el contrato termina en junio y no lo renueva.",
            "¿Qué es lo que es? Lo que es, es lo que es.",
            ("dijo", "Marta", "contrato"),
        ),
        (
            "Was hat Marta über den Vertrag gesagt?",
            "Gestern im Büro: Marta sagt, dass der Vertrag im Juni endet und nicht verlängert wird.",
            "Was den einen über den anderen hat, was hat er über den dritten?",
            ("Vertrag", "Marta"),
        ),
        (
            "Qu'est-ce que Marta a dit sur le contrat ?",
            "Hier au bureau, Marta a annoncé la fin du contrat pour le mois de juin.",
            "Ce que le sort a fait, ce que le jour a vu, sur ce que le soir a pris.",
            ("contrat", "Marta"),
        ),
        (
            "O que é que a Marta disse sobre o contrato?",
            "Ontem no escritório a Marta falou de quando termina o contrato, em junho.",
            "O que é que a vida é, o que é que a sorte é, o que é sobre o que é.",
            ("contrato", "Marta"),
        ),
    ],
)
def test_question_finds_and_explains_by_its_content(
    tmp_path: Path, question: str, contract: str, filler: str, quoted: tuple[str, ...]
) -> None:
    texts = [filler, contract, "It rained all day.", "The train was late.", "Paid in raisin buns."]
    with Memory(tmp_path / "m.db", embedder=HashingEmbedder(64), update_scorer=None, clock=FakeClock()) as memory:
        memory.remember([Episode(text, happened_at="2026-05-03") for text in texts])
        assert memory.recall(question, strategy="bm25")[0].text == contract
        for hit in memory.recall(question):
            said = set(re.findall("“([^”]*)”", hit.reason))
            assert said <= set(quoted), hit.reason
            assert (hit.text != contract) or said
