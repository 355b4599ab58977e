"""Join memories of our own into one data set, ``own``, which trains ``fused``: scripts/own_set.py FOLDER.

Takes the spaces of the first two batches and the large ones of the fourth, of ``scripts/data/memories`` without
those that are held back. The very small spaces are left out, and so are those of ``many``: nearly all their entries
are candidates anyway.
"""
# ruff: noqa: INP001  # a script

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

MEMORIES = Path(__file__).parent / "data" / "memories"
NEVER_TRAINED = ("held", "held_many", "held_short", "untaught")
SPACE_IDS = re.compile(r"(?!many_)[a-z]+[23]?_|[a-z]{2}6_large_")
"""How the ids of the spaces begin; the language is followed by the batch, as README.md of the folder says."""


def main() -> None:
    """Write ``own.docs.jsonl`` and ``own.questions.jsonl``."""
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for part in ("docs", "questions"):
        with folder.joinpath(f"own.{part}.jsonl").open("w", encoding="utf-8") as out:
            out.writelines(own_lines(part))


def own_lines(part: str) -> Iterator[str]:
    """The lines of a part, ``docs`` or ``questions``, of the spaces taken."""
    for path in sorted(MEMORIES.glob(f"*.{part}.jsonl")):
        if path.name.partition(".")[0] not in NEVER_TRAINED:
            with path.open(encoding="utf-8") as lines:
                yield from (line for line in lines if SPACE_IDS.match(json.loads(line)["space"]))


if __name__ == "__main__":
    main()
