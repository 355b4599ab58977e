"""Count how often one recall, one remember and one consolidation call go from file to file.

    python benchmarks/crossings.py

A call crosses if the function is in another file of this package than its caller. Each of the three calls has three
numbers: the files that it enters, the calls that cross, and the returns. A return is a crossing call into a file that
was entered before; only the first call of each function counts, so a loop counts once. Code with fewer returns is
easier to read. The files of the data types (types, graph, columns, graph updates) are left out, since
everything uses them. The numbers do not depend on the machine.
"""

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType

import ecphora
from ecphora import Episode, Memory

PACKAGE = str(Path(ecphora.__file__).parent)
DATA = {"model/types.py", *(f"model/graph/{name}.py" for name in ("graph", "updates", "columns"))}
TURNS = [
    ("Ana", "I moved to Porto in May and work at a bakery there."),
    ("Ben", "Nice! My sister Martina adopted a cat from the shelter."),
    ("Ana", "The rent is 700 euros a month."),
    ("Ben", "Martina called the cat Biscuit."),
    ("Ana", "The rent went up: it is 750 euros a month now."),
    ("Ben", "I will visit you in Porto next week."),
]


@dataclass
class Walk:
    """The profile of one call, file by file; names are relative to the package."""

    crossings: int = 0
    returns: list[str] = field(default_factory=list)
    files: dict[str, None] = field(default_factory=dict)
    _functions: set[tuple[str, str]] = field(default_factory=set)

    def __call__(self, frame: FrameType, event: str, _argument: object) -> None:
        """Record a call; other profile events are ignored."""
        if event != "call":
            return
        caller, callee = _file(frame.f_back), _file(frame)
        if callee is None or callee in DATA:
            return
        function = (callee, frame.f_code.co_qualname)
        if caller != callee:
            self.crossings += 1
            if function not in self._functions and callee in self.files:
                self.returns.append(f"{caller}: {callee} {frame.f_code.co_qualname}")
        self.files.setdefault(callee)
        self._functions.add(function)


def _file(frame: FrameType | None) -> str | None:
    """The file of the nearest frame that belongs to the package, named from the package's folder."""
    while frame is not None:
        if frame.f_code.co_filename.startswith(PACKAGE):
            return frame.f_code.co_filename[len(PACKAGE) + 1 :]
        frame = frame.f_back
    return None


def walk(work: Callable[[], object]) -> Walk:
    """The walk of one call."""
    found = Walk()
    sys.setprofile(found)
    try:
        work()
    finally:
        sys.setprofile(None)
    return found


def walks() -> Iterator[tuple[str, Walk]]:
    """The three walks, each after a first call that loads what a process loads once."""
    begin = datetime(2026, 5, 1, tzinfo=UTC)
    hours = count()
    with TemporaryDirectory() as folder, Memory(Path(folder, "walk.db"), clock=lambda: begin, zone="UTC") as memory:

        def remember() -> None:
            memory.remember(
                [
                    Episode(text, speaker=speaker, happened_at=begin + timedelta(hours=next(hours)))
                    for speaker, text in TURNS
                ]
            )

        def recall() -> None:
            memory.recall("Where does Ana live now?")

        remember()
        recall()
        yield "remember", walk(remember)
        yield "recall", walk(recall)
        yield "consolidate", walk(memory.consolidate)


def main() -> None:
    """Print a line for each walk; with -v also every return, the caller's file first."""
    for name, found in walks():
        print(
            f"{name:<12}{len(found.files):>4} files{found.crossings:>7} crossing calls{len(found.returns):>5} returns"
        )
        if "-v" in sys.argv:
            print(*(f"    {one}" for one in found.returns), sep="\n")


if __name__ == "__main__":
    main()
