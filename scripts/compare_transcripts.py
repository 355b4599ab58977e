#!/usr/bin/env python3
"""Check that two checkouts answer one story equally: scripts/compare_transcripts.py BEFORE AFTER.

The story remembers, recalls, forgets, undoes, exports, imports, answers and consolidates, by the command line, over
HTTP, over MCP and with the TypeScript client. Both transcripts are printed where they differ; what is new in every run
(times of writing, milliseconds, ids, ports, paths) is left out. Exits with 1 if anything differs.
"""

# ruff: noqa: S101, S310, S603, S607, T201  # a script that runs commands and prints

import argparse
import difflib
import json
import os
import re
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

TEXTS = [
    {"id": "a1", "text": "I live in Ghent.", "speaker": "Ana", "happened_at": "2026-03-02", "session": "s1"},
    {
        "id": "a2",
        "text": "My sister Iris plays the cello.",
        "speaker": "Ana",
        "happened_at": "2026-03-09",
        "session": "s2",
    },
    {"id": "a3", "text": "I moved to Porto last week.", "speaker": "Ana", "happened_at": "2026-05-04", "session": "s3"},
    {"id": "b1", "text": "The invoice is INV-2231.", "speaker": "Ben", "happened_at": "2026-05-05", "session": "s3"},
    {"id": "b2", "text": "We meet on Friday at noon.", "speaker": "Ben", "happened_at": "2026-05-06", "session": "s3"},
]
AS_OF = "2026-06-01"
QUESTIONS = ["Where does Ana live?", "What does Iris play?", "Which invoice is it?", "What is my blood type?"]
COMMANDS = [
    ["remember", "--jsonl"],
    *(["recall", question, "--as-of", AS_OF, "--explain"] for question in QUESTIONS),
    ["why-not", "Where does Ana live?", "b2", "--as-of", AS_OF],
    ["find", "--speaker", "Ana"], ["count"], ["get", "a1"], ["history", "a1"],
    ["consolidate"], ["updates"], ["insights"], ["ask", "Where does Ana live?", "--as-of", AS_OF],
    ["undo"], ["forget", "b2", "--yes"], ["update", "b1", "The invoice is INV-2232.", "--mode", "supersede"],
    ["export"], ["scopes"], ["doctor"], ["plugins"], ["recall", ""], ["get", "nothing"],
]  # fmt: skip
"""Commands of the story; each runs twice, the second time with ``--json``."""
NEW_EACH_TIME = [
    (r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+(?:Z|[+-]\d\d:\d\d)", "TIME"),
    (r'"(?:milliseconds|[a-z_]*_ms|uptime[a-z_]*|seconds|age[a-z_]*)": ?[\d.]+', '"DURATION"'),
    (r"\b\d+(?:\.\d+)? ?ms\b", "DURATION"),
    (r"\b(?=[0-9a-z]*\d)[0-9a-z]{20,}\b", "ID"),
    (r"\b(?=[0-9a-f]*\d)(?=\d*[a-f])[0-9a-f]{8}(?:[0-9a-f]{8})?\b", "ID"),
    (r'"job": "[^"]*"', '"JOB"'),
    (r"\d{1,2} [A-Z][a-z]{2} 20\d\d \d\d:\d\d", "TIME"),
    (r" +(?=●●●|●●○|●○○|○○○)", "  "),
    (r"\+ \d+ embedding", "+ EMBEDDING"),
    (r"20\d\d-\d\d-\d\d \d\d:\d\d(?:, \w+day)?", "TIME"),
    (r"(?:127\.0\.0\.1|localhost):\d+", "ADDRESS"),
]  # fmt: skip


INVALID = 400
"""The status of a request with an argument that the server does not have."""


def clean(text: str, folder: Path) -> str:
    """A part of a transcript without what is new each time; JSON has its keys in one order."""
    text = "\n".join(sort_keys(line) for line in text.replace(str(folder), "FOLDER").split("\n"))
    for pattern, name in NEW_EACH_TIME:
        text = re.sub(pattern, name, text)
    return re.sub(r'"step_milliseconds": ?\{[^}]*\}', '"DURATIONS"', text)


def sort_keys(line: str) -> str:
    """A line of JSON with sorted keys; other lines as they are."""
    if not line.startswith(("{", "[")):
        return line
    try:
        return json.dumps(json.loads(line), sort_keys=True, ensure_ascii=False)
    except ValueError:
        return line


def rename(lines: list[str], names: Sequence[tuple[str, str]]) -> list[str]:
    """Lines with other names for what was renamed, each pair BEFORE=AFTER."""
    text = "\n".join(lines)
    for before, after in names:
        text = text.replace(before, after)
    return text.split("\n")


def tell_by_commands(python: list[str], folder: Path, env: dict[str, str]) -> Iterator[str]:
    """The story by the command line."""
    lines = "".join(f"{json.dumps(text)}\n" for text in TEXTS)
    for options in ([], ["--json"]):
        for command in COMMANDS:
            place = ["--db", f"story{len(options)}.db"] if command[0] != "plugins" else []
            done = subprocess.run(
                [*python, *command, *place, *options],
                cwd=folder,
                env=env,
                input=lines,
                capture_output=True,
                text=True,
                check=False,
            )
            yield f"$ ecphora {' '.join([*command, *options])} -> {done.returncode}\n{done.stdout}{done.stderr}"


def tell_over_http(python: list[str], folder: Path, env: dict[str, str], client: str) -> Iterator[str]:
    """The story over HTTP, and with the TypeScript client of the checkout if Node is here."""
    command = [*python, "serve", "--no-auth", "--port", "0", "--db", "http.db", "--json"]
    with subprocess.Popen(
        command, cwd=folder, env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as server:
        try:
            assert server.stdout is not None
            url = json.loads(server.stdout.readline())["url"]
            document = json.loads(ask(url, "GET", "/openapi.json")[1])
            yield "paths " + " ".join(sorted(document["paths"]))
            scope = "/v1"
            yield request(url, "POST", f"{scope}/remember", {"content": TEXTS})
            for question in QUESTIONS:
                body = {"question": question, "as_of": AS_OF, "explain": True}
                if ask(url, "POST", f"{scope}/recall", body)[0] == INVALID:  # explain is one of the options
                    body = {"question": question, "as_of": AS_OF, "options": {"explain": True}}
                yield request(url, "POST", f"{scope}/recall", body)
            yield request(url, "POST", f"{scope}/consolidate", {})
            yield request(url, "POST", f"{scope}/answer", {"question": QUESTIONS[0], "as_of": AS_OF})
            yield request(url, "POST", f"{scope}/find", {"where": {"speakers": ["Ana"]}})
            yield request(url, "POST", f"{scope}/forget", {"ids": ["b2"]})
            yield request(url, "POST", f"{scope}/recall", {"question": ""})
            recall = f"memory.recall({json.dumps(QUESTIONS[0])}, {{ as_of: {json.dumps(AS_OF)} }})"
            script = folder / "story.mjs"
            script.write_text(
                f"import {{ connect }} from {json.dumps(client)};\n"
                f"const memory = await connect({json.dumps(url)}, {{ scope: 'ts' }});\n"
                f"console.log(JSON.stringify(await memory.remember({json.dumps(TEXTS)})));\n"
                f"console.log(JSON.stringify(await {recall}));\n"
                "try { await memory.recall(''); } catch (error) { console.log(String(error)); }\n",
                encoding="utf-8",
            )
            done = subprocess.run(["node", script], capture_output=True, text=True, check=False)
            yield f"node -> {done.returncode}\n{done.stdout}{done.stderr}"
        finally:
            server.terminate()


def ask(url: str, method: str, path: str, body: Any = None) -> tuple[int, str]:
    """The status and the body of an answer."""
    data = None if body is None else json.dumps(body).encode()
    asked = urllib.request.Request(url + path, data, {"content-type": "application/json"}, method=method)
    try:
        with urllib.request.urlopen(asked, timeout=60) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def request(url: str, method: str, path: str, body: Any) -> str:
    """A request and its answer, as a part of a transcript."""
    status, answer = ask(url, method, path, body)
    return f"{method} {path} {json.dumps(body)} -> {status}\n{pretty(answer)}"


def pretty(answer: str) -> str:
    """JSON with a line for each value."""
    try:
        return json.dumps(json.loads(answer), indent=1, sort_keys=True, ensure_ascii=False)
    except ValueError:
        return answer


def tell_over_mcp(python: list[str], folder: Path, env: dict[str, str]) -> Iterator[str]:
    """The story over MCP on stdio."""
    first = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "story", "version": "1"}}
    calls: list[tuple[str, dict[str, Any]]] = [
        ("initialize", first),
        ("tools/list", {}),
        ("resources/list", {}),
        (
            "tools/call",
            {"name": "remember", "arguments": {"texts": [text["text"] for text in TEXTS], "speaker": "Ana"}},
        ),
        *(("tools/call", {"name": "recall", "arguments": {"question": question}}) for question in QUESTIONS),
        ("tools/call", {"name": "forget", "arguments": {"ids": ["nothing"]}}),
    ]
    command = [*python, "mcp", "--db", "mcp.db"]
    with subprocess.Popen(
        command,
        cwd=folder,
        env=env,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        for number, (method, params) in enumerate(calls):
            print(
                json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}),
                file=server.stdin,
                flush=True,
            )
            while True:
                answer = json.loads(server.stdout.readline() or json.dumps({"id": number, "error": "no answer"}))
                if answer.get("id") == number:
                    break
            yield f"mcp {method} {json.dumps(params)}\n{pretty(json.dumps(answer))}"
            if method == "initialize":
                print('{"jsonrpc": "2.0", "method": "notifications/initialized"}', file=server.stdin, flush=True)
        server.stdin.close()


