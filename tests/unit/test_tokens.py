"""Access tokens: what a token allows, what its file holds, and several writers of the file at once."""

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ecphora.errors import InvalidInput, StoreBusy, StoreReadOnly
from ecphora.remote.server import tokens as tokens_module
from ecphora.remote.server.tokens import Right, Tokens

NOW = datetime(2026, 5, 3, tzinfo=UTC)


@pytest.fixture
def tokens(tmp_path: Path) -> Tokens:
    return Tokens(tmp_path / "agent.db", clock=lambda: NOW)


def test_token_is_found_and_its_file_does_not_hold_it(tokens: Tokens) -> None:
    token = tokens.create("laptop", scopes=["ana"])
    grant = tokens.find(token)
    assert grant is not None
    assert (grant.name, grant.scopes, grant.rights) == ("laptop", ("ana",), (Right.READ, Right.WRITE))
    assert token.startswith("ecp_")
    assert len(token) == 4 + 43  # 32 bytes
    assert tokens.path.name == "agent.db-tokens.json"
    assert token not in tokens.path.read_text(encoding="utf-8")
    assert token[4:] not in repr(grant) + str(grant.to_dict())
    assert grant.sha256 not in str(grant.to_dict())


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such modes")
def test_token_file_is_its_owners_alone_whatever_the_umask(tokens: Tokens) -> None:
    before = os.umask(0)
    try:
        tokens.create("laptop", scopes="*")
    finally:
        os.umask(before)
    assert tokens.path.stat().st_mode & 0o777 == 0o600
    assert [path.name for path in tokens.path.parent.iterdir()] == [tokens.path.name]


def test_two_tokens_of_one_kind_differ(tokens: Tokens) -> None:
    assert tokens.create("a", scopes="*") != tokens.create("b", scopes="*")


@pytest.mark.parametrize("token", ["", "ecp_", "ecp_x", "x" * 1_000_000, "\ud800", "ecp_\0"])
def test_unknown_token_is_not_found(tokens: Tokens, token: str) -> None:
    assert tokens.find(token) is None
    tokens.create("laptop", scopes="*")
    assert tokens.find(token) is None


def test_name_of_a_token_and_its_digest_are_no_tokens(tokens: Tokens) -> None:
    token = tokens.create("laptop", scopes="*")
    grant = tokens.find(token)
    assert grant is not None
    assert tokens.find("laptop") is None
    assert tokens.find(grant.sha256) is None


NAMES = st.sampled_from(["ana", "bo", "*", "ana ", "a", ""])


@pytest.mark.medium
@given(scopes=st.lists(NAMES.filter(bool), min_size=1), right=st.sampled_from(Right), scope=NAMES, data=st.data())
def test_grant_allows_its_rights_in_its_scopes_only(
    tmp_path_factory: pytest.TempPathFactory, scopes: list[str], right: Right, scope: str, data: st.DataObject
) -> None:
    rights = data.draw(st.lists(st.sampled_from(Right), min_size=1))
    tokens = Tokens(tmp_path_factory.mktemp("tokens") / "agent.db")
    grant = tokens.find(tokens.create("laptop", scopes=scopes, rights=rights))
    assert grant is not None
    assert grant.allows(right, scope) == (scope in scopes and (right in rights or Right.ADMIN in rights))


def test_grant_for_every_scope_differs_from_one_for_a_scope_called_star(tokens: Tokens) -> None:
    every, star = (tokens.find(tokens.create(name, scopes=scopes)) for name, scopes in (("a", "*"), ("b", ["*"])))
    assert every is not None
    assert star is not None
    assert every.allows("read", "ana")
    assert not star.allows("read", "ana")
    assert star.allows("read", "*")


def test_token_expires_at_its_time(tmp_path: Path) -> None:
    now = NOW
    tokens = Tokens(tmp_path / "agent.db", clock=lambda: now)
    token = tokens.create("laptop", scopes="*", expires_at="2026-05-04")
    now = NOW + timedelta(days=1, seconds=-1)
    assert tokens.find(token) is not None
    now = NOW + timedelta(days=1)
    assert tokens.find(token) is None
    assert [grant.name for grant in tokens.grants()] == ["laptop"]


def test_change_of_the_file_counts_at_once_elsewhere(tokens: Tokens) -> None:
    other = Tokens(tokens.path.with_name("agent.db"))
    first = tokens.create("a", scopes="*")
    assert other.find(first) is not None
    second = tokens.create("b", scopes="*")
    assert other.find(second) is not None
    tokens.revoke("a")
    assert other.find(first) is None
    assert other.find(second) is not None
    tokens.path.unlink()
    assert other.find(second) is None


