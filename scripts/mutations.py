"""What scripts/mutate draws, finds and needs to know of the tests."""

# ruff: noqa: INP001  # in the folder of the script that uses it

from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Mutation:
    """A mutation, as cosmic-ray finds it again; ``text`` is that of its module with it."""

    path: str
    operator: str
    occurrence: int
    line: int
    text: str

    @property
    def key(self) -> str:
        """Its name in the results."""
        return f"{self.path} {self.operator} {self.occurrence}"


@dataclass(frozen=True)
class Result:
    """What became of a mutation; ``by`` is the first test that failed, or "" if none did.

    Without ``ran_all`` only the likeliest files were run.
    """

    key: str
    path: str
    line: int
    removed: str
    added: str
    by: str
    seconds: float
    ran_all: bool

    @property
    def change(self) -> tuple[str, str, str]:
        """The path of the module, the lines removed and those added."""
        return self.path, self.removed, self.added


@dataclass(frozen=True)
class TestFiles:
    """The test files: how long each takes, which lines of which module it runs, and which were not there then."""

    seconds: dict[str, float]
    lines: dict[str, dict[str, set[int]]]
    changed: list[str]

    def in_order(self, path: str, line: int) -> tuple[list[str], list[str]]:
        """The files that run a line, the likeliest and fastest to fail first; and all others."""
        breadth: dict[str, int] = defaultdict(int)
        for files in self.lines.values():
            for file, lines in files.items():
                breadth[file] += len(lines)
        of_module = self.lines.get(path, {})
        # A line that runs at import, such as a constant, counts for every test of its module.
        near = [file for file, lines in of_module.items() if line in lines] or list(of_module)
        stem, folder = Path(path).stem, Path(path).parent.name

        def cost(file: str) -> float:
            """Files that run little else come first, and those named after the module or its paper."""
            name = Path(file).stem.removeprefix("test_")
            likelihood = 10 if name == stem else 4 if name.startswith((stem, folder)) else 1
            return breadth[file] * (1 + self.seconds.get(file, 0)) / likelihood

        near = [*self.changed, *sorted(set(near) - set(self.changed), key=lambda file: (cost(file), file))]
        return near, sorted(set(self.seconds) - set(near), key=lambda file: (file not in of_module, file))
