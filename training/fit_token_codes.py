"""Fit the projection of token codes to texts of our own; write weights/token_codes.npz: training/fit_token_codes.py

It takes some texts and questions of every set of training/data/memories but those that are held back. A minute on two
cores.
"""
# ruff: noqa: INP001, T201  # a script that prints

import hashlib
import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from ecphora.models.embedders.e5 import PASSAGE_PREFIX, QUERY_PREFIX, share_network
from ecphora.models.embedders.token_codes import CODE_SIZE, TokenCodec

HERE = Path(__file__).parent
MEMORIES = HERE / "data" / "memories"
WEIGHTS = HERE.parent / "src" / "ecphora" / "models" / "weights" / "token_codes.npz"
TEXTS, QUESTIONS = 100, 50
"""How many texts and questions of a set are taken, at even distances."""
HELD_BACK = ("held", "untaught")
"""How the names of the sets begin that nothing is trained on."""


def main() -> None:
    """Fit and write."""
    network = share_network()()
    with ThreadPoolExecutor(2) as pool:
        states = np.concatenate(list(pool.map(network.token_states, texts()))).astype(np.float64)
    mean = states.mean(axis=0)
    variances, components = np.linalg.eigh(np.cov((states - mean).T))
    best = np.argsort(-variances)[:CODE_SIZE]
    basis = components[:, best] / np.sqrt(variances[best])
    basis *= np.sign(basis.sum(axis=0))  # the sign of a component is arbitrary
    content = TokenCodec(mean.astype(np.float32), basis.astype(np.float32)).to_bytes()
    WEIGHTS.write_bytes(content)
    share = variances[best].sum() / variances.sum()
    print(f"{len(states)} tokens, {share:.3f} of their variance; CODEC_DIGEST: {hashlib.sha256(content).hexdigest()}")


def texts() -> Iterator[str]:
    """Texts and questions with their prefixes."""
    for path in sorted(MEMORIES.glob("*.docs.jsonl")):
        name = path.name.partition(".")[0]
        if name.startswith(HELD_BACK):
            continue
        for part, key, prefix, count in (
            ("docs", "text", PASSAGE_PREFIX, TEXTS),
            ("questions", "question", QUERY_PREFIX, QUESTIONS),
        ):
            lines = (MEMORIES / f"{name}.{part}.jsonl").read_text(encoding="utf-8").splitlines()
            for line in lines[:: max(1, len(lines) // count)]:
                one = json.loads(line)
                speaker = f"{one['speaker']}: " if one.get("speaker") else ""
                yield f"{prefix}{speaker}{one[key]}"


if __name__ == "__main__":
    main()
