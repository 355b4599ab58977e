"""What a claim is about, and what its memory says besides: words by which a question is told to ask of it or not."""

from collections.abc import Mapping
from dataclasses import dataclass

from ..model import Metadata

CLAIM = "claim:"
"""How the ids of claims begin; no episode's id may."""
ABOUT, BESIDE = "about", "beside"
"""The metadata of a claim that have the stems of its matter, and of what else its memory says, parted by spaces."""


@dataclass(frozen=True, slots=True)
class Matter:
    """The stems by which a question asks of a claim's matter, and those by which it asks what else its memory says.

    All are words of the claim's own memory, so that none is left when that is forgotten. ``beside`` is None where
    nobody looked.
    """

    about: frozenset[str] = frozenset()
    beside: frozenset[str] | None = None

    @classmethod
    def of(cls, metadata: Mapping[str, object] | None) -> "Matter":
        """The matter that the metadata of a claim tell."""
        held = metadata or {}
        about, beside = (frozenset(str(held.get(key, "")).split()) for key in (ABOUT, BESIDE))
        return cls(about, beside if BESIDE in held else None)

    @property
    def metadata(self) -> Metadata:
        """The metadata of a claim that tell it."""
        told = {ABOUT: " ".join(sorted(self.about))} if self.about else {}
        return told if self.beside is None else {**told, BESIDE: " ".join(sorted(self.beside))}

    def joined(self, other: "Matter") -> "Matter":
        """The matter of a claim that is about both."""
        about = self.about | other.about
        sides = [one.beside for one in (self, other) if one.beside is not None]
        return Matter(about, frozenset[str]().union(*sides) - about if sides else None)
