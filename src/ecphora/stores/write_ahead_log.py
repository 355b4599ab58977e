"""Empties the write-ahead log of a file, so that it keeps no copy of what was deleted."""

import apsw

MAX_TRUNCATION_SECONDS = 1.0
"""How long to wait for other connections that read until the log can be emptied."""
TRUNCATION_POLL_SECONDS = 0.02
"""Seconds between two tries to empty the log."""


def try_truncate(db: apsw.Connection, busy_timeout_ms: int) -> bool:
    """Move the log into the file and empty it; False at once if another connection is reading.

    ``busy_timeout_ms`` is the busy timeout of the connection, which it has again afterwards.
    """
    db.set_busy_timeout(0)
    try:
        db.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
    except apsw.BusyError:
        return False
    finally:
        db.set_busy_timeout(busy_timeout_ms)
    return True
