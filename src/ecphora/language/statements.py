"""Questions against statements: a turn that asks seldom holds the answer."""

from ..patterns import lazy_pattern

_ASKS = lazy_pattern(
    r"[?？؟][\s\"'”’)\]」』]*$|[吗呢]\s*[。.]?\s*$|(?:です|ます|でしょう|ました|ません)か\s*[。.]?\s*$"
)


def asks(text: str) -> bool:
    """Whether a text ends by asking."""
    return _ASKS.search(text[-40:]) is not None
