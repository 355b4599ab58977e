"""Trained numbers that come with the package, as readable JSON that says how they were trained and how they err.

Nothing is trained here: see ``scripts`` for that, and :mod:`ecphora.learn`.
"""

import json
from functools import cache
from importlib.resources import files

from ..errors import InvalidRecord
from ..stages.need import COLUMNS, Encm, Head


@cache
def encm(embedder: str | None = None) -> Encm:
    """EISA's necessity checker, trained on the lines of ``scripts/data/encm.jsonl``.

    With the name of the embedder whose vectors it was trained on, it reads vectors too. With any other name, or none,
    it judges by columns alone: another embedder's vectors would mean nothing to it.
    """
    return encm_of(files(__package__).joinpath("encm.json").read_text(encoding="utf-8"), embedder)


def encm_of(text: str, embedder: str | None = None) -> Encm:
    """A checker as it stands in a JSON text."""
    found = json.loads(text)
    if tuple(found["columns"]) != COLUMNS:
        raise InvalidRecord(f"a checker trained on the columns {found['columns']}, not {COLUMNS}; train it anew")
    alone, reading = found["alone"], found["reading"]
    return Encm(
        alone=Head(alone["bias"], tuple(alone["columns"])),
        reading=Head(reading["bias"], tuple(reading["columns"]), tuple(reading["vector"]))
        if embedder is not None and embedder == found["embedder"]
        else None,
        threshold=found["threshold"],
    )
