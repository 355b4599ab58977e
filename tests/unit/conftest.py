"""Packages with plug-ins, installed for a test: a tiny one with a plug-in of each group, and others."""

import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from ecphora import strategies
from ecphora.model.plugins import PREFIX

MODULE = '''
"""A plug-in of each group."""

import re
from pathlib import Path

from ecphora.models.embedders.hashing import HashingEmbedder
from ecphora.errors import InvalidRecord
from ecphora.model.types import Episode, Extraction, Mention
from ecphora.stores.sqlite import SQLiteStore
from ecphora.strategies.baselines import Bm25


class TinyEmbedder(HashingEmbedder):
    def __init__(self, dim="16"):
        super().__init__(int(dim))
        self.name = f"tiny/{dim}"


class TinyExtractor:
    def extract(self, texts, /):
        return [Extraction(tuple(map(Mention, re.findall(r"(?<!\\S)#(\\S+)", text)))) for text in texts]


class TinyStrategy:
    name = "tiny"

    def activate(self, query, graph, /):
        return Bm25().activate(query, graph)


class TinyImporter:
    def read(self, path, /, *, progress=None):
        try:
            lines = Path(path).read_text("utf-8").splitlines()
        except UnicodeDecodeError as error:
            raise InvalidRecord(f"{path} is not UTF-8; is it a list of texts?") from error
        for number, line in enumerate(lines, 1):
            speaker, _, text = line.partition(": ")
            yield Episode(text, f"tiny-{number}", speaker=speaker)
            if progress is not None:
                progress(number, len(lines))


def open_store(url):
    if not url.startswith("tiny://"):
        raise ValueError(f"{url} is no URL")
    return SQLiteStore(url.removeprefix("tiny://"))
'''
ENTRIES: Mapping[str, Mapping[str, str]] = {
    "embedders": {"tiny": "tiny_plugins:TinyEmbedder"},
    "extractors": {"tiny": "tiny_plugins:TinyExtractor"},
    "importers": {"tiny": "tiny_plugins:TinyImporter"},
    "stores": {"tiny": "tiny_plugins:open_store"},
    "strategies": {"tiny": "tiny_plugins:TinyStrategy"},
}
"""The entry points of the tiny package, by group."""


def install(
    site: Path, name: str, entries: Mapping[str, Mapping[str, str]], *, version: str = "1.0", **modules: str
) -> None:
    """Put a distribution with these entry points and modules into a folder, as pip would."""
    info = site / f"{name}-{version}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name.replace('_', '-')}\nVersion: {version}\n")
    groups = [
        "\n".join([f"[{PREFIX}{group}]", *(f"{key} = {value}" for key, value in named.items())])
        for group, named in entries.items()
    ]
    (info / "entry_points.txt").write_text("\n\n".join(groups) + "\n")
    for module, source in modules.items():
        (site / f"{module}.py").write_text(source)


@pytest.fixture
def install_package() -> Callable[..., None]:
    """Puts a distribution with some entry points and modules into a folder, as pip would."""
    return install


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of packages in which the tiny one is installed; this process finds what is in it until the test ends."""
    folder = tmp_path / "site"
    install(folder, "tiny_plugins", ENTRIES, tiny_plugins=MODULE)
    for module in ("tiny_plugins", "other_plugins"):
        monkeypatch.setitem(sys.modules, module, sys)  # remembers that it was not there
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.syspath_prepend(folder)
    strategies._load_plugin.cache_clear()
    yield folder
    strategies._load_plugin.cache_clear()
