"""Entity features: EcphoryRAG's cues and co-occurrence, and links from memory to memory through entities."""

import numpy as np

from ....model.types import Scores
from ....retrieval import entity_links, fusion
from ..candidate_pool import CandidatePool


def compute(pool: CandidatePool) -> dict[str, Scores]:
    """Features of entities.

    ``title match`` marks rows about a query entity; ``query entity coverage`` is the rarity-weighted fraction of the
    query entities that a row mentions. ``title link`` and ``shared entities`` are links from the best memories, see
    ``follow_entities``, and ``best entity link`` is the better of both. ``entity 1-hop`` and
    ``entity 2-hop`` follow the entities that the query or the best memories mention once and twice, see
    ``direct_mentions``. Links are multiplied by ``query.embedder_coverage``: in a language that the
    embedder does not cover few entities are found, and the memories they start from match by shared terms alone.
    """
    rows, embedder_coverage = pool.rows, np.float32(pool.query.embedder_coverage)
    title_link, shared_entities = (
        embedder_coverage * pool.title_links.strengths_of(rows),
        embedder_coverage * fusion.max_normalize(pool.shared_entities.strengths_of(rows)),
    )
    return {
        "title match": np.isin(rows, pool.title_matches).astype(np.float32),
        "query entity coverage": entity_links.entity_coverage(
            pool.graph, pool.query_entities, pool.mentions, len(rows)
        ),
        "title link": title_link,
        "shared entities": shared_entities,
        "entity 1-hop": embedder_coverage * pool.one_hop.strengths_of(rows),
        "entity 2-hop": embedder_coverage * pool.two_hop.strengths_of(rows),
        "best entity link": np.maximum(title_link, shared_entities),
    }
