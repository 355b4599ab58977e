"""The built-in extractor: finds names by the rules of :mod:`ecphora.language.names.mentions`, without a model."""

from collections.abc import Sequence

from ..language.names.mentions import names
from ..model.types import Extraction, Mention


class RuleExtractor:
    """An :class:`~ecphora.model.ports.Extractor` that finds names by their spelling."""

    def extract(self, texts: Sequence[str], /) -> list[Extraction]:
        """Find the names of each text, in the order of the texts; types, descriptions and relations are left empty."""
        return [Extraction(tuple(map(Mention, names(text)))) for text in texts]
