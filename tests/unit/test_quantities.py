"""Quantities: amounts with a unit in one form for all spellings."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ecphora.language.identifiers.numbers import quantities


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It weighs 5 kg.", ("5 kg",)),
        ("5kg, 5 kilos, 5 Kilogramm, 5公斤 and 5.0 kg", ("5 kg",)),
        ("20 euros = 20 EUR = €20 = 20€ = EUR 20 = 20,00 €", ("20 eur",)),
        ("$1,250.50", ("1250.5 usd",)),
        ("1.250,50 Euro", ("1250.5 eur",)),
        ("5 km, 5 cm, 5 kWh", ("5 km", "5 cm", "5 kwh")),
        ("a 30-minute walk, 30分", ("30 min",)),
        ("30 percent, 30%, 30 Prozent", ("30 %",)),
        ("25人で1200円", ("1200 jpy",)),
        ("port 8080, 20 people, 5 kittens, in 1999, PAY-1482", ()),
    ],
)
def test_quantity_has_one_form(text: str, expected: tuple[str, ...]) -> None:
    assert quantities(text) == expected


@given(st.text(alphabet="1234567890., kg€$-'m"))
def test_any_text_can_be_read(text: str) -> None:
    assert all(" " in one for one in quantities(text))
