"""Examine a memory's file, say what is wrong with it and how it is mended, and mend it if asked."""

import os
import stat
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

import numpy as np

from . import encode
from .errors import EcphoraError, EmbedderError, InvalidInput, StoreDamaged, StoreError, StoreReadOnly, UnknownName
from .model import Change, Reading
from .ports import Embedder
from .stores.repair import Format, Kept, Repair, file_format

LARGE_LOG = 64 * 1024 * 1024
"""Bytes from which a write-ahead log is called left over; SQLite empties it at 4 MB when nobody is in the way."""
OTHERS = 0o077
"""The rights of anybody but the owner."""
BATCH = 512
"""Texts embedded and committed together."""
SHOWN = 20
"""Rows that are named one by one."""
FIX = "ecphora doctor --fix"
COPY = "restore a copy, or import an export into a new file"


class Severity(StrEnum):
    """How bad a finding is: a note costs nothing, a warning costs quality or privacy, an error costs memories."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that is not as it should be; ``mend`` says what to do, ``fixed`` that it was done."""

    severity: Severity
    what: str
    mend: str
    fixed: bool = False


@dataclass(frozen=True, slots=True)
class Report:
    """What an examination found, worst first, and over how much it went."""

    path: Path
    findings: tuple[Finding, ...]
    scopes: int = 0
    texts: int = 0

    @property
    def sound(self) -> bool:
        """Whether nothing is left to mend."""
        return all(finding.fixed or finding.severity == Severity.NOTE for finding in self.findings)


Making = Callable[[str], Embedder]
"""Makes the embedder of a name; raises ``UnknownName`` where it cannot."""


def examine(path: Path, *, fix: bool = False, embedder: Making | None = None) -> Report:
    """Look through a file, and with ``fix`` mend what can be mended without loss, each thing in one transaction.

    A file that is no memory is reported and left as it is. ``embedder`` makes the embedder of a scope, to embed texts
    whose vectors are missing; without one they are only reported. Raises ``StoreReadOnly`` if there is no such file or
    it may not be read.
    """
    path = Path(path)
    if not path.is_file():
        raise StoreReadOnly(f"there is no file {path}; name a memory with --db")
    findings: list[Finding] = []
    scopes: list[Kept] = []
    texts = 0
    try:
        found = file_format(path)
        finding = _format(found, fix=fix)
        if finding is not None:
            findings.append(finding)
        if found.ours:
            findings += _rights(path, fix=fix)
        if finding is None or finding.fixed:
            findings += _log(path, fix=fix)
            store = Repair(path)
            try:
                doctor = _Doctor(store, embedder, fix=fix and not store.read_only)
                findings += doctor.findings()
                scopes, texts = doctor.scopes, doctor.texts
            finally:
                store.close()
    except StoreDamaged as error:
        findings.append(Finding(Severity.ERROR, str(error), COPY))
    findings.sort(key=lambda finding: list(Severity).index(finding.severity))
    return Report(path, tuple(findings), len(scopes), texts)


def _rights(path: Path, *, fix: bool) -> Iterator[Finding]:
    """Files that others than their owner may read or write."""
    if os.name == "nt":
        return
    for file in (path, Path(f"{path}-wal"), Path(f"{path}-shm")):
        if not file.exists():
            continue
        mode = stat.S_IMODE(file.stat().st_mode)
        if mode & OTHERS:
            what = f"{file.name} is open to others than its owner (mode {mode:04o})"
            finding = Finding(Severity.WARNING, what, f"chmod {mode & ~OTHERS:04o} {file}, or {FIX}")
            if fix:
                try:
                    file.chmod(mode & ~OTHERS)
                except OSError as error:
                    finding = replace(finding, mend=f"the owner of the file must mend it ({error})")
                else:
                    finding = replace(finding, fixed=True)
            yield finding


def _log(path: Path, *, fix: bool) -> Iterator[Finding]:
    """A write-ahead log that nobody has moved into the file for long."""
    log = Path(f"{path}-wal")
    size = log.stat().st_size if log.exists() else 0
    if size <= LARGE_LOG:
        return
    what = f"the log {log.name} has grown to {size / 2**20:,.0f} MB: reading slows down"
    finding = Finding(Severity.WARNING, what, f"close the process that keeps the memory open, then {FIX}")
    if fix:
        store = Repair(path)
        try:
            store.checkpoint()
        finally:
            store.close()
        finding = replace(finding, fixed=not log.exists() or log.stat().st_size <= LARGE_LOG)
    yield finding


def _format(found: Format, *, fix: bool) -> Finding | None:
    """A format that is not today's; the store upgrades an older one when it opens it to write."""
    if not found.ours:
        return Finding(Severity.ERROR, "the file is a database of another program, or none yet", "name another file")
    if found.version > found.newest:
        what = f"the file has format {found.version}, this version reads up to {found.newest}"
        return Finding(Severity.ERROR, what, "upgrade ecphora")
    if found.version < found.newest:
        what = f"the file has the older format {found.version} of {found.newest}"
        return Finding(Severity.WARNING, what, f"any use of it upgrades it, or {FIX}", fixed=fix)
    return None


