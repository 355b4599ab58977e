"""The files of words: how they are read, and that each value of them can be used."""

import pkgutil
import re
from collections.abc import Iterator, Mapping
from importlib import import_module
from importlib.resources import files

import pytest

from ecphora import language
from ecphora.language import lexicon_file
from ecphora.language.argument_roles.grammar import grammar_of
from ecphora.language.argument_roles.lexicon import event_nouns, known_senses, person_nouns
from ecphora.language.dates.european import phrase_rules
from ecphora.language.language_identification import European
from ecphora.language.lexicon_file import (
    LexiconError,
    lexicon_numbers,
    lexicon_rows,
    lexicon_source,
    lexicon_value,
    lexicon_words,
    parse_lexicon,
    phrase_pattern,
    plain_pattern,
    read_lexicon,
)
from ecphora.language.names.relation_lexicon import relations_by_noun
from ecphora.model.lazy import LazyPattern

EXAMPLE = """
# What the file holds.

[english]
# What the key means.
words = Be # is no comment
  here ; and there
phrases =
    no longer ; isn't
    # A comment in a value.
    (?:quit|
        gave up) <TO>smoking ; <START>stop
plain =
    a|b
    c
rows =
    give take: get have ; lend give: lend
broken = (
"""
NAMES = sorted(
    path.name.removesuffix(".ini")
    for path in files(language).joinpath("lexicon").iterdir()
    if path.name.endswith(".ini")
)


@pytest.fixture
def example(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setattr(lexicon_file, "read_lexicon", lambda name: parse_lexicon(EXAMPLE, name))
    yield "example"
    lexicon_words.cache_clear()
    lexicon_rows.cache_clear()


def test_words_are_apart_by_white_space(example: str) -> None:
    assert lexicon_words(example, "english", "words") == {"Be", "#", "is", "no", "comment", "here", ";", "and", "there"}


@pytest.mark.parametrize("text", ["No longer.", "It isn’t", "it isn't", "I quit at last, smoking", "stop it"])
def test_phrases_match_at_word_boundaries_in_any_case(example: str, text: str) -> None:
    assert phrase_pattern(example, "english", "phrases").search(text)


@pytest.mark.parametrize(
    "text", ["no longerish", "xisn't", "quit one two three four five six seven smoking", "do stop"]
)
def test_other_texts_have_no_phrase(example: str, text: str) -> None:
    assert phrase_pattern(example, "english", "phrases").search(text) is None


def test_plain_patterns_are_joined_as_they_are(example: str) -> None:
    assert lexicon_source(example, "english", "plain") == "a|b|c"
    assert plain_pattern(example, "english", "plain").search("xcx")
    assert plain_pattern(example, "english", "plain", r"\A(?:{})\Z", re.IGNORECASE).search("C")
    assert plain_pattern(example, "english", "plain", r"\A(?:{})\Z").search("C") is None


def test_rows_have_two_parts(example: str) -> None:
    assert lexicon_rows(example, "english", "rows", ":") == (("give take", "get have"), ("lend give", "lend"))


@pytest.mark.parametrize(
    ("source", "place"),
    [
        ("a = 1\n", "no section"),
        ("[english]\na = 1\na = 2\n", "english"),
        ("[english]\n[english]\n", "english"),
        ("[english]\na\n", "a"),
    ],
)
def test_malformed_file_is_one_clear_error(source: str, place: str) -> None:
    with pytest.raises(LexiconError, match=rf"^lexicon/mine\.ini: (?s:.)*{place}"):
        parse_lexicon(source, "mine")


def test_unusable_value_is_one_clear_error(example: str) -> None:
    with pytest.raises(LexiconError, match=r"example\.ini has no 'nothing' in \[english\]"):
        lexicon_value(example, "english", "nothing")
    with pytest.raises(LexiconError, match=r"example\.ini has no 'words' in \[german\]"):
        lexicon_value(example, "german", "words")
    with pytest.raises(LexiconError, match=r"example\.ini has a row without ' -> ' in 'rows' of \[english\]"):
        lexicon_rows(example, "english", "rows", " -> ")
    with pytest.raises(LexiconError, match=r"example\.ini has an invalid 'broken' in \[english\]"):
        plain_pattern(example, "english", "broken").search("")
    with pytest.raises(LexiconError, match=r"example\.ini has a word without its number in \[days\]: .*'one'"):
        lexicon_numbers(example, "days", {"a": "one"})


@pytest.mark.parametrize("name", NAMES)
def test_every_file_says_what_it_holds(name: str) -> None:
    source = files(language).joinpath("lexicon", f"{name}.ini").read_text("utf-8")
    assert source.startswith("# ")
    assert all(values for values in read_lexicon(name).values())


@pytest.mark.medium
def test_every_pattern_can_be_compiled() -> None:
    patterns = list(_patterns())
    assert len(patterns) > 100
    for pattern in patterns:
        assert pattern.pattern


@pytest.mark.medium
@pytest.mark.parametrize("one", European)
def test_every_table_of_a_language_can_be_read(one: European) -> None:
    assert grammar_of(one).small_words
    assert not known_senses("no-such-verb", one)
    assert not person_nouns("xyz", one)
    assert not event_nouns("xyz", one)
    assert relations_by_noun()
    if one is not European.ENGLISH:
        for rule, _ in phrase_rules(one)._rules:
            assert rule[0].pattern


def _patterns() -> Iterator[LazyPattern]:
    """All patterns of the modules of the language, with those in tables and tuples."""
    for module in pkgutil.walk_packages(language.__path__, "ecphora.language."):
        for value in vars(import_module(module.name)).values():
            found = value.values() if isinstance(value, Mapping) else value if isinstance(value, tuple) else (value,)
            yield from (one for one in found if isinstance(one, LazyPattern))
