"""The feature of the class that a question asks for: "which cities" is answered by a memory that mentions Chicago."""

import numpy as np
from numpy.typing import NDArray

from ....grouping import find_keys
from ....ids import ENTITY_PREFIX
from ....language.classes import Instances, asked_instances, hash_text
from ....model import Rows, Scores
from ...retrieval import entity_links
from ...retrieval.rarity import rarity
from ...retrieval.speakers import speaker_index
from ..candidate_pool import CandidatePool

TITLE_VALUE = 0.5
"""What a name of several words counts if the question asks for a title: it may be one."""


def compute(pool: CandidatePool) -> dict[str, Scores]:
    """``instance of asked class`` is the rarity of the rarest instance of the class that a row mentions.

    The question's own words are no instances, nor are the speakers' names.
    """
    rarest = np.zeros(len(pool.rows), np.float32)
    instances = asked_instances(pool.query.text) if len(pool.rows) else None
    if instances is not None:
        for index, values in (_word_rarity(pool, instances), _name_rarity(pool, instances)):
            np.maximum.at(rarest, index, values.astype(np.float32))
    return {"instance of asked class": rarest}


def _word_rarity(pool: CandidatePool, instances: Instances) -> tuple[Rows, NDArray[np.float64]]:
    """The rows, by their index, that have a word of an instance, and how rare it is; of two terms the rarer counts."""
    graph, terms = pool.graph, instances.terms
    entries, term_index = graph.postings(terms)
    term_rarity = rarity(np.bincount(term_index, minlength=len(terms)), graph.episode_count)
    row_index, is_in_pool = find_keys(pool.rows, graph.terms["rows"][entries].astype(np.intp))
    row_index, term_index = row_index[is_in_pool], term_index[is_in_pool]
    is_asked = np.isin(terms, pool.query.term_hashes)
    is_found = np.zeros(len(terms), np.bool_)
    is_found[term_index] = True
    pairs = instances.pairs[is_found[instances.pairs].all(axis=1) & ~is_asked[instances.pairs].all(axis=1)]
    pair_rows, found = _rows_of_pairs(row_index, term_index, pairs)
    is_word = (instances.is_word & ~is_asked)[term_index]
    return (
        np.concatenate([row_index[is_word], pair_rows]),
        np.concatenate([term_rarity[term_index[is_word]], term_rarity[pairs[found]].max(axis=1, initial=0)]),
    )


def _rows_of_pairs(row_index: Rows, term_index: Rows, pairs: Rows) -> tuple[Rows, Rows]:
    """The rows that have both terms of a pair, and the index of that pair."""
    if not len(pairs):
        return np.zeros(0, np.intp), np.zeros(0, np.intp)
    used, index = np.unique(pairs, return_inverse=True)
    place, is_used = find_keys(used, term_index)
    has_term = np.zeros((int(row_index.max()) + 1, len(used)), np.bool_)
    has_term[row_index[is_used], place[is_used]] = True
    first, last = index.reshape(pairs.shape).T
    rows, found = np.nonzero(has_term[:, first] & has_term[:, last])
    return rows, found


def _name_rarity(pool: CandidatePool, instances: Instances) -> tuple[Rows, NDArray[np.float64]]:
    """The rows that mention an instance by name, and how rare that is."""
    graph = pool.graph
    entities, index = np.unique(pool.mentions.entities, return_inverse=True)
    speakers = speaker_index(graph).by_entity
    ids = [graph.id(entity) for entity in entities.tolist()]
    names = [id_.removeprefix(ENTITY_PREFIX) for id_ in ids]
    _, is_known = find_keys(instances.names, np.array([hash_text(name) for name in names], np.uint32))
    may_be_title = np.array([instances.has_titles and " " in name for name in names], np.bool_)
    values = np.where(is_known, 1, TITLE_VALUE * may_be_title)
    values[np.isin(entities, pool.query_entities)] = 0
    values[[id_ in speakers for id_ in ids]] = 0
    values *= rarity(entity_links.mention_counts(graph)[entities], graph.episode_count)
    return pool.mentions.row_index, values[index]
