"""The write path: episodes, what was of use, and forgetting as a Change. It commits nothing.

Pure, but for :func:`embedded`, which asks the embedder that it is handed.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from hashlib import blake2b

import numpy as np

from . import validate
from .errors import IdCollision, InvalidInput
from .graph import LINKS, Graph, seconds
from .language.asked import topic
from .language.dates import told
from .language.names import entity_id, names
from .language.segments import segments
from .language.statements import asks
from .language.words import counted, hashed, spelled, words
from .model import (
    Access,
    Change,
    Cue,
    Edge,
    Episode,
    Filter,
    Forgotten,
    Kind,
    Link,
    Mention,
    Node,
    NodeId,
    Reading,
    Recollection,
    Superseded,
    Touch,
    Vector,
    Vectors,
)
from .ports import Embedder
from .stages import people, standing
from .stages.authority import is_below
from .stages.matter import CLAIM

ENTITY = "entity:"
"""How the ids of entities begin; no episode's id may."""
INSIGHT = "insight:"
"""How the ids of insights begin; no episode's id may."""
TERMS = 24
"""A question of more words is a text, of which single words say little."""
MARKDOWN = (".md", ".markdown")
"""How the sources and titles of texts end that are Markdown; others are where they look so."""
QUESTION = "question:"
"""How the ids of questions begin; no episode's id may."""


@dataclass(frozen=True, slots=True)
class Draft:
    """An episode that was checked: it can be written. ``pieces`` are its nodes, one unless the text is long."""

    id: NodeId
    pieces: tuple[Node, ...]
    supersedes: NodeId | None
    dated: bool


def draft(episode: Episode, now: datetime) -> Draft:
    """Check an episode and cut it into nodes; raises ``InvalidInput`` before anything is written."""
    if not isinstance(episode, Episode):
        raise InvalidInput(f"a {type(episode).__name__} cannot be remembered; hand in a text or an Episode, or several")
    text = validate.check_text(episode.text)
    names_ = {
        field: validate.check_optional_name(field, getattr(episode, field))
        for field in ("id", "speaker", "session", "title", "source", "supersedes")
    }
    if (names_["id"] or "").startswith((ENTITY, INSIGHT, QUESTION, CLAIM)):
        raise InvalidInput(f"the id {episode.id!r} begins as those of names, insights or questions do; choose another")
    dated = episode.happened_at is not None
    happened_at = validate.check_time("happened_at", episode.happened_at) if dated else now
    content = "\x1f".join(
        value or "" for value in (text, names_["speaker"], names_["session"], names_["title"], names_["source"])
    ) + (f"\x1f{seconds(happened_at)!r}" if dated else "")
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
        trust=validate.check_number("trust", episode.trust, least=0, most=1),
        metadata=validate.check_metadata(episode.metadata),
    )
    return Draft(whole.id, pieces(whole), names_["supersedes"], dated)


def pieces(whole: Node) -> tuple[Node, ...]:
    """Cut a node with a long text into nodes that an embedder can read whole."""
    is_markdown = any((name or "").lower().endswith(MARKDOWN) for name in (whole.source, whole.title))
    parts = segments(whole.text, markdown=is_markdown or None)
    if len(parts) == 1:
        return (whole,)
    return tuple(
        replace(
            whole,
            id=f"{whole.id}#{place}",
            text=part.text,
            document=whole.id,
            position=place,
            start=part.start,
            heading=part.heading,
        )
        for place, part in enumerate(parts, 1)
    )


def with_starts(nodes: Sequence[Node]) -> list[Node]:
    """The same nodes; each piece of a text with where it starts, as follows from the pieces before it."""
    starts: dict[NodeId, int] = {}
    ends: dict[NodeId, int] = {}
    for node in sorted((node for node in nodes if node.document is not None), key=lambda node: node.position):
        starts[node.id] = ends.get(str(node.document), 0)
        ends[str(node.document)] = starts[node.id] + len(node.text)
    return [replace(node, start=starts[node.id]) if starts.get(node.id) else node for node in nodes]


