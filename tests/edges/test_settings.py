"""Sources of settings: neither a project's file nor a memory's file may decide where data is sent."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest
from click.testing import CliRunner, Result

from ecphora import EvidenceBands, Memory
from ecphora.cli.main import main
from ecphora.errors import InvalidInput
from ecphora.models.embedders.hashing import HashingEmbedder
from ecphora.settings import Settings, expand_home, load, user_file
from ecphora.testing import FakeChatServer

KEY = "sk-of-the-user"


class Remote(HashingEmbedder):
    """A hashing embedder with the name of a remote model."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project folder as working folder, a home folder, and a key in the environment."""
    folder, home = tmp_path / "project", tmp_path / "home"
    folder.mkdir()
    home.mkdir()
    monkeypatch.chdir(folder)
    for name in list(os.environ):
        if name.startswith(("ECPHORA_", "OPENAI_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("USERPROFILE", str(home))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / ".config"))
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("COLUMNS", "100")
    return folder


@pytest.fixture
def other_server() -> Iterator[FakeChatServer]:
    with FakeChatServer(json.dumps({"answer": "Porto.", "ids": ["a"], "held": True})) as server:
        yield server


def ecphora(*args: str) -> Result:
    return CliRunner().invoke(main, args)


def write_settings(file: Path, **values: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(f"{name} = {json.dumps(value)}\n" for name, value in values.items()))


# ---- a project's file


@pytest.mark.parametrize(
    "name",
    [
        "llm",
        "llm_base_url",
        "openai_base_url",
        "openai_api_key",
        "reranker_base_url",
        "reranker_api_key",
        "reranker_scale",
    ],
)
def test_project_file_may_not_decide_where_data_is_sent(project: Path, name: str) -> None:
    write_settings(project / "ecphora.toml", **{name: "openai:m", "scope": "ours"})
    found = load({}, project)
    assert (getattr(found, name), found.scope) == (None, "ours")
    (note,) = found.notes
    assert f"ignored in the project's file {project / 'ecphora.toml'}: {name}. " in note
    assert f"ECPHORA_{name.upper()}" in note
    assert str(user_file()) in note


@pytest.mark.parametrize("name", ["openai:m", "sentence-transformers:org/m", "sentence-transformers:./m", "other"])
def test_project_file_may_not_choose_a_remote_embedder(project: Path, name: str) -> None:
    write_settings(project / "ecphora.toml", embedder=name)
    found = load({}, project)
    assert found.embedder is None
    assert "ECPHORA_EMBEDDER" in found.notes[0]


@pytest.mark.parametrize("name", ["minilm", "e5", "hashing", "hashing:32"])
def test_project_file_may_choose_a_local_embedder(project: Path, name: str) -> None:
    write_settings(project / "ecphora.toml", embedder=name, strategy="dense", db="here.db", weights="w.json")
    assert load({}, project) == Settings(
        project / "here.db", embedder=name, strategy="dense", weights=str(project / "w.json")
    )


@pytest.mark.parametrize(
    "name", ["jina:m", "tei:http://host", "llamacpp:./m.gguf", "cross-encoder:org/m", "llm", "other"]
)
def test_project_file_may_not_choose_another_reader(project: Path, name: str) -> None:
    write_settings(project / "ecphora.toml", reranker=name)
    found = load({}, project)
    assert found.reranker is None
    assert "ECPHORA_RERANKER" in found.notes[0]


@pytest.mark.parametrize("name", ["none", "builtin"])
def test_project_file_may_choose_the_built_in_reader_or_none(name: str, project: Path) -> None:
    write_settings(project / "ecphora.toml", reranker=name)
    assert load({}, project) == Settings(reranker=name)


@pytest.mark.parametrize("name", ["db", "weights"])
@pytest.mark.parametrize(
    "path", ["../out.db", "~/out.db", "~", "sub/../../out.db", "link/out.db", "link.db", "round", "a\0b", "ABSOLUTE"]
)
def test_project_file_may_not_name_a_path_outside_its_folder(project: Path, name: str, path: str) -> None:
    outside = project.parent / "outside"
    outside.mkdir()
    try:
        (project / "link").symlink_to(outside, target_is_directory=True)
        (project / "link.db").symlink_to(outside / "out.db")
        (project / "round").symlink_to(project / "round")
    except OSError:
        pytest.skip("no links here")
    path = str(outside / "out.db") if path == "ABSOLUTE" else path
    write_settings(project / "ecphora.toml", **{name: path})
    with pytest.raises(InvalidInput, match=f"sets {name} to .*, outside its own folder.* ECPHORA_{name.upper()}"):
        load({}, project)
    result = ecphora("remember", "A secret.", "--embedder", "hashing")
    assert result.exit_code == 1
    assert f"set --{name} or ECPHORA_{name.upper()} yourself" in result.stderr
    assert not list(outside.iterdir())
    assert not (project / "ecphora.db").exists()
    own_path = {name: str(project.parent / "mine.db")}
    assert str(getattr(load({}, project, arguments=own_path), name)) == own_path[name]
    assert str(getattr(load({f"ECPHORA_{name.upper()}": own_path[name]}, project), name)) == own_path[name]


def test_project_file_may_set_the_evidence_bands(project: Path) -> None:
    write_settings(project / "ecphora.toml", evidence_bands="0.7, 0.3")
    assert load({}, project).make_evidence_bands() == EvidenceBands(0.7, 0.3)
    assert load({"ECPHORA_EVIDENCE_BANDS": "1,0"}, project).make_evidence_bands() == EvidenceBands(1, 0)
    assert Settings().make_evidence_bands() == EvidenceBands()


def test_project_file_may_set_the_zone(project: Path) -> None:
    write_settings(project / "ecphora.toml", zone="Europe/Berlin")
    assert load({}, project).zone == "Europe/Berlin"
    assert load({"ECPHORA_ZONE": "Asia/Kolkata"}, project, arguments={}).zone == "Asia/Kolkata"
    assert load({"ECPHORA_ZONE": "Asia/Kolkata"}, project, arguments={"zone": "UTC"}).zone == "UTC"


def test_project_path_is_relative_to_its_file(project: Path) -> None:
    (project / "data").mkdir()
    write_settings(project / "ecphora.toml", db="data/../here.db")
    assert load({}, project).db.resolve() == (project / "here.db").resolve()
    assert ecphora("remember", "A text.", "--embedder", "hashing").exit_code == 0
    assert (project / "here.db").exists()


@pytest.mark.medium
def test_commands_send_nothing_to_a_host_of_the_project_file(project: Path, other_server: FakeChatServer) -> None:
    ecphora("remember", "Ana moved to Porto.", "--id", "a", "--embedder", "hashing")
    write_settings(
        project / "ecphora.toml",
        llm="openai:m", llm_base_url=other_server.url, openai_base_url=other_server.url, embedder="openai:m",
    )  # fmt: skip
    for command in (["ask", "Where is Ana?"], ["recall", "Where is Ana?"], ["consolidate"], ["remember", "New."]):
        result = ecphora(*command)
        assert result.exit_code in {0, 4}, result.output
        assert "ignored in the project's file ecphora.toml: llm, llm_base_url, openai_base_url, embedder" in " ".join(
            result.stderr.split()
        )
    assert "no language model is set" in ecphora("ask", "Where is Ana?").stderr
    as_json = ecphora("recall", "Where is Ana?", "--json")
    assert (json.loads(as_json.stdout)["hits"][0]["id"], as_json.stderr) == ("a", "")
    assert other_server.requests == []


def test_key_of_the_environment_is_not_used_with_a_host_of_the_project_file(
    project: Path, other_server: FakeChatServer
) -> None:
    ecphora("remember", "Ana moved to Porto.", "--id", "a", "--embedder", "hashing")
    write_settings(project / "ecphora.toml", llm_base_url=other_server.url, openai_base_url=other_server.url)
    found = load({"OPENAI_API_KEY": KEY, "ECPHORA_LLM": "openai:m"}, project)
    assert (found.openai_api_key, found.llm, found.llm_base_url, found.openai_base_url) == (KEY, "openai:m", None, None)


def test_project_file_of_a_parent_folder_is_not_read(project: Path) -> None:
    write_settings(project / "ecphora.toml", scope="ours")
    (project / "below").mkdir()
    assert load({}, project / "below") == Settings()


# ---- the user's own file


@pytest.mark.medium
def test_user_file_may_set_everything(project: Path, other_server: FakeChatServer) -> None:
    write_settings(
        user_file(),
        llm="openai:m",
        llm_base_url=other_server.url,
        db="mine.db",
        embedder="hashing",
        openai_api_key="own",
    )
    found = load({}, project)
    assert found == Settings(
        user_file().parent / "mine.db",
        embedder="hashing",
        llm="openai:m",
        llm_base_url=other_server.url,
        openai_api_key="own",
    )
    assert user_file() == Path.home() / ".config" / "ecphora" / "config.toml" or os.name == "nt"
    ecphora("remember", "Ana moved to Porto.", "--id", "a")
    assert ecphora("ask", "Where is Ana?").stdout.startswith("Porto.\n  a ")
    assert other_server.authorizations == [f"Bearer {KEY}"]  # the environment overrides the file


def test_project_file_sets_only_what_the_user_did_not(project: Path) -> None:
    write_settings(user_file(), db="~/mine.db", strategy="dense")
    write_settings(project / "ecphora.toml", db="../elsewhere.db", strategy="rrf", scope="ours", llm="openai:m")
    found = load({"ECPHORA_LLM": "openai:mine"}, project)
    assert (found.db, found.strategy, found.scope, found.llm) == (
        Path.home() / "mine.db",
        "dense",
        "ours",
        "openai:mine",
    )
    assert found.notes == (), "no note about a setting that another source sets"


def test_config_variable_replaces_both_files(project: Path) -> None:
    write_settings(user_file(), scope="user")
    write_settings(project / "ecphora.toml", scope="project", strategy="dense")
    write_settings(Path.home() / "named.toml", llm="openai:m", db="../db")
    found = load({"ECPHORA_CONFIG": "~/named.toml"}, project)
    assert found == Settings(Path.home() / "../db", llm="openai:m")


def test_unreadable_home_is_not_an_error(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def forbidden(_self: Path) -> bool:
        raise PermissionError

    monkeypatch.setattr(Path, "is_file", forbidden)
    assert load({}, project) == Settings()


# ---- home folders


@pytest.mark.parametrize("name", ["db", "weights"])
def test_tilde_inside_a_project_path_is_a_name(project: Path, name: str) -> None:
    write_settings(project / "ecphora.toml", **{name: "./~/out.db"})
    assert str(getattr(load({}), name)) == os.path.join("~", "out.db")  # noqa: PTH118
    ecphora("remember", "A secret.", "--embedder", "hashing")
    assert not list(Path.home().iterdir())


def test_tilde_expands_in_every_setting(project: Path) -> None:
    assert load({"ECPHORA_DB": "~/a.db"}, project).db == Path.home() / "a.db"
    assert load({}, project, arguments={"db": "~/a.db"}).db == Path.home() / "a.db"
    with pytest.raises(InvalidInput, match=r"~nobody-of-that-name.*cannot be found"):
        expand_home("~nobody-of-that-name/a.db")
    with pytest.raises(InvalidInput, match=r"home.w\.json"):
        load({"ECPHORA_WEIGHTS": "~/w.json"}, project).make_strategy()


@pytest.mark.medium
def test_tilde_expands_in_every_option_and_argument(project: Path) -> None:
    options = ["--embedder", "hashing"]
    assert ecphora("remember", "A text.", "--db", "~/a.db", *options).exit_code == 0
    assert ecphora("export", "~/a.jsonl", "--db", "~/a.db").exit_code == 0
    assert ecphora("import", "~/a.jsonl", "--db", "~/b.db", *options).exit_code == 0
    result = ecphora("demo", "--db", "~/a.db", *options)
    assert f"{Path.home() / 'a.db'} is there already" in result.stderr
    assert ecphora("demo", "--db", "~nobody-of-that-name/a.db").exit_code == 1
    assert "nothing to learn from" in ecphora("learn", "--db", "~/a.db", "--out", "~/w.json", *options).stderr
    (Path.home() / "sets").mkdir()
    assert f"{Path.home() / 'sets'} holds no data set" in ecphora("bench", "recall", "--data", "~/sets").stderr
    assert {file.name for file in Path.home().iterdir()} - {".cache"} == {"a.db", "a.jsonl", "b.db", "sets"}
    assert not list(project.iterdir())


# ---- a memory's file


@pytest.mark.medium
@pytest.mark.parametrize("setting", ["openai:m", "sentence-transformers:org/m", "openai:a b;c"])
def test_memory_file_may_not_choose_a_remote_embedder(
    setting: str, other_server: FakeChatServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ECPHORA_OPENAI_BASE_URL", other_server.url)
    kind, _, model = setting.partition(":")
    with Memory("ecphora.db", embedder=Remote(f"{model}@{kind}")) as memory:
        memory.remember("Ana moved to Porto.", id="a")
    for command in (["recall", "x"], ["ask", "x"], ["remember", "x"], ["consolidate"], ["why-not", "x", "a"]):
        result = ecphora(*command)
        assert (result.exit_code, result.stdout) == (1, ""), command
        assert result.stderr.count("\n") == 1
        quoted = f"'{setting}'" if " " in setting else setting
        for part in (f"add --embedder {quoted},", "ECPHORA_EMBEDDER", str(user_file())):
            assert part in result.stderr
    assert ecphora("history", "a").exit_code == 0, "a command that embeds nothing needs no embedder"
    assert ecphora("doctor").exit_code == 0
    assert other_server.requests == []


@pytest.mark.medium
@pytest.mark.parametrize("source", ["argument", "environment", "file"])
def test_remote_embedder_named_by_the_user_is_used(
    source: str, other_server: FakeChatServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ECPHORA_OPENAI_BASE_URL", other_server.url)
    with Memory("ecphora.db", embedder=Remote("m@openai")) as memory:
        memory.remember("Ana moved to Porto.", id="a")
    if source == "environment":
        monkeypatch.setenv("ECPHORA_EMBEDDER", "openai:m")
    elif source == "file":
        write_settings(user_file(), embedder="openai:m")
    result = ecphora("recall", "Where is Ana?", *(["--embedder", "openai:m"] if source == "argument" else []))
    assert "404" in result.stderr  # this server has no embeddings, but it got a request
    assert [request["model"] for request in other_server.requests] == ["m"]


@pytest.mark.medium
def test_doctor_does_not_use_a_remote_embedder_of_the_memory_file(
    other_server: FakeChatServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ECPHORA_OPENAI_BASE_URL", other_server.url)
    with Memory("ecphora.db", embedder=Remote("m@openai")) as memory:
        memory.remember("Ana moved to Porto.", id="a")
    db = apsw.Connection("ecphora.db")
    db.execute("DELETE FROM vector")
    db.close()
    result = ecphora("doctor", "--fix")
    assert result.exit_code == 1
    assert "--embedder openai:m" in " ".join(result.stdout.split())
    assert other_server.requests == []
