"""Reading benchmark sets from valid and invalid files."""

import gzip
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import pytest

from ecphora.errors import InvalidInput, InvalidRecord, UnknownName
from ecphora.maintenance.learn import datasets
from ecphora.model.types import Episode

DOC = {"space": "s", "id": "1", "text": "Rain fell."}
QUESTION = {"space": "s", "id": "q", "question": "Did it rain?", "category": "easy", "evidence": ["1"]}


def write_lines(folder: Path, name: str, *lines: Mapping[str, object] | str) -> Path:
    path = folder / f"{name}.jsonl"
    path.write_text("".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines), "utf-8")
    return path


def test_documents_are_read_as_episodes(tmp_path: Path) -> None:
    document_fields = {
        "speaker": "Ola",
        "session": "s1",
        "time": "2024-05-01",
        "title": "Boats",
        "caption": "a red boat",
    }
    write_lines(tmp_path, "set.docs", DOC | document_fields, {**DOC, "id": "2", "title": "", "speaker": None})
    fields = {"asked_at": "2024-06-01T10:00:00", "answerable": True, "answers": ["Yes", "It did"]}
    write_lines(tmp_path, "set.questions", QUESTION | fields)
    [case] = datasets.read_cases("set", tmp_path)
    at = datetime(2024, 5, 1, tzinfo=UTC)
    first = Episode("Rain fell. [shares a red boat]", "1", speaker="Ola", session="s1", happened_at=at, title="Boats")
    assert case.space == "s"
    assert case.episodes == (first, Episode("Rain fell.", "2"))
    asked_at = datetime(2024, 6, 1, 10, tzinfo=UTC)
    question = datasets.Question("q", "Did it rain?", "easy", frozenset({"1"}), True, asked_at, ("Yes", "It did"))
    assert case.questions == (question,)


def test_compressed_files_and_another_document_folder_are_read(tmp_path: Path) -> None:
    other = tmp_path / "docs"
    other.mkdir()
    write_lines(other, "set.docs", DOC)
    (tmp_path / "set.questions.jsonl.gz").write_bytes(gzip.compress(json.dumps(QUESTION).encode()))
    with pytest.raises(InvalidInput, match=r"no set\.docs\.jsonl\.gz in .*; name its folder"):
        list(datasets.read_cases("set", tmp_path))
    assert [case.space for case in datasets.read_cases("set", tmp_path, other)] == ["s"]
    assert datasets.dataset_names(tmp_path) == ["set"]


def test_limit_takes_the_first_spaces_in_order(tmp_path: Path) -> None:
    write_lines(tmp_path, "set.docs", *({**DOC, "space": space} for space in ("b", "a", "c", "d")))
    questions = [{**QUESTION, "space": space, "id": f"{space}{n}"} for space in ("a", "b", "d") for n in range(2)]
    write_lines(tmp_path, "set.questions", *questions)
    question_ids = {
        limit: [
            [question.id for question in case.questions] for case in datasets.read_cases("set", tmp_path, limit=limit)
        ]
        for limit in (None, 3, 2)
    }
    assert question_ids == {
        None: [["b0", "b1"], ["a0", "a1"], ["d0", "d1"]],
        3: [["b0", "b1"], ["a0"]],
        2: [["b0", "b1"]],
    }


def test_unknown_set_error_lists_the_known_sets(tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match="there are: none"):
        list(datasets.read_cases("set", tmp_path))
    for name in ("two", "one"):
        write_lines(tmp_path, f"{name}.questions", QUESTION)
    with pytest.raises(UnknownName, match=r"no set 'set' in .*; there are: one, two"):
        list(datasets.read_cases("set", tmp_path))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "not JSON"),
        ("[1]", "must be a JSON object"),
        ({**DOC, "id": "1"}, "'1' stands twice in space 's'"),
        ({**DOC, "id": "2", "text": " "}, "'text' is ' ', not a text"),
        ({**DOC, "id": 2}, "'id' is 2, not a text"),
        ({**DOC, "id": "2", "speaker": 7}, "'speaker' is 7"),
        ({**DOC, "id": "2", "time": "soon"}, "'time': 'soon' is not a date"),
    ],
)
def test_bad_document_error_names_the_line(tmp_path: Path, line: Mapping[str, object] | str, message: str) -> None:
    write_lines(tmp_path, "set.questions", QUESTION)
    write_lines(tmp_path, "set.docs", DOC, "", line)
    with pytest.raises(InvalidRecord, match=r"set\.docs\.jsonl:3: .*" + message):
        list(datasets.read_cases("set", tmp_path))


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"space": "t"}, "no document lies in its space 't'"),
        ({"evidence": ["1", "9"]}, "evidence '9' is no document"),
        ({"evidence": "1"}, "'evidence' is '1', not a list of texts"),
        ({"evidence": [1]}, "not a list of texts"),
        ({"answerable": "no"}, "not true or false"),
        ({"answers": "Yes"}, "'answers' is 'Yes', not a list of texts"),
        ({"question": None}, "'question' is None"),
    ],
)
def test_bad_question_error_names_the_line(tmp_path: Path, fields: Mapping[str, object], message: str) -> None:
    write_lines(tmp_path, "set.docs", DOC)
    write_lines(tmp_path, "set.questions", {**QUESTION, **fields})
    with pytest.raises(InvalidRecord, match=r"set\.questions\.jsonl:1: .*" + message):
        list(datasets.read_cases("set", tmp_path))


def test_broken_file_error_names_the_file(tmp_path: Path) -> None:
    write_lines(tmp_path, "set.questions", QUESTION)
    compressed = gzip.compress("\n".join(json.dumps({**DOC, "id": str(n)}) for n in range(2_000)).encode())
    for broken in (compressed[: len(compressed) // 2], b"no gzip"):
        (tmp_path / "set.docs.jsonl.gz").write_bytes(broken)
        with pytest.raises(InvalidRecord, match=r"set\.docs\.jsonl\.gz:\d+: cannot be read"):
            list(datasets.read_cases("set", tmp_path))
    (tmp_path / "set.docs.jsonl.gz").unlink()
    (tmp_path / "set.docs.jsonl").write_bytes(b'{"space": "\xff"}\n')
    with pytest.raises(InvalidRecord, match="cannot be read"):
        list(datasets.read_cases("set", tmp_path))
