"""Obsidian vaults and the memory files of coding agents."""

import sys
from pathlib import Path

import pytest

from ecphora.errors import InvalidInput
from ecphora.maintenance.interchange.documents import frontmatter
from ecphora.maintenance.interchange.documents.memory_files import MemoryFilesImporter
from ecphora.maintenance.interchange.documents.obsidian import ObsidianImporter
from ecphora.maintenance.interchange.files import folders
from ecphora.maintenance.interchange.imported_episodes import EMPTY_TEXT
from ecphora.model.ports import FormatImporter, Importer
from ecphora.model.types import Episode, Omission
from ecphora.testing import ImporterContract


def write_files(root: Path, files: dict[str, str]) -> str:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(text.encode())
    return str(root)


def read(importer: Importer, path: str) -> tuple[dict[str, Episode], list[Omission]]:
    """The episodes by their texts, and the omissions."""
    found = list(importer.read(path))
    episodes = [one for one in found if isinstance(one, Episode)]
    return {one.text: one for one in episodes}, [one for one in found if isinstance(one, Omission)]


VAULT = {
    ".obsidian/templates.json": '{"folder": "Vorlagen"}',
    ".trash/Old.md": "gone",
    "Templates/Day.md": "template",
    "Vorlagen/Tag.md": "template",
    "Places/Porto.md": (
        "---\ncreated: 2026-05-03T14:30:00+02:00\ntags: [city, travel]\naliases:\n  - Oporto\nrating: 4.5\n"
        "time: 12:30\n---\nI moved to [[Porto#Ribeira|the city]] with ![[photo.png]] and [[Ana]]. #home/new `#no` #1\n"
    ),
    "Daily/2026-01-11 Sunday.md": "Tea with [[Ana]].",
    "Empty.md": "---\na: 1\n---\n",
    "Broken.md": "---\na: [1\n---\nBroken header.",
    "Plain.md": "Just text.",
    "image.png": "x",
}


class TestVaultContract(ImporterContract):
    @pytest.fixture
    def importer(self) -> ObsidianImporter:
        return ObsidianImporter()

    @pytest.fixture
    def sample(self, tmp_path: Path) -> str:
        return write_files(tmp_path / "vault", VAULT)


class TestMemoryFilesContract(ImporterContract):
    @pytest.fixture
    def importer(self) -> MemoryFilesImporter:
        return MemoryFilesImporter()

    @pytest.fixture
    def sample(self, tmp_path: Path) -> str:
        return write_files(tmp_path / "project", PROJECT)


def test_vault(tmp_path: Path) -> None:
    episodes, omissions = read(ObsidianImporter(), write_files(tmp_path, VAULT))
    porto = next(one for text, one in episodes.items() if text.startswith("I moved"))
    assert porto.metadata == {
        "created": "2026-05-03T14:30:00+02:00", "tags": ["city", "travel", "home/new"], "aliases": ["Oporto"],
        "rating": 4.5, "time": "12:30", "links": ["Porto", "photo.png", "Ana"], "origin": "Places/Porto.md",
    }  # fmt: skip
    assert (porto.title, porto.source, str(porto.happened_at)) == ("Porto", "obsidian", "2026-05-03 14:30:00+02:00")
    assert str(episodes["Tea with [[Ana]]."].happened_at) == "2026-01-11 00:00:00"
    assert episodes["Just text."].happened_at is None
    assert len(episodes) == 4
    assert omissions == [Omission(frontmatter.BAD_FRONTMATTER, "Broken.md"), Omission(EMPTY_TEXT, "Empty.md")]


def test_formats_are_told_apart(tmp_path: Path) -> None:
    vault, project = write_files(tmp_path / "v", VAULT), write_files(tmp_path / "p", PROJECT)
    for importer, mine, other in ((ObsidianImporter(), vault, project), (MemoryFilesImporter(), project, vault)):
        assert isinstance(importer, FormatImporter)
        assert importer.matches(mine)
        assert not importer.matches(other)
        assert not importer.matches(f"{mine}/missing")
        assert not importer.matches("\0")
    assert MemoryFilesImporter().matches(f"{project}/CLAUDE.md")


