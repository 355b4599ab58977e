"""Train the adapters with which multilingual-e5-small reads a question and a memory together; write
weights/reranker_adapters.npz.

    .venv/bin/pip install torch
    .venv/bin/python training/train_cross_encoder.py --work FOLDER [--share SHARE] [--resume] [--sentences FOLDER]
        [--facts FOLDER]

The cross-encoder learns from the texts and spaces that train the built-in reranker (``train_reranker.py``), and from
``many``: to tell the memories that answer a question from the best other candidates of ``fused``. ``--sentences`` adds
the set of ``sentence_set.py``; those in the package were trained on an earlier form of it, with the same articles.
``--facts`` adds the sets of ``fact_set.py``.
It begins with the adapters of the update scorer, which can compare two texts already; with ``--resume`` it goes on from
its own, and the mean of the weights before and after is written. 1,000 questions take five to six minutes on two cores;
``--share`` takes a share of the spaces of memories.
Afterwards ``train_fused.py`` fits what ``fused`` makes of the scores.
"""
# ruff: noqa: INP001, T201  # a script that prints

import argparse
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

import numpy as np
from pair_training import PairGroup, mean_adapters, train_adapters
from reranker_examples import RerankExample
from train_reranker import SENTENCES, SOURCES, WEIGHTS, as_plain_texts, is_kept_apart, is_taken, load_examples, sha256

from ecphora.models import update_scorer
from ecphora.models.embedders.e5 import E5Network, share_network
from ecphora.models.embedders.pair_scoring import PairAdapters
from ecphora.models.rerankers.e5_cross_encoder import ADAPTERS_FILE, pair_tokens, question_tokens

BEST_CANDIDATES, NEGATIVES = 9, 4
"""The candidates that do not answer are among so many of the best; a question has so many of them in an epoch."""
UNANSWERABLE_CANDIDATES = 5
"""As many of the best are candidates of a question without an answer, so that the one that it is near to is drawn."""
RATE = 1e-3
FACTS = ("facts-own", "facts-who")
"""The sets of ``fact_set.py``."""


def main() -> None:
    """Train and write."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--work", type=Path, required=True, help="folder for the candidates")
    parser.add_argument("--share", type=float, default=1.0, help="the share of the spaces to train on")
    parser.add_argument("--epochs", type=float, default=1.0)
    parser.add_argument("--rate", type=float, default=RATE, help="the highest learning rate")
    parser.add_argument("--resume", action="store_true", help="train the adapters in the package further")
    parser.add_argument("--sentences", type=Path, help="folder of the set of sentence_set.py, to train on too")
    parser.add_argument("--facts", type=Path, help="folder of the sets of fact_set.py, to train on too")
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    network = share_network()()
    examples = list(training_examples(options))
    groups = [group for example in examples if (group := _group(example, network)).pairs]
    print(f"{len(groups)} questions", flush=True)
    path = WEIGHTS / ADAPTERS_FILE
    source = path if options.resume else files("ecphora.models") / "weights" / update_scorer.ADAPTERS_FILE
    start = PairAdapters.from_bytes(source.read_bytes())
    adapters = train_adapters(
        network,
        groups,
        options.epochs,
        NEGATIVES,
        rate=options.rate,
        start=start,
        save=lambda found: (options.work / ADAPTERS_FILE).write_bytes(found.to_bytes()),
    )
    path.write_bytes((mean_adapters(start, adapters) if options.resume else adapters).to_bytes())
    print(f"ADAPTERS_DIGEST in models/rerankers/e5_cross_encoder.py: {sha256(path)}")


def training_examples(options: argparse.Namespace) -> Iterator[RerankExample]:
    """The questions of spaces that are not kept apart.

    Not those of training/data/speakers: with them, others get worse.
    """
    if options.sentences is not None:
        yield from load_examples(options.work, options.sentences, SENTENCES)
    for name in FACTS if options.facts is not None else ():
        yield from load_examples(options.work, options.facts, name)
    for folder, name in SOURCES:
        for example in load_examples(options.work, folder, name, options.share, takes=is_trained_on):
            yield as_plain_texts(example)


def is_trained_on(space: str, share: float) -> bool:
    """Whether a space is in the share and not kept apart."""
    return is_taken(space, share) and not is_kept_apart(space)


def _group(example: RerankExample, network: E5Network) -> PairGroup:
    asked = question_tokens(network, example.question, example.asked_on)
    answers = [one for one, answers in zip(example.candidates, example.is_answer, strict=True) if answers]
    others = [one for one, answers in zip(example.candidates, example.is_answer, strict=True) if not answers]
    count = BEST_CANDIDATES if example.is_answerable else UNANSWERABLE_CANDIDATES
    passages = [*answers, *example.missed_answers, *others[:count]]
    pairs = [pair_tokens(network, asked, passage) for passage in passages]
    labels = np.arange(len(pairs)) < len(answers) + len(example.missed_answers)
    is_read = np.array([pair is not None for pair in pairs], np.bool_)
    return PairGroup([pair for pair in pairs if pair is not None], labels[is_read])


if __name__ == "__main__":
    main()
