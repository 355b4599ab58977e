"""Words for exact matching: folded, stemmed, hashed, in any script."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ecphora.language.terms import count_terms, extract_terms, hash_terms


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The river is lovely.", ["river", "love"]),
        ("running, RUNS; runner's", ["run", "run", "runner"]),
        ("Café, CAFE\u0301, ｃａｆｅ", ["cafe", "cafe", "cafe"]),  # composed, decomposed, full width
        ("Straße STRASSE", ["strass", "strass"]),
        ("İstanbul", ["istanbul"]),
        ("don't I’ve Ana's Ana’s", ["ana", "ana"]),
        ("l'école, L’Hôtel d'Angelo; dell'acqua qu'elle", ["ecol", "hotel", "angelo", "acqua", "ell"]),
        ("O'Brien's 'apple'; we'd eat 'em", ["obrien", "appl", "wed", "eat", "em"]),
        ("e-mail, under_score x2", ["e", "mail", "under", "score", "x2"]),
        ("2026-05-03 at 14:30", ["2026", "05", "03", "14", "30"]),
        ("", []),
        ("?! … 👋", []),
        ("who is the one that did it", ["one"]),
    ],
)
def test_terms_are_folded_and_stemmed(text: str, expected: list[str]) -> None:
    assert extract_terms(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("你好", ["好", "你好"]),  # "你" says nothing
        ("北京大学", ["北", "京", "大", "学", "北京", "京大", "大学"]),
        ("東京に住む", ["東", "京", "住", "む", "東京", "京に", "に住", "住む"]),
        ("서울", ["서", "울", "서울"]),
        ("我用Python写", ["用", "我用", "python", "写"]),
    ],
)
def test_terms_without_spaces_are_characters_and_pairs(text: str, expected: list[str]) -> None:
    assert extract_terms(text) == expected


@pytest.mark.parametrize("text", ["\ud800", "a\udfff b", "\ud83d\udc4b", "日\ud800本"])
def test_lone_surrogates_are_counted(text: str) -> None:
    found, counts = count_terms(extract_terms(text))
    assert len(found) == len(counts)


@pytest.mark.medium
@given(st.text())
def test_any_text_has_reproducible_terms(text: str) -> None:
    found = extract_terms(text)
    assert found == extract_terms(text)
    distinct, counts = count_terms(found)
    assert distinct.tolist() == sorted(set(hash_terms(found).tolist()))
    assert distinct.dtype == np.uint32
    assert counts.dtype == np.uint8
    assert counts.astype(int).sum() == len(found) or counts.max() == 255


@pytest.mark.medium
@given(st.text(st.characters(codec="ascii")))
def test_case_makes_no_difference(text: str) -> None:
    assert extract_terms(text) == extract_terms(text.upper()) == extract_terms(text.lower())


def test_term_counts_stop_at_255() -> None:
    _, counts = count_terms(["word"] * 300 + ["other"])
    assert sorted(counts.tolist()) == [1, 255]


def test_term_hashes_are_stable() -> None:
    assert hash_terms(["river", "北京", "\ud800"]).tolist() == [4125321003, 3429596817, 499426600]
