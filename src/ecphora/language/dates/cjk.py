"""Rewrites Chinese and Japanese dates in place into the English that the grammar of ``dates`` parses.

It does not interpret dates and needs no calendar and no reference time; unrecognized phrases stay.

Conventions: simplified, traditional and Japanese forms share one table where they agree; the tables are in
``lexicon/dates_cjk.ini``. Years are written 2023年, 二〇二三年, 令和5年 or 去年; 上旬, 中旬 and 下旬 are early, mid and
late. A repeated day (每周五, 毎週金曜日) is no date. 日 and 月 in other words (日本, 个月) are distinguished by the
characters around them, without a dictionary.
"""

import re
from collections.abc import Mapping

from ...model.lazy import lazy_pattern
from ..lexicon_file import lexicon_numbers, read_lexicon
from .phrases import RewriteRule, Rewriting

_NUMBER = "(?:[0-9０-９]{1,4}|[〇零一二三四五六七八九十百两兩]{1,5})"
_MONTH_NAMES = "January February March April May June July August September October November December"
_MONTHS = _MONTH_NAMES.split()
_TABLES = read_lexicon("dates_cjk")
_WEEKDAYS, _SEASONS, _THIRDS = _TABLES["weekdays"], _TABLES["seasons"], _TABLES["thirds"]
_DAY_NAMES, _DAY_PARTS, _UNITS = _TABLES["days"], _TABLES["day parts"], _TABLES["units"]
_PREPOSITIONS = {word: f"{english} " for word, english in _TABLES["prepositions"].items()}
_DIGITS, _ERAS, _OFFSETS, _YEARS = (
    lexicon_numbers("dates_cjk", section, _TABLES[section]) for section in ("digits", "eras", "offsets", "years")
)


def _number(text: str) -> int:
    """Parse 12, １２, 十二 or 二〇二三."""
    if text.isdecimal():
        return int(text)
    if not set(text) & {"十", "百"}:
        return int("".join(str(_DIGITS[letter]) for letter in text))
    total, digit = 0, 0
    for letter in text:
        if letter in _DIGITS:
            digit = _DIGITS[letter]
        else:
            total, digit = total + (digit or 1) * (100 if letter == "百" else 10), 0
    return total + digit


def _relative(unit: str, offset: int) -> str:
    if abs(offset) < 2:
        return f"{('last', 'this', 'next')[offset + 1]} {unit}"
    return f"two {unit}s ago" if offset < 0 else f"two {unit}s from now"


def _year(match: re.Match[str]) -> str:
    if match["era"]:
        return str(_ERAS[match["era"]] + (1 if match["count"] == "元" else _number(match["count"])))
    if match["year"]:
        return f"{_number(match['year']):04}"
    return _relative("year", _YEARS[match["then"]]) if match["then"] else ""


def _date(match: re.Match[str]) -> str:
    parts = match.groupdict()
    year = _year(match) if "era" in parts else ""
    third, day = parts.get("third"), parts.get("day")
    side = _PREPOSITIONS[match["side"]] if match["side"] else ""
    side += f"{_THIRDS[third[0]]} " if third else ""
    if season := parts.get("season"):
        return f" {side}{_SEASONS[season]} {year} "
    if not parts.get("month"):
        return f" {side}{year} " if match["then"] or side else f" in {year} "
    month = _number(parts["month"])
    if not 1 <= month <= 12:
        return " "
    return f" {side}{'' if day or side else 'in '}{_MONTHS[month - 1]} {_number(day) if day else ''} {year} "


def _days(match: re.Match[str]) -> str:
    """The English of 5月3日から7日まで or 2025年5月3日-7日."""
    month, year = _number(match["month"]), _year(match) if "era" in match.groupdict() else ""
    if not 1 <= month <= 12:
        return " "
    return f" {_MONTHS[month - 1]} {_number(match['day'])}-{_number(match['until'])} {year} "


def _numeric_day(match: re.Match[str]) -> str:
    return f" {_MONTHS[int(match['month']) - 1]} {match['day']} "


def _day_of_month(match: re.Match[str]) -> str:
    return f" on the {_number(match['day'])}th of the month "


def _month(match: re.Match[str]) -> str:
    month = _relative("month", _OFFSETS[match["which"]])
    if match["day"]:
        return f" {_number(match['day'])} of {month} "
    return f" {_THIRDS[match['third'][0]]} {month} " if match["third"] else f" {month} "


def _week(match: re.Match[str]) -> str:
    offset = _OFFSETS[match["which"]]
    if match["end"]:
        return f" {_relative('weekend', offset)} "
    weekday = f"{_WEEKDAYS[match['day']]} " if match["day"] else ""
    return f" {weekday}{_relative('week', offset)} "


