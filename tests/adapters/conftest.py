"""The memory that the tests of adapters use where its embedder does not matter."""

from collections.abc import Iterator

import pytest

from ecphora import HashingEmbedder, Memory


@pytest.fixture
def memory() -> Iterator[Memory]:
    with Memory(":memory:", embedder=HashingEmbedder(64)) as opened:
        yield opened
