"""The tables of mechanisms in the documents name functions, tests and ablation rows that exist."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from ecphora import strategies
from ecphora.bench.ablation.ablations import BASELINES, MODELS

ROOT = Path(__file__).parents[2]
PACKAGE, TESTS = ROOT / "src" / "ecphora", ROOT / "tests"
COLUMNS = ["mechanism", "equation", "file and function", "test", "ablation row"]
FILE_AND_NAME = re.compile(r"(?P<file>[\w/]+\.py)(?:: (?P<name>\w+))?$")


@dataclass(frozen=True)
class MechanismTable:
    """A table of a page, with the model of its section, and the files that letters in the section stand for."""

    page: str
    model: str
    rows: tuple[tuple[str, ...], ...]
    file_letters: dict[str, str]

    def __str__(self) -> str:
        return f"{self.page}-{self.model}"


def tables() -> Iterator[MechanismTable]:
    for page in sorted((ROOT / "docs").glob("*.md")):
        for section in re.split(r"^(?=## |# )", page.read_text(encoding="utf-8"), flags=re.MULTILINE):
            named = re.match(r".*\(`([\w-]+)`\)$", section.partition("\n")[0])
            letters = dict(re.findall(r"\b([A-Z]\d) (?:is )?`(tests/[\w/]+\.py)`", section))
            lines = section.splitlines()
            for number, line in enumerate(lines):
                if split(line)[:1] == ("mechanism",):
                    assert [re.sub(r" \(.*\)$", "", title) for title in split(line)] == COLUMNS, page.name
                    end = next(n for n in range(number, len(lines) + 1) if not lines[n : n + 1] or not lines[n])
                    rows = tuple(split(row) for row in lines[number + 2 : end])
                    yield MechanismTable(page.name, named[1] if named else page.stem, rows, letters)


def split(line: str) -> tuple[str, ...]:
    return tuple(cell.strip() for cell in line.strip().strip("|").split("|")) if line.startswith("|") else ()


def codes(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


@cache
def files_of(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.py"))


@cache
def names_of(path: Path) -> dict[str, set[str]]:
    """The names of a module, and for each of its classes those of its members."""
    names: dict[str, set[str]] = {}
    for statement in ast.parse(path.read_text(encoding="utf-8")).body:
        for name in bound(statement):
            members = statement.body if isinstance(statement, ast.ClassDef) else []
            names[name] = {member for each in members for member in bound(each)}
    return names


def bound(statement: ast.stmt) -> list[str]:
    match statement:
        case ast.FunctionDef() | ast.ClassDef() | ast.AsyncFunctionDef():
            return [statement.name]
        case ast.Assign():
            targets: list[ast.expr] = statement.targets
        case ast.AnnAssign():
            targets = [statement.target]
        case _:
            targets = []
    nodes = (node for target in targets for node in ast.walk(target))
    return [node.id for node in nodes if isinstance(node, ast.Name)]


def find(folder: Path, file: str) -> list[Path]:
    return [path for path in files_of(folder) if f"/{path.as_posix()}".endswith(f"/{file}")]


def missing_functions(cell: str) -> list[str]:
    """What a cell names and nothing defines: ``file.py: function``, ``Class.method``, or a name of the file before."""
    missing: list[str] = []
    files: list[Path] = []
    owner = ""
    for code in codes(cell):
        if match := FILE_AND_NAME.match(code):
            files, owner = find(PACKAGE, match["file"]), ""
            found = any(match["name"] is None or match["name"] in names_of(path) for path in files)
        elif "." in code:
            owner, _, member = code.partition(".")
            files = [path for path in files_of(PACKAGE) if owner in names_of(path)]
            found = any(member in names_of(path)[owner] for path in files)
        else:
            found = any(code in names_of(path) or code in names_of(path).get(owner, set()) for path in files)
        missing += [] if found else [code]
    return missing


def missing_tests(cell: str, file_letters: dict[str, str]) -> list[str]:
    """The tests of a cell that no file has: ``file.py: test``, or a test of the file, or letter, before."""
    missing: list[str] = []
    files: list[Path] = []
    for letter, code in re.findall(r"\b([A-Z]\d)\b|`([^`]+)`", cell):
        match = FILE_AND_NAME.match(file_letters.get(letter, code))
        name = match["name"] if match else code
        if match:
            files = find(TESTS, match["file"].removeprefix("tests/"))
        found = any(name is None or name in names_of(path) for path in files)
        missing += [] if found else [letter or code]
    return missing


def labels(model: str) -> set[str]:
    ablated = [each for name, each in MODELS.items() if name in {model, f"{model}-faithful"}]
    variants = [variant for each in ablated for variant in each.all_variants]
    return {variant.label for variant in (*variants, *BASELINES)} | {*strategies.RETENTION}


TABLES = list(tables())


def test_every_model_has_a_table_of_mechanisms() -> None:
    assert {"synaptic", "synapse", "eisa", "ecphory", "weave", "fused"} <= {table.model for table in TABLES}


@pytest.mark.parametrize("table", TABLES, ids=str)
def test_cells_of_mechanisms_are_filled(table: MechanismTable) -> None:
    assert table.rows
    assert [row for row in table.rows if len(row) != len(COLUMNS) or not all(row)] == []


@pytest.mark.medium
@pytest.mark.parametrize("table", TABLES, ids=str)
def test_functions_of_mechanisms_exist(table: MechanismTable) -> None:
    assert [row[0] for row in table.rows if not codes(row[2])] == []
    assert {row[0]: missing for row in table.rows if (missing := missing_functions(row[2]))} == {}


@pytest.mark.medium
@pytest.mark.parametrize("table", TABLES, ids=str)
def test_tests_of_mechanisms_exist(table: MechanismTable) -> None:
    assert [row[0] for row in table.rows if not codes(row[3]) and not row[3].startswith("as ")] == []
    assert {row[0]: missing for row in table.rows if (missing := missing_tests(row[3], table.file_letters))} == {}


@pytest.mark.parametrize("table", TABLES, ids=str)
def test_ablation_rows_of_mechanisms_exist(table: MechanismTable) -> None:
    known = labels(table.model)
    assert {row[0]: unknown for row in table.rows if (unknown := {*codes(row[4])} - known)} == {}


@pytest.mark.parametrize(
    "table", [table for table in TABLES if table.model in {"synapse", "eisa", "ecphory", "fused"}], ids=str
)
def test_every_ablation_row_is_that_of_a_mechanism(table: MechanismTable) -> None:
    named = {code for row in table.rows for code in codes(row[4])}
    ours = labels(table.model) - {variant.label for variant in BASELINES} - {*strategies.RETENTION}
    assert ours - named - {table.model, "as published"} == set()


@pytest.mark.medium
def test_names_that_nothing_defines_are_found() -> None:
    assert missing_functions("`stages/retrieval/dense.py: cosine`, `above_floor`; `Weave.process`") == []
    assert missing_functions("`dense.py: cosinus`, `nowhere`; `no_file.py`; `Weave.perish`, `Woof.process`") == [
        "dense.py: cosinus",
        "nowhere",
        "no_file.py",
        "Weave.perish",
        "Woof.process",
    ]
    letters = {"S1": "tests/papers/test_weave.py"}
    test = "test_insights_add_their_sources"
    assert missing_tests(f"S1 `{test}`; `test_weave.py: {test}`, `{test}`", letters) == []
    assert missing_tests(f"`{test}`; S2 `{test}`; `test_top_k.py: {test}`; `test_gone.py`", letters) == [
        test,
        "S2",
        test,
        f"test_top_k.py: {test}",
        "test_gone.py",
    ]
