"""Relations in Chinese, Japanese and Korean: "上司の田中さん", "我们的房东王先生", "여동생 지수는"."""

import re
from collections.abc import Iterator
from functools import lru_cache

from ...model.lazy import lazy_pattern
from ..lexicon_file import lexicon_words
from ..word_lists import (
    CHINESE_SURNAMES,
    COMMON_WORDS_CJK,
    FUNCTION_CHARS,
    KATAKANA_LOANWORDS,
    PREFIXES_CJK,
    is_ordinary_word,
)
from .relation_lexicon import nouns_by_language, relations_by_noun

CJK_LANGUAGES = frozenset(("ja", "zh", "ko"))
"""The languages whose nouns this module finds."""

_HAN = "\u3400-\u9fff々"
_HANGUL = "가-힣"
_OWN = (
    "(?P<own>(?:私|僕|俺|わたし|ぼく|うち|我が家)の|我们家的?|我家的?|我们的?|咱们?的?|我的?|"
    "(?:우리|저희|내|제|나의)\\s?(?:집\\s)?)"
)
_OTHERS_BEFORE = lazy_pattern(f"(?:[の的你您他她它們们其]|의\\s?|그녀?\\s|彼|[{_HAN}]家)\\Z")
_HONORIFIC_JA = "さん|くん|ちゃん|君|様|先生"
_PARTICLE_JA = "[はがをにとも、。へで]|から|って|\\Z"
_ANY_NAME_JA = f"[{_HAN}]{{1,4}}|[ァ-ヺー]{{2,8}}|[ぁ-ん]{{2,5}}?"
_GIVEN_NAME_END = (
    "子美香奈菜花咲恵江枝代里理莉梨沙紗希紀織乃衣穂月葉緒桜央結愛葵凛郎介助太斗翔也哉樹平雄治志彦輝誠健一二三"
)
_TITLE_ZH = "先生|女士|太太|小姐|总|老师|医生|律师|师傅|阿姨|叔叔|叔|婶|婆|嫂|姐|哥|经理|教练|会计"
_AFTER_NAME_ZH = f"[^{_HAN}]|[{FUNCTION_CHARS}]|明天|今天|昨天|下|上|刚|最近|\\Z"
_SURNAME_KO = "[김이박최정강조윤장임한오서신권황안송류홍전고문양손배백허남심노하]"
_PARTICLE_KO = "(?:이?(?:는|가|를|랑|도|와|의|한테|에게)|은|이|을|과)(?![가-힣])"


def _not_names() -> frozenset[str]:
    """Words that follow a noun for a person and are not names."""
    return lexicon_words("names", "chinese, japanese and korean", "after nouns for persons")


def cjk_asked_nouns(question: str) -> Iterator[tuple[str, int, int, bool]]:
    """The nouns for persons and animals in a question, their bounds with a possessive, and whether they are own."""
    for match in _asked_pattern().finditer(question):
        if _is_free(question, match):
            yield match["noun"], match.start(), match.end(), bool(match["own"])


def cjk_mentions(text: str, relation: str) -> Iterator[tuple[str, bool]]:
    """The names that a text gives to a relation, and whether it is the speaker's own."""
    for code, nouns in nouns_by_language(relation).items():
        if code in CJK_LANGUAGES and any(noun in text for noun in nouns):
            for match in _mention_pattern(relation, code).finditer(text):
                name = next(match[group] for group in match.groupdict() if group != "own" and match[group])
                if _is_name(name) and not _is_others(text, match):
                    yield name, bool(match["own"])


def _is_free(question: str, match: re.Match[str]) -> bool:
    """Whether a noun is a word by itself, and not somebody else's."""
    noun = match["noun"]
    if match["own"]:
        return True
    is_part = re.match(f"[{_HAN}]", noun) and (
        re.match(f"(?![{FUNCTION_CHARS}])[{_HAN}]", question[match.start() - 1 : match.start()] or " ")
        or (len(noun) == 1 and re.match(f"[{_HAN}]", question[match.end() : match.end() + 1]))
    )
    return not is_part and not _is_others(question, match)


