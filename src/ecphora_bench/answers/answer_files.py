"""Files of answers: JSON lines, one for each run and one for each question and context; never rewritten.

A line holds its whole key and the gold, so a file can be measured again without the data. Of two lines with the same
key the later counts. An incomplete last line is removed when the file is next written to.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TextIO

from ecphora.errors import InvalidInput, InvalidRecord

from ..recall.run_records import Run

AnswerKey = tuple[str, str, str, str, int, str, str, str, str]
"""The key of an answer: set, space, question, context, budget, prompt, model, version, embedder."""
ReaderKey = tuple[str, str, str, str]
"""The key of a reader: prompt, model, version, embedder."""


@dataclass(frozen=True, slots=True)
class AnswerLine:
    """A question, what it was answered from, and the answer.

    ``budget`` bounds the context, whose texts have ``context_tokens`` (both estimated) and hold the part
    ``gold_recall`` of the gold, None where the question has none. ``confidence`` is the recall's, None for the full
    context. ``answer`` is empty where ``answered`` is false: then the reader found none. ``error`` says why there is no
    reply that could be read; a question without any reply is asked again by the next run. The rest is what all its
    calls took.
    """

    dataset: str
    space: str
    question: str
    context: str
    budget: int
    prompt: str
    model: str
    version: str
    embedder: str
    category: str
    is_answerable: bool
    gold_answers: tuple[str, ...]
    gold_recall: float | None
    context_tokens: int
    confidence: float | None
    answer: str
    answered: bool
    error: str | None
    calls: int
    tokens_in: int
    tokens_out: int
    seconds: float
    cost_usd: float

    @property
    def key(self) -> AnswerKey:
        """The key of the answer."""
        return (self.dataset, self.space, self.question, self.context, self.budget, *self.reader_key)

    @staticmethod
    def from_fields(fields: Mapping[str, Any]) -> "AnswerLine":
        """The answer of a line's fields; raises ``TypeError`` or ``KeyError`` if they are none."""
        return AnswerLine(**{**fields, "gold_answers": tuple(fields["gold_answers"])})

    @property
    def reader_key(self) -> ReaderKey:
        """The key of the reader."""
        return (self.prompt, self.model, self.version, self.embedder)


@dataclass(frozen=True, slots=True)
class AnswerFile:
    """The content of a file: its runs and its answers, each answer once."""

    runs: tuple[Run, ...] = ()
    answers: tuple[AnswerLine, ...] = ()

    @property
    def done_keys(self) -> frozenset[AnswerKey]:
        """The keys that need not be asked again: all with a reply, even one that could not be parsed."""
        return frozenset(line.key for line in self.answers if line.error is None or line.tokens_in)


class AnswerWriter:
    """Appends to a file of answers and flushes each line; the run's own line comes before the first."""

    def __init__(self, file: TextIO, run: Run) -> None:
        self._file, self._run = file, run
        self._has_run_line = False

    def __call__(self, line: AnswerLine) -> None:
        """Write an answer."""
        if not self._has_run_line:
            self._file.write(self._run.to_json_line() + "\n")
            self._has_run_line = True
        self._file.write(json.dumps(asdict(line), ensure_ascii=False) + "\n")
        self._file.flush()


@contextmanager
def open_for_append(path: Path, run: Run) -> Iterator[AnswerWriter]:
    """Open a file of answers to append to, creating it if missing; an incomplete last line is removed."""
    try:
        with path.open("a+", encoding="utf-8", newline="\n") as file:
            _repair_tail(path)
            yield AnswerWriter(file, run)
    except OSError as error:
        raise InvalidInput(f"{path} cannot be written ({error})") from error


def _repair_tail(path: Path) -> None:
    """Remove an incomplete last line, unless only its line end is missing."""
    whole = path.read_bytes()
    cut = whole.rfind(b"\n") + 1
    if cut == len(whole):
        return
    with path.open("r+b") as file:
        if _parse_object(whole[cut:].decode("utf-8", "replace")) is None:
            file.truncate(cut)
        else:
            file.seek(0, 2)
            file.write(b"\n")


def is_answer_file(path: Path) -> bool:
    """Whether a file is a file of answers: its second line is an answer."""
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            found = [_parse_object(file.readline()), _parse_object(file.readline())]
    except OSError as error:
        raise InvalidRecord(f"{path}: cannot be read ({error})") from error
    return any("context_tokens" in (fields or ()) for fields in found)


def read_answers(path: Path) -> AnswerFile:
    """Read a file of answers; a missing one holds none. Raises ``InvalidRecord`` for a line of another kind."""
    if not path.exists():
        return AnswerFile()
    try:
        raw = path.read_bytes().decode("utf-8", "replace").split("\n")
    except OSError as error:
        raise InvalidRecord(f"{path}: cannot be read ({error})") from error
    runs: list[Run] = []
    lines: dict[AnswerKey, AnswerLine] = {}
    for number, text in enumerate(raw, 1):
        fields = _parse_object(text)
        if fields is None:
            if number == len(raw) or not text.strip():
                continue
            raise InvalidRecord(f"{path}:{number}: no line of `ecphora bench answer`: {text.strip()[:40]!r}")
        try:
            if "machine" in fields:
                runs.append(Run.from_fields(fields))
                continue
            line = AnswerLine.from_fields(fields)
        except (TypeError, KeyError) as error:
            raise InvalidRecord(f"{path}:{number}: no line of `ecphora bench answer` ({error})") from error
        lines.pop(line.key, None)
        lines[line.key] = line
    return AnswerFile(tuple(runs), tuple(lines.values()))


def _parse_object(text: str) -> dict[str, Any] | None:
    """The object of a line; None if it is not an object."""
    try:
        found = json.loads(text)
    except json.JSONDecodeError:
        return None
    return found if isinstance(found, dict) else None
