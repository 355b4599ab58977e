"""The built-in reader with the token codes of all that it has read: a bench logs no access, so its files keep none."""

from collections.abc import Sequence

from ..readers.late_interaction import LateInteractionReader


class CachingReader(LateInteractionReader):
    """The built-in reader; it encodes each text once."""

    def __init__(self) -> None:
        super().__init__()
        self._codes: dict[str, bytes] = {}

    def encode(self, texts: Sequence[str], /) -> list[bytes]:
        """The token codes of texts, made of each alone."""
        new = [text for text in dict.fromkeys(texts) if text not in self._codes]
        self._codes.update(zip(new, super().encode(new), strict=True))
        return [self._codes[text] for text in texts]
