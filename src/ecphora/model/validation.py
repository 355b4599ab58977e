"""Checks of arguments. Each returns the value in the form that the package works with.

A check raises ``InvalidInput``, or a subclass of it, whose message names the parameter, the value and what to give
instead. Checks come before anything is written.
"""

import inspect
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, date, datetime, tzinfo
from numbers import Integral, Real
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from ..errors import InvalidInput, InvalidText, InvalidTime
from .conditions import MAX_INT_BITS, Condition, MetadataValue, Scalar
from .ids import NODE_PREFIXES
from .reprs import show
from .text_format import strip_invisible
from .times import in_zone, parse_time
from .types import Episode, Filter, Include, Media, MediaKind, MediaQuery, Metadata, NodeId, RecallOptions, Rerank

RECALL_LIMIT = 10
"""Memories of a recall."""
LIST_LIMIT = 20
"""Items of a list, such as a page of ``find``."""

T = TypeVar("T")

MAX_TEXT_CHARS = 1_000_000
"""Characters of the longest accepted text; split a book into chapters."""
MAX_QUESTION_CHARS = 20_000
"""Characters of the longest question."""
MAX_NAME_CHARS = 512
"""Characters of the longest id, speaker, session, title or source."""
MAX_INT = 2**63 - 1
"""The largest whole number; larger ones count as this one."""


# ---- texts and names


def check_text(text: object) -> str:
    """Check the text of an episode."""
    if not isinstance(text, str):
        raise InvalidText(f"a text must be a str, not {type(text).__name__}")
    if len(text) > MAX_TEXT_CHARS:
        raise InvalidText(
            f"a text of {len(text):,} characters is too long; split it into parts of {MAX_TEXT_CHARS:,} at most"
        )
    if not strip_invisible(text).strip():
        raise InvalidText("the text is empty; give at least one visible character")
    check_unicode("text", text)
    return text


def check_question(text: object) -> str:
    """Check a question like the text of an episode, with a lower length limit."""
    question = check_text(text)
    if len(question) > MAX_QUESTION_CHARS:
        raise InvalidText(
            f"a question of {len(question):,} characters is too long; the limit is {MAX_QUESTION_CHARS:,}"
        )
    return question


def check_name(field: str, value: object) -> str:
    """Check a required name, such as a scope's."""
    found = check_optional_name(field, value)
    if found is None:
        raise InvalidInput(f"{field} is missing; give a text of 1 to {MAX_NAME_CHARS} characters")
    return found


def check_optional_name(field: str, value: object) -> str | None:
    """Check an optional name, such as a speaker's."""
    if value is None:
        return None
    if not isinstance(value, str) or not value.strip() or len(value) > MAX_NAME_CHARS:
        raise InvalidInput(f"{field} is {show(value)}; give a text of 1 to {MAX_NAME_CHARS} characters, or None")
    check_unicode(field, value)
    return value


def check_string(field: str, value: object) -> str:
    """Check a string of any length, the empty one included."""
    if not isinstance(value, str):
        raise InvalidInput(f"{field} is {show(value)}; give a str")
    return value


def check_unicode(field: str, value: str) -> None:
    """Check that a text can be encoded."""
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise InvalidText(
            f"the {field} holds a lone surrogate at character {error.start}; "
            "decode its source with the right encoding, or use text.encode('utf-8', 'replace').decode()"
        ) from error


def check_id(value: object, field: str = "id") -> NodeId:
    """Check an id used to look a memory up; an unknown id is not an error."""
    if not isinstance(value, str):
        raise InvalidInput(f"{field} is {show(value)}; give a str, such as hit.id")
    return value


def check_ids(value: object, field: str = "ids") -> list[NodeId]:
    """Check one id or several; return a list."""
    if isinstance(value, str):
        return [value]
    items = check_items(field, value, "an id, a str such as hit.id, or a list of them")
    return [check_id(id_, f"one of {field}") for id_ in items]


