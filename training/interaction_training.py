"""Trains heads over token states with torch, for ``train_reranker.py``."""
# ruff: noqa: INP001, T201  # in the folder of the script that uses it; it prints

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import onnx
import torch
from interaction_graph import (
    FEATURES,
    HEADS,
    LOWEST_MATCH,
    MATCH_SCALE,
    SIMILARITY_ORIGIN,
    SIMILARITY_RANGE,
    TEXT_ORIGIN,
    TEXT_RANGE,
    WORST_MATCHES,
    build_graph,
)
from numpy.typing import NDArray
from onnx import numpy_helper
from torch import Tensor, nn
from torch.nn import functional

from ecphora.models.embedders.token_codes import CODE_SIZE, MAX_TEXT_TOKENS, PACKED, InteractionHead, TokenStates

WIDTH, LAYERS, HIDDEN = 128, 2, 64
"""The numbers of a token's state in the head; its layers; its last hidden numbers."""
GROUP_SIZE, UNANSWERABLE_GROUP_SIZE = 8, 6
"""Passages of a question in an epoch, and of a question without an answer."""
MAX_ANSWERS = 2
"""How many of them answer the question at most."""
RANK_OFFSET = 3
"""A passage at rank r from 0 that does not answer is drawn in proportion to 1 / (r + this)."""
BATCH_GROUPS, PAIRS_PER_PASS = 8, 16
"""Questions of a training step, and pairs that are padded together."""
TEACHER_SHARE = 0.5
"""How much a target is that of the teacher instead of the label."""
ANSWER_WEIGHT, LISTWISE_WEIGHT = 2.0, 0.5
"""The weight of a passage that answers, and of the listwise loss beside the pointwise one."""
WARM_UP, WEIGHT_DECAY, DROPOUT, CLIP = 0.05, 0.05, 0.2, 1.0
REPORT_STEPS = 200
HAS_BFLOAT16: bool = torch.ops.mkldnn._is_mkldnn_bf16_supported()  # noqa: SLF001
"""Whether the processor computes in bfloat16; where it does not, that takes ten times as long as single precision."""
NO_ATTENTION = -1e9
TWIN_QUESTIONS = 4
"""Questions whose scores are computed by the network and by the head, to compare them."""


@dataclass(frozen=True, slots=True)
class PassageCodes:
    """The token codes of a passage, and of the turn before it."""

    own: bytes
    context: bytes = b""

    @property
    def count(self) -> int:
        """About how many tokens are read of it."""
        return min(len(self.own), MAX_TEXT_TOKENS * PACKED.itemsize) // PACKED.itemsize

    def states(self, question: TokenStates) -> TokenStates:
        """What the head reads of it with a question."""
        return TokenStates.from_codes(question, self.own, self.context)


@dataclass(frozen=True, slots=True, eq=False)
class TrainingQuestion:
    """A question with its passages, the best of the ranking first, and which of them answer it.

    ``taught`` has the log-odds of a teacher, not a number for passages that it has not read.
    """

    question: TokenStates
    passages: Sequence[PassageCodes]
    is_answer: NDArray[np.bool_]
    taught: NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class _Group:
    """A question with the passages of one epoch; the first ``answers`` of them answer it.

    ``targets`` are the probabilities that they do, by the label and the teacher.
    """

    question: TokenStates
    passages: Sequence[PassageCodes]
    answers: int
    targets: NDArray[np.float64]


