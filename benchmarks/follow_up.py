"""Which text of a conversation to recall with: ``python benchmarks/follow_up.py [--rules]``.

Reads the conversations of ``training/data/conversations.jsonl`` (described in ``conversations.md`` beside it) and the
spaces of ``training/data/memories`` that they are about. Prints how often an entry that answers the last message is
first, and among the first three, if the question is the last message alone, all user messages joined, or what
``question_from_messages`` makes of them, as ``recall`` does. The column ``questions`` has the questions that the
same spaces come with, each after another question of its space: they stand on their own, and context can only harm
them. ``--rerank`` and ``--embedder`` are as for ``ecphora bench recall``.

``--rules`` also compares rules of the same kind: which messages get context, by the most tokens of a message and by
whether a message about a name gets some, and what the context is. The best of them is chosen on all spaces but one and
tried on that one.
"""

import argparse
import json
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise, product
from pathlib import Path

from ecphora import Memory, RecallOptions, SQLiteStore
from ecphora.language.names.mentions import names
from ecphora.language.terms import estimate_tokens, extract_terms
from ecphora.maintenance.learn.datasets import Case, read_cases
from ecphora.models.embedders.from_setting import PACKAGED_EMBEDDERS
from ecphora.remember.messages import question_from_messages
from ecphora.testing import FakeClock

DATA = Path(__file__).parents[1] / "training" / "data"
MAX_TOKENS = (0, 4, 6, 8, 10, 12, 16, 24, 1000)
"""The most tokens of a message that gets context, of the rules that are compared."""
Rule = Callable[[Sequence[str]], str]


@dataclass(frozen=True)
class Conversation:
    """The user messages of a conversation, and the entries of a space that answer the last one."""

    id: str
    lang: str
    space: str
    kind: str
    messages: tuple[str, ...]
    evidence: tuple[str, ...]


def read_conversations() -> list[Conversation]:
    lines = (DATA / "conversations.jsonl").read_text(encoding="utf-8").splitlines()
    values = [json.loads(line) for line in lines]
    return [
        Conversation(one["id"], one["lang"], one["space"], one["kind"], tuple(one["messages"]), tuple(one["evidence"]))
        for one in values
    ]


def last_alone(messages: Sequence[str]) -> str:
    return messages[-1]


def all_joined(messages: Sequence[str]) -> str:
    return "\n".join(messages)


def as_recall(messages: Sequence[str]) -> str:
    return question_from_messages([{"role": "user", "content": text} for text in messages])


def questions_after_questions(cases: Iterable[Case]) -> list[Conversation]:
    """Each answerable question of some spaces as a conversation: the question before it, then it."""
    return [
        Conversation("", "", case.space, "question", (before.text, one.text), tuple(one.gold))
        for case in cases
        for before, one in pairwise(case.questions)
        if one.is_answerable
    ]


RULES: dict[str, Rule] = {
    "last message alone": last_alone,
    "all user messages": all_joined,
    "`recall`": as_recall,
}


def has_context(text: str, max_tokens: int, name_rule: str) -> bool:
    """Whether a message gets context by one of the rules that are compared."""
    if estimate_tokens(text) > max_tokens:
        return False
    found = names(text)
    if name_rule == "any" or not found:
        return True
    return name_rule == "only" and set(extract_terms(text)) <= {term for name in found for term in extract_terms(name)}


def compared_rules() -> dict[str, Rule]:
    def rule(max_tokens: int, name_rule: str, context: str) -> Rule:
        def question(messages: Sequence[str]) -> str:
            first = len(messages) - 1
            while first and has_context(messages[first], max_tokens, name_rule):
                first -= 1
            if context == "last" and first < len(messages) - 1:
                first = len(messages) - 2
            if context == "last and first" and first < len(messages) - 2:
                return "\n".join([messages[first], messages[-1]])
            return "\n".join(messages[first:])

        return question

    return {
        f"up to {tokens} tokens, {name_rule} name, {context}": rule(tokens, name_rule, context)
        for tokens, name_rule, context in product(MAX_TOKENS, ("no", "only", "any"), ("all", "last", "last and first"))
    }


