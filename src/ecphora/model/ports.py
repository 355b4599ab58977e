"""Protocols of the components around the memory. Each has a contract test in :mod:`ecphora.testing`.

This file is over 400 lines because it is the list of all ports, each documented for its implementers.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from enum import Enum
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from .graph.graph import Graph
from .graph.vectors import VectorColumn
from .reprs import ShortRepr
from .types import (
    Backup,
    Episode,
    Extraction,
    ExtractionReport,
    LLMEstimate,
    Mask,
    MediaVector,
    Node,
    NodeId,
    Omission,
    Query,
    Rows,
    ScopeInfo,
    Scores,
    UndoBatch,
    Vectors,
    WriteBatch,
)

Clock = Callable[[], datetime]
"""Returns the current time, always with a time zone."""

Progress = Callable[[int, int], None]
"""Called with the number of items done and their total."""

CodeSource = Callable[[str, Sequence[NodeId]], Mapping[NodeId, bytes]]
"""Returns the token codes that a model has made of nodes, as far as they are kept."""


NodeSource = Callable[[Rows], list[Node]]
"""Fetches the nodes of some rows, in their order."""

SecondsLeft = Callable[[], float]
"""Returns how many seconds are left; 0 or less when the time is up."""


class Default(Enum):
    """Stands for a component that a memory makes for itself."""

    DEFAULT = "default"

    def __repr__(self) -> str:
        return self.name


DEFAULT = Default.DEFAULT
"""The default of ``reranker`` and ``update_scorer`` of a memory."""


class Embedder(Protocol):
    """Turns texts into vectors. What else an embedder may say is in the protocols below."""

    @property
    def name(self) -> str:
        """The name of the model and of how it is run; two embedders of the same name give the same vectors."""
        ...

    @property
    def dim(self) -> int:
        """The length of every vector."""
        ...

    def embed(self, texts: Sequence[str], /, *, is_query: bool = False) -> Vectors:
        """Embed texts, shape ``(len(texts), dim)``, unit rows; ``is_query`` marks queries for asymmetric models.

        A text's vector does not depend on the other texts of the call.
        """
        ...


@runtime_checkable
class CoverageEmbedder(Embedder, Protocol):
    """An embedder that says how much of a text it can read. Any other embedder is taken to read the whole text."""

    def coverage(self, text: str, /) -> float:
        """How much of the text the model can read, in 0..1; 0 where it was not trained on that script."""
        ...


@runtime_checkable
class SimilarityFloorEmbedder(Embedder, Protocol):
    """An embedder whose unrelated texts have cosines far above 0. Other embedders have the floor 0."""

    @property
    def similarity_floor(self) -> float:
        """The cosine of unrelated texts."""
        ...


@runtime_checkable
class EnglishPairEmbedder(Embedder, Protocol):
    """An embedder with a second embedder, which ranks English texts better. English texts get a vector from each."""

    @property
    def english_embedder(self) -> Embedder | None:
        """The second embedder, for English texts; None if there is none. Making it loads no model."""
        ...


def embedder_coverage(embedder: Embedder, text: str) -> float:
    """How much of a text an embedder can read, in 0..1."""
    return embedder.coverage(text) if isinstance(embedder, CoverageEmbedder) else 1.0


def similarity_floor(embedder: Embedder) -> float:
    """The cosine at which an embedder finds two texts unrelated."""
    return float(embedder.similarity_floor) if isinstance(embedder, SimilarityFloorEmbedder) else 0.0


def english_embedder(embedder: Embedder) -> Embedder | None:
    """The second embedder of an embedder, for English texts; None if there is none, or if both are the same model."""
    found = embedder.english_embedder if isinstance(embedder, EnglishPairEmbedder) else None
    return None if found is None or found.name == embedder.name else found


class FactUpdateScorer(Protocol):
    """A cross-encoder that scores whether the later of two texts updates the earlier."""

    @property
    def name(self) -> str:
        """The name of the model and of how it is run; two scorers of the same name give the same scores."""
        ...

    def score(self, pairs: Sequence[tuple[str, str]], /) -> NDArray[np.float64]:
        """Log-odds, shape ``(len(pairs),)``, for pairs (earlier, later); each pair is scored independently.

        Each text is a message: it begins with the name of its speaker, "user" if that is unknown, and a colon.
        """
        ...


@dataclass(frozen=True, slots=True, repr=False)
class Passage(ShortRepr):
    """A memory as a reranker gets it. ``previous_turn`` is the turn before it with its speaker, "" if there is none."""

    text: str
    speaker: str | None = None
    happened_on: date | None = None
    title: str | None = None
    previous_turn: str = ""

    @property
    def own_text(self) -> str:
        """The title and the text with its speaker, as it is embedded: without the day and the turn before."""
        text = f"{self.title}\n{self.text}" if self.title else self.text
        return f"{self.speaker}: {text}" if self.speaker else text

    @property
    def statement(self) -> str:
        """The title, the day and the text with its speaker, without the turn before."""
        heading = " · ".join(part for part in (self.title, self.happened_on and self.happened_on.isoformat()) if part)
        body = f"{self.speaker}: {self.text}" if self.speaker else self.text
        return f"{heading} {body}" if heading else body

    def __str__(self) -> str:
        return f"{self.previous_turn}\n{self.statement}" if self.previous_turn else self.statement


class Reranker(Protocol):
    """A cross-encoder or language model that reads a question together with a memory: does the memory answer it?"""

    @property
    def name(self) -> str:
        """The name of the model and of how it is run; two rerankers of the same name give the same scores."""
        ...

    @property
    def batch_size(self) -> int:
        """How many passages one call should have. Between calls, a recall may be cancelled or meet its deadline."""
        ...

    def score(self, question: str, passages: Sequence[Passage], /, *, asked_on: date) -> NDArray[np.float64]:
        """Log-odds that each passage answers the question, shape ``(len(passages),)``, finite.

        A passage is read with the question and without the other passages; ``asked_on`` is the day of the question.
        Raises ``RerankerUnavailable`` if the model does not answer.
        """
        ...


@runtime_checkable
class WordEmbedder(Embedder, Protocol):
    """An embedder that gives vectors of words from the run that embeds their text, at no further cost."""

    def embed_words(self, question: str, words: Sequence[str], /) -> Vectors:
        """The vectors of words as they stand in a question, shape ``(len(words), dim)``, 0 for a word not found."""
        ...


@dataclass(frozen=True, slots=True)
class PassageCodes:
    """The token codes of a memory, and of the turn before the memory; b"" if there is no such turn."""

    own: bytes
    previous_turn: bytes = b""


@runtime_checkable
class CodeReranker(Reranker, Protocol):
    """A reranker that encodes every text once, apart from all questions, and reads the codes, which a store keeps."""

    @property
    def code_model(self) -> str:
        """The name of the model that makes the codes; codes under two names cannot be read together."""
        ...

    def encode(self, texts: Sequence[str], /) -> list[bytes]:
        """The token codes of texts, each encoded alone; raises ``RerankerUnavailable`` if the model does not answer."""
        ...

    def score_codes(self, question: str, passages: Sequence[PassageCodes], /) -> NDArray[np.float64]:
        """As :meth:`Reranker.score`, from token codes of passages, best first; NaN for passages that are not read."""
        ...


@runtime_checkable
class CascadeReranker(Reranker, Protocol):
    """A reranker with a second, slower model, which reads only the best passages."""

    @property
    def rescore_batch_size(self) -> int:
        """How many passages one call of ``rescore`` should have."""
        ...

    def rescore(
        self, question: str, passages: Sequence[Passage], log_odds: NDArray[np.float64], /, *, asked_on: date
    ) -> NDArray[np.float64]:
        """Log-odds that each passage answers the question, by both models; ``log_odds`` come from ``score``.

        Raises ``RerankerUnavailable`` if the second model does not answer.
        """
        ...


class Extractor(Protocol):
    """Finds names in a text, with their types and descriptions if known, and relations between names."""

    def extract(self, texts: Sequence[str], /) -> list[Extraction]:
        """Read each text by itself; the result is in the order of the texts.

        A name occurs in its text, apart from case and inflection.
        """
        ...


class ExtractionRun(Extractor, Protocol):
    """An extractor for one call of ``remember``, with a budget of its own and a report."""

    @property
    def report(self) -> ExtractionReport:
        """How the texts were read so far."""
        ...


@runtime_checkable
class MeteredExtractor(Extractor, Protocol):
    """An extractor that costs something. The memory begins a run for each call of ``remember``."""

    def begin_run(self) -> ExtractionRun:
        """An extractor for one call of ``remember``."""
        ...

    def estimate(self, texts: Sequence[str], /) -> LLMEstimate:
        """What reading some texts would cost; nothing is sent."""
        ...


class Importer(Protocol):
    """Reads the memories of another program from a file or folder."""

    def read(self, path: str, /, *, progress: Progress | None = None) -> Iterable[Episode | Omission]:
        """Yield the episodes of a file or folder one by one, and what is left out of it and why.

        Episodes have their times, speakers and sources where the file has them. The same file gives the same episodes,
        so that importing it twice adds nothing. ``progress`` gets from time to time how much was read, and how much
        there is, in any unit. Raises ``InvalidInput`` if the file does not have the format.
        """
        ...


@runtime_checkable
class FormatImporter(Importer, Protocol):
    """An importer that recognizes its format, and says what becomes of it."""

    @property
    def name(self) -> str:
        """The name by which users choose the format, such as ``"chatgpt"``."""
        ...

    @property
    def title(self) -> str:
        """What the format is, in a few words: "ChatGPT, an export (ZIP, folder or conversations.json)"."""
        ...

    @property
    def fields(self) -> Mapping[str, str]:
        """Which field of the file becomes ``speaker``, ``happened_at``, ``session``, ``title`` or ``source``."""
        ...

    def matches(self, path: str, /) -> bool:
        """Whether a file or folder looks like this format, from its name and its first bytes; never raises."""
        ...


@dataclass(frozen=True, slots=True, repr=False)
class Prompt(ShortRepr):
    """A prompt for a language model: ``system`` has the instructions, ``user`` the input.

    ``schema`` is the JSON schema that the reply must follow, None for plain text. ``max_tokens`` bounds the reply.
    """

    system: str
    user: str
    schema: Mapping[str, Any] | None = None
    max_tokens: int = 512


@dataclass(frozen=True, slots=True, repr=False)
class Reply(ShortRepr):
    """A language model's reply, verbatim, and its cost; ``cost_usd`` is 0 where the price is unknown."""

    text: str
    tokens_in: int
    tokens_out: int
    seconds: float
    cost_usd: float = 0.0


