"""What an error of PostgreSQL means for a memory: tried again, or said with its mend."""

import psycopg
from psycopg import errors

from ...errors import (
    EcphoraError,
    InvalidText,
    StoreBusy,
    StoreDamaged,
    StoreError,
    StoreFull,
    StoreReadOnly,
)

_RETRIED = ("08", "57P", "40001", "40P01", "53300")
"""The SQL states after which a call is tried again: lost, shut down, in conflict, too many connections."""
_MEANINGS: tuple[tuple[type[psycopg.Error], type[EcphoraError], str], ...] = (
    (errors.LockNotAvailable, StoreBusy, "{place} is busy: another process writes to this scope; try again"),
    (errors.ReadOnlySqlTransaction, StoreReadOnly, "{place} takes no writes ({reason}); give the primary's address"),
    (
        errors.InsufficientPrivilege,
        StoreReadOnly,
        "{place}: {reason}; have the owner of its tables run: ecphora postgres --db URL --grant ROLE",
    ),
    (errors.DiskFull, StoreFull, "no space left for {place}; free some space: what was acknowledged is safe"),
    (errors.DataCorrupted, StoreDamaged, "{place} is damaged ({reason}); restore a backup or promote a replica"),
    (errors.IndexCorrupted, StoreDamaged, "{place} is damaged ({reason}); restore a backup or promote a replica"),
    (psycopg.DataError, InvalidText, "PostgreSQL cannot keep this text ({reason}); remove the character"),
    (psycopg.OperationalError, StoreError, "{place}: {reason}; check the address, the user and the server"),
    (psycopg.Error, StoreError, "{place}: {reason}"),
)
"""The errors of the driver, each before its base class."""


def first_line(error: psycopg.Error) -> str:
    """The first line of what PostgreSQL says."""
    return str(error).strip().split("\n", maxsplit=1)[0]


def translate_error(error: psycopg.Error, place: str) -> EcphoraError:
    """The error that says what to do."""
    meaning, message = next((found, text) for kind, found, text in _MEANINGS if isinstance(error, kind))
    return meaning(message.format(place=place, reason=first_line(error)))


def is_lost(error: psycopg.Error) -> bool:
    """Whether a call failed for the connection's or the moment's sake, and may succeed on another connection."""
    if error.sqlstate is None:
        return isinstance(error, psycopg.OperationalError | psycopg.InterfaceError)
    return error.sqlstate.startswith(_RETRIED)
