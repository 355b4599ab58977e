"""The URLs of PostgreSQL databases."""

import re

SCHEMES = ("postgresql://", "postgres://")
_PARTS = re.compile(r"(\w+://)(?:([^:@/]*)(:?)[^@/]*@)?(.*)", re.DOTALL)


def is_postgres_url(location: object) -> bool:
    """Whether a location is the URL of a PostgreSQL database."""
    return isinstance(location, str) and location.startswith(SCHEMES)


def hide_password(url: str) -> str:
    """A URL as messages show it, without the password and the parameters, which may hold one."""
    found = _PARTS.fullmatch(url)
    scheme, user, password, place = found.groups() if found else ("", None, "", "@")
    if "@" in place:  # of a password with "@" or "/" that was not escaped
        return f"{scheme}***"
    return f"{scheme}{'' if user is None else f'{user}:***@' if password else f'{user}@'}{place.partition('?')[0]}"


def database_name(url: str) -> str:
    """What tells a database from others, as a file's name: its hosts and its name."""
    place = hide_password(url).partition("://")[2].rpartition("@")[2]
    return "".join(letter if letter.isalnum() or letter in ".-" else "_" for letter in place) or "local"
