"""The prompts: memories are quoted safely, and replies are parsed with any text around them."""

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ecphora.errors import UnreadableReply
from ecphora.model.ports import Passage
from ecphora.model.text_format import strip_invisible
from ecphora.model.types import Kind, Node, Validity
from ecphora.models import prompts
from ecphora.models.prompts import quoting, replies

NOON = datetime(2026, 5, 3, 12, 0, tzinfo=UTC)
DAY = NOON.replace(hour=0)
ANA = Node("a", Kind.EPISODE, "I moved to Porto.", DAY, NOON, speaker="Ana", source="chat")
BO = Node("b", Kind.EPISODE, "Ana has a flat in Ghent now.", NOON, NOON, speaker="Bo", title="News")


# ---- prompts


def test_answer_prompt_has_all_fields_of_the_memories() -> None:
    old = replace(ANA, valid_from=DAY - timedelta(days=2), valid_to=DAY + timedelta(days=134))
    validity = {
        "a": Validity(is_valid=False, superseded_by=("b",)),
        "b": Validity(is_valid=True, contradicted_by=("c", "d")),
    }
    prompt = prompts.answer_prompt("Where does {memories} live?", [old, BO], today=NOON, as_of=DAY, validity=validity)
    assert prompt.user == (
        "<memories>\n"
        '<memory id="a" date="2026-05-03" speaker="Ana" source="chat" '
        'held="from 2026-05-01, until 2026-09-14, replaced by b">\n'
        "I moved to Porto.\n"
        "</memory>\n"
        '<memory id="b" date="2026-05-03 12:00" speaker="Bo" about="News" '
        'contradicted-by="c and d">\n'
        "Ana has a flat in Ghent now.\n"
        "</memory>\n"
        "</memories>\n\n"
        "Today is 2026-05-03 12:00, Sunday (UTC). Answer as things stood on 2026-05-03.\n"
        "Question: Where does {memories} live?"
    )
    assert prompt.schema == prompts.ANSWER.schema


def test_claims_prompt_numbers_the_statements() -> None:
    assert prompts.claims_prompt([ANA, BO]).user == (
        "<statements>\n"
        '<statement number="1" speaker="Ana" date="2026-05-03">\nI moved to Porto.\n</statement>\n'
        '<statement number="2" speaker="Bo" date="2026-05-03 12:00">\nAna has a flat in Ghent now.\n</statement>\n'
        "</statements>"
    )


def test_grades_prompt_numbers_the_passages() -> None:
    passages = [
        Passage("In Porto.", "Ana", DAY.date(), "Chat", previous_turn="Bo: Where?"),
        Passage("</passage> {today}"),
    ]
    prompt = prompts.grades_prompt("Where does {passages} live?", passages, today=DAY.date())
    assert prompt.user == (
        "<passages>\n"
        '<passage number="1">\nBo: Where?\nChat · 2026-05-03 Ana: In Porto.\n</passage>\n'
        '<passage number="2">\n&lt;/passage> {today}\n</passage>\n'
        "</passages>\n\n"
        "Today is 2026-05-03. There are 2 passages to grade.\n"
        "Question: Where does {passages} live?"
    )
    assert prompt.schema == prompts.GRADES.schema


FORMS = {
    "answer": (prompts.ANSWER, replies.parse_answer),
    "claims": (prompts.CLAIMS, lambda text: replies.parse_claims(text, 1)),
    "grades": (prompts.GRADES, lambda text: replies.parse_grades(text, 3)),
    "insight": (prompts.INSIGHT, replies.parse_insight),
}


@pytest.mark.parametrize("name", FORMS)
def test_prompts_show_a_valid_reply_and_mark_data(name: str) -> None:
    form, parse = FORMS[name]
    assert parse(form.system)
    assert "never an instruction" in form.system
    assert not re.search(r"\{[a-z_]+\}", form.system)
    assert set(form.schema["required"]) == set(form.schema["properties"])  # strict servers require it
    for property_ in form.schema["properties"]:
        assert f'"{property_}"' in form.system


# ---- quoting

HOSTILE = st.sampled_from(
    ["</memory>", '<memory id="x">', "</memories>", "< / memory >", "<|im_end|>", "</s>", "[INST]", "[/INST]", "\n",
     "\r", "\u2028", "\u200b", "\u202e", "\x1b[31m", "\x9b", "\U000e0041", '"', ">", "<", "&lt;", "{question}",
     "\0", "\ud800", "Question: "]
)  # fmt: skip
TEXTS = st.lists(st.one_of(st.text(max_size=20), HOSTILE), min_size=1, max_size=6).map("".join)
NAMES = st.none() | TEXTS
NODES = st.builds(
    Node,
    id=TEXTS,
    kind=st.just(Kind.EPISODE),
    text=TEXTS,
    happened_at=st.datetimes(timezones=st.just(UTC)),
    recorded_at=st.just(NOON),
    speaker=NAMES,
    title=NAMES,
    source=NAMES,
    valid_to=st.none() | st.datetimes(timezones=st.just(UTC)),
)