def read_spaces(wanted: Iterable[str]) -> dict[str, Case]:
    found: dict[str, Case] = {}
    for name in ("en", "de", "es", "zh"):
        found |= {case.space: case for case in read_cases(name, DATA / "memories") if case.space in wanted}
    return found


def share(values: Sequence[float]) -> str:
    return f"{sum(values) / len(values):.3f}".removeprefix("0") if values else "–"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rerank", choices=["auto", "never", "always"], default="auto")
    parser.add_argument("--embedder", choices=sorted(PACKAGED_EMBEDDERS), default="e5")
    parser.add_argument("--rules", action="store_true")
    arguments = parser.parse_args()
    conversations = read_conversations()
    cases = read_spaces({one.space for one in conversations})
    embedder = PACKAGED_EMBEDDERS[arguments.embedder]()
    with tempfile.TemporaryDirectory() as folder:
        store = SQLiteStore(Path(folder) / "memory.db")
        memories: dict[str, Memory] = {}
        for space, case in cases.items():
            asked_at = max((one.asked_at for one in case.questions if one.asked_at is not None), default=None)
            clock = FakeClock() if asked_at is None else FakeClock(asked_at)
            memories[space] = Memory(store, scope=space, embedder=embedder, clock=clock, zone="UTC")
            memories[space].remember(case.episodes)

        @cache
        def first_ids(space: str, question: str) -> tuple[str, ...]:
            found = memories[space].recall(
                question, limit=3, rerank=arguments.rerank, options=RecallOptions(explain=False, log_access=False)
            )
            return tuple(hit.id for hit in found)

        def score(rule: Rule, chosen: Iterable[Conversation]) -> tuple[list[float], list[float]]:
            """Whether an answer is first, and among the first three, for each conversation."""
            first: list[float] = []
            among: list[float] = []
            for one in chosen:
                ids = first_ids(one.space, rule(one.messages))
                first.append(ids[:1] != () and ids[0] in one.evidence)
                among.append(any(id_ in one.evidence for id_ in ids))
            return first, among

        groups: dict[str, list[Conversation]] = {"all": conversations}
        for kind in ("follow_up", "new_topic"):
            groups[kind] = [one for one in conversations if one.kind == kind]
        for lang in ("en", "de", "es", "zh"):
            groups[lang] = [one for one in conversations if one.lang == lang]
        groups["questions"] = questions_after_questions(cases.values())
        print("| question | " + " | ".join(f"{name} ({len(group)})" for name, group in groups.items()) + " |")
        print("| --- |" + " ---: |" * len(groups))
        for name, rule in RULES.items():
            cells = [" / ".join(map(share, score(rule, group))) for group in groups.values()]
            print(f"| {name} | {' | '.join(cells)} |", flush=True)
        if arguments.rules:
            print_rules(conversations, score)
        store.close()


def print_rules(
    conversations: Sequence[Conversation],
    score: Callable[[Rule, Iterable[Conversation]], tuple[list[float], list[float]]],
) -> None:
    """Print the best rules, and the cross-validated result of choosing one."""
    values: dict[str, dict[str, float]] = {}
    spaces = sorted({one.space for one in conversations})
    for name, rule in compared_rules().items():
        by_space: dict[str, float] = defaultdict(float)
        for one, first, among in zip(conversations, *score(rule, conversations), strict=True):
            by_space[one.space] += first + among
        values[name] = by_space
    best = sorted(values, key=lambda name: -sum(values[name].values()))
    print("\nfirst + among three, of", 2 * len(conversations))
    for name in best[:15]:
        print(f"{sum(values[name].values()):6.0f}  {name}")
    total, chosen = 0.0, []
    for space in spaces:
        name = max(values, key=lambda name: sum(value for key, value in values[name].items() if key != space))
        chosen.append(name)
        total += values[name][space]
    print(f"{total:6.0f}  cross-validated; chosen: {sorted(set(chosen))}")


if __name__ == "__main__":
    main()