class LLM(Protocol):
    """A language model. It is optional: the memory works without one."""

    @property
    def name(self) -> str:
        """The name of the model and of how it is run."""
        ...

    def complete(self, prompt: Prompt, /) -> Reply:
        """Answer a prompt, once, without retrying; may be called from several threads at once.

        Raises ``LLMUnavailable`` if the model does not answer.
        """
        ...


class Summarizer(Protocol):
    """Summarizes several memories, with or without a language model; Cognitive Weave's Oracle."""

    def summarize(
        self, sources: Sequence[Node], vectors: Vectors, weights: NDArray[np.float64], token_cost: float, /
    ) -> str | None:
        """Write an insight over some memories, or return None if there is none; every statement needs a source.

        ``vectors`` has the sources' unit vectors, ``weights`` their weights, summing to 1, and ``token_cost`` the
        penalty per token of the insight, against relevance in 0..1.
        """
        ...


class Store(Protocol):
    """Durable storage of everything that was committed, by scope.

    ``commit`` is the only method that writes. A scope's graph is built only from ``changes_since``, so an updated graph
    and a reloaded one are the same. Old accesses may expire, as :class:`~ecphora.model.types.LogRetention` says, unless
    a batch has asked for the full log.
    """

    def commit(self, scope: str, batch: WriteBatch, /) -> WriteBatch:
        """Write all of a batch or nothing; return it with its revision and every ``seq`` filled in."""
        ...

    def changes_since(self, scope: str, revision: int, /) -> WriteBatch:
        """Return everything committed to a scope after a revision, as one batch; 0 reads the whole scope."""
        ...

    def nodes(self, scope: str, ids: Sequence[NodeId], /) -> list[Node]:
        """Return the nodes with these ids, in their order; missing ones are left out."""
        ...

    def scopes(self) -> list[ScopeInfo]:
        """Return every scope that holds anything, by name."""
        ...

    def undo_batches(self, scope: str, /) -> list[UndoBatch]:
        """Return the undo batches; the batch that wrote last is at the end, and only this one can be undone."""
        ...

    def close(self) -> None:
        """Close the file or connection; closing twice is harmless."""
        ...


