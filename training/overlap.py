"""Check that no text which trains a shipped weight repeats a text of a folder of data sets.

    .venv/bin/python training/overlap.py DIR

``DIR`` holds sets as ``ecphora bench`` reads them (``NAME.docs.jsonl.gz``, ``NAME.questions.jsonl.gz``). Every text of
training/data and every case of tests/changes that a training reads is compared with every text, caption, question and
answer of the sets. A pair is reported if

- its TF-IDF similarity is .35 or more: the cosine over words and pairs of words, sublinear term frequency, the inverse
  document frequency of all texts together. Texts of fewer than eight different words are left out, because
  phrases such as "Thank you, I will" are common. A text of more than 60 words is split at sentences;
- or it shares eight consecutive words, unless three spaces of the sets have them too (a common phrase).

Prints the ids of these pairs, never the text of a set, and exits with 1 if there are any. Takes three minutes for the
sets of lab/evidence.md.
"""
# ruff: noqa: INP001, T201  # a script that prints

import argparse
import gzip
import json
import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
DATA = HERE / "data"
CASES = HERE.parent / "tests" / "changes"
TRAINING_PARTS = ("seen", "unseen", "held", "everyday-read")
"""The parts of tests/changes that train the update scorer."""
MIN_SIMILARITY = 0.35
"""The smallest TF-IDF similarity that is reported."""
NGRAM_WORDS = 8
"""The number of consecutive words compared, and of different words that a text needs to be compared."""
COMMON_PHRASE_SPACES = 3
"""The number of spaces that share a common phrase."""
MAX_WORDS = 60
"""The number of words after which a text is split at the next sentence."""
BATCH_SIZE = 500
"""The number of training texts whose similarities are in memory together."""

_WORD = re.compile(r"\w+(?:'\w+)?")
_SENTENCE = re.compile(r"(?<=[.!?。!?])\s+|\n+")


@dataclass(frozen=True, slots=True)
class Text:
    """A text, its id, and the space of a set that it belongs to (empty for a training text)."""

    id: str
    text: str
    space: str = ""

    @property
    def words(self) -> list[str]:
        """The words in lower case."""
        return _WORD.findall(self.text.lower())


@dataclass(frozen=True, slots=True)
class Overlap:
    """A training text, the text of a set that it repeats, and the similarity or the common words."""

    training: Text
    test: Text
    reason: str


