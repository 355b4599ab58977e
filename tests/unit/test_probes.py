"""The probes are what they claim to be: known answers, look-alikes, questions without answer, two halves apart."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from datetime import date, timedelta
from itertools import combinations
from pathlib import Path

import pytest

from ecphora.errors import InvalidInput
from ecphora_bench.probes.loading import CHECKOUT, load_maker
from ecphora_bench.probes.probe import Form, Half, Kind, Probe, ProbeMemory, spread, worlds

pytestmark = pytest.mark.medium

LISTS = CHECKOUT / "benchmarks" / "probes" / "lists"
DAY_SORTS = {"date", "told", "yesterday", "days ago", "weekday"}
ISO_DAY = re.compile(r"2\d{3}-\d\d-\d\d")


@pytest.fixture(scope="module")
def probes() -> list[Probe]:
    make = load_maker()
    return [probe for half in Half for probe in make(Kind, half)]


def memories(probe: Probe) -> dict[str, ProbeMemory]:
    return {memory.id: memory for memory in probe.memories}


def identifier(probe: Probe) -> str:
    """The identifier that a question names: its longest word with a digit or a mark of code."""
    words = [word.strip("?,`'\"(") for word in probe.question.replace(", what", " what").split()]
    marked = [word for word in words if re.search(r"\d|[/@_:$]|\w[.-]\w", word) and not word.endswith("'s")]
    return max(marked, key=len)


def holders(probe: Probe, text: str) -> set[str]:
    pattern = re.compile(rf"(?<![\w/]){re.escape(text)}(?![\w/]|[.-]\w)")
    return {memory.id for memory in probe.memories if pattern.search(memory.text)}


def test_every_kind_has_enough_questions_in_each_half_form_and_world(probes: list[Probe]) -> None:
    for half in Half:
        for kind in Kind:
            some = [probe for probe in probes if (probe.half, probe.kind) == (half, kind)]
            assert len(some) >= 200, (half, kind)
            assert {probe.form for probe in some} == set(Form)
            assert sum(not probe.is_answerable for probe in some) >= 40
            assert min(len(probe.memories) for probe in some) >= 150
    days = {(probe.half, probe.language) for probe in probes if probe.kind is Kind.DAYS}
    assert len(days) == 2 * 7


def test_seed_alone_decides(probes: list[Probe]) -> None:
    make = load_maker()
    assert [probe for half in Half for probe in make(Kind, half)] == probes
    assert make([Kind.WHO], Half.TEST, seed=1) != make([Kind.WHO], Half.TEST)


@pytest.mark.slow
def test_order_of_sets_does_not_matter() -> None:
    code = (
        "from ecphora_bench.probes.loading import load_maker; from ecphora_bench.probes.probe import Half, Kind; "
        "print([(p.question, sorted(p.gold), p.memories) for p in load_maker()(Kind, Half.TEST, worlds=1)])"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(CHECKOUT / "src")},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(outputs) == 1


def test_ids_are_unique_and_gold_exists(probes: list[Probe]) -> None:
    assert len({probe.id for probe in probes}) == len(probes)
    for probe in probes:
        by_id = memories(probe)
        assert len(by_id) == len(probe.memories) == len({memory.text for memory in probe.memories}), probe.world
        assert probe.gold <= by_id.keys()


def test_forms_have_the_fields_of_their_form(probes: list[Probe]) -> None:
    for some in worlds(probes).values():
        form, told = some[0].form, some[0].memories
        assert all((memory.time is None) == (form is Form.STRINGS) for memory in told)
        assert all((memory.speaker is None) == (form in {Form.STRINGS, Form.MCP}) for memory in told)
        assert all(memory.time is None or memory.time <= probe.now for probe in some for memory in told)
        if form is Form.MCP and some[0].language == "en":
            own = [re.sub(r'"[^"]*"', "", memory.text) for memory in told]
            assert [text for text in own if re.search(r"\b(I|I'm|my|My)\b", text) and "note: " not in text] == [
                text for text in own if text.startswith("The user reports: ") and re.search(r"\b(I|my|My)\b", text)
            ]


def test_probes_without_answer_resemble_one_that_has_it(probes: list[Probe]) -> None:
    by_id = {probe.id: probe for probe in probes}
    for probe in probes:
        assert probe.is_answerable == (probe.resembles is None)
        if probe.resembles is not None:
            answerable = by_id[probe.resembles]
            assert answerable.is_answerable
            assert (answerable.kind, answerable.form, answerable.half) == (probe.kind, probe.form, probe.half)


# ---- the halves


def sections(path: Path) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for line in path.read_text("utf-8").splitlines():
        if line.startswith("[") and line.endswith("]"):
            assert line[1:-1] not in found, f"{path.name} has {line} twice"
            found[line[1:-1]] = set()
        elif line.strip() and not line.startswith("# "):
            entries = line.split(" | ")
            current = found[next(reversed(found))]
            assert not current & set(entries), f"{path.name}: {entries} stand twice"
            current.update(entries)
    return found


@pytest.mark.parametrize("path", sorted(LISTS.glob("*.txt")), ids=lambda path: path.name)
def test_halves_share_no_entry(path: Path) -> None:
    found = sections(path)
    halves = {half: {name: entries for name, entries in found.items() if name.endswith(f" {half}")} for half in Half}
    assert halves[Half.TEST]
    for name, entries in halves[Half.LEARN].items():
        other = name.removesuffix(Half.LEARN) + Half.TEST
        assert not entries & halves[Half.TEST].get(other, set()), name


def test_halves_share_no_text(probes: list[Probe]) -> None:
    texts = {
        half: {memory.text for probe in probes if probe.half is half for memory in probe.memories} for half in Half
    }
    assert not texts[Half.LEARN] & texts[Half.TEST]
    questions = {half: {probe.question for probe in probes if probe.half is half} for half in Half}
    assert not questions[Half.LEARN] & questions[Half.TEST]


def test_some_sorts_are_in_one_half_only(probes: list[Probe]) -> None:
    for kind in (Kind.IDENTIFIERS, Kind.WHO):
        sorts = {half: {probe.sort for probe in probes if (probe.kind, probe.half) == (kind, half)} for half in Half}
        assert sorts[Half.TEST] - sorts[Half.LEARN], kind


# ---- answers


def identifier_probes(probes: list[Probe]) -> Iterator[Probe]:
    for probe in probes:
        if probe.kind is Kind.IDENTIFIERS and probe.sort not in {"amount", "phone", "flight", "order", "code"}:
            yield probe


def test_identifiers_stand_in_their_memory_only_and_those_without_answer_in_none(probes: list[Probe]) -> None:
    checked = 0
    for probe in identifier_probes(probes):
        assert holders(probe, identifier(probe)) == probe.gold, probe
        checked += 1
    assert checked > 300


def test_phone_numbers_are_asked_in_another_notation(probes: list[Probe]) -> None:
    asked = [probe for probe in probes if probe.sort == "phone"]
    for probe in asked:
        end = re.sub(r"\D", "", probe.question)[-7:]
        assert {memory.id for memory in probe.memories if end in re.sub(r"\D", "", memory.text)} == probe.gold
        assert not any(probe.question.split("from ")[-1].rstrip("?") in memory.text for memory in probe.memories)
    assert len(asked) > 20


def test_look_alikes_have_the_shape_of_the_asked(probes: list[Probe]) -> None:
    """The memories of a sort, two in a world, name identifiers of equal length unless a word differs."""
    for some in worlds([probe for probe in probes if probe.sort in {"port", "hash", "uuid", "payload", "ip"}]).values():
        for sort in {probe.sort for probe in some}:
            names = [identifier(probe) for probe in some if probe.sort == sort]
            assert len(set(names)) == len(names) >= 2
            assert len({len(name) for name in names}) == 1
            for one, other in combinations(names, 2):
                assert sum(a != b for a, b in zip(one, other, strict=True)) <= 4


def test_days_have_all_their_memories_as_gold(probes: list[Probe]) -> None:
    asked = [probe for probe in probes if probe.kind is Kind.DAYS and probe.sort in DAY_SORTS and probe.gold]
    for probe in asked:
        if probe.form is Form.STRINGS:
            assert len(probe.gold) == 1
            continue
        days = {memory.time.date() for memory in probe.memories if memory.id in probe.gold and memory.time}
        assert len(days) == 1
        assert {memory.id for memory in probe.memories if memory.time and memory.time.date() in days} == probe.gold
    assert len(asked) > 200


def test_day_in_figures_is_that_of_the_gold(probes: list[Probe]) -> None:
    """A day without answer has no memory; one that was told later has that of the next day."""
    checked = 0
    for probe in probes:
        found = ISO_DAY.search(probe.question)
        if found is None or probe.form is Form.STRINGS or probe.kind not in {Kind.DAYS, Kind.MEASUREMENTS}:
            continue
        if probe.sort in {"topic", "not measured"} and not probe.gold:
            continue
        day = date.fromisoformat(found[0]) + timedelta(days=probe.sort == "told later")
        on_day = {memory.id for memory in probe.memories if memory.time and memory.time.date() == day}
        assert probe.gold <= on_day
        assert probe.kind is Kind.MEASUREMENTS or on_day == probe.gold
        checked += 1
    assert checked > 30


def test_newest_of_changed_facts_is_right(probes: list[Probe]) -> None:
    for probe in probes:
        if probe.kind is Kind.UPDATES and probe.gold and probe.form is not Form.STRINGS:
            (gold,) = probe.gold
            time = memories(probe)[gold].time
            assert time is not None
            assert probe.sort == "changed" or (probe.now - time).days < 50


def shape(text: str) -> str:
    return re.sub(r"\d+", "#", text).removesuffix(" Again.")


def test_first_and_latest_measurements_are_first_and_latest(probes: list[Probe]) -> None:
    """The entries of a series have the shapes of those that are asked for."""
    timed = [probe for probe in probes if probe.kind is Kind.MEASUREMENTS and probe.form is not Form.STRINGS]
    for some in worlds(timed).values():
        asked = [probe for probe in some if probe.gold]
        assert [probe.sort for probe in asked] == ["latest", "first", "dated", "dated", "dated"] * (len(asked) // 5)
        for start in range(0, len(asked), 5):
            series = [memories(probe)[min(probe.gold)] for probe in asked[start : start + 5]]
            shapes = {shape(memory.text) for memory in series}
            entries = [memory for memory in some[0].memories if shape(memory.text) in shapes]
            assert series[0] == entries[-1]
            assert series[1] == entries[0]


# ---- loading


def test_folder_without_probes_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="--probes"):
        load_maker(tmp_path)


def test_spread_keeps_the_order_and_takes_from_everywhere(probes: list[Probe]) -> None:
    some = spread(probes, 40)
    assert len(some) == len({probe.id for probe in some}) == 40
    assert [probe.id for probe in probes if probe in some] == [probe.id for probe in some]
    assert {probe.kind for probe in some} == set(Kind)
    assert spread(probes, None) == probes == spread(probes, len(probes) + 1)
