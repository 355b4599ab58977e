"""Every benchmark and every example runs to its end on its smallest input.

Sets are made up, in the format of the data sets. A new benchmark needs a line in ``ARGUMENTS``.
"""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
HASHING = ("--embedder", "hashing:64")
DATA = ("--data", "DATA")
TINY = (*DATA, "--set", "tiny")
ARGUMENTS: dict[str, Sequence[str]] = {
    "adapters": ("--data", "DATA", "--set", "tiny", "--limit", "2"),
    "ahead": (*TINY, "--limit", "4", "--rerank", "never", *HASHING),
    "async_lag": ("--episodes", "20", "--repeat", "1", "--embedder", "hashing"),
    "before_after": (*TINY, *HASHING),
    "budget": TINY,
    "consolidation": TINY,
    "consolidation_budget": ("--turns", "40", "--seconds", "0.2", "--calls", "1", "--writers", "1"),
    "cross_lingual": (*DATA, "--set", "xquad", "--strategy", "bm25", *HASHING),
    "crossings": (),
    "draw_consolidation": ("OUT/consolidation.svg",),
    "ecphory_depth": (*DATA, "--questions", "4", *HASHING),
    "ecphory_seeds": (*TINY, *HASHING),
    "everyday": ("--rules", "--limit", "2"),
    "fact_updates": ("--logs", "--rules", "--embedder", "minilm"),
    "feedback": TINY,
    "filters": ("--memories", "500"),
    "follow_up": ("--embedder", "minilm", "--rerank", "never"),
    "import_speed": ("--messages", "400", "--kills", "1"),
    "goals": ("--set", "talks", "--spaces", "1"),
    "lifelong": (*TINY, "--spaces", "1", *HASHING),
    "log_growth": ("--recalls", "200", "--memories", "20"),
    "media": ("--part", "odd"),
    "postgres": ("--memories", "40", "--clients", "2", "--repeat", "2"),
    "present_state": (),
    "ray_serve": (
        *("--scopes", "2", "--turns", "20", "--recalls", "4", "--clients", "1", "--embedder", "minilm", "--replicas"),
    ),
    "recall_cpu": ("--turns", "60", "--recalls", "2"),
    "scale": ("--memories", "4", "--scopes", "10"),
    "repeat": ("--questions", "1", "--ms", "1"),
    "scope_size": ("--turns", "20"),
    "self_citation": ("--spaces", "1"),
    "server_load": (*("--turns", "50", "--recalls", "4", "--clients", "1", "--threads", "1", "--embedder", "minilm"),),
    "shared_file": ("--seconds", "1"),
    "speed": ("--turns", "400"),
    "startup": ("--runs", "1"),
    "strategies": ("--turns", "200"),
    "synapse_far": (*TINY, "--embedder", "minilm"),
    "synapse_remedies": (*TINY, "--embedder", "minilm", "--part", "gate"),
    "synaptic_constants": (*TINY, *HASHING),
    "synaptic_history": (*TINY, "--part", "history", "--spaces", "1", *HASHING),
    "tool_size": (),
    "weave_sweeps": (*TINY, "--part", "threshold", "--spaces", "1", *HASHING),
    "work": (),
}
"""The arguments of the smallest run of each benchmark; DATA and OUT are folders."""
COLORS = ("red", "blue", "green", "white", "black", "brown", "amber", "violet")


def write_set(folder: Path, name: str, spaces: Sequence[str]) -> None:
    """A set of conversations of 24 turns in two sessions, with questions about colors, orders and nothing."""
    docs: list[dict[str, object]] = []
    questions: list[dict[str, object]] = []
    for space in spaces:
        for number in range(24):
            color, month = COLORS[number % 8], 1 + number // 8
            docs.append(
                {
                    "space": space,
                    "id": f"d{number}",
                    "text": f"In month {month} Captain {color.title()}son sailed the {color} ferry to Porto.",
                    "speaker": ("Ana", "Bo")[number % 2],
                    "time": f"2024-{month:02}-{1 + number % 8:02}T10:00:00",
                    "session": f"s{number // 12}",
                }
            )
        for number in range(8):
            color, asks_order = COLORS[number], number % 2
            text = f"Who sailed the {color} ferry {'before May' if asks_order else 'to Porto'}?"
            gold = [f"d{number}"] if number < 4 else [f"d{number}", f"d{number + 8}"]
            questions.append({"space": space, "id": f"q{number}", "question": text, "answers": ["x"], "evidence": gold})
        questions.append({"space": space, "id": "q8", "question": "Which opera does Bo sing?", "answerable": False})
    for part, lines in (("docs", docs), ("questions", questions)):
        (folder / f"{name}.{part}.jsonl").write_text("\n".join(map(json.dumps, lines)), "utf-8")


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The folders of the sets, of the output and of the cache of embeddings."""
    found = {name: tmp_path_factory.mktemp(name) for name in ("DATA", "OUT", "CACHE")}
    write_set(found["DATA"], "tiny", ("harbor", "island"))
    write_set(found["DATA"], "xquad", ("xquad-en", "xquad-zh"))
    write_set(found["DATA"], "2wikimultihopqa", ("library",))
    raw = found["DATA"] / "raw"
    raw.mkdir()
    triples = [{"evidences": [["Captain Redson", "sails", "Porto"]]}]
    (raw / "2wikimultihopqa.json").write_text(json.dumps(triples), "utf-8")
    return found


def run(path: Path, arguments: Sequence[str], folders: dict[str, Path]) -> None:
    """Run a file in a process of its own; fail with what it printed."""
    words = [word.replace("DATA", str(folders["DATA"])).replace("OUT", str(folders["OUT"])) for word in arguments]
    environment = os.environ | {
        "PYTHONPATH": str(ROOT / "src"),
        "XDG_CACHE_HOME": str(folders["CACHE"]),
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
    }
    done = subprocess.run(
        [sys.executable, str(path), *words],
        cwd=path.parent,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    if done.returncode:
        pytest.fail(f"{path.name} {' '.join(words)} exits with {done.returncode}:\n{done.stderr[-2000:]}")


@pytest.mark.parametrize("path", sorted((ROOT / "benchmarks").glob("*.py")), ids=lambda path: path.stem)
def test_benchmark_runs_on_its_smallest_input(path: Path, folders: dict[str, Path]) -> None:
    run(path, ARGUMENTS[path.stem], folders)


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.py")), ids=lambda path: path.stem)
def test_example_runs(path: Path, folders: dict[str, Path]) -> None:
    run(path, (), folders)


def test_every_line_is_of_a_benchmark() -> None:
    assert ARGUMENTS.keys() == {path.stem for path in (ROOT / "benchmarks").glob("*.py")}
