"""Lexical search: SQLite's FTS5 compared with the graph's own postings. ``python benchmarks/fts5.py``.

Measures the cost of a search as a scope grows, and whether the content of one scope changes scores in another.
"""

from datetime import UTC, datetime
from time import perf_counter

import apsw
import numpy as np
from speed import synthetic_questions, synthetic_turns

from ecphora.model.graph.graph import Graph
from ecphora.model.graph.updates import apply_batch
from ecphora.model.types import Episode
from ecphora.remember.documents import check_episode
from ecphora.remember.encode import encode
from ecphora.retrieval import bm25
from ecphora.retrieval.query import build_query

NOW = datetime(2026, 1, 1, tzinfo=UTC)
QUESTION_COUNT = 20
SCOPE_QUESTION = "Which instruments does Wil play?"
"""A question with words of the texts that are written to the other scope."""


def build_fts(texts: dict[str, list[str]]) -> apsw.Connection:
    db = apsw.Connection(":memory:")
    db.execute("CREATE VIRTUAL TABLE turn USING fts5(scope UNINDEXED, text, tokenize='porter unicode61')")
    for scope, scope_texts in texts.items():
        db.executemany("INSERT INTO turn VALUES (?, ?)", ((scope, text) for text in scope_texts))
    return db


def search(db: apsw.Connection, scope: str, question: str) -> list[tuple[int, float]]:
    words = " OR ".join(f'"{word.strip("?,.")}"' for word in question.split())
    query = "SELECT rowid, bm25(turn) FROM turn WHERE turn MATCH ? AND scope = ? ORDER BY bm25(turn) LIMIT 30"
    return [(int(row or 0), float(score or 0)) for row, score in db.execute(query, (words, scope))]


def build_graph(episodes: list[Episode]) -> Graph:
    checked = [check_episode(one, NOW) for one in episodes]
    return apply_batch(Graph(), encode(checked, Graph(), vectors={}, extractions={}, embedder="none", now=NOW))


def main() -> None:
    for turns in (1_000, 10_000, 50_000):
        episodes = synthetic_turns(turns)
        questions = synthetic_questions(episodes, QUESTION_COUNT)
        db, graph = build_fts({"a": [one.text for one in episodes]}), build_graph(episodes)
        queries = [build_query(question, NOW, vector=None, embedder_coverage=0) for question in questions]
        bm25.bm25(graph, queries[0])
        times: dict[str, list[float]] = {"FTS5": [], "postings": []}
        for _ in range(5):
            for question, query in zip(questions, queries, strict=True):
                start = perf_counter()
                search(db, "a", question)
                middle = perf_counter()
                bm25.bm25(graph, query)
                times["FTS5"].append(middle - start)
                times["postings"].append(perf_counter() - middle)
        line = "   ".join(f"{name} p50 {1000 * np.median(seconds):7.2f} ms" for name, seconds in times.items())
        print(f"{turns:6} turns   {line}")
    mine, theirs = [one.text for one in synthetic_turns(200)], ["Wil plays the cello in the palm house."] * 200
    before = search(build_fts({"a": mine}), "a", SCOPE_QUESTION)
    after = search(build_fts({"a": mine, "b": theirs}), "a", SCOPE_QUESTION)
    change = max(abs(x[1] - y[1]) for x, y in zip(before, after, strict=False))
    print(f"FTS5: scores of scope a after 200 turns were written to scope b: changed by up to {change:.3f}")


if __name__ == "__main__":
    main()
