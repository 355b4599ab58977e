"""Whether a text states a fact, or supposes, advises or reports something, or tells of what is over."""

from dataclasses import fields
from pathlib import Path

import pytest

from ecphora.language.statements.factuality import MAX_CHARS, Factuality, asks_for_facts, factuality, without_quotations

SENTENCES = Path(__file__).parent.parent / "statements"
KINDS = ("supposed", "advice", "reported", "former")


def sentences(name: str) -> list[str]:
    return (SENTENCES / f"{name}.txt").read_text(encoding="utf-8").splitlines()


def kinds_of(text: str) -> set[str]:
    found = factuality(text)
    return {one.name.removeprefix("is_") for one in fields(Factuality) if getattr(found, one.name)}


def test_plain_facts_are_facts() -> None:
    texts = sentences("plain")
    assert len(texts) > 400
    assert {text: found for text in texts if (found := kinds_of(text))} == {}


@pytest.mark.parametrize("kind", KINDS)
def test_text_that_is_no_fact_of_now_is_told(kind: str) -> None:
    texts = sentences(kind)
    assert len(texts) > 45
    assert [text for text in texts if kind not in kinds_of(text)] == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I work at a bakery. Have you ever been there?", set()),
        ("Where do I live?", {"asked"}),
        ("私はどこに住んでいますか。", {"asked"}),
        ("Which size do I wear? Which size? Answer: which size do I wear, which size.", {"asked"}),
        ("Guess what? I moved to Antwerp!", set()),
        ("What's the Wi-Fi password? The Wi-Fi password is tulip42.", set()),
        ("Is it on Tuesday? Is it late? We meet at six.", set()),
        ("Have you ever considered a bakery?", {"asked", "advice"}),
        ("My sister Ida lives in Ulm with her two sons. I wish I had one.", set()),
        ("I wish I lived in Ulm like my sister. Oh well.", {"supposed"}),
        ("Hello! You should see a dentist.", {"advice"}),
        ("For bread you could use spelt flour, many bakers like it.", {"advice"}),
        ("I live in a castle with forty rooms and a moat. Just kidding!", {"supposed"}),
        ("As a child I lived in Rome. I still have the accent.", {"former"}),
        ("As a child I lived in Rome, and I still do.", set()),
        ("Als Kind lebte ich in Rom, jetzt in Bonn.", set()),
        ("De niña vivía en Roma, ahora en León.", set()),
        ("Enfant, j'habitais à Rome, aujourd'hui à Metz.", set()),
        ("Antigamente morava em Roma, agora em Faro.", set()),
        ("我以前住在西安,现在住在北京。", set()),
        ("以前は大阪に住んでいましたが、今は京都です。", set()),
        ("", set()),
        ("?", set()),
    ],
)
def test_most_of_a_text_decides(text: str, expected: set[str]) -> None:
    assert kinds_of(text) == expected


def test_apostrophes_are_all_alike() -> None:
    assert kinds_of("I'd rather work at a zoo.") == kinds_of("I’d rather work at a zoo.") == {"supposed"}


def test_case_does_not_matter() -> None:
    for kind in KINDS:
        assert [text for text in sentences(kind) if kind not in kinds_of(text.upper()) and "ß" not in text] == []


@pytest.mark.parametrize(
    ("text", "is_reported"),
    [
        ('My uncle wrote: "I sold the farm."', True),
        ("Mein Onkel schrieb: „Ich habe den Hof verkauft.“", True),
        ("Mon oncle a écrit : « J'ai vendu la ferme. »", True),
        ("叔叔说：“我把农场卖了。”", True),
        ("叔父は言った：「農場を売りました。」", True),
        ('Favorite song: "Bohemian Rhapsody".', False),
        ('My favorite films: "Spirited Away", "Paprika".', False),
        ('I wrote to the agency: "My rent is too high."', False),
        ('We answered, "Our rent is too high."', False),
        ('My uncle, who lives with us in the yellow house behind the mill, once said: "So it goes."', False),
    ],
)
def test_quoted_speech_of_others_is_reported(text: str, *, is_reported: bool) -> None:
    assert ("reported" in kinds_of(text)) is is_reported


def test_quotation_is_left_out() -> None:
    assert without_quotations('My uncle wrote: "I sold the farm."') == ("My uncle wrote ", True)
    own = 'I wrote: "I sold the farm."'
    assert without_quotations(own) == (own, False)
    assert without_quotations("I sold the farm.") == ("I sold the farm.", False)


def test_text_that_is_supposed_within_a_quotation_does_not_count() -> None:
    assert kinds_of('My uncle wrote: "I wish I had sold the farm."') == {"reported"}


def test_long_text_is_neither() -> None:
    text = "I wish I had a boat. "
    assert kinds_of(text * (MAX_CHARS // len(text))) == {"supposed"}
    assert kinds_of(text * (MAX_CHARS // len(text) + 1)) == set()


@pytest.mark.parametrize(
    "question",
    [
        "Where do I live?",
        "What is my diet?",
        "Who is my dentist?",
        "Wo wohne ich?",
        "¿Dónde vivo?",
        "Où est-ce que j'habite ?",
        "Onde moro?",
        "我住在哪里?",
        "私はどこに住んでいますか?",
        "When is the wedding?",
        "How old is my daughter?",
        "Could you tell me where I live?",
        "Can you please remind me when I was born?",
        "Kannst du mir sagen, wo ich wohne?",
        "¿Puedes decirme dónde vivo?",
        "Peux-tu me dire où j'habite ?",
        "Podes dizer-me onde moro?",
        "How is my heart?",
    ],
)
def test_question_about_what_is_so_asks_for_facts(question: str) -> None:
    assert asks_for_facts(question)


@pytest.mark.parametrize(
    "question",
    [
        "What did you recommend for my back?",
        "What did Mia say about the job?",
        "Where would I like to live?",
        "What did I almost buy?",
        "What are my plans for the summer?",
        "What happened to the trip?",
        "What is my dream?",
        "What if I win?",
        "Was hast du mir geraten?",
        "Was würde ich gern lernen?",
        "¿Qué me recomendaste?",
        "¿Qué dijo Ana?",
        "Que m'as-tu conseillé ?",
        "O que disse a Ana?",
        "你推荐了什么?",
        "母は何と言いましたか?",
        "What is my novel about?",
        "Worum geht es in meinem Roman?",
        "Where did I consider moving?",
        "What did Mia ask about the flat?",
        "Was habe ich dich gefragt?",
        "先生の質問は何でしたか?",
    ],
)
def test_question_about_what_is_said_or_supposed_asks_for_more(question: str) -> None:
    assert not asks_for_facts(question)
