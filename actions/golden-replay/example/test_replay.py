"""What three questions bring back, compared with the golden file beside this test."""

from ecphora import Memory
from ecphora.testing import Golden

QUESTIONS = ["Where does Ana live?", "Who likes rain?", "What is the wifi password?"]


def test_questions_bring_back_the_same(ecphora_memory: Memory, ecphora_golden: Golden) -> None:
    ecphora_memory.remember(["Ana moved to Porto.", "Bo likes rain.", "The ferry leaves at nine."])
    ecphora_golden.check(ecphora_memory, QUESTIONS, limit=2)
