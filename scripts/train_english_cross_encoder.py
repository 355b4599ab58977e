"""Train the adapters with which all-MiniLM-L6-v2 reads an English question and memory together; write
weights/english_reader_adapters.npz.

    .venv/bin/pip install torch
    .venv/bin/python scripts/fact_set.py FACTS
    .venv/bin/python scripts/train_english_cross_encoder.py FACTS --work FOLDER [--share SHARE] [--epochs N]
        [--rate RATE] [--resume]

The cross-encoder learns from the sets of ``fact_set.py``, from drills of who did what to whom (``role_drills.py``),
and from the English questions of the spaces that train the other readers (``train_cross_encoder.py``): to tell the
memories that answer a question from the best other candidates of ``fused``. Half an hour on two cores. ``--share``
takes a share of the spaces, ``--resume`` trains the adapters in the package further. Afterwards ``train_fused.py`` fits
what ``fused`` makes of the scores.
"""
# ruff: noqa: INP001, T201  # a script that prints

import argparse
import io
import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from minilm_training import AdaptedMiniLM, pad
from numpy.typing import NDArray
from pair_scoring import Half, Head, pair_loss
from reader_examples import ReadingExample
from role_drills import drill_examples
from torch import Tensor, nn
from train_cross_encoder import FACTS, is_trained_on
from train_reader import SOURCES, WEIGHTS, as_plain_texts, load_examples, sha256

from ecphora.embedders.minilm import MiniLMNetwork, share_network
from ecphora.embedders.scoring_head import PairTokens, ScoringHead
from ecphora.language.language_identification import is_english
from ecphora.readers.minilm_cross_encoder import ADAPTERS_FILE, pair_tokens, question_tokens, token_types

ENGLISH_SETS = ("en", "short", "many", "talks", "long")
"""Our own sets with English spaces."""
BEST_CANDIDATES, UNANSWERABLE_CANDIDATES = 12, 6
"""The candidates that do not answer are among so many of the best; of a question without an answer, fewer."""
MAX_POSITIVES, NEGATIVES, RANK_OFFSET = 2, 5, 2
"""The pairs of a question in an epoch; those that do not answer are drawn the likelier, the better they rank."""
BATCH_PAIRS = 40
RATE, WARM_UP, WEIGHT_DECAY, CLIP = 1.5e-3, 0.06, 0.01, 1.0
REPORT_STEPS = 100


@dataclass(frozen=True, slots=True, eq=False)
class Group:
    """The pairs of a question with its candidates, those that answer first, and how many do."""

    pairs: Sequence[PairTokens]
    answers: int


class EnglishCrossEncoder(nn.Module):  # type: ignore[misc,unused-ignore]  # torch is not in the development tools
    """The network and its head, for batches of pairs."""

    def __init__(self) -> None:
        super().__init__()
        self.network, self.head = AdaptedMiniLM(), Head()

    def forward(self, pairs: Sequence[PairTokens]) -> Tensor:
        """Log-odds of pairs."""
        ids, is_real = pad([pair.ids for pair in pairs])
        segments, _ = pad([pair.segments for pair in pairs])
        types, _ = pad([token_types(pair) for pair in pairs])
        result: Tensor = self.head(self.network(ids, types, is_real), segments, is_real)
        return result

    def to_bytes(self) -> bytes:
        """The adapters and the head in half precision, as a file."""
        file = io.BytesIO()
        np.savez(file, allow_pickle=False, **self.network.adapters(), **self.head.weights().to_arrays())
        return file.getvalue()

    def load(self, content: bytes) -> None:
        """Continue from such a file."""
        with np.load(io.BytesIO(content), allow_pickle=False) as found:
            arrays: dict[str, Half] = {name: found[name] for name in found.files}
        self.head.load_weights(ScoringHead.from_arrays(arrays))
        self.network.load_adapters({name: arrays[name] for name in arrays if name.endswith((".down", ".up"))})


