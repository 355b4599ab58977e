"""The commands recall and why-not: what they print, as text and as JSON."""

import json
from typing import Any

import pytest
from click.testing import CliRunner, Result

from ecphora.cli.main import main
from ecphora.model.types import RecallOptions
from ecphora.model.validation import check_recall_options
from ecphora.models.rerankers.late_interaction import LateInteractionReranker

NEARER = "is nearer in meaning to the question"

pytestmark = [pytest.mark.usefixtures("clean_environment"), pytest.mark.medium]


def ecphora(*args: str, stdin: str | bytes | None = None) -> Result:
    return CliRunner().invoke(main, args, input=stdin)


def answer(*args: str, stdin: str | bytes | None = None, code: int = 0) -> Any:
    result = ecphora(*args, "--json", stdin=stdin)
    assert result.exit_code == code, result.output
    return json.loads(result.stdout)


@pytest.mark.usefixtures("two_memories")
@pytest.mark.usefixtures("simple_weights")
def test_recall_prints_text_date_and_reason() -> None:
    result = ecphora("recall", "Where does Ana live now, in Porto?")
    assert result.exit_code == 0
    for part in ("evidence 0.", "ms", "Ana moved to Porto.", "3 May 2026", "says “Porto”"):
        assert part in result.stdout
    assert "+" not in result.stdout
    assert "\x1b" not in result.stdout


@pytest.mark.usefixtures("two_memories")
def test_recall_says_on_stderr_why_the_built_in_reader_stood_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ECPHORA_RERANKER", "builtin")
    builtin = answer("recall", "Where does Ana live?", "--rerank", "always")["hits"]
    monkeypatch.setenv("ECPHORA_RERANKER", "tei:http://127.0.0.1:9")  # nobody listens there
    result = ecphora("recall", "Where does Ana live?", "--rerank", "always", "--json")
    assert result.exit_code == 0
    assert result.stderr.startswith("another reranker stood in: ")
    assert "127.0.0.1:9" in result.stderr
    assert [hit["id"] for hit in json.loads(result.stdout)["hits"]] == [hit["id"] for hit in builtin]


