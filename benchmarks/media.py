"""Media beside the question: how often the right memory comes first without and with the vector of a picture or sound.

``python benchmarks/media.py`` asks the 60 questions of ``media.jsonl`` over four memories of twelve texts; most have a
picture or sound, some with a caption. A stand-in takes the place of an embedder of media: the vector of a picture is
the sum of random vectors of the words for what it shows, of a direction that all pictures share, and of noise.

Of ``picture`` questions the picture alone decides, of ``caption`` and ``clear`` questions the caption or the text, and
the picture that is shown with them belongs to another memory; of ``both`` questions both decide. ``unanswerable`` ones
have no answer, whatever is shown with them. Each is asked without and with ``media_query=``. It prints how often the
right memory is the first hit and among the first three, and how often there is any evidence. The weights were chosen on
the memories in odd places, counted from 1 (``--part odd``); ``--weight`` tries others.
"""

import argparse
import hashlib
import json
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ecphora import Episode, Evidence, Media, MediaQuery, Memory, RecallOptions
from ecphora.model.types import Vector
from ecphora.retrieval import dense

CASES = Path(__file__).with_name("media.jsonl")
WITHOUT, WITH = WAYS = ("without", "media_query=")
PARTS = {"odd": 0, "even": 1}
KINDS = ("picture", "both", "caption", "clear", "unanswerable")
MODEL, DIM = "stand-in", 64
SHARED_SHARE, NOISE_SHARE = 1.0, 0.5
TOP = 3


@dataclass(frozen=True)
class CaseResult:
    """What one question found in one way: the rank of the right memory, 0 if it did not come back, and the evidence."""

    kind: str
    way: str
    rank: int
    evidence: Evidence


def random_vector(name: str) -> Vector:
    """A vector that looks random: the signs are the bits of a digest of the name."""
    bits = np.unpackbits(np.frombuffer(hashlib.sha512(name.encode()).digest()[: DIM // 8], np.uint8))
    return ((2.0 * bits - 1) / np.sqrt(DIM)).astype(np.float32)


def embed_medium(shows: Sequence[str], noise: str) -> tuple[float, ...]:
    """The stand-in for an embedder of pictures and sounds: a vector of the words for what they show."""
    vector = sum((random_vector(word) for word in shows), SHARED_SHARE * random_vector("shared direction"))
    return tuple((vector + NOISE_SHARE * random_vector(noise)).tolist())


def episode(memory: dict[str, Any]) -> Episode:
    if "reference" not in memory:
        return Episode(memory["text"], id=memory["id"])
    reference = memory["reference"]
    kind = "sound" if reference.endswith(".wav") else "picture"
    vector = embed_medium(memory["shows"], reference)
    return Episode(
        memory["text"],
        id=memory["id"],
        media=(Media(reference, kind, memory.get("caption", ""), vector, MODEL),),
    )


def ask(space: dict[str, Any]) -> Iterator[CaseResult]:
    """Ask the questions of one memory in each way."""
    with tempfile.TemporaryDirectory() as folder, Memory(Path(folder) / "memory.db", zone="UTC") as memory:
        memory.remember([episode(one) for one in space["memories"]])
        for case in space["cases"]:
            query = MediaQuery(embed_medium(case["shown"], case["question"]), MODEL)
            for way, media_query in ((WITHOUT, None), (WITH, query)):
                found = memory.recall(
                    case["question"],
                    options=RecallOptions(media_query=media_query, log_access=False, explain=False),
                    limit=len(space["memories"]),
                )
                rank = next((rank for rank, hit in enumerate(found, 1) if hit.id == case["gold"]), 0)
                yield CaseResult(case["kind"], way, rank, found.evidence)


def print_table(results: Sequence[CaseResult]) -> None:
    for kind in KINDS:
        for way in WAYS:
            rows = [result for result in results if (result.kind, result.way) == (kind, way)]
            first, top = (sum(1 <= row.rank <= rank for row in rows) / len(rows) for rank in (1, TOP))
            evidence = sum(row.evidence is not Evidence.NONE for row in rows) / len(rows)
            ranks = " " * 25 if kind == KINDS[-1] else f"first {first:.3f}  top {TOP} {top:.3f}"
            print(f"{kind:12}  {way:12}  n {len(rows):2}  {ranks}  evidence {evidence:.3f}", flush=True)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--part", choices=PARTS, action="append")
    options.add_argument("--weight", type=float, nargs=2, metavar=("UNSURE", "SURE"), action="append")
    arguments = options.parse_args()
    spaces = [json.loads(line) for line in CASES.read_text(encoding="utf-8").splitlines()]
    for weights in arguments.weight or [(dense.MEDIA_WEIGHT, dense.MIN_MEDIA_WEIGHT)]:
        dense.MEDIA_WEIGHT, dense.MIN_MEDIA_WEIGHT = weights
        print(f"weights {weights[0]:g} and {weights[1]:g}")
        for part in arguments.part or PARTS:
            print(f"part {part}")
            print_table([result for space in spaces[PARTS[part] :: 2] for result in ask(space)])


if __name__ == "__main__":
    main()