def check_lines(value: object) -> Iterator[str]:
    """Check the lines of an export while they are read."""
    hint = "the lines of an export: a file opened as text, with encoding='utf-8'"
    if isinstance(value, str):
        raise InvalidInput(f"lines is {show(value)}; give {hint}")
    items = check_items("lines", value, hint)

    def lines() -> Iterator[str]:
        for line in items:
            if not isinstance(line, str):
                raise InvalidInput(f"a line is {show(line)}; give {hint}")
            yield line

    return lines()


def check_items(field: str, value: object, hint: str) -> Iterator[Any]:
    """Check an iterable; mappings and bytes are rejected."""
    try:
        if isinstance(value, Iterable) and not isinstance(value, Mapping | bytes | bytearray):
            return iter(value)
    except TypeError:  # an array without dimensions has no items
        pass
    raise InvalidInput(f"{field} is {show(value)}; give {hint}")


# ---- numbers


def check_count(field: str, value: object, *, minimum: int = 1) -> int:
    """Check a whole number of at least ``minimum``; a number beyond 2**63 - 1 counts as 2**63 - 1."""
    if not isinstance(value, Integral) or isinstance(value, bool) or value < minimum:
        raise InvalidInput(f"{field} is {show(value)}; give a whole number of at least {minimum}")
    return min(int(value), MAX_INT)


def check_optional_count(field: str, value: object, *, minimum: int = 1) -> int | None:
    """Check a whole number of at least ``minimum``, or None."""
    return None if value is None else check_count(field, value, minimum=minimum)


def check_number(
    field: str, value: object, *, minimum: float = -math.inf, maximum: float = math.inf, above: float = -math.inf
) -> float:
    """Check a finite number from ``minimum`` to ``maximum`` that is greater than ``above``."""
    number = math.nan
    if isinstance(value, Real) and not isinstance(value, bool):
        try:
            number = float(value)
        except OverflowError:
            number = math.nan
    if not (math.isfinite(number) and minimum <= number <= maximum and number > above):
        expected = "a number"
        if math.isfinite(minimum) and math.isfinite(maximum):
            expected = f"a number from {minimum:g} to {maximum:g}"
        elif math.isfinite(minimum):
            expected = f"a number of at least {minimum:g}"
        elif math.isfinite(above):
            expected = f"a number above {above:g}"
        raise InvalidInput(f"{field} is {show(value)}; give {expected}")
    return number


def check_flag(field: str, value: object) -> bool:
    """Check True or False."""
    if isinstance(value, bool | np.bool_):
        return bool(value)
    raise InvalidInput(f"{field} is {show(value)}; give True or False")


# ---- times


def check_time(field: str, value: object, zone: tzinfo = UTC, *, end_of_period: bool = False) -> datetime:
    """Check a time, as ``parse_time`` reads it: an ISO 8601 text, a date or a datetime."""
    if not isinstance(value, str | date):
        raise InvalidTime(f"{field} is {show(value)}, which is not a date; give 'YYYY-MM-DD', a date or a datetime")
    if value != value:  # noqa: PLR0124  # the missing time of pandas (NaT) is a datetime
        raise InvalidTime(f"{field} is {show(value)}, which is not a date; give 'YYYY-MM-DD', or leave it out")
    return parse_time(value, zone, end_of_period=end_of_period)


def check_optional_time(
    field: str, value: object, zone: tzinfo = UTC, *, end_of_period: bool = False
) -> datetime | None:
    """Check a time, or None."""
    return None if value is None else check_time(field, value, zone, end_of_period=end_of_period)


def check_clock(value: object, zone: tzinfo = UTC) -> Callable[[], datetime]:
    """Check a clock; the result checks every time that the clock returns, and tells it as it is in ``zone``."""
    if not callable(value) or isinstance(value, type):
        raise InvalidInput(f"clock is {show(value)}; give a function without parameters that returns the time")
    clock: Callable[[], object] = value

    def checked_clock() -> datetime:
        now = clock()
        if not isinstance(now, datetime) or now.utcoffset() is None:
            raise InvalidTime(f"the clock returned {show(now)}; return a datetime with a time zone: datetime.now(UTC)")
        return in_zone(now, zone)

    return checked_clock


# ---- compound values


