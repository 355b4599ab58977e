"""Reads published JSON files, and writes benchmark sets: the files that ``datasets.read_cases`` reads."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path

from ecphora.errors import InvalidInput, InvalidRecord

FIRST_TURN = datetime(2024, 1, 1)  # noqa: DTZ001  # data sets have times without zone
"""The time of the first turn of a dialogue without times; each further turn is a minute later."""


@dataclass(frozen=True, slots=True)
class Turn:
    """A turn of a dialogue: its id, text and session."""

    id: str
    text: str
    session: str


@dataclass(frozen=True, slots=True)
class Task:
    """A recall task: a question, what was said before it, and the ids of the turns to recall."""

    space: str
    question: str
    turns: tuple[Turn, ...]
    gold: tuple[str, ...]
    category: str
    answers: tuple[str, ...] = ()


@dataclass(slots=True)
class Conversion:
    """The tasks of a data set, and what could not be converted, with its count."""

    tasks: list[Task] = field(default_factory=list)
    dropped: dict[str, int] = field(default_factory=dict)

    def drop(self, what: str) -> None:
        """Count something that could not be converted."""
        self.dropped[what] = self.dropped.get(what, 0) + 1


def read_json(path: Path) -> object:
    """The content of a JSON file; raises ``InvalidRecord`` if it is none."""
    try:
        content: object = json.loads(path.read_text("utf-8-sig"))
    except (OSError, UnicodeDecodeError, json.JSONDecodeError, RecursionError) as error:
        raise InvalidRecord(f"{path}: not a readable JSON file ({error})") from error
    return content


def write_set(name: str, tasks: Sequence[Task], folder: Path) -> None:
    """Write ``NAME.docs.jsonl`` and ``NAME.questions.jsonl``; every task is a space of its own.

    Turns get times a minute apart, as a set without times counts as a library. Raises ``InvalidInput`` if there is no
    task, or the folder cannot be written.
    """
    if Path(name).name != name:
        raise InvalidInput(f"the name of a set must be usable as a file name, not {name!r}")
    if not tasks:
        raise InvalidInput("there is no recall task in these files; check that they are those of this data set")
    documents = (
        {
            "space": task.space,
            "id": turn.id,
            "text": turn.text,
            "session": turn.session,
            "time": (FIRST_TURN + timedelta(minutes=place)).isoformat(),
        }
        for task in tasks
        for place, turn in enumerate(task.turns)
    )
    questions = (
        {
            "space": task.space,
            "id": task.space,
            "question": task.question,
            "answers": task.answers,
            "category": task.category,
            "evidence": task.gold,
            "asked_at": (FIRST_TURN + timedelta(minutes=len(task.turns))).isoformat(),
        }
        for task in tasks
    )
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_lines(folder / f"{name}.docs.jsonl", documents)
        write_lines(folder / f"{name}.questions.jsonl", questions)
    except OSError as error:
        raise InvalidInput(f"{folder} cannot be written ({error}); choose another folder") from error


def write_lines(path: Path, lines: Iterable[Mapping[str, object]]) -> None:
    """Write JSON lines to a file beside it first, so that no half-written file stands under its name."""
    partial = path.with_name(f"{path.name}.part")
    with partial.open("w", encoding="utf-8") as file:
        for line in lines:
            file.write(json.dumps(line, ensure_ascii=False) + "\n")
    partial.replace(path)


def text_at(value: object, where: str) -> str:
    """A text that is not blank; raises ``InvalidRecord``."""
    if not isinstance(value, str) or not value.strip():
        raise InvalidRecord(f"{where} must be a text, not {value!r}")
    return value


def list_at(value: object, where: str) -> Sequence[object]:
    """A list; raises ``InvalidRecord``."""
    if not isinstance(value, list):
        raise InvalidRecord(f"{where} must be a list, not {type(value).__name__}")
    return value


def object_at(value: object, where: str) -> Mapping[str, object]:
    """An object; raises ``InvalidRecord``."""
    if not isinstance(value, dict):
        raise InvalidRecord(f"{where} must be an object, not {type(value).__name__}")
    return value


def field_at(value: object, name: str, where: str) -> object:
    """A field of an object; raises ``InvalidRecord`` if it is missing."""
    fields = object_at(value, where)
    if name not in fields:
        raise InvalidRecord(f"{where} has no {name!r}")
    return fields[name]
