"""The command ``hook``: what a coding agent calls at the events of a session, to remember and to recall.

The host gives a JSON object on stdin. Claude Code and Codex take ``hookSpecificOutput.additionalContext`` as an answer,
Cursor ``additional_context``; only these reach the model. A hook that fails could stop the host, so this one never
does: whatever happens, it exits with 0 and prints nothing. ``ecphora --traceback hook EVENT`` shows what happened.
"""

import io
import json
import os
import sys
from collections.abc import Mapping
from contextlib import redirect_stderr
from dataclasses import replace
from pathlib import Path
from threading import Timer
from typing import Any

import click

from .context import CommandContext, common_options

EVENTS = {
    "sessionstart": "SessionStart",
    "userpromptsubmit": "UserPromptSubmit",
    "beforesubmitprompt": "UserPromptSubmit",
    "stop": "Stop",
    "sessionend": "SessionEnd",
}
"""The events by their names in lower case; Cursor's ``beforeSubmitPrompt`` is ``UserPromptSubmit``."""
SWITCH, OFF = "ECPHORA_HOOK", {"off", "0", "false", "no"}
"""The environment variable that switches the hooks off, and the values with which it does."""
SOURCE = "hook"
"""The source of memories that a hook stored."""
DEFAULT_SECONDS = 12.0
"""How long a hook may take, in seconds: hosts wait 15, and then tell the user of an error."""
MAX_CHARS = 8_000
"""The characters of a message that are stored: a pasted log or a long reply would take minutes to embed."""
DEFAULT_TOKENS = 800
MIN_TOKENS = 150
"""The fewest tokens for which an answer can say what it is."""
LATEST = 10
"""The memories that a session starts with, if they fit."""
LATEST_HEAD = "The latest memories of earlier sessions in this project, newest first."


class SilentCommand(click.Command):
    """A command that ends with exit code 0 and without output on any failure, wrong usage included.

    Exit code 2 would make a host refuse the user's prompt.
    """

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        """Parse the arguments; exits at once if hooks are switched off."""
        if os.environ.get(SWITCH, "").strip().casefold() in OFF:
            raise click.exceptions.Exit(0)
        try:
            return super().make_context(info_name, args, parent, **extra)
        except click.exceptions.Exit:
            raise
        except Exception as error:
            if parent is not None and parent.params.get("traceback"):
                raise
            raise click.exceptions.Exit(0) from error

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; what it writes to stderr is dropped."""
        if ctx.find_root().params.get("traceback"):
            return super().invoke(ctx)
        try:
            with redirect_stderr(io.StringIO()):
                return super().invoke(ctx)
        except (Exception, KeyboardInterrupt) as error:
            raise click.exceptions.Exit(0) from error


@click.command(cls=SilentCommand, epilog=f"{SWITCH}=off switches it off. Failures are silent.")
@click.argument("event")
@click.option(
    "--budget",
    type=click.IntRange(min=MIN_TOKENS),
    default=DEFAULT_TOKENS,
    show_default=True,
    help="The most tokens to add.",
)
@click.option(
    "--seconds",
    type=click.FloatRange(min=0, min_open=True),
    default=DEFAULT_SECONDS,
    show_default=True,
    help="Give up after so many seconds.",
)
@common_options
def hook(context: CommandContext, *, event: str, budget: int, seconds: float) -> None:
    """Remember and recall for a coding agent, which gives the JSON of EVENT on stdin.

    SessionStart shows the latest memories, UserPromptSubmit memories for the prompt. Stop and SessionEnd store the last
    exchange, unless it seems to hold a secret. The scope is the project's folder.
    """
    deadline = Timer(seconds, os._exit, [0])  # a commit is whole or not at all
    deadline.daemon = True
    deadline.start()
    try:
        payload = json.loads(sys.stdin.buffer.read().decode("utf-8-sig"))
        name = EVENTS[event.casefold()]
        context = replace(context, settings=_settings(context, payload))
        if name in {"Stop", "SessionEnd"}:
            _remember(context, payload)
        elif text := _recall(context, payload, name, budget):
            json.dump(_answer(payload, name, text), sys.stdout)
            sys.stdout.flush()
    finally:
        deadline.cancel()


def _settings(context: CommandContext, payload: Mapping[str, Any]) -> Any:
    from .project import project_folder, with_project  # noqa: PLC0415

    roots = payload.get("workspace_roots") or [payload.get("cwd") or "."]
    return with_project(context.settings, project_folder(Path(roots[0]), os.environ))


def _session(payload: Mapping[str, Any]) -> str | None:
    """The session's id; Cursor calls it a conversation."""
    return payload.get("session_id") or payload.get("conversation_id")


