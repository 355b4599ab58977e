"""How a model's reply is read: found in whatever stands around it, mended, and held against its schema.

Models put JSON into code fences, talk before and after it, think aloud, quote with the wrong marks, leave commas behind
and stop in the middle. What can be read beyond doubt is read; all else raises ``UnreadableReply``.
"""

import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from ..errors import InvalidTime, UnreadableReply
from ..language.moments import moment
from ..patterns import lazy_pattern
from . import ANSWER, CLAIMS, INSIGHT, MERGE, render

LONGEST = 100_000
"""Characters of a reply that are looked at."""
STARTS = 50
"""Brackets of a reply at which JSON is looked for."""
MENDED = 8_000
"""Characters of a reply that are mended."""
NESTED = 300
"""Brackets beyond which a reply is not mended: it repeats itself."""
_THOUGHT = lazy_pattern(r"<(think|thinking|thought|reasoning)>.*?(?:</\1>|\Z)", re.DOTALL | re.IGNORECASE)
_UNOPENED = lazy_pattern(r"\A.*</(?:think|thinking|thought|reasoning)>", re.DOTALL | re.IGNORECASE)
_QUOTES = str.maketrans("“”„‟″«»", '"' * 7)
_AROUND = lazy_pattern(r"""(?:id\s*[=:]\s*)?(?:\[(.+)\]|\((.+)\)|"(.+)"|'(.+)'|(.+))""", re.DOTALL)
_DECODER = json.JSONDecoder()


@dataclass(frozen=True, slots=True)
class Answered:
    """A reply to the prompts ``answer`` and ``talk``: ``ids`` as the model wrote them, true or not."""

    answer: str
    ids: tuple[str, ...]
    held: bool


@dataclass(frozen=True, slots=True)
class Claimed:
    """One fact of a reply to the prompt ``claims``; ``statement`` counts from 1, ``since`` is the schema's "from"."""

    statement: int
    subject: str
    attribute: str
    value: str
    polarity: bool
    since: datetime | None
    until: datetime | None
    single: bool


@dataclass(frozen=True, slots=True)
class Same:
    """A reply to the prompt ``merge``."""

    same: bool
    because: str


def answered(text: str) -> Answered:
    """Read a reply to ``answer`` or ``talk``; one that says it is held must say what."""
    found = read(text, ANSWER.schema)
    said = render.plain(found["answer"]).strip()
    if found["held"] and not said:
        raise UnreadableReply('"answer" is empty, though "held" is true')
    return Answered(said, tuple(found["ids"]), found["held"])


def claimed(text: str, count: int) -> tuple[Claimed, ...]:
    """Read a reply to ``claims`` about ``count`` statements; facts of no statement, or of no words, are left out."""
    claims = CLAIMS.schema["properties"]["claims"]
    try:
        facts = read(text, CLAIMS.schema)["claims"]
    except UnreadableReply as error:
        try:  # smaller models write the list alone, or its only member
            facts = read(text, claims) if "[" in text else [read(text, claims["items"])]
        except UnreadableReply:
            raise error from None
    found = (
        Claimed(
            statement=fact["statement"],
            subject=render.plain(fact["subject"]).strip(),
            attribute=render.plain(fact["attribute"]).strip(),
            value=render.plain(fact["value"]).strip(),
            polarity=fact["polarity"],
            since=_moment(fact["from"]),
            until=_moment(fact["until"]),
            single=fact["single"],
        )
        for fact in facts
    )
    return tuple(one for one in found if 1 <= one.statement <= count and one.subject and one.attribute and one.value)


def bare(id_: str) -> str:
    """An id without what models put around a whole one: a pair of brackets or quotes, "id="."""
    found = _AROUND.fullmatch(id_.strip())
    return "" if found is None else next(group for group in found.groups() if group)


def told(text: str) -> str:
    """Read a reply to ``insight``."""
    said = render.plain(read(text, INSIGHT.schema)["text"]).strip()
    if not said:
        raise UnreadableReply('"text" is empty')
    return said


def same(text: str) -> Same:
    """Read a reply to ``merge``."""
    found = read(text, MERGE.schema)
    return Same(found["same"], render.plain(found["because"]).strip())


def read(text: str, schema: Mapping[str, Any]) -> Any:
    """The first JSON value of a reply that has the form of a schema, without what the schema does not name.

    Of JSON schema it knows ``type`` (one or several), ``properties``, ``required``, ``items`` and ``enum``. A yes in
    words, a number in quotes or a lone value for a list is taken for what it means. Raises ``UnreadableReply``, which
    says what was wrong.
    """
    said = _unthought(text[:LONGEST])
    problem = "it holds no JSON"
    for value in _values(said, list if "array" in _types(schema) else dict):
        try:
            return _fitted(value, schema, "the reply")
        except UnreadableReply as error:
            problem = str(error)
    for value in _mended(said, schema):
        try:
            return _fitted(value, schema, "the reply", lenient=True)
        except UnreadableReply as error:
            problem = str(error)
    raise UnreadableReply(problem)


