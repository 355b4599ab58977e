"""Questions against statements: a turn that asks seldom holds the answer."""

import re

_ASKS = re.compile(r"[?？؟][\s\"'”’)\]」』]*$|[吗呢]\s*[。.]?\s*$|(?:です|ます|でしょう|ました|ません)か\s*[。.]?\s*$")


def asks(text: str) -> bool:
    """Whether a text ends by asking."""
    return _ASKS.search(text[-40:]) is not None
