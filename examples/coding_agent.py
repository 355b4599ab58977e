"""A coding agent with the plug-in: what its hooks are given, what they store, and what the model is shown.

    pip install ecphora
    python coding_agent.py

This file stands in for Claude Code: it writes a transcript, and calls ``ecphora hook`` with the JSON of each event. The
plug-in (plugins/coding-agents) has the host do so. Memories go to a temporary file.
"""

import json
import os
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any


class Session:
    """A session of a coding agent in a project: its messages, and the calls of the hooks."""

    def __init__(self, id_: str, project: Path, db: Path) -> None:
        self._id, self._project = id_, project
        self._transcript = db.with_name(f"{id_}.jsonl")
        self._environment = {**os.environ, "CLAUDE_PROJECT_DIR": str(project), "ECPHORA_DB": str(db)}
        self._environment.pop("ECPHORA_SCOPE", None)
        print(f"\n=== session {id_}")
        self._show(self._call("SessionStart", source="startup"))

    def ask(self, prompt: str, reply: str) -> None:
        """A prompt of the user, and the reply of the model, which is made up here."""
        print(f"\nuser:  {prompt}")
        self._show(self._call("UserPromptSubmit", prompt=prompt))
        print(f"model: {reply}")
        with self._transcript.open("a", encoding="utf-8") as file:
            for role, text in (("user", prompt), ("assistant", reply)):
                file.write(json.dumps({"type": role, "message": {"role": role, "content": text}}) + "\n")
        assert not self._call("Stop", stop_hook_active=False, last_assistant_message=reply)

    def _call(self, event: str, **fields: object) -> str:
        """Call a hook as the host does; returns what the model is shown, empty for nothing."""
        payload: dict[str, Any] = {
            "session_id": self._id,
            "transcript_path": str(self._transcript),
            "cwd": str(self._project),
            "hook_event_name": event,
            **fields,
        }
        command = ["ecphora", "hook", event]
        done = subprocess.run(
            command,
            input=json.dumps(payload).encode(),
            env=self._environment,
            stdout=subprocess.PIPE,
            check=True,
            timeout=60,
        )
        return json.loads(done.stdout)["hookSpecificOutput"]["additionalContext"] if done.stdout else ""

    @staticmethod
    def _show(context: str) -> None:
        for line in context.splitlines():
            print(f"    | {line}")
        if not context:
            print("    | (the model is shown nothing)")


def main() -> None:
    """Hold two sessions in a project. The second knows the first, but not the key that was pasted into it."""
    with TemporaryDirectory() as folder:
        project, db = Path(folder) / "shop", Path(folder) / "memory.db"
        project.mkdir()
        monday = Session("monday", project, db)
        monday.ask("We use PostgreSQL for the orders service, because it needs transactions.", "I added the schema.")
        monday.ask("Deploy with the key sk-live-4f9aQ7xT2mB8vL3kD6wZ, please.", "Deployed.")
        assert b"4f9aQ7xT2mB8vL3kD6wZ" not in b"".join(file.read_bytes() for file in db.parent.glob("memory.db*"))
        print("\nThe prompt with the key, and its reply, are not in the file.")

        friday = Session("friday", project, db)
        friday.ask("Which database does the orders service use?", "PostgreSQL, because it needs transactions.")


if __name__ == "__main__":
    main()
