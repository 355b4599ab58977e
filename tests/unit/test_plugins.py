"""Plug-ins of other packages: each group end to end, and what a broken or hostile package can do."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from ecphora import HashingEmbedder, Memory, strategies
from ecphora.cli.main import main
from ecphora.errors import EmbedderUnavailable, InvalidInput, PluginError, UnknownName
from ecphora.maintenance.interchange import formats
from ecphora.model import plugins
from ecphora.model.types import Episode, Node
from ecphora.models.embedders import from_setting
from ecphora.models.embedders.from_setting import PACKAGED_EMBEDDERS
from ecphora.settings import LOCAL_EMBEDDERS, Settings, load, user_file
from ecphora.testing import EmbedderContract, ExtractorContract, ImporterContract, StrategyContract

pytestmark = pytest.mark.medium

Install = Callable[..., None]


@pytest.fixture(autouse=True)
def clean_place(site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty working folder, and no settings in the environment."""
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    for name in list(os.environ):
        if name.startswith(("ECPHORA_", "OPENAI_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("COLUMNS", "200")


@pytest.fixture
def install_other(site: Path, install_package: Install) -> Install:
    """Installs another package, with one plug-in."""

    def install(source: str, *, group: str = "embedders", name: str = "other") -> None:
        entries = {group: {name: "other_plugins:Other"}}
        install_package(site, "other_plugins", entries, version="2.0", other_plugins=source)

    return install


def ecphora(*args: str, stdin: str | None = None, code: int = 0) -> Result:
    result = CliRunner().invoke(main, args, input=stdin)
    assert result.exit_code == code, result.output
    return result


def entities(memory: Memory) -> set[str]:
    return {name for name, kind in _nodes(memory) if kind == "entity"}


def _nodes(memory: Memory) -> list[tuple[str, str]]:
    nodes: list[Node] = memory._store.nodes(memory.scope, list(memory.graph().nodes["ids"]))
    return [(node.text, node.kind.value) for node in nodes]


# ---- each group, end to end


def test_embedder_plugin_embeds_a_scope_from_a_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ECPHORA_EMBEDDER", "tiny:32")
    ecphora("remember", "Ana moved to Porto.")
    assert "Ana moved to Porto." in ecphora("recall", "Where is Ana?").stdout
    scopes = json.loads(ecphora("scopes", "--json").stdout)
    assert scopes[0]["embedder"] == "tiny/32"
    monkeypatch.delenv("ECPHORA_EMBEDDER")
    refused = ecphora("recall", "Where is Ana?", code=1).stderr
    assert "embedded by 'tiny/32'" in refused
    assert "--embedder with the plug-in's name" in refused
    assert "Porto" in ecphora("recall", "Where is Ana?", "--embedder", "tiny:32").stdout


def test_embedder_plugin_is_loaded_in_python() -> None:
    with Memory("m.db", embedder=plugins.load("embedders", "tiny")) as memory:
        memory.remember("Ana moved to Porto.")
        assert memory.recall("Ana")[0].text == "Ana moved to Porto."
        assert memory.scopes()[0].embedder == "tiny/16"


def test_extractor_plugin_finds_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ECPHORA_EXTRACTOR", "tiny")
    ecphora("remember", "ana met #zebulon there", "--embedder", "hashing")
    with Memory("ecphora.db", embedder=HashingEmbedder()) as memory:
        assert entities(memory) == {"zebulon"}
    monkeypatch.setenv("ECPHORA_EXTRACTOR", "rules")
    assert load().make_extractor() is None
    monkeypatch.setenv("ECPHORA_EXTRACTOR", "nobody")
    assert "no extractor is called 'nobody'; give rules or llm, or" in ecphora("recall", "ana", code=1).stderr


def test_strategy_plugin_recalls() -> None:
    with Memory("m.db", embedder=HashingEmbedder(), strategy="tiny") as memory:
        memory.remember("Ana moved to Porto.")
        assert memory.recall("Porto").strategy == "tiny"
        assert memory.recall("Porto", strategy="dense").strategy == "dense"
        assert memory.recall("Porto", strategy="tiny")[0].text == "Ana moved to Porto."
    assert "tiny" in strategies.strategy_names()
    assert strategies.resolve_strategy("tiny") is strategies.resolve_strategy("tiny"), "made once"
    with pytest.raises(UnknownName, match=r"no strategy is called 'tiny:argument'; choose one of fused.*tiny"):
        strategies.resolve_strategy("tiny:argument")


def test_importer_plugin_imports_a_file_once() -> None:
    Path("talk.txt").write_text("Ana: I moved to Porto.\nBo: I like rain.\n")
    options = ("--format", "tiny", "--embedder", "hashing")
    result = ecphora("import", "talk.txt", *options)
    assert result.stdout == (
        "format: tiny\nfound: 2 messages in 0 conversations\nspeakers: Ana (1), Bo (1)\n"
        "imported 2 memories; 0 existed already, 0 were blocked because they were forgotten here\n"
    )
    again = json.loads(ecphora("import", "talk.txt", *options, "--json").stdout)
    assert (again["created"], again["existing"]) == (0, 2)
    ecphora("forget", "tiny-1", "--yes")
    blocked = json.loads(ecphora("import", "talk.txt", *options, "--json").stdout)
    assert (blocked["created"], blocked["existing"], blocked["blocked"]) == (0, 1, 1)
    restored = ecphora("import", "-", *options, "--json", "--restore", stdin=Path("talk.txt").read_text())
    assert json.loads(restored.stdout)["created"] == 1


def test_import_of_a_missing_or_foreign_file_writes_nothing() -> None:
    assert "there is no file 'missing.txt'" in ecphora("import", "missing.txt", "--format", "tiny", code=1).stderr
    Path("foreign.bin").write_bytes(b"\xff\xfe\x00")
    assert "is not UTF-8; is it a list of texts?" in ecphora("import", "foreign.bin", "--format", "tiny", code=1).stderr
    unknown = ecphora("import", "foreign.bin", "--format", "nobody", code=1).stderr
    assert re.search("no importer is called 'nobody'; give ecphora.*, or the name of a plug-in", unknown)
    assert not Path("ecphora.db").exists()


def test_importer_reports_its_progress() -> None:
    Path("talk.txt").write_text("Ana: One.\nBo: Two.\n")
    reports: list[tuple[int, int]] = []
    found = formats.find_format("talk.txt", "tiny")
    items = list(found.read("talk.txt", progress=lambda done, total: reports.append((done, total))))
    assert [item.text for item in items if isinstance(item, Episode)] == ["One.", "Two."]
    assert reports == [(1, 2), (2, 2)]


def test_store_plugin_replaces_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ECPHORA_STORE", f"tiny://{tmp_path / 'elsewhere.db'}")
    ecphora("remember", "Ana moved to Porto.", "--embedder", "hashing")
    assert "Ana moved to Porto." in ecphora("recall", "Where is Ana?").stdout
    assert json.loads(ecphora("scopes", "--json").stdout)[0]["name"] == "default"
    assert (tmp_path / "elsewhere.db").exists()
    assert not Path("ecphora.db").exists()
    assert "no scope is called 'x' in the store tiny; it holds" in ecphora("recall", "?", "--scope", "x", code=1).stderr
    for command in (
        ["doctor"],
        ["reembed", "--embedder", "hashing"],
        ["backup", "copy.db"],
        ["rename-scope", "default", "other"],
        ["serve", "--no-auth"],
        ["token", "list"],
        ["mcp", "--install", "claude-code", "--print"],
    ):
        assert "this command works on a file" in ecphora(*command, code=1).stderr
    ecphora("remember", "Bo stays.", "--db", "here.db", "--embedder", "hashing")
    assert Path("here.db").exists(), "an argument overrides the environment"


# ---- the contracts, as an author runs them


class TestTinyEmbedder(EmbedderContract):
    @pytest.fixture
    def embedder(self) -> Any:
        return plugins.load("embedders", "tiny")


class TestTinyExtractor(ExtractorContract):
    @pytest.fixture
    def extractor(self) -> Any:
        return plugins.load("extractors", "tiny")


class TestTinyStrategy(StrategyContract):
    @pytest.fixture
    def strategy(self) -> Any:
        return plugins.load("strategies", "tiny")


class TestTinyImporter(ImporterContract):
    @pytest.fixture
    def importer(self) -> Any:
        return plugins.load("importers", "tiny")

    @pytest.fixture
    def sample(self, tmp_path: Path) -> str:
        path = tmp_path / "talk.txt"
        path.write_text("Ana: I moved to Porto.\nBo: I like rain.\n")
        return str(path)


# ---- what is built in wins


def test_reserved_names_are_those_that_are_built_in() -> None:
    assert plugins.BUILT_IN_NAMES.keys() == plugins.GROUPS.keys()
    assert plugins.BUILT_IN_NAMES["strategies"] == {
        *strategies.BUILT_IN,
        *strategies.ENGLISH,
        *strategies.FAITHFUL,
        *strategies.RETENTION,
    }
    assert plugins.BUILT_IN_NAMES["embedders"] == LOCAL_EMBEDDERS | from_setting.REMOTE_EMBEDDERS
    assert set(PACKAGED_EMBEDDERS) <= plugins.BUILT_IN_NAMES["embedders"]
    assert plugins.BUILT_IN_NAMES["importers"] == set(formats.format_names())


def test_plugin_cannot_take_the_place_of_what_is_built_in(site: Path, install_package: Install) -> None:
    source = "raise SystemExit('imported')"
    built_in_names = plugins.BUILT_IN_NAMES.items()
    names = {group: dict.fromkeys(built_in, "other_plugins:Other") for group, built_in in built_in_names}
    install_package(site, "other_plugins", names, other_plugins=source)
    assert strategies.resolve_strategy("fused").name == "fused"
    assert strategies.resolve_strategy("eisa-faithful").name.startswith("eisa")
    assert Settings(embedder="hashing").make_embedder().name == "hashing/256"
    assert Settings(embedder="minilm").make_embedder().name == PACKAGED_EMBEDDERS["minilm"].name
    assert Settings(extractor="rules").make_extractor() is None
    for group, built_in in built_in_names:
        for name in built_in:
            assert plugins.find(group, name) is None
    with pytest.raises(UnknownName):
        plugins.load("embedders", "hashing")
    assert len(strategies.strategy_names()) == len(set(strategies.strategy_names()))
    states = {(one["package"], one["state"]) for one in json.loads(ecphora("plugins", "--json").stdout)}
    assert states == {("other-plugins", "hidden"), ("tiny-plugins", "loads")}


# ---- broken packages


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        ("import a_package_that_is_missing", "cannot be imported: ModuleNotFoundError"),
        ("raise SystemExit(3)", "cannot be imported: SystemExit: 3"),
        ("x = ", "cannot be imported: SyntaxError"),
        ("Another = 1", "cannot be imported: AttributeError"),
        ("Other = 5", "is 5, neither a class nor a function"),
        ("def Other(): raise KeyError('key')", "cannot make its embedder: KeyError"),
        ("class Other:\n    name = 'n'\n    dim = 3", "makes <.*>, which has no embed"),
        ("def Other(): return None", "makes None, which has no name"),
    ],
)
def test_broken_plugin_is_one_error_when_it_is_asked_for(install_other: Install, source: str, problem: str) -> None:
    install_other(source)
    named = r"the plug-in 'other' \(ecphora.embedders\) of the package other-plugins 2.0 "
    mend = r"; upgrade the package \(pip install --upgrade other-plugins\), or remove it"
    with pytest.raises(PluginError, match=f"^{named}{problem}.*{mend}"):
        plugins.load("embedders", "other")
    assert plugins.load("embedders", "tiny").dim == 16, "another plug-in still works"
    with Memory("m.db", embedder=HashingEmbedder()) as memory:
        memory.remember("Nothing else is disturbed.")
    result = ecphora("recall", "x", "--db", "m.db", "--embedder", "other", code=1)
    assert result.stderr.count("\n") == 1


