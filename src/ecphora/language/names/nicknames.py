"""Whether two names may be one person's: short forms, full forms, spelling variants. By normal forms, without texts.

Names are normal forms, as :func:`~.normalization.normalize_name` returns them. The results are possibilities; the
alias rules of consolidation decide by the memories.
"""

from ..lexicon_file import read_lexicon
from ..word_lists import COMMON_SUFFIXES, COMMON_WORDS, FOREIGN_STARTERS, SENTENCE_STARTERS

NICKNAMES: dict[str, frozenset[str]] = {}
"""The common English short forms of a given name."""
FORMAL_NAMES: dict[str, frozenset[str]] = {}
"""The given names that a short form commonly stands for."""
for _given, _short in read_lexicon("nicknames")["english"].items():
    NICKNAMES[_given] = frozenset(_short.split())
    for _one in _short.split():
        FORMAL_NAMES[_one] = FORMAL_NAMES.get(_one, frozenset()) | {_given}

MIN_SHORT_FORM_LETTERS = 3
"""Minimum letters of a prefix that may stand for a name."""
MIN_VARIANT_LETTERS = 5
"""Minimum letters of a name that may be misspelled; shorter names are too close to others."""
MIN_TYPO_LETTERS = 7
"""Minimum letters of a name in which any inner letter may be a typo."""

_TITLES = frozenset(("dr", "prof", "professor", "coach"))
_LEGAL_FORMS = frozenset(("inc", "ltd", "llc", "corp", "gmbh", "plc"))
_MAX_LENGTH_GAP = 2
_SIMILAR_SOUNDS = ("iyj", "ckq", "sz", "vw")
_VOWELS = "aeiou"
_NAME_PARTICLES = frozenset(
    ("of", "van", "von", "der", "den", "de", "del", "della", "di", "da", "do", "dos", "la", "le", "al", "bin")
)
_NUMERALS = frozenset("ivx")
_GENDER_SUFFIXES = frozenset(
    ("a", "e", "i", "o", "s", "na", "ne", "us", "ie", "y", "ia", "ina", "ette", "el", "l", "h")
)


def is_person_name(name: str) -> bool:
    """Whether a normal form can be a person's name: one to four words, letters only."""
    words = name.split()
    return 0 < len(words) <= 4 and all(word.isalpha() for word in words) and words[0] not in SENTENCE_STARTERS


def has_ordinary_word(name: str) -> bool:
    """Whether a name has an ordinary word, such as "park": then it may not be a person's."""
    words = [word for word in name.split() if word not in _NAME_PARTICLES]
    return any(
        word in COMMON_WORDS or word in FOREIGN_STARTERS or word.endswith(COMMON_SUFFIXES) for word in words
    ) or has_verb(name)


def has_verb(name: str) -> bool:
    """Whether a name has a verb, as in "hiring stephanie", which is not part of the name."""
    words = (word for word in name.split() if word not in _NAME_PARTICLES)
    return any(word in SENTENCE_STARTERS or (len(word) > 5 and word.endswith("ing")) for word in words)


def is_company_short_form(short: str, full: str) -> bool:
    """Whether a name is another without its legal form: "acme" of "acme inc"."""
    head, _, last = full.rpartition(" ")
    return last in _LEGAL_FORMS and head == short


def is_possible_alias(short: str, full: str) -> bool:
    """Whether one of the rules below may match two names."""
    given = full.partition(" ")[0]
    return bool(
        is_first_or_last_name(short, full)
        or is_company_short_form(short, full)
        or (" " not in short and nickname_score(short, given))
        or is_spelling_variant(short, full)
    )


def is_compatible_name(name: str, other: str) -> bool:
    """Whether two names can be one person's: neither two given names nor two family names."""
    if " " in name and " " in other:
        return has_same_first_and_last_name(name, other) or is_spelling_variant(name, other)
    given, others = name.partition(" ")[0], other.partition(" ")[0]
    return (
        is_possible_alias(name, other)
        or is_possible_alias(other, name)
        or bool(nickname_score(given, others) or nickname_score(others, given))
    )


