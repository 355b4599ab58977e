"""EISA's two banks: episodes, and what is no episode and belongs to the semantic bank."""

from ...graph import Graph
from ...model import Mask
from .necessity import NecessityClassifier, episode_probabilities


def episodic_bank(graph: Graph, classifier: NecessityClassifier) -> Mask:
    """The memories of the episodic bank; all others are in the semantic one."""
    return graph.episodes & (episode_probabilities(graph, classifier) >= classifier.threshold)


def target_bank(graph: Graph, classifier: NecessityClassifier | None, *, needs_episodes: bool) -> Mask:
    """The bank that a cue is for: one that needs no episodes is for the semantic bank; §3.1 says no more.

    Without a classifier everything is in the episodic bank.
    """
    if classifier is None:
        return graph.episodes
    bank = episodic_bank(graph, classifier)
    return bank if needs_episodes else graph.episodes & ~bank
