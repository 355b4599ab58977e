"""The parts of an ablation: models and their variants."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from ...ports import Strategy
from ..query_spaces import QuerySpace
from ..recall.recall_run import needs_own_memory


@dataclass(frozen=True, slots=True)
class TrainedPerFold:
    """A strategy that is trained for every fold of a set, on the other folds.

    A fold is some of the spaces or, if there are fewer than three, some of the questions.
    """

    train: Callable[[Sequence[QuerySpace]], Strategy]


@dataclass(frozen=True, slots=True, eq=False)
class Variant:
    """A strategy under the name it has in its model's table.

    ``memory_owner`` is the variant that fills the memory it recalls from, if that is another; ``reference`` the one it
    is compared with, if not the whole model. ``requires_dates``: it runs only on sets with times.
    ``requires_other_spaces``: it trains on other spaces only, and is left out of sets with one. Trained variants write
    nothing.
    """

    label: str
    strategy: Strategy | TrainedPerFold
    memory_owner: "Variant | None" = None
    reference: "Variant | None" = None
    requires_dates: bool = False
    requires_other_spaces: bool = False

    def writer(self, *, counts_write_on_store: bool) -> Strategy | None:
        """The strategy whose memory it recalls from; None for the memory shared by all that only read."""
        strategy = (self.memory_owner or self).strategy
        return (
            None
            if isinstance(strategy, TrainedPerFold)
            or not needs_own_memory(strategy, counts_write_on_store=counts_write_on_store)
            else strategy
        )


class PaperMeasurement(StrEnum):
    """A measurement of one paper, for its model, the rivals and the baselines."""

    EQUAL_COUNT = "equal count"
    LOW_SIMILARITY = "low similarity"
    GATE = "gate"


@dataclass(frozen=True, slots=True)
class Model:
    """A published model: the whole model, its variants, and the measurements of its paper."""

    name: str
    full: Variant
    variants: tuple[Variant, ...] = ()
    paper_measurements: frozenset[PaperMeasurement] = field(default_factory=frozenset)

    @property
    def all_variants(self) -> tuple[Variant, ...]:
        """The whole model and its variants."""
        return (self.full, *self.variants)