def main() -> None:
    """Compare, print, exit with 1 if anything overlaps."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("data", type=Path, help="the folder of the sets")
    training, sets = list(training_texts()), list(dataset_texts(parser.parse_args().data))
    if not sets:
        sys.exit("there are no sets in that folder; give the one that holds NAME.docs.jsonl.gz")
    found = [*shared_ngrams(training, sets), *similar_pairs(training, sets)]
    for overlap in found:
        print(f"{overlap.training.id}\t{overlap.test.id}\t{overlap.reason}\t{overlap.training.text}")
    spaces = len({text.space for text in sets})
    print(f"{len(training)} training texts, {len(sets)} texts of {spaces} spaces: {len(found)} overlaps")
    sys.exit(1 if found else 0)


# ---- texts


def training_texts() -> Iterator[Text]:
    """Every text of this project that trains a shipped weight, in chunks."""
    for name in ("changes", "plain", "plain_languages", "everyday", "twins"):
        for case in read_lines(DATA / f"{name}.jsonl"):
            yield from (chunk for id_, *_, text in case["told"] for chunk in chunks(f"{name}:{case['id']}/{id_}", text))
    yield from change_group_texts()
    for path, field in space_files():
        for line in read_lines(path):
            yield from chunks(f"{path.stem}:{line['space']}/{line['id']}", line[field])
    for name, field in (("encm", "text"), ("question_states", "question")):
        for number, line in enumerate(read_lines(DATA / f"{name}.jsonl"), 1):
            yield from chunks(f"{name}:{number}", line[field])
    for path in sorted(CASES.glob("*.jsonl")):
        for case in read_lines(path):
            if case.get("part") in TRAINING_PARTS:
                yield from (
                    chunk for turn in case["told"] for chunk in chunks(f"{case['id']}/{turn['id']}", turn["text"])
                )


def change_group_texts() -> Iterator[Text]:
    """The statements of ``change_groups.jsonl`` and their later messages."""
    for number, group in enumerate(read_lines(DATA / "change_groups.jsonl"), 1):
        for text in (group["old"], *(text for _, text in (*group["new"], *group["not"]))):
            yield from chunks(f"change_groups:{number}", text)


def space_files() -> Iterator[tuple[Path, str]]:
    """The files whose lines belong to a space, and the field of a line that has the text."""
    yield DATA / "histories.jsonl", "text"
    for folder, name in ((DATA, "talks"), (DATA, "logs"), (DATA / "memories", "*"), (DATA / "speakers", "*")):
        for end, field in (("docs", "text"), ("questions", "question")):
            yield from ((path, field) for path in sorted(folder.glob(f"{name}.{end}.jsonl")))


def dataset_texts(folder: Path) -> Iterator[Text]:
    """Every text, caption, question and answer of the sets of a folder, in chunks."""
    for path in sorted(folder.glob("*.jsonl.gz")):
        name = path.name.partition(".")[0]
        for line in read_lines(path):
            space = f"{name}:{line.get('space', '')}"
            fields = [line.get(field) for field in ("text", "caption", "question")] + list(line.get("answers") or ())
            for text in fields:
                if isinstance(text, str):
                    yield from chunks(f"{space}/{line['id']}", text, space)


def read_lines(path: Path) -> Iterator[dict[str, Any]]:
    """The objects of a file of JSON lines, which may be compressed; none if there is no such file."""
    if path.exists():
        with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as file:
            yield from map(json.loads, file)


def chunks(id_: str, text: str, space: str = "") -> Iterator[Text]:
    """A text, or chunks of it that end with a sentence and have at most about ``MAX_WORDS`` words."""
    part, size = "", 0
    for sentence in _SENTENCE.split(text):
        words = len(sentence.split())
        if part and size + words > MAX_WORDS:
            yield Text(id_, part, space)
            part, size = "", 0
        part, size = f"{part} {sentence}".strip(), size + words
    if part:
        yield Text(id_, part, space)


# ---- comparisons


def shared_ngrams(training: Iterable[Text], dataset_texts: Iterable[Text]) -> Iterator[Overlap]:
    """Pairs that share ``NGRAM_WORDS`` consecutive words that are not a common phrase; one for each such n-gram."""
    texts_by_ngram: dict[tuple[str, ...], list[Text]] = defaultdict(list)
    for text in training:
        for ngram in ngrams(text):
            texts_by_ngram[ngram].append(text)
    dataset_texts_by_ngram: dict[tuple[str, ...], dict[str, Text]] = defaultdict(dict)
    for text in dataset_texts:
        for ngram in ngrams(text):
            if ngram in texts_by_ngram:
                dataset_texts_by_ngram[ngram].setdefault(text.space, text)
    for ngram, found in dataset_texts_by_ngram.items():
        if len(found) < COMMON_PHRASE_SPACES:
            for text in texts_by_ngram[ngram]:
                yield Overlap(text, next(iter(found.values())), f"n-gram: {' '.join(ngram)}")


def ngrams(text: Text) -> set[tuple[str, ...]]:
    """The n-grams of ``NGRAM_WORDS`` words of a text."""
    words = text.words
    return {tuple(words[start : start + NGRAM_WORDS]) for start in range(len(words) - NGRAM_WORDS + 1)}


def similar_pairs(training: Sequence[Text], dataset_texts: Sequence[Text]) -> Iterator[Overlap]:
    """For each training text the most similar text of the sets, if the similarity is at least ``MIN_SIMILARITY``."""
    long_training_texts, long_dataset_texts = (
        [text for text in texts if len(set(text.words)) >= NGRAM_WORDS] for texts in (training, dataset_texts)
    )
    if not long_training_texts or not long_dataset_texts:
        return
    from sklearn.feature_extraction.text import TfidfVectorizer  # noqa: PLC0415  # takes a second to import

    vectorizer = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, token_pattern=_WORD.pattern)
    vectors = vectorizer.fit_transform([text.text for text in (*long_training_texts, *long_dataset_texts)])
    dataset_vectors = vectors[len(long_training_texts) :].T.tocsc()
    for start in range(0, len(long_training_texts), BATCH_SIZE):
        cosines = (vectors[start : min(start + BATCH_SIZE, len(long_training_texts))] @ dataset_vectors).tocsr()
        for row, text in enumerate(long_training_texts[start : start + BATCH_SIZE]):
            row_cosines = cosines.getrow(row)
            if row_cosines.nnz and row_cosines.data.max() >= MIN_SIMILARITY:
                best = long_dataset_texts[row_cosines.indices[row_cosines.data.argmax()]]
                yield Overlap(text, best, f"similarity {row_cosines.data.max():.2f}")


if __name__ == "__main__":
    main()
