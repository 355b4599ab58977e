"""Imperfect extraction, an open question of EcphoryRAG: recall where an extractor loses, confuses or merges names."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from hashlib import blake2b

from ecphora.language.names.mentions import normalize_name
from ecphora.maintenance.learn.datasets import Case
from ecphora.maintenance.learn.embedding_cache import CachingEmbedder
from ecphora.maintenance.learn.temporary_memory import Tick
from ecphora.model.ports import Extractor, Strategy
from ecphora.model.types import Extraction, Mention
from ecphora.models.rule_extractor import RuleExtractor

from ..recall.run_records import Figure
from .strategy_results import CUTOFFS, StrategyResults, build_spaces

NOISE_RATES = (0.1, 0.3, 0.5)
"""With which probability a mention, or a name, is wrong."""


class Noise(StrEnum):
    """What happens to a mention: it is lost, it becomes that of another name, or two names are always one."""

    LOST = "names lost"
    FALSE = "names false"
    MERGED = "names merged"


STEP_COUNT = 1 + len(Noise) * len(NOISE_RATES)
"""How many steps :func:`noise_figures` reports."""


@dataclass(frozen=True, slots=True)
class NoisyExtractor:
    """An extractor that spoils what another finds. What it draws depends on its seed, the text and the name alone.

    A mention is lost, or becomes that of another of ``names``, with the probability ``rate``. ``MERGED`` draws once for
    a name: all its mentions become those of the same other name. What a low rate spoils, a higher one spoils too.
    Relations stay.
    """

    extractor: Extractor
    noise: Noise
    rate: float
    names: tuple[str, ...] = ()
    seed: int = 0

    def extract(self, texts: Sequence[str], /) -> list[Extraction]:
        """What the other extractor finds in each text, spoiled."""
        found = self.extractor.extract(texts)
        return [self._spoil(text, extraction) for text, extraction in zip(texts, found, strict=True)]

    def _spoil(self, text: str, extraction: Extraction) -> Extraction:
        mentions: dict[str, Mention] = {}
        for mention in extraction.mentions:
            for kept in self._spoil_mention(text, mention):
                mentions.setdefault(normalize_name(kept.name), kept)
        return replace(extraction, mentions=tuple(mentions.values()))

    def _spoil_mention(self, text: str, mention: Mention) -> Iterator[Mention]:
        """The mention that is left, if any."""
        name = normalize_name(mention.name)
        drawn = f"{self.noise}\0{name}" if self.noise is Noise.MERGED else f"{self.noise}\0{name}\0{text}"
        if self._draw(drawn) >= self.rate:
            yield mention
        elif self.noise is not Noise.LOST:
            others = [other for other in self.names if normalize_name(other) != name]
            yield replace(mention, name=others[int(self._draw(f"other\0{drawn}") * len(others))]) if others else mention

    def _draw(self, key: str) -> float:
        """A number in 0..1, without 1, the same at every run."""
        digest = blake2b(f"{self.seed}\0{key}".encode(), digest_size=8).digest()
        return int.from_bytes(digest, "big") / (1 << 64)


def noise_figures(
    dataset: str,
    cases: Sequence[Case],
    strategies: Sequence[Strategy],
    embedder: CachingEmbedder,
    tick: Tick = lambda _steps: None,
) -> Iterator[Figure]:
    """Recall for each kind and rate of noise, and the difference to recall without noise."""
    clean = StrategyResults.collect(build_spaces(cases, strategies, embedder), strategies)
    tick(1)
    names = {case.space: _names(case) for case in cases}
    for noise in Noise:
        for k in CUTOFFS:
            yield from clean.recall_figures(dataset, f"{noise} 0%", k)
        for rate in NOISE_RATES:
            extractors = [NoisyExtractor(RuleExtractor(), noise, rate, names[case.space]) for case in cases]
            noisy = StrategyResults.collect(build_spaces(cases, strategies, embedder, extractors), strategies)
            for k in CUTOFFS:
                yield from noisy.recall_figures(dataset, f"{noise} {rate:.0%}", k, reference=clean)
            tick(1)


def _names(case: Case) -> tuple[str, ...]:
    """The names of a space, each in one spelling."""
    texts = [episode.text for episode in case.episodes]
    found = {
        normalize_name(mention.name): mention.name
        for extraction in RuleExtractor().extract(texts)
        for mention in extraction.mentions
    }
    return tuple(found[key] for key in sorted(found))
