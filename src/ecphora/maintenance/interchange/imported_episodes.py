"""Episodes from the values of a file, which may be anything: names, times and metadata as a memory takes them.

An episode of an import has an id that follows from its format, from its key in the file and from its content. So the
same file gives the same ids, and what has changed in the other program since is another memory, never a collision.
"""

import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, tzinfo
from typing import Any

from ...errors import InvalidInput, InvalidText
from ...model.conditions import MAX_INT_BITS, MetadataValue
from ...model.ids import content_id
from ...model.text_format import collapse_whitespace, strip_invisible
from ...model.times import from_epoch_seconds, read_time
from ...model.types import Episode, Media, NodeId, Omission
from ...model.validation import MAX_NAME_CHARS, MAX_TEXT_CHARS, check_episode_fields

EMPTY_TEXT = "an empty text"
LONG_TEXT = f"a text of more than {MAX_TEXT_CHARS:,} characters"
UNREADABLE_TIME = "a time that cannot be read; the memory is kept without it"
UNUSABLE = "a memory with a field that cannot be used"
ORIGIN = "origin"
"""The key of the metadata that says where in the file an episode comes from."""

FIELD_NAMES: Mapping[str, tuple[str, ...]] = {
    "text": ("text", "content", "message", "memory", "body", "fact", "note", "document", "data"),
    "speaker": ("speaker", "author", "from", "sender", "role", "user", "username", "actor_id"),
    "happened_at": (
        "time", "date", "timestamp", "datetime", "happened_at", "created_at", "sent_at", "created", "date_created",
        "created_time",
    ),
    "session": (
        "session", "conversation", "session_id", "conversation_id", "thread", "thread_id", "channel", "chat", "run_id",
    ),
    "title": ("title", "subject"),
    "id": ("id", "message_id", "uuid"),
}  # fmt: skip
"""What other programs call the fields of an episode, the surest name first."""
_EPOCH = re.compile(r"-?\d{9,11}(\.\d+)?\Z")
_EPOCH_MILLISECONDS = re.compile(r"-?\d{12,14}\Z")


def find_fields(names: Mapping[str, str] | list[str]) -> dict[str, str]:
    """Which of some names are which field of an episode: ``{"text": "Content"}``; case and spaces do not count."""
    known = {re.sub(r"[\s-]+", "_", name.strip().lower()): name for name in reversed(list(names))}
    found = {}
    for field_, candidates in FIELD_NAMES.items():
        if (name := next((known[one] for one in candidates if one in known), None)) is not None:
            found[field_] = name
    return found


# ---- values


def as_text(value: object) -> str:
    """A value as a text that can be encoded: halves of a surrogate pair are joined, lone ones replaced."""
    text = value if isinstance(value, str) else "" if value is None else str(value)
    try:
        text.encode()
    except UnicodeEncodeError:
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def as_name(value: object) -> str | None:
    """A value as a speaker, session or title: on one line, shortened; None for nothing, and for no plain value."""
    if not isinstance(value, str | int | float) or isinstance(value, bool):
        return None
    try:
        name = collapse_whitespace(as_text(value))[:MAX_NAME_CHARS].strip()
    except ValueError:  # a number of thousands of digits
        return None
    return name if strip_invisible(name).strip() else None


def as_time(value: object, zone: tzinfo | None = None) -> datetime | None:
    """A value as a time: ISO 8601, or seconds or milliseconds since 1970; None if it is none of these.

    A time without an offset is in ``zone``; None keeps it without one, which is the local time of the memory.
    """
    if isinstance(value, str):
        value = value.strip()
        if _EPOCH.match(value):
            value = float(value)
        elif _EPOCH_MILLISECONDS.match(value):
            value = int(value)
    try:
        if isinstance(value, int | float) and not isinstance(value, bool):
            if not math.isfinite(value) or abs(value) > 1e15:
                return None
            return from_epoch_seconds(value / 1000 if abs(value) >= 1e11 else value)
        time = read_time(value)
    except (InvalidInput, OverflowError):
        return None
    if not 1 < time.year < 9999:  # a zone could move it out of the calendar
        return None
    return time.replace(tzinfo=zone) if time.tzinfo is None and zone is not None else time


