"""Golden replay: what recorded questions bring back, compared with what they brought back before."""

import json
import os
import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any, Unpack

from ..errors import InvalidInput
from ..memory import Memory
from ..model.reprs import show
from ..model.text_format import collapse_whitespace, escape_invisible, single_line, truncate
from ..model.validation import check_count, check_items, check_name, check_question
from .recall_checks import RecallArguments, recall

UPDATE_COMMAND = "pytest --ecphora-update"
FORMAT = 1
MAX_STEM_CHARS = 100
"""Characters of the longest file name, without its ending."""
_UNSAFE = re.compile(r"[^\w.-]+", re.ASCII)


@dataclass(frozen=True, slots=True)
class GoldenHit:
    """A memory that came back."""

    id: str
    text: str


@dataclass(frozen=True, slots=True)
class GoldenQuestion:
    """A question and the hits that it brought back, best first; ``evidence`` is None if it was not asked yet."""

    question: str
    evidence: str | None = None
    hits: tuple[GoldenHit, ...] = ()


class Golden:
    """Compares what questions bring back with a file in ``folder``; with ``update`` it writes the file instead."""

    def __init__(self, folder: Path, default_name: str, *, update: bool = False) -> None:
        self._folder, self._default_name, self._update = folder, default_name, update
        self._names: set[str] = set()

    def check(
        self,
        memory: Memory,
        questions: Iterable[str] | None = None,
        *,
        name: str | None = None,
        limit: int = 5,
        **arguments: Unpack[RecallArguments],
    ) -> None:
        """Ask the questions, and compare the evidence and the first ``limit`` hits with those in the file.

        Without ``questions``, the questions in the file are asked. The file is ``golden/NAME.json`` next to the test;
        NAME is the name of the test unless ``name`` is given. Hits are compared by id, or by text where the id has
        changed. The other keywords are the keywords of :meth:`ecphora.Memory.recall`.

        Raises ``AssertionError`` with a table of what moved, was lost or is new.
        """
        __tracebackhide__ = True
        name, limit = self._default_name if name is None else name, check_count("limit", limit)
        if name in self._names:
            raise InvalidInput(f"this test has compared {name!r} already; give each check a name of its own")
        self._names.add(name)
        path = self._folder / f"{_file_stem(name)}.json"
        recorded = read_golden(path) if path.exists() else None
        if questions is None and recorded is None:
            raise AssertionError(f"there is no file {path}; give questions, and record them with {UPDATE_COMMAND}")
        asked = [one.question for one in recorded or ()] if questions is None else _check_questions(questions)
        now = [_ask(memory, question, limit, arguments) for question in asked]
        if self._update:
            write_golden(path, now)
            return
        if recorded is None:
            raise AssertionError(f"there is no file {path}; record what comes back with {UPDATE_COMMAND}")
        if lines := list(describe_changes(recorded, now)):
            head = f"{path.name}: questions bring back something else; {UPDATE_COMMAND} records it"
            raise AssertionError("\n".join([head, *lines]))


