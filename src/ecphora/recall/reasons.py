"""The reason of a hit in words: what sets it apart from the memories ranked after it.

The contributions to its score are compared with their mean over the next memories. The reason has the one or two
clauses whose contributions lead most. A general clause, which names nothing of the memory, must lead each memory ranked
near it clearly, those before it too: else they would have the same reason.

Every clause comes from the graph and the memory's own text: a word that the question and the memory share, the speaker,
a date, a memory that led to it. A clause names only memories that are eligible for the question.
"""

from calendar import monthrange
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import EcphoraError
from ..language import question
from ..language.chat_roles import role_of
from ..language.classes import find_instances
from ..language.dates.asked_time import asked_end
from ..language.identifiers.mentions import index_hashes
from ..language.identifiers.numbers import quantities
from ..language.names.adjacent_names import without_titles
from ..language.statements.subject import subject_agreement
from ..language.terms import extract_terms, hash_terms
from ..model.graph.graph import KIND_CODES
from ..model.ports import NodeSource
from ..model.text_format import collapse_whitespace, long_day, truncate
from ..model.times import from_epoch_seconds, local_seconds
from ..model.types import Kind, MediaKind, Node, NodeId
from ..retrieval import temporal, validity
from ..retrieval.bm25 import WINDOW_SIZE
from ..retrieval.dense import MEDIA
from ..retrieval.speakers import query_role_agreement
from ..retrieval.temporal import time_order
from .lookup import abbreviate
from .ranking import NEIGHBOR_COUNT, Comparison, Ranking

MAX_CLAUSES = 2
"""The most clauses of a reason."""
MIN_LEAD_RATIO = 0.25
"""The smallest lead of the second clause, as a fraction of the first clause's lead; and the smallest lead of a general
clause over the memories near it, as a fraction of its lead over the mean of the next ones."""
GENERAL_WEIGHT = 0.5
"""How much the lead of a general clause counts, compared to a clause that names a word, a date or another memory."""
MIN_SIMILARITY_Z = 1.5
"""The smallest z-score of the similarity at which a memory is near to a word in meaning."""
MAX_GOAL_CHARS = 60
"""The most characters of a goal that a clause repeats."""
RERANKINGS = ("reranking", "reranking, not English", "second reranking")
"""The contributions of a reranker."""


@dataclass(frozen=True, slots=True)
class Clause:
    """One clause: ``text`` begins it, ``other_row`` is the row of the memory that it names, -1 for none.

    ``quoted_row`` is the row whose text completes it, -1 for none: an entity's name, or quoted words of a memory.
    ``is_general`` is True for a comparison that names nothing of the memory.
    """

    text: str
    other_row: int = -1
    quoted_row: int = -1
    is_general: bool = False


ClauseBuilder = Callable[[Comparison], Clause | None]
"""Returns the clause for a memory, None if it does not apply."""


class LazyReasons:
    """The reasons of some hits, built when the first of them is read; pickling builds them."""

    def __init__(self, texts: Sequence[str] = (), *, build: Callable[[], Sequence[str]] | None = None) -> None:
        self._texts, self._build = texts, build

    def get(self, index: int) -> str:
        """The reason of one hit by its index, from 0."""
        if (build := self._build) is not None:
            self._texts, self._build = build(), None  # releases the ranking
        return self._texts[index]

    def __reduce__(self) -> tuple[Any, ...]:
        if self._build is not None:
            self.get(0)
        return type(self), (self._texts,)


def build_reasons(ranking: Ranking, nodes: Sequence[Node], read_nodes: NodeSource) -> list[str]:
    """The reason of each of some ranked nodes; ``read_nodes`` fetches other nodes that are quoted.

    A reason is empty if the memory is the only one, or if nothing sets it apart.
    """
    graph = ranking.graph
    index_by_id = {graph.id(row): index for index, row in enumerate(ranking.order.tolist())}
    clauses_by_node = [_node_clauses(ranking, index_by_id[node.id], node) for node in nodes]
    clauses = [clause for node_clauses in clauses_by_node for clause in node_clauses]
    known = {node.id: node for node in nodes}
    quoted_rows = {clause.quoted_row for clause in clauses if clause.quoted_row >= 0}
    missing = sorted(row for row in quoted_rows if graph.id(row) not in known)
    known |= {node.id: node for node in _fetch_nodes(read_nodes, missing)}
    ids = abbreviate({graph.id(clause.other_row) for clause in clauses if clause.other_row >= 0}, graph)
    return [
        "; ".join(_clause_text(ranking, index_by_id[node.id], clause, known, ids) for clause in node_clauses)
        for node, node_clauses in zip(nodes, clauses_by_node, strict=True)
    ]


