"""``ecphora bench answer`` from the command line to its tables, on a small set of its own."""

import json
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from ecphora import settings
from ecphora.bench import embedding_cache
from ecphora.bench.answers import answer_files, readers
from ecphora.bench.commands import bench
from ecphora.errors import EcphoraError, InvalidInput, UnknownName
from ecphora.testing.llms import FakeChatServer, ScriptedLLM

pytestmark = pytest.mark.slow

TOLD = [("b1", "The rowing boat is called Kestrel."), ("b2", "Two panes of the greenhouse broke in the storm.")]
ASKED = [
    ("q1", "What is the rowing boat called?", "single", ["b1"], ["Kestrel"], True),
    ("q2", "How many panes of the greenhouse broke?", "single", ["b2"], ["two", "Two panes"], True),
    ("q3", "Which violin does Bram play?", "absent", [], [], False),
]


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the set ``village``; the embedder knows no model, and nothing is the user's own."""
    monkeypatch.setenv("ECPHORA_EMBEDDER", "hashing")
    monkeypatch.delenv("ECPHORA_LLM", raising=False)
    monkeypatch.setattr(embedding_cache, "user_cache_dir", lambda name: str(tmp_path / "cache" / name))
    folder = tmp_path / "data"
    folder.mkdir()
    docs = [{"space": "s", "id": id_, "text": text, "time": f"2024-05-0{id_[1]}"} for id_, text in TOLD]
    names = ("id", "question", "category", "evidence", "answers", "answerable")
    questions = [{"space": "s", **dict(zip(names, asked, strict=True))} for asked in ASKED]
    for part, lines in (("docs", docs), ("questions", questions)):
        (folder / f"village.{part}.jsonl").write_text("\n".join(map(json.dumps, lines)), "utf-8")
    return folder


def ran(*words: object, fine: bool = True) -> Result:
    result = CliRunner().invoke(bench, [str(word) for word in words])
    if fine and result.exception is not None:
        raise result.exception
    return result


def answered(data: Path, out: Path, *words: object, fine: bool = True) -> Result:
    return ran("answer", "--data", data, "--set", "village", "--out", out, *words, fine=fine)


def test_the_extractive_reader_goes_all_the_way(data: Path, tmp_path: Path) -> None:
    out = tmp_path / "answers.jsonl"
    words = ("--llm", "extractive", "--strategy", "bm25", "--budget", 200)
    shown = answered(data, out, *words).stdout
    for word in ("read by extractive", "small model", "full, 4,000", "dense, 200", "bm25, 200", "no answer", "US $"):
        assert word in shown
    lines = out.read_text().splitlines()
    assert len(lines) == 1 + 9
    assert json.loads(lines[0])["answer_setup"]["token_budget"] == 200
    assert answered(data, out, *words).stdout == shown
    assert out.read_text().splitlines() == lines


def test_json_lines_alone_on_stdout(data: Path, tmp_path: Path) -> None:
    found = answered(data, tmp_path / "answers.jsonl", "--llm", "extractive", "--json", "-")
    run, *figures = [json.loads(line) for line in found.stdout.splitlines()]
    assert found.stderr == ""
    assert run["command"] == (
        "ecphora bench answer --data DATA --set village --llm extractive --budget 1000 --window 4000 --out FILE"
    )
    assert run["answer_setup"]["model"] == "extractive"
    places = {(one["strategy"], one["k"], one["category"], one["metric"]): one for one in figures}
    assert len(places) == len(figures)
    assert {(strategy, k) for strategy, k, *_ in places} == {("full", 4000), ("dense", 1000), ("fused", 1000)}
    assert places["full", 4000, "answerable", "gold_recall"]["value"] == 1
    assert places["full", 4000, "all", "no_answer_recall"]["value"] == 1
    assert places["dense", 1000, "all", "calls"]["value"] == 3


def test_the_report_measures_the_file_again(data: Path, tmp_path: Path) -> None:
    out, plain = tmp_path / "answers.jsonl", tmp_path / "figures.jsonl"
    answered(data, out, "--llm", "extractive", "--json", plain)
    printed = ran("report", out).stdout
    assert printed.startswith("## answers\n\n**Read by extractive, prompt ")
    assert "| answerable | full, 4,000 | 2 | " in printed
    assert ran("report", plain).stdout == printed  # the figures, and the answers they are of
    document = tmp_path / "page.md"
    document.write_text("<!-- bench:answers:start -->\nold\n<!-- bench:answers:end -->\n")
    ran("report", out, "--insert-into", document)
    assert document.read_text().endswith("|\n\n<!-- bench:answers:end -->\n")
    recalled = tmp_path / "recall.jsonl"
    ran("recall", "--data", data, "--strategy", "bm25", "--json", recalled)
    both = ran("report", recalled, out).stdout
    assert both.index("recall@5") < both.index("## answers")
    assert "## answers" not in ran("report", recalled).stdout


def test_a_language_model_of_the_settings_answers(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    llm = ScriptedLLM(lambda _prompt: {"answer": "Two panes", "ids": ["b2"], "held": True}, name="clever-70b")
    monkeypatch.setattr(settings.Settings, "make_llm", lambda self: llm if self.llm == "openai:clever" else None)
    words = ("--llm", "openai:clever", "--limit", 2, "--concurrency", 1, "--price", 1, 2)
    shown = answered(data, tmp_path / "answers.jsonl", *words).stdout
    assert "read by clever-70b" in shown
    assert "small model" not in shown.replace("\n", " ")
    assert len(llm.prompts) == 6
    monkeypatch.setenv("ECPHORA_LLM", "openai:clever")
    answered(data, tmp_path / "answers.jsonl", "--sample", 3)
    assert len(llm.prompts) == 9


def test_an_endpoint_answers_several_at_once(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "answers.jsonl"
    with FakeChatServer('```json\n{"answer": "Kestrel", "ids": [], "held": true}\n```') as server:
        monkeypatch.setenv("ECPHORA_LLM_BASE_URL", server.url)
        answered(data, out, "--llm", "openai:clever-70b")
        assert len(server.requests) == 9
    kept = answer_files.read_answers(out).answers
    assert {(line.model, line.answer, line.tokens_in, line.tokens_out) for line in kept} == {
        ("clever-70b@openai", "Kestrel", 11, 7)
    }


def test_the_folder_of_a_model_stays_out_of_the_record() -> None:
    assert readers.reader_label("llamacpp:/home/ana/small.gguf") == "llamacpp:small.gguf"
    assert readers.reader_label("openai:team/model:7b") == "openai:team/model:7b"
    assert readers.reader_label(None) is None


def test_what_cannot_be_run_is_said_before_anything_is_written(data: Path, tmp_path: Path) -> None:
    out = tmp_path / "answers.jsonl"
    for words, kind, message in (
        (("--llm", "extractive", "--set", "town"), UnknownName, "there are: village"),
        (("--llm", "extractive", "--strategy", "guess"), UnknownName, "no strategy is called 'guess'"),
        ((), InvalidInput, "nobody is there to answer: give --llm"),
        (("--llm", "parrot"), UnknownName, "no language model is called 'parrot'"),
    ):
        error = answered(data, out, *words, fine=False).exception
        assert isinstance(error, kind)
        assert isinstance(error, EcphoraError)
        assert message in str(error)
    assert not out.exists()
    out.write_text('{"precious": true}\n')
    error = answered(data, out, "--llm", "extractive", fine=False).exception
    assert "no line of `ecphora bench answer`" in str(error)
    assert out.read_text() == '{"precious": true}\n'
    assert ran("answer", "--data", data, fine=False).exit_code == click.UsageError.exit_code
