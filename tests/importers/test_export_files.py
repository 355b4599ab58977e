"""The files of an export: of a folder, a ZIP or one file; what is damaged is one clear error."""

import os
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from ecphora.errors import InvalidInput
from ecphora.maintenance.interchange.files import export_files
from ecphora.maintenance.interchange.files.export_files import ExportFiles, looks_like
from ecphora.maintenance.interchange.files.progress import ProgressMeter
from ecphora.maintenance.interchange.formats import BUILT_IN, find_format

Writer = Callable[..., str]
CONTENT = {"a/one.json": "[1]", "b.json": "[2]", "c.txt": "x"}


@pytest.mark.parametrize("name", ["folder", "a.zip"])
def test_folder_and_zip_have_the_same_files(name: str, write: Writer) -> None:
    with ExportFiles(write(name, CONTENT)) as files:
        assert files.names == ["a/one.json", "b.json", "c.txt"]
        assert files.find("*.json") == ["a/one.json", "b.json"]
        assert files.size(files.names) == 7
        assert files.head("a/one.json") == b"[1]"
        with files.open("b.json") as file:
            assert (file.read(1), file.read()) == (b"[", b"2]")


def test_one_file_is_its_only_file_whatever_its_name(write: Writer) -> None:
    with ExportFiles(write("renamed.data", "[1]")) as files:
        assert files.find("*.json") == ["renamed.data"]


@pytest.mark.skipif(os.name == "nt", reason="links need rights there")
def test_links_are_not_followed(write: Writer, tmp_path: Path) -> None:
    folder = Path(write("folder", CONTENT))
    (tmp_path / "secret.json").write_text("[]")
    (folder / "link.json").symlink_to(tmp_path / "secret.json")
    (folder / "circle").symlink_to(folder)
    with ExportFiles(folder) as files:
        assert files.names == ["a/one.json", "b.json", "c.txt"]


def test_folder_is_looked_through_within_bounds(write: Writer, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write("folder", {"/".join("x" * 9) + "/deep.json": "1", "x/near.json": "1", "y.json": "1"})
    with ExportFiles(folder) as files:
        assert files.names == ["x/near.json", "y.json"]
    monkeypatch.setattr(export_files, "MAX_FILES", 1)
    with ExportFiles(folder) as files:
        assert files.names == ["y.json"]


def damage(path: str, kind: str) -> None:
    content = bytearray(Path(path).read_bytes())
    if kind == "cut off":
        del content[-20:]
    elif kind == "encrypted":
        at = content.index(b"PK\x01\x02")
        content[6] |= 1
        content[at + 8] |= 1
    elif kind == "changed":
        content[content.index(b"[1, 1")] = ord("{")
    Path(path).write_bytes(bytes(content))


@pytest.mark.parametrize("kind", ["cut off", "encrypted", "changed"])
@pytest.mark.parametrize("name", [name for name in BUILT_IN if name != "whatsapp"])
def test_damaged_zip_is_invalid_input(name: str, kind: str, tmp_path: Path) -> None:
    path = str(tmp_path / "a.zip")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as out:
        for inner in ("conversations.json", "result.json", "s.jsonl", "general/2026-01-10.json", "users.json"):
            out.writestr(inner, f"[{'1, ' * 100_000}1]")
    damage(path, kind)
    found = find_format(path, name)
    assert found.matches(path) in {True, False}
    with pytest.raises(InvalidInput):
        list(found.read(path))


def test_meter_never_goes_beyond_the_total() -> None:
    reports: list[tuple[int, int]] = []
    meter = ProgressMeter(lambda done, total: reports.append((done, total)), 10)
    for count in (4, 8):
        meter.advance(count)
    meter.finish()
    assert reports == [(4, 10), (10, 10), (10, 10)]


def test_what_cannot_be_read_looks_like_nothing(write: Writer) -> None:
    assert not looks_like("nowhere", ("*",), b"x")
    assert not looks_like(write("a.zip", b"PK\x03\x04"), ("*",), b"x")
    assert looks_like(write("a.json", "xy"), ("*",), b"x", b"y")
    assert not looks_like(write("a.json", "x"), ("*",), b"x", b"y")
