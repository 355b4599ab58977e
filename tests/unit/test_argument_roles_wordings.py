"""Who did what to whom in other words: a statement agrees with a question, and opposes it if the names are swapped."""

import pytest

from ecphora.language.argument_roles.roles import role_agreement

STATEMENTS_AND_QUESTIONS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "owe": (
        ("{a} is in debt to {b}.", "{a} has to pay {b} back.", "{b} is still waiting for 40 euros from {a}."),
        ("Who owes {b} money?", "Whose creditor is {b}?", "From whom did {a} borrow money?"),
    ),
    "lend": (
        ("{a} let {b} borrow the saw.", "The saw was lent to {b} by {a}.", "A loan of {a} to {b}: the saw."),
        ("Who was lent a saw by {a}?", "Whom did {a} lend the saw?"),
    ),
    "call": (
        ("{b} had a phone call from {a}.", "{a} gave {b} a ring.", "{b} answered when {a} rang.", "{a}'s call to {b}."),
        ("Who was rung by {a}?", "Whose call did {b} answer?", "Who phoned {b}?", "Who got a call from {a}?"),
    ),
    "invite": (
        ("It was {a} who invited {b}.", "An invitation for {b} from {a} came.", "{a} wants {b} to come to the party."),
        ("From whom is the invitation to {b}?", "Who received an invitation from {a}?", "Whom did {a} invite?"),
    ),
    "visit": (
        ("{a} paid {b} a visit.", "{b} hosted {a} for a week.", "{a} was {b}'s guest.", "{a} came to see {b}."),
        ("Who visited {b}?", "Who hosted {a}?", "Whom did {a} stay with?"),
    ),
    "manage": (
        ("{a} is {b}'s line manager.", "{b} works under {a}.", "{b} is in {a}'s team.", "{b}'s boss is {a}."),
        ("To whom does {b} report?", "Whose boss is {a}?", "Who works under {a}?"),
    ),
    "teach": (
        ("{a} gave {b} piano lessons.", "{b} took piano lessons with {a}.", "{b} is a pupil of {a}."),
        ("Who taught {b} the piano?", "From whom did {b} take lessons?"),
    ),
    "mentor": (("{a} has {b} as a mentee.", "{b}'s mentor is {a}."), ("Whom does {a} mentor?", "Who is {b}'s mentor?")),
    "treat": (
        ("{b} had an appointment with {a}.", "{b} is in treatment with {a}.", "{a} operated on {b}."),
        ("Who treated {b}?", "Who is {a}'s patient?", "On whom did {a} operate?"),
    ),
    "beat": (
        ("{b} lost to {a}.", "{a} won against {b}.", "{b} suffered a defeat against {a}."),
        ("Against whom did {b} lose?", "Who beat {b}?"),
    ),
    "drive": (
        ("{a} gave {b} a lift.", "{b} rode with {a}.", "{a} picked {b} up at the airport."),
        ("Who drove {b}?", "Who got a lift from {a}?"),
    ),
    "review": (
        ("{b}'s thesis was proofread by {a}.", "{a} read over the draft that {b} wrote."),
        ("Whose thesis did {a} proofread?", "Who gave {b} feedback?"),
    ),
    "replace": (
        ("{b} preceded {a}.", "{a} took over from {b}.", "{a} filled in for {b}.", "{a} is {b}'s successor."),
        ("Who replaced {b}?", "Who was the predecessor of {a}?"),
    ),
    "apologize": (
        ("{b} forgave {a}.", "{b} accepted {a}'s apology.", "{a} said sorry to {b}."),
        ("Who apologized to {b}?", "Who forgave {a}?"),
    ),
    "babysit": (("{a} looked after {b}'s children.",), ("Who takes care of {b}'s kids?", "Who babysits for {b}?")),
    "paint": (
        ("{b} sat for {a}.", "The portrait of {b} was made by {a}.", "{a} painted while {b} kept still."),
        ("Whom did {a} portray?", "Who sat for {a}?"),
    ),
    "give": (
        ("{a} bought {b} a vase.", "For {b}, from {a}: a vase.", "{a} wrapped a vase and gave it to {b}."),
        ("From whom is the vase for {b}?", "Who received a gift from {a}?"),
    ),
    "pay": (("300 francs: {a} → {b}.", "{b} charged {a} 300 francs."), ("Who paid {b}?", "Whom did {a} pay?")),
    "sell": (("{b} bought it from {a}.", "{a} got rid of it, {b} paid for it."), ("To whom did {a} sell something?",)),
    "advise": (("{b} asked {a} for advice.", "{b} consulted {a}."), ("Who advised {b}?", "Whose advice did {b} take?")),
    "interview": (("{a} did an interview with {b}.",), ("Who interviewed {b}?",)),
    "scold": (("{b} got a scolding from {a}.", "{a} shouted at {b}."), ("Who scolded {b}?",)),
    "massage": (("{a} gave {b} a massage.", "{b} had a massage from {a}."), ("Who massaged {b}?",)),
    "german invite": (
        ("{b} hat von {a} eine Einladung bekommen.", "Die Einladung von {a} an {b} kam gestern."),
        ("Wer hat {b} eingeladen?", "Von wem wurde {b} eingeladen?"),
    ),
    "german boss": (("{b}s Vorgesetzter ist {a}.", "{a} leitet das Team von {b}."), ("Wer ist {b}s Chefin?",)),
    "german teach": (("{a} hat {b} Klavier beigebracht.",), ("Wer hat {b} unterrichtet?", "Bei wem hat {b} gelernt?")),
    "spanish call": (("{b} recibió una llamada de {a}.",), ("¿Quién llamó a {b}?", "¿A quién llamó {a}?")),
    "spanish owe": (("{a} pidió prestados 40 euros a {b}.",), ("¿Quién le debe dinero a {b}?",)),
    "spanish rent": (("{a} es la casera de {b}.",), ("¿De quién es inquilino {b}?",)),
    "french give": (("{b} a reçu un cadeau de {a}.",), ("Qui a offert un vase à {b} ?",)),
    "french teach": (("{b} prend des cours avec {a}.",), ("Qui est le professeur de {b} ?",)),
    "portuguese help": (("{b} recebeu ajuda de {a}.",), ("Quem ajudou {b}?",)),
}  # fmt: skip
"""Statements about two people, and questions about the same relation, by its name."""

