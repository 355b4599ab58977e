"""Answering: what a reader is shown, what is kept, what is asked again, and the figures of it."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from ecphora import __version__, prompts, strategies
from ecphora.bench.answers import answer_files, answer_run, answer_summary, answer_tables
from ecphora.bench.answers.answer_files import AnswerLine
from ecphora.bench.answers.answer_run import FULL_CONTEXT, AnswerPlan, AnswerRun
from ecphora.bench.answers.readers import ExtractiveReader
from ecphora.bench.datasets import Case, Question
from ecphora.bench.embedding_cache import CachingEmbedder
from ecphora.bench.recall import recall_run
from ecphora.bench.recall.run_records import ALL, ANSWERABLE, Figure, Metric
from ecphora.embedders.hashing import HashingEmbedder
from ecphora.errors import InvalidInput, InvalidRecord, LLMUnavailable
from ecphora.llm_client import LLMClient
from ecphora.model import Episode
from ecphora.ports import LLM, Prompt
from ecphora.testing.llms import ScriptedLLM

TOLD = (
    ("1", "Ines", "My boat is called Kestrel."),
    ("2", "Bram", "The greenhouse lost two panes."),
    ("3", "Ines", "I painted the boat green."),
    ("4", "Bram", "No cucumbers this year."),
)
CASE = Case(
    "harbour",
    tuple(
        Episode(text, id_, speaker=who, happened_at=datetime(2024, 5, int(id_), tzinfo=UTC)) for id_, who, text in TOLD
    ),
    (
        Question("q1", "What is the boat called?", "single", frozenset({"1"}), answers=("Kestrel",)),
        Question("q2", "What is the boat called and what colour is it?", "both", frozenset({"1", "3"}), answers=("x",)),
        Question("q3", "Which violin does Bram play?", "absent", is_answerable=False),
    ),
)
HELD = {"answer": "Kestrel", "ids": ["1"], "held": True}
PLAN = AnswerPlan((strategies.resolve_strategy("dense"), strategies.resolve_strategy("bm25")), 60, 60, concurrency=1)


@pytest.fixture
def embedder(tmp_path: Path) -> Iterator[CachingEmbedder]:
    with CachingEmbedder(HashingEmbedder(64), tmp_path / "cache") as cached:
        yield cached


@pytest.fixture
def answer(embedder: CachingEmbedder, tmp_path: Path) -> Callable[..., answer_files.AnswerFile]:
    """Has the questions answered, into a file, and reads it."""

    def answered(llm: LLM, plan: AnswerPlan = PLAN, case: Case = CASE) -> answer_files.AnswerFile:
        out = tmp_path / "answers.jsonl"
        begun = replace(
            recall_run.make_run(embedder.name, "command"), answer_setup=answer_run.answer_setup(llm.name, plan)
        )
        with answer_files.open_for_append(out, begun) as write:
            guest = LLMClient(llm, max_concurrency=plan.concurrency)
            AnswerRun(guest, plan, embedder, answer_files.read_answers(out).done_keys, write).run("village", [case])
        return answer_files.read_answers(out)

    return answered


def asked_of(prompt: Prompt) -> str:
    return prompt.user.rpartition("Question: ")[2].partition("\n")[0]


def test_every_context_is_in_the_order_of_time_and_within_its_budget(answer: Callable[..., Any]) -> None:
    llm = ScriptedLLM(lambda _prompt: HELD)
    lines = answer(llm).answers
    assert [line.context for line in lines[:3]] == [FULL_CONTEXT, "dense", "bm25"]
    assert {one.system for one in llm.prompts} == {llm.prompts[0].system}
    assert len(lines) == len(llm.prompts) == 9
    for line, prompt in zip(lines, llm.prompts, strict=True):
        places = [prompt.user.find(text) for _, _, text in TOLD if text in prompt.user]
        assert places == sorted(places)
        assert places
        assert 0 < line.context_tokens <= line.budget == 60
        assert asked_of(prompt) == next(one.text for one in CASE.questions if one.id == line.question)
        assert "Today is 2024-05-04." in prompt.user


def test_the_full_context_is_the_latest_that_fits(answer: Callable[..., Any]) -> None:
    llm = ScriptedLLM(lambda _prompt: HELD)
    answer(llm)
    [shown] = {one.user.partition("Today")[0] for one in llm.prompts[::3]}
    assert [text in shown for _, _, text in TOLD] == [False, False, True, True]
    lines = answer(ScriptedLLM(lambda _prompt: HELD), replace(PLAN, full_token_budget=1_000)).answers
    whole = [line for line in lines if line.budget == 1_000]
    assert {line.gold_recall for line in whole} == {1.0, None}
    assert {(line.context, line.confidence) for line in whole} == {(FULL_CONTEXT, None)}


def test_a_line_says_what_it_was_answered_from_and_what_it_took(answer: Callable[..., Any]) -> None:
    kept = answer(ScriptedLLM(lambda _prompt: HELD), replace(PLAN, usd_per_million_tokens=(2.0, 10.0)))
    line = next(one for one in kept.answers if (one.question, one.context) == ("q2", "bm25"))
    assert (line.dataset, line.space, line.category, line.gold_answers) == ("village", "harbour", "both", ("x",))
    assert (line.model, line.version, line.prompt) == ("scripted", __version__, answer_run.prompt_digest())
    assert (line.answer, line.answered, line.error, line.gold_recall) == ("Kestrel", True, None, 1.0)
    assert (line.calls, line.confidence is not None) == (1, True)
    assert line.cost_usd == pytest.approx((2 * line.tokens_in + 10 * line.tokens_out) / 1e6)
    [head] = kept.runs
    assert head.answer_setup is not None
    assert head.answer_setup.is_small_model
    assert "{question}" in head.answer_setup.user


def test_what_was_answered_is_not_asked_again(answer: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    first = answer(ScriptedLLM([HELD] * 9))
    with monkeypatch.context() as patched:
        patched.setattr(answer_run, "temporary_memory", None)  # nothing is indexed either
        assert answer(ScriptedLLM([])) == first
    assert len(answer(ScriptedLLM([HELD] * 9, name="another")).answers) == 18
    more = replace(PLAN, strategies=(*PLAN.strategies, strategies.resolve_strategy("rrf")), token_budget=30)
    assert len(answer(ScriptedLLM([HELD] * 9), more).answers) == 27  # the full context stays the same
    changed = replace(CASE, questions=(*CASE.questions, replace(CASE.questions[0], id="q4")))
    assert len(answer(ScriptedLLM([HELD] * 3), case=changed).answers) == 30


def test_another_prompt_is_another_answer(answer: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    answer(ScriptedLLM([HELD] * 9))
    form = prompts.ANSWER
    monkeypatch.setattr(prompts, "ANSWER", replace(form, system=f"{form.system} Be kind."))
    assert len(answer(ScriptedLLM([HELD] * 9)).answers) == 18


def test_a_reply_that_cannot_be_read_is_kept_and_not_asked_for_again(answer: Callable[..., Any]) -> None:
    plan = replace(PLAN, concurrency=3)
    kept = answer(ScriptedLLM(lambda one: "nonsense" if "violin" in asked_of(one) else HELD), plan)
    failed = [line for line in kept.answers if line.error]
    assert [(line.question, line.answer, line.answered, line.calls) for line in failed] == [("q3", "", True, 2)] * 3
    assert answer(ScriptedLLM([]), plan) == kept


def test_a_reader_that_is_gone_ends_the_run(answer: Callable[..., Any], tmp_path: Path) -> None:
    with pytest.raises(LLMUnavailable, match=r"call 11 fails by the script; .* goes on from there"):
        answer(ScriptedLLM([HELD] * 2, failing_calls=range(2, 99)))
    found = answer_files.read_answers(tmp_path / "answers.jsonl")
    assert (len(found.answers), len(found.done_keys)) == (7, 2)
    assert len(answer(ScriptedLLM([HELD] * 7)).answers) == 9


def test_a_prompt_that_is_not_taken_does_not_end_the_run(answer: Callable[..., Any]) -> None:
    lines = answer(ScriptedLLM([HELD] * 3, failing_calls=[0, 1, 2, 3, 4, 5, 7, 8, 9, 10, 12, 13])).answers
    assert [line.error is None for line in lines] == [False, False, False, True, False, False, True, False, True]


def test_several_at_once_are_kept_in_their_order(answer: Callable[..., Any]) -> None:
    reader = ScriptedLLM(lambda one: {"answer": asked_of(one), "ids": [], "held": True})
    lines = answer(reader, replace(PLAN, concurrency=4)).answers
    assert [line.question for line in lines] == ["q1"] * 3 + ["q2"] * 3 + ["q3"] * 3
    texts = {one.id: one.text for one in CASE.questions}
    assert all(line.answer == texts[line.question] for line in lines)


def test_every_step_is_told(embedder: CachingEmbedder) -> None:
    told: list[int] = []
    sitting = AnswerRun(LLMClient(ExtractiveReader()), PLAN, embedder, frozenset(), lambda _line: None)
    sitting.run("village", [CASE], told.append)
    assert sum(told) == sitting.count_steps("village", [CASE]) == 4 + 9


def test_questions_are_spread_over_a_set() -> None:
    def asked(space: str, *ids: str) -> Case:
        return Case(space, (), tuple(Question(id_, "?", "x") for id_ in ids))

    cases = [asked("a", "1", "2", "3"), asked("b", "4"), asked("c", "5", "6")]
    taken = {
        count: [q.id for case in answer_run.sample_questions(cases, count) for q in case.questions]
        for count in (1, 3, 9)
    }
    assert taken == {1: ["1"], 3: ["1", "3", "5"], 9: ["1", "2", "3", "4", "5", "6"]}
    assert [case.space for case in answer_run.sample_questions(cases, 3)] == ["a", "c"]


def test_the_extractive_reader_quotes() -> None:
    def said(question: str, *texts: str) -> Mapping[str, Any]:
        quoted = "\n".join(f'<memory id="{n}" date="2024-05-01">\n{text}\n</memory>' for n, text in enumerate(texts))
        found: Mapping[str, Any] = json.loads(
            ExtractiveReader().complete(Prompt("", f"{quoted}\n\nQuestion: {question}")).text
        )
        return found

    found = said("What is the boat called?", "It rains.", "A storm. The boat is called K&lt;3. Rain.")
    assert found == {"answer": "The boat is called K<3.", "ids": ["1"], "held": True}
    assert said("Which violin does Bram play?", "It rains.") == {"answer": "", "ids": [], "held": False}


# ---- the file


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


def put(path: Path, *lines: AnswerLine) -> None:
    reading = replace(answer_run.answer_setup("m", PLAN), digest="p")
    begun = replace(recall_run.make_run("e", "command"), answer_setup=reading)
    begun = replace(begun, versions={**begun.versions, "ecphora": "v"})
    with answer_files.open_for_append(path, begun) as write:
        for line in lines:
            write(line)


def test_a_last_line_that_was_cut_off_is_cut_away(tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    put(path, LINE, replace(LINE, question="r"))
    whole = path.read_bytes()
    path.write_bytes(whole[:-40])
    assert [line.question for line in answer_files.read_answers(path).answers] == ["q"]
    put(path, replace(LINE, question="s"))
    assert [line.question for line in answer_files.read_answers(path).answers] == ["q", "s"]
    path.write_bytes(whole[:-1])  # only its end is missing
    put(path, replace(LINE, question="s"))
    assert [line.question for line in answer_files.read_answers(path).answers] == ["q", "r", "s"]


def test_nothing_new_writes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    assert answer_files.read_answers(path) == answer_files.AnswerFile()
    put(path)
    assert path.read_bytes() == b""


def test_the_later_of_two_answers_counts(tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    put(path, replace(LINE, error="silence", tokens_in=0), replace(LINE, question="r"))
    assert LINE.key not in answer_files.read_answers(path).done_keys
    put(path, LINE)
    kept = answer_files.read_answers(path)
    assert [(line.question, line.error) for line in kept.answers] == [("r", None), ("q", None)]
    assert LINE.key in kept.done_keys


@pytest.mark.parametrize("wrong", ["no JSON", "[1]", '{"dataset": "village"}', '{"machine": {}}'])
def test_a_line_of_another_kind_is_named(tmp_path: Path, wrong: str) -> None:
    path = tmp_path / "answers.jsonl"
    path.write_text(f"\n{wrong}\n")
    with pytest.raises(InvalidRecord, match=r"answers\.jsonl:2: no line"):
        answer_files.read_answers(path)


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="cannot be written"):
        put(tmp_path, LINE)
    with pytest.raises(InvalidRecord, match="cannot be read"):
        answer_files.read_answers(tmp_path)
    with pytest.raises(InvalidRecord, match="cannot be read"):
        answer_files.is_answer_file(tmp_path)


# ---- the figures


def figure(found: list[Figure], metric: Metric, category: str = ALL) -> Figure:
    [one] = [f for f in found if (f.metric, f.category) == (metric, category)]
    return one


def test_refusals_against_what_is_unanswerable() -> None:
    held, absent = LINE, replace(LINE, category="absent", is_answerable=False, gold_answers=(), gold_recall=None)
    lines = [
        *[replace(held, question=f"a{n}") for n in range(5)],
        replace(held, question="b", answered=False, answer=""),
        replace(held, question="c", answer="That is not mentioned."),
        *[replace(absent, question=f"d{n}", answered=False, answer="") for n in range(2)],
        replace(absent, question="e"),
    ]
    found = list(answer_summary.measure(lines))
    assert figure(found, Metric.NO_ANSWER_PRECISION).value == pytest.approx(2 / 4)
    assert figure(found, Metric.NO_ANSWER_RECALL).value == pytest.approx(2 / 3)
    assert figure(found, Metric.NO_ANSWER_ACCURACY).value == pytest.approx(7 / 10)
    assert figure(found, Metric.F1, ANSWERABLE).value == pytest.approx(5 / 7)
    assert figure(found, Metric.F1, "absent").value == pytest.approx(2 / 3)
    assert figure(found, Metric.EXACT_MATCH).value == pytest.approx(7 / 10)
    assert figure(found, Metric.EXACT_MATCH).n == 10
    assert figure(found, Metric.GOLD_RECALL, ANSWERABLE).n == 7
    assert figure(found, Metric.SECONDS).value == pytest.approx(20)
    assert figure(found, Metric.COST_USD).value == pytest.approx(0.1)
    assert all(one.low <= one.value <= one.high for one in found)
    assert len({(one.metric, one.category) for one in found}) == len(found)


def test_without_unanswerable_questions_only_false_refusals_count() -> None:
    found = list(answer_summary.measure([LINE, replace(LINE, question="r", answered=False, answer="", error=None)]))
    assert figure(found, Metric.NO_ANSWER_ACCURACY).value == 0.5
    assert {one.metric for one in found}.isdisjoint({Metric.NO_ANSWER_RECALL, Metric.NO_ANSWER_PRECISION})
    assert ALL not in {one.category for one in found if one.metric is Metric.F1}


def test_a_question_without_a_reply_counts_as_wrong() -> None:
    found = list(answer_summary.measure([replace(LINE, answer="", error="silence", calls=2)]))
    assert figure(found, Metric.F1, ANSWERABLE).value == 0
    assert figure(found, Metric.NO_ANSWER_ACCURACY).value == 1  # it did not say that there is none
    assert (figure(found, Metric.FAILURES).value, figure(found, Metric.CALLS).value) == (1, 2)


def test_budgets_are_told_apart(tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    put(path, LINE, replace(LINE, budget=2_000, context_tokens=1_990, answer="Lisbon"))
    [record] = answer_summary.records(answer_files.read_answers(path))
    part = answer_tables.sections([record])[answer_tables.SECTION]
    assert "| answerable | dense, 100 | 1 | 90 | 1.000 (1.00–1.00) | 1.000 (1.00–1.00) |" in part
    assert "| answerable | dense, 2,000 | 1 | 1,990 | 1.000 (1.00–1.00) | .000 (.00–.00) |" in part
    assert part.startswith("**Read by m, prompt p**")


def test_answers_need_the_line_of_their_run(tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    put(path, LINE, replace(LINE, model="stranger"))
    with pytest.raises(InvalidRecord, match="stranger"):
        answer_summary.records(answer_files.read_answers(path))


@pytest.mark.parametrize(
    ("model", "small"),
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
def test_small_readers_are_known_by_their_names(model: str, small: bool) -> None:
    assert answer_summary.is_small_model(model) is small
