"""The topic of a claim: stems that tell whether a question asks about it or about the rest of its memory."""

from collections.abc import Mapping
from dataclasses import dataclass

from ...model import Metadata

TOPIC_KEY, OFF_TOPIC_KEY = "about", "beside"
"""The metadata keys of a claim's topic stems and of its memory's other stems; the values are separated by spaces."""


@dataclass(frozen=True, slots=True)
class ClaimTopic:
    """The stems of a claim's topic, and the stems of whatever else its memory says.

    All are words of the claim's own memory, so none remains when that memory is forgotten. ``off_topic_terms`` is None
    where they were never extracted.
    """

    terms: frozenset[str] = frozenset()
    off_topic_terms: frozenset[str] | None = None

    @classmethod
    def from_metadata(cls, metadata: Mapping[str, object] | None) -> "ClaimTopic":
        """Read the topic from a claim's metadata."""
        entries = metadata or {}
        terms, off_topic_terms = (frozenset(str(entries.get(key, "")).split()) for key in (TOPIC_KEY, OFF_TOPIC_KEY))
        return cls(terms, off_topic_terms if OFF_TOPIC_KEY in entries else None)

    @property
    def metadata(self) -> Metadata:
        """The topic as metadata of a claim."""
        entries = {TOPIC_KEY: " ".join(sorted(self.terms))} if self.terms else {}
        return (
            entries
            if self.off_topic_terms is None
            else {**entries, OFF_TOPIC_KEY: " ".join(sorted(self.off_topic_terms))}
        )

    def merge(self, other: "ClaimTopic") -> "ClaimTopic":
        """The topic of a claim that is about both."""
        terms = self.terms | other.terms
        off_topic = [topic.off_topic_terms for topic in (self, other) if topic.off_topic_terms is not None]
        return ClaimTopic(terms, frozenset[str]().union(*off_topic) - terms if off_topic else None)
