"""Extracts the claims of new memories and the earlier claims they replace, found by index lookups, not by a full scan.

Claims are read from the text of a statement when needed, and stored only if they replace, end, bound or contradict
another. So the store grows with what changes, not with what is said. A claim that would replace a claim that it may not
end (:mod:`~ecphora.retrieval.validity`) contradicts that claim instead.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from math import ceil

from ...model.graph.graph import Graph
from ...model.ids import CLAIM_PREFIX, content_id
from ...model.ports import NodeSource, SecondsLeft
from ...model.types import Edge, Kind, Link, Node, NodeId, Rows
from ...retrieval.validity import ClaimTopic
from ..batching import adaptive_batches
from .alignment import EmbedFunction, StatementInContext, extract_topic
from .memory_statements import MemoryStatements, RuleMatch, Utterance
from .supersession import is_contradiction, supersession_time
from .update_classifier import UpdateClassifier
from .update_finder import ClaimUpdate, ScorePairs, UpdateFinder

EMPTY_TOPIC = ClaimTopic()
"""The topic of a claim without a counterpart."""
SCORED_PAIRS_PER_MEMORY, MIN_SCORED_PAIRS = 0.4, 200
"""Pairs that the cross-encoder scores: per new memory, and the least in all."""
MAX_MEMORY_SLICE = 4
"""With a time limit: the most memories processed between two checks of the clock."""


@dataclass(frozen=True, slots=True)
class ClaimBatch:
    """What to write: claims, and edges from each to its source memory and to the claims it replaces or contradicts.

    The first ``processed_count`` memories were processed.
    """

    nodes: dict[NodeId, Node] = field(default_factory=dict)
    edges: dict[Edge, None] = field(default_factory=dict)
    processed_count: int = 0


@dataclass(frozen=True)
class ClaimExtractor:
    """Reads the statements of memories, each once, and finds the claims that new ones replace.

    With a ``classifier`` and a cross-encoder's ``score``, the pairs that pass the gate are scored; else rules decide.
    ``similarity_floor`` is the cosine of two unrelated texts of ``embed``.
    """

    graph: Graph
    read: NodeSource
    classifier: UpdateClassifier | None = None
    score: ScorePairs | None = None
    embed: EmbedFunction | None = None
    similarity_floor: float = 0.0

    @cached_property
    def _statements(self) -> MemoryStatements:
        return MemoryStatements(self.graph, self.read)

    def extract(self, rows: Rows, *, step_rows: Rows | None = None, time_left: SecondsLeft | None = None) -> ClaimBatch:
        """Extract the claims of some rows that update another claim, and those other claims.

        ``time_left`` bounds the time: if it runs out, the last rows are not processed; the first row always is.
        ``step_rows`` are all new rows of the step; the first of them may have been processed before.
        """
        batch, index, processed_count = ClaimBatch(), self._statements, 0
        step_rows = rows if step_rows is None else step_rows
        first_new_row = int(step_rows[0]) if len(step_rows) else 0
        finder = UpdateFinder(index, first_new_row, self.classifier, self.score, self.similarity_floor)
        for batch_rows, max_pairs in work_slices(rows, len(step_rows), time_left):
            index.fetch(batch_rows.tolist())
            finder.score_rows(batch_rows, max_pairs, time_left)
            for row in batch_rows.tolist():
                if processed_count and time_left is not None and time_left() <= 0:
                    return replace(batch, processed_count=processed_count)
                for position, utterance in enumerate(index.utterances(row)):
                    self._add_updates(batch, row, position, utterance, finder.find(row, position))
                processed_count += 1
        return replace(batch, processed_count=processed_count)

    def _add_updates(
        self, batch: ClaimBatch, row: int, position: int, utterance: Utterance, updates: list[ClaimUpdate]
    ) -> None:
        for update in updates:
            later, earlier = (row, position, utterance), (update.row, update.position, update.utterance)
            if (update.utterance.at, update.utterance.turn) > (utterance.at, utterance.turn):
                later, earlier = earlier, later
            self._add_update(batch, later, earlier, update.rule_match)
        if utterance.statement.valid_to is not None and not updates:
            self._put_claim(batch, row, position, utterance)

    def _add_update(
        self,
        batch: ClaimBatch,
        later: tuple[int, int, Utterance],
        earlier: tuple[int, int, Utterance],
        rule_match: RuleMatch,
    ) -> None:
        earlier_side, later_side = (
            StatementInContext(self._statements.node(side[0]).text, side[2].statement) for side in (earlier, later)
        )
        earlier_node = self._put_claim(batch, *earlier, self._topic(earlier_side, later_side))
        is_supersession = not is_contradiction(later[2], earlier[2], rule_match)
        valid_from = supersession_time(later[2], earlier[2], earlier_node, rule_match) if is_supersession else None
        later_node = self._put_claim(batch, *later, self._topic(later_side, earlier_side), valid_from=valid_from)
        if earlier_node.id == later_node.id:
            return
        link = Link.SUPERSEDES if is_supersession else Link.CONTRADICTS
        batch.edges[Edge(later_node.id, earlier_node.id, link, round(rule_match.confidence, 3))] = None

    def _topic(self, own: StatementInContext, other: StatementInContext) -> ClaimTopic:
        return extract_topic(own, other, self.embed, similarity_floor=self.similarity_floor)

    def _put_claim(
        self,
        batch: ClaimBatch,
        row: int,
        position: int,
        utterance: Utterance,
        matter: ClaimTopic = EMPTY_TOPIC,
        *,
        valid_from: datetime | None = None,
    ) -> Node:
        """The node of a claim; created if the batch has none yet."""
        source, statement = self._statements.node(row), utterance.statement
        id_ = claim_id(source.id, position)
        node = batch.nodes.get(id_)
        if node is None:
            node = Node(
                id=id_,
                kind=Kind.CLAIM,
                text=statement.text,
                happened_at=source.happened_at,
                recorded_at=source.recorded_at,
                speaker=source.speaker,
                session=source.session,
                valid_from=valid_from or statement.valid_from,
                valid_to=statement.valid_to,
                trust=source.trust,
            )
            if self.graph.row(id_) is None:
                batch.edges[Edge(id_, source.id, Link.CLAIMED_IN)] = None
        elif valid_from is not None:
            node = replace(node, valid_from=valid_from)
        node = replace(node, metadata=matter.merge(ClaimTopic.from_metadata(node.metadata)).metadata)
        batch.nodes[id_] = node
        return node


def work_slices(rows: Rows, step_size: int, time_left: SecondsLeft | None) -> Iterator[tuple[Rows, int]]:
    """Yield new memories in slices, each with the number of pairs that may be scored for it.

    With a time limit the numbers are shares of the number for a step of ``step_size`` memories, of which ``rows`` are a
    part.
    """
    pairs_per_memory = max(MIN_SCORED_PAIRS / max(1, step_size), SCORED_PAIRS_PER_MEMORY)
    for index in adaptive_batches(len(rows), MAX_MEMORY_SLICE, time_left):
        slice_rows, previous_pairs = rows[index], ceil(pairs_per_memory * index.start)
        yield (
            slice_rows,
            max(MIN_SCORED_PAIRS, round(SCORED_PAIRS_PER_MEMORY * len(slice_rows)))
            if time_left is None
            else ceil(pairs_per_memory * index.stop) - previous_pairs,
        )


def claim_id(source: NodeId, position: int) -> NodeId:
    """The id of the claim at a position of a memory; deterministic."""
    return content_id(source, str(position), prefix=CLAIM_PREFIX)
