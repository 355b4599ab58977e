"""Memory: the verbs. It fetches, calls something pure, and commits; it computes nothing itself."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter
from types import TracebackType
from typing import Self, TextIO

import numpy as np

from . import checked_episode, consolidation_run, documents, encode, strategies
from .access_log import AccessLog
from .answering import DEFAULT_BUDGET, Answer, answer
from .consolidation_run import AutoConsolidate, ConsolidationResult
from .embedders.minilm import MiniLMEmbedder
from .errors import InvalidInput, StoreError
from .explain import WhyNot, why_not
from .extractors.rule_extractor import RuleExtractor
from .forget import forget
from .graph import Graph
from .graph_cache import GraphCache
from .language.token_count import estimate_tokens
from .llm_client import LLMClient, as_llm_client
from .model import (
    Access,
    AccessKind,
    Backup,
    Cost,
    Episode,
    Filter,
    ForgetResult,
    History,
    Hit,
    Insight,
    Metadata,
    Node,
    NodeId,
    Query,
    Recollection,
    RememberResult,
    ScopeInfo,
    TransferResult,
    UndoBatch,
    When,
    WriteBatch,
)
from .ports import (
    LLM,
    Activation,
    BackupStore,
    Clock,
    Embedder,
    Extractor,
    FactUpdateScorer,
    Progress,
    Store,
    Strategy,
)
from .query import analyze
from .recall import rank
from .reprs import call_repr
from .scope_writer import MAX_RETRIES, ScopeWriter, reads_full_log, stimulus_accesses
from .stages.retrieval import filters, insight_index, last_access
from .stages.retrieval.confidence import band
from .stores.sqlite import SQLiteStore
from .update_scorers.minilm_lora import MiniLMUpdateScorer
from .validate import (
    check_clock,
    check_component,
    check_count,
    check_filter,
    check_flag,
    check_id,
    check_ids,
    check_items,
    check_lines,
    check_name,
    check_optional_name,
    check_path,
    check_progress,
    check_recall,
    check_text_file,
    show,
)
from .views import Entities, Facts, Maintenance

MATCH_ALL = Filter()
"""The filter that lets everything through."""
DEFAULT_UPDATE_SCORER = MiniLMUpdateScorer()
"""Stands for the comparer that a memory makes for itself; it is never used, so it never loads the model."""
EMBEDDER_METHODS = ("embed",)
"""The methods of an embedder."""
BATCH_SIZE = 512
"""Episodes embedded and committed together when many are remembered."""
LOG_FLUSH_SECONDS = 5.0
"""Seconds that a write, or closing, waits for what recalls before it left for the access log."""


def _utc_now() -> datetime:
    return datetime.now(UTC)  # noqa: TID251  # the one place that reads the clock


def _is_file(path: object) -> bool:
    """Whether a place is a file rather than a store; raises ``InvalidInput`` where it is neither."""
    if isinstance(path, str | Path) and path != ":memory:":
        return True
    if not isinstance(path, type) and callable(getattr(path, "commit", None)):
        return False
    raise InvalidInput(f"{show(path)} is no file and no store; for a memory that vanishes, use a temporary folder")


class Memory:
    """Associative long-term memory in one file.

    ``path`` is a file, made on first use, or any other :class:`~ecphora.ports.Store`. ``scope`` says whose memory it
    is: nothing is read or written outside it. ``embedder``, ``extractor``, ``strategy`` and ``clock`` replace the
    built-in ones; ``comparer`` reads two memories at once to tell changes of facts in its sleep, None for rules alone.
    ``sleeps`` says when it consolidates by itself; by default only when it is told to. Safe to share between threads;
    any number of processes may open the file.

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
        update_scorer: FactUpdateScorer | None = DEFAULT_UPDATE_SCORER,
        strategy: str | Strategy = "fused",
        auto_consolidate: AutoConsolidate | None = None,
        clock: Clock = _utc_now,
    ) -> None:
        self.scope = check_name("scope", scope)
        self.strategy = strategies.resolve_strategy(strategy)
        self._embedder = (
            MiniLMEmbedder()
            if embedder is None
            else check_component("embedder", embedder, "an embedder", *EMBEDDER_METHODS)
        )
        self._extractor = (
            RuleExtractor() if extractor is None else check_component("extractor", extractor, "an extractor", "extract")
        )
        if update_scorer is DEFAULT_UPDATE_SCORER:
            update_scorer = MiniLMUpdateScorer()
        self._update_scorer = (
            None
            if update_scorer is None
            else check_component("update_scorer", update_scorer, "a cross-encoder", "score")
        )
        self._clock = check_clock(clock)
        if auto_consolidate is not None and not isinstance(auto_consolidate, AutoConsolidate):
            raise InvalidInput(f"auto_consolidate is {show(auto_consolidate)}; give AutoConsolidate(every_turns=100)")
        self._auto_consolidate = auto_consolidate
        self._owns_store = _is_file(path)
        self._store: Store = SQLiteStore(path) if isinstance(path, str | Path) else path
        live = GraphCache(self._store, self.scope)
        self._scope_writer = ScopeWriter(self._store, self.scope, self._embedder, self._extractor, self.strategy, live)
        self._access_log = AccessLog(self._scope_writer)
        self.facts = Facts(self._flushed_writer, self._clock)
        self.entities = Entities(self._flushed_writer, self._clock)
        self.maintenance = Maintenance(self._flushed_writer, self._clock)
        try:
            self.graph()
        except BaseException:
            self.close()
            raise

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
        """The number of episodes."""
        return int(self.graph().episodes.sum())

    def close(self) -> None:
        """Let go of the file, once what recalls left is logged; closing twice is harmless.

        A store that was handed in stays open.
        """
        self._access_log.close(LOG_FLUSH_SECONDS)
        if self._owns_store:
            self._store.close()

    # ---- remember

    def remember(
        self,
        content: str | Episode | Iterable[str | Episode],
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
        restore: bool = False,
        progress: Progress | None = None,
    ) -> RememberResult:
        """Remember one text, or many; every text is checked before the first is written.

        The keywords describe a plain text; an :class:`Episode` brings its own. What stands there already under the same
        id is left as it is, so doing it twice is harmless. What was forgotten on purpose stays forgotten unless
        ``restore`` is set. Many are committed in batches of 512; each batch is written whole or not at all.

        ``supersedes`` ends the memory of that id, whoever said it. ``trust`` bounds who may end whom: a memory never
        ends one of higher trust, neither by ``supersedes`` nor as found by :meth:`consolidate`. It has no part in
        ranking yet.

        Raises ``InvalidInput`` for a text, name or time that cannot be used and for a ``supersedes`` that names what is
        not there or has a higher trust, ``IdCollision`` for an id that stands for another text.
        """
        check_flag("restore", restore)
        check_progress(progress)
        if isinstance(content, str | Episode):
            items: Iterable[str | Episode] = (content,)
        elif id is not None:
            raise InvalidInput(f"one id, {show(id)}, for several texts; hand in Episode(text, id=...) objects instead")
        else:
            items = check_items("content", content, "a text or an Episode, or several")
        told = {} if metadata is None else metadata
        plain = Episode("", id, speaker, session, happened_at, title, source, told, trust, supersedes)
        now = self._clock()
        drafts = [
            checked_episode.check_episode(replace(plain, text=i) if isinstance(i, str) else i, now) for i in items
        ]
        waiting = list(checked_episode.deduplicate(drafts, self.graph()).values())
        outcome: dict[str, list[NodeId]] = {"new": [], "known": [], "refused": []}
        if self._auto_consolidate is not None and waiting:
            first = waiting[0].chunks[0].session
            if self._auto_consolidate.is_due(self.graph(), first, now):
                self.consolidate()
        # What is stored later is stirred by what is stored first.
        pen = self._flushed_writer()
        at_once = 1 if pen.writes_on_store else BATCH_SIZE
        for start in range(0, len(waiting), at_once):
            fresh, known, refused = pen.remember(waiting[start : start + at_once], now, restore=restore)
            outcome["new"].extend(fresh)
            outcome["known"].extend(known)
            outcome["refused"].extend(refused)
            pen.process_pending(now)
            if progress is not None:
                progress(min(start + at_once, len(waiting)), len(waiting))
        return RememberResult(
            tuple(one.id for one in drafts), tuple(outcome["new"]), tuple(outcome["known"]), tuple(outcome["refused"])
        )

    # ---- recall

    def recall(
        self,
        question: str,
        *,
        limit: int = 10,
        budget: int | None = None,
        where: Filter = MATCH_ALL,
        as_of: When | None = None,
        known_at: When | None = None,
        retroactive: bool = False,
        strategy: str | Strategy | None = None,
        explain: bool = True,
        log_access: bool = True,
    ) -> Recollection:
        """Bring back what belongs to a question, best first.

        ``limit`` bounds the hits, ``budget`` the tokens of their texts (estimated). ``where`` says what may come back
        at all. ``as_of`` is a point in event time: nothing that happened later comes back, and no hit says anything of
        it. With ``retroactive``, what was told later but claims to hold by then comes back too. ``known_at`` is a point
        in recording time: nothing written later comes back. ``explain=False`` leaves out the reasons.
        ``log_access=False`` leaves no trace in the access log.

        A recall neither waits for the log nor fails for it: what cannot be written is counted, see ``unlogged``. Raises
        ``InvalidInput`` for ``retroactive`` without ``as_of``.
        """
        started = perf_counter()
        limit, budget = check_recall(limit, budget, explain=explain, log_access=log_access)
        chosen = self.strategy if strategy is None else strategies.resolve_strategy(strategy)
        query = self.build_query(question, where=where, as_of=as_of, known_at=known_at, retroactive=retroactive)
        graph = self.graph()
        embedded = perf_counter()
        activation = chosen.activate(query, graph)
        activated = perf_counter()
        reader = self._scope_writer.reader(graph)
        hits = rank(graph, query, activation, limit, budget, reader, explain=explain).hits
        if log_access:
            self._log_recall(graph, activation, hits, query.now, needs_full_log=reads_full_log(chosen))
        ended = perf_counter()
        confidence = activation.confidence if hits else 0.0
        steps = {"embed": embedded - started, "activate": activated - embedded, "fetch": ended - activated}
        cost = Cost(
            milliseconds=1000 * (ended - started),
            step_milliseconds={step: 1000 * spent for step, spent in steps.items()},
            tokens=sum(estimate_tokens(hit.text) for hit in hits),
        )
        return Recollection(query, chosen.name, band(confidence), confidence, tuple(hits), cost)

    def why_not(
        self,
        question: str,
        id: NodeId,  # noqa: A002
        *,
        limit: int = 10,
        budget: int | None = None,
        where: Filter = MATCH_ALL,
        as_of: When | None = None,
        known_at: When | None = None,
        retroactive: bool = False,
        strategy: str | Strategy | None = None,
    ) -> WhyNot:
        """Say why a memory does not come back for a question asked like this, and what would bring it back.

        Of a long text its best chunk counts. It leaves no trace in the access log.
        """
        (limit, budget), id = check_recall(limit, budget), check_id(id)  # noqa: A001
        chosen = self.strategy if strategy is None else strategies.resolve_strategy(strategy)
        query = self.build_query(question, where=where, as_of=as_of, known_at=known_at, retroactive=retroactive)
        graph = self.graph()
        activation = chosen.activate(query, graph)
        ranked = rank(graph, query, activation, limit, budget, self._scope_writer.reader(graph), explain=True)
        return why_not(ranked, id, documents.node_ids_of(graph, id))

    def _log_recall(
        self, graph: Graph, activation: Activation, hits: Sequence[Hit], now: datetime, *, needs_full_log: bool
    ) -> None:
        """Log what a recall stimulated and what it brought back, and remember the episode that it leaves."""
        scores = {graph.row(hit.id): hit for hit in hits}
        # Those that come back keep their order among each other: the one touched longest ago is touched first.
        returned = [
            scores[row] for row in last_access.sort_by_last_access(graph, np.array(list(scores), np.intp)).tolist()
        ]
        recalled = (Access(hit.id, now, AccessKind.RECALLED, hit.score) for hit in returned)
        accesses = (*stimulus_accesses(graph, activation, now), *recalled)
        episode = None if activation.new_episode is None else checked_episode.check_episode(activation.new_episode, now)
        if self.is_read_only:
            self._access_log.count_unlogged(len(accesses) + (episode is not None))
        else:
            self._access_log.add(accesses, episode, now, needs_full_log=needs_full_log)

    @property
    def unlogged_count(self) -> int:
        """How many accesses, and episodes that recalls leave behind, were not logged since the memory was opened.

        They are dropped where the file takes no writes, the disk is full, or another process holds the lock for too
        long.
        """
        return self._access_log.unlogged_count

    def feedback(self, recollection: Recollection, used_ids: Iterable[NodeId]) -> NodeId:
        """Keep which hits of a recollection were of use; the id of what is kept, by which ``forget`` takes it back.

        What was used is logged as such: a touch for strategies. Beside it the question is kept with all that came back
        for it, used or in vain: an example for ``ecphora.learn``. An empty ``used`` says that nothing was of use. A
        question never comes back itself, and goes with the first of its hits that is forgotten. Taking it back leaves
        the log as it is. The same told twice is kept once; nothing is kept where no hit is there any more.

        Raises ``InvalidInput`` for an id that did not come back; then nothing is written.
        """
        if not isinstance(recollection, Recollection):
            raise InvalidInput(f"recollection is {show(recollection)}; give what recall returned")
        chosen = list(dict.fromkeys(check_ids(used_ids, "used_ids")))
        if strange := [id_ for id_ in chosen if id_ not in {hit.id for hit in recollection}]:
            raise InvalidInput(f"{strange[0]!r} is not among what came back; give ids of hits of this recollection")
        now, model = self._clock(), self._embedder
        self._flushed_writer().commit(
            lambda graph: encode.feedback(recollection, chosen, graph, embedder=model.name, dim=model.dim, now=now)
        )
        return encode.question_id(recollection.query, chosen)

    def build_query(
        self,
        question: str,
        *,
        where: Filter = MATCH_ALL,
        as_of: When | None = None,
        known_at: When | None = None,
        retroactive: bool = False,
    ) -> Query:
        """Return a question as strategies see it: with its vectors, terms and entities, and the times it asks about."""
        return analyze(
            question,
            self._scope_writer.graph(),
            self._clock(),
            self._embedder,
            lambda texts: self._scope_writer.embed(texts, is_query=True),
            where=where,
            as_of=as_of,
            known_at=known_at,
            retroactive=retroactive,
        )

    # ---- look up

    def get(self, id: NodeId) -> Node | None:  # noqa: A002
        """The memory of an id, a long one whole again; None if there is none."""
        nodes = self._stored_nodes(id)
        return documents.reassemble(nodes) if nodes else None

    def history(self, id: NodeId) -> History | None:  # noqa: A002
        """What a memory replaced, what replaced it, and when it was accessed; None if there is none."""
        graph, nodes = self.graph(), self._stored_nodes(id)
        rows = [row for node in nodes if (row := graph.row(node.id)) is not None]
        if not rows:
            return None
        earlier = self._store.nodes(self.scope, encode.supersession_chain(graph, rows[0], forward=False))
        later = self._store.nodes(self.scope, encode.supersession_chain(graph, rows[0], forward=True))
        return History(documents.reassemble(nodes), tuple(reversed(earlier)), tuple(later), graph.accesses_of(rows[0]))

    def _stored_nodes(self, id_: NodeId) -> list[Node]:
        return self._store.nodes(self.scope, documents.node_ids_of(self.graph(), check_id(id_)))

    def scopes(self) -> list[ScopeInfo]:
        """Every scope of the file, by name."""
        return self._store.scopes()

    # ---- forget

    def forget(self, ids: NodeId | Iterable[NodeId] = (), *, where: Filter | None = None) -> ForgetResult:
        """Erase memories on purpose: by id, or all that a filter lets through. A piece stands for its whole text.

        Their texts, vectors, words, links and accesses are overwritten in the file, and so are the names that nothing
        else mentions. The same memory does not come back by being handed in again, unless ``restore`` is set then. Ids
        that are not there are no error: the answer says what was erased.
        """
        wanted = check_ids(ids)
        where = None if where is None else check_filter(where)
        if where == MATCH_ALL:
            raise InvalidInput("an empty filter would erase the whole scope; say what is to be forgotten")
        pen = self._flushed_writer()
        for _ in range(MAX_RETRIES):
            graph = pen.graph()
            pieces = [piece for id_ in wanted for piece in documents.node_ids_of(graph, id_)]
            if where is not None:
                allowed = filters.eligible(graph, Query("", self._clock(), where=where))
                pieces += [graph.id(row) for row in np.flatnonzero(allowed).tolist()]
            nodes = self._store.nodes(self.scope, documents.expand_to_documents(graph, pieces))
            if not nodes:
                return ForgetResult((), ())
            if not pen.try_commit(forget(nodes)):
                continue
            after = pen.graph()
            names = [graph.id(row) for row in graph.mentioned_entities(graph.rows(node.id for node in nodes)).tolist()]
            episodes = dict.fromkeys(node.document or node.id for node in nodes)
            return ForgetResult(tuple(episodes), tuple(name for name in names if after.row(name) is None))
        raise pen.contention_error()

    # ---- sleep

    def consolidate(
        self,
        *,
        llm: LLM | LLMClient | None = None,
        seconds: float | None = None,
        tokens: int | None = None,
        dry_run: bool = False,
        progress: Progress | None = None,
    ) -> ConsolidationResult:
        """Make sense of what is new: which facts changed, which names mean the same, what belongs together.

        Nothing is deleted or rewritten, and the whole run can be undone. It costs what is new, stops after so many
        ``seconds`` or ``tokens`` of a language model, and goes on the next time. ``dry_run`` writes nothing and says
        what would be. Past questions with feedback are replayed: a run that costs a point of their recall is refused.

        With ``seconds`` it looks at the clock in every part, to end within a second of it, also while others write; a
        busy machine can make it longer. What there was no time for stays new, and the result's ``left`` says how much
        that is. Nothing is written where another process holds the lock all the time. Without ``seconds`` that raises
        ``StoreBusy``.
        """
        limits = consolidation_run.RunLimits(seconds, tokens)
        return consolidation_run.run(
            self._flushed_writer(limits.flush_seconds()),
            self._clock(),
            self.build_query,
            update_scorer=self._update_scorer,
            llm_client=as_llm_client(llm),
            limits=limits,
            dry_run=check_flag("dry_run", dry_run),
            progress=check_progress(progress),
        )

    def undo(self, batch: str | None = None) -> UndoBatch:
        """Take back the latest run of consolidation, or the one of an id if that is the latest; every row it wrote."""
        known, batch = self.maintenance.batches(), check_optional_name("batch", batch)
        if not known:
            raise InvalidInput(f"scope {self.scope!r} has no run of consolidation to undo")
        wanted = known[-1].id if batch is None else batch
        self._flushed_writer().commit(lambda _graph: WriteBatch(undoes=wanted))
        return known[-1]

    def insights(self, question: str | None = None, *, limit: int = 20) -> list[Insight]:
        """What consolidation found that memories say together, newest first, or those nearest to a question.

        They lead to their sources and never stand in the place of a memory: ``recall`` brings back memories alone.
        """
        graph, limit = self.graph(), check_count("limit", limit)
        if question is None:
            told = insight_index.newest_insights(graph)[:limit]
        else:
            vector = self.build_query(question).vector
            told = (
                () if vector is None else tuple(one for one, _ in insight_index.nearest_insights(graph, vector, limit))
            )
        return insight_index.load_insights(told, self._scope_writer.reader(graph))

    def answer(
        self,
        question: str,
        llm: LLM | LLMClient | None = None,
        *,
        budget: int = DEFAULT_BUDGET,
        limit: int = 10,
        where: Filter = MATCH_ALL,
        as_of: When | None = None,
        known_at: When | None = None,
        retroactive: bool = False,
        strategy: str | Strategy | None = None,
        log_access: bool = True,
    ) -> Answer:
        """Answer a question from what is recalled for it, citing memories.

        ``budget`` bounds the tokens of the memories in the prompt; the keywords after it are those of :meth:`recall`.
        Without evidence the language model is not asked; without a model the best memory is quoted.
        """
        client, budget = as_llm_client(llm), check_count("budget", budget)
        recollection = self.recall(
            question,
            limit=limit,
            where=where,
            as_of=as_of,
            known_at=known_at,
            retroactive=retroactive,
            strategy=strategy,
            log_access=log_access,
        )
        return answer(recollection, client, budget=budget)

    # ---- carry elsewhere

    def export(self, out: TextIO, *, vectors: bool = False) -> TransferResult:
        """Write the scope to a text file as JSON Lines, with the vectors if asked; nothing is left out."""
        from .interchange import jsonl  # noqa: PLC0415

        check_text_file("out", out)
        vectors = check_flag("vectors", vectors)
        self._flushed_writer().graph()
        return jsonl.export_scope(self._store, self.scope, out, now=self._clock(), vectors=vectors)

    def backup(self, path: str | Path, *, overwrite: bool = False, progress: Progress | None = None) -> Backup:
        """Copy the whole file, every scope of it, to another while both stay in use; the copy is a memory like this.

        It is one state of the file, checked for soundness and for the number of episodes, and appears at ``path`` whole
        or not at all. ``progress`` is told of pages. Raises ``InvalidInput`` if something is at ``path`` already and
        ``overwrite`` is not set, or if it is this memory itself; ``StoreDamaged`` if the file is not sound;
        ``StoreError`` if the memory is in a store of another kind that makes no copies.
        """
        target, overwrite = check_path("path", path), check_flag("overwrite", overwrite)
        progress = check_progress(progress)
        if not isinstance(self._store, BackupStore):
            raise StoreError(f"a {type(self._store).__name__} makes no backups; export its scopes instead")
        self._flushed_writer()
        return self._store.backup(str(target), overwrite=overwrite, progress=progress)

    def import_(
        self, lines: Iterable[str], *, restore: bool = False, progress: Progress | None = None
    ) -> TransferResult:
        """Read an export into the scope; every line is checked before the first is written, and twice is harmless.

        It is committed in portions of about 512 nodes, each with the links, vectors and ends that belong to it. Stopped
        half-way, the memory is sound, and the same import again goes on from there.

        What was forgotten here on purpose stays forgotten unless ``restore`` is set. Vectors of another model, or none,
        are made anew. Raises ``InvalidRecord`` with the line's number, ``IdCollision`` for an id that stands for
        something else here.
        """
        from .interchange import jsonl  # noqa: PLC0415

        lines, restore, progress = check_lines(lines), check_flag("restore", restore), check_progress(progress)
        self._flushed_writer()
        return jsonl.import_scope(lines, self._store, self.scope, self._embedder, restore=restore, progress=progress)

    # ---- the graph

    @property
    def is_read_only(self) -> bool:
        """Whether the store takes no writes."""
        return bool(getattr(self._store, "read_only", False))

    def graph(self) -> Graph:
        """The memory graph as of the last commit of any process; never changed, safe to keep.

        What recalls of this memory left is in it, even if it is not logged yet. Raises ``EmbedderMismatch`` if the
        scope's vectors come from another model than this memory's.
        """
        return self._access_log.graph()

    def _flushed_writer(self, max_wait: float = LOG_FLUSH_SECONDS) -> ScopeWriter:
        """The pen, for what is to be written after what recalls before it left, as far as that is logged by then."""
        self._access_log.flush(min(max_wait, LOG_FLUSH_SECONDS))
        return self._scope_writer
