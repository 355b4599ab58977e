"""The last messages of a coding agent's session: from the JSON that a hook gets, or from the transcript that it names.

A transcript has a JSON object a line: ``{"type": "user", "message": {"content": …}}`` in Claude Code,
``{"type": "response_item", "payload": {"type": "message", "role": "user", "content": …}}`` in Codex, and
``{"role": "user", "message": {"content": …}}`` in Cursor. What hosts write into it themselves is passed over.
"""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ..model.lazy import lazy_pattern

TAIL_BYTES = 4 << 20
"""The bytes at the end of a transcript that are read: a long session has tens of megabytes."""
ROLES = ("user", "assistant")
_QUERY = lazy_pattern(r"<user_query>\s*(.*?)\s*</user_query>", re.DOTALL)
_FROM_HOST = lazy_pattern(r"\s*(?:<[a-z][\w-]*>|<[a-z][\w-]* |Caveat: The messages below|\[Request interrupted)")


def last_messages(payload: Mapping[str, Any]) -> dict[str, str]:
    """The last text of the user and the reply to it, by role; a role without a text is left out."""
    found: dict[str, str] = {}
    for role, text in _read_backwards(payload.get("transcript_path")):
        if role == "assistant" and not found:
            found[role] = text
        elif role == "user":
            found[role] = text
            break
    replied, asked = payload.get("last_assistant_message"), payload.get("prompt")
    if isinstance(replied, str) and replied.strip():
        found["assistant"] = replied
    if isinstance(asked, str) and is_prompt(asked):
        found["user"] = asked
    return {role: found[role] for role in ROLES if role in found}


def is_prompt(text: str) -> bool:
    """Whether a user wrote a text for the model: not a command of the host, such as /clear, and not the host's own."""
    return bool(text.strip()) and not re.match(r"\s*/[\w:-]+(?:\s|$)", text) and not _FROM_HOST.match(text)


def _read_backwards(path: object) -> Iterator[tuple[str, str]]:
    """The messages of a transcript with their roles, the last one first; none without a readable file."""
    if not isinstance(path, str) or not path:
        return
    try:
        with Path(path).expanduser().open("rb") as file:
            file.seek(max(0, file.seek(0, 2) - TAIL_BYTES))
            lines = file.read().splitlines()
    except OSError:
        return
    for line in reversed(lines):  # the first one may be cut, and is no JSON then
        try:
            entry = json.loads(line)
        except ValueError:
            continue
        if isinstance(entry, dict) and (message := _read_entry(entry)) is not None:
            yield message


def _read_entry(entry: Mapping[str, Any]) -> tuple[str, str] | None:
    """The role and the text of a line; None for what nobody wrote."""
    if entry.get("isMeta") or entry.get("isSidechain"):
        return None
    body = entry.get("message", entry.get("payload", entry))
    if not isinstance(body, dict):
        return None
    role = body.get("role") or entry.get("role") or entry.get("type")
    text = _text_of(body.get("content"))
    if role == "user":
        text = query[1] if (query := _QUERY.search(text)) else text
        return (role, text) if is_prompt(text) else None
    return (role, text) if role == "assistant" and text.strip() else None


def _text_of(content: object) -> str:
    """The text of a message: a text, or the text parts of a list, joined by line breaks."""
    if isinstance(content, list):
        parts = [part.get("text") for part in content if isinstance(part, dict) and "text" in str(part.get("type"))]
        return "\n".join(part for part in parts if isinstance(part, str))
    return content if isinstance(content, str) else ""
