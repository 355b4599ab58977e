"""The contract of extractors."""
# ruff: noqa: S101  # these are tests

from collections.abc import Sequence

from ..language.terms import WordSequence
from ..model.ports import Extractor
from ..model.types import Extraction, Mention, MentionType, Relation


class ExtractorContract:
    """The contract of every extractor. The fixture ``extractor`` returns the one to test."""

    texts: Sequence[str] = (
        "Ana moved to Porto with Mia.", "nobody in particular", "Ana", "アナはポルトに住んでいます", "你好", "👋", " ",
        "", "\ud800", "\0", "Word " * 2_000, "A" * 5_000,
    )  # fmt: skip
    """The texts to read, of every kind."""

    def test_each_text_has_its_extraction(self, extractor: Extractor) -> None:
        """One extraction per text; no name is blank, and every field has its type and range."""
        found = extractor.extract(self.texts)
        assert len(found) == len(self.texts)
        for extraction in found:
            assert isinstance(extraction, Extraction)
            for mention in extraction.mentions:
                assert isinstance(mention, Mention)
                assert mention.name.strip()
                assert mention.name.encode()
                assert mention.type is None or isinstance(mention.type, MentionType)
                assert mention.importance in range(1, 6)
            for relation in extraction.relations:
                assert isinstance(relation, Relation)
                assert relation.subject.strip()
                assert relation.predicate.strip()
                assert relation.object.strip()

    def test_names_occur_in_their_text(self, extractor: Extractor) -> None:
        """Apart from case, accents and inflection."""
        for text, extraction in zip(self.texts, extractor.extract(self.texts), strict=True):
            words = WordSequence(text)
            relations = extraction.relations
            for name in [one.name for one in extraction.mentions] + [one.subject for one in relations]:
                assert words.contains(name), f"{name!r} does not occur in {text!r}"
            for relation in relations:
                assert words.contains(relation.object), f"{relation.object!r} does not occur in {text!r}"

    def test_names_are_independent_of_other_texts(self, extractor: Extractor) -> None:
        """Alone, together or in reverse order: the same names."""
        together = extractor.extract(self.texts)
        assert together == [extractor.extract([text])[0] for text in self.texts]
        assert together == extractor.extract(self.texts[::-1])[::-1]

    def test_no_texts_give_no_names(self, extractor: Extractor) -> None:
        """An empty list is valid."""
        assert extractor.extract([]) == []
