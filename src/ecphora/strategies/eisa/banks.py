"""EISA's two banks: episodes, and what is no episode and belongs to the semantic bank."""

from ...model.graph.graph import Graph
from ...model.types import Kind, Mask
from ...retrieval import filters
from .episodic_necessity import NecessityClassifier, episode_probabilities


def all_episodes(graph: Graph) -> Mask:
    """The memories and the exchanges of both banks; a stored question is left out if its exchange is there."""
    return graph.of_kind(Kind.EPISODE, Kind.EXCHANGE) & ~filters.answered_questions(graph)


def episodic_bank(graph: Graph, classifier: NecessityClassifier) -> Mask:
    """What belongs to the episodic bank; all else is in the semantic one."""
    return all_episodes(graph) & (episode_probabilities(graph, classifier) >= classifier.threshold)


def target_bank(graph: Graph, classifier: NecessityClassifier | None, *, needs_episodes: bool) -> Mask:
    """The bank that a cue is for: a cue that needs no episodes is for the semantic bank; §3.1 says no more.

    Without a classifier everything is in the episodic bank.
    """
    if classifier is None:
        return all_episodes(graph)
    bank = episodic_bank(graph, classifier)
    return bank if needs_episodes else all_episodes(graph) & ~bank
