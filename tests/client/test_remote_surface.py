"""The public names and signatures of a remote memory, what its token allows, and the page that documents it."""

import inspect
import re
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

from ecphora import Episode, HashingEmbedder, InvalidInput, Memory, RecallOptions, RemoteMemory, connect
from ecphora.errors import AccessDenied
from ecphora.memory import Entities, Facts, Maintenance
from ecphora.model.types import UNWRITTEN_FIELDS, Query
from ecphora.remote.client.remote_memory import LOCAL_METHODS, RemoteEntities, RemoteFacts, RemoteMaintenance

from .conftest import Server

ANA = Episode("I moved to Porto.", "porto", "Ana", "s1", "2026-05-03", metadata={"tags": ["sea", 1], "year": 2026})
BO = Episode("Bo likes rain in Lisbon.", "rain", "Bo", "s2", "2026-05-04", title="Weather", source="chat")
GHENT = Episode("I have a flat in Ghent now.", "ghent", "Ana", "s1", "2026-09-14")


# ---- the public names


def public_names(value: object) -> set[str]:
    return {name for name in dir(value) if not name.startswith("_")}


def test_remote_memory_has_the_methods_of_memory(tmp_path: Path) -> None:
    remote = connect("http://127.0.0.1:1")
    with Memory(tmp_path / "memory.db", embedder=HashingEmbedder(8)) as local:
        assert public_names(local) - public_names(remote) == set(LOCAL_METHODS)
        assert public_names(remote) - public_names(local) == set()
        for view in ("facts", "entities", "maintenance"):
            assert public_names(getattr(local, view)) == public_names(getattr(remote, view)) - {"scope"}
    for name, reason in LOCAL_METHODS.items():
        assert not hasattr(remote, name)
        with pytest.raises(AttributeError, match=f"a RemoteMemory has no '{name}': {reason[:20]}"):
            getattr(remote, name)
    with pytest.raises(AttributeError, match=r"a RemoteMemory has no 'recal'$"):
        _ = remote.recal


@pytest.mark.parametrize(
    ("remote", "local"),
    [(RemoteMemory, Memory), (RemoteFacts, Facts), (RemoteEntities, Entities), (RemoteMaintenance, Maintenance)],
    ids=lambda cls: cls.__name__,
)
def test_signatures_and_documentation_are_those_of_memory(remote: type, local: type) -> None:
    for name, method in inspect.getmembers(remote, inspect.isfunction):
        if name.startswith("_") or name == "close":
            continue
        there = getattr(local, name)
        assert inspect.signature(method).parameters == inspect.signature(there).parameters, name
        assert inspect.getdoc(method), name
    with pytest.raises(TypeError, match="unexpected keyword"):
        connect("http://127.0.0.1:1").recall("x", limits=3)  # type: ignore[call-arg]


@pytest.mark.medium
def test_recollection_is_the_same_but_for_its_vectors(server: Server, scope: str) -> None:
    """What both sides see of one file, byte for byte."""
    with connect(server.url, server.token(f"{scope} same", scope), scope) as remote:
        remote.remember([ANA, BO, GHENT])
        with Memory(server.db, scope=scope, embedder=HashingEmbedder(256)) as local:
            options: dict[str, Any] = {"as_of": "2026-12-01", "options": RecallOptions(log_access=False), "limit": 3}
            here, there = (one.recall("Where does Ana live?", **options) for one in (local, remote))
    for one in fields(Query):
        if one.name not in {*UNWRITTEN_FIELDS, "now"}:
            assert getattr(here.query, one.name) == getattr(there.query, one.name), one.name
    assert here.hits == there.hits
    assert [hit.reason for hit in here] == [hit.reason for hit in there]
    assert replace(here.cost, milliseconds=0, step_milliseconds={}) == replace(
        there.cost, milliseconds=0, step_milliseconds={}
    )


# ---- rights


@pytest.mark.medium
def test_token_limits_what_a_memory_may_do(server: Server, scope: str) -> None:
    token = server.token(f"{scope} reader", scope, rights=("read",))
    with connect(server.url, token, scope) as reader:
        assert reader.count() == 0
        with pytest.raises(AccessDenied, match="the token lacks the right to write; check the token"):
            reader.remember("x")
        with pytest.raises(AccessDenied, match="admin"):
            reader.backup("copy.db")
        assert not Path("copy.db").exists()
    for url_token, other in ((token, "another scope"), ("ecp_wrong", scope), (None, scope)):
        with connect(server.url, url_token, other) as stranger, pytest.raises(AccessDenied):
            stranger.count()


@pytest.mark.medium
def test_token_is_never_shown(server: Server, scope: str) -> None:
    token = "ecp_" + "secret" * 7
    with connect(server.url, token, scope) as memory:
        assert "secret" not in repr(memory)
        with pytest.raises(AccessDenied) as caught:
            memory.count()
        assert "secret" not in str(caught.value)
    with pytest.raises(InvalidInput) as invalid:
        connect(server.url, "ecp_secret\n")
    assert "secret" not in str(invalid.value)


# ---- the documentation


@pytest.mark.slow
def test_examples_of_the_page_on_clients_run(
    server: Server, scope: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = Path(__file__).parents[2] / "docs" / "how-to" / "client.md"
    examples = re.findall(r"^```py\n(.*?)^```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    assert len(examples) == 2
    monkeypatch.chdir(tmp_path)
    token = server.token(f"{scope} docs")
    for code in examples:
        exec(code.replace("http://127.0.0.1:8765", server.url).replace("ecp_...", token), {})  # noqa: S102
    shown = capsys.readouterr().out
    assert "I moved to Porto." in shown
    assert "limit is 0" in shown
    assert "The boat is called Alba." in shown
