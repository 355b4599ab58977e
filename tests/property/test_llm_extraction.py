"""Whatever a language model answers, a memory that it extracts for stays consistent."""

import json
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ecphora import LLMExtractor, Memory
from ecphora.language.terms import WordSequence
from ecphora.model.types import Kind
from ecphora.models.embedders.hashing import HashingEmbedder
from ecphora.testing import FakeClock, ScriptedLLM

TEXTS = ["Ana moved to Porto for the balcony.", "Ben likes tea.", "Ana and Ben"]


def entities(memory: Memory) -> set[str]:
    graph = memory.graph()
    rows = graph.rows_of_kind(Kind.ENTITY)
    return {node.text for node in memory._scope_writer.node_source(graph)(rows)}


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
items = st.fixed_dictionaries(
    {
        "text": st.integers(-1, 3) | json_values,
        "name": st.sampled_from(["Ana", "balcony", "\ud800", "Madrid"]) | json_values,
    },
    optional={"type": st.text(max_size=6), "description": st.text(max_size=9), "importance": json_values},
)
relation_items = st.fixed_dictionaries(
    {name: st.sampled_from(["Ana", "Porto", "\0", "x"]) | json_values for name in ("subject", "predicate", "object")}
    | {"text": st.integers(0, 3)}
)
any_reply = (
    st.text(max_size=60)
    | json_values.map(json.dumps)
    | st.builds(
        lambda mentions, relations: json.dumps({"mentions": mentions, "relations": relations}),
        st.lists(items, max_size=4),
        st.lists(relation_items, max_size=3),
    )
)


@pytest.fixture(scope="module")
def scope_names() -> Iterator[str]:
    return (f"scope {number}" for number in range(10**6))


@pytest.mark.medium
@given(answers=st.lists(any_reply, min_size=1, max_size=4))
def test_memory_is_consistent_whatever_the_model_answers(
    answers: list[str], tmp_path_factory: pytest.TempPathFactory, scope_names: Iterator[str]
) -> None:
    turns = iter(range(10**6))
    llm = ScriptedLLM(lambda _: answers[next(turns) % len(answers)])
    path = tmp_path_factory.getbasetemp() / "answers.db"
    extractor = LLMExtractor(llm, batch_size=2)
    with Memory(
        path,
        scope=next(scope_names),
        extractor=extractor,
        embedder=HashingEmbedder(32),
        update_scorer=None,
        clock=FakeClock(),
    ) as memory:
        result = memory.remember(TEXTS)
        report = result.extraction
        assert report is not None
        assert report.by_model + report.by_rules == len(result.created) == 3
        assert {"Ana", "Porto", "Ben"} <= entities(memory)
        words = WordSequence(" ".join(TEXTS))
        assert all(map(words.contains, entities(memory)))
        assert memory.recall("Where does Ana live?").hits
        memory.forget(result.ids)
        assert entities(memory) == set()
