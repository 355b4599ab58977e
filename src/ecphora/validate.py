"""Checks of what callers hand in. Each returns the value in the form the package works with.

A check raises ``InvalidInput``, or a subclass of it, whose message names the parameter, what was given and what to give
instead. Checks come before anything is written.
"""

import inspect
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import date, datetime
from numbers import Integral, Real
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from .errors import InvalidInput, InvalidText, InvalidTime
from .language.moments import moment
from .model import Filter, Metadata, NodeId

T = TypeVar("T")

LONGEST = 1_000_000
"""Characters of the longest text that is taken; a book should come as its chapters."""
LONGEST_QUESTION = 20_000
"""Characters of the longest question."""
NAME_LENGTH = 512
"""Characters of the longest id, speaker, session, title or source."""
LARGEST = 2**63 - 1
"""The largest whole number that is told apart from larger ones."""
SHOWN = 60
"""Characters of a value that an error shows."""


def show(value: object) -> str:
    """A value as an error shows it: its repr on one line, shortened and printable anywhere."""
    try:
        text = " ".join(repr(value).encode("utf-8", "backslashreplace").decode().split())
    except Exception:  # noqa: BLE001  # a repr is the caller's code and may raise anything
        text = ""
    if not text or len(text) > 10 * SHOWN:
        return f"a {type(value).__name__}"
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}..."


# ---- texts and names


def check_text(text: object) -> str:
    """Check the text of an episode."""
    if not isinstance(text, str):
        raise InvalidText(f"a text must be a str, not {type(text).__name__}")
    if len(text) > LONGEST:
        raise InvalidText(f"a text of {len(text):,} characters is too long; split it into parts of {LONGEST:,} at most")
    if not text.strip():
        raise InvalidText("the text is empty; give at least one visible character")
    check_unicode("text", text)
    return text


def check_question(text: object) -> str:
    """Check a question as the text of an episode is checked; it may not be as long."""
    question = check_text(text)
    if len(question) > LONGEST_QUESTION:
        raise InvalidText(f"a question of {len(question):,} characters; ask in {LONGEST_QUESTION:,} at most")
    return question


def check_name(field: str, value: object) -> str:
    """Check a name that must be there: of a scope, say."""
    found = check_optional_name(field, value)
    if found is None:
        raise InvalidInput(f"{field} is missing; give a text of 1 to {NAME_LENGTH} characters")
    return found


def check_optional_name(field: str, value: object) -> str | None:
    """Check a name that may be left out: of a speaker, say."""
    if value is None:
        return None
    if not isinstance(value, str) or not value.strip() or len(value) > NAME_LENGTH:
        raise InvalidInput(f"{field} is {show(value)}; give a text of 1 to {NAME_LENGTH} characters, or None")
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
    """Check an id by which a memory is looked up; that none has it is no error."""
    if not isinstance(value, str):
        raise InvalidInput(f"{field} is {show(value)}; give a str, such as hit.id")
    return value


def check_ids(value: object, field: str = "ids") -> list[NodeId]:
    """Check one id or several; the result is a list."""
    if isinstance(value, str):
        return [value]
    several = check_items(field, value, "an id, a str such as hit.id, or a list of them")
    return [check_id(one, f"one of {field}") for one in several]


def check_lines(value: object) -> Iterator[str]:
    """Check the lines of an export while they are read."""
    mend = "the lines of an export: a file opened as text, with encoding='utf-8'"
    if isinstance(value, str):
        raise InvalidInput(f"lines is {show(value)}; give {mend}")
    several = check_items("lines", value, mend)

    def lines() -> Iterator[str]:
        for line in several:
            if not isinstance(line, str):
                raise InvalidInput(f"a line is {show(line)}; give {mend}")
            yield line

    return lines()


def check_items(field: str, value: object, mend: str) -> Iterator[Any]:
    """Check something that holds several things; a mapping and bytes do not count as such."""
    try:
        if isinstance(value, Iterable) and not isinstance(value, Mapping | bytes | bytearray):
            return iter(value)
    except TypeError:  # an array without dimensions has no items
        pass
    raise InvalidInput(f"{field} is {show(value)}; give {mend}")


# ---- numbers


def check_count(field: str, value: object, *, least: int = 1) -> int:
    """Check a whole number of at least ``least``; beyond 2**63 - 1 it counts as that."""
    if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
        raise InvalidInput(f"{field} is {show(value)}; give a whole number of at least {least}")
    return min(int(value), LARGEST)


def check_optional_count(field: str, value: object, *, least: int = 1) -> int | None:
    """Check a whole number of at least ``least``, or None."""
    return None if value is None else check_count(field, value, least=least)


def check_number(
    field: str, value: object, *, least: float = -math.inf, most: float = math.inf, above: float = -math.inf
) -> float:
    """Check a finite number within ``least`` and ``most`` and greater than ``above``."""
    number = math.nan
    if isinstance(value, Real) and not isinstance(value, bool):
        try:
            number = float(value)
        except OverflowError:
            number = math.nan
    if not (math.isfinite(number) and least <= number <= most and number > above):
        wanted = "a number"
        if math.isfinite(least) and math.isfinite(most):
            wanted = f"a number from {least:g} to {most:g}"
        elif math.isfinite(least):
            wanted = f"a number of at least {least:g}"
        elif math.isfinite(above):
            wanted = f"a number above {above:g}"
        raise InvalidInput(f"{field} is {show(value)}; give {wanted}")
    return number


