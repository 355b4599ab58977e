"""Import a large export in the shape of ChatGPT's, killed twice on the way, and count what is lost or there twice.

    python benchmarks/import_speed.py [--messages 100000] [--embedder hashing] [--kills 2]

The export is written first: conversations of 40 messages, each with a branch that is not shown. A process of its own
imports it and is killed (``os._exit``) while it reads, at places drawn by chance with a fixed seed; then it is started
again, and at last it is let finish. Printed are the messages a second and the most memory that the process held. The
exit code is 1 if a memory is missing, or there twice.
"""

import argparse
import json
import os
import platform
import random
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from multiprocessing import get_context
from pathlib import Path

from ecphora import E5Embedder, HashingEmbedder, Memory
from ecphora.maintenance.interchange.formats import find_format
from ecphora.maintenance.interchange.streaming import import_episodes
from ecphora.model.ports import Embedder
from ecphora.model.types import Episode, Omission

TURNS = 40
"""The messages of a conversation."""
START = 1_700_000_000
SUBJECTS = ("the garden", "the lease", "the tax return", "the trip to Porto", "the bicycle", "the piano", "the cat")
ACTIONS = ("needs a new plan", "was finished on Monday", "costs more than we thought", "is a good idea", "can wait")
KILLED = 9
"""The exit code of a process that was killed on purpose."""


def conversation(number: int, turns: int) -> dict[str, object]:
    """A conversation with a system message, a branch that is shown, and one that is not."""
    mapping: dict[str, dict[str, object]] = {}
    parent = None
    for turn in range(-1, turns):
        key, time_ = f"{number}-{turn}", START + 3600 * number + 30 * turn
        text = f"Message {number}-{turn}: {SUBJECTS[(number + turn) % 7]} {ACTIONS[(number * 3 + turn) % 5]}."
        mapping[key] = node(key, "system" if turn < 0 else ("user", "assistant")[turn % 2], text, time_, parent)
        parent = key
    other = f"{number}-other"
    mapping[other] = node(other, "assistant", "This branch was replaced.", START + 3600 * number, f"{number}-0")
    return {
        "title": f"Conversation {number}",
        "create_time": START + 3600 * number,
        "mapping": mapping,
        "current_node": parent,
        "conversation_id": f"conversation-{number}",
    }


def node(key: str, role: str, text: str, at: float, parent: str | None) -> dict[str, object]:
    """A node of the tree of a conversation."""
    message = {
        "id": key,
        "author": {"role": role},
        "create_time": at,
        "content": {"content_type": "text", "parts": [text]},
        "recipient": "all",
        "metadata": {},
    }
    return {"id": key, "message": message, "parent": parent, "children": []}


def write_export(path: Path, messages: int) -> None:
    """Write an export with so many messages to import."""
    with path.open("w", encoding="utf-8") as out:
        for number in range(-(-messages // TURNS)):
            turns = min(TURNS, messages - number * TURNS)
            out.write("[" if number == 0 else ",\n")
            json.dump(conversation(number, turns), out)
        out.write("]")


def make_embedder(name: str) -> Embedder:
    """The embedder of a name."""
    return HashingEmbedder() if name == "hashing" else E5Embedder()


def killed_after(items: Iterable[Episode | Omission], count: int) -> Iterator[Episode | Omission]:
    """The items; after so many the process ends at once, without cleaning up."""
    for number, item in enumerate(items):
        if number == count:
            os._exit(KILLED)
        yield item


def peak_mb() -> float:
    """The most memory that this process has held, in MB; 0 if the system does not say."""
    status = Path("/proc/self/status")
    lines = status.read_text().splitlines() if status.exists() else []
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM")), 0.0)


def run(export: Path, db: Path, embedder: str, kill_after: int, figures: Path) -> None:
    """Import the export, and write the figures of the process, unless it is killed."""
    with Memory(db, embedder=make_embedder(embedder), reranker=None, zone="UTC") as memory:
        before = peak_mb()
        items = find_format(export).read(str(export))
        started = time.monotonic()
        report = import_episodes(memory, killed_after(items, kill_after) if kill_after else items)
        seconds = time.monotonic() - started
        after = peak_mb()
    found = {"created": report.created, "existing": report.existing, "omitted": sum(report.found.omitted.values())}
    figures.write_text(json.dumps(found | {"seconds": seconds, "before_mb": before, "peak_mb": after}))


def count_stored(db: Path, embedder: str) -> tuple[int, int]:
    """How many memories there are, and how many different texts."""
    with Memory(db, embedder=make_embedder(embedder), reranker=None, zone="UTC") as memory:
        texts: set[str] = set()
        page = memory.find(limit=5000)
        while True:
            texts.update(one.text for one in page.memories)
            if page.cursor is None:
                return len(memory), len(texts)
            page = memory.find(limit=5000, after=page.cursor)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--messages", type=int, default=100_000)
    options.add_argument("--embedder", default="hashing", choices=("hashing", "e5"))
    options.add_argument("--kills", type=int, default=2)
    arguments = options.parse_args()
    messages: int = arguments.messages
    print(f"{platform.machine()}, Python {platform.python_version()}; {messages:,} messages, {arguments.embedder}")
    chance = random.Random(1)  # noqa: S311  # no secret
    places = sorted(chance.randrange(messages // 10, messages) for _ in range(arguments.kills))
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        export, db, figures = folder / "conversations.json", folder / "m.db", folder / "figures.json"
        write_export(export, messages)
        print(f"export: {export.stat().st_size / 1e6:,.0f} MB")
        for place in [*places, 0]:
            process = get_context("spawn").Process(target=run, args=(export, db, arguments.embedder, place, figures))
            started = time.monotonic()
            process.start()
            process.join()
            assert process.exitcode == (KILLED if place else 0), process.exitcode
            end = f"killed after {place:,} items" if place else "finished"
            print(f"{end}: {time.monotonic() - started:,.1f} s", flush=True)
        found = json.loads(figures.read_text())
        stored, texts = count_stored(db, arguments.embedder)
        print(f"last run: {found['created']:,} created, {found['existing']:,} existed, {found['omitted']:,} left out")
        print(f"{found['seconds']:,.1f} s, {messages / found['seconds']:,.0f} messages a second read or stored; "
              f"peak {found['peak_mb']:,.0f} MB, {found['before_mb']:,.0f} MB before")  # fmt: skip
        print(f"stored: {stored:,} of {messages:,}, {stored - texts:,} twice, {messages - texts:,} lost")
        sys.exit(0 if stored == texts == messages else 1)


if __name__ == "__main__":
    main()
