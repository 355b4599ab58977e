"""What answers are kept in: JSON lines, one for each run and one for each question and context; never rewritten.

A line carries all that tells it from others, and the gold, so a file can be measured again without the data. Of two
lines of one key the later counts. A last line that was cut off is cut away when the file is next written to.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TextIO

from ..errors import InvalidInput, InvalidRecord
from .figures import Run

Key = tuple[str, str, str, str, int, str, str, str, str]
"""What makes an answer another one: set, space, question, context, budget, prompt, model, version, embedder."""
Reader = tuple[str, str, str, str]
"""Who read: prompt, model, version, embedder."""


@dataclass(frozen=True, slots=True)
class Line:
    """A question, what it was answered from, and the answer.

    ``budget`` bounds the context, whose texts have ``tokens`` (both estimated) and hold the part ``evidence`` of the
    gold, None where the question has none. ``confidence`` is the recall's, None for the full context. ``said`` is the
    answer, empty where ``held`` is false: then the reader found none. ``trouble`` says why there is no reply that could
    be read; a question without any reply is asked again by the next run. The rest is what all its calls took.
    """

    set: str
    space: str
    question: str
    context: str
    budget: int
    prompt: str
    model: str
    version: str
    embedder: str
    category: str
    answerable: bool
    answers: tuple[str, ...]
    evidence: float | None
    tokens: int
    confidence: float | None
    said: str
    held: bool
    trouble: str | None
    calls: int
    tokens_in: int
    tokens_out: int
    seconds: float
    money: float

    @property
    def key(self) -> Key:
        """What makes it another one."""
        return (self.set, self.space, self.question, self.context, self.budget, *self.reader)

    @staticmethod
    def of(fields: Mapping[str, Any]) -> "Line":
        """The answer of a line's fields; raises ``TypeError`` or ``KeyError`` if they are none."""
        return Line(**{**fields, "answers": tuple(fields["answers"])})

    @property
    def reader(self) -> Reader:
        """Who read."""
        return (self.prompt, self.model, self.version, self.embedder)


@dataclass(frozen=True, slots=True)
class Kept:
    """What a file holds: its runs and its answers, each answer once."""

    runs: tuple[Run, ...] = ()
    lines: tuple[Line, ...] = ()

    @property
    def answered(self) -> frozenset[Key]:
        """The keys of what need not be asked again: of all that was replied to, be it in a form nobody can read."""
        return frozenset(line.key for line in self.lines if line.trouble is None or line.tokens_in)


class Writer:
    """Appends to a file of answers, each line handed over once it is written; the run's own line before the first."""

    def __init__(self, file: TextIO, run: Run) -> None:
        self._file, self._run = file, run
        self._begun = False

    def __call__(self, line: Line) -> None:
        """Write an answer."""
        if not self._begun:
            self._file.write(self._run.line() + "\n")
            self._begun = True
        self._file.write(json.dumps(asdict(line), ensure_ascii=False) + "\n")
        self._file.flush()


@contextmanager
def appending(path: Path, run: Run) -> Iterator[Writer]:
    """A file of answers to append to, made where there is none; a last line that was cut off is cut away."""
    try:
        with path.open("a+", encoding="utf-8", newline="\n") as file:
            _mend(path)
            yield Writer(file, run)
    except OSError as error:
        raise InvalidInput(f"{path} cannot be written ({error})") from error


def _mend(path: Path) -> None:
    """Cut a last line that has no end, unless only its end is missing."""
    whole = path.read_bytes()
    cut = whole.rfind(b"\n") + 1
    if cut == len(whole):
        return
    with path.open("r+b") as file:
        if _json(whole[cut:].decode("utf-8", "replace")) is None:
            file.truncate(cut)
        else:
            file.seek(0, 2)
            file.write(b"\n")


def holds_answers(path: Path) -> bool:
    """Whether a file is one of answers: its second line is one."""
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            found = [_json(file.readline()), _json(file.readline())]
    except OSError as error:
        raise InvalidRecord(f"{path}: cannot be read ({error})") from error
    return any("said" in (fields or ()) for fields in found)


def read(path: Path) -> Kept:
    """Read a file of answers; one that is not there holds none. Raises ``InvalidRecord`` for a line of another kind."""
    if not path.exists():
        return Kept()
    try:
        raw = path.read_bytes().decode("utf-8", "replace").split("\n")
    except OSError as error:
        raise InvalidRecord(f"{path}: cannot be read ({error})") from error
    runs: list[Run] = []
    lines: dict[Key, Line] = {}
    for number, text in enumerate(raw, 1):
        fields = _json(text)
        if fields is None:
            if number == len(raw) or not text.strip():
                continue
            raise InvalidRecord(f"{path}:{number}: no line of `ecphora bench answer`: {text.strip()[:40]!r}")
        try:
            if "machine" in fields:
                runs.append(Run.of(fields))
                continue
            line = Line.of(fields)
        except (TypeError, KeyError) as error:
            raise InvalidRecord(f"{path}:{number}: no line of `ecphora bench answer` ({error})") from error
        lines.pop(line.key, None)
        lines[line.key] = line
    return Kept(tuple(runs), tuple(lines.values()))


def _json(text: str) -> dict[str, Any] | None:
    """The object of a line, None where it is none."""
    try:
        found = json.loads(text)
    except json.JSONDecodeError:
        return None
    return found if isinstance(found, dict) else None
