"""Plans consolidation: turns new memories into write batches, step by step. It commits nothing."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from ..errors import InvalidTime
from ..model.graph.graph import Graph
from ..model.graph.updates import apply_batch
from ..model.ports import NodeSource, SecondsLeft
from ..model.times import parse_time
from ..model.types import Kind, Link, Node, NodeId, Rows, Vector, WriteBatch
from ..models import prompts
from ..models.llm_client import LLMClient
from ..models.prompts import replies
from ..remember import encode
from ..remember.triggers import CURSOR, pending_rows
from ..retrieval.validity import MIN_CONFIDENCE
from .batching import adaptive_batches
from .entities import resolution
from .facts.alignment import EmbedFunction
from .facts.claims import ClaimExtractor
from .facts.llm_claims import Fact, claim_facts
from .facts.update_classifier import load_update_classifier
from .facts.update_finder import ScorePairs
from .insights.summaries import InsightWriter
from .insights.synthesis import draw_insights

CLAIMS_CURSOR = "consolidation/claims"
"""The cursor for claims and names alone. It is ahead of ``CURSOR`` where the time ran out in the middle of a step."""
STATEMENTS_PER_PROMPT = 8
"""Statements in one prompt for a language model."""
INSIGHTS_PER_EMBED = 16
"""Maximum number of insights embedded between two checks of the clock."""
STEP_SIZE = 4096
"""Memories that are processed and committed together."""


@dataclass(frozen=True, slots=True)
class Step:
    """One step of consolidation: the batch to write, and how many new memories were scanned for claims.

    ``rejected_insights`` counts the insights by a language model that were no better than quotes, or had a sentence
    without a source.
    """

    batch: WriteBatch
    scanned_count: int
    rejected_insights: int = 0

    @property
    def counts(self) -> dict[str, int]:
        """How many items of each kind the step would write, by name."""
        kinds = [node.kind for node in self.batch.nodes]
        updates = [edge for edge in self.batch.edges if edge.link in {Link.SUPERSEDES, Link.CONTRADICTS}]
        links = [edge.link for edge in updates if edge.weight >= MIN_CONFIDENCE]
        named = {"claims": kinds.count(Kind.CLAIM), "insights": kinds.count(Kind.INSIGHT)}
        named |= {link.value: links.count(link) for link in (Link.SUPERSEDES, Link.CONTRADICTS)}
        named |= {"pending_updates": len(updates) - len(links)}
        named |= {"alias": sum(edge.link is Link.ALIAS for edge in self.batch.edges)}
        return named | {"rejected_insights": self.rejected_insights, "memories": self.scanned_count}


def pending_claims(graph: Graph, rows: Rows) -> Rows:
    """Of ``rows``, those not yet scanned for claims."""
    return rows[graph.nodes["seq"][rows] > graph.cursors.get(CLAIMS_CURSOR, 0)]


def pending_count(graph: Graph) -> int:
    """The number of memories to scan for claims, or, if all are scanned, of those whose insights are missing."""
    new = pending_rows(graph)
    return len(pending_claims(graph, new)) or len(new)


@dataclass(frozen=True, slots=True)
class Tools:
    """What a step may call: ``embed``, with the embedder's ``similarity_floor``, and ``llm_client``.

    ``score_updates`` scores whether one text replaces another; without it rules decide. ``time_left`` bounds the time
    of a step.
    """

    embed: EmbedFunction
    similarity_floor: float = 0.0
    llm_client: LLMClient | None = None
    score_updates: ScorePairs | None = None
    time_left: SecondsLeft | None = None


def next_step(graph: Graph, read_nodes: NodeSource, now: datetime, limit: int, tools: Tools) -> Step | None:
    """Plan the next step, of at most ``limit`` memories; None if nothing is new.

    Insights are drawn from the graph with the new claims, so that none states a fact and its successor side by side.
    With a time limit, a step has the claims of as many of these memories as there is time for, at least one; once all
    are scanned, the next step has their aliases and as many insights as there is time for, at least one.
    """
    new = pending_rows(graph)[:limit]
    if not len(new):
        return None
    unscanned, seq = pending_claims(graph, new), graph.nodes["seq"]
    claims, scanned_count = _extract_claims(graph, unscanned, new, read_nodes, tools)
    if scanned_count and tools.time_left is not None:
        return Step(replace(claims, cursors={CLAIMS_CURSOR: int(seq[unscanned[scanned_count - 1]])}), scanned_count)
    claims = replace(claims, edges=(*claims.edges, *resolution.resolve_entities(graph, new, read_nodes)))
    insight_writer = None if tools.llm_client is None else _insight_writer(tools.llm_client, tools)
    insight_batch = draw_insights(
        preview(graph, claims), new, read_nodes, now, insight_writer, time_left=tools.time_left
    )
    vectors = _embed_insights(insight_batch.nodes, tools)
    is_complete = insight_batch.is_complete and len(vectors) == len(insight_batch.nodes)
    batch = replace(
        claims,
        nodes=(*claims.nodes, *(node for node in insight_batch.nodes if node.id in vectors)),
        edges=(*claims.edges, *(edge for edge in insight_batch.edges if edge.src in vectors)),
        vectors=vectors,
        cursors={CURSOR if is_complete else CLAIMS_CURSOR: int(seq[new[-1]])},
    )
    return Step(batch, scanned_count, insight_batch.rejection_count)


def _extract_claims(
    graph: Graph, pending_rows: Rows, step_rows: Rows, read_nodes: NodeSource, tools: Tools
) -> tuple[WriteBatch, int]:
    """The claims of a step's memories, and the number of memories that there was time to scan."""
    if not len(pending_rows):
        return WriteBatch(), 0
    fact_lists: list[list[Fact]] = []
    if tools.llm_client is not None:
        fact_lists = _llm_facts(tools.llm_client, read_nodes(pending_rows), tools.time_left)
        if tools.time_left is not None:
            pending_rows = pending_rows[: max(1, len(fact_lists)) * STATEMENTS_PER_PROMPT]
    classifier = None if tools.score_updates is None else load_update_classifier()
    extractor = ClaimExtractor(graph, read_nodes, classifier, tools.score_updates, tools.embed, tools.similarity_floor)
    claims = extractor.extract(pending_rows, step_rows=step_rows, time_left=tools.time_left)
    rows = pending_rows[: claims.processed_count]
    ids = {graph.id(row) for row in rows.tolist()}
    model_claims = claim_facts(graph, [fact for part in fact_lists for fact in part if fact.source.id in ids])
    nodes = {**claims.nodes, **model_claims.nodes}
    batch = WriteBatch(
        nodes=tuple(node for id_, node in nodes.items() if graph.row(id_) is None),
        edges=(*claims.edges, *model_claims.edges),
    )
    return batch, claims.processed_count


