"""Public names use the words of docs/glossary.md, and none of the words that were given up."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import apsw
import click
import pytest

import ecphora
from ecphora.cli.main import LazyCommand, main
from ecphora.consolidation.facts.judge import GATE_FEATURES
from ecphora.reason_clauses import CLAUSE_BUILDERS
from ecphora.stages.eisa import necessity
from ecphora.stages.fused import features
from ecphora.stages.fused.answerability import ANSWERABILITY_FEATURES
from ecphora.stores.sqlite import SQLiteStore

SOURCES = Path(ecphora.__file__).parent
GIVEN_UP = frozenset(
    {
        "told",
        "heard",
        "met",
        "stirred",
        "barred",
        "felt",
        "outrun",
        "pen",
        "desk",
        "guest",
        "sleep",
        "sleeps",
        "sleeper",
        "sleeping",
        "night",
        "trail",
        "trails",
        "standing",
        "succession",
        "successions",
        "erased",
        "fell",
        "touch",
        "touches",
        "touched",
        "strange",
        "weigh",
        "weighed",
        "knowing",
        "faded",
        "fading",
        "faintness",
        "rivals",
        "rivalry",
        "wrote",
        "trouble",
        "spent",
        "mend",
        "mends",
        "mended",
        "sheet",
        "sheets",
        "likest",
        "lacking",
        "alike",
        "spoken",
        "noted",
        "found_by",
        "cue",
        "cues",
        "whole_log",
        "storing_is_querying",
        "resegment",
        "comparer",
        "lesson",
        "lessons",
        "twin",
        "twins",
        "teller",
        "tellers",
        "likeness",
        "matter",
        "matters",
        "way",
        "ways",
        "woken",
        "awake",
        "asleep",
        "nights",
        "bonds",
        "promise",
        "promised",
        "stir",
        "stirs",
        "beside",
        "meaning",
        "wake",
        "sure",
        "said",
        "seen",
        "gone",
        "taken",
        "worth",
        "faint",
        "lone",
        "says",
        "tell",
        "tells",
        "hears",
        "meets",
        "feels",
    }
)
"""Words that the code once used in names."""
ALLOWED = {
    "cue": "the papers' word for a question, in EcphoryRAG's and SynapticRAG's own files",
    "cues": "the same",
}
TESTS = Path(__file__).parents[1]
NOT_A_SUBJECT = frozenset(
    {"a", "an", "how", "it", "nothing", "of", "the", "there", "what", "who", "whoever", "without"}
)
"""Words with which the name of a test does not start: its first words name the subject."""
PAPERS = ("stages/ecphory/", "stages/synaptic/", "strategies/")


def words(name: str) -> set[str]:
    """The words of an identifier, in lower case, and itself."""
    return {name.lower(), *re.findall(r"[a-z0-9]+", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower())}


def public_names() -> Iterator[tuple[str, str]]:
    """The public functions, types, fields and parameters of the package, each with its file."""
    for path in SOURCES.rglob("*.py"):
        file = path.relative_to(SOURCES).as_posix()
        yield from ((file, name) for name in _defined(ast.parse(path.read_text("utf-8")).body))


def _defined(body: list[ast.stmt]) -> Iterator[str]:
    for node in body:
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            yield node.name
            arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
            yield from (one.arg for one in arguments if not one.arg.startswith("_"))
        elif isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            yield node.name
            yield from _defined(node.body)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield from (name for name in [node.target.id] if not name.startswith("_"))
        elif isinstance(node, ast.Assign):
            targets = [one.id for one in node.targets if isinstance(one, ast.Name)]
            yield from (name for name in targets if not name.startswith("_"))


def given_up(name: str, file: str = "") -> set[str]:
    """The given-up words in a name, without those that a paper's own file may use."""
    found = words(name) & GIVEN_UP
    return found - set(ALLOWED) if file.startswith(PAPERS) else found


@pytest.mark.medium
def test_python_names_have_no_given_up_word() -> None:
    assert [(file, name) for file, name in public_names() if given_up(name, file)] == []


def test_commands_and_options_have_no_given_up_word() -> None:
    names = [main.name or "", *main.commands]
    for command in main.commands.values():
        params = command.load().params if isinstance(command, LazyCommand) else command.params
        names += [word for param in params for word in (*param.opts, *param.secondary_opts)]
    assert isinstance(main, click.Group)
    assert [name for name in names if given_up(name.replace("-", "_"))] == []


def test_tables_and_columns_have_no_given_up_word(tmp_path: Path) -> None:
    SQLiteStore(tmp_path / "m.db").close()
    db = apsw.Connection(str(tmp_path / "m.db"))
    tables = [str(row[0]) for row in db.execute("SELECT name FROM sqlite_schema WHERE type IN ('table', 'index')")]
    columns = [str(row[1]) for table in tables for row in db.execute(f"PRAGMA table_info('{table}')")]
    db.close()
    assert [name for name in (*tables, *columns) if given_up(name)] == []


def test_feature_names_have_no_given_up_word() -> None:
    names = {
        *(name for group in features.feature_names_by_group().values() for name in group),
        *(*ANSWERABILITY_FEATURES, *GATE_FEATURES, *necessity.FEATURES, *CLAUSE_BUILDERS),
    }
    assert [name for name in sorted(names) if given_up(name)] == []


@pytest.mark.medium
def test_names_of_tests_start_with_their_subject() -> None:
    trees = [ast.parse(path.read_text("utf-8")) for path in TESTS.rglob("test_*.py")]
    names = [node.name for tree in trees for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    tests = [name for name in names if name.startswith("test_")]
    assert [name for name in tests if name.split("_")[1] in NOT_A_SUBJECT] == []


@pytest.mark.parametrize("name", ["Fading", "is_touched", "cueText", "spent"])
def test_given_up_word_is_found_inside_a_name(name: str) -> None:
    assert given_up(name)
