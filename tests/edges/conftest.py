"""Fixtures of the tests of the command line."""

import os
from pathlib import Path

import pytest
from click.testing import CliRunner

from ecphora.cli.main import main


@pytest.fixture
def clean_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty working folder, a cheap embedder, and no settings in the environment."""
    monkeypatch.chdir(tmp_path)
    for name in list(os.environ):
        if name.startswith(("ECPHORA_", "OPENAI_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("ECPHORA_EMBEDDER", "hashing")
    monkeypatch.setenv("COLUMNS", "100")


@pytest.fixture
def two_memories(clean_environment: None) -> None:  # they go to the folder that it makes
    """Two memories of two speakers, in the memory of the working folder."""
    for text, *options in (
        ("Ana moved to Porto.", "--id=a", "--speaker=Ana", "--happened-at=2026-05-03", "--session=s"),
        (
            "Bo likes rain in Lisbon.",
            "--id",
            "b",
            "--speaker",
            "Bo",
            "--happened-at",
            "2026-05-04",
            "--metadata",
            "n=1",
        ),
    ):
        CliRunner().invoke(main, ["remember", text, *options], catch_exceptions=False)
