"""Episodes as they came in, checked: what is wrong with one is found here, before anything is written."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import blake2b

from . import validate
from .documents import chunks, node_ids_of, reassemble
from .errors import IdCollision, InvalidInput
from .graph import Graph, epoch_seconds
from .ids import CLAIM_PREFIX, ENTITY_PREFIX, INSIGHT_PREFIX, QUESTION_PREFIX
from .model import (
    Episode,
    Kind,
    Node,
    NodeId,
)
from .stages.retrieval.trust import has_less_trust


@dataclass(frozen=True, slots=True)
class CheckedEpisode:
    """An episode that was checked: it can be written. ``pieces`` are its nodes, one unless the text is long."""

    id: NodeId
    chunks: tuple[Node, ...]
    supersedes: NodeId | None
    has_date: bool


def check_episode(episode: Episode, now: datetime) -> CheckedEpisode:
    """Check an episode and cut it into nodes; raises ``InvalidInput`` before anything is written."""
    if not isinstance(episode, Episode):
        raise InvalidInput(f"a {type(episode).__name__} cannot be remembered; hand in a text or an Episode, or several")
    text = validate.check_text(episode.text)
    names_ = {
        field: validate.check_optional_name(field, getattr(episode, field))
        for field in ("id", "speaker", "session", "title", "source", "supersedes")
    }
    if (names_["id"] or "").startswith((ENTITY_PREFIX, INSIGHT_PREFIX, QUESTION_PREFIX, CLAIM_PREFIX)):
        raise InvalidInput(f"the id {episode.id!r} begins as those of names, insights or questions do; choose another")
    dated = episode.happened_at is not None
    happened_at = validate.check_time("happened_at", episode.happened_at) if dated else now
    content = "\x1f".join(
        value or "" for value in (text, names_["speaker"], names_["session"], names_["title"], names_["source"])
    ) + (f"\x1f{epoch_seconds(happened_at)!r}" if dated else "")
    whole = Node(
        id=names_["id"] or blake2b(content.encode(), digest_size=16).hexdigest(),
        kind=Kind.EPISODE,
        text=text,
        happened_at=happened_at,
        recorded_at=now,
        speaker=names_["speaker"],
        session=names_["session"],
        title=names_["title"],
        source=names_["source"],
        trust=validate.check_number("trust", episode.trust, minimum=0, maximum=1),
        metadata=validate.check_metadata(episode.metadata),
    )
    return CheckedEpisode(whole.id, chunks(whole), names_["supersedes"], dated)


def same_content(episode: CheckedEpisode, nodes: Sequence[Node]) -> bool:
    """Whether a stored memory is what a draft says; a draft without a time of its own agrees with any."""
    ours, theirs = reassemble(episode.chunks), reassemble(nodes)
    return (
        (ours.text, ours.speaker, ours.session, ours.title, ours.source)
        == (theirs.text, theirs.speaker, theirs.session, theirs.title, theirs.source)
    ) and (not episode.has_date or ours.happened_at == theirs.happened_at)


def collision_error(episode: CheckedEpisode) -> IdCollision:
    """The error for an id that stands for something else."""
    return IdCollision(
        f"the id {episode.id!r} already stands for another memory; choose another id (to replace a fact, "
        "remember the new one with supersedes=), or forget the old one and remember this with restore=True"
    )


def _check_trust(episode: CheckedEpisode, graph: Graph, predecessor: CheckedEpisode | None) -> None:
    """Check that a draft has the trust to end what it replaces, which stands in the graph or is an earlier draft."""
    stored = graph.rows(node_ids_of(graph, str(episode.supersedes)))
    held = [
        *graph.nodes["trust"][stored].tolist(),
        *(node.trust for node in (predecessor.chunks if predecessor else ())),
    ][:1]
    ours = episode.chunks[0].trust
    if held and has_less_trust(ours, held[0]):
        raise InvalidInput(
            f"{episode.id!r} has trust {ours:g} and may not supersede {episode.supersedes!r}, which has {held[0]:g}; "
            f"remember it without supersedes, or with a trust of at least {held[0]:g}"
        )


def deduplicate(episodes: Iterable[CheckedEpisode], graph: Graph) -> dict[NodeId, CheckedEpisode]:
    """Drafts by id, each once.

    Raises ``IdCollision`` where one id stands for two texts, ``InvalidInput`` where a draft replaces what neither the
    graph nor an earlier draft holds, or what has more trust.
    """
    found: dict[NodeId, CheckedEpisode] = {}
    for one in episodes:
        there = not one.supersedes or one.supersedes in found or one.supersedes in graph.tombstones
        if not there and not node_ids_of(graph, str(one.supersedes)):
            raise InvalidInput(f"{one.id!r} supersedes {one.supersedes!r}, which is not there; remember that first")
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
