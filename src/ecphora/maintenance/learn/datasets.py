"""Reads benchmark sets from disk, space by space.

A set is two files of JSON lines, plain (``.jsonl``) or compressed (``.jsonl.gz``): ``<set>.docs`` with the fields
``space, id, text, speaker, time, session, title, caption`` and ``<set>.questions`` with the fields ``space, id,
question, answers, category, evidence, answerable, asked_at``. A missing field is read as null.
"""

import gzip
import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from ...errors import InvalidInput, InvalidRecord, InvalidTime, UnknownName
from ...model.times import parse_time
from ...model.types import Episode

SUFFIXES = (".jsonl.gz", ".jsonl")


@dataclass(frozen=True, slots=True)
class Question:
    """A question with its gold: ``evidence`` are the ids of the episodes that hold the answer.

    ``is_answerable`` is false if the right reply is that the memory does not hold the answer. Any of ``answers`` is
    right.
    """

    id: str
    text: str
    category: str
    gold: frozenset[str] = frozenset()
    is_answerable: bool = True
    asked_at: datetime | None = None
    answers: tuple[str, ...] = ()

    @property
    def has_ranking(self) -> bool:
        """Whether its ranking can be measured: it is answerable, and its evidence is known."""
        return self.is_answerable and bool(self.gold)


@dataclass(frozen=True, slots=True)
class Case:
    """A space: its episodes in order, and its questions."""

    space: str
    episodes: tuple[Episode, ...]
    questions: tuple[Question, ...]

    @property
    def is_dated(self) -> bool:
        """Whether any episode has a time, as in a conversation; the passages of a library have none."""
        return any(episode.happened_at is not None for episode in self.episodes)


def dataset_names(data: Path) -> list[str]:
    """The names of the sets in a folder: those with a questions file."""
    names = {path.name.removesuffix(f".questions{end}") for end in SUFFIXES for path in data.glob(f"*.questions{end}")}
    return sorted(names)


def read_cases(name: str, data: Path, docs: Path | None = None, limit: int | None = None) -> Iterator[Case]:
    """Read a set, space by space in the order of its documents; spaces without questions are left out.

    ``docs`` is the folder of the documents if they are not in ``data``. ``limit`` keeps only the first questions.
    Raises ``UnknownName`` for a missing set and ``InvalidRecord`` for an invalid line.
    """
    questions_path = _find_file(f"{name}.questions", data)
    if questions_path is None:
        available = ", ".join(dataset_names(data)) or "none"
        raise UnknownName(f"no set {name!r} in {data}; there are: {available}")
    documents_path = _find_file(f"{name}.docs", data) or (None if docs is None else _find_file(f"{name}.docs", docs))
    if documents_path is None:
        folders = data if docs is None else f"{data} or {docs}"
        raise InvalidInput(f"set {name!r} has questions, but no {name}.docs.jsonl.gz in {folders}; name its folder")
    episodes = _episodes(documents_path)
    questions = _questions(questions_path, {space: frozenset(by_id) for space, by_id in episodes.items()})
    remaining = sum(map(len, questions.values())) if limit is None else limit
    for space, by_id in episodes.items():
        chosen = questions.get(space, [])[:remaining]
        remaining -= len(chosen)
        if chosen:
            yield Case(space, tuple(by_id.values()), tuple(chosen))


def _find_file(stem: str, folder: Path) -> Path | None:
    paths = (folder / f"{stem}{end}" for end in SUFFIXES)
    return next((path for path in paths if path.is_file()), None)


def _episodes(path: Path) -> dict[str, dict[str, Episode]]:
    episodes_by_space: dict[str, dict[str, Episode]] = {}
    for line in _read_lines(path):
        episodes = episodes_by_space.setdefault(line.text("space"), {})
        id_ = line.text("id")
        if id_ in episodes:
            raise line.error(f"the id {id_!r} stands twice in space {line.text('space')!r}; ids are unique in a space")
        caption = line.optional_text("caption")
        episodes[id_] = Episode(
            line.text("text") + (f" [shares {caption}]" if caption else ""),
            id=id_,
            speaker=line.optional_text("speaker"),
            session=line.optional_text("session"),
            happened_at=line.time("time"),
            title=line.optional_text("title"),
        )
    return episodes_by_space


def _questions(path: Path, ids: Mapping[str, frozenset[str]]) -> dict[str, list[Question]]:
    questions_by_space: dict[str, list[Question]] = defaultdict(list)
    for line in _read_lines(path):
        space = line.text("space")
        if space not in ids:
            raise line.error(f"no document lies in its space {space!r}")
        evidence = frozenset(line.text_list("evidence"))
        if missing := evidence - ids[space]:
            raise line.error(f"evidence {min(missing)!r} is no document of space {space!r}")
        questions_by_space[space].append(
            Question(
                id=line.text("id"),
                text=line.text("question"),
                category=line.optional_text("category") or "uncategorised",
                gold=evidence,
                is_answerable=line.flag("answerable", default=True),
                asked_at=line.time("asked_at"),
                answers=tuple(line.text_list("answers")),
            )
        )
    return questions_by_space


@dataclass(frozen=True, slots=True)
class _DatasetLine:
    path: Path
    number: int
    fields: Mapping[str, object]

    def error(self, what: str) -> InvalidRecord:
        return InvalidRecord(f"{self.path}:{self.number}: {what}")

    def text(self, field: str) -> str:
        value = self.fields.get(field)
        if not isinstance(value, str) or not value.strip():
            raise self.error(f"{field!r} is {value!r}, not a text")
        return value

    def optional_text(self, field: str) -> str | None:
        """A text, or None if it is missing or blank."""
        value = self.fields.get(field)
        if value is None or (isinstance(value, str) and not value.strip()):
            return None
        return self.text(field)

    def text_list(self, field: str) -> list[str]:
        value = self.fields.get(field)
        values: list[object] = [] if value is None else value if isinstance(value, list) else [None]
        texts = [text for text in values if isinstance(text, str)]
        if len(texts) != len(values):
            raise self.error(f"{field!r} is {value!r}, not a list of texts")
        return texts

    def flag(self, field: str, *, default: bool) -> bool:
        value = self.fields.get(field)
        if value is None:
            return default
        if not isinstance(value, bool):
            raise self.error(f"{field!r} is {value!r}, not true or false")
        return value

    def time(self, field: str) -> datetime | None:
        value = self.optional_text(field)
        try:
            return None if value is None else parse_time(value)
        except InvalidTime as error:
            raise self.error(f"{field!r}: {error}") from error


def _read_lines(path: Path) -> Iterator[_DatasetLine]:
    number = 0
    try:
        with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as file:
            for number, raw in enumerate(file, 1):  # the error below names the last line that was read
                if raw.strip():
                    fields = json.loads(raw)
                    if not isinstance(fields, dict):
                        raise InvalidRecord(f"{path}:{number}: a line must be a JSON object, not {raw.strip()[:40]!r}")
                    yield _DatasetLine(path, number, fields)
    except json.JSONDecodeError as error:
        raise InvalidRecord(f"{path}:{number}: not JSON ({error})") from error
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise InvalidRecord(f"{path}:{number + 1}: cannot be read ({error})") from error