def test_error_that_a_plugin_raises_for_its_users_is_not_changed(install_other: Install) -> None:
    install_other(
        "from ecphora.errors import EmbedderUnavailable\n"
        "def Other(): raise EmbedderUnavailable('set OTHER_KEY to your key')",
    )
    with pytest.raises(EmbedderUnavailable, match=r"^set OTHER_KEY to your key$"):
        plugins.load("embedders", "other")


def test_name_of_two_packages_is_an_error_that_names_both(site: Path, install_package: Install) -> None:
    install_package(site, "another_tiny", {"embedders": {"tiny": "tiny_plugins:TinyEmbedder"}}, version="0.3")
    with pytest.raises(PluginError, match=r"2 packages have a plug-in 'tiny' .*: another-tiny 0.3, tiny-plugins 1.0; "):
        plugins.load("embedders", "tiny")
    assert plugins.load("strategies", "tiny").name == "tiny", "in another group there is one"


def test_damaged_metadata_is_an_error_only_where_plugins_are_asked_for(site: Path) -> None:
    info = site / "damaged-1.0.dist-info"
    info.mkdir()
    (info / "entry_points.txt").write_text("[ecphora.embedders]\nno value\n")
    with pytest.raises(PluginError, match=r"cannot be read \(.*\); find the damaged package with pip check"):
        plugins.load("embedders", "tiny")
    with Memory("m.db", embedder=HashingEmbedder(), strategy="dense") as memory:
        memory.remember("Ana moved to Porto.")
        assert memory.recall("Porto")


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        ("def read(self, path, **_): yield 'a text'", "yields 'a text', not an Episode"),
        ("def read(self, path, **_): return {}['key']", r"cannot read 'talk.txt': KeyError: 'key'"),
        ("def read(self, path, **_): return 5", r"cannot read 'talk.txt': TypeError"),
    ],
)
def test_importer_that_fails_is_an_error_of_its_package(install_other: Install, source: str, problem: str) -> None:
    Path("talk.txt").write_text("")
    install_other(f"class Other:\n    {source}\n", group="importers")
    with pytest.raises(PluginError, match=f"of the package other-plugins 2.0 {problem}"):
        list(formats.find_format("talk.txt", "other").read("talk.txt"))


