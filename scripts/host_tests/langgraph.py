#!/usr/bin/env python3
"""Run LangGraph's own tests of its stores against ours: scripts/host_tests/langgraph.py SDIST... [pytest options].

The sdists are langgraph_checkpoint-4.3.2.tar.gz and langgraph_checkpoint_sqlite-3.1.2.tar.gz; run it with a Python that
has langgraph, langgraph-checkpoint-sqlite, pytest and pytest-asyncio. In the tests, the host's stores are replaced by
`EcphoraStore`. `LEFT_OUT` names the tests that are not run, with the reasons. With `--strategy dense` the stores rank
by the cosine, as the host's do, so that also the tests in `COSINE` are run.
"""

import json
import os
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

PRIVATE = "tests a private function or the tables of the host's store"
MOCKED = "tests the host's AsyncBatchedBaseStore with a mock, not a store"
PURE = "tests a function of langgraph.store.base, not a store"
SPY = "spies on InMemoryStore.batch, which is not called"
EXACT = "asserts cosines to five digits or below zero; vectors are stored in fewer bits, and only the near are found"
UNINDEXED = "asserts that an item without an index follows what was found, as in InMemoryStore alone"
LEFT_OUT: dict[str, dict[str, str]] = {
    "checkpoint": {
        "test_async_batch_store": MOCKED,
        "test_async_batch_store_handles_cancellation": MOCKED,
        "test_async_batch_store_deduplication": SPY,
        "test_rejects_invalid_namespace_labels": SPY,
        "test_async_rejects_invalid_namespace_labels": SPY,
        "test_dedupe_ops_maps_repeated_reads_and_puts_to_one_op": PURE,
        "test_get_text_at_path": PURE,
        "test_get_text_at_path_with_non_dict_mapping": PURE,
        "test_validate_op_namespace_rejects_invalid_labels": PURE,
        "test_validate_op_namespace_allows_empty_prefix_and_wildcards": PURE,
        "test_embed_with_path": f"{EXACT}; {UNINDEXED}",
    },
    "sqlite": {
        "test_nonnull_migrations": PRIVATE,
        "test_escape_glob_literal": PRIVATE,
        "test_namespace_match_pattern": PRIVATE,
        "test_list_namespaces_prefix_uses_indexable_condition": PRIVATE,
        "test_store.py::test_vector_store_initialization": PRIVATE,
        "test_no_running_loop": "asserts that the sync methods fail in an event loop; ours work",
        "test_sql_injection_vulnerability": "asserts that filters refuse keys with quotes; ours write no SQL",
        "test_embed_with_path": EXACT,
        "test_scores[memory-poisson]": EXACT,
        "test_scores[file-poisson]": EXACT,
    },
}
CROSS = "compares the scores of two searches, which a rank by more than vectors does not allow"
SCRIPTS = "asserts that an equal text ranks first in each of five scripts, which `fused` misses"
SCALE = "asserts that the score is the cosine"
COSINE: dict[str, dict[str, str]] = {
    "checkpoint": {
        "test_vector_update_with_embedding": CROSS,
        "test_async_vector_update_with_embedding": CROSS,
        "test_non_ascii": SCRIPTS,
    },
    "sqlite": {
        "test_vector_update_with_embedding": CROSS,
        "test_embed_with_path_operation_config": SCALE,
        "test_scores": SCALE,
        "test_non_ascii": SCRIPTS,
    },
}
"""Tests that are run with `--strategy dense` alone."""

