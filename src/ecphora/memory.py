"""Memory: the verbs. It fetches, calls something pure, and commits; it computes nothing itself."""

import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter
from types import TracebackType
from typing import Self, TextIO

import numpy as np

from . import encode, strategies
from .embedders.minilm import MiniLM
from .errors import EmbedderMismatch, InvalidInput, StaleChange, StoreBusy, WrongVector
from .explain import Answered, WhyNot, hits_of, why_not
from .extractors.rules import Rules
from .graph import Graph
from .interchange import jsonl
from .interchange.jsonl import Count
from .language.moments import moment
from .language.tokens import tokens
from .model import (
    Access,
    Change,
    Cost,
    Cue,
    Episode,
    Erased,
    Filter,
    History,
    Hit,
    Metadata,
    Node,
    NodeId,
    Recollection,
    Remembered,
    ScopeInfo,
    Touch,
    Vector,
    Vectors,
)
from .ports import Activation, Clock, Embedder, Extractor, Progress, Reader, Sleeper, Store, StoringIsQuerying, Strategy
from .stages import choose, chronology, gate
from .stores.sqlite import SQLite

EVERYTHING = Filter()
"""The filter that lets everything through."""
BATCH = 512
"""Episodes embedded and committed together when many are remembered."""
TRIES = 100
"""How often a change is made anew because another process was quicker."""


def _utc_now() -> datetime:
    return datetime.now(UTC)  # noqa: TID251  # the one place that reads the clock


class LiveGraph:
    """The graph of one scope, kept up to date by what its store says was committed since."""

    def __init__(self, store: Store, scope: str) -> None:
        self._store = store
        self._scope = scope
        self._lock = threading.Lock()
        self._graph = Graph()
        self.embedder: str | None = None

    def now(self) -> Graph:
        """The graph as of the last commit of any process."""
        with self._lock:
            return self._grown(self._store.changes(self._scope, self._graph.revision))

    def commit(self, change: Change) -> Graph:
        """Commit a change and return the graph with it."""
        written = self._store.commit(self._scope, change)
        with self._lock:
            if written.revision == self._graph.revision + 1 and not written.adopt:
                return self._grown(written)
            return self._grown(self._store.changes(self._scope, self._graph.revision))

    def _grown(self, change: Change) -> Graph:
        if change.adopt:  # other vectors: nothing of the old ones may stay
            self._graph = Graph()
            change = self._store.changes(self._scope, 0)
        self.embedder = change.embedder or self.embedder
        if change.revision > self._graph.revision:
            self._graph = self._graph.plus(change)
        return self._graph


