"""Repeats: a text that is said again, without a time, is a new memory; a text that is only sent again is not.

The id of an episode without an id is a digest of its content. Of equal contents the first has this id, the second one
derived from it and the number 2, and so on. So the id says which occurrence of its content a memory is, and the ids do
not depend on the file.

An episode with a time, a title, a source or media is the same wherever it is said; the result of a tool is the
exception, because its source says nothing about it.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from ..model.graph.graph import Graph
from ..model.ids import content_id
from ..model.types import NodeId
from .documents import CheckedEpisode, node_ids_of


def number_repeats(episodes: Iterable[CheckedEpisode]) -> list[CheckedEpisode]:
    """Give the episodes of a batch the ids of their occurrences in it.

    What its session says again right after itself is one occurrence. The ids depend on the batch alone, so the same
    batch has the same ids.
    """
    counts: Counter[NodeId] = Counter()
    last_in_session: dict[str | None, NodeId] = {}
    found: list[CheckedEpisode] = []
    for episode in episodes:
        session = episode.chunks[0].session
        if last_in_session.get(session) != episode.id:
            counts[episode.id] += 1
        last_in_session[session] = episode.id
        number = counts[episode.id] if episode.is_repeatable else 1
        found.append(replace(_as_occurrence(episode, number), is_repeatable=False))
    return found


def place_repeat(episode: CheckedEpisode, graph: Graph) -> CheckedEpisode:
    """Give an episode that is told alone the id of its occurrence.

    If nothing was stored in its session since it was last said, that is the stored one, and else the next. Only the
    session counts: others may be talking at the same time.
    """
    if not episode.is_repeatable:
        return episode
    last_id, number = last_memory(graph, episode.chunks[0].session), 1
    while node_ids_of(graph, (occurrence := _as_occurrence(episode, number)).id):
        if occurrence.id == last_id:
            break
        number += 1
    return occurrence


def last_memory(graph: Graph, session: str | None) -> NodeId | None:
    """The id of the memory of a session that was stored last, None if there is none."""
    code = graph.sessions.code(session)
    if session is not None and code < 0:
        return None
    rows = np.flatnonzero(graph.episodes & (graph.nodes["sessions"] == code))
    if not len(rows):
        return None
    document = int(graph.nodes["documents"][rows[-1]])
    return graph.documents.names[document] if document >= 0 else graph.id(int(rows[-1]))


def _as_occurrence(episode: CheckedEpisode, number: int) -> CheckedEpisode:
    """An episode with the id of the occurrence of its content with a number, from 1."""
    if number == 1:
        return episode
    id_ = content_id(episode.id, str(number))
    chunks = tuple(
        replace(node, id=id_ if node.document is None else f"{id_}#{node.position}", document=node.document and id_)
        for node in episode.chunks
    )
    return replace(episode, id=id_, chunks=chunks)
