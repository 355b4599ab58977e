"""The converters of published data sets, on small files of our own in their formats."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from ecphora.errors import InvalidInput, InvalidRecord
from ecphora.maintenance.learn import datasets
from ecphora.models.embedders.hashing import HashingEmbedder
from ecphora_bench.commands import bench
from ecphora_bench.conversion.dataset_files import Conversion, Task, Turn, write_set
from ecphora_bench.conversion.perltqa import convert_perltqa
from ecphora_bench.conversion.smrcs import convert_smrcs

DIALOGUE = {
    "past": [{"user": "I bought a kayak."}, {"assistant": "Where will you paddle?"}, {"user": "On the fjord."}],
    "present": [{"user": "My arms hurt."}, {"assistant": "From the kayak?"}, {"user": "The fjord was rough."}],
    "recalls": [
        {"trigger": "My arms hurt.", "related_memories": ["I bought a kayak.", "Never said."]},
        {"trigger": "The fjord was rough.", "related_memories": ["On the fjord."]},
        {"trigger": "Where will you paddle?", "related_memories": ["The fjord was rough."]},
        {"trigger": "No turn.", "related_memories": ["On the fjord."]},
    ],
}


def write(path: Path, content: object) -> Path:
    path.write_text(json.dumps(content), "utf-8")
    return path


def test_smrcs_asks_every_trigger_of_the_turns_before_it(tmp_path: Path) -> None:
    file = write(tmp_path / "dataset_EN.json", [DIALOGUE])
    result = CliRunner().invoke(bench, ["convert", "smrcs", str(file), "--name", "smrcs_en", "--out", str(tmp_path)])
    assert result.exit_code == 0
    assert result.stdout == f"{tmp_path / 'smrcs_en'}: 2 recall tasks\n"
    assert result.stderr.splitlines() == [
        "dropped: trigger that is no turn (1)",
        "dropped: related memory that is no earlier turn (2)",
        "dropped: trigger without related memories (1)",
    ]
    first, second = datasets.read_cases("smrcs_en", tmp_path)
    assert [one.text for one in first.episodes] == ["I bought a kayak.", "Where will you paddle?", "On the fjord."]
    assert [one.session for one in second.episodes] == ["past"] * 3 + ["present"] * 2
    assert [(q.text, q.gold) for q in (*first.questions, *second.questions)] == [
        ("My arms hurt.", frozenset({"0_0"})),
        ("The fjord was rough.", frozenset({"0_2"})),
    ]
    assert first.is_dated  # so that storing a turn is a query
    assert all(one.speaker is None for one in second.episodes)  # an indexed text would begin with the speaker
    minutes = [
        str(time)[11:16] for time in (*(one.happened_at for one in second.episodes), second.questions[0].asked_at)
    ]
    assert minutes == ["00:00", "00:01", "00:02", "00:03", "00:04", "00:05"]


def test_smrcs_counts_every_turn_of_a_text(tmp_path: Path) -> None:
    """As in the authors' code: equal turns are all gold, and a trigger that is said twice is asked twice."""
    dialogue = {
        "past": [{"user": "Yes."}, {"user": "Yes."}, {"user": "Why?"}],
        "present": [{"user": "Why?"}],
        "recalls": [{"trigger": "Why?", "related_memories": ["Yes."]}],
    }
    conversion = convert_smrcs(write(tmp_path / "a.json", [dialogue, dialogue]))
    assert [(task.space, task.gold) for task in conversion.tasks] == [
        ("0_2", ("0_0", "0_1")),
        ("0_3", ("0_0", "0_1")),
        ("1_2", ("1_0", "1_1")),
        ("1_3", ("1_0", "1_1")),
    ]
    assert not conversion.dropped


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({}, "must be a list, not dict"),
        ([[]], "must be an object, not list"),
        ([{"past": []}], "has no 'present'"),
        ([DIALOGUE | {"past": [{"user": "a", "assistant": "b"}]}], "must have one role, not 2"),
        ([DIALOGUE | {"past": [{"user": 3}]}], "must be a text, not 3"),
        ([DIALOGUE | {"recalls": [{"trigger": "My arms hurt.", "related_memories": "x"}]}], "must be a list, not str"),
    ],
)
def test_smrcs_of_another_form_is_refused(tmp_path: Path, content: object, message: str) -> None:
    with pytest.raises(InvalidRecord, match=message):
        convert_smrcs(write(tmp_path / "a.json", content))


