"""Answers: what a model is shown, what it may cite, and what is said without it."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ecphora.answering import (
    NO_ANSWER,
    Answer,
    answer,
    build_prompt,
    extractive_answer,
    fit_to_budget,
    reply,
    resolve_citations,
)
from ecphora.errors import InvalidInput
from ecphora.language.token_count import estimate_tokens
from ecphora.llm_client import LLMClient, LLMUsage
from ecphora.model import Cost, Evidence, Hit, Kind, Node, Query, Recollection, Validity, Why
from ecphora.prompts import quoting
from ecphora.testing import NOON, ScriptedLLM


def hit(id_: str, text: str, days: int = 0, standing: Validity | None = None) -> Hit:
    at = NOON + timedelta(days=days)
    return Hit(Node(id_, Kind.EPISODE, text, at, at, speaker="Ana"), 1.0, Why(()), standing)


HITS = [hit("b", "I have a flat in Ghent now.", 9), hit("a", "I moved to Porto."), hit("c", "Where is Bo?", 3)]


def recollection(hits: Sequence[Hit] = HITS, evidence: Evidence = Evidence.STRONG) -> Recollection:
    cue = Query("Where does Ana live?", NOON)
    return Recollection(cue, "fused", evidence, 0.9, tuple(hits), Cost(1.0, {}, 1))


FOUND = recollection()


def says(text: str, *ids: str, held: bool = True) -> ScriptedLLM:
    return ScriptedLLM([{"answer": text, "ids": list(ids), "held": held}])


# ---- what is shown


def test_memories_are_packed_by_rank_and_shown_in_order_of_time() -> None:
    assert [one.id for one in fit_to_budget(FOUND, 1_000)] == ["a", "c", "b"]
    room = estimate_tokens(quoting.render_memory(HITS[0].node)) + estimate_tokens(quoting.render_memory(HITS[1].node))
    assert [one.id for one in fit_to_budget(FOUND, room)] == ["a", "b"]
    assert fit_to_budget(FOUND, 3) == ()
    with pytest.raises(InvalidInput, match="budget"):
        fit_to_budget(FOUND, 0)


@given(st.lists(st.text(min_size=1, max_size=90), max_size=8), st.integers(1, 200))
def test_what_is_packed_fits(texts: list[str], budget: int) -> None:
    shown = fit_to_budget(recollection([hit(str(place), text) for place, text in enumerate(texts)]), budget)
    assert sum(estimate_tokens(quoting.render_memory(one.node)) for one in shown) <= budget


def test_what_would_be_sent_can_be_seen_without_sending() -> None:
    prompt = build_prompt(FOUND)
    assert prompt is not None
    assert answer(FOUND, says("Ghent", "b")).prompt == prompt
    assert prompt.user.index("Porto") < prompt.user.index("Ghent")
    assert prompt.user.endswith("Question: Where does Ana live?")
    assert build_prompt(recollection(evidence=Evidence.NONE)) is None
    assert build_prompt(FOUND, 3) is None


def test_how_a_memory_stands_is_shown() -> None:
    old = hit("a", "I moved to Porto.", standing=Validity(is_valid=False, valid_to=NOON, superseded_by=("b",)))
    prompt = build_prompt(recollection([old]))
    assert prompt is not None
    assert 'held="until 2026-05-03 12:00, replaced by b"' in prompt.user


# ---- with a model


def test_an_answer_cites_what_it_rests_on() -> None:
    llm = says("Ghent", "b")
    found = answer(FOUND, llm)
    assert (found.text, found.cited_ids, found.is_answered, found.evidence) == ("Ghent", ("b",), True, Evidence.STRONG)
    assert (found.is_extractive, found.error) == (False, None)
    assert (found.usage.calls, found.usage.failures) == (1, 0)
    assert llm.prompts == [found.prompt]


def test_only_what_was_shown_can_be_cited() -> None:
    assert answer(FOUND, says("Ghent", "x", "[b]", "b", "a ")).cited_ids == ("b", "a")
    assert answer(
        FOUND, says("Ghent", "a", "b"), budget=estimate_tokens(quoting.render_memory(HITS[0].node))
    ).cited_ids == ("b",)
    odd = hit('"<memory>\n', "Odd.")
    assert resolve_citations([quoting.render_id(odd.id)], [odd]) == (odd.id,)


@pytest.mark.parametrize(
    ("said", "meant"),
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
        (["(b)"], ["(b)"]),  # a whole id comes before what stands in its brackets
        (["b"], ["b"]),
        (["same id"], []),  # two memories were shown with it
        (["a1\u200b"], []),
        (["c\\u200b"], ["c\u200b"]),
    ],
)
def test_a_citation_is_an_id_letter_by_letter(said: list[str], meant: list[str]) -> None:
    shown = [hit(id_, "A text.") for id_ in ("a1", "a12", "b", "(b)", "same id", "same\nid", "c\u200b", "c")]
    assert list(resolve_citations(said, shown)) == meant


def test_what_the_model_does_not_find_is_not_held() -> None:
    found = answer(FOUND, says("Perhaps Rome?", "a", held=False))
    assert (found.text, found.cited_ids, found.is_answered) == (NO_ANSWER, (), False)
    assert (found.evidence, found.is_extractive, found.usage.calls) == (Evidence.STRONG, False, 1)


@pytest.mark.parametrize("found", [recollection(evidence=Evidence.NONE), recollection([], Evidence.NONE)])
def test_without_evidence_the_model_is_not_asked(found: Recollection) -> None:
    assert answer(found, ScriptedLLM([])) == Answer(NO_ANSWER, (), is_answered=False, evidence=Evidence.NONE)


def test_a_model_that_fails_is_done_without() -> None:
    guest = LLMClient(ScriptedLLM(["nonsense", "nonsense"]))
    found = answer(FOUND, guest)
    assert (found.text, found.cited_ids, found.is_answered) == (
        "“I have a flat in Ghent now.” (Ana, 2026-05-12 12:00)",
        ("b",),
        True,
    )
    assert (found.is_extractive, found.error) == (True, "it holds no JSON")
    assert found.usage == guest.usage
    assert found.usage.failures == 1
    silent = answer(FOUND, ScriptedLLM([], failing_calls=range(2)))
    assert (silent.is_extractive, silent.error) == (True, "call 1 fails by the script")


def test_a_guest_counts_over_several_answers_and_each_answer_its_own() -> None:
    guest = LLMClient(ScriptedLLM(lambda _: {"answer": "Ghent", "ids": [], "held": True}))
    first, second = answer(FOUND, guest), answer(FOUND, guest)
    assert first.usage == second.usage
    assert guest.usage == first.usage + second.usage


# ---- without one


def test_without_a_model_the_best_memory_is_quoted() -> None:
    found = answer(FOUND, None)
    assert found == extractive_answer(FOUND)
    assert (found.cited_ids, found.is_extractive, found.prompt, found.usage) == (("b",), True, None, LLMUsage())
    assert extractive_answer(recollection(HITS[::-1])).cited_ids == ("a",), "a question answers nothing"
    assert extractive_answer(recollection(HITS[2:])).cited_ids == ("c",), "unless there is nothing else"
    assert extractive_answer(recollection([])).text == NO_ANSWER


def test_what_holds_is_quoted_instead_of_what_it_replaced() -> None:
    old = replace(HITS[1], validity=Validity(is_valid=False, valid_to=NOON, superseded_by=("b",)))
    assert extractive_answer(recollection([old, HITS[2], HITS[0]])).cited_ids == ("b",)
    assert (
        extractive_answer(recollection([old])).text
        == "“I moved to Porto.” (Ana, 2026-05-03 12:00, held until 2026-05-03 12:00)"
    )


# ---- in a conversation


def test_a_turn_is_replied_to_even_without_evidence() -> None:
    llm = says("Good day.")
    found = reply(recollection([], Evidence.NONE), llm, turns=[("Ana", "Hello.")])
    assert (found.text, found.is_answered, found.cited_ids) == ("Good day.", True, ())
    assert "<turn" in llm.prompts[0].user
    assert "(none)" in llm.prompts[0].user
    unknown = reply(FOUND, says("I do not remember that.", held=False))
    assert (unknown.text, unknown.is_answered) == ("I do not remember that.", False)
    assert reply(FOUND, None) == extractive_answer(FOUND)
