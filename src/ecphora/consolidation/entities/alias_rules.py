"""Rules by which two names are aliases of one entity. Each returns a confidence and the supporting memories, or None.

A rule checks first the names, then who mentions them and where, and only then reads texts.
"""

from dataclasses import dataclass

import numpy as np

from ...language.names import name_usage
from ...language.names.nicknames import (
    has_ordinary_word,
    has_same_first_and_last_name,
    has_verb,
    is_common_given_name,
    is_company_short_form,
    is_first_or_last_name,
    is_gender_variant,
    is_person_name,
    is_spelling_variant,
    nickname_score,
)
from ...model.types import Rows
from .name_index import NameIndex

MAX_TYPO_MENTIONS = 2
"""Maximum number of mentions of a misspelled name."""
MAX_SESSIONS = 20
"""Maximum number of sessions searched for a nickname, the latest first."""
DIALOGUE_SPEAKERS = 2
"""Speakers of a dialogue: each of them addresses the other."""


@dataclass(frozen=True, slots=True)
class NamePair:
    """The rows of two names that may be aliases, the shorter or rarer first, and their normal forms."""

    short: int
    full: int
    short_key: str
    full_key: str


@dataclass(frozen=True, slots=True)
class AliasMatch:
    """The confidence that two names are aliases, and the rows of the supporting memories, ascending."""

    confidence: float
    rows: Rows


def match_short_form(names: NameIndex, pair: NamePair) -> AliasMatch | None:
    """Match a short form with a full name: "Ana" with the only "Ana Silva" of those who mention her."""
    short = names.mentions(pair.short)
    if is_company_short_form(pair.short_key, pair.full_key):
        return AliasMatch(0.8, short.rows) if _proximity(names, pair) else None
    if (
        not is_first_or_last_name(pair.short_key, pair.full_key)
        or names.is_speaker(pair.short_key)
        or has_verb(pair.full_key)
    ):
        return None
    full_names = names.names_with_word(pair.short_key.split()[-1])
    if not all(
        has_same_first_and_last_name(pair.full_key, other) or is_first_or_last_name(other, pair.full_key)
        for other in full_names
    ):
        return None
    if _is_own_mention(names, pair) or names.has_usage(name_usage.has_speaker_label, pair.short, short.rows):
        return None
    proximity = _proximity(names, pair)
    if not proximity or names.are_distinct(pair.short, pair.full) or not _are_both_persons(names, pair, proximity):
        return None
    return (
        AliasMatch(0.85, _mentions_beside_full_name(names, pair, short.rows))
        if proximity >= 1
        else AliasMatch(0.7, short.rows)
    )


def _are_both_persons(names: NameIndex, pair: NamePair, proximity: float) -> bool:
    """Whether a short and a full name are used as a person's; the lower the proximity, the stricter the test."""
    short, full = names.mentions(pair.short).rows, names.mentions(pair.full).rows
    full_speaks = names.is_speaker(pair.full_key)
    short_is_person = names.has_usage(name_usage.is_person_mention, pair.short, short)
    full_is_person = full_speaks or names.has_usage(name_usage.is_person_mention, pair.full, full)
    if proximity < 1:
        has_no_speakers = not names.mentions(pair.full).speakers
        return (
            short_is_person
            and full_is_person
            and (full_speaks or has_no_speakers or names.has_usage(name_usage.is_acquaintance, pair.full, full))
        )
    if not short_is_person and (
        has_ordinary_word(pair.short_key) or not names.has_usage(name_usage.is_mid_sentence, pair.short, short)
    ):
        return False
    if (
        pair.full_key.endswith(pair.short_key)
        and not full_speaks
        and not names.has_usage(name_usage.is_mid_sentence, pair.full, full)
    ):
        return False
    return full_is_person or (short_is_person and not has_ordinary_word(pair.full_key))


def match_nickname(names: NameIndex, pair: NamePair) -> AliasMatch | None:
    """Match a nickname with a person who speaks, or is addressed, in the same session."""
    score = (
        nickname_score(pair.short_key, pair.full_key.split()[0])
        if " " not in pair.short_key and is_person_name(pair.full_key)
        else 0.0
    )
    if not score or (names.is_speaker(pair.short_key) and names.is_speaker(pair.full_key)):
        return None
    sessions = _shared_sessions(names, pair)
    if not sessions or _is_co_mentioned(names, pair) or _is_own_mention(names, pair):
        return None
    for session in sessions:
        if confidence := _nickname_confidence(names, pair, session, score):
            session_rows = _mentions_in_session(names, pair.short, session)
            return AliasMatch(
                confidence, session_rows if len(session_rows) else _mentions_in_session(names, pair.full, session)
            )
    return None


def _shared_sessions(names: NameIndex, pair: NamePair) -> list[int]:
    """The latest sessions in which both names are mentioned, or one is mentioned and the other's owner speaks."""
    short, full = names.mentions(pair.short).sessions, names.mentions(pair.full).sessions
    short_speakers, full_speakers = names.speaker_numbers(pair.short_key), names.speaker_numbers(pair.full_key)
    found = set(short & full)
    found.update(session for session in (short if full_speakers else ()) if full_speakers & names.speakers_in(session))
    found.update(session for session in (full if short_speakers else ()) if short_speakers & names.speakers_in(session))
    return sorted(found, reverse=True)[:MAX_SESSIONS]


