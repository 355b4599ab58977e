"""Why a memory was not recalled: the reason, its contributions, and what the last hit has beyond it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from typing import ClassVar

import numpy as np

from ..language.terms import estimate_tokens
from ..model.graph.graph import Graph
from ..model.json_form import JsonForm, JsonObject
from ..model.types import Contribution, Filter, NodeId, Query, Why
from ..retrieval import filters, fusion
from .ranking import Ranking
from .reasons import build_reasons
from .recall import RankedHits, why


class MissReason(StrEnum):
    """Why a memory did not come back.

    ``NOT_FOUND``: there is no such memory. ``FILTER``: the filter, or the time asked about, does not let it through.
    ``NO_ACTIVATION``: neither the question nor a name led to it, so it has no score. ``NEGATIVE_SCORE``: it was scored,
    and more speaks against it than for it. ``BELOW_CUTOFF``: its rank is beyond the limit. ``BUDGET``: it was within
    the limit, but its text did not fit into the budget. ``NONE``: it did come back.
    """

    NOT_FOUND = "not_found"
    FILTER = "filter"
    NO_ACTIVATION = "no_activation"
    NEGATIVE_SCORE = "negative_score"
    BELOW_CUTOFF = "below_cutoff"
    BUDGET = "budget"
    NONE = "none"


@dataclass(frozen=True, slots=True, repr=False)
class WhyNot(JsonObject):
    """Why a memory did not come back.

    ``rank`` is its rank, from 1, among the ``candidates`` that were active. ``score`` is the sum of its contributions.
    ``cutoff_score`` and ``cutoff_rank`` are score and rank of the last hit, None if nothing came back. ``shortfall`` is
    what the contributions of that hit have beyond this memory's, largest first: what would have lifted it. ``reason``
    says in words what sets that hit apart from it, as ``Hit.reason`` does. ``failed_filters`` names the conditions that
    keep it out, ``required_budget`` is a budget that has room for it; both are there only where that is the reason.
    """

    json_form: ClassVar = JsonForm(derived={"sentence": (str, str)})

    id: NodeId
    miss_reason: MissReason
    rank: int | None = None
    candidates: int = 0
    score: float = 0.0
    cutoff_score: float | None = None
    cutoff_rank: int | None = None
    shortfall: tuple[Contribution, ...] = ()
    reason: str = ""
    failed_filters: tuple[str, ...] = ()
    required_budget: int | None = None

    def __str__(self) -> str:
        rank = f"{_ordinal(self.rank)} of {self.candidates:,}"
        beyond = f" What the {_ordinal(self.cutoff_rank)} has beyond it: {self.reason}." if self.reason else ""
        failed = ", ".join(self.failed_filters).replace("_", " ")
        words = "Ask with words or names that it has."
        budget = f"Ask with a budget of {self.required_budget} tokens."
        return {
            MissReason.NOT_FOUND: f"There is no memory {self.id!r}: it was never remembered, or it was forgotten.",
            MissReason.FILTER: f"It is there, but does not meet what was asked for: {failed}. Ask without.",
            MissReason.NO_ACTIVATION: f"Neither the question nor a name led to it.{beyond} {words}",
            MissReason.NEGATIVE_SCORE: f"More speaks against it than for it.{beyond} Ask in words nearer to its own.",
            MissReason.BELOW_CUTOFF: f"It came {rank}.{beyond} Ask with a limit of {self.rank}.",
            MissReason.BUDGET: f"It came {rank}, but its text did not fit. {budget}",
            MissReason.NONE: f"It came back, {rank}.",
        }[self.miss_reason]


def why_not(ranked_hits: RankedHits, node_id: NodeId, chunk_ids: Iterable[NodeId]) -> WhyNot:
    """Explain why a memory is not among the hits; of its chunks, the one ranked best counts."""
    graph, scores = ranked_hits.graph, ranked_hits.activation.scores
    rows = [row for row in graph.rows(chunk_ids).tolist() if graph.episodes[row]]
    if not rows:
        return WhyNot(node_id, MissReason.NOT_FOUND)
    eligible = ranked_hits.eligible
    order = fusion.top_rows(scores, eligible, len(graph)).tolist()
    hit_rows = graph.rows(hit.id for hit in ranked_hits.hits).tolist()
    cutoff_score, cutoff_rank = (
        (float(scores[hit_rows[-1]]), order.index(hit_rows[-1]) + 1) if hit_rows else (None, None)
    )
    result = WhyNot(
        node_id, MissReason.FILTER, candidates=len(order), cutoff_score=cutoff_score, cutoff_rank=cutoff_rank
    )
    eligible_rows = [row for row in rows if eligible[row]]
    if not eligible_rows:
        return replace(result, failed_filters=_failed_filters(graph, ranked_hits.query, rows))
    row = min(eligible_rows, key=lambda candidate: (candidate not in hit_rows, -scores[candidate]))
    rank = order.index(row) + 1 if scores[row] > 0 else None
    result = replace(result, rank=rank, score=float(scores[row]))
    return replace(result, miss_reason=MissReason.NONE) if row in hit_rows else _explain_miss(ranked_hits, result, row)


def _explain_miss(ranked_hits: RankedHits, result: WhyNot, row: int) -> WhyNot:
    """The same for a row that is eligible and not among the hits."""
    graph, top_hits = ranked_hits.graph, ranked_hits.top_hits
    ids = [hit.id for hit in top_hits]
    if graph.id(row) in ids:
        choice = ranked_hits.select_within_budget(
            np.inf
        )  # a budget for all chosen before it and itself has room for it
        chosen = choice[: choice.index(ids.index(graph.id(row))) + 1]
        return replace(
            result,
            miss_reason=MissReason.BUDGET,
            required_budget=sum(estimate_tokens(top_hits[place].text) for place in chosen),
        )
    own = why(graph, ranked_hits.activation, row)
    beyond = [share for hit in ranked_hits.hits[-1:] for share in contribution_differences(hit.why, own)]
    result = replace(
        result, shortfall=tuple(share for share in beyond if share.value > 0), reason=_cutoff_reason(ranked_hits, row)
    )
    if result.rank is not None:
        return replace(result, miss_reason=MissReason.BELOW_CUTOFF)
    score = sum(
        (share.value for share in own.contributions), 0.0
    )  # where more speaks against it, a strategy may give it 0
    return replace(
        result, miss_reason=MissReason.NEGATIVE_SCORE if own.contributions else MissReason.NO_ACTIVATION, score=score
    )


def _cutoff_reason(ranked_hits: RankedHits, row: int) -> str:
    """What distinguishes the last hit from a row, in words."""
    graph, last_hit = ranked_hits.graph, ranked_hits.hits[-1:]
    pair = np.append(graph.rows(hit.id for hit in last_hit), row)
    ranking = Ranking.from_activation(graph, ranked_hits.query, ranked_hits.activation, ranked_hits.eligible, pair)
    return "".join(build_reasons(ranking, [hit.node for hit in last_hit], ranked_hits.read_nodes))


def contribution_differences(other: Why, own: Why) -> tuple[Contribution, ...]:
    """Each contribution of another score less one's own, largest first; they add up to the difference of the scores."""
    beyond: dict[str, float] = {}
    for shares, sign in ((other.contributions, 1), (own.contributions, -1)):
        for share in shares:
            beyond[share.feature] = beyond.get(share.feature, 0.0) + sign * share.value
    return tuple(
        Contribution(feature, value) for feature, value in sorted(beyond.items(), key=lambda item: -item[1]) if value
    )


def _failed_filters(graph: Graph, query: Query, rows: Sequence[int]) -> tuple[str, ...]:
    """The conditions of a query that, each alone, exclude all the rows."""
    bare = replace(query, where=Filter(), as_of=None, known_at=None, retroactive=False)
    alone = {
        field.name: replace(bare, where=replace(bare.where, **{field.name: getattr(query.where, field.name)}))
        for field in fields(Filter)
    }
    alone["as_of"] = replace(bare, as_of=query.as_of, retroactive=query.retroactive)
    alone["known_at"] = replace(bare, known_at=query.known_at)
    return tuple(name for name, one in alone.items() if not filters.eligible(graph, one)[rows].any())


def _ordinal(rank: int | None) -> str:
    """A place as an ordinal: 1st, 12th, 23rd."""
    if rank is None:
        return "nowhere"
    ending = "th" if rank % 100 in {11, 12, 13} else {1: "st", 2: "nd", 3: "rd"}.get(rank % 10, "th")
    return f"{rank:,}{ending}"