def check_metadata(value: object) -> Metadata:
    """Check a mapping of texts to plain values, or lists of them, that JSON can hold; return a new dict."""
    if not isinstance(value, Mapping):
        raise InvalidInput(f"metadata is a {type(value).__name__}; give a mapping of names to plain values")
    checked: dict[str, MetadataValue] = {}
    for key, item in value.items():
        items = item if isinstance(item, list | tuple) else (item,)
        if not isinstance(key, str) or not all(one is None or isinstance(one, str | int | float) for one in items):
            raise InvalidInput(
                f"metadata {show(key)} is {show(item)}; keys are texts, values texts, numbers, bools, None or lists of "
                "these"
            )
        for one in items:
            _check_metadata_value(key, one)
        checked[key] = list(items) if isinstance(item, list | tuple) else item
    return checked


def _check_metadata_value(key: str, value: Scalar) -> None:
    if isinstance(value, int) and value.bit_length() > MAX_INT_BITS:
        raise InvalidInput(f"metadata {show(key)} is a number of {value.bit_length():,} bits; give it as a text")
    if isinstance(value, float) and not math.isfinite(value):
        raise InvalidInput(f"metadata {show(key)} is {value!r}, which JSON cannot hold; give a finite number or None")
    check_unicode("metadata", f"{key}{value}")


def check_filter(value: object, zone: tzinfo = UTC) -> Filter:
    """Check a filter; the result has tuples and aware datetimes, so that an empty filter equals ``Filter()``."""
    if not isinstance(value, Filter):
        raise InvalidInput(f"where is {show(value)}; give a Filter, as in Filter(speakers='Ana')")
    return Filter(
        None if value.speakers is None else _check_names("speakers", value.speakers),
        None if value.sessions is None else _check_names("sessions", value.sessions),
        None if value.sources is None else _check_names("sources", value.sources),
        value.metadata if isinstance(value.metadata, Condition) else dict(value.metadata),
        check_optional_time("after", value.after, zone),
        check_optional_time("before", value.before, zone),
        check_optional_time("recorded_after", value.recorded_after, zone),
        check_optional_time("recorded_before", value.recorded_before, zone),
        check_number("min_trust", value.min_trust, minimum=0, maximum=1),
        _check_names("not_speakers", value.not_speakers),
        _check_names("not_sessions", value.not_sessions),
        _check_names("not_sources", value.not_sources),
    )


def _check_names(field: str, value: object) -> tuple[str, ...]:
    if isinstance(value, str):
        return (check_name(field, value),)
    items = check_items(field, value, "a name or a tuple of names")
    return tuple(check_name(f"one of {field}", name) for name in items)


def check_episode_fields(episode: Episode, zone: tzinfo = UTC) -> tuple[Episode, datetime | None]:
    """Check every field of an episode; return the checked episode and its time, None if it has none."""
    if not isinstance(episode, Episode):
        raise InvalidInput(
            f"an object of type {type(episode).__name__} cannot be remembered; "
            "give a text, an Episode or a chat message, or several"
        )
    text = check_text(episode.text)
    names = {
        field: check_optional_name(field, getattr(episode, field))
        for field in ("id", "speaker", "session", "title", "source", "supersedes")
    }
    time = None if episode.happened_at is None else check_time("happened_at", episode.happened_at, zone)
    trust = check_number("trust", episode.trust, minimum=0, maximum=1)
    metadata = check_metadata(episode.metadata)
    if (episode.id or "").startswith(NODE_PREFIXES):
        raise InvalidInput(
            f"the id {episode.id!r} begins like an id of a name, insight, question, claim or exchange; choose another"
        )
    return Episode(text, **names, happened_at=time, trust=trust, metadata=metadata, media=episode.media), time


def check_recall_options(options: object) -> RecallOptions:
    """Check the options of a recall, but for the media query, which needs the graph."""
    if not isinstance(options, RecallOptions):
        raise InvalidInput(f"options is {show(options)}; give RecallOptions(explain=False)")
    for field in ("retroactive", "explain", "log_access"):
        check_flag(field, getattr(options, field))
    limit = options.rerank_ms
    return replace(options, rerank_ms=None if limit is None else check_number("rerank_ms", limit, above=0))