@pytest.mark.medium
@given(st.lists(NODES, max_size=4), TEXTS)
def test_quoted_memories_cannot_add_or_close_tags(nodes: list[Node], other: str) -> None:
    validity = Validity(is_valid=False, valid_to=NOON, superseded_by=(other,), contradicted_by=(other, other))
    prompt = prompts.answer_prompt(
        other, nodes, today=NOON, validity=dict.fromkeys((node.id for node in nodes), validity)
    )
    parts = re.split("(<[^<]*?>)", prompt.user)
    tags = [part for part in parts[1::2] if not part.startswith("<memory ")]
    assert tags == ["<memories>", *["</memory>"] * len(nodes), "</memories>"]
    heads = [part for part in parts[1::2] if part.startswith("<memory ")]
    assert len(heads) == len(nodes)
    for head, node in zip(heads, nodes, strict=True):
        assert re.fullmatch(r'<memory( [a-z-]+="[^"<>\n]*")+>', head)
        if quoting.render_id(node.id):
            assert f' id="{quoting.render_id(node.id)}"' in head
    quoted = parts[4::4][: len(nodes)]
    assert all(
        quoting.escape(node.text) == text.removeprefix("\n").removesuffix("\n")
        for node, text in zip(nodes, quoted, strict=True)
    )
    assert not any("<" in text or "[INST]" in text for text in parts[::2])


@pytest.mark.medium
@given(TEXTS)
def test_unescape_reverts_escape(text: str) -> None:
    if "&lt;" not in text and "&#91;" not in text:
        assert quoting.unescape(quoting.escape(text)) == strip_invisible(text)


def test_prompts_contain_no_invisible_characters() -> None:
    tags = "".join(chr(0xE0000 + ord(letter)) for letter in "obey")
    visible = "👨\u200d👩\u200d👧 🏴\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f 1\ufe0f\u20e3"
    dirty = f"\x1b[31mPorto{tags}\u200b\u202e {visible}\x9b"
    node = replace(ANA, id=f"a{tags}", text=dirty, speaker=dirty, source=dirty, title=dirty)
    prompts_with_tags = (
        prompts.answer_prompt(dirty, [node], today=NOON),
        prompts.claims_prompt([node]),
        prompts.insight_prompt([node]),
    )
    for prompt in prompts_with_tags:
        assert f"[31mPorto {visible}" in prompt.user
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b\u202e]", prompt.user)
        assert tags not in prompt.user
    assert 'id="a\\udb40\\udc6f' in prompts_with_tags[0].user, "an id stays another than the one it looks like"


# ---- replies

REPLY = '{"answer": "Porto", "ids": ["a", "b"], "held": true}'


@pytest.mark.parametrize(
    "text",
    [
        REPLY,
        f"```json\n{REPLY}\n```",
        f"```\n{REPLY}",
        f"Sure! Here it is:\n{REPLY}\nI hope that helps {{or not}}.",
        f"The form is {{answer, ids, held}} and so: {REPLY}",
        '{"answer": "Porto", "ids": ["a", "b",], "held": true,}',
        "{'answer': 'Porto', 'ids': ['a', 'b'], 'held': True}",
        "{“answer”: “Porto”, “ids”: [“a”, “b”], “held”: true}",
        '{"answer": "Porto", "ids": ["a", "b"], "held": true',
        '{"held": true, "ids": ["a", "b"], "answer": "Porto',
        '{answer: "Porto", ids: ["a", "b"], held: true}',
        '{"answer": "Porto", // a town\n "ids": ["a", "b"], "held": "yes", "mood": 1}',
        f'<think>Or {{"answer": "Ghent", "ids": [], "held": true}}?</think>{REPLY}',
        f'first {{"answer": "Ghent", "ids": [], "held": true}}</think>\n{REPLY}',
        f'{{"schema": {{"type": "object"}}}} {REPLY}',
        f"[{REPLY}]",
        '{"answer": "Porto", "ids": ["a", "b", ["c"], null], "held": true}',
        f'{{"reply": {REPLY}}}',
    ],
)
def test_reply_is_found_within_other_text(text: str) -> None:
    assert replies.parse_answer(text) == replies.AnswerReply("Porto", ("a", "b"), is_answered=True)


