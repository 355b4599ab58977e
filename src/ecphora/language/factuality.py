"""Tells what a text states as a fact from what it supposes, advises or reports, and from former states.

By words and phrases, for English, German, Spanish, French, Portuguese, Chinese and Japanese. The distinction is that of
event factuality: Roser Saurí and James Pustejovsky, "FactBank: a corpus annotated with event factuality", 2009.
"""

import re
from dataclasses import dataclass

from ..lazy_pattern import lazy_pattern
from .dates_cjk import has_cjk
from .european_languages import European, european_language, words_of
from .factuality_lexicon import (
    ADVICE,
    ADVICE_CJK,
    FORMER,
    FORMER_CJK,
    REPORTED,
    REPORTED_CJK,
    SUPPOSED,
    SUPPOSED_CJK,
)

MAX_CHARS = 400
"""In a longer text a phrase says little about the whole, so nothing is said of it."""
_QUOTATION = lazy_pattern(
    r"[:：,，]\s*(?:\"[^\"]{8,}\"|“[^”“]{8,}[”“]|„[^“”]{8,}[“”]|«\s?[^»]{8,}»|‘[^’]{8,}’|[「『][^」』]{4,}[」』]|"
    r"[“\"][^”\"]{4,}[”\"]$)"
)
_MORE_THAN_FACTS = lazy_pattern(
    r"\b(?:suggest|recommend|advi[cs]|propos|say|said|tell|told|mention|quot|opinion|think|thought|would|could|should|might|"
    r"wish|dream|hope|imagin|idea|hear|rumou?r|empf|ratschl|geraten|rät|schlug|vorgeschlagen|sag|meint|würde|könnte|soll|träum|"
    r"wünsch|gehört|recom|suger|aconsej|dijo|dice|dicho|podr|deber|soñ|consej|conseil|suggér|dit\b|disent|pourr|devr|rêv|"
    r"aconselh|disse|diz|poder|dever|sonh)|建议|建議|推荐|推薦|说|說|认为|認為|听|聽|梦|夢|すすめ|勧|提案|言|思|聞|夢",
    re.IGNORECASE,
)
_SELF_BEFORE = lazy_pattern(r"(?:\b(?:I|[Ww]e|[Ii]ch|[Ww]ir|[Jj]e|[Nn]ous|[Yy]o|[Ee]u)\b|[我私僕俺])[^:：,]{0,30}$")


@dataclass(frozen=True, slots=True)
class Factuality:
    """How a text is meant; all are False if it states what is so.

    ``is_supposed`` if it supposes, wishes or says what nearly was; ``is_advice`` if it proposes something to somebody;
    ``is_reported`` if it quotes somebody or tells what people say; ``is_former`` if it tells of a state that is over.
    """

    is_supposed: bool = False
    is_advice: bool = False
    is_reported: bool = False
    is_former: bool = False


def factuality(text: str) -> Factuality:
    """How a text is meant."""
    if len(text) > MAX_CHARS:
        return Factuality()
    bare, quoted = without_quotations(text)
    if has_cjk(text):
        supposed, advice, reported, former = SUPPOSED_CJK, ADVICE_CJK, REPORTED_CJK, FORMER_CJK
    else:
        language = european_language(words_of(text)) or European.ENGLISH
        supposed, advice, reported, former = SUPPOSED[language], ADVICE[language], REPORTED[language], FORMER[language]
    return Factuality(
        is_supposed=supposed.search(bare) is not None,
        is_advice=advice.search(bare) is not None,
        is_reported=quoted or reported.search(bare) is not None,
        is_former=former.search(text) is not None,
    )


def asks_for_facts(question: str) -> bool:
    """Whether a question asks for what is so, and not for what somebody said, advised, thought or would do."""
    return _MORE_THAN_FACTS.search(question) is None


def without_quotations(text: str) -> tuple[str, bool]:
    """A text without what somebody else is quoted with, and whether that is most of it."""
    found = _QUOTATION.search(text)
    if found is None or _SELF_BEFORE.search(text[: found.start()]):
        return text, False
    bare = f"{text[: found.start()]} {text[found.end() :]}"
    return bare, len(bare) < len(text) / 2 + 20