def _nickname_confidence(names: NameIndex, pair: NamePair, session: int, score: float) -> float:
    """The confidence in a nickname by one session: a speaker there is called so, and it fits nobody else there."""
    speaker_numbers = names.speakers_in(session)
    speaker_names = names.speaker_names_in(session)
    short_rows, is_dialogue = (
        _mentions_in_session(names, pair.short, session),
        len(speaker_numbers) <= DIALOGUE_SPEAKERS,
    )
    is_addressed = len(short_rows) > 0 and names.has_usage(name_usage.is_vocative, pair.short, short_rows)
    if pair.full_key in speaker_names:
        others = [
            name for name in speaker_names if name != pair.full_key and nickname_score(pair.short_key, name.split()[0])
        ]
        if others or pair.short_key in speaker_names:
            return 0.0
        if is_addressed and (is_dialogue or not is_gender_variant(pair.short_key, pair.full_key.split()[0])):
            return 0.8 + 0.1 * (score == 1)
        return (
            0.7
            if score == 1 and len(short_rows) and names.has_usage(name_usage.is_person_mention, pair.short, short_rows)
            else 0.0
        )
    full_rows = _mentions_in_session(names, pair.full, session)
    if not (len(full_rows) and names.has_usage(name_usage.is_vocative, pair.full, full_rows)):
        return 0.0
    if pair.short_key in speaker_names:
        return 0.8 if is_dialogue or score == 1 else 0.0
    mentioning_speakers = {
        int(number) for rows in (short_rows, full_rows) for number in names.graph.nodes["speakers"][rows]
    }
    return 0.7 if is_addressed and is_dialogue and len(mentioning_speakers) == 1 else 0.0


def match_misspelling(names: NameIndex, pair: NamePair) -> AliasMatch | None:
    """Match a misspelling, of at most ``MAX_TYPO_MENTIONS`` mentions, with the common spelling."""
    if not is_spelling_variant(pair.short_key, pair.full_key):
        return None
    rare, common = names.mentions(pair.short), names.mentions(pair.full)
    rare_count, common_count = len(rare.rows), len(common.rows)
    if (
        rare_count > MAX_TYPO_MENTIONS
        or common_count < rare_count
        or (common_count == rare_count and pair.short < pair.full)
    ):
        return None
    if (
        (names.is_speaker(pair.short_key) and names.is_speaker(pair.full_key))
        or _is_co_mentioned(names, pair)
        or not rare_count
    ):
        return None
    share_context = (
        rare.sessions & common.sessions or rare.speakers & common.speakers or _is_full_name_speaking(names, pair)
    )
    differ_in_spaces = pair.short_key.replace(" ", "") == pair.full_key.replace(" ", "")
    is_typo = not (is_common_given_name(pair.short_key) or has_ordinary_word(pair.short_key)) and (
        common_count >= 2 * rare_count or names.is_speaker(pair.full_key)
    )
    if not share_context or not (differ_in_spaces or is_typo):
        return None
    return AliasMatch(0.85 if differ_in_spaces else 0.7, rare.rows)


# ---- mentions


def _mentions_in_session(names: NameIndex, name: int, session: int) -> Rows:
    """The memories of a session that mention a name, except those by its owner."""
    rows = names.mentions(name).rows
    rows = rows[names.conversation_numbers(rows) == session]
    own = names.speaker_numbers(names.key(name))
    return rows[~np.isin(names.graph.nodes["speakers"][rows], list(own))]


def _mentions_beside_full_name(names: NameIndex, pair: NamePair, rows: Rows) -> Rows:
    """Of the memories of a short name, those in whose session the full name is mentioned or its owner speaks."""
    row_sessions, own = names.conversation_numbers(rows), names.speaker_numbers(pair.full_key)
    sessions = names.mentions(pair.full).sessions
    return rows[[session in sessions or bool(own & names.speakers_in(session)) for session in row_sessions.tolist()]]


def _proximity(names: NameIndex, pair: NamePair) -> float:
    """How close the mentions of two names are: 1 in one session, 0.5 by one speaker or in loose notes, else 0."""
    short, full = names.mentions(pair.short), names.mentions(pair.full)
    if short.sessions & full.sessions or _is_full_name_speaking(names, pair):
        return 1.0
    return 0.5 if short.speakers & full.speakers or (short.has_loose_notes and full.has_loose_notes) else 0.0


def _is_full_name_speaking(names: NameIndex, pair: NamePair) -> bool:
    """Whether the owner of the full name speaks in a session in which the short one is mentioned."""
    own = names.speaker_numbers(pair.full_key)
    return bool(own) and any(own & names.speakers_in(session) for session in names.mentions(pair.short).sessions)


def _is_own_mention(names: NameIndex, pair: NamePair) -> bool:
    """Whether the owner of one name mentions the other: then that is somebody else."""
    return bool(
        names.speaker_numbers(pair.full_key) & names.mentions(pair.short).speakers
        or names.speaker_numbers(pair.short_key) & names.mentions(pair.full).speakers
    )


def _is_co_mentioned(names: NameIndex, pair: NamePair) -> bool:
    """Whether one text mentions both names: then they are two entities, unless it says otherwise."""
    return bool(len(np.intersect1d(names.mentions(pair.short).rows, names.mentions(pair.full).rows)))
