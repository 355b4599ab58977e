"""Whether words occur in a text, apart from case, accents and inflection: the guard against names that were made up."""

from .terms import fold, fold_words, is_unspaced


class WordSequence:
    """The words of a text, to look other words up in."""

    def __init__(self, text: str) -> None:
        self._folded = fold(text)
        self._stems = _join(text)

    def contains(self, words: str) -> bool:
        """Whether some words stand in the text one after another; False for a text without words.

        English words are compared by their stems. In scripts without spaces, characters are compared.
        """
        stems = _join(words)
        if not stems.strip():
            return False
        if any(map(is_unspaced, words)):
            return "".join(fold(words).split()) in "".join(self._folded.split())
        return stems in self._stems


def _join(text: str) -> str:
    return f" {' '.join(fold_words(text))} "
