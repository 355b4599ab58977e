"""Counts the characters of scripts in a text, and estimates its tokens. No language detection, and no tokenizer."""

from ..model.lazy import lazy_pattern

UNSPACED_CHARS = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
    "\u3005\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
)
"""Thai, Lao, Burmese, Khmer, kana, CJK ideographs and hangul: scripts in which spaces do not reliably separate words.
"""

_LATIN = lazy_pattern("[A-Za-zª-ɏḀ-ỿＡ-Ｚａ-ｚ]")
_UNSPACED = lazy_pattern(f"[{UNSPACED_CHARS}]")
_LONG_MARK_RUN = lazy_pattern(r"(?:[^\w\x00-\x7f]|[\uff9e\uff9f]){30}")
_JOINER = "\u034f"


def latin_fraction(text: str) -> float:
    """The fraction of a text's letters that are Latin, in 0..1; 1 for a text without letters."""
    if text.isascii():
        return 1.0
    letters = sum(map(str.isalpha, text))
    return min(1.0, len(_LATIN.findall(text)) / letters) if letters else 1.0


def stream_safe(text: str) -> str:
    """Insert a combining grapheme joiner after every 30 marks in a row (Unicode's UAX #15, section 13).

    Normalizing sorts a run of marks, in time quadratic in its length. The joiner is itself a mark without meaning;
    remove it together with the accents.
    """
    return _LONG_MARK_RUN.sub(rf"\g<0>{_JOINER}", text)


def count_unspaced(text: str) -> int:
    """The number of characters that belong to scripts written without spaces."""
    return 0 if text.isascii() else len(_UNSPACED.findall(text))


CHARS_PER_TOKEN = 4
"""Approximate characters a token in scripts with spaces, for common tokenizers."""


def estimate_tokens(text: str) -> int:
    """Estimate the tokens of a text, at least 1: one a character in scripts without spaces."""
    unspaced_count = count_unspaced(text)
    return max(1, unspaced_count + -(-(len(text) - unspaced_count) // CHARS_PER_TOKEN))
