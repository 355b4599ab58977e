"""What all tests share: how hard Hypothesis tries, where files lie, and readable failures of the shipped contracts."""

import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from tempfile import NamedTemporaryFile
from time import thread_time
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

pytest_plugins = ["pytester"]
pytest.register_assert_rewrite("ecphora.testing")

SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large]
settings.register_profile("dev", max_examples=8, deadline=None, suppress_health_check=SLOW)
settings.register_profile("ci", max_examples=100, deadline=None, derandomize=True, suppress_health_check=SLOW)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "dev"))


MEMORY = Path("/dev/shm")  # noqa: S108  # pytest makes a folder of its own in it
ROOM = 1 << 30
"""Bytes that must be free where tests write."""

# Two thousand tests write a small database each: in memory none of them waits for a disk.
if "TMPDIR" not in os.environ and MEMORY.is_dir() and shutil.disk_usage(MEMORY).free > ROOM:
    os.environ["TMPDIR"] = tempfile.tempdir = str(MEMORY)


# No test reads the settings of whoever runs it, nor the zone of their machine.
os.environ["TZ"] = "UTC"
if hasattr(time, "tzset"):
    time.tzset()
os.environ["XDG_CONFIG_HOME"] = os.path.join(tempfile.gettempdir(), "ecphora-tests-have-no-settings")  # noqa: PTH118


@pytest.fixture(scope="session", autouse=True)
def template(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """New memories are copies of one empty file: a copy takes a fourth of the time that the migrations take.

    Yields what makes a file by its migrations.
    """
    from ecphora.stores import connection, sqlite  # noqa: PLC0415  # only processes that run tests need it

    made = tmp_path_factory.mktemp("template") / "empty.db"
    sqlite.SQLiteStore(made).close()
    data, opened = made.read_bytes(), connection._open_file

    def copied(path: Path, wait: int) -> Any:
        if not path.exists():
            with suppress(OSError), NamedTemporaryFile(dir=path.parent) as file:
                file.write(data)
                file.flush()
                path.hardlink_to(file.name)  # whole from the first moment, and no other's file is replaced
        return opened(path, wait)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(connection, "_open_file", copied)
        yield opened


@pytest.fixture
def migrations(template: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """New memories are made by their migrations, as everywhere but in tests."""
    monkeypatch.setattr("ecphora.stores.connection._open_file", template)


@pytest.fixture(scope="session")
def cpu_growth() -> Callable[[Callable[[int], object]], float]:
    """How many times the CPU grows that a call of size 4 takes, against size 1: about 4 if linear, 16 if quadratic.

    The fastest of at most five calls of each size counts, because machines are noisy.
    """

    def measure(call: Callable[[int], object]) -> float:
        fastest = {1: float("inf"), 4: float("inf")}
        for _ in range(5):
            for size, seconds in fastest.items():
                start = thread_time()
                call(size)
                fastest[size] = min(seconds, thread_time() - start)
            if fastest[4] < 5 * fastest[1]:
                break
        return fastest[4] / max(fastest[1], 1e-5)

    return measure
