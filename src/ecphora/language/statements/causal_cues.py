"""Cue words of cause and effect at the start of a text, which tie it to what was said just before. English only."""

import re

from ...model.lazy import lazy_pattern

_START = r"^[\s\"'“”‘’(—-]*(?:(?:well|yes|yeah|no|oh|and|but|maybe|probably|mostly|mainly|just|it'?s|that'?s)[,\s]+)*"
_CAUSE = lazy_pattern(
    _START + r"(?:because|'?cause|cuz|since|due to|thanks to|on account of|owing to|the reason (?:is|was|being))\b",
    re.IGNORECASE,
)
_EFFECT = lazy_pattern(
    r"^[\s\"'“”‘’(—-]*(?:(?:and|but|well)[,\s]+)?"
    r"(?:that(?:['’]s| is| was) why|which is why|this is why|therefore|thus|hence|consequently"
    r"|as a (?:result|consequence)"
    r"|because of (?:that|this|it)|for (?:that|this) reason"
    r"|so (?:i|we|he|she|they|it|now|that)\b)",
    re.IGNORECASE,
)


def states_cause(text: str) -> bool:
    """Whether a text begins by giving the cause of what was said before, as in "Because the train was late"."""
    return _CAUSE.match(text) is not None and not states_effect(text)


def states_effect(text: str) -> bool:
    """Whether a text begins by giving the effect of what was said before, as in "That's why we moved"."""
    return _EFFECT.match(text) is not None
