"""The built-in extractor: names by rules, without a model; :mod:`ecphora.language.names` says what is one."""

from collections.abc import Sequence

from ..language.names import names
from ..model import Mention


class Rules:
    """An :class:`~ecphora.ports.Extractor` of the names that can be read off the spelling of a text."""

    def extract(self, texts: Sequence[str], /) -> list[tuple[Mention, ...]]:
        """Find the names of each text, in the order of the texts."""
        return [tuple(map(Mention, names(text))) for text in texts]