def as_metadata(values: Mapping[Any, Any]) -> dict[str, MetadataValue]:
    """Values as metadata: plain ones and lists of them as they are, anything else as JSON text."""
    found: dict[str, MetadataValue] = {}
    for key, value in values.items():
        name = as_text(key)
        if isinstance(value, list | tuple) and all(_is_plain(one) for one in value):
            found[name] = [as_text(one) if isinstance(one, str) else one for one in value]
        elif _is_plain(value):
            found[name] = as_text(value) if isinstance(value, str) else value
        else:
            try:
                found[name] = as_text(json.dumps(value, ensure_ascii=False, default=str))
            except (ValueError, TypeError, RecursionError):
                found[name] = f"a {type(value).__name__}"
    return found


def _is_plain(value: object) -> bool:
    if isinstance(value, int):
        return value.bit_length() <= MAX_INT_BITS
    return value is None or isinstance(value, str) or (isinstance(value, float) and math.isfinite(value))


# ---- episodes


@dataclass(frozen=True, slots=True)
class Entry:
    """What a file has about a memory. ``origin`` is its place in the file, ``key`` what identifies it there.

    ``happened_at`` may be anything; a time without an offset is in ``zone``. ``supersedes`` is the id of another
    episode.
    """

    origin: str
    key: str
    text: object
    speaker: object = None
    session: object = None
    happened_at: object = None
    title: object = None
    metadata: Mapping[Any, Any] = field(default_factory=dict)
    zone: tzinfo | None = None
    trust: float = 1.0
    supersedes: NodeId | None = None
    media: tuple[Media, ...] = ()


def build_episode(format_name: str, entry: Entry) -> Iterator[Episode | Omission]:
    """The episode of an entry, and what is left out of it; an entry that cannot be remembered is an omission alone."""
    has_time = entry.happened_at is not None and entry.happened_at != ""
    time = as_time(entry.happened_at, entry.zone) if has_time else None
    if has_time and time is None:
        yield Omission(UNREADABLE_TIME, entry.origin)
    episode = Episode(
        text=as_text(entry.text),
        speaker=as_name(entry.speaker),
        session=as_name(entry.session),
        happened_at=time,
        title=as_name(entry.title),
        source=format_name,
        metadata={**as_metadata(entry.metadata), ORIGIN: as_text(entry.origin)},
        trust=entry.trust,
        supersedes=entry.supersedes,
        media=entry.media,
    )
    yield episode_or_omission(replace(episode, id=derived_id(format_name, entry.key, episode)), entry.origin)


def derived_id(format_name: str, key: str, episode: Episode) -> NodeId:
    """The id of an episode with a key in a file of a format; it changes with all that makes a memory another one."""
    time = episode.happened_at
    moment = "" if time is None else time.isoformat() if isinstance(time, datetime) else str(time)
    if isinstance(time, datetime) and time.tzinfo is not None:
        moment = time.astimezone(UTC).isoformat() if 1 < time.year < 9999 else moment
    names = (episode.speaker, episode.session, episode.title)
    return content_id(as_text(key), moment, *(name or "" for name in names), episode.text, prefix=f"{format_name}:")


def episode_or_omission(episode: Episode, origin: str) -> Episode | Omission:
    """The episode if it can be remembered, else an omission that says why not."""
    if len(episode.text) > MAX_TEXT_CHARS:
        return Omission(LONG_TEXT, origin)
    if not strip_invisible(episode.text).strip():
        return Omission(EMPTY_TEXT, origin)
    try:
        check_episode_fields(episode)
    except (InvalidInput, InvalidText):
        return Omission(UNUSABLE, origin)
    return episode
