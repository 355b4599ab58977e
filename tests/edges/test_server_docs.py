"""The commands and curl calls of docs/how-to/server.md do what the page says."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ecphora.remote.server.tokens import Tokens

PAGE = (Path(__file__).parents[2] / "docs" / "how-to" / "server.md").read_text(encoding="utf-8")
DEADLINE = 120
"""Seconds that a busy machine may take to start the server."""


def shell_blocks() -> list[str]:
    return [block.partition("\n```")[0] for block in PAGE.split("```sh\n")[1:]]


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
def test_commands_of_the_page_on_the_server_work(tmp_path: Path) -> None:
    start, calls, tokens = shell_blocks()
    bin_folder = tmp_path / "bin"
    bin_folder.mkdir()
    script = bin_folder / "ecphora"
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m ecphora.cli.main "$@"\n', encoding="utf-8")
    script.chmod(0o755)
    path = os.pathsep.join([str(bin_folder), os.environ["PATH"]])
    environment = {**os.environ, "PATH": path, "ECPHORA_EMBEDDER": "hashing"}
    create, serve = start.strip().splitlines()
    made = subprocess.run(
        ["sh", "-ec", f'{create}\nprintf %s "$TOKEN"'], cwd=tmp_path, env=environment, capture_output=True, text=True,
        check=True,
    )  # fmt: skip
    token = made.stdout
    command = serve.replace("8765", "0").split()
    with subprocess.Popen(command, cwd=tmp_path, env=environment, stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr is not None
        try:
            url = json.loads(server.stderr.readline())["listening"]
            assert "http://127.0.0.1:8765" in calls
            code = calls.replace("http://127.0.0.1:8765", url)
            answers = subprocess.run(
                ["sh", "-ec", code], cwd=tmp_path, env={**environment, "TOKEN": token}, capture_output=True, text=True,
                check=True, timeout=DEADLINE,
            )  # fmt: skip
        finally:
            server.terminate()
    remembered, _, recalled = answers.stdout.partition("}{")
    assert json.loads(remembered + "}")["created"]
    assert json.loads("{" + recalled)["hits"][0]["text"] == "I moved to Porto."
    subprocess.run(["sh", "-ec", tokens], cwd=tmp_path, env=environment, capture_output=True, check=True)
    assert [grant.name for grant in Tokens(tmp_path / "agent.db").grants()] == ["laptop"]
