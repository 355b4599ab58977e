"""A question, read once: its terms, names, dates and vectors."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from .graph import Graph
from .language.dates import time_mentions
from .language.names import entity_id, names
from .language.question import topic
from .language.terms import extract_terms, hash_terms, surface_forms
from .model import (
    Filter,
    Query,
    Vector,
    Vectors,
)
from .stages.retrieval import speakers

MAX_QUESTION_TERMS = 24
"""A question of more words is a text, of which single words say little."""


@dataclass(frozen=True, slots=True)
class QueryParts:
    """The texts of a question that are embedded: itself, its topic, and words of that by their place in the cue's."""

    question: str
    topic: str
    term_texts: Mapping[int, str]

    @property
    def texts(self) -> list[str]:
        """Each text once."""
        return list(dict.fromkeys((self.question, self.topic, *self.term_texts.values())))


def query_parts(question: str, graph: Graph) -> QueryParts:
    """Take a question apart: what it is about, without the speakers it names, and the words of that.

    A text of more than :data:`TERMS` words is taken as it is: what each of its words means says little.
    """
    found, written, names_ = (
        dict.fromkeys(extract_terms(question)),
        surface_forms(question),
        speakers.speaker_index(graph).by_term,
    )
    if len(found) > MAX_QUESTION_TERMS:
        return QueryParts(question, question, {})
    named = {word for word, code in zip(found, hash_terms(list(found)).tolist(), strict=True) if code in names_}
    terms = {i: written[word] for i, word in enumerate(found) if word in written and word not in named}
    return QueryParts(question, topic(question, named), terms)


def build_query(
    text: str,
    now: datetime,
    *,
    vector: Vector | None,
    embedder_coverage: float,
    similarity_floor: float = 0.0,
    embedded_parts: tuple[QueryParts, Vectors] | None = None,
    as_of: datetime | None = None,
    known_at: datetime | None = None,
    retroactive: bool = False,
    where: Filter | None = None,
) -> Query:
    """A question with all that its words say; ``of_parts`` are its parts and the vectors of their texts."""
    distinct = hash_terms(list(dict.fromkeys(extract_terms(text))))
    topic_, terms = None, None
    if embedded_parts is not None:
        asked, vectors = embedded_parts
        known = dict(zip(asked.texts, vectors, strict=True))
        vector, topic_ = known[text], known[asked.topic]
        terms = np.zeros((len(distinct), len(vector)), np.float32)
        for place, word in asked.term_texts.items():
            terms[place] = known[word]
    return Query(
        text=text,
        now=now,
        vector=vector,
        embedder_coverage=embedder_coverage,
        similarity_floor=similarity_floor,
        term_hashes=distinct,
        topic_vector=topic_,
        term_vectors=terms,
        entity_ids=tuple(entity_id(name) for name in names(text)),
        time_ranges=time_mentions(text, as_of or now),
        as_of=as_of,
        known_at=known_at,
        retroactive=retroactive,
        where=where or Filter(),
    )
