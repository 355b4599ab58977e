"""The list of equivalent mutations is about lines that exist."""

import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
LIST = ROOT / "scripts" / "equivalent_mutations.toml"


def test_equivalent_mutations_change_lines_that_exist() -> None:
    mutations = tomllib.loads(LIST.read_text(encoding="utf-8"))["mutation"]
    assert mutations
    for mutation in mutations:
        lines = {line.strip() for line in (ROOT / mutation["path"]).read_text(encoding="utf-8").splitlines()}
        assert set(mutation["removed"].splitlines()) <= lines, mutation
        assert mutation["added"] != mutation["removed"]
        assert mutation["reason"]