class _Network(nn.Module):  # type: ignore[misc,unused-ignore]  # torch is not in the development tools
    """The network of ``interaction_graph.py`` for batches, with the same names of its weights."""

    def __init__(self) -> None:
        super().__init__()
        linear = {"input": (CODE_SIZE, WIDTH), "match": (2, WIDTH), "score": (HIDDEN, 1), "features": (FEATURES, 1)}
        linear["output"] = (3 * WIDTH + FEATURES, HIDDEN)
        norms = {"input norm": CODE_SIZE, "output norm": 3 * WIDTH + FEATURES}
        for layer in range(LAYERS):
            linear[f"{layer}.attention"] = (WIDTH, 3 * WIDTH)
            linear[f"{layer}.attention output"] = (WIDTH, WIDTH)
            linear[f"{layer}.dense"], linear[f"{layer}.dense output"] = (WIDTH, 2 * WIDTH), (2 * WIDTH, WIDTH)
            norms[f"{layer}.attention norm"] = norms[f"{layer}.dense norm"] = WIDTH
        self.linear = nn.ModuleDict({_key(name): nn.Linear(*sizes) for name, sizes in linear.items()})
        self.norm = nn.ModuleDict({_key(name): nn.LayerNorm(size) for name, size in norms.items()})
        self.segments = nn.Parameter(torch.randn(3, WIDTH) * 0.02)
        self.bias = nn.ParameterList([nn.Parameter(torch.linspace(0, 4, HEADS)) for _ in range(LAYERS)])

    def named_weights(self) -> dict[str, NDArray[np.float32]]:
        """The weights as ``interaction_graph.py`` takes them."""
        return {name: value.detach().numpy().astype(np.float32) for name, value in self._named_parameters()}

    def load_weights(self, graph: bytes) -> None:
        """Take the weights of a head's graph."""
        found = {one.name: numpy_helper.to_array(one) for one in onnx.load_from_string(graph).graph.initializer}
        with torch.no_grad():
            for name, parameter in self._named_parameters():
                parameter.copy_(torch.tensor(found[name]))

    def _named_parameters(self) -> Iterator[tuple[str, nn.Parameter]]:
        """The parameters by the names that ``interaction_graph.py`` gives them."""
        yield "segments", self.segments
        yield from ((f"{layer}.bias", bias) for layer, bias in enumerate(self.bias))
        for modules in (self.linear, self.norm):
            for key, module in modules.items():
                name = key.replace("/", ".")
                yield from ((f"{name}.weight", module.weight), (f"{name}.offset", module.bias))

    def _linear(self, x: Tensor, name: str) -> Tensor:
        result: Tensor = self.linear[_key(name)](x)
        return result

    def _norm(self, x: Tensor, name: str) -> Tensor:
        result: Tensor = self.norm[_key(name)](x)
        return result

    def _drop(self, x: Tensor) -> Tensor:
        """Drop whole numbers of a token's state, the same for all tokens: a fifth of the time of dropping each."""
        if not self.training:
            return x
        kept = torch.rand(len(x), 1, x.shape[2]) >= DROPOUT
        return x * kept / (1 - DROPOUT)

    def forward(self, questions: Tensor, asked: Tensor, passages: Tensor, segments: Tensor) -> Tensor:
        """Log-odds of pairs.

        ``questions`` and ``passages`` are padded states; ``asked`` says which tokens of a question are real;
        ``segments`` is 1 for a token of a memory's text, 2 for one of its context, 3 for padding.
        """
        is_text, is_real = segments == 1, segments < 3
        cosine = functional.normalize(questions, dim=-1) @ functional.normalize(passages, dim=-1).transpose(1, 2)
        similarity = (cosine - SIMILARITY_ORIGIN) / SIMILARITY_RANGE
        masked = similarity.masked_fill(~(asked[:, :, None] & is_real[:, None]), LOWEST_MATCH)
        best = torch.cat([masked.amax(2), masked.amax(1)], 1).clamp(min=LOWEST_MATCH)
        in_text = similarity.masked_fill(~(asked[:, :, None] & is_text[:, None]), LOWEST_MATCH).amax(2)
        in_text = in_text.clamp(min=LOWEST_MATCH)
        best_in_text = torch.cat([in_text, torch.full(segments.shape, LOWEST_MATCH)], 1)
        count = questions.shape[1]
        segment = torch.cat([torch.zeros(asked.shape, dtype=torch.long), segments.clamp(max=2)], 1)
        states = torch.cat([questions, passages], 1)
        x = self._drop(self._linear(self._norm(states, "input norm"), "input")) + self.segments[segment]
        x = x + self._linear(torch.stack([best, best_in_text], -1), "match")
        mask = torch.where(torch.cat([asked, is_real], 1), 0.0, NO_ATTENTION)[:, None, None]
        bias = torch.zeros(len(x), x.shape[1], x.shape[1])
        bias[:, :count, count:], bias[:, count:, :count] = similarity, similarity.transpose(1, 2)
        for layer in range(LAYERS):
            x = self._layer(x, bias, mask, layer)
        f, g = asked.float()[..., None], is_text.float()[..., None]
        mean_question = (x[:, :count] * f).sum(1) / f.sum(1)
        mean_text = (x[:, count:] * g).sum(1) / g.sum(1).clamp(min=1)
        whole = functional.cosine_similarity((questions * f).sum(1), (passages * g).sum(1))
        question_best = best[:, :count]
        worst = question_best.masked_fill(~asked, torch.inf).topk(WORST_MATCHES, 1, largest=False).values
        features = torch.stack(
            [
                (whole - TEXT_ORIGIN) / TEXT_RANGE,
                (question_best * asked).sum(1) / asked.sum(1) * MATCH_SCALE,
                (in_text * asked).sum(1) / asked.sum(1) * MATCH_SCALE,
                *worst.unbind(1),
            ],
            1,
        )
        pooled = torch.cat([mean_question, mean_text, mean_question * mean_text, features], 1)
        hidden = functional.gelu(self._linear(self._norm(pooled, "output norm"), "output"))
        hidden = functional.dropout(hidden, DROPOUT, self.training)
        return (self._linear(hidden, "score") + self._linear(features, "features"))[:, 0]

    def _layer(self, x: Tensor, bias: Tensor, mask: Tensor, layer: int) -> Tensor:
        size, count, _ = x.shape
        mixed = self._linear(self._norm(x, f"{layer}.attention norm"), f"{layer}.attention")
        queries, keys, values = mixed.view(size, count, 3, HEADS, WIDTH // HEADS).permute(2, 0, 3, 1, 4)
        attention_bias = bias[:, None] * self.bias[layer][None, :, None, None] + mask
        found = functional.scaled_dot_product_attention(queries, keys, values, attn_mask=attention_bias)
        found = self._linear(found.transpose(1, 2).reshape(size, count, WIDTH), f"{layer}.attention output")
        x = x + self._drop(found)
        inner = self._drop(functional.gelu(self._linear(self._norm(x, f"{layer}.dense norm"), f"{layer}.dense")))
        return x + self._drop(self._linear(inner, f"{layer}.dense output"))


def _key(name: str) -> str:
    return name.replace(".", "/")  # torch allows no dot in a name


def train_head(
    questions: Sequence[TrainingQuestion], epochs: int, *, rate: float, start: bytes | None = None, seed: int = 0
) -> bytes:
    """Train a head on questions with passages, with AdamW; return its graph.

    ``rate`` is the highest learning rate, ``start`` the graph to begin with.
    """
    torch.manual_seed(seed)
    random = np.random.default_rng(seed)  # noqa: TID251  # seeded
    network = _Network()
    if start is not None:
        network.load_weights(start)
    _check_twin(network, questions[:TWIN_QUESTIONS])
    optimizer = torch.optim.AdamW(network.parameters(), lr=rate, weight_decay=WEIGHT_DECAY)
    steps = epochs * math.ceil(len(questions) / BATCH_GROUPS)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer,
        lambda step: min(1, (step + 1) / (steps * WARM_UP)) * (0.5 + 0.5 * math.cos(math.pi * min(1, step / steps))),
    )
    started = time.perf_counter()
    for epoch in range(epochs):
        losses = []
        for groups in _batches(list(_draw_groups(questions, random)), random):
            loss = _loss(network, groups)
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call,unused-ignore]
            nn.utils.clip_grad_norm_(network.parameters(), CLIP)
            optimizer.step()
            schedule.step()
            losses.append(loss.item())
            if len(losses) % REPORT_STEPS == 0:
                print(
                    f"step {len(losses)}: {np.mean(losses[-REPORT_STEPS:]):.3f}, {time.perf_counter() - started:.0f} s",
                    flush=True,
                )
        print(f"epoch {epoch + 1}: loss {np.mean(losses):.3f}, {time.perf_counter() - started:.0f} s", flush=True)
    return build_graph(network.named_weights())


