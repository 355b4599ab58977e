"""The documents are correct: their Python runs, their commands exist, their versions agree."""

import os
import re
import subprocess
import sys
from pathlib import Path

import click
import pytest

import ecphora
from ecphora.cli.main import main

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
MAX_WORDS = 43_000
"""Of all pages below docs/."""
TUTORIAL = ROOT / "docs" / "tutorial.md"
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "SECURITY.md",
    ROOT / "CHANGELOG.md",
    ROOT / "benchmarks" / "README.md",
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "lab").rglob("*.md")),
]


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", [page for page in PAGES if page != TUTORIAL], ids=lambda page: page.name)
def test_python_in_the_documents_runs_twice(page: Path, tmp_path: Path) -> None:
    for number, code in enumerate(blocks(page, "python")):
        folder = tmp_path / str(number)
        folder.mkdir()
        for run in ("first", "second"):  # over the same file
            process = subprocess.run(
                [sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=False, timeout=60
            )
            assert process.returncode == 0, f"block {number}, {run} run: {process.stderr}"


def test_examples_of_the_tutorial_print_what_it_shows(tmp_path: Path) -> None:
    examples = re.findall(
        r"^```(python|console)\n(.*?)^```(?:\n\n```text\n(.*?)^```)?",
        TUTORIAL.read_text(encoding="utf-8"),
        re.DOTALL | re.MULTILINE,
    )
    assert {"python", "console"} == {language for language, _, _ in examples}
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    second_run = [(language, code, None) for language, code, _ in examples if language == "python"]
    for language, code, output in [*examples, *second_run]:
        script = "".join(re.findall(r"^\$ (.*\n)", code, re.MULTILINE))
        command = [sys.executable, "-c", code] if language == "python" else ["sh", "-ec", script]
        process = subprocess.run(
            command,
            cwd=tmp_path,
            env=os.environ | {"PATH": path},
            capture_output=True,
            encoding="utf-8",
            check=False,
            timeout=60,
        )
        assert process.returncode == 0, process.stderr
        assert language == "console" or output is None or process.stdout == output


def test_first_example_of_the_readme_prints_what_it_shows(tmp_path: Path) -> None:
    code = blocks(ROOT / "README.md", "python")[0]
    for _ in ("first run", "second run"):  # over the same file
        process = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
        assert process.stdout == blocks(ROOT / "README.md", "text")[0]


def test_docs_stay_short_enough_to_maintain() -> None:
    """Counted as ``wc -w`` does. Longer tables and the history of a measurement belong in lab/."""
    listed = subprocess.run(["git", "ls-files", "docs/*.md"], cwd=ROOT, capture_output=True, text=True, check=True)
    pages = listed.stdout.split()
    assert pages
    assert sum(len((ROOT / page).read_text(encoding="utf-8").split()) for page in pages) <= MAX_WORDS


def test_readme_fits_on_a_few_screens() -> None:
    lines = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    assert len(lines) <= 80
    assert max(map(len, lines)) <= 120


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_in_the_documents_exist(page: Path) -> None:
    known = main.list_commands(click.Context(main))
    for name in re.findall(r"^\$ (?:.*\| )?ecphora ([a-z][a-z-]*)", page.read_text(encoding="utf-8"), re.MULTILINE):
        assert name in known


def test_every_command_is_in_the_changelog() -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert [name for name in main.list_commands(click.Context(main)) if f"`{name}`" not in changelog] == []


def test_changelog_starts_with_the_current_version() -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.findall(r"^## (\S+)", changelog, re.MULTILINE)[0] == ecphora.__version__


def test_links_in_the_documents_lead_to_files_and_headings() -> None:
    for page in PAGES:
        for link, anchor in re.findall(r"\]\((?!http)([^)#\s]*)(?:#([^)]+))?\)", page.read_text(encoding="utf-8")):
            target = page.parent / link if link else page
            assert target.exists(), f"{page.name} links to {link}"
            assert not anchor or anchor in anchors(target), f"{page.name} links to {link}#{anchor}"


def test_public_names_are_sorted_and_exist() -> None:
    assert ecphora.__all__ == sorted(ecphora.__all__)
    assert all(getattr(ecphora, name) is not None for name in ecphora.__all__)
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        _ = ecphora.Nothing


def test_import_of_the_package_loads_nothing_heavy() -> None:
    code = "import sys, ecphora; print(*sorted({name.partition('.')[0] for name in sys.modules}))"
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    heavy = {"numpy", "apsw", "onnxruntime", "onnx", "tokenizers", "rich", "click", "Stemmer"}
    assert heavy.isdisjoint(process.stdout.split())


def test_import_of_the_command_line_loads_nothing_heavy() -> None:
    code = "import sys, ecphora.cli.main; print(*sorted({name.partition('.')[0] for name in sys.modules}))"
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert {"numpy", "apsw", "onnxruntime", "onnx", "tokenizers"}.isdisjoint(process.stdout.split())
