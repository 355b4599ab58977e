"""Answers: memories in the prompt, citations, and extractive answers."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ecphora.errors import InvalidInput
from ecphora.language.terms import estimate_tokens
from ecphora.model.types import Cost, Evidence, Hit, Kind, LLMUsage, Node, Query, Validity, Why
from ecphora.models.llm_client import LLMClient
from ecphora.models.prompts import quoting
from ecphora.recall.answering import (
    NO_ANSWER,
    Answer,
    answer,
    build_prompt,
    extractive_answer,
    resolve_citations,
)
from ecphora.recall.recollection import Recollection, fit_to_budget
from ecphora.testing import NOON, ScriptedLLM


def hit(id_: str, text: str, days: int = 0, validity: Validity | None = None) -> Hit:
    at = NOON + timedelta(days=days)
    return Hit(Node(id_, Kind.EPISODE, text, at, at, speaker="Ana"), 1.0, Why(()), validity)


HITS = [hit("b", "I have a flat in Ghent now.", 9), hit("a", "I moved to Porto."), hit("c", "Where is Bo?", 3)]


def recollection(hits: Sequence[Hit] = HITS, evidence: Evidence = Evidence.STRONG) -> Recollection:
    query = Query("Where does Ana live?", NOON)
    return Recollection(query, "fused", evidence, 0.9, tuple(hits), Cost(1.0, {}, 1))


FOUND = recollection()


def llm_reply(text: str, *ids: str, answered: bool = True) -> ScriptedLLM:
    return ScriptedLLM([{"answer": text, "ids": list(ids), "held": answered}])


# ---- prompts


def test_memories_are_chosen_by_rank_and_ordered_by_time() -> None:
    assert [hit_.id for hit_ in fit_to_budget(FOUND, 1_000)] == ["a", "c", "b"]
    budget = estimate_tokens(quoting.render_memory(HITS[0].node)) + estimate_tokens(quoting.render_memory(HITS[1].node))
    assert [hit_.id for hit_ in fit_to_budget(FOUND, budget)] == ["a", "b"]
    assert fit_to_budget(FOUND, 3) == ()
    with pytest.raises(InvalidInput, match="budget"):
        fit_to_budget(FOUND, 0)


@pytest.mark.medium
@given(st.lists(st.text(min_size=1, max_size=90), max_size=8), st.integers(1, 200))
def test_chosen_memories_fit_the_budget(texts: list[str], budget: int) -> None:
    packed = fit_to_budget(recollection([hit(str(place), text) for place, text in enumerate(texts)]), budget)
    assert sum(estimate_tokens(quoting.render_memory(hit_.node)) for hit_ in packed) <= budget


def test_build_prompt_equals_the_sent_prompt() -> None:
    prompt = build_prompt(FOUND)
    assert prompt is not None
    assert answer(FOUND, llm_reply("Ghent", "b")).prompt == prompt
    assert prompt.user.index("Porto") < prompt.user.index("Ghent")
    assert prompt.user.endswith("Question: Where does Ana live?")
    assert build_prompt(recollection(evidence=Evidence.NONE)) is None
    assert build_prompt(FOUND, 3) is None


def test_prompt_has_the_validity_of_memories() -> None:
    old = hit("a", "I moved to Porto.", validity=Validity(is_valid=False, valid_to=NOON, superseded_by=("b",)))
    prompt = build_prompt(recollection([old]))
    assert prompt is not None
    assert 'held="until 2026-05-03 12:00, replaced by b"' in prompt.user


# ---- answers of a model


def test_answer_has_citations_and_usage() -> None:
    llm = llm_reply("Ghent", "b")
    found = answer(FOUND, llm)
    assert (found.text, found.cited_ids, found.is_answered, found.evidence) == ("Ghent", ("b",), True, Evidence.STRONG)
    assert (found.is_extractive, found.error) == (False, None)
    assert (found.usage.calls, found.usage.failures) == (1, 0)
    assert llm.prompts == [found.prompt]


def test_citations_are_limited_to_memories_in_the_prompt() -> None:
    assert answer(FOUND, llm_reply("Ghent", "x", "[b]", "b", "a ")).cited_ids == ("b", "a")
    assert answer(
        FOUND, llm_reply("Ghent", "a", "b"), budget=estimate_tokens(quoting.render_memory(HITS[0].node))
    ).cited_ids == ("b",)
    unusual = hit('"<memory>\n', "Odd.")
    assert resolve_citations([quoting.render_id(unusual.id)], [unusual]) == (unusual.id,)


@pytest.mark.parametrize(
    ("cited", "expected"),
    [
        (["a1"], ["a1"]),
        (["[a1]", "a1"], ["a1"]),
        (["a"], []),
        (["a11"], []),
        (["A1"], []),
        (["a1, a12"], []),
        (["xa1"], []),
        (["#a1"], []),
        (["a1)"], []),
        (["a12", "a1"], ["a12", "a1"]),
        (["(b)"], ["(b)"]),  # a full id is tried before the id in its brackets
        (["b"], ["b"]),
        (["same id"], []),  # two memories were shown with it
        (["a1\u200b"], []),
        (["c\\u200b"], ["c\u200b"]),
    ],
)
def test_citation_matches_an_id_exactly(cited: list[str], expected: list[str]) -> None:
    packed = [hit(id_, "A text.") for id_ in ("a1", "a12", "b", "(b)", "same id", "same\nid", "c\u200b", "c")]
    assert list(resolve_citations(cited, packed)) == expected


def test_unanswered_reply_gives_no_answer() -> None:
    found = answer(FOUND, llm_reply("Perhaps Rome?", "a", answered=False))
    assert (found.text, found.cited_ids, found.is_answered) == (NO_ANSWER, (), False)
    assert (found.evidence, found.is_extractive, found.usage.calls) == (Evidence.STRONG, False, 1)


@pytest.mark.parametrize("found", [recollection(evidence=Evidence.NONE), recollection([], Evidence.NONE)])
def test_model_is_not_called_without_evidence(found: Recollection) -> None:
    assert answer(found, ScriptedLLM([])) == Answer(NO_ANSWER, (), is_answered=False, evidence=Evidence.NONE)


def test_failing_model_gives_an_extractive_answer() -> None:
    client = LLMClient(ScriptedLLM(["nonsense", "nonsense"]))
    found = answer(FOUND, client)
    assert (found.text, found.cited_ids, found.is_answered) == (
        "“I have a flat in Ghent now.” (Ana, 2026-05-12 12:00)",
        ("b",),
        True,
    )
    assert (found.is_extractive, found.error) == (True, "it holds no JSON")
    assert found.usage == client.usage
    assert found.usage.failures == 1
    silent = answer(FOUND, ScriptedLLM([], failing_calls=range(2)))
    assert (silent.is_extractive, silent.error) == (True, "call 1 fails by the script")


def test_client_usage_sums_over_answers() -> None:
    client = LLMClient(ScriptedLLM(lambda _: {"answer": "Ghent", "ids": [], "held": True}))
    first, second = answer(FOUND, client), answer(FOUND, client)
    assert first.usage == second.usage
    assert client.usage == first.usage + second.usage


# ---- extractive answers


def test_extractive_answer_quotes_the_best_memory() -> None:
    found = answer(FOUND, None)
    assert found == extractive_answer(FOUND)
    assert (found.cited_ids, found.is_extractive, found.prompt, found.usage) == (("b",), True, None, LLMUsage())
    assert extractive_answer(recollection(HITS[::-1])).cited_ids == ("a",), "a question answers nothing"
    assert extractive_answer(recollection(HITS[2:])).cited_ids == ("c",), "unless there is nothing else"
    assert extractive_answer(recollection([])).text == NO_ANSWER


@pytest.mark.parametrize(
    ("evidence", "beginning", "is_answered", "is_certain"),
    [
        (Evidence.STRONG, "“I have a flat", True, True),
        (Evidence.WEAK, "Perhaps: “I have a flat", True, False),
        (Evidence.NONE, NO_ANSWER, False, False),
    ],
)
def test_extractive_answer_says_how_sure_it_is(
    evidence: Evidence, beginning: str, *, is_answered: bool, is_certain: bool
) -> None:
    found = extractive_answer(recollection(evidence=evidence))
    assert found.text.startswith(beginning)
    assert (found.is_answered, found.is_certain) == (is_answered, is_certain)
    assert answer(recollection(evidence=Evidence.WEAK), llm_reply("Ghent", "b")).is_certain, "a model has read it"


def test_extractive_answer_prefers_the_superseding_memory() -> None:
    old = replace(HITS[1], validity=Validity(is_valid=False, valid_to=NOON, superseded_by=("b",)))
    assert extractive_answer(recollection([old, HITS[2], HITS[0]])).cited_ids == ("b",)
    assert (
        extractive_answer(recollection([old])).text
        == "“I moved to Porto.” (Ana, 2026-05-03 12:00, held until 2026-05-03 12:00)"
    )
