"""One server and three programs that share its memory: two Python processes and a web page.

    pip install "ecphora[server,client]"
    python shared_server.py

The first process uses ``ecphora.connect``, the second sends plain HTTP as a program in any language can, and the page
uses ``fetch``. The page runs in a headless Chromium if there is one on the path. Otherwise its script runs in Node,
which does not enforce the rules for pages of other origins, so their headers are checked here.
"""

import json
import shutil
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.request import Request, urlopen

import ecphora

SCOPE = "family"
BROWSER_OPTIONS = ("--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=20000", "--dump-dom")
"""Show no window, wait until the page is done, and print it as it is then."""
PAGE_SCRIPT = """
async function ask(url, token) {
  const response = await fetch(url + "/v1/recall?scope=family", {
    method: "POST",
    headers: {Authorization: "Bearer " + token, "Content-Type": "application/json"},
    body: JSON.stringify({question: "Which sport does Bo like?", limit: 1}),
  });
  return response.ok ? (await response.json()).hits[0].text : "failed: " + response.status;
}
"""


def write_with_client(url: str, token: str) -> None:
    """The first process."""
    with ecphora.connect(url, token, scope=SCOPE) as memory:
        memory.remember("I moved to Porto.", speaker="Ana", happened_at="2026-05-03")
        print("Python client:", memory.recall("Where does Ana live?")[0].text, flush=True)


def write_with_http(url: str, token: str) -> None:
    """The second process."""
    body = json.dumps({"content": "Bo likes to row on the river.", "speaker": "Bo"}).encode()
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    with urlopen(Request(f"{url}/v1/remember?scope={SCOPE}", body, headers)) as response:
        print("Plain HTTP:   ", response.status, response.read().decode(), flush=True)


@contextmanager
def serve_memory(db: Path, origin: str) -> Iterator[str]:
    """Serve a memory to programs and to the pages of an origin. Yields the server's address."""
    command = ["ecphora", "serve", "--json", "--db", str(db), "--port", "0", "--allow-origin", origin]
    log = db.with_suffix(".log")
    with log.open("w") as errors, subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors) as server:
        assert server.stdout
        try:
            line = server.stdout.readline()
            assert line, log.read_text()
            yield json.loads(line)["url"]
        finally:
            server.terminate()


class PageServer(ThreadingHTTPServer):
    """Serves one page, from another origin than the memory's."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _PageHandler)
        self.origin = f"http://127.0.0.1:{self.server_port}"
        self.page = ""
        threading.Thread(target=self.serve_forever, daemon=True).start()


class _PageHandler(BaseHTTPRequestHandler):
    server: PageServer

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.end_headers()
        self.wfile.write(self.server.page.encode())

    def log_message(self, _format: str, *_args: object) -> None:
        """Print nothing."""


def ask_from_page(pages: PageServer, url: str, token: str) -> str:
    """Open a page that asks the memory, and return what it shows. Whoever can open such a page has its token."""
    arguments = f"{json.dumps(url)}, {json.dumps(token)}"
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if browser:
        show = f"ask({arguments}).catch(String).then(text => document.body.textContent = text)"
        pages.page = f"<!doctype html><title>Memory</title><body><script>{PAGE_SCRIPT}{show}</script></body>"
        print("Page in", browser)
        with TemporaryDirectory(ignore_cleanup_errors=True) as profile:
            shown = _run(browser, *BROWSER_OPTIONS, f"--user-data-dir={profile}", pages.origin, is_quiet=True)
        return shown.partition("<body>")[2].partition("</body>")[0]
    check_origin_headers(pages.origin, url, token)
    print("Page's script in Node (no Chromium), and the headers of its origin: allowed")
    return _run("node", "--eval", f"{PAGE_SCRIPT}ask({arguments}).then(console.log)")


def check_origin_headers(origin: str, url: str, token: str) -> None:
    """Check what a browser checks: the preflight and the answer allow the page's origin."""
    address = f"{url}/v1/recall?scope={SCOPE}"
    preflight = {
        "Origin": origin,
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "authorization,content-type",
    }
    with urlopen(Request(address, headers=preflight, method="OPTIONS")) as response:
        allowed = {name.strip().lower() for name in response.headers["Access-Control-Allow-Headers"].split(",")}
        assert response.headers["Access-Control-Allow-Origin"] == origin
        assert "POST" in response.headers["Access-Control-Allow-Methods"]
        assert {"authorization", "content-type"} <= allowed
    headers = {"Origin": origin, "Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    with urlopen(Request(address, b'{"question": "Who rows?"}', headers)) as response:
        assert response.headers["Access-Control-Allow-Origin"] == origin


def _run(*command: str, is_quiet: bool = False) -> str:
    errors = subprocess.DEVNULL if is_quiet else None
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=errors, text=True, timeout=120).stdout


def main() -> None:
    """Start the server, let the programs use it, and check what is in the memory."""
    with TemporaryDirectory() as folder, PageServer() as pages:
        db = Path(folder) / "shared.db"
        token = _run("ecphora", "token", "create", "family", "--scope", SCOPE, "--db", str(db)).strip()
        with serve_memory(db, pages.origin) as url:
            spawn = get_context("spawn")
            processes = [
                spawn.Process(target=write, args=(url, token)) for write in (write_with_client, write_with_http)
            ]
            for process in processes:
                process.start()
            for process in processes:
                process.join()
                assert process.exitcode == 0
            shown = ask_from_page(pages, url, token)
            print("Page:         ", shown.strip())
            assert "Bo likes to row on the river." in shown, shown
            with ecphora.connect(url, token, scope=SCOPE) as memory:
                assert memory.count() == 2
        pages.shutdown()


if __name__ == "__main__":
    main()
