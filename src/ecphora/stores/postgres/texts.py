"""Texts with the character NUL, which PostgreSQL cannot keep: it is stored as two others.

NUL becomes DLE and ``N``, and DLE itself, which no text has in practice, DLE and ``P``. Ids are escaped in the same
way, so that they are found.
"""

from typing import Any

import psycopg
from psycopg.types.string import StrDumperUnknown, TextBinaryLoader, TextLoader

_ESCAPE = "\x10"


def escape(text: str) -> str:
    """A text as it is stored."""
    return text.replace(_ESCAPE, f"{_ESCAPE}P").replace("\x00", f"{_ESCAPE}N")


def unescape(text: str) -> str:
    """A stored text as it was."""
    return text.replace(f"{_ESCAPE}N", "\x00").replace(f"{_ESCAPE}P", _ESCAPE)


class _Dumper(StrDumperUnknown):
    def dump(self, obj: str) -> Any:
        try:
            return super().dump(escape(obj) if _ESCAPE in obj or "\x00" in obj else obj)
        except UnicodeEncodeError as error:
            raise psycopg.DataError(f"it holds a lone surrogate at character {error.start}") from error


class _Loader(TextLoader):
    def load(self, data: Any) -> Any:
        text = str(super().load(data))
        return unescape(text) if _ESCAPE in text else text


class _BinaryLoader(TextBinaryLoader):
    def load(self, data: Any) -> Any:
        text = str(super().load(data))
        return unescape(text) if _ESCAPE in text else text


def register(connection: "psycopg.Connection") -> None:
    """Escape the texts that a connection writes, and unescape the texts that it reads."""
    connection.adapters.register_dumper(str, _Dumper)
    for loader in (_Loader, _BinaryLoader):
        connection.adapters.register_loader("text", loader)
