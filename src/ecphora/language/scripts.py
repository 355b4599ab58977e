"""Which scripts a text is written in. Not language detection: letters are counted, nothing is guessed."""

from ..patterns import lazy_pattern

UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
    "\u3005\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
)
"""Thai, Lao, Burmese, Khmer, kana, CJK ideographs and hangul: scripts whose words no space can be trusted to part."""

_LATIN = lazy_pattern("[A-Za-zª-ɏḀ-ỿＡ-Ｚａ-ｚ]")
_UNSPACED = lazy_pattern(f"[{UNSPACED}]")
_MARKS = lazy_pattern(r"(?:[^\w\x00-\x7f]|[\uff9e\uff9f]){30}")
_JOINER = "\u034f"


def latin_share(text: str) -> float:
    """The share of a text's letters that are Latin, in 0..1; 1 for a text without letters."""
    if text.isascii():
        return 1.0
    letters = sum(map(str.isalpha, text))
    return min(1.0, len(_LATIN.findall(text)) / letters) if letters else 1.0


def stream_safe(text: str) -> str:
    """The text with a combining grapheme joiner after every 30 marks in a row (Unicode's UAX #15, section 13).

    Normalizing sorts a run of marks, in time quadratic in its length. The joiner is itself a mark without meaning; take
    it out again with the accents.
    """
    return _MARKS.sub(rf"\g<0>{_JOINER}", text)


def unspaced(text: str) -> int:
    """How many characters of a text belong to scripts that are written without spaces."""
    return 0 if text.isascii() else len(_UNSPACED.findall(text))
