"""What the cross-encoder and the update scorer say of the best candidates of a question, for ``train_reader.py``."""
# ruff: noqa: INP001  # in the folder of the script that uses it

import hashlib
import pickle
from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from importlib.resources import files
from pathlib import Path

import numpy as np
from reader_examples import ReadingExample
from reader_policy import OWN, GenreWeights, ReadExample

from ecphora.candidate_reading import is_comparable
from ecphora.ports import Passage
from ecphora.readers.e5_cross_encoder import ADAPTERS_FILE, E5CrossEncoder
from ecphora.readers.late_interaction import combine_log_odds
from ecphora.stages.fused.newer_answers import comparable_pairs
from ecphora.stages.fused.reading import MAX_LOG_ODDS, ReadingPolicy, reread_places
from ecphora.update_scorers.e5_cross_encoder import E5UpdateScorer
from ecphora.weights import load_reading_model

POLICY = ReadingPolicy(load_reading_model())
"""Its counts say how many candidates are read again and compared."""


def reread_candidates(
    work: Path, read: Sequence[ReadExample], examples: Sequence[ReadingExample], weights: GenreWeights
) -> list[ReadExample]:
    """The examples with the readings of the best candidates after the cross-encoder has read them, too.

    Which are the best depends on the weights of the first reading. Scores are read from ``work`` or written there.
    """
    digest = hashlib.sha256((files("ecphora.weights") / ADAPTERS_FILE).read_bytes()).hexdigest()
    path = work / f"{digest[:16]}.rereadings.pkl"
    scores: dict[tuple[str, date, Passage], float] = pickle.loads(path.read_bytes()) if path.exists() else {}  # noqa: S301
    cross_encoder, found = E5CrossEncoder(), []
    for one, example in zip(read, examples, strict=True):
        places = reread_places(one.ranking(weights, None), POLICY.max_reread)
        keys = [(example.question, example.asked_on, example.candidates[place]) for place in places]
        missing = [key for key in keys if key not in scores]
        values = cross_encoder.score(example.question, [key[2] for key in missing], asked_on=example.asked_on)
        scores.update(zip(missing, values.tolist(), strict=True))
        again = np.array([scores[key] for key in keys])
        readings = one.readings.copy()
        readings[places] = np.clip(
            combine_log_odds(readings[places].astype(np.float64), again), -MAX_LOG_ODDS, MAX_LOG_ODDS
        )
        found.append(replace(one, readings=readings))
    path.write_bytes(pickle.dumps(scores))
    return found


def compare_candidates(
    read: Sequence[ReadExample], examples: Sequence[ReadingExample], weights: GenreWeights
) -> list[ReadExample]:
    """The examples with the update scorer's log-odds for the best candidates of our own memories.

    Which are the best depends on the weights of the reading.
    """
    compared = [_compared_pairs(*both, weights) for both in zip(read, examples, strict=True)]
    texts = [[_with_speaker(passage) for passage in example.candidates] for example in examples]
    wanted = {
        (own[earlier], own[later]): None for own, pairs in zip(texts, compared, strict=True) for earlier, later in pairs
    }
    scores = dict(zip(wanted, E5UpdateScorer().score(list(wanted)).tolist(), strict=True))
    found = []
    for one, own, pairs in zip(read, texts, compared, strict=True):
        updates = one.pairs.updates.copy()
        for earlier, later in pairs:
            updates[earlier, later] = np.clip(scores[own[earlier], own[later]], -MAX_LOG_ODDS, MAX_LOG_ODDS)
        found.append(replace(one, pairs=replace(one.pairs, updates=updates)))
    return found


def _compared_pairs(read: ReadExample, example: ReadingExample, weights: GenreWeights) -> list[tuple[int, int]]:
    if read.group not in OWN:
        return []
    ranking = read.ranking(weights, None)
    pairs = comparable_pairs(ranking, read.pairs.similarities, read.pairs.order, POLICY.max_compared)
    return [pair for pair in pairs if is_comparable(*(example.candidates[place].text for place in pair))]


def _with_speaker(passage: Passage) -> str:
    return f"{passage.speaker}: {passage.text}" if passage.speaker else passage.text
