"""Documents: checked episodes, the chunks into which long texts are cut, and which texts are stored already.

An episode without an id of its own has the hash of its content as its id, so an unchanged document is recognized by its
hash and skipped.

Repeats: a text that is said again, without a time, is a new memory; a text that is only sent again is not.

The id of an episode without an id is a digest of its content. Of equal contents the first has this id, the second one
derived from it and the number 2, and so on. So the id says which occurrence of its content a memory is, and the ids do
not depend on the file.

An episode with a time, a title, a source or media is the same wherever it is said; the result of a tool is the
exception, because its source says nothing about it.
"""

import sys
import warnings
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, tzinfo

import numpy as np

from ..errors import IdCollision, InvalidInput
from ..language.chat_roles import Role
from ..language.chunking import split_into_chunks
from ..model.graph import media_spaces
from ..model.graph.graph import Graph, epoch_seconds
from ..model.ids import NODE_PREFIXES, content_id
from ..model.reprs import show
from ..model.types import Episode, Kind, MediaVector, Node, NodeId
from ..model.validation import check_episode_fields, check_media
from ..retrieval.validity import has_less_trust

MARKDOWN_SUFFIXES = (".md", ".markdown")
"""The suffixes of sources and titles of Markdown texts; other texts are Markdown if they look like it."""


# ---- checked episodes


@dataclass(frozen=True, slots=True)
class CheckedEpisode:
    """An episode that can be written.

    ``chunks`` are its nodes, one unless the text is long. ``is_repeatable`` says that the same content may be said
    again, and that the id belongs to its first occurrence (see :mod:`ecphora.remember.documents`).
    """

    id: NodeId
    chunks: tuple[Node, ...]
    supersedes: NodeId | None
    has_date: bool
    media_vectors: tuple[MediaVector, ...] = ()
    is_repeatable: bool = False


def check_episode(episode: Episode, now: datetime, zone: tzinfo = UTC) -> CheckedEpisode:
    """Check an episode and cut it into nodes; raises ``InvalidInput`` before anything is written.

    A time without an offset is local time of ``zone``.
    """
    episode, time = check_episode_fields(episode, zone)
    episode = replace(episode, media=check_media(episode.media))
    node = Node(
        id=episode.id or document_id(episode, time),
        kind=Kind.EPISODE,
        text=episode.text,
        happened_at=now if time is None else time,
        recorded_at=now,
        speaker=episode.speaker,
        session=episode.session,
        title=episode.title,
        source=episode.source,
        trust=episode.trust,
        metadata=episode.metadata,
        media=tuple(replace(one, vector=(), model=None) for one in episode.media),
    )
    parts = chunks(node)
    vectors = tuple(
        MediaVector(parts[0].id, place, one.model, np.array(one.vector, np.float32))
        for place, one in enumerate(episode.media)
        if one.model is not None
    )
    is_repeatable = (
        (episode.id, time, episode.title) == (None, None, None)
        and episode.source in {None, Role.TOOL.value}
        and not episode.media
    )
    return CheckedEpisode(node.id, parts, episode.supersedes, time is not None, vectors, is_repeatable)


def document_id(episode: Episode, happened_at: datetime | None) -> NodeId:
    """The hash of an episode's content, the id of an episode without one; a time counts if the episode has one."""
    identity = (episode.text, episode.speaker, episode.session, episode.title, episode.source)
    date = () if happened_at is None else (repr(epoch_seconds(happened_at)),)
    media = (part for one in episode.media for part in (one.reference, one.caption))
    return content_id(*(value or "" for value in identity), *date, *media)


# ---- chunks


def chunks(node: Node) -> tuple[Node, ...]:
    """Cut a node with a long text into nodes that fit an embedder."""
    is_markdown = any((name or "").lower().endswith(MARKDOWN_SUFFIXES) for name in (node.source, node.title))
    parts = split_into_chunks(node.text, markdown=is_markdown or None)
    if len(parts) == 1:
        return (node,)
    return tuple(
        replace(
            node,
            id=f"{node.id}#{place}",
            media=node.media if place == 1 else (),
            text=part.text,
            document=node.id,
            position=place,
            start=part.start,
            heading=part.heading,
        )
        for place, part in enumerate(parts, 1)
    )