def _llm_facts(llm_client: LLMClient, nodes: Sequence[Node], time_left: SecondsLeft | None) -> list[list[Fact]]:
    """The facts that a language model finds in memories, one list a prompt; an empty list where the model fails.

    It may take half of ``time_left``; if that runs out, the result covers the first memories only.
    """
    parts = [nodes[start : start + STATEMENTS_PER_PROMPT] for start in range(0, len(nodes), STATEMENTS_PER_PROMPT)]
    size = max(map(len, parts), default=0)
    replies_ = llm_client.ask_all(
        [prompts.claims_prompt(part) for part in parts],
        lambda text: replies.parse_claims(text, size),
        time_left=None if time_left is None else _half_time(time_left),
    )
    return [
        [
            Fact(
                part[claim.statement - 1],
                claim.subject,
                claim.attribute,
                claim.value,
                claim.polarity,
                _local_day(claim.valid_from, part[claim.statement - 1]),
                _local_day(claim.valid_to, part[claim.statement - 1]),
                claim.is_single_valued,
            )
            for claim in claims or ()
            if claim.statement <= len(part)
        ]
        for part, claims in zip(parts, replies_, strict=False)  # fewer replies if the time ran out
    ]


def _local_day(day: datetime | None, source: Node) -> datetime | None:
    """A day that a model read in a memory, by the calendar of where that was told; None outside of the calendar."""
    try:
        return None if day is None else parse_time(day, source.happened_at.tzinfo or UTC)
    except InvalidTime:
        return None


def _half_time(time_left: SecondsLeft) -> SecondsLeft:
    """Half of the time left now."""
    reserve = time_left() / 2
    return lambda: time_left() - reserve


def _embed_insights(nodes: Sequence[Node], tools: Tools) -> dict[NodeId, Vector]:
    """The vectors of insights by id; of the first ones only, if the time runs out."""
    found: dict[NodeId, Vector] = {}
    for batch_slice in adaptive_batches(len(nodes), INSIGHTS_PER_EMBED, tools.time_left):
        batch = nodes[batch_slice]
        if batch:
            vectors = tools.embed([encode.indexed_text(node) for node in batch])
            found.update(zip((node.id for node in batch), vectors, strict=True))
    return found


def preview(graph: Graph, batch: WriteBatch) -> Graph:
    """The graph as it would be after a write batch; nothing is stored."""
    first = int(graph.nodes["seq"][-1]) + 1
    nodes = tuple(replace(node, seq=first + place) for place, node in enumerate(batch.nodes))
    return apply_batch(graph, replace(batch, nodes=nodes, revision=graph.revision + 1))


def _insight_writer(llm_client: LLMClient, tools: Tools) -> InsightWriter:
    def write(sources: Sequence[Node]) -> str | None:
        return next(
            iter(
                llm_client.ask_all([prompts.insight_prompt(sources)], replies.parse_insight, time_left=tools.time_left)
            ),
            None,
        )

    return InsightWriter(write, tools.embed, tools.similarity_floor)