@runtime_checkable
class UndoBatchStore(Store, Protocol):
    """A store that knows which nodes an undo batch has written."""

    def node_ids_of_batch(self, scope: str, batch: str, /) -> list[NodeId]:
        """Return the nodes that an undo batch has written, as far as they are still there."""
        ...


@runtime_checkable
class TokenCodeStore(Store, Protocol):
    """A store that keeps a reranker's token codes of texts, :attr:`~ecphora.model.types.WriteBatch.token_codes`."""

    def token_codes(self, scope: str, model: str, ids: Sequence[NodeId], /) -> Mapping[NodeId, bytes]:
        """Return the token codes that a model has made of nodes; nodes without codes are missing."""
        ...


@dataclass(frozen=True, slots=True, repr=False)
class StoredVectors(ShortRepr):
    """The vectors of nodes, in ``values``; ``seqs`` has the ``seq`` of each vector's node, ascending."""

    seqs: NDArray[np.int64]
    values: VectorColumn


@dataclass(frozen=True, slots=True, repr=False)
class StoredSnapshot(ShortRepr):
    """A scope's graph at a revision: its columns as bytes, its media's vectors, and all sound vectors of texts."""

    revision: int
    value: bytes
    vectors: StoredVectors
    english_vectors: StoredVectors
    media_vectors: tuple[MediaVector, ...]