def check_rerank(rerank: object) -> Rerank:
    """Check when to read."""
    known = ", ".join(repr(choice.value) for choice in Rerank)
    if not isinstance(rerank, str) or rerank not in set(Rerank):
        raise InvalidInput(f"rerank is {show(rerank)}; give one of {known}")
    return Rerank(rerank)


def check_include(include: object) -> frozenset[Include]:
    """Check what a recall returns besides the memories: one name, or several."""
    names = (include,) if isinstance(include, str) else check_items("include", include, "a name or a tuple of names")
    known = ", ".join(repr(choice.value) for choice in Include)
    found = set()
    for name in names:
        if not isinstance(name, str) or name not in set(Include):
            raise InvalidInput(f"include has {show(name)}; give any of {known}")
        found.add(Include(name))
    return frozenset(found)


def check_query(
    question: object, where: object, as_of: object, known_at: object, retroactive: object, *, zone: tzinfo = UTC
) -> tuple[str, Filter, datetime | None, datetime | None]:
    """Check a question, its filter and its times; return all times parsed, also the filter's."""
    checked = (
        check_question(question),
        check_filter(where, zone),
        check_optional_time("as_of", as_of, zone, end_of_period=True),
        check_optional_time("known_at", known_at, zone, end_of_period=True),
    )
    if check_flag("retroactive", retroactive) and as_of is None:
        raise InvalidInput("retroactive=True needs as_of; give as_of, or leave retroactive out")
    return checked


def check_path(field: str, value: object) -> Path:
    """Check the path of a file or folder; ``~`` at the beginning of a str is the home folder, as in a shell."""
    if not isinstance(value, str | Path) or not str(value) or "\0" in str(value):
        raise InvalidInput(f"{field} is {show(value)}; give a path as a str or a Path")
    try:
        str(value).encode("utf-8", "surrogateescape")
    except UnicodeEncodeError as error:
        raise InvalidText(f"{field} is {show(value)}, no name of a file; decode it as os.fsdecode does") from error
    try:
        return Path(value).expanduser() if isinstance(value, str) else value
    except RuntimeError as error:
        raise InvalidInput(f"{field} is {show(value)}, and there is no such home; write ./~ for a file") from error


# ---- functions and components


def check_progress(value: Callable[[int, int], None] | None) -> Callable[[int, int], None] | None:
    """Check a progress function, called with the number of items done and their total, or None."""
    is_valid = value is None or (callable(value) and not isinstance(value, type))
    if is_valid and value is not None:
        try:
            inspect.signature(value).bind(1, 2)
        except TypeError:
            is_valid = False
        except ValueError:  # some built-in functions have no signature
            pass
    if not is_valid:
        raise InvalidInput(f"progress is {show(value)}; give a function of two numbers, (done, total), or None")
    return value


def check_long_call(progress: Callable[[int, int], None] | None, **flags: object) -> Callable[[int, int], None] | None:
    """Check the progress function of a call that may take long, and that its flags are flags."""
    for field, value in flags.items():
        check_flag(field, value)
    return check_progress(progress)


def check_text_file(field: str, value: T) -> T:
    """Check a file opened as text."""
    try:
        value.write("")  # type: ignore[attr-defined]
    except (AttributeError, TypeError) as error:  # TypeError: it takes bytes
        raise InvalidInput(f"{field} is {show(value)}; give a file opened as text, with encoding='utf-8'") from error
    return check_component(field, value, "a file opened as text", "writelines")


def check_component(field: str, value: T, kind: str, *methods: str) -> T:
    """Check that an object, such as an embedder, has the methods of its kind. A class is rejected."""
    if isinstance(value, type):
        raise InvalidInput(f"{field} is the class {value.__name__}; give {kind}, such as {value.__name__}(...)")
    missing = [name for name in methods if not callable(getattr(value, name, None))]
    if missing:
        raise InvalidInput(f"{field} is {show(value)}, which has no method {missing[0]}; give {kind}")
    return value


# ---- media

