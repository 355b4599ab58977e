"""The TypeScript client: its generated files are up to date, and its own tests pass against a real server."""

import json
import os
import re
import runpy
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

import ecphora

from .conftest import Server

ROOT = Path(__file__).parents[2]
CLIENT = ROOT / "clients" / "typescript"


@pytest.fixture(scope="module")
def script() -> dict[str, Any]:
    """The names of the script that generates files."""
    return runpy.run_path(str(ROOT / "scripts" / "generate_typescript"))


@pytest.mark.medium
def test_generated_files_are_up_to_date(script: dict[str, Any], server: Server) -> None:
    for name, text in script["generate"](server.app.openapi()).items():
        if (CLIENT / name).read_text(encoding="utf-8") != text:
            pytest.fail(f"clients/typescript/{name} is out of date: run scripts/generate_typescript")


@pytest.mark.medium
def test_every_operation_has_a_method(server: Server) -> None:
    """Each route under /v1 is in the generated table, or the client has it by hand."""
    table = (CLIENT / "operations.js").read_text(encoding="utf-8")
    by_hand = (CLIENT / "index.js").read_text(encoding="utf-8")
    paths = [path for path in server.app.openapi()["paths"] if path.startswith("/v1/")]
    assert len(paths) > 25
    for path in paths:
        fixed = path.partition("{")[0]
        assert f'"path": "{path}"' in table or fixed in by_hand, path


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"type": "string", "format": "date-time"}, "string"),
        ({"anyOf": [{"type": "integer"}, {"type": "number"}, {"type": "null"}]}, "number | null"),
        ({"type": "array", "items": {"anyOf": [{"type": "string"}, {"type": "boolean"}]}}, "(string | boolean)[]"),
        ({"type": "array", "items": {"$ref": "#/components/schemas/Node"}}, "Node[]"),
        ({"type": "object", "additionalProperties": {"type": "integer"}}, "Record<string, number>"),
        ({"type": "object"}, "Record<string, unknown>"),
        ({"enum": ["a", "b"], "type": "string"}, '"a" | "b"'),
        ({"const": "end"}, '"end"'),
        ({"title": "Anything"}, "unknown"),
    ],
)
def test_schema_has_its_type(script: dict[str, Any], schema: dict[str, Any], expected: str) -> None:
    assert script["type_of"](schema) == expected


def test_schema_without_a_type_is_an_error(script: dict[str, Any]) -> None:
    with pytest.raises(SystemExit, match="no TypeScript type"):
        script["type_of"]({"not": {"type": "string"}})


def test_package_has_the_version_and_no_dependencies() -> None:
    package = json.loads((CLIENT / "package.json").read_text(encoding="utf-8"))
    assert package["version"] == ecphora.__version__
    assert "dependencies" not in package
    assert "peerDependencies" not in package
    for name in package["files"]:
        assert (CLIENT / name).exists(), name
    imports = re.findall(r'from "([^"]+)"', (CLIENT / "index.js").read_text(encoding="utf-8"))
    assert imports == ["./operations.js"]


def node() -> str:
    """The path of Node 20 or later; skips the test without it."""
    found = shutil.which("node")
    if found is None:
        pytest.skip("node is not installed: the tests of the TypeScript client need Node 20")
    version = subprocess.run([found, "--version"], capture_output=True, text=True, check=True).stdout.strip()
    if int(version.removeprefix("v").partition(".")[0]) < 20:
        pytest.skip(f"node is {version}: the tests of the TypeScript client need Node 20")
    return found


@pytest.mark.slow
def test_client_passes_its_tests_against_a_real_server(server: Server, scope: str) -> None:
    command = [node(), "--test", "--test-reporter=spec", "test/"]
    environment = os.environ | {"ECPHORA_URL": server.url, "ECPHORA_TOKEN": server.token(scope)}
    done = subprocess.run(
        command, cwd=CLIENT, env=environment, capture_output=True, encoding="utf-8", check=False, timeout=120
    )
    assert done.returncode == 0, done.stdout + done.stderr
    counts = {
        name: int(count) for name, count in re.findall(r"^ℹ (pass|fail|skipped) (\d+)", done.stdout, re.MULTILINE)
    }
    assert counts["fail"] == 0
    assert counts["pass"] >= 17
    assert counts["skipped"] <= 1, done.stdout  # the package ai may be missing
