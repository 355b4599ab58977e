"""Checks a memory's file, reports each problem with its remedy, and repairs the file if asked."""

import os
import stat
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import ClassVar

import numpy as np

from ..errors import EcphoraError, EmbedderError, InvalidInput, StoreDamaged, StoreError, StoreReadOnly, UnknownName
from ..model.json_form import JsonForm, JsonObject
from ..model.ports import Embedder, english_embedder
from ..model.types import TextAnalysis, WriteBatch
from ..models.embedders.token_codes import PACKED
from ..models.rerankers.late_interaction import LateInteractionReranker
from ..remember import encode
from ..remember.encode import embed_english, with_english_vectors
from ..stores.connection import NON_OWNER_BITS
from ..stores.repair import FileFormat, RepairStore, StoredScope, read_file_format

LARGE_WAL_BYTES = 64 * 1024 * 1024
"""The size from which a write-ahead log is reported; SQLite empties it at 4 MB unless a reader blocks that."""
BATCH_SIZE = 512
"""Texts embedded and committed together."""
MAX_LISTED_ROWS = 20
"""The most rows that are reported one by one."""
FIX_COMMAND = "ecphora doctor --fix"
RESTORE_HINT = "restore a copy, or import an export into a new file"


class Severity(StrEnum):
    """How serious a finding is: a note is harmless, a warning affects quality or privacy, an error loses memories."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True, slots=True)
class Finding:
    """A problem of the file; ``hint`` says what to do, ``is_fixed`` that it was done."""

    severity: Severity
    problem: str
    hint: str
    is_fixed: bool = False


@dataclass(frozen=True, slots=True, repr=False)
class Report(JsonObject):
    """The findings, most serious first, and the number of scopes and texts checked."""

    json_form: ClassVar = JsonForm(
        encoders={"path": str}, derived={"is_healthy": (bool, lambda report: report.is_healthy)}
    )

    path: Path
    findings: tuple[Finding, ...]
    scope_count: int = 0
    text_count: int = 0

    @property
    def is_healthy(self) -> bool:
        """Whether nothing is left to repair."""
        return all(finding.is_fixed or finding.severity == Severity.NOTE for finding in self.findings)


EmbedderFactory = Callable[[str], Embedder]
"""Makes the embedder of a name; raises ``UnknownName`` if it cannot."""


def examine(path: Path, *, fix: bool = False, make_embedder: EmbedderFactory | None = None) -> Report:
    """Check a file; with ``fix``, repair what can be repaired without loss, each problem in one transaction.

    A file that is not a memory is reported and not changed. ``make_embedder`` makes the embedder of a scope, to embed
    texts whose vectors are missing; without it they are only reported. Raises ``StoreReadOnly`` if the file does not
    exist or cannot be read.
    """
    path = Path(path)
    if not path.is_file():
        raise StoreReadOnly(f"there is no file {path}; name a memory with --db")
    findings: list[Finding] = []
    scopes: list[StoredScope] = []
    texts = 0
    try:
        found = read_file_format(path)
        finding = _check_format(found, fix=fix)
        if finding is not None:
            findings.append(finding)
        if found.is_ours:
            findings += _check_permissions(path, fix=fix)
        if finding is None or finding.is_fixed:
            findings += _check_wal(path, fix=fix)
            store = RepairStore(path)
            try:
                doctor = _Examination(store, make_embedder, fix=fix and not store.read_only)
                findings += doctor.findings()
                scopes, texts = doctor.scopes, doctor.text_count
            finally:
                store.close()
    except StoreDamaged as error:
        findings.append(Finding(Severity.ERROR, str(error), RESTORE_HINT))
    findings.sort(key=lambda finding: list(Severity).index(finding.severity))
    return Report(path, tuple(findings), len(scopes), texts)


def _check_permissions(path: Path, *, fix: bool) -> Iterator[Finding]:
    """Report files that others than their owner may read or write."""
    if os.name == "nt":
        return
    for file in (path, Path(f"{path}-wal"), Path(f"{path}-shm")):
        if not file.exists():
            continue
        mode = stat.S_IMODE(file.stat().st_mode)
        if mode & NON_OWNER_BITS:
            what = f"{file.name} is open to others than its owner (mode {mode:04o})"
            finding = Finding(Severity.WARNING, what, f"chmod {mode & ~NON_OWNER_BITS:04o} {file}, or {FIX_COMMAND}")
            if fix:
                try:
                    file.chmod(mode & ~NON_OWNER_BITS)
                except OSError as error:
                    finding = replace(finding, hint=f"only the owner of the file can change its mode ({error})")
                else:
                    finding = replace(finding, is_fixed=True)
            yield finding


def _check_wal(path: Path, *, fix: bool) -> Iterator[Finding]:
    """Report a write-ahead log that was not checkpointed for long."""
    log = Path(f"{path}-wal")
    size = log.stat().st_size if log.exists() else 0
    if size <= LARGE_WAL_BYTES:
        return
    what = f"the log {log.name} has grown to {size / 2**20:,.0f} MB, which slows down reading"
    finding = Finding(Severity.WARNING, what, f"close the process that keeps the memory open, then {FIX_COMMAND}")
    if fix:
        store = RepairStore(path)
        try:
            store.checkpoint()
        finally:
            store.close()
        finding = replace(finding, is_fixed=not log.exists() or log.stat().st_size <= LARGE_WAL_BYTES)
    yield finding


def _check_format(format_info: FileFormat, *, fix: bool) -> Finding | None:
    """Report a format that is not today's; the store upgrades an older one when it opens the file for writing."""
    if not format_info.is_ours:
        return Finding(Severity.ERROR, "the file is a database of another program, or empty", "name another file")
    if format_info.version > format_info.latest:
        what = f"the file has format {format_info.version}, this version reads up to {format_info.latest}"
        return Finding(Severity.ERROR, what, "upgrade ecphora")
    if format_info.version < format_info.latest:
        what = f"the file has the older format {format_info.version} of {format_info.latest}"
        return Finding(Severity.WARNING, what, f"any use of it upgrades it, or {FIX_COMMAND}", is_fixed=fix)
    return None


