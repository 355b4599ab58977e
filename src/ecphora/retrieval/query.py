"""Analyzes a question: its terms, names, dates and vectors."""

from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, tzinfo
from threading import Lock

import numpy as np

from ..errors import EmbedderMismatch, InvalidText
from ..language.dates.mentions import time_mentions
from ..language.identifiers.mentions import asked_identifiers, quantity_hashes
from ..language.language_identification import is_english
from ..language.names.first_person import ask_oneself
from ..language.names.mentions import entity_id, names
from ..language.names.relation_mentions import asked_relations
from ..language.question import question_terms
from ..language.terms import hash_terms, surface_forms
from ..model.graph import media_spaces
from ..model.graph.graph import Graph
from ..model.ports import Embedder, NodeSource, embedder_coverage, similarity_floor
from ..model.times import in_zone
from ..model.types import Filter, Goal, Interval, MediaQuery, NodeId, Query, RelationName, Vector, Vectors, When
from ..model.validation import check_media_query, check_query, check_question
from . import relation_names, speakers

MAX_QUESTION_TERMS = 24
"""A longer question is not split, since its single terms say little."""


def question_words(question: str, graph: Graph) -> dict[int, str]:
    """The words of a question whose meaning reasons compare, by the places of their terms: without speakers it names.

    A text of more than :data:`MAX_QUESTION_TERMS` terms has none.
    """
    terms, forms = list(question_terms(question)), surface_forms(question)
    if len(terms) > MAX_QUESTION_TERMS:
        return {}
    speaker_terms = speakers.speaker_index(graph).by_term
    named = {term for term, code in zip(terms, hash_terms(terms).tolist(), strict=True) if code in speaker_terms}
    return {place: forms[term] for place, term in enumerate(terms) if term in forms and term not in named}


def analyze(
    question: str,
    graph: Graph,
    now: datetime,
    embedder: Embedder,
    embed: Callable[[str], Vector],
    *,
    read_nodes: NodeSource,
    where: Filter,
    as_of: When | None = None,
    known_at: When | None = None,
    retroactive: bool = False,
    goal: str | None = None,
    embed_goal: Callable[[str], Vector] | None = None,
    media: MediaQuery | None = None,
    zone: tzinfo = UTC,
    embed_english: Callable[[str], Vector] | None = None,
    embed_words: Callable[[str, Sequence[str]], Vectors] | None = None,
) -> Query:
    """Check, analyze and embed a question, once for everything that uses it.

    ``embed`` gives the vector of a question, ``embed_goal`` the vector of the goal, ``embed_words`` the vectors of the
    words of a question that was just embedded; none is called for an empty graph. ``embed_english`` gives the English
    vector of a question; it is called for an English question to a graph with English vectors. ``read_nodes`` fetches
    the memories that may say who "my sister" in a question is; it is not called for other questions. ``zone`` is the
    zone of times without an offset, and of the days that the question names. Raises ``InvalidInput`` for an invalid
    argument, and ``EmbedderMismatch`` if the graph has vectors of another length.
    """
    question, where, event_time, recording_time = check_query(question, where, as_of, known_at, retroactive, zone=zone)
    event_time = None if event_time is None else in_zone(event_time, zone)
    goal, media = _check_goal(goal), check_media_query(media)
    if media is not None:
        media_spaces.check_query(graph.media_spaces, media)
    time_and_filter = Query(
        question, now, as_of=event_time, known_at=recording_time, retroactive=retroactive, where=where
    )
    named = _name_relations(time_and_filter, graph, read_nodes)
    main_speaker = speakers.main_speaker(graph) or ""
    own = ask_oneself(named.text, main_speaker) if main_speaker and is_english(named.text) else named.text
    vector, english_vector = _embed_question(named.text, graph, embed, embed_english, own)
    stored = graph.vectors
    if vector is not None and len(stored) and stored.dim != len(vector):
        raise EmbedderMismatch(
            f"this scope has vectors of {stored.dim} numbers, {embedder.name!r} now gives {len(vector)}; "
            "open it with the original embedder, or give the new one another name"
        )
    query = build_query(
        question,
        now,
        vector=vector,
        word_vectors=None if vector is None or embed_words is None else _embed_words(named.text, graph, embed_words),
        embedder=embedder.name,
        embedder_coverage=embedder_coverage(embedder, question),
        similarity_floor=similarity_floor(embedder),
        as_of=event_time,
        known_at=recording_time,
        retroactive=retroactive,
        where=where,
        named=named,
        media=media,
        zone=zone,
    )
    query = replace(query, main_speaker=main_speaker, first_person_text="" if own == named.text else own)
    if english_vector is not None and graph.english_vectors.dim == len(english_vector):
        query = replace(query, english_vector=english_vector)
    if goal is None:
        return query
    goal_vector = None if embed_goal is None or not len(graph) else embed_goal(goal)
    return replace(query, goal=Goal(goal, goal_vector, embedder_coverage(embedder, goal)))


