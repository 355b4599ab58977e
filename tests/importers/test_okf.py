"""Bundles of the Open Knowledge Format: of other producers, and what Ecphora writes comes back the same."""

import gzip
import tarfile
import tempfile
import zipfile
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from ecphora.errors import InvalidInput
from ecphora.maintenance.interchange.documents import frontmatter, okf
from ecphora.maintenance.interchange.documents.okf import OkfImporter, export_okf
from ecphora.maintenance.interchange.files import export_files, folders
from ecphora.maintenance.interchange.supersession import LESS_TRUST, UNKNOWN_PREDECESSOR
from ecphora.memory import Memory
from ecphora.model.ports import FormatImporter
from ecphora.model.types import Episode, Filter, Media, Node, Omission
from ecphora.models.embedders.hashing import HashingEmbedder
from ecphora.stores.sqlite import SQLiteStore
from ecphora.testing import FakeClock, ImporterContract

NOW = datetime(2026, 12, 1, tzinfo=UTC)
BUNDLE = {
    "index.md": '---\nokf_version: "0.2"\n---\n\n# Tables\n\n* [Orders](tables/orders.md) - orders\n',
    "log.md": "# Log\n\n## 2026-05-22\n* **Creation**\n",
    "tables/index.md": "# Tables\n",
    "tables/orders.md": (
        "---\ntype: BigQuery Table\ntitle: Customer Orders\ndescription: One row per order.\ntags: [sales, orders]\n"
        "generated: { by: reference_agent/gemini-2.5-pro, at: 2026-05-28T14:30:00Z }\n"
        "verified: { by: human:ahormati, at: 2026-06-25T09:00:00Z }\nstatus: stable\nstale_after: 2026-09-23\n"
        "sources:\n  - id: s\n    resource: https://example.org/schema\nowner: { team: data }\n---\n\n"
        "# Schema\n\nSee [customers](./customers.md#x) and [all](/playbooks/fresh.md).\n"
    ),
    "tables/customers.md": (
        "---\ntype: Table\nverified:\n  - { by: process:nightly, at: 2026-06-26T02:00:00Z }\n---\nRows."
    ),
    "playbooks/fresh.md": (
        "---\ntype: Playbook\ntimestamp: 2026-04-12T09:00:00Z\nstatus: deprecated\nsupersedes: old.md\n"
        "generated: { by: human:ana, at: 2026-05-01T00:00:00Z }\n---\n\nCall the data team.\n"
    ),
    "playbooks/old.md": "---\ntype: Playbook\n---\nCall Ben.\n",
    "playbooks/zz.md": "---\ntype: Playbook\nsupersedes: [/tables/orders.md, old.md]\n---\nLess trusted.\n",
    "broken.md": "---\ntype: [\n---\nBroken.",
    "typeless.md": "No frontmatter.",
    "lost.md": "---\ntype: Note\nsupersedes: nowhere.md\n---\nLost.\n",
}


def write_bundle(root: Path, files: dict[str, str]) -> str:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(text.encode())
    return str(root)


def read(path: str) -> tuple[dict[str, Episode], list[Omission]]:
    """The episodes by their texts, and the omissions."""
    found = list(OkfImporter().read(path))
    episodes = [one for one in found if isinstance(one, Episode)]
    return {one.text: one for one in episodes}, [one for one in found if isinstance(one, Omission)]


class TestContract(ImporterContract):
    @pytest.fixture
    def importer(self) -> OkfImporter:
        return OkfImporter()

    @pytest.fixture
    def sample(self, tmp_path: Path) -> str:
        return write_bundle(tmp_path / "bundle", BUNDLE)


