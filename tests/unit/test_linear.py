"""Readers of ``ecphora.language`` take time in proportion to the length of any text.

``python tests/unit/test_linear.py`` runs all readers on all patterns at 100,000 characters: some minutes.
"""

import pkgutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from importlib import import_module
from inspect import Parameter, get_annotations, isfunction, isgeneratorfunction, signature
from time import thread_time

import pytest

from ecphora import language
from ecphora.errors import InvalidTime
from ecphora.language.language_identification import European
from ecphora.language.names.name_usage import is_vocative, masked_excerpt
from ecphora.language.statements.asked_facts import AskedFact
from ecphora.language.statements.statements import statements
from ecphora.language.statements.validity_phrases import validity_interval
from ecphora.language.statements.values import values
from ecphora.language.terms import extract_terms

NOW = datetime(2026, 5, 3, tzinfo=UTC)
LONG, SECONDS = 100_000, 5
OTHER_ARGUMENTS = {
    "reference_time": NOW, "speaker": "Ana Silva", "exclude": (), "relation": "sister", "language": European.ENGLISH,
    "known": frozenset({"ana"}), "start": LONG, "end": 1, "fact": AskedFact.HOME,
}  # fmt: skip
"""Arguments of readers other than texts, by parameter name."""
TEXT_PARAMETERS = frozenset({"text", "marked", "sentence", "question"})
"""The parameters that take any text; others take names in their normal form."""

PATTERNS = (
    "a", "A", "1", " ", "\n", "\n\n", ",", "[", "“", '"A" ', "(", "-", "一", "ア・", "\u0301\u0316", "\x00", "\x00! ",
    "my a, \x00!", "1,", "1, ", "1.1", "in 2020 ", "2020-05-03 ", "May 3 to ", "from May ", "until ", "not a ", "and ",
    "a's ", "Mr. ", "Ana. ", "Ana Silva, ", "My sister, Ana, ", "is my sister ", "all ", "we call him ", "can a ",
    "between 1 and ", "二〇二三年", "but i never ",
)  # fmt: skip
TESTED_PATTERNS = ("\n", " ", "1,", "[", "“", "\u0301\u0316", "and ", "from ", "my sister ", "A-", "Ana, ", "a, \x00! ")
"""The patterns that the tests try on all readers: most of them were slow once."""


def readers() -> Iterator[tuple[str, Callable[[str], object]]]:
    """Every public function of the language that reads a text, as a function of the text."""
    for module in pkgutil.walk_packages(language.__path__, "ecphora.language."):
        short_name = module.name.removeprefix("ecphora.language.")
        if short_name in {"dates.semantics", "dates.calendar_arithmetic", "lexicon_file"}:
            continue  # they read matches, names of units, and names of files
        language_module = import_module(module.name)
        for name, function in vars(language_module).items():
            if isfunction(function) and function.__module__ == language_module.__name__ and not name.startswith("_"):
                texts = [key for key, kind in get_annotations(function).items() if kind is str and key != "return"]
                first = next(iter(signature(function).parameters.values()), None)
                if (
                    texts
                    and first is not None
                    and texts[0] == first.name
                    and first.kind is not Parameter.VAR_POSITIONAL
                ):
                    yield f"{short_name}.{name}", partial(_read, function, texts)
    yield "timeparse.parse_time", _moment


def _read(function: Callable[..., object], texts: list[str], text: str) -> None:
    rest = {name: OTHER_ARGUMENTS[name] for name in signature(function).parameters if name in OTHER_ARGUMENTS}
    full_text = text if texts[0] in TEXT_PARAMETERS else " ".join(text.split()) or "a"
    other = {
        name: full_text[: len(full_text) - place] or "a"
        for place, name in enumerate(texts)
        if name not in OTHER_ARGUMENTS
    }
    if function is masked_excerpt:
        other["name"] = text[:3]
    found = function(**other, **rest)
    if isgeneratorfunction(function):
        list(found)  # type: ignore[call-overload]


