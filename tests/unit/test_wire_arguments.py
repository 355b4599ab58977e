"""The arguments of calls on the wire: any form that ``Memory`` takes, and what is refused."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from ecphora import Episode, Filter, Memory, MessageOptions, RecallOptions
from ecphora.errors import InvalidInput, InvalidTime
from ecphora.memory import Facts, Maintenance
from ecphora.model.conditions import And, Eq, Exists, Gte
from ecphora.model.json_form import to_json
from ecphora.model.reprs import show
from ecphora.model.types import Cost, Evidence, Query, Rerank
from ecphora.recall.recollection import Recollection
from ecphora.remember.messages import episodes_from_messages
from ecphora.remote.wire import arguments_from_json, arguments_to_json, from_json
from ecphora.strategies.fused.strategy import Fused
from ecphora.testing import NOON, FakeClock

DAY = date(2026, 6, 1)


def sent(function: Callable[..., object], **arguments: object) -> dict[str, Any]:
    """The arguments of a call as the other side gets them."""
    return arguments_from_json(function, json.loads(json.dumps(arguments_to_json(arguments))))


def test_recall_arguments_arrive_in_any_form() -> None:
    where = Filter(speakers="Ana", metadata=Gte("year", 2026) & Exists("city"), after="2026-01-02")
    found = sent(
        Memory.recall, question="Where?", where=where, as_of=DAY, known_at=datetime(2026, 6, 2, tzinfo=UTC),
        limit=np.int64(3), rerank=Rerank.NEVER, budget=None,
        options=RecallOptions(rerank_ms=cast("float", np.float32(0.5)), explain=cast("bool", np.bool_(False))),
    )  # fmt: skip
    assert found.pop("where").condition == And(Gte("year", 2026), Exists("city"))
    assert found == {
        "question": "Where?", "as_of": "2026-06-01", "known_at": "2026-06-02T00:00:00.000000+00:00", "limit": 3,
        "rerank": "never", "budget": None, "options": RecallOptions(rerank_ms=0.5, explain=False),
    }  # fmt: skip


def test_contents_arrive_as_texts_episodes_and_messages() -> None:
    episode = Episode("A note.", "n", happened_at=DAY, metadata={"tags": ("sea", 1)})
    message = {"role": "user", "content": "Hello.", "created_at": datetime(2026, 1, 1, tzinfo=UTC)}
    found = sent(Memory.remember, content=iter(["A text.", episode, message]))["content"]
    assert found == [
        "A text.",
        Episode("A note.", "n", happened_at="2026-06-01", metadata={"tags": ["sea", 1]}),
        {"role": "user", "content": "Hello.", "created_at": "2026-01-01T00:00:00+00:00"},
    ]
    assert sent(Memory.remember, content="One.") == {"content": "One."}
    assert sent(Memory.remember, content=episode)["content"].id == "n"
    assert sent(Memory.remember, content={"role": "user", "content": "x"})["content"]["role"] == "user"
    options = MessageOptions({"user": "Ana"}, keep_tool_results=True)
    assert sent(Memory.remember, content="x", message_options=options)["message_options"] == options


def test_object_with_a_role_or_type_is_a_message() -> None:
    for message in ({"role": "user", "text": "x"}, {"type": "human", "text": "x"}, {"content": "x", "text": "y"}, {}):
        assert arguments_from_json(Memory.remember, {"content": message})["content"] == message
    assert arguments_from_json(Memory.remember, {"content": {"text": "x"}})["content"] == Episode("x")


@dataclass
class Call:
    """A tool call of a client library."""

    type: str
    arguments: object


@pytest.mark.parametrize(
    "message",
    [
        SimpleNamespace(role="assistant", content="Hi.", tool_calls=[Call("function", object())], audio=object()),
        SimpleNamespace(type="human", content=[SimpleNamespace(type="text", text="Hi."), Call("image", b"")]),
        SimpleNamespace(type="ai", content="", additional_kwargs={"tool_calls": [{"id": b"x"}], "created_at": 1e9}),
        SimpleNamespace(role="user", content="Hi.", timestamp=datetime(2026, 1, 1, tzinfo=UTC), client=object()),
        SimpleNamespace(type="function_call_output", output="Sunny."),
        {"role": "user", "content": [{"type": "image", "data": b"\x89PNG"}, {"type": "text", "text": "Hi."}]},
        {"role": "assistant", "content": "Hi.", "refusal": object(), "function_call": SimpleNamespace(name="f")},
    ],
)  # fmt: skip
def test_message_objects_are_read_as_they_were(message: object) -> None:
    options = MessageOptions(keep_tool_results=True)
    arrived = sent(Memory.remember, content=message)["content"]
    here = episodes_from_messages([message], template=Episode(""), options=options)
    assert episodes_from_messages([arrived], template=Episode(""), options=options) == here


def test_arguments_that_stay_here_are_refused() -> None:
    for name in ("llm", "progress", "out", "lines", "path"):
        with pytest.raises(InvalidInput, match=rf"^{name} cannot be sent to a server: .*; leave it out"):
            arguments_to_json({name: object()})
        assert arguments_to_json({name: None}) == {}
        with pytest.raises(InvalidInput, match=rf"^{name} cannot be sent to a server"):
            arguments_from_json(Memory.consolidate, {name: 1})
    for value in (Fused(), object(), b"x", float("nan"), [b"x"], Memory):
        with pytest.raises(InvalidInput, match=r"^strategy is .* cannot be sent to a server"):
            arguments_to_json({"strategy": value})


@pytest.mark.parametrize(
    ("function", "body", "message"),
    [
        (Memory.recall, {"question": "x", "wher": 1}, "recall has no argument 'wher'; it has question, limit, budget"),
        (Memory.recall, {"question": "x", "self": 1}, "recall has no argument 'self'"),
        (Memory.recall, {}, "recall needs question"),
        (Memory.recall, ["x"], "the arguments of recall are ['x']; give a JSON object"),
        (Memory.scopes, {"x": 1}, "scopes has no argument 'x'; it has none"),
        (Memory.import_, {"vectors": 1}, "import has no argument 'vectors'"),
        (Memory.recall, {"question": "x", "where": 3}, "where is 3; give an object with fields of Filter"),
        (Memory.recall, {"question": "x", "where": {"speaker": 1}}, "Filter has no field 'speaker'; it has speakers"),
        (Memory.remember, {"content": {"text": "x", "spaeker": 1}}, "Episode has no field 'spaeker'"),
        (Memory.feedback, {"used_ids": [], "recollection": {}}, "recollection.milliseconds is missing"),
        (Memory.feedback, {"used_ids": [], "recollection": [1]}, "recollection is [1]; give an object"),
        (Facts.updates, {"old": 1}, "updates has no argument 'old'; it has pending, limit"),
        (Maintenance.pin, {}, "pin needs ids"),
    ],
)
def test_wrong_arguments_are_refused(function: Callable[..., object], body: object, message: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        arguments_from_json(function, body)
    assert message in str(caught.value)


def test_wrong_times_and_conditions_of_a_filter_are_refused() -> None:
    with pytest.raises(InvalidTime, match="after: 'yesterday' is not a date"):
        arguments_from_json(Memory.recall, {"question": "x", "where": {"after": "yesterday"}})
    with pytest.raises(InvalidInput, match="is no operator"):
        arguments_from_json(Memory.find, {"where": {"metadata": {"age": {"$near": 1}}}})
    deep: dict[str, Any] = {"a": 1}
    for _ in range(30):
        deep = {"$not": deep}
    with pytest.raises(InvalidInput, match="more than 20 levels"):
        arguments_from_json(Memory.find, {"where": {"metadata": deep}})
    with pytest.raises(InvalidInput, match="no mapping stands for a condition on '\\$key'"):
        arguments_to_json({"where": Filter(metadata=Eq("$key", 1))})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"tokens": True}, "tokens is True; give a whole number"),
        ({"confidence": True}, "confidence is True; give a number"),
        ({"confidence": "1"}, "confidence is '1'; give a number"),
        ({"milliseconds": 10**400}, f"milliseconds is {show(10**400)}; give a number that fits into 64 bits"),
        ({"evidence": "maybe"}, "evidence is 'maybe'; give one of 'strong', 'weak', 'none'"),
        ({"hits": {}}, "hits is {}; give a list"),
        ({"hits": [3]}, r"hits[0] is 3; give an object"),
        ({"groups": [{"instance": "Porto", "ids": ["x"]}]}, "groups[0].ids[0] is 'x'; give the id of a hit"),
        ({"groups": [{"instance": "Porto"}]}, "groups[0].ids is None; give a list"),
        ({"groups": [{"instance": "Porto", "ids": [{}]}]}, "groups[0].ids[0] is {}; give the id of a hit"),
        ({"groups": [3]}, "groups[0] is 3; give an object"),
        ({"query": {"text": "x", "now": "2026-01-01"}}, "query.now is '2026-01-01'; give a time with a time zone"),
        ({"query": {"text": "x", "now": 3}}, "query.now is 3; give an ISO 8601 time"),
        ({"query": {"text": "x"}}, "query.now is missing; give it"),
    ],
)
def test_wrong_results_are_refused(change: dict[str, Any], message: str) -> None:
    found = Recollection(Query("Where?", NOON), "fused", Evidence.NONE, 0.0, (), Cost(1.0, {}, 0))
    with pytest.raises(InvalidInput) as caught:
        from_json(Recollection, {**to_json(found), **change})
    assert str(caught.value) == message
    with pytest.raises(InvalidInput) as caught:
        from_json(Recollection, {**to_json(found), **change}, name="recollection")
    assert str(caught.value) == f"recollection.{message}"


@pytest.mark.medium
def test_recollection_arrives_with_its_hits(tmp_path: Any) -> None:
    from ecphora import HashingEmbedder  # noqa: PLC0415

    with Memory(tmp_path / "m.db", embedder=HashingEmbedder(16), clock=FakeClock()) as memory:
        memory.remember(["Ana moved to Porto.", "Bo likes rain."])
        found = memory.recall("Where does Ana live?")
        arrived = sent(Memory.feedback, recollection=found, used_ids={found[0].id})
        assert isinstance(arrived["recollection"], Recollection)
        assert arrived["recollection"].hits == found.hits
        assert memory.feedback(**arrived) == memory.feedback(found, [found[0].id])
