"""CSV and TSV files: headers of several programs, delimiters, encodings, a given mapping and broken rows."""

import csv
from pathlib import Path

import pytest

from ecphora.errors import InvalidInput
from ecphora.maintenance.interchange.documents import csv_files
from ecphora.maintenance.interchange.documents.csv_files import CsvImporter
from ecphora.maintenance.interchange.imported_episodes import EMPTY_TEXT, UNREADABLE_TIME
from ecphora.model.ports import FormatImporter
from ecphora.model.types import Episode, Omission
from ecphora.testing import ImporterContract

CHAT = (
    "Date,Author,Content,Conversation ID,Mood\n"
    '2026-05-03 14:30,Ana,"I moved, finally.\nTo ""Porto"".",c1,glad\n'
    "1767225600,Ben,Great!,c1,\n"
    "1767225600000,Ben,Really great!,c1\n"
)


def write(folder: Path, text: str, name: str = "chat.csv", encoding: str = "utf-8") -> str:
    (folder / name).write_bytes(text.encode(encoding))
    return str(folder / name)


def read(path: str, importer: CsvImporter | None = None) -> tuple[list[Episode], list[Omission]]:
    found = list((importer or CsvImporter()).read(path))
    return (
        [one for one in found if isinstance(one, Episode)],
        [one for one in found if isinstance(one, Omission)],
    )


class TestContract(ImporterContract):
    @pytest.fixture
    def importer(self) -> CsvImporter:
        return CsvImporter()

    @pytest.fixture
    def sample(self, tmp_path: Path) -> str:
        return write(tmp_path, CHAT)


def test_columns_become_fields(tmp_path: Path) -> None:
    (first, second, third), omissions = read(write(tmp_path, CHAT))
    assert first.text == 'I moved, finally.\nTo "Porto".'
    assert (first.speaker, first.session, first.source) == ("Ana", "c1", "csv")
    assert str(first.happened_at) == "2026-05-03 14:30:00"
    assert first.metadata == {"Mood": "glad", "origin": "chat.csv, line 2"}
    assert second.metadata == {"origin": "chat.csv, line 4"}
    assert str(second.happened_at) == str(third.happened_at) == "2026-01-01 00:00:00+00:00"
    assert omissions == []


@pytest.mark.parametrize(
    ("text", "name", "encoding"),
    [
        ("message\tfrom\n¡Olé, olé!\tAna\n", "a.tsv", "utf-8"),
        ("Message;From\r\n¡Olé, olé!;Ana\r\n", "a.csv", "cp1252"),
        ('message,from\n"¡Olé, olé!",Ana\n', "a.csv", "utf-8-sig"),
        ("message\tfrom\n¡Olé, olé!\tAna\n", "a.csv", "utf-16"),
    ],
)  # fmt: skip
def test_delimiters_and_encodings(text: str, name: str, encoding: str, tmp_path: Path) -> None:
    path = write(tmp_path, text, name, encoding)
    (episode,), _ = read(path)
    assert (episode.text, episode.speaker) == ("¡Olé, olé!", "Ana")
    assert CsvImporter().matches(path)


def test_long_file_in_utf_8_is_not_cut_within_a_letter(tmp_path: Path) -> None:
    for shift in range(3):
        (episode,), _ = read(write(tmp_path, f"text\n{'x' * shift}{'€' * 40_000}\n"))
        assert episode.text == "x" * shift + "€" * 40_000


def test_given_mapping(tmp_path: Path) -> None:
    path = write(tmp_path, "Text,Was,Wer\nA,B,Ana\n")
    (episode,), _ = read(path, CsvImporter({"text": "Was", "speaker": "Wer"}))
    assert (episode.text, episode.speaker, episode.metadata["Text"]) == ("B", "Ana", "A")
    with pytest.raises(InvalidInput, match="no column 'Wo'"):
        read(path, CsvImporter({"text": "Wo"}))
    with pytest.raises(InvalidInput, match="'mood' is no field"):
        CsvImporter({"mood": "Was"})


def test_rows_with_an_id_are_told_apart(tmp_path: Path) -> None:
    episodes, _ = read(write(tmp_path, "id,text\n1,Hi\n2,Hi\n"))
    assert len({one.id for one in episodes}) == 2
    assert episodes[1].metadata["id"] == "2"


def test_broken_rows_are_left_out_with_their_place(tmp_path: Path) -> None:
    limit = csv.field_size_limit()
    text = "text,time\nA,2026-05-03\nB,c,d\n,2026-05-03\nC,soon\n\n \nD\n" + '"' + "x" * 2_100_000
    episodes, omissions = read(write(tmp_path, text))
    assert [one.text for one in episodes] == ["A", "C", "D"]
    assert omissions == [
        Omission(csv_files.LONG_ROW, "chat.csv, line 3"),
        Omission(EMPTY_TEXT, "chat.csv, line 4"),
        Omission(UNREADABLE_TIME, "chat.csv, line 5"),
        Omission(csv_files.BROKEN_REST, "chat.csv, line 9"),
    ]
    assert csv.field_size_limit() == limit


def test_it_recognizes_its_format(tmp_path: Path) -> None:
    assert isinstance(CsvImporter(), FormatImporter)
    assert CsvImporter().matches(write(tmp_path, CHAT))
    assert not CsvImporter().matches(write(tmp_path, CHAT, "chat.txt"))
    assert not CsvImporter().matches(write(tmp_path, "a,b\n1,2\n", "numbers.csv"))
    assert not CsvImporter().matches(str(tmp_path / "missing.csv"))


@pytest.mark.parametrize("text", ["", "\n\n", "a,b\n1,2\n"])
def test_file_without_a_column_of_texts_is_invalid(text: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput):
        read(write(tmp_path, text))
    with pytest.raises(InvalidInput, match="folder"):
        read(str(tmp_path))
