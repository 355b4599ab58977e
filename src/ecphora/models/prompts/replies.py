"""Parses a language model's reply: finds the JSON in it, repairs it, and checks it against its schema.

Models put JSON into code fences, write before and after it, think aloud, use the wrong quotes, leave trailing commas
and stop in the middle. Replies that can be read beyond doubt are accepted; all others raise ``UnreadableReply``.
"""

import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, TypeVar

from ...errors import InvalidTime, UnreadableReply
from ...model.lazy import lazy_pattern
from ...model.times import read_time
from ...model.types import DEFAULT_IMPORTANCE, Extraction, Mention, MentionType, Relation, RelationType
from . import ANSWER, CLAIMS, EXTRACTION, GRADES, INSIGHT, quoting

E = TypeVar("E", bound=StrEnum)

MAX_REPLY_CHARS = 100_000
"""Characters of a reply that are read."""
MAX_JSON_STARTS = 50
"""Brackets of a reply from which JSON is tried."""
MAX_REPAIR_CHARS = 8_000
"""Characters of a reply that are repaired."""
MAX_BRACKETS = 300
"""A reply with more brackets is not repaired: it repeats itself."""
_THINKING_BLOCK = lazy_pattern(r"<(think|thinking|thought|reasoning)>.*?(?:</\1>|\Z)", re.DOTALL | re.IGNORECASE)
_UNOPENED_THINKING = lazy_pattern(r"\A.*</(?:think|thinking|thought|reasoning)>", re.DOTALL | re.IGNORECASE)
_QUOTES = str.maketrans("“”„‟″«»", '"' * 7)
_ID_WRAPPING = lazy_pattern(r"""(?:id\s*[=:]\s*)?(?:\[(.+)\]|\((.+)\)|"(.+)"|'(.+)'|(.+))""", re.DOTALL)
_DECODER = json.JSONDecoder()


def _optional(schema: Mapping[str, Any], *names: str) -> dict[str, Any]:
    """An object schema in which some members may be missing, and may have any value of their type."""
    properties = {
        name: {"type": [inner["type"], "null"]} if name in names and "items" not in inner else inner
        for name, inner in schema["properties"].items()
    }
    return {**schema, "properties": properties, "required": [one for one in schema["required"] if one not in names]}


_EXTRACTION_LISTS = EXTRACTION.schema["properties"]
_EXTRACTION_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "required": ["mentions"],
    "properties": {
        "mentions": {
            "type": "array",
            "items": _optional(_EXTRACTION_LISTS["mentions"]["items"], "type", "description", "importance"),
        },
        "relations": {"type": ["array", "null"], "items": _optional(_EXTRACTION_LISTS["relations"]["items"], "type")},
    },
}
"""The schema by which a reply is read: the prompt's schema, with fewer required fields."""


@dataclass(frozen=True, slots=True)
class AnswerReply:
    """A reply to the prompt ``answer``: ``ids`` as the model wrote them, not checked."""

    answer: str
    ids: tuple[str, ...]
    is_answered: bool


@dataclass(frozen=True, slots=True)
class ExtractedClaim:
    """One fact of a reply to the prompt ``claims``; ``statement`` counts from 1, ``valid_from`` is the key "from".

    The two times have no offset, unless the reply gives one.
    """

    statement: int
    subject: str
    attribute: str
    value: str
    polarity: bool
    valid_from: datetime | None
    valid_to: datetime | None
    is_single_valued: bool


def parse_answer(text: str) -> AnswerReply:
    """Parse a reply to ``answer``; if "held" is true, "answer" must not be empty."""
    found = parse_json(text, ANSWER.schema)
    answer = quoting.unescape(found["answer"]).strip()
    if found["held"] and not answer:
        raise UnreadableReply('"answer" is empty, though "held" is true')
    return AnswerReply(answer, tuple(found["ids"]), found["held"])


def parse_claims(text: str, statement_count: int) -> tuple[ExtractedClaim, ...]:
    """Parse a reply to ``claims`` about ``statement_count`` statements.

    Facts with another statement number, or without a subject, attribute or value, are left out.
    """
    claims = CLAIMS.schema["properties"]["claims"]
    try:
        facts = parse_json(text, CLAIMS.schema)["claims"]
    except UnreadableReply as error:
        try:  # small models write only the list, or its only member
            facts = parse_json(text, claims) if "[" in text else [parse_json(text, claims["items"])]
        except UnreadableReply:
            raise error from None
    extracted = (
        ExtractedClaim(
            statement=fact["statement"],
            subject=quoting.unescape(fact["subject"]).strip(),
            attribute=quoting.unescape(fact["attribute"]).strip(),
            value=quoting.unescape(fact["value"]).strip(),
            polarity=fact["polarity"],
            valid_from=_parse_date(fact["from"]),
            valid_to=_parse_date(fact["until"]),
            is_single_valued=fact["single"],
        )
        for fact in facts
    )
    return tuple(
        claim
        for claim in extracted
        if 1 <= claim.statement <= statement_count and claim.subject and claim.attribute and claim.value
    )


