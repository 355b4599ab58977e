"""Train EISA's side network, cross-validate it, and write its weights into src/ecphora/strategies/eisa/weights.

    .venv/bin/python training/train_side_network.py [--embedder minilm] [--data DIR] [--rate RATE]

It learns from the answerable questions of ``training/data/memories``, without ``held`` and ``untaught``, and of
``training/data/talks``: the evidence of a question against the other texts nearest to it. All of them were written for
this project. Folds are whole spaces. With ``--data``, the folder of the public sets, recall is measured on these too;
none of them is trained on. With ``--rate`` nothing is written. The output is deterministic. MiniLM reads English, and
is trained on English alone.
"""
# ruff: noqa: INP001, T201  # a script that prints

import argparse
import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ecphora.maintenance.learn import Json, datasets, format_json, train_side_network
from ecphora.maintenance.learn.embedding_cache import CachingEmbedder
from ecphora.maintenance.learn.side_network_training import ContrastiveExample
from ecphora.model.ports import Embedder
from ecphora.model.types import Vectors
from ecphora.models.embedders.e5 import E5Embedder
from ecphora.models.embedders.minilm import MiniLMEmbedder
from ecphora.remember import documents, encode
from ecphora.strategies.eisa.side_network import RANK, SideNet, identity, map_vectors

HERE = Path(__file__).parent
MEMORIES, TALKS = HERE / "data" / "memories", HERE / "data"
WEIGHTS = HERE.parent / "src" / "ecphora" / "strategies" / "eisa" / "weights"
NEVER_TRAINED = ("held", "held_many", "held_short", "untaught")
EMBEDDERS: Mapping[str, Callable[[], Embedder]] = {"e5": E5Embedder, "minilm": MiniLMEmbedder}
ENGLISH = ("en", "talks")
PUBLIC = ("locomo", "realtalk", "lihua", "beam_100k", "strangers", "musique")
NEGATIVES = 20
"""The texts nearest to a question, of which those that hold no evidence are negatives."""
RATE, EPOCHS = 0.01, 3
"""Of .01, .1 and .3 the rate with the best recall of the large spaces in cross-validation."""
FOLDS = 5
LARGE = 60
"""The texts of a large space. In a small one nearly every text is among the first ten."""
CUTOFFS = (5, 10)
DIGITS = 5
NOW = datetime(2026, 1, 1, tzinfo=UTC)

Numbers = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Space:
    """The vectors of a space's texts with the id of each, and those of its answerable questions with their gold."""

    name: str
    texts: Vectors
    ids: NDArray[np.str_]
    questions: Vectors
    gold: tuple[frozenset[str], ...]

    @property
    def fold(self) -> int:
        """The fold of the space, by a hash of its name."""
        return int.from_bytes(hashlib.blake2b(self.name.encode(), digest_size=4).digest(), "big") % FOLDS

    @property
    def is_large(self) -> bool:
        """Whether it has many texts."""
        return len(set(self.ids.tolist())) >= LARGE

    def examples(self) -> Iterator[tuple[bytes, ContrastiveExample]]:
        """Each question with its evidence and the nearest other texts, and a key that spreads them over training."""
        cosines = self.questions @ self.texts.T
        for place, gold in enumerate(self.gold):
            is_gold = np.isin(self.ids, list(gold))
            near = np.argsort(-cosines[place], kind="stable")[:NEGATIVES]
            near = near[~is_gold[near]]
            if is_gold.any() and len(near):
                key = hashlib.blake2b(f"{self.name} {place}".encode(), digest_size=8).digest()
                yield key, ContrastiveExample(self.questions[place], self.texts[is_gold], self.texts[near])

    def recall(self, net: SideNet | None) -> Numbers:
        """Recall of each question at each cutoff, by the cosine of vectors mapped by a net."""
        cosines = map_vectors(net, self.questions) @ map_vectors(net, self.texts).T
        found = []
        for place, gold in enumerate(self.gold):
            ranked = list(dict.fromkeys(self.ids[np.argsort(-cosines[place], kind="stable")].tolist()))
            found.append([len(gold & set(ranked[:k])) / len(gold) for k in CUTOFFS])
        return np.array(found)


def read_spaces(name: str, folder: Path, embedder: CachingEmbedder) -> Iterator[Space]:
    """The spaces of a set, their texts embedded as a memory does it."""
    for case in datasets.read_cases(name, folder):
        questions = [question for question in case.questions if question.has_ranking]
        if not questions:
            continue
        nodes = [
            (episode.id, node) for episode in case.episodes for node in documents.check_episode(episode, NOW).chunks
        ]
        yield Space(
            f"{name}/{case.space}",
            embedder.embed([encode.indexed_text(node) for _, node in nodes]),
            np.array([str(id_) for id_, _ in nodes]),
            embedder.embed([question.text for question in questions], is_query=True),
            tuple(question.gold for question in questions),
        )


