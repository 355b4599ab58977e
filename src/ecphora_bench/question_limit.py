"""Cuts spaces to what a limited number of questions needs, so that an ablation of a few questions takes minutes."""

from bisect import bisect_left
from dataclasses import replace

from ecphora.maintenance.learn.datasets import Case

DISTRACTORS = 100
"""Episodes that a cut space keeps beside the evidence of its questions, by default."""


def cut_episodes(case: Case, distractors: int) -> Case:
    """The space with the evidence of its questions and up to ``distractors`` other episodes, in their order.

    The others are those nearest to the evidence in the order of the space: they have the same topics, and the turns
    around a turn stay. In a space without evidence the first ones are kept.
    """
    gold = frozenset[str]().union(*(question.gold for question in case.questions))
    places = [place for place, episode in enumerate(case.episodes) if episode.id in gold]
    others = [place for place, episode in enumerate(case.episodes) if episode.id not in gold]
    nearest = sorted(others, key=lambda place: (_distance(place, places), place))[:distractors]
    return replace(case, episodes=tuple(case.episodes[place] for place in sorted([*places, *nearest])))


def _distance(place: int, places: list[int]) -> int:
    """How far the nearest of some ascending places is; 0 if there are none."""
    after = bisect_left(places, place)
    return min((abs(place - found) for found in places[max(0, after - 1) : after + 1]), default=0)