def _fetch_nodes(read_nodes: NodeSource, rows: Sequence[int]) -> Sequence[Node]:
    """The nodes of some rows; none if the memory was closed meanwhile: then they are named but not quoted."""
    try:
        return read_nodes(np.array(rows, np.intp)) if rows else ()
    except EcphoraError:
        return ()


def _node_clauses(ranking: Ranking, index: int, node: Node) -> list[Clause]:
    """The clauses that set a memory apart from the next ones, or the last one from those before; else its own clauses,
    else general ones in which a memory before it leads it."""
    after = range(index + 1, min(index + 1 + NEIGHBOR_COUNT, len(ranking.order)))
    others = after or range(max(0, index - NEIGHBOR_COUNT), index)
    if not others:
        return []
    comparison = Comparison(ranking, index, node, others)
    return (
        _select_clauses(comparison)
        or _select_clauses(Comparison(ranking, index, node, ()))
        or _select_clauses(comparison, is_lead_clear=False)
    )


def _select_clauses(comparison: Comparison, *, is_lead_clear: bool = True) -> list[Clause]:
    """The clauses of a memory whose contributions lead most, best first.

    If ``is_lead_clear``, a general clause must lead each memory ranked near it clearly.
    """
    clauses: dict[ClauseBuilder, Clause | None] = {}
    leads: dict[ClauseBuilder, float] = {}
    features: dict[ClauseBuilder, list[str]] = {}
    for feature, value in comparison.contribution_leads.items():
        for build in CLAUSE_BUILDERS.get(feature, ()):
            if build not in clauses:
                clauses[build] = comparison.cached_result(build)
            if clauses[build] is not None:
                leads[build] = leads.get(build, 0.0) + value
                features.setdefault(build, []).append(feature)
                break
    if is_lead_clear:
        for build, clause in clauses.items():
            if clause is not None and clause.is_general:
                leads[build] = _general_lead(comparison, features[build], leads[build])
    return _leading_clauses(comparison, clauses, leads)


def _general_lead(comparison: Comparison, features: Sequence[str], lead: float) -> float:
    """What the lead of a general clause over the mean of the next memories counts; 0 if it does not lead clearly."""
    clear_lead = comparison.lead_over_neighbors(features)
    return GENERAL_WEIGHT * clear_lead if clear_lead >= MIN_LEAD_RATIO * lead else 0.0


def _leading_clauses(
    comparison: Comparison, clauses: Mapping[ClauseBuilder, Clause | None], leads: Mapping[ClauseBuilder, float]
) -> list[Clause]:
    """The clauses with the largest leads, best first; and the clauses of words if there is room."""
    found: dict[str | int, Clause] = {}
    if comparison.is_raised_by_goal and (clause := comparison.cached_result(goal_clause)) is not None:
        found[clause.text] = clause
    min_lead = 0.0
    for build in sorted(leads, key=lambda builder: -leads[builder]):
        if leads[build] > min_lead and (clause := clauses[build]) is not None:
            found.setdefault(clause.text if clause.other_row < 0 else clause.other_row, clause)
            min_lead = min_lead or MIN_LEAD_RATIO * leads[build]
    for build in (relation_clause, text_clause):
        if len(found) < MAX_CLAUSES and (clause := comparison.cached_result(build)):
            found.setdefault(clause.text if clause.other_row < 0 else clause.other_row, clause)
    return list(found.values())[:MAX_CLAUSES]


