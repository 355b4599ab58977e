#!/usr/bin/env python3
"""Run the tests of Anthropic's memory tool against ours: scripts/host_tests/anthropic.py TEST_FILE [options].

The file is tests/lib/tools/memory_tools/test_filesystem.py of the SDK's repository. Run it with a Python that has
anthropic, pytest and pytest-asyncio. In the tests, the tools that write to a disk are replaced by ours. `LEFT_OUT`
names the tests that are not run, with the reasons. The options are passed to pytest.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

DISK = "tests the modes of folders on a disk"
LINKS = "puts a symbolic link on the disk; in a memory there is none"
PRIVATE = "tests a private method of the host"
SIZE = "creates a file of five million characters; a memory holds one million"
LEFT_OUT = {
    "test_mkdir_parents_not_world_writable_under_permissive_umask": DISK,
    "test_symlink_validation_reject_symlink_pointing_outside_memories": LINKS,
    "test_symlink_validation_reject_creating_files_through_symlink_pointing_outside": LINKS,
    "test_symlink_validation_reject_parent_directory_that_is_symlink_pointing_outside": LINKS,
    "test_validate_path_returns_resolved_path_not_symlink_target": PRIVATE,
    "test_view_error_for_files_with_too_many_lines": SIZE,
}
PLUGIN = '''
"""Replaces the host's tools by ours; written by scripts/host_tests/anthropic.py."""
import json
import os
import shutil
from pathlib import Path

from anthropic.lib.tools import _beta_builtin_memory_tool as host

from ecphora import HashingEmbedder, Memory
from ecphora.adapters.anthropic import RECORDS, AsyncEcphoraMemoryTool, EcphoraMemoryTool
from ecphora.adapters.records import Records


class OnDisk:
    """Writes the files of the memory to the disk where a test looks for them."""

    def __init__(self, base_path):
        super().__init__(Memory(":memory:", embedder=HashingEmbedder(64)))
        self._base_path = Path(base_path)

    @property
    def base_path(self):
        shutil.rmtree(self._base_path / "memories", ignore_errors=True)
        for record in Records(self.memory, RECORDS).find():
            path = Path(f"{self._base_path}{record.key}")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(record.content)
        return self._base_path


class Tool(OnDisk, EcphoraMemoryTool):
    pass


class AsyncTool(OnDisk, AsyncEcphoraMemoryTool):
    pass


host.BetaLocalFilesystemMemoryTool = Tool
host.BetaAsyncLocalFilesystemMemoryTool = AsyncTool


def pytest_collection_modifyitems(config, items):
    left_out = json.loads(os.environ["HOST_TESTS_LEFT_OUT"])
    deselected = [item for item in items if item.originalname in left_out]
    items[:] = [item for item in items if item not in deselected]
    config.hook.pytest_deselected(items=deselected)
'''


def main() -> int:
    """Run the tests of the file; returns pytest's exit code."""
    if not sys.argv[1:]:
        sys.exit(__doc__)
    file, options = Path(sys.argv[1]), sys.argv[2:]
    print(f"{file.name}; left out:", flush=True)  # noqa: T201
    for name, reason in LEFT_OUT.items():
        print(f"  {name}: {reason}", flush=True)  # noqa: T201
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        shutil.copy(file, root / "test_host.py")
        (root / "our_tools.py").write_text(PLUGIN)
        command = [sys.executable, "-m", "pytest", "-q", "-c", os.devnull, "--rootdir", folder, "-p", "our_tools"]
        plugins = ["-p", "no:cacheprovider", "-p", "no:randomly", "-p", "no:ecphora", "-o", "asyncio_mode=auto"]
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join([folder, *filter(None, [os.environ.get("PYTHONPATH")])]),
            "HOST_TESTS_LEFT_OUT": json.dumps(LEFT_OUT),
        }
        return subprocess.run(  # noqa: S603  # the command is ours
            [*command, *plugins, *options, "test_host.py"], cwd=root, env=environment, check=False
        ).returncode


if __name__ == "__main__":
    sys.exit(main())