class _Doctor:
    """One open file under examination."""

    def __init__(self, store: Repair, embedder: Making | None, *, fix: bool) -> None:
        self.store = store
        self.fix = fix
        self.scopes: list[Kept] = []
        self.texts = 0
        self._making = embedder

    def findings(self) -> Iterator[Finding]:
        yield from self._dangling()
        yield from self._faults()
        self.scopes = self.store.kept()
        yield from self._unreadable()
        yield from self._unmentioned()
        yield from self._superfluous()
        for scope in self.scopes:
            yield from self._drift(scope)
            yield from self._vectors(scope)
        yield from self._unfinished()

    def _dangling(self) -> Iterator[Finding]:
        found = self.store.dangling()
        for table, count in found.items():
            what = f"{count} {table} rows belong to nodes that are not there"
            yield self._mended(Finding(Severity.ERROR, what, FIX), self.store.drop_dangling)

    def _faults(self) -> Iterator[Finding]:
        """What SQLite itself finds wrong; what points nowhere was told of before."""
        mends = f"{FIX}; if it stays, {COPY}"
        faults = Counter(fault for fault in self.store.faults() if "points at a missing node" not in fault)
        if faults and self.fix:
            try:
                self.store.rebuild_indexes()
            except StoreError:
                mends = COPY
        left = set(self.store.faults()) if faults and self.fix else set(faults)
        for fault, count in faults.items():
            times = f" ({count} times)" if count > 1 else ""
            yield Finding(Severity.ERROR, f"SQLite says: {fault}{times}", mends, fixed=fault not in left)

    def _unreadable(self) -> Iterator[Finding]:
        """Rows with which no memory can be opened."""
        found = self.store.unreadable()
        if found and self.fix:
            self.store.mend_times()
        left = self.store.unreadable() if found and self.fix else found
        mend = f"{FIX} takes the nearest time that is known; for anything else, {COPY}"
        told = list(dict.fromkeys([*left, *found]))  # a row may be unreadable for a second reason
        for what in told[:SHOWN]:
            yield Finding(Severity.ERROR, what, mend, fixed=what not in left)
        if told[SHOWN:]:
            what = f"{len(told) - SHOWN:,} more rows cannot be read"
            yield Finding(Severity.ERROR, what, mend, fixed=len(left) <= SHOWN)

    def _unmentioned(self) -> Iterator[Finding]:
        count = self.store.unmentioned()
        if count:
            what = f"{count} names that no memory mentions"
            yield self._mended(Finding(Severity.WARNING, what, FIX), self.store.drop_unmentioned)

    def _superfluous(self) -> Iterator[Finding]:
        """Vectors that an import by an earlier version made of claims."""
        count = self.store.superfluous_vectors()
        if count:
            what = f"{count} claims or names have a vector of their own, which only texts should have"
            yield self._mended(Finding(Severity.WARNING, what, FIX), self.store.drop_superfluous_vectors)

    def _drift(self, scope: Kept) -> Iterator[Finding]:
        """Texts whose stored words, counts or times are not what today's reading of them gives."""
        drifted = {}
        for node, stored in self.store.read_nodes(scope.name):
            self.texts += 1
            reading = encode.read(node)
            if stored is None or not _equal(stored, reading):
                drifted[node.id] = reading
        if drifted:
            what = f"scope {scope.name!r}: the words of {len(drifted)} texts are not those in the index"
            yield self._mended(
                Finding(Severity.WARNING, what, FIX), lambda: self.store.write_readings(scope.name, drifted)
            )

    def _vectors(self, scope: Kept) -> Iterator[Finding]:
        """Texts without a vector of the scope's model, or with a damaged one."""
        lacking, damaged = self.store.unvectored(scope.name), self.store.damaged_vectors(scope.name)
        named = ", ".join(map(repr, damaged[:SHOWN])) + (" ..." if len(damaged) > SHOWN else "")
        told = {
            f"{len(lacking)} texts have no vector of {scope.embedder!r}": lacking,
            f"the vectors of {len(damaged)} texts are not finite, or of a wrong size: {named}": damaged,
        }
        for what, nodes in told.items():
            finding = Finding(Severity.WARNING, f"scope {scope.name!r}: {what}", FIX)
            if nodes and self.fix:
                try:
                    self._embed(scope, nodes)
                except (EmbedderError, InvalidInput) as error:
                    finding = replace(finding, mend=str(error))
                else:
                    finding = replace(finding, fixed=True)
            if nodes:
                yield finding

    def _embed(self, scope: Kept, lacking: list[str]) -> None:
        if self._making is None or scope.embedder is None:
            raise UnknownName("no embedder is at hand; run ecphora doctor --fix with --embedder")
        embedder = self._making(scope.embedder)
        if embedder.name != scope.embedder:
            raise UnknownName(f"the scope was embedded by {scope.embedder!r}, not {embedder.name!r}; give the first")
        for start in range(0, len(lacking), BATCH):
            nodes = self.store.nodes(scope.name, lacking[start : start + BATCH])
            made = encode.embedded(embedder, nodes)
            self.store.commit(scope.name, Change(vectors=made, embedder=scope.embedder))
        self.store.announce()

    def _unfinished(self) -> Iterator[Finding]:
        count = self.store.foreign_vectors()
        if count:
            what = f"{count} vectors are of another model than their scope's: a change of model was not finished"
            yield Finding(Severity.NOTE, what, "finish it with: ecphora reembed --embedder ...")

    def _mended(self, finding: Finding, mend: Callable[[], None]) -> Finding:
        if not self.fix:
            return finding
        try:
            mend()
        except EcphoraError as error:
            return replace(finding, mend=str(error))
        return replace(finding, fixed=True)


def _equal(one: Reading, other: Reading) -> bool:
    return (
        np.array_equal(one.words, other.words)
        and np.array_equal(one.counts, other.counts)
        and one.question == other.question
        and one.told == other.told
    )
