"""Train the adapters with which all-MiniLM-L6-v2 embeds questions; write weights/minilm/question_adapters.npz.

    .venv/bin/pip install torch
    .venv/bin/python training/fact_set.py FOLDER
    .venv/bin/python training/train_question_adapters.py FOLDER [--epochs N] [--mean]

The vector of a question learns to be near to those of the texts that answer it, and far from those of other texts of
its space and of other questions' answers (InfoNCE; Aäron van den Oord et al., "Representation Learning with Contrastive
Predictive Coding", 2018, arXiv:1807.03748). The vectors of texts stay as they are, so those that are stored stay valid.
It learns from the answerable English questions of texts that were written for this project: training/data/memories
without those that are held back, training/data/talks, and the sets of ``fact_set.py``. Five to ten minutes on two
cores. Those in the package are the mean of two trainings, on the first lists of facts and on all of them: better than
either on texts of other kinds (Mitchell Wortsman et al., "Model soups", 2022, arXiv:2203.05482). Afterwards
``train_fused.py`` fits what ``fused`` makes of the similarity.
"""
# ruff: noqa: INP001, T201  # a script that prints

import argparse
import hashlib
import io
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from zlib import crc32

import numpy as np
import torch
from minilm_training import NO_ATTENTION, AdaptedMiniLM, pad
from pair_scoring import mean_half
from torch import Tensor
from torch.nn import functional

from ecphora.language.language_identification import is_english
from ecphora.maintenance.learn import datasets
from ecphora.maintenance.learn.embedding_cache import CachingEmbedder
from ecphora.models.embedders.minilm import (
    MODEL_FOLDER,
    QUESTION_ADAPTERS,
    MiniLMEmbedder,
    MiniLMNetwork,
    share_network,
)
from ecphora.remember import documents, encode

HERE = Path(__file__).parent
MEMORIES = HERE / "data" / "memories"
SOURCES = (
    (MEMORIES, "en", 4),
    (MEMORIES, "short", 6),
    (MEMORIES, "long", 6),
    (MEMORIES, "many", 8),
    (HERE / "data", "talks", 2),
)
"""The folders and names of our own sets with English spaces. One space in so many is left to ``train_fused.py``: it
would trust similarity too much if it saw the questions that this was trained on."""
FACTS = ("facts-own", "facts-who")
RATE, WARM_UP, WEIGHT_DECAY, EPOCHS = 8e-4, 0.06, 0.01, 2.0
BATCH_QUESTIONS, NEGATIVES, NEAREST = 48, 12, 40
"""The questions of a step, and for each so many texts of its space, drawn from the nearest that do not answer."""
TEMPERATURE, KEEP_WEIGHT = 0.05, 0.3
"""Of the contrastive loss; and the weight of the distance from the vector without adapters."""
REPORT_STEPS = 50
NOW = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True, eq=False)
class TrainingQuestion:
    """A question, the vectors of the texts of its space, and which of these answer."""

    text: str
    space: str
    texts: Tensor
    gold: Sequence[int]


