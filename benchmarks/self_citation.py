"""What a wrong answer does to later recalls: ``python benchmarks/self_citation.py [--set NAME] [--spaces N]``.

Reads spaces of ``training/data/memories``. To each unanswerable question that resembles an answerable one (``near``),
an assistant gives the answer of that one after the words of the question: a plausible and wrong answer. It is stored as
a memory with the speaker "Assistant", or with ``record_response``. Printed are the bands of evidence when the same
question is asked again, the part of the questions whose first hit is a stored answer, and recall@5 of the answerable
questions of the same spaces.
"""

import argparse
import json
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path

from ecphora import Memory, RecallOptions, Recollection
from ecphora.maintenance.learn.datasets import Case, Question, read_cases
from ecphora.testing import FakeClock

DATA = Path(__file__).parents[1] / "training" / "data" / "memories"
ASSISTANT = "Assistant"
WAYS = ("nothing", "as a memory", "record_response")
K = 5


def wrong_answers(name: str) -> Mapping[tuple[str, str], str]:
    """The answer of the answerable question that each unanswerable one resembles, by space and id."""
    lines = [json.loads(line) for line in (DATA / f"{name}.questions.jsonl").read_text(encoding="utf-8").splitlines()]
    answers = {(one["space"], one["id"]): one["answers"] for one in lines}
    found = {(one["space"], one["id"]): answers.get((one["space"], one["near"])) for one in lines if one["near"]}
    return {key: values[0] for key, values in found.items() if values}


def wrong_response(question: Question, answer: str) -> str:
    """An answer that repeats the words of its question, as those of language models do."""
    return f"{question.text.rstrip('?')}: {answer}"


def ask(memory: Memory, clock: FakeClock, question: Question) -> Recollection:
    clock.now = question.asked_at or clock.now
    return memory.recall(question.text, limit=K, options=RecallOptions(log_access=False))


def measure(case: Case, answers: Mapping[tuple[str, str], str], way: str) -> Iterator[tuple[str, str, float]]:
    """The band and whether a stored answer comes first of each unanswerable question; recall of the answerable."""
    unanswerable = [question for question in case.questions if (case.space, question.id) in answers]
    responses = {wrong_response(question, answers[case.space, question.id]) for question in unanswerable}
    with tempfile.TemporaryDirectory() as folder:
        clock = FakeClock()
        with Memory(Path(folder, "m.db"), clock=clock, zone="UTC") as memory:
            memory.remember(case.episodes)
            for question in unanswerable if way != "nothing" else ():
                found = ask(memory, clock, question)
                answer = wrong_response(question, answers[case.space, question.id])
                if way == "as a memory":
                    memory.remember(answer, speaker=ASSISTANT, happened_at=clock.now)
                else:
                    memory.record_response(found, answer)
            for question in unanswerable:
                found = ask(memory, clock, question)
                own = bool(found.hits) and found[0].text in responses
                yield "band", found.evidence.value, float(own)
            for question in case.questions:
                if question.has_ranking:
                    ids = {hit.node.document or hit.id for hit in ask(memory, clock, question)}
                    yield "recall", "", len(ids & question.gold) / len(question.gold)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--set", default="en", dest="name")
    parser.add_argument("--spaces", type=int, default=30)
    arguments = parser.parse_args()
    answers = wrong_answers(arguments.name)
    cases = [case for case in read_cases(arguments.name, DATA) if any(case.space == space for space, _ in answers)]
    # spread evenly over the set, so that every kind of text is among them
    chosen = list(islice(cases, 0, None, max(1, len(cases) // arguments.spaces)))[: arguments.spaces]
    print(f"{arguments.name}, {len(chosen)} spaces")
    for way in WAYS:
        rows = [row for case in chosen for row in measure(case, answers, way)]
        bands = Counter(band for kind, band, _ in rows if kind == "band")
        own = [value for kind, _, value in rows if kind == "band"]
        recalls = [value for kind, _, value in rows if kind == "recall"]
        shares = ", ".join(f"{band} {bands[band] / len(own):.3f}" for band in ("strong", "weak", "none"))
        first = f"first hit is a stored answer {sum(own) / len(own):.3f}"
        recall = f"recall@{K} {sum(recalls) / len(recalls):.4f} (n {len(recalls)})"
        print(f"{way}: {shares} (n {len(own)}); {first}; {recall}", flush=True)


if __name__ == "__main__":
    main()
