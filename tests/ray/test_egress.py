"""Ray on this machine talks to this machine alone.

A hook in every Python process notes what it connects to and which names it looks up. Of the other processes, which are
Ray's in C++, the sockets are read from ``/proc`` while they work: a connection that is over before is not seen.
"""

import ipaddress
import os
from pathlib import Path

import pytest

from .conftest import descendants, needs_ray, replica_ids, serve_on_ray

pytestmark = needs_ray
httpx2 = pytest.importorskip("httpx2")

HOOK = """
import os, sys
_file = os.open(os.environ["EGRESS_LOG"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
def _note(event, arguments):
    if event in ("socket.connect", "socket.sendto", "socket.sendmsg", "socket.getaddrinfo"):
        place = arguments[0] if event == "socket.getaddrinfo" else arguments[1]
        host = place[0] if isinstance(place, tuple) else place
        if isinstance(host, bytes) or (isinstance(place, str) and event != "socket.getaddrinfo"):
            return  # a socket of the file system
        os.write(_file, f"{os.getpid()} {event} {host}\\n".encode())
_value = os.environ.get("RAY_USAGE_STATS_ENABLED")
os.write(_file, f"{os.getpid()} hooked {_value}\\n".encode())
sys.addaudithook(_note)
"""


def sockets_of(process_ids: set[int]) -> set[tuple[str, str]]:
    """The addresses of the internet sockets of processes: "listen" or "connect", and the address."""
    inodes = set[str]()
    for one in process_ids:
        for link in Path(f"/proc/{one}/fd").iterdir():
            try:
                target = str(link.readlink())
            except OSError:  # closed meanwhile
                continue
            if target.startswith("socket:["):
                inodes.add(target[8:-1])
    found = set[tuple[str, str]]()
    for name in ("tcp", "tcp6", "udp", "udp6"):
        for line in Path(f"/proc/net/{name}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[9] in inodes:
                is_listening = fields[3] == "0A" or fields[2].endswith(":0000")
                found.add(("listen", address_of(fields[1])) if is_listening else ("connect", address_of(fields[2])))
    return found


def address_of(field: str) -> str:
    """An address as the kernel prints it: words of four bytes in the byte order of the machine."""
    digits = field.partition(":")[0]
    raw = b"".join(bytes.fromhex(digits[start : start + 8])[::-1] for start in range(0, len(digits), 8))
    address = ipaddress.ip_address(raw)
    return str(getattr(address, "ipv4_mapped", None) or address)


def is_here(host: str) -> bool:
    """Whether an address or name is of the loopback."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host in {"localhost", "None", ""}


def test_nothing_leaves_the_machine(tmp_path: Path) -> None:
    hooks, log = tmp_path / "hooks", tmp_path / "log"
    hooks.mkdir()
    (hooks / "sitecustomize.py").write_text(HOOK)
    paths = os.pathsep.join([str(hooks), *filter(None, [os.environ.get("PYTHONPATH")])])
    environ = {"PYTHONPATH": paths, "EGRESS_LOG": str(log), "ECPHORA_RERANKER": "none"}
    options = ("--embedder", "hashing", "--no-auth", "--replicas", "2")
    sockets = set[tuple[str, str]]()
    with serve_on_ray("memory.db", *options, environ=environ, folder=tmp_path) as (url, process):
        with httpx2.Client(base_url=url, timeout=60) as client:
            for number in range(20):
                stored = client.post(
                    "/v1/remember", params={"scope": f"s{number}"}, json={"content": "I live in Rome."}
                )
                asked = client.post("/v1/recall", params={"scope": f"s{number}"}, json={"question": "Where do I live?"})
                assert stored.is_success
                assert len(stored.headers.get_list("x-request-id")) == 1
                assert asked.json()["hits"][0]["text"] == "I live in Rome."
                if number % 5 == 0:
                    sockets |= sockets_of({process.pid, *descendants(process.pid)})
        below = descendants(process.pid)
        workers = {one for one, command in below.items() if command.startswith("ray::")}
        replicas = set(replica_ids(process.pid))
    assert {kind for kind, _ in sockets} == {"listen", "connect"}
    assert [one for one in sockets if not is_here(one[1])] == []
    noted = [line.split(" ", 2) for line in log.read_text().splitlines()]
    usage = {int(one): value for one, event, value in noted if event == "hooked"}
    assert len(replicas) == 2
    assert {below[one]: usage.get(one) for one in workers} == {below[one]: "0" for one in workers}
    assert any(event == "socket.getaddrinfo" for _, event, _ in noted)  # so the hook notes what it should
    assert [line for line in noted if line[1] != "hooked" and not is_here(line[2])] == []