@pytest.mark.parametrize(
    "arguments",
    [
        {"name": "laptop", "scopes": []},
        {"name": "laptop", "scopes": "ana"},
        {"name": "laptop", "scopes": [""]},
        {"name": "laptop", "scopes": 3},
        {"name": "laptop", "scopes": "*", "rights": []},
        {"name": "laptop", "scopes": "*", "rights": ["erase"]},
        {"name": "laptop", "scopes": "*", "rights": [3]},
        {"name": "", "scopes": "*"},
        {"name": "laptop", "scopes": "*", "expires_at": "2026-05-02"},
        {"name": "laptop", "scopes": "*", "expires_at": "soon"},
    ],
)
def test_token_that_cannot_be_made_changes_nothing(tokens: Tokens, arguments: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        tokens.create(**arguments)
    assert list(tokens.path.parent.iterdir()) == []


def test_duplicate_name_error_until_it_is_revoked(tokens: Tokens) -> None:
    first = tokens.create("laptop", scopes="*")
    with pytest.raises(InvalidInput, match="already"):
        tokens.create("laptop", scopes="*")
    tokens.revoke("laptop")
    with pytest.raises(InvalidInput, match="no token 'laptop'"):
        tokens.revoke("laptop")
    assert tokens.create("laptop", scopes="*") != first
    assert [path.name for path in tokens.path.parent.iterdir()] == [tokens.path.name]  # no lock is left


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        "not json",
        '{"version": 2, "tokens": []}',
        '{"version": 1, "tokens": [3]}',
        '{"version": 1, "tokens": {"a": 1}}',
        '{"version": 1, "tokens": null}',
        "[" * 100_000,
        '{"version": 1, "tokens": [{"name": "a", "sha256": "x", "scopes": "*", "rights": ["read"]}]}',
    ],
)
def test_token_file_that_cannot_be_read_grants_nothing(tokens: Tokens, text: str) -> None:
    token = tokens.create("laptop", scopes="*")
    assert tokens.find(token) is not None
    tokens.path.write_text(text, encoding="utf-8")
    for _ in range(2):  # also once it was seen
        with pytest.raises(InvalidInput, match="cannot be read"):
            tokens.find(token)
    with pytest.raises(InvalidInput, match="cannot be read"):
        tokens.create("other", scopes="*")
    assert tokens.path.read_text(encoding="utf-8") == text


def test_folder_that_does_not_exist_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(StoreReadOnly):
        Tokens(tmp_path / "nowhere" / "agent.db").create("laptop", scopes="*")


def test_writer_that_died_is_named(tokens: Tokens, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokens_module, "LOCK_SECONDS", 0.0)
    lock = tokens.path.with_name(tokens.path.name + ".new")
    lock.touch()
    with pytest.raises(StoreBusy, match="delete"):
        tokens.create("laptop", scopes="*")
    lock.unlink()
    tokens.create("laptop", scopes="*")


@pytest.mark.medium
def test_many_writers_at_once_lose_no_token(tokens: Tokens) -> None:
    names = [f"token {number}" for number in range(20)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda name: Tokens(tokens.path.with_name("agent.db")).create(name, scopes="*"), names))
    assert {grant.name for grant in tokens.grants()} == set(names)


def test_failed_write_leaves_the_file_as_it_was(tokens: Tokens, monkeypatch: pytest.MonkeyPatch) -> None:
    tokens.create("laptop", scopes="*")
    before = tokens.path.read_bytes()

    def fail(*_args: object) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="no space"):
        tokens.create("other", scopes="*")
    assert tokens.path.read_bytes() == before
    assert [path.name for path in tokens.path.parent.iterdir()] == [tokens.path.name]


@pytest.mark.slow
def test_commands_make_list_and_revoke_a_token(tmp_path: Path) -> None:
    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "ecphora.cli.main", "token", *arguments, "--db", "agent.db"]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    made = run("create", "laptop", "--scope", "ana", "--scope", "bo", "--right", "read")
    tokens = Tokens(tmp_path / "agent.db")
    grant = tokens.find(made.stdout.strip())
    assert grant is not None
    assert (grant.scopes, grant.rights) == (("ana", "bo"), (Right.READ,))
    assert "not shown again" in made.stderr
    answer = json.loads(run("create", "all", "--all-scopes", "--right", "admin", "--json").stdout)
    assert tokens.find(answer["token"]) is not None
    shown = run("list").stdout
    assert "every scope" in shown
    assert "ana, bo" in shown
    assert made.stdout.strip() not in shown + run("list", "--json").stdout
    assert run("revoke", "laptop").returncode == 0
    assert tokens.find(made.stdout.strip()) is None
    missing = run("revoke", "laptop")
    assert missing.returncode == 1
    assert "no token 'laptop'" in missing.stderr
    assert run("create", "x", "--all-scopes", "--scope", "ana").returncode == 2
    assert run("create", "x", "--right", "erase").returncode == 2


def test_token_has_the_zone_of_its_user(tokens: Tokens) -> None:
    token = tokens.create("laptop", scopes="*", zone="Europe/Lisbon")
    grant = Tokens(tokens.path.with_name("agent.db"), clock=lambda: NOW).find(token)
    assert grant is not None
    assert grant.zone == grant.to_dict()["zone"] == "Europe/Lisbon"
    with pytest.raises(InvalidInput, match="no time zone is called 'Nowhere'"):
        tokens.create("desktop", scopes="*", zone="Nowhere")


def test_token_file_without_zones_is_read(tokens: Tokens) -> None:
    token = tokens.create("laptop", scopes="*")
    content = json.loads(tokens.path.read_text(encoding="utf-8"))
    for entry in content["tokens"]:
        del entry["zone"]
    tokens.path.write_text(json.dumps(content), encoding="utf-8")
    grant = Tokens(tokens.path.with_name("agent.db"), clock=lambda: NOW).find(token)
    assert grant is not None
    assert grant.zone is None


def test_token_expires_at_the_local_time_of_the_settings(tmp_path: Path) -> None:
    tokens = Tokens(tmp_path / "agent.db", clock=lambda: NOW, zone="Pacific/Kiritimati")
    tokens.create("laptop", scopes="*", expires_at="2026-05-04T00:30")
    expiry = tokens.grants()[0].expires_at
    assert expiry is not None
    assert expiry.isoformat() == "2026-05-04T00:30:00+14:00"