PAIRS = [
    (question, statement)
    for statements, questions in STATEMENTS_AND_QUESTIONS.values()
    for statement in statements
    for question in questions
]

OTHERS: tuple[tuple[int, str, str, str | None], ...] = (
    (0, "Who invited Mira?", "Jonas didn't invite Mira.", None),
    (0, "Who owes Mira money?", "Jonas never owed Mira anything.", None),
    (0, "Who is Mira's boss?", "Petra is the boss of Jonas.", None),
    (0, "Who got a letter from Jonas?", "No letter from Mira came for Jonas.", None),
    (0, "Who is a friend of Mira?", "Jonas is a friend of Mira.", None),
    (0, "Wer hat Mira eingeladen?", "Jonas hat Mira nicht eingeladen.", None),
    (0, "Whom did Mira call?", "Hey Mira, I called yesterday.", "Jonas"),
    (0, "Who gave Mira a vase?", "Jonas gave Mira a ride.", None),
    (1, "¿Quién le debe dinero a Mira?", "Jonas pidió prestados 40 euros a Mira para Petra.", None),
    (0, "Who promoted Mira?", "Mira owes the promotion to Jonas.", None),
    (0, "Whom did Mira promote?", "Mira's promotion was the decision of Jonas.", None),
    (0, "Who challenged Jonas?", "Jonas had a challenge.", None),
    (1, "Whom do I owe money?", "The user still owes Tom 20 euros.", None),
    (-1, "Who taught me chess?", "I gave Tom chess lessons.", None),
    (1, "Who drives me to work?", "Tom gives me a lift to work.", "user"),
    (1, "Who lent Mira the saw?", "Mira came by, and Jonas lent her the saw.", None),
    (1, "Did Jonas invite Mira?", "Jonas had Mira invited.", None),
    (1, "What did Mira get for her birthday?", "Jonas bought Mira a vase for 20 euros.", None),
)  # fmt: skip


@pytest.mark.parametrize(("question", "statement"), PAIRS)
def test_statement_agrees_in_other_words_and_opposes_if_reversed(question: str, statement: str) -> None:
    text = statement.format(a="Jonas", b="Mira")
    assert role_agreement(question.format(a="Jonas", b="Mira"), text) > 0
    assert role_agreement(question.format(a="Mira", b="Jonas"), text) < 0


@pytest.mark.parametrize(("sign", "question", "text", "speaker"), OTHERS)
def test_sign_of_negations_and_of_the_first_person(sign: int, question: str, text: str, speaker: str | None) -> None:
    agreement = role_agreement(question, text, speaker)
    assert (agreement > 0) - (agreement < 0) == sign