class _Examination:
    """The checks of one open file."""

    def __init__(self, store: RepairStore, make_embedder: EmbedderFactory | None, *, fix: bool) -> None:
        self.store = store
        self.fix = fix
        self.scopes: list[StoredScope] = []
        self.text_count = 0
        self._make_embedder = make_embedder

    def findings(self) -> Iterator[Finding]:
        yield from self._check_log()
        yield from self._check_dangling()
        yield from self._check_integrity()
        self.scopes = self.store.stored_scopes()
        yield from self._check_unreadable()
        yield from self._check_orphan_entities()
        for scope in self.scopes:
            yield from self._check_text_analyses(scope)
            yield from self._check_missing_vectors(scope)
            yield from self._check_media_vectors(scope)
            yield from self._check_token_codes(scope)
        yield from self._check_unfinished_reembed()

    def _check_log(self) -> Iterator[Finding]:
        if (fault := self.store.log_fault) is not None:
            hint = f"{fault.hint}; {FIX_COMMAND} accepts that it is lost"
            yield self._apply_fix(Finding(Severity.ERROR, f"the file {fault.problem}", hint), self.store.force_reload)

    def _check_dangling(self) -> Iterator[Finding]:
        found = self.store.count_dangling_rows()
        for table, count in found.items():
            what = f"{count} {table} rows belong to nodes that do not exist"
            yield self._apply_fix(Finding(Severity.ERROR, what, FIX_COMMAND), self.store.delete_dangling_rows)

    def _check_integrity(self) -> Iterator[Finding]:
        """Report what SQLite finds wrong; dangling rows were reported before."""
        hint = f"{FIX_COMMAND}; if it persists, {RESTORE_HINT}"
        faults = Counter(fault for fault in self.store.check_integrity() if "points at a missing node" not in fault)
        if faults and self.fix:
            try:
                self.store.rebuild_indexes()
            except StoreError:
                hint = RESTORE_HINT
        left = set(self.store.check_integrity()) if faults and self.fix else set(faults)
        for fault, count in faults.items():
            times = f" ({count} times)" if count > 1 else ""
            yield Finding(Severity.ERROR, f"SQLite says: {fault}{times}", hint, is_fixed=fault not in left)

    def _check_unreadable(self) -> Iterator[Finding]:
        """Report rows with which the memory cannot be opened."""
        found = self.store.find_unreadable_rows()
        if found and self.fix:
            self.store.repair_times()
        left = self.store.find_unreadable_rows() if found and self.fix else found
        hint = f"{FIX_COMMAND} takes the nearest time that is known; for anything else, {RESTORE_HINT}"
        problems = list(dict.fromkeys([*left, *found]))  # a row may be unreadable for a second reason
        for what in problems[:MAX_LISTED_ROWS]:
            yield Finding(Severity.ERROR, what, hint, is_fixed=what not in left)
        if problems[MAX_LISTED_ROWS:]:
            what = f"{len(problems) - MAX_LISTED_ROWS:,} more rows cannot be read"
            yield Finding(Severity.ERROR, what, hint, is_fixed=len(left) <= MAX_LISTED_ROWS)

    def _check_orphan_entities(self) -> Iterator[Finding]:
        count = self.store.count_orphan_entities()
        if count:
            what = f"{count} names that no memory mentions"
            yield self._apply_fix(Finding(Severity.WARNING, what, FIX_COMMAND), self.store.delete_orphan_entities)

    def _check_text_analyses(self, scope: StoredScope) -> Iterator[Finding]:
        """Report texts whose stored terms, counts or times differ from today's analysis."""
        outdated = {}
        for node, stored in self.store.read_analyses(scope.name):
            self.text_count += 1
            analysis = encode.analyze(node)
            if stored is None or not _same_analysis(stored, analysis):
                outdated[node.id] = analysis
        if outdated:
            what = f"scope {scope.name!r}: the index is out of date for {len(outdated)} texts"
            yield self._apply_fix(
                Finding(Severity.WARNING, what, FIX_COMMAND), lambda: self.store.write_analyses(scope.name, outdated)
            )

    def _check_missing_vectors(self, scope: StoredScope) -> Iterator[Finding]:
        """Report texts without a vector of the scope's embedder, or with a damaged one."""
        missing, damaged = self.store.ids_without_vector(scope.name), self.store.ids_with_damaged_vector(scope.name)
        damaged_english = self.store.ids_with_damaged_english_vector(scope.name)
        fault = "do not have the length 1, or have a wrong size"
        problems = (
            (f"{len(missing)} texts have no vector of {scope.embedder!r}", missing, self._embed),
            (f"the vectors of {len(damaged)} texts {fault}: {_listed(damaged)}", damaged, self._embed),
            (
                f"the English vectors of {len(damaged_english)} texts {fault}: {_listed(damaged_english)}",
                damaged_english,
                self._embed_english,
            ),
        )
        for what, ids, embed in problems:
            finding = Finding(Severity.WARNING, f"scope {scope.name!r}: {what}", FIX_COMMAND)
            if ids and self.fix:
                try:
                    embed(scope, ids)
                except (EmbedderError, InvalidInput) as error:
                    finding = replace(finding, hint=str(error))
                else:
                    finding = replace(finding, is_fixed=True)
            if ids:
                yield finding

    def _check_media_vectors(self, scope: StoredScope) -> Iterator[Finding]:
        """Report damaged vectors of media, which only the caller can make again."""
        damaged = self.store.ids_with_damaged_media_vector(scope.name)
        if damaged:
            what = f"scope {scope.name!r}: media of {len(damaged)} memories have damaged vectors: {_listed(damaged)}"
            hint = f"{FIX_COMMAND} deletes them; then remember these memories again, with their vectors"
            yield self._apply_fix(
                Finding(Severity.WARNING, what, hint), lambda: self.store.delete_damaged_media_vectors(scope.name)
            )

    def _check_token_codes(self, scope: StoredScope) -> Iterator[Finding]:
        """Report damaged token codes: with them nothing is read."""
        damaged = self.store.ids_with_damaged_token_codes(
            scope.name, LateInteractionReranker.code_model, PACKED.itemsize
        )
        if damaged:
            what = f"scope {scope.name!r}: token codes of {len(damaged)} texts have a wrong size: {_listed(damaged)}"
            hint = f"{FIX_COMMAND} deletes them; they are made again when the texts are read"
            yield self._apply_fix(
                Finding(Severity.WARNING, what, hint), lambda: self.store.delete_token_codes(scope.name, damaged)
            )

    def _embedder_of(self, scope: StoredScope) -> Embedder:
        if self._make_embedder is None or scope.embedder is None:
            raise UnknownName("no embedder is given; run ecphora doctor --fix with --embedder")
        embedder = self._make_embedder(scope.embedder)
        if embedder.name != scope.embedder:
            raise UnknownName(f"the scope was embedded by {scope.embedder!r}, not {embedder.name!r}; give that one")
        return embedder

    def _embed(self, scope: StoredScope, node_ids: list[str]) -> None:
        embedder = self._embedder_of(scope)
        for start in range(0, len(node_ids), BATCH_SIZE):
            nodes = self.store.nodes(scope.name, node_ids[start : start + BATCH_SIZE])
            vectors = encode.embed_nodes(embedder, nodes)
            self.store.commit(scope.name, WriteBatch(vectors=vectors, embedder=scope.embedder))
        self.store.force_reload()

    def _embed_english(self, scope: StoredScope, node_ids: list[str]) -> None:
        """Delete English vectors, and make those again that the texts should have."""
        second = english_embedder(self._embedder_of(scope))
        self.store.delete_english_vectors(scope.name, node_ids)
        for start in range(0, len(node_ids), BATCH_SIZE):
            nodes = self.store.nodes(scope.name, node_ids[start : start + BATCH_SIZE])
            if vectors := embed_english(second, nodes):
                batch = with_english_vectors(WriteBatch(embedder=scope.embedder), vectors, second)
                self.store.commit(scope.name, batch)
        self.store.force_reload()

    def _check_unfinished_reembed(self) -> Iterator[Finding]:
        count = self.store.count_foreign_vectors()
        if count:
            what = f"{count} vectors are of another embedder than their scope's: a reembed was not finished"
            yield Finding(Severity.NOTE, what, "finish it with: ecphora reembed --embedder ...")

    def _apply_fix(self, finding: Finding, fix: Callable[[], None]) -> Finding:
        if not self.fix:
            return finding
        try:
            fix()
        except EcphoraError as error:
            return replace(finding, hint=str(error))
        return replace(finding, is_fixed=True)


def _listed(ids: Sequence[str]) -> str:
    """The first of some ids, as a message names them."""
    return ", ".join(map(repr, ids[:MAX_LISTED_ROWS])) + (" ..." if len(ids) > MAX_LISTED_ROWS else "")


def _same_analysis(one: TextAnalysis, other: TextAnalysis) -> bool:
    return (
        np.array_equal(one.term_hashes, other.term_hashes)
        and np.array_equal(one.term_counts, other.term_counts)
        and one.is_question == other.is_question
        and one.time_mentions == other.time_mentions
    )
