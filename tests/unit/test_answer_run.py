"""Answer runs: contexts, the file of answers, resumed runs, and the figures."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from ecphora import __version__, strategies
from ecphora.errors import InvalidInput, InvalidRecord, LLMUnavailable
from ecphora.maintenance.learn.datasets import Case, Question
from ecphora.maintenance.learn.embedding_cache import CachingEmbedder
from ecphora.model.ports import LLM, Prompt
from ecphora.model.types import Episode
from ecphora.models import prompts
from ecphora.models.embedders.hashing import HashingEmbedder
from ecphora.models.llm_client import LLMClient
from ecphora.testing.llms import ScriptedLLM
from ecphora_bench.answers import answer_files, answer_run, answer_summary, answer_tables
from ecphora_bench.answers.answer_files import AnswerLine
from ecphora_bench.answers.answer_run import FULL_CONTEXT, AnswerPlan, AnswerRun
from ecphora_bench.answers.readers import ExtractiveReader
from ecphora_bench.recall import recall_run
from ecphora_bench.recall.run_records import ALL, ANSWERABLE, Figure, Metric

TURNS = (
    ("1", "Ines", "My boat is called Kestrel."),
    ("2", "Bram", "The greenhouse lost two panes."),
    ("3", "Ines", "I painted the boat green."),
    ("4", "Bram", "No cucumbers this year."),
)
CASE = Case(
    "harbour",
    tuple(
        Episode(text, id_, speaker=speaker, happened_at=datetime(2024, 5, int(id_), tzinfo=UTC))
        for id_, speaker, text in TURNS
    ),
    (
        Question("q1", "What is the boat called?", "single", frozenset({"1"}), answers=("Kestrel",)),
        Question("q2", "What is the boat called and what colour is it?", "both", frozenset({"1", "3"}), answers=("x",)),
        Question("q3", "Which violin does Bram play?", "absent", is_answerable=False),
    ),
)
REPLY = {"answer": "Kestrel", "ids": ["1"], "held": True}
PLAN = AnswerPlan((strategies.resolve_strategy("dense"), strategies.resolve_strategy("bm25")), 60, 60, concurrency=1)


@pytest.fixture
def embedder(tmp_path: Path) -> Iterator[CachingEmbedder]:
    with CachingEmbedder(HashingEmbedder(64), tmp_path / "cache") as cached:
        yield cached


@pytest.fixture
def answer(embedder: CachingEmbedder, tmp_path: Path) -> Callable[..., answer_files.AnswerFile]:
    """A function that runs the questions into a file and returns its contents."""

    def answer_into_file(llm: LLM, plan: AnswerPlan = PLAN, case: Case = CASE) -> answer_files.AnswerFile:
        out = tmp_path / "answers.jsonl"
        run = replace(
            recall_run.make_run(embedder.name, "command"), answer_setup=answer_run.answer_setup(llm.name, plan)
        )
        with answer_files.open_for_append(out, run) as write:
            client = LLMClient(llm, max_concurrency=plan.concurrency)
            AnswerRun(client, plan, embedder, answer_files.read_answers(out).done_keys, write).run("village", [case])
        return answer_files.read_answers(out)

    return answer_into_file


def question_of(prompt: Prompt) -> str:
    return prompt.user.rpartition("Question: ")[2].partition("\n")[0]


@pytest.mark.medium
def test_contexts_are_ordered_by_time_and_within_budget(answer: Callable[..., Any]) -> None:
    llm = ScriptedLLM(lambda _prompt: REPLY)
    lines = answer(llm).answers
    assert [line.context for line in lines[:3]] == [FULL_CONTEXT, "dense", "bm25"]
    assert {item.system for item in llm.prompts} == {llm.prompts[0].system}
    assert len(lines) == len(llm.prompts) == 9
    for line, prompt in zip(lines, llm.prompts, strict=True):
        positions = [prompt.user.find(text) for _, _, text in TURNS if text in prompt.user]
        assert positions == sorted(positions)
        assert positions
        assert 0 < line.context_tokens <= line.budget == 60
        assert question_of(prompt) == next(item.text for item in CASE.questions if item.id == line.question)
        assert "Today is 2024-05-04, Saturday (UTC)." in prompt.user


@pytest.mark.medium
def test_full_context_has_the_latest_turns_that_fit(answer: Callable[..., Any]) -> None:
    llm = ScriptedLLM(lambda _prompt: REPLY)
    answer(llm)
    [context] = {item.user.partition("Today")[0] for item in llm.prompts[::3]}
    assert [text in context for _, _, text in TURNS] == [False, False, True, True]
    lines = answer(ScriptedLLM(lambda _prompt: REPLY), replace(PLAN, full_token_budget=1_000)).answers
    full = [line for line in lines if line.budget == 1_000]
    assert {line.gold_recall for line in full} == {1.0, None}
    assert {(line.context, line.confidence) for line in full} == {(FULL_CONTEXT, None)}


@pytest.mark.medium
def test_answer_line_has_setup_answer_and_cost(answer: Callable[..., Any]) -> None:
    contents = answer(ScriptedLLM(lambda _prompt: REPLY), replace(PLAN, usd_per_million_tokens=(2.0, 10.0)))
    line = next(item for item in contents.answers if (item.question, item.context) == ("q2", "bm25"))
    assert (line.dataset, line.space, line.category, line.gold_answers) == ("village", "harbour", "both", ("x",))
    assert (line.model, line.version, line.prompt) == ("scripted", __version__, answer_run.prompt_digest())
    assert (line.answer, line.answered, line.error, line.gold_recall) == ("Kestrel", True, None, 1.0)
    assert (line.calls, line.confidence is not None) == (1, True)
    assert line.cost_usd == pytest.approx((2 * line.tokens_in + 10 * line.tokens_out) / 1e6)
    [run_line] = contents.runs
    assert run_line.answer_setup is not None
    assert run_line.answer_setup.is_small_model
    assert "{question}" in run_line.answer_setup.user


@pytest.mark.medium
def test_answered_questions_are_skipped(answer: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    first = answer(ScriptedLLM([REPLY] * 9))
    with monkeypatch.context() as patched:
        patched.setattr(answer_run, "temporary_memory", None)  # no memory is created either
        assert answer(ScriptedLLM([])) == first
    assert len(answer(ScriptedLLM([REPLY] * 9, name="another")).answers) == 18
    larger_plan = replace(PLAN, strategies=(*PLAN.strategies, strategies.resolve_strategy("rrf")), token_budget=30)
    assert len(answer(ScriptedLLM([REPLY] * 9), larger_plan).answers) == 27  # the full context stays the same
    changed = replace(CASE, questions=(*CASE.questions, replace(CASE.questions[0], id="q4")))
    assert len(answer(ScriptedLLM([REPLY] * 3), case=changed).answers) == 30


@pytest.mark.medium
def test_changed_prompt_asks_again(answer: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    answer(ScriptedLLM([REPLY] * 9))
    template = prompts.ANSWER
    monkeypatch.setattr(prompts, "ANSWER", replace(template, system=f"{template.system} Be kind."))
    assert len(answer(ScriptedLLM([REPLY] * 9)).answers) == 18


@pytest.mark.medium
def test_unreadable_reply_is_stored_and_not_retried(answer: Callable[..., Any]) -> None:
    plan = replace(PLAN, concurrency=3)
    contents = answer(ScriptedLLM(lambda item: "nonsense" if "violin" in question_of(item) else REPLY), plan)
    failed = [line for line in contents.answers if line.error]
    assert [(line.question, line.answer, line.answered, line.calls) for line in failed] == [("q3", "", True, 2)] * 3
    assert answer(ScriptedLLM([]), plan) == contents


@pytest.mark.medium
def test_unavailable_reader_ends_the_run(answer: Callable[..., Any], tmp_path: Path) -> None:
    with pytest.raises(LLMUnavailable, match=r"call 11 fails by the script; .* goes on from there"):
        answer(ScriptedLLM([REPLY] * 2, failing_calls=range(2, 99)))
    found = answer_files.read_answers(tmp_path / "answers.jsonl")
    assert (len(found.answers), len(found.done_keys)) == (7, 2)
    assert len(answer(ScriptedLLM([REPLY] * 7)).answers) == 9


@pytest.mark.medium
def test_rejected_prompt_does_not_end_the_run(answer: Callable[..., Any]) -> None:
    lines = answer(ScriptedLLM([REPLY] * 3, failing_calls=[0, 1, 2, 3, 4, 5, 7, 8, 9, 10, 12, 13])).answers
    assert [line.error is None for line in lines] == [False, False, False, True, False, False, True, False, True]


@pytest.mark.medium
def test_concurrent_answers_are_stored_in_order(answer: Callable[..., Any]) -> None:
    llm = ScriptedLLM(lambda item: {"answer": question_of(item), "ids": [], "held": True})
    lines = answer(llm, replace(PLAN, concurrency=4)).answers
    assert [line.question for line in lines] == ["q1"] * 3 + ["q2"] * 3 + ["q3"] * 3
    texts = {item.id: item.text for item in CASE.questions}
    assert all(line.answer == texts[line.question] for line in lines)


@pytest.mark.medium
def test_progress_counts_all_steps(embedder: CachingEmbedder) -> None:
    progress: list[int] = []
    runner = AnswerRun(LLMClient(ExtractiveReader()), PLAN, embedder, frozenset(), lambda _line: None)
    runner.run("village", [CASE], progress.append)
    assert sum(progress) == runner.count_steps("village", [CASE]) == 4 + 9


def test_sampled_questions_are_spread_over_the_set() -> None:
    def case_of(space: str, *ids: str) -> Case:
        return Case(space, (), tuple(Question(id_, "?", "x") for id_ in ids))

    cases = [case_of("a", "1", "2", "3"), case_of("b", "4"), case_of("c", "5", "6")]
    sampled_ids = {
        count: [q.id for case in answer_run.sample_questions(cases, count) for q in case.questions]
        for count in (1, 3, 9)
    }
    assert sampled_ids == {1: ["1"], 3: ["1", "3", "5"], 9: ["1", "2", "3", "4", "5", "6"]}
    assert [case.space for case in answer_run.sample_questions(cases, 3)] == ["a", "c"]


def test_extractive_reader_quotes_a_memory() -> None:
    def extractive_reply(question: str, *texts: str) -> Mapping[str, Any]:
        quoted = "\n".join(f'<memory id="{n}" date="2024-05-01">\n{text}\n</memory>' for n, text in enumerate(texts))
        found: Mapping[str, Any] = json.loads(
            ExtractiveReader().complete(Prompt("", f"{quoted}\n\nQuestion: {question}")).text
        )
        return found

    found = extractive_reply("What is the boat called?", "It rains.", "A storm. The boat is called K&lt;3. Rain.")
    assert found == {"answer": "The boat is called K<3.", "ids": ["1"], "held": True}
    assert extractive_reply("Which violin does Bram play?", "It rains.") == {"answer": "", "ids": [], "held": False}


# ---- files


LINE = AnswerLine(
    *("village", "s", "q", "dense", 100, "p", "m", "v", "e", "plain"),
    is_answerable=True,
    gold_answers=("Porto",),
    gold_recall=1.0,
    context_tokens=90,
    confidence=0.5,
    answer="Porto",
    answered=True,
    error=None,
    calls=1,
    tokens_in=100,
    tokens_out=10,
    seconds=2.0,
    cost_usd=0.01,
)


def append_lines(path: Path, *lines: AnswerLine) -> None:
    setup = replace(answer_run.answer_setup("m", PLAN), digest="p")
    run = replace(recall_run.make_run("e", "command"), answer_setup=setup)
    run = replace(run, versions={**run.versions, "ecphora": "v"})
    with answer_files.open_for_append(path, run) as write:
        for line in lines:
            write(line)


@pytest.mark.medium
def test_truncated_last_line_is_removed(tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    append_lines(path, LINE, replace(LINE, question="r"))
    full = path.read_bytes()
    path.write_bytes(full[:-40])
    assert [line.question for line in answer_files.read_answers(path).answers] == ["q"]
    append_lines(path, replace(LINE, question="s"))
    assert [line.question for line in answer_files.read_answers(path).answers] == ["q", "s"]
    path.write_bytes(full[:-1])  # only the line break is missing
    append_lines(path, replace(LINE, question="s"))
    assert [line.question for line in answer_files.read_answers(path).answers] == ["q", "r", "s"]


def test_run_without_new_answers_writes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    assert answer_files.read_answers(path) == answer_files.AnswerFile()
    append_lines(path)
    assert path.read_bytes() == b""


@pytest.mark.medium
def test_later_of_two_answers_counts(tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    append_lines(path, replace(LINE, error="silence", tokens_in=0), replace(LINE, question="r"))
    assert LINE.key not in answer_files.read_answers(path).done_keys
    append_lines(path, LINE)
    contents = answer_files.read_answers(path)
    assert [(line.question, line.error) for line in contents.answers] == [("r", None), ("q", None)]
    assert LINE.key in contents.done_keys


@pytest.mark.parametrize("line", ["no JSON", "[1]", '{"dataset": "village"}', '{"machine": {}}'])
def test_invalid_line_is_named(tmp_path: Path, line: str) -> None:
    path = tmp_path / "answers.jsonl"
    path.write_text(f"\n{line}\n")
    with pytest.raises(InvalidRecord, match=r"answers\.jsonl:2: no line"):
        answer_files.read_answers(path)


def test_folder_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="cannot be written"):
        append_lines(tmp_path, LINE)
    with pytest.raises(InvalidRecord, match="cannot be read"):
        answer_files.read_answers(tmp_path)
    with pytest.raises(InvalidRecord, match="cannot be read"):
        answer_files.is_answer_file(tmp_path)


# ---- figures


def only_figure(found: list[Figure], metric: Metric, category: str = ALL) -> Figure:
    [item] = [f for f in found if (f.metric, f.category) == (metric, category)]
    return item


def test_refusal_metrics_by_answerability() -> None:
    answerable, unanswerable = (
        LINE,
        replace(LINE, category="absent", is_answerable=False, gold_answers=(), gold_recall=None),
    )
    lines = [
        *[replace(answerable, question=f"a{n}") for n in range(5)],
        replace(answerable, question="b", answered=False, answer=""),
        replace(answerable, question="c", answer="That is not mentioned."),
        *[replace(unanswerable, question=f"d{n}", answered=False, answer="") for n in range(2)],
        replace(unanswerable, question="e"),
    ]
    found = list(answer_summary.measure(lines))
    assert only_figure(found, Metric.NO_ANSWER_PRECISION).value == pytest.approx(2 / 4)
    assert only_figure(found, Metric.NO_ANSWER_RECALL).value == pytest.approx(2 / 3)
    assert only_figure(found, Metric.NO_ANSWER_ACCURACY).value == pytest.approx(7 / 10)
    assert only_figure(found, Metric.F1, ANSWERABLE).value == pytest.approx(5 / 7)
    assert only_figure(found, Metric.F1, "absent").value == pytest.approx(2 / 3)
    assert only_figure(found, Metric.EXACT_MATCH).value == pytest.approx(7 / 10)
    assert only_figure(found, Metric.EXACT_MATCH).n == 10
    assert only_figure(found, Metric.GOLD_RECALL, ANSWERABLE).n == 7
    assert only_figure(found, Metric.SECONDS).value == pytest.approx(20)
    assert only_figure(found, Metric.COST_USD).value == pytest.approx(0.1)
    assert all(item.low <= item.value <= item.high for item in found)
    assert len({(item.metric, item.category) for item in found}) == len(found)


def test_refusal_metrics_without_unanswerable_questions() -> None:
    found = list(answer_summary.measure([LINE, replace(LINE, question="r", answered=False, answer="", error=None)]))
    assert only_figure(found, Metric.NO_ANSWER_ACCURACY).value == 0.5
    assert {item.metric for item in found}.isdisjoint({Metric.NO_ANSWER_RECALL, Metric.NO_ANSWER_PRECISION})
    assert ALL not in {item.category for item in found if item.metric is Metric.F1}


def test_question_without_a_reply_is_wrong() -> None:
    found = list(answer_summary.measure([replace(LINE, answer="", error="silence", calls=2)]))
    assert only_figure(found, Metric.F1, ANSWERABLE).value == 0
    assert only_figure(found, Metric.NO_ANSWER_ACCURACY).value == 1  # it was not refused
    assert (only_figure(found, Metric.FAILURES).value, only_figure(found, Metric.CALLS).value) == (1, 2)


@pytest.mark.medium
def test_budgets_have_separate_figures(tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    append_lines(path, LINE, replace(LINE, budget=2_000, context_tokens=1_990, answer="Lisbon"))
    [record] = answer_summary.records(answer_files.read_answers(path))
    section = answer_tables.sections([record])[answer_tables.SECTION]
    assert "| answerable | dense, 100 | 1 | 90 | 1.000 (1.00–1.00) | 1.000 (1.00–1.00) |" in section
    assert "| answerable | dense, 2,000 | 1 | 1,990 | 1.000 (1.00–1.00) | .000 (.00–.00) |" in section
    assert section.startswith("**Read by m, prompt p**")


@pytest.mark.medium
def test_answers_need_the_line_of_their_run(tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    append_lines(path, LINE, replace(LINE, model="stranger"))
    with pytest.raises(InvalidRecord, match="stranger"):
        answer_summary.records(answer_files.read_answers(path))


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ("extractive", True),
        ("scripted", True),
        ("SmolLM2-135M-Instruct.Q4_1@llamacpp", True),
        ("qwen2.5-0.5b-instruct@openai", True),
        ("smollm2@openai", True),
        ("smollm2:1.7b@openai", False),
        ("Qwen2.5-7B-Instruct-1M@openai", False),
        ("mixtral-8x7b@openai", False),
        ("gpt-4.1-mini@openai", False),
        ("phi-3-medium-128k@openai", False),
    ],
)
def test_small_models_are_recognized_by_name(model: str, expected: bool) -> None:
    assert answer_summary.is_small_model(model) is expected
