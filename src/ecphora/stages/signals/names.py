"""Where names lead: EcphoryRAG's cues and co-occurrence, and links from memory to memory as in a library."""

import numpy as np

from ...model import Scores
from .. import fuse, links
from ..touch import View


def columns(view: View) -> dict[str, Scores]:
    """Columns of names.

    ``title`` marks what is about a name in the cue, ``names asked`` the rarity-weighted part of the cue's names that a
    row mentions. ``link`` and ``shared names`` are ways from the best memories, see :func:`links.followed`, and ``way``
    is the better of both; ``met names`` and ``met again`` the names that the cue or the best memories mention, followed
    once and twice, see :func:`links.met`. Names lead on as far as the embedder reads the cue: in other languages few
    are found, and nothing but a shared word speaks for the memories they lead from.
    """
    rows, read = view.rows, np.float32(view.cue.meaning)
    link, sharing = read * view.about.at(rows), read * fuse.of_best(view.sharing.at(rows))
    return {
        "title": np.isin(rows, view.titled).astype(np.float32),
        "names asked": links.named(view.graph, view.asked, view.naming, len(rows)),
        "link": link,
        "shared names": sharing,
        "met names": read * view.met.at(rows),
        "met again": read * view.again.at(rows),
        "way": np.maximum(link, sharing),
    }
