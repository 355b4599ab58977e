"""What each share of ``fused`` is worth: fraction of the gold evidence at 5 and 10 with that share left out.

``python benchmarks/ablate.py --data DIR [--set NAME]… [--limit N]``
"""

import argparse
from dataclasses import replace
from pathlib import Path

from ecphora import MiniLM
from ecphora.bench.cache import Cached
from ecphora.bench.datasets import cases
from ecphora.bench.figures import ANSWERABLE, Metric
from ecphora.bench.run import run
from ecphora.strategies.fused import Fused

WHOLE = Fused()
VARIANTS = [
    WHOLE,
    replace(WHOLE, name="no speaker", speaker=0.0, spoken_of=0.0),
    replace(WHOLE, name="no spoken of", spoken_of=0.0),
    replace(WHOLE, name="no neighbours", neighbours=0.0),
    replace(WHOLE, name="no session", session=0.0),
    replace(WHOLE, name="no length", length=0.0),
    replace(WHOLE, name="no statement", statement=0.0),
    replace(WHOLE, name="no title", title=0.0),
    replace(WHOLE, name="no named link", named_link=0.0),
    replace(WHOLE, name="no shared names", shared_names=0.0),
    replace(WHOLE, name="no names at all", title=0.0, named_link=0.0, shared_names=0.0),
    replace(WHOLE, name="no date", date=0.0),
]


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--data", type=Path, required=True)
    options.add_argument("--set", action="append", default=[])
    options.add_argument("--limit", type=int)
    chosen = options.parse_args()
    with Cached(MiniLM()) as embedder:
        for name in chosen.set or ["locomo", "realtalk", "2wikimultihopqa", "musique"]:
            figures = run(name, list(cases(name, chosen.data, limit=chosen.limit)), VARIANTS, embedder).figures
            for variant in VARIANTS:
                shown = {
                    figure.k: figure.value
                    for figure in figures
                    if (figure.strategy, figure.category, figure.metric) == (variant.name, ANSWERABLE, Metric.FRACTION)
                }
                print(f"{name:16} {variant.name:18} @5 {shown[5]:.3f}  @10 {shown[10]:.3f}")


if __name__ == "__main__":
    main()
