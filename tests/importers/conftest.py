"""Builds exports of other programs, for the tests of their importers."""

import json
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

Files = Mapping[str, object]
Writer = Callable[..., str]


def _to_bytes(content: object) -> bytes:
    if isinstance(content, bytes):
        return content
    return (content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)).encode()


@pytest.fixture
def write(tmp_path: Path) -> Writer:
    """Writes an export: a file, a folder of files, or (``.zip``) a ZIP; returns its path.

    A file that is neither bytes nor text is written as JSON.
    """

    def write(name: str, content: object) -> str:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if name.endswith(".zip") and isinstance(content, dict):
            with zipfile.ZipFile(path, "w") as out:
                for inner, one in content.items():
                    out.writestr(inner, _to_bytes(one))
        elif isinstance(content, dict) and all("." in inner for inner in content):
            for inner, one in content.items():
                target = path / inner
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(_to_bytes(one))
        else:
            path.write_bytes(_to_bytes(content))
        return str(path)

    return write
