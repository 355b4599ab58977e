"""Records whose content no memory could have as its text."""

import pytest

from ecphora import HashingEmbedder, Memory
from ecphora.adapters.records import EMPTY, Records


@pytest.mark.parametrize("content", ["", " \n", "\u200b", "\u2060 \u200d"])
def test_content_without_a_visible_character_is_kept(content: str) -> None:
    with Memory(":memory:", embedder=HashingEmbedder(64)) as memory:
        record = Records(memory, "host").put("key", content)
        assert record.content == content
        assert record.node.text == EMPTY