def _embed_question(
    question: str,
    graph: Graph,
    embed: Callable[[str], Vector],
    embed_english: Callable[[str], Vector] | None,
    english_text: str,
) -> tuple[Vector | None, Vector | None]:
    """The vectors of a question; None for what is not needed."""
    if not len(graph):
        return None, None
    if embed_english is None or not len(graph.english_vectors) or not is_english(question):
        return embed(question), None
    return embed(question), embed_english(english_text)


def _embed_words(question: str, graph: Graph, embed: Callable[[str, Sequence[str]], Vectors]) -> Vectors | None:
    """The vectors of a question's words as they stand in it: a row for each term, zeros for those without one."""
    words = question_words(question, graph)
    if not words:
        return None
    found = embed(question, list(words.values()))
    vectors = np.zeros((len(question_terms(question)), found.shape[1]), np.float32)
    vectors[list(words)] = found
    return vectors


def _check_goal(goal: object) -> str | None:
    """Check a goal like a question, or None."""
    try:
        return None if goal is None else check_question(goal)
    except InvalidText as error:
        raise InvalidText(f"goal: {error}") from error


@dataclass(frozen=True, slots=True)
class NamedQuestion:
    """A question with names in place of relations: "Where does Marta work?" for "Where does my sister work?"."""

    text: str
    relation_names: Sequence[RelationName] = ()
    entity_ids: Sequence[NodeId] = ()


def _name_relations(query: Query, graph: Graph, read_nodes: NodeSource) -> NamedQuestion:
    """Look up who "my sister" in a question is, in the memories that the query may return."""
    asked = asked_relations(query.text)
    found = relation_names.find_relation_names(graph, query, asked, read_nodes) if asked and len(graph) else ()
    if not found:
        return NamedQuestion(query.text)
    text = relation_names.replace_relations(query.text, asked, found)
    return NamedQuestion(text, found, relation_names.entity_ids(graph, found))


def build_query(
    text: str,
    now: datetime,
    *,
    vector: Vector | None,
    embedder_coverage: float,
    embedder: str = "",
    similarity_floor: float = 0.0,
    word_vectors: Vectors | None = None,
    as_of: datetime | None = None,
    known_at: datetime | None = None,
    retroactive: bool = False,
    where: Filter | None = None,
    named: NamedQuestion | None = None,
    media: MediaQuery | None = None,
    zone: tzinfo = UTC,
) -> Query:
    """Build a query from a text, its vector, and the vectors of its words by the places of their terms.

    ``named`` is the text with names in place of relations; terms and vectors belong to this text. ``zone`` is the zone
    of the days and hours that the text names.
    """
    named = named or NamedQuestion(text)
    term_hashes = hash_terms(list(question_terms(named.text)))
    return Query(
        text=text,
        named_text=named.text if named.relation_names else "",
        now=now,
        vector=vector,
        embedder=embedder,
        embedder_coverage=embedder_coverage,
        similarity_floor=similarity_floor,
        term_hashes=term_hashes,
        word_vectors=word_vectors,
        entity_ids=tuple(dict.fromkeys((*(entity_id(name) for name in names(text)), *named.entity_ids))),
        relation_names=tuple(named.relation_names),
        time_ranges=_time_ranges(text, as_of or now, zone),
        identifiers=asked_identifiers(text),
        quantities=quantity_hashes(text),
        as_of=as_of,
        known_at=known_at,
        retroactive=retroactive,
        where=where or Filter(),
        media=media,
    )


def _time_ranges(text: str, reference_time: datetime, zone: tzinfo) -> tuple[Interval, ...]:
    """The times that a question asks about, by the calendar of a zone."""
    try:
        local = reference_time.astimezone(zone)
    except OverflowError:  # at the ends of the calendar
        local = reference_time
    return tuple(Interval(in_zone(time.start, zone), in_zone(time.end, zone)) for time in time_mentions(text, local))


MAX_GOALS = 64
"""The most goals whose vectors are kept."""


class QueryEmbedder:
    """Embeds each question in one run, and keeps the vectors of the goals that were used last.

    ``embed`` gives the vectors of texts as queries. Safe to share between threads, which may embed the same new goal
    twice.
    """

    def __init__(self, embed: Callable[[Sequence[str]], Vectors]) -> None:
        self._embed = embed
        self._goal_vectors: OrderedDict[str, Vector] = OrderedDict()
        """The vectors of goals, the least recently used first."""
        self._lock = Lock()

    def __call__(self, question: str) -> Vector:
        """The vector of a question."""
        return self._embed([question])[0]

    def goal_vector(self, goal: str) -> Vector:
        """The vector of a goal."""
        with self._lock:
            if (found := self._goal_vectors.get(goal)) is not None:
                self._goal_vectors.move_to_end(goal)
                return found
        vector = self._embed([goal])[0]
        with self._lock:
            self._goal_vectors[goal] = vector
            while len(self._goal_vectors) > MAX_GOALS:
                self._goal_vectors.popitem(last=False)
        return vector
