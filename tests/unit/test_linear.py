"""Every reader of ``ecphora.language`` takes time in proportion to its text, whatever the text is.

``python tests/unit/test_linear.py`` runs all readers on all patterns at 100,000 characters: some minutes.
"""

import pkgutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from importlib import import_module
from inspect import get_annotations, isfunction, isgeneratorfunction, signature
from time import thread_time

import pytest

from ecphora import language
from ecphora.errors import InvalidTime
from ecphora.language.name_usage import is_vocative, masked_excerpt
from ecphora.language.statements import statements
from ecphora.language.terms import extract_terms
from ecphora.language.validity_phrases import validity_interval
from ecphora.language.values import values

NOW = datetime(2026, 5, 3, tzinfo=UTC)
LONG, SECONDS = 100_000, 5
GIVEN = {"reference_time": NOW, "speaker": "Ana Silva", "exclude": ()}
"""What readers are handed beside texts, by the names of their parameters."""
WHOLE = frozenset({"text", "marked", "sentence", "question"})
"""The parameters that take any text; others take names in their normal form."""

PATTERNS = (
    "a", "A", "1", " ", "\n", "\n\n", ",", "[", "“", '"A" ', "(", "-", "一", "ア・", "\u0301\u0316", "\x00", "\x00! ",
    "my a, \x00!", "1,", "1, ", "1.1", "in 2020 ", "2020-05-03 ", "May 3 to ", "from May ", "until ", "not a ", "and ",
    "a's ", "Mr. ", "Ana. ", "Ana Silva, ", "My sister, Ana, ", "is my sister ", "all ", "we call him ", "can a ",
    "between 1 and ", "二〇二三年", "but i never ",
)  # fmt: skip
FEW = ("\n", " ", "1,", "[", "“", "\u0301\u0316", "and ", "from ", "my sister ", "A-", "Ana, ", "a, \x00! ")
"""What is tried on all of them every time: most of it was a trap once."""


def readers() -> Iterator[tuple[str, Callable[[str], object]]]:
    """Every public function of the language that reads a text, as a function of it alone."""
    for module in pkgutil.iter_modules(language.__path__):
        if module.name in {"date_semantics", "calendar_arithmetic"}:
            continue  # they read matches and names of units
        whole = import_module(f"ecphora.language.{module.name}")
        for name, function in vars(whole).items():
            if isfunction(function) and function.__module__ == whole.__name__ and not name.startswith("_"):
                texts = [one for one, kind in get_annotations(function).items() if kind is str and one != "return"]
                if texts and texts[0] == next(iter(signature(function).parameters)):
                    yield f"{module.name}.{name}", partial(_read, function, texts)
    yield "timeparse.parse_time", _moment


def _read(function: Callable[..., object], texts: list[str], text: str) -> None:
    rest = {name: GIVEN[name] for name in signature(function).parameters if name in GIVEN}
    whole = text if texts[0] in WHOLE else " ".join(text.split()) or "a"
    other = {name: whole[: len(whole) - place] or "a" for place, name in enumerate(texts) if name not in GIVEN}
    if function is masked_excerpt:
        other["name"] = text[:3]
    found = function(**other, **rest)
    if isgeneratorfunction(function):
        list(found)  # type: ignore[call-overload]


def _moment(text: str) -> None:
    with suppress(InvalidTime):
        import_module("ecphora.timeparse").parse_time(text)


def seconds(reader: Callable[[str], object], text: str) -> float:
    began = thread_time()
    reader(text)
    return thread_time() - began


def repeated(pattern: str, size: int) -> str:
    return (pattern * (size // len(pattern) + 1))[:size]


READERS = dict(readers())


@pytest.mark.parametrize("name", READERS)
def test_sixteen_times_the_text_takes_about_sixteen_times_as_long(name: str) -> None:
    for pattern in FEW:
        few, many = repeated(pattern, 250), repeated(pattern, 4000)
        late = seconds(READERS[name], many)
        if late > 0.03:  # what is done in no time is not measured
            early = min(seconds(READERS[name], few) for _ in range(3))
            assert min(late, seconds(READERS[name], many)) < 0.03 + 16 * 5 * early, repr(pattern)


@pytest.mark.parametrize(
    ("reader", "pattern", "size"),
    [
        (is_vocative, "\n", LONG),
        (READERS["name_usage.has_speaker_label"], "\n", LONG),
        (values, "1,", 20_000),
        (values, "in 2020 ", 20_000),
        (extract_terms, "\u0301\u0316", LONG),
        (READERS["name_normalization.normalize_name"], "ﾞ\u0316", LONG),
        (READERS["statements.statements"], "\n", LONG),
        (READERS["statements.statements"], "[", LONG),
        (READERS["statements.statements"], "“", LONG),
        (READERS["statements.statements"], "a" + 200 * " ", LONG),
        (READERS["validity_phrases.validity_interval"], "from ", LONG),
        (READERS["kin_mentions.kin_mentions"], "my sister ", 40_000),
    ],
)
def test_known_traps(reader: Callable[[str], object], pattern: str, size: int) -> None:
    assert seconds(reader, repeated(pattern, size)) < SECONDS * size / LONG


def test_a_long_row_of_words_before_a_call_is_read_once() -> None:
    assert seconds(READERS["alias_phrases.alias_pairs"], "all " * 20_000 + "call her") < 1


def test_runs_are_read_as_they_were() -> None:
    assert is_vocative("Hello.\n\n\x00! How are you?")
    assert extract_terms("cafe\u0301 " + "n" + "\u0303" * 100) == ["cafe", "n"]
    assert [found.normal_form for found in values("chapter 5 costs 1,000,000 dollars")] == ["5", "1e+06"]
    assert [one.text for one in statements("[aside] I moved [to Porto.\n\n  1. I sold it.", "Ana", NOW)] == [
        "I moved [to Porto.",
        "I sold it.",
    ]


def test_a_length_beyond_the_calendar_bounds_nothing() -> None:
    assert validity_interval("I am away for 999999 years.", NOW) == (None, None)
    assert validity_interval(f"I am away for {'9' * 5000} days.", NOW) == (None, None)


if __name__ == "__main__":
    for one, read in READERS.items():
        worst = max((seconds(read, repeated(pattern, LONG)), pattern) for pattern in PATTERNS)
        print(f"{worst[0]:6.2f} s  {one:28} {worst[1]!r}{'' if worst[0] < SECONDS else '  TOO SLOW'}")  # noqa: T201
