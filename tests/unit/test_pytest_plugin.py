"""The pytest plug-in, run by pytest itself: fixtures, golden files, and that it costs nothing where it is not used."""

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from ecphora import HashingEmbedder, Memory
from ecphora.errors import InvalidInput
from ecphora.testing.golden import Golden, GoldenHit, GoldenQuestion, describe_changes, read_golden, write_golden

ROOT = Path(__file__).parents[2]
TEST = """
def test_talk(ecphora_memory, ecphora_golden):
    ecphora_memory.remember(["Ana moved to Porto.", "Bo likes rain.", "Mia found a school."])
    ecphora_golden.check(ecphora_memory, ["Where is Ana?", "Who likes rain?"], limit=2, strategy="bm25")
"""


@pytest.fixture(autouse=True)
def plugin_alone(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs of pytest have this plug-in and no other; what they import is imported already."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    with Memory(pytester.path / "first.db", embedder=HashingEmbedder()) as memory:
        memory.remember("Ana moved to Porto.")
        memory.recall("Where is Ana?")


def run(pytester: pytest.Pytester, *args: str) -> pytest.RunResult:
    options = ("-p", "ecphora.pytest_plugin", "-p", "no:cacheprovider", "-W", "error", "--ecphora-embedder", "hashing")
    return pytester.runpytest_inprocess(*options, *args)


def golden_file(pytester: pytest.Pytester, name: str = "test_talk") -> Path:
    return pytester.path / "golden" / f"{name}.json"


# ---- fixtures


@pytest.mark.medium
def test_fixtures_give_an_empty_memory_with_a_clock_that_stands(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("""
        from ecphora import HashingEmbedder

        def test_memory(ecphora_memory, ecphora_clock, ecphora_embedder, tmp_path):
            assert len(ecphora_memory) == 0
            assert isinstance(ecphora_embedder, HashingEmbedder)
            first = ecphora_memory.remember("One.").id
            ecphora_clock.advance(days=1)
            second = ecphora_memory.remember("Two.").id
            times = [ecphora_memory.get(id_).happened_at.isoformat() for id_ in (first, second)]
            assert times == ["2026-05-03T12:00:00+00:00", "2026-05-04T12:00:00+00:00"]

        def test_memory_is_new_for_each_test(ecphora_memory):
            assert len(ecphora_memory) == 0
    """)
    run(pytester).assert_outcomes(passed=2)


@pytest.mark.medium
def test_embedder_comes_from_the_ini_file_or_an_overriding_fixture(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\necphora_embedder = hashing:32\n")
    pytester.makepyfile(
        test_ini="""
        def test_ini(ecphora_embedder):
            assert ecphora_embedder.dim == 32
        """,
        test_fixture="""
        import pytest
        from ecphora import HashingEmbedder

        @pytest.fixture
        def ecphora_embedder():
            return HashingEmbedder(8)

        def test_fixture(ecphora_memory):
            ecphora_memory.remember("One.")
            assert ecphora_memory.scopes()[0].embedder == "hashing/8"
        """,
    )
    pytester.runpytest_inprocess("-p", "ecphora.pytest_plugin", "-p", "no:cacheprovider").assert_outcomes(passed=2)


@pytest.mark.medium
def test_failure_of_a_check_shows_no_frames_of_the_package(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("""
        from ecphora.testing import must_recall

        def test_talk(ecphora_memory):
            ecphora_memory.remember("Bo likes rain.")
            must_recall(ecphora_memory, "Where is Ana?", "Porto")
    """)
    result = run(pytester)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["E*AssertionError: 'Where is Ana?' does not bring back 'Porto' within 3"])
    assert "recall_checks.py" not in result.stdout.str()


# ---- golden files


@pytest.mark.medium
def test_golden_file_is_recorded_compared_and_updated(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(TEST)
    missing = run(pytester)
    missing.assert_outcomes(failed=1)
    missing.stdout.fnmatch_lines(["*there is no file *test_talk.json; record what comes back with pytest --ecphora-*"])
    run(pytester, "--ecphora-update").assert_outcomes(passed=1)
    recorded = golden_file(pytester).read_text("utf-8")
    run(pytester).assert_outcomes(passed=1)
    pytester.makepyfile(TEST.replace('"Bo likes rain."', '"Rain fell on Ana, who likes rain."'))
    changed = run(pytester)
    changed.assert_outcomes(failed=1)
    changed.stdout.fnmatch_lines(["*'Who likes rain?'*", "*new *- -> 1  Rain fell on Ana, who likes rain.",
                                  "*lost *1 -> -  Bo likes rain."])  # fmt: skip
    assert golden_file(pytester).read_text("utf-8") == recorded, "a comparison writes nothing"
    run(pytester, "--ecphora-update").assert_outcomes(passed=1)
    run(pytester).assert_outcomes(passed=1)
    assert golden_file(pytester).read_text("utf-8") != recorded


@pytest.mark.medium
def test_golden_file_is_the_same_text_each_time(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(TEST)
    run(pytester, "--ecphora-update").assert_outcomes(passed=1)
    first, written_at = golden_file(pytester).read_bytes(), golden_file(pytester).stat().st_mtime_ns
    run(pytester, "--ecphora-update").assert_outcomes(passed=1)
    assert (golden_file(pytester).read_bytes(), golden_file(pytester).stat().st_mtime_ns) == (first, written_at)
    document = json.loads(first)
    assert [one["question"] for one in document["questions"]] == ["Where is Ana?", "Who likes rain?"]
    assert document["questions"][1]["hits"][0]["text"] == "Bo likes rain."
    assert [path.name for path in golden_file(pytester).parent.iterdir()] == ["test_talk.json"]
    assert any(line.strip().startswith(b'{"id": ') and b"Bo likes rain." in line for line in first.splitlines())


@pytest.mark.medium
def test_questions_of_the_file_are_asked_if_the_test_gives_none(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(TEST.replace('["Where is Ana?", "Who likes rain?"], limit=2', 'name="asked"'))
    run(pytester).assert_outcomes(failed=1)
    golden_file(pytester).parent.mkdir()
    file = golden_file(pytester, "asked")
    file.write_text('{"ecphora_golden": 1, "questions": [{"question": "Who likes rain?"}]}')
    result = run(pytester)
    result.stdout.fnmatch_lines(["*'Who likes rain?' is not recorded"])
    run(pytester, "--ecphora-update").assert_outcomes(passed=1)
    assert read_golden(file)[0].hits[0].text == "Bo likes rain."
    run(pytester).assert_outcomes(passed=1)


HITS = tuple(GoldenHit(letter, f"text {letter}") for letter in "abc")


def changes(new: tuple[GoldenHit, ...], evidence: str = "weak") -> list[str]:
    before, after = GoldenQuestion("Q?", "weak", HITS), GoldenQuestion("Q?", evidence, new)
    return list(describe_changes([before], [after]))


def test_changes_name_what_moved_was_lost_or_is_new() -> None:
    a, b, c = HITS
    assert changes(HITS) == []
    assert changes((b, a, c)) == ["'Q?'", "  moved    2 -> 1  text b", "  moved    1 -> 2  text a"]
    assert changes((a, GoldenHit("d", "text d"), c)) == [
        "'Q?'",
        "  new      - -> 2  text d",
        "  lost     2 -> -  text b",
    ]
    assert changes((a, b)) == ["'Q?'", "  lost     3 -> -  text c"]
    assert changes((a, GoldenHit("new id", "text b"), c)) == [], "the same text under another id"
    assert changes(HITS, evidence="none") == ["'Q?'  evidence weak -> none"]
    assert list(describe_changes([GoldenQuestion("Q?", "weak")], [])) == ["'Q?' is recorded, and not asked any more"]


def test_file_with_any_text_is_read_back_as_written(tmp_path: Path) -> None:
    texts = ["", '"quoted"\n{}', "アナ", "\u202e\x00\x1b[0m", "a\\b"]
    hits = tuple(GoldenHit(str(number), text) for number, text in enumerate(texts))
    questions = [GoldenQuestion("One?", "strong", hits), GoldenQuestion("Two?", "none"), GoldenQuestion("Three?")]
    write_golden(tmp_path / "new" / "g.json", questions)
    assert read_golden(tmp_path / "new" / "g.json") == questions
    written = (tmp_path / "new" / "g.json").read_text("utf-8")
    assert "\x1b" not in written
    assert "\u202e" not in written


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", "null", '{"ecphora_golden": 2, "questions": []}', '{"ecphora_golden": 1, "questions": [5]}',
     '{"ecphora_golden": 1, "questions": [{"question": "Q?", "hits": [{}]}]}', "[" * 100_000, "\ufeff{}"],
    ids=lambda text: text[:20],
)  # fmt: skip
def test_damaged_golden_file_is_invalid_input(tmp_path: Path, text: str) -> None:
    path = tmp_path / "g.json"
    path.write_text(text, "utf-8")
    with pytest.raises(InvalidInput, match=r"g\.json is no golden file .* repair it, or remove it"):
        read_golden(path)


@pytest.mark.medium
@pytest.mark.parametrize("name", ["test_x[a/b]", "../../evil", "a" * 300, "質問", ".hidden", "con:1"])
def test_name_of_a_golden_file_stays_in_its_folder(tmp_path: Path, name: str) -> None:
    with Memory(tmp_path / "m.db", embedder=HashingEmbedder(), strategy="bm25") as memory:
        memory.remember("Ana moved to Porto.")
        Golden(tmp_path / "golden", name, update=True).check(memory, ["Ana?"])
        Golden(tmp_path / "golden", name).check(memory, ["Ana?"])
    (file,) = (tmp_path / "golden").iterdir()
    assert file.name.isascii()
    assert not file.name.startswith(".")
    assert sorted(path.name for path in tmp_path.iterdir() if path.suffix == ".json") == []


@pytest.mark.parametrize("options", [{"questions": []}, {"questions": ["Q?", "Q?"]}, {"questions": 5}, {"limit": 0},
                                     {"name": ""}, {"questions": [""]}])  # fmt: skip
def test_bad_argument_of_golden_is_invalid_input(tmp_path: Path, options: dict[str, Any]) -> None:
    with Memory(tmp_path / "m.db", embedder=HashingEmbedder(), strategy="bm25") as memory:
        golden = Golden(tmp_path, "g", update=True)
        with pytest.raises(InvalidInput):
            golden.check(memory, **{"questions": ["Q?"], **options})
        golden.check(memory, ["Q?"], name="twice")
        with pytest.raises(InvalidInput, match="has compared 'twice' already"):
            golden.check(memory, ["Q?"], name="twice")


# ---- side effects


@pytest.mark.medium
def test_entry_point_loads_the_plugin_and_nothing_heavy(pytester: pytest.Pytester) -> None:
    entries = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["entry-points"]["pytest11"]
    info = pytester.path / "site" / "ecphora-0.1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: ecphora\nVersion: 0.1.0\n")
    lines = [f"{key} = {value}" for key, value in entries.items()]
    (info / "entry_points.txt").write_text("\n".join(["[pytest11]", *lines, ""]))
    pytester.makepyfile("""
        import sys

        def test_modules(pytestconfig):
            assert pytestconfig.pluginmanager.get_plugin("ecphora").__name__ == "ecphora.pytest_plugin"
            loaded = {name for name in sys.modules if name.partition(".")[0] in {"ecphora", "numpy", "apsw"}}
            assert loaded == {"ecphora", "ecphora.pytest_plugin"}
    """)
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(pytester.path / "site"), *filter(None, sys.path)])}
    command = [sys.executable, "-m", "pytest", "-W", "error", "-p", "no:cacheprovider", "-p", "ecphora", "-q"]
    process = subprocess.run(
        command, cwd=pytester.path, env=environment, capture_output=True, text=True, check=False, timeout=60
    )
    assert process.returncode == 0, process.stdout + process.stderr


