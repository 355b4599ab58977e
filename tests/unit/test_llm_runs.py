"""Runs of a language model: the budget, failures in a row, and estimates."""

import pytest

from ecphora.errors import InvalidInput, UnreadableReply
from ecphora.language.terms import estimate_tokens
from ecphora.model.ports import Prompt
from ecphora.models.llm_client import MAX_FAILURES, LLMBudget, LLMClient, LLMRun, PromptRecorder, Request, estimate_cost
from ecphora.testing import ScriptedLLM

PROMPT = Prompt("Count.", "Next? " * 20, max_tokens=10)
PROMPT_TOKENS = estimate_tokens(PROMPT.system) + estimate_tokens(PROMPT.user)


def parse_number(text: str) -> int:
    if not text.isdigit():
        raise UnreadableReply("no number")
    return int(text)


REQUEST = Request(PROMPT, parse_number)


def run_of(llm: ScriptedLLM, budget: LLMBudget, *, retries: int = 1, max_concurrency: int = 2) -> LLMRun:
    return LLMRun(LLMClient(llm, retries=retries, max_concurrency=max_concurrency), budget)


def test_run_without_a_budget_asks_everything() -> None:
    run = run_of(ScriptedLLM(lambda _: "7"), LLMBudget())
    assert [attempt.value for attempt in run.ask_all([REQUEST] * 5)] == [7] * 5
    assert run.usage.calls == 5


@pytest.mark.parametrize("max_calls", [1, 2, 3, 4])
@pytest.mark.parametrize("reply", ["7", "seven"])
def test_calls_never_exceed_the_budget(max_calls: int, reply: str) -> None:
    llm = ScriptedLLM(lambda _: reply)
    run = run_of(llm, LLMBudget(max_calls=max_calls), max_concurrency=4)
    attempts = run.ask_all([REQUEST] * 6)
    assert len(llm.prompts) <= max_calls
    assert len(attempts) == 6
    if reply == "7":
        assert [attempt.value for attempt in attempts] == [7] * max_calls + [None] * (6 - max_calls)
        assert attempts[-1].error == f"the budget of {max_calls} calls is used up"


def test_tokens_of_the_longest_reply_count_before_a_prompt_is_sent() -> None:
    llm = ScriptedLLM(lambda _: "7")
    tokens = PROMPT_TOKENS + PROMPT.max_tokens
    assert run_of(llm, LLMBudget(max_tokens=tokens - 1)).ask(REQUEST).value is None
    assert llm.prompts == []
    run = run_of(llm, LLMBudget(max_tokens=tokens))
    assert [attempt.value for attempt in run.ask_all([REQUEST] * 2)] == [7, None]
    assert run.usage.tokens_in + run.usage.tokens_out <= tokens


def test_prompt_is_not_repeated_beyond_the_tokens() -> None:
    llm = ScriptedLLM(lambda _: "seven")
    run_of(llm, LLMBudget(max_tokens=2 * (PROMPT_TOKENS + PROMPT.max_tokens))).ask(REQUEST)
    assert len(llm.prompts) == 1


def test_budget_holds_over_several_calls_of_a_run() -> None:
    run = run_of(ScriptedLLM(lambda _: "7"), LLMBudget(max_calls=2))
    assert [run.ask(REQUEST).value for _ in range(3)] == [7, 7, None]


def test_run_gives_up_after_failures_in_a_row() -> None:
    llm = ScriptedLLM(lambda _: "seven")
    run = run_of(llm, LLMBudget(), retries=0, max_concurrency=1)
    attempts = run.ask_all([REQUEST] * 10)
    assert len(llm.prompts) == MAX_FAILURES
    assert attempts[-1].error == "not asked after 3 failures in a row; the last: no number"


def test_success_ends_a_row_of_failures() -> None:
    llm = ScriptedLLM(["x", "x", "7"] * 4)
    run = run_of(llm, LLMBudget(), retries=0, max_concurrency=1)
    assert [attempt.value for attempt in run.ask_all([REQUEST] * 12)] == [None, None, 7] * 4


@pytest.mark.parametrize("value", [0, -1, 1.5, True, "3"])
def test_budget_is_checked(value: object) -> None:
    for name in ("max_calls", "max_tokens"):
        with pytest.raises(InvalidInput, match=f"{name} is"):
            LLMBudget(**{name: value})  # type: ignore[arg-type]


@pytest.mark.parametrize("retries", [0, 2])
@pytest.mark.parametrize("reply", ["7", "seven"])
def test_estimate_bounds_what_is_consumed(retries: int, reply: str) -> None:
    estimate = estimate_cost([PROMPT] * 3, retries)
    run = run_of(ScriptedLLM(lambda _: reply), LLMBudget(), retries=retries, max_concurrency=1)
    run.ask_all([REQUEST] * 3)
    assert (estimate.calls, estimate.tokens_in) == (3, 3 * PROMPT_TOKENS)
    assert run.usage.calls <= estimate.max_calls == 3 * (retries + 1)
    assert run.usage.tokens_in <= estimate.max_tokens_in
    assert run.usage.tokens_out <= estimate.max_tokens_out == 30 * (retries + 1)
    if reply == "7":
        assert run.usage.tokens_in == estimate.tokens_in
    assert estimate.max_cost_usd((1.0, 2.0)) == pytest.approx(
        (estimate.max_tokens_in + 2 * estimate.max_tokens_out) / 1e6
    )


def test_recorder_keeps_prompts_and_answers_none() -> None:
    recorder = PromptRecorder()
    assert LLMClient(recorder, retries=0).ask(PROMPT, parse_number) is None
    assert recorder.prompts == [PROMPT]
