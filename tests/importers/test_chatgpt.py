"""ChatGPT's export: which branch, which messages, and what becomes of their parts."""

import json
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from ecphora.errors import InvalidInput
from ecphora.maintenance.interchange.chats import chatgpt
from ecphora.maintenance.interchange.files import json_stream
from ecphora.maintenance.interchange.formats import find_format
from ecphora.model.types import Episode, Omission
from ecphora.testing import ImporterContract

Writer = Callable[..., str]
MADE = 1_767_258_000.25


def message(id_: str, role: str, *parts: Any, at: float | None = MADE, kind: str = "text", **more: Any) -> Any:
    return {
        "id": id_,
        "author": {"role": role, "name": None, "metadata": {}},
        "create_time": at,
        "content": {"content_type": kind, "parts": list(parts)},
        "status": "finished_successfully",
        "weight": 1.0,
        "metadata": {},
        "recipient": "all",
    } | more


def conversation(*messages: Any, title: str = "Porto", **more: Any) -> Any:
    """A conversation whose messages follow one another, from a root without a message."""
    mapping: dict[str, Any] = {"root": {"id": "root", "message": None, "parent": None, "children": []}}
    parent = "root"
    for one in messages:
        mapping[parent]["children"].append(one["id"])
        mapping[one["id"]] = {"id": one["id"], "message": one, "parent": parent, "children": []}
        parent = one["id"]
    return {
        "title": title,
        "create_time": MADE,
        "update_time": MADE,
        "mapping": mapping,
        "current_node": parent,
        "conversation_id": f"c-{title}",
    } | more


def read(path: str) -> tuple[list[Episode], Counter[str]]:
    found = list(chatgpt.ChatGPTImporter().read(path))
    omitted = Counter(one.reason for one in found if isinstance(one, Omission))
    return [one for one in found if isinstance(one, Episode)], omitted


TALK = conversation(message("m1", "user", "I moved to Porto."), message("m2", "assistant", "Welcome!", at=MADE + 5))


class TestContract(ImporterContract):
    @pytest.fixture
    def importer(self) -> chatgpt.ChatGPTImporter:
        return chatgpt.ChatGPTImporter()

    @pytest.fixture
    def sample(self, write: Writer) -> str:
        hidden = message("h", "user", "x", metadata={"is_visually_hidden_from_conversation": True})
        return write("export.zip", {"conversations.json": [TALK, conversation(hidden, title="b")], "chat.html": "x"})


def test_message_has_its_speaker_time_conversation_and_origin(write: Writer) -> None:
    (first, second), omitted = read(write("conversations.json", [TALK]))
    assert first == Episode(
        "I moved to Porto.",
        "chatgpt:m1",
        speaker="user",
        session="chatgpt:c-Porto",
        happened_at=datetime.fromtimestamp(MADE, UTC),
        title="Porto",
        source="chatgpt",
        metadata={"origin": "c-Porto/m1"},
    )
    assert (second.speaker, second.text) == ("assistant", "Welcome!")
    assert not omitted


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("conversations.json", {"conversations": [TALK]}),
        ("folder", {"sub/conversations.json": [TALK], "user.json": {}}),
        ("folder", {"conversations-000.json": [TALK], "conversations-001.json": [], "shared_conversations.json": [1]}),
        ("e.zip", {"inner/conversations-000.json": [TALK]}),
        ("renamed.json", [TALK]),
    ],
)
def test_export_is_a_file_a_folder_a_zip_or_has_several_parts(name: str, content: Any, write: Writer) -> None:
    path = write(name, content if name != "conversations.json" else f"\ufeff{json.dumps(content)}")
    assert [one.text for one in read(path)[0]] == ["I moved to Porto.", "Welcome!"]
    assert find_format(path).name == "chatgpt"


def test_branch_that_was_shown_last_is_imported(write: Writer) -> None:
    talk = conversation(message("a", "user", "First wording"), message("b", "assistant", "First reply"))
    talk["mapping"]["c"] = {"id": "c", "message": message("c", "user", "Second wording"), "parent": "root"}
    talk["mapping"]["d"] = {"id": "d", "message": message("d", "assistant", "Last reply"), "parent": "c"}
    talk["current_node"] = "d"
    found, omitted = read(write("conversations.json", [talk]))
    assert [one.text for one in found] == ["Second wording", "Last reply"]
    assert omitted == {"a message of another branch, edited or made again later": 2}


def test_without_a_current_node_the_latest_branch_is_imported(write: Writer) -> None:
    talk = conversation(message("a", "user", "Q"), message("b", "assistant", "Late", at=MADE + 99))
    talk["mapping"]["c"] = {"id": "c", "message": message("c", "assistant", "Early", at=MADE + 1), "parent": "a"}
    for current in (None, "gone", 5):
        talk["current_node"] = current
        assert [one.text for one in read(write("conversations.json", [talk]))[0]] == ["Q", "Late"]