@pytest.mark.slow
def test_examples_of_the_page_pass_and_fail_as_it_shows(pytester: pytest.Pytester) -> None:
    page = (ROOT / "docs" / "how-to" / "testing.md").read_text("utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    pytester.makepyfile(**{f"test_block_{number}": block for number, block in enumerate(blocks)})
    options = ("-p", "ecphora.pytest_plugin", "-p", "no:cacheprovider", "-W", "error")
    pytester.runpytest_subprocess(*options, "--ecphora-update").assert_outcomes(passed=3)
    pytester.runpytest_subprocess(*options).assert_outcomes(passed=3)
    pytester.makepyfile(
        test_block_0=blocks[0].replace('"flat in Ghent"', '"Porto"'),
        test_block_2=blocks[2].replace('"Ana moved to Porto."', '"Ana moved to Ghent."'),
    )
    result = pytester.runpytest_subprocess(*options, "test_block_0.py", "test_block_2.py")
    result.assert_outcomes(failed=2)
    shown = [line.removeprefix("E").strip() for line in result.outlines if line.startswith("E ")]
    printed = re.findall(r"^```text\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    assert mask_numbers(shown) == mask_numbers("".join(printed).splitlines())


def mask_numbers(lines: list[str]) -> list[str]:
    """Lines without scores and confidences, whose last digits depend on the processor."""
    return [re.sub(r"\d+\.\d+", "#", line).strip() for line in lines]
