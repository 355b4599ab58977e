"""What a statement claims, read by rules: whose it is, what of, which values, from when to when, and what it says of
what was claimed before: that it changes, ends, is wrong, or stands but for a part. English.

It reads sentence by sentence and knows no other sentence; what replaces what is decided in ``stages.succession``.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum

from ..patterns import lazy_pattern
from .bounds import interval
from .claim_words import (
    ADDS,
    ASKS,
    CHANGES,
    CORRECTS,
    DOUBTS,
    ENDS,
    EVENT,
    FIELDS,
    FILLERS,
    FORMER,
    KEEPS,
    KIN,
    NEGATED,
    NEUTRAL,
    NEVER,
    NEVER_THAT,
    NOT_THAT,
    NOT_YET,
    NOW,
    RESUMES,
    SINCE,
    VISITS,
)
from .clauses import SENTENCE
from .common import MONTHS, WEEKDAYS
from .people import ROLES
from .values import Sort, Value, values
from .words import words


class Form(StrEnum):
    """What a statement says of what was claimed before."""

    STATES = "states"
    CHANGES = "changes"
    ENDS = "ends"
    RESUMES = "resumes"
    CORRECTS = "corrects"
    KEEPS = "keeps"
    NEVER = "never"
    NOW = "now"
    UNCHANGED = "unchanged"
    ASKS = "asks"


@dataclass(frozen=True, slots=True)
class Statement:
    """One sentence as a claim; ``forms`` is what it says of what was claimed before, in any of several ways.

    ``who`` are the keys of those whose matter it is, empty where it is nobody's or everybody's; "?" is whoever was
    spoken of. ``fields`` are the single-valued matters it is about, as "home"; ``stems`` the stems of its other words,
    ``focus`` those near what it says of change, ``object`` those of what it says ends or begins again. ``former`` are
    the words and values that it names as no longer so, ``never`` those of what it says has never been. ``start`` and
    ``end`` bound the time for which it holds, None where it does not say. ``own`` says that the speaker speaks of
    themselves: in the first person singular, or by their own name.
    """

    text: str
    who: frozenset[str]
    fields: frozenset[str]
    stems: frozenset[str]
    focus: frozenset[str]
    values: tuple[Value, ...]
    forms: frozenset[Form]
    negated: bool = False
    never: frozenset[str] = frozenset()
    object: frozenset[str] = frozenset()
    former: frozenset[str] = frozenset()
    start: datetime | None = None
    end: datetime | None = None
    own: bool = False

    def around(self, value: Value) -> frozenset[str]:
        """The stems near a value, its own unit among them."""
        near = self.text[max(0, value.start - BEFORE) : value.end + AFTER]
        return self.stems.intersection(words(near)) | ({value.unit} if value.unit else set())

    @property
    def polarity(self) -> bool:
        """Whether it says that something is so; False where it says that it is not, or no longer."""
        return Form.ENDS not in self.forms and not self.negated


_STARTING = frozenset({Form.CHANGES, Form.ENDS, Form.RESUMES, Form.NOW, Form.KEEPS, Form.CORRECTS})
BEFORE, AFTER = 75, 60
"""Characters before and after a value, or a word of change, within which words belong to it."""
CLOSE = 35
"""Characters on both sides of what says that something ends, within which that something stands."""
FEW = 3
"""Stems below which a sentence names no matter of its own."""
CODE = 2
"""Signs of a programming language beyond which a text is no prose."""
LONGEST = 600
"""Characters of a sentence that are read: what is longer is no statement."""
_NEVER_CLAUSE = lazy_pattern(
    r"(?<!\beven)(?<!\bespecially)(?<!\bgiven)(?:(?<!,),|(?<![,\s]))\s+(?="
    r"(?:but|and|so|as|since|because|although|though|while|given|considering|especially|even)\b"
    r"(?:\s+\w+){0,2}?\s+(?:i|we)(?:['’]ve| have)?\s+(?:never|not ever)\b)",
    re.IGNORECASE,
)
"""Where a sentence goes on with what has never been: a matter of its own."""
_FIRST = lazy_pattern(r"\b(?:i|i['’]m|i['’]ve|i['’]d|i['’]ll|im|ive|my|me|mine|myself)\b", re.IGNORECASE)
_SECOND = lazy_pattern(r"\b(?:you|your|you['’]re|you['’]ve)\b", re.IGNORECASE)
_TOLD_ME = lazy_pattern(
    r"^(?:\W|\w+[,!.]\s)*?(?P<who>[A-Z]\w+)(?: just| also)? (?:told|said|says|texted|mentioned|wrote|let me know|"
    r"messaged|"
    r"called|confirmed|announced)\b(?: me| us)?",
)
_THIRD = lazy_pattern(r"\b(?:he|she|his|her|hers|him|they|their|theirs|them)\b|\b(?:he|she|they)['’]", re.IGNORECASE)
_POINTS_BACK = lazy_pattern(r"\W*(?:it|that|this|these|those|they)\b", re.IGNORECASE)
_CLAUSE = lazy_pattern(r"(?<=,)|(?<=:)|(?= (?:so|but|because|which|and then|though)\b)")
_DATED_NAME = lazy_pattern(
    r"\b(?:January|February|March|April|May|June|July|August|September|October|November|"
    r"December) (?P<who>[A-Z][a-z]+)['’ ]"
)
_PLACED = lazy_pattern(
    r"\b(?:in|at|to|from|with|for|of|on|by|near|the|into|than|not|meant|called|is|was|are|\w+ing|\w+ed) $",
    re.IGNORECASE,
)
_CODE = lazy_pattern(r"```.*?(?:```|\Z)", re.DOTALL)
_ASIDE = lazy_pattern(r"\[[^\]]*\]")
_NUMBERED = lazy_pattern(r"(?m)^[^\S\n]*\d+[.)]\s")
_SIGNS = lazy_pattern(r"[{}\[\]<>=;\\|`_#]")
_QUOTED = lazy_pattern(r"[\"“][^\"”]{25,}[\"”]|(?P<open>[\"“][^\"”]*)")
"""What somebody else says; ``open`` is a quotation too short to be taken out, or one that never ends."""
_EVER = frozenset({"never", "ever", "befor", "ani", "anyth", "someth"})
_TIMES = MONTHS | WEEKDAYS
_SET_FOR = lazy_pattern(r"(?:\b(?:is|are|be)|['’]s)\s+(?:\w+\s+)?(?:on|for)\b", re.IGNORECASE)
_WEEKDAY = lazy_pattern(r"\b(?:mon|tues|wednes|thurs|fri|satur|sun)days?\b", re.IGNORECASE)


def statements(text: str, speaker: str | None, said_at: datetime) -> Iterator[Statement]:
    """The claims of a text, sentence by sentence.

    What asks, dreams or doubts claims nothing; where a text says nothing else it comes as such (:attr:`Form.ASKS`), for
    what it takes as given.
    """
    person = None if speaker is None else speaker.casefold()
    if ROLES.get(person or "") == "assistant":
        return  # it tells of others, or of nobody
    text = _NUMBERED.sub("", _without_asides(_CODE.sub(" ", text)))
    carried: frozenset[Form] = frozenset()
    whole = filter(None, map(str.strip, SENTENCE.split(_QUOTED.sub(r"\g<open>", text))))
    told, asked, own = False, list[str](), False
    for sentence in (part for one in whole for part in _NEVER_CLAUSE.split(one)):
        if not 2 < len(sentence) <= LONGEST or program(sentence):
            continue
        if ASKS.search(sentence) or DOUBTS.search(sentence):
            asked.append(sentence)
            continue
        told, found = True, _read(sentence, person, said_at)
        # "I have a new number. It is 555-0199.": what points back to one's own is one's own.
        own = found.own or (own and not found.who and (len(found.stems) < FEW or _points_back(sentence)))
        found = replace(found, own=own)
        # "No, that's wrong. It leaves at nine.": what one sentence says of what was said holds for the next.
        yield replace(found, forms=found.forms | carried) if carried else found
        carried = found.forms & {Form.CORRECTS, Form.KEEPS} if len(found.stems) < FEW else frozenset()
    if not told:
        for sentence in asked:
            yield replace(_read(sentence, person, said_at), forms=frozenset({Form.ASKS}), start=None, end=None)


def _without_asides(text: str) -> str:
    """The text without what stands in square brackets; a bracket that nothing closes stays."""
    closed = text.rfind("]") + 1
    return _ASIDE.sub(" ", text[:closed]) + text[closed:]


def program(text: str) -> bool:
    """Whether a text is, or has in it, a piece of a program."""
    return len(_SIGNS.findall(text)) > CODE


def _read(sentence: str, person: str | None, said_at: datetime) -> Statement:
    found = tuple(values(sentence))
    who = _whose(sentence, person, found)
    start, end = interval(sentence, said_at)
    forms = frozenset(_forms(sentence, dated=start is not None and end is None))
    shown = {part for value in found if value.sort != Sort.NAME for part in words(sentence[value.start : value.end])}
    own = {stem for name in who for stem in words(name)}
    stems = frozenset(words(sentence)) - FILLERS - _TIMES - own - shown
    denied = [
        *FORMER.finditer(sentence),
        *(NOT_THAT.finditer(sentence) if Form.CORRECTS in forms or ", not " in sentence else ()),
    ]
    former = {stem for match in denied for stem in words(match["what"])}
    old = [match.span("what") for match in denied]
    gone = frozenset(value.start for value in found if any(a <= value.start < b for a, b in old))
    kept = tuple(value for value in found if value.start not in gone)
    former |= {value.form for value in found if value.start in gone}
    return Statement(
        text=sentence,
        who=who,
        fields=frozenset(name for name, field in FIELDS.items() if field.search(sentence)),
        stems=stems - former,
        focus=_focus(sentence, stems - former),
        values=kept,
        forms=forms,
        negated=Form.UNCHANGED not in forms
        and NEGATED.search(NEUTRAL.sub("", NEVER_THAT.sub("", sentence))) is not None,
        never=_never(sentence) if Form.NEVER in forms else frozenset(),
        object=_object(sentence) & (stems - former) if forms & {Form.ENDS, Form.RESUMES} else frozenset(),
        former=frozenset(former),
        start=start if forms & _STARTING or (start is not None and _since(sentence, start, said_at)) else None,
        end=end,
        own=_own(sentence, who, person),
    )


def _own(sentence: str, who: frozenset[str], person: str | None) -> bool:
    """Whether a sentence is of its speaker: not what somebody told them, nor of their kin."""
    told_by = _TOLD_ME.match(sentence)
    said = KIN.sub(" ", sentence[told_by.end() if told_by else 0 :])
    return _FIRST.search(said) is not None or (person is not None and person in who)


def _points_back(sentence: str) -> bool:
    return _POINTS_BACK.match(sentence) is not None


def _since(sentence: str, start: datetime, said_at: datetime) -> bool:
    """Whether a time that a sentence names is since when it is so, though it says nothing of change.

    A weekday, or the date that something is set for, is no such time.
    """
    if SINCE.search(sentence):
        return True
    return start <= said_at and not _WEEKDAY.search(sentence) and not _SET_FOR.search(sentence)


def _forms(sentence: str, *, dated: bool) -> Iterator[Form]:
    """What it says of what was claimed before; ``dated`` if it says from when on."""
    if NEVER.search(sentence):
        yield Form.NEVER
    if NOT_YET.search(NEVER_THAT.sub("", sentence)):
        yield Form.UNCHANGED
        return
    for form, pattern in ((Form.CORRECTS, CORRECTS), (Form.KEEPS, KEEPS), (Form.RESUMES, RESUMES), (Form.ENDS, ENDS)):
        if pattern.search(sentence):
            yield form
    if not ADDS.search(sentence) and not VISITS.search(sentence):
        if CHANGES.search(sentence) or (dated and SINCE.search(sentence)):
            yield Form.CHANGES
        if NOW.search(sentence) and not EVENT.search(sentence):
            yield Form.NOW


def _focus(sentence: str, stems: frozenset[str]) -> frozenset[str]:
    """The stems near what is said of change; all where nothing is, or the sentence is short."""
    if len(sentence) <= BEFORE + AFTER:
        return stems
    found: set[str] = set()
    for pattern in (CORRECTS, KEEPS, RESUMES, ENDS, CHANGES, NOW):
        for match in pattern.finditer(sentence):
            found.update(words(sentence[max(0, match.start() - BEFORE) : match.end() + AFTER]))
    return stems & found if found else stems


def _never(sentence: str) -> frozenset[str]:
    """The stems of what is said never to have been."""
    found = {stem for match in NEVER_THAT.finditer(sentence) for stem in words(match[0])}
    return frozenset(found - FILLERS - _EVER)


def _object(sentence: str) -> frozenset[str]:
    """The stems close to what is said to end, or to begin again."""
    found: set[str] = set()
    for match in (*ENDS.finditer(sentence), *RESUMES.finditer(sentence)):
        found.update(words(sentence[max(0, match.start() - CLOSE) : match.end() + CLOSE]))
    return frozenset(found)


def _whose(sentence: str, person: str | None, found: tuple[Value, ...]) -> frozenset[str]:
    """Whose matter it is: the speaker's, that of somebody named or of kin at its head, or nobody's."""
    told_by = _TOLD_ME.match(sentence)
    if told_by:
        return frozenset({told_by["who"].casefold()})
    names = [value for value in found if value.sort == Sort.NAME]
    start = 0
    for clause in _CLAUSE.split(sentence):
        places = range(start, start + len(clause))
        start += len(clause)
        kin = KIN.search(clause)
        if kin and not re.match(r"\W*(?:I|I['’]m|I['’]ve|We)\b", clause):
            return frozenset({f"{person or ''}/{kin['kin'].casefold()}"})
        dated = _DATED_NAME.search(clause)  # "As of 1 October Dmitri is ..."
        if dated:
            return frozenset({dated["who"].casefold()})
        named = [value for value in names if value.start in places]
        whose = {value.form.split()[0] for value in named if not _PLACED.search(sentence[: value.start])}
        if _FIRST.search(clause) and person is not None:
            whose = {person} | (whose if re.search(r"\b(?:my|our)\b", clause, re.IGNORECASE) else set())
        elif not whose and _THIRD.search(clause):
            whose = {"?"}
        elif not whose and _SECOND.search(clause):
            whose = {"you"}
        if whose or len(words(clause)) > 2:
            return frozenset(whose)
    return frozenset()