def _clause_text(
    ranking: Ranking, index: int, clause: Clause, nodes: Mapping[NodeId, Node], ids: Mapping[NodeId, str]
) -> str:
    """A clause as a text."""
    text = clause.text if clause.other_row < 0 else f"{clause.text} {ids[ranking.graph.id(clause.other_row)]}"
    node = nodes.get(ranking.graph.id(clause.quoted_row)) if clause.quoted_row >= 0 else None
    if node is None:
        return text
    if node.kind == Kind.ENTITY:
        return (
            f"{text}, which names “{collapse_whitespace(node.text)}”"
            if clause.other_row >= 0
            else f"{text} “{collapse_whitespace(node.text)}”"
        )
    quoted = ranking.quote(
        node.text, ranking.quotable_idf * ~ranking.matches_term[0, index]
    )  # words that the hit does not contain itself
    return f"{text}, which says {quoted}" if quoted else text


def text_clause(comparison: Comparison) -> Clause | None:
    """The rarest words of the question that its text has and the others do not."""
    weights = comparison.distinctive_weights
    if comparison.cached_result(relation_clause):
        names = [without_titles(relation.name) for relation in comparison.ranking.query.relation_names]
        weights = weights * ~np.isin(comparison.ranking.query.term_hashes, hash_terms(extract_terms(" ".join(names))))
    quoted = comparison.ranking.quote(comparison.node.text, weights)
    return Clause(f"says {quoted}") if quoted else comparison.cached_result(_title_clause)


def relation_clause(comparison: Comparison) -> Clause | None:
    """The name that it says, and the others do not, of a relation in the question, with the memory that gives it."""
    ranking = comparison.ranking
    for relation in ranking.query.relation_names:
        name = without_titles(relation.name)
        is_of_name = np.isin(ranking.query.term_hashes, hash_terms(extract_terms(name)))
        row = ranking.graph.row(relation.node)
        if row is None or not comparison.distinctive_weights[is_of_name].any():
            continue
        if row == comparison.row:
            return Clause(f"says that “{relation.phrase}” is “{name}”")
        return Clause(f"says “{name}” (for “{relation.phrase}”) as told in", row)
    return None


def _title_clause(comparison: Comparison) -> Clause | None:
    quoted = comparison.ranking.quote(comparison.node.title or "", comparison.distinctive_weights)
    return Clause(f"has {quoted} in its title") if quoted else None


def _similarity_clause(comparison: Comparison) -> Clause | None:
    """The question word that it lacks but is most similar to; else that it is the most similar to the question."""
    ranking, query, others = comparison.ranking, comparison.ranking.query, list(comparison.other_indices)
    if not others:
        return None
    if query.vector is not None and query.embedder_coverage:
        z = ranking.term_similarity_z
        lead = z[comparison.index] - comparison.mean_of_others(z)
        lead[
            ranking.is_vague | ranking.matches_term[0, comparison.index] | (z[comparison.index] < MIN_SIMILARITY_Z)
        ] = 0
        if len(lead) and lead.max() > 0:
            word = ranking.question_words[int(lead.argmax())]
            return _near_word_clause(ranking, word)
    for cosines in ranking.question_cosines:
        if cosines[comparison.index] > cosines[others].max():  # False if one has no vector
            return Clause("is nearer in meaning to the question", is_general=True)
    return None


def _near_word_clause(ranking: Ranking, word: str) -> Clause | None:
    """That a memory is near to a term of the question, as the question or a relation's name writes it."""
    if word in ranking.question_surfaces:
        return Clause(f"is near to the question's “{ranking.question_surfaces[word]}” in meaning")
    for relation in ranking.query.relation_names:
        name = without_titles(relation.name)
        if word in extract_terms(name):
            return Clause(f"is near to “{name}” (for “{relation.phrase}”) in meaning")
    return None


def goal_clause(comparison: Comparison) -> Clause | None:
    """The goal that it fits, and the others fit less."""
    goal = comparison.ranking.query.goal
    return (
        None if goal is None else Clause(f"fits the goal “{truncate(collapse_whitespace(goal.text), MAX_GOAL_CHARS)}”")
    )


def identifier_clause(comparison: Comparison) -> Clause | None:
    """The first identifier of the question that it holds."""
    query, text = comparison.ranking.query, comparison.node.text
    held = set(index_hashes(comparison.node.title, comparison.node.heading, text).tolist())
    for identifier in query.identifiers:
        if held.intersection(identifier.whole):
            return Clause(f"has “{identifier.text}”, which is asked for")
    for identifier in query.identifiers:
        if held.intersection(identifier.part):
            return Clause(f"has “{identifier.text}”, which is asked for, as a part")
    return None


