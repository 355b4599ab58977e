"""The public API: ``Memory``. Each method fetches, calls a pure function and commits; it computes nothing itself.

This file is over 400 lines because it is the public facade, one class whose methods are documented where users read
them.
"""

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import tzinfo
from functools import partial
from pathlib import Path
from threading import Event
from types import TracebackType
from typing import Literal, Self, TextIO

import numpy as np

from . import strategies
from .consolidation import run as consolidation_run
from .consolidation.run import ConsolidationResult
from .errors import InvalidInput, StoreError
from .language.names.mentions import entity_id
from .model.cancellation import current_cancellation
from .model.graph.graph import Graph
from .model.graph.updates import dependent_ids, ids_of_everything
from .model.ids import ACCEPT_PREFIX, MERGE_PREFIX, REJECT_PREFIX, content_id
from .model.ports import (
    DEFAULT,
    LLM,
    Activation,
    BackupStore,
    Clock,
    Default,
    Embedder,
    ExtractionRun,
    Extractor,
    FactUpdateScorer,
    GoalStrategy,
    MeteredExtractor,
    NodeSource,
    Progress,
    Reranker,
    Store,
    Strategy,
    UndoBatchStore,
    WordEmbedder,
    embedder_coverage,
)
from .model.reprs import OpenInEachProcess, call_repr, show
from .model.times import check_zone, in_zone, utc_now
from .model.types import (
    DEFAULT_RECALL_OPTIONS,
    Access,
    Backup,
    Edge,
    Episode,
    FactUpdate,
    Filter,
    ForgetResult,
    History,
    Hit,
    Insight,
    Kind,
    Link,
    Mark,
    Metadata,
    Node,
    NodeId,
    Page,
    Query,
    RecallOptions,
    RememberResult,
    Rerank,
    ScopeInfo,
    TransferResult,
    UndoBatch,
    When,
    WriteBatch,
)
from .model.validation import (
    LIST_LIMIT,
    RECALL_LIMIT,
    check_clock,
    check_component,
    check_count,
    check_filter,
    check_flag,
    check_id,
    check_ids,
    check_include,
    check_items,
    check_lines,
    check_long_call,
    check_metadata,
    check_name,
    check_optional_count,
    check_optional_name,
    check_path,
    check_question,
    check_recall_options,
    check_rerank,
    check_string,
    check_text,
    check_text_file,
)
from .models.embedders.from_setting import packaged_embedder
from .models.embedders.hashing import HASHING
from .models.embedders.minilm import MiniLMEmbedder
from .models.llm_client import LLMClient, as_llm_client
from .models.rerankers.late_interaction import LateInteractionReranker
from .models.rule_extractor import RuleExtractor
from .models.update_scorer import E5UpdateScorer
from .recall import lookup
from .recall.access_log import AccessLog, recall_accesses
from .recall.answering import Answer, answer
from .recall.candidate_reranking import CandidateReranking
from .recall.exchange import exchange_batch, exchange_id
from .recall.explain import WhyNot, why_not
from .recall.feedback import feedback_batch, question_id
from .recall.lookup import Order
from .recall.prepared_recall import PreparedRecall, StepTimer
from .recall.recollection import DEFAULT_BUDGET, Recollection
from .remember import documents, encode
from .remember.documents import warn_of_blocked
from .remember.forget import check_forgettable, plan_forget
from .remember.graph_cache import BULK_NEW_SHARE, GraphCache
from .remember.messages import (
    DEFAULT_OPTIONS,
    Message,
    MessageOptions,
    episodes_from_messages,
    is_message,
    question_from_messages,
)
from .remember.replacement import check_memory, replace_text
from .remember.scope_writer import MAX_RETRIES, Classification, ExtractionSource, ScopeWriter, reads_full_log
from .remember.triggers import AutoConsolidate
from .remember.write_recall import writes_on_store
from .retrieval import filters, importance, insight_index, validity
from .retrieval.confidence import DEFAULT_BANDS, EvidenceBands
from .retrieval.query import QueryEmbedder, analyze
from .stores.opening import open_store
from .stores.sqlite import TemporaryStore
from .tools.function_tools import DEFAULT_REPLY_TOKENS, ToolSet


class _View:
    """A view of one memory. ``writer`` flushes the access log and returns the memory's writer."""

    def __init__(self, writer: Callable[[], ScopeWriter], clock: Clock) -> None:
        self._writer = writer
        self._clock = clock

    def _commit_undo_batch(self, build: Callable[[Graph], WriteBatch]) -> UndoBatch:
        undo_batch = self._writer().commit(build).undo_batch
        assert undo_batch is not None  # noqa: S101  # a batch with an edge is never empty
        return undo_batch


class Facts(_View):
    """The updates and contradictions of facts that consolidation found."""

    def updates(self, *, pending: bool = False, limit: int = LIST_LIMIT) -> list[FactUpdate]:
        """The updates and contradictions that consolidation found, the latest memories first.

        ``pending=True`` lists the updates of which consolidation is not sure, with a confidence below .65. They change
        neither validity nor order until :meth:`accept` is called for them.
        """
        limit, writer = check_count("limit", limit), self._writer()
        is_pending, graph = check_flag("pending", pending), writer.graph()
        return validity.list_updates(graph, writer.node_source(graph), limit, is_pending=is_pending)

    def accept(self, old: NodeId, new: NodeId) -> UndoBatch:
        """State that a pending update is one: from then on it counts as if it were certain; ``undo`` reverts it.

        Raises ``InvalidInput`` if consolidation found nothing between the two.
        """
        return self._commit_verdict(old, new, ACCEPT_PREFIX, "accepted", confidence=1.0)

    def reject(self, old: NodeId, new: NodeId) -> UndoBatch:
        """State that a memory neither supersedes nor contradicts an older one; ``undo`` reverts it.

        Raises ``InvalidInput`` if consolidation found nothing between the two.
        """
        return self._commit_verdict(old, new, REJECT_PREFIX, "rejected", confidence=0.0)

    def _commit_verdict(self, old: NodeId, new: NodeId, prefix: str, name: str, *, confidence: float) -> UndoBatch:
        old, new = check_id(old, "old"), check_id(new, "new")
        now = self._clock()

        def build(graph: Graph) -> WriteBatch:
            edges = validity.verdict_edges(
                graph, documents.node_ids_of(graph, old), documents.node_ids_of(graph, new), confidence
            )
            if not edges:
                raise InvalidInput(
                    f"no update was found between {old!r} and {new!r}; facts.updates() and facts.updates(pending=True) "
                    "list the updates that were"
                )
            undo_batch = UndoBatch(f"{prefix}{graph.revision + 1}", now, {name: len(edges)})
            return WriteBatch(edges=edges, undo_batch=undo_batch)

        return self._commit_undo_batch(build)


