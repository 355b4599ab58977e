"""A store that lasts as long as it is open."""

import os
import shutil
import tempfile
import weakref
from pathlib import Path

from ..reprs import call_repr
from .sqlite import SQLiteStore


class TemporaryStore(SQLiteStore):
    """A store in a file of a folder of its own, which is deleted when the store is closed or the process ends."""

    def __init__(self) -> None:
        folder = tempfile.mkdtemp(prefix="ecphora-")
        self._delete_folder = weakref.finalize(self, _delete_of_process, folder, os.getpid())
        super().__init__(Path(folder) / "memory.db")

    def __repr__(self) -> str:
        return call_repr("TemporaryStore")

    def close(self) -> None:
        """Close the file and delete it; closing twice is harmless."""
        super().close()
        self._delete_folder()


def _delete_of_process(folder: str, process: int) -> None:
    """Delete a folder if this process made it; a forked child leaves it to its parent."""
    if os.getpid() == process:
        shutil.rmtree(folder, ignore_errors=True)
