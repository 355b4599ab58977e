"""The schema of the file: whose the file is, which version it has, and the migrations that bring it up to date."""

import re
from functools import cache
from importlib.resources import files
from pathlib import Path

import apsw

from ..errors import StoreDamaged, StoreReadOnly, StoreTooNew

APPLICATION_ID = 0x65637068  # "ecph" in the file's header


_MADE = re.compile(r"CREATE (?:UNIQUE )?(TABLE|INDEX) (\w+)|(CREATE TRIGGER .*?\bEND\b)", re.DOTALL)
"""What a migration makes: tables and indexes, by name, and triggers, as a whole."""


def check_format(db: apsw.Connection, path: Path) -> None:
    """Raise an error if the database is not a memory, or too new, before anything is written to it."""
    version, owner = int(db.pragma("user_version")), int(db.pragma("application_id"))
    empty = not db.execute("SELECT count(*) FROM sqlite_master").get
    if owner != APPLICATION_ID and (owner or version or not empty):
        raise StoreDamaged(f"{path} is a database of another program; choose another path")
    if version > len(load_migrations()):
        raise StoreTooNew(
            f"{path} has format {version}, this version reads up to {len(load_migrations())}; upgrade ecphora"
        )


def check_schema(db: apsw.Connection, path: Path) -> None:
    """Raise ``StoreDamaged`` for a trigger, view, table or index that no migration makes, before anything is written.

    A trigger would run at every write, and change or copy anything.
    """
    tables, triggers = _known_objects()
    for type_, name, sql in db.execute("SELECT type, name, sql FROM sqlite_master"):
        # The SQL of a table depends on the version of SQLite that changed it; the SQL of a trigger does not.
        is_known = sql in triggers if type_ == "trigger" else (type_, name) in tables
        if not is_known and not str(name).startswith("sqlite_"):
            raise StoreDamaged(
                f"{path} holds the {type_} {name!r}, which is not ecphora's and may run when the file is used: restore "
                f"a copy, or remove it with sqlite3 (DROP {str(type_).upper()})"
            )


@cache
def _known_objects() -> tuple[frozenset[tuple[str, str]], frozenset[str]]:
    """The tables and indexes, and the triggers, of every version: another process may migrate a file that is opened."""
    found = [match for migration in load_migrations() for match in _MADE.findall(migration)]
    tables = frozenset((made.lower(), name) for made, name, _ in found if name)
    return tables, frozenset(trigger for *_, trigger in found if trigger)


def check_migrated(db: apsw.Connection, path: Path) -> None:
    """Raise an error if migrations are missing."""
    if int(db.pragma("user_version")) < len(load_migrations()):
        raise StoreReadOnly(f"{path} needs an upgrade, but is not writable; open it once with write access")


def migrate(db: apsw.Connection) -> bool:
    """Bring the schema up to date; whether it was not."""
    migrations = load_migrations()
    if int(db.pragma("user_version")) >= len(migrations):
        return False
    db.execute("BEGIN IMMEDIATE")  # of several processes that open a new file, one migrates it
    try:
        for number in range(int(db.pragma("user_version")), len(migrations)):
            db.execute(migrations[number]).fetchall()
            db.pragma("user_version", number + 1)
        db.pragma("application_id", APPLICATION_ID)
        db.execute("COMMIT")
    except BaseException:
        if not db.get_autocommit():
            db.execute("ROLLBACK")
        raise
    return True


def load_migrations() -> list[str]:
    """Return the numbered schema changes, oldest first."""
    folder = files(__package__) / "migrations"
    scripts = sorted((script for script in folder.iterdir() if script.name.endswith(".sql")), key=lambda s: s.name)
    return [script.read_text(encoding="utf-8") for script in scripts]