def test_circle_of_parents_ends(write: Writer) -> None:
    talk = conversation(message("a", "user", "Q"), message("b", "assistant", "A"))
    talk["mapping"]["a"]["parent"] = "b"
    assert [one.text for one in read(write("conversations.json", [talk]))[0]] == ["Q", "A"]


@pytest.mark.parametrize(
    ("left_out", "reason"),
    [
        (message("x", "system", "You are"), "instructions or settings"),
        (message("x", "user", "About me", kind="user_editable_context"), "instructions or settings"),
        (message("x", "tool", "output"), "a call or an output of a tool"),
        (message("x", "assistant", "search(q)", recipient="browser"), "a call or an output of a tool"),
        (message("x", "assistant", "print(1)", kind="code"), "a call or an output of a tool"),
        (message("x", "assistant", "hm", kind="thoughts"), "thoughts of the model"),
        (message("x", "assistant", "hm", kind="reasoning_recap"), "thoughts of the model"),
        (message("x", "assistant", "<html>", kind="sonic_webpage"), "a web page"),
        (message("x", "assistant", "<html>", kind="tether_browsing_display"), "a web page"),
        (message("x", "user", "s", metadata={"is_visually_hidden_from_conversation": True}), "a hidden message"),
        (message("x", "critic", "s"), "a message of an unknown role"),
        (message("x", "user", " \u200b"), "a message without text"),
        (message("x", "user", "s", content=None), "a message without content or role"),
        (message("x", "user", "s", recipient=["all"]), "a call or an output of a tool"),
    ],
)
def test_message_is_left_out_with_its_reason(left_out: Any, reason: str, write: Writer) -> None:
    found, omitted = read(write("c.json", [conversation(message("a", "user", "Kept"), left_out)]))
    assert ([one.text for one in found], omitted) == (["Kept"], {reason: 1})


def test_conversation_that_is_not_to_be_remembered_is_left_out(write: Writer) -> None:
    talk = conversation(message("a", "user", "Secret"), title="s", is_do_not_remember=True)
    found, omitted = read(write("c.json", [talk, TALK]))
    assert "Secret" not in [one.text for one in found]
    assert omitted == {"a conversation that is not to be remembered": 1}


def test_parts_may_be_texts_pictures_and_transcriptions(write: Writer) -> None:
    parts = [
        {"content_type": "image_asset_pointer", "asset_pointer": "file-service://1", "width": 1},
        "What is this?",
        {"content_type": "audio_transcription", "text": "spoken words", "direction": "in"},
        {"content_type": "real_time_user_audio_video_asset_pointer"},
        7,
        None,
    ]
    talk = conversation(
        message("a", "user", *parts, kind="multimodal_text", metadata={"attachments": [{"name": "a.pdf"}]})
    )
    (one,), omitted = read(write("c.json", [talk]))
    assert one.text == "What is this?\n\nspoken words"
    assert omitted == {"a picture": 1, "a video": 1, "an attached file": 1}


def test_marks_of_sources_are_removed_and_names_kept(write: Writer) -> None:
    text = 'It is \ue200entity\ue202["city","Porto","x"]\ue201. \ue200cite\ue202turn0search1\ue201 Yes【12†source】.'
    (one,), _ = read(write("c.json", [conversation(message("a", "assistant", text))]))
    assert one.text == "It is Porto.  Yes."


def test_message_without_a_time_has_that_of_the_message_before(write: Writer) -> None:
    talk = conversation(
        message("a", "user", "A", at=None),
        message("b", "assistant", "B", at=MADE + 9),
        message("c", "user", "C", at=None),
    )
    times = [one.happened_at for one in read(write("c.json", [talk]))[0]]
    assert times == [datetime.fromtimestamp(MADE + extra, UTC) for extra in (0, 9, 9)]


def test_what_is_no_conversation_is_left_out_with_its_place(write: Writer) -> None:
    found = list(chatgpt.ChatGPTImporter().read(write("c.json", [5, TALK, {"mapping": []}])))
    assert [one.place for one in found if isinstance(one, Omission)] == ["c.json, 0", "c.json, 2"]


def test_file_that_is_cut_off_gives_what_it_has(write: Writer) -> None:
    whole = json.dumps([TALK, conversation(message("z", "user", "Lost"), title="z")])
    found, omitted = read(write("c.json", whole[:-20]))
    assert ([one.text for one in found], omitted) == (
        ["I moved to Porto.", "Welcome!"],
        {"the rest of a broken file": 1},
    )
    with pytest.raises(json_stream.BrokenJson, match=r"ends too early|is not JSON"):
        read(write("c.json", whole[:100]))


@pytest.mark.parametrize("content", [[], {}, 5, [[]], {"mapping": {}}, [{"chat_messages": []}], "", "x", b"PK\x03\x04"])
def test_file_of_another_format_is_invalid(content: Any, write: Writer) -> None:
    path = write("c.json", content)
    assert not chatgpt.ChatGPTImporter().matches(path)
    with pytest.raises(InvalidInput):
        read(path)
