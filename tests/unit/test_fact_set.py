"""The lists of facts, and the sets that ``scripts/fact_set.py`` makes of them."""

import importlib
import re
from pathlib import Path
from types import ModuleType

import pytest

from ecphora.bench.probes.probe import Kind

ROOT = Path(__file__).parents[2]
PROBES = ROOT / "benchmarks" / "probes" / "lists"

pytestmark = pytest.mark.medium  # the first to import the script


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The script as a module."""
    monkeypatch.syspath_prepend(ROOT / "scripts")
    return importlib.import_module("fact_set")


def sections(path: Path) -> dict[str, list[str]]:
    """The lines of a file of lists, by the names of their sections."""
    found: dict[str, list[str]] = {}
    lines: list[str] = []
    for line in path.read_text(encoding="utf-8").splitlines():
        if match := re.fullmatch(r"\[(.+)\]", line):
            lines = found.setdefault(match[1], [])
        elif line.strip() and not line.startswith("# "):
            lines.append(line)
    return found


@pytest.mark.parametrize("kind", [Kind.OWN_STATEMENTS, Kind.WHO])
def test_answers_of_facts_are_memories_of_their_world(script: ModuleType, kind: Kind, tmp_path: Path) -> None:
    probes = script.make_probes(tmp_path, kind, 2)
    assert len(probes) > 300
    for probe in probes:
        assert probe.gold <= {memory.id for memory in probe.memories}
        assert bool(probe.gold) is probe.is_answerable
        assert not any("<" in text for text in (probe.question, *(memory.text for memory in probe.memories)))


def test_lists_of_facts_have_no_template_of_the_probes_that_measure(script: ModuleType) -> None:
    """But for the shortest, such as "Who hired <b>?", for which there is no other wording."""

    def normal(line: str) -> str:
        return line.casefold().strip(".?! ")

    unseen = {
        normal(line)
        for path in PROBES.glob("*.txt")
        for name, lines in sections(path).items()
        if name.endswith(" test")
        for line in lines
    }
    learned = {
        normal(line)
        for path in script.LISTS.glob("*.txt")
        for name, lines in sections(path).items()
        if not name.endswith((" value learn", " x learn"))
        for line in lines
    }
    assert len(unseen) > 900
    assert {line for line in learned & unseen if len(line.split()) > 3} == set()


def test_every_matter_has_nine_questions_and_statements_with_a_value(script: ModuleType) -> None:
    found = sections(script.LISTS / "own.txt")
    matters = {name.split()[0] for name in found}
    assert len(matters) == 114
    for matter in matters:
        assert len(found[f"{matter} question learn"]) == 9, matter
        assert all(line.count("<v>") == 1 for line in found[f"{matter} statement learn"]), matter
