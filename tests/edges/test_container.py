"""The image of the server: what its Dockerfile starts, run here as processes, and what it copies."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest

from ecphora.remote.server.tokens import Tokens

ROOT = Path(__file__).parents[2]
SCRIPTS = ROOT / "packaging" / "docker"
DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8")

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the image is for Linux")


def command_of(instruction: str) -> list[str]:
    """The command of an instruction such as CMD, which the Dockerfile has once, as a JSON array."""
    (text,) = re.findall(rf"^{instruction} (\[.*\])$", DOCKERFILE, re.MULTILINE)
    command: list[str] = json.loads(text)
    return command


def environment(folder: Path, secret: Path | None = None) -> dict[str, str]:
    path = os.pathsep.join([str(SCRIPTS), str(Path(sys.executable).parent), os.environ["PATH"]])
    tokens = str(folder / "no secret" if secret is None else secret)
    return os.environ | {"PATH": path, "ECPHORA_DB": str(folder / "memory.db"), "ECPHORA_TOKENS_FILE": tokens}


@contextmanager
def serve(environ: dict[str, str]) -> Iterator[str]:
    """The address of a server, started as the image starts it, on this machine and a free port."""
    replaced = {"0.0.0.0": "127.0.0.1", "8765": "0"}  # noqa: S104  # in a container it is the container's own
    command = [replaced.get(word, word) for word in [*command_of("ENTRYPOINT"), *command_of("CMD")]]
    assert command[:2] == ["entrypoint", "serve"]
    with subprocess.Popen([*command, "--json"], env=environ, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield json.loads(process.stdout.readline())["url"]
        finally:
            process.terminate()
            process.communicate(timeout=40)
    assert process.returncode == 0


def status_of(url: str, token: str) -> int:
    headers = {"Authorization": f"Bearer {token}"}
    return httpx2.post(f"{url}/v1/count", params={"scope": "ana"}, json={}, headers=headers, timeout=20).status_code


@pytest.mark.slow
def test_server_lets_in_the_tokens_of_the_secret_file(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    made = Tokens(tmp_path / "elsewhere.db").create("laptop", scopes=("ana",))
    secret = tmp_path / "elsewhere.db-tokens.json"
    secret.chmod(0o400)
    environ = environment(tmp_path / "data", secret)
    with serve(environ) as url:
        assert status_of(url, made) == 200
        assert status_of(url, made[:-1] + "_") == 401
        port = url.rpartition(":")[2]
        check, *arguments = [port if word == "8765" else word for word in command_of("HEALTHCHECK.* CMD")]
        assert subprocess.run([SCRIPTS / check, *arguments], env=environ, check=False).returncode == 0
    failed = subprocess.run([SCRIPTS / check, *arguments], env=environ, check=False, stderr=subprocess.DEVNULL)
    assert failed.returncode != 0  # nothing listens any more


@pytest.mark.slow
def test_tokens_in_the_volume_are_kept_without_a_secret(tmp_path: Path) -> None:
    environ = environment(tmp_path)
    create = ["entrypoint", "token", "create", "laptop", "--scope", "ana"]
    made = subprocess.run(create, env=environ, capture_output=True, text=True, check=True).stdout.strip()
    with serve(environ) as url:
        assert status_of(url, made) == 200


@pytest.mark.slow
def test_secret_of_an_earlier_container_counts_no_more(tmp_path: Path) -> None:
    Tokens(tmp_path / "elsewhere.db").create("laptop", scopes=("ana",))
    secret = tmp_path / "elsewhere.db-tokens.json"
    for given, listed in ((secret, "laptop"), (None, "no tokens yet")):
        done = subprocess.run(
            ["entrypoint", "token", "list"],
            env=environment(tmp_path, given),
            capture_output=True,
            text=True,
            check=True,
        )
        assert listed in done.stdout


def test_image_has_what_it_copies_and_no_rights() -> None:
    assert re.findall(r"^USER (\S+)$", DOCKERFILE, re.MULTILINE) == ["10001"]
    assert command_of("VOLUME") == ["/data"]
    kept = re.findall(r"^!(\S+)$", (ROOT / ".dockerignore").read_text(encoding="utf-8"), re.MULTILINE)
    copied = [
        source
        for line in re.findall(r"^COPY (?!--from)(?:--\S+ )*(.+)$", DOCKERFILE, re.MULTILINE)
        for source in line.split()[:-1]
    ]
    assert len(copied) >= 5
    for source in copied:
        assert (ROOT / source).exists(), source
        assert any(Path(source).is_relative_to(name) for name in kept), f".dockerignore leaves out {source}"
    for script in (command_of("ENTRYPOINT")[0], command_of("HEALTHCHECK.* CMD")[0]):
        assert f"packaging/docker/{script}" in copied
        assert os.access(SCRIPTS / script, os.X_OK)
