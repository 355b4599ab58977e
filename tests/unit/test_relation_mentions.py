"""Relations in questions and memories: "my sister", "the accountant", and the names that texts give them."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ecphora.language.names.kin_mentions import kin_mentions
from ecphora.language.names.relation_lexicon import (
    CHANGING_RELATIONS,
    NARROWER_RELATIONS,
    all_nouns,
    nouns_by_language,
    relations_by_noun,
)
from ecphora.language.names.relation_mentions import Owner, asked_relations, relation_mentions

INTRODUCTIONS = {
    "My sister Marta starts at the bakery.": ("sister", "Marta"),
    "Marta, my sister, is ill.": ("sister", "Marta"),
    "I saw my sister (Marta) there.": ("sister", "Marta"),
    "My sister's name is Ada.": ("sister", "Ada"),
    "My lovely older sister Ada called.": ("sister", "Ada"),
    "My new boss is called Dana.": ("boss", "Dana"),
    "Dana is now my boss.": ("boss", "Dana"),
    "Our accountant is Ms Okoro.": ("accountant", "Ms Okoro"),
    "Okoro, who does our books as our accountant, called.": ("accountant", "Okoro"),
    "The new landlord, Mr Vance, came.": ("landlord", "Mr Vance"),
    "Our landlord (Mrs Quist) wrote.": ("landlord", "Quist"),
    "Our dog Rex barks.": ("pet", "Rex"),
    "Gestern hat meine Schwester Marta angerufen.": ("sister", "Marta"),
    "Unser Vermieter, Herr Kolb, war da.": ("landlord", "Herr Kolb"),
    "Mein Chef heißt Jonas.": ("boss", "Jonas"),
    "Mein Chef ist jetzt Herr Wolf.": ("boss", "Herr Wolf"),
    "Mi hermana Lucía vive en Lima.": ("sister", "Lucía"),
    "Mi hermana mayor Lucía vive en Lima.": ("sister", "Lucía"),
    "Mi jefe es Óscar.": ("boss", "Óscar"),
    "Ma sœur Claire habite à Lyon.": ("sister", "Claire"),
    "Mia sorella Giulia lavora.": ("sister", "Giulia"),
    "Minha irmã Joana mora aqui.": ("sister", "Joana"),
    "Mijn zus Femke is jarig.": ("sister", "Femke"),
    "Moja siostra Ania mieszka w Gdyni.": ("sister", "Ania"),
    "Siostra Ania dzwoniła.": ("sister", "Ania"),
    "Моя сестра Марта живёт в Риге.": ("sister", "Марта"),
    "Мой начальник — Олег.": ("boss", "Олег"),
    "Min syster Elsa kommer.": ("sister", "Elsa"),
    "Ablam Zeynep geldi.": ("older sister", "Zeynep"),
    "Ev sahibimiz Mehmet aradı.": ("landlord", "Mehmet"),
    "妹の美咲が来る。": ("younger sister", "美咲"),
    "上司の田中さんに聞いた。": ("boss", "田中"),
    "上司は田中さんです。": ("boss", "田中"),
    "翔太という弟がいる。": ("younger brother", "翔太"),
    "猫のスピカ、体重4キロ。": ("cat", "スピカ"),
    "我姐姐小丽在北京。": ("older sister", "小丽"),
    "我妹妹叫张敏，她是老师。": ("younger sister", "张敏"),
    "我们的房东王先生来了。": ("landlord", "王先生"),
    "상사인 박지훈 부장님이 왔다.": ("boss", "박지훈"),
    "여동생 김지수는 서울에 산다.": ("younger sister", "김지수"),
}
LOOK_ALIKES = {
    "My sister is tired.": "sister",
    "Ask my sister Monday.": "sister",
    "Hey Nadia, my sister is ill.": "sister",
    "I saw my sister and Marta.": "sister",
    "My sisters Marta and Ana came.": "sister",
    "I gave my sister Barbie.": "sister",
    "His sister Marta came.": "sister",
    "A sister, Marta, came.": "sister",
    "My sister, Ana, and Bob came.": "sister",
    "My boss is Spanish.": "boss",
    "My sister-in-law Ana came.": "sister",
    "It is as far as I go. Correct.": "father",
    "Heute hat meine Schwester Geburtstag.": "sister",
    "Morgen hat mein Bruder Besuch.": "brother",
    "Mein Chef ist Choleriker.": "boss",
    "Unser Nachbar, Anwalt, half.": "neighbor",
    "Her new partner Dana came.": "partner",
    "Ada saw Ben work as our plumber.": "plumber",
    "Прежний шеф Олег звонил.": "boss",
    "Die Frau Pichler war da.": "wife",
    "Ihre Schwester Marta kam.": "sister",
    "Jego siostra Ania dzwoniła.": "sister",
    "Его сестра Марта живёт в Риге.": "sister",
    "妹の誕生日に行く。": "younger sister",
    "父のデイサービスは週一。": "father",
    "弟のバイト、決まった。": "younger brother",
    "田中さんの妹の美咲が来る。": "younger sister",
    "她姐姐小丽在北京。": "older sister",
    "我姐姐小时候住在这里。": "older sister",
    "여동생 생일은 내일이다.": "younger sister",
    "My rabbit Hazel sleeps.": "dog",
    "": "sister",
}
NO_RELATION_ASKED = (
    "What do you want?",
    "What did his sister say?",
    "What did your sister say?",
    "What did a sister say?",
    "Where does my sister Marta live?",
    "Where do my sisters live?",
    "Who went to the dog park?",
    "What about the dog he met?",
    "Who is my boss?",
    "What's the name of our landlord?",
    "Wie heißt mein Chef?",
    "我的老板是谁？",
    "妹の名前は？",
    "What does the sister of the mayor do?",
    "What does the stepsister do?",
    "man sagt das",
    "父母在哪儿？",
    "田中さんの妹はどこ？",
    "Where is my sister? " + "x" * 400,
)


@pytest.mark.parametrize("text", INTRODUCTIONS)
def test_introduction_gives_the_name(text: str) -> None:
    relation, name = INTRODUCTIONS[text]
    assert [mention.name for mention in relation_mentions(text, relation)] == [name]


@pytest.mark.parametrize("text", LOOK_ALIKES)
def test_look_alike_gives_no_name(text: str) -> None:
    assert not list(relation_mentions(text, LOOK_ALIKES[text]))


@pytest.mark.parametrize("question", NO_RELATION_ASKED)
def test_question_asks_about_no_relation(question: str) -> None:
    assert asked_relations(question) == ()


@pytest.mark.parametrize(
    ("question", "phrase", "owner", "owner_name"),
    [
        ("Where does my sister work?", "my sister", Owner.SPEAKER, ""),
        ("What did the accountant want?", "the accountant", Owner.UNKNOWN, ""),
        ("Where does Ben's sister live?", "Ben's sister", Owner.NAMED, "Ben"),
        ("Where does the sister of Ben live?", "the sister of Ben", Owner.NAMED, "Ben"),
        ("Where is the sister of Ben's boss?", "Ben's boss", Owner.NAMED, "Ben"),
        ("¿Dónde trabaja mi compañero de piso?", "mi compañero de piso", Owner.SPEAKER, ""),
        ("Who is my sister's boss?", "my sister", Owner.SPEAKER, ""),
        ("Was wollte der Vermieter?", "der Vermieter", Owner.UNKNOWN, ""),
        ("Wo wohnt die Freundin meines Bruders?", "meines Bruders", Owner.SPEAKER, ""),
        ("¿Dónde vive mi hermana?", "mi hermana", Owner.SPEAKER, ""),
        ("Où habite ma sœur ?", "ma sœur", Owner.SPEAKER, ""),
        ("Où est l'avocat maintenant ?", "l'avocat", Owner.UNKNOWN, ""),
        ("Где работает мой начальник?", "мой начальник", Owner.SPEAKER, ""),
        ("Kız kardeşim nerede çalışıyor?", "Kız kardeşim", Owner.SPEAKER, ""),
        ("妹はどこで働いていますか", "妹", Owner.UNKNOWN, ""),
        ("私の妹はどこで働いていますか", "私の妹", Owner.SPEAKER, ""),
        ("我姐姐在哪儿工作？", "我姐姐", Owner.SPEAKER, ""),
        ("우리 집주인은 언제 와요?", "우리 집주인", Owner.SPEAKER, ""),
    ],
)
def test_question_asks_about_a_relation(question: str, phrase: str, owner: Owner, owner_name: str) -> None:
    (found,) = asked_relations(question)
    assert (question[found.start : found.end], found.owner, found.owner_name) == (phrase, owner, owner_name)


def test_question_tells_one_from_another() -> None:
    (older,) = asked_relations("Where does my older sister work?")
    (former,) = asked_relations("Where did my old boss go?")
    (new,) = asked_relations("What does my new boss want?")
    assert (older.qualifiers, older.is_former) == (frozenset(("older",)), False)
    assert (former.qualifiers, former.is_former) == (frozenset(), True)
    assert (new.qualifiers, new.is_former) == (frozenset(), False)


def test_noun_of_several_relations_asks_about_all() -> None:
    (found,) = asked_relations("Dove lavora mio nipote?")
    assert set(found.relations) == {"grandson", "niece", "nephew"}


def test_mention_says_whose_relation_it_is() -> None:
    def owners(text: str) -> list[tuple[Owner, str]]:
        return [(mention.owner, mention.owner_name) for mention in relation_mentions(text, "sister")]

    assert owners("My sister Ada called.") == [(Owner.SPEAKER, "")]
    assert owners("Your sister Ada called.") == [(Owner.ADDRESSEE, "")]
    assert owners("Ben's sister Ada called.") == [(Owner.NAMED, "Ben")]
    assert owners("The sister, Ada, called.") == [(Owner.UNKNOWN, "")]
    (former,) = relation_mentions("My former boss Jo called.", "boss")
    assert former.is_former


def test_lexicon_is_consistent() -> None:
    nouns = relations_by_noun()
    relations = {relation for found in nouns.values() for relation in found}
    assert CHANGING_RELATIONS.issubset(relations)
    for wide, narrow in NARROWER_RELATIONS.items():
        assert {wide, *narrow} <= relations
        assert set(all_nouns(wide)) > set(all_nouns(narrow[0]))
    for relation in relations:
        assert "en" in nouns_by_language(relation) or relation.startswith(("older ", "younger "))
        assert all(code.islower() and len(code) == 2 and found for code, found in nouns_by_language(relation).items())
    assert not nouns_by_language("no relation")


KIN = (
    "sister",
    "brother",
    "mother",
    "father",
    "wife",
    "husband",
    "daughter",
    "son",
    "girlfriend",
    "boyfriend",
    "partner",
)


@given(
    st.sampled_from(KIN),
    st.sampled_from(("Marta", "Ben", "Nadia Kowalski")),
    st.sampled_from(("My {} {} called.", "{1}, my {0}, called.", "{1} is my {0}.", "My {0} is called {1}.")),
)
def test_name_of_kin_is_also_one_of_the_relation(kin: str, name: str, form: str) -> None:
    text = form.format(kin, name)
    assert [mention.name for mention in kin_mentions(text)] == [name]
    assert {mention.name for mention in relation_mentions(text, kin)} == {name}


@pytest.mark.medium
@given(st.text(max_size=80), st.sampled_from(sorted({one for found in relations_by_noun().values() for one in found})))
def test_names_are_parts_of_the_text(text: str, relation: str) -> None:
    noun = all_nouns(relation)[0]
    text = f"{text} my {noun} {text} の{noun}"
    assert all(mention.name in text for mention in relation_mentions(text, relation))


@given(st.lists(st.sampled_from((*INTRODUCTIONS, *LOOK_ALIKES, *NO_RELATION_ASKED)), max_size=4).map(" ".join))
def test_phrases_of_a_question_do_not_overlap(question: str) -> None:
    found = asked_relations(question)
    assert all(one.end <= other.start for one, other in pairwise(found))
    assert all(question[one.start : one.end].strip() for one in found)
