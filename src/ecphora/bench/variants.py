"""What an ablation is made of: models and their variants."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from ..ports import Strategy
from .run import writes
from .spaces import Space


@dataclass(frozen=True, slots=True)
class Trained:
    """A strategy that is made anew for every fold of a set, from the other folds.

    A fold is some of the spaces, or where there are fewer than three, some of the questions.
    """

    train: Callable[[Sequence[Space]], Strategy]


@dataclass(frozen=True, slots=True, eq=False)
class Variant:
    """A strategy under the name it has in its model's table.

    ``home`` is the variant that fills the memory it recalls from, where that is another than itself; ``base`` the one
    it is compared with, where that is another than the whole model. ``talk`` says that it is asked only of what was
    told in time, ``apart`` that it learns from other spaces alone, and is left out of
    sets of one. What is trained writes nothing of its own.
    """

    label: str
    strategy: Strategy | Trained
    home: "Variant | None" = None
    base: "Variant | None" = None
    talk: bool = False
    apart: bool = False

    def writer(self, *, stirring: bool) -> Strategy | None:
        """The strategy whose memory it recalls from, None for the one that all share that only read."""
        strategy = (self.home or self).strategy
        return None if isinstance(strategy, Trained) or not writes(strategy, stirring=stirring) else strategy


class Special(StrEnum):
    """A measurement of one paper's own, for the model of that paper, its rivals and the baselines."""

    EQUAL_COUNT = "equal count"
    LOW_SIMILARITY = "low similarity"
    GATE = "gate"


@dataclass(frozen=True, slots=True)
class Model:
    """A published model: the whole of it, its variants, and the measurements that are its paper's own."""

    name: str
    full: Variant
    variants: tuple[Variant, ...] = ()
    specials: frozenset[Special] = field(default_factory=frozenset)

    @property
    def ways(self) -> tuple[Variant, ...]:
        """The whole model and its variants."""
        return (self.full, *self.variants)
