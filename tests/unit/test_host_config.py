"""The entry of the MCP server in the configuration files of hosts."""

import json
import os
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from ecphora.cli import mcp as command
from ecphora.cli.main import main
from ecphora.errors import InvalidInput, StoreReadOnly, UnknownName
from ecphora.remote.mcp.host_config import HOSTS, Host, ServerCommand, find_host, install, server_command

SERVER = ServerCommand("/opt/ecphora", ("mcp", "--db", '/home/ana/"my" \\ 記憶.db'))
JSON_HOSTS = [name for name, host in HOSTS.items() if not host.is_toml]
CURSOR, CODEX = HOSTS["cursor"], HOSTS["codex"]
STDIO = {"command": SERVER.command, "args": list(SERVER.args)}


def read(host: Host, path: Path) -> dict[str, Any]:
    text = path.read_text(encoding="utf-8")
    return tomllib.loads(text) if host.is_toml else json.loads(text)


def files(folder: Path) -> set[str]:
    return {path.name for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("name", HOSTS)
def test_new_file_holds_the_entry_alone(name: str, tmp_path: Path) -> None:
    host, path = HOSTS[name], tmp_path / "deep" / "file"
    done = install(host, SERVER, path)
    assert (done.is_changed, done.backup) == (True, None)
    entry = read(host, path)[host.section]["ecphora"]
    assert entry.items() >= STDIO.items()
    assert path.read_text(encoding="utf-8") == host.snippet(SERVER)
    assert files(tmp_path) == {"file"}
    assert sys.platform == "win32" or path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("name", JSON_HOSTS)
def test_entry_joins_other_settings_and_replaces_an_older_one(name: str, tmp_path: Path) -> None:
    host, path = HOSTS[name], tmp_path / "file.json"
    before = {"theme": "dark", host.section: {"a": {"command": "x"}, "ecphora": {"command": "old"}}, "z": [1.5, None]}
    path.write_text(json.dumps(before, indent="\t"), encoding="utf-8")
    path.chmod(0o640)
    done = install(host, SERVER, path)
    after = read(host, path)
    assert list(after) == list(before)
    assert after[host.section].pop("ecphora").items() >= STDIO.items()
    before[host.section].pop("ecphora")  # type: ignore[attr-defined]
    assert after == before
    assert '\n\t"theme"' in path.read_text(encoding="utf-8")
    assert done.backup is not None
    assert json.loads(done.backup.read_text(encoding="utf-8"))[host.section]["ecphora"] == {"command": "old"}
    assert sys.platform == "win32" or path.stat().st_mode & 0o777 == 0o640
    assert not install(host, SERVER, path).is_changed
    assert len(files(tmp_path)) == 2


@pytest.mark.parametrize("name", ["zed", "vscode"])
def test_comments_of_an_editor_stay(name: str, tmp_path: Path) -> None:
    host, path = HOSTS[name], tmp_path / "settings.json"
    before = f"""// My settings
{{
    "theme": "One Dark", // at night
    "{host.section}": {{
        /* "old": {{}}, */
        "other": {{"command": "x"}},
        "ecphora": {{"command": "old", "env": {{"ECPHORA_EMBEDDER": "hashing"}}}}, // mine
    }},
    "vim_mode": true, "a": "\\ud800", "twice": 1, "twice": 2,
}}
"""
    path.write_text(before, encoding="utf-8")
    assert install(host, SERVER, path).is_changed
    after = path.read_text(encoding="utf-8")
    start, end = before.index('"ecphora": {'), before.index("}, // mine")
    assert after.startswith(before[:start])
    assert after.endswith(before[end:])
    entry = after[len(before[:start]) : -len(before[end:])] + "}"
    found = json.loads(entry.removeprefix('"ecphora": '))
    assert found == {"env": {"ECPHORA_EMBEDDER": "hashing"}, **host.entry(SERVER)}
    assert not install(host, SERVER, path).is_changed


def test_toml_entry_is_put_behind_what_is_there(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    before = '# mine\nmodel = "x"\n\n[mcp_servers.other]\ncommand = "y"'
    path.write_text(before, encoding="utf-8")
    assert install(CODEX, SERVER, path).is_changed
    text = path.read_text(encoding="utf-8")
    assert text.startswith(before + "\n\n[mcp_servers.ecphora]\n")
    assert tomllib.loads(text)["mcp_servers"] == {"other": {"command": "y"}, "ecphora": STDIO}
    assert not install(CODEX, SERVER, path).is_changed


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("cursor", b"{"),
        ("cursor", b'{"a": 1} /* a comment'),
        ("zed", b'{"context_servers": {"ecphora": {}, /* mine */ "ecphora": {}}}'),
        ("cursor", b"[]"),
        ("cursor", b'{"mcpServers": []}'),
        ("cursor", b'{"mcpServers": {}, "mcpServers": {}}'),
        ("cursor", b'{"a": NaN}'),
        ("cursor", b"\xff\xfe"),
        ("cursor", b"[" * 100_000),
        ("codex", b"a = "),
        ("codex", b'mcp_servers = {other = {command = "x"}}'),
        ("codex", b"mcp_servers = 3"),
        ("codex", b'[mcp_servers.ecphora]\ncommand = "other"'),
        ("codex", b'[[mcp_servers]]\ncommand = "other"'),
    ],
)
def test_file_that_cannot_be_merged_is_left_alone(name: str, content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)
    with pytest.raises(InvalidInput, match="is left as it is"):
        install(HOSTS[name], SERVER, path)
    assert path.read_bytes() == content
    assert files(tmp_path) == {"file"}