def joined(nodes: Sequence[Node]) -> Node:
    """The node that was cut into these, whole again."""
    first = nodes[0]
    if first.document is None:
        return first
    text = "".join(node.text for node in nodes)
    return replace(first, id=first.document, text=text, document=None, position=0, start=0, heading=None)


def rows_of(graph: Graph, node: NodeId) -> list[NodeId]:
    """The ids of the nodes that an id stands for: itself, or the pieces it was cut into; none if it is not there."""
    if graph.row(node) is not None:
        return [node]
    return [graph.id(row) for row in graph.document_rows(node)]


def wholes(graph: Graph, nodes: Iterable[NodeId]) -> list[NodeId]:
    """These nodes, and every other piece of the texts that they are pieces of; each once."""
    found: dict[NodeId, None] = {}
    for node in nodes:
        row = graph.row(node)
        document = -1 if row is None else int(graph.nodes["documents"][row])
        pieces = graph.document_rows(graph.documents.names[document]) if document >= 0 else ()
        found.update(dict.fromkeys([graph.id(piece) for piece in pieces] or [node]))
    return list(found)


def same(draft_: Draft, stored: Sequence[Node]) -> bool:
    """Whether a stored memory is what a draft says; a draft without a time of its own agrees with any."""
    ours, theirs = joined(draft_.pieces), joined(stored)
    return (
        (ours.text, ours.speaker, ours.session, ours.title, ours.source)
        == (theirs.text, theirs.speaker, theirs.session, theirs.title, theirs.source)
    ) and (not draft_.dated or ours.happened_at == theirs.happened_at)


def collision(draft_: Draft) -> IdCollision:
    """The error for an id that stands for something else."""
    return IdCollision(
        f"the id {draft_.id!r} already stands for another memory; choose another id (to replace a fact, "
        "remember the new one with supersedes=), or forget the old one and remember this with restore=True"
    )


def spoken(node: Node) -> str:
    """A node's text as it is read and embedded: with who said it, what it is about, and under which headings."""
    text = "\n".join(part for part in (node.title, node.heading, node.text) if part is not None)
    return text if node.speaker is None else f"{node.speaker}: {text}"


def embedded(embedder: Embedder, nodes: Sequence[Node]) -> dict[NodeId, Vector]:
    """The vectors of some nodes: what was told as a text, a question as a cue."""
    found: dict[NodeId, Vector] = {}
    for cue in (False, True):
        some = [node for node in nodes if (node.kind == Kind.QUESTION) is cue]
        if some:
            made = embedder.embed([spoken(node) for node in some], cue=cue)
            found.update(zip((node.id for node in some), made, strict=True))
    return found


def read(node: Node) -> Reading:
    """What the words of a node say."""
    found, counts = counted(words(spoken(node)))
    return Reading(found, counts, asks(node.text), told(node.text, node.happened_at))


def encode(
    drafts: Sequence[Draft],
    graph: Graph,
    *,
    vectors: Mapping[NodeId, Vector],
    mentions: Mapping[NodeId, Sequence[Mention]],
    embedder: str,
    now: datetime,
) -> Change:
    """Everything that remembering new drafts writes: nodes, the names they mention, links and ends."""
    episodes = [node for draft_ in drafts for node in draft_.pieces]
    entities: dict[NodeId, Node] = {}
    edges: list[Edge] = []
    for node in episodes:
        about = (Mention(node.title, about=True),) if node.title else ()
        for mention in (*about, *mentions.get(node.id, ())):
            entity = entity_id(mention.name)
            if entity == ENTITY:
                continue
            if entity not in entities and graph.row(entity) is None:
                entities[entity] = Node(
                    id=entity, kind=Kind.ENTITY, text=mention.name, happened_at=node.happened_at, recorded_at=now
                )
            edges.append(Edge(node.id, entity, Link.ABOUT if mention.about else Link.MENTIONS))
    among = {draft_.id: [node.id for node in draft_.pieces] for draft_ in drafts}
    ends = [
        (old, draft_)
        for draft_ in drafts
        if draft_.supersedes
        for old in among.get(draft_.supersedes) or rows_of(graph, draft_.supersedes)
    ]
    edges.extend(Edge(draft_.pieces[0].id, old, Link.SUPERSEDES) for old, draft_ in ends)
    return Change(
        nodes=(*episodes, *entities.values()),
        readings={node.id: read(node) for node in episodes},
        vectors=vectors,
        edges=tuple(dict.fromkeys(edges)),
        superseded=tuple(Superseded(old, draft_.pieces[0].happened_at, now) for old, draft_ in ends),
        embedder=embedder,
    )