@pytest.mark.parametrize("name", ["nobody", "", ":x", "tin", "TINY", "tiny.x", "../tiny", "\ud800", "a\0b"])
def test_unknown_name_says_what_there_is(name: str) -> None:
    with pytest.raises(UnknownName, match=r"no embedder is called .*; give e5, minilm, .* ecphora plugins lists"):
        Settings(embedder=name).make_embedder()


@pytest.mark.parametrize(("group", "name"), [("rerankers", "tiny"), ("embedders", None), ("embedders", 5)])
def test_wrong_group_or_type_is_invalid_input(group: str, name: Any) -> None:
    with pytest.raises(InvalidInput):
        plugins.load(group, name)


# ---- settings


def test_project_file_may_not_name_a_plugin() -> None:
    Path("ecphora.toml").write_text('strategy = "tiny"\nembedder = "tiny"\nextractor = "tiny"\nstore = "tiny://x"\n')
    found = load({})
    assert found == Settings(notes=found.notes)
    assert (
        "store, embedder, extractor, strategy" in found.notes[0]
        or "strategy, embedder, extractor, store" in (found.notes[0])
    )
    assert "tiny_plugins" not in sys.modules


def test_source_that_sets_db_or_store_decides_both(tmp_path: Path) -> None:
    own = tmp_path / "own.toml"
    own.write_text('store = "tiny://own"\n')
    assert load({}, user_path=own).store == "tiny://own"
    assert load({"ECPHORA_DB": "here.db"}, user_path=own) == Settings(Path("here.db"))
    assert load({"ECPHORA_STORE": "tiny://e"}, arguments={"db": "here.db"}) == Settings(Path("here.db"))
    Path("ecphora.toml").write_text('db = "../outside.db"\n')
    assert load({}, user_path=own) == Settings(store="tiny://own"), "the path of the project's file is not used"
    with pytest.raises(InvalidInput, match="both db and store are set"):
        load({"ECPHORA_DB": "here.db", "ECPHORA_STORE": "tiny://e"})
    assert load({"ECPHORA_DB": "a.db", "ECPHORA_STORE": "tiny://e"}, arguments={"db": "b.db"}).db == Path("b.db")