def main() -> None:
    """Train and write."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("facts", type=Path, help="folder of the sets of fact_set.py")
    parser.add_argument("--work", type=Path, required=True, help="folder for the candidates")
    parser.add_argument("--share", type=float, default=0.5, help="the share of the spaces to train on")
    parser.add_argument("--epochs", type=float, default=1.0)
    parser.add_argument("--rate", type=float, default=RATE, help="the highest learning rate")
    parser.add_argument("--resume", action="store_true", help="train the adapters in the package further")
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    network = share_network()()
    examples = training_examples(options.work, options.facts, options.share)
    groups = [group for example in examples if (group := make_group(example, network)) is not None]
    print(f"{len(groups)} questions", flush=True)
    model, path = EnglishCrossEncoder(), WEIGHTS / ADAPTERS_FILE
    if options.resume:
        model.load(path.read_bytes())
    train(model, groups, options.epochs, options.rate)
    path.write_bytes(model.to_bytes())
    print(f"ADAPTERS_DIGEST in readers/minilm_cross_encoder.py: {sha256(path)}")


def training_examples(work: Path, facts: Path, share: float) -> Iterator[ReadingExample]:
    """The English questions of spaces that are not kept apart, half of the spaces as plain texts; and drills."""
    yield from drill_examples()
    sources = [(facts, name, False) for name in FACTS]
    sources += [(folder, name, True) for folder, name in SOURCES if name in ENGLISH_SETS and share]
    for folder, name, is_shared in sources:
        found = load_examples(work, folder, name, share, takes=is_trained_on if is_shared else lambda *_: True)
        yield from (as_plain_texts(example) for example in found if is_english(example.question))


def make_group(example: ReadingExample, network: MiniLMNetwork) -> Group | None:
    """The pairs of a question; None if there are none."""
    asked = question_tokens(network, example.question, example.asked_on)
    answers = [one for one, answers in zip(example.candidates, example.is_answer, strict=True) if answers]
    others = [one for one, answers in zip(example.candidates, example.is_answer, strict=True) if not answers]
    count = BEST_CANDIDATES if example.is_answerable else UNANSWERABLE_CANDIDATES
    right = [pair_tokens(network, asked, one) for one in (*answers, *example.missed_answers)]
    wrong = [pair_tokens(network, asked, one) for one in others[:count]]
    pairs = [pair for pair in (*right, *wrong) if pair is not None]
    return Group(pairs, sum(pair is not None for pair in right)) if pairs else None


def train(model: EnglishCrossEncoder, groups: Sequence[Group], epochs: float, rate: float, *, seed: int = 0) -> None:
    """Train with AdamW."""
    torch.manual_seed(seed)
    random = np.random.default_rng(seed)  # noqa: TID251  # seeded
    batches = [batch for epoch in range(math.ceil(epochs)) for batch in draw_batches(groups, random)]
    steps = round(len(batches) * epochs / math.ceil(epochs))
    parameters = list(model.parameters())
    optimizer = torch.optim.AdamW(parameters, lr=rate, weight_decay=WEIGHT_DECAY)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer,
        lambda step: min(1.0, (step + 1) / (steps * WARM_UP)) * (0.5 + 0.5 * math.cos(math.pi * step / steps)),
    )
    started, losses = time.perf_counter(), []
    for step, batch in enumerate(batches[:steps]):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            scores = model([pair for group in batch for pair in group.pairs]).float()
        loss = pair_loss(scores, [labels(group) for group in batch])
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call,unused-ignore]
        nn.utils.clip_grad_norm_(parameters, CLIP)
        optimizer.step()
        schedule.step()
        losses.append(loss.item())
        if step % REPORT_STEPS == REPORT_STEPS - 1:
            recent = np.mean(losses[-REPORT_STEPS:])
            print(f"step {step + 1} of {steps}: loss {recent:.3f}, {time.perf_counter() - started:.0f} s", flush=True)


def labels(group: Group) -> NDArray[np.bool_]:
    """Which pairs of a group answer."""
    return np.arange(len(group.pairs)) < group.answers


def draw_batches(groups: Sequence[Group], random: np.random.Generator) -> list[list[Group]]:
    """The batches of an epoch: questions with some of their candidates, of about the same length, in random order."""
    drawn = [draw(group, random) for group in groups]
    lengths = [max(len(pair.ids) for pair in group.pairs) + random.uniform(0, 8) for group in drawn]
    batches: list[list[Group]] = [[]]
    for place in np.argsort(lengths).tolist():
        if sum(len(group.pairs) for group in batches[-1]) >= BATCH_PAIRS:
            batches.append([])
        batches[-1].append(drawn[place])
    random.shuffle(batches)
    return batches


def draw(group: Group, random: np.random.Generator) -> Group:
    """Some pairs of a group."""
    right = random.permutation(group.answers)[:MAX_POSITIVES].tolist()
    others = len(group.pairs) - group.answers
    chances = 1 / (np.arange(others) + RANK_OFFSET)
    count = min(NEGATIVES, others)
    wrong: list[int] = random.choice(others, count, replace=False, p=chances / chances.sum()).tolist() if count else []
    places = [*right, *(group.answers + place for place in wrong)]
    return Group([group.pairs[place] for place in places], len(right))


if __name__ == "__main__":
    main()
