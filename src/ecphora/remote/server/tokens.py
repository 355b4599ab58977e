"""Access tokens of the servers: who may read or write which scopes of a memory file.

The file ``agent.db-tokens.json`` next to the memory file ``agent.db`` holds the SHA-256 of each token, never the token.
"""

import hashlib
import hmac
import json
import os
import secrets
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime, tzinfo
from enum import StrEnum
from pathlib import Path
from threading import Lock
from typing import Any, ClassVar, Final

from ...errors import InvalidInput, StoreBusy, StoreReadOnly
from ...model.json_form import JsonForm, JsonObject
from ...model.ports import Clock
from ...model.reprs import show
from ...model.times import check_zone, utc_now, zone_name
from ...model.validation import (
    check_items,
    check_name,
    check_optional_name,
    check_optional_time,
    check_path,
    check_time,
)

TOKEN_PREFIX = "ecp_"  # noqa: S105  # not a secret
"""How every token begins, so that scanners for secrets recognize one."""
TOKEN_BYTES = 32
"""The random bytes of a token."""
MAX_TOKEN_CHARS = 128
"""Characters of the longest text that is looked up as a token."""
FILE_SUFFIX = "-tokens.json"
"""What the name of the token file has after the name of the memory file."""
FORMAT_VERSION = 1
"""The version of the token file's format."""
LOCK_SECONDS = 5.0
"""Seconds to wait for another process that changes the token file."""
ALL_SCOPES: Final = "*"
"""The scopes of a token that is for every scope."""


class Right(StrEnum):
    """What a token may do in its scopes: read, write, or administer them; ``ADMIN`` includes the other two."""

    READ = "read"
    WRITE = "write"
    ADMIN = "admin"


ALL_RIGHTS = frozenset(Right)
"""What a program may do that opens the file itself."""


@dataclass(frozen=True, slots=True, repr=False)
class Grant(JsonObject):
    """What a token allows. ``scopes`` are the names of scopes, or ``"*"`` for every scope.

    ``zone`` is where its user is, a name of the tz database; None for the zone of the server.
    """

    json_form: ClassVar = JsonForm(omitted=("sha256",))

    name: str
    sha256: str
    scopes: tuple[str, ...] | str
    rights: tuple[Right, ...]
    created_at: datetime
    expires_at: datetime | None = None
    zone: str | None = None

    @property
    def has_all_scopes(self) -> bool:
        """Whether the token is for every scope, also for scopes that do not exist yet."""
        return self.scopes == ALL_SCOPES

    def has_right(self, right: Right) -> bool:
        """Whether the token has this right in its scopes."""
        return right in self.rights or Right.ADMIN in self.rights

    def has_scope(self, scope: str) -> bool:
        """Whether the token is for this scope."""
        return self.has_all_scopes or scope in self.scopes

    def allows(self, right: Right | str, scope: str) -> bool:
        """Whether the token has this right in this scope."""
        return self.has_scope(scope) and self.has_right(Right(right))

    def is_expired(self, now: datetime) -> bool:
        """Whether the token is not valid any more."""
        return self.expires_at is not None and self.expires_at <= now


