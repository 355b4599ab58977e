"""Questions about what is so and what is not, with statements that affirm and deny, for the training of rerankers.

Made of the matters in ``training/data/facts/polarity.txt``. Two of a person's statements affirm and two deny, each of
another thing; the question asks for one kind.
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

MATTERS = Path(__file__).resolve().parent / "data" / "facts" / "polarity"
"""The file of the matters, without its ending."""
QUESTIONS = 60
"""The questions about a matter."""
THINGS = " x learn"
"""How the names of the sections with the things of a matter end."""
FIRST_DAY, DAYS = date(2024, 1, 1), 900
SPEAKERS = (None, "user", "user")


def polarity_examples(*, seed: int = 0) -> Iterator[RerankExample]:
    """The questions of all matters, each with four statements of its matter and one of another."""
    random = np.random.default_rng(seed)  # noqa: TID251  # seeded
    load_maker()
    read_sections = sys.modules[f"{PACKAGE}.lists"].read_sections
    sections: Mapping[str, Sequence[str]] = read_sections(str(MATTERS))
    matters = sorted(section.removesuffix(THINGS) for section in sections if section.endswith(THINGS))

    def tell(matter: str, polarity: str, thing: str) -> Passage:
        statement = str(random.choice(sections[f"{matter} {polarity} learn"]))
        day = FIRST_DAY + timedelta(days=int(random.integers(DAYS)))
        speaker = SPEAKERS[random.integers(len(SPEAKERS))]
        return Passage(statement.replace("<x>", thing), speaker=speaker, happened_on=day if speaker else None)

    for matter in matters:
        for number in range(QUESTIONS):
            asked, other = ("yes", "no") if number % 2 else ("no", "yes")
            question = str(random.choice(sections[f"{matter} ask {asked} learn"]))
            things = random.choice(sections[matter + THINGS], 4, replace=False).tolist()
            told = [
                tell(matter, polarity, thing)
                for polarity, thing in zip((asked, asked, other, other), things, strict=True)
            ]
            another = matters[int(random.integers(len(matters)))]
            if another != matter:
                told.append(tell(another, asked, str(random.choice(sections[another + THINGS]))))
            is_answer = np.arange(len(told)) < 2
            asked_on = FIRST_DAY + timedelta(days=DAYS + int(random.integers(30)))
            yield RerankExample("drills", matter, asked, question, asked_on, True, tuple(told), is_answer, ())
