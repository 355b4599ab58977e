"""Lists of words and templates: text files in which a line ``[name half]`` begins a section.

A section without a half holds facts of a language, such as the names of the months, for both. Entries are lines; a line
may hold several, separated by `` | ``.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ecphora_bench.probes.probe import Half

FOLDER = Path(__file__).parent / "lists"
Entries = Mapping[str, tuple[str, ...]]

_SECTION = re.compile(r"\[([a-z0-9 ]+)\]")


@cache
def read_sections(name: str) -> Entries:
    """The entries of a file by the names of their sections, with the half: ``{"city learn": ("Utrecht", …), …}``."""
    sections: dict[str, list[str]] = {}
    current: list[str] = []
    for line in (FOLDER / f"{name}.txt").read_text("utf-8").splitlines():
        if found := _SECTION.fullmatch(line):
            current = sections.setdefault(found[1], [])
        elif line.strip() and not line.startswith("# "):
            current += [part.strip().replace("\\n", "\n") for part in line.split(" | ")]
    return {section: tuple(entries) for section, entries in sections.items()}


@dataclass(frozen=True, slots=True)
class Lists:
    """The lists of one half; a file named later comes first where several have a section of the same name."""

    half: Half
    files: tuple[str, ...]

    def find(self, section: str) -> tuple[str, ...]:
        """The entries of a section, of this half or of both; none if there is no such section."""
        for file in reversed(self.files):
            sections = read_sections(file)
            for name in (f"{section} {self.half}", section):
                if name in sections:
                    return sections[name]
        return ()

    def get(self, section: str) -> tuple[str, ...]:
        """The entries of a section; raises ``KeyError`` if there is none."""
        entries = self.find(section)
        if not entries:
            raise KeyError(f"no section [{section}] or [{section} {self.half}] in {', '.join(self.files)}")
        return entries

    def names(self, part: str) -> list[str]:
        """The first words of the sections of this half that are called ``<word> <part>``, in order."""
        end = f" {part} {self.half}"
        found = [name.removesuffix(end) for file in self.files for name in read_sections(file) if name.endswith(end)]
        return [name for name in found if " " not in name]
