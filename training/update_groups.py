"""The changes and look-alikes of ``train_update_scorer.py`` that are groups of messages, in thirteen languages.

``plain_languages.jsonl`` of training/data has changes and look-alikes in plain words in four languages.
``change_groups.jsonl`` has statements in thirteen languages, each with two messages that end it and four that only look
as if. The memories ``many`` of training/data/memories are conversations about many matters, and ``logs`` are notes of
events that recur; their changes are listed.
"""
# ruff: noqa: INP001  # in the folder of the script that uses it

import json
from collections.abc import Iterator, Sequence
from datetime import date, timedelta
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

DATA = Path(__file__).parent / "data"
PLAIN_LANGUAGES, GROUPS = DATA / "plain_languages.jsonl", DATA / "change_groups.jsonl"
MEMORIES, MEMORY_CHANGES = (
    (DATA / "memories" / f"many.{part}.jsonl", DATA / f"logs.{part}.jsonl") for part in ("docs", "changes")
)
FIRST_DAY = date(2025, 1, 6)
"""The day of the first statement of a conversation."""
FOLDS = 5
"""Every fifth case, group and memory trains the calibration, the others the adapters."""
GROUPS_PER_CASE = 6
"""Groups that are told in one conversation, so that most of its messages have nothing to do with a change."""

Case = dict[str, Any]


def plain_cases() -> Iterator[tuple[int, Case]]:
    """The plain cases, each with a number; a change and its look-alike, which share their first text, have the same."""
    for index, line in enumerate(PLAIN_LANGUAGES.read_text(encoding="utf-8").splitlines()):
        case = json.loads(line)
        yield index // 2, {**case, "language": case["id"].partition("-")[0]}


def group_cases() -> Iterator[tuple[int, Case]]:
    """Conversations of ``GROUPS_PER_CASE`` groups of one language and one fold, each with the number of its fold.

    The statements come first, then the later messages of all groups, one a day. The pairs of two later messages of a
    group have no label; those of messages of different groups are no change.
    """
    by_fold: dict[tuple[str, int], list[tuple[int, Case]]] = {}
    for number, line in enumerate(GROUPS.read_text(encoding="utf-8").splitlines()):
        group = json.loads(line)
        by_fold.setdefault((group["lang"], number % FOLDS), []).append((number, group))
    for (language, fold), groups in by_fold.items():
        for start in range(0, len(groups), GROUPS_PER_CASE):
            yield fold, _conversation(language, groups[start : start + GROUPS_PER_CASE])


def _conversation(language: str, groups: Sequence[tuple[int, Case]]) -> Case:
    first, later = list[tuple[str, str, str]](), list[tuple[str, str, str]]()
    labels: dict[tuple[str, str], bool | None] = {}
    for number, group in groups:
        first.append((f"{number}", group["speaker"], group["old"]))
        messages = [*group["new"], *group["not"]]
        ids = [f"{number}-{place}" for place in range(len(messages))]
        later += [(id_, *message) for id_, message in zip(ids, messages, strict=True)]
        labels.update(dict.fromkeys((one, other) for one in ids for other in ids))
        labels.update({(f"{number}", id_): True for id_ in ids[: len(group["new"])]})
    order = np.random.default_rng(groups[0][0]).permutation(len(later)).tolist()  # noqa: TID251  # seeded
    told = [*first, *(later[place] for place in order)]
    return {
        "id": f"group-{groups[0][0]}",
        "language": language,
        "told": [
            [id_, str(FIRST_DAY + timedelta(days=day)), speaker, f"s{day}", text]
            for day, (id_, speaker, text) in enumerate(told)
        ],
        "labels": labels,
    }


def memory_cases() -> Iterator[tuple[int, Case]]:
    """The memories ``many`` and ``logs``, each a case with a number.

    If a matter changes twice, the last statement ends both.
    """
    changes: dict[str, list[tuple[str, str]]] = {}
    for change in _lines(*MEMORY_CHANGES):
        changes.setdefault(change["space"], []).append((change["old"], change["new"]))
    told: dict[str, list[Sequence[str | None]]] = {}
    for line in _lines(*MEMORIES):
        turn = [line[name] for name in ("id", "time", "speaker", "session", "text")]
        told.setdefault(line["space"], []).append(turn)
    for number, (space, turns) in enumerate(told.items()):
        pairs = set(changes[space])
        pairs |= {(old, newest) for old, middle in pairs for other, newest in pairs if middle == other}
        labels = dict.fromkeys(pairs, True)
        yield number, {"id": space, "language": space.split("_")[1], "told": turns, "labels": labels}


@cache
def calibration_memories() -> frozenset[str]:
    """The spaces of ``many`` and ``logs`` that train the calibration, so not the adapters."""
    return frozenset(case["id"] for number, case in memory_cases() if number % FOLDS == 0)


def _lines(*paths: Path) -> Iterator[dict[str, Any]]:
    for path in paths:
        for line in path.read_text(encoding="utf-8").splitlines():
            yield json.loads(line)