def test_unreadable_files_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    for content in (b"\xff\xfe", b"[", b"[" * 100_000):
        file.write_bytes(content)
        with pytest.raises(InvalidRecord, match="not a readable JSON file"):
            convert_smrcs(file)


def test_perltqa_stores_earlier_questions_and_answers(tmp_path: Path) -> None:
    dialogues = {
        "1_0#0": ["Rain fell on the old harbour.", "Mina paints boats."],
        "1_0#1": ["Nobody asks."],
        "1_0#2": [],
    }
    questions = {
        "1_0#0": [
            {"Question": "Who paints?", "Answer": "Mina paints boats."},
            {"Question": "Who sings?", "Answer": "Quite another thing."},
            {"Question": "What fell?", "Answer": "Rain fell on the old harbour."},
        ],
        "1_0#2": [{"Question": "Who?", "Answer": "Nobody."}],
        "9#9": [],
    }
    files = write(tmp_path / "d.json", dialogues), write(tmp_path / "q.json", questions)
    conversion = convert_perltqa(*files, HashingEmbedder(64))
    assert [(task.space, task.question, task.gold, task.answers) for task in conversion.tasks] == [
        ("1_0#0/0", "Who paints?", ("t1",), ("Mina paints boats.",)),
        ("1_0#0/2", "What fell?", ("t0",), ("Rain fell on the old harbour.",)),
    ]
    assert [turn.id for turn in conversion.tasks[1].turns] == ["t0", "t1", "q0", "a0"]
    assert conversion.dropped == {
        "dialogue without questions, or questions without a dialogue": 2,
        "question whose answer has no similar turn": 1,
        "dialogue without turns or questions": 1,
    }
    assert len(convert_perltqa(*files, HashingEmbedder(64), min_cosine=-1).tasks) == 3
    words = ["convert", "perltqa", *map(str, files), "--embedder", "hashing", "--name", "p", "--out", str(tmp_path)]
    result = CliRunner().invoke(bench, words)
    assert result.exit_code == 0
    assert [case.space for case in datasets.read_cases("p", tmp_path)] == ["1_0#0/0", "1_0#0/2"]


def test_perltqa_of_another_form_is_refused(tmp_path: Path) -> None:
    dialogues = write(tmp_path / "d.json", {"a": ["Hello."]})
    for questions, message in (
        ([], "must be an object, not list"),
        ({"a": [{"Question": "Why?"}]}, "has no 'Answer'"),
        ({"a": [{"Question": "Why?", "Answer": " "}]}, "must be a text"),
    ):
        with pytest.raises(InvalidRecord, match=message):
            convert_perltqa(dialogues, write(tmp_path / "q.json", questions), HashingEmbedder(8))


def test_writing_refuses_no_task_and_a_name_that_is_no_file(tmp_path: Path) -> None:
    task = Task("s", "Why?", (Turn("1", "So.", "past"),), ("1",), "past")
    with pytest.raises(InvalidInput, match="no recall task"):
        write_set("x", Conversion().tasks, tmp_path)
    with pytest.raises(InvalidInput, match="file name"):
        write_set("../x", [task], tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(InvalidInput, match="choose another folder"):
        write_set("x", [task], tmp_path / "file")
    write_set("x", [task], tmp_path / "new")
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == ["x.docs.jsonl", "x.questions.jsonl"]
