"""What the outside must offer: narrow protocols, each proven by a contract of :mod:`ecphora.testing`."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from .graph import Graph
from .model import Backup, Batch, Change, Cue, Episode, Mention, Node, NodeId, Rows, ScopeInfo, Scores, Vectors
from .reprs import ShortRepr

Clock = Callable[[], datetime]
"""Tells the time, always with a zone."""

Progress = Callable[[int, int], None]
"""Told how many of how many are done."""

Reader = Callable[[Rows], list[Node]]
"""Fetches the nodes of some rows, in their order."""

Left = Callable[[], float]
"""Tells how many seconds are left; 0 or less when the time is up."""


class Embedder(Protocol):
    """Turns texts into vectors.

    One whose unrelated texts have cosines far above 0 says so by an attribute ``floor``: that cosine.
    """

    @property
    def name(self) -> str:
        """The model and how it is run; two embedders of one name give the same vectors."""
        ...

    @property
    def dim(self) -> int:
        """The length of every vector."""
        ...

    def reads(self, text: str, /) -> float:
        """How much of the text the model can read, in 0..1; 0 where it was not trained on that script."""
        ...

    def embed(self, texts: Sequence[str], /, *, cue: bool = False) -> Vectors:
        """Embed texts, shape ``(len(texts), dim)``, unit rows; ``cue`` marks questions for models that tell them apart.

        A text's vector does not depend on the others of the call.
        """
        ...


class CrossEncoder(Protocol):
    """Reads two texts at once, and says how much speaks for it that the later one replaces the earlier."""

    @property
    def name(self) -> str:
        """The model and how it is run; two of one name give the same scores."""
        ...

    def score(self, pairs: Sequence[tuple[str, str]], /) -> NDArray[np.float64]:
        """Log-odds, shape ``(len(pairs),)``, for pairs (earlier, later); each pair's by itself."""
        ...


class Extractor(Protocol):
    """Finds the names a text mentions."""

    def extract(self, texts: Sequence[str], /) -> list[tuple[Mention, ...]]:
        """Find the names of each text, in the order of the texts."""
        ...


@dataclass(frozen=True, slots=True, repr=False)
class Prompt(ShortRepr):
    """What a language model is asked: ``system`` says what it is to do, ``user`` with what.

    ``schema`` is the JSON schema that its reply must follow, None for plain text. ``limit`` bounds the reply in tokens.
    """

    system: str
    user: str
    schema: Mapping[str, Any] | None = None
    limit: int = 512


@dataclass(frozen=True, slots=True, repr=False)
class Reply(ShortRepr):
    """What a language model said, as it said it, and what that took; ``money`` in US dollars, 0 where it is unknown."""

    text: str
    tokens_in: int
    tokens_out: int
    seconds: float
    money: float = 0.0


class LLM(Protocol):
    """A language model: a guest of the memory, never its host."""

    @property
    def name(self) -> str:
        """The model and how it is run."""
        ...

    def complete(self, prompt: Prompt, /) -> Reply:
        """Answer a prompt, once, without retrying; may be called from several threads at once.

        Raises ``LLMUnavailable`` where it does not answer.
        """
        ...


class Oracle(Protocol):
    """Writes what several memories say together, with a language model or without; Cognitive Weave's Oracle."""

    def synthesise(
        self, sources: Sequence[Node], vectors: Vectors, weights: NDArray[np.float64], token_cost: float, /
    ) -> str | None:
        """An insight over some memories, or None where there is none; it may state nothing that no source states.

        ``vectors`` has the sources' unit vectors, ``weights`` what each counts, summing to 1, and ``token_cost`` what a
        token of the insight costs against relevance in 0..1.
        """
        ...


