"""An import changes only what it brings: whatever its file says of other memories is left out, and counted."""

import io
import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ecphora import Episode, HashingEmbedder, Memory
from ecphora.errors import InvalidRecord
from ecphora.maintenance.interchange import jsonl
from ecphora.model.ids import ENTITY_PREFIX
from ecphora.model.types import Link
from ecphora.testing import FakeClock

WHEN = "2026-05-03T00:00:00+00:00"
LATER = "2026-05-04T00:00:00+00:00"
VICTIM, ANA, BEN = "victim", f"{ENTITY_PREFIX}ana", f"{ENTITY_PREFIX}ben"


def open_memory(path: Path) -> Memory:
    return Memory(path, embedder=HashingEmbedder(64), update_scorer=None, clock=FakeClock())


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    """A memory of full trust, which a file may know by its id."""
    with open_memory(tmp_path / "m.db") as opened:
        opened.remember([Episode("Ana lives in Lisbon.", VICTIM, happened_at="2026-01-01"), "Ana met Ben."])
        yield opened


def node(id_: str, kind: str = "episode", text: str = "Ana lives in Rome.") -> Mapping[str, Any]:
    fields = {"id": id_, "kind": kind, "text": text, "happened_at": LATER, "recorded_at": LATER, "trust": 0.0}
    return {"node": fields}


def edge(src: str, dst: str, link: Link, **more: Any) -> Mapping[str, Any]:
    return {"edge": {"src": src, "dst": dst, "link": link.value, **more}}


def lines_of(*records: Mapping[str, Any]) -> list[str]:
    return [json.dumps(record) + "\n" for record in ({"ecphora": 2}, *records)]


def exported(memory: Memory) -> list[str]:
    out = io.StringIO()
    memory.export(out, vectors=True)
    return out.getvalue().splitlines()[1:]


ATTACKS: Mapping[str, Callable[[str], tuple[Mapping[str, Any], ...]]] = {
    "end": lambda id_: ({"validity_end": {"node": id_, "valid_to": WHEN, "recorded_at": WHEN}},),
    "archive": lambda id_: ({"access": {"node": id_, "at": WHEN, "kind": "archived"}},),
    "tombstone": lambda id_: ({"tombstone": {"node": id_, "digest": "00" * 16}},),
    "supersede": lambda id_: (edge("own", id_, Link.SUPERSEDES),),
    "be superseded": lambda id_: (edge(id_, "own", Link.SUPERSEDES),),
    "contradict": lambda id_: (edge("own", id_, Link.CONTRADICTS),),
    "associate": lambda id_: (edge("own", id_, Link.ASSOCIATION),),
    "be its provenance": lambda id_: (edge("own", "own", Link.ASSOCIATION, provenance=id_),),
    "insight": lambda id_: (node("insight:x", "insight"), edge("insight:x", id_, Link.DERIVED_FROM)),
    "insight of insight": lambda id_: (
        node("insight:x", "insight"),
        node("insight:y", "insight"),
        edge("insight:x", id_, Link.DERIVED_FROM),
        edge("insight:y", "insight:x", Link.DERIVED_FROM),
    ),
    "question": lambda id_: (node("question:x", "question"), edge("question:x", id_, Link.ANSWERED_BY)),
    "claim": lambda id_: (node("claim:x", "claim"), edge("claim:x", id_, Link.CLAIMED_IN)),
    "exchange": lambda id_: (
        {"node": {**node("exchange:x", "exchange")["node"], "title": "Who?"}},
        edge("exchange:x", id_, Link.BASED_ON),
    ),
    "vector": lambda id_: ({"vector": {"node": id_, "model": "m", "value": "ADw="}},),
}


@pytest.mark.medium
@pytest.mark.parametrize("attack", ATTACKS)
def test_import_leaves_other_memories_as_they_are(memory: Memory, attack: str) -> None:
    before = exported(memory)
    records = ATTACKS[attack](VICTIM)
    count = memory.import_(lines_of(node("own"), *records))
    assert (count.nodes, count.skipped, count.tombstones) == (1, len(records), 0)
    assert "change_existing" in count.notices[0]
    assert [line for line in exported(memory) if '"own"' not in line] == before
    memory.maintenance.undo()
    assert exported(memory) == before


@pytest.mark.parametrize("attack", ATTACKS)
def test_import_does_not_tell_whether_an_id_exists(memory: Memory, attack: str) -> None:
    """All that a file says of an id that it does not have is counted alike, in the result and in its notice."""
    found = [memory.import_(lines_of(*ATTACKS[attack](id_))) for id_ in (VICTIM, "nobody")]
    assert found[0] == found[1]