@runtime_checkable
class SnapshotStore(Store, Protocol):
    """A store that keeps the columns of a scope's graph, so that the scope opens faster.

    A commit that deletes or overwrites rows also removes them from the snapshot; it may simply delete the snapshot.
    """

    def graph_snapshot(self, scope: str, /) -> StoredSnapshot | None:
        """Return the snapshot from which ``changes_since`` leads on; None if there is none."""
        ...

    def write_graph_snapshot(self, scope: str, revision: int, value: bytes, /) -> None:
        """Keep the columns of a scope's graph at a revision, in the place of earlier ones.

        Nothing is written if the scope has another revision, or if the store would have to wait.
        """
        ...


@runtime_checkable
class BackupStore(Protocol):
    """A store that can be backed up while it is in use."""

    def backup(self, path: str, /, *, overwrite: bool = False, progress: Progress | None = None) -> Backup:
        """Copy one state of all scopes to a new file, or with ``overwrite`` over an existing one.

        Raises ``InvalidInput`` for a path that cannot be the target.
        """
        ...


@runtime_checkable
class ScopeStore(Protocol):
    """A store that can rename and copy its scopes.

    Each call is one commit, and takes all of a scope along: nodes, edges, vectors, validity ends, the access log,
    tombstones, cursors and undo batches. It raises ``UnknownName`` for a scope that does not exist, and
    ``InvalidInput`` if there is a scope of the new name.
    """

    def rename_scope(self, scope: str, new_name: str, /) -> None:
        """Give a scope another name."""
        ...

    def clone_scope(self, scope: str, new_name: str, /) -> None:
        """Copy a scope to a new one, which reads like the first."""
        ...


@dataclass(frozen=True, slots=True, repr=False)
class ActivationPath(ShortRepr):
    """Back-pointers of a stage: ``parent[i]`` is the row from which row ``i`` was reached, -1 for none.

    ``via_entity[i]`` is the entity between them, -1 for none. With ``single_hop`` every path has one step.
    """

    parent: Rows
    via_entity: Rows
    single_hop: bool = False


@dataclass(frozen=True, slots=True, repr=False)
class Activation(ShortRepr):
    """A strategy's result for a query.

    ``scores`` rank the rows. ``contributions`` are the features' parts, each aligned with the graph's rows; they sum to
    ``scores`` wherever a score is not 0. ``paths`` say along which nodes a feature spread. ``stimulus`` is logged: one
    ``STIMULATED`` access for every row where it is not 0, with that strength; empty logs nothing. ``new_episode`` is
    an episode that the recall itself stores. ``confidence`` in 0..1 is how sure the strategy is that the memory holds
    the answer. ``eligible`` are the rows that the query may return (``retrieval.filters``); a strategy that has
    computed them hands them on, with None recall computes them. ``context_scores`` are the strategy's scores of rows
    that are no memories, such as engrams and insights; empty if it has none.
    """

    scores: Scores
    contributions: Mapping[str, Scores] = field(default_factory=dict)
    paths: Mapping[str, ActivationPath] = field(default_factory=dict)
    stimulus: Scores = field(default_factory=lambda: np.zeros(0, np.float32))
    new_episode: Episode | None = None
    confidence: float = 0.0
    eligible: Mask | None = None
    context_scores: Scores = field(default_factory=lambda: np.zeros(0, np.float32))


