"""Checks of episodes before anything is written."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from .documents import chunks, node_ids_of, reassemble
from .errors import IdCollision, InvalidInput
from .graph import Graph, epoch_seconds
from .ids import NODE_PREFIXES, content_id
from .model import (
    Episode,
    Kind,
    Node,
    NodeId,
)
from .stages.retrieval.trust import has_less_trust
from .validate import check_episode_fields


@dataclass(frozen=True, slots=True)
class CheckedEpisode:
    """An episode that can be written. ``chunks`` are its nodes, one unless the text is long."""

    id: NodeId
    chunks: tuple[Node, ...]
    supersedes: NodeId | None
    has_date: bool


def check_episode(episode: Episode, now: datetime) -> CheckedEpisode:
    """Check an episode and cut it into nodes; raises ``InvalidInput`` before anything is written."""
    if not isinstance(episode, Episode):
        raise InvalidInput(
            f"a {type(episode).__name__} cannot be remembered; give a text, an Episode, or several of them"
        )
    episode, time = check_episode_fields(episode)
    if (episode.id or "").startswith(NODE_PREFIXES):
        raise InvalidInput(
            f"the id {episode.id!r} begins like an id of a name, insight, question or claim; choose another"
        )
    happened_at = now if time is None else time
    identity = (episode.text, episode.speaker, episode.session, episode.title, episode.source)
    date = () if time is None else (repr(epoch_seconds(happened_at)),)
    node = Node(
        id=episode.id or content_id(*(value or "" for value in identity), *date),
        kind=Kind.EPISODE,
        text=episode.text,
        happened_at=happened_at,
        recorded_at=now,
        speaker=episode.speaker,
        session=episode.session,
        title=episode.title,
        source=episode.source,
        trust=episode.trust,
        metadata=episode.metadata,
    )
    return CheckedEpisode(node.id, chunks(node), episode.supersedes, time is not None)


def same_content(episode: CheckedEpisode, nodes: Sequence[Node]) -> bool:
    """Whether a stored memory equals an episode; an episode without a time of its own equals one of any time."""
    ours, theirs = reassemble(episode.chunks), reassemble(nodes)
    return (
        (ours.text, ours.speaker, ours.session, ours.title, ours.source)
        == (theirs.text, theirs.speaker, theirs.session, theirs.title, theirs.source)
    ) and (not episode.has_date or ours.happened_at == theirs.happened_at)


def collision_error(episode: CheckedEpisode) -> IdCollision:
    """The error for an id that another memory has."""
    return IdCollision(
        f"the id {episode.id!r} already belongs to another memory; choose another id (to replace a fact, "
        "remember the new one with supersedes=), or forget the old one and remember this one with restore=True"
    )


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


def deduplicate(episodes: Iterable[CheckedEpisode], graph: Graph) -> dict[NodeId, CheckedEpisode]:
    """Return the episodes by id, each once.

    Raises ``IdCollision`` if two texts have one id, and ``InvalidInput`` if an episode supersedes one that is neither
    in the graph nor among the earlier episodes, or one that has more trust.
    """
    found: dict[NodeId, CheckedEpisode] = {}
    for one in episodes:
        is_known = not one.supersedes or one.supersedes in found or one.supersedes in graph.tombstones
        if not is_known and not node_ids_of(graph, str(one.supersedes)):
            raise InvalidInput(
                f"{one.id!r} supersedes {one.supersedes!r}, which does not exist; remember that one first"
            )
        if one.supersedes and not node_ids_of(graph, one.id):
            _check_trust(one, graph, found.get(one.supersedes))
        other = found.setdefault(one.id, one)
        if other is not one and not same_content(one, other.chunks):
            raise collision_error(one)
    taken: dict[NodeId, CheckedEpisode] = {}
    for one in found.values():
        if any(taken.setdefault(node.id, one) is not one for node in one.chunks):
            raise collision_error(one)
    return found