def test_concepts_of_another_producer(tmp_path: Path) -> None:
    episodes, omissions = read(write_bundle(tmp_path, BUNDLE))
    orders = next(one for one in episodes.values() if one.title == "Customer Orders")
    assert orders.text.startswith("# Schema")
    assert (orders.source, orders.trust, orders.speaker) == ("okf", 1.0, None)
    assert str(orders.happened_at) == "2026-05-28 14:30:00+00:00"
    assert orders.metadata == {
        "type": "BigQuery Table", "description": "One row per order.", "tags": ["sales", "orders"],
        "generated": '{"by": "reference_agent/gemini-2.5-pro", "at": "2026-05-28T14:30:00Z"}',
        "generated_by": "reference_agent/gemini-2.5-pro", "generated_at": "2026-05-28T14:30:00Z",
        "verified": '{"by": "human:ahormati", "at": "2026-06-25T09:00:00Z"}', "trust_tier": "human-reviewed",
        "status": "stable", "stale_after": "2026-09-23", "owner": '{"team": "data"}',
        "sources": '[{"id": "s", "resource": "https://example.org/schema"}]',
        "links": ["tables/customers", "playbooks/fresh"], "origin": "tables/orders.md",
    }  # fmt: skip
    fresh, old = episodes["Call the data team."], episodes["Call Ben."]
    assert (fresh.supersedes, fresh.speaker, fresh.trust) == (old.id, "ana", 0.6)
    assert list(episodes).index(old.text) < list(episodes).index(fresh.text)
    assert (episodes["Rows."].trust, episodes["Rows."].title) == (0.8, "customers")
    assert episodes["Less trusted."].supersedes is None
    assert episodes["Lost."].supersedes is None
    assert sorted(omissions, key=lambda one: (one.place, one.reason)) == [
        Omission(frontmatter.BAD_FRONTMATTER, "broken.md"),
        Omission(UNKNOWN_PREDECESSOR, "lost.md"),
        Omission(okf.MORE_PREDECESSORS, "playbooks/zz.md"),
        Omission(LESS_TRUST, "playbooks/zz.md"),
        Omission(okf.NO_TYPE, "typeless.md"),
    ]


def test_concepts_that_supersede_one_another_in_a_circle_come_once(tmp_path: Path) -> None:
    files = {f"{a}.md": f"---\ntype: N\nsupersedes: {b}.md\n---\n{a}\n" for a, b in ("ab", "bc", "ca", "dd")}
    episodes, omissions = read(write_bundle(tmp_path, files))
    assert sorted(episodes) == ["a", "b", "c", "d"]
    assert len([one for one in episodes.values() if one.supersedes]) == 2
    assert [one.reason for one in omissions] == [UNKNOWN_PREDECESSOR] * 2


def test_it_recognizes_its_format(tmp_path: Path) -> None:
    importer = OkfImporter()
    assert isinstance(importer, FormatImporter)
    assert importer.matches(write_bundle(tmp_path / "a", BUNDLE))
    assert importer.matches(write_bundle(tmp_path / "b", {"old.md": BUNDLE["playbooks/old.md"]}))
    assert not importer.matches(write_bundle(tmp_path / "c", {"old.md": BUNDLE["playbooks/old.md"], "x.md": "x"}))
    assert not importer.matches(write_bundle(tmp_path / "a", {".obsidian/app.json": "{}"}))
    assert not importer.matches(str(tmp_path / "missing"))
    assert not importer.matches("\0")


def test_folder_without_concepts_is_invalid(tmp_path: Path) -> None:
    for files in ({"a.md": "x"}, {"index.md": BUNDLE["index.md"]}, {"a.txt": "x"}):
        with tempfile.TemporaryDirectory() as folder, pytest.raises(InvalidInput, match="has no concept"):
            read(write_bundle(Path(folder), files))


# ---- what Ecphora writes


def remember(folder: Path, *episodes: Episode) -> SQLiteStore:
    with Memory(folder / "m.db", embedder=HashingEmbedder(16), clock=FakeClock(), zone="UTC") as memory:
        memory.remember(episodes)
    return SQLiteStore(folder / "m.db")


def test_files_can_be_read_by_people_and_other_programs(tmp_path: Path) -> None:
    store = remember(
        tmp_path,
        Episode("I live in Lisbon.", id="a", speaker="Ana", happened_at="2026-01-10", source="chat.txt"),
        Episode("I live in Porto.", id="b", speaker="Ana", happened_at="2026-05-03", title="Home", supersedes="a"),
    )
    result = export_okf(store, "default", tmp_path / "out", now=NOW)
    store.close()
    assert (result.nodes, result.edges, result.validity_ends) == (2, 1, 1)
    names = sorted(path.relative_to(tmp_path / "out").as_posix() for path in (tmp_path / "out").rglob("*.md"))
    assert names[0].startswith("2026/01-10-i-live-in-lisbon-")
    assert names[1].startswith("2026/05-03-home-")
    assert names[2] == "index.md"
    header, body = (tmp_path / "out" / names[0]).read_text().removeprefix("---\n").split("---\n")
    values = yaml.safe_load(header)
    assert body == "\nI live in Lisbon.\n"
    recorded = values.pop("generated")["at"]
    assert isinstance(recorded, str | datetime)
    assert {key: str(value) for key, value in values.items()} == {
        "type": "Memory", "title": "I live in Lisbon.", "has_title": "False", "id": "a", "speaker": "Ana",
        "happened_at": "2026-01-10T00:00:00+00:00", "valid_to": "2026-05-03T00:00:00+00:00", "status": "deprecated",
        "stale_after": "2026-05-03", "trust": "1.0", "source": "chat.txt", "sources": "[{'resource': 'chat.txt'}]",
    }  # fmt: skip
    assert "[2026](2026/) - 2 memories" in (tmp_path / "out/index.md").read_text()
    assert OkfImporter().matches(str(tmp_path / "out"))


