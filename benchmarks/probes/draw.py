"""Draws entries of lists, each once in a world as long as there are others, and fills templates."""

import re
from collections.abc import Sequence
from random import Random

from .lists import Lists

_SLOT = re.compile(r"<([a-z]+[0-9]?[a-z]*)>")


class Draw:
    """Draws for one world."""

    def __init__(self, rng: Random, lists: Lists) -> None:
        self.rng = rng
        self.lists = lists
        self._left: dict[str, list[str]] = {}

    def pick(self, section: str, *, but: Sequence[str] = ()) -> str:
        """An entry of a section that was not drawn before, if one is left, and that is none of ``but``."""
        left = self._left.get(section, [])
        if not any(entry not in but for entry in left):
            left = list(self.lists.get(section))
            self.rng.shuffle(left)
        entry = next(entry for entry in left if entry not in but)
        left.remove(entry)
        self._left[section] = left
        return entry

    def fill(self, template: str, **values: str) -> str:
        """A template with its slots filled: with the values, or else with entries of the section of their name."""
        text = _SLOT.sub(lambda slot: values[slot[1]] if slot[1] in values else self.pick(slot[1]), template)
        return start_upper(text) if template.startswith("<") and not template.startswith("<id>") else text

    def some(self, section: str, count: int) -> list[str]:
        """Several different entries of a section."""
        return self.rng.sample(self.lists.get(section), count)

    def chance(self, part: float) -> bool:
        """True in this part of the calls."""
        return self.rng.random() < part


def start_upper(text: str) -> str:
    """A text with its first letter as a capital, if its first word is one in small letters."""
    first = text.split(maxsplit=1)[0] if text.split() else ""
    return text[:1].upper() + text[1:] if first.isalpha() and first.islower() else text
