"""The pytest plug-in: fixtures and options for tests of memories. Loaded by pytest through an entry point.

It imports nothing but pytest; the package is imported by the fixtures. docs/how-to/testing.md shows its use.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from .memory import Memory
    from .model.ports import Embedder
    from .testing import FakeClock, Golden

GOLDEN_FOLDER = "golden"
"""The folder of golden files, next to the test module."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    group = parser.getgroup("ecphora")
    group.addoption("--ecphora-update", action="store_true", help="write golden files of memories instead of comparing")
    group.addoption("--ecphora-embedder", metavar="NAME", help="the embedder of ecphora_memory: hashing is the fastest")
    parser.addini("ecphora_embedder", "the embedder of ecphora_memory, unless --ecphora-embedder is given", default="")


@pytest.fixture
def ecphora_clock() -> "FakeClock":
    """The clock of ``ecphora_memory``: it stands at 2026-05-03 12:00 UTC, and ``advance(days=1)`` moves it."""
    from .testing import FakeClock  # noqa: PLC0415  # pytest loads this module in every project

    return FakeClock()


@pytest.fixture
def ecphora_embedder(pytestconfig: pytest.Config) -> "Embedder | None":
    """The embedder of ``ecphora_memory``: of ``--ecphora-embedder`` or the ini option; None for the default one."""
    name = pytestconfig.getoption("ecphora_embedder") or pytestconfig.getini("ecphora_embedder")
    if not name:
        return None
    from .models.embedders.from_setting import embedder_from_setting  # noqa: PLC0415

    return embedder_from_setting(name)


@pytest.fixture
def ecphora_memory(
    tmp_path: Path, ecphora_clock: "FakeClock", ecphora_embedder: "Embedder | None"
) -> Iterator["Memory"]:
    """An empty memory in a temporary folder."""
    from .memory import Memory  # noqa: PLC0415

    with Memory(tmp_path / "ecphora-memory.db", embedder=ecphora_embedder, clock=ecphora_clock, zone="UTC") as memory:
        yield memory


@pytest.fixture
def ecphora_golden(request: pytest.FixtureRequest) -> "Golden":
    """Compares what questions bring back with the files in the folder ``golden`` next to the test."""
    from .testing import Golden  # noqa: PLC0415

    update = bool(request.config.getoption("ecphora_update"))
    return Golden(request.path.parent / GOLDEN_FOLDER, request.node.name, update=update)