def _weekday(match: re.Match[str]) -> str:
    return f" on {_WEEKDAYS[match['day']]} "


def _count(match: re.Match[str]) -> str:
    if match["half"]:
        return "6 months"
    unit = match["unit"]
    count = str(_number(match["number"])) if match["number"] else "a few"
    return f"{count} {'month' if unit.endswith('月') else _UNITS[unit[-2:][0] if unit[0] in '个個' else unit[0]]}s"


def _ago_today(match: re.Match[str]) -> str:
    return f" {_count(match)} ago today "


def _ago(match: re.Match[str]) -> str:
    return f" {_count(match)} {'ago' if match['side'].endswith('前') else 'from now'} "


def _rolling(match: re.Match[str]) -> str:
    return f" the {'next' if match['side'][0] in '未今接' else 'past'} {_count(match)} "


def _decade(match: re.Match[str]) -> str:
    number = _number(match["number"])
    return f" the {number}s " if number % 10 == 0 else " "


def _alternatives(words: Mapping[str, str] | Mapping[str, int]) -> str:
    return "|".join(sorted(words, key=len, reverse=True))


_WEEK = "(?:周|週|星期|礼拜|禮拜)"
_WEEKDAY = "(?P<day>[一二三四五六日天])(?![个個次天直起些共样樣本川月年])"
_RELATIVE_ZH = "(?P<which>上上|上|这|這|本|下下|下)[个個]?"
_RELATIVE_JA = "(?P<which>先々|先|今|再来|来)"
_THIRD = "(?P<third>終わり|上旬|初旬|初め|初|はじめ|中旬|半ば|下旬|底|末)"
_UNIT = "(?P<unit>天|日|[个個]?星期|[个個]?[礼禮]拜|週間|周|週|[个個かヶカヵケ]月|年|[个個]?小[时時]|時間|分[钟鐘]?)"
_COUNT_UNIT = rf"(?:(?P<half>半年)|(?:(?<![\d.])(?P<number>{_NUMBER})(?<!\d\d\d\d)|[几幾数數]){_UNIT})"
_YEAR = (
    rf"(?:(?P<era>{_alternatives(_ERAS)})(?P<count>元|{_NUMBER})年"
    rf"|(?<!\d)(?P<year>\d{{4}}|[〇零一二三四五六七八九]{{4}}) ?年 ?"
    rf"|(?<![以之目])(?P<then>{_alternatives(_YEARS)})(?![轻輕代龄齡]))"
)
_WEEKDAY_AFTER = (
    r"(?: ?[（(](?:星期|周|週|礼拜)?.曜?日?[)）]| ?(?:星期|周|週|礼拜|禮拜)[一二三四五六日天]| ?[月火水木金土日]曜日?)?"
)
_DAY = rf"(?P<day>{_NUMBER}) ?[日号號]"
_MONTH_NUMBER = rf"(?P<month>{_NUMBER}) ?月"
_MONTH = rf"{_MONTH_NUMBER}份?(?: ?の?(?:{_DAY}{_WEEKDAY_AFTER}|{_THIRD}))?"
_DAYS = (
    rf"{_MONTH_NUMBER} ?{_DAY}{_WEEKDAY_AFTER} ?(?:から|到|至|[-–~〜～])"
    rf" ?(?P<until>{_NUMBER}) ?[日号號]{_WEEKDAY_AFTER}(?:まで|为止)?(?![前後后間间])"
)
_PREPOSITION = "(?P<side>以[来來前后後降]|之[前后後]|起(?![来來])|[前后後](?![半期天年])|から(?![^。、\n]{0,16}まで))?"

_DAY_NUMBER = "[12]?\\d|3[01]|[１-９][０-９]?|二?十[一二三四五六七八九]?|三十一?|[二三四五六七八九]"
_OVER_TEN = "二?十[一二三四五六七八九]|[二三]十|三十一"
_NOT_BEFORE_DAY = r"\d月第每毎个個.〇零一二三四五六七八九十百"
_NUMBERED = "线線楼房码碼选選店公机機门門路室院床车車种馆仓电商志桌球员位厅台柜地的母"
"""What a number with 号 is the number of, if it is no day."""

