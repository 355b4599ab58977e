"""What counts as English, and what is clearly in another language."""

import time

import pytest

from ecphora.language.language_identification import MAX_CHARS, is_english
from ecphora.language.lexicon_file import read_lexicon

ENGLISH = """
Where are my keys?
Thanks!
hestia's on nights
I was in Berlin.
the war was in die Zeit
Dana will be so late
WHERE IS MY KEY
don’t
"""

OTHER_LANGUAGES = {
    "Chinese": "我住在里斯本。|钥匙呢？",
    "Czech": "Kde je můj klíč?|Proč?",
    "Danish": "Hvor er nøglerne?|Jeg kommer ikke.",
    "Dutch": "Waar zijn de sleutels?|Hoeveel kost het?",
    "Finnish": "Missä avaimet ovat?|Milloin?",
    "French": "Où sont les clés ?|J’arrive demain|qu'en dit Léa",
    "German": "Wo wohnt Petra?|fällig|Danke!|NÄCHSTE WOCHE NICHT",
    "Greek": "Πού είναι τα κλειδιά;",
    "Hungarian": "Hol van a kulcs?|Miért nem?",
    "Indonesian": "Di mana kuncinya?|Saya tidak tahu.",
    "Italian": "Dove sono le chiavi?|Quanti?|l’acqua",
    "Japanese": "鍵はどこ？|Dockerで動かない",
    "Korean": "열쇠는 어디에 있어요?",
    "Polish": "Gdzie są klucze?|Co robi Ola?",
    "Portuguese": "Onde estão as chaves?|Quanto pagou?",
    "Romanian": "Unde sunt cheile?",
    "Russian": "Где ключи?",
    "Spanish": "¿Dónde vive Ana?|Vivo en Madrid.|¿Llamaste?",
    "Swedish": "Var är nycklarna?|Tack!",
    "Thai": "กุญแจอยู่ที่ไหน",
    "Turkish": "Anahtar nerede?|Bugün gelmiyorum.",
    "Vietnamese": "Chìa khóa ở đâu?",
}

UNDECIDABLE = """
Quill?
PAY-1482
PAY-1482 fixed in v2.3.1
{"user": "Ana", "id": 12}
12:30
+49 30 1234567
Zdeněk Novák
José Muñoz-García
Maria de la Cruz
Ludwig van der Berg
Los Angeles
Ben Carson
FA 1936
E. Gluck
git push origin main
ls -la /home/de
https://example.de/der/die/das
der_die_das(x)
café
🎉
"""


@pytest.mark.parametrize("text", ENGLISH.strip().splitlines())
def test_english_is_english(text: str) -> None:
    assert is_english(text)


@pytest.mark.parametrize("text", [text for texts in OTHER_LANGUAGES.values() for text in texts.split("|")])
def test_other_languages_are_not_english(text: str) -> None:
    assert not is_english(text)


@pytest.mark.parametrize("text", ["", *UNDECIDABLE.strip().splitlines()])
def test_text_without_evidence_counts_as_english(text: str) -> None:
    assert is_english(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("meeting mañana at 5, bring the keys", True),
        ("Hola! Necesito el ticket PAY-1482 hoy", False),
        ("The Japanese word 改善 means improvement", True),
        ("server が落ちたので再起動した", False),
        ("hestia's sobre", True),
        ("Iran. Quanti?", False),
        ("Who painted Das Eismeer?", True),
        ("Ich habe das Feature heute deployed, it works", False),
    ],
)
def test_mixed_text_is_in_the_language_of_most_of_its_words(text: str, expected: bool) -> None:
    assert is_english(text) is expected


def test_form_of_accents_does_not_matter() -> None:
    assert not is_english("Proc\u030c?")


def test_long_text_is_read_from_its_beginning() -> None:
    german = "Das ist nicht gut. "
    assert is_english("This is what we said. " * (MAX_CHARS // 20) + german * 1000)
    assert not is_english(german * (MAX_CHARS // 18) + "This is what we said. " * 1000)


def test_frequent_words_are_in_small_letters() -> None:
    words = {word for words in read_lexicon("languages")["frequent words"].values() for word in words.split()}
    assert all(word == word.lower() for word in words)


@pytest.mark.medium
def test_identification_is_fast_and_the_same_each_time() -> None:
    texts = [f"{text} {number}" for text in (*ENGLISH.split("\n"), *OTHER_LANGUAGES.values()) for number in range(40)]
    start = time.process_time()
    first = [is_english(text) for text in texts]
    assert time.process_time() - start < 1e-3 * len(texts)  # measured: 0.05 ms a text
    assert [is_english(text) for text in reversed(texts)] == first[::-1]
