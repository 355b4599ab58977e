"""Whatever a file holds, an importer gives episodes that can be stored, or raises ``InvalidInput`` alone."""

import json
import tempfile
from collections.abc import Iterator
from datetime import UTC
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ecphora.errors import InvalidInput
from ecphora.maintenance.interchange.formats import BUILT_IN, find_format
from ecphora.model.types import Episode, Omission
from ecphora.model.validation import check_episode_fields

pytestmark = pytest.mark.medium

CHATS = [name for name in BUILT_IN if name in (
    "chatgpt", "claude", "claude-code", "codex", "discord", "slack", "telegram", "whatsapp"
)]  # fmt: skip
KEYS = st.sampled_from(
    [
        "mapping", "message", "parent", "children", "current_node", "title", "create_time", "author", "role", "content",
        "content_type", "parts", "text", "metadata", "recipient", "id", "conversation_id", "conversations",
        "chat_messages", "sender", "uuid", "attachments", "files", "docs", "extracted_content", "type", "sessionId",
        "timestamp", "payload", "isSidechain", "messages", "channel", "guild", "name", "mentions", "date", "from",
        "date_unixtime", "chats", "list", "poll", "question", "answers", "user", "ts", "thread_ts", "profile",
        "members", "Contents", "Timestamp", "ID", "nickname", "cwd", "images", "forwarded_from", "subtype", "bot_id",
        "created_at",
    ]
)  # fmt: skip
WORDS = st.sampled_from(
    [
        "user", "assistant", "system", "human", "message", "service", "text", "all", "event_msg", "user_message",
        "agent_message", "session_meta", "response_item", "Default", "Reply", "2026-01-10T09:30:00Z", "1767258000.1",
        "1767258000", "\ud800", "\u200e", "<@U1>", "I moved to Porto.", "x" * 600, "multimodal_text",
    ]
)  # fmt: skip
LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20) | WORDS
ANY = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=6), max_leaves=25
)
MESSAGE = {
    "id": "m",
    "author": {"role": "user"},
    "create_time": 1.5,
    "content": {"content_type": "text", "parts": ["x"]},
}
SAMPLES: dict[str, Any] = {
    "chatgpt": [{"title": "t", "mapping": {"a": {"message": MESSAGE, "parent": None, "children": []}}}],
    "claude": [{"uuid": "c", "name": "n", "chat_messages": [{"sender": "human", "text": "x", "content": [{}]}]}],
    "claude-code": [{"type": "user", "sessionId": "s", "uuid": "u", "timestamp": "t", "message": {"content": ["x"]}}],
    "codex": [{"type": "event_msg", "timestamp": "t", "payload": {"type": "user_message", "message": "x"}}],
    "discord": {
        "channel": {"id": "1"},
        "messages": [{"id": "1", "author": {"name": "a"}, "timestamp": "t", "content": "x"}],
    },
    "slack": [{"type": "message", "user": "U1", "text": "x", "ts": "1.5", "files": [{}]}],
    "telegram": {"name": "n", "id": 1, "messages": [{"type": "message", "date": "d", "from": "a", "text": ["x", {}]}]},
    "whatsapp": "31/12/25, 23:59 - Ana: Hi",
}  # fmt: skip


def places(value: Any, here: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield here
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from places(inner, (*here, key))


def replaced(value: Any, place: tuple[Any, ...], new: Any) -> Any:
    if not place:
        return new
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[place[0]] = replaced(value[place[0]], place[1:], new)
    return copy


def check(name: str, content: Any) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "export.json"
        if name == "slack":
            path = Path(folder) / "export"
            (path / "general").mkdir(parents=True)
            (path / "users.json").write_text(json.dumps(content))
            (path / "general" / "2026-01-10.json").write_text(json.dumps(content))
        elif name in {"claude-code", "codex"} and isinstance(content, list):
            path.write_text("\n".join(map(json.dumps, content)))
        elif isinstance(content, str):
            path.write_text(content, "utf-8", "replace")
        else:
            path.write_text(json.dumps(content))
        found = find_format(path, name)
        assert found.importer.matches(str(path)) in {True, False}  # type: ignore[attr-defined]
        try:
            for item in found.read(str(path)):
                assert isinstance(item, Episode | Omission)
                if isinstance(item, Episode):
                    check_episode_fields(item, UTC)
        except InvalidInput:
            pass


@pytest.mark.parametrize("name", CHATS)
@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(content=ANY)
def test_any_json_is_read_or_refused(name: str, content: Any) -> None:
    check(name, content)


@pytest.mark.parametrize("name", CHATS)
@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(data=st.data())
def test_any_value_in_any_place_is_read_or_refused(name: str, data: st.DataObject) -> None:
    content = SAMPLES[name]
    place = data.draw(st.sampled_from(list(places(content))))
    check(name, replaced(content, place, data.draw(ANY)))


@given(lines=st.lists(st.text(alphabet="0123456789/.-[],: apmAPM\u200e\u202fx<>\n\u0661上午", max_size=40)))
@settings(deadline=None)
def test_any_chat_of_whatsapp_is_read_or_refused(lines: list[str]) -> None:
    check("whatsapp", "\n".join([SAMPLES["whatsapp"], *lines]))