def _quantity_clause(comparison: Comparison) -> Clause | None:
    """The first amount of the question that it has."""
    held = quantities(comparison.node.text)
    found = next((one for one in quantities(comparison.ranking.query.text) if one in held), None)
    return None if found is None else Clause(f"has “{found}”, an amount in the question")


def _media_clause(comparison: Comparison) -> Clause | None:
    """That its picture or sound is near to the one of the query."""
    kinds = {str(one.kind) for one in comparison.node.media} - {MediaKind.OTHER}
    return Clause(f"has {f'a {kinds.pop()}' if len(kinds) == 1 else 'media'} near to the media query")


def _neighbor_clause(comparison: Comparison) -> Clause | None:
    """The nearby turn with most of the question words that it lacks; else a preceding question."""
    ranking = comparison.ranking
    matches, neighbors = ranking.matches_term[:, comparison.index], ranking.neighborhood[:, comparison.index]
    extra_weight = (matches & ~matches[0]) @ ranking.quotable_idf
    if extra_weight.max(initial=0) > 0:
        place = int(extra_weight.argmax())
        position = (
            f"{'right' if place in {1, 1 + WINDOW_SIZE} else 'soon'} {'after' if place <= WINDOW_SIZE else 'before'}"
        )
        return Clause(f"comes {position}", int(neighbors[place]), int(neighbors[place]))
    follows_question = (
        neighbors[1] >= 0
        and ranking.graph.nodes["is_question"][neighbors[1]]
        and comparison.contribution_leads.get("follows question", 0) > 0
    )
    return Clause("follows the question", int(neighbors[1])) if follows_question else None


def _session_clause(comparison: Comparison) -> Clause | None:
    """The best memory of its session that ranks before it; None if that is in its neighborhood."""
    sessions, better = comparison.ranking.graph.nodes["sessions"], comparison.ranking.order[: comparison.index]
    same_session = better[sessions[better] == sessions[comparison.row]]
    if (
        sessions[comparison.row] < 0
        or not len(same_session)
        or same_session[0] in comparison.ranking.neighborhood[:, comparison.index]
    ):
        return None
    return Clause("is of the same session as", int(same_session[0]))


def _speaker_clause(comparison: Comparison) -> Clause | None:
    named = comparison.ranking.named_speakers
    if comparison.node.speaker is None or comparison.ranking.graph.nodes["speakers"][comparison.row] not in named:
        return None
    if role_of(comparison.node.speaker):
        return Clause(f"the {comparison.node.speaker}, who asks, speaks")
    who = "who is asked about" if len(named) == 1 else "one of those asked about"
    return Clause(f"{collapse_whitespace(comparison.node.speaker)}, {who}, speaks")


def _date_clause(comparison: Comparison) -> Clause | None:
    """Whether it happened in, or mentions, a time that the question names."""
    query = comparison.ranking.query
    for time in query.time_ranges:
        start, end = local_seconds(time.start), local_seconds(time.end)
        if temporal.happened_in(comparison.ranking.graph, time, query, np.array([comparison.row]))[0]:
            return Clause(f"is of {long_day(comparison.node.happened_at)}, the time asked about")
        for first, last in _time_mentions(comparison):
            if first < end and last > start:
                return Clause(f"speaks of {format_interval(first, last)}, the time asked about")
    return None


def _near_date_clause(comparison: Comparison) -> Clause | None:
    return Clause(f"is of {long_day(comparison.node.happened_at)}, near the time asked about")


def _time_mention_clause(comparison: Comparison) -> Clause | None:
    return next((Clause(f"speaks of a time, {format_interval(*one)}") for one in _time_mentions(comparison)), None)


def _time_mentions(comparison: Comparison) -> Iterator[tuple[float, float]]:
    """The times that it mentions, as start and end in local time where it was told (``local_seconds``)."""
    graph = comparison.ranking.graph
    mentions, shift = graph.time_mentions, 60.0 * float(graph.nodes["offsets"][comparison.row])
    places = np.flatnonzero(mentions["rows"] == comparison.row)
    starts, ends = mentions["starts"][places] + shift, mentions["ends"][places] + shift
    yield from zip(starts.tolist(), ends.tolist(), strict=True)


