"""What package indexes and registries are told: the page of the package, the entry of the MCP server, the versions."""

import importlib
import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from platformdirs import user_data_path

import ecphora

ROOT = Path(__file__).parents[2]
REPOSITORY = "https://github.com/ecphora/ecphora"
MCP = ROOT / "packages" / "ecphora-mcp"


def read_toml(path: Path) -> dict[str, Any]:
    return tomllib.loads(path.read_text(encoding="utf-8"))


@pytest.fixture
def entry() -> dict[str, Any]:
    """The entry of the MCP registry."""
    read: dict[str, Any] = json.loads((ROOT / "server.json").read_text(encoding="utf-8"))
    return read


# ---- the page of the package


def page() -> str:
    """The README as hatch-fancy-pypi-readme puts it on the page of the package."""
    hook = read_toml(ROOT / "pyproject.toml")["tool"]["hatch"]["metadata"]["hooks"]["fancy-pypi-readme"]
    assert hook["fragments"] == [{"path": "README.md"}]
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    for rule in hook["substitutions"]:
        replacement = rule["replacement"].replace("$HFPR_VERSION", ecphora.__version__)
        text = re.sub(rule["pattern"], replacement, text)
    return text


def test_links_of_the_page_lead_to_files_of_this_version() -> None:
    links = re.findall(r"(!?)\[[^\]]*\]\(([^)]*)\)", page())
    bases = {"": f"{REPOSITORY}/blob", "!": "https://raw.githubusercontent.com/ecphora/ecphora"}
    assert {mark for mark, _ in links} == {"", "!"}
    for mark, link in links:
        base = f"{bases[mark]}/v{ecphora.__version__}/"
        assert link.startswith(base), link
        assert (ROOT / link.removeprefix(base).partition("#")[0]).is_file(), link


def test_page_installs_a_release() -> None:
    commands = re.findall(r"^\$ pip install .*", page(), re.MULTILINE)
    assert commands == ['$ pip install "ecphora"', '$ pip install "ecphora[mcp]"']


@pytest.mark.parametrize("path", [ROOT / "pyproject.toml", MCP / "pyproject.toml"], ids=["ecphora", "ecphora-mcp"])
def test_project_says_what_an_index_shows(path: Path) -> None:
    project = read_toml(path)["project"]
    assert 0 < len(project["description"]) <= 120
    assert project["urls"].keys() >= {"Homepage", "Repository", "Documentation", "Changelog", "Issues"}
    assert all(url.startswith(REPOSITORY) for url in project["urls"].values())
    for url in project["urls"].values():
        if "/blob/main/" in url:
            assert (ROOT / url.partition("/blob/main/")[2]).is_file(), url
    assert project["authors"]
    assert project["keywords"]
    assert {"Programming Language :: Python :: 3.11", "Programming Language :: Python :: 3.14"} <= set(
        project["classifiers"]
    )


# ---- the package ecphora-mcp