def question_id(asked: Cue, used: Iterable[NodeId]) -> NodeId:
    """The id of a question as it was asked once, with what of its answers was used; the same in every scope."""
    content = "\x1f".join((asked.text, repr(seconds(asked.now)), *sorted(used)))
    return f"{QUESTION}{blake2b(content.encode(), digest_size=16).hexdigest()}"


def feedback(
    found: Recollection, used: Sequence[NodeId], graph: Graph, *, embedder: str, dim: int, now: datetime
) -> Change:
    """What telling which hits were of use writes: that they were used, and the question with all that answered it.

    An answer counts 1 if it was used and 0 if it was brought back in vain. Nothing is written where no hit is there any
    more, or where the same was told before.
    """
    asked, id_ = found.cue, question_id(found.cue, used)
    here = [hit.id for hit in found if graph.row(hit.id) is not None]
    if not here or graph.row(id_) is not None:
        return Change()
    question = Node(id_, Kind.QUESTION, validate.check_question(asked.text), asked.now, now)
    return Change(
        nodes=(question,),
        vectors={} if asked.vector is None or asked.vector.shape != (dim,) else {id_: asked.vector},
        edges=tuple(Edge(id_, hit, Link.ANSWERED_BY, float(hit in used)) for hit in here),
        accesses=tuple(Access(hit, now, Touch.USED) for hit in used),
        embedder=embedder,
    )


def forget(nodes: Sequence[Node]) -> Change:
    """Erase nodes; the entities that nothing else mentions go with them."""
    return Change(forgotten=tuple(Forgotten(node.id, digest_of(node)) for node in nodes))


def digest_of(node: Node) -> bytes:
    """The digest by which a forgotten memory is recognised if it comes again: of its text, speaker and time.

    The time of recording is none of the memory's own: one that came without a date is recognised without. A question
    is recognised by its id alone: that it was taken back bars no memory of the same words.
    """
    if node.kind == Kind.QUESTION:
        return blake2b(node.id.encode(), digest_size=16).digest()
    dated = "" if node.happened_at == node.recorded_at else repr(seconds(node.happened_at))
    content = "\x1f".join((node.text, node.speaker or "", dated))
    return blake2b(content.encode(), digest_size=16).digest()


def barred(draft_: Draft, graph: Graph) -> bool:
    """Whether this was forgotten on purpose before."""
    return any(node.id in graph.barred or digest_of(node) in graph.barred for node in draft_.pieces)


def superseding(graph: Graph, row: int, *, later: bool) -> list[NodeId]:
    """The chain of memories that replaced a row (``later``) or that it replaced, nearest first.

    Whether somebody said so in so many words, or consolidation found it in what they claim.
    """
    follow, end = (graph.edges_to, "src") if later else (graph.edges_from, "dst")
    claimed = standing.successions(graph)
    these, those = (claimed.old, claimed.new) if later else (claimed.new, claimed.old)
    found: list[int] = []
    here = [row]
    while here:
        places, _ = follow(np.unique(np.array(here)))
        places = places[graph.edges["links"][places] == LINKS.index(Link.SUPERSEDES)]
        by_claims = those[np.isin(these, here) & ~claimed.against].tolist()
        reached = dict.fromkeys([*graph.edges[end][places].tolist(), *by_claims])
        here = [r for r in reached if r not in found and r != row]
        found.extend(here)
    return [graph.id(r) for r in found]


