"""The rules by which two names are one's: each says how sure it is and which memories show it, or has nothing to say.

A rule looks first at the names, then at who mentions them and where, and only then reads texts.
"""

from dataclasses import dataclass

import numpy as np

from ..language import addressing
from ..language.nicknames import (
    doing,
    firm,
    fuller,
    is_person,
    nickname,
    one_person,
    ordinary,
    respelled,
    sexed,
    usual,
)
from ..model import Rows
from .naming import Naming

RARE = 2
"""A slip of the pen occurs no more often than this."""
SESSIONS = 20
"""The latest sessions in which a nickname is looked for."""
TWO = 2
"""Where two talk, who is spoken to is the other one."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Two names that may be one, the shorter or rarer first, and their normal forms."""

    short: int
    full: int
    one: str
    two: str


@dataclass(frozen=True, slots=True)
class Shown:
    """How sure it is that two names are one, and the memories that show it, ascending."""

    sure: float
    rows: Rows


def same_fuller(names: Naming, pair: Pair) -> Shown | None:
    """Whether a name is short for a fuller one: "Ana" for the only "Ana Silva" of those who speak of her."""
    short = names.where(pair.short)
    if firm(pair.one, pair.two):
        return Shown(0.8, short.rows) if _near(names, pair) else None
    if not fuller(pair.one, pair.two) or names.speaks(pair.one) or doing(pair.two):
        return None
    rivals = names.sharing(pair.one.split()[-1])
    if not all(one_person(pair.two, other) or fuller(other, pair.two) for other in rivals):
        return None
    if _of_oneself(names, pair) or names.used(addressing.turn_of, pair.short, short.rows):
        return None
    near = _near(names, pair)
    if not near or names.apart(pair.short, pair.full) or not _both_persons(names, pair, near):
        return None
    return Shown(0.85, _together(names, pair, short.rows)) if near >= 1 else Shown(0.7, short.rows)


def _both_persons(names: Naming, pair: Pair, near: float) -> bool:
    """Whether a short name and a fuller one are used as a person's, the more surely the further apart they are."""
    short, full = names.where(pair.short).rows, names.where(pair.full).rows
    speaks = names.speaks(pair.two)
    called = names.used(addressing.personal, pair.short, short)
    named = speaks or names.used(addressing.personal, pair.full, full)
    if near < 1:
        loose = not names.where(pair.full).speakers
        return called and named and (speaks or loose or names.used(addressing.acquainted, pair.full, full))
    if not called and (ordinary(pair.one) or not names.used(addressing.within, pair.short, short)):
        return False
    if pair.two.endswith(pair.one) and not speaks and not names.used(addressing.within, pair.full, full):
        return False
    return named or (called and not ordinary(pair.two))


def nicknamed(names: Naming, pair: Pair) -> Shown | None:
    """Whether a name is the nickname of somebody who speaks, or is spoken to, in the same session."""
    fit = nickname(pair.one, pair.two.split()[0]) if " " not in pair.one and is_person(pair.two) else 0.0
    if not fit or (names.speaks(pair.one) and names.speaks(pair.two)):
        return None
    sessions = _sessions(names, pair)
    if not sessions or _both_mentioned(names, pair) or _of_oneself(names, pair):
        return None
    for session in sessions:
        if sure := _called(names, pair, session, fit):
            here = _within(names, pair.short, session)
            return Shown(sure, here if len(here) else _within(names, pair.full, session))
    return None


def _sessions(names: Naming, pair: Pair) -> list[int]:
    """The latest sessions in which both names are mentioned, or one is whose other speaks."""
    short, full = names.where(pair.short).sessions, names.where(pair.full).sessions
    one, two = names.numbers(pair.one), names.numbers(pair.two)
    found = set(short & full)
    found.update(session for session in (short if two else ()) if two & names.among(session))
    found.update(session for session in (full if one else ()) if one & names.among(session))
    return sorted(found, reverse=True)[:SESSIONS]


