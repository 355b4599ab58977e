"""What all tests share: how hard Hypothesis tries, where files lie, and readable failures of the shipped contracts."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

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


# No test reads the settings of whoever runs it.
os.environ["XDG_CONFIG_HOME"] = os.path.join(tempfile.gettempdir(), "ecphora-tests-have-no-settings")  # noqa: PTH118


@pytest.fixture(scope="session", autouse=True)
def template(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """New memories are copies of one empty file: a copy takes a fourth of the time that the migrations take.

    Yields what makes a file by its migrations.
    """
    from ecphora.stores import sqlite  # noqa: PLC0415  # only processes that run tests need it

    made = tmp_path_factory.mktemp("template") / "empty.db"
    sqlite.SQLite(made).close()
    data, opened = made.read_bytes(), sqlite._opened

    def copied(path: Path, wait: int) -> Any:
        if not path.exists():
            with suppress(OSError), NamedTemporaryFile(dir=path.parent) as file:
                file.write(data)
                file.flush()
                path.hardlink_to(file.name)  # whole from the first moment, and no other's file is replaced
        return opened(path, wait)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sqlite, "_opened", copied)
        yield opened


@pytest.fixture
def migrations(template: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """New memories are made by their migrations, as everywhere but in tests."""
    monkeypatch.setattr("ecphora.stores.sqlite._opened", template)