class Memory:
    """Associative long-term memory in one file.

    ``path`` is a file, made on first use, or any other :class:`~ecphora.ports.Store`. ``scope`` says whose memory it
    is: nothing is read or written outside it. ``embedder``, ``extractor``, ``strategy`` and ``clock`` replace the
    built-in ones. Safe to share between threads; any number of processes may open the file.

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
        strategy: str | Strategy = "fused",
        clock: Clock = _utc_now,
    ) -> None:
        self.scope = encode.checked_name("scope", scope)
        self.strategy = strategies.by_name(strategy)
        self._embedder = embedder or MiniLM()
        self._extractor = extractor or Rules()
        self._clock = clock
        if path == ":memory:" or not (isinstance(path, str | Path) or hasattr(path, "commit")):
            raise InvalidInput(f"{path!r} is no file and no store; for a memory that vanishes, use a temporary folder")
        self._owned = isinstance(path, str | Path)
        self._store: Store = SQLite(path) if isinstance(path, str | Path) else path
        try:
            self._live = LiveGraph(self._store, self.scope)
            self.graph()
        except BaseException:
            self.close()
            raise

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
        """Let go of the file; closing twice is harmless. A store that was handed in stays open."""
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

        Raises ``InvalidInput`` for a text, name or time that cannot be used, ``IdCollision`` for an id that stands for
        another text.
        """
        if isinstance(what, str | Episode):
            items: Iterable[str | Episode] = (what,)
        elif id is not None:
            raise InvalidInput(f"one id, {id!r}, for several texts; hand in Episode(text, id=...) objects instead")
        elif isinstance(what, Mapping | bytes) or not isinstance(what, Iterable):
            raise InvalidInput(
                f"a {type(what).__name__} cannot be remembered; hand in a text or an Episode, or several"
            )
        else:
            items = what
        plain = Episode("", id, speaker, session, happened_at, title, source, metadata or {}, trust, supersedes)
        now = self._clock()
        drafts = [encode.draft(replace(plain, text=i) if isinstance(i, str) else i, now) for i in items]
        waiting = list(encode.distinct(drafts, self.graph()).values())
        outcome: dict[str, list[NodeId]] = {"new": [], "known": [], "refused": []}
        at_once = 1 if self._storing_is_querying else BATCH  # what is stored later is stirred by what is stored first
        for start in range(0, len(waiting), at_once):
            fresh, known, refused = self._remember(waiting[start : start + at_once], now, restore=restore)
            outcome["new"].extend(fresh)
            outcome["known"].extend(known)
            outcome["refused"].extend(refused)
            self._sleep(now)
            if progress is not None:
                progress(min(start + at_once, len(waiting)), len(waiting))
        return Remembered(
            tuple(one.id for one in drafts), tuple(outcome["new"]), tuple(outcome["known"]), tuple(outcome["refused"])
        )

    def _remember(
        self, drafts: Sequence[encode.Draft], now: datetime, *, restore: bool
    ) -> tuple[list[NodeId], list[NodeId], list[NodeId]]:
        """Write a batch; what is new is decided against the state it is written to, whoever else writes."""
        vectors: dict[NodeId, Vector] = {}
        for _ in range(TRIES):
            graph = self.graph()
            known = [one for one in drafts if self._known(graph, one)]
            there = {one.id for one in known}
            refused = [one for one in drafts if one.id not in there and not restore and encode.barred(one, graph)]
            settled = there.union(one.id for one in refused)
            fresh = [one for one in drafts if one.id not in settled]
            nodes = [node for one in fresh for node in one.pieces if node.id not in vectors]
            vectors.update(zip((node.id for node in nodes), self._embedded(map(encode.spoken, nodes)), strict=True))
            change = self._encoded(fresh, known, graph, vectors, now)
            if (change.nodes or change.accesses) and not self._committed(change):
                continue
            return [one.id for one in fresh], [one.id for one in known], [one.id for one in refused]
        raise self._outrun()

    def _known(self, graph: Graph, draft: encode.Draft) -> bool:
        ids = encode.rows_of(graph, draft.id)
        stored = self._store.nodes(self.scope, ids) if ids else []
        if not encode.same(draft, stored) if stored else any(graph.row(node.id) is not None for node in draft.pieces):
            raise encode.collision(draft)
        return bool(stored)

    def _embedded(self, texts: Iterable[str], *, cue: bool = False) -> Vectors:
        asked = list(texts)
        vectors, expected = self._embedder.embed(asked, cue=cue), (len(asked), self._embedder.dim)
        if vectors.shape != expected:
            raise WrongVector(
                f"{self._embedder.name} gave vectors of shape {vectors.shape}, not {expected}; mend the embedder"
            )
        if not np.isfinite(vectors).all():
            raise WrongVector(f"{self._embedder.name} gave numbers that are not finite; mend the embedder")
        return vectors

    def _encoded(
        self,
        fresh: Sequence[encode.Draft],
        known: Sequence[encode.Draft],
        graph: Graph,
        vectors: Mapping[NodeId, Vector],
        now: datetime,
    ) -> Change:
        nodes = [node for one in fresh for node in one.pieces]
        mentions = self._extractor.extract([node.text for node in nodes])
        change = encode.encode(
            fresh,
            graph,
            vectors={node.id: vectors[node.id] for node in nodes},
            mentions=dict(zip((node.id for node in nodes), mentions, strict=True)),
            embedder=self._embedder.name,
            now=now,
        )
        again = [Access(node, now, Touch.ENCODED) for one in known for node in encode.rows_of(graph, one.id)]
        stirred = self._stirred(nodes, graph, vectors, now) if self._storing_is_querying else ()
        return replace(change, accesses=(*again, *stirred))

    @property
    def _storing_is_querying(self) -> bool:
        return isinstance(self.strategy, StoringIsQuerying) and self.strategy.storing_is_querying

    def _stirred(
        self, nodes: Sequence[Node], graph: Graph, vectors: Mapping[NodeId, Vector], now: datetime
    ) -> Iterator[Access]:
        """What new episodes stir as cues of what was there before them."""
        for node in nodes:
            cue = encode.cue(node.text, now, vector=vectors[node.id], meaning=self._embedder.reads(node.text))
            yield from _felt(graph, self.strategy.activate(cue, graph), now)

    def _sleep(self, now: datetime) -> None:
        """Let a strategy that sleeps work on what is new, piece by piece, each committed whole or not at all."""
        sleeper = self.strategy
        if not isinstance(sleeper, Sleeper):
            return
        for _ in range(TRIES):
            graph = self.graph()
            while sleeper.due(graph):
                change = sleeper.sleep(graph, self._reader(graph), now)
                ids, texts = [node.id for node in change.nodes], map(encode.spoken, change.nodes)
                vectors = dict(zip(ids, self._embedded(texts), strict=True)) if ids else {}
                readings = {node.id: encode.read(node) for node in change.nodes}
                whole = replace(change, readings=readings, vectors=vectors, embedder=self._embedder.name)
                if not self._committed(whole):
                    break
                graph = self.graph()
            else:
                return
        raise self._outrun()

    def _reader(self, graph: Graph) -> Reader:
        return lambda rows: self._store.nodes(self.scope, [graph.id(row) for row in rows])

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
        strategy: str | Strategy | None = None,
        explain: bool = True,
        touch: bool = True,
    ) -> Recollection:
        """Bring back what belongs to a question, best first.

        ``limit`` bounds the hits, ``budget`` the tokens of their texts (estimated). ``where`` says what may come back
        at all. ``as_of`` is a point in event time: nothing that happened later comes back. ``known_at`` is one in
        recording time: nothing written later does. ``explain=False`` leaves out the reasons. ``touch=False`` leaves no
        trace in the access log, and so does a file that may not be written.
        """
        started = perf_counter()
        chosen = self._chosen(strategy, limit, budget)
        cue = self.cue(question, where=where, as_of=as_of, known_at=known_at)
        graph = self.graph()
        embedded = perf_counter()
        activation = chosen.activate(cue, graph)
        activated = perf_counter()
        found = self._hits(graph, cue, activation, limit, explain=explain)
        hits = Answered(graph, cue, activation, found, budget).hits
        if touch and not self.read_only:
            self._touch(graph, activation, hits, cue.now)
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
        strategy: str | Strategy | None = None,
    ) -> WhyNot:
        """Say why a memory does not come back for a question asked like this, and what would bring it back.

        Of a long text its best piece counts. It leaves no trace in the access log.
        """
        chosen = self._chosen(strategy, limit, budget)
        cue = self.cue(question, where=where, as_of=as_of, known_at=known_at)
        graph = self.graph()
        activation = chosen.activate(cue, graph)
        found = self._hits(graph, cue, activation, limit, explain=True)
        return why_not(Answered(graph, cue, activation, found, budget), id, encode.rows_of(graph, id))

    def _chosen(self, strategy: str | Strategy | None, limit: int, budget: int | None) -> Strategy:
        if limit < 1 or (budget is not None and budget < 1):
            raise InvalidInput(f"limit is {limit} and budget {budget}; both must be at least 1")
        return self.strategy if strategy is None else strategies.by_name(strategy)

    def _touch(self, graph: Graph, activation: Activation, hits: Sequence[Hit], now: datetime) -> None:
        """Log what a recall stirred and what it brought back, and remember what it leaves behind."""
        scores = {graph.row(hit.id): hit for hit in hits}
        # Those that come back keep their order among each other: the one touched longest ago is touched first.
        returned = [scores[row] for row in chronology.in_order(graph, np.array(list(scores), np.intp)).tolist()]
        recalled = (Access(hit.id, now, Touch.RECALLED, hit.score) for hit in returned)
        accesses = (*_felt(graph, activation, now), *recalled)
        if accesses:
            self._live.commit(Change(accesses=accesses))
        if activation.leaves is not None:
            self._remember([encode.draft(activation.leaves, now)], now, restore=False)

    def feedback(self, found: Recollection, used: Iterable[NodeId]) -> NodeId:
        """Keep which hits of a recollection were of use; the id of what is kept, by which ``forget`` takes it back.

        What was used is logged as such: a touch for strategies. Beside it the question is kept with all that came back
        for it, used or in vain: an example for ``ecphora.learn``. An empty ``used`` says that nothing was of use. A
        question never comes back itself, and goes with the first of its hits that is forgotten. Taking it back leaves
        the log as it is. The same told twice is kept once; nothing is kept where no hit is there any more.

        Raises ``InvalidInput`` for an id that did not come back; then nothing is written.
        """
        chosen = list(dict.fromkeys([used] if isinstance(used, str) else used))
        if strange := [id_ for id_ in chosen if id_ not in {hit.id for hit in found}]:
            raise InvalidInput(f"{strange[0]!r} is not among what came back; give ids of hits of this recollection")
        now, model = self._clock(), self._embedder
        for _ in range(TRIES):
            change = encode.feedback(found, chosen, self.graph(), embedder=model.name, dim=model.dim, now=now)
            if not change.nodes or self._committed(change):
                return encode.question_id(found.cue, chosen)
        raise self._outrun()

    def cue(self, question: str, *, where: Filter = EVERYTHING, as_of: object = None, known_at: object = None) -> Cue:
        """A question as strategies see it: with its vector, its words and names, and the times it asks about."""
        question = encode.checked_question(question)
        graph, now = self.graph(), self._clock()
        parts = encode.parts(question, graph)
        vectors = self._embedded(parts.texts, cue=True) if len(graph) else None
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
            as_of=None if as_of is None else moment(as_of, end=True),
            known_at=None if known_at is None else moment(known_at, end=True),
            where=where,
        )

    def _hits(self, graph: Graph, cue: Cue, activation: Activation, limit: int, *, explain: bool) -> list[Hit]:
        rows = choose.best(activation.scores, choose.allowed(graph, cue), limit)
        return hits_of(graph, activation, self._reader(graph)(rows), explain=explain)

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
        return self._store.nodes(self.scope, encode.rows_of(self.graph(), id_))

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
        wanted = [ids] if isinstance(ids, str) else list(ids)
        if where == EVERYTHING:
            raise InvalidInput("an empty filter would erase the whole scope; say what is to be forgotten")
        for _ in range(TRIES):
            graph = self.graph()
            pieces = [piece for id_ in wanted for piece in encode.rows_of(graph, id_)]
            if where is not None:
                allowed = choose.allowed(graph, Cue("", self._clock(), where=where))
                pieces += [graph.id(row) for row in np.flatnonzero(allowed).tolist()]
            nodes = self._store.nodes(self.scope, encode.wholes(graph, pieces))
            if not nodes:
                return Erased((), ())
            if not self._committed(encode.forget(nodes)):
                continue
            after = self.graph()
            names = [graph.id(row) for row in graph.named_by(graph.rows(node.id for node in nodes)).tolist()]
            episodes = dict.fromkeys(node.document or node.id for node in nodes)
            return Erased(tuple(episodes), tuple(name for name in names if after.row(name) is None))
        raise self._outrun()

    # ---- carry elsewhere

    def export(self, out: TextIO, *, vectors: bool = False) -> Count:
        """Write the scope to a text file as JSON Lines, with the vectors if asked; nothing is left out."""
        self.graph()
        return jsonl.write(self._store, self.scope, out, now=self._clock(), vectors=vectors)

    def import_(self, lines: Iterable[str], *, restore: bool = False, progress: Progress | None = None) -> Count:
        """Read an export into the scope; every line is checked before the first is written, and twice is harmless.

        What was forgotten here on purpose stays forgotten unless ``restore`` is set. Vectors of another model, or none,
        are made anew. Raises ``InvalidRecord`` with the line's number, ``IdCollision`` for an id that stands for
        something else here.
        """
        return jsonl.read(lines, self._store, self.scope, self._embedder, restore=restore, progress=progress)

    # ---- the graph

    def _committed(self, change: Change) -> bool:
        """Commit, unless another process has changed what the change was made from: then it must be made anew."""
        try:
            self._live.commit(change)
        except StaleChange:
            return False
        return True

    def _outrun(self) -> StoreBusy:
        return StoreBusy(f"other processes changed scope {self.scope!r} {TRIES} times meanwhile; try again")

    @property
    def read_only(self) -> bool:
        """Whether the store takes no writes."""
        return bool(getattr(self._store, "read_only", False))

    def graph(self) -> Graph:
        """The memory graph as of the last commit of any process; never changed, safe to keep.

        Raises ``EmbedderMismatch`` if the scope's vectors come from another model than this memory's.
        """
        graph = self._live.now()
        stored = self._live.embedder
        if stored is not None and stored != self._embedder.name:
            raise EmbedderMismatch(
                f"scope {self.scope!r} was embedded by {stored!r}, this memory was opened with "
                f"{self._embedder.name!r}; open it with the first, or change it over once with ecphora.reembed"
            )
        return graph


def _felt(graph: Graph, activation: Activation, now: datetime) -> Iterator[Access]:
    """The accesses of the rows that a cue stirred, by row."""
    for row in np.flatnonzero(activation.stimulus).tolist():
        yield Access(graph.id(row), now, Touch.STIMULATED, float(activation.stimulus[row]))
