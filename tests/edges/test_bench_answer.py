"""``ecphora bench answer`` from the command line to its tables, on a small data set."""

import json
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from ecphora import settings
from ecphora.errors import EcphoraError, InvalidInput, UnknownName
from ecphora.maintenance.learn import embedding_cache
from ecphora.testing.llms import FakeChatServer, ScriptedLLM
from ecphora_bench.answers import answer_files, readers
from ecphora_bench.commands import bench

pytestmark = pytest.mark.slow

EPISODES = [("b1", "The rowing boat is called Kestrel."), ("b2", "Two panes of the greenhouse broke in the storm.")]
QUESTIONS = [
    ("q1", "What is the rowing boat called?", "single", ["b1"], ["Kestrel"], True),
    ("q2", "How many panes of the greenhouse broke?", "single", ["b2"], ["two", "Two panes"], True),
    ("q3", "Which violin does Bram play?", "absent", [], [], False),
]


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the set ``village``; the embedder is the hashing one, and no settings of the user are read."""
    monkeypatch.setenv("ECPHORA_EMBEDDER", "hashing")
    monkeypatch.delenv("ECPHORA_LLM", raising=False)
    monkeypatch.setattr(embedding_cache, "user_cache_dir", lambda name: str(tmp_path / "cache" / name))
    folder = tmp_path / "data"
    folder.mkdir()
    docs = [{"space": "s", "id": id_, "text": text, "time": f"2024-05-0{id_[1]}"} for id_, text in EPISODES]
    names = ("id", "question", "category", "evidence", "answers", "answerable")
    questions = [{"space": "s", **dict(zip(names, question, strict=True))} for question in QUESTIONS]
    for part, lines in (("docs", docs), ("questions", questions)):
        (folder / f"village.{part}.jsonl").write_text("\n".join(map(json.dumps, lines)), "utf-8")
    return folder


def run_bench(*words: object, check: bool = True) -> Result:
    result = CliRunner().invoke(bench, [str(word) for word in words])
    if check and result.exception is not None:
        raise result.exception
    return result


def run_answer(data: Path, out: Path, *words: object, check: bool = True) -> Result:
    return run_bench("answer", "--data", data, "--set", "village", "--out", out, *words, check=check)


def test_extractive_reader_answers_and_prints_tables(data: Path, tmp_path: Path) -> None:
    out = tmp_path / "answers.jsonl"
    words = ("--llm", "extractive", "--strategy", "bm25", "--budget", 200)
    shown = run_answer(data, out, *words).stdout
    for word in ("read by extractive", "small model", "full, 4,000", "dense, 200", "bm25, 200", "no answer", "US $"):
        assert word in shown
    lines = out.read_text().splitlines()
    assert len(lines) == 1 + 9
    assert json.loads(lines[0])["answer_setup"]["token_budget"] == 200
    assert run_answer(data, out, *words).stdout == shown
    assert out.read_text().splitlines() == lines


def test_answer_json_writes_only_json_lines(data: Path, tmp_path: Path) -> None:
    found = run_answer(data, tmp_path / "answers.jsonl", "--llm", "extractive", "--json", "-")
    run, *figures = [json.loads(line) for line in found.stdout.splitlines()]
    assert found.stderr == ""
    assert run["command"] == (
        "ecphora bench answer --data DATA --set village --llm extractive --budget 1000 --window 4000 --out FILE"
    )
    assert run["answer_setup"]["model"] == "extractive"
    by_key = {(one["strategy"], one["k"], one["category"], one["metric"]): one for one in figures}
    assert len(by_key) == len(figures)
    assert {(strategy, k) for strategy, k, *_ in by_key} == {("full", 4000), ("dense", 1000), ("fused", 1000)}
    assert by_key["full", 4000, "answerable", "gold_recall"]["value"] == 1
    assert by_key["full", 4000, "all", "no_answer_recall"]["value"] == 1
    assert by_key["dense", 1000, "all", "calls"]["value"] == 3


def test_report_measures_the_answers_of_a_file(data: Path, tmp_path: Path) -> None:
    out, figure_lines = tmp_path / "answers.jsonl", tmp_path / "figures.jsonl"
    run_answer(data, out, "--llm", "extractive", "--json", figure_lines)
    printed = run_bench("report", out).stdout
    assert printed.startswith("## answers\n\n**Read by extractive, prompt ")
    assert "| answerable | full, 4,000 | 2 | " in printed
    assert run_bench("report", figure_lines).stdout == printed  # figures and answers give the same report
    document = tmp_path / "page.md"
    document.write_text("<!-- bench:answers:start -->\nold\n<!-- bench:answers:end -->\n")
    run_bench("report", out, "--insert-into", document)
    assert document.read_text().endswith("|\n\n<!-- bench:answers:end -->\n")
    recall_lines = tmp_path / "recall.jsonl"
    run_bench("recall", "--data", data, "--strategy", "bm25", "--json", recall_lines)
    both = run_bench("report", recall_lines, out).stdout
    assert both.index("recall@5") < both.index("## answers")
    assert "## answers" not in run_bench("report", recall_lines).stdout


def test_language_model_of_the_settings_answers(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    llm = ScriptedLLM(lambda _prompt: {"answer": "Two panes", "ids": ["b2"], "held": True}, name="clever-70b")
    monkeypatch.setattr(settings.Settings, "make_llm", lambda self: llm if self.llm == "openai:clever" else None)
    words = ("--llm", "openai:clever", "--limit", 2, "--concurrency", 1, "--price", 1, 2)
    shown = run_answer(data, tmp_path / "answers.jsonl", *words).stdout
    assert "read by clever-70b" in shown
    assert "small model" not in shown.replace("\n", " ")
    assert len(llm.prompts) == 6
    monkeypatch.setenv("ECPHORA_LLM", "openai:clever")
    run_answer(data, tmp_path / "answers.jsonl", "--sample", 3)
    assert len(llm.prompts) == 9


def test_endpoint_answers_concurrent_questions(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "answers.jsonl"
    with FakeChatServer('```json\n{"answer": "Kestrel", "ids": [], "held": true}\n```') as server:
        monkeypatch.setenv("ECPHORA_LLM_BASE_URL", server.url)
        run_answer(data, out, "--llm", "openai:clever-70b")
        assert len(server.requests) == 9
    answers = answer_files.read_answers(out).answers
    assert {(line.model, line.answer, line.tokens_in, line.tokens_out) for line in answers} == {
        ("clever-70b@openai", "Kestrel", 11, 7)
    }


def test_reader_label_has_no_folder() -> None:
    assert readers.reader_label("llamacpp:/home/ana/small.gguf") == "llamacpp:small.gguf"
    assert readers.reader_label("openai:team/model:7b") == "openai:team/model:7b"
    assert readers.reader_label(None) is None


def test_answer_rejects_bad_options_before_writing(data: Path, tmp_path: Path) -> None:
    out = tmp_path / "answers.jsonl"
    for words, kind, message in (
        (("--llm", "extractive", "--set", "town"), UnknownName, "there are: village"),
        (("--llm", "extractive", "--strategy", "guess"), UnknownName, "no strategy is called 'guess'"),
        ((), InvalidInput, "nobody is there to answer: give --llm"),
        (("--llm", "parrot"), UnknownName, "no language model is called 'parrot'"),
    ):
        error = run_answer(data, out, *words, check=False).exception
        assert isinstance(error, kind)
        assert isinstance(error, EcphoraError)
        assert message in str(error)
    assert not out.exists()
    out.write_text('{"precious": true}\n')
    error = run_answer(data, out, "--llm", "extractive", check=False).exception
    assert "no line of `ecphora bench answer`" in str(error)
    assert out.read_text() == '{"precious": true}\n'
    assert run_bench("answer", "--data", data, check=False).exit_code == click.UsageError.exit_code