def with_start_offsets(nodes: Sequence[Node]) -> list[Node]:
    """The same nodes, each chunk of a text with its start offset, computed from the chunks before it."""
    starts: dict[NodeId, int] = {}
    ends: dict[NodeId, int] = {}
    for node in sorted((node for node in nodes if node.document is not None), key=lambda node: node.position):
        starts[node.id] = ends.get(str(node.document), 0)
        ends[str(node.document)] = starts[node.id] + len(node.text)
    return [replace(node, start=starts[node.id]) if starts.get(node.id) else node for node in nodes]


def reassemble(nodes: Sequence[Node]) -> Node:
    """Join the chunks of a node into the node that was cut."""
    first = nodes[0]
    if first.document is None:
        return first
    text = "".join(node.text for node in nodes)
    return replace(first, id=first.document, text=text, document=None, position=0, start=0, heading=None)


def node_ids_of(graph: Graph, node_id: NodeId) -> list[NodeId]:
    """The ids of the nodes that an id stands for: itself, or its chunks; none if it does not exist."""
    if graph.row(node_id) is not None:
        return [node_id]
    return [graph.id(row) for row in graph.document_rows(node_id)]


def expand_to_documents(graph: Graph, node_ids: Iterable[NodeId]) -> list[NodeId]:
    """These nodes and every other chunk of their documents, each once."""
    found: dict[NodeId, None] = {}
    for node in node_ids:
        row = graph.row(node)
        document = -1 if row is None else int(graph.nodes["documents"][row])
        chunk_rows = graph.document_rows(graph.documents.names[document]) if document >= 0 else ()
        found.update(dict.fromkeys([graph.id(chunk_row) for chunk_row in chunk_rows] or [node]))
    return list(found)


# ---- what is stored already


def same_content(episode: CheckedEpisode, nodes: Sequence[Node]) -> bool:
    """Whether a stored memory equals an episode; an episode without a time of its own equals one of any time."""
    ours, theirs = reassemble(episode.chunks), reassemble(nodes)
    return (
        (ours.text, ours.speaker, ours.session, ours.title, ours.source, ours.media)
        == (theirs.text, theirs.speaker, theirs.session, theirs.title, theirs.source, theirs.media)
    ) and (not episode.has_date or ours.happened_at == theirs.happened_at)


def find_occupied_id(episode: CheckedEpisode, graph: Graph) -> NodeId | None:
    """The first id of an episode's chunks that another memory has, None if there is none."""
    return next((node.id for node in episode.chunks if graph.row(node.id) is not None), None)


def collision_error(episode: CheckedEpisode, occupied_id: NodeId | None = None) -> IdCollision:
    """The error for an id that another memory has: ``occupied_id``, by default the episode's id."""
    of_chunk = "" if occupied_id in {None, episode.id} else f", which a chunk of {episode.id!r} needs,"
    return IdCollision(
        f"the id {occupied_id or episode.id!r}{of_chunk} already belongs to another memory; choose another id (to "
        "replace a fact, remember the new one with supersedes=), or forget the old one and remember this one with "
        "restore=True"
    )


def is_stored(episode: CheckedEpisode, graph: Graph, stored_nodes: Sequence[Node]) -> bool:
    """Whether an episode is stored already, so that it is skipped; ``stored_nodes`` are the nodes of its id.

    Raises ``IdCollision`` if another text has its id or the id of a chunk.
    """
    if stored_nodes:
        if not same_content(episode, stored_nodes):
            raise collision_error(episode)
        return True
    occupied_id = find_occupied_id(episode, graph)
    if occupied_id is not None:
        raise collision_error(episode, occupied_id)
    return False


