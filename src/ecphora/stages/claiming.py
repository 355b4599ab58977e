"""The claims of what is new, and which earlier ones they replace: looked up by their words, never by reading all.

What a statement claims is read from its text when it is needed, and kept only where it matters to another one: where it
replaces, ends, bounds or contradicts. So the memory grows by what changed, not by what was said. What would replace a
claim that it may not end (:mod:`.authority`) contradicts it.
"""

from dataclasses import dataclass, field, replace
from datetime import datetime
from hashlib import blake2b

from ..graph import Graph
from ..language.values import Sort
from ..model import Edge, Kind, Link, Node, NodeId, Rows
from ..ports import Left, Reader
from .authority import may_end
from .comparing import Judge
from .correspondence import Embed, Side, matter
from .heard import Heard
from .matter import CLAIM, Matter
from .rivals import Rival, Rivals, Score, portions
from .succession import Told, Verdict

NOTHING = Matter()
"""The matter of a claim that stands beside no other."""


@dataclass(frozen=True, slots=True)
class Claims:
    """What is to be written: claims, each with the memory it was drawn from, and and which is against which.

    ``seen`` memories, the first ones, were worked on.
    """

    nodes: dict[NodeId, Node] = field(default_factory=dict)
    edges: dict[Edge, None] = field(default_factory=dict)
    seen: int = 0


class Claiming:
    """Reads the statements of memories, each once, and finds what new ones replace.

    With a ``judge`` and a cross-encoder's ``score``, what the gate lets through is read closely; else rules decide.
    """

    def __init__(
        self,
        graph: Graph,
        read: Reader,
        judge: Judge | None = None,
        score: Score | None = None,
        embed: Embed | None = None,
    ) -> None:
        self.graph = graph
        self._heard = Heard(graph, read)
        self._judge, self._score, self._embed = judge, score, embed

    def of(self, rows: Rows, *, piece: Rows | None = None, left: Left | None = None) -> Claims:
        """The claims of some rows that matter to another claim, and those other ones.

        ``left`` bounds the time: if it runs out, the last rows are not worked on; the first one always is. ``piece``
        are the rows that were new together with these, of which the first may have been worked on before.
        """
        found, heard, seen = Claims(), self._heard, 0
        piece = rows if piece is None else piece
        rivals = Rivals(heard, int(piece[0]) if len(piece) else 0, self._judge, self._score)
        for some, share in portions(rows, len(piece), left):
            heard.fetch(some.tolist())
            rivals.read(some, share, left)
            for row in some.tolist():
                if seen and left is not None and left() <= 0:
                    return replace(found, seen=seen)
                for place, told in enumerate(heard.told(row)):
                    self._add(found, row, place, told, rivals.of(row, place))
                seen += 1
        return replace(found, seen=seen)

    def _add(self, found: Claims, row: int, place: int, told: Told, rivals: list[Rival]) -> None:
        for rival in rivals:
            later, earlier = (row, place, told), (rival.row, rival.place, rival.told)
            if (rival.told.at, rival.told.turn) > (told.at, told.turn):
                later, earlier = earlier, later
            self._link(found, later, earlier, rival.verdict)
        if told.statement.end is not None and not rivals:
            self._noted(found, row, place, told)

    def _link(
        self, found: Claims, later: tuple[int, int, Told], earlier: tuple[int, int, Told], verdict: Verdict
    ) -> None:
        one, other = (Side(self._heard.node(side[0]).text, side[2].statement) for side in (earlier, later))
        old = self._noted(found, *earlier, matter(one, other, self._embed))
        ends = verdict.because != "never" and may_end(later[2].voice, earlier[2].voice)
        since = _since(later[2], earlier[2], old, verdict) if ends else None
        new = self._noted(found, *later, matter(other, one, self._embed), since=since)
        if old.id == new.id:
            return
        link = Link.SUPERSEDES if ends else Link.CONTRADICTS
        found.edges[Edge(new.id, old.id, link, round(verdict.sure, 3))] = None

    def _noted(
        self,
        found: Claims,
        row: int,
        place: int,
        told: Told,
        seen: Matter = NOTHING,
        *,
        since: datetime | None = None,
    ) -> Node:
        """The node of a claim: made if the graph has none yet."""
        source, statement = self._heard.node(row), told.statement
        id_ = claim_id(source.id, place)
        known = found.nodes.get(id_)
        if known is None:
            known = Node(
                id=id_,
                kind=Kind.CLAIM,
                text=statement.text,
                happened_at=source.happened_at,
                recorded_at=source.recorded_at,
                speaker=source.speaker,
                session=source.session,
                valid_from=since or statement.start,
                valid_to=statement.end,
                trust=source.trust,
            )
            if self.graph.row(id_) is None:
                found.edges[Edge(id_, source.id, Link.CLAIMED_IN)] = None
        elif since is not None:
            known = replace(known, valid_from=since)
        known = replace(known, metadata=seen.joined(Matter.of(known.metadata)).metadata)
        found.nodes[id_] = known
        return known


def claim_id(source: NodeId, place: int) -> NodeId:
    """The id of the claim that stands at a place of a memory; the same whenever it is drawn."""
    content = "\x1f".join((source, str(place)))
    return f"{CLAIM}{blake2b(content.encode(), digest_size=16).hexdigest()}"


def _since(later: Told, earlier: Told, old: Node, verdict: Verdict) -> datetime | None:
    """From when the later claim holds, where that is not what it says or when it was told."""
    if verdict.never_was:
        return old.valid_from or old.happened_at
    both = {value.form for value in later.statement.values if value.sort == Sort.DATE}
    both &= {value.form for value in earlier.statement.values}
    # The date that is changed, or that both name, is what they speak of, not since when it is so.
    return later.at if verdict.because == Sort.DATE or both else None