MAX_MEDIA = 100
"""How many media a memory may have."""
MAX_REFERENCE_CHARS = 4_096
"""Characters of the longest reference."""
MAX_CAPTION_CHARS = 4_000
"""Characters of the longest caption: captions are embedded with the text."""
MAX_DIM = 16_384
"""The most numbers of a vector."""


def check_media(media: object) -> tuple[Media, ...]:
    """Check the media of an episode."""
    if isinstance(media, Mapping | str):
        raise InvalidInput(f"media is {show(media)}; give a tuple of Media objects")
    checked = tuple(_check_medium(one) for one in check_items("media", media, "a tuple of Media objects"))
    if len(checked) > MAX_MEDIA:
        raise InvalidInput(f"{len(checked):,} media are too many for one memory; the limit is {MAX_MEDIA}")
    return checked


def guess_kind(reference: str) -> MediaKind:
    """What a medium is by the ending of its reference; a picture if that says nothing."""
    from mimetypes import MimeTypes  # noqa: PLC0415  # only tools need it

    type_, _ = MimeTypes().guess_type(reference)  # the built-in table, which is the same on every machine
    kinds = {"audio": MediaKind.SOUND, "video": MediaKind.VIDEO, "image": MediaKind.PICTURE, None: MediaKind.PICTURE}
    return kinds.get(type_ and type_.partition("/")[0], MediaKind.OTHER)


def _check_medium(one: object) -> Media:
    if not isinstance(one, Media):
        raise InvalidInput(f"one of media is {show(one)}; give Media('photo.jpg', caption='The beach.')")
    for field, value, limit in (
        ("reference", one.reference, MAX_REFERENCE_CHARS),
        ("caption", one.caption, MAX_CAPTION_CHARS),
    ):
        if not isinstance(value, str):
            raise InvalidText(f"the {field} of a medium is {show(value)}; give a str")
        if len(value) > limit:
            raise InvalidText(f"a {field} of {len(value):,} characters is too long; the limit is {limit:,}")
        check_unicode(field, value)
    if not one.reference.strip():
        raise InvalidText("the reference of a medium is empty; give a URI or path")
    if not isinstance(one.kind, str) or one.kind not in set(MediaKind):
        known = ", ".join(repr(kind.value) for kind in MediaKind)
        raise InvalidInput(f"the kind of a medium is {show(one.kind)}; give one of {known}")
    vector = check_vector(one.vector)
    if bool(vector) is (one.model is None):
        raise InvalidInput("a medium has a vector without a model, or a model without a vector; give both or none")
    model = None if one.model is None else check_name("model", one.model)
    return replace(one, kind=MediaKind(one.kind), vector=vector, model=model)


def check_vector(vector: object) -> tuple[float, ...]:
    """Check the vector of a medium; it is scaled to unit length. Empty means that there is none."""
    if isinstance(vector, str) or not isinstance(vector, Iterable):
        raise InvalidInput(f"vector is {show(vector)}; give a sequence of numbers")
    numbers = list(vector)
    if len(numbers) > MAX_DIM:
        raise InvalidInput(f"a vector of {len(numbers):,} numbers is too long; the limit is {MAX_DIM:,}")
    if not all(isinstance(one, Real) and not isinstance(one, bool) for one in numbers):
        raise InvalidInput("vector has something that is no number; give a sequence of numbers")
    try:
        length = math.hypot(*map(float, numbers))
    except OverflowError:
        length = math.inf
    if numbers and not 0 < length < math.inf:
        problem = "the length 0" if length == 0 else "numbers that are not finite or too large"
        raise InvalidInput(f"vector has {problem}; give it as the embedder returned it")
    return tuple(float(one) / length for one in numbers)


def check_media_query(query: object) -> MediaQuery | None:
    """Check a query by media, or None."""
    if query is None:
        return None
    if not isinstance(query, MediaQuery):
        raise InvalidInput(f"media_query is {show(query)}; give MediaQuery(vector, model='clip')")
    if not (vector := check_vector(query.vector)):
        raise InvalidInput("the vector of media_query is empty; give a sequence of numbers")
    return MediaQuery(vector, check_name("model", query.model))