def test_links_never_lead_out_of_the_folder(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    write_files(secret, {"key.md": "a secret"})
    vault = write_files(tmp_path / "vault", {"a.md": "A note."})
    (tmp_path / "vault/key.md").symlink_to(secret / "key.md")
    (tmp_path / "vault/more").symlink_to(secret)
    episodes, omissions = read(ObsidianImporter(), vault)
    assert list(episodes) == ["A note."]
    assert omissions == [Omission(folders.LINK, "key.md"), Omission(folders.LINK, "more")]


def test_changed_note_is_another_memory(tmp_path: Path) -> None:
    (before,) = ObsidianImporter().read(write_files(tmp_path, {"a.md": "One."}))
    (after,) = ObsidianImporter().read(write_files(tmp_path, {"a.md": "Two."}))
    assert isinstance(before, Episode)
    assert isinstance(after, Episode)
    assert before.id != after.id


@pytest.mark.medium
def test_hostile_frontmatter_is_left_out(tmp_path: Path) -> None:
    bomb = "a: &a [x, x]\n" + "".join(f"b{n}: &b{n} [*a, *a]\n" for n in range(3))
    sources = (bomb, "!!python/object/apply:os.system [ls]", "a: !!int b", "? [a]\n: b", "- a", "[" * 5000, "a: b: c")
    files = {f"{n}.md": f"---\n{source}\n---\nText {n}." for n, source in enumerate(sources)}
    episodes, omissions = read(ObsidianImporter(), write_files(tmp_path, files))
    assert sorted(episodes) == [f"Text {n}." for n in range(len(sources))]
    assert [one.reason for one in omissions] == [frontmatter.BAD_FRONTMATTER] * len(sources)


def test_values_are_read_as_in_yaml_1_2(tmp_path: Path) -> None:
    source = "---\nn: no\nd: 2026-05-03\ni: -12\nf: 1.5e3\nb: true\nz: ~\nl: <<\n<<: {m: 1}\nd2: 2026-13-45\n---\nText."
    episodes, _ = read(ObsidianImporter(), write_files(tmp_path, {"a.md": source}))
    assert episodes["Text."].metadata == {
        "n": "no", "d": "2026-05-03", "i": -12, "f": 1500.0, "b": True, "z": None, "l": "<<", "<<": '{"m": 1}',
        "d2": "2026-13-45", "origin": "a.md",
    }  # fmt: skip


def test_without_pyyaml_the_error_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "yaml", None)
    plain = write_files(tmp_path / "plain", {"a.md": "No header."})
    assert len(list(ObsidianImporter().read(plain))) == 1
    with pytest.raises(InvalidInput, match=r"ecphora\[import\]"):
        list(ObsidianImporter().read(write_files(tmp_path / "vault", VAULT)))


def test_files_that_are_no_text_or_too_long_are_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folders, "MAX_FILE_BYTES", 100)
    vault = write_files(tmp_path, {"a.md": "A.", "long.md": "x" * 200})
    (tmp_path / "latin.md").write_bytes("é".encode("latin-1"))
    episodes, omissions = read(ObsidianImporter(), vault)
    assert list(episodes) == ["A."]
    assert omissions == [Omission(folders.NO_UTF8, "latin.md"), Omission(folders.LARGE_FILE, "long.md")]


PROJECT = {
    "CLAUDE.md": (
        "# Project\n\nUse Python 3.12.\n\n## Style\n\n* Lines of 120\n  columns.\n1. [x] Ask first.\n\n"
        "- Outer\n  - inner\n\n```sh\nmake test\n```\n\n<!-- hidden -->\n@docs/secret.md\n\n"
        "| a | b |\n|---|---|\n| 1 | 2 |\n"
    ),
    "src/AGENTS.md": "Setext\n======\n\nDo not touch `legacy`.\n",
    "memory/2026-01-11.md": "- Ana moved.\n",
    "memory/topics.md": "---\nname: Topics\ntype: user\n---\n\n## 2026-05-03\n\n- Ben likes tea.\n",
    "README.md": "Not a memory.",
    "node_modules/x/AGENTS.md": "- Not mine.",
}


def test_headings_and_bullets(tmp_path: Path) -> None:
    episodes, omissions = read(MemoryFilesImporter(), write_files(tmp_path, PROJECT))
    assert {text: one.title for text, one in episodes.items()} == {
        "Use Python 3.12.": "Project",
        "Lines of 120\ncolumns.": "Project > Style",
        "Ask first.": "Project > Style",
        "Outer\n- inner": "Project > Style",
        "```sh\nmake test\n```": "Project > Style",
        "| a | b |\n|---|---|\n| 1 | 2 |": "Project > Style",
        "Do not touch `legacy`.": "Setext",
        "Ana moved.": "2026-01-11",
        "Ben likes tea.": "2026-05-03",
    }
    assert omissions == [Omission("a reference to another file", "CLAUDE.md")]
    assert str(episodes["Ana moved."].happened_at) == "2026-01-11 00:00:00"
    tea = episodes["Ben likes tea."]
    assert str(tea.happened_at) == "2026-05-03 00:00:00"
    assert tea.metadata == {
        "name": "Topics", "type": "user", "file": "memory/topics.md", "origin": "memory/topics.md, line 8",
    }  # fmt: skip


def test_one_file_and_its_lines(tmp_path: Path) -> None:
    path = write_files(tmp_path, {"notes.md": "\n- a\r\n- b\r\n"})
    found = list(MemoryFilesImporter().read(f"{path}/notes.md"))
    assert [(one.text, one.metadata["origin"]) for one in found if isinstance(one, Episode)] == [
        ("a", "notes.md, line 2"), ("b", "notes.md, line 3"),
    ]  # fmt: skip


@pytest.mark.parametrize("importer", [ObsidianImporter(), MemoryFilesImporter()])
def test_folder_without_notes_is_invalid(importer: Importer, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="has no"):
        list(importer.read(write_files(tmp_path, {"a.txt": "x"})))