@pytest.mark.medium
@pytest.mark.parametrize("existing", [(ANA, BEN), (ANA,)])
def test_import_joins_no_names_that_were_there_before(memory: Memory, existing: tuple[str, ...]) -> None:
    """A memory of the file may mention a name that exists, and say so alone."""
    names = [node(ANA, "entity", "Ana"), node(BEN if BEN in existing else f"{ENTITY_PREFIX}eve", "entity", "Ben")]
    other = names[1]["node"]["id"]
    mentions = [edge("own", ANA, Link.MENTIONS), edge("own", other, Link.MENTIONS)]
    count = memory.import_(lines_of(node("own"), *names, *mentions, edge(ANA, other, Link.ALIAS, provenance="own")))
    assert (count.edges, count.skipped) == (2, 1)


@pytest.mark.medium
@pytest.mark.parametrize("attack", ATTACKS.keys() - {"vector", "tombstone", "be its provenance"})
def test_import_changes_existing_memories_if_told_to(memory: Memory, attack: str) -> None:
    """As a restored export must; one undo takes it back."""
    before = exported(memory)
    assert memory.import_(lines_of(node("own"), *ATTACKS[attack](VICTIM)), change_existing=True).skipped == 0
    assert any(VICTIM in line for line in set(exported(memory)) - set(before))
    assert len(memory.maintenance.batches()) == 1
    memory.maintenance.undo()
    assert exported(memory) == before


def test_import_with_change_existing_names_a_missing_node(memory: Memory) -> None:
    with pytest.raises(InvalidRecord, match="line 3: no node 'nobody'"):
        memory.import_(lines_of(node("own"), *ATTACKS["supersede"]("nobody")), change_existing=True)


@pytest.mark.medium
def test_import_into_an_empty_scope_brings_all_and_one_undo_takes_it_back(memory: Memory, tmp_path: Path) -> None:
    memory.remember(Episode("Ana lives in Porto.", "new", supersedes=VICTIM))
    memory.feedback(memory.recall("Where does Ana live?"), "new")
    memory.maintenance.archive(VICTIM)
    memory.remember("A secret of Ana.", id="gone")
    memory.forget("gone")
    lines = exported(memory)
    with open_memory(tmp_path / "copy.db") as copy:
        assert copy.import_(['{"ecphora": 2}', *lines]).skipped == 0
        assert exported(copy) == lines
        copy.maintenance.undo()
        assert (exported(copy), len(copy), copy.maintenance.batches()) == ([], 0, [])


@pytest.mark.slow
@given(size=st.integers(1, 3), stop=st.integers(1, 4))
def test_interrupted_import_goes_on_with_what_it_brought_and_is_one_batch(
    tmp_path_factory: pytest.TempPathFactory, size: int, stop: int
) -> None:
    folder = tmp_path_factory.mktemp("import")
    with open_memory(folder / "a.db") as one, pytest.MonkeyPatch.context() as patch:
        one.remember([Episode(f"Ana has {n} cats.", f"e{n}", supersedes=f"e{n - 1}" if n else None) for n in range(5)])
        one.maintenance.archive(["e0", "e4"])
        lines = ['{"ecphora": 2}', *exported(one)]
        patch.setattr(jsonl, "NODES_PER_PORTION", size)

        def interrupt(done: int, _total: int) -> None:
            if done >= stop:
                raise KeyboardInterrupt

        with open_memory(folder / "b.db") as other:
            other.remember("Ben was here before.", id="other")
            before = exported(other)
            with pytest.raises(KeyboardInterrupt):
                other.import_(lines, progress=interrupt)
            assert other.import_(lines).skipped == 0
            assert set(exported(other)) == {*lines[1:], *before}
            assert len(other.maintenance.batches()) == 1
            other.maintenance.undo()
            assert exported(other) == before


@pytest.mark.medium
def test_undo_of_an_import_keeps_what_others_need_of_it(memory: Memory) -> None:
    """Names that a later memory mentions stay, spelled as there; what was derived from an imported memory goes."""
    dora = f"{ENTITY_PREFIX}dora"
    own = node("own", text="DORA lives in Rome.")
    memory.import_(lines_of(own, node(dora, "entity", "DORA"), edge("own", dora, Link.MENTIONS)))
    memory.remember("Dora sails.", id="later")
    question = memory.feedback(memory.recall("Who lives in Rome?"), "own")
    memory.maintenance.undo()
    graph = memory.graph()
    assert [graph.row(id_) is None for id_ in ("own", question, dora, "later")] == [True, True, False, False]
    assert [one.text for one in memory._store.nodes("default", [dora])] == ["Dora"]
