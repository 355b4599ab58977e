"""Work on many scopes: in several processes, each scope once, continued after an end at any moment.

A ledger, a file of JSON Lines, has a line for each scope that is done: the work, and the state in which it left the
scope. A scope that is still in this state is left out next time. What ends between a scope's last commit and its line
is done again, so the work must change nothing the second time.
"""

import json
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field
from multiprocessing import get_context, parent_process
from pathlib import Path
from typing import Protocol

from ..errors import EcphoraError, InvalidInput
from ..model.json_form import JsonObject
from ..model.ports import Progress
from ..model.validation import check_count


class ScopeWork(Protocol):
    """What is done in each scope. It is sent to other processes, and changes nothing when it is done again."""

    @property
    def name(self) -> str:
        """What is done, with all options on which the outcome depends; the ledger tells works apart by it."""
        ...

    def states(self) -> Mapping[str, str]:
        """Each scope to work on, and its state, which changes when there is something new to do."""
        ...

    def run(self, scope: str, /) -> tuple[int, str]:
        """Do the work in one scope; return how many memories it concerned, and the scope's state then."""
        ...


@dataclass(frozen=True, slots=True)
class ScopeOutcome(JsonObject):
    """What was done in a scope: how many memories it concerned, and the state after it; or ``error``, why it failed."""

    scope: str
    count: int = 0
    state: str = ""
    error: str | None = None


@dataclass(frozen=True, slots=True)
class BulkResult(JsonObject):
    """What a call of :func:`run_bulk` did: the scopes done, done before, and failed."""

    done: int
    skipped: int
    memories: int
    failed: tuple[ScopeOutcome, ...] = field(default=())


Executor = Callable[[ScopeWork, Sequence[str]], Iterator[ScopeOutcome]]
"""Does the work in each of the scopes, wherever it likes; yields each outcome as soon as it is there."""


def run_bulk(
    work: ScopeWork,
    *,
    ledger: str | Path,
    executor: Executor,
    scopes: Iterable[str] | None = None,
    progress: Progress | None = None,
) -> BulkResult:
    """Do a work in many scopes, by default in all that it knows, except where the ledger says that it is done.

    A scope that fails stops no other. Raises ``InvalidInput`` for a scope that there is not.
    """
    states = work.states()
    chosen = list(states) if scopes is None else list(dict.fromkeys(scopes))
    if unknown := [scope for scope in chosen if scope not in states]:
        raise InvalidInput(f"there is no scope {unknown[0]!r} for {work.name}; leave it out")
    book = Ledger(Path(ledger))
    done_states = book.read(work.name)
    pending = [scope for scope in chosen if done_states.get(scope) != states[scope]]
    skipped = len(chosen) - len(pending)
    failed, memories, done = list[ScopeOutcome](), 0, 0
    for outcome in executor(work, pending) if pending else ():
        if outcome.error is None:
            book.add(work.name, outcome)
            done, memories = done + 1, memories + outcome.count
        else:
            failed.append(outcome)
        if progress is not None:
            progress(skipped + done + len(failed), len(chosen))
    return BulkResult(done, skipped, memories, tuple(sorted(failed, key=lambda one: one.scope)))


class Ledger:
    """The file that says which scopes are done. Each line is on the disk before the next scope counts."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self, name: str) -> dict[str, str]:
        """The state in which a work left each scope, as far as it was done."""
        try:
            lines = self._path.read_text(encoding="utf-8").splitlines()
        except FileNotFoundError:
            return {}
        except (OSError, UnicodeDecodeError) as error:
            raise InvalidInput(f"the ledger {self._path} cannot be read ({error}); name another") from error
        found = {}
        for line in lines:
            try:
                entry = json.loads(line)
                if entry["work"] == name:
                    found[str(entry["scope"])] = str(entry["state"])
            except (ValueError, TypeError, KeyError):  # the line that was written when the process ended
                continue
        return found

    def add(self, name: str, outcome: ScopeOutcome) -> None:
        """Add a scope that is done."""
        line = {"work": name, "scope": outcome.scope, "state": outcome.state, "count": outcome.count}
        with self._path.open("ab+") as file:
            if file.tell():
                file.seek(-1, os.SEEK_END)
                if file.read(1) != b"\n":
                    file.write(b"\n")
            file.write(json.dumps(line).encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())


def run_scope(work: ScopeWork, scope: str) -> ScopeOutcome:
    """Do a work in one scope; a failure becomes its outcome."""
    try:
        count, state = work.run(scope)
    except EcphoraError as error:
        return ScopeOutcome(scope, error=str(error))
    except Exception as error:  # noqa: BLE001  # it must not stop the other scopes
        return ScopeOutcome(scope, error=f"{type(error).__name__}: {error}")
    return ScopeOutcome(scope, count, state)


def process_pool(workers: int | None = None) -> Executor:
    """An executor of processes on this machine, by default one for each core; they end with this process."""
    if workers is not None:
        check_count("workers", workers)

    def execute(work: ScopeWork, scopes: Sequence[str]) -> Iterator[ScopeOutcome]:
        count = min(workers or os.cpu_count() or 1, len(scopes))
        with ProcessPoolExecutor(count, get_context("spawn"), _end_with_parent) as pool:
            futures = {pool.submit(run_scope, work, scope): scope for scope in scopes}
            try:
                for future in as_completed(futures):
                    if (error := future.exception()) is not None:  # its process was killed
                        yield ScopeOutcome(futures[future], error=f"{type(error).__name__}: {error}")
                    else:
                        yield future.result()
            finally:
                pool.shutdown(wait=False, cancel_futures=True)  # scopes that have not begun

    return execute


def _end_with_parent() -> None:
    """End this process as soon as its parent has ended, even if that was killed."""
    parent = parent_process()
    if parent is not None:

        def wait() -> None:
            parent.join()
            os._exit(1)

        threading.Thread(target=wait, daemon=True).start()
