"""The lists of facts, and the sets that ``training/fact_set.py`` makes of them."""

import importlib
import re
from pathlib import Path
from types import ModuleType

import pytest

from ecphora_bench.probes.probe import Kind

ROOT = Path(__file__).parents[2]
PROBES = ROOT / "benchmarks" / "probes" / "lists"

MAX_WORDS_SHARED = 0.75
"""Two lines of four words and more are alike if so many of the words of either stand in both."""

pytestmark = pytest.mark.medium  # the first to import the script


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The script as a module."""
    monkeypatch.syspath_prepend(ROOT / "training")
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


@pytest.mark.parametrize(
    ("kind", "lists"), [(Kind.OWN_STATEMENTS, "own.txt"), (Kind.OWN_STATEMENTS, "own_home.txt"), (Kind.WHO, "who.txt")]
)
def test_answers_of_facts_are_memories_of_their_world(
    script: ModuleType, kind: Kind, lists: str, tmp_path: Path
) -> None:
    probes = script.make_probes(tmp_path, kind, script.LISTS / lists, 2)
    assert len(probes) > 150
    for probe in probes:
        assert probe.gold <= {memory.id for memory in probe.memories}
        assert bool(probe.gold) is probe.is_answerable
        assert not any("<" in text for text in (probe.question, *(memory.text for memory in probe.memories)))


@pytest.mark.slow
def test_lists_of_facts_have_no_template_of_the_probes_that_measure(script: ModuleType) -> None:
    """But for the shortest, such as "Who hired <b>?", for which there is no other wording."""

    def words(line: str) -> frozenset[str]:
        return frozenset(re.findall(r"[\w<>']+", line.casefold()))

    unseen = {
        words(line)
        for path in PROBES.glob("*.txt")
        for name, lines in sections(path).items()
        if name.endswith(" test")
        for line in lines
    }
    learned = {
        words(line)
        for path in script.LISTS.glob("*.txt")
        for name, lines in sections(path).items()
        if not name.endswith((" value learn", " x learn"))
        for line in lines
    }
    assert len(unseen) > 900
    alike = {
        (one, other)
        for one in learned
        for other in unseen
        if min(len(one), len(other)) > 3 and len(one & other) >= MAX_WORDS_SHARED * len(one | other)
    }
    assert alike == set()


@pytest.mark.parametrize(
    ("lists", "count"),
    [
        ("own", 114),
        *((f"own_{name}", 45) for name in ("basics", "body_and_family", "home", "leisure", "work_and_money")),
    ],
)
def test_every_matter_has_nine_questions_and_statements_with_a_value(
    script: ModuleType, lists: str, count: int
) -> None:
    found = sections(script.LISTS / f"{lists}.txt")
    matters = {name.split()[0] for name in found}
    assert len(matters) == count
    for matter in matters:
        assert len(found[f"{matter} question learn"]) == 9, matter
        assert all(line.count("<v>") == 1 for line in found[f"{matter} statement learn"]), matter


def test_worlds_of_two_files_have_two_names(script: ModuleType, tmp_path: Path) -> None:
    """Although both files have worlds of the same numbers."""
    probes = script.make_probes(tmp_path, Kind.OWN_STATEMENTS, script.LISTS / "own_home.txt", 2)
    renamed = [script.rename_world(probe, "own_home") for probe in probes]
    assert {probe.id for probe in renamed} == {f"own_home-{probe.id}" for probe in probes}
    assert {probe.resembles for probe in renamed} - {None} <= {probe.id for probe in renamed}
    assert {probe.world for probe in renamed} == {f"own_home-{probe.world}" for probe in probes}