def _moment(text: str) -> None:
    with suppress(InvalidTime):
        import_module("ecphora.model.times").parse_time(text)


def seconds(reader: Callable[[str], object], text: str) -> float:
    began = thread_time()
    reader(text)
    return thread_time() - began


def repeated(pattern: str, size: int) -> str:
    return (pattern * (size // len(pattern) + 1))[:size]


READERS = dict(readers())


@pytest.mark.medium
@pytest.mark.parametrize("name", READERS)
def test_reading_time_is_linear_in_text_length(name: str) -> None:
    for pattern in TESTED_PATTERNS:
        short_text, long_text = repeated(pattern, 250), repeated(pattern, 4000)
        long_time = seconds(READERS[name], long_text)
        if long_time > 0.03:  # shorter times are not compared
            short_time = min(seconds(READERS[name], short_text) for _ in range(3))
            assert min(long_time, seconds(READERS[name], long_text)) < 0.03 + 16 * 5 * short_time, repr(pattern)


@pytest.mark.medium
@pytest.mark.parametrize(
    ("reader", "pattern", "size"),
    [
        (is_vocative, "\n", LONG),
        (READERS["names.name_usage.has_speaker_label"], "\n", LONG),
        (values, "1,", 20_000),
        (values, "in 2020 ", 20_000),
        (extract_terms, "\u0301\u0316", LONG),
        (READERS["names.mentions.normalize_name"], "ﾞ\u0316", LONG),
        (READERS["statements.statements.statements"], "\n", LONG),
        (READERS["statements.statements.statements"], "[", LONG),
        (READERS["statements.statements.statements"], "“", LONG),
        (READERS["statements.statements.statements"], "a" + 200 * " ", LONG),
        (READERS["statements.validity_phrases.validity_interval"], "from ", LONG),
        (READERS["names.kin_mentions.kin_mentions"], "my sister ", 40_000),
        (READERS["names.relation_mentions.relation_mentions"], "my sister ", 40_000),
        (READERS["names.relation_mentions.relation_mentions"], "as my sister ", 40_000),
        (READERS["names.relation_mentions.relation_mentions"], "syster is Ana, ", 40_000),
        (READERS["names.relation_mentions_cjk.cjk_mentions"], "sister 妹の", 40_000),
    ],
)
def test_known_slow_patterns_take_linear_time(reader: Callable[[str], object], pattern: str, size: int) -> None:
    assert seconds(reader, repeated(pattern, size)) < SECONDS * size / LONG


@pytest.mark.medium
def test_many_words_before_an_alias_phrase_take_linear_time() -> None:
    assert seconds(READERS["names.alias_phrases.alias_pairs"], "all " * 20_000 + "call her") < 1


def test_repeated_characters_give_the_same_results() -> None:
    assert is_vocative("Hello.\n\n\x00! How are you?")
    assert extract_terms("cafe\u0301 " + "n" + "\u0303" * 100) == ["cafe", "n"]
    assert [found.normal_form for found in values("chapter 5 costs 1,000,000 dollars")] == ["5", "1e+06"]
    assert [one.text for one in statements("[aside] I moved [to Porto.\n\n  1. I sold it.", "Ana", NOW)] == [
        "I moved [to Porto.",
        "I sold it.",
    ]


def test_duration_beyond_the_calendar_gives_no_bounds() -> None:
    assert validity_interval("I am away for 999999 years.", NOW) == (None, None)
    assert validity_interval(f"I am away for {'9' * 5000} days.", NOW) == (None, None)


if __name__ == "__main__":
    for reader_name, read in READERS.items():
        worst = max((seconds(read, repeated(pattern, LONG)), pattern) for pattern in PATTERNS)
        print(f"{worst[0]:6.2f} s  {reader_name:28} {worst[1]!r}{'' if worst[0] < SECONDS else '  TOO SLOW'}")  # noqa: T201
