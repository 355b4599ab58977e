"""Which earlier claim a later one replaces: Cognitive Weave's contradiction check without a model (papers.md 5.8.1).

A claim replaces another one only if it says so (it changes, ends, corrects, keeps all but a part), or if both give a
single-valued matter of one person two values; and only where both are about the same matter: by the words they share,
by a matter like "home", or because the later one names what the earlier one said. What merely resembles does not.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime

from ..language.claim_words import ADDS, EVENT, PAST, SAME, SWITCHES, VISITS
from ..language.claims import Form, Statement
from ..language.values import Sort, Value
from ..language.words import words
from ..patterns import lazy_pattern
from .authority import Voice
from .moment import Moment

ALIKE = 0.5
"""The cosine from which two states of one person may be the same matter in other words."""
NEVER_SHARE = 0.5
"""The part of what never was that another statement must say was."""
SHORT = 9
"""Stems of a sentence that says one thing."""
FEW = 4
"""Stems of a sentence that says nothing but a value."""
NEAR = 6
"""Turns that a correction, or what names nothing, may look back."""
_SAYS = lazy_pattern(r"\b(?:it|that|this|she|he|they|i)(?:['’]s| is| was| meant)\b|\bmake that\b", re.IGNORECASE)
_LIVES = lazy_pattern(r"\b(?:live|lives|living|based|reside|resides)\b", re.IGNORECASE)
MEASURES = frozenset(Sort) - {Sort.NAME}
"""The sorts of values of which a later one replaces an earlier one."""


@dataclass(frozen=True, slots=True)
class Told:
    """A statement where it was told: by whom, when, in which session, as which turn of the memory in order of time.

    ``trust`` in 0..1 is that of its memory, ``moment`` how well its time is known.
    """

    statement: Statement
    speaker: str | None
    session: str | None
    at: datetime
    turn: int
    moment: Moment
    trust: float = 1.0

    @property
    def voice(self) -> Voice:
        """Who says it."""
        return Voice(self.speaker, self.trust, self.statement.own)

    def after(self, other: "Told") -> bool:
        """Whether it is known to have been told later."""
        return self.moment.after(other.moment)

    def beside(self, other: "Told") -> bool:
        """Whether both were told within a few turns of one conversation."""
        together = self.session == other.session and (self.session is not None or abs(self.at - other.at).days < 1)
        return together and abs(self.turn - other.turn) <= NEAR


@dataclass(frozen=True, slots=True)
class Verdict:
    """That a claim replaces another: ``sure`` in 0..1, ``never_was`` where the earlier one was wrong from the start.

    ``because`` says by what both are about the same.
    """

    sure: float
    because: str
    never_was: bool = False


def replaces(new: Told, old: Told, rarity: Mapping[str, float], alike: float = 0.0) -> Verdict | None:
    """Whether a claim replaces an earlier one.

    ``rarity`` in 0..1 says how much sharing a stem tells, ``alike`` is the cosine of the two texts.
    """
    later, earlier = new.statement, old.statement
    if not new.after(old) or not (alike >= ALIKE or new.beside(old) or _touch(later, earlier)):
        return None
    corrects = Form.CORRECTS in later.forms and new.beside(old)
    if Form.UNCHANGED in later.forms or Form.ASKS in later.forms | earlier.forms:
        return None
    if not (of_same_owner(new, old) or corrects) or not says_otherwise(later, earlier):
        return None
    pair = paired(new, old, rarity, alike)
    for form, rule in _RULES.items():
        if form in later.forms and (verdict := rule(pair)) is not None:
            return verdict
    return _silently(pair)


def _touch(later: Statement, earlier: Statement) -> bool:
    """Whether two statements have anything in common: a quick look before the slow ones."""
    if later.stems & earlier.stems or later.fields & earlier.fields or later.former & earlier.stems:
        return True
    return bool(later.former) and any(value.form in later.former for value in earlier.values)


def contradicts(new: Told, old: Told, rarity: Mapping[str, float]) -> Verdict | None:
    """Whether one says that never was what the other says was: most of its words, and a rare one among them."""
    if Form.ASKS in new.statement.forms | old.statement.forms:
        return None
    for denial, other in ((new.statement, old.statement), (old.statement, new.statement)):
        common = denial.never & (other.stems - other.never)
        weights = {stem: rarity.get(stem, 1.0) for stem in denial.never}
        whole, shared = sum(weights.values()), sum(weights[stem] for stem in common)
        if len(common) >= 2 and shared >= NEVER_SHARE * whole and of_same_owner(new, old):
            return Verdict(round(shared / whole, 3), "never")
    return None


# ---- whose matter


def of_same_owner(new: Told, old: Told) -> bool:
    """Whether both may be the matter of one person; so is what is nobody's."""
    ours, theirs = new.statement.who, old.statement.who
    speaker = (new.speaker or "").casefold()
    if not ours or not theirs:
        return True
    if "?" in ours or "you" in ours:  # whoever is meant was spoken of just before
        return new.beside(old) and (not theirs & {speaker} or new.speaker != old.speaker)
    if "?" in theirs or "you" in theirs:
        return new.beside(old) and (bool(ours - {(old.speaker or "").casefold()}) or new.speaker != old.speaker)
    if ours & theirs:
        return True
    if ours & _names(old):
        return True
    # "My sister Nadia" and "Nadia": one named by kin, the other by name.
    heads = {who.split("/")[-1] for who in ours} & _names(old)
    return bool(heads or ({who.split("/")[-1] for who in theirs} & _names(new)))


