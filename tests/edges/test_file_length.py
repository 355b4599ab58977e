"""A Python file of more than 400 lines says in its docstring why it is one file."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = ("src", "scripts", "benchmarks", "tests")
MAX_LINES = 400
REASON = "This file is over 400 lines because "


def python_files() -> Iterator[Path]:
    """The modules, and the scripts without a suffix that Python runs."""
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix == ".py" or (not path.suffix and path.is_file() and _is_script(path)):
                yield path


def _is_script(path: Path) -> bool:
    with path.open("rb") as lines:
        first = lines.readline()
    return first.startswith(b"#!") and b"python" in first


def fault(source: str) -> str | None:
    """The problem with the length of a file or with its reason; None if there is none."""
    count, docstring = len(source.splitlines()), " ".join((ast.get_docstring(ast.parse(source)) or "").split())
    has_reason = REASON in docstring and bool(docstring.partition(REASON)[2].strip(". "))
    if count > MAX_LINES and not has_reason:
        return f"{count} lines: split it along a seam, or say in its docstring: {REASON}..."
    if count <= MAX_LINES and has_reason:
        return f"{count} lines: take the reason for a long file out of its docstring"
    return None


@pytest.mark.medium
def test_long_files_state_their_reason() -> None:
    found = {path.relative_to(ROOT).as_posix(): fault(path.read_text("utf-8")) for path in python_files()}
    assert len(found) > 300
    assert {name: what for name, what in found.items() if what} == {}


@pytest.mark.parametrize(
    ("docstring", "lines", "is_fault"),
    [
        ("A table.", 400, False),
        ("A table.", 401, True),
        ("A table. This file is over 400 lines because it is a\ntable.", 401, False),
        ("A table. This file is over 400 lines because .", 401, True),
        ("A table. This file is over 400 lines because it is a table.", 400, True),
    ],
)
def test_fault_is_a_long_file_without_a_reason_or_a_reason_without_a_long_file(
    docstring: str, lines: int, is_fault: bool
) -> None:
    head = f'"""{docstring}"""\n'
    source = head + "pass\n" * (lines - head.count("\n"))
    assert (fault(source) is not None) == is_fault
