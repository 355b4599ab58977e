"""A world while it is made: what is told in it, and what is asked."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import count

from ecphora_bench.probes.probe import Form, Half, Kind, Probe, ProbeMemory

from .draw import Draw
from .voices import about

FIRST_DAY = datetime(2026, 2, 2, 8, tzinfo=UTC)
SPAN = timedelta(days=150)
"""The time over which memories are told where only their order matters."""
SURROUNDINGS = 165
"""The memories of a world, probes and surroundings together, are at least so many."""
ASSISTANT = "assistant"
REPLIES = 0.15
"""The part of the surroundings that an assistant says."""


@dataclass(frozen=True, slots=True)
class Line:
    """A memory as it is told: its text, who says it, and when."""

    key: int
    text: str
    time: datetime
    speaker: str


@dataclass(slots=True)
class Draft:
    """A world of one kind, form and half. ``user`` is the name of who says what no one else says."""

    name: str
    kind: Kind
    form: Form
    half: Half
    draw: Draw
    language: str = "en"
    user: str = "user"
    lines: list[Line] = field(default_factory=list)
    probes: list[Probe] = field(default_factory=list)
    now: datetime = FIRST_DAY + SPAN + timedelta(days=1)
    _texts: set[str] = field(default_factory=set)
    _golds: list[tuple[int, ...]] = field(default_factory=list)

    def tell(self, text: str, when: datetime | float | None = None, speaker: str | None = None) -> int:
        """Tell something at a time, or at a part of the time, in 0..1, by default anywhere; returns its key.

        Raises ``ValueError`` if it was told already.
        """
        text = self._put(text, speaker or self.user)
        if text in self._texts:
            raise ValueError(f"told twice in {self.name}: {text!r}")
        self._texts.add(text)
        when = self.draw.rng.random() if when is None else when
        time = when if isinstance(when, datetime) else _working_hours(FIRST_DAY + SPAN * when)
        self.lines.append(Line(len(self.lines), text, time, speaker or self.user))
        return self.lines[-1].key

    def has_told(self, text: str) -> bool:
        """Whether the user has told this already."""
        return self._put(text, self.user) in self._texts

    def _put(self, text: str, speaker: str) -> str:
        """The text as it is stored: as a model writes it, and with the name of another speaker in it."""
        if self.form not in {Form.STRINGS, Form.MCP} or self.language != "en":
            return text
        if speaker == ASSISTANT:
            return text if self.form is Form.STRINGS else f'The assistant said: "{text}"'
        if speaker != self.user:
            return about(text, speaker)
        return about(text, "the user") if self.form is Form.MCP else text

    def ask(
        self,
        sort: str,
        question: str,
        gold: Sequence[int] = (),
        now: datetime | None = None,
        resembles: str | None = None,
    ) -> str:
        """Ask a question; without ``gold`` it has no answer. Returns the id of the probe."""
        id_ = f"{self.name}/q{len(self.probes):03}"
        probe = Probe(
            *(id_, self.name, self.kind, sort, self.language, self.form, self.half, (), question, now or self.now),
            gold=frozenset(),
            resembles=resembles,
        )
        self.probes.append(probe)
        self._golds.append(tuple(gold))
        return id_

    def surround(self, *, until: int = SURROUNDINGS) -> None:
        """Tell of other things until the world is large enough, at least a few."""
        for _ in range(max(30, until - len(self.lines))):
            if self.form is not Form.MCP and self.draw.chance(REPLIES):
                text = " ".join(self.draw.some("reply", self.draw.rng.choice((1, 2))))
                self._tell_new("" if text in self._texts else text, ASSISTANT)
            else:
                self._tell_new("", self.user)

    def _tell_new(self, text: str, speaker: str) -> None:
        while not text or self._put(text, speaker) in self._texts:
            text, speaker = self.draw.fill(self.draw.pick("around")), self.user
        self.tell(text, speaker=speaker)

    def finish(self) -> Iterator[Probe]:
        """The probes, with the memories in the order of time."""
        ordered = sorted(self.lines, key=lambda line: (line.time, line.key))
        ids = {line.key: f"m{number:03}" for number, line in zip(count(), ordered)}
        memories = tuple(
            ProbeMemory(ids[line.key], line.text, self._speaker(line), self._time(line)) for line in ordered
        )
        for probe, gold in zip(self.probes, self._golds, strict=True):
            yield replace(probe, memories=memories, gold=frozenset(ids[key] for key in gold))

    def _speaker(self, line: Line) -> str | None:
        if self.form in {Form.STRINGS, Form.MCP}:
            return None
        return "user" if self.form is Form.MESSAGES and line.speaker == self.user else line.speaker

    def _time(self, line: Line) -> datetime | None:
        return None if self.form is Form.STRINGS else line.time


def _working_hours(time: datetime) -> datetime:
    """The time on the same day, moved to between 8 and 20 o'clock."""
    return time.replace(hour=8 + time.hour // 2, second=0, microsecond=0)