class Tokens:
    """The tokens of one memory file. A change of the token file counts from the next call on, in every process.

    A time without an offset is local time of ``zone``, by default the zone of this machine.
    """

    def __init__(self, db: str | Path, *, clock: Clock = utc_now, zone: str | tzinfo | None = None) -> None:
        path = check_path("db", db)
        self.path = path.with_name(path.name + FILE_SUFFIX)
        self._clock = clock
        self._zone = check_zone(zone)
        self._lock = Lock()
        self._stamp: tuple[int, int, int] | None = None
        self._grants: dict[str, Grant] = {}

    def __repr__(self) -> str:
        return f"Tokens({str(self.path)!r})"

    def __getstate__(self) -> dict[str, Any]:
        """What another process gets: the absolute path, and no lock, because it makes one for itself."""
        return {name: value for name, value in vars(self).items() if name != "_lock"} | {"path": self.path.absolute()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _lock=Lock())

    def find(self, token: str) -> Grant | None:
        """The grant of a token; None for an unknown, revoked or expired one.

        A token is looked up by its digest, so the time that it takes says nothing about the tokens that exist. Raises
        ``InvalidInput`` if the token file cannot be read.
        """
        if not isinstance(token, str) or len(token) > MAX_TOKEN_CHARS:
            return None
        digest = _digest(token)
        grant = self._load().get(digest)
        if grant is None or not hmac.compare_digest(grant.sha256, digest) or grant.is_expired(self._clock()):
            return None
        return grant

    def grants(self) -> list[Grant]:
        """Every grant, also the expired ones, sorted by name."""
        return sorted(self._load().values(), key=lambda grant: grant.name)

    def create(
        self,
        name: str,
        *,
        scopes: Iterable[str] | str,
        rights: Iterable[Right | str] = (Right.READ, Right.WRITE),
        expires_at: str | datetime | None = None,
        zone: str | None = None,
    ) -> str:
        """Make a token and return it; it cannot be shown again. ``scopes`` are names, or ``"*"`` for every scope.

        ``zone`` is where the user of the token is, a name of the tz database; None for the zone of the server. Raises
        ``InvalidInput`` for a name that another token has, for a scope, right, time or zone that cannot be used, and if
        the token file cannot be read.
        """
        name, now = check_name("name", name), self._clock()
        expiry = check_optional_time("expires_at", expires_at, self._zone)
        if expiry is not None and expiry <= now:
            raise InvalidInput(f"expires_at is {show(expires_at)}, which is past; give a later time")
        token = TOKEN_PREFIX + secrets.token_urlsafe(TOKEN_BYTES)
        place = None if zone is None else zone_name(check_zone(zone))
        grant = Grant(name, _digest(token), _check_scopes(scopes), _check_rights(rights), now, expiry, place)
        with self._exclusive():
            grants = self._load()
            if any(one.name == name for one in grants.values()):
                raise InvalidInput(f"there is a token {show(name)} already; revoke it first, or choose another name")
            self._write([*grants.values(), grant])
        return token

    def revoke(self, name: str) -> Grant:
        """Delete a token by its name; it is refused from now on. Raises ``InvalidInput`` if there is none."""
        name = check_name("name", name)
        with self._exclusive():
            grants = list(self._load().values())
            revoked = next((grant for grant in grants if grant.name == name), None)
            if revoked is None:
                raise InvalidInput(f"there is no token {show(name)}; ecphora token list shows those there are")
            self._write([grant for grant in grants if grant.name != name])
        return revoked

    def _load(self) -> dict[str, Grant]:
        """The grants by their digests; the file is read again if it has changed."""
        with self._lock:
            try:
                status = self.path.stat()
            except FileNotFoundError:
                self._stamp, self._grants = None, {}
                return self._grants
            except OSError as error:
                raise InvalidInput(f"the token file {self.path} cannot be read ({error})") from error
            stamp = (status.st_ino, status.st_mtime_ns, status.st_size)
            if stamp != self._stamp:
                self._grants = {grant.sha256: grant for grant in _read(self.path)}
                self._stamp = stamp
            return self._grants

    def _write(self, grants: Iterable[Grant]) -> None:
        """Replace the file whole, by way of the lock file, which is deleted by the renaming."""
        entries = [{**grant.to_dict(), "sha256": grant.sha256} for grant in grants]
        text = json.dumps({"version": FORMAT_VERSION, "tokens": entries}, ensure_ascii=False, indent=2) + "\n"
        with self._lock_path.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        self._lock_path.replace(self.path)

    @property
    def _lock_path(self) -> Path:
        return self.path.with_name(self.path.name + ".new")

    @contextmanager
    def _exclusive(self) -> Iterator[None]:
        """Keep other processes from changing the file: whoever creates the new file may write it."""
        deadline = time.monotonic() + LOCK_SECONDS
        while True:
            try:
                os.close(os.open(self._lock_path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
                break
            except FileExistsError:
                if time.monotonic() >= deadline:
                    raise StoreBusy(
                        f"another process is changing the tokens; if none is, delete {self._lock_path}"
                    ) from None
                time.sleep(0.02)
            except OSError as error:
                raise StoreReadOnly(f"the token file {self.path} cannot be written ({error})") from error
        try:
            yield
        except BaseException:  # in the other case the renaming has freed the name, and another process may have it
            with suppress(FileNotFoundError):
                self._lock_path.unlink()
            raise


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def _check_scopes(scopes: object) -> tuple[str, ...] | str:
    if scopes == ALL_SCOPES:
        return ALL_SCOPES
    if isinstance(scopes, str):
        raise InvalidInput(f"scopes is {show(scopes)}; give a list of names, or '*' for every scope")
    names = tuple(dict.fromkeys(check_name("a scope", name) for name in check_items("scopes", scopes, "names")))
    if not names:
        raise InvalidInput("the token is for no scope; give at least one name, or '*' for every scope")
    return names


def _check_rights(rights: object) -> tuple[Right, ...]:
    known = ", ".join(repr(right.value) for right in Right)
    items = [rights] if isinstance(rights, str) else list(check_items("rights", rights, f"some of {known}"))
    if not items or not all(isinstance(item, str) and item in set(Right) for item in items):
        raise InvalidInput(f"rights is {show(rights)}; give some of {known}")
    return tuple(right for right in Right if right in items)


def _read(path: Path) -> list[Grant]:
    """The grants of a token file; raises ``InvalidInput`` for a file that cannot be read."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        if content["version"] != FORMAT_VERSION:
            raise InvalidInput(f"version {show(content['version'])} was written by another version of Ecphora")
        return [_parse_grant(entry) for entry in content["tokens"]]
    except (OSError, ValueError, TypeError, KeyError, RecursionError) as error:
        reason = f"{error!r} is missing" if isinstance(error, KeyError) else str(error)
        raise InvalidInput(
            f"the token file {path} cannot be read ({reason}); restore it, or delete it and create new tokens"
        ) from error


def _parse_grant(entry: dict[str, Any]) -> Grant:
    digest = entry["sha256"]
    if not isinstance(digest, str) or len(digest) != hashlib.sha256().digest_size * 2 or not digest.isascii():
        raise InvalidInput(f"sha256 is {show(digest)}")
    return Grant(
        check_name("name", entry["name"]),
        digest,
        _check_scopes(entry["scopes"]),
        _check_rights(entry["rights"]),
        check_time("created_at", entry["created_at"]),
        check_optional_time("expires_at", entry["expires_at"]),
        check_optional_name("zone", entry.get("zone")),
    )
