"""The names in a text, found by rules: no model, no dictionary of names, no resolution of who is meant.

Scripts with capitals are read by their capitals; German nouns are therefore taken for names. Chinese, Japanese and
Korean are read by quotation marks, katakana, and the few words that stand beside names: few names, seldom wrong ones.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator

from ..patterns import lazy_pattern
from .common import (
    COMMON,
    COUNTED,
    DATE_PREPOSITIONS,
    DATES,
    ENDINGS,
    FOREIGN,
    FUNCTION_SIGNS,
    GENERIC_CJK,
    INTERJECTIONS,
    LOANWORDS,
    MONTHS,
    PREFIXES_CJK,
    RANKS,
    SMALL_WORDS,
    STARTERS,
    SURNAMES,
    WEEKDAYS,
)
from .scripts import stream_safe


def names(text: str) -> tuple[str, ...]:
    """Find the names of a text in order of first appearance, distinct by :func:`key`, as they are written."""
    works = list(_works(text))
    found = [(start, name, True) for start, _, name in works]
    read = _without(text, works) if works else text
    found.extend(_capitalised(read))
    if not text.isascii() and _CJK.search(text):
        found.extend(_unspaced(read))
        found.sort(key=lambda entry: entry[0])
    elif works:
        found.sort(key=lambda entry: entry[0])
    if not all(firm for _, _, firm in found):
        found = _confirmed(text, found)
    distinct: dict[str, str] = {}
    for _, name, _ in found:
        normal = key(name)
        if len(normal) > 1:
            distinct.setdefault(normal, name)
    return tuple(distinct.values())


def key(name: str) -> str:
    """The normal form in which two mentions of one name are equal; may be empty.

    Case, accents, punctuation, a leading "the", a possessive and a trailing parenthesis go; initials are written
    together. A rank goes if two words follow it: "King Olaf II" is "Olaf II", but "King Olaf" is not just any Olaf.
    """
    form = name.lower() if name.isascii() else _folded(name)
    words = form.split()
    if not all(map(str.isalnum, words)):
        words = _GAPS.sub(" ", _POSSESSIVE.sub("", _unparenthesised(form))).split()
    if len(words) > 1 and min(map(len, words)) == 1:
        words = _INITIALS.sub("", " ".join(words)).split(" ")
    last, at = len(words) - 1, 0
    while at < last:
        rank = at + (words[at] == "grand")
        if words[at] == "the":
            at += 1
        elif rank < last - 1 and words[rank] in RANKS and words[rank + 1] not in ("of", "and"):
            at = rank + 1
        else:
            break
    return " ".join(words[at:])


def entity_id(name: str) -> str:
    """The id of the node that stands for a name."""
    return "entity:" + key(name)


# The normal form.

_LETTER = lazy_pattern(r"[^\W_]")
_POSSESSIVE = lazy_pattern(r"(?<=\w)['’ʼ`]s(?!\w)")
_GAPS = lazy_pattern(r"[\W_]+")
_INITIALS = lazy_pattern(r"(?<=\b[a-z]) (?=[a-z]\b)")
_ACCENT = lazy_pattern("[\u0300-\u036f]+")
_LETTERS = str.maketrans({"ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "æ": "ae", "œ": "oe", "ı": "i"})


def _unparenthesised(form: str) -> str:
    """The form without what stands in parentheses at its end, unless nothing would be left."""
    end = len(form.rstrip())
    while form[end - 1 : end] == ")" and (start := form.rfind("(", 0, end)) > form.rfind(")", 0, end - 1):
        end = start
        while form[end - 1 : end].isspace():
            end -= 1
    return form[:end] if _LETTER.search(form, 0, end) else form


def _folded(name: str) -> str:
    """Compatibility form, no case, no accents; twice, since taking an accent off may uncover another change."""
    form = stream_safe(name)
    for _ in range(2):
        plain = _ACCENT.sub("", unicodedata.normalize("NFKD", form).casefold()).translate(_LETTERS)
        form = unicodedata.normalize("NFKC", plain)
    return form


# Works in quotation marks.

_QUOTED = lazy_pattern(
    r"""["“«'‘《『「](?:(?<=["“«])(?=(?P<double>[^"“”«»\n]{1,80})["”»])"""
    r"""|(?<=['‘])(?<!\w.)(?=(?P<single>[^'‘’"\n]{2,60})['’](?!\w))"""
    r"""|(?<=[《『])(?=(?P<work>[^《》『』\n]{1,40})[》』])"""
    r"""|(?<=[「“])(?=(?P<speech>[^「」“”\n]{2,16})[」”]))"""
)
_WORD_IN_TITLE = lazy_pattern(r"[^\s\-–—/]+")


def _works(text: str) -> Iterator[tuple[int, int, str]]:
    """Quoted titles with their bounds; what somebody says in quotation marks is none."""
    end = 0
    for match in _QUOTED.finditer(text):
        kind = str(match.lastgroup)
        start = match.start() + 1
        inside = match[kind]
        if start < end or not (_title(inside) if inside.isascii() else _foreign_title(inside, kind)):
            continue
        end = start + len(inside)
        yield start, end, inside.strip(" ,.;")


def _foreign_title(inside: str, kind: str) -> bool:
    if not _CJK.search(inside):
        return kind != "speech" and _title(inside)
    return kind == "work" or (not _SPOKEN.search(inside) and (len(inside) > 2 or bool(_KATAKANA.search(inside))))


def _title(inside: str) -> bool:
    """Whether quoted words are written as a title: few, capitalised but for the small ones, and not all ordinary."""
    words = _WORD_IN_TITLE.findall(inside.strip())
    if not 0 < len(words) <= 10:
        return False
    first = words[0]
    if not (first[0].isupper() or (first[0].isdigit() and len(words) > 1)):
        return False
    if (
        not all(word[0].isupper() or not word[0].isalpha() or word in SMALL_WORDS for word in words)
        or words[-1] in SMALL_WORDS
    ):
        return False
    if len(words) == 1:
        return not _ordinary(first.strip(",.!?;:"))
    return not (inside.rstrip()[-1] in ".!?" and _base(first) in INTERJECTIONS)


def _without(text: str, works: Iterable[tuple[int, int, str]]) -> str:
    """The text with commas in the place of works, every other character where it was."""
    parts: list[str] = []
    at = 0
    for start, end, _ in works:
        parts += (text[at:start], "," * (end - start))
        at = end
    parts.append(text[at:])
    return "".join(parts)


# Capitalised spans.

_RANGES = ((0x41, 0x250), (0x370, 0x530), (0x1E00, 0x2000))
_UPPER = "".join(chr(code) for low, high in _RANGES for code in range(low, high) if chr(code).isupper())
_ALPHA = "0-9A-Za-zªµºÀ-ÖØ-öø-\u02af\u0300-\u03ff\u0400-\u052f\u1e00-\u1fff"
_NOT_A_NAME = (
    "based|area|born|style|like|led|type|era|wide|bound|owned|free|shirt|ish|esque|pop|up|in|on|off|out|to|of|and|year|"
    "long|old|day|class|made|level|only|ups|ins|care|being|ray|mail|side|run|time|in|a|the"
)
_SPACE = r"[ \t\u00a0]{1,2}"
_JOINING = (
    "of|the|de|del|della|dei|di|da|do|dos|das|du|des|la|le|les|los|las|van|von|vom|zu|zur|der|den|ten|ter|bin|ibn|bint|"
    "de['’]|al|el|ul|av|af|mac|ap|vs|&|'n'"
)
_NUMBERED = rf"\d{{1,2}}(?:st|nd|rd|th|St|Nd|Rd|Th){_SPACE}"
_RANK = (
    r"(?:Grand |Crown )?(?:King|Queen|Emperor|Empress|Prince|Princess|Duke|Duchess|Archduke|Archduchess|Marquess|"
    r"Marquis|Marchioness|Margrave|Landgrave|Elector|Count|Countess|Earl|Viscount|Viscountess|Baron|Baroness|Lord|Lady|Dauphin|"
    r"Infante|Infanta|Abbot|Abbess|Bishop)"
)
_RANK_FOLLOWS = (
    rf"(?={_NUMBERED}{_RANK}\b|{_RANK}(?: Palatine| Consort)? [oO]f [A-Z]|Holy Roman Emp|[JS]r\b)(?:{_NUMBERED})?"
)


def _span(upper: str, alpha: str) -> re.Pattern[str]:
    """What may hold names: capitalised words and what joins them, over these upper-case and these word characters."""
    word = (
        rf"(?:(?:[{upper}]\.){{1,6}}(?:[{upper}](?![{alpha}]))?"
        r"|(?:Dr|Mr|Mrs|Ms|Mx|Prof|St|Ste|Mt|Ft|Jr|Sr|Lt|Col|Gen|Sgt|Capt|Rev|Gov|Sen|Inc|Ltd|Co|Corp|Bros|Vol|Vs)\."
        rf"|(?:[a-z]{{1,2}}(?=[{upper}][{alpha}]))?[{upper}][{alpha}]*(?:['’ʼ][{alpha}]+)*(?:&[{upper}][{alpha}]*)?"
        rf"(?:[-‐‑](?:(?:upon|on|sur|en|de|la|le|les|du|al|el|ul|of|the|in)-)*[{upper}0-9][{alpha}]*(?:['’][{alpha}]+)?"
        rf"|(?<=[{alpha}]{{2}})-(?!(?:{_NOT_A_NAME})(?![a-z]))[a-z]{{2,5}}(?![{alpha}-]))*+)"
    )
    return lazy_pattern(
        rf"(?<![{alpha}@#/_])(?<![{alpha}]['’.-]){word}"
        rf"(?:(?:{_SPACE}(?:(?:{_JOINING}){_SPACE}){{0,2}}(?:[dl]['’]|al-|el-|ul-)?"
        rf"|,{_SPACE}{_RANK_FOLLOWS}|:{_SPACE}(?=(?:A|An|The){_SPACE}[{upper}]))"
        rf"(?:{word}|\d{{1,4}}(?![{alpha}%€$£°])(?![.,:/-]\d)))*+"
    )


_SPAN = _span(_UPPER, _ALPHA)
_ASCII_SPAN = _span("A-Z", "0-9A-Za-z")
"""Finds in an ASCII text what ``_SPAN`` finds; the hundreds of capitals in that one take long to compile."""
_LED_BY_NUMBER = lazy_pattern(r"\b(?:[Tt]he|films?|movies?|books?|novels?|songs?|albums?|series|game) (\d{1,4}) \Z")
_PRECEDING = lazy_pattern(r"([A-Za-z]+)[ \t]+\Z")
_FOLLOWING = lazy_pattern(r"[ \t]([a-z]+)")
_AFTER_NUMERAL = lazy_pattern(r"[,.;:?!)\]\n]|\Z|['’]s| (?:of|and|or|in|at|to|by|from|who|as|\()")
_ABBREVIATED = lazy_pattern(
    r"(?<![A-Za-z])(?:[A-Z]|vs|e\.g|i\.e|etc|approx|ca|c|d|b|no|nr|fig|ed|eds|ft|feat|r|née)\.\Z"
)
_CLITIC = lazy_pattern(r"['’ʼ](?:ll|ve|re|d|m|LL|VE|RE|M)\Z")
_OWNING = lazy_pattern(r"['’ʼ][sS]?\Z")
_I = lazy_pattern(r"I(?:['’](?:m|ll|ve|d|M|LL|VE|D))?\Z")
_INITIAL = lazy_pattern(r"\A\w\.\Z")
_LOWER = lazy_pattern(r"(?<![A-Za-zÀ-ÿ'’])[a-zß-ÿ]{2,}")
_ALSO_NAMES = frozenset(("will", "hope", "love", "art", "young"))
_CAPITALS = frozenset(("US", "IT", "WHO"))
_LONGEST = 12
_LAST_LATIN = "\u02af"

_Entry = tuple[int, str, bool]
"""Where a name stands, the name, and whether it is surely one."""


def _capitalised(text: str) -> Iterator[_Entry]:
    for match in (_ASCII_SPAN if text.isascii() else _SPAN).finditer(text):
        span = match[0]
        if _mere_opener(span):
            continue
        start, end = match.span()
        words = span.split()
        opens = _opens_sentence(text, start)
        if span.replace(" ", "").isalnum() and "I" not in words:
            pieces = [(0, words, opens)]
        else:
            pieces = list(_pieces(words, opens=opens, numeral=_AFTER_NUMERAL.match(text, end) is not None))
        if words[-1].isdigit() and (unit := _FOLLOWING.match(text, end)) and unit[1] in COUNTED:
            pieces[-1][1].pop()
        if text[start - 2 : start - 1].isdigit() and (led := _LED_BY_NUMBER.search(text[max(0, start - 16) : start])):
            pieces[0][1].insert(0, led[1])
        for place, piece, first in pieces:
            before = "" if place or not _dated(piece) else _preceding(text, start)
            if entry := _trimmed(piece, opens=first, before=before):
                yield start + place, *entry


def _mere_opener(span: str) -> bool:
    """Whether a span is one word that is never a name, such as "When", "I'm" or "That's": half of all spans in talk."""
    if " " in span or span in _CAPITALS:
        return False
    head = span.partition("’" if "’" in span else "'")[0].lower()
    return head in STARTERS and head not in _ALSO_NAMES


def _pieces(words: list[str], *, opens: bool, numeral: bool) -> Iterator[tuple[int, list[str], bool]]:
    """Cut a span where one name cannot go on: at "I", at "won't" and "'ll", at a sentence that ends with an initial."""
    piece: list[str] = []
    at = 0
    for place, word in enumerate(words):
        if word.isalpha() and word != "I" and not (piece and piece[-1].endswith(".")):
            piece.append(word)
        elif _I.match(word) and not (
            word == "I" and _numeral_or_title(words[place + 1 : place + 2], ends=numeral and bool(piece), opens=opens)
        ):
            yield at, piece, opens
            piece, at, opens = [], place + 1, False
        elif clitic := _CLITIC.search(word):
            yield at, [*piece, word[: clitic.start()]], opens
            piece, at, opens = [], place + 1, False
        elif word.endswith(":") and opens:
            yield at, [*piece, word[:-1]], opens
            piece, at, opens = [], place + 1, True
        elif piece and _INITIAL.match(piece[-1]) and _base(word) in STARTERS and len(word) > 2:
            yield at, piece, opens
            piece, at, opens = [word], place, True
        else:
            piece.append(word)
    yield at, piece, opens


def _numeral_or_title(following: list[str], *, ends: bool, opens: bool) -> bool:
    """Whether an "I" is a king's number, or stands in a title, rather than for the speaker."""
    if not following:
        return ends
    return following[0].lower() in ("of", "the") or not (opens or following[0].islower())


def _trimmed(words: list[str], *, opens: bool, before: str) -> tuple[str, bool] | None:
    """What is left of a span when openers, dates and possessives are off, and whether it is surely a name."""
    words = _from_capital(words[: 2 * _LONGEST])
    if len(words) > 1 and opens and _base(words[0]) in STARTERS:
        before, opens = _base(words[0]), False
        words = _from_capital(words[1:])
    while len(words) > 1 and _base(words[0]) in INTERJECTIONS:
        words = _from_capital(words[1:])
    words = _undated(words, before)
    if not words or len(words) > _LONGEST:
        return None
    if not words[-1].isalnum():
        words[-1] = _OWNING.sub("", words[-1])
    if len(words) == 1:
        return _single(words[0].rstrip("."), words[0], opens=opens)
    if _INITIAL.match(words[-1]):
        words[-1] = words[-1][:-1]
    if _chatter(words, opens=opens):
        return None
    return " ".join(words), True


def _single(bare: str, word: str, *, opens: bool) -> tuple[str, bool] | None:
    base = _base(bare)
    if base in DATES or _contracted(base) or bare.isdigit():
        return None
    surely = word if "." in bare else bare
    if not opens:
        known = base in _ALSO_NAMES or bare in _CAPITALS
        shouted = bare.isupper() and base in COMMON
        return (
            None
            if (not known and (shouted or base in STARTERS)) or (base in FOREIGN and len(base) < 4)
            else (surely, True)
        )
    if base in STARTERS or base in FOREIGN:
        return None
    return surely, bare.isupper() and len(bare) > 1 and base not in COMMON


def _chatter(words: list[str], *, opens: bool) -> bool:
    """Whether a span of several words is shouting or a greeting rather than a name."""
    if not opens and not words[0].isupper() and _base(words[0]) not in STARTERS:
        return False
    capital = [word for word in words if not word.islower()]
    if all(_base(word) in STARTERS for word in capital):
        return True
    if not (opens or all(word.isupper() for word in capital)):
        return False
    plain = sum(_ordinary(word) for word in capital)
    return plain == len(capital) or (plain > 0 and len(capital) > 2 and all(word.isupper() for word in capital))


def _undated(words: list[str], before: str) -> list[str]:
    """Take weekdays and months off both ends; a date alone is no name."""
    if not _dated(words):
        return words[:-2] if len(words) > 2 and words[-1].isdigit() and _lead(words[-2]) in MONTHS else words
    if all(word.isdigit() or _lead(word) in DATES for word in words):
        return []
    while len(words) > 1 and (
        (lead := _lead(words[0])) in WEEKDAYS
        or (lead in MONTHS and (before in DATE_PREPOSITIONS or words[1].isdigit()))
        or (words[0].isdigit() and before in DATE_PREPOSITIONS)
    ):
        words = _from_capital(words[1:])
    return words


def _dated(words: list[str]) -> bool:
    return bool(words) and (words[0].isdigit() or _lead(words[0]) in DATES)


def _lead(word: str) -> str:
    return word.strip(".,'’").lower()


def _from_capital(words: list[str]) -> list[str]:
    for place, word in enumerate(words):
        if not word.islower() and word != "&":
            return words[place:]
    return []


def _confirmed(text: str, found: Iterable[_Entry]) -> list[_Entry]:
    """Keep a word that merely opens a sentence only if nothing says that it is an ordinary one."""
    entries = list(found)
    inner = {word.lower() for _, name, firm in entries if firm for word in name.split()}
    lower: set[str] | None = None
    kept: list[_Entry] = []
    for entry in entries:
        _, name, firm = entry
        base = _base(name)
        if not firm and base not in inner:
            if lower is None:
                lower = set(_LOWER.findall(text))
            if _ordinary(name) or base in lower or base[0] > _LAST_LATIN:
                continue
        kept.append(entry)
    return kept


def _ordinary(word: str) -> bool:
    """Whether a capitalised word may as well be an ordinary one, by the lists or by its ending."""
    base = _base(word)
    if base in STARTERS or base in COMMON or base in FOREIGN or base in DATES or _contracted(base):
        return True
    if "-" in base:
        return any(part.islower() for part in word.split("-"))
    if len(base) > 5 and base.endswith(ENDINGS):
        return True
    plain = _DRAWN_OUT.sub(r"\1", base)
    if plain != base and (plain in STARTERS or plain in COMMON):
        return True
    ending = _INFLECTED.search(base)
    if ending is None:
        return False
    stem = base[: ending.start()]
    stems = (stem + "y",) if ending["y"] else (stem, stem + "e")
    return any(stem in COMMON or stem in STARTERS for stem in stems)


_INFLECTED = lazy_pattern(r"(?:(?P<y>ies|ied)|e?s|e?d|ly)\Z")
_DRAWN_OUT = lazy_pattern(r"(.)\1{2,}")


def _base(word: str) -> str:
    return word.lower() if word.isalpha() else _OWNING.sub("", word).rstrip(".,!?").lower()


def _contracted(base: str) -> bool:
    return base.endswith(("n't", "n’t", "'ll", "’ll", "'ve", "’ve", "'re", "’re", "'m", "’m", "'d", "’d"))


def _preceding(text: str, start: int) -> str:
    match = _PRECEDING.search(text[max(0, start - 12) : start])
    return match[1].lower() if match else ""


def _opens_sentence(text: str, start: int) -> bool:
    at = start - 1
    while at >= 0 and text[at] in " \t\u00a0":
        at -= 1
    if at < 0:
        return True
    mark = text[at]
    if mark.isalnum() or mark in ",'’)]&/+%@$":
        return False
    return mark != "." or not _ABBREVIATED.search(text[max(0, at - 8) : at + 1])


# Chinese, Japanese and Korean: only what stands beside a telling word.

_HAN = "\u3400-\u9fff々"
_CJK = lazy_pattern("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3]")
_KANA = lazy_pattern("[\u3041-\u30fa]")
_SPOKEN = lazy_pattern(
    "[。！？、，；…!?,;:：]|[的了吗呢吧啊哦嗯我你您他她们]|(?:もの|こと|する|した|である|です|ます|ました|ません|だ|よ|ね|た|ない|요|다|니)$|^[ぁ-ん]{1,5}$"
)
_TITLES = "先生|女士|老师|同学|小姐|阿姨|叔叔|教授|医生|经理|师傅"
_FAMILY = f"(?:欧阳|司马|上官|诸葛|[{SURNAMES}])"
_CHINESE = lazy_pattern(
    f"(?:我叫|名叫|名字是|名字叫|姓名是|叫做)(?P<called>{_FAMILY}[{_HAN}]{{1,2}}?)(?=[^{_HAN}]|[{FUNCTION_SIGNS}]|\\Z)"
    f"|(?P<full>{_FAMILY}(?:(?!{_TITLES})[{_HAN}]){{1,2}}?)(?={_TITLES})|(?P<titled>{_FAMILY}(?:{_TITLES}))"
)
_JAPANESE = lazy_pattern(
    f"(?<![{_HAN}])(?P<name>[{_HAN}]{{1,6}})(?=さん|くん|ちゃん|様(?![子々式相])|氏(?![{_HAN}])|先生)"
)
_KOREAN = lazy_pattern(
    "(?<![가-힣])(?P<name>[김이박최정강조윤장임한오서신권황안송류홍][가-힣]{2})(?= ?(?:씨|님|선생님))"
)
_KOREAN_PLACE = lazy_pattern("(?<![가-힣])(?P<name>[가-힣]{2,5}대학교)")
_KATAKANA = lazy_pattern("(?P<name>[ァ-ヺ][ァ-ヺー]+(?:[・＝][ァ-ヺー]+)*)")
_LATIN = lazy_pattern("(?<=[\u3040-\u30ff\u3400-\u9fff])(?P<name>[a-z][a-z0-9]{2,})(?![a-z0-9.@_/-])")
_RUN = lazy_pattern(f"(?:(?![{FUNCTION_SIGNS}])[{_HAN}]){{3,}}")
_PLACE = lazy_pattern(
    "(.{2,3}?)(市(?![场場民中价面长值容])|县(?!城)|縣|駅|県)|(.{2,4}?)(大学|大學|公司|会社)|(?P<ward>.{2,3}?[区區](?![域别块分]))"
    "|(?P<whole>東京都|大阪府|京都府|黑龙江省|[广河湖山陕海江浙福云贵四甘青吉辽安台][东北南西苏江建州川肃海林宁徽湾]省)"
)


def _unspaced(text: str) -> Iterator[_Entry]:
    """Names in scripts without spaces, and lower-case Latin words among their signs."""
    people = _JAPANESE if _KANA.search(text) else _CHINESE
    for pattern in (people, _KATAKANA, _LATIN, _KOREAN, _KOREAN_PLACE):
        for match in pattern.finditer(text):
            name = match[str(match.lastgroup)]
            name = name if match.lastgroup != "name" else _unled(name)
            if len(name) > 4 and pattern is _JAPANESE:
                continue
            if name and name not in GENERIC_CJK and name not in LOANWORDS and not _ordinary(name):
                yield match.start(), name, True
    for run in _RUN.finditer(text):
        yield from _places(run.start(), run[0], wards=people is _JAPANESE)


def _places(start: int, run: str, *, wards: bool) -> Iterator[_Entry]:
    """Places and institutions at the beginning of a run of signs, one after the other; wards only after their city."""
    at = 0
    while (match := _PLACE.match(run, at)) is not None:
        name = _unled(match[0])
        stem = name.removesuffix(match[2] or match[4] or match[0][-1])
        plain = len(stem) < 2 or stem in GENERIC_CJK or name[-2:] in GENERIC_CJK
        if not plain and (at or wards or match.lastgroup != "ward"):
            yield start + match.start(), name, True
        at = match.end()


def _unled(name: str) -> str:
    """A name without the word of time or going that was read together with it."""
    for size in (3, 2):
        if name[:size] in PREFIXES_CJK:
            return name[size:]
    return name
