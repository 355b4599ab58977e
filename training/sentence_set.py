"""Write questions about paragraphs as questions about their sentences: training/sentence_set.py FOLDER --data DATA.

jsquad and xquad ask about paragraphs of encyclopedias. Here each article is a space, and each of its sentences a
document. The other sentences of the article are about the same matter and do not answer. Questions whose answer stands
in no sentence of the article, or in several, are left out.

It writes ``sentences``, and with every sixth article ``sentences_apart``. There, the sentence that answers every fifth
question is missing; this question, and the others that it answers, are unanswerable.
"""
# ruff: noqa: INP001  # a script

import argparse
import gzip
import json
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zlib import crc32

from ecphora.consolidation.insights.summaries import sentences

SETS = ("jsquad", "xquad")
FOLDS, APART_FOLD = 6, 0
"""One article in six is kept apart, in all its languages."""
MISSING = 5
"""The answer to one question in so many is missing from an article that is kept apart."""

Line = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Article:
    """The sentences of an article as documents, and the questions that exactly one of them answers."""

    name: str
    documents: list[Line]
    questions: list[Line]

    @property
    def is_apart(self) -> bool:
        """Whether the article is kept apart from training; it is the same in each language."""
        return crc32(self.name.encode()) % FOLDS == APART_FOLD


def main() -> None:
    """Write both sets."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path, help="where to write the sets")
    parser.add_argument("--data", type=Path, required=True, help="folder of jsquad and xquad")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    articles = [article for name in SETS for article in read_articles(options.data, name)]
    write(options.folder, "sentences", [article for article in articles if not article.is_apart])
    write(options.folder, "sentences_apart", [without_answers(article) for article in articles if article.is_apart])


def set_lines(folder: Path, name: str, part: str) -> Iterator[str]:
    """The lines of a part of a set, ``docs`` or ``questions``."""
    with gzip.open(folder / f"{name}.{part}.jsonl.gz", "rt", encoding="utf-8") as lines:
        yield from lines


def read_articles(folder: Path, name: str) -> Iterator[Article]:
    """The articles of a set, whose documents are named ``article.paragraph``."""
    documents: dict[tuple[str, str], list[Line]] = defaultdict(list)
    for line in set_lines(folder, name, "docs"):
        paragraph = json.loads(line)
        space, article = paragraph["space"], paragraph["id"].partition(".")[0]
        for place, text in enumerate(sentences(paragraph["text"])):
            sentence = {"space": f"{space}:{article}", "id": f"{paragraph['id']}.{place}", "text": text}
            documents[space, article].append({**sentence, "title": (paragraph["title"] or "").replace("_", " ")})
    questions: dict[tuple[str, str], list[Line]] = defaultdict(list)
    for line in set_lines(folder, name, "questions"):
        question = json.loads(line)
        space, article = question["space"], question["evidence"][0].partition(".")[0]
        found = [one["id"] for one in documents[space, article] if mentions(one["text"], question["answers"])]
        if len(found) == 1 and found[0].rpartition(".")[0] in question["evidence"]:
            questions[space, article].append({**question, "space": f"{space}:{article}", "evidence": found})
    for key, asked in questions.items():
        yield Article(f"{name}:{key[1]}", documents[key], asked)


def mentions(text: str, answers: list[str]) -> bool:
    """Whether one of the answers stands in a text."""
    return any(answer.casefold() in text.casefold() for answer in answers)


def without_answers(article: Article) -> Article:
    """The article without some of the sentences that answer."""
    missing = {question["evidence"][0] for question in article.questions[::MISSING]}
    unanswerable = {"answers": [], "evidence": [], "answerable": False}
    questions = [
        {**question, **(unanswerable if question["evidence"][0] in missing else {})} for question in article.questions
    ]
    return Article(article.name, [one for one in article.documents if one["id"] not in missing], questions)


def write(folder: Path, name: str, articles: list[Article]) -> None:
    """Write a set."""
    for part in ("documents", "questions"):
        path = folder / f"{name}.{part.replace('documents', 'docs')}.jsonl"
        lines = [json.dumps(line, ensure_ascii=False) + "\n" for article in articles for line in getattr(article, part)]
        path.write_text("".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
