#!/usr/bin/env python3
"""Run the contract of the harness's memory stores against ours: scripts/host_tests/pydantic_ai.py TEST_FILE [options].

The file is tests/memory/test_stores.py of pydantic-ai-harness's repository; its sdist has no tests. Run it with a
Python that has pydantic-ai-harness and pytest. In the tests, the stores in memory, in files and in SQLite are replaced
by ours, so the tests that hold for all three run three times, once with the default embedder, but for `LEFT_OUT`. The
other tests are about one of the stores; of these only `ALSO_RUN` is run. The options are passed to pytest.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ALSO_RUN = "test_sqlite_store_serializes_cas_across_instances"
LEFT_OUT = "test_local_store_scoped_bounded_search[1]"
"""Asserts that the file with more occurrences of a word ranks first, which the default embedder does not care for."""
PLUGIN = f'''
"""Replaces the host's stores by ours; written by scripts/host_tests/pydantic_ai.py."""
import functools

import pydantic_ai_harness.memory as host

from ecphora import HashingEmbedder, Memory
from ecphora.adapters.pydantic_ai import EcphoraMemoryStore


@functools.cache
def open_store(path):
    return Memory(path, embedder=HashingEmbedder(64))


host.InMemoryStore = lambda: EcphoraMemoryStore(Memory(":memory:", embedder=HashingEmbedder(64)))
host.FileStore = lambda directory, workspace: EcphoraMemoryStore(Memory(":memory:"))  # the default embedder
host.SqliteMemoryStore = lambda database: EcphoraMemoryStore(open_store(database))


def pytest_collection_modifyitems(config, items):
    names = ("test_local_store", "test_bundled_stores", "{ALSO_RUN}")
    deselected = [item for item in items if not item.name.startswith(names) or item.name == "{LEFT_OUT}"]
    items[:] = [item for item in items if item not in deselected]
    config.hook.pytest_deselected(items=deselected)
'''


def main() -> int:
    """Run the tests of the file; returns pytest's exit code."""
    if not sys.argv[1:]:
        sys.exit(__doc__)
    file, options = Path(sys.argv[1]), sys.argv[2:]
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        shutil.copy(file, root / "test_host.py")
        (root / "our_stores.py").write_text(PLUGIN)
        command = [sys.executable, "-m", "pytest", "-q", "-c", os.devnull, "--rootdir", folder, "-p", "our_stores"]
        plugins = ["-p", "no:cacheprovider", "-p", "no:randomly", "-p", "no:ecphora", "-p", "no:asyncio"]
        paths = [folder, *filter(None, [os.environ.get("PYTHONPATH")])]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
        return subprocess.run(  # noqa: S603  # the command is ours
            [*command, *plugins, *options, "test_host.py"], cwd=root, env=environment, check=False
        ).returncode


if __name__ == "__main__":
    sys.exit(main())