def parse_extraction(text: str, text_count: int) -> tuple[Extraction, ...]:
    """Parse a reply to ``extraction`` about ``text_count`` texts: an extraction for each, not checked against it.

    As in EcphoryRAG, an unknown type becomes ``other`` and an importance outside 1 to 5 becomes 3; what has another
    text number, or lacks a name, is left out.
    """
    found = parse_json(text, _EXTRACTION_SCHEMA)
    mentions: list[list[Mention]] = [[] for _ in range(text_count)]
    relations: list[list[Relation]] = [[] for _ in range(text_count)]
    for item in found["mentions"]:
        name = quoting.unescape(item["name"]).strip()
        if 1 <= item["text"] <= text_count and name:
            mentions[item["text"] - 1].append(
                Mention(
                    name,
                    type=_enum_member(MentionType, item["type"], MentionType.OTHER),
                    description=quoting.unescape(item["description"] or "").strip(),
                    importance=item["importance"] if item["importance"] in range(1, 6) else DEFAULT_IMPORTANCE,
                )
            )
    for item in found["relations"] or ():
        words = [quoting.unescape(item[key]).strip() for key in ("subject", "predicate", "object")]
        if 1 <= item["text"] <= text_count and all(words):
            type_ = _enum_member(RelationType, item["type"], RelationType.RELATED_TO)
            relations[item["text"] - 1].append(Relation(words[0], words[1], words[2], type_))
    return tuple(Extraction(tuple(mentions[at]), tuple(relations[at])) for at in range(text_count))


def format_extraction(extraction: Extraction) -> str:
    """An extraction of one text in the form of a reply, which ``parse_extraction`` reads back."""
    mentions = [
        {"text": 1, "name": one.name, "type": one.type, "description": one.description, "importance": one.importance}
        for one in extraction.mentions
    ]
    relations = [
        {"text": 1, "subject": one.subject, "predicate": one.predicate, "object": one.object, "type": one.type}
        for one in extraction.relations
    ]
    return json.dumps({"mentions": mentions, "relations": relations})


def _enum_member(members: type[E], value: str | None, default: E) -> E:
    try:
        return members((value or "").strip().lower())
    except ValueError:
        return default


def parse_grades(text: str, passage_count: int) -> tuple[int, ...]:
    """Parse a reply to ``grades`` about ``passage_count`` passages: a grade for each."""
    grades = tuple(parse_json(text, GRADES.schema)["grades"])
    if len(grades) != passage_count:
        raise UnreadableReply(f'"grades" has {len(grades)} grades for {passage_count} passages')
    return grades


def strip_id(id_: str) -> str:
    """Return an id without what models put around it: a pair of brackets or quotes, "id="."""
    found = _ID_WRAPPING.fullmatch(id_.strip())
    return "" if found is None else next(group for group in found.groups() if group)


def parse_insight(text: str) -> str:
    """Parse a reply to ``insight``."""
    insight = quoting.unescape(parse_json(text, INSIGHT.schema)["text"]).strip()
    if not insight:
        raise UnreadableReply('"text" is empty')
    return insight


def parse_json(text: str, schema: Mapping[str, Any]) -> Any:
    """Return the first JSON value of a reply that fits a schema, without members that the schema does not name.

    Of JSON schema it supports ``type`` (one or several), ``properties``, ``required``, ``items`` and ``enum``. A "yes"
    for true, a number in quotes or a single value for a list is converted. Raises ``UnreadableReply``, which says what
    was wrong.
    """
    reply = _strip_thinking(text[:MAX_REPLY_CHARS])
    problem = "it holds no JSON"
    for value in _json_values(reply, list if "array" in _types(schema) else dict):
        try:
            return _fit(value, schema, "the reply")
        except UnreadableReply as error:
            problem = str(error)
    for value in _repaired_values(reply, schema):
        try:
            return _fit(value, schema, "the reply", is_lenient=True)
        except UnreadableReply as error:
            problem = str(error)
    raise UnreadableReply(problem)


def _strip_thinking(text: str) -> str:
    """Return a reply without the model's thinking."""
    return _UNOPENED_THINKING.sub("", _THINKING_BLOCK.sub("", text)).strip()