def read_golden(path: Path) -> list[GoldenQuestion]:
    """Read a golden file; raises ``InvalidInput`` if it is not one."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        if document["ecphora_golden"] != FORMAT:
            raise ValueError(f"format {show(document['ecphora_golden'])}")  # noqa: TRY301
        return [_parse_question(entry) for entry in document["questions"]]
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise InvalidInput(
            f"{path} is no golden file ({type(error).__name__}: {error}); repair it, or remove it and record it again "
            f"with {UPDATE_COMMAND}"
        ) from error


def write_golden(path: Path, questions: Sequence[GoldenQuestion]) -> None:
    """Write a golden file, one hit a line; it appears whole or not at all, and only if it differs."""
    text = _render(questions)
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists() and path.read_text(encoding="utf-8") == text:
        return
    handle, temporary = tempfile.mkstemp(prefix=f".{path.stem[:20]}-", dir=path.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as out:
            out.write(text)
        Path(temporary).chmod(0o644)  # like a source file
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def describe_changes(recorded: Sequence[GoldenQuestion], now: Sequence[GoldenQuestion]) -> Iterator[str]:
    """The differences as lines of a table; nothing if there are none."""
    before = {one.question: one for one in recorded}
    after = {one.question: one for one in now}
    for question, new in after.items():
        old = before.get(question)
        if old is None or old.evidence is None:
            yield f"{question!r} is not recorded"
            continue
        rows = list(_hit_changes(old.hits, new.hits))
        if rows or old.evidence != new.evidence:
            band = "" if old.evidence == new.evidence else f"  evidence {old.evidence} -> {new.evidence}"
            yield f"{question!r}{band}"
            yield from rows
    for question in before.keys() - after.keys():
        yield f"{question!r} is recorded, and not asked any more"


def _hit_changes(old: Sequence[GoldenHit], new: Sequence[GoldenHit]) -> Iterator[str]:
    """A line for each hit that moved, was lost or is new, in the order of the new ranks, then of the old ones."""
    new_ranks = _match(old, new)
    old_ranks = {rank: place for place, rank in new_ranks.items()}
    for rank, hit in enumerate(new):
        place = old_ranks.get(rank)
        if place is None:
            yield _change_row("new", None, rank, hit)
        elif place != rank:
            yield _change_row("moved", place, rank, hit)
    for place, hit in enumerate(old):
        if place not in new_ranks:
            yield _change_row("lost", place, None, hit)


def _match(old: Sequence[GoldenHit], new: Sequence[GoldenHit]) -> dict[int, int]:
    """The new place of each old one: of the same id, else of the same text."""
    places: dict[int, int] = {}
    for field in ("id", "text"):
        for place, hit in enumerate(old):
            rest = (rank for rank in range(len(new)) if rank not in places.values())
            same = next((rank for rank in rest if getattr(new[rank], field) == getattr(hit, field)), None)
            if place not in places and same is not None:
                places[place] = same
    return places


def _change_row(kind: str, old: int | None, new: int | None, hit: GoldenHit) -> str:
    ranks = " -> ".join("-" if rank is None else str(rank + 1) for rank in (old, new))
    return f"  {kind:<5}  {ranks:>8}  {single_line(truncate(collapse_whitespace(hit.text), 90))}"


def _ask(memory: Memory, question: str, limit: int, arguments: RecallArguments) -> GoldenQuestion:
    found = recall(memory, question, limit, arguments)
    return GoldenQuestion(question, found.evidence.value, tuple(GoldenHit(hit.id, hit.text) for hit in found))


def _check_questions(questions: object) -> list[str]:
    if isinstance(questions, str):
        questions = [questions]
    found = [check_question(question) for question in check_items("questions", questions, "a list of questions")]
    if not found or len(set(found)) < len(found):
        raise InvalidInput("questions is empty or has a question twice; give each question once")
    return found


def _file_stem(name: object) -> str:
    """A name as a file name; a name that has to be changed gets a digest, so that no two names share a file."""
    name = check_name("name", name)
    stem = _UNSAFE.sub("_", name)[:MAX_STEM_CHARS].lstrip(".")
    return (
        stem
        if stem == name and stem
        else f"{stem}-{blake2b(name.encode('utf-8', 'replace'), digest_size=4).hexdigest()}"
    )


def _parse_question(entry: Mapping[str, Any]) -> GoldenQuestion:
    hits = tuple(GoldenHit(str(hit["id"]), str(hit["text"])) for hit in entry.get("hits", ()))
    evidence = entry.get("evidence")
    return GoldenQuestion(check_question(entry["question"]), None if evidence is None else str(evidence), hits)


def _render(questions: Sequence[GoldenQuestion]) -> str:
    """JSON with a hit a line, so that a difference of two files is a difference of hits."""
    lines = ["{", f'  "ecphora_golden": {FORMAT},', '  "questions": [']
    for number, one in enumerate(questions, 1):
        hits = [f"        {_json({'id': hit.id, 'text': hit.text})}" for hit in one.hits]
        lines += [
            "    {",
            f'      "question": {_json(one.question)},',
            f'      "evidence": {_json(one.evidence)},',
            '      "hits": [',
            *(f"{hit}," for hit in hits[:-1]),
            *hits[-1:],
            "      ]",
            "    }" if number == len(questions) else "    },",
        ]
    return "\n".join([*lines, "  ]", "}", ""])


def _json(value: object) -> str:
    return escape_invisible(json.dumps(value, ensure_ascii=False))
