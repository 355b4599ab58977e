"""The clauses of a reason: observations about a hit that explain its rank.

Every observation is read from the graph and the memory's own text: a word that the question and the memory share, the
speaker, a date, a memory that leads to it. A clause states only what is so, and names no memory that is not itself
eligible for the question.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

import numpy as np

from .graph import EPOCH, epoch_seconds
from .language import question
from .language.roles import ROLES
from .language.terms import shared_terms
from .model import Kind
from .ranking import Comparison
from .stages.retrieval import validity
from .stages.retrieval.speakers import named_speakers
from .stages.retrieval.term_coverage import WINDOW_SIZE

MIN_SIMILARITY_Z = 1.5
"""Standard deviations above the mean by which a memory is near to a word in meaning."""


@dataclass(frozen=True, slots=True)
class Clause:
    """One observation: ``text`` begins it, ``other_row`` is the row of the memory it names, -1 for none.

    ``quoted_row`` is the row whose text completes it, -1 for none: an entity's name, or quoted words of a memory.
    """

    text: str
    other_row: int = -1
    quoted_row: int = -1


# ---- the observations: None where there is none


def text_clause(comparison: Comparison) -> Clause | None:
    """The rarest words of the question that its text has and the others do not."""
    quoted = comparison.ranking.quote(comparison.node.text, comparison.distinctive_weights)
    return Clause(f"says {quoted}") if quoted else _title_clause(comparison)


def _title_clause(comparison: Comparison) -> Clause | None:
    quoted = comparison.ranking.quote(comparison.node.title or "", comparison.distinctive_weights)
    return Clause(f"has {quoted} in its title") if quoted else None


def _similarity_clause(comparison: Comparison) -> Clause | None:
    """The question word that it lacks and is most similar to; else that it is more similar to the question."""
    ranking, graph, query = comparison.ranking, comparison.ranking.graph, comparison.ranking.query
    if not comparison.other_indices or query.vector is None or not query.embedder_coverage:
        return None
    like = ranking.term_similarity_z
    lead = like[comparison.index] - like[list(comparison.other_indices)].mean(axis=0)
    lead[ranking.matches_term[0, comparison.index] | (like[comparison.index] < MIN_SIMILARITY_Z)] = 0
    if len(lead) and lead.max() > 0:
        word = ranking.question_words[int(lead.argmax())]
        question = next(
            (one.question_surface for one in shared_terms(query.text, query.text) if word in one.terms), None
        )
        return None if question is None else Clause(f"is near to the question's “{question}” in meaning")
    places = graph.vector_positions[ranking.order[[comparison.index, *comparison.other_indices]]]
    if (places < 0).any():
        return None
    cosines = np.vecdot(graph.vectors.view[places], query.vector)
    return Clause("is nearer in meaning to the question") if cosines[0] > cosines[1:].max() else None


def _neighbor_clause(comparison: Comparison) -> Clause | None:
    """The nearby turn with most of the question words that it lacks itself; else a preceding question."""
    ranking = comparison.ranking
    held, near = ranking.matches_term[:, comparison.index], ranking.neighborhood[:, comparison.index]
    beyond = (held & ~held[0]) @ ranking.quotable_idf
    if beyond.max(initial=0) > 0:
        place = int(beyond.argmax())
        how = f"{'right' if place in {1, 1 + WINDOW_SIZE} else 'soon'} {'after' if place <= WINDOW_SIZE else 'before'}"
        return Clause(f"comes {how}", int(near[place]), int(near[place]))
    asks = (
        near[1] >= 0
        and ranking.graph.nodes["is_question"][near[1]]
        and comparison.contribution_leads.get("follows question", 0) > 0
    )
    return Clause("follows the question", int(near[1])) if asks else None


def _session_clause(comparison: Comparison) -> Clause | None:
    """The best memory of its session that is ranked before it; None if that is in its neighborhood."""
    sessions, before = comparison.ranking.graph.nodes["sessions"], comparison.ranking.order[: comparison.index]
    mates = before[sessions[before] == sessions[comparison.row]]
    if (
        sessions[comparison.row] < 0
        or not len(mates)
        or mates[0] in comparison.ranking.neighborhood[:, comparison.index]
    ):
        return None
    return Clause("is of the same session as", int(mates[0]))


def _speaker_clause(comparison: Comparison) -> Clause | None:
    meant = named_speakers(comparison.ranking.graph, comparison.ranking.query)
    if comparison.node.speaker is None or comparison.ranking.graph.nodes["speakers"][comparison.row] not in meant:
        return None
    if comparison.node.speaker.casefold() in ROLES:
        return Clause(f"the {comparison.node.speaker}, who asks, speaks")
    who = "who is asked about" if len(meant) == 1 else "one of those asked about"
    return Clause(f"{collapse_whitespace(comparison.node.speaker)}, {who}, speaks")


def _date_clause(comparison: Comparison) -> Clause | None:
    """That it happened in, or speaks of, a time that the question names."""
    for time in comparison.ranking.query.time_ranges:
        start, end = epoch_seconds(time.start), epoch_seconds(time.end)
        if start <= epoch_seconds(comparison.node.happened_at) < end:
            return Clause(f"is of {format_day(comparison.node.happened_at)}, the time asked about")
        for first, last in _time_mentions(comparison):
            if first < end and last > start:
                return Clause(f"speaks of {format_interval(first, last)}, the time asked about")
    return None


def _time_mention_clause(comparison: Comparison) -> Clause | None:
    return next((Clause(f"speaks of a time, {format_interval(*one)}") for one in _time_mentions(comparison)), None)


def _time_mentions(comparison: Comparison) -> Iterator[tuple[float, float]]:
    """The times that it mentions, as start and end in seconds since the epoch."""
    mentions = comparison.ranking.graph.time_mentions
    places = np.flatnonzero(mentions["rows"] == comparison.row)
    yield from zip(mentions["starts"][places].tolist(), mentions["ends"][places].tolist(), strict=True)


def _number_clause(comparison: Comparison) -> Clause | None:
    graph = comparison.ranking.graph
    places, _ = graph.postings(question.number_term_hashes())
    return Clause("gives a number") if comparison.row in graph.terms["rows"][places] else None


def _recency_clause(comparison: Comparison) -> Clause | None:
    happened = comparison.ranking.graph.nodes["happened"]
    rest = happened[comparison.ranking.order[list(comparison.other_indices)]]
    if not len(rest) or happened[comparison.row] <= rest.max():
        return None
    return Clause(f"is later, of {format_day(comparison.node.happened_at)}")


def _path_clause(comparison: Comparison) -> Clause | None:
    """The memory that led to it, and the entity by which it did."""
    ranking, graph = comparison.ranking, comparison.ranking.graph
    by, via, before = _strongest_path(comparison, _path_clause)
    if by in {-1, comparison.row}:  # the question itself activated it
        return _similarity_clause(comparison)
    if via < 0 and graph.of_kind(Kind.ENTITY)[by]:
        by, via = before if before != comparison.row else -1, by
    if by < 0:
        return Clause("is linked to", quoted_row=via)
    if not ranking.eligible[by]:
        return None
    return Clause("follows from", by, via if via in graph.mentioned_entities(np.array([by])) else -1)


def _supersession_clause(comparison: Comparison) -> Clause | None:
    by, _, _ = _strongest_path(comparison, _supersession_clause)
    if by < 0 or not comparison.ranking.eligible[by]:
        return None
    known = validity.supersessions(comparison.ranking.graph)
    for place in known.by_row.get(comparison.row, ()):
        if by in {int(known.old[place]), int(known.new[place])} and by != comparison.row:
            held_before = known.old[place] == comparison.row
            return Clause(
                "contradicts" if known.is_contradiction[place] else "held before" if held_before else "replaces", by
            )
    return Clause("replaces", by)


def _feedback_clause(_comparison: Comparison) -> Clause | None:
    return Clause("was of use for a question like this one")


def _co_use_clause(comparison: Comparison) -> Clause | None:
    by, _, _ = _strongest_path(comparison, _co_use_clause)
    return Clause("was of use together with", by) if by >= 0 and comparison.ranking.eligible[by] else None


def _strongest_path(comparison: Comparison, build_clause: "ClauseBuilder") -> tuple[int, int, int]:
    """The parent row, entity and grandparent row of the strongest feature of a clause builder; -1 for none."""
    ranking, place, found = comparison.ranking, comparison.index, (-1, -1, -1)
    most = 0.0
    for stage, way in ranking.path_steps.items():
        led = (
            build_clause in CLAUSE_BUILDERS.get(stage, ())
            and way.parents[place] >= 0
            and ranking.contributions[stage][place] > 0
        )
        if led and comparison.contribution_leads[stage] > most:
            most, found = (
                comparison.contribution_leads[stage],
                (int(way.parents[place]), int(way.via_entities[place]), int(way.grandparents[place])),
            )
    return found


ClauseBuilder = Callable[[Comparison], Clause | None]

_FEATURE_GROUPS: tuple[tuple[tuple[ClauseBuilder, ...], tuple[str, ...]], ...] = (
    (
        (text_clause,),
        (
            "bm25",
            "bm25 z-score",
            "rarest term",
            "novel term coverage",
            "term similarity coverage",
            "query entity coverage",
        ),
    ),
    (
        (text_clause, _neighbor_clause),
        ("bm25 with previous turn", "bm25 with previous turn z-score", "window term coverage"),
    ),
    (
        (_similarity_clause,),
        (
            "dense similarity",
            "dense similarity z-score",
            "topic similarity",
            "topic similarity z-score",
            "term similarity sum",
            "term similarity max",
            "term similarity min",
            "centroid similarity",
            "residual similarity",
        ),
    ),
    (
        (_similarity_clause, _neighbor_clause),
        (
            "dense similarity with previous turn",
            "dense similarity with previous turn z-score",
            "topic similarity with previous turn",
            "topic similarity with previous turn z-score",
        ),
    ),
    ((_neighbor_clause,), ("adjacent turn", "next turn", "two turns away", "follows question")),
    ((_session_clause, _neighbor_clause), ("session score",)),
    ((_speaker_clause,), ("named speaker", "other speaker", "one of named speakers")),
    ((_date_clause,), ("date match", "rare date match")),
    ((_time_mention_clause,), ("time for when-question",)),
    ((_number_clause,), ("number for how-many-question",)),
    ((_recency_clause,), ("recency for now-question", "recency", "chronology")),
    ((_title_clause,), ("title match",)),
    (
        (_path_clause,),
        (
            "title link",
            "shared entities",
            "entity 1-hop",
            "entity 2-hop",
            "best entity link",
            "engrams",
            "activation",
            "strands",
            "stimulus",
            "fired",
            "potential",
        ),
    ),
    ((_supersession_clause,), ("current fact", "successor")),
    ((_feedback_clause,), ("similar question feedback",)),
    ((_co_use_clause,), ("co-use",)),
)
CLAUSE_BUILDERS = {stage: observe for observe, stages in _FEATURE_GROUPS for stage in stages}
"""The clause builders of each feature, tried in order when it leads. The length and age of a memory explain nothing."""


# ---- words


def format_day(time: datetime) -> str:
    """A day: 3 May 2026."""
    return f"{time.day} {time:%B} {time.year:04}"


def format_interval(start: float, end: float) -> str:
    """An interval as a day, month or year; as its first and last day if it is none of these."""
    first, last = EPOCH + timedelta(seconds=start), EPOCH + timedelta(seconds=max(start, end - 1))
    if first.date() == last.date():
        return format_day(first)
    if (first.day, first.month, last.month) == (1, 1, 12) and first.year == last.year:
        return f"{first.year:04}"
    if first.day == 1 and (first.year, first.month) == (last.year, last.month) and (last + timedelta(1)).day == 1:
        return f"{first:%B} {first.year:04}"
    return f"{format_day(first)} to {format_day(last)}"


def collapse_whitespace(text: str) -> str:
    """Replace each run of white space in a text with one space."""
    return " ".join(text.split())