def test_package_of_the_server_has_the_version_of_its_dependency() -> None:
    project = read_toml(MCP / "pyproject.toml")["project"]
    assert project["version"] == ecphora.__version__
    assert project["dependencies"] == [f"ecphora[mcp]=={ecphora.__version__}"]
    assert project["scripts"] == {"ecphora-mcp": "ecphora_mcp:main"}
    assert (MCP / "LICENSE").read_text(encoding="utf-8") == (ROOT / "LICENSE").read_text(encoding="utf-8")


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[dict[str, Any]]:
    """The calls of the command ``ecphora``, as ecphora-mcp makes them, with the file of the memory at that time."""
    made: list[dict[str, Any]] = []
    monkeypatch.syspath_prepend(str(MCP / "src"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("ECPHORA_DB", "")
    monkeypatch.chdir(tmp_path)
    module = importlib.import_module("ecphora_mcp")

    def ecphora_command(arguments: list[str], prog_name: str) -> None:
        made.append({"arguments": arguments, "name": prog_name, "db": module.os.environ.get("ECPHORA_DB")})

    monkeypatch.setattr(module, "ecphora", ecphora_command)
    return made


def run_server_package(*arguments: str) -> None:
    sys.modules["ecphora_mcp"].main(arguments)


def test_server_package_keeps_its_memory_in_the_data_folder(calls: list[dict[str, Any]]) -> None:
    run_server_package("--scope", "ana")
    expected = str(user_data_path("ecphora", appauthor=False) / "memory.db")
    assert calls == [{"arguments": ["mcp", "--scope", "ana"], "name": "ecphora", "db": expected}]


def test_server_package_keeps_the_file_that_is_set(
    calls: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ECPHORA_DB", "ecphora.db")
    run_server_package()
    assert calls[0]["db"] == "ecphora.db"


def test_server_package_keeps_the_file_of_the_settings(calls: list[dict[str, Any]], tmp_path: Path) -> None:
    (tmp_path / "ecphora.toml").write_text('db = "own.db"\n', encoding="utf-8")
    run_server_package()
    assert not calls[0]["db"]


def test_server_package_leaves_broken_settings_to_the_command(calls: list[dict[str, Any]], tmp_path: Path) -> None:
    (tmp_path / "ecphora.toml").write_text("db =", encoding="utf-8")
    run_server_package()
    assert not calls[0]["db"]


# ---- the entry of the MCP registry


def test_entry_has_the_form_of_the_registry(entry: dict[str, Any]) -> None:
    """The schema 2025-12-11: its required fields and limits, and no field that it does not have."""
    assert entry["$schema"] == "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"
    assert entry.keys() <= {
        "$schema", "name", "title", "description", "version", "websiteUrl", "repository", "packages", "remotes",
        "icons", "_meta",
    }  # fmt: skip
    assert re.fullmatch(r"[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+", entry["name"])
    assert 1 <= len(entry["description"]) <= 100
    assert 1 <= len(entry["title"]) <= 100
    assert entry["repository"]["url"] == REPOSITORY
    assert entry["repository"]["source"] == "github"
    assert (ROOT / entry["repository"]["subfolder"]).is_dir()
    (package,) = entry["packages"]
    assert package.keys() <= {
        "registryType", "registryBaseUrl", "identifier", "version", "fileSha256", "runtimeHint", "transport",
        "runtimeArguments", "packageArguments", "environmentVariables",
    }  # fmt: skip
    assert (package["registryType"], package["identifier"], package["runtimeHint"]) == ("pypi", "ecphora-mcp", "uvx")
    assert package["transport"] == {"type": "stdio"}
    for variable in package["environmentVariables"]:
        assert variable.keys() <= {"name", "description", "format", "isRequired", "isSecret", "default"}
        assert variable.get("format", "string") in {"string", "number", "boolean", "filepath"}


def test_entry_names_this_version_and_variables_that_exist(entry: dict[str, Any]) -> None:
    from ecphora.settings import ENV_VARIABLES  # noqa: PLC0415

    (package,) = entry["packages"]
    assert entry["version"] == package["version"] == ecphora.__version__
    known = {name for names in ENV_VARIABLES.values() for name in names}
    assert {variable["name"] for variable in package["environmentVariables"]} <= known


def test_page_of_the_server_package_proves_the_name_of_the_entry(entry: dict[str, Any]) -> None:
    """The registry looks for this mark on the page of the package."""
    assert f"mcp-name: {entry['name']} -->" in (MCP / "README.md").read_text(encoding="utf-8")
    assert read_toml(MCP / "pyproject.toml")["project"]["readme"] == "README.md"


# ---- other places: conda, GitHub


def read_yaml(path: str) -> Any:
    return yaml.safe_load((ROOT / path).read_text(encoding="utf-8"))


def requirements(lines: list[str]) -> set[tuple[str, str]]:
    """The names and versions of requirements as PyPI or conda writes them, without spaces and marks."""
    split = [re.fullmatch(r"([\w-]+)\s*([^;]*?)\s*(?:;.*)?", line) for line in lines]
    assert None not in split
    return {(each[1].lower(), each[2].replace(" ", "")) for each in split if each}


def test_conda_recipe_needs_what_the_package_needs() -> None:
    recipe = read_yaml("packaging/conda/recipe.yaml")
    pyproject = read_toml(ROOT / "pyproject.toml")
    run = [line for line in recipe["requirements"]["run"] if not line.startswith("python >=")]
    needed = [line.replace("tzdata", "python-tzdata") for line in pyproject["project"]["dependencies"]]
    assert requirements(run) == requirements(needed)
    host = {line for line in recipe["requirements"]["host"] if not line.startswith(("python ", "pip"))}
    assert requirements(sorted(host)) == requirements(pyproject["build-system"]["requires"])
    assert recipe["context"]["version"] == ecphora.__version__
    assert recipe["about"]["license"] == pyproject["project"]["license"]
    assert recipe["about"]["summary"] == pyproject["project"]["description"]
    assert all((ROOT / name).is_file() for name in recipe["about"]["license_file"])


def test_workflow_tests_every_python_that_the_package_names() -> None:
    matrix = read_yaml(".github/workflows/test.yml")["jobs"]["test"]["strategy"]["matrix"]
    classifiers = read_toml(ROOT / "pyproject.toml")["project"]["classifiers"]
    named = [match[1] for line in classifiers if (match := re.fullmatch(r"Programming.* :: (3\.\d+)", line))]
    assert matrix["python"] == named
    assert matrix["os"] == ["ubuntu-latest", "macos-latest", "windows-latest"]


def test_release_publishes_without_passwords() -> None:
    workflow = read_yaml(".github/workflows/release.yml")
    assert workflow["permissions"] == {"contents": "read"}
    assert workflow["jobs"]["pypi"]["permissions"] == {"id-token": "write"}
    assert "secrets." not in (ROOT / ".github" / "workflows" / "release.yml").read_text(encoding="utf-8")


@pytest.mark.slow
def test_action_replays_its_example(tmp_path: Path) -> None:
    """The last step of the action, as the workflow runs it, and once more with a golden file that differs."""
    step = read_yaml("actions/golden-replay/action.yml")["runs"]["steps"][-1]
    job = read_yaml(".github/workflows/test.yml")["jobs"]["golden-replay"]["steps"][-1]
    script = step["run"].replace("python", sys.executable)
    tests = f"{job['with']['tests']} -p no:cacheprovider -p no:randomly"

    def replay(folder: Path) -> subprocess.CompletedProcess[str]:
        variables = {"TESTS": tests, "EMBEDDER": "", "PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT / "src")}
        return subprocess.run(
            ["bash", "-ec", script], cwd=folder, env=variables, capture_output=True, text=True, check=False, timeout=120
        )

    done = replay(ROOT)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 passed" in done.stdout
    copy = tmp_path / "actions" / "golden-replay" / "example"
    (copy / "golden").mkdir(parents=True)
    for path in (ROOT / "actions" / "golden-replay" / "example").rglob("*.*"):
        if path.suffix in {".py", ".json"}:
            text = path.read_text(encoding="utf-8").replace("moved to Porto", "moved to Ghent", path.suffix == ".py")
            (copy / path.relative_to(ROOT / "actions" / "golden-replay" / "example")).write_text(text, encoding="utf-8")
    done = replay(tmp_path)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "Ana moved to Ghent." in done.stdout
