"""What recall loses through an adapter: a set asked through Memory, the LangGraph store and mem0's interface.

``python benchmarks/adapters.py --data DIR [--set NAME]… [--limit N]`` prints recall@5 and recall@10 of each, on the
same questions in one run, with the default embedder and reranker. Without LangGraph its row is left out. The speaker,
time and title of a memory stand in the value of an item of LangGraph; mem0's interface takes the first three as
``name``, ``run_id`` and ``timestamp``, and has no title.
"""

import argparse
import sys
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from ecphora import Memory, RecallOptions
from ecphora.adapters.mem0 import Memory as Mem0Memory
from ecphora.maintenance.learn import metrics
from ecphora.maintenance.learn.datasets import Case, read_cases
from ecphora_bench.recall.recall_run import ranked_documents

LIMIT = 10
NAMESPACE = ("bench",)
Search = Callable[[str], list[str]]
"""The ids of what a question brings back, best first."""


def ask_memory(case: Case, folder: Path) -> Iterator[Search]:
    """Ask the memory itself."""
    with Memory(folder / "memory.db", zone="UTC") as memory:
        memory.remember(case.episodes)
        options = RecallOptions(log_access=False, explain=False)
        yield lambda question: [*ranked_documents(memory.recall(question, limit=LIMIT, options=options))]


def ask_langgraph(case: Case, folder: Path) -> Iterator[Search]:
    """Ask the LangGraph store."""
    from ecphora.adapters.langgraph import EcphoraStore  # noqa: PLC0415  # needs the host

    fields = {name: name for name in ("speaker", "session", "happened_at", "title")}
    with EcphoraStore.open(folder / "store.db", memory_fields=fields, zone="UTC") as store:
        for episode in case.episodes:
            told = {name: getattr(episode, name) for name in fields}
            value = {name: one.isoformat() if hasattr(one, "isoformat") else one for name, one in told.items() if one}
            store.put(NAMESPACE, str(episode.id), {"text": episode.text, **value})
        yield lambda question: [item.key for item in store.search(NAMESPACE, query=question, limit=LIMIT)]


def ask_mem0(case: Case, folder: Path) -> Iterator[Search]:
    """Ask mem0's interface."""
    memory = Mem0Memory({"ecphora": {"path": folder / "mem0.db", "zone": "UTC"}})
    for episode in case.episodes:
        message = {"role": "user", "content": episode.text, "name": episode.speaker}
        metadata, time = {"episode": episode.id}, episode.happened_at
        memory.add(message, user_id="bench", run_id=episode.session, timestamp=time, metadata=metadata, infer=False)
    filters = {"user_id": "bench"}
    yield lambda question: [
        str(one["metadata"]["episode"])
        for one in memory.search(question, filters=filters, top_k=LIMIT, threshold=0)["results"]
    ]
    memory.close()


WAYS = {"Memory": ask_memory, "LangGraph store": ask_langgraph, "mem0's interface": ask_mem0}


def main() -> None:
    """Print a row for each way to ask."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--set", dest="sets", action="append", help="a set; may be repeated  [default: strangers]")
    parser.add_argument("--limit", type=int, help="questions of a set")
    arguments = parser.parse_args()
    ways = {way: ask for way, ask in WAYS.items() if ask is not ask_langgraph or find_spec("langgraph")}
    for name in arguments.sets or ["strangers"]:
        values: dict[str, list[list[float]]] = {way: [] for way in ways}
        for case in read_cases(name, arguments.data, limit=arguments.limit):
            print(f"{case.space}: {len(case.episodes):,} memories", file=sys.stderr)
            for way, ask in ways.items():
                with TemporaryDirectory() as folder:
                    for search in ask(case, Path(folder)):
                        for question in case.questions:
                            if question.has_ranking:
                                found = search(question.text)
                                values[way].append([metrics.recall_at_k(found, question.gold, k) for k in (5, 10)])
        print(f"{name}, {len(values['Memory'])} questions")
        for way, rows in values.items():
            at_5, at_10 = np.mean(rows, axis=0)
            print(f"  {way:<18} recall@5 {at_5:.3f}  recall@10 {at_10:.3f}")


if __name__ == "__main__":
    main()
