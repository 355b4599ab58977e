"""Questions about who did what to whom, with statements that only the roles tell apart, for the training of rerankers.

Made of the relations in ``training/data/facts/who.txt`` and of names of the probes' learning half. Three people stand
in a ring: each does the same to the next. So two statements have the name that is asked about, and one of them answers.
"""
# ruff: noqa: INP001  # in the folder of the scripts that use it

import sys
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, timedelta
from pathlib import Path

import numpy as np
from reranker_examples import RerankExample

from ecphora.model.ports import Passage
from ecphora_bench.probes.loading import PACKAGE, load_maker

RELATIONS = Path(__file__).resolve().parent / "data" / "facts" / "who"
"""The file of the relations, without its ending."""
QUESTIONS = 60
"""The questions about a relation."""
FIRST_DAY, DAYS = date(2024, 1, 1), 900
SPEAKERS = (None, "user", "Rosa", "Ben", "Ines")


def drill_examples(*, seed: int = 0) -> Iterator[RerankExample]:
    """The questions of all relations, each with three statements of its relation and one of another."""
    random = np.random.default_rng(seed)  # noqa: TID251  # seeded
    load_maker()
    read_sections = sys.modules[f"{PACKAGE}.lists"].read_sections
    sections: Mapping[str, Sequence[str]] = read_sections(str(RELATIONS))
    names: Sequence[str] = read_sections("names")["person learn"]
    relations = sorted({section.partition(" ")[0] for section in sections})

    def pick(section: str) -> str:
        entries = sections[section]
        return entries[int(random.integers(len(entries)))]

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
            ring = [tell(relation, *pair) for pair in ((first, second), (second, third), (third, first))]
            another = relations[int(random.integers(len(relations)))]
            answer, *others = ring if side == "to" else (ring[0], ring[2], ring[1])  # the reverse role comes next
            candidates = (answer, *others, tell(another, first, second))
            asked_on = FIRST_DAY + timedelta(days=DAYS + int(random.integers(30)))
            is_answer = np.array([True, False, False, False])
            yield RerankExample("drills", relation, side, question, asked_on, True, candidates, is_answer, ())