class Entities(_View):
    """The names in memories, and which of them mean one entity."""

    def merge(self, name: str, other: str) -> UndoBatch:
        """State that two names mean one entity; ``undo`` reverts it. Consolidation does so where texts show it.

        Raises ``InvalidInput`` for a name that no memory mentions.
        """
        return self._link(name, other, weight=1.0)

    def split(self, name: str, other: str) -> UndoBatch:
        """State that two names do not mean one entity, whatever consolidation found; ``undo`` reverts it."""
        return self._link(name, other, weight=0.0)

    def _link(self, name: str, other: str, *, weight: float) -> UndoBatch:
        name, other = check_string("name", name), check_string("other", other)
        now, ids = self._clock(), [entity_id(one) for one in (name, other)]

        def build(graph: Graph) -> WriteBatch:
            if missing := [one for one, id_ in zip((name, other), ids, strict=True) if graph.row(id_) is None]:
                raise InvalidInput(f"no memory mentions {show(missing[0])}; give a name as the memories spell it")
            if ids[0] == ids[1]:
                raise InvalidInput(f"{name!r} and {other!r} are already one name")
            undo_batch = UndoBatch(f"{MERGE_PREFIX}{graph.revision + 1}", now, {"alias": 1})
            return WriteBatch(edges=(Edge(ids[0], ids[1], Link.ALIAS, weight),), undo_batch=undo_batch)

        return self._commit_undo_batch(build)


class Maintenance(_View):
    """Batches that can be undone, decayed memories, and marks that keep memories from decay or rank them last.

    A mark of a chunk is one of its whole text.
    """

    def batches(self) -> list[UndoBatch]:
        """The batches that :meth:`undo` can revert, oldest first."""
        writer = self._writer()
        return writer.store.undo_batches(writer.scope)

    def undo(self, batch: str | None = None) -> UndoBatch:
        """Undo the latest undo batch: delete every row that it wrote, and what was derived from it since.

        An undo batch is what one consolidation, import, merge, split, accepted or rejected update wrote; the latest is
        the batch that wrote last. :meth:`batches` lists them; ``batch`` may give the id of the latest. What
        ``remember``, ``update``, ``feedback`` and marks wrote belongs to no batch and stays, and what ``forget`` erased
        does not come back.

        Raises ``InvalidInput`` if there is no undo batch, or if ``batch`` is not the latest.
        """
        batch, writer = check_optional_name("batch", batch), self._writer()
        undone: list[UndoBatch] = []

        def build(graph: Graph) -> WriteBatch:
            batches = writer.store.undo_batches(writer.scope)
            if not batches:
                raise InvalidInput(
                    f"scope {writer.scope!r} has no consolidation, import, merge, split or rejected update to undo"
                )
            undone[:] = batches[-1:]
            id_ = batches[-1].id if batch is None else batch
            entities = _entities_without_batch(writer, graph, id_)
            return WriteBatch(undoes=id_, entities=entities, expected_revision=graph.revision)

        writer.commit(build)
        return undone[0]

    def decayed(self, *, limit: int = LIST_LIMIT) -> list[Node]:
        """Memories of low importance by use and age, not accessed for months; the least important first.

        Decay alone does not change their rank. ``archive`` ranks memories last, ``pin`` keeps them from decay.
        """
        limit, writer = check_count("limit", limit), self._writer()
        graph = writer.graph()
        rows = importance.decayed_rows(graph, importance.DecayPolicy(), self._clock().timestamp())
        return writer.node_source(graph)(rows[:limit])

    def pin(self, ids: NodeId | Iterable[NodeId]) -> None:
        """Keep memories from decay. Raises ``InvalidInput`` for an unknown id."""
        self._mark(ids, Mark.PINNED)

    def unpin(self, ids: NodeId | Iterable[NodeId]) -> None:
        """Let memories decay again. Raises ``InvalidInput`` for an unknown id."""
        self._mark(ids, Mark.UNPINNED)

    def archive(self, ids: NodeId | Iterable[NodeId]) -> None:
        """Rank memories after all others; they still come back if nothing else does.

        Raises ``InvalidInput`` for an unknown id.
        """
        self._mark(ids, Mark.ARCHIVED)

    def unarchive(self, ids: NodeId | Iterable[NodeId]) -> None:
        """Rank memories among the others again. Raises ``InvalidInput`` for an unknown id."""
        self._mark(ids, Mark.UNARCHIVED)

    def _mark(self, ids: NodeId | Iterable[NodeId], mark: Mark) -> None:
        wanted, now = check_ids(ids), self._clock()

        def build(graph: Graph) -> WriteBatch:
            rows = {id_: documents.node_ids_of(graph, id_) for id_ in wanted}
            if missing := [id_ for id_, nodes in rows.items() if not nodes]:
                raise InvalidInput(f"there is no memory {show(missing[0])}; nothing was marked")
            marked = documents.expand_to_documents(graph, [node for nodes in rows.values() for node in nodes])
            return WriteBatch(accesses=tuple(Access(node, now, mark) for node in marked))

        self._writer().commit(build)


def _entities_without_batch(writer: ScopeWriter, graph: Graph, batch: str) -> tuple[Node, ...]:
    """The names that stay when a batch is undone, where their spelling or times come from a memory of the batch."""
    if not isinstance(writer.store, UndoBatchStore):
        return ()
    nodes = writer.store.nodes(writer.scope, writer.store.node_ids_of_batch(writer.scope, batch))
    memories = [node for node in nodes if node.kind is not Kind.ENTITY]
    return plan_forget(memories, graph, partial(writer.store.nodes, writer.scope)).entities


_log = logging.getLogger("ecphora")

MATCH_ALL = Filter()
"""The filter that matches everything."""
EMBEDDER_METHODS = ("embed",)
"""The methods that an embedder must have."""
TEMPORARY = ":memory:"
"""The path of a memory that is deleted when it is closed, as in SQLite."""
BATCH_SIZE = 512
"""The number of episodes that :meth:`Memory.remember` embeds and commits together."""
MIN_COVERAGE = 0.5
"""The fraction of a text's letters that an embedder must read, so that the text does not count as unread."""
REEMBED_HINT = ". To find them by meaning, change to the multilingual embedder: ecphora reembed --embedder e5"
LOG_FLUSH_SECONDS = 5.0
"""Seconds that a write, or closing, waits until the access log holds what earlier recalls handed to it."""


def _open_store(path: object) -> Store:
    """The store at a path or URL, or the one given; raises ``InvalidInput`` if ``path`` is neither."""
    if isinstance(path, str) and path == TEMPORARY:
        return TemporaryStore()
    if isinstance(path, str | Path):
        return open_store(path)
    if isinstance(path, type) or not callable(getattr(path, "commit", None)):
        raise InvalidInput(
            f"path is {show(path)}; give a file, {TEMPORARY!r} for a temporary memory, postgresql://…, or a store"
        )
    store: Store = path  # type: ignore[assignment]
    return store


def _check_used_ids(recollection: object, used_ids: Iterable[NodeId]) -> list[NodeId]:
    """Check a recollection and the ids of its hits that were used; return these, each once."""
    if not isinstance(recollection, Recollection):
        raise InvalidInput(f"recollection is {show(recollection)}; give what recall returned")
    unique_ids = list(dict.fromkeys(check_ids(used_ids, "used_ids")))
    if unknown_ids := [id_ for id_ in unique_ids if id_ not in {hit.id for hit in recollection}]:
        raise InvalidInput(f"{unknown_ids[0]!r} is not among what came back; give ids of hits of this recollection")
    return unique_ids