def _check_twin(network: _Network, questions: Sequence[TrainingQuestion]) -> None:
    """Raise ``AssertionError`` if the head's scores are not those of the network."""
    head = InteractionHead(build_graph(network.named_weights()))
    pairs = [
        (question.question, codes.states(question.question)) for question in questions for codes in question.passages
    ]
    network.eval()
    with torch.no_grad():
        expected = network(*_pad(pairs)).numpy()
    found = [head.score(question, passage) for question, passage in pairs]
    np.testing.assert_allclose(found, expected, atol=1e-3)
    network.train()


def _draw_groups(questions: Sequence[TrainingQuestion], random: np.random.Generator) -> Iterator[_Group]:
    """For each question some answers and, more likely the better they rank, some passages that do not answer."""
    for question in questions:
        answers = random.permutation(np.flatnonzero(question.is_answer))[:MAX_ANSWERS]
        others = np.flatnonzero(~question.is_answer)
        count = min(GROUP_SIZE - len(answers) if len(answers) else UNANSWERABLE_GROUP_SIZE, len(others))
        if count < 1:
            continue
        chances = 1 / (np.arange(len(others)) + RANK_OFFSET)
        drawn = random.choice(others, count, replace=False, p=chances / chances.sum())
        places = np.concatenate([answers, drawn])
        taught = question.taught[places]
        by_teacher = np.where(np.isnan(taught), question.is_answer[places], 1 / (1 + np.exp(-taught)))
        targets = (1 - TEACHER_SHARE) * question.is_answer[places] + TEACHER_SHARE * by_teacher
        yield _Group(question.question, [question.passages[place] for place in places], len(answers), targets)


