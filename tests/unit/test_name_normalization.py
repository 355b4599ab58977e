"""The normal form of a name."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ecphora.language.names.mentions import entity_id, normalize_name

KEYS = [
    ("The Beatles", "beatles"),
    ("José  Núñez", "jose nunez"),
    ("Coney Island (film)", "coney island"),
    ("Hailey's", "hailey"),
    ("Hailey’s Bakery", "hailey bakery"),
    ("J. R. R. Tolkien", "jrr tolkien"),
    ("J.R.R. Tolkien", "jrr tolkien"),
    ("U.S.", "us"),
    ("O'Brien", "o brien"),
    ("Jean-Luc", "jean luc"),
    ("Straße", "strasse"),
    ("Øresund", "oresund"),
    ("Ｇｏｏｇｌｅ", "google"),
    ("King Eric XIV of Sweden", "eric xiv of sweden"),
    ("Grand Duke Paul of Ruritania", "paul of ruritania"),
    ("King Olaf", "king olaf"),
    ("Queen of the Night", "queen of the night"),
    ("The Who", "who"),
    ("the", "the"),
    ("(film)", "film"),
    ("ガンダム", "ガンダム"),
    ("《三体》", "三体"),
    ("김민수", "김민수"),
    ("?!", ""),
    ("", ""),
]


@pytest.mark.parametrize(("name", "expected"), KEYS)
def test_normalized_name(name: str, expected: str) -> None:
    assert normalize_name(name) == expected


def test_entity_id_contains_the_normalized_name() -> None:
    assert entity_id("The Beatles") == entity_id("beatles") == "entity:beatles"


_PIECES = st.sampled_from(
    [
        *"AZaz09.,;:!?'’\"“”「」《》()&- \n",
        " of the ",
        "The ",
        "I ",
        "'s ",
        " May ",
        "王",
        "ア",
        "さん",
        "市",
        "김",
        "É",
        "ß",
        "ſ",
        "İ",
    ]
)


_TEXTS = st.one_of(st.text(), st.lists(_PIECES, max_size=40).map("".join))


@pytest.mark.medium
@given(_TEXTS)
@example("the the king the king t h e x y")
@example("Grand Grand Duke of (a) (b) )(")
def test_normalization_is_idempotent(text: str) -> None:
    assert normalize_name(normalize_name(text)) == normalize_name(text)