@pytest.mark.parametrize("content", [b"", b" \n", b"\xef\xbb\xbf{}"])
def test_empty_file_counts_as_no_settings(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)
    assert install(CURSOR, SERVER, path).is_changed
    assert json.loads(path.read_text(encoding="utf-8-sig"))["mcpServers"]["ecphora"] == STDIO
    assert path.read_bytes().startswith(b"\xef\xbb\xbf") == content.startswith(b"\xef\xbb\xbf")


@pytest.mark.skipif(sys.platform == "win32", reason="links need rights there")
def test_link_to_a_file_stays_a_link(tmp_path: Path) -> None:
    real, link = tmp_path / "real.json", tmp_path / "link.json"
    real.write_text("{}", encoding="utf-8")
    link.symlink_to(real)
    install(CURSOR, SERVER, link)
    assert link.is_symlink()
    assert "ecphora" in real.read_text(encoding="utf-8")


def test_change_by_another_program_meanwhile_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file"
    path.write_text("{}", encoding="utf-8")
    sync = os.fsync

    def change(descriptor: int) -> None:
        path.write_text('{"new": 1}', encoding="utf-8")
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", change)
    with pytest.raises(InvalidInput, match="just been changed by another program"):
        install(CURSOR, SERVER, path)
    assert path.read_text(encoding="utf-8") == '{"new": 1}'
    assert files(tmp_path) == {"file"}


def test_file_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "folder").write_text("a file", encoding="utf-8")
    with pytest.raises(StoreReadOnly, match="change it by hand"):
        install(CURSOR, SERVER, tmp_path / "folder" / "mcp.json")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec="utf-8"), max_size=6),
    lambda inner: st.lists(inner, max_size=2)
    | st.dictionaries(st.text(st.characters(codec="utf-8"), max_size=6), inner, max_size=2),
    max_leaves=5,
)  # fmt: skip


@pytest.mark.medium
@given(
    st.dictionaries(st.text(st.characters(codec="utf-8"), max_size=8) | st.just("mcpServers"), JSON, max_size=3),
    st.sampled_from([None, 2, 4, "\t"]),
)
def test_settings_of_others_survive_any_merge(settings: dict[str, Any], indent: Any) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "file"
        path.write_text(json.dumps(settings, indent=indent), encoding="utf-8")
        before = path.read_bytes()
        try:
            install(CURSOR, SERVER, path)
        except InvalidInput:
            assert not isinstance(settings.get("mcpServers", {}), dict)
            assert path.read_bytes() == before
            return
        servers = {**settings.get("mcpServers", {}), "ecphora": STDIO}
        assert json.loads(path.read_bytes()) == {**settings, "mcpServers": servers}