@dataclass(frozen=True, slots=True)
class Parts:
    """The texts of a question that are embedded: itself, its topic, and words of that by their place in the cue's."""

    question: str
    topic: str
    terms: Mapping[int, str]

    @property
    def texts(self) -> list[str]:
        """Each text once."""
        return list(dict.fromkeys((self.question, self.topic, *self.terms.values())))


def parts(question: str, graph: Graph) -> Parts:
    """Take a question apart: what it is about, without the speakers it names, and the words of that.

    A text of more than :data:`TERMS` words is taken as it is: what each of its words means says little.
    """
    found, written, names_ = dict.fromkeys(words(question)), spelled(question), people.called(graph).by_word
    if len(found) > TERMS:
        return Parts(question, question, {})
    named = {word for word, code in zip(found, hashed(list(found)).tolist(), strict=True) if code in names_}
    terms = {i: written[word] for i, word in enumerate(found) if word in written and word not in named}
    return Parts(question, topic(question, named), terms)


def cue(
    text: str,
    now: datetime,
    *,
    vector: Vector | None,
    meaning: float,
    floor: float = 0.0,
    of_parts: tuple[Parts, Vectors] | None = None,
    as_of: datetime | None = None,
    known_at: datetime | None = None,
    retroactive: bool = False,
    where: Filter | None = None,
) -> Cue:
    """A question with all that its words say; ``of_parts`` are its parts and the vectors of their texts."""
    distinct = hashed(list(dict.fromkeys(words(text))))
    topic_, terms = None, None
    if of_parts is not None:
        asked, vectors = of_parts
        known = dict(zip(asked.texts, vectors, strict=True))
        vector, topic_ = known[text], known[asked.topic]
        terms = np.zeros((len(distinct), len(vector)), np.float32)
        for place, word in asked.terms.items():
            terms[place] = known[word]
    return Cue(
        text=text,
        now=now,
        vector=vector,
        meaning=meaning,
        floor=floor,
        words=distinct,
        topic=topic_,
        terms=terms,
        entities=tuple(entity_id(name) for name in names(text)),
        when=told(text, as_of or now),
        as_of=as_of,
        known_at=known_at,
        retroactive=retroactive,
        where=where or Filter(),
    )


def _check_trust(one: Draft, graph: Graph, earlier: Draft | None) -> None:
    """Check that a draft has the trust to end what it replaces, which stands in the graph or is an earlier draft."""
    stored = graph.rows(rows_of(graph, str(one.supersedes)))
    held = [*graph.nodes["trust"][stored].tolist(), *(node.trust for node in (earlier.pieces if earlier else ()))][:1]
    ours = one.pieces[0].trust
    if held and is_below(ours, held[0]):
        raise InvalidInput(
            f"{one.id!r} has trust {ours:g} and may not supersede {one.supersedes!r}, which has {held[0]:g}; "
            f"remember it without supersedes, or with a trust of at least {held[0]:g}"
        )


def distinct(drafts: Iterable[Draft], graph: Graph) -> dict[NodeId, Draft]:
    """Drafts by id, each once.

    Raises ``IdCollision`` where one id stands for two texts, ``InvalidInput`` where a draft replaces what neither the
    graph nor an earlier draft holds, or what has more trust.
    """
    found: dict[NodeId, Draft] = {}
    for one in drafts:
        there = not one.supersedes or one.supersedes in found or one.supersedes in graph.barred
        if not there and not rows_of(graph, str(one.supersedes)):
            raise InvalidInput(f"{one.id!r} supersedes {one.supersedes!r}, which is not there; remember that first")
        if one.supersedes and not rows_of(graph, one.id):
            _check_trust(one, graph, found.get(one.supersedes))
        other = found.setdefault(one.id, one)
        if other is not one and not same(one, other.pieces):
            raise collision(one)
    taken: dict[NodeId, Draft] = {}
    for one in found.values():
        if any(taken.setdefault(node.id, one) is not one for node in one.pieces):
            raise collision(one)
    return found
