"""A lock that a forked child does not inherit."""

import os
from threading import Lock


class ProcessLock:
    """A lock of the process, ``current``. A forked child has its own: the thread that held it does not run there."""

    def __init__(self) -> None:
        self.current = Lock()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._renew)

    def _renew(self) -> None:
        self.current = Lock()