@pytest.mark.parametrize(
    ("name", "platform", "environ", "tail"),
    [
        ("claude-desktop", "darwin", {}, "~/Library/Application Support/Claude/claude_desktop_config.json"),
        ("claude-desktop", "win32", {"APPDATA": "/appdata"}, "/appdata/Claude/claude_desktop_config.json"),
        ("claude-code", "linux", {}, "~/.claude.json"),
        ("cursor", "win32", {}, "~/.cursor/mcp.json"),
        ("vscode", "linux", {}, "~/.config/Code/User/mcp.json"),
        ("vscode", "linux", {"XDG_CONFIG_HOME": "/xdg"}, "/xdg/Code/User/mcp.json"),
        ("vscode", "win32", {}, "~/AppData/Roaming/Code/User/mcp.json"),
        ("windsurf", "darwin", {}, "~/.codeium/windsurf/mcp_config.json"),
        ("codex", "linux", {}, "~/.codex/config.toml"),
        ("codex", "linux", {"CODEX_HOME": "/codex"}, "/codex/config.toml"),
        ("gemini", "darwin", {}, "~/.gemini/settings.json"),
        ("zed", "linux", {}, "~/.config/zed/settings.json"),
        ("zed", "darwin", {}, "~/.config/zed/settings.json"),
    ],
)
def test_path_of_the_file_depends_on_the_system(name: str, platform: str, environ: dict[str, str], tail: str) -> None:
    assert HOSTS[name].path(platform, environ) == Path(tail.replace("~", str(Path.home()), 1))


def test_unknown_places_and_hosts_are_errors() -> None:
    with pytest.raises(InvalidInput, match="not known on linux; add --print"):
        HOSTS["claude-desktop"].path("linux", {})
    with pytest.raises(UnknownName, match="no host is called 'emacs'"):
        find_host("emacs")


def test_server_command_runs_this_installation() -> None:
    found = server_command(["--db", "/a.db"])
    assert Path(found.command).is_absolute()
    assert found.args[-3:] == ("mcp", "--db", "/a.db")


# ---- the command


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments: str) -> Any:
    return CliRunner().invoke(main, ["mcp", *arguments])


def test_command_knows_every_host() -> None:
    assert tuple(HOSTS) == command.HOST_NAMES


def test_install_writes_absolute_paths_and_the_options_given(home: Path) -> None:
    result = run("--db", "a.db", "--scope", "ana", "--embedder", "hashing", "--install", "cursor")
    assert result.output.startswith(f"added to {home / '.cursor' / 'mcp.json'}; restart Cursor")
    args = read(CURSOR, home / ".cursor" / "mcp.json")["mcpServers"]["ecphora"]["args"]
    assert args[-7:] == ["mcp", "--db", str(home / "a.db"), "--scope", "ana", "--embedder", "hashing"]
    assert not (home / "a.db").exists()
    assert (
        "has the entry already"
        in run("--db", "a.db", "--scope", "ana", "--embedder", "hashing", "--install", "cursor").output
    )
    assert "the file as it was: " in run("--db", "b.db", "--install", "cursor").output
    done = json.loads(run("--db", "b.db", "--install", "cursor", "--json").output)
    assert done == {"path": str(home / ".cursor" / "mcp.json"), "is_changed": False, "backup": None}


def test_print_changes_nothing(home: Path) -> None:
    result = run("--db", "a.db", "--install", "codex", "--print")
    assert tomllib.loads(result.output)["mcp_servers"]["ecphora"]["args"][-1] == str(home / "a.db")
    assert files(home) == set()


@pytest.mark.parametrize(
    "arguments",
    [
        ["--print"],
        ["--install", "emacs"],
        ["--http", "--install", "cursor"],
    ],
)
def test_wrong_options_are_usage_errors(arguments: list[str], home: Path) -> None:
    assert run(*arguments).exit_code == 2
    assert files(home) == set()