def _names(told: Told) -> set[str]:
    whole = names_in(told.statement)
    return whole | {part for name in whole for part in name.split()} | told.statement.former


# ---- of the same matter


@dataclass(frozen=True, slots=True)
class Pair:
    """A later claim and an earlier one.

    ``shared`` sums the rarity of the earlier one's stems that stand near what the later one says of change, ``frame``
    is the part of the shorter one's stems that both have, ``alike`` the cosine of their texts.
    """

    new: Told
    old: Told
    shared: float
    object: float
    frame: float
    alike: float
    rarity: Mapping[str, float]

    def around(self, value: Value, other: Value) -> float:
        """How much the words around two values have in common."""
        common = self.later.around(value) & self.earlier.around(other)
        return sum(self.rarity.get(stem, 1.0) for stem in common)

    @property
    def later(self) -> Statement:
        return self.new.statement

    @property
    def earlier(self) -> Statement:
        return self.old.statement

    @property
    def beside(self) -> bool:
        return self.new.beside(self.old)

    @property
    def field(self) -> bool:
        """Whether both are about one single-valued matter."""
        return bool(self.later.fields & self.earlier.fields)

    @property
    def one(self) -> bool:
        """Whether both are the matter of one person."""
        return bool(self.later.who) and self.later.who == self.earlier.who

    @property
    def personal(self) -> bool:
        """Whether both are somebody's, the same one's, or say it in the same words."""
        return bool(self.later.who & self.earlier.who) or self.beside or self.frame >= 0.6

    @property
    def flips(self) -> bool:
        """Whether one affirms what the other denies."""
        differ = self.later.negated != self.earlier.negated
        short = max(len(self.later.stems), len(self.earlier.stems)) <= SHORT
        return differ and short and self.frame >= 0.5 and self.shared >= 0.5


def paired(new: Told, old: Told, rarity: Mapping[str, float], alike: float) -> Pair:
    """A later claim beside an earlier one."""
    later, earlier = new.statement, old.statement
    least = min(len(later.stems), len(earlier.stems))
    return Pair(
        new,
        old,
        shared=sum(rarity.get(stem, 1.0) for stem in later.focus & earlier.stems),
        object=sum(rarity.get(stem, 1.0) for stem in later.object & earlier.stems),
        frame=len(later.stems & earlier.stems) / max(1, least),
        alike=alike,
        rarity=rarity,
    )