def _is_others(text: str, match: re.Match[str]) -> bool:
    return not match["own"] and _OTHERS_BEFORE.search(text, max(0, match.start() - 4), match.start()) is not None


def _is_name(name: str) -> bool:
    return not (
        name in _not_names()
        or name[:2] in _not_names()
        or name in COMMON_WORDS_CJK
        or name in KATAKANA_LOANWORDS
        or name[:2] in PREFIXES_CJK
        or name in relations_by_noun()
        or is_ordinary_word(name)
    )


@lru_cache(maxsize=1)
def _asked_pattern() -> re.Pattern[str]:
    nouns = {noun for noun in relations_by_noun() if re.search(f"[{_HAN}{_HANGUL}ぁ-ヺ]", noun)}
    return re.compile(f"{_OWN}?(?P<noun>{_alternatives(nouns)})")


def _alternatives(nouns: set[str] | tuple[str, ...]) -> str:
    return "|".join(sorted(map(re.escape, nouns), key=len, reverse=True))


@lru_cache(maxsize=256)
def _mention_pattern(relation: str, code: str) -> re.Pattern[str]:
    nouns = _alternatives(nouns_by_language(relation)[code])
    by_code = {"ja": _japanese, "zh": _chinese, "ko": _korean}
    return re.compile(f"{_OWN}?(?:{by_code[code](f'(?:{nouns})')})")


def _japanese(noun: str) -> str:
    given = f"[{_HAN}]{{1,2}}[{_GIVEN_NAME_END}]|[ァ-ヺー]{{2,4}}"
    return "|".join(
        (
            f"{noun}の(?P<titled>{_ANY_NAME_JA})(?={_HONORIFIC_JA})",
            f"{noun}[の、](?P<given>{given})(?={_PARTICLE_JA})",
            f"{noun}の名前は、?(?P<named>{_ANY_NAME_JA})(?=です|だ|と|で|。|、|\\Z)",
            f"{noun}[はが]、?(?P<predicate>[{_HAN}]{{1,4}}|[ァ-ヺー]{{2,8}})(?:{_HONORIFIC_JA})(?=です|だ|。|に[なか決変]|、|\\Z)",
            f"(?P<called>[{_HAN}]{{2,4}}|[ァ-ヺー]{{2,8}})(?:という|って(?:いう)?){noun}",
        )
    )


def _chinese(noun: str) -> str:
    surname = f"[{CHINESE_SURNAMES}]"
    full = f"[小阿老][{_HAN}]|(?![毛石白黄马金高江]){surname}[{_HAN}]{{1,2}}?"
    return "|".join(
        (
            f"{noun}(?:的?名字)?(?:叫做?|名叫|是叫)(?P<named>{full}|[{_HAN}]{{2}}|[A-Z][a-z]+)(?={_AFTER_NAME_ZH})",
            f"{noun}(?:现在|还)?[是，]?(?P<titled>{surname}(?:{_TITLE_ZH}))",
            f"{noun}(?:[，（(])?(?P<given>{full})(?={_AFTER_NAME_ZH})",
        )
    )


def _korean(noun: str) -> str:
    return "|".join(
        (
            f"{noun}(?:인|,)?\\s(?P<titled>{_SURNAME_KO}?[{_HANGUL}]{{2}}|{_SURNAME_KO})(?=\\s?(?:씨|님|선생님|사장님|부장님|과장님|팀장님))",
            f"{noun}\\s이름은\\s(?P<named>[{_HANGUL}]{{2,3}}?)(?=이?(?:야|예요|에요|입니다|다|고|라))",
            f"{noun}(?:[은는이가])\\s(?P<predicate>[{_HANGUL}]{{2,3}}?)(?=\\s?(?:씨|님|이야|입니다|이에요|예요))",
            f"{noun}\\s(?P<given>{_SURNAME_KO}[{_HANGUL}]{{2}})(?={_PARTICLE_KO})",
        )
    )