class RowReranker(Protocol):
    """Has a reranker read memories by their rows in the graph, for one query."""

    @property
    def is_mandatory(self) -> bool:
        """Whether to read even if the ranking leaves no doubt."""
        ...

    def __call__(self, rows: Rows, eligible: Mask, /) -> Scores:
        """Log-odds that each row answers the query, shape ``(len(rows),)``, NaN for rows that were not read.

        The reranker sees no text of rows that are not ``eligible``, a mask of the graph's rows.
        """
        ...

    def rescore(self, rows: Rows, log_odds: Scores, /) -> Scores:
        """Log-odds of rows that were scored, the best first, after they are scored again.

        ``log_odds`` are the first scores. They and the result have the shape ``(len(rows),)``.
        """
        ...

    def passages(self, rows: Rows, /) -> "Sequence[Passage]":
        """The passages of rows that were read, in their order."""
        ...


class Strategy(Protocol):
    """A recall strategy: a pure function from a query and a graph to an activation."""

    @property
    def name(self) -> str:
        """The name by which users choose it."""
        ...

    def activate(self, query: Query, graph: Graph, /) -> Activation:
        """Score the graph's rows for the query."""
        ...


@runtime_checkable
class RerankStrategy(Strategy, Protocol):
    """A strategy whose best candidates a reranker can read; ``activate`` scores the rows without a reranker."""

    def activate_with_reranker(self, query: Query, graph: Graph, reranker: RowReranker, /) -> Activation:
        """Have the best candidates for the query read, and score the graph's rows. Pure but for the reranker."""
        ...


@runtime_checkable
class GoalStrategy(Protocol):
    """A strategy that ranks by the goal of a query too."""

    @property
    def goal_weight(self) -> float:
        """How much the strategy ranks by the goal; 0 for not at all."""
        ...


@runtime_checkable
class MediaStrategy(Protocol):
    """A strategy that adds the gain of media to its scores itself; for other strategies recall adds the gain."""

    @property
    def joins_media(self) -> bool:
        """Whether the strategy adds the gain of media itself."""
        ...


@runtime_checkable
class WritesOnStore(Protocol):
    """A strategy that runs every new episode as a query and logs the memories that it activates."""

    @property
    def writes_on_store(self) -> bool:
        """Whether new episodes are run as queries."""
        ...


@runtime_checkable
class FullLogStrategy(Protocol):
    """A strategy that reads the full access log: in scopes where it was used, no access expires."""

    @property
    def needs_full_log(self) -> bool:
        """Whether the strategy reads the full access log."""
        ...


@runtime_checkable
class IncrementalStrategy(Protocol):
    """A strategy that processes new memories after they were stored."""

    def has_pending(self, graph: Graph, /) -> bool:
        """Whether there are enough new memories to process."""
        ...

    def process(self, graph: Graph, read_nodes: NodeSource, now: datetime, /, *, similarity_floor: float) -> WriteBatch:
        """Process the next portion: return insights, edges and the new cursor.

        ``similarity_floor`` is the cosine at which the embedder finds two texts unrelated. Pure but for ``read_nodes``.
        The memory embeds the new nodes and commits; it calls again while more is pending.
        """
        ...


@runtime_checkable
class NonblockingStore(Protocol):
    """A store with a second handle, which gives up at once while another connection writes."""

    def nonblocking_handle(self) -> Store:
        """The second handle; it is closed with the store."""
        ...


@runtime_checkable
class FeedbackStrategy(Protocol):
    """A strategy that ranks by feedback, and has a form without feedback."""

    def without_feedback(self) -> Strategy:
        """The same strategy, blind to feedback."""
        ...