_RULES: tuple[RewriteRule, ...] = tuple(
    (lazy_pattern(pattern), write)
    for pattern, write in (
        (rf"(?<!\d)(?:二十世[纪紀])?(?P<number>{_NUMBER})年代", _decade),
        (rf"{_YEAR}の?{_DAYS}", _days),
        (rf"(?<![\d.每毎]){_DAYS}", _days),
        (rf"{_YEAR}の?{_MONTH}{_PREPOSITION}", _date),
        (rf"{_YEAR}の?(?P<season>[春夏秋冬])[天季]?(?![节節]){_PREPOSITION}", _date),
        (rf"{_YEAR}(?:[年の]?{_THIRD})?{_PREPOSITION}", _date),
        (
            rf"(?:上一?[个個]|前の){_MONTH_NUMBER}份?(?![日个個])",
            lambda match: (
                f" last {_MONTHS[_number(match['month']) - 1]} " if 1 <= _number(match["month"]) <= 12 else " "
            ),
        ),
        (rf"(?<![\d.每毎]){_MONTH}{_PREPOSITION}", _date),
        (rf"(?<!以){_RELATIVE_ZH}月(?:の?(?:(?P<day>{_NUMBER})[日号號]|{_THIRD}))?", _month),
        (rf"{_RELATIVE_JA}月(?:の?(?:(?P<day>{_NUMBER})[日号號]|{_THIRD}))?", _month),
        (rf"{_RELATIVE_ZH}{_WEEK}(?:{_WEEKDAY}|(?P<end>末))?", _week),
        (rf"{_RELATIVE_JA}[週周](?:の?(?P<day>[月火水木金土日])曜日?|の?(?P<end>週?末))?", _week),
        (rf"(?:ちょうど|刚好|正好){_COUNT_UNIT}[之以]?前(?!半)", _ago_today),
        (rf"{_COUNT_UNIT}[之以]?前[的の](?:今天|今日)", _ago_today),
        (rf"{_COUNT_UNIT}(?P<side>[之以]?[前后後])(?!半)", _ago),
        (rf"(?P<side>过去|過去|最近|ここ|未来|今後|接下来)[的の]?{_COUNT_UNIT}間?", _rolling),
        (
            rf"(?<![以之目])(?P<day>{_alternatives(_DAY_NAMES)})(?!气|氣|だい|とう|いく|(?<=この間)[、にはの]|(?<=このあいだ)[、にはの])",
            lambda match: f" {_DAY_NAMES[match['day']]} ",
        ),
        (r"この前の(?P<day>[月火水木金土日])曜日?", lambda match: f" last {_WEEKDAYS[match['day']]} "),
        (
            (
                r"(?<![\d/])(?P<month>1[0-2]|0?[1-9])/(?P<day>3[01]|[12]\d|0?[1-9])"
                r"(?=[にはがも那这]|[（(][月火水木金土日一二三四五六])"
            ),
            _numeric_day,
        ),
        (rf"(?<![{_NOT_BEFORE_DAY}・])(?P<day>{_DAY_NUMBER})日(?=に(?![0-9一二三四五六七八九十]))", _day_of_month),
        (rf"(?<![{_NOT_BEFORE_DAY}・])(?P<day>[12]?\d|3[01]|{_OVER_TEN})日(?=[はがも])", _day_of_month),
        (rf"(?<![每毎一两二三四五六七八九十\d个個]){_WEEK}{_WEEKDAY}", _weekday),
        (r"(?<!毎週)(?<!毎週の)(?P<day>[月火水木金土日])曜日?", _weekday),
        (rf"(?<=[a-z0-9 ] )の?(?P<part>{_alternatives(_DAY_PARTS)})", lambda match: f"{_DAY_PARTS[match['part']]} "),
    )
)
_CHINESE_RULES: tuple[RewriteRule, ...] = (
    (
        lazy_pattern(
            rf"(?<![{_NOT_BEFORE_DAY}a-z])(?P<day>[12]?\d|3[01]|{_OVER_TEN}|(?<=[我你他她们在到于是])[三四五六七八九十])[号號](?![{_NUMBERED}])"
        ),
        _day_of_month,
    ),
)
"""Rules for texts without kana: 15号 is a day in Chinese and a number in Japanese."""
_KANA = lazy_pattern("[\u3041-\u30fa]")
_CJK = lazy_pattern("[\u3041-\u9fff]")


def rewrite_cjk(rewriting: Rewriting) -> None:
    """Rewrite every Chinese or Japanese date of a text."""
    is_chinese = _KANA.search(rewriting.text) is None
    rewriting.apply(_RULES)
    if is_chinese:
        rewriting.apply(_CHINESE_RULES)


def has_cjk(text: str) -> bool:
    """Whether a text has a Chinese or Japanese character."""
    return _CJK.search(text) is not None