def _unthought(text: str) -> str:
    """A reply without what the model thought aloud."""
    return _UNOPENED.sub("", _THOUGHT.sub("", text)).strip()


def _values(said: str, kind: type[list[Any]] | type[dict[str, Any]]) -> Iterator[Any]:
    """Every JSON list or object that stands in a text as it is, the outer before the inner ones."""
    bracket = "[" if kind is list else "{"
    for start in [place for place, letter in enumerate(said) if letter == bracket][:STARTS]:
        try:
            yield _DECODER.raw_decode(said, start)[0]
        except (ValueError, RecursionError):
            continue


def _mended(said: str, schema: Mapping[str, Any]) -> Iterator[Any]:
    """What a library for broken JSON makes of a text from its first bracket on, as it is and with plain quotes."""
    bracket = "[" if "array" in _types(schema) else "{"
    start = said.find(bracket)
    if start < 0 or said.count(bracket) > NESTED:
        return
    from json_repair import repair_json  # noqa: PLC0415  # costs a twentieth of a second, and is rarely needed

    broken = said[start : start + MENDED]
    for one in dict.fromkeys((broken, broken.translate(_QUOTES))):
        try:
            value = repair_json(one, return_objects=True, skip_json_loads=True)
        except (ValueError, RecursionError, IndexError):
            continue
        yield value
        if isinstance(value, list) and bracket == "{":  # several values in a row
            yield from value


def _fitted(value: Any, schema: Mapping[str, Any], place: str, *, lenient: bool = False) -> Any:
    """A value in the form of a schema; ``lenient`` drops the members of a list that do not fit."""
    kinds = _types(schema)
    if isinstance(value, dict) and "object" in kinds:
        missing = [name for name in schema.get("required", ()) if name not in value and not _may_lack(schema, name)]
        if missing:
            raise UnreadableReply(f'{place} lacks "{missing[0]}"')
        return {
            name: _fitted(value.get(name), inner, f'"{name}"', lenient=lenient)
            for name, inner in schema.get("properties", {}).items()
            if name in value or _may_lack(schema, name)
        }
    if "array" in kinds and not isinstance(value, dict):
        items = [] if value is None else value if isinstance(value, list) else [value]
        return list(_members(items, schema.get("items", {}), place, lenient=lenient))
    found = next((fit for kind in kinds if (fit := _as(kind, value)) is not _UNFIT), _UNFIT) if kinds else value
    if found is _UNFIT or ("enum" in schema and found not in schema["enum"]):
        raise UnreadableReply(
            f"{place} is {json.dumps(value, default=str)[:60]}, not {' or '.join(kinds) or 'allowed'}"
        )
    return found


def _members(items: list[Any], schema: Mapping[str, Any], place: str, *, lenient: bool) -> Iterator[Any]:
    for number, item in enumerate(items, 1):
        try:
            yield _fitted(item, schema, f"member {number} of {place}", lenient=lenient)
        except UnreadableReply:
            if not lenient:
                raise


_UNFIT = object()
_YES = {"true": True, "yes": True, "false": False, "no": False}
_NUMBER = lazy_pattern(r"\s*-?\d{1,15}(?:\.\d+)?\s*")


def _as(kind: str, value: Any) -> Any:
    """A value as a schema's type, where it beyond doubt means one, else ``_UNFIT``."""
    said = value.strip().lower() if isinstance(value, str) else None
    number = value if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) else None
    match kind:
        case "null":
            return None if value is None or said in {"", "null", "none"} else _UNFIT
        case "boolean":
            return value if isinstance(value, bool) else _YES.get(said or "", _UNFIT)
        case "string" if said is not None or number is not None:
            return str(value)
        case "integer" | "number":
            number = float(said) if said is not None and _NUMBER.fullmatch(said) else number
            if number is not None and (kind == "number" or number == int(number)):
                return int(number) if kind == "integer" else float(number)
    return _UNFIT


def _types(schema: Mapping[str, Any]) -> tuple[str, ...]:
    """The types a schema allows; null first, since a text may say it too."""
    kinds = schema.get("type", ())
    return tuple(sorted((kinds,) if isinstance(kinds, str) else kinds, key=lambda kind: kind != "null"))


def _may_lack(schema: Mapping[str, Any], name: str) -> bool:
    """Whether a member that is not there can be taken for null."""
    return "null" in _types(schema.get("properties", {}).get(name, {}))


def _moment(text: str | None) -> datetime | None:
    """A date as models write it, a year or month as its first day; None where it is none."""
    said = (text or "").strip()
    for day in (said, f"{said}-01", f"{said}-01-01"):
        try:
            return moment(day)
        except InvalidTime:
            continue
    return None