def test_folder_that_holds_something_is_left_alone(tmp_path: Path) -> None:
    store = remember(tmp_path, Episode("A.", id="a"))
    for folder in (tmp_path, tmp_path / "m.db", tmp_path / "m.db/x"):
        with pytest.raises(InvalidInput):
            export_okf(store, "default", folder, now=NOW)
    store.close()


def test_names_of_files_stay_in_the_folder(tmp_path: Path) -> None:
    store = remember(
        tmp_path, Episode("A.", id="../../x", title="../../etc/passwd"), Episode("Я дома.", id="/y", title="CON\0.md")
    )
    export_okf(store, "default", tmp_path / "out", now=NOW)
    store.close()
    assert sorted(one.name for one in tmp_path.iterdir() if "db" not in one.name) == ["out"]
    assert len(list((tmp_path / "out").rglob("*.md"))) == 3
    assert sorted(read(str(tmp_path / "out"))[0]) == ["A.", "Я дома."]


def test_changed_header_is_an_omission(tmp_path: Path) -> None:
    node = "---\ntype: Memory\nid: {id}\nhappened_at: {time}\ngenerated: {{by: ecphora/1}}\n---\n\nA.\n"
    write_bundle(tmp_path, {"a.md": node.format(id="[1]", time="2026-05-03"), "b.md": node.format(id="b", time="x")})
    episodes, omissions = read(str(tmp_path))
    assert [one.id for one in episodes.values()] == ["b"]
    assert [one.place for one in omissions] == ["a.md", "b.md"]


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
visible = texts.map(lambda text: f"{text}a{text}")
names = st.none() | visible | st.sampled_from(["true", "~", "1e5", "+.5", "1.5e5", "0x1", "12:30", "- a", "---", "<<"])
scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts | names
zones = st.integers(-14 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))
episodes = st.builds(
    Episode,
    text=visible | st.sampled_from(["---\na\n---\n", "\n\na\r\n\r", "# A\n\n" + "word " * 2000 + "\n"]),
    speaker=names,
    session=names,
    happened_at=st.datetimes(datetime(2, 1, 1), datetime(9998, 1, 1), timezones=zones),  # noqa: DTZ001
    title=names,
    source=names,
    metadata=st.dictionaries(texts, scalars | st.lists(scalars, max_size=3), max_size=3),
    trust=st.floats(0, 1, width=32),
    media=st.lists(st.builds(Media, visible, caption=texts, kind=st.sampled_from(["sound", "other"])), max_size=1),
)


@pytest.mark.medium
@given(st.lists(st.tuples(episodes, st.none() | st.integers(0, 2)), min_size=1, max_size=4))
def test_what_is_written_comes_back_the_same(drafts: list[tuple[Episode, int | None]]) -> None:
    given_ones = list[Episode]()
    for number, (episode, predecessor) in enumerate(drafts):
        old = given_ones[predecessor] if predecessor is not None and predecessor < number else None
        allowed = old is not None and old.trust <= episode.trust
        values = {name: getattr(episode, name) for name in ("text", "speaker", "session", "title", "source", "media")}
        given_ones.append(
            Episode(
                **values, id=f"memory {number}", happened_at=episode.happened_at, metadata=episode.metadata,
                trust=episode.trust, supersedes=old.id if old and allowed else None,
            )
        )  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        store = remember(Path(folder), *given_ones)
        export_okf(store, "default", Path(folder) / "out", now=NOW)
        store.close()
        found = list(OkfImporter().read(str(Path(folder) / "out")))
        assert [one for one in found if isinstance(one, Omission)] == []
        again = [one for one in found if isinstance(one, Episode)]
        before = _memories(Path(folder) / "m.db")
        with Memory(Path(folder) / "n.db", embedder=HashingEmbedder(16), clock=FakeClock(), zone="UTC") as memory:
            memory.remember(again)
        assert _memories(Path(folder) / "n.db") == before


