"""Who did what to whom: whether the names of a question have the same parts in a text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ecphora.language.argument_roles.lexicon import may_be_participle, verb_form
from ecphora.language.argument_roles.roles import TRANSFER_AGREEMENT, role_agreement

PAIRS: tuple[tuple[int, str, str, str | None], ...] = (
    (1, "By whom was Nadim invited?", "Basil invited Nadim to the regatta.", None),
    (1, "Wem schuldet Jonas Geld?", "Jonas schuldet Mira 20 Euro.", None),
    (-1, "Wem schuldet Jonas Geld?", "Mira schuldet Jonas 20 Euro.", None),
    (-1, "¿A quién invitó Jonas?", "Mira invitó a Jonas a la boda", None),
    (1, "¿A quién invitó Jonas?", "Jonas invitó a Mira a la boda", None),
    (1, "¿Quién invitó a Mira?", "Jonas invitó a Mira a la boda", None),
    (-1, "¿Quién invitó a Mira?", "Mira invitó a Jonas a la boda", None),
    (1, "¿Quién le debe dinero a Mira?", "Jonas le debe 20 euros a Mira.", None),
    (-1, "¿Quién le debe dinero a Mira?", "Mira le debe 35 euros a Jonas.", None),
    (1, "From whom does Farid have something on loan?", "Oona lent Farid a ladder.", None),
    (-1, "Who has Jonas invited?", "Mira has invited Jonas", None),
    (1, "Wer hat Mira eingeladen?", "Jonas hat Mira eingeladen", None),
    (-1, "Wer hat Mira eingeladen?", "Mira hat Jonas eingeladen", None),
    (1, "Von wem wurde Mira eingeladen?", "Mira wurde von Jonas eingeladen.", None),
    (-1, "Von wem wurde Mira eingeladen?", "Mira hat Jonas zum Essen eingeladen.", None),
    (1, "Wem hat Jonas die Bohrmaschine geliehen?", "Jonas hat Mira die Bohrmaschine geliehen.", None),
    (-1, "Wem hat Jonas die Bohrmaschine geliehen?", "Mira hat Jonas die Bohrmaschine geliehen.", None),
    (-1, "Qui a invité Mira ?", "Mira a invité Jonas.", None),
    (1, "Qui a invité Mira ?", "Jonas a invité Mira.", None),
    (1, "À qui Jonas doit-il de l'argent ?", "Jonas doit 20 euros à Mira.", None),
    (-1, "À qui Jonas doit-il de l'argent ?", "Mira doit 35 euros à Jonas.", None),
    (1, "Par qui Mira a-t-elle été invitée ?", "Mira a été invitée par Jonas.", None),
    (1, "Quem convidou a Mira?", "O Jonas convidou a Mira para o jantar.", None),
    (-1, "Quem convidou a Mira?", "A Mira convidou o Jonas para o jantar.", None),
    (1, "A quem o Jonas deve dinheiro?", "O Jonas deve 20 euros à Mira.", None),
    (-1, "A quem o Jonas deve dinheiro?", "A Mira deve 35 euros ao Jonas.", None),
    (1, "How much does Jonas owe Mira?", "Jonas owes Mira 20 euros.", None),
    (-1, "How much does Jonas owe Mira?", "Mira owes Jonas 35 euros.", None),
    (1, "How much does Jonas owe Mira?", "Jonas borrowed 20 euros from Mira.", None),
    (1, "How much does Jonas owe Mira?", "I still owe Mira 20 euros.", "Jonas"),
    (-1, "How much does Jonas owe Mira?", "Mira must pay Jonas 20 euros.", None),
    (1, "Who lent Mira the drill?", "I lent Mira the drill.", "Jonas"),
    (-1, "Who lent Mira the drill?", "I lent Jonas the drill.", "Mira"),
    (1, "Who lent me the drill?", "I borrowed a drill from Jonas.", "user"),
    (-1, "Who lent me the drill?", "The user lent Jonas the drill.", None),
    (1, "Who is Mira's boss?", "Jonas is Mira's boss.", None),
    (-1, "Who is Mira's boss?", "Mira is Jonas's boss.", None),
    (1, "Whose boss is Mira?", "Jonas reports to Mira.", None),
    (1, "Who does Jonas work for?", "Mira hired Jonas last spring.", None),
    (-1, "Who does Jonas work for?", "Mira works for Jonas.", None),
    (1, "who taught mira to swim?", "Mira learned swimming from Jonas.", None),
    (-1, "who taught mira to swim?", "Mira taught Jonas how to swim.", None),
    (1, "Who bought the car from Mira?", "Mira sold her car to Jonas.", None),
    (1, "Whom did Jonas beat?", "Mira lost the final to Jonas.", None),
    (-1, "Did Jonas visit Mira?", "Last week Mira visited Jonas.", None),
    (1, "Who brought Mira soup?", "Jonas, my neighbor, brought Mira some soup.", None),
    (-1, "Who brought Mira soup?", "Mira went to the market and brought Jonas some soup.", None),
    (-1, "Who painted the portrait of Mira?", "A portrait painted by Mira hangs there.", None),
    (0, "Who married Jonas?", "Mira married Jonas.", None),
    (0, "Who lent Mira a tent?", "She lent a tent to Petra.", None),
    (0, "Whom did Jonas marry?", "Mira lives in Kiel with Jonas.", None),
    (0, "Where does Mira live?", "Mira moved to Kiel.", None),
    (-1, "Which friend did Jonas help with moving?", "Mira helped Jonas move.", None),
    (-1, "Who helped Mira?", "Jonas was helped by Mira.", None),
    (-1, "Who is the teacher of Mira?", "Mira is the teacher of Jonas.", None),
    (-1, "To whom did Jonas give the keys?", "Mira gave the keys to Jonas.", None),
    (-1, "What did Jonas get from Mira?", "Mira got a watch from Jonas.", None),
    (1, "What did Jonas get from Mira?", "Mira got Jonas a watch.", None),
    (-1, "Who drives Mira to work?", "Mira usually drives Jonas to work.", None),
    (1, "Who recommended the dentist to Mira?", "The dentist was recommended to Mira by Jonas.", None),
    (1, "Who drove Lena to the airport?", "Tomas drove Lena to the airport at five.", None),
    (-1, "Who drove Lena to the airport?", "Lena drove Tomas to the airport.", None),
    (-1, "Whom did Tomas hire?", "Tomas was hired by Lena in May.", None),
    (1, "Whom did Tomas hire?", "Lena works for Tomas now.", None),
    (-1, "Who took care of Lena's dog?", "Lena took care of the dog of Tomas.", None),
    (-1, "From whom did Lena buy the bike?", "Lena sold her old bike to Tomas.", None),
    (1, "Who told Lena about the flat?", "I told Lena about the flat.", "Tomas"),
    (1, "Who told me about the flat?", "Lena told me about the flat.", "user"),
    (1, "Whose tenant is Tomas?", "Lena is the landlady of Tomas.", None),
    (1, "Who is Lena's uncle?", "Lena is the niece of Tomas.", None),
    (-1, "Who is Lena's uncle?", "Lena, the aunt of Tomas, lives in Bern.", None),
    (-1, "How much did Lena pay Tomas?", "Tomas paid Lena 300 francs.", None),
    (-1, "Who was Lena promoted by?", "Lena promoted Tomas last week.", None),
    (1, "Wer hat Lena besucht?", "Lena wurde gestern von Tomas besucht.", None),
    (-1, "Wem hat Lena das Fahrrad verkauft?", "Tomas hat Lena das Fahrrad verkauft.", None),
    (-1, "¿Quién llamó a Lena?", "Lena llamó a Tomás ayer.", None),
    (1, "¿De quién recibió Lena un regalo?", "Lena recibió un regalo de Tomás.", None),
    (-1, "Qui a aidé Lena ?", "Lena a aidé Tomas à déménager.", None),
    (1, "Quem ajudou a Lena?", "O Tomás ajudou a Lena na mudança.", None),
    (0, "Who lives with Lena?", "Tomas bought a new lamp for Lena.", None),
)
"""The sign of the agreement, a question, a text and its speaker."""


@pytest.mark.parametrize(("sign", "question", "text", "speaker"), PAIRS)
def test_sign_says_whether_the_names_have_the_same_parts(
    sign: int, question: str, text: str, speaker: str | None
) -> None:
    agreement = role_agreement(question, text, speaker)
    assert (agreement > 0) - (agreement < 0) == sign


def test_agreement_is_0_without_a_relation_or_the_name() -> None:
    assert role_agreement("What is the capital of Peru?", "Lima is the capital of Peru.") == 0
    assert role_agreement("Whom did Jonas invite?", "Petra invited Mira.") == 0
    assert role_agreement("Whom did Jonas invite?", "Jonas painted Mira.") == 0
    assert role_agreement("", "") == 0


def test_another_transfer_weighs_less_than_the_relation_itself() -> None:
    question = "Who lent Mira a ladder?"
    assert role_agreement(question, "Jonas lent Mira a ladder.") == 1
    assert role_agreement(question, "Jonas gave Mira a ladder.") == TRANSFER_AGREEMENT
    assert role_agreement(question, "Mira gave Jonas a ladder.") == -TRANSFER_AGREEMENT
    assert role_agreement(question, "Mira owes Jonas a ladder.") == 1


def test_text_that_says_both_says_nothing() -> None:
    both = "Jonas owes Mira 20 euros. Mira owes Jonas 35 euros."
    assert role_agreement("How much does Jonas owe Mira?", both) == 0


def test_both_names_of_a_question_must_be_in_the_text() -> None:
    assert role_agreement("How much does Jonas owe Mira?", "Jonas owes Petra 20 euros.") == 0


def test_parties_of_equals_cannot_be_reversed() -> None:
    assert role_agreement("Whom did Mira marry?", "Jonas married Mira.") == 0
    assert role_agreement("Whose brother did Mira marry?", "Mira married Jonas's brother.") == 1
    assert role_agreement("Whose brother did Mira marry?", "Jonas married Mira's brother.") == -1


def test_pronoun_is_the_subject_if_it_is_nearer() -> None:
    assert role_agreement("Whom did Jonas invite?", "Jonas said that she invited Petra.") == 0


def test_first_person_possessive_is_not_the_speaker() -> None:
    assert role_agreement("Whom did Mira visit?", "Petra visited my brother.", "Mira") == 0


def test_relative_clause_has_its_own_subject() -> None:
    assert role_agreement("Whom did Jonas invite?", "Mira, whom Jonas invited, came late.") == 1
    assert role_agreement("Whom did Jonas invite?", "Jonas, whom Mira invited, came late.") == -1
    assert role_agreement("Whom did Jonas invite?", "Jonas, who invited Mira, came late.") == 1


def test_getting_rid_of_something_is_no_receipt() -> None:
    assert role_agreement("What did Mira get?", "Mira got a mirror from Jonas.") == 1
    assert role_agreement("What did Mira get?", "Mira got rid of a mirror.") == 0


def test_name_of_several_words_is_matched_by_its_parts() -> None:
    assert role_agreement("Who hired Mira Stein?", "Mira hired Jonas.") == -1
    assert role_agreement("Who hired Mira?", "Jonas Weber hired Mira Stein.") == 1
    assert role_agreement("Who hired Mira Stein?", "Mira Falk hired Jonas.") == 0


@given(st.text(max_size=80), st.text(max_size=80))
def test_any_text_has_an_agreement(noise: str, other: str) -> None:
    for question, text in ((noise, other), (f"Whom did Jonas invite {noise}", f"{other} Jonas invited {noise}")):
        assert -1 <= role_agreement(question, text, noise) <= 1


def test_forms_of_a_verb_have_one_form() -> None:
    for forms in (("lend", "lends", "lent", "lending"), ("bring", "brought"), ("invite", "invited", "inviting")):
        assert len({verb_form(form) for form in forms}) == 1
    assert verb_form("lend") != verb_form("borrow")


def test_participles_are_told_from_nouns() -> None:
    assert may_be_participle("invited")
    assert may_be_participle("brought")
    assert not may_be_participle("money")


def test_comma_ends_the_objects_of_a_verb() -> None:
    assert role_agreement("Whom did Jonas invite?", "She invited, Jonas said, the whole street.") == 0
    assert role_agreement("To whom did Jonas give the keys?", "Petra gave her keys, for a week, to Jonas.") == -1


def test_coordinated_names_are_objects_unless_a_verb_follows() -> None:
    assert role_agreement("Who invited Jonas?", "Petra invited Karl and Jonas.") == 1
    assert role_agreement("Who invited Jonas?", "Petra invited Karl and Jonas played.") == 0


def test_preposition_after_the_verb_has_its_object() -> None:
    assert role_agreement("Who relies on Mira?", "Jonas relies on Mira.") == 1
    assert role_agreement("Who relies on Mira?", "Mira relies on Jonas.") == -1
    assert role_agreement("Whom did Jonas visit?", "They visited friends with Jonas.") == 0


def test_first_person_is_the_speaker_by_any_part_of_the_name() -> None:
    assert role_agreement("Whom did Jonas invite?", "I invited Mira.", "Jonas Weber") == 1
    assert role_agreement("Whom did Jonas invite?", "I invited Mira.", "Petra") == 0
    assert role_agreement("Whom did I invite?", "I invited Mira.") == 1
    assert role_agreement("Whom did I invite?", "I invited Mira.", "Petra") == 0


def test_noun_of_relation_needs_no_article() -> None:
    assert role_agreement("Who is the boss of Mira?", "Jonas is boss of Mira.") == 1
    assert role_agreement("Whose boss is Mira?", "The boss of Jonas is Mira.") == 1
    assert role_agreement("Whose boss is Mira?", "The boss of Mira is Jonas.") == -1
    assert role_agreement("Whose boss is Mira?", "The boss of Jonas") == 0


def test_coordinated_names_are_subjects() -> None:
    assert role_agreement("Whom did Mira invite?", "Mira and Jonas invited Petra.") == 1
    assert role_agreement("Whom did Mira invite?", "Karl, Mira and Jonas invited Petra.") == 1
    assert role_agreement("Whom did Mira invite?", "The friend of Mira invited Petra.") == 0


def test_spanish_subject_follows_the_verb_of_a_question() -> None:
    assert role_agreement("¿Qué le regaló Jonas a Mira?", "Jonas le regaló un libro a Mira.") == 1
    assert role_agreement("¿Qué le regaló Jonas a Mira?", "Mira le regaló un libro a Jonas.") == -1


def test_relative_clause_without_a_comma_has_its_own_subject() -> None:
    assert role_agreement("Who invited Mira?", "The Mira whom Jonas invited came late.") == 1
    assert role_agreement("Who invited Mira?", "They met the Mira who invited Jonas.") == -1
