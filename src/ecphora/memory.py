"""Memory: the verbs. It fetches, calls something pure, and commits; it computes nothing itself."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter
from types import TracebackType
from typing import Any, Self, TextIO

import numpy as np

from . import encode, sleeping, strategies
from .access_log import AccessLog
from .answer import BUDGET, Answer, answer
from .embedders.changes import MiniLMChanges
from .embedders.minilm import MiniLM
from .errors import EmbedderMismatch, InvalidInput, StoreError
from .explain import Answered, WhyNot, hits_of, why_not
from .extractors.rules import Rules
from .graph import Graph
from .guest import Guest, as_guest
from .language.names import entity_id
from .language.tokens import tokens
from .model import (
    Access,
    Backup,
    Batch,
    Change,
    Cost,
    Count,
    Cue,
    Edge,
    Episode,
    Erased,
    Filter,
    History,
    Hit,
    Insight,
    Link,
    Metadata,
    Node,
    NodeId,
    Recollection,
    Remembered,
    ScopeInfo,
    Succession,
    Touch,
)
from .pen import TRIES, LiveGraph, Pen, felt, keeps_log
from .ports import LLM, Activation, BackupStore, Clock, CrossEncoder, Embedder, Extractor, Progress, Store, Strategy
from .reprs import call_repr
from .sleeping import Consolidated, Trigger
from .stages import choose, chronology, fading, gate, standing, telling
from .stores.sqlite import SQLite
from .validate import (
    check_clock,
    check_count,
    check_filter,
    check_flag,
    check_id,
    check_ids,
    check_items,
    check_lines,
    check_name,
    check_optional_count,
    check_optional_name,
    check_optional_time,
    check_part,
    check_path,
    check_progress,
    check_question,
    check_string,
    check_text_file,
    show,
)

EVERYTHING = Filter()
"""The filter that lets everything through."""
CHANGES = MiniLMChanges()
"""Stands for the comparer that a memory makes for itself; it is never used, so it never loads the model."""
EMBEDS = ("embed", "reads")
"""The methods of an embedder."""
BATCH = 512
"""Episodes embedded and committed together when many are remembered."""
LOG_FIRST = 5.0
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
        comparer: CrossEncoder | None = CHANGES,
        strategy: str | Strategy = "fused",
        sleeps: Trigger | None = None,
        clock: Clock = _utc_now,
    ) -> None:
        self.scope = check_name("scope", scope)
        self.strategy = strategies.by_name(strategy)
        self._embedder = MiniLM() if embedder is None else check_part("embedder", embedder, "an embedder", *EMBEDS)
        self._extractor = (
            Rules() if extractor is None else check_part("extractor", extractor, "an extractor", "extract")
        )
        if comparer is CHANGES:
            comparer = MiniLMChanges()
        self._comparer = None if comparer is None else check_part("comparer", comparer, "a cross-encoder", "score")
        self._clock = check_clock(clock)
        if sleeps is not None and not isinstance(sleeps, Trigger):
            raise InvalidInput(f"sleeps is {show(sleeps)}; give a Trigger, as in Trigger(turns=100)")
        self._sleeps = sleeps
        self._owned = _is_file(path)
        self._store: Store = SQLite(path) if isinstance(path, str | Path) else path
        live = LiveGraph(self._store, self.scope)
        self._pen = Pen(self._store, self.scope, self._embedder, self._extractor, self.strategy, live)
        self._log = AccessLog(self._pen)
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
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __len__(self) -> int:
        """The number of episodes."""
        return int(self.graph().episodes.sum())

    def close(self) -> None:
        """Let go of the file, once what recalls left is logged; closing twice is harmless.

        A store that was handed in stays open.
        """
        self._log.close(LOG_FIRST)
        if self._owned:
            self._store.close()

    # ---- remember

    def remember(
        self,
        what: str | Episode | Iterable[str | Episode],
        *,
        id: NodeId | None = None,  # noqa: A002
        speaker: str | None = None,
        session: str | None = None,
        happened_at: object = None,
        title: str | None = None,
        source: str | None = None,
        metadata: Metadata | None = None,
        trust: float = 1.0,
        supersedes: NodeId | None = None,
        restore: bool = False,
        progress: Progress | None = None,
    ) -> Remembered:
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
        if isinstance(what, str | Episode):
            items: Iterable[str | Episode] = (what,)
        elif id is not None:
            raise InvalidInput(f"one id, {show(id)}, for several texts; hand in Episode(text, id=...) objects instead")
        else:
            items = check_items("what", what, "a text or an Episode, or several")
        told = {} if metadata is None else metadata
        plain = Episode("", id, speaker, session, happened_at, title, source, told, trust, supersedes)
        now = self._clock()
        drafts = [encode.draft(replace(plain, text=i) if isinstance(i, str) else i, now) for i in items]
        waiting = list(encode.distinct(drafts, self.graph()).values())
        outcome: dict[str, list[NodeId]] = {"new": [], "known": [], "refused": []}
        if self._sleeps is not None and waiting:
            first = waiting[0].pieces[0].session
            if self._sleeps.due(self.graph(), first, now):
                self.consolidate()
        # What is stored later is stirred by what is stored first.
        pen = self._writer()
        at_once = 1 if pen.storing_is_querying else BATCH
        for start in range(0, len(waiting), at_once):
            fresh, known, refused = pen.remember(waiting[start : start + at_once], now, restore=restore)
            outcome["new"].extend(fresh)
            outcome["known"].extend(known)
            outcome["refused"].extend(refused)
            pen.sleep(now)
            if progress is not None:
                progress(min(start + at_once, len(waiting)), len(waiting))
        return Remembered(
            tuple(one.id for one in drafts), tuple(outcome["new"]), tuple(outcome["known"]), tuple(outcome["refused"])
        )

    # ---- recall

    def recall(
        self,
        question: str,
        *,
        limit: int = 10,
        budget: int | None = None,
        where: Filter = EVERYTHING,
        as_of: object = None,
        known_at: object = None,
        retroactive: bool = False,
        strategy: str | Strategy | None = None,
        explain: bool = True,
        touch: bool = True,
    ) -> Recollection:
        """Bring back what belongs to a question, best first.

        ``limit`` bounds the hits, ``budget`` the tokens of their texts (estimated). ``where`` says what may come back
        at all. ``as_of`` is a point in event time: nothing that happened later comes back, and no hit says anything of
        it. With ``retroactive``, what was told later but claims to hold by then comes back too. ``known_at`` is a point
        in recording time: nothing written later comes back. ``explain=False`` leaves out the reasons. ``touch=False``
        leaves no trace in the access log.

        A recall neither waits for the log nor fails for it: what cannot be written is counted, see ``unlogged``. Raises
        ``InvalidInput`` for ``retroactive`` without ``as_of``.
        """
        started = perf_counter()
        limit, budget = check_count("limit", limit), check_optional_count("budget", budget)
        explain, touch = check_flag("explain", explain), check_flag("touch", touch)
        chosen = self.strategy if strategy is None else strategies.by_name(strategy)
        cue = self.cue(question, where=where, as_of=as_of, known_at=known_at, retroactive=retroactive)
        graph = self.graph()
        embedded = perf_counter()
        activation = chosen.activate(cue, graph)
        activated = perf_counter()
        read = self._pen.reader(graph)
        found = hits_of(graph, cue, activation, limit, read, explain=explain)
        hits = Answered(graph, cue, activation, found, budget, read).hits
        if touch:
            self._touch(graph, activation, hits, cue.now, whole_log=keeps_log(chosen))
        ended = perf_counter()
        confidence = activation.confidence if hits else 0.0
        steps = {"embed": embedded - started, "activate": activated - embedded, "fetch": ended - activated}
        cost = Cost(
            milliseconds=1000 * (ended - started),
            steps={step: 1000 * spent for step, spent in steps.items()},
            tokens=sum(tokens(hit.text) for hit in hits),
        )
        return Recollection(cue, chosen.name, gate.band(confidence), confidence, tuple(hits), cost)

    def why_not(
        self,
        question: str,
        id: NodeId,  # noqa: A002
        *,
        limit: int = 10,
        budget: int | None = None,
        where: Filter = EVERYTHING,
        as_of: object = None,
        known_at: object = None,
        retroactive: bool = False,
        strategy: str | Strategy | None = None,
    ) -> WhyNot:
        """Say why a memory does not come back for a question asked like this, and what would bring it back.

        Of a long text its best piece counts. It leaves no trace in the access log.
        """
        limit, budget, id = check_count("limit", limit), check_optional_count("budget", budget), check_id(id)  # noqa: A001
        chosen = self.strategy if strategy is None else strategies.by_name(strategy)
        cue = self.cue(question, where=where, as_of=as_of, known_at=known_at, retroactive=retroactive)
        graph = self.graph()
        activation = chosen.activate(cue, graph)
        read = self._pen.reader(graph)
        found = hits_of(graph, cue, activation, limit, read, explain=True)
        return why_not(Answered(graph, cue, activation, found, budget, read), id, encode.rows_of(graph, id))

    def _touch(
        self, graph: Graph, activation: Activation, hits: Sequence[Hit], now: datetime, *, whole_log: bool
    ) -> None:
        """Log what a recall stirred and what it brought back, and remember what it leaves behind."""
        scores = {graph.row(hit.id): hit for hit in hits}
        # Those that come back keep their order among each other: the one touched longest ago is touched first.
        returned = [scores[row] for row in chronology.in_order(graph, np.array(list(scores), np.intp)).tolist()]
        recalled = (Access(hit.id, now, Touch.RECALLED, hit.score) for hit in returned)
        accesses = (*felt(graph, activation, now), *recalled)
        episode = None if activation.leaves is None else encode.draft(activation.leaves, now)
        if self.read_only:
            self._log.skip(len(accesses) + (episode is not None))
        else:
            self._log.add(accesses, episode, now, whole_log=whole_log)

    @property
    def unlogged(self) -> int:
        """How many accesses, and episodes that recalls leave behind, were not logged since the memory was opened.

        They are dropped where the file takes no writes, the disk is full, or another process holds the lock for too
        long.
        """
        return self._log.unlogged

    def feedback(self, found: Recollection, used: Iterable[NodeId]) -> NodeId:
        """Keep which hits of a recollection were of use; the id of what is kept, by which ``forget`` takes it back.

        What was used is logged as such: a touch for strategies. Beside it the question is kept with all that came back
        for it, used or in vain: an example for ``ecphora.learn``. An empty ``used`` says that nothing was of use. A
        question never comes back itself, and goes with the first of its hits that is forgotten. Taking it back leaves
        the log as it is. The same told twice is kept once; nothing is kept where no hit is there any more.

        Raises ``InvalidInput`` for an id that did not come back; then nothing is written.
        """
        if not isinstance(found, Recollection):
            raise InvalidInput(f"found is {show(found)}; give what recall returned")
        chosen = list(dict.fromkeys(check_ids(used, "used")))
        if strange := [id_ for id_ in chosen if id_ not in {hit.id for hit in found}]:
            raise InvalidInput(f"{strange[0]!r} is not among what came back; give ids of hits of this recollection")
        now, model = self._clock(), self._embedder
        self._writer().commit(
            lambda graph: encode.feedback(found, chosen, graph, embedder=model.name, dim=model.dim, now=now)
        )
        return encode.question_id(found.cue, chosen)

    def cue(
        self,
        question: str,
        *,
        where: Filter = EVERYTHING,
        as_of: object = None,
        known_at: object = None,
        retroactive: bool = False,
    ) -> Cue:
        """A question as strategies see it: with its vector, its words and names, and the times it asks about."""
        question, where = check_question(question), check_filter(where)
        as_of = check_optional_time("as_of", as_of, end=True)
        known_at = check_optional_time("known_at", known_at, end=True)
        if check_flag("retroactive", retroactive) and as_of is None:
            raise InvalidInput("retroactive=True goes with as_of=; say as of when, or leave it out")
        graph, now = self._pen.graph(), self._clock()
        parts = encode.parts(question, graph)
        vectors = self._pen.embedded(parts.texts, cue=True) if len(graph) else None
        stored = graph.vectors.view
        if vectors is not None and len(stored) and stored.shape[1] != vectors.shape[1]:
            raise EmbedderMismatch(
                f"scope {self.scope!r} has vectors of {stored.shape[1]} numbers, {self._embedder.name!r} now gives "
                f"{vectors.shape[1]}; open it with the first, or give the other a name of its own"
            )
        return encode.cue(
            question,
            now,
            vector=None,
            of_parts=None if vectors is None else (parts, vectors),
            meaning=self._embedder.reads(question),
            floor=float(getattr(self._embedder, "floor", 0.0)),
            as_of=as_of,
            known_at=known_at,
            retroactive=retroactive,
            where=where,
        )

    # ---- look up

    def get(self, id: NodeId) -> Node | None:  # noqa: A002
        """The memory of an id, a long one whole again; None if there is none."""
        nodes = self._stored(id)
        return encode.joined(nodes) if nodes else None

    def history(self, id: NodeId) -> History | None:  # noqa: A002
        """What a memory replaced, what replaced it, and when it was accessed; None if there is none."""
        graph, nodes = self.graph(), self._stored(id)
        rows = [row for node in nodes if (row := graph.row(node.id)) is not None]
        if not rows:
            return None
        earlier = self._store.nodes(self.scope, encode.superseding(graph, rows[0], later=False))
        later = self._store.nodes(self.scope, encode.superseding(graph, rows[0], later=True))
        return History(encode.joined(nodes), tuple(reversed(earlier)), tuple(later), graph.accesses_of(rows[0]))

    def _stored(self, id_: NodeId) -> list[Node]:
        return self._store.nodes(self.scope, encode.rows_of(self.graph(), check_id(id_)))

    def scopes(self) -> list[ScopeInfo]:
        """Every scope of the file, by name."""
        return self._store.scopes()

    # ---- forget

    def forget(self, ids: NodeId | Iterable[NodeId] = (), *, where: Filter | None = None) -> Erased:
        """Erase memories on purpose: by id, or all that a filter lets through. A piece stands for its whole text.

        Their texts, vectors, words, links and accesses are overwritten in the file, and so are the names that nothing
        else mentions. The same memory does not come back by being handed in again, unless ``restore`` is set then. Ids
        that are not there are no error: the answer says what was erased.
        """
        wanted = check_ids(ids)
        where = None if where is None else check_filter(where)
        if where == EVERYTHING:
            raise InvalidInput("an empty filter would erase the whole scope; say what is to be forgotten")
        pen = self._writer()
        for _ in range(TRIES):
            graph = pen.graph()
            pieces = [piece for id_ in wanted for piece in encode.rows_of(graph, id_)]
            if where is not None:
                allowed = choose.allowed(graph, Cue("", self._clock(), where=where))
                pieces += [graph.id(row) for row in np.flatnonzero(allowed).tolist()]
            nodes = self._store.nodes(self.scope, encode.wholes(graph, pieces))
            if not nodes:
                return Erased((), ())
            if not pen.try_commit(encode.forget(nodes)):
                continue
            after = pen.graph()
            names = [graph.id(row) for row in graph.named_by(graph.rows(node.id for node in nodes)).tolist()]
            episodes = dict.fromkeys(node.document or node.id for node in nodes)
            return Erased(tuple(episodes), tuple(name for name in names if after.row(name) is None))
        raise pen.outrun()

    # ---- sleep

    def consolidate(
        self,
        *,
        llm: LLM | Guest | None = None,
        seconds: float | None = None,
        tokens: int | None = None,
        dry_run: bool = False,
        progress: Progress | None = None,
    ) -> Consolidated:
        """Make sense of what is new: which facts changed, which names mean the same, what belongs together.

        Nothing is deleted or rewritten, and the whole run can be undone. It costs what is new, stops after so many
        ``seconds`` or ``tokens`` of a language model, and goes on the next time. ``dry_run`` writes nothing and says
        what would be. Past questions with feedback are replayed: a run that costs a point of their recall is refused.

        With ``seconds`` it looks at the clock in every part, to end within a second of it, also while others write; a
        busy machine can make it longer. What there was no time for stays new, and the result's ``left`` says how much
        that is. Nothing is written where another process holds the lock all the time. Without ``seconds`` that raises
        ``StoreBusy``.
        """
        limits = sleeping.Limits(seconds, tokens)
        return sleeping.night(
            self._writer(limits.flushing()),
            self._clock(),
            self.cue,
            comparer=self._comparer,
            guest=as_guest(llm),
            limits=limits,
            dry_run=check_flag("dry_run", dry_run),
            progress=check_progress(progress),
        )

    def undo(self, batch: str | None = None) -> Batch:
        """Take back the latest run of consolidation, or the one of an id if that is the latest; every row it wrote."""
        known, batch = self.batches(), check_optional_name("batch", batch)
        if not known:
            raise InvalidInput(f"scope {self.scope!r} has no run of consolidation to undo")
        wanted = known[-1].id if batch is None else batch
        self._writer().commit(lambda _graph: Change(undo=wanted))
        return known[-1]

    def batches(self) -> list[Batch]:
        """The runs of consolidation that can be undone, oldest first."""
        return self._store.batches(self.scope)

    def changes(self, *, limit: int = 50) -> list[Succession]:
        """The changes of facts and the contradictions that consolidation found, those of the latest memories first."""
        graph = self.graph()
        return standing.found(graph, self._pen.reader(graph), check_count("limit", limit))

    def reject(self, old: NodeId, new: NodeId) -> Batch:
        """Say that one memory neither replaces nor contradicts an older one after all; ``undo`` takes it back.

        Raises ``InvalidInput`` where no consolidation has found so.
        """

        old, new = check_id(old, "old"), check_id(new, "new")

        def change(graph: Graph) -> Change:
            edges = standing.rejected(graph, encode.rows_of(graph, old), encode.rows_of(graph, new))
            if not edges:
                raise InvalidInput(f"nothing was found between {old!r} and {new!r}; changes() lists what was")
            return Change(edges=edges, batch=Batch(f"reject:{graph.revision + 1}", now, {"rejected": len(edges)}))

        now = self._clock()
        return self._written(change)

    def merge(self, name: str, other: str) -> Batch:
        """Say that two names mean the same, as consolidation does by itself where it is shown; ``undo`` takes it back.

        Raises ``InvalidInput`` for a name that no memory mentions.
        """
        return self._same(name, other, weight=1.0)

    def unmerge(self, name: str, other: str) -> Batch:
        """Say that two names do not mean the same, whatever showed so; ``undo`` takes it back."""
        return self._same(name, other, weight=0.0)

    def _same(self, name: str, other: str, *, weight: float) -> Batch:
        name, other = check_string("name", name), check_string("other", other)
        now, ids = self._clock(), [entity_id(one) for one in (name, other)]

        def change(graph: Graph) -> Change:
            if missing := [one for one, id_ in zip((name, other), ids, strict=True) if graph.row(id_) is None]:
                raise InvalidInput(f"no memory mentions {show(missing[0])}; give names as memories have them")
            if ids[0] == ids[1]:
                raise InvalidInput(f"{name!r} and {other!r} are one name already")
            batch = Batch(f"merge:{graph.revision + 1}", now, {"alias": 1})
            return Change(edges=(Edge(ids[0], ids[1], Link.ALIAS, weight),), batch=batch)

        return self._written(change)

    def _written(self, change: Callable[[Graph], Change]) -> Batch:
        written = self._writer().commit(change).batch
        assert written is not None  # noqa: S101  # a change of an edge is never empty
        return written

    def insights(self, question: str | None = None, *, limit: int = 20) -> list[Insight]:
        """What consolidation found that memories say together, newest first, or those nearest to a question.

        They lead to their sources and never stand in the place of a memory: ``recall`` brings back memories alone.
        """
        graph, limit = self.graph(), check_count("limit", limit)
        if question is None:
            told = telling.listed(graph)[:limit]
        else:
            vector = self.cue(question).vector
            told = () if vector is None else tuple(one for one, _ in telling.nearest(graph, vector, limit))
        return telling.read(told, self._pen.reader(graph))

    def faded(self, *, limit: int = 50) -> list[Node]:
        """The memories that sank: of little importance by use and age, untouched for months; weakest first.

        They are as easily recalled as ever. ``archive`` puts them behind all others, ``protect`` keeps them from this.
        """
        graph, limit = self.graph(), check_count("limit", limit)
        rows = fading.faded(graph, fading.Fading(), self._clock().timestamp())
        return self._pen.reader(graph)(rows[:limit])

    def protect(self, ids: NodeId | Iterable[NodeId], *, on: bool = True) -> None:
        """Keep memories from fading, or no longer so. Raises ``InvalidInput`` for an id that is not there."""
        self._mark(ids, Touch.PROTECTED if check_flag("on", on) else Touch.RELEASED)

    def archive(self, ids: NodeId | Iterable[NodeId], *, on: bool = True) -> None:
        """Put memories behind all others, or back among them; they still come back where nothing else does.

        Raises ``InvalidInput`` for an id that is not there.
        """
        self._mark(ids, Touch.ARCHIVED if check_flag("on", on) else Touch.RETURNED)

    def _mark(self, ids: NodeId | Iterable[NodeId], touch: Touch) -> None:
        wanted, now = check_ids(ids), self._clock()

        def marks(graph: Graph) -> Change:
            rows = {id_: encode.rows_of(graph, id_) for id_ in wanted}
            if missing := [id_ for id_, found in rows.items() if not found]:
                raise InvalidInput(f"there is no memory {show(missing[0])}; nothing was marked")
            return Change(accesses=tuple(Access(row, now, touch) for found in rows.values() for row in found))

        self._writer().commit(marks)

    def answer(self, question: str, llm: LLM | Guest | None = None, *, budget: int = BUDGET, **asked: Any) -> Answer:
        """Answer a question from what is recalled for it, citing memories; the other keywords are those of ``recall``.

        Without evidence the language model is not asked; without a model the best memory is quoted.
        """
        guest, budget = as_guest(llm), check_count("budget", budget)
        return answer(self.recall(question, **asked), guest, budget=budget)

    # ---- carry elsewhere

    def export(self, out: TextIO, *, vectors: bool = False) -> Count:
        """Write the scope to a text file as JSON Lines, with the vectors if asked; nothing is left out."""
        from .interchange import jsonl  # noqa: PLC0415

        check_text_file("out", out)
        vectors = check_flag("vectors", vectors)
        self._writer().graph()
        return jsonl.write(self._store, self.scope, out, now=self._clock(), vectors=vectors)

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
        self._writer()
        return self._store.backup(str(target), overwrite=overwrite, progress=progress)

    def import_(self, lines: Iterable[str], *, restore: bool = False, progress: Progress | None = None) -> Count:
        """Read an export into the scope; every line is checked before the first is written, and twice is harmless.

        It is committed in portions of about 512 nodes, each with the links, vectors and ends that belong to it. Stopped
        half-way, the memory is sound, and the same import again goes on from there.

        What was forgotten here on purpose stays forgotten unless ``restore`` is set. Vectors of another model, or none,
        are made anew. Raises ``InvalidRecord`` with the line's number, ``IdCollision`` for an id that stands for
        something else here.
        """
        from .interchange import jsonl  # noqa: PLC0415

        lines, restore, progress = check_lines(lines), check_flag("restore", restore), check_progress(progress)
        self._writer()
        return jsonl.read(lines, self._store, self.scope, self._embedder, restore=restore, progress=progress)

    # ---- the graph

    @property
    def read_only(self) -> bool:
        """Whether the store takes no writes."""
        return bool(getattr(self._store, "read_only", False))

    def graph(self) -> Graph:
        """The memory graph as of the last commit of any process; never changed, safe to keep.

        What recalls of this memory left is in it, even if it is not logged yet. Raises ``EmbedderMismatch`` if the
        scope's vectors come from another model than this memory's.
        """
        return self._log.graph()

    def _writer(self, patience: float = LOG_FIRST) -> Pen:
        """The pen, for what is to be written after what recalls before it left, as far as that is logged by then."""
        self._log.flush(min(patience, LOG_FIRST))
        return self._pen
