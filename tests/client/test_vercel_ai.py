"""The package for the Vercel AI SDK: its own tests pass against a real server, and it belongs to this version."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

import ecphora

from .conftest import Server

PACKAGE = Path(__file__).parents[2] / "clients" / "vercel-ai"


def test_package_belongs_to_this_version_of_the_client() -> None:
    package = json.loads((PACKAGE / "package.json").read_text(encoding="utf-8"))
    assert package["version"] == ecphora.__version__
    assert package["dependencies"] == {"ecphora": ecphora.__version__}
    assert package["peerDependencies"] == {"ai": "^7.0.0"}
    assert all((PACKAGE / name).is_file() for name in package["files"])
    imports = re.findall(r'from "([^"]+)"', (PACKAGE / "index.js").read_text(encoding="utf-8"))
    assert set(imports) == {"ai", "ecphora"}


@pytest.mark.slow
def test_package_passes_its_tests_against_a_real_server(server: Server, scope: str) -> None:
    node = shutil.which("node")
    if node is None or not (PACKAGE / "node_modules" / "ai").is_dir():
        pytest.skip("the packages of clients/vercel-ai are not installed: run npm install there, with Node 20 or later")
    environment = os.environ | {"ECPHORA_URL": server.url, "ECPHORA_TOKEN": server.token(scope)}
    done = subprocess.run(
        [node, "--test", "--test-reporter=spec", "test/"],
        cwd=PACKAGE,
        env=environment,
        capture_output=True,
        encoding="utf-8",
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    counts = {
        name: int(count) for name, count in re.findall(r"^ℹ (pass|fail|skipped) (\d+)", done.stdout, re.MULTILINE)
    }
    assert counts == {"pass": 4, "fail": 0, "skipped": 0}, done.stdout