def _check_takes_goal(strategy: Strategy, goal: str | None) -> None:
    """Check that a strategy ranks by goals, if there is one."""
    if goal is not None and not isinstance(strategy, GoalStrategy):
        raise InvalidInput(
            f"the strategy {strategy.name!r} takes no goal; recall with strategy='fused', or leave goal out"
        )


class Memory(OpenInEachProcess):
    """Associative long-term memory in one file.

    ``path`` is a file, created on first use, ``":memory:"`` for a temporary file that is deleted when the memory is
    closed, or any other :class:`~ecphora.model.ports.Store`. ``scope`` names whose memory it is: nothing is read or
    written outside the scope. ``embedder``, ``extractor``, ``strategy`` and ``clock`` replace the built-in ones;
    without ``embedder``, a scope that a packaged embedder wrote keeps that one. ``update_scorer`` compares pairs of
    memories during consolidation to detect fact updates; with None only rules detect them. ``reranker`` reads the best
    candidates of a recall together with the question; with None nothing is read, and by default nothing with a
    ``HashingEmbedder``, whose users want no model. ``auto_consolidate`` says when the memory consolidates by itself; by
    default it does so only when :meth:`consolidate` is called. ``evidence_bands`` says from which confidence on a
    recall has strong or weak evidence. ``zone``, a name of the tz database or a ``tzinfo``, is where the user is, by
    default the zone of this machine: a time without an offset is local time there, and so are the days of questions,
    filters and prompts. Safe to share between threads; any number of processes may open the file.

    Raises ``EmbedderMismatch`` if the scope was written with another embedding model, and a ``StoreError`` if the
    file cannot be used.
    """

    def __init__(
        self,
        path: str | Path | Store,
        *,
        scope: str = "default",
        embedder: Embedder | None = None,
        extractor: Extractor | None = None,
        update_scorer: FactUpdateScorer | Default | None = DEFAULT,
        reranker: Reranker | Default | None = DEFAULT,
        strategy: str | Strategy = "fused",
        auto_consolidate: AutoConsolidate | None = None,
        evidence_bands: EvidenceBands = DEFAULT_BANDS,
        clock: Clock = utc_now,
        zone: str | tzinfo | None = None,
    ) -> None:
        self.scope = check_name("scope", scope)
        self.strategy = strategies.resolve_strategy(strategy)
        if embedder is not None:
            check_component("embedder", embedder, "an embedder", *EMBEDDER_METHODS)
        self._extractor = (
            RuleExtractor() if extractor is None else check_component("extractor", extractor, "an extractor", "extract")
        )
        if update_scorer is DEFAULT:
            update_scorer = E5UpdateScorer()
        self._update_scorer = (
            None
            if update_scorer is None
            else check_component("update_scorer", update_scorer, "an update scorer", "score")
        )
        if reranker is DEFAULT:
            reranker = None if embedder is not None and embedder.name.startswith(HASHING) else LateInteractionReranker()
        self._reranker = None if reranker is None else check_component("reranker", reranker, "a reranker", "score")
        self._set_zone(zone, clock)
        if auto_consolidate is not None and not isinstance(auto_consolidate, AutoConsolidate):
            raise InvalidInput(f"auto_consolidate is {show(auto_consolidate)}; give AutoConsolidate(every_turns=100)")
        self._auto_consolidate = auto_consolidate
        if not isinstance(evidence_bands, EvidenceBands):
            raise InvalidInput(f"evidence_bands is {show(evidence_bands)}; give EvidenceBands(strong=0.7, weak=0.3)")
        self.evidence_bands = evidence_bands
        self._store = _open_store(path)
        self._owns_store = self._store is not path
        cache = GraphCache(self._store, self.scope)
        try:
            cache.refresh()
        except BaseException:
            self._close_store()
            raise
        self._embedder: Embedder = packaged_embedder(cache.embedder_name) if embedder is None else embedder
        self._scope_writer = ScopeWriter(
            self._store, self.scope, self._embedder, self._extractor, self.strategy, cache, self._reranker
        )
        self._query_embedder = QueryEmbedder(partial(self._scope_writer.embed, is_query=True))
        self._access_log = AccessLog(self._scope_writer)
        self._has_warned_of_unread = Event()
        try:
            self.graph()
        except BaseException:
            self.close()
            raise

    def _set_zone(self, zone: str | tzinfo | None, clock: Clock) -> None:
        self.zone = check_zone(zone)
        self._clock = check_clock(clock, self.zone)
        self.facts = Facts(self._flushed_writer, self._clock)
        self.entities = Entities(self._flushed_writer, self._clock)
        self.maintenance = Maintenance(self._flushed_writer, self._clock)

    def _in_zone(self, zone: tzinfo) -> "Memory":
        view = Memory.__new__(Memory)
        vars(view).update(vars(self))
        view._set_zone(zone, self._clock)  # noqa: SLF001  # a Memory too
        return view

    def __repr__(self) -> str:
        strategy, embedder = self.strategy.name, self._embedder.name
        return call_repr("Memory", self._store, scope=self.scope, strategy=strategy, embedder=embedder)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> None:
        self.close()

    def __len__(self) -> int:
        """The number of memories; a long text, stored as several chunks, is one."""
        return int(lookup.memory_rows(self.graph()).sum())

    def close(self) -> None:
        """Write what waits for the access log and close the file; closing twice is harmless.

        A store that was passed as ``path`` stays open.
        """
        self._access_log.close(LOG_FLUSH_SECONDS)
        with suppress(StoreError):  # it only makes the next opening faster
            self._scope_writer.cache.save()
        self._close_store()

    def _close_store(self) -> None:
        if self._owns_store:
            self._store.close()

    # ---- remember

    def remember(
        self,
        content: str | Episode | Message | Iterable[str | Episode | Message],
        *,
        id: NodeId | None = None,  # noqa: A002
        speaker: str | None = None,
        session: str | None = None,
        happened_at: When | None = None,
        title: str | None = None,
        source: str | None = None,
        metadata: Metadata | None = None,
        trust: float = 1.0,
        supersedes: NodeId | None = None,
        message_options: MessageOptions = DEFAULT_OPTIONS,
        restore: bool = False,
        dry_run: bool = False,
        progress: Progress | None = None,
    ) -> RememberResult:
        """Remember one text, or many; every text is checked before the first is written.

        ``speaker``, ``session``, ``happened_at``, ``title``, ``source`` and ``metadata`` describe a plain text; an
        :class:`Episode` brings its own. A chat message in the shape of OpenAI, Anthropic or LangChain is remembered
        with its role as the speaker. Its own name and time come before these arguments.

        ``message_options`` gives roles other names, and says whether tool results and system prompts are kept;
        ``omitted`` of the result counts what was left out (see :mod:`ecphora.remember.messages`).

        ``id`` names the memory; without it the memory gets a digest of its content. A memory that is already stored
        under the same id stays as it is. So do equal texts that have a time, title, source or media, and a list that is
        remembered twice. One text alone, without them, is a new memory if something newer was stored in its session
        since it was last said (see :mod:`ecphora.remember.documents`).

        ``restore`` stores what was forgotten before. Otherwise ``blocked`` of the result has its id, and a
        ``BlockedWarning`` says so.

        ``supersedes`` ends the validity of the memory with that id, whoever said it. ``trust`` limits this: a memory
        never supersedes one of higher trust, neither by ``supersedes`` nor as detected by :meth:`consolidate`. Trust
        does not affect ranking yet.

        ``dry_run`` writes and sends nothing: the result has what would be written, and in ``estimate`` what an
        extractor with a language model would consume. ``extraction`` of the result says how such an extractor read the
        texts.

        Many texts are committed in batches of 512; each batch is written whole or not at all.

        Raises ``InvalidInput`` for a text, message, name or time that cannot be used, and for a ``supersedes`` that
        names a memory that does not exist or has a higher trust; ``IdCollision`` for an id that stands for another
        text.
        """
        check_long_call(progress, restore=restore, dry_run=dry_run)
        is_single = isinstance(content, str | Episode) or is_message(content)
        if id is not None and not is_single:
            raise InvalidInput(f"one id, {show(id)}, for several texts; give Episode(text, id=...) objects instead")
        hint = "a text, an Episode or a chat message, or several"
        items = (content,) if is_single else check_items("content", content, hint)
        given_metadata = {} if metadata is None else check_metadata(metadata)
        template = Episode("", id, speaker, session, happened_at, title, source, given_metadata, trust, supersedes)
        now = self._clock()
        read = episodes_from_messages(items, template=template, options=message_options, zone=self.zone)
        episodes = [documents.check_episode(episode, now, self.zone) for episode in read.episodes]
        is_alone = is_single and len(episodes) == 1
        if not is_alone:
            episodes = documents.number_repeats(episodes)
        pending = list(documents.deduplicate(episodes, self.graph()).values())
        ids = None if is_alone else tuple(episode.id for episode in episodes)
        if dry_run:
            return self._remember_dry(ids, pending, read.omitted, restore=restore)
        if self._auto_consolidate is not None and pending:
            first_session = pending[0].chunks[0].session
            if self._auto_consolidate.is_due(self.graph(), first_session, now):
                self._consolidate_or_warn()
        # A strategy that writes on store activates earlier episodes from later ones: commit one at a time.
        writer = self._flushed_writer()
        batch_size = 1 if writes_on_store(self.strategy) else BATCH_SIZE
        run = self._begin_extraction()
        extractions = ExtractionSource(run or self._extractor)
        written: list[Classification] = []
        for start in range(0, len(pending), batch_size):
            if run is not None and batch_size < BATCH_SIZE and start % BATCH_SIZE == 0:  # many texts in a prompt
                following = writer.classify(pending[start : start + BATCH_SIZE], restore=restore)
                extractions.read(following.new_nodes)
            batch = pending[start : start + batch_size]
            written.append(writer.remember(batch, now, restore=restore, extractions=extractions))
            writer.process_pending(now)
            if len(batch) == BATCH_SIZE:  # so an import that is killed soon goes on
                with suppress(StoreError):
                    writer.cache.save(new_share=BULK_NEW_SHARE)
            if progress is not None:
                progress(min(start + batch_size, len(pending)), len(pending))
        found = Classification.joined(written)
        created, existing, blocked = found.ids
        warn_of_blocked(blocked)
        return RememberResult(
            ids or (*created, *existing, *blocked),
            created,
            existing,
            blocked,
            self._unread_ids(found.new),
            read.omitted,
            None if run is None else run.report,
        )

    def _consolidate_or_warn(self) -> None:
        """Consolidate; a failure is logged, so that what is to be remembered is stored all the same."""
        try:
            self.consolidate()
        except Exception:  # noqa: BLE001  # whatever it is: a call of `consolidate` would raise it
            _log.warning("the automatic consolidation of the scope %r failed", self.scope, exc_info=True)

    def _begin_extraction(self) -> ExtractionRun | None:
        """The extractor for one call, if it counts its work."""
        return self._extractor.begin_run() if isinstance(self._extractor, MeteredExtractor) else None

    def _remember_dry(
        self,
        ids: tuple[NodeId, ...] | None,
        pending: Sequence[documents.CheckedEpisode],
        omitted: Mapping[str, int],
        *,
        restore: bool,
    ) -> RememberResult:
        """What remembering would write and cost; nothing is written or sent."""
        found = self._flushed_writer().classify(pending, restore=restore)
        created, existing, blocked = found.ids
        estimate = (
            self._extractor.estimate([node.text for node in found.new_nodes])
            if isinstance(self._extractor, MeteredExtractor)
            else None
        )
        ids = ids or (*created, *existing, *blocked)
        return RememberResult(ids, created, existing, blocked, omitted=omitted, estimate=estimate)

    def _unread_ids(self, episodes: Sequence[documents.CheckedEpisode]) -> tuple[NodeId, ...]:
        """The new episodes that the embedder mostly cannot read; the first time, a warning says what helps."""
        unread = tuple(
            episode.id
            for episode in episodes
            if embedder_coverage(self._embedder, episode.chunks[0].text) < MIN_COVERAGE
        )
        if unread and not self._has_warned_of_unread.is_set():
            self._has_warned_of_unread.set()
            _log.warning(
                "the scope %r has memories in a script that its embedder %s does not read: they are found by their "
                "words, not by meaning%s",
                self.scope,
                self._embedder.name,
                REEMBED_HINT if isinstance(self._embedder, MiniLMEmbedder) else "",
            )
        return unread

    # ---- recall

    def recall(
        self,
        question: str | Message | Iterable[Message],
        *,
        limit: int = RECALL_LIMIT,
        budget: int | None = None,
        where: Filter = MATCH_ALL,
        as_of: When | None = None,
        known_at: When | None = None,
        strategy: str | Strategy | None = None,
        rerank: str | Rerank = Rerank.AUTO,
        include: str | Iterable[str] = (),
        goal: str | None = None,
        options: RecallOptions = DEFAULT_RECALL_OPTIONS,
    ) -> Recollection:
        """Return the memories that belong to a question, best first.

        ``question`` is a text, or the messages of a chat. Messages ask the last user message, together with the user
        messages before it if it is short, as in "and in May?"
        (:func:`ecphora.remember.messages.question_from_messages` has the rule). ``query.text`` of the result is the
        question asked. Recall before you remember the last message, so that it does not find itself.

        ``limit`` bounds the hits, ``budget`` the tokens of their texts (estimated). ``where`` filters what may be
        returned at all. ``as_of`` is a point in event time: nothing that happened later is returned, and no hit shows
        anything of it. ``known_at`` is a point in recording time: nothing recorded later is returned.

        ``rerank`` says when the reranker reads the best candidates of a strategy that lets it, as ``fused`` does:
        ``"auto"`` only if the ranking leaves doubt, ``"never"``, or ``"always"``. How much it reads is a matter of
        counts, so equal recalls give equal results. If the reranker fails, the recall goes on without it, and the cost
        says why.

        ``include`` names what comes back besides the memories, at most ``limit`` of each: ``"engrams"`` are the names
        that the hits mention, ``"insights"`` summaries near the question, and ``"exchanges"`` earlier prompts like it
        with their responses. None of them counts as a memory or changes the hits and the evidence.

        ``goal`` says what the answer is for, as in ``goal="plan Noah's birthday party"``: memories that fit it rank
        higher, the more the less sure the question alone is of its answer. It returns nothing that the question does
        not find, and changes neither the evidence nor the confidence. Only ``fused`` ranks by it.

        ``options`` has what is rarely needed (:class:`~ecphora.model.types.RecallOptions`).

        A recall waits less than a second for the access log and never fails because of it: what cannot be written is
        counted, see ``unlogged_count``. Raises ``InvalidInput`` for an argument that cannot be used, for messages
        without a user message that has text, and for a ``goal`` if the strategy takes none.
        """
        timer = StepTimer()
        prepared = self._prepare_recall(
            question,
            limit=limit,
            budget=budget,
            where=where,
            as_of=as_of,
            known_at=known_at,
            strategy=strategy,
            rerank=rerank,
            include=include,
            goal=goal,
            options=options,
        )
        timer.end("embed")
        activation = prepared.activate()
        timer.end("activate")
        hits = tuple(prepared.rank(activation).hits)
        if options.log_access:
            with current_cancellation().commit():
                self._log_recall(prepared, activation, hits)
        return prepared.recollection(activation, hits, self.evidence_bands, timer)

    def _prepare_recall(
        self,
        question: str | Message | Iterable[Message],
        *,
        limit: int,
        budget: int | None,
        where: Filter,
        as_of: When | None,
        known_at: When | None,
        strategy: str | Strategy | None,
        rerank: str | Rerank,
        include: str | Iterable[str],
        goal: str | None,
        options: RecallOptions,
    ) -> PreparedRecall:
        """Check the arguments of a recall, and analyze its question on the graph that is searched."""
        options = check_recall_options(options)
        limit, budget = check_count("limit", limit), check_optional_count("budget", budget)
        rerank_when, included = check_rerank(rerank), check_include(include)
        chosen = self.strategy if strategy is None else strategies.resolve_strategy(strategy)
        _check_takes_goal(chosen, goal)
        graph = self.graph()
        read_nodes = self._scope_writer.node_source(graph)
        query = self._analyze(
            question, graph, read_nodes, where=where, as_of=as_of, known_at=known_at, goal=goal, options=options
        )
        candidate_reranking = (
            None
            if self._reranker is None or rerank_when is Rerank.NEVER
            else CandidateReranking(
                self._reranker,
                graph,
                query,
                read_nodes,
                time_limit=None if options.rerank_ms is None else options.rerank_ms / 1000,
                is_mandatory=rerank_when is Rerank.ALWAYS,
                score_codes=self._scope_writer.code_source,
            )
        )
        return PreparedRecall(
            chosen,
            query,
            graph,
            candidate_reranking,
            read_nodes,
            limit,
            budget,
            explain=options.explain,
            include=included,
        )

    def _analyze(
        self,
        question: str | Message | Iterable[Message],
        graph: Graph,
        read_nodes: NodeSource,
        *,
        where: Filter,
        as_of: When | None,
        known_at: When | None,
        goal: str | None,
        options: RecallOptions,
    ) -> Query:
        """A question, or the question of a conversation, with its analysis on a graph."""
        return analyze(
            question if isinstance(question, str) else question_from_messages(question),
            graph,
            self._clock(),
            self._embedder,
            self._query_embedder,
            read_nodes=read_nodes,
            where=where,
            as_of=as_of,
            known_at=known_at,
            retroactive=options.retroactive,
            goal=goal,
            embed_goal=self._query_embedder.goal_vector,
            media=options.media_query,
            zone=self.zone,
            embed_english=self._scope_writer.english_query_encoder(),
            embed_words=self._embedder.embed_words if isinstance(self._embedder, WordEmbedder) else None,
        )

    def why_not(
        self,
        question: str | Message | Iterable[Message],
        id: NodeId,  # noqa: A002
        *,
        limit: int = RECALL_LIMIT,
        budget: int | None = None,
        where: Filter = MATCH_ALL,
        as_of: When | None = None,
        known_at: When | None = None,
        strategy: str | Strategy | None = None,
        rerank: str | Rerank = Rerank.AUTO,
        goal: str | None = None,
        options: RecallOptions = DEFAULT_RECALL_OPTIONS,
    ) -> WhyNot:
        """Explain why :meth:`recall` with the same arguments does not return a memory, and what would return it.

        Of a long text the best chunk counts. This leaves no trace in the access log.
        """
        id = check_id(id)  # noqa: A001
        prepared = self._prepare_recall(
            question,
            limit=limit,
            budget=budget,
            where=where,
            as_of=as_of,
            known_at=known_at,
            strategy=strategy,
            rerank=rerank,
            include=(),
            goal=goal,
            options=options,
        )
        ranked_hits = prepared.rank(prepared.activate())
        return why_not(ranked_hits, id, documents.node_ids_of(prepared.graph, id))

    def _log_recall(self, prepared: PreparedRecall, activation: Activation, hits: Sequence[Hit]) -> None:
        """Log what a recall stimulated and returned, and remember the episode that it creates."""
        now, needs_full_log = prepared.query.now, reads_full_log(prepared.strategy)
        accesses = recall_accesses(prepared.graph, activation, hits, now)
        episode = (
            None if activation.new_episode is None else documents.check_episode(activation.new_episode, now, self.zone)
        )
        if self.is_read_only:
            self._access_log.count_unlogged(len(accesses) + (episode is not None))
        else:
            codes = {} if prepared.reranking is None else prepared.reranking.new_codes
            self._access_log.add(accesses, episode, now, needs_full_log=needs_full_log, codes=codes)

    @property
    def unlogged_count(self) -> int:
        """The number of accesses, and of episodes created by recalls, that were not logged since the memory was opened.

        They are dropped if the file is read-only, the disk is full, or another process holds the lock for too long.
        """
        return self._access_log.unlogged_count

    def feedback(self, recollection: Recollection, used_ids: Iterable[NodeId]) -> NodeId:
        """Store which hits of a recollection were useful; returns the id of the feedback, which ``forget`` deletes.

        ``used_ids`` are the ids of the useful hits; an empty list says that no hit was useful.

        The used hits are logged as ``USED`` accesses, which strategies read. The question is stored with all its hits,
        used or not, as an example for ``ecphora learn``. A stored question is never recalled itself, and is deleted
        with the first of its hits that is forgotten. Deleting it leaves the access log as it is. The same feedback
        given twice is stored once; nothing is stored if none of the hits exists any more.

        Raises ``InvalidInput`` for an id that is not among the hits; then nothing is written.
        """
        unique_ids = _check_used_ids(recollection, used_ids)
        now, model = self._clock(), self._embedder
        self._flushed_writer().commit(
            lambda graph: feedback_batch(recollection, unique_ids, graph, embedder=model.name, dim=model.dim, now=now)
        )
        return question_id(recollection.query, unique_ids)

    def record_response(
        self,
        recollection: Recollection,
        text: str,
        *,
        used_ids: Iterable[NodeId] = (),
        context_ids: Iterable[NodeId] = (),
        source: str | None = None,
        session: str | None = None,
    ) -> NodeId | None:
        """Store a response that was given to the question of a recollection; returns the id of the exchange.

        An exchange is the question with its response. It is no memory: it never counts as evidence, and a recall shows
        it only with ``include="exchanges"`` (or among the hits of the strategy ``eisa``).

        ``used_ids`` are the hits that the response rests on, such as those it cites. ``context_ids`` are further
        memories that it may repeat, such as the message that it replies to. ``source`` names the model that gave it.

        A response may repeat what was shown for it. So the exchange is deleted with the first of its hits and of
        ``context_ids`` that is forgotten or replaced, and with the earlier exchanges and the sources of the insights
        returned with the hits. ``forget`` with its id deletes it, and the exchanges that it was shown for. The same
        response recorded twice is stored once. Nothing is stored, and None is returned, if anything of the recollection
        was forgotten or replaced since the recall, or this exchange forgotten.

        Raises ``InvalidInput`` for an empty text, and for an id in ``used_ids`` that is not among the hits.
        """
        used, context = _check_used_ids(recollection, used_ids), check_ids(context_ids)
        text, source = check_text(text), check_optional_name("source", source)
        session, now, writer = check_optional_name("session", session), self._clock(), self._flushed_writer()
        vector = recollection.query.vector  # none over the wire, and where the recall had nothing to search
        if vector is None or vector.shape != (self._embedder.dim,):
            vector = writer.embed([check_question(recollection.query.text)], is_query=True)[0]
        writer.commit(
            lambda graph: exchange_batch(
                recollection,
                text,
                graph,
                writer.node_source(graph),
                used_ids=used,
                context_ids=[node_id for id_ in context for node_id in documents.node_ids_of(graph, id_) or (id_,)],
                source=source,
                session=session,
                embedder=self._embedder.name,
                vector=vector,
                now=now,
            )
        )
        id_ = exchange_id(recollection, text)
        return None if self.graph().row(id_) is None else id_

    def build_query(
        self,
        question: str,
        *,
        where: Filter = MATCH_ALL,
        as_of: When | None = None,
        known_at: When | None = None,
        goal: str | None = None,
        options: RecallOptions = DEFAULT_RECALL_OPTIONS,
    ) -> Query:
        """Return a question as strategies see it: with its vectors, terms, entities and time ranges."""
        graph, options = self._scope_writer.graph(), check_recall_options(options)
        read_nodes = self._scope_writer.node_source(graph)
        return self._analyze(
            question, graph, read_nodes, where=where, as_of=as_of, known_at=known_at, goal=goal, options=options
        )

    # ---- look up

    def get(self, id: NodeId) -> Node | None:  # noqa: A002
        """The memory with an id, a long text reassembled from its chunks; None if there is none."""
        nodes = self._stored_nodes(id)
        return documents.reassemble(nodes) if nodes else None

    def chunks(self, id: NodeId) -> list[Node]:  # noqa: A002
        """The chunks of a long text, in their order; a short text is its own only chunk. Empty for an unknown id."""
        return self._stored_nodes(id)

    def find(
        self,
        *,
        where: Filter = MATCH_ALL,
        order: str | Order = Order.NEWEST,
        limit: int = LIST_LIMIT,
        after: str | None = None,
    ) -> Page:
        """Memories that pass a filter, without a question, a page at a time; a long text is one memory.

        ``order`` is ``"happened_at"`` or ``"recorded_at"``, with ``-`` for the latest first; memories of one time are
        in the order of their ids. ``after`` takes ``page.cursor`` of the page before. A cursor stands for a place in
        the order: what is written or forgotten meanwhile makes no later page skip a memory or show one twice.

        Raises ``InvalidInput`` for an order that does not exist, and for a cursor of another order.
        """
        order, limit, query = lookup.check_order(order), check_count("limit", limit), self._filter_query(where)
        cursor = None if after is None else lookup.Cursor.from_text(after, order)
        graph = self.graph()
        return lookup.find_page(
            graph, query, self._scope_writer.node_source(graph), order=order, limit=limit, after=cursor
        )

    def count(self, *, where: Filter = MATCH_ALL) -> int:
        """The number of memories that pass a filter; a long text is one."""
        return lookup.count_memories(self.graph(), self._filter_query(where))

    def _filter_query(self, where: Filter) -> Query:
        return Query("", self._clock(), where=check_filter(where, self.zone))

    def history(self, id: NodeId) -> History | None:  # noqa: A002
        """What a memory superseded, what superseded it, and its accesses; None if there is no such memory."""
        graph, nodes = self.graph(), self._stored_nodes(id)
        rows = [row for node in nodes if (row := graph.row(node.id)) is not None]
        if not rows:
            return None
        earlier = self._store.nodes(self.scope, encode.supersession_chain(graph, rows[0], forward=False))
        later = self._store.nodes(self.scope, encode.supersession_chain(graph, rows[0], forward=True))
        accesses = tuple(replace(one, at=in_zone(one.at, self.zone)) for one in graph.accesses_of(rows[0]))
        return History(documents.reassemble(nodes), tuple(reversed(earlier)), tuple(later), accesses)

    def _stored_nodes(self, id_: NodeId) -> list[Node]:
        return self._store.nodes(self.scope, documents.node_ids_of(self.graph(), check_id(id_)))

    def scopes(self) -> list[ScopeInfo]:
        """Every scope of the file, sorted by name."""
        return self._store.scopes()

    # ---- update and forget

    def update(
        self,
        id: NodeId,  # noqa: A002
        text: str,
        *,
        mode: Literal["supersede", "replace"],
        happened_at: When | None = None,
        metadata: Metadata | None = None,
        restore: bool = False,
        if_unchanged: Node | None = None,
    ) -> RememberResult:
        """Give a memory another text or other metadata. ``mode`` says what becomes of the old one.

        ``mode="supersede"`` is for a fact that has changed: a new memory with the speaker, session, title, source,
        metadata and trust of the old one supersedes it from ``happened_at`` on, by default from now on. The old one is
        kept.

        ``mode="replace"`` is for a text that was wrong: the memory keeps its id, its times of event and validity, and
        the memories that it supersedes or that supersede it. The old text is erased as by :meth:`forget`, with its
        accesses and what was derived from it. Both are one commit.

        ``metadata`` takes the place of the old metadata, which stays by default. ``restore`` writes a text that was
        forgotten or replaced before, with ``mode="replace"``. ``if_unchanged`` is the memory as :meth:`get` returned
        it: if it was replaced or forgotten since, in any process, ``mode="replace"`` raises ``StaleWrite``.

        A text that the memory has already changes nothing, nor does a repeated update, nor a text that was forgotten or
        replaced before: the result has it in ``blocked``. Raises ``InvalidInput`` for an unknown id, and for a memory
        that another memory supersedes already, so that not both are current; what consolidation found does not count.
        """
        id, text, restore = check_id(id), check_text(text), check_flag("restore", restore)  # noqa: A001
        metadata = None if metadata is None else check_metadata(metadata)
        if not isinstance(mode, str) or mode not in {"supersede", "replace"}:
            raise InvalidInput(f"mode is {show(mode)}; give 'supersede' or 'replace'")
        if not isinstance(if_unchanged, Node | None):
            raise InvalidInput(f"if_unchanged is {show(if_unchanged)}; give the memory that get returned")
        if mode == "replace":
            if happened_at is not None:
                raise InvalidInput(f"happened_at is {show(happened_at)}; a replaced text keeps its time, leave it out")
            run = self._begin_extraction()
            extractions = ExtractionSource(run or self._extractor)
            written = replace_text(
                self._flushed_writer(),
                id,
                text,
                self._clock(),
                extractions,
                metadata=metadata,
                restore=restore,
                expected_seq=None if if_unchanged is None else if_unchanged.seq,
            )
            created, existing, blocked = written.ids
            report = run.report if run is not None and created else None
            unread = self._unread_ids(written.new)
            return RememberResult((id,), created, existing, blocked, unread, extraction=report)
        if restore or if_unchanged is not None:
            name = "restore" if restore else "if_unchanged"
            raise InvalidInput(f'{name} goes with mode="replace"; a superseding text is a new memory, leave it out')
        old = check_memory(id, self._stored_nodes(id))
        if metadata is None:
            metadata = old.metadata
        if old.text == text and old.metadata == metadata:
            return RememberResult((id,), existing=(id,))
        fields = (old.title, old.source, metadata, old.trust, id)
        return self._supersede(id, Episode(text, None, old.speaker, old.session, happened_at, *fields))

    def _supersede(self, id_: NodeId, episode: Episode) -> RememberResult:
        """Remember the successor of a memory under an id of its own, even if its text was stored before.

        The update may be repeated: a declared successor that equals the episode is returned. Raises ``InvalidInput``
        if there is another one.
        """
        checked, graph = documents.check_episode(episode, self._clock(), self.zone), self.graph()
        successor_ids = encode.declared_successors(graph, id_)
        for successor in filter(None, map(self.get, successor_ids)):
            has_same_time = not checked.has_date or successor.happened_at == checked.chunks[0].happened_at
            if successor.text == episode.text and has_same_time:
                return RememberResult((successor.id,), existing=(successor.id,))
        if successor_ids:
            raise InvalidInput(f"{show(id_)} is superseded by {show(successor_ids[-1])}; update that one")
        own_id = checked.id
        while documents.node_ids_of(graph, own_id):
            own_id = content_id(id_, own_id)
        result = self.remember(replace(episode, id=own_id))
        if result.existing and not encode.declared_successors(self.graph(), id_):
            return self._supersede(id_, episode)  # somebody else stored the text meanwhile
        return result

    def forget(
        self,
        ids: NodeId | Iterable[NodeId] = (),
        *,
        where: Filter | None = None,
        everything: bool = False,
        dry_run: bool = False,
    ) -> ForgetResult:
        """Erase memories: by id, all that match a filter, or with ``everything`` the whole scope.

        ``dry_run`` erases nothing and returns what would be erased. A chunk stands for its whole text.

        Their texts, vectors, terms, links and accesses are overwritten in the file, and so are the entities that
        nothing else mentions. Tombstones keep the same memory from being remembered again, unless ``restore`` is set
        then. Ids that do not exist are no error: the result says what was erased. A filter also selects the exchanges
        of :meth:`record_response` that pass it.

        Raises ``InvalidInput`` for a filter without a condition, for ``everything`` together with ids or a filter, and
        for the id of a name or a claim, which goes with the memories that it is read off.
        """
        wanted = check_ids(ids)
        where = None if where is None else check_filter(where, self.zone)
        if check_flag("everything", everything):
            if wanted or where is not None:
                raise InvalidInput("everything=True erases the whole scope; give it without ids and where")
        elif where == MATCH_ALL:
            raise InvalidInput(
                "an empty filter would erase the whole scope; say what is to be forgotten, or give everything=True"
            )
        dry_run = check_flag("dry_run", dry_run)
        writer = self._flushed_writer()
        for _ in range(MAX_RETRIES):
            graph = writer.graph()
            check_forgettable(graph, wanted)
            node_ids = [node_id for id_ in wanted for node_id in documents.node_ids_of(graph, id_)]
            if everything:
                node_ids = ids_of_everything(graph)
            notices: tuple[str, ...] = ()
            if where is not None:
                query, among = Query("", self._clock(), where=where), graph.of_kind(Kind.EPISODE, Kind.EXCHANGE)
                matching, notices = filters.matching(graph, query, among), filters.notices(graph, query, among)
                node_ids += [graph.id(row) for row in np.flatnonzero(matching).tolist()]
            nodes = self._store.nodes(self.scope, documents.expand_to_documents(graph, node_ids))
            if not nodes:
                return ForgetResult((), (), notices=notices)
            episodes = tuple(dict.fromkeys(node.document or node.id for node in nodes))
            # What is replaced meanwhile may no longer match a filter.
            expected = None if where is None else graph.revision
            batch = replace(
                plan_forget(nodes, graph, partial(self._store.nodes, self.scope)), expected_revision=expected
            )
            exchanges = dependent_ids(graph, batch, Kind.EXCHANGE)
            if dry_run:
                return ForgetResult(episodes, dependent_ids(graph, batch, Kind.ENTITY), exchanges, notices)
            if not writer.try_commit(batch):
                continue
            after = writer.graph()
            entity_ids = [
                graph.id(row) for row in graph.mentioned_entities(graph.rows(node.id for node in nodes)).tolist()
            ]
            orphans = tuple(entity for entity in entity_ids if after.row(entity) is None)
            return ForgetResult(episodes, orphans, exchanges, notices)
        raise writer.contention_error()

    # ---- consolidate

    def consolidate(
        self,
        *,
        llm: LLM | LLMClient | None = None,
        seconds: float | None = None,
        tokens: int | None = None,
        dry_run: bool = False,
        progress: Progress | None = None,
    ) -> ConsolidationResult:
        """Process what is new: detect fact updates, merge entities that mean the same, and derive insights.

        ``llm`` is a language model that finds more and writes insights; without one, rules and small models do. Nothing
        is deleted or rewritten, and the whole run can be undone. The cost grows with what is new.

        ``seconds`` ends the run after that time, and ``tokens`` after so many tokens of the language model; the next
        run goes on from there. ``dry_run`` writes nothing and reports what would be written; it asks no language model,
        and ``estimate`` of the result says what that would consume.

        Past questions with feedback are asked before and after: if the run lowers their recall by a point, it is not
        written.

        A run with a time limit checks the clock in every part, to end within a second of the limit, also while others
        write; a busy machine can take longer. What there was no time for stays pending; ``pending_count``
        says how much. If another process holds the lock all the time, nothing is written; without ``seconds`` this
        raises ``StoreBusy``.
        """
        progress = check_long_call(progress, dry_run=dry_run)
        limits = consolidation_run.RunLimits(seconds, tokens)
        return consolidation_run.run(
            self._flushed_writer(limits.flush_seconds()),
            self._clock(),
            self.build_query,
            update_scorer=self._update_scorer,
            llm_client=as_llm_client(llm),
            limits=limits,
            dry_run=dry_run,
            progress=progress,
        )

    def insights(self, question: str | None = None, *, limit: int = LIST_LIMIT) -> list[Insight]:
        """The insights that consolidation derived from several memories: newest first, or nearest to a question first.

        An insight names its sources and never replaces a memory: ``recall`` returns memories only.
        """
        graph, limit = self.graph(), check_count("limit", limit)
        if question is None:
            entries = insight_index.newest_insights(graph)[:limit]
        else:
            vector = self.build_query(question).vector
            entries = (
                ()
                if vector is None
                else tuple(entry for entry, _ in insight_index.nearest_insights(graph, vector, limit))
            )
        return insight_index.load_insights(entries, self._scope_writer.node_source(graph))

    def answer(
        self,
        question: str | Message | Iterable[Message],
        llm: LLM | LLMClient | None = None,
        *,
        budget: int = DEFAULT_BUDGET,
        limit: int = RECALL_LIMIT,
        where: Filter = MATCH_ALL,
        as_of: When | None = None,
        known_at: When | None = None,
        strategy: str | Strategy | None = None,
        rerank: str | Rerank = Rerank.AUTO,
        include: str | Iterable[str] = (),
        goal: str | None = None,
        options: RecallOptions = DEFAULT_RECALL_OPTIONS,
        record: bool = False,
    ) -> Answer:
        """Answer a question from the memories recalled for it, and cite them.

        ``llm`` is the language model that writes the answer. It is not asked if the evidence is ``NONE``. Without a
        model the best memory is quoted. ``budget`` bounds the tokens of the memories in the prompt; the other keywords
        are the keywords of :meth:`recall`. What ``include`` names is shown to the model together with the memories.
        ``record`` stores the answer of a model as :meth:`record_response` does; its id is ``exchange_id`` of the
        result.
        """
        client, budget, record = as_llm_client(llm), check_count("budget", budget), check_flag("record", record)
        recollection = self.recall(
            question,
            limit=limit,
            where=where,
            as_of=as_of,
            known_at=known_at,
            strategy=strategy,
            rerank=rerank,
            include=include,
            goal=goal,
            options=options,
        )
        found = answer(recollection, client, budget=budget)
        if not record or client is None or not found.is_recordable:
            return found
        exchange = self.record_response(recollection, found.text, used_ids=found.cited_ids, source=client.name)
        return replace(found, exchange_id=exchange)

    # ---- tools for language models

    def tools(
        self, *, names: Iterable[str] | None = None, budget: int = DEFAULT_REPLY_TOKENS, session: str | None = None
    ) -> ToolSet:
        """The tools with which a language model uses this memory: remember, recall, update, forget and find.

        ``names`` selects some of them; a read-only memory has only recall and find. ``budget`` bounds the tokens of a
        reply (estimated). What the model remembers belongs to ``session``.

        Raises ``InvalidInput`` for an unknown name and for a budget of less than 300 tokens.
        """
        return ToolSet(self, names=names, budget=budget, session=session)

    # ---- export, back up, import

    def export(self, out: TextIO, *, vectors: bool = False) -> TransferResult:
        """Write the whole scope to a text file as JSON Lines; ``vectors`` includes the vectors."""
        from .maintenance.interchange import jsonl  # noqa: PLC0415

        check_text_file("out", out)
        vectors = check_flag("vectors", vectors)
        self._flushed_writer().graph()
        return jsonl.export_scope(self._store, self.scope, out, now=self._clock(), vectors=vectors)

    def backup(self, path: str | Path, *, overwrite: bool = False, progress: Progress | None = None) -> Backup:
        """Copy the whole file, with every scope, to another file while it stays in use; the copy is a memory too.

        The copy is one consistent state of the file. Its integrity and its number of episodes are checked, and it
        appears at ``path`` whole or not at all. ``progress`` counts pages. Raises ``InvalidInput`` if ``path`` exists
        already and ``overwrite`` is not set, or if it is this memory itself; ``StoreDamaged`` if the file is damaged;
        ``StoreError`` if the store does not support backups.
        """
        target, progress = check_path("path", path), check_long_call(progress, overwrite=overwrite)
        if not isinstance(self._store, BackupStore):
            raise StoreError(f"a {type(self._store).__name__} makes no backups; export its scopes instead")
        self._flushed_writer()
        return self._store.backup(str(target), overwrite=overwrite, progress=progress)

    def import_(
        self,
        lines: Iterable[str],
        *,
        restore: bool = False,
        change_existing: bool = False,
        progress: Progress | None = None,
    ) -> TransferResult:
        """Read an export into the scope; every line is checked before the first is written. Twice is harmless.

        The import is committed in batches of about 512 nodes, each with its links, vectors and validity ends. If it is
        stopped half-way, the memory is consistent, and the same import goes on from there.

        ``change_existing`` lets the file end, archive, link or block memories that this import does not bring.
        Otherwise such lines are left out and counted in ``skipped``. A scope that holds nothing else gets all of the
        file. :meth:`undo` takes back all that an import wrote.

        ``restore`` stores what was forgotten here; otherwise it stays forgotten. Vectors that are missing or come from
        another model are computed again. Raises ``InvalidRecord`` with the line's number, ``IdCollision`` for an id
        that stands for something else here.
        """
        from .maintenance.interchange import jsonl  # noqa: PLC0415

        lines = check_lines(lines)
        progress = check_long_call(progress, restore=restore, change_existing=change_existing)
        self._flushed_writer()
        return jsonl.import_scope(
            lines,
            self._store,
            self.scope,
            self._embedder,
            restore=restore,
            change_existing=change_existing,
            clock=self._clock,
            progress=progress,
        )

    # ---- the graph

    @property
    def is_read_only(self) -> bool:
        """Whether the store takes no writes."""
        return bool(getattr(self._store, "read_only", False))

    def graph(self) -> Graph:
        """The memory graph as of the last commit of any process; immutable, safe to keep.

        It includes the accesses by recalls of this memory that are not logged yet. Raises ``EmbedderMismatch`` if the
        scope's vectors come from another model than this memory's.
        """
        return self._access_log.graph()

    def _flushed_writer(self, max_wait: float = LOG_FLUSH_SECONDS) -> ScopeWriter:
        """The scope writer, after a wait of at most ``max_wait`` seconds for the access log to be written."""
        self._access_log.flush(min(max_wait, LOG_FLUSH_SECONDS))
        return self._scope_writer


def view_in_zone(memory: Memory, zone: tzinfo | None) -> Memory:
    """The same open memory for a user in another zone, or the memory itself for None; only the memory is closed."""
    return memory if zone is None or zone == memory.zone else memory._in_zone(zone)  # noqa: SLF001  # of this module