def main() -> None:
    """Train and write."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("facts", type=Path, help="folder of the sets of fact_set.py")
    parser.add_argument("--epochs", type=float, default=EPOCHS)
    parser.add_argument("--mean", action="store_true", help="write the mean of the new adapters and the package's")
    options = parser.parse_args()
    sources = (*SOURCES, *((options.facts, name, None) for name in FACTS))
    with CachingEmbedder(MiniLMEmbedder()) as embedder:
        questions = [one for source in sources for one in read_questions(*source, embedder)]
    print(f"{len(questions)} questions", flush=True)
    adapters, path = train(questions, options.epochs).adapters(), Path(str(MODEL_FOLDER), QUESTION_ADAPTERS)
    if options.mean:
        with np.load(path) as before:
            adapters = {name: mean_half(values, before[name]) for name, values in adapters.items()}
    file = io.BytesIO()
    np.savez(file, allow_pickle=False, **adapters)
    content = file.getvalue()
    path.write_bytes(content)
    print(f"ADAPTERS_DIGEST in models/embedders/minilm.py: {hashlib.sha256(content).hexdigest()}")


def read_questions(folder: Path, name: str, every: int | None, embedder: CachingEmbedder) -> Iterator[TrainingQuestion]:
    """The answerable English questions of spaces that are mostly English, without one space in ``every``."""
    for case in datasets.read_cases(name, folder):
        if every is not None and crc32(case.space.encode()) % every == 0:
            continue
        nodes = [
            (episode.id, node) for episode in case.episodes for node in documents.check_episode(episode, NOW).chunks
        ]
        texts = [encode.indexed_text(node) for _, node in nodes]
        if 2 * sum(map(is_english, texts)) < len(texts):
            continue
        vectors = torch.tensor(embedder.embed(texts))
        for question in case.questions:
            gold = [row for row, (id_, _) in enumerate(nodes) if id_ in question.gold]
            if question.is_answerable and 0 < len(gold) < len(texts) and is_english(question.text):
                yield TrainingQuestion(question.text, f"{name}/{case.space}", vectors, gold)


class QuestionEncoder(AdaptedMiniLM):  # type: ignore[misc,unused-ignore]  # torch is not in the development tools
    """The vectors of questions, with adapters."""

    def __init__(self, tokens: MiniLMNetwork) -> None:
        super().__init__()
        self.tokens = tokens

    def embed(self, texts: Sequence[str]) -> Tensor:
        """The vectors of texts, unit rows."""
        network = self.tokens
        ids, is_real = pad(
            [
                [network.first_token, *network.tokenize(text, network.max_tokens - 2), network.last_token]
                for text in texts
            ]
        )
        share = is_real[..., None].float()
        states = self(ids, torch.zeros_like(ids), is_real)
        return functional.normalize((states * share).sum(1) / share.sum(1), dim=1)


def train(questions: Sequence[TrainingQuestion], epochs: float, *, seed: int = 0) -> QuestionEncoder:
    """Train adapters with AdamW."""
    torch.manual_seed(seed)
    random = np.random.default_rng(seed)  # noqa: TID251  # seeded
    network = QuestionEncoder(share_network()())
    start = _embed(network, [question.text for question in questions])
    nearest = [_nearest(question, vector) for question, vector in zip(questions, start, strict=True)]
    optimizer = torch.optim.AdamW(network.parameters(), lr=RATE, weight_decay=WEIGHT_DECAY)
    steps = round(epochs * len(questions) / BATCH_QUESTIONS)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer,
        lambda step: min(1.0, (step + 1) / (steps * WARM_UP)) * (0.5 + 0.5 * math.cos(math.pi * step / steps)),
    )
    left: list[int] = []
    losses = []
    for step in range(steps):
        if len(left) < BATCH_QUESTIONS:
            left = random.permutation(len(questions)).tolist()
        taken, left = left[:BATCH_QUESTIONS], left[BATCH_QUESTIONS:]
        negatives = torch.stack(
            [questions[place].texts[random.choice(nearest[place], NEGATIVES).tolist()] for place in taken]
        )
        answers = torch.stack([questions[place].texts[random.choice(questions[place].gold)] for place in taken])
        vectors = network.embed([questions[place].text for place in taken])
        contrast = _contrast(vectors, answers, negatives, [questions[place].space for place in taken])
        moved = (1 - (vectors * start[taken]).sum(1)).mean()
        optimizer.zero_grad()
        (contrast + KEEP_WEIGHT * moved).backward()
        optimizer.step()
        schedule.step()
        losses.append(contrast.item())
        if step % REPORT_STEPS == REPORT_STEPS - 1:
            print(f"step {step + 1} of {steps}: loss {np.mean(losses[-REPORT_STEPS:]):.3f}", flush=True)
    return network


def _contrast(vectors: Tensor, answers: Tensor, negatives: Tensor, spaces: Sequence[str]) -> Tensor:
    """The contrastive loss; what answers another question of the same space counts neither way."""
    own = torch.eye(len(vectors), dtype=torch.bool)
    numbers = torch.tensor([spaces.index(space) for space in spaces])
    others = (vectors @ answers.T).masked_fill((numbers[:, None] == numbers) & ~own, NO_ATTENTION)
    cosines = torch.cat([others, (negatives * vectors[:, None]).sum(-1)], 1)
    return functional.cross_entropy(cosines / TEMPERATURE, torch.arange(len(vectors)))


def _embed(network: QuestionEncoder, texts: Sequence[str]) -> Tensor:
    with torch.no_grad():
        parts = [network.embed(texts[start : start + 64]) for start in range(0, len(texts), 64)]
    return torch.cat(parts)


def _nearest(question: TrainingQuestion, vector: Tensor) -> list[int]:
    """The texts of the space that are nearest to a question and do not answer it."""
    order = torch.argsort(question.texts @ vector, descending=True).tolist()
    gold = set(question.gold)
    return [row for row in order[: NEAREST + len(gold)] if row not in gold][:NEAREST]


if __name__ == "__main__":
    main()