def test_password_in_a_store_url_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ECPHORA_STORE", "nobody://ana:secret@host/db")
    result = ecphora("recall", "x", code=1)
    assert "no store is called 'nobody'" in result.stderr
    assert "secret" not in result.output + repr(load())


# ---- the command, and what is never scanned


def test_plugins_command_lists_what_is_installed(install_other: Install) -> None:
    install_other("import a_package_that_is_missing")
    result = ecphora("plugins")
    rows = [line.split() for line in result.stdout.splitlines()]
    assert rows[0] == ["name", "group", "package", "version", "state"]
    assert ["other", "embedders", "other-plugins", "2.0", "fails"] in rows
    assert ["tiny", "stores", "tiny-plugins", "1.0", "loads"] in rows
    assert "other-plugins 2.0 cannot be imported: ModuleNotFoundError" in result.stderr
    found = json.loads(ecphora("plugins", "--json").stdout)
    (broken,) = [one for one in found if one["state"] == "fails"]
    assert broken["target"] == "other_plugins:Other"
    assert "a_package_that_is_missing" in broken["error"]


def test_plugins_command_without_plugins_says_where_they_are_declared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plugins, "list_plugins", list)
    assert ecphora("plugins").stdout.startswith("no plug-ins are installed; a package declares them in the groups")


def test_built_in_names_search_no_package(site: Path, install_other: Install) -> None:
    install_other("raise SystemExit('imported')", group="strategies")
    code = (
        "import sys, ecphora\n"
        "from ecphora import HashingEmbedder, Memory\n"
        "from ecphora.settings import Settings\n"
        "with Memory('m.db', embedder=Settings(embedder='hashing').make_embedder(), strategy='bm25') as memory:\n"
        "    memory.remember('Ana moved to Porto.')\n"
        "    memory.recall('Porto', strategy='dense')\n"
        "print(sorted({'importlib.metadata', 'tiny_plugins', 'other_plugins'} & set(sys.modules)))\n"
    )
    environment = {name: value for name, value in os.environ.items() if name != "COVERAGE_PROCESS_CONFIG"}
    environment["PYTHONPATH"] = os.pathsep.join([str(site), *sys.path])
    process = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True, timeout=60
    )
    assert process.stdout == "[]\n"


def test_user_file_may_name_a_plugin() -> None:
    path = user_file()
    assert not path.exists()
    own = Path("own.toml")
    own.write_text('embedder = "tiny"\n')
    assert load({}, user_path=own).make_embedder().name == "tiny/16"
