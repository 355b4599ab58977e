"""Records whose content no memory could have as its text, and a writer that another overtakes."""

from pathlib import Path

import pytest

from ecphora import HashingEmbedder, Memory
from ecphora.adapters.records import EMPTY, Record, Records


@pytest.mark.parametrize("content", ["", " \n", "\u200b", "\u2060 \u200d"])
def test_content_without_a_visible_character_is_kept(content: str) -> None:
    with Memory(":memory:", embedder=HashingEmbedder(64)) as memory:
        records = Records(memory, "host")
        records.put("key", content)
        record = records.get("key")
        assert record is not None
        assert record.content == content
        assert record.node.text == EMPTY


@pytest.mark.parametrize("is_there", [True, False])
@pytest.mark.parametrize("others_do", ["put", "delete"])
def test_a_writer_that_another_overtakes_writes_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, others_do: str, *, is_there: bool
) -> None:
    path, embedder = tmp_path / "m.db", HashingEmbedder(16)
    with Memory(path, embedder=embedder) as one, Memory(path, embedder=embedder) as two:
        records, other = Records(one, "host"), Records(two, "host")
        if is_there:
            records.put("key", "First.")
        get = records.get

        def get_and_wait(key: str) -> Record | None:
            monkeypatch.undo()
            found = get(key)
            if others_do == "put":
                other.put(key, "Another.")
            else:
                other.delete([key])
            return found

        monkeypatch.setattr(records, "get", get_and_wait)
        records.put("key", "Last.")
        assert [record.content for record in other.find()] == ["Last."]