def tell(checkout: Path) -> list[str]:
    """The transcript of the story in a checkout, as lines."""
    env = {**os.environ, "PYTHONPATH": str(checkout / "src"), "PYTHONHASHSEED": "0", "COLUMNS": "120", "TZ": "UTC"}
    python = [sys.executable, "-m", "ecphora.cli.main"]
    parts: list[str] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for told in (
            tell_by_commands(python, folder, env),
            tell_over_http(python, folder, env, (checkout / "clients" / "typescript" / "index.js").as_uri()),
            tell_over_mcp(python, folder, env),
        ):
            parts += [clean(part, folder) for part in told]
    return "\n".join(parts).splitlines()


def main() -> None:
    """Tell the story in both checkouts and compare."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("checkouts", nargs=2, type=Path, metavar="CHECKOUT", help="the folder before and the one after")
    parser.add_argument("--rename", action="append", default=[], metavar="OLD=NEW", help="what has another name after")
    arguments = parser.parse_args()
    before, after = (tell(checkout.resolve()) for checkout in arguments.checkouts)
    before = rename(before, [tuple(one.split("=", 1)) for one in arguments.rename])
    differences = list(difflib.unified_diff(before, after, "before", "after", lineterm="", n=1))
    print(f"{len(before):,} lines before, {len(after):,} after, {len(differences):,} lines of differences")
    print("\n".join(differences))
    raise SystemExit(1 if differences else 0)


if __name__ == "__main__":
    main()
