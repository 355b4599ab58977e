"""For scripts/mutate, with a Python that has cosmic-ray: print the mutated texts of the mutations given on stdin."""
# ruff: noqa: INP001  # in the folder of the script that uses it

import json
import sys
from pathlib import Path

from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator

if __name__ == "__main__":
    texts = [
        mutate_code(Path(path).read_text(encoding="utf-8"), get_operator(operator)(), occurrence)
        for path, operator, occurrence in json.load(sys.stdin)
    ]
    json.dump(texts, sys.stdout)
