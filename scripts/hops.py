"""Extracts the single-hop questions of MuSiQue: ``python scripts/hops.py musique.json FOLDER INTO``.

A question of MuSiQue comes with the questions it is made of. The first of them needs only one passage, so
they teach a ranker the case in which one passage is enough. Harsh Trivedi et al., "MuSiQue: Multihop
Questions via Single-hop Question Composition", 2022, arXiv:2108.00573, CC BY 4.0.

``musique.json`` is in the form of its authors, ``FOLDER`` holds the set ``musique`` made of it, with the ids of the
passages. The set ``hops`` is written to ``INTO``: the same passages, in the same space, other questions.
"""

# ruff: noqa: INP001

import argparse
import gzip
import json
import shutil
from pathlib import Path


def main() -> None:
    """Write the set."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    for name, what in (("raw", "musique.json"), ("folder", "the folder of the set musique"), ("into", "a folder")):
        parser.add_argument(name, type=Path, help=what)
    asked = parser.parse_args()
    docs = asked.folder / "musique.docs.jsonl.gz"
    with gzip.open(docs, "rt", encoding="utf-8") as lines:
        passages = {(one["title"], one["text"]): one for one in map(json.loads, lines)}
    found = {}
    for item in json.loads(asked.raw.read_text(encoding="utf-8")):
        for hop in item["question_decomposition"]:
            if "#" in hop["question"]:  # the answer to an earlier one goes there
                continue
            of = item["paragraphs"][hop["paragraph_support_idx"]]
            passage = passages[of["title"], of["paragraph_text"]]
            found[hop["question"]] = {
                "space": passage["space"],
                "id": f"hop__{hop['id']}",
                "question": hop["question"].replace(" >> ", ": "),
                "answers": [hop["answer"]],
                "category": "1hop",
                "evidence": [passage["id"]],
                "answerable": True,
                "asked_at": None,
            }
    asked.into.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(docs, asked.into / "hops.docs.jsonl.gz")
    with gzip.open(asked.into / "hops.questions.jsonl.gz", "wt", encoding="utf-8") as out:
        out.writelines(json.dumps(question) + "\n" for question in found.values())


if __name__ == "__main__":
    main()