def _recall(context: CommandContext, payload: Mapping[str, Any], name: str, budget: int) -> str:
    """What the model is told, empty for nothing. The session's own messages, which it has, are left out."""
    from ..model.types import Filter  # noqa: PLC0415

    session = _session(payload)
    where = Filter(not_sessions=() if session is None else (session,))
    if name == "SessionStart":
        return _latest(context, where, budget)
    from ..model.text_format import replace_surrogates  # noqa: PLC0415
    from ..model.types import Evidence, RecallOptions  # noqa: PLC0415
    from .session_messages import is_prompt  # noqa: PLC0415

    if not is_prompt(prompt := payload["prompt"]):
        return ""
    with context.open_memory(needs_embedder=True) as memory:
        message = {"role": "user", "content": replace_surrogates(prompt)}
        found = memory.recall(message, where=where, options=RecallOptions(explain=False))
        return "" if found.evidence is Evidence.NONE else found.to_prompt(budget)


def _latest(context: CommandContext, where: Any, budget: int) -> str:
    from ..tools.tool_replies import QUOTED, QuotedMemory, quote_fitting  # noqa: PLC0415

    with context.open_memory() as memory:
        quoted = [QuotedMemory(node).preview for node in memory.find(where=where, limit=LATEST)]
        blocks = quote_fitting(LATEST_HEAD, quoted, memory.graph(), budget) if quoted else []
    return "\n".join([f"{LATEST_HEAD} {QUOTED}", *blocks]) if blocks else ""


def _remember(context: CommandContext, payload: Mapping[str, Any]) -> None:
    """Store the last messages, both or, if one looks like it holds a secret, none: a reply may repeat the prompt's.

    Their ids follow from session and text, so that no event stores one again.
    """
    from ..model.ids import content_id  # noqa: PLC0415
    from ..model.types import Episode  # noqa: PLC0415
    from .secret_detection import has_secret  # noqa: PLC0415
    from .session_messages import last_messages  # noqa: PLC0415

    session, messages = _session(payload), last_messages(payload)
    if not messages or any(map(has_secret, messages.values())):
        return
    episodes = [
        Episode(text, id=content_id(session or "", role, text), speaker=role, session=session, source=SOURCE)
        for role, text in ((role, _shorten(text)) for role, text in messages.items())
    ]
    if context.settings.store is None:
        context.settings.db.parent.mkdir(parents=True, exist_ok=True)
    with context.open_memory(create=True, needs_embedder=True) as memory:
        memory.remember(episodes)


def _shorten(text: str) -> str:
    """The text as it is stored: of a long one the beginning and the end, in which people say what they want."""
    from ..model.text_format import replace_surrogates  # noqa: PLC0415

    half = MAX_CHARS // 2
    return replace_surrogates(text if len(text) <= MAX_CHARS else f"{text[:half]}\n…\n{text[-half:]}")


def _answer(payload: Mapping[str, Any], name: str, text: str) -> dict[str, Any]:
    """The answer in the form of the host."""
    if "cursor_version" in payload or "CURSOR_VERSION" in os.environ:
        proceed = {"continue": True} if name == "UserPromptSubmit" else {}
        return {**proceed, "additional_context": text}
    return {"hookSpecificOutput": {"hookEventName": name, "additionalContext": text}}