class Store(Protocol):
    """Keeps the truth: everything that was committed, by scope.

    ``commit`` is the only method that writes. A scope's graph is grown from ``changes``, never read another way, so a
    grown graph and a reloaded one are the same. Old accesses may expire, as :class:`~ecphora.model.Expiry` says, unless
    a change has asked for the scope's log to stay whole.
    """

    def commit(self, scope: str, change: Change, /) -> Change:
        """Write all of a change or nothing; return it with its revision and every ``seq`` filled in."""
        ...

    def changes(self, scope: str, since: int, /) -> Change:
        """Everything committed to a scope after the revision ``since``, as one change; 0 reads the whole scope."""
        ...

    def nodes(self, scope: str, ids: Sequence[NodeId], /) -> list[Node]:
        """The nodes of these ids, in their order; those that are not there are left out."""
        ...

    def scopes(self) -> list[ScopeInfo]:
        """Every scope that holds anything, by name."""
        ...

    def batches(self, scope: str, /) -> list[Batch]:
        """The runs of consolidation that can be undone, oldest first."""
        ...

    def close(self) -> None:
        """Let go of the file or connection; closing twice is harmless."""
        ...


@runtime_checkable
class BackupStore(Protocol):
    """A store that copies itself while it is in use."""

    def backup(self, path: str, /, *, overwrite: bool = False, progress: Progress | None = None) -> Backup:
        """Copy one state of all scopes to a new file, or to one that is there with ``overwrite``.

        Raises ``InvalidInput`` for a path at which no copy may stand.
        """
        ...


@dataclass(frozen=True, slots=True, repr=False)
class Trail(ShortRepr):
    """How a stage reached its rows: ``by[i]`` is the row before row ``i`` on its way, -1 where there is none.

    ``via[i]`` is the name between them, -1 for none. A stage that takes ``one`` step at a time has no longer ways.
    """

    by: Rows
    via: Rows
    one: bool = False


@dataclass(frozen=True, slots=True, repr=False)
class Activation(ShortRepr):
    """A strategy's answer to a cue.

    ``scores`` to rank by. ``shares`` are the stages' parts, each aligned with the graph's rows; their sum is ``scores``
    wherever a score is not 0. ``trails`` say by which nodes a stage came. ``stimulus`` is what to log as felt: one
    ``STIMULATED`` access for every row where it is not 0, with that strength; empty logs nothing. ``leaves`` is an
    episode that recalling itself leaves behind. ``confidence`` in 0..1 is how sure the strategy is that the memory
    holds the answer.
    """

    scores: Scores
    shares: Mapping[str, Scores] = field(default_factory=dict)
    trails: Mapping[str, Trail] = field(default_factory=dict)
    stimulus: Scores = field(default_factory=lambda: np.zeros(0, np.float32))
    leaves: Episode | None = None
    confidence: float = 0.0


class Strategy(Protocol):
    """A published way of recalling: pure, from a cue and a graph to an activation."""

    @property
    def name(self) -> str:
        """The name by which users choose it."""
        ...

    def activate(self, cue: Cue, graph: Graph, /) -> Activation:
        """Activate the graph's rows by the cue."""
        ...


@runtime_checkable
class StoringIsQuerying(Protocol):
    """A strategy for which every new episode is a cue: what it stirs is logged together with it."""

    @property
    def storing_is_querying(self) -> bool:
        """Whether new episodes are to be cues."""
        ...


@runtime_checkable
class WholeLog(Protocol):
    """A strategy that reads all of the access log: where it has recalled or stored, nothing of the log expires."""

    @property
    def whole_log(self) -> bool:
        """Whether it does."""
        ...


@runtime_checkable
class Sleeper(Protocol):
    """A strategy that works on what is new when the memory has taken it in."""

    def due(self, graph: Graph, /) -> bool:
        """Whether enough is new to work on."""
        ...

    def sleep(self, graph: Graph, read: Reader, now: datetime, /) -> Change:
        """The next piece of work: insights, edges, and the mark of how far it has come.

        Pure but for ``read``. The memory embeds the new nodes and commits; it asks again while more is due.
        """
        ...