def check_flag(field: str, value: object) -> bool:
    """Check True or False."""
    if isinstance(value, bool | np.bool_):
        return bool(value)
    raise InvalidInput(f"{field} is {show(value)}; give True or False")


# ---- times


def check_time(field: str, value: object, *, end: bool = False) -> datetime:
    """Check a time, as ``moment`` reads it: an ISO 8601 text, a date or a datetime."""
    if not isinstance(value, str | date):
        raise InvalidTime(f"{field} is {show(value)}, which is no date; give 'YYYY-MM-DD', a date or a datetime")
    found = moment(value, end=end)
    if not math.isfinite(found.timestamp()):  # a missing time of pandas is a datetime
        raise InvalidTime(f"{field} is {show(value)}, which is no date; give 'YYYY-MM-DD', or leave it out")
    return found


def check_optional_time(field: str, value: object, *, end: bool = False) -> datetime | None:
    """Check a time, or None."""
    return None if value is None else check_time(field, value, end=end)


def check_clock(value: object) -> Callable[[], datetime]:
    """Check what tells the time; what it tells is checked whenever it is asked."""
    if not callable(value) or isinstance(value, type):
        raise InvalidInput(f"clock is {show(value)}; give a function that takes nothing and tells the time")
    clock: Callable[[], object] = value

    def checked() -> datetime:
        now = clock()
        if not isinstance(now, datetime) or now.utcoffset() is None:
            raise InvalidTime(f"the clock says {show(now)}; let it give a datetime with a zone: datetime.now(UTC)")
        return now

    return checked


# ---- what is made of several values


def check_metadata(value: object) -> Metadata:
    """Check a mapping of texts to plain values that JSON can hold; the result is a dict of its own."""
    if not isinstance(value, Mapping):
        raise InvalidInput(f"metadata is a {type(value).__name__}; give a mapping of names to plain values")
    for key, one in value.items():
        if not isinstance(key, str) or not (one is None or isinstance(one, str | int | float | bool)):
            raise InvalidInput(
                f"metadata {show(key)} is {show(one)}; keys are texts, values texts, numbers, bools or None"
            )
        if isinstance(one, int) and one.bit_length() > 1024:
            raise InvalidInput(f"metadata {show(key)} is a number of {one.bit_length():,} bits; give it as a text")
        if isinstance(one, float) and not math.isfinite(one):
            raise InvalidInput(f"metadata {show(key)} is {one!r}, which JSON cannot hold; give a finite number or None")
        check_unicode("metadata", f"{key}{one}")
    return dict(value)


def check_filter(value: object) -> Filter:
    """Check a filter; the result has tuples of names and datetimes, so that one that filters nothing equals none."""
    if not isinstance(value, Filter):
        raise InvalidInput(f"where is {show(value)}; give a Filter, as in Filter(speakers='Ana')")
    return Filter(
        _names("speakers", value.speakers),
        _names("sessions", value.sessions),
        _names("sources", value.sources),
        check_metadata(value.metadata),
        check_optional_time("after", value.after),
        check_optional_time("before", value.before),
    )


def _names(field: str, value: object) -> tuple[str, ...]:
    if isinstance(value, str):
        return (check_name(field, value),)
    several = check_items(field, value, "a name or a tuple of names")
    return tuple(check_name(f"one of {field}", one) for one in several)


def check_path(field: str, value: object) -> Path:
    """Check a path of a file or folder."""
    if not isinstance(value, str | Path) or not str(value) or "\0" in str(value):
        raise InvalidInput(f"{field} is {show(value)}; give a path as a str or a Path")
    try:
        str(value).encode("utf-8", "surrogateescape")
    except UnicodeEncodeError as error:
        raise InvalidText(
            f"{field} is {show(value)}, which no file can be called; decode it as os.fsdecode does"
        ) from error
    return Path(value)


def check_optional_path(field: str, value: object) -> Path | None:
    """Check a path, or None."""
    return None if value is None else check_path(field, value)


# ---- parts that do something


def check_progress(value: Callable[[int, int], None] | None) -> Callable[[int, int], None] | None:
    """Check a function that is told how many of how many are done, or None."""
    takes = value is None or (callable(value) and not isinstance(value, type))
    if takes and value is not None:
        try:
            inspect.signature(value).bind(1, 2)
        except TypeError:
            takes = False
        except ValueError:  # some built-in functions have no signature
            pass
    if not takes:
        raise InvalidInput(f"progress is {show(value)}; give a function of two numbers, (done, total), or None")
    return value


def check_text_file(field: str, value: T) -> T:
    """Check a file that takes text."""
    try:
        value.write("")  # type: ignore[attr-defined]
    except (AttributeError, TypeError) as error:  # TypeError: it takes bytes
        raise InvalidInput(f"{field} is {show(value)}; give a file opened as text, with encoding='utf-8'") from error
    return check_part(field, value, "a file opened as text", "writelines")


def check_part(field: str, value: T, kind: str, *methods: str) -> T:
    """Check that an object has the methods of its kind: of an embedder, say. A class has them, and is none."""
    if isinstance(value, type):
        raise InvalidInput(f"{field} is the class {value.__name__}; give {kind}, such as {value.__name__}(...)")
    lacks = [name for name in methods if not callable(getattr(value, name, None))]
    if lacks:
        raise InvalidInput(f"{field} is {show(value)}, which has no method {lacks[0]}; give {kind}")
    return value
