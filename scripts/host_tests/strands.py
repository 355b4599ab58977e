#!/usr/bin/env python3
"""Run Strands' own tests of a memory store against ours: scripts/host_tests/strands.py SDIST [pytest options].

The sdist is strands_agents-1.62.0.tar.gz; run it with a Python that has strands-agents, pytest and pytest-asyncio. In
the tests, `TestMemoryStore` and the fake store of the injection test are replaced by `EcphoraStore`. `LEFT_OUT` names
the tests that are not run, with the reasons.
"""

import json
import os
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

JSON_FILE = "tests the JSON file of the host's store"
PRIVATE = "tests a private part of the host's store, or its export"
OVERLAP = "asserts a count of shared words as the score, or that a text without a shared word is not found"
LEFT_OUT = {
    "test_export_from_parent_package": PRIVATE,
    "test_unknown_attribute_raises": PRIVATE,
    "test_test_prefixed_classes_are_not_collected_by_pytest": PRIVATE,
    "test_lazily_exported_from_vended_memory_stores": PRIVATE,
    "test_unknown_attribute_raises_attribute_error": PRIVATE,
    "test_raises_when_explicit_path_is_empty": JSON_FILE,
    "test_does_no_filesystem_io_on_construction": JSON_FILE,
    "test_defaults_to_a_sanitized_path_under_the_home_memory_dir": JSON_FILE,
    "test_uses_the_monkeypatchable_id_generator": PRIVATE,
    "test_persists_human_readable_json": JSON_FILE,
    "test_raises_clear_error_on_corrupt_file": JSON_FILE,
    "test_raises_clear_error_on_wrong_shape_file": JSON_FILE,
    "test_raises_clear_error_on_malformed_record": JSON_FILE,
    "test_raises_clear_error_on_non_object_metadata": JSON_FILE,
    "test_accepts_null_metadata_as_absent": JSON_FILE,
    "test_raises_clear_error_when_path_is_unreachable": JSON_FILE,
    "test_loads_a_file_written_in_the_shared_camelcase_format": JSON_FILE,
    "test_now_matches_javascript_toisostring_shape": JSON_FILE,
    "test_breaks_ties_by_recency": PRIVATE,
    "test_excludes_records_with_no_token_overlap": OVERLAP,
}

CONFTEST = '''
"""Replaces the host's stores by ours; written by scripts/host_tests/strands.py."""
import json
import os
from types import SimpleNamespace

import pytest
import strands.vended_memory_stores.test_memory_store as package

from ecphora import HashingEmbedder, Memory
from ecphora.adapters.strands import EcphoraStore
from ecphora.errors import InvalidInput

MEMORIES = {}
"""The open memories, by file; each test has files of its own."""


class Store(EcphoraStore):
    """Takes the arguments of TestMemoryStore, and reports as its tests expect."""

    __test__ = False

    def __init__(self, *, name, path=None, persist=True, **options):
        if not name.strip():
            raise ValueError("name must not be empty")
        file = f"{path}.db" if persist else f":memory:{id(self)}"
        if file not in MEMORIES:
            MEMORIES[file] = Memory(file if persist else ":memory:", embedder=HashingEmbedder(64))
        try:
            super().__init__(MEMORIES[file], name, needs_evidence=False, **options)
        except InvalidInput as error:
            raise ValueError("max_search_results must be at least 1") from error
        self._storage = None
        self.path = path if persist else None

    async def search(self, query, options=None):
        if options and options.get("max_search_results", 1) < 1:
            raise ValueError("max_search_results must be at least 1")
        entries = await super().search(query, options)
        for entry in entries:
            words = set(query.casefold().split())
            entry.metadata["_relevanceScore"] = len(words & set(entry.content.casefold().split()))
        return entries

    async def add(self, content, metadata=None):
        if self.writable and not content.strip():
            raise ValueError("content must not be empty")
        id_ = await super().add(content, metadata)
        if self.path:  # the tests count what the file has
            with open(self.path, "w", encoding="utf-8") as file:
                json.dump([{"content": node.text} for node in self.memory.find(limit=100)], file)
        return SimpleNamespace(id=id_)


def fake_store():
    store = EcphoraStore(Memory(":memory:"), "kb", description="knowledge base", writable=False)
    store.memory.remember("user prefers dark mode", metadata={"record_kind": "strands:kb", "record_key": "1"})
    return store


package.TestMemoryStore = Store


def pytest_collection_modifyitems(config, items):
    left_out = json.loads(os.environ["HOST_TESTS_LEFT_OUT"])
    deselected = [item for item in items if {item.name, item.originalname} & left_out.keys()]
    items[:] = [item for item in items if item not in deselected]
    config.hook.pytest_deselected(items=deselected)
    for item in items:
        if item.path.name == "test_injection_integration.py":
            item.module._FakeStore = fake_store


@pytest.fixture(autouse=True)
def close_memories():
    yield
    while MEMORIES:
        MEMORIES.popitem()[1].close()
'''
FILES = [
    "tests/strands/vended_memory_stores/test_memory_store/test_store.py",
    "tests/strands/memory/test_injection_integration.py",
]


def main() -> int:
    """Unpack the sdist and run its tests of stores; returns pytest's exit code."""
    if len(sys.argv) < 2 or not sys.argv[1].endswith(".tar.gz"):
        sys.exit(__doc__)
    sdist, options = Path(sys.argv[1]), sys.argv[2:]
    print(f"{sdist.name}; left out:", flush=True)  # noqa: T201
    for name, reason in LEFT_OUT.items():
        print(f"  {name}: {reason}", flush=True)  # noqa: T201
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(sdist) as archive:
            archive.extractall(folder, filter="data")
        root = Path(folder) / sdist.name.removesuffix(".tar.gz")
        (root / "tests" / "conftest.py").write_text(CONFTEST)
        command = [sys.executable, "-m", "pytest", "-q", "-c", os.devnull, "--rootdir", str(root)]
        plugins = ["-p", "no:cacheprovider", "-p", "no:randomly", "-p", "no:ecphora", "-o", "asyncio_mode=auto"]
        paths = [str(root), *filter(None, [os.environ.get("PYTHONPATH")])]
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(paths),
            "HOST_TESTS_LEFT_OUT": json.dumps(LEFT_OUT),
        }
        return subprocess.run(  # noqa: S603  # the command is ours
            [*command, *plugins, *options, *FILES], cwd=root, env=environment, check=False
        ).returncode


if __name__ == "__main__":
    sys.exit(main())
