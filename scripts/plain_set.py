"""Write a data set once more as plain texts: scripts/plain_set.py FOLDER [--data DATA --set NAME].

A user may tell a memory no more than a text: ``memory.remember("I moved to Porto.")``. So there are no times, sessions,
speakers and titles in the set ``NAME_plain``; the names of speakers and the titles stand before the texts. Without
``--set`` it takes the memories of our own that ``own_set.py`` takes and writes ``plain``, which trains ``fused``:
there, half of the spaces name no speakers, and half have the day before the text, as in notes.
"""
# ruff: noqa: INP001  # a script

import argparse
import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from zlib import crc32

from own_set import own_lines


def main() -> None:
    """Write the documents and the questions."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path, help="where to write the set")
    parser.add_argument("--data", type=Path, help="folder of the set to copy")
    parser.add_argument("--set", dest="name", help="the set to copy, by default memories of our own")
    options = parser.parse_args()
    if (options.data is None) != (options.name is None):
        parser.error("give both --data and --set, or neither")
    name = f"{options.name}_plain" if options.name else "plain"
    options.folder.mkdir(parents=True, exist_ok=True)
    for part in ("docs", "questions"):
        lines = set_lines(options.data, options.name, part) if options.name else own_lines(part)
        with options.folder.joinpath(f"{name}.{part}.jsonl").open("w", encoding="utf-8") as out:
            for line in lines:
                entry = json.loads(line)
                plain = plain_text(entry, is_varied=not options.name) if part == "docs" else entry
                out.write(json.dumps(plain, ensure_ascii=False) + "\n")


def set_lines(folder: Path, name: str, part: str) -> Iterator[str]:
    """The lines of a part of a set, ``docs`` or ``questions``."""
    with gzip.open(folder / f"{name}.{part}.jsonl.gz", "rt", encoding="utf-8") as lines:
        yield from lines


def plain_text(document: dict[str, str | None], *, is_varied: bool) -> dict[str, str | None]:
    """The document with its fields in its text; varied, half of the spaces have days, and half name no speakers."""
    choice = crc32(f"plain {document['space']}".encode()) % 4 if is_varied else 2
    day = (document["time"] or "")[:10] if choice & 1 else ""
    speaker = document["speaker"] if choice & 2 else ""
    prefix = "".join(f"{part}: " for part in (day, document["title"], speaker) if part)
    return {"space": document["space"], "id": document["id"], "text": f"{prefix}{document['text']}"}


if __name__ == "__main__":
    main()
