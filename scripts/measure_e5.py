"""Measure what the smaller embeddings of multilingual-e5-small cost, against all word pieces in 4 bits.

    .venv/bin/python scripts/measure_e5.py [--data DIR] [--set NAME …] [--embeddings NAME …]

Prints for each set the least and the mean cosine of the same texts, and ``recall_any@1`` by cosine alone: of the
reference, of the smaller embeddings, and with questions from the smaller ones on texts of the reference. ``trimmed``
has only the likeliest pieces, all in 4 bits, and every single character; all other pieces are spelled with these.
Without ``--set``, it prints for every language of ``languages.jsonl`` how many tokens its sentences have, as a multiple
of the reference's, and the cosines.
"""
# ruff: noqa: INP001, T201  # a script that prints

import argparse
import json
from collections import defaultdict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import build_e5
import e5_source
import numpy as np
from numpy.typing import NDArray

from ecphora.maintenance.learn.datasets import read_cases
from ecphora.models.embedders.e5.e5_network import MODEL_FOLDER, PASSAGE_PREFIX, QUERY_PREFIX, E5Network
from ecphora.models.embedders.e5.token_embeddings import TokenEmbeddings
from ecphora.models.embedders.e5.unigram import UnigramTokenizer, UnigramVocabulary

HERE = Path(__file__).parent
MAX_TEXTS = 800
"""How many texts of a set are embedded, at least one space."""
MAX_QUESTIONS = 400


class Variant(E5Network):
    """The network of the package with another vocabulary and other embeddings."""

    def __init__(self, vocabulary: UnigramVocabulary, embeddings: TokenEmbeddings) -> None:
        self._parts = UnigramTokenizer(vocabulary), embeddings
        super().__init__(MODEL_FOLDER)

    def _load_tokenizer(self, _folder: object) -> None:
        self._tokenize, self._embeddings = self._parts


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, default=HERE / "data" / "memories", help="the folder of the sets")
    parser.add_argument("--set", action="append", help="a set; without it, the sentences of languages.jsonl")
    parser.add_argument("--embeddings", action="append", help="which smaller embeddings; by default all of them")
    options = parser.parse_args()
    reference, variants = make_variants(options.embeddings)
    if options.set:
        for name in options.set:
            measure_set(reference, variants, options.data, name)
    else:
        measure_languages(reference, variants)


def make_variants(names: Sequence[str] | None) -> tuple[Variant, dict[str, Variant]]:
    """The network with all pieces in 4 bits, and those with smaller embeddings."""
    file, weights = e5_source.read_file(), e5_source.load_weights()

    def pack(common: int) -> TokenEmbeddings:
        return build_e5.pack_embeddings(file, weights, common)

    whole = pack(len(file.vocabulary.scores) - 2)  # but for the last two, for the mean of the rare ones
    recipes: dict[str, Callable[[], Variant]] = {}
    for common in (4, 60_000, build_e5.COMMON_PIECES):
        recipes[f"{common:,} in 4 bits"] = partial(lambda n: Variant(file.vocabulary, pack(n)), common)
    for size in (100_000, 140_000, 175_000):
        recipes[f"trimmed to {size:,}"] = partial(lambda n: Variant(trim(file.vocabulary, n), whole), size)
    return Variant(file.vocabulary, whole), {name: recipes[name]() for name in names or recipes}


def trim(vocabulary: UnigramVocabulary, size: int) -> UnigramVocabulary:
    """All single characters and, up to ``size`` pieces, the likeliest others."""
    pieces = sorted(vocabulary.piece_ids.items(), key=lambda item: (len(item[0]) > 1, item[1]))
    return UnigramVocabulary(dict(pieces[:size]), vocabulary.scores, vocabulary.character_map, vocabulary.unknown_id)


def measure_set(reference: Variant, variants: dict[str, Variant], data: Path, name: str) -> None:
    """Print the cosines and the recall of one set."""
    texts: list[str] = []
    questions: list[tuple[str, range, frozenset[int]]] = []
    for case in read_cases(name, data):
        space = range(len(texts), len(texts) + len(case.episodes))
        places = {episode.id: place for episode, place in zip(case.episodes, space, strict=True)}
        texts += [PASSAGE_PREFIX + episode.text for episode in case.episodes]
        questions += [
            (QUERY_PREFIX + question.text, space, frozenset(places[id_] for id_ in question.gold))
            for question in case.questions
            if question.gold
        ]
        if len(texts) >= MAX_TEXTS:
            break
    questions = questions[:: 1 + len(questions) // MAX_QUESTIONS]
    print(f"{name}: {len(texts)} texts, {len(questions)} questions")

    def embed(network: Variant) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        rows = embed_all(network, [*texts, *(question for question, _, _ in questions)])
        return rows[: len(texts)], rows[len(texts) :]

    def count_hits(rows: NDArray[np.float32], question_rows: NDArray[np.float32]) -> float:
        return float(
            np.mean(
                [
                    space[int(np.argmax(rows[space.start : space.stop] @ row))] in gold
                    for row, (_, space, gold) in zip(question_rows, questions, strict=True)
                ]
            )
        )

    expected = embed(reference)
    print(f"  {'all in 4 bits':20} cosine 1.000 / 1.000  first right {count_hits(*expected):.3f}")
    for label, network in variants.items():
        found = embed(network)
        cosines = (np.concatenate(found) * np.concatenate(expected)).sum(axis=1)
        print(
            f"  {label:20} cosine {cosines.min():.3f} / {cosines.mean():.3f}  first right {count_hits(*found):.3f}, "
            f"on texts in 4 bits {count_hits(expected[0], found[1]):.3f}",
            flush=True,
        )


def measure_languages(reference: Variant, variants: dict[str, Variant]) -> None:
    """Print tokens and cosines by language."""
    sentences: dict[str, list[str]] = defaultdict(list)
    for line in (HERE / "data" / "languages.jsonl").read_text(encoding="utf-8").splitlines():
        fields = json.loads(line)
        sentences[fields["language"]].append(PASSAGE_PREFIX + fields["text"])
    print("tokens, least and mean cosine of", *variants, sep=" | ")
    for language, texts in sentences.items():
        expected, token_count = embed_all(reference, texts), count_tokens(reference, texts)
        cells = []
        for network in variants.values():
            cosines = (embed_all(network, texts) * expected).sum(axis=1)
            cells.append(f"{count_tokens(network, texts) / token_count:.2f} {cosines.min():.3f} {cosines.mean():.3f}")
        print(f"{language:12}", *cells, sep=" | ", flush=True)


def embed_all(network: Variant, texts: Sequence[str]) -> NDArray[np.float32]:
    """The vectors of texts."""
    with ThreadPoolExecutor(2) as pool:
        return np.array(list(pool.map(network.embed, texts)))


def count_tokens(network: Variant, texts: Sequence[str]) -> int:
    """How many tokens texts have together."""
    return sum(len(network.tokenize(text, network.max_tokens)) for text in texts)


if __name__ == "__main__":
    main()