def train(spaces: Sequence[Space], rate: float) -> SideNet:
    """A side network from the questions of some spaces, its numbers rounded as in the file."""
    keyed = [pair for space in spaces for pair in space.examples()]
    examples = [example for _, example in sorted(keyed, key=lambda pair: pair[0])]
    net = train_side_network(identity(spaces[0].texts.shape[1], RANK), examples, epochs=EPOCHS, learning_rate=rate)
    a, b, bias = (np.round(part, DIGITS) for part in (net.a, net.b, net.bias))
    return SideNet(a, b, bias, round(net.similarity_floor, 2))


def compare(before: Sequence[Numbers], after: Sequence[Numbers]) -> dict[str, Json]:
    """Recall without and with the net, and the 95% interval of the difference by a bootstrap over questions."""
    old, new = np.concatenate(before), np.concatenate(after)
    rng = np.random.default_rng(1)  # noqa: TID251  # a fixed seed: always the same intervals
    draws = rng.integers(0, len(old), (2_000, len(old)))
    means = np.array([(new - old)[draw].mean(axis=0) for draw in draws])
    low, high = np.quantile(means, [0.025, 0.975], axis=0)
    return {
        "spaces": len(before),
        "questions": len(old),
        **{
            f"recall@{k}": {
                "without": round(float(old[:, place].mean()), 4),
                "with": round(float(new[:, place].mean()), 4),
                "difference": [round(float(bound[place]), 4) for bound in (low, high)],
            }
            for place, k in enumerate(CUTOFFS)
        },
    }


def cross_validate(spaces: Sequence[Space], rate: float) -> dict[str, Json]:
    """Recall of spaces that the net was not trained on: of all, and of the large ones."""
    nets = [train([space for space in spaces if space.fold != fold], rate) for fold in range(FOLDS)]
    before, after = [space.recall(None) for space in spaces], [space.recall(nets[space.fold]) for space in spaces]
    large = [place for place, space in enumerate(spaces) if space.is_large]
    parts = {"all spaces": range(len(spaces)), f"spaces of {LARGE} texts and more": large}
    return {
        label: compare([before[place] for place in places], [after[place] for place in places])
        for label, places in parts.items()
    }


def main() -> None:
    """Train, cross-validate, measure, write."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--embedder", choices=sorted(EMBEDDERS), default="e5")
    parser.add_argument("--data", type=Path, help="the folder of the public sets")
    parser.add_argument("--rate", type=float, help="a learning rate to try")
    arguments = parser.parse_args()
    rate = RATE if arguments.rate is None else arguments.rate
    names = [path.name.partition(".")[0] for path in sorted(MEMORIES.glob("*.docs.jsonl"))]
    folders = {**{name: MEMORIES for name in names if name not in NEVER_TRAINED}, "talks": TALKS}
    if arguments.embedder == "minilm":
        folders = {name: folder for name, folder in folders.items() if name in ENGLISH}
    with CachingEmbedder(EMBEDDERS[arguments.embedder]()) as embedder:
        spaces = [space for name, folder in folders.items() for space in read_spaces(name, folder, embedder)]
        net = train(spaces, rate)
        files = (path for name, folder in folders.items() for path in sorted(folder.glob(f"{name}.*.jsonl")))
        provenance: dict[str, Json] = {
            "trained_by": "training/train_side_network.py",
            "sets": list(folders),
            "license": "written for this project, under its license",
            "sets_sha256": hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest(),
            "spaces": len(spaces),
            "questions": sum(len(space.gold) for space in spaces),
            "rate": rate,
            "epochs": EPOCHS,
            "negatives": NEGATIVES,
            "cross_validated": cross_validate(spaces, rate),
        }
        if arguments.data is not None:
            public = {name: list(read_spaces(name, arguments.data, embedder)) for name in PUBLIC}
            provenance["not_trained_on"] = {
                name: compare([one.recall(None) for one in found], [one.recall(net) for one in found])
                for name, found in public.items()
            }
        file: dict[str, Json] = {
            "what": "EISA's side network, a linear map of vectors; see ecphora.strategies.eisa.side_network",
            "provenance": provenance,
            "embedder": embedder.name,
            "similarity_floor": net.similarity_floor,
            **{name: round_numbers(getattr(net, name)) for name in ("a", "b", "bias")},
        }
    path = WEIGHTS / f"side_network_{arguments.embedder}.json"
    if arguments.rate is None:
        path.write_text(format_json(file), encoding="utf-8")
    print(format_json(provenance), end="")


def round_numbers(numbers: Vectors) -> Json:
    """The rows of an array as lists, without the digits of single precision."""
    if numbers.ndim == 1:
        return [round(float(number), DIGITS) for number in numbers]
    return [round_numbers(row) for row in numbers]


if __name__ == "__main__":
    main()