def _called(names: Naming, pair: Pair, session: int, fit: float) -> float:
    """How sure a nickname is by one session: another calls one so who speaks there, and nobody else there fits."""
    among = names.among(session)
    speaking = names.called_in(session)
    here, few = _within(names, pair.short, session), len(among) <= TWO
    called = len(here) > 0 and names.used(addressing.addressed, pair.short, here)
    if pair.two in speaking:
        others = [name for name in speaking if name != pair.two and nickname(pair.one, name.split()[0])]
        if others or pair.one in speaking:
            return 0.0
        if called and (few or not sexed(pair.one, pair.two.split()[0])):
            return 0.8 + 0.1 * (fit == 1)
        return 0.7 if fit == 1 and len(here) and names.used(addressing.personal, pair.short, here) else 0.0
    there = _within(names, pair.full, session)
    if not (len(there) and names.used(addressing.addressed, pair.full, there)):
        return 0.0
    if pair.one in speaking:
        return 0.8 if few or fit == 1 else 0.0
    by = {int(number) for rows in (here, there) for number in names.graph.nodes["speakers"][rows]}
    return 0.7 if called and few and len(by) == 1 else 0.0


def spelled(names: Naming, pair: Pair) -> Shown | None:
    """Whether a name is another, spelled wrongly once or twice by those who speak of it."""
    if not respelled(pair.one, pair.two):
        return None
    rare, common = names.where(pair.short), names.where(pair.full)
    few, many = len(rare.rows), len(common.rows)
    if few > RARE or many < few or (many == few and pair.short < pair.full):
        return None
    if (names.speaks(pair.one) and names.speaks(pair.two)) or _both_mentioned(names, pair) or not few:
        return None
    together = rare.sessions & common.sessions or rare.speakers & common.speakers or _speaks_there(names, pair)
    spaces = pair.one.replace(" ", "") == pair.two.replace(" ", "")
    slip = not (usual(pair.one) or ordinary(pair.one)) and (many >= 2 * few or names.speaks(pair.two))
    if not together or not (spaces or slip):
        return None
    return Shown(0.85 if spaces else 0.7, rare.rows)


# ---- what the rules ask of memories


def _within(names: Naming, name: int, session: int) -> Rows:
    """The memories of a session that mention a name, but for one's own."""
    rows = names.where(name).rows
    rows = rows[names.told_in(rows) == session]
    own = names.numbers(names.key(name))
    return rows[~np.isin(names.graph.nodes["speakers"][rows], list(own))]


def _together(names: Naming, pair: Pair, rows: Rows) -> Rows:
    """Of the memories of a short name those in whose session the full one is mentioned or speaks."""
    told, own = names.told_in(rows), names.numbers(pair.two)
    sessions = names.where(pair.full).sessions
    return rows[[one in sessions or bool(own & names.among(one)) for one in told.tolist()]]


def _near(names: Naming, pair: Pair) -> float:
    """How near the mentions of two names are: 1 in one session, 0.5 by one speaker or in loose notes, 0 if not."""
    short, full = names.where(pair.short), names.where(pair.full)
    if short.sessions & full.sessions or _speaks_there(names, pair):
        return 1.0
    return 0.5 if short.speakers & full.speakers or (short.loose and full.loose) else 0.0


def _speaks_there(names: Naming, pair: Pair) -> bool:
    """Whether the owner of the full name speaks in a session in which the short one is mentioned."""
    own = names.numbers(pair.two)
    return bool(own) and any(own & names.among(session) for session in names.where(pair.short).sessions)


def _of_oneself(names: Naming, pair: Pair) -> bool:
    """Whether the owner of one name speaks of the other: then that is somebody else."""
    return bool(
        names.numbers(pair.two) & names.where(pair.short).speakers
        or names.numbers(pair.one) & names.where(pair.full).speakers
    )


def _both_mentioned(names: Naming, pair: Pair) -> bool:
    """Whether one text mentions both names: then they are two, unless it says otherwise."""
    return bool(len(np.intersect1d(names.where(pair.short).rows, names.where(pair.full).rows)))
