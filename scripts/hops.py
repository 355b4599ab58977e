"""Extracts the single-hop questions of MuSiQue: ``python scripts/hops.py musique.json FOLDER INTO``.

A question of MuSiQue has a list of single-hop questions. The first of them needs only one passage, so it trains a
ranker on the case in which one passage is enough. Harsh Trivedi et al., "MuSiQue: Multihop Questions via Single-hop
Question Composition", 2022, arXiv:2108.00573, CC BY 4.0.

``musique.json`` has the format of its authors, ``FOLDER`` contains the converted set ``musique`` with the passage ids.
The set ``hops`` is written to ``INTO``: the same passages, in the same space, other questions.
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
    for name, help_text in (("raw", "musique.json"), ("folder", "the folder of the set musique"), ("into", "a folder")):
        parser.add_argument(name, type=Path, help=help_text)
    options = parser.parse_args()
    docs = options.folder / "musique.docs.jsonl.gz"
    with gzip.open(docs, "rt", encoding="utf-8") as lines:
        passages = {(passage["title"], passage["text"]): passage for passage in map(json.loads, lines)}
    questions = {}
    for item in json.loads(options.raw.read_text(encoding="utf-8")):
        for hop in item["question_decomposition"]:
            if "#" in hop["question"]:  # a placeholder for the answer to an earlier question
                continue
            support = item["paragraphs"][hop["paragraph_support_idx"]]
            passage = passages[support["title"], support["paragraph_text"]]
            questions[hop["question"]] = {
                "space": passage["space"],
                "id": f"hop__{hop['id']}",
                "question": hop["question"].replace(" >> ", ": "),
                "answers": [hop["answer"]],
                "category": "1hop",
                "evidence": [passage["id"]],
                "answerable": True,
                "asked_at": None,
            }
    options.into.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(docs, options.into / "hops.docs.jsonl.gz")
    with gzip.open(options.into / "hops.questions.jsonl.gz", "wt", encoding="utf-8") as out:
        out.writelines(json.dumps(question) + "\n" for question in questions.values())


if __name__ == "__main__":
    main()