def _corrected(pair: Pair) -> Verdict | None:
    later, earlier = pair.later, pair.earlier
    if not pair.beside and pair.shared < 1.0:
        return None
    if _named_before(later, earlier, pair.rarity):
        return Verdict(0.9, "former", never_was=True)
    if measured := _measured(pair, least=0.0 if pair.beside else 0.6):
        return Verdict(0.8, measured.sort.value, never_was=True)
    if pair.beside and (pair.shared >= 0.5 or pair.field) and _SAYS.search(later.text):
        return Verdict(0.6, "words", never_was=True)
    if pair.beside and names_in(later) and names_in(earlier) and pair.new.speaker == pair.old.speaker:
        return Verdict(0.4, "name", never_was=True)
    again = pair.beside and pair.new.speaker == pair.old.speaker and _SAYS.search(later.text)
    short = max(len(later.stems), len(earlier.stems)) <= FEW
    return Verdict(0.3, "beside", never_was=True) if again and short else None


def _kept(pair: Pair) -> Verdict | None:
    later, earlier = pair.later, pair.earlier
    same = any(equal(value, other) for value in later.values for other in earlier.values)
    if measured := _measured(pair, least=0.0 if pair.beside else 0.6):
        return Verdict(0.7, measured.sort.value)
    if pair.beside and (same or pair.field or (pair.shared > 0 and (names_in(later) or SAME.search(later.text)))):
        return Verdict(0.5, "words")
    alone = pair.beside and pair.new.speaker == pair.old.speaker and len(later.stems) < 4
    return Verdict(0.3, "beside") if alone and later.start is not None else None


def _ended(pair: Pair) -> Verdict | None:
    later, earlier = pair.later, pair.earlier
    if not earlier.polarity:
        return None
    if _named_before(later, earlier, pair.rarity) and later.who & earlier.who:
        return Verdict(0.8, "former")
    state = not EVENT.search(earlier.text) and not ADDS.search(later.text)
    if pair.object >= 0.5 and state and pair.personal and (pair.frame >= 0.3 or len(later.stems) < 5):
        return Verdict(0.8, "words")
    return Verdict(0.7, "matter") if pair.field and pair.one else None


def _resumed(pair: Pair) -> Verdict | None:
    if not pair.earlier.negated or not pair.later.polarity:
        return None
    return Verdict(0.8, "words") if (pair.object >= 0.5 and pair.personal) or (pair.field and pair.one) else None


def _changed(pair: Pair) -> Verdict | None:
    later, earlier = pair.later, pair.earlier
    if Form.ENDS in earlier.forms:
        return None
    explicit = Form.CHANGES in later.forms
    if _named_before(later, earlier, pair.rarity) and (later.who & earlier.who or pair.shared >= 0.5):
        return Verdict(0.9, "former")
    if pair.field and later.who & earlier.who and not (names_in(later) & names_in(earlier)) - later.who:
        return Verdict(0.8 if explicit else 0.6, "matter")
    if pair.flips and pair.frame >= 0.6:
        return Verdict(0.7, "words")
    return _revalued(pair, explicit=explicit) or _reworded(pair, explicit=explicit)


def _revalued(pair: Pair, *, explicit: bool) -> Verdict | None:
    """Another value of the same sort, in words that both share around it."""
    loose = 0.6 if explicit or pair.frame >= 0.4 else 1.2
    measured = _measured(pair, least=loose)
    if measured is None and pair.beside:
        measured = _measured(pair, least=0.0)
        measured = measured if explicit or (measured is not None and measured.unit) else None
    return None if measured is None else Verdict(0.7, measured.sort.value)


def _reworded(pair: Pair, *, explicit: bool) -> Verdict | None:
    """Another thing in the same frame, or much the same matter in other words."""
    later, earlier = pair.later, pair.earlier
    state = Form.CHANGES not in earlier.forms and not EVENT.search(earlier.text) and not VISITS.search(earlier.text)
    if not (state and later.who and later.who & earlier.who) or _measured(pair, least=0.0):
        return None
    tellers = {(told.speaker or "").casefold() for told in (pair.new, pair.old)}
    ours, theirs = names_in(later) - tellers, names_in(earlier) - tellers
    if ours and ours <= theirs:
        return None
    named = bool(ours) and bool(theirs)
    if pair.shared >= (1.0 if explicit and named else 1.5) and pair.frame >= 0.3:
        return Verdict(0.5, "words")
    short = max(len(later.stems), len(earlier.stems)) <= SHORT and SWITCHES.search(later.text) is not None
    return Verdict(pair.alike, "meaning") if explicit and named and short and pair.alike >= ALIKE else None


