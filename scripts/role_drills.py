"""Questions about who did what to whom, with statements that only the roles tell apart, for the training of readers.

Made of the relations in ``scripts/data/facts/who.txt``. Three people stand in a ring: each does the same to the next.
So two statements have the name that is asked about, and one of them answers.
"""
# ruff: noqa: INP001  # in the folder of the scripts that use it

import re
from collections import defaultdict
from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path

import numpy as np
from reader_examples import ReadingExample

from ecphora.ports import Passage

HERE = Path(__file__).parent
RELATIONS = HERE / "data" / "facts" / "who.txt"
NAMES = HERE.parent / "benchmarks" / "probes" / "lists" / "names.txt"
QUESTIONS = 60
"""The questions about a relation."""
FIRST_DAY, DAYS = date(2024, 1, 1), 900
SPEAKERS = (None, "user", "Rosa", "Ben", "Ines")


def drill_examples(*, seed: int = 0) -> Iterator[ReadingExample]:
    """The questions of all relations, each with three statements of its relation and one of another."""
    random = np.random.default_rng(seed)  # noqa: TID251  # seeded
    sections = read_sections(RELATIONS)
    names = read_sections(NAMES)["person learn"]
    relations = sorted({section.partition(" ")[0] for section in sections})

    def pick(section: str) -> str:
        entries = sections[section]
        return entries[random.integers(len(entries))]

    def tell(relation: str, doer: str, receiver: str) -> Passage:
        thing = pick(f"{relation} x learn") if f"{relation} x learn" in sections else ""
        text = pick(f"{relation} statement learn")
        day = FIRST_DAY + timedelta(days=int(random.integers(DAYS)))
        speaker = SPEAKERS[random.integers(len(SPEAKERS))]
        text = text.replace("<a>", doer).replace("<b>", receiver).replace("<x>", thing)
        return Passage(text, speaker=speaker, happened_on=day if speaker else None)

    for relation in relations:
        for _ in range(QUESTIONS):
            first, second, third = random.choice(names, 3, replace=False).tolist()
            side = ("of", "to")[random.integers(2)]
            question = pick(f"{relation} {side} learn").replace("<a>", first).replace("<b>", second)
            answer, other = tell(relation, first, second), tell(relation, third, first)
            before = other if side == "of" else tell(relation, second, third)
            another = relations[random.integers(len(relations))]
            away = tell(relation, *((second, third) if side == "of" else (third, first)))
            candidates = (answer, before, away, tell(another, first, second))
            asked_on = FIRST_DAY + timedelta(days=DAYS + int(random.integers(30)))
            is_answer = np.array([True, False, False, False])
            yield ReadingExample("drills", relation, side, question, asked_on, True, candidates, is_answer, ())


def read_sections(path: Path) -> dict[str, list[str]]:
    """The entries of a file of lists by the names of their sections."""
    found: dict[str, list[str]] = defaultdict(list)
    section = ""
    for line in path.read_text(encoding="utf-8").splitlines():
        if match := re.fullmatch(r"\[([a-z0-9 ]+)\]", line):
            section = match[1]
        elif line.strip() and not line.startswith("# "):
            found[section] += [part.strip() for part in line.split(" | ")]
    return found