def _check_trust(episode: CheckedEpisode, graph: Graph, predecessor: CheckedEpisode | None) -> None:
    """Check that an episode has the trust to supersede its predecessor, in the graph or among earlier episodes."""
    stored = graph.rows(node_ids_of(graph, str(episode.supersedes)))
    trusts = [
        *graph.nodes["trust"][stored].tolist(),
        *(node.trust for node in (predecessor.chunks if predecessor else ())),
    ][:1]
    ours = episode.chunks[0].trust
    if trusts and has_less_trust(ours, trusts[0]):
        raise InvalidInput(
            f"{episode.id!r} has trust {ours:g} and may not supersede {episode.supersedes!r}, which has {trusts[0]:g}; "
            f"remember it without supersedes, or with a trust of at least {trusts[0]:g}"
        )


def _is_no_memory(id_: NodeId, graph: Graph) -> bool:
    """Whether an id belongs to a name, claim, question or other node that is no memory."""
    rows = graph.rows(node_ids_of(graph, id_))
    return not graph.episodes[rows[0]] if len(rows) else id_.startswith(NODE_PREFIXES)


def _has_tombstone(id_: NodeId, graph: Graph) -> bool:
    """Whether a memory with an id was forgotten; the tombstones of a long text have the ids of its chunks."""
    return id_ in graph.tombstones or f"{id_}#1" in graph.tombstones


def deduplicate(episodes: Iterable[CheckedEpisode], graph: Graph) -> dict[NodeId, CheckedEpisode]:
    """Return the episodes by id, each once.

    The media vectors of equal episodes are joined.

    Raises ``IdCollision`` if two texts have one id, and ``InvalidInput`` if an episode supersedes what is no memory, a
    memory that is neither in the graph nor among the earlier episodes, or a memory that has more trust, and if the
    media vectors of one model differ in length.
    """
    found: dict[NodeId, CheckedEpisode] = {}
    for one in episodes:
        if one.supersedes and _is_no_memory(one.supersedes, graph):
            raise InvalidInput(
                f"{one.id!r} supersedes {one.supersedes!r}, which is no memory; give the id of a memory, such as hit.id"
            )
        is_known = not one.supersedes or one.supersedes in found or _has_tombstone(one.supersedes, graph)
        if not is_known and not node_ids_of(graph, str(one.supersedes)):
            raise InvalidInput(
                f"{one.id!r} supersedes {one.supersedes!r}, which does not exist; remember that one first"
            )
        if one.supersedes and (one.is_repeatable or not node_ids_of(graph, one.id)):
            _check_trust(one, graph, found.get(one.supersedes))
        other = found.setdefault(one.id, one)
        if other is not one and not same_content(one, other.chunks):
            raise collision_error(one)
        if other is not one and one.media_vectors:
            found[one.id] = replace(other, media_vectors=(*other.media_vectors, *one.media_vectors))
    taken: dict[NodeId, CheckedEpisode] = {}
    for one in found.values():
        for node in one.chunks:
            if taken.setdefault(node.id, one) is not one:
                raise collision_error(one, node.id)
    media_spaces.check_dims(graph.media_spaces, (vector for one in found.values() for vector in one.media_vectors))
    return found


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


SILENT_CALLERS = ("ecphora.cli.", "ecphora.remote.", "ecphora.tools.", "ecphora.memory", "ecphora.maintenance.")
"""The modules that report themselves what was blocked."""


class BlockedWarning(UserWarning):
    """A text was not remembered, because it was forgotten or replaced before."""


def warn_of_blocked(blocked: Sequence[str]) -> None:
    """Warn the caller of the function that calls this one of the ids in ``blocked``, once for all."""
    caller = sys._getframe(2).f_globals.get("__name__", "")  # noqa: SLF001  # as warnings.warn does
    if not blocked or str(caller).startswith(SILENT_CALLERS):
        return
    more = f" and {len(blocked) - 1} more" if len(blocked) > 1 else ""
    warnings.warn(
        f"{show(blocked[0])}{more} not remembered, because the text was forgotten or replaced before; "
        "call remember with restore=True to store it again",
        BlockedWarning,
        stacklevel=3,
    )