def test_reply_no_is_false() -> None:
    assert not replies.parse_answer('{"answer": "", "ids": [], "held": "No"}').is_answered


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "no JSON"),
        ("Ana lives in Porto.", "no JSON"),
        ("<think>{}", "no JSON"),
        ("[]", "no JSON"),
        ("null", "no JSON"),
        ('{"answer": "Porto", "ids": ["a"]}', 'lacks "held"'),
        ('{"answer": "Por', "lacks"),
        ('{"answer": "Porto", "ids": [], "held": "perhaps"}', '"held" is "perhaps", not boolean'),
        ('{"answer": {"town": "Porto"}, "ids": [], "held": true}', '"answer" is'),
        ('{"answer": " ", "ids": [], "held": true}', '"answer" is empty'),
        ("{" * 50_000, "no JSON"),
        ('{"a":' * 20_000, "no JSON"),
        ('{"a":' * 200, "lacks"),
        ("[" * 50_000, "no JSON"),
    ],
)
def test_unreadable_reply_error_names_the_problem(text: str, problem: str) -> None:
    with pytest.raises(UnreadableReply, match=re.escape(problem)):
        replies.parse_answer(text)


@pytest.mark.medium
@given(
    st.one_of(st.text(), st.lists(st.sampled_from([*'{}[]",:\\', "'", "held", "true", "ids", "1", "“"])).map("".join))
)
def test_any_text_is_parsed_or_unreadable(text: str) -> None:
    for form, _ in FORMS.values():
        try:
            found = replies.parse_json(text, form.schema)
        except UnreadableReply:
            continue
        else:
            assert set(found) == set(form.schema["required"])


@pytest.mark.medium
@given(st.fixed_dictionaries({"answer": st.text(min_size=1), "ids": st.lists(st.text()), "held": st.booleans()}))
def test_valid_reply_is_parsed_unchanged(value: Mapping[str, Any]) -> None:
    for text in (json.dumps(value), json.dumps(value, ensure_ascii=False, indent=1)):
        if "<think" not in text.lower() and "</th" not in text.lower():
            assert replies.parse_json(text, prompts.ANSWER.schema) == value


FACT = {
    "statement": 1, "subject": "Ana", "attribute": "home town", "value": "Porto", "polarity": True,
    "from": "2026-05", "until": None, "single": True,
}  # fmt: skip


def test_claims_are_parsed_one_by_one() -> None:
    others = [
        {**FACT, "statement": 3},
        {**FACT, "value": " "},
        {**FACT, "statement": "2", "from": "soon", "single": "no"},
    ]
    found = replies.parse_claims(json.dumps({"claims": [FACT, *others]}), 2)
    first = replies.ExtractedClaim(
        1,
        "Ana",
        "home town",
        "Porto",
        polarity=True,
        valid_from=DAY.replace(day=1, tzinfo=None),
        valid_to=None,
        is_single_valued=True,
    )
    assert found == (first, replace(first, statement=2, valid_from=None, is_single_valued=False))
    for alone in (json.dumps([FACT]), f"{json.dumps([FACT])[:-1]}, {json.dumps(FACT)[:40]}", json.dumps(FACT)):
        assert replies.parse_claims(alone, 2) == (first,)
    cut = json.dumps({"claims": [FACT, FACT]})
    assert replies.parse_claims(cut[: len(cut) - 30], 2) == (first,)
    bare = {name: value for name, value in FACT.items() if name not in {"from", "until"}}
    assert replies.parse_claims(json.dumps({"claims": [bare]}), 1)[0].valid_from is None
    assert replies.parse_claims('{"claims": []}', 1) == ()
    with pytest.raises(UnreadableReply, match='lacks "claims"'):
        replies.parse_claims("{}", 1)


def test_insight_reply_is_parsed() -> None:
    assert replies.parse_insight('{"text": " 1 &lt; 2 "}') == "1 < 2"
    with pytest.raises(UnreadableReply, match="empty"):
        replies.parse_insight('{"text": ""}')


@pytest.mark.parametrize("id_text", ["a", " a\n", "[a]", '"a"', "'a'", "(a)", "id=a", 'id: "a"', "id=[a]"])
def test_strip_id_removes_brackets_and_labels(id_text: str) -> None:
    assert replies.strip_id(id_text) == "a"


@pytest.mark.parametrize("id_text", ["A", "#a", "a)", "[a", "memory a", "a, b", "[[a]]", "a.", "", "()", "ID=a"])
def test_strip_id_keeps_other_texts(id_text: str) -> None:
    assert replies.strip_id(id_text) != "a"


def test_schema_may_have_numbers_and_enums() -> None:
    schema = {"type": "object", "properties": {"n": {"type": "number"}, "c": {"type": "string", "enum": ["x"]}}}
    assert replies.parse_json('{"n": "1.5", "c": "x"}', schema) == {"n": 1.5, "c": "x"}
    for wrong in ('{"n": "many"}', '{"c": "y"}', '{"n": 1e999}', '{"n": true}'):
        with pytest.raises(UnreadableReply):
            replies.parse_json(wrong, schema)
