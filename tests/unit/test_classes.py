"""Questions that ask for a class, and the lexicon of instances."""

import numpy as np
import pytest

from ecphora.language import classes
from ecphora.language.classes import asked_instances, asked_nouns, find_instances, hash_text
from ecphora.language.terms import extract_terms, hash_terms


@pytest.mark.parametrize(
    ("question", "nouns"),
    [
        ("Which cities has John been to?", ["city"]),
        ("What are the names of Joanna's hobbies?", ["hobby"]),
        ("What vehicle do I drive?", ["vehicle"]),
        ("When did we take our pet to the vet?", ["pet"]),
        ("When does my travel document expire?", ["travel document"]),
        ("list all the tools i lent out", ["tool"]),
        ("Which piano teachers did she have?", ["teacher"]),  # the last of the nouns in a row
        ("Which knives are in the drawer?", ["knives"]),
        ("In welchen Städten war Jonas?", ["stadten"]),
        ("今年我去过哪些城市?", ["城市"]),
    ],
)
def test_asked_nouns_are_those_after_an_interrogative_or_a_possessive(question: str, nouns: list[str]) -> None:
    assert list(asked_nouns(question)) == nouns


@pytest.mark.parametrize(
    "question",
    [
        "What did Ana do?",
        "Which things did she buy?",
        "What kind of day was it?",
        "What happened at work?",
        "Where does the dog sleep?",
        "我去过城市。",
        "",
        "which cities " * 40,
    ],
)
def test_asked_nouns_of_other_questions_are_none(question: str) -> None:
    assert not list(asked_nouns(question))
    assert asked_instances(question) is None


@pytest.mark.parametrize(
    ("question", "words", "others"),
    [
        ("Which pets does she have?", "hamster dog kitten goldfish", "violin wolf Porto"),
        ("What vehicle do I drive?", "van bicycle motorcycle", "dog"),
        ("my travel document", "passport visa", "novel"),
        ("Which instruments does he play?", "tuba violin accordion", "hamster"),
        ("Which jobs did she have?", "gardener nurse carpenter", "hamster"),
        ("Which injuries did he have?", "sprain fracture", "hamster"),
    ],
)
def test_asked_instances_are_hyponyms(question: str, words: str, others: str) -> None:
    instances = asked_instances(question)
    assert instances is not None
    known = set(instances.terms[instances.is_word].tolist())
    assert known.issuperset(hash_terms(extract_terms(words)).tolist())
    assert known.isdisjoint(hash_terms(extract_terms(others)).tolist())


@pytest.mark.parametrize(
    ("question", "names", "others"),
    [
        ("Which cities has John been to?", ["rome", "chicago", "munchen", "roma", "porto"], ["france", "john"]),
        ("Which countries has she seen?", ["france", "italien", "japan"], ["rome"]),
        ("What places did they visit?", ["rome", "france"], ["ana"]),
        ("Which rivers did they cross?", ["nile", "danube"], ["rome"]),
    ],
)
def test_asked_instances_are_places(question: str, names: list[str], others: list[str]) -> None:
    instances = asked_instances(question)
    assert instances is not None
    known = set(instances.names.tolist())
    assert known.issuperset(map(hash_text, names))
    assert known.isdisjoint(map(hash_text, others))


def test_asked_instances_of_several_words_are_pairs_of_terms() -> None:
    instances = asked_instances("Which pets does she have?")
    assert instances is not None
    first, last = hash_terms(extract_terms("guinea pig")).tolist()
    assert [first, last] in instances.terms[instances.pairs].tolist()
    assert first not in instances.terms[instances.is_word]
    assert (np.diff(instances.terms.astype(np.int64)) > 0).all()  # distinct, as a look-up of postings needs them


def test_asked_instances_may_be_titles_of_books_only_where_books_are_asked_for() -> None:
    books, pets = asked_instances("Which books did she read?"), asked_instances("Which pets does she have?")
    assert books is not None
    assert books.has_titles
    assert pets is not None
    assert not pets.has_titles


def test_lexicon_is_not_read_for_a_question_without_a_class() -> None:
    classes._array.cache_clear()
    classes._noun.cache_clear()
    assert asked_instances("When did Ana move?") is None
    assert not classes._array.cache_info().currsize


@pytest.mark.parametrize(
    ("text", "question", "found"),
    [
        ("We took in a kitten.", "Which pets do they have?", ["kitten"]),
        ("Two guinea pigs and a kitten!", "Which pets do they have?", ["guinea pigs", "kitten"]),
        ("From Porto to Chicago, then Porto.", "Which cities did they see?", ["Porto", "Chicago"]),
        ('I read "Winter Barrels".', "Which books did she read?", ["Winter Barrels"]),
        ("We took in a kitten.", "Which cities did they see?", []),
        ("The dog barked.", "Which pets chased the dog?", []),
        ("Chicago again!", "Which cities are like Chicago?", []),
        ("", "Which pets do they have?", []),
    ],
)
def test_find_instances_returns_the_words_of_the_text(text: str, question: str, found: list[str]) -> None:
    assert [instance.text for instance in find_instances(text, question)] == found


def test_find_instances_gives_spellings_one_key_and_names_the_class() -> None:
    one, other = (find_instances(text, "Which pets?")[0] for text in ("My kitten.", "Two kittens!"))
    assert one.key == other.key
    assert other.text == "kittens"
    assert one.noun == "pet"