def _batches(groups: Sequence[_Group], random: np.random.Generator) -> Iterator[list[_Group]]:
    """Batches of questions whose passages have about the same length, in random order."""
    lengths = [np.mean([codes.count for codes in group.passages]) + random.uniform(0, 20) for group in groups]
    order = np.argsort(lengths).tolist()
    starts = np.arange(0, len(order), BATCH_GROUPS)
    random.shuffle(starts)
    for start in starts.tolist():
        yield [groups[place] for place in order[start : start + BATCH_GROUPS]]


def _loss(network: _Network, groups: Sequence[_Group]) -> Tensor:
    """Whether each passage answers, and which passage of a question does."""
    pairs = [(group.question, codes.states(group.question)) for group in groups for codes in group.passages]
    order = sorted(range(len(pairs)), key=lambda place: len(pairs[place][0].rows) + len(pairs[place][1].rows))
    parts = [order[start : start + PAIRS_PER_PASS] for start in range(0, len(order), PAIRS_PER_PASS)]
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=HAS_BFLOAT16):
        shuffled = torch.cat([network(*_pad([pairs[place] for place in part])) for part in parts]).float()
    scores = shuffled[torch.tensor(np.argsort(order))]
    labels, listwise, start = [], [], 0
    for group in groups:
        end = start + len(group.passages)
        others = scores[start + group.answers : end]
        listwise += [
            torch.logsumexp(torch.cat([scores[place : place + 1], others]), 0) - scores[place]
            for place in range(start, start + group.answers)
        ]
        labels += [1.0] * group.answers + [0.0] * (end - start - group.answers)
        start = end
    target = torch.tensor(np.concatenate([group.targets for group in groups]), dtype=torch.float32)
    weight = torch.where(torch.tensor(labels) > 0, ANSWER_WEIGHT, 1.0)
    loss = functional.binary_cross_entropy_with_logits(scores, target, weight=weight)
    return loss + LISTWISE_WEIGHT * torch.stack(listwise).mean() if listwise else loss


def _pad(pairs: Sequence[tuple[TokenStates, TokenStates]]) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    longest_question = max(len(question.rows) for question, _ in pairs)
    longest_passage = max(len(states.rows) for _, states in pairs)
    questions = np.zeros((len(pairs), longest_question, CODE_SIZE), np.float32)
    asked = np.zeros((len(pairs), longest_question), np.bool_)
    passages = np.zeros((len(pairs), longest_passage, CODE_SIZE), np.float32)
    segments = np.full((len(pairs), longest_passage), 3)
    for place, (question, states) in enumerate(pairs):
        questions[place, : len(question.rows)], asked[place, : len(question.rows)] = question.rows, True
        passages[place, : len(states.rows)] = states.rows
        segments[place, : len(states.rows)] = np.where(states.is_context, 2, 1)
    return torch.tensor(questions), torch.tensor(asked), torch.tensor(passages), torch.tensor(segments)
