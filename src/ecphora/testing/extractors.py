"""The contract of extractors."""
# ruff: noqa: S101  # these are tests

from collections.abc import Sequence

from ..model import Mention
from ..ports import Extractor


class ExtractorContract:
    """The contract of every extractor. The fixture ``extractor`` returns the one to test."""

    texts: Sequence[str] = (
        "Ana moved to Porto with Mia.", "nobody in particular", "Ana", "アナはポルトに住んでいます", "你好", "👋", " ",
        "", "\ud800", "\0", "Word " * 2_000, "A" * 5_000,
    )  # fmt: skip
    """The texts to read, of every kind."""

    def test_each_text_has_its_names(self, extractor: Extractor) -> None:
        """One tuple of mentions per text; no name is blank."""
        found = extractor.extract(self.texts)
        assert len(found) == len(self.texts)
        for mentions in found:
            assert isinstance(mentions, tuple)
            for mention in mentions:
                assert isinstance(mention, Mention)
                assert mention.name.strip()

    def test_names_are_independent_of_other_texts(self, extractor: Extractor) -> None:
        """Alone, together or in reverse order: the same names."""
        together = extractor.extract(self.texts)
        assert together == [extractor.extract([text])[0] for text in self.texts]
        assert together == extractor.extract(self.texts[::-1])[::-1]

    def test_no_texts_give_no_names(self, extractor: Extractor) -> None:
        """An empty list is valid."""
        assert extractor.extract([]) == []
