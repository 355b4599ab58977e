"""``fused``: every signal there is, as shares that add up. The default, and the one to beat.

A first version with plain weights set by hand; docs/decisions.md says on which data they were looked at. Everything is
measured in parts of the best direct score of the cue, so the weights mean the same in a chat of ten turns and in a
library.
"""

from dataclasses import dataclass

import numpy as np

from ..graph import Graph
from ..model import Cue, Mask, Scores
from ..ports import Activation, Trail
from ..stages import choose, company, fuse, gate, links, people, priors, seed, times


@dataclass(frozen=True, slots=True)
class Fused:
    """The weights of the shares.

    ``spread`` weighs each of the four direct scores in standard deviations above the mean, ``best_meaning`` and
    ``best_words`` in parts of the best; ``covered`` is the rarity-weighted part of the cue's words that a memory holds.
    Those make the direct score, which is divided by its best. The other weights add to it.
    """

    spread: float = 0.3
    best_meaning: float = 1.0
    best_words: float = 1.0
    covered: float = 0.5
    speaker: float = 0.2
    spoken_of: float = 0.02
    neighbours: float = 0.16
    session: float = 0.2
    length: float = 0.6
    statement: float = 0.08
    title: float = 0.35
    named_link: float = 0.4
    shared_names: float = 0.05
    date: float = 0.15
    outdated: float = 0.5
    name: str = "fused"

    def activate(self, cue: Cue, graph: Graph, /) -> Activation:
        """Score every episode that the cue touches, directly or by a link."""
        if not graph.episodes.any():
            return Activation(graph.zeros())
        # What may not come back gives nothing to what may: no neighbour, no session, no way to it.
        allowed = choose.allowed(graph, cue)
        # What the cue touches: by meaning and by words, each row alone and with the turn before it.
        meaning = seed.meaning(graph, cue)
        context = seed.in_context(graph, meaning)
        shares = self._direct(cue, graph, meaning, context, allowed)
        direct = _sum(shares) * allowed
        # What belongs to it: the person meant, the turns around, the same session.
        shares["speaker"] = self.speaker * people.speaks(graph, cue)
        shares["spoken of"] = self.spoken_of * people.spoken_of(graph, cue)
        shares["neighbours"] = self.neighbours * company.neighbours(graph, direct)
        shares["session"] = self.session * company.session(graph, direct)
        # Where it leads: memories about what it names, and about what its best memories name.
        titled = links.titled(graph, cue)
        shares["title"] = self.title * titled
        reached = direct + shares["title"] * allowed
        about, sharing = links.followed(graph, cue, reached, choose.top(reached, links.SEEDS))
        shares["named link"] = self.named_link * about.scores
        shares["shared names"] = self.shared_names * sharing.scores
        shares["date"] = self.date * times.told_then(graph, cue)
        scores = _sum(shares)
        active = allowed & (scores > 0)
        for stage, prior in (
            ("length", self.length * priors.length(graph)),
            ("statement", self.statement * priors.statement(graph)),
        ):
            shares[stage] = prior
            scores += prior
        # What no longer holds points to what holds instead, and steps back behind it.
        old = times.outdated(graph, cue)
        shares["successor"], replaced = times.succeeded(graph, scores * active, old)
        scores += shares["successor"]
        shares["outdated"] = -self.outdated * scores * old
        scores += shares["outdated"]
        scores[~allowed | ~(active | (shares["successor"] > 0))] = 0
        return Activation(
            scores=scores,
            shares=shares,
            trails={
                "named link": about.trail,
                "shared names": sharing.trail,
                "neighbours": _beside(graph, direct),
                "successor": replaced,
            },
            confidence=gate.confidence(graph, cue, scores, meaning, direct),
        )

    def _direct(self, cue: Cue, graph: Graph, meaning: Scores, context: Scores, allowed: Mask) -> dict[str, Scores]:
        """The direct shares, in parts of the best direct score that may come back."""
        words = seed.words(graph, cue)
        around = seed.words_in_context(graph, cue)
        above = {
            "meaning": cue.meaning * fuse.above_mean(meaning, graph.episodes),
            "meaning in context": cue.meaning * fuse.above_mean(context, graph.episodes),
            "words": fuse.above_mean(words, graph.episodes),
            "words in context": fuse.above_mean(around, graph.episodes),
        }
        shares = {stage: self.spread * scores for stage, scores in above.items()}
        shares["meaning"] = shares["meaning"] + self.best_meaning * cue.meaning * fuse.of_best(meaning)
        shares["words"] = shares["words"] + self.best_words * fuse.of_best(words)
        shares["words"] = shares["words"] + self.covered * seed.covered(graph, cue)
        best = float(_sum(shares)[allowed].max(initial=0.0))
        return {stage: share / best if best > 0 else share for stage, share in shares.items()}


def _sum(shares: dict[str, Scores]) -> Scores:
    total = np.zeros_like(next(iter(shares.values())), dtype=np.float32)
    for share in shares.values():
        total += share
    return total


def _beside(graph: Graph, scores: Scores) -> Trail:
    """The better of the two turns beside each row, as the way to it."""
    before, after = graph.previous, graph.following
    left = np.where(before >= 0, scores[before], -1)
    right = np.where(after >= 0, scores[after], -1)
    by = np.where(left >= right, before, after)
    return Trail(by, np.full(len(graph), -1, np.intp))
