"""A probe: one question to a memory whose answer is known, with all that the memory holds."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

GOLDEN_RATIO = (5**0.5 - 1) / 2


class Kind(StrEnum):
    """What probes of a kind ask for."""

    IDENTIFIERS = "identifiers"
    DAYS = "days"
    OWN_STATEMENTS = "own-statements"
    WHO = "who"
    MEASUREMENTS = "measurements"
    UPDATES = "updates"


class Form(StrEnum):
    """How the memories come in.

    ``EPISODES`` have a speaker and a time, ``STRINGS`` are plain texts without either, ``MESSAGES`` are chat messages,
    and ``MCP`` are texts that a model stores with the tool ``remember``: without speaker, at the time of the clock.
    """

    EPISODES = "episodes"
    STRINGS = "strings"
    MESSAGES = "messages"
    MCP = "mcp"


class Half(StrEnum):
    """Whether something may be learned from a probe; the halves share no name, template or notation."""

    LEARN = "learn"
    TEST = "test"


@dataclass(frozen=True, slots=True)
class ProbeMemory:
    """A memory of a probe; ``time`` is when it was told, None for a plain string."""

    id: str
    text: str
    speaker: str | None = None
    time: datetime | None = None


@dataclass(frozen=True, slots=True)
class Probe:
    """A question, asked at ``now``, of ``memories``, which it shares with all probes of its ``world``.

    Any of ``gold`` is right as the first hit; ``gold`` is empty if the memories do not hold the answer. Such a probe
    is like the answerable one whose id is ``resembles``.
    """

    id: str
    world: str
    kind: Kind
    sort: str
    language: str
    form: Form
    half: Half
    memories: tuple[ProbeMemory, ...]
    question: str
    now: datetime
    gold: frozenset[str]
    resembles: str | None = None

    @property
    def is_answerable(self) -> bool:
        """Whether a memory holds the answer."""
        return bool(self.gold)


def worlds(probes: Sequence[Probe]) -> dict[str, list[Probe]]:
    """The probes by their world, in order; the probes of a world have the same memories."""
    by_world: dict[str, list[Probe]] = {}
    for probe in probes:
        by_world.setdefault(probe.world, []).append(probe)
    return by_world


def spread(probes: Sequence[Probe], limit: int | None) -> list[Probe]:
    """At most ``limit`` of the probes, in order, spread over them by the golden ratio; all of them without a limit.

    Equal steps would take the same sort of every world.
    """
    if limit is None or limit >= len(probes):
        return list(probes)
    places: dict[int, None] = {}
    step = 0
    while len(places) < limit:
        places[int(step * GOLDEN_RATIO % 1 * len(probes))] = None
        step += 1
    return [probes[place] for place in sorted(places)]