CONFTEST = '''
"""Replaces the host's stores by ours; written by scripts/host_tests/langgraph.py."""
import json
import os
import sys
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from types import SimpleNamespace

import langgraph.store.memory
import langgraph.store.sqlite
import langgraph.store.sqlite.aio
import pytest

from ecphora.adapters.langgraph import EcphoraStore

sys.modules.setdefault("pytest_mock", SimpleNamespace(MockerFixture=object))  # the tests that need it are left out
OPTIONS = {"strategy": os.environ["HOST_TESTS_STRATEGY"]}


def opened(path, index=None, ttl=None):
    if index is not None and "text_fields" in index:  # the name that SqliteStore reads
        index = {**index, "fields": index["text_fields"]}
    return Store.open(path, index=index, ttl=ttl, **OPTIONS)


class Store(EcphoraStore):
    """Has what the tests call besides BaseStore: setup, and the sweeper, for which the calls themselves sweep."""

    embeddings = property(lambda self: (self.index_config or {}).get("embed"))
    setup = start_ttl_sweeper = stop_ttl_sweeper = lambda self: None

    @classmethod
    @contextmanager
    def from_conn_string(cls, path, *, index=None, ttl=None):
        if path != ":memory:":
            Path(path).unlink()  # an empty file is no memory
        with opened(path, index, ttl) as store:
            yield store


class AsyncStore:
    """The same, with setup and sweeps to await."""

    def __init__(self, store):
        self._store = store

    def __getattr__(self, name):
        return getattr(self._store, name)

    async def setup(self):
        pass

    start_ttl_sweeper = stop_ttl_sweeper = setup

    async def sweep_ttl(self):
        return self._store.sweep_ttl()

    @classmethod
    @asynccontextmanager
    async def from_conn_string(cls, path, *, index=None, ttl=None):
        with Store.from_conn_string(path, index=index, ttl=ttl) as store:
            yield cls(store)


langgraph.store.memory.InMemoryStore = lambda index=None: opened(":memory:", index)
langgraph.store.sqlite.SqliteStore = Store
langgraph.store.sqlite.AsyncSqliteStore = langgraph.store.sqlite.aio.AsyncSqliteStore = AsyncStore


def pytest_collection_modifyitems(config, items):
    left_out = json.loads(os.environ["HOST_TESTS_LEFT_OUT"])
    names = {item: {item.name, item.originalname, f"{item.path.name}::{item.originalname}"} for item in items}
    deselected = [item for item in items if names[item] & left_out.keys()]
    items[:] = [item for item in items if item not in deselected]
    config.hook.pytest_deselected(items=deselected)


def pytest_configure(config):
    config.addinivalue_line("markers", "flaky: an option of a plug-in that is not needed")
'''
FILES = {
    "checkpoint": ["tests/test_store.py"],
    "sqlite": ["tests/test_store.py", "tests/test_async_store.py", "tests/test_ttl.py"],
}


def main() -> int:
    """Run the tests of each sdist; returns the number of sdists whose tests fail."""
    arguments, strategy = sys.argv[1:], "fused"
    if "--strategy" in arguments:
        at = arguments.index("--strategy")
        strategy = arguments[at + 1]
        del arguments[at : at + 2]
    sdists = [one for one in arguments if one.endswith(".tar.gz")]
    options = [one for one in arguments if one not in sdists]
    if not sdists:
        sys.exit(__doc__)
    return sum(run(Path(sdist), strategy, options) != 0 for sdist in sdists)


def run(sdist: Path, strategy: str, options: list[str]) -> int:
    """Unpack a sdist and run its tests of stores; returns pytest's exit code."""
    kind = "sqlite" if "sqlite" in sdist.name else "checkpoint"
    left_out = LEFT_OUT[kind] | ({} if strategy == "dense" else COSINE[kind])
    print(f"{sdist.name}, strategy {strategy}; left out:", flush=True)  # noqa: T201
    for name, reason in left_out.items():
        print(f"  {name}: {reason}", flush=True)  # noqa: T201
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(sdist) as archive:
            archive.extractall(folder, filter="data")
        root = Path(folder) / sdist.name.removesuffix(".tar.gz")
        (root / "tests" / "conftest.py").write_text(CONFTEST)
        command = [sys.executable, "-m", "pytest", "-q", "-c", os.devnull, "--rootdir", str(root)]
        plugins = ["-p", "no:cacheprovider", "-p", "no:randomly", "-p", "no:ecphora", "-o", "asyncio_mode=auto"]
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(root), *filter(None, [os.environ.get("PYTHONPATH")])]),
            "HOST_TESTS_STRATEGY": strategy,
            "HOST_TESTS_LEFT_OUT": json.dumps(left_out),
        }
        return subprocess.run(  # noqa: S603  # the command is ours
            [*command, *plugins, *options, *FILES[kind]], cwd=root, env=environment, check=False
        ).returncode


if __name__ == "__main__":
    sys.exit(main())
