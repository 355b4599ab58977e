"""Two MCP servers and a Python process use one memory file at the same time."""

import asyncio
import runpy
from pathlib import Path
from typing import Any

import pytest

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "shared_file.py"
SECONDS = 4.0


@pytest.mark.slow
def test_writers_of_one_file_lose_nothing(tmp_path: Path) -> None:
    script: dict[str, Any] = runpy.run_path(str(SCRIPT))
    writers = asyncio.run(script["share_file"](tmp_path / "shared.db", SECONDS))
    assert [writer.errors for writer in writers] == [[], [], []]
    assert all(writer.texts for writer in writers)
    assert script["find_missing"](tmp_path / "shared.db", writers) == []
