"""Texts in a script that the embedder does not read: remember names them, and says once what helps."""

from pathlib import Path

import pytest

from ecphora import MiniLMEmbedder
from ecphora.memory import Memory

PORTO = "Ana lives in Porto."


@pytest.mark.medium
@pytest.mark.parametrize(
    ("text", "is_unread"),
    [
        (PORTO, False),
        ("ᐊᓇ ᐳᐊᑐᒥ ᓄᓇᖃᖅᑐᖅ", True),
        ("阿娜住在波尔图", False),
        ("アナはポルトに住んでいます", False),
        ("👋 42", False),
        ("Ana wohnt in Köln", False),
    ],
)
def test_remember_names_what_the_embedder_does_not_read(tmp_path: Path, text: str, *, is_unread: bool) -> None:
    with Memory(tmp_path / "m.db") as memory:
        result = memory.remember(text)
        assert result.unread == (result.created if is_unread else ())
        assert memory.remember(text).unread == ()


@pytest.mark.medium
def test_remember_warns_once_and_names_the_command_that_helps(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with Memory(tmp_path / "m.db", scope="ana", embedder=MiniLMEmbedder()) as memory:
        memory.remember(PORTO)
        assert not caplog.messages
        for text in ("阿娜住在波尔图", "她喜欢吃鱼"):
            memory.remember(text)
    assert len(caplog.messages) == 1
    assert "'ana'" in caplog.messages[0]
    assert "ecphora reembed --embedder e5" in caplog.messages[0]


@pytest.mark.medium
def test_warning_names_no_command_if_the_embedder_is_the_multilingual_one(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with Memory(tmp_path / "m.db") as memory:
        memory.remember("ᐊᓇ ᐳᐊᑐᒥ ᓄᓇᖃᖅᑐᖅ")
    assert len(caplog.messages) == 1
    assert "reembed" not in caplog.messages[0]