def _number_clause(comparison: Comparison) -> Clause | None:
    graph = comparison.ranking.graph
    places, _ = graph.postings(question.number_term_hashes())
    return Clause("gives a number") if comparison.row in graph.terms["rows"][places] else None


def _class_clause(comparison: Comparison) -> Clause | None:
    """The first thing that it mentions of the class asked for."""
    found = find_instances(comparison.node.text, comparison.ranking.query.text)
    return Clause(f"says “{found[0].text}” (for “{found[0].noun}”)") if found else None


def _recency_clause(comparison: Comparison) -> Clause | None:
    happened = comparison.ranking.graph.nodes["happened"]
    rest = happened[comparison.ranking.order[list(comparison.other_indices)]]
    if not len(rest) or happened[comparison.row] <= rest.max():
        return None
    return Clause(f"is later, of {long_day(comparison.node.happened_at)}")


def _path_clause(comparison: Comparison) -> Clause | None:
    """The memory that led to it, and the entity that links both."""
    ranking, graph = comparison.ranking, comparison.ranking.graph
    parent, entity, grandparent = _strongest_path(comparison, _path_clause)
    if parent in {-1, comparison.row}:  # the question itself activated it
        return comparison.cached_result(_similarity_clause)
    if entity < 0 and graph.nodes["kinds"][parent] == KIND_CODES[Kind.ENTITY]:
        parent, entity = grandparent if grandparent != comparison.row else -1, parent
    if parent < 0:
        return Clause("is linked to", quoted_row=entity)
    if not ranking.eligible[parent]:
        return None
    return Clause("follows from", parent, entity if entity in graph.mentioned_entities(np.array([parent])) else -1)


def _supersession_clause(comparison: Comparison) -> Clause | None:
    other, _, _ = _strongest_path(comparison, _supersession_clause)
    if other < 0 or not comparison.ranking.eligible[other]:
        return None
    known = validity.supersessions(comparison.ranking.graph)
    for place in known.by_row.get(comparison.row, ()):
        if other in {int(known.old[place]), int(known.new[place])} and other != comparison.row:
            is_old = known.old[place] == comparison.row
            return Clause(
                "contradicts" if known.is_contradiction[place] else "held before" if is_old else "replaces", other
            )
    return Clause("replaces", other)


def _feedback_clause(_comparison: Comparison) -> Clause | None:
    return Clause("was of use for a question like this one")


def _co_use_clause(comparison: Comparison) -> Clause | None:
    other, _, _ = _strongest_path(comparison, _co_use_clause)
    return Clause("was of use together with", other) if other >= 0 and comparison.ranking.eligible[other] else None


def _strongest_path(comparison: Comparison, build_clause: ClauseBuilder) -> tuple[int, int, int]:
    """The parent row, entity and grandparent row of the strongest feature of a clause builder; -1 for none."""
    ranking, place, found = comparison.ranking, comparison.index, (-1, -1, -1)
    max_lead = 0.0
    for feature, steps in ranking.path_steps.items():
        is_path = (
            build_clause in CLAUSE_BUILDERS.get(feature, ())
            and steps.parents[place] >= 0
            and ranking.contributions[feature][place] > 0
        )
        if is_path and comparison.contribution_leads[feature] > max_lead:
            max_lead, found = (
                comparison.contribution_leads[feature],
                (int(steps.parents[place]), int(steps.via_entities[place]), int(steps.grandparents[place])),
            )
    return found


def rerank_clause(comparison: Comparison) -> Clause | None:
    lead = sum(comparison.contribution_leads.get(name, 0.0) for name in RERANKINGS)
    return Clause("is likelier to answer, says the reranker", is_general=True) if lead > 0 else None


def role_clause(comparison: Comparison) -> Clause | None:
    node = comparison.node
    agreement = query_role_agreement(comparison.ranking.query, node.text, node.speaker)
    return Clause("says who did it and to whom as the question does", is_general=True) if agreement > 0 else None


