#!/usr/bin/env python3
"""Run the OpenAI Agents SDK's own tests of sessions against ours: scripts/host_tests/openai_agents.py SDIST [options].

The sdist is openai_agents-0.24.0.tar.gz; run it with a Python that has openai-agents, pytest and pytest-asyncio. In the
tests, the host's `SQLiteSession` is replaced by `EcphoraSession`. `LEFT_OUT` names the tests that are not run, with the
reasons. The options are passed to pytest.
"""

import json
import os
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

CONNECTIONS = "tests the connections of SQLiteSession"
ROWS = "writes to the tables of SQLiteSession"
LOCKS = "tests the locks of SQLiteSession"
CLOSED = "a session of ours has nothing to close: the user closes the memory"
HELPER = "tests a private function of the host"
LEFT_OUT = {
    "test_await_mutation_cancellation_hides_later_failure_without_loop_error": HELPER,
    "test_sqlite_session_close_closes_worker_thread_connections": CONNECTIONS,
    "test_sqlite_session_reaps_connections_from_exited_worker_threads": CONNECTIONS,
    "test_sqlite_session_closes_retired_connections_before_the_next_allocation": CONNECTIONS,
    "test_sqlite_session_keeps_connections_of_live_worker_threads": CONNECTIONS,
    "test_sqlite_session_file_lock_is_shared_across_instances": LOCKS,
    "test_sqlite_session_rollback_failure_evicts_connection": CONNECTIONS,
    "test_sqlite_session_close_retries_quarantined_connection": CONNECTIONS,
    "test_sqlite_session_post_commit_cancellation_propagates_after_known_outcome": CONNECTIONS,
    "test_sqlite_session_closed_rejects_empty_add_items": CLOSED,
    "test_sqlite_session_pop_item_skips_corrupt_most_recent": ROWS,
    "test_sqlite_session_pop_item_returns_none_after_dropping_only_corrupt_rows": ROWS,
    "test_sqlite_session_get_items_limit_skips_corrupt_newest_rows": ROWS,
    "test_sqlite_session_get_items_session_settings_limit_skips_corrupt_rows": ROWS,
    "test_sqlite_session_failed_add_items_releases_write_lock": ROWS,
    "test_sqlite_session_failed_clear_session_rolls_back": ROWS,
    "test_sqlite_session_failed_pop_item_releases_write_lock": ROWS,
}
FILES = [
    "tests/memory/test_session.py",
    "tests/memory/test_session_limit.py",
    "tests/memory/test_session_persistence_sanitize.py",
]
PLUGIN = '''
"""Replaces the host's session by ours; written by scripts/host_tests/openai_agents.py."""
import json
import json
import os

import agents
import agents.memory

from ecphora import HashingEmbedder, Memory
from ecphora.adapters.openai_agents import EcphoraSession


class Session(EcphoraSession):
    """Has the constructor of SQLiteSession, and closes the memory that it opens."""

    def __init__(self, session_id, db_path=":memory:", *tables, session_settings=None):
        memory = Memory(db_path, embedder=HashingEmbedder(64))
        super().__init__(memory, session_id, session_settings=session_settings)

    def close(self):
        self.memory.close()


agents.SQLiteSession = agents.memory.SQLiteSession = Session


def pytest_collection_modifyitems(config, items):
    left_out = json.loads(os.environ["HOST_TESTS_LEFT_OUT"])
    deselected = [item for item in items if item.originalname in left_out]
    items[:] = [item for item in items if item not in deselected]
    config.hook.pytest_deselected(items=deselected)
'''


def main() -> int:
    """Unpack the sdist and run its tests of sessions; returns pytest's exit code."""
    if not sys.argv[1:]:
        sys.exit(__doc__)
    sdist, options = Path(sys.argv[1]), sys.argv[2:]
    print(f"{sdist.name}; left out:", flush=True)  # noqa: T201
    for name, reason in LEFT_OUT.items():
        print(f"  {name}: {reason}", flush=True)  # noqa: T201
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(sdist) as archive:
            archive.extractall(folder, filter="data")
        root = Path(folder) / sdist.name.removesuffix(".tar.gz")
        (root / "our_session.py").write_text(PLUGIN)
        command = [sys.executable, "-m", "pytest", "-q", "-c", os.devnull, "--rootdir", str(root), "-p", "our_session"]
        plugins = ["-p", "no:cacheprovider", "-p", "no:randomly", "-p", "no:ecphora", "-o", "asyncio_mode=auto"]
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(root), *filter(None, [os.environ.get("PYTHONPATH")])]),
            "HOST_TESTS_LEFT_OUT": json.dumps(LEFT_OUT),
        }
        return subprocess.run(  # noqa: S603  # the command is ours
            [*command, *plugins, *options, *FILES], cwd=root, env=environment, check=False
        ).returncode


if __name__ == "__main__":
    sys.exit(main())
