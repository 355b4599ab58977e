"""Parses the statements of a text by rules: subjects, attributes, values, validity, and change signals. English only.

A change signal says that an earlier claim changes, ends, was wrong, or holds except for a part. Each sentence is parsed
by itself; which claim replaces which is decided in ``consolidation.facts``.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum

from ...model.lazy import lazy_pattern
from ..chat_roles import is_assistant
from ..terms import extract_terms
from ..word_lists import MONTHS, WEEKDAYS
from .change_lexicon import (
    ADDITION,
    ATTRIBUTE_PATTERNS,
    CHANGE,
    CORRECTED_VALUE,
    CORRECTION,
    CURRENT,
    END,
    EVENT_VERB,
    FILLER_STEMS,
    FORMER_VALUE,
    HYPOTHESIS,
    NEGATION,
    NEUTRAL,
    NEVER,
    NEVER_CLAUSE,
    NO_STATE_CHANGE,
    NON_OCCURRENCE,
    PARTIAL_CHANGE,
    QUESTION,
    RELATION_NOUN,
    RESUMPTION,
    START,
)
from .clauses import SENTENCE_BREAK
from .validity_phrases import validity_interval
from .values import Value, ValueKind, values


class ChangeSignal(StrEnum):
    """What a statement says about earlier claims."""

    STATEMENT = "statement"
    CHANGE = "change"
    END = "end"
    RESUMPTION = "resumption"
    CORRECTION = "correction"
    PARTIAL_CHANGE = "partial change"
    NEVER = "never"
    CURRENT = "current"
    NON_OCCURRENCE = "non-occurrence"
    QUESTION = "question"


@dataclass(frozen=True, slots=True)
class Statement:
    """One sentence as a claim; ``change_signals`` says how it bears on earlier claims.

    ``subjects`` are the keys of the persons it is about, empty if it is about nobody or everybody; "?" is the person
    mentioned before, "you" the person addressed. ``attributes`` are the single-valued attributes it is about, such as
    "home"; ``stems`` the stems of its other words, ``focus_stems`` the stems near its words of change, ``object_stems``
    the stems of the thing that ends or resumes, as the sentence says. ``names`` are the normal forms of the names among
    its ``values``. ``former_terms`` are the words and values that it names as no longer so, ``never_stems`` the stems
    of a thing that has never been, as the sentence says. ``valid_from`` and ``valid_to`` bound the time for which it
    holds, None if not stated. ``is_about_speaker`` says that the speaker speaks of themselves: in the first person
    singular, or by their own name.
    """

    text: str
    subjects: frozenset[str]
    attributes: frozenset[str]
    stems: frozenset[str]
    focus_stems: frozenset[str]
    values: tuple[Value, ...]
    names: frozenset[str]
    change_signals: frozenset[ChangeSignal]
    is_negated: bool = False
    never_stems: frozenset[str] = frozenset()
    object_stems: frozenset[str] = frozenset()
    former_terms: frozenset[str] = frozenset()
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    is_about_speaker: bool = False

    def stems_near(self, value: Value) -> frozenset[str]:
        """The stems near a value, and its own unit."""
        window = self.text[max(0, value.start - WINDOW_BEFORE) : value.end + WINDOW_AFTER]
        return self.stems.intersection(extract_terms(window)) | ({value.unit} if value.unit else set())

    @property
    def is_affirmative(self) -> bool:
        """Whether it says that something is so; False if it says that it is not, or no longer."""
        return ChangeSignal.END not in self.change_signals and not self.is_negated


_START_SIGNALS = frozenset(
    {
        ChangeSignal.CHANGE,
        ChangeSignal.END,
        ChangeSignal.RESUMPTION,
        ChangeSignal.CURRENT,
        ChangeSignal.PARTIAL_CHANGE,
        ChangeSignal.CORRECTION,
    }
)
WINDOW_BEFORE, WINDOW_AFTER = 75, 60
"""Characters before and after a value, or a word of change, within which words belong to it."""
OBJECT_WINDOW = 35
"""Characters on both sides of a word of an end or a resumption, within which its object is searched."""
MIN_STEMS = 3
"""A sentence with fewer stems has no topic of its own."""
MAX_CODE_SIGNS = 2
"""A text with more signs of a programming language is not prose."""
MAX_SENTENCE_CHARS = 600
"""A longer sentence is not a statement."""
_NEVER_CLAUSE_BREAK = lazy_pattern(
    r"(?<!\beven)(?<!\bespecially)(?<!\bgiven)(?:(?<!,),|(?<![,\s]))\s+(?="
    r"(?:but|and|so|as|since|because|although|though|while|given|considering|especially|even)\b"
    r"(?:\s+\w+){0,2}?\s+(?:i|we)(?:['’]ve| have)?\s+(?:never|not ever)\b)",
    re.IGNORECASE,
)
"""The break before a clause that says what has never been, which has its own topic."""
_FIRST_PERSON = lazy_pattern(r"\b(?:i|i['’]m|i['’]ve|i['’]d|i['’]ll|im|ive|my|me|mine|myself)\b", re.IGNORECASE)
_SECOND_PERSON = lazy_pattern(r"\b(?:you|your|you['’]re|you['’]ve)\b", re.IGNORECASE)
_REPORTED_SPEECH = lazy_pattern(
    r"^(?:\W|\w+[,!.]\s)*?(?P<who>[A-Z]\w+)(?: just| also)? (?:told|said|says|texted|mentioned|wrote|let me know|"
    r"messaged|"
    r"called|confirmed|announced)\b(?: me| us)?",
)
_THIRD_PERSON = lazy_pattern(
    r"\b(?:he|she|his|her|hers|him|they|their|theirs|them)\b|\b(?:he|she|they)['’]", re.IGNORECASE
)
_ANAPHOR = lazy_pattern(r"\W*(?:it|that|this|these|those|they)\b", re.IGNORECASE)
_CLAUSE_BREAK = lazy_pattern(r"(?<=,)|(?<=:)|(?= (?:so|but|because|which|and then|though)\b)")
_NAME_AFTER_MONTH = lazy_pattern(
    r"\b(?:January|February|March|April|May|June|July|August|September|October|November|"
    r"December) (?P<who>[A-Z][a-z]+)['’ ]"
)
_AFTER_PREPOSITION = lazy_pattern(
    r"\b(?:in|at|to|from|with|for|of|on|by|near|the|into|than|not|meant|called|is|was|are|\w+ing|\w+ed) $",
    re.IGNORECASE,
)
_CODE_BLOCK = lazy_pattern(r"```.*?(?:```|\Z)", re.DOTALL)
_BRACKETED_ASIDE = lazy_pattern(r"\[[^\]]*\]")
_LIST_NUMBER = lazy_pattern(r"(?m)^[^\S\n]*\d+[.)]\s")
_CODE_SIGN = lazy_pattern(r"[{}\[\]<>=;\\|`_#]")
_QUOTATION = lazy_pattern(r"[\"“][^\"”]{25,}[\"”]|(?P<open>[\"“][^\"”]*)")
"""Quoted speech; ``open`` is a quotation that is too short to be removed or never ends."""
_EVER_STEMS = frozenset({"never", "ever", "befor", "ani", "anyth", "someth"})
_DATE_STEMS = MONTHS | WEEKDAYS
_WEEKDAY = lazy_pattern(r"\b(?:mon|tues|wednes|thurs|fri|satur|sun)days?\b", re.IGNORECASE)


def statements(text: str, speaker: str | None, reference_time: datetime) -> Iterator[Statement]:
    """Parse the statements of a text, sentence by sentence.

    Questions and hypotheses state nothing. If a text has nothing else, they are returned with the signal
    :attr:`ChangeSignal.QUESTION`, for what they presuppose.
    """
    if is_assistant(speaker):
        return
    speaker_key = None if speaker is None else speaker.casefold()
    text = _LIST_NUMBER.sub("", _strip_asides(_CODE_BLOCK.sub(" ", text)))
    carried_signals: frozenset[ChangeSignal] = frozenset()
    sentences = filter(None, map(str.strip, SENTENCE_BREAK.split(_QUOTATION.sub(r"\g<open>", text))))
    has_statement, questions, is_about_speaker = False, list[str](), False
    for sentence in (part for text_sentence in sentences for part in _NEVER_CLAUSE_BREAK.split(text_sentence)):
        if not 2 < len(sentence) <= MAX_SENTENCE_CHARS or has_code(sentence):
            continue
        if QUESTION.search(sentence) or HYPOTHESIS.search(sentence):
            questions.append(sentence)
            continue
        has_statement, statement = True, _parse_sentence(sentence, speaker_key, reference_time)
        # "I have a new number. It is 555-0199.": the anaphor refers to the speaker's own.
        is_about_speaker = statement.is_about_speaker or (
            is_about_speaker
            and not statement.subjects
            and (len(statement.stems) < MIN_STEMS or _is_anaphoric(sentence))
        )
        statement = replace(statement, is_about_speaker=is_about_speaker)
        # "No, that's wrong. It leaves at nine.": the correction applies to the next sentence.
        yield (
            replace(statement, change_signals=statement.change_signals | carried_signals)
            if carried_signals
            else statement
        )
        carried_signals = (
            statement.change_signals & {ChangeSignal.CORRECTION, ChangeSignal.PARTIAL_CHANGE}
            if len(statement.stems) < MIN_STEMS
            else frozenset()
        )
    if not has_statement:
        for sentence in questions:
            yield replace(
                _parse_sentence(sentence, speaker_key, reference_time),
                change_signals=frozenset({ChangeSignal.QUESTION}),
                valid_from=None,
                valid_to=None,
            )


def _strip_asides(text: str) -> str:
    """Remove the text in square brackets; an unclosed bracket stays."""
    closed = text.rfind("]") + 1
    return _BRACKETED_ASIDE.sub(" ", text[:closed]) + text[closed:]


def has_code(text: str) -> bool:
    """Whether a text is or contains program code."""
    return len(_CODE_SIGN.findall(text)) > MAX_CODE_SIGNS


def _parse_sentence(sentence: str, speaker_key: str | None, reference_time: datetime) -> Statement:
    sentence_values = tuple(values(sentence))
    subjects = _subjects(sentence, speaker_key, sentence_values)
    start, end = validity_interval(sentence, reference_time)
    change_signals = frozenset(_change_signals(sentence, has_start=start is not None and end is None))
    value_stems = {
        part
        for value in sentence_values
        if value.kind != ValueKind.NAME
        for part in extract_terms(sentence[value.start : value.end])
    }
    subject_stems = {stem for name in subjects for stem in extract_terms(name)}
    stems = frozenset(extract_terms(sentence)) - FILLER_STEMS - _DATE_STEMS - subject_stems - value_stems
    former_matches = [
        *FORMER_VALUE.finditer(sentence),
        *(
            CORRECTED_VALUE.finditer(sentence)
            if ChangeSignal.CORRECTION in change_signals or ", not " in sentence
            else ()
        ),
    ]
    former_terms = {stem for match in former_matches for stem in extract_terms(match["what"])}
    former_spans = [match.span("what") for match in former_matches]
    former_starts = frozenset(
        value.start for value in sentence_values if any(a <= value.start < b for a, b in former_spans)
    )
    current_values = tuple(value for value in sentence_values if value.start not in former_starts)
    former_terms |= {value.normal_form for value in sentence_values if value.start in former_starts}
    return Statement(
        text=sentence,
        subjects=subjects,
        attributes=frozenset(name for name, field in ATTRIBUTE_PATTERNS.items() if field.search(sentence)),
        stems=stems - former_terms,
        focus_stems=_focus_stems(sentence, stems - former_terms),
        values=current_values,
        names=frozenset(value.normal_form for value in current_values if value.kind == ValueKind.NAME),
        change_signals=change_signals,
        is_negated=ChangeSignal.NON_OCCURRENCE not in change_signals
        and NEGATION.search(NEUTRAL.sub("", NEVER_CLAUSE.sub("", sentence))) is not None,
        never_stems=_never_stems(sentence) if ChangeSignal.NEVER in change_signals else frozenset(),
        object_stems=_object_stems(sentence) & (stems - former_terms)
        if change_signals & {ChangeSignal.END, ChangeSignal.RESUMPTION}
        else frozenset(),
        former_terms=frozenset(former_terms),
        valid_from=start
        if change_signals & _START_SIGNALS or (start is not None and _is_start_time(sentence, start, reference_time))
        else None,
        valid_to=end,
        is_about_speaker=_is_about_speaker(sentence, subjects, speaker_key),
    )


def _is_about_speaker(sentence: str, subjects: frozenset[str], speaker_key: str | None) -> bool:
    """Whether a sentence is about its speaker: neither reported speech nor about their kin."""
    reported = _REPORTED_SPEECH.match(sentence)
    rest = RELATION_NOUN.sub(" ", sentence[reported.end() if reported else 0 :])
    return _FIRST_PERSON.search(rest) is not None or (speaker_key is not None and speaker_key in subjects)


def _is_anaphoric(sentence: str) -> bool:
    return _ANAPHOR.match(sentence) is not None


def _is_start_time(sentence: str, start: datetime, reference_time: datetime) -> bool:
    """Whether a time in a sentence is the start of validity, though the sentence has no word of change.

    A weekday is not.
    """
    if START.search(sentence):
        return True
    return start <= reference_time and not _WEEKDAY.search(sentence)


def _change_signals(sentence: str, *, has_start: bool) -> Iterator[ChangeSignal]:
    """The change signals of a sentence; ``has_start`` says that it states the start of validity, but no end."""
    if NEVER.search(sentence):
        yield ChangeSignal.NEVER
    if NON_OCCURRENCE.search(NEVER_CLAUSE.sub("", sentence)):
        yield ChangeSignal.NON_OCCURRENCE
        return
    for signal, pattern in (
        (ChangeSignal.CORRECTION, CORRECTION),
        (ChangeSignal.PARTIAL_CHANGE, PARTIAL_CHANGE),
        (ChangeSignal.RESUMPTION, RESUMPTION),
        (ChangeSignal.END, END),
    ):
        if pattern.search(sentence):
            yield signal
    if not ADDITION.search(sentence) and not NO_STATE_CHANGE.search(sentence):
        if CHANGE.search(sentence) or (has_start and START.search(sentence)):
            yield ChangeSignal.CHANGE
        if CURRENT.search(sentence) and not EVENT_VERB.search(sentence):
            yield ChangeSignal.CURRENT


def _focus_stems(sentence: str, stems: frozenset[str]) -> frozenset[str]:
    """The stems near words of change; all stems if there are no such words, or the sentence is short."""
    if len(sentence) <= WINDOW_BEFORE + WINDOW_AFTER:
        return stems
    near_stems: set[str] = set()
    for pattern in (CORRECTION, PARTIAL_CHANGE, RESUMPTION, END, CHANGE, CURRENT):
        for match in pattern.finditer(sentence):
            near_stems.update(
                extract_terms(sentence[max(0, match.start() - WINDOW_BEFORE) : match.end() + WINDOW_AFTER])
            )
    return stems & near_stems if near_stems else stems


def _never_stems(sentence: str) -> frozenset[str]:
    """The stems of what a sentence says has never been."""
    clause_stems = {stem for match in NEVER_CLAUSE.finditer(sentence) for stem in extract_terms(match[0])}
    return frozenset(clause_stems - FILLER_STEMS - _EVER_STEMS)


def _object_stems(sentence: str) -> frozenset[str]:
    """The stems close to words of an end or a resumption."""
    near_stems: set[str] = set()
    for match in (*END.finditer(sentence), *RESUMPTION.finditer(sentence)):
        near_stems.update(extract_terms(sentence[max(0, match.start() - OBJECT_WINDOW) : match.end() + OBJECT_WINDOW]))
    return frozenset(near_stems)


def _subjects(sentence: str, speaker_key: str | None, sentence_values: tuple[Value, ...]) -> frozenset[str]:
    """The subjects of a sentence: the speaker, a named person, kin at its head, or none."""
    reported = _REPORTED_SPEECH.match(sentence)
    if reported:
        return frozenset({reported["who"].casefold()})
    names = [value for value in sentence_values if value.kind == ValueKind.NAME]
    start = 0
    for clause in _CLAUSE_BREAK.split(sentence):
        span = range(start, start + len(clause))
        start += len(clause)
        kin = RELATION_NOUN.search(clause)
        if kin and not re.match(r"\W*(?:I|I['’]m|I['’]ve|We)\b", clause):
            return frozenset({f"{speaker_key or ''}/{kin['kin'].casefold()}"})
        after_month = _NAME_AFTER_MONTH.search(clause)  # "As of 1 October Dmitri is ..."
        if after_month:
            return frozenset({after_month["who"].casefold()})
        clause_names = [value for value in names if value.start in span]
        subjects = {
            value.normal_form.split()[0]
            for value in clause_names
            if not _AFTER_PREPOSITION.search(sentence[: value.start])
        }
        if _FIRST_PERSON.search(clause) and speaker_key is not None:
            subjects = {speaker_key} | (subjects if re.search(r"\b(?:my|our)\b", clause, re.IGNORECASE) else set())
        elif not subjects and _THIRD_PERSON.search(clause):
            subjects = {"?"}
        elif not subjects and _SECOND_PERSON.search(clause):
            subjects = {"you"}
        if subjects or len(extract_terms(clause)) > 2:
            return frozenset(subjects)
    return frozenset()
