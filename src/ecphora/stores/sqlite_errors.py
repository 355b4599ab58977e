"""Translation of SQLite's errors into those of the package."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw

from ..errors import EcphoraError, StoreBusy, StoreDamaged, StoreError, StoreFull, StoreReadOnly


@contextmanager
def translate_errors(path: Path) -> Iterator[None]:
    """Translate the errors of SQLite and the system about a file; each message says how to fix it."""
    try:
        yield
    except EcphoraError:
        raise
    except (ValueError, KeyError) as error:
        raise StoreDamaged(
            f"{path} holds a row that cannot be read ({error}); run ecphora doctor, or restore a copy"
        ) from error
    except (apsw.BusyError, apsw.LockedError) as error:
        raise StoreBusy(f"{path} is locked by another process; close it there, or try again") from error
    except apsw.FullError as error:
        raise StoreFull(f"no space left for {path}; free some space: what was acknowledged is safe") from error
    except (apsw.ReadOnlyError, apsw.PermissionsError, apsw.CantOpenError, apsw.AuthError) as error:
        raise StoreReadOnly(f"{path} cannot be opened or written ({error}); check path and rights") from error
    except (apsw.NotADBError, apsw.CorruptError) as error:
        raise StoreDamaged(f"{path} is damaged or not a memory ({error}); restore a copy or an export") from error
    except apsw.Error as error:
        raise StoreError(f"{path}: {error}") from error
    except OSError as error:
        raise StoreReadOnly(f"{path} cannot be opened or created ({error}); check path and rights") from error
