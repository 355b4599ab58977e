"""A plug-in of pytest for scripts/mutate: times every test file, and tells coverage which one runs."""
# ruff: noqa: INP001  # in the folder of the script that uses it

import json
import os
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import coverage
import pytest

seconds: defaultdict[str, float] = defaultdict(float)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Trace and time a test under the name of its file."""
    file, start = item.nodeid.partition("::")[0], time.monotonic()
    tracer = coverage.Coverage.current()
    if tracer is None:
        raise SystemExit("run with coverage")
    tracer.switch_context(file)
    yield
    seconds[file] += time.monotonic() - start
    tracer.switch_context("")


def pytest_sessionfinish() -> None:
    """Write the seconds of each file."""
    Path(os.environ["FILE_SECONDS"]).write_text(json.dumps(seconds), encoding="utf-8")