def subject_clause(comparison: Comparison) -> Clause | None:
    node = comparison.node
    agreement = subject_agreement(comparison.ranking.query.text, node.text, node.speaker)
    return Clause("is about the person asked about", is_general=True) if agreement > 0 else None


def answer_time_clause(comparison: Comparison) -> Clause | None:
    """That it gains from being newer than another answer; or from being older, if a former state is meant."""
    newer, older = (
        comparison.ranking.contributions[name][comparison.index] if name in comparison.ranking.contributions else 0.0
        for name in ("newer answer", "older answer")
    )
    if newer > 0:
        return Clause("is newer than another answer", is_general=True)
    return (
        Clause("is older than another answer, and a former state is asked for", is_general=True) if older > 0 else None
    )


def series_clause(comparison: Comparison) -> Clause | None:
    """That it is the latest, or the first, of several answers, if the question asks for that one."""
    ranking, end = comparison.ranking, asked_end(comparison.ranking.query.text)
    others = np.flatnonzero(ranking.contributions["other end of series"] < 0)
    if not end or not len(others):
        return None
    order = end * time_order(ranking.graph, ranking.order[np.append(others, comparison.index)])
    if order[-1] <= order[:-1].max():
        return None
    return Clause(f"is the {'latest' if end > 0 else 'first'} of several answers")


def format_interval(start: float, end: float) -> str:
    """An interval as a day, month or year; otherwise as its first and last day.

    ``start`` and ``end`` are numbers of ``local_seconds``.
    """
    first, last = from_epoch_seconds(start), from_epoch_seconds(max(start, end - 1))
    if first.date() == last.date():
        return long_day(first)
    if (first.day, first.month, last.month) == (1, 1, 12) and first.year == last.year:
        return f"{first.year:04}"
    is_month_end = last.day == monthrange(last.year, last.month)[1]
    if first.day == 1 and (first.year, first.month) == (last.year, last.month) and is_month_end:
        return f"{first:%B} {first.year:04}"
    return f"{long_day(first)} to {long_day(last)}"


_FEATURE_GROUPS: tuple[tuple[tuple[ClauseBuilder, ...], tuple[str, ...]], ...] = (
    ((_media_clause,), (MEDIA,)),
    ((identifier_clause,), ("asked identifier", "identifier match", "other identifier")),
    ((_quantity_clause,), ("quantity match",)),
    (
        (relation_clause, text_clause),
        (
            "bm25",
            "bm25 of long question",
            "bm25 z-score",
            "rarest term",
            "novel term coverage",
            "query entity coverage",
        ),
    ),
    (
        (relation_clause, text_clause, _neighbor_clause),
        ("bm25 with previous turn", "bm25 with previous turn z-score", "window term coverage"),
    ),
    (
        (_similarity_clause,),
        (
            "similarity",
            "English similarity",
            "dense similarity",
            "dense similarity z-score",
            "centroid similarity",
            "residual similarity",
        ),
    ),
    (
        (_similarity_clause, _neighbor_clause),
        (
            "similarity with previous turn",
            "English similarity with previous turn",
            "dense similarity with previous turn",
            "dense similarity with previous turn z-score",
        ),
    ),
    ((_neighbor_clause,), ("adjacent turn", "next turn", "two turns away", "follows question")),
    ((_session_clause, _neighbor_clause), ("session score",)),
    ((_speaker_clause,), ("named speaker", "other speaker", "one of named speakers")),
    ((_date_clause,), ("asked time", "date match", "rare date match", "day match", "year match")),
    ((_near_date_clause,), ("near day match",)),
    ((_time_mention_clause,), ("time for when-question",)),
    ((_number_clause,), ("number for how-many-question",)),
    ((_class_clause,), ("instance of asked class",)),
    ((goal_clause,), ("goal",)),
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
    ((rerank_clause,), RERANKINGS),
    ((role_clause,), ("role agreement",)),
    ((subject_clause,), ("subject agreement",)),
    ((answer_time_clause,), ("newer answer", "older answer")),
    ((series_clause,), ("other end of series",)),
    ((_co_use_clause,), ("co-use",)),
)
CLAUSE_BUILDERS = {feature: builders for builders, features in _FEATURE_GROUPS for feature in features}
"""The clause builders of each feature, tried in order when it leads; features such as the length have none."""
