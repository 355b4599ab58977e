"""Stays: where somebody is for a while is told from where they live, and is no newer answer to that."""

import pytest

from ecphora.language.statements.factuality import asks_for_stay, is_stay


@pytest.mark.parametrize(
    "text",
    [
        "I am staying in Kiel for the weekend.",
        "I'm in Kiel for a few days.",
        "I'm visiting my sister in Kiel.",
        "We're on holiday in Kiel.",
        "I'll be in Berlin this week for a conference.",
        "Staying at the Hotel Astra until Friday.",
        "I am at my parents' for two weeks.",
        "I'm on a business trip to Oslo.",
        "I am sleeping at Tom's tonight.",
        "Ich bin übers Wochenende in Kiel.",
        "Am Wochenende bin ich in Kiel.",
        "Ich bin gerade zu Besuch in Kiel.",
        "Estoy en Sevilla este fin de semana.",
        "Me quedo dos noches en Sevilla.",
        "Je suis à Lyon pour le week-end.",
        "Je passe une semaine à Lyon.",
        "Estou no Porto este fim de semana.",
        "Fico três noites no Porto.",
        "这周末我在上海。",
        "我在上海出差三天。",
        "週末は京都に泊まります。",
        "今は大阪に出張中です。",
    ],
)
def test_stay_is_recognized(text: str) -> None:
    assert is_stay(text)


@pytest.mark.parametrize(
    "text",
    [
        "I live in Kiel.",
        "I moved to Kiel this week.",
        "I've been in Kiel for two weeks.",
        "I have been staying here for three months.",
        "I'm in the choir.",
        "I am allergic to nuts.",
        "I run three days a week.",
        "The shop is closed until Friday.",
        "The museum visit costs 12 euros.",
        "My holiday starts on Friday.",
        "Ich wohne in Kiel.",
        "Ich bin für den Einkauf zuständig.",
        "Vivo en Sevilla.",
        "Je suis ingénieur.",
        "Moro no Porto.",
        "我住在上海。",
        "京都に住んでいます。",
        "I am staying in Kiel for the weekend. " + "The rest of the letter is about other things. " * 5,
    ],
)
def test_lasting_state_is_no_stay(text: str) -> None:
    assert not is_stay(text)


@pytest.mark.parametrize(
    ("question", "is_asked"),
    [
        ("Where am I staying?", True),
        ("Where are we this weekend?", True),
        ("Wo bin ich am Wochenende?", True),
        ("週末はどこに泊まりますか", True),
        ("Where do I live?", False),
        ("In which city is my flat?", False),
        ("Wo wohne ich?", False),
        ("我住在哪里？", False),
    ],
)
def test_question_about_a_stay(question: str, *, is_asked: bool) -> None:
    assert asks_for_stay(question) is is_asked
