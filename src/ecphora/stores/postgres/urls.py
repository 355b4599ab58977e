"""The URLs of PostgreSQL databases."""

from urllib.parse import urlsplit

SCHEMES = ("postgresql://", "postgres://")


def is_postgres_url(location: object) -> bool:
    """Whether a location is the URL of a PostgreSQL database."""
    return isinstance(location, str) and location.startswith(SCHEMES)


def hide_password(url: str) -> str:
    """A URL as messages show it, without the password and the parameters, which may hold one."""
    head, at, tail = url.partition("?")[0].rpartition("@")
    password = head.removeprefix(f"{urlsplit(url).scheme}://").partition(":")[1]
    return f"{head.rpartition(':')[0]}:***{at}{tail}" if password else f"{head}{at}{tail}"


def database_name(url: str) -> str:
    """What tells a database from others, as a file's name: its hosts and its name."""
    place = url.partition("?")[0].partition("://")[2].rpartition("@")[2]
    return "".join(letter if letter.isalnum() or letter in ".-" else "_" for letter in place) or "local"
