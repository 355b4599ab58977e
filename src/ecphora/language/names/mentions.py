"""Finds the names in a text by rules: no model, no dictionary of names, no entity resolution.

In scripts with capitals, names are found by capitals; German nouns are therefore taken for names. In Chinese, Japanese
and Korean, they are found by quotation marks, katakana, and words that accompany names: low recall, high precision.

The normal form of a name, and the id of its entity.

Names in Chinese, Japanese and Korean: only next to a word that indicates a name.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator

from ...model.ids import ENTITY_PREFIX
from ...model.lazy import lazy_pattern
from ..terms import stream_safe
from ..word_lists import (
    CHINESE_SURNAMES,
    COMMON_WORDS,
    COMMON_WORDS_CJK,
    CONTRACTION_ENDINGS,
    COUNTABLE_NOUNS,
    DATE_PREPOSITIONS,
    DATE_WORDS,
    FOREIGN_STARTERS,
    FUNCTION_CHARS,
    HONORIFICS,
    INTERJECTIONS,
    KATAKANA_LOANWORDS,
    MONTHS,
    POSSESSIVE_SUFFIX,
    PREFIXES_CJK,
    SENTENCE_STARTERS,
    TITLE_SMALL_WORDS,
    WEEKDAYS,
    base_form,
    is_ordinary_word,
)


def normalize_name(name: str) -> str:
    """The normal form of a name, equal for its spellings; may be empty.

    Case, accents, punctuation, a leading "the", a possessive and a trailing parenthesis are removed; initials are
    joined. A rank is removed if two words follow it: "King Olaf II" is "Olaf II", but "King Olaf" stays.
    """
    form = name.lower() if name.isascii() else fold_name(name)
    words = form.split()
    if not all(map(str.isalnum, words)):
        words = _SEPARATORS.sub(" ", _POSSESSIVE.sub("", _strip_parenthetical(form))).split()
    if len(words) > 1 and min(map(len, words)) == 1:
        words = _INITIALS.sub("", " ".join(words)).split(" ")
    last, at = len(words) - 1, 0
    while at < last:
        rank = at + (words[at] == "grand")
        if words[at] == "the":
            at += 1
        elif rank < last - 1 and words[rank] in HONORIFICS and words[rank + 1] not in ("of", "and"):
            at = rank + 1
        else:
            break
    return " ".join(words[at:])


def entity_id(name: str) -> str:
    """The id of the entity node of a name."""
    return ENTITY_PREFIX + normalize_name(name)


_LETTER = lazy_pattern(r"[^\W_]")
_POSSESSIVE = lazy_pattern(r"(?<=\w)['’ʼ`]s(?!\w)")
_SEPARATORS = lazy_pattern(r"[\W_]+")
_INITIALS = lazy_pattern(r"(?<=\b[a-z]) (?=[a-z]\b)")
_ACCENT = lazy_pattern("[\u0300-\u036f]+")
_LETTER_FOLDING = str.maketrans({"ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "æ": "ae", "œ": "oe", "ı": "i"})


def _strip_parenthetical(form: str) -> str:
    """Remove parentheses at the end, unless nothing would be left."""
    end = len(form.rstrip())
    while form[end - 1 : end] == ")" and (start := form.rfind("(", 0, end)) > form.rfind(")", 0, end - 1):
        end = start
        while form[end - 1 : end].isspace():
            end -= 1
    return form[:end] if _LETTER.search(form, 0, end) else form


def fold_name(name: str) -> str:
    """The form in which spellings of a name compare: compatibility form, no case, no accents.

    Only the accents of Latin, Greek and Cyrillic are removed: other combining marks distinguish names.
    """
    form = stream_safe(name)
    for _ in range(2):  # removing an accent may enable another change
        plain = _ACCENT.sub("", unicodedata.normalize("NFKD", form).casefold()).translate(_LETTER_FOLDING)
        form = unicodedata.normalize("NFKC", plain)
    return form


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


def names(text: str) -> tuple[str, ...]:
    """Find the names of a text as written, in order of first appearance, distinct by :func:`normalize_name`."""
    titles = list(_quoted_titles(text))
    candidates = [(start, name, True) for start, _, name in titles]
    masked = _mask_titles(text, titles) if titles else text
    candidates.extend(_capitalized_names(masked))
    if not text.isascii() and CJK.search(text):
        candidates.extend(cjk_names(masked))
        candidates.sort(key=lambda entry: entry[0])
    elif titles:
        candidates.sort(key=lambda entry: entry[0])
    if not all(is_certain for _, _, is_certain in candidates):
        candidates = _confirm(text, candidates)
    by_normal_form: dict[str, str] = {}
    for _, name, _ in candidates:
        normal = normalize_name(name)
        if len(normal) > 1:
            by_normal_form.setdefault(normal, name)
    return tuple(by_normal_form.values())


# Titles in quotation marks.

_QUOTATION = lazy_pattern(
    r"""["“«'‘《『「](?:(?<=["“«])(?=(?P<double>[^"“”«»\n]{1,80})["”»])"""
    r"""|(?<=['‘])(?<!\w.)(?=(?P<single>[^'‘’"\n]{2,60})['’](?!\w))"""
    r"""|(?<=[《『])(?=(?P<work>[^《》『』\n]{1,40})[》』])"""
    r"""|(?<=[「“])(?=(?P<speech>[^「」“”\n]{2,16})[」”]))"""
)
_WORD_IN_TITLE = lazy_pattern(r"[^\s\-–—/]+")


def _quoted_titles(text: str) -> Iterator[tuple[int, int, str]]:
    """Quoted titles with their bounds; quoted speech is not a title."""
    end = 0
    for match in _QUOTATION.finditer(text):
        kind = str(match.lastgroup)
        start = match.start() + 1
        inside = match[kind]
        if start < end or not (_is_title(inside) if inside.isascii() else _is_foreign_title(inside, kind)):
            continue
        end = start + len(inside)
        yield start, end, inside.strip(" ,.;")


def _is_foreign_title(inside: str, kind: str) -> bool:
    if not CJK.search(inside):
        return kind != "speech" and _is_title(inside)
    return kind == "work" or (not SPEECH_MARKER.search(inside) and (len(inside) > 2 or bool(KATAKANA.search(inside))))


def _is_title(inside: str) -> bool:
    """Whether quoted words are written as a title: few, capitalized except for small words, and not all ordinary."""
    words = _WORD_IN_TITLE.findall(inside.strip())
    if not 0 < len(words) <= 10:
        return False
    first = words[0]
    if not (first[0].isupper() or (first[0].isdigit() and len(words) > 1)):
        return False
    if (
        not all(word[0].isupper() or not word[0].isalpha() or word in TITLE_SMALL_WORDS for word in words)
        or words[-1] in TITLE_SMALL_WORDS
    ):
        return False
    if len(words) == 1:
        return not is_ordinary_word(first.strip(",.!?;:"))
    return not (inside.rstrip()[-1] in ".!?" and base_form(first) in INTERJECTIONS)


def _mask_titles(text: str, titles: Iterable[tuple[int, int, str]]) -> str:
    """Replace titles by commas; all other characters keep their offsets."""
    parts: list[str] = []
    at = 0
    for start, end, _ in titles:
        parts += (text[at:start], "," * (end - start))
        at = end
    parts.append(text[at:])
    return "".join(parts)


# Capitalized spans.

_RANGES = ((0x41, 0x250), (0x370, 0x530), (0x1E00, 0x2000))
_UPPER = "".join(chr(code) for low, high in _RANGES for code in range(low, high) if chr(code).isupper())
_ALPHA = "0-9A-Za-zªµºÀ-ÖØ-öø-\u02af\u0300-\u03ff\u0400-\u052f\u1e00-\u1fff"
_NOT_NAME_SUFFIX = (
    "based|area|born|style|like|led|type|era|wide|bound|owned|free|shirt|ish|esque|pop|up|in|on|off|out|to|of|and|year|"
    "long|old|day|class|made|level|only|ups|ins|care|being|ray|mail|side|run|time|in|a|the"
)
_SPACE = r"[ \t\u00a0]{1,2}"
_NAME_PARTICLES = (
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


def _span_pattern(upper: str, alpha: str) -> re.Pattern[str]:
    """A pattern of spans that may hold names: capitalized words and what joins them.

    ``upper`` are the upper-case characters, ``alpha`` the word characters.
    """
    word = (
        rf"(?:(?:[{upper}]\.){{1,6}}(?:[{upper}](?![{alpha}]))?"
        r"|(?:Dr|Mr|Mrs|Ms|Mx|Prof|St|Ste|Mt|Ft|Jr|Sr|Lt|Col|Gen|Sgt|Capt|Rev|Gov|Sen|Inc|Ltd|Co|Corp|Bros|Vol|Vs)\."
        rf"|(?:[a-z]{{1,2}}(?=[{upper}][{alpha}]))?[{upper}][{alpha}]*(?:['’ʼ][{alpha}]+)*(?:&[{upper}][{alpha}]*)?"
        rf"(?:[-‐‑](?:(?:upon|on|sur|en|de|la|le|les|du|al|el|ul|of|the|in)-)*[{upper}0-9][{alpha}]*(?:['’][{alpha}]+)?"
        rf"|(?<=[{alpha}]{{2}})-(?!(?:{_NOT_NAME_SUFFIX})(?![a-z]))[a-z]{{2,5}}(?![{alpha}-]))*+)"
    )
    return lazy_pattern(
        rf"(?<![{alpha}@#/_])(?<![{alpha}]['’.-]){word}"
        rf"(?:(?:{_SPACE}(?:(?:{_NAME_PARTICLES}){_SPACE}){{0,2}}(?:[dl]['’]|al-|el-|ul-)?"
        rf"|,{_SPACE}{_RANK_FOLLOWS}|:{_SPACE}(?=(?:A|An|The){_SPACE}[{upper}]))"
        rf"(?:{word}|\d{{1,4}}(?![{alpha}%€$£°])(?![.,:/-]\d)))*+"
    )


_SPAN = _span_pattern(_UPPER, _ALPHA)
_ASCII_SPAN = _span_pattern("A-Z", "0-9A-Za-z")
"""Equals ``_SPAN`` on ASCII text; ``_SPAN`` has hundreds of capitals and is slow to compile."""
_NUMERIC_TITLE = lazy_pattern(r"\b(?:[Tt]he|films?|movies?|books?|novels?|songs?|albums?|series|game) (\d{1,4}) \Z")
_WORD_BEFORE = lazy_pattern(r"([A-Za-z]+)[ \t]+\Z")
_WORD_AFTER = lazy_pattern(r"[ \t]([a-z]+)")
_AFTER_NUMERAL = lazy_pattern(r"[,.;:?!)\]\n]|\Z|['’]s| (?:of|and|or|in|at|to|by|from|who|as|\()")
_ABBREVIATION = lazy_pattern(
    r"(?<![A-Za-z])(?:[A-Z]|vs|e\.g|i\.e|etc|approx|ca|c|d|b|no|nr|fig|ed|eds|ft|feat|r|née)\.\Z"
)
_CLITIC = lazy_pattern(r"['’ʼ](?:ll|ve|re|d|m|LL|VE|RE|M)\Z")
_FIRST_PERSON_I = lazy_pattern(r"I(?:['’](?:m|ll|ve|d|M|LL|VE|D))?\Z")
_INITIAL = lazy_pattern(r"\A\w\.\Z")
_LOWERCASE_WORD = lazy_pattern(r"(?<![A-Za-zÀ-ÿ'’])[a-zß-ÿ]{2,}")
_AMBIGUOUS_NAMES = frozenset(("will", "hope", "love", "art", "young"))
_ACRONYMS = frozenset(("US", "IT", "WHO"))
_MAX_NAME_WORDS = 12
_LAST_LATIN = "\u02af"


def _capitalized_names(text: str) -> Iterator[NameCandidate]:
    for match in (_ASCII_SPAN if text.isascii() else _SPAN).finditer(text):
        span = match[0]
        if _is_sentence_opener(span):
            continue
        start, end = match.span()
        words = span.split()
        is_start = _is_sentence_start(text, start)
        if span.replace(" ", "").isalnum() and "I" not in words:
            pieces = [(0, words, is_start)]
        else:
            pieces = list(
                _split_span(
                    words, is_sentence_start=is_start, allows_numeral=_AFTER_NUMERAL.match(text, end) is not None
                )
            )
        if words[-1].isdigit() and (unit := _WORD_AFTER.match(text, end)) and unit[1] in COUNTABLE_NOUNS:
            pieces[-1][1].pop()
        if text[start - 2 : start - 1].isdigit() and (
            numeral := _NUMERIC_TITLE.search(text[max(0, start - 16) : start])
        ):
            pieces[0][1].insert(0, numeral[1])
        for offset, piece_words, is_piece_start in pieces:
            preceding_word = "" if offset or not _starts_with_date(piece_words) else _preceding_word(text, start)
            if trimmed := _trim(piece_words, is_sentence_start=is_piece_start, preceding_word=preceding_word):
                yield start + offset, *trimmed


def _is_sentence_opener(span: str) -> bool:
    """Whether a span is one word that is never a name, such as "When", "I'm" or "That's": half of all spans in chat."""
    if " " in span or span in _ACRONYMS:
        return False
    head = span.partition("’" if "’" in span else "'")[0].lower()
    return head in SENTENCE_STARTERS and head not in _AMBIGUOUS_NAMES


def _split_span(
    words: list[str], *, is_sentence_start: bool, allows_numeral: bool
) -> Iterator[tuple[int, list[str], bool]]:
    """Split a span where a name cannot continue: at "I", "won't" and "'ll", or after a sentence-final initial."""
    piece: list[str] = []
    at = 0
    for place, word in enumerate(words):
        if word.isalpha() and word != "I" and not (piece and piece[-1].endswith(".")):
            piece.append(word)
        elif _FIRST_PERSON_I.match(word) and not (
            word == "I"
            and _is_numeral_or_title(
                words[place + 1 : place + 2],
                allows_numeral=allows_numeral and bool(piece),
                is_sentence_start=is_sentence_start,
            )
        ):
            yield at, piece, is_sentence_start
            piece, at, is_sentence_start = [], place + 1, False
        elif clitic := _CLITIC.search(word):
            yield at, [*piece, word[: clitic.start()]], is_sentence_start
            piece, at, is_sentence_start = [], place + 1, False
        elif word.endswith(":") and is_sentence_start:
            yield at, [*piece, word[:-1]], is_sentence_start
            piece, at, is_sentence_start = [], place + 1, True
        elif piece and _INITIAL.match(piece[-1]) and base_form(word) in SENTENCE_STARTERS and len(word) > 2:
            yield at, piece, is_sentence_start
            piece, at, is_sentence_start = [word], place, True
        else:
            piece.append(word)
    yield at, piece, is_sentence_start


def _is_numeral_or_title(following: list[str], *, allows_numeral: bool, is_sentence_start: bool) -> bool:
    """Whether an "I" is a numeral of a ruler, or part of a title, rather than the pronoun."""
    if not following:
        return allows_numeral
    return following[0].lower() in ("of", "the") or not (is_sentence_start or following[0].islower())


def _trim(words: list[str], *, is_sentence_start: bool, preceding_word: str) -> tuple[str, bool] | None:
    """A span without sentence starters, dates and possessives, and whether it is certainly a name; None if no name."""
    words = _drop_lowercase_start(words[: 2 * _MAX_NAME_WORDS])
    if len(words) > 1 and is_sentence_start and base_form(words[0]) in SENTENCE_STARTERS:
        preceding_word, is_sentence_start = base_form(words[0]), False
        words = _drop_lowercase_start(words[1:])
    while len(words) > 1 and base_form(words[0]) in INTERJECTIONS:
        words = _drop_lowercase_start(words[1:])
    words = _strip_dates(words, preceding_word)
    if not words or len(words) > _MAX_NAME_WORDS:
        return None
    if not words[-1].isalnum():
        words[-1] = POSSESSIVE_SUFFIX.sub("", words[-1])
    if len(words) == 1:
        return _single_word_name(words[0].rstrip("."), words[0], is_sentence_start=is_sentence_start)
    if _INITIAL.match(words[-1]):
        words[-1] = words[-1][:-1]
    if _is_chatter(words, is_sentence_start=is_sentence_start):
        return None
    return " ".join(words), True


def _single_word_name(bare: str, word: str, *, is_sentence_start: bool) -> tuple[str, bool] | None:
    base = base_form(bare)
    if base in DATE_WORDS or base.endswith(CONTRACTION_ENDINGS) or bare.isdigit():
        return None
    name = word if "." in bare else bare
    if not is_sentence_start:
        is_ambiguous = base in _AMBIGUOUS_NAMES or bare in _ACRONYMS
        is_shouted = bare.isupper() and base in COMMON_WORDS
        return (
            None
            if (not is_ambiguous and (is_shouted or base in SENTENCE_STARTERS))
            or (base in FOREIGN_STARTERS and len(base) < 4)
            else (name, True)
        )
    if base in SENTENCE_STARTERS or base in FOREIGN_STARTERS:
        return None
    return name, bare.isupper() and len(bare) > 1 and base not in COMMON_WORDS


def _is_chatter(words: list[str], *, is_sentence_start: bool) -> bool:
    """Whether a span of several words is shouting or a greeting rather than a name."""
    if not is_sentence_start and not words[0].isupper() and base_form(words[0]) not in SENTENCE_STARTERS:
        return False
    capital = [word for word in words if not word.islower()]
    if all(base_form(word) in SENTENCE_STARTERS for word in capital):
        return True
    if not (is_sentence_start or all(word.isupper() for word in capital)):
        return False
    plain = sum(is_ordinary_word(word) for word in capital)
    return plain == len(capital) or (plain > 0 and len(capital) > 2 and all(word.isupper() for word in capital))


def _strip_dates(words: list[str], preceding_word: str) -> list[str]:
    """Remove weekdays and months from both ends; a date alone is not a name."""
    if not _starts_with_date(words):
        return words[:-2] if len(words) > 2 and words[-1].isdigit() and _bare_word(words[-2]) in MONTHS else words
    if all(word.isdigit() or _bare_word(word) in DATE_WORDS for word in words):
        return []
    while len(words) > 1 and (
        (lead := _bare_word(words[0])) in WEEKDAYS
        or (lead in MONTHS and (preceding_word in DATE_PREPOSITIONS or words[1].isdigit()))
        or (words[0].isdigit() and preceding_word in DATE_PREPOSITIONS)
    ):
        words = _drop_lowercase_start(words[1:])
    return words


def _starts_with_date(words: list[str]) -> bool:
    return bool(words) and (words[0].isdigit() or _bare_word(words[0]) in DATE_WORDS)


def _bare_word(word: str) -> str:
    return word.strip(".,'’").lower()


def _drop_lowercase_start(words: list[str]) -> list[str]:
    for place, word in enumerate(words):
        if not word.islower() and word != "&":
            return words[place:]
    return []


def _confirm(text: str, candidates: Iterable[NameCandidate]) -> list[NameCandidate]:
    """Drop an uncertain word at the start of a sentence if it appears to be an ordinary one."""
    entries = list(candidates)
    certain_words = {word.lower() for _, name, is_certain in entries if is_certain for word in name.split()}
    lowercase_words: set[str] | None = None
    kept: list[NameCandidate] = []
    for entry in entries:
        _, name, is_certain = entry
        base = base_form(name)
        if not is_certain and base not in certain_words:
            if lowercase_words is None:
                lowercase_words = set(_LOWERCASE_WORD.findall(text))
            if is_ordinary_word(name) or base in lowercase_words or base[0] > _LAST_LATIN:
                continue
        kept.append(entry)
    return kept


def _preceding_word(text: str, start: int) -> str:
    match = _WORD_BEFORE.search(text[max(0, start - 12) : start])
    return match[1].lower() if match else ""


def _is_sentence_start(text: str, start: int) -> bool:
    at = start - 1
    while at >= 0 and text[at] in " \t\u00a0":
        at -= 1
    if at < 0:
        return True
    mark = text[at]
    if mark.isalnum() or mark in ",'’)]&/+%@$":
        return False
    return mark != "." or not _ABBREVIATION.search(text[max(0, at - 8) : at + 1])
