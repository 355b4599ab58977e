"""The features of the class that a question asks for: "which cities" is answered by a memory that mentions Chicago."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ....language.classes import Instances, asked_instances, hash_text
from ....model.graph.columns import best_of_group, find_keys
from ....model.ids import ENTITY_PREFIX
from ....model.types import Rows, Scores
from ....retrieval import entity_links
from ....retrieval.entity_links import rarity
from ....retrieval.speakers import speaker_index
from ..candidate_pool import CandidatePool

TITLE_VALUE = 0.5
"""What a name of several words counts if the question asks for a title: it may be one."""


@dataclass(frozen=True, slots=True)
class InstanceMentions:
    """Which rows of the pool mention which instances: an entry for each pair, with the rarity of the instance.

    ``instances`` are numbers that tell instances apart.
    """

    row_index: Rows
    instances: Rows
    rarity: NDArray[np.float64]


def compute(pool: CandidatePool) -> dict[str, Scores]:
    """Features of the instances of the class asked for; the question's own words and the speakers are none.

    ``instance of asked class`` is the rarity of the rarest instance that a row mentions. ``repeated instance`` marks
    the rows that mention instances, all of which a row with a higher first-stage score mentions too.
    """
    rarest, is_repeated = np.zeros((2, len(pool.rows)), np.float32)
    instances = asked_instances(pool.query.text) if len(pool.rows) else None
    if instances is not None:
        mentions = _instance_mentions(pool, instances)
        np.maximum.at(rarest, mentions.row_index, mentions.rarity.astype(np.float32))
        is_repeated[mentions.row_index] = 1
        is_repeated[mentions.row_index[best_of_group(mentions.instances, pool.scores[mentions.row_index])]] = 0
    return {"instance of asked class": rarest, "repeated instance": is_repeated}


def _instance_mentions(pool: CandidatePool, instances: Instances) -> InstanceMentions:
    words, names = _word_mentions(pool, instances), _name_mentions(pool, instances)
    return InstanceMentions(
        np.concatenate([words.row_index, names.row_index]),
        np.concatenate([words.instances, names.instances + len(instances.terms) + len(instances.pairs)]),
        np.concatenate([words.rarity, names.rarity]),
    )


def _word_mentions(pool: CandidatePool, instances: Instances) -> InstanceMentions:
    """The mentions of instances by words; of two terms the rarity of the rarer one counts."""
    graph, terms = pool.graph, instances.terms
    entries, term_index = graph.postings(terms)
    term_rarity = rarity(np.bincount(term_index, minlength=len(terms)), graph.episode_count)
    row_index, is_in_pool = find_keys(pool.rows, graph.terms["rows"][entries].astype(np.intp))
    row_index, term_index = row_index[is_in_pool], term_index[is_in_pool]
    is_asked = np.isin(terms, pool.query.term_hashes)
    is_found = np.zeros(len(terms), np.bool_)
    is_found[term_index] = True
    known_pairs = np.flatnonzero(is_found[instances.pairs].all(axis=1) & ~is_asked[instances.pairs].all(axis=1))
    pairs = instances.pairs[known_pairs]
    pair_rows, found = _rows_of_pairs(row_index, term_index, pairs)
    is_word = (instances.is_word & ~is_asked)[term_index]
    return InstanceMentions(
        np.concatenate([row_index[is_word], pair_rows]),
        np.concatenate([term_index[is_word], known_pairs[found] + len(terms)]),
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


def _name_mentions(pool: CandidatePool, instances: Instances) -> InstanceMentions:
    """The mentions of instances by names."""
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
    is_instance = values[index] > 0
    return InstanceMentions(pool.mentions.row_index[is_instance], index[is_instance], values[index[is_instance]])
