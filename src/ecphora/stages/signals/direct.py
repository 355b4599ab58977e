"""What the cue touches by itself: SYNAPSE's dual trigger; each row alone, with the row before, with those around.

What a question is about stands out clearer without how it asks and the name of the person, who tells of many things.
"""

import numpy as np

from ...model import Scores
from ..touch import View

IN_WORDS = {
    "meaning": "words",
    "context": "words in context",
    "topic": "words",
    "topic in context": "words in context",
}
"""Which words stand in for which meaning."""
OUT = 6.0
"""How many standard deviations above the mean count: a rare word that one row holds stands out by a hundred."""


def columns(view: View) -> dict[str, Scores]:
    """Direct columns.

    Each of six scores counts in standard deviations above its mean, and all but one in parts of the best too.
    ``rank`` is minus the logarithm of the place by direct score. ``rarest word`` is the rarity of the rarest word of
    the cue that a row holds, ``around`` what the turns around it cover together, ``uncovered`` what a row covers of
    that which the best does not.
    """
    direct, rows, covering, strength = view.direct, view.rows, view.covering, view.strength
    measured = {
        "meaning": direct.meaning,
        "context": direct.context,
        "topic": direct.topic,
        "topic in context": direct.topic_context,
        "words": direct.words,
        "words in context": direct.together,
    }
    found = {f"{name}, standing out": np.minimum(scores.above_mean(rows), OUT) for name, scores in measured.items()}
    of = {name: scores.of_best(rows) for name, scores in measured.items()}
    # Where the embedder reads nothing, words stand in for meaning.
    unread = np.float32(1 - view.cue.meaning)
    found["words"] = of["words"]
    for meaning, words in IN_WORDS.items():
        found[meaning] = (1 - unread) * of[meaning] + unread * of[words]
        found[f"{meaning}, standing out"] += unread * found[f"{words}, standing out"]
    place = np.searchsorted(np.sort(-strength), -strength)  # how many are better: equal ones share a place
    found["rank"] = -np.log1p(place).astype(np.float32)
    missing = ~covering.own[view.leaders[:1]].any(axis=0)
    return found | {
        "rarest word": covering.rarest(),
        "around": covering.part(covering.around),
        "uncovered": covering.part(covering.own & missing),
    }
