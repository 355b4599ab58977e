"""The views of a memory by subject: ``memory.facts``, ``memory.entities``, ``memory.maintenance``."""

from collections.abc import Callable, Iterable

from . import documents
from .default_limits import LIST_LIMIT
from .errors import InvalidInput
from .graph import Graph
from .ids import ACCEPT_PREFIX, MERGE_PREFIX, REJECT_PREFIX
from .language.name_normalization import entity_id
from .model import Access, Edge, FactUpdate, Link, Mark, Node, NodeId, UndoBatch, WriteBatch
from .ports import Clock
from .reprs import show
from .scope_writer import ScopeWriter
from .stages.fused import decay, pruning
from .stages.retrieval import validity
from .validate import check_count, check_flag, check_id, check_ids, check_string


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
        """The updates and contradictions that consolidation found, those of the latest memories first.

        With ``pending`` those of which it is not sure: with a confidence below .65 they change neither validity nor
        order until :meth:`accept` is called for them.
        """
        limit, writer = check_count("limit", limit), self._writer()
        is_pending, graph = check_flag("pending", pending), writer.graph()
        return validity.list_updates(graph, writer.node_reader(graph), limit, is_pending=is_pending)

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
                    "list those that were"
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
        """The batches that ``undo`` can revert, oldest first."""
        writer = self._writer()
        return writer.store.undo_batches(writer.scope)

    def decayed(self, *, limit: int = LIST_LIMIT) -> list[Node]:
        """Memories of low importance by use and age, not accessed for months; the least important first.

        Decay alone does not change their rank. ``archive`` ranks memories last, ``pin`` keeps them from decay.
        """
        limit, writer = check_count("limit", limit), self._writer()
        graph = writer.graph()
        rows = pruning.decayed_rows(graph, decay.DecayPolicy(), self._clock().timestamp())
        return writer.node_reader(graph)(rows[:limit])

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