def _memories(path: Path) -> dict[str, tuple[object, ...]]:
    """All that a file holds about its memories, by their ids."""
    with Memory(path, embedder=HashingEmbedder(16), clock=FakeClock(), zone="UTC") as memory:
        nodes = [memory.get(node.id) for node in memory.find(where=Filter(), limit=100)]
        return {node.id: (*_fields(node), _predecessors(memory, node)) for node in nodes if node is not None}


def _fields(node: Node) -> tuple[object, ...]:
    return (
        node.text, node.speaker, node.session, node.title, node.source, node.happened_at.isoformat(), node.trust,
        dict(node.metadata), node.media, node.valid_from, node.valid_to,
    )  # fmt: skip


def _predecessors(memory: Memory, node: Node) -> list[str]:
    history = memory.history(node.id)
    return [one.id for one in history.predecessors] if history else []


def pack(folder: Path, path: Path, top: str) -> str:
    """An archive of a folder, below a folder of its own."""
    files = {f"{top}{one.relative_to(folder).as_posix()}": one for one in folder.rglob("*.md")}
    if path.suffix == ".zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as out:
            for name, file in files.items():
                out.write(file, name)
    else:
        with tarfile.open(path, "w:gz") as tar:
            for name, file in files.items():
                tar.add(file, name)
    return str(path)


@pytest.mark.parametrize("top", ["", "./", "./x/", "bundle-main/"])
@pytest.mark.parametrize("name", ["bundle.zip", "bundle.tar.gz", "renamed"])
def test_archive_gives_what_its_folder_gives(name: str, top: str, tmp_path: Path) -> None:
    folder = Path(write_bundle(tmp_path / "bundle", BUNDLE))
    path = pack(folder, tmp_path / name, top)
    assert OkfImporter().matches(path)
    assert read(path) == read(str(folder))


def test_names_that_lead_out_of_an_archive_are_left_out(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as out:
        for name in ("../out.md", "/abs.md", "a/../../b.md", "__MACOSX/a/._in.md", "a/.hidden.md", "a/in.md"):
            out.writestr(name, "---\ntype: Note\n---\nText of " + name)
    episodes, omissions = read(str(tmp_path / "a.zip"))
    assert list(episodes) == ["Text of a/in.md"]
    assert {one.place for one in omissions if one.reason == folders.OUTSIDE} == {"../out.md", "/abs.md", "a/../../b.md"}


@pytest.mark.parametrize("name", ["a.zip", "a.tar.gz"])
def test_archive_that_grows_too_large_is_refused(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(export_files, "MAX_UNPACKED", 100_000)
    text = "---\ntype: Note\n---\n" + "0" * 3_000_000
    path = pack(Path(write_bundle(tmp_path / "bundle", {"a.md": text})), tmp_path / name, "")
    assert not OkfImporter().matches(path)
    with pytest.raises(InvalidInput, match=r"an archive that cannot be read: its files are more than 200 times larger"):
        read(path)


def test_sparse_file_of_an_archive_is_refused(tmp_path: Path) -> None:
    header = tarfile.TarInfo("a.md")
    header.type, header.size = tarfile.GNUTYPE_SPARSE, 0
    block = bytearray(header.tobuf(tarfile.GNU_FORMAT))
    block[386:398] = b"%011o\0" % 0  # one piece, at 0
    block[398:410] = b"%011o\0" % 0
    block[483:495] = b"%011o\0" % (1 << 32)  # the size that it says to have
    block[148:156] = b" " * 8
    block[148:156] = b"%06o\0 " % sum(block)
    with gzip.open(tmp_path / "a.tar.gz", "wb") as out:
        out.write(bytes(block) + bytes(1024))
    with pytest.raises(InvalidInput, match="200 times larger"):
        read(str(tmp_path / "a.tar.gz"))


@pytest.mark.parametrize("data", [b"\x1f\x8b", gzip.compress(b"")[:12], gzip.compress(b"no tar" * 200), b"PK\3\4"])
def test_broken_archive_is_invalid(data: bytes, tmp_path: Path) -> None:
    (tmp_path / "a.tar.gz").write_bytes(data)
    assert not OkfImporter().matches(str(tmp_path / "a.tar.gz"))
    with pytest.raises(InvalidInput, match="archive that cannot be read"):
        read(str(tmp_path / "a.tar.gz"))
