"""What the cue touches by itself: SYNAPSE's dual trigger, each row alone, with the row before it, and with those around."""

import numpy as np

from ...model import Scores
from .. import fuse
from ..touch import View

IN_WORDS = {"meaning": "words", "context": "words in context"}
"""Which words stand in for which meaning."""


def columns(view: View) -> dict[str, Scores]:
    """Direct columns.

    Each of four scores counts in standard deviations above its mean, and three in parts of the best too.
    ``rank`` is minus the logarithm of the place by direct score. ``rarest word`` is the rarity of the rarest word of
    the cue that a row holds, ``around`` what the turns around it cover together, ``uncovered`` what a row covers of
    that which the best does not.
    """
    graph, rows, direct = view.graph, view.rows, view.direct
    above = {
        "meaning, standing out": direct.meaning,
        "context, standing out": direct.context,
        "words, standing out": direct.words,
        "words in context, standing out": direct.together,
    }
    found = {name: fuse.above_mean(scores, graph.episodes)[rows] for name, scores in above.items()}
    best = {"meaning": direct.meaning, "context": direct.context, "words": direct.words, "together": direct.together}
    of = {name: fuse.of_best(scores * view.allowed)[rows] for name, scores in best.items()}
    # Where the embedder reads nothing, words stand in for meaning.
    unread = np.float32(1 - view.cue.meaning)
    found["words"] = of["words"]
    for meaning, words in (("meaning", "words"), ("context", "together")):
        found[meaning] = (1 - unread) * of[meaning] + unread * of[words]
        found[f"{meaning}, standing out"] += unread * found[f"{IN_WORDS[meaning]}, standing out"]
    strength = view.strength
    place = np.empty(len(rows), np.intp)
    place[np.argsort(-strength, kind="stable")] = np.arange(len(rows))
    found["rank"] = -np.log1p(place).astype(np.float32)
    covering = view.covering
    missing = ~covering.own[view.leaders[:1]].any(axis=0)
    return found | {
        "covered": covering.part(covering.own),
        "rarest word": covering.rarest(),
        "around": covering.part(covering.around),
        "uncovered": covering.part(covering.own & missing),
    }
