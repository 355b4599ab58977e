"""Reads identifiers of places: paths, files, addresses of the web, of mail and of machines; None for what is none."""

import re
from collections.abc import Sequence

from ...model.lazy import lazy_pattern
from .shapes import LETTERS
from .values import Identifier, IdentifierKind, Place, distinct

MAX_PARTS = 8
"""The most parts of a path by which it may be asked for."""
_TRAILING = ".,;:!?'\"*_~"
_BRACKETS = {")": "(", "]": "[", "}": "{", ">": "<"}
_ESCAPES = lazy_pattern(r"(?:%[0-9A-Fa-f]{2})+")
_LINE = lazy_pattern(r"(?::\d+){1,2}\Z|\(\d+(?:,\d+)?\)\Z|#L\d+\Z")
_SIGNS_OF_CODE = lazy_pattern(r"\d|_|[a-z][A-Z]")
_EXTENSION = lazy_pattern(rf"[{LETTERS}0-9_)-]{{2,}}\.[A-Za-z][A-Za-z0-9]{{0,7}}\Z|\.[a-z]\w{{2,30}}\Z")


def read_url(place: Place) -> Identifier | None:
    """The identifier of an address of the web; its host and the last part of its path may be asked for alone."""
    text = _without_trailing(place.part)
    scheme, mark, rest = text.rpartition("://") if text.count("://") == 1 else ("", "", text.split("://", 1)[-1])
    value = _unescape(rest).casefold().removeprefix("www.")
    value = re.sub(r":(?:80|443)(?=[/?#]|\Z)", "", value).rstrip("/")
    host, _, path = value.partition("/")
    if "." not in host and ":" not in host and (scheme or not mark) and not re.match(r"[a-z0-9.-]+\Z", host):
        return None
    base = re.split(r"[?#]", value, maxsplit=1)[0].rstrip("/")
    segments = [part for part in re.split(r"[?#]", path)[0].split("/") if part]
    last = [part for part in segments[-1:] if len(part) >= 3]
    short_forms = (base,) if base != value else ()
    return Identifier(
        IdentifierKind.URL, text, value, parts=distinct((base, host, host.split(":")[0], *last), value),
        short_forms=short_forms,
    )  # fmt: skip


def read_email(place: Place) -> Identifier:
    """The identifier of an e-mail address; its domain may be asked for alone."""
    text = _without_trailing(place.part)
    value = text.casefold()
    return Identifier(IdentifierKind.EMAIL, text, value, parts=(value.rpartition("@")[2],))


def read_address(place: Place) -> Identifier | None:
    """The identifier of an IP or MAC address; without its port or its mask it may be asked for."""
    text = place.part
    value = text.casefold()
    if "." not in value:
        is_mac = len(value) == 17 and value.count(":") + value.count("-") == 5
        if is_mac:
            return Identifier(IdentifierKind.ADDRESS, text, value.replace("-", ":"))
        has_digit = re.search(r"\d", value) is not None
        groups = [group.lstrip("0") or "0" for group in value.split(":")]
        return Identifier(IdentifierKind.ADDRESS, text, ":".join(groups)) if has_digit else None
    host, port = re.match(r"([\d.]+)(.*)\Z", value).groups()  # type: ignore[union-attr]  # it has digits and dots
    if any(int(part) > 255 for part in host.split(".")):
        return None
    parts = (host, port[1:])[: 2 if port.startswith(":") else 1] if port else ()
    return Identifier(IdentifierKind.ADDRESS, text, value, parts=parts)


def read_path(place: Place) -> Identifier | None:
    """The identifier of a path with slashes or backslashes; its file name and its last folders may be asked for."""
    text = _without_trailing(place.part)
    line = _LINE.search(text)
    value = _unescape(re.sub(r"\\+", "/", text[: line.start()] if line else text)).casefold()
    value = re.sub(r"\A(?:\./)+", "", value).rstrip("/")
    pieces = [piece for piece in value.split("/") if piece]
    if not pieces or not _is_path(text[: line.start()] if line else text, pieces):
        return None
    tails = ["/".join(pieces[place:]) for place in range(max(1, len(pieces) - MAX_PARTS), len(pieces))]
    names = distinct((*tails, value.lstrip("/")), "")
    if line is None:
        return Identifier(IdentifierKind.PATH, text, value, parts=distinct(names, value), short_forms=tuple(tails[-1:]))
    with_line = value + ":" + ":".join(re.findall(r"\d+", line[0]))
    parts = distinct((value, f"{value}:{re.findall(r'[0-9]+', line[0])[0]}", *names), with_line)
    return Identifier(IdentifierKind.PATH, text, with_line, parts=parts, short_forms=distinct((value, *tails[-1:]), ""))


def read_dotted(place: Place) -> Identifier | None:
    """The identifier of a file name, a host or a dotted name; None for two sentences without a space between them."""
    text = place.part
    parts = text.split(".")
    if parts[0].isdigit() and all(part.isdigit() for part in parts):
        return None
    letters = [part for part in parts if not part.isdigit()]
    if (
        all(len(part) == 1 for part in letters)
        or len(parts[0]) == 1
        or (len(parts) == 2 and len(parts[0]) < 3 > len(parts[1]))
    ):
        return None  # U.S.A, p.m
    if len(parts) == 2 and parts[1].isdigit():
        return None  # op.370
    if len(parts) == 2 and parts[1][:1].isupper() and not parts[1].isupper() and not _SIGNS_OF_CODE.search(text):
        return None
    if re.fullmatch(r"\d+[-.\d]*[a-zA-Z]{1,4}", text) or parts[0].casefold() in {
        "no",
        "nr",
        "vol",
        "pp",
        "fig",
        "sec",
        "ch",
    }:
        return None
    value = text.casefold()
    is_file = re.fullmatch(r"[A-Za-z][A-Za-z0-9]{0,4}", parts[-1]) is not None and len(parts) == 2
    kind = IdentifierKind.PATH if is_file else IdentifierKind.NAME
    return Identifier(
        kind,
        text,
        value,
        parts=distinct((parts[-1].casefold(), ".".join(parts[-2:]).casefold()), value) if not is_file else (),
    )


def _is_path(text: str, pieces: Sequence[str]) -> bool:
    """Whether a text with slashes is a path, and not "and/or" or "km/h"."""
    if text.startswith(("/", "~", "./", "../", "$", "%", "\\")) or re.match(r"[A-Za-z]:\\", text):
        return any(re.search(rf"[{LETTERS}]", piece) for piece in pieces) and len(text) > 2
    if not any(re.search(rf"[{LETTERS}]{{2}}", piece) for piece in pieces):
        return False
    if "\\" in text:
        return len(pieces) > 1
    last = text.rstrip("/").rpartition("/")[2]
    return _EXTENSION.search(last) is not None or (len(pieces) > 2 and "_" in text)


def _unescape(text: str) -> str:
    """A text without percent escapes."""
    return _ESCAPES.sub(lambda match: bytes.fromhex(match[0].replace("%", "")).decode("utf-8", "replace"), text)


def _without_trailing(text: str) -> str:
    """A text without the punctuation that follows it in a sentence."""
    while text and (
        text[-1] in _TRAILING or (text[-1] in _BRACKETS and text.count(text[-1]) > text.count(_BRACKETS[text[-1]]))
    ):
        text = text[:-1]
    return text
