"""What an ablation is made of: models and their variants."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from ...ports import Strategy
from ..query_spaces import QuerySpace
from ..recall.recall_run import needs_own_memory


@dataclass(frozen=True, slots=True)
class TrainedPerFold:
    """A strategy that is made anew for every fold of a set, from the other folds.

    A fold is some of the spaces, or where there are fewer than three, some of the questions.
    """

    train: Callable[[Sequence[QuerySpace]], Strategy]


@dataclass(frozen=True, slots=True, eq=False)
class Variant:
    """A strategy under the name it has in its model's table.

    ``home`` is the variant that fills the memory it recalls from, where that is another than itself; ``base`` the one
    it is compared with, where that is another than the whole model. ``talk`` says that it is asked only of what was
    told in time, ``apart`` that it learns from other spaces alone, and is left out of
    sets of one. What is trained writes nothing of its own.
    """

    label: str
    strategy: Strategy | TrainedPerFold
    memory_owner: "Variant | None" = None
    reference: "Variant | None" = None
    requires_dates: bool = False
    requires_other_spaces: bool = False

    def writer(self, *, counts_write_on_store: bool) -> Strategy | None:
        """The strategy whose memory it recalls from, None for the one that all share that only read."""
        strategy = (self.memory_owner or self).strategy
        return (
            None
            if isinstance(strategy, TrainedPerFold)
            or not needs_own_memory(strategy, counts_write_on_store=counts_write_on_store)
            else strategy
        )


class PaperMeasurement(StrEnum):
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
    paper_measurements: frozenset[PaperMeasurement] = field(default_factory=frozenset)

    @property
    def all_variants(self) -> tuple[Variant, ...]:
        """The whole model and its variants."""
        return (self.full, *self.variants)