@pytest.mark.usefixtures("two_memories")
@pytest.mark.parametrize("command", [["recall", "Porto"], ["ask", "Porto"], ["why-not", "Porto", "a"]])
def test_reading_ms_is_passed_on_and_by_default_there_is_none(
    command: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    passed: list[float | None] = []

    def check(options: RecallOptions) -> RecallOptions:
        passed.append(options.rerank_ms)
        return check_recall_options(options)

    monkeypatch.setattr("ecphora.memory.check_recall_options", check)
    for options in (), ("--rerank-ms", "1000"):
        assert ecphora(*command, *options).exception is None
    assert passed == [None, 1000]
    for wrong in ("0", "-1", "soon"):
        assert ecphora(*command, "--rerank-ms", wrong).exit_code == 2


@pytest.mark.usefixtures("two_memories")
def test_recall_says_on_stderr_what_a_deadline_left_unread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ECPHORA_RERANKER", "builtin")
    monkeypatch.setattr(LateInteractionReranker, "batch_size", 6)
    for name in ("Ana", "Bo", "Cleo", "Dan", "Eve", "Flo"):
        assert ecphora("remember", f"{name} lives in Porto now.").exit_code == 0
    recall = ("recall", "Where does Ana live now, in Porto?", "--rerank", "always")
    assert ecphora(*recall).stderr == ""
    assert ecphora(*recall, "--rerank-ms", "0.001").stderr == "the deadline left 2 of 8 candidates unread\n"


@pytest.mark.usefixtures("two_memories")
@pytest.mark.usefixtures("simple_weights")
def test_recall_ranks_by_a_goal(monkeypatch: pytest.MonkeyPatch) -> None:
    question = ("recall", "What should I keep in mind?", "--explain")
    goal = ("--goal", "travel to Porto")
    found = answer(*question, *goal, code=3)
    assert "Porto" in found["hits"][0]["text"]
    assert "goal" in [part["feature"] for part in found["hits"][0]["why"]]
    assert found["confidence"] == answer(*question, code=3)["confidence"]
    assert "goal" in ecphora(*question, *goal).stdout
    assert answer("why-not", "What should I keep in mind?", found["hits"][0]["id"], *goal)["rank"] == 1
    monkeypatch.delenv("ECPHORA_WEIGHTS")
    refused = ecphora(*question, *goal, "--strategy", "dense")
    assert refused.exit_code == 1
    assert "takes no goal" in refused.stderr


def test_media_are_remembered_and_recalled() -> None:
    media = ({"reference": "cat.jpg", "caption": "A cat.", "vector": [0, 1], "model": "clip"}, {"reference": "b.wav"})
    options = [part for one in media for part in ("--media", json.dumps(one))]
    assert ecphora("remember", "--text", "The new lodger.", "--id", "cat", *options).exit_code == 0
    lines = json.dumps({"text": "At the lake.", "id": "lake", "media": [{**media[0], "vector": [1, 0]}]})
    assert ecphora("remember", "--jsonl", stdin=lines).exit_code == 0
    query = ("recall", "Where is this?", "--explain", "--media-query")
    found = ecphora(*query, '{"model": "clip", "vector": [0.1, 1]}', "--json")
    hit = json.loads(found.stdout)["hits"][0]
    assert (hit["id"], hit["media"][0]) == ("cat", {"reference": "cat.jpg", "kind": "picture", "caption": "A cat."})
    assert "media" in [part["feature"] for part in hit["why"]]
    for wrong in ("[1]", "x", '{"model": "clip"}', '{"model": "clip", "vector": [1]}', '{"mode": 1}'):
        refused = ecphora(*query, wrong)
        assert refused.exit_code in {1, 2}
        assert "Traceback" not in refused.stderr
    for wrong in ('{"reference": ""}', '{"caption": "a"}', '{"reference": "a", "vector": [1], "model": "clip"}', "3"):
        assert ecphora("remember", "--text", "Another one.", "--media", wrong).exit_code in {1, 2}
        assert ecphora("remember", "--jsonl", stdin=f'{{"text": "a", "media": [{wrong}]}}').exit_code == 1
    assert ecphora("remember", "--jsonl", stdin='{"text": "a", "media": 3}').exit_code == 1
    assert len(json.loads(ecphora("find", "--json").stdout)["memories"]) == 2


@pytest.mark.usefixtures("two_memories")
def test_recall_records_a_response_and_includes_it() -> None:
    question = "Who moved to Porto?"
    recorded = answer("recall", question, "--record-response", "Ana did.")
    assert recorded["exchange_id"].startswith("exchange:")
    assert recorded["exchanges"] == []
    found = answer("recall", question, "--include", "exchanges", "--include", "engrams")
    assert "exchange_id" not in found
    assert [(one["id"], one["response"]) for one in found["exchanges"]] == [(recorded["exchange_id"], "Ana did.")]
    assert "Porto" in [one["name"] for one in found["engrams"]]
    shown = ecphora("recall", question, "--include", "exchanges", "--include", "engrams", "--record-response", "Ana!")
    lines = [" ".join(line.split()[1:]) for line in shown.stdout.splitlines()]
    assert f"{question} → Ana did." in lines
    assert "Porto" in lines
    assert "recorded as exchange:" in shown.stderr
    assert ecphora("recall", question, "--include", "dreams").exit_code == 2


@pytest.mark.usefixtures("two_memories")
@pytest.mark.usefixtures("simple_weights")
def test_recall_explain_adds_up_to_the_score() -> None:
    found = answer("recall", "Porto")
    hit = found["hits"][0]
    assert sum(part["value"] for part in hit["why"]) == pytest.approx(hit["score"], abs=1e-4)
    assert hit["reason"] == f"says “Porto”; {NEARER}"
    shown = ecphora("recall", "Porto", "--limit", "1", "--explain").stdout
    values = [float(word) for word in shown.split() if word[0] in "+-" and word[1:2].isdigit()]
    score = next(float(line.split()[1]) for line in shown.splitlines() if line.split()[:1] == ["score"])
    assert round(sum(values), 3) == score
    assert "says “Porto”" in shown
    assert "id a" in shown
    assert "says" not in ecphora("recall", "Porto", "--no-explain").stdout


@pytest.mark.usefixtures("two_memories")
def test_recall_prints_the_prior_only_with_explain() -> None:
    explained = ecphora("recall", "Porto", "--limit", "1", "--explain").stdout.splitlines()
    labels = [line.split()[0] for line in explained if " +" in line or " -" in line or "score" in line]
    assert labels[-2:] == ["prior", "score"]
    assert not {"prior", "score", "+"} & set(ecphora("recall", "Porto").stdout.split())


@pytest.mark.usefixtures("two_memories")
def test_recall_applies_filters_and_times() -> None:
    def ids(*options: str) -> set[str]:
        result = ecphora("recall", "Porto rain Lisbon", "--json", "--no-log-access", *options)
        return {hit["id"] for hit in json.loads(result.stdout)["hits"]}

    assert ids() == {"a", "b"}
    assert ids("--speaker", "Bo") == {"b"}
    assert ids("--session", "s") == {"a"}
    assert ids("--metadata", "n=1") == {"b"}
    assert ids("--metadata", 'n="1"') == set()
    assert ids("--where", '{"n": {"$gte": 1}}') == {"b"}
    assert ids("--where", '{"n": {"$gte": 2}}') == set()
    assert ids("--where", '{"n": {"$gte": 1}}', "--metadata", "n=2") == set()
    assert ids("--where", "{}") == {"a", "b"}
    assert ids("--min-trust", "1") == {"a", "b"}
    assert ids("--after", "2026-05-04") == {"b"}
    assert ids("--before", "2026-05-04") == {"a"}
    assert ids("--as-of", "2026-05-03") == {"a"}
    assert ids("--known-at", "2020-01-01") == set()
    assert ids("--limit", "1", "--strategy", "recency") == {"b"}
    assert ids("--budget", "1") == set()


@pytest.mark.parametrize(
    ("conditions", "code", "message"),
    [
        ('{"n": {"$gr": 1}}', 1, "'$gr' is no operator for a value; give one of $eq"),
        ("{n: 1}", 2, "this is no JSON"),
        ("[1]", 2, "give a JSON object"),
    ],
)
@pytest.mark.usefixtures("two_memories")
def test_recall_rejects_wrong_conditions(conditions: str, code: int, message: str) -> None:
    result = ecphora("recall", "Porto", "--where", conditions)
    assert result.exit_code == code
    assert message in " ".join(result.stderr.split())


@pytest.mark.usefixtures("two_memories")
def test_recall_without_evidence_exits_with_3() -> None:
    assert answer("recall", "Porto", "--known-at", "2020-01-01", code=3)["evidence"] == "none"
    assert "nothing came back" in ecphora("recall", "Porto", "--known-at", "2020-01-01").stdout


@pytest.mark.parametrize("width", ["20", "40", "59", "75", "200"])
@pytest.mark.usefixtures("two_memories")
def test_output_fits_any_terminal_width(width: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", width)
    result = ecphora("recall", "Porto", "--explain")
    assert "Porto." in result.stdout
    assert max(map(len, result.stdout.splitlines())) <= int(width)
    why_not = ecphora("why-not", "Porto", "b", "--limit", "1").stdout
    assert max(map(len, why_not.splitlines())) <= int(width)


def test_recall_prints_no_control_characters() -> None:
    ecphora("remember", "Porto \x1b[2J\x07 \u202e [bold]tag[/bold]", "--speaker", "\x1b[31mAna")
    shown = ecphora("recall", "Porto").stdout
    assert not {"\x1b", "\x07", "\u202e"} & set(shown)
    assert "[bold]tag[/bold]" in shown


@pytest.mark.usefixtures("simple_weights")
def test_reason_is_the_same_in_text_and_json() -> None:
    texts = ("We went to the bakery.", "And?", "It was closed.", "It rained all day.")
    first = answer("remember", texts[0], "--session", "s", "--happened-at", "2026-05-03")["ids"][0]
    for text in texts[1:]:
        ecphora("remember", text, "--session", "s", "--happened-at", "2026-05-03")
    question = "Was the bakery open?"
    hits = answer("recall", question, "--no-log-access")["hits"]
    reason = next(hit["reason"] for hit in hits if hit["text"] == "And?")
    assert reason == f"comes right after {first[:8]}, which says “bakery”"
    assert all(hit["why"] for hit in hits)
    shown = [ecphora("recall", question, "--no-log-access", *explain).stdout for explain in ((), ("--explain",))]
    assert all(reason in " ".join(text.split()) for text in shown)
    assert first[:8] in shown[0].split()
    why_not = answer("why-not", question, hits[-1]["id"], "--limit", "1")
    assert why_not["reason"] in why_not["sentence"]
    assert "says “bakery”" in why_not["reason"]


@pytest.mark.usefixtures("two_memories")
@pytest.mark.usefixtures("simple_weights")
def test_why_not_prints_the_cause_and_the_remedy() -> None:
    result = ecphora("why-not", "Porto", "b", "--limit", "1")
    assert result.exit_code == 0
    sentence = " ".join(result.stdout.split())
    assert sentence == f"It came 2nd of 2. What the 1st has beyond it: says “Porto”; {NEARER}. Ask with a limit of 2."
    explained = ecphora("why-not", "Porto", "b", "--limit", "1", "--explain").stdout
    assert " ".join(explained.split()).startswith(sentence)
    assert "━━━" in explained
    assert "prior" not in explained
    assert ecphora("why-not", "Porto", "b", "--limit", "2").stdout == "It came back, 2nd of 2.\n"


@pytest.mark.usefixtures("two_memories")
def test_why_not_takes_the_options_of_recall() -> None:
    def reason(*options: str) -> str:
        return str(answer("why-not", "Porto rain Lisbon", "a", *options)["miss_reason"])

    assert reason() == "none"
    assert reason("--budget", "1") == "budget"
    assert reason("--known-at", "2020-01-01") == "filter"
    found = answer("why-not", "Porto", "a", "--speaker", "Bo", "--as-of", "2026-05-01")
    assert found["failed_filters"] == ["speakers", "as_of"]
    assert reason("--limit", "1", "--strategy", "recency") == "below_cutoff"
    assert ecphora("why-not", "Porto").exit_code == 2
    assert ecphora("why-not", "Porto", "a", "--limit", "0").exit_code == 2


@pytest.mark.usefixtures("two_memories")
def test_why_not_json_has_all_fields_and_logs_no_access() -> None:
    found = answer("why-not", "Porto", "b", "--limit", "1")
    assert set(found) == {
        "id", "miss_reason", "rank", "candidates", "score", "cutoff_score", "cutoff_rank", "reason", "required_budget",
        "failed_filters", "shortfall", "sentence",
    }  # fmt: skip
    assert (found["id"], found["miss_reason"], found["required_budget"]) == ("b", "below_cutoff", None)
    assert (found["rank"], found["candidates"]) == (2, 2)
    assert found["cutoff_score"] > found["score"]
    assert all(part["value"] > 0 and part["feature"] for part in found["shortfall"])
    assert [one["kind"] for one in answer("history", "b")["accesses"]] == ["encoded"]


@pytest.mark.usefixtures("two_memories")
def test_why_not_of_an_unknown_id_exits_with_3() -> None:
    result = ecphora("why-not", "Porto", "no\x1bbody")
    assert result.exit_code == 3
    assert result.stdout.startswith("There is no memory 'no")
    assert "\x1b" not in result.stdout
    assert answer("why-not", "Porto", "nobody", code=3)["miss_reason"] == "not_found"