def _silently(pair: Pair) -> Verdict | None:
    """Two values in one frame, or of a single-valued matter of one person, without a word of change."""
    later, earlier = pair.later, pair.earlier
    home = "home" in later.fields & earlier.fields
    if not pair.one or not (home or pair.frame >= 0.6):
        return None
    if any(pattern.search(later.text) for pattern in (ADDS, PAST, EVENT)) or EVENT.search(earlier.text):
        return None
    names = names_in(later) - later.who, names_in(earlier) - earlier.who
    whole = len(later.stems & earlier.stems) >= 2
    if home and all(map(_LIVES.search, (later.text, earlier.text))):
        return Verdict(0.6, "matter") if names[0] and names[1] and not names[0] & names[1] else None
    if whole and pair.frame >= 0.6 and not names[0] ^ names[1]:
        measured = _measured(pair, least=1.0)
        return None if measured is None else Verdict(0.5, measured.sort.value)
    return None


_RULES: dict[Form, Callable[[Pair], Verdict | None]] = {
    Form.CORRECTS: _corrected,
    Form.KEEPS: _kept,
    Form.ENDS: _ended,
    Form.RESUMES: _resumed,
    Form.CHANGES: _changed,
    Form.NOW: _changed,
}
"""What is tried for each form, in this order."""


# ---- values


def _measured(pair: Pair, *, least: float) -> Value | None:
    """A value of the later claim that is not the earlier one's of the same sort and unit.

    What stands around both must have so much in common.
    """
    for value in pair.later.values:
        if value.sort not in MEASURES or any(equal(value, other) for other in pair.earlier.values):
            continue
        for other in pair.earlier.values:
            if other.sort == value.sort and of_one_unit(value, other, pair) and pair.around(value, other) >= least:
                return value
    return None


def of_one_unit(value: Value, other: Value, pair: Pair) -> bool:
    """Whether two values of a sort count or measure the same."""
    if value.sort not in {Sort.COUNT, Sort.SPAN} or value.unit == other.unit:
        return True
    if value.sort == Sort.SPAN:
        return bool(pair.later.around(value) & pair.earlier.around(other))
    return (not value.unit and other.unit in pair.later.stems) or (not other.unit and value.unit in pair.earlier.stems)


def equal(one: Value, other: Value) -> bool:
    """Whether two values are the same, as far as both say."""
    if one.sort != other.sort:
        return False
    if one.sort == Sort.DATE:
        pairs = zip(one.form.split("-"), other.form.split("-"), strict=True)
        return all(a == b or "00" in {a, b} for a, b in pairs)
    if one.sort == Sort.CLOCK:
        return _half_day(one.form) == _half_day(other.form)
    return one.form == other.form


def _half_day(clock: str) -> tuple[int, str]:
    hour, _, minute = clock.partition(":")
    return int(hour) % 12, minute


def _named_before(later: Statement, earlier: Statement, rarity: Mapping[str, float]) -> bool:
    """Whether the later claim names as no longer so what the earlier one says is."""
    said = set(earlier.stems)
    for value in earlier.values:
        said.add(value.form)
        said.update(words(value.form))
    return sum(rarity.get(word, 1.0) for word in later.former & said) >= 0.6


def says_otherwise(later: Statement, earlier: Statement) -> bool:
    """Whether the later claim says anything that the earlier one does not."""
    if later.negated != earlier.negated or later.forms & {Form.ENDS, Form.RESUMES}:
        return True
    if not later.forms and earlier.values and earlier.stems <= later.stems and _valued_in(earlier, later):
        return False  # every word and value of it is there still: this is more of the same
    if names_in(later) - later.who - names_in(earlier):
        held = names_in(earlier) - earlier.who
        return not (held and held <= names_in(later) | later.former and later.stems >= earlier.stems)
    return bool(later.stems - earlier.stems) or not _valued_in(later, earlier)


def _valued_in(claim: Statement, other: Statement) -> bool:
    """Whether another claim gives every value of a claim."""
    return all(any(equal(value, one) for one in other.values) for value in claim.values)


def names_in(claim: Statement) -> set[str]:
    """The names in a claim."""
    return {value.form for value in claim.values if value.sort == Sort.NAME}
