"""Chat messages as memories: the shapes of providers, what cannot be read, and what is left out.

This file is over 400 lines because it holds messages in the shapes of every provider.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ecphora import Episode, Memory, MessageOptions
from ecphora.errors import EcphoraError, IdCollision, InvalidInput, InvalidText, InvalidTime
from ecphora.models.embedders.hashing import HashingEmbedder
from ecphora.remember.messages import DEFAULT_OPTIONS, MessageEpisodes, episodes_from_messages, question_from_messages
from ecphora.testing import FakeClock

KEEP_ALL = MessageOptions(keep_tool_results=True, keep_system_prompts=True)
EPOCH = 1_780_000_000
"""28 May 2026."""

OPENAI_CHAT: list[Any] = [
    {"role": "developer", "content": "Be brief."},
    {"role": "user", "name": "Ana", "content": "How warm is it in Porto?"},
    {
        "role": "assistant",
        "content": None,
        "refusal": None,
        "tool_calls": [
            {"id": "call_1", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Porto"}'}}
        ],
    },
    {"role": "tool", "tool_call_id": "call_1", "content": "21 degrees"},
    {"role": "assistant", "content": "It is 21 degrees."},
    {
        "role": "user",
        "content": [
            {"type": "text", "text": "This is my dog."},
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
            {"type": "text", "text": "He is called Rex."},
        ],
    },
]
OPENAI_RESPONSES: list[Any] = [
    {"role": "system", "content": "Be brief."},
    {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "How warm is it in Porto?"}]},
    {"type": "reasoning", "id": "rs_1", "summary": []},
    {"type": "function_call", "call_id": "call_1", "name": "weather", "arguments": "{}"},
    {"type": "function_call_output", "call_id": "call_1", "output": "21 degrees"},
    {"type": "web_search_call", "id": "ws_1", "status": "completed"},
    {
        "type": "message",
        "id": "msg_1",
        "status": "completed",
        "role": "assistant",
        "content": [{"type": "output_text", "text": "It is 21 degrees.", "annotations": []}],
    },
    {
        "role": "user",
        "content": [
            {"type": "input_text", "text": "This is my dog."},
            {"type": "input_image", "image_url": "data:image/png;base64,AAAA"},
        ],
    },
]
ANTHROPIC: list[Any] = [
    {"role": "user", "content": "How warm is it in Porto?"},
    {
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": "I need the weather.", "signature": "x"},
            {"type": "text", "text": "I look it up."},
            {"type": "tool_use", "id": "toolu_1", "name": "weather", "input": {"city": "Porto"}},
        ],
    },
    {
        "role": "user",
        "content": [
            {"type": "tool_result", "tool_use_id": "toolu_1", "content": [{"type": "text", "text": "21 degrees"}]},
            {"type": "tool_result", "tool_use_id": "toolu_2", "content": "no wind", "is_error": False},
            {"type": "text", "text": "Thanks!"},
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}},
        ],
    },
]


@dataclass
class LangChainMessage:
    """The attributes of a LangChain message that are read; a pydantic model is iterable, too."""

    content: Any
    type: str
    name: str | None = None
    tool_calls: list[dict[str, Any]] = field(default_factory=list)
    additional_kwargs: dict[str, Any] = field(default_factory=dict)
    response_metadata: dict[str, Any] = field(default_factory=dict)
    id: str | None = None

    def __iter__(self) -> Iterator[tuple[str, Any]]:
        yield from vars(self).items()


TOOL_CALL = {"name": "weather", "args": {"city": "Porto"}, "id": "call_1", "type": "tool_call"}
LANGCHAIN: list[Any] = [
    LangChainMessage("Be brief.", "system"),
    LangChainMessage(
        "How warm is it in Porto?", "human", name="Ana", additional_kwargs={"timestamp": "2026-05-03T12:00:00Z"}
    ),
    LangChainMessage("", "ai", tool_calls=[TOOL_CALL], additional_kwargs={"tool_calls": [{"id": "call_1"}]}),
    LangChainMessage("21 degrees", "tool", name="weather"),
    LangChainMessage([{"type": "text", "text": "It is 21 degrees."}], "AIMessageChunk"),
    LangChainMessage(["This is my dog.", {"type": "image_url", "image_url": "x"}], "human"),
]


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory(tmp_path / "memory.db", embedder=HashingEmbedder(64), update_scorer=None, clock=FakeClock()) as opened:
        yield opened


def read(items: Any, options: MessageOptions = DEFAULT_OPTIONS, **fields: Any) -> MessageEpisodes:
    return episodes_from_messages(items, template=Episode("", **fields), options=options)


def said(items: Any, options: MessageOptions = DEFAULT_OPTIONS) -> list[tuple[str | None, str]]:
    return [(episode.speaker, episode.text) for episode in read(items, options).episodes]


def user(text: str) -> dict[str, str]:
    return {"role": "user", "content": text}


def bot(text: str) -> dict[str, str]:
    return {"role": "assistant", "content": text}


# ---- the shapes of providers


def test_openai_chat_messages_become_episodes() -> None:
    assert said(OPENAI_CHAT) == [
        ("Ana", "How warm is it in Porto?"),
        ("assistant", "It is 21 degrees."),
        ("user", "This is my dog.\nHe is called Rex."),
    ]
    assert read(OPENAI_CHAT).omitted == {"system_prompt": 1, "tool_call": 1, "tool_result": 1, "image_url": 1}


def test_openai_responses_items_become_episodes() -> None:
    expected = [("user", "How warm is it in Porto?"), ("assistant", "It is 21 degrees."), ("user", "This is my dog.")]
    assert said(OPENAI_RESPONSES) == expected
    omitted = {"system_prompt": 1, "reasoning": 1, "tool_call": 2, "tool_result": 1, "input_image": 1}
    assert read(OPENAI_RESPONSES).omitted == omitted


def test_anthropic_messages_become_episodes() -> None:
    expected = [("user", "How warm is it in Porto?"), ("assistant", "I look it up."), ("user", "Thanks!")]
    assert said(ANTHROPIC) == expected
    assert read(ANTHROPIC).omitted == {"thinking": 1, "tool_call": 1, "tool_result": 2, "image": 1}


def test_langchain_messages_become_episodes() -> None:
    check_langchain(LANGCHAIN)


def test_messages_of_the_real_langchain_become_episodes() -> None:
    core = pytest.importorskip("langchain_core.messages")
    check_langchain(
        [
            core.SystemMessage("Be brief."),
            core.HumanMessage(
                "How warm is it in Porto?", name="Ana", additional_kwargs={"timestamp": "2026-05-03T12:00:00Z"}
            ),
            core.AIMessage("", tool_calls=[TOOL_CALL]),
            core.ToolMessage("21 degrees", name="weather", tool_call_id="call_1"),
            core.AIMessageChunk([{"type": "text", "text": "It is 21 degrees."}]),
            core.HumanMessage(["This is my dog.", {"type": "image_url", "image_url": "x"}]),
        ]
    )


def check_langchain(messages: list[Any]) -> None:
    expected = [("Ana", "How warm is it in Porto?"), ("assistant", "It is 21 degrees."), ("user", "This is my dog.")]
    assert said(messages) == expected
    kept = read(messages, KEEP_ALL)
    assert read(messages).omitted == {"system_prompt": 1, "tool_call": 1, "tool_result": 1, "image_url": 1}
    assert kept.episodes[1].happened_at == datetime(2026, 5, 3, 12, tzinfo=UTC)
    assert kept.episodes[2].metadata == {"tool": "weather"}


def test_objects_of_client_libraries_are_read_like_dicts() -> None:
    reply = SimpleNamespace(
        role="assistant", content=[SimpleNamespace(type="text", text="Hello."), SimpleNamespace(type="tool_use")]
    )
    call = SimpleNamespace(type="function_call", name="weather", arguments="{}", call_id="call_1")
    assert said([reply, call]) == [("assistant", "Hello.")]
    assert read([reply, call]).omitted == {"tool_call": 2}


def test_tool_call_in_two_places_is_counted_once() -> None:
    part = {"type": "tool_use", "id": "call_1", "name": "weather", "input": {}}
    assert read([LangChainMessage([part], "ai", tool_calls=[TOOL_CALL])]).omitted == {"tool_call": 1}


def test_tool_results_and_prompts_are_kept_apart_on_request() -> None:
    template = {"source": "chat.json", "session": "monday", "metadata": {"page": 4}}
    kept = [
        (episode.speaker, episode.text, episode.source, dict(episode.metadata))
        for episode in read(LANGCHAIN, KEEP_ALL, **template).episodes
    ]
    assert kept == [
        ("system", "Be brief.", "system", {"page": 4}),
        ("Ana", "How warm is it in Porto?", "chat.json", {"page": 4}),
        ("tool", "21 degrees", "tool", {"page": 4, "tool": "weather"}),
        ("assistant", "It is 21 degrees.", "chat.json", {"page": 4}),
        ("user", "This is my dog.", "chat.json", {"page": 4}),
    ]
    assert [text for _, text in said(ANTHROPIC, KEEP_ALL)][2:] == ["21 degrees", "no wind", "Thanks!"]
    assert said(OPENAI_RESPONSES, KEEP_ALL)[2] == ("tool", "21 degrees")


def test_name_of_a_message_comes_before_the_speaker_of_its_role() -> None:
    options = MessageOptions(speakers={"user": "Bo", "assistant": "Bot"})
    assert said([{**user("Hi."), "name": "Ana"}, {**user("Hello."), "name": ""}, bot("Yes?")], options) == [
        ("Ana", "Hi."),
        ("Bo", "Hello."),
        ("Bot", "Yes?"),
    ]
    assert said([LangChainMessage("Hi.", "human")], MessageOptions(speakers={"human": "Bo"})) == [("Bo", "Hi.")]


@pytest.mark.parametrize(
    "time",
    [
        {"created_at": "2026-05-03T12:00:00Z"},
        {"timestamp": "2026-05-03T14:00+02:00"},
        {"timestamp": 1_777_809_600},
        {"created_at": 1_777_809_600.0, "timestamp": "2020-01-01"},
        {"created_at": None, "timestamp": datetime(2026, 5, 3, 12, tzinfo=UTC)},
        {"additional_kwargs": {"created_at": 1_777_809_600}},
    ],
)
def test_time_of_a_message_comes_before_the_time_of_the_call(time: dict[str, Any]) -> None:
    messages = [{**user("Hi."), **time}, user("Hello.")]
    expected = [datetime(2026, 5, 3, 12, tzinfo=UTC), datetime(2026, 6, 1, tzinfo=UTC)]
    assert [episode.happened_at for episode in read(messages, happened_at="2026-06-01").episodes] == expected


def test_messages_without_text_are_counted() -> None:
    messages = [user(" "), {"role": "assistant", "content": None}, {"role": "user", "content": []}, user("Hi.")]
    assert said(messages) == [("user", "Hi.")]
    assert read(messages).omitted == {"empty_message": 3}
    reply = {"role": "assistant", "content": None}
    calls = [{"role": "assistant", "tool_calls": [{}]}, {**reply, "function_call": {}}]
    assert read([{**reply, "refusal": "No."}, {**reply, "audio": {}}, *calls]).omitted == {
        "refusal": 1,
        "audio": 1,
        "tool_call": 2,
    }


# ---- what cannot be read

WRONG_MESSAGES: list[tuple[Any, str]] = [
    ({"role": "usr", "content": "x"}, "has the role 'usr'; give 'user'"),
    ({"content": "x"}, "has no role; give a text or an Episode, or a message of the role"),
    ({}, "has no role"),
    ({"role": 5, "content": "x"}, "has the role 5"),
    ({"role": "model", "parts": [{"text": "x"}]}, "has no content; give a text or a list of parts as content"),
    ({"role": "user", "text": "x"}, "has no content"),
    ({"type": "remove", "content": "x"}, "the type 'remove' is unknown"),
    ({"role": "user", "content": 5}, "has the content 5; give a text or a list of parts"),
    ({"role": "user", "content": [5]}, "has the content part 5; give .'type': 'text'"),
    ({"role": "user", "content": [{"type": ["text"]}]}, "has the content part"),
    ({"role": "user", "content": [{"type": "text"}]}, "a text part whose text is None; give a str"),
    ({"role": "user", "content": "x", "name": 5}, "speaker is 5"),
    ({"role": "user", "content": "x", "name": ["Ana"]}, "speaker is"),
    ({"role": "user", "content": "x" * 1_000_001}, "too long"),
    ({"role": "user", "content": "\ud83d"}, "lone surrogate"),
    ({"role": "user", "content": "x", "created_at": "soon"}, "'soon' is not a date"),
    ({"role": "user", "content": "x", "created_at": True}, "created_at is True"),
    ({"role": "user", "content": "x", "timestamp": EPOCH * 1000}, "timestamp is .*; give seconds since 1970"),
    ({"role": "user", "content": "x", "timestamp": float("nan")}, "timestamp is nan"),
    ({"role": "user", "content": "x", "timestamp": 10**400}, "give seconds since 1970"),
]


@pytest.mark.parametrize(("wrong", "error"), WRONG_MESSAGES)
def test_unknown_message_raises_and_nothing_is_written(wrong: Any, error: str, memory: Memory) -> None:
    with pytest.raises(InvalidInput, match=rf"(?s)messages\[2\].*{error}"):
        memory.remember(["A text.", user("Hi."), wrong])
    assert len(memory) == 0


def test_error_of_a_message_has_its_own_type() -> None:
    with pytest.raises(InvalidTime, match="messages"):
        read([{**user("x"), "created_at": "soon"}])
    with pytest.raises(InvalidText, match="messages"):
        read([user("\ud83d")])


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"user": "Ana"}, "message_options is .*; give MessageOptions"),
        (MessageOptions(speakers={"usr": "Ana"}), "speakers has the role 'usr'; give 'user'"),
        (MessageOptions(speakers={"user": ""}), "the speaker of 'user' is ''"),
        (MessageOptions(speakers="Ana"), "speakers is 'Ana'; give a dict"),  # type: ignore[arg-type]
        (MessageOptions(keep_tool_results=1), "keep_tool_results is 1; give True or False"),  # type: ignore[arg-type]
        (MessageOptions(keep_system_prompts="yes"), "keep_system_prompts is 'yes'"),  # type: ignore[arg-type]
    ],
)
def test_wrong_options_raise(options: Any, error: str, memory: Memory) -> None:
    with pytest.raises(InvalidInput, match=error):
        memory.remember([user("Hi.")], message_options=options)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20) | st.sampled_from(["user", "text"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
FIELDS = st.fixed_dictionaries(
    {},
    optional={
        name: JSON | st.sampled_from(["user", "assistant", "tool", "text", "function_call_output", "tool_result"])
        for name in "role type content name text output tool_calls function_call created_at additional_kwargs".split()  # noqa: SIM905
    },
)
PARTS = st.lists(FIELDS | JSON, max_size=3)
MESSAGES = st.lists(
    FIELDS
    | st.builds(lambda fields, parts: {**fields, "role": "user", "content": parts}, FIELDS, PARTS)
    | FIELDS.map(lambda fields: SimpleNamespace(**fields)),
    max_size=4,
)


@pytest.mark.medium
@settings(max_examples=300)
@given(MESSAGES, st.booleans())
def test_any_message_is_read_or_raises_one_of_our_errors(messages: list[Any], keep: bool) -> None:
    options = MessageOptions(keep_tool_results=keep, keep_system_prompts=keep)
    errors = ["an error"]
    for call in (lambda: read(messages, options), lambda: question_from_messages(messages)):
        try:
            call()
        except EcphoraError as error:
            errors.append(str(error))
    assert all(0 < len(error.encode()) < 700 for error in errors)


def test_nested_tool_results_end() -> None:
    part: dict[str, Any] = {"type": "tool_result", "content": "deep"}
    for _ in range(5_000):
        part = {"type": "tool_result", "content": [part]}
    assert read([{"role": "user", "content": [part]}]).omitted == {"tool_result": 1}


def test_object_whose_fields_raise_is_rejected() -> None:
    class Closed:
        role = "user"

        @property
        def content(self) -> str:
            raise RuntimeError("closed")

    with pytest.raises(InvalidInput, match="has no content"):
        read([Closed()])


# ---- remember


def test_messages_texts_and_episodes_are_remembered_together(memory: Memory) -> None:
    result = memory.remember(
        ["A text.", user("Hi."), Episode("A note.", id="note", session="own"), {"role": "tool", "content": "21"}],
        session="monday",
        happened_at="2026-05-03",
    )
    nodes = [memory.get(id_) for id_ in result.ids]
    assert [(node.text, node.speaker, node.session) for node in nodes if node] == [
        ("A text.", None, "monday"),
        ("Hi.", "user", "monday"),
        ("A note.", None, "own"),
    ]
    assert result.omitted == {"tool_result": 1}
    assert result.to_dict()["omitted"] == {"tool_result": 1}


def test_growing_conversation_is_remembered_once(memory: Memory) -> None:
    conversation = [user("I moved to Porto."), bot("How nice.")]
    assert len(memory.remember(conversation, session="monday").created) == 2
    result = memory.remember([*conversation, user("I like it.")], session="monday")
    assert (len(result.created), len(result.existing), len(memory)) == (1, 2, 3)


def test_one_message_is_remembered_with_an_id(memory: Memory) -> None:
    assert memory.remember(user("Hi."), id="greeting").id == "greeting"
    assert memory.remember(LangChainMessage("Hello.", "ai"), id="reply").id == "reply"
    with pytest.raises(InvalidInput, match="one id"):
        memory.remember([user("Hi.")], id="again")
    with pytest.raises((InvalidInput, IdCollision)):
        memory.remember(ANTHROPIC[2], id="two", message_options=KEEP_ALL)
    assert len(memory) == 2


def test_conversation_without_text_is_remembered_as_nothing(memory: Memory) -> None:
    result = memory.remember([{"role": "system", "content": "Be brief."}])
    assert (result.ids, result.omitted, len(memory)) == ((), {"system_prompt": 1}, 0)


def test_speaker_of_the_call_is_rejected_for_messages(memory: Memory) -> None:
    with pytest.raises(InvalidInput, match="messages have roles; give MessageOptions"):
        memory.remember([user("Hi.")], speaker="Ana")
    assert memory.remember(["Hi."], speaker="Ana").ids


# ---- the question of a conversation


def test_question_is_the_last_user_text_of_any_shape() -> None:
    assert question_from_messages(LANGCHAIN[:5]) == "How warm is it in Porto?"
    assert question_from_messages(ANTHROPIC).endswith("How warm is it in Porto?\nThanks!")
    assert question_from_messages(user("Where does Ana work?")) == "Where does Ana work?"