def _json_values(text: str, kind: type[list[Any]] | type[dict[str, Any]]) -> Iterator[Any]:
    """Yield every valid JSON list or object in a text, outer ones before inner ones."""
    bracket = "[" if kind is list else "{"
    for start in [position for position, char in enumerate(text) if char == bracket][:MAX_JSON_STARTS]:
        try:
            yield _DECODER.raw_decode(text, start)[0]
        except (ValueError, RecursionError):
            continue


def _repaired_values(text: str, schema: Mapping[str, Any]) -> Iterator[Any]:
    """Yield the values that ``json_repair`` reads from a text's first bracket on, as it is and with plain quotes."""
    bracket = "[" if "array" in _types(schema) else "{"
    start = text.find(bracket)
    if start < 0 or text.count(bracket) > MAX_BRACKETS:
        return
    from json_repair import repair_json  # noqa: PLC0415  # costs a twentieth of a second, and is rarely needed

    broken = text[start : start + MAX_REPAIR_CHARS]
    for candidate in dict.fromkeys((broken, broken.translate(_QUOTES))):
        try:
            value = repair_json(candidate, return_objects=True, skip_json_loads=True)
        except (ValueError, RecursionError, IndexError):
            continue
        yield value
        if isinstance(value, list) and bracket == "{":  # several values in a row
            yield from value


def _fit(value: Any, schema: Mapping[str, Any], location: str, *, is_lenient: bool = False) -> Any:
    """Return a value converted to a schema; ``is_lenient`` drops the members of a list that do not fit."""
    kinds = _types(schema)
    if isinstance(value, dict) and "object" in kinds:
        missing = [name for name in schema.get("required", ()) if name not in value and not _is_nullable(schema, name)]
        if missing:
            raise UnreadableReply(f'{location} lacks "{missing[0]}"')
        return {
            name: _fit(value.get(name), inner, f'"{name}"', is_lenient=is_lenient)
            for name, inner in schema.get("properties", {}).items()
            if name in value or _is_nullable(schema, name)
        }
    if "array" in kinds and not isinstance(value, dict):
        items = [] if value is None else value if isinstance(value, list) else [value]
        return list(_fit_items(items, schema.get("items", {}), location, is_lenient=is_lenient))
    found = next((fit for kind in kinds if (fit := _coerce(kind, value)) is not _NO_FIT), _NO_FIT) if kinds else value
    if found is _NO_FIT or ("enum" in schema and found not in schema["enum"]):
        raise UnreadableReply(
            f"{location} is {json.dumps(value, default=str)[:60]}, not {' or '.join(kinds) or 'allowed'}"
        )
    return found


def _fit_items(items: list[Any], schema: Mapping[str, Any], location: str, *, is_lenient: bool) -> Iterator[Any]:
    for number, item in enumerate(items, 1):
        try:
            yield _fit(item, schema, f"member {number} of {location}", is_lenient=is_lenient)
        except UnreadableReply:
            if not is_lenient:
                raise


_NO_FIT = object()
_BOOLEANS = {"true": True, "yes": True, "false": False, "no": False}
_NUMBER = lazy_pattern(r"\s*-?\d{1,15}(?:\.\d+)?\s*")


def _coerce(json_type: str, value: Any) -> Any:
    """Return a value as a schema's type, where that is beyond doubt, else ``_NO_FIT``."""
    word = value.strip().lower() if isinstance(value, str) else None
    number = value if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) else None
    match json_type:
        case "null":
            return None if value is None or word in {"", "null", "none"} else _NO_FIT
        case "boolean":
            return value if isinstance(value, bool) else _BOOLEANS.get(word or "", _NO_FIT)
        case "string" if word is not None or number is not None:
            return str(value)
        case "integer" | "number":
            number = float(word) if word is not None and _NUMBER.fullmatch(word) else number
            if number is not None and (json_type == "number" or number == int(number)):
                return int(number) if json_type == "integer" else float(number)
    return _NO_FIT


def _types(schema: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the types that a schema allows; null first, since a text may mean it too."""
    kinds = schema.get("type", ())
    return tuple(sorted((kinds,) if isinstance(kinds, str) else kinds, key=lambda kind: kind != "null"))


def _is_nullable(schema: Mapping[str, Any], name: str) -> bool:
    """Whether a missing member counts as null."""
    return "null" in _types(schema.get("properties", {}).get(name, {}))


def _parse_date(text: str | None) -> datetime | None:
    """Parse a date as models write it, a year or month as its first day, None for another text; it has no offset."""
    date = (text or "").strip()
    for day in (date, f"{date}-01", f"{date}-01-01"):
        try:
            return read_time(day)
        except InvalidTime:
            continue
    return None
