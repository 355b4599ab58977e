"""Names in Chinese, Japanese and Korean: only next to a word that indicates a name."""

from collections.abc import Iterator

from ...model.lazy import lazy_pattern
from ..word_lists import (
    CHINESE_SURNAMES,
    COMMON_WORDS_CJK,
    FUNCTION_CHARS,
    KATAKANA_LOANWORDS,
    PREFIXES_CJK,
    is_ordinary_word,
)

NameCandidate = tuple[int, str, bool]
"""The offset of a name, the name, and whether it is certain."""
_HAN = "\u3400-\u9fff々"
CJK = lazy_pattern("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3]")
_KANA = lazy_pattern("[\u3041-\u30fa]")
SPEECH_MARKER = lazy_pattern(
    "[。！？、，；…!?,;:：]|[的了吗呢吧啊哦嗯我你您他她们]|(?:もの|こと|する|した|である|です|ます|ました|ません|だ|よ|ね|た|ない|요|다|니)$|^[ぁ-ん]{1,5}$"
)
_TITLES = "先生|女士|老师|同学|小姐|阿姨|叔叔|教授|医生|经理|师傅"
_SURNAME = f"(?:欧阳|司马|上官|诸葛|[{CHINESE_SURNAMES}])"
_CHINESE = lazy_pattern(
    f"(?:我叫|名叫|名字是|名字叫|姓名是|叫做)(?P<called>{_SURNAME}[{_HAN}]{{1,2}}?)(?=[^{_HAN}]|[{FUNCTION_CHARS}]|\\Z)"
    f"|(?P<full>{_SURNAME}(?:(?!{_TITLES})[{_HAN}]){{1,2}}?)(?={_TITLES})|(?P<titled>{_SURNAME}(?:{_TITLES}))"
)
_JAPANESE = lazy_pattern(
    f"(?<![{_HAN}])(?P<name>[{_HAN}]{{1,6}})(?=さん|くん|ちゃん|様(?![子々式相])|氏(?![{_HAN}])|先生)"
)
_KOREAN = lazy_pattern(
    "(?<![가-힣])(?P<name>[김이박최정강조윤장임한오서신권황안송류홍][가-힣]{2})(?= ?(?:씨|님|선생님))"
)
_KOREAN_PLACE = lazy_pattern("(?<![가-힣])(?P<name>[가-힣]{2,5}대학교)")
KATAKANA = lazy_pattern("(?P<name>[ァ-ヺ][ァ-ヺー]+(?:[・＝][ァ-ヺー]+)*)")
_LATIN = lazy_pattern("(?<=[\u3040-\u30ff\u3400-\u9fff])(?P<name>[a-z][a-z0-9]{2,})(?![a-z0-9.@_/-])")
_HAN_RUN = lazy_pattern(f"(?:(?![{FUNCTION_CHARS}])[{_HAN}]){{3,}}")
_PLACE = lazy_pattern(
    "(.{2,3}?)(市(?![场場民中价面长值容])|县(?!城)|縣|駅|県)|(.{2,4}?)(大学|大學|公司|会社)|(?P<ward>.{2,3}?[区區](?![域别块分]))"
    "|(?P<whole>東京都|大阪府|京都府|黑龙江省|[广河湖山陕海江浙福云贵四甘青吉辽安台][东北南西苏江建州川肃海林宁徽湾]省)"
)


def cjk_names(text: str) -> Iterator[NameCandidate]:
    """Names in scripts without spaces, and lower-case Latin words between their characters."""
    people = _JAPANESE if _KANA.search(text) else _CHINESE
    for pattern in (people, KATAKANA, _LATIN, _KOREAN, _KOREAN_PLACE):
        for match in pattern.finditer(text):
            name = match[str(match.lastgroup)]
            name = name if match.lastgroup != "name" else _strip_prefix(name)
            if len(name) > 4 and pattern is _JAPANESE:
                continue
            if name and name not in COMMON_WORDS_CJK and name not in KATAKANA_LOANWORDS and not is_ordinary_word(name):
                yield match.start(), name, True
    for run in _HAN_RUN.finditer(text):
        yield from _place_names(run.start(), run[0], allow_wards=people is _JAPANESE)


def _place_names(start: int, run: str, *, allow_wards: bool) -> Iterator[NameCandidate]:
    """Places and institutions at the start of a run of characters, one after another; wards only after their city."""
    at = 0
    while (match := _PLACE.match(run, at)) is not None:
        name = _strip_prefix(match[0])
        stem = name.removesuffix(match[2] or match[4] or match[0][-1])
        is_ordinary = len(stem) < 2 or stem in COMMON_WORDS_CJK or name[-2:] in COMMON_WORDS_CJK
        if not is_ordinary and (at or allow_wards or match.lastgroup != "ward"):
            yield start + match.start(), name, True
        at = match.end()


def _strip_prefix(name: str) -> str:
    """Remove a word of time or motion that precedes a name without a space."""
    for size in (3, 2):
        if name[:size] in PREFIXES_CJK:
            return name[size:]
    return name