def is_first_or_last_name(short: str, full: str) -> bool:
    """Whether a single name is the first or last word of a full one; after a title such as "dr", only the last."""
    words, title = full.split(), short.split()
    if len(title) == 2 and title[0] in _TITLES:
        return is_person_name(full) and len(words) > 1 and words[-1] == title[1] and words[0] not in _TITLES
    return len(title) == 1 and is_person_name(full) and len(words) > 1 and short in (words[0], words[-1])


def has_same_first_and_last_name(name: str, other: str) -> bool:
    """Whether two names of several words have the same first and the same last word."""
    words, others = name.split(), other.split()
    return words[0] == others[0] and words[-1] == others[-1]


def nickname_score(short: str, given: str) -> float:
    """The score of a short form of a given name: 1 by the table, 0.5 as a prefix, else 0."""
    if short in NICKNAMES.get(given, ()):
        return 1.0
    return 0.5 if len(short) >= MIN_SHORT_FORM_LETTERS and given.startswith(short) and given != short else 0.0


def is_gender_variant(short: str, given: str) -> bool:
    """Whether a name and its prefix are just as likely two names: "paul" and "paula"."""
    return given.removeprefix(short) in _GENDER_SUFFIXES


def is_acronym(short: str, full: str) -> bool:
    """Whether a name consists of the initials of another."""
    words = [word for word in full.split() if word not in ("of", "the", "and", "for", "de", "in")]
    return len(words) > 2 and short == "".join(word[0] for word in words)


def is_spelling_variant(name: str, other: str) -> bool:
    """Whether two names may be spellings of one name: they differ in spaces, or in one letter of one word.

    That letter is doubled, sounds alike, or is swapped with the next; in a long word it may be any inner letter. First
    and last letters must match: "maria" is not "mario", nor "plan" "plans". A family name may differ in a double letter
    only.
    """
    if name[0] != other[0] or name[-1] != other[-1] or abs(len(name) - len(other)) > _MAX_LENGTH_GAP or name == other:
        return False
    words, others = name.split(), other.split()
    if not _has_letters_only([*words, *others]):
        return False
    if "".join(words) == "".join(others):
        return len("".join(words)) >= MIN_VARIANT_LETTERS
    differing = [pair for pair in zip(words, others, strict=False) if len(set(pair)) > 1]
    if len(words) != len(others) or len(differing) != 1:
        return False
    family = len(words) > 1 and words[-1] != others[-1]
    return _is_word_variant(*sorted(differing[0], key=len), is_surname=family)


def is_common_given_name(name: str) -> bool:
    """Whether a name begins with a common given name or a short form of such a name: then it is not a typo."""
    given = name.partition(" ")[0]
    return given in NICKNAMES or given in FORMAL_NAMES


def _is_word_variant(short: str, long: str, *, is_surname: bool) -> bool:
    """Whether two words may be spellings of one word; a family name may differ in a double letter only."""
    if len(short) < MIN_VARIANT_LETTERS or short[0] != long[0] or short[-1] != long[-1]:
        return False
    doubled = _collapse_double_letters(short) == _collapse_double_letters(long) and len(long) - len(short) == 1
    return doubled or (not is_surname and _is_typo(short, long))


def _is_typo(short: str, long: str) -> bool:
    """Whether two words with equal first and last letters differ by a typo."""
    at = next((place for place, letter in enumerate(short) if letter != long[place]), len(short) - 1)
    if len(short) == len(long):
        if short[at + 2 :] == long[at + 2 :] and short[at : at + 2] == long[at : at + 2][::-1]:
            return True
        sound = any(short[at] in letters and long[at] in letters for letters in _SIMILAR_SOUNDS)
        vowels = short[at] in _VOWELS and long[at] in _VOWELS and len(short) >= MIN_TYPO_LETTERS
        return short[at + 1 :] == long[at + 1 :] and (sound or vowels)
    return len(long) == len(short) + 1 and short[at:] == long[at + 1 :] and len(short) >= MIN_TYPO_LETTERS


def _has_letters_only(words: list[str]) -> bool:
    return all(word.isalpha() and not _NUMERALS.issuperset(word) for word in words)


def _collapse_double_letters(word: str) -> str:
    return "".join(letter for letter, before in zip(word, " " + word, strict=False) if letter != before)
