"""The command ``ecphora``: arguments in, text or JSON out. Each command is loaded when it is called."""

import atexit
import gc
import os
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import click

from .. import __version__
from .context import EXIT_CODES_HELP, ErrorHandlingGroup

# Keeps short commands fast. NumPy's threads would spin for 0.1 s before they sleep, and the garbage collector would
# search all imported objects for cycles a hundred times (lab/evidence.md, "Startup time").
os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "4")
gc.set_threshold(50_000)
atexit.register(gc.freeze)

BENCH_PACKAGE = "ecphora_bench"
"""The package of the benchmarks, which a checkout has and the wheel does not."""

COMMANDS = {
    "remember": (".remember:remember", "Remember texts: the arguments, files, or stdin by paragraph."),
    "recall": (".recall:recall", "Recall the memories that belong to a question."),
    "why-not": (".recall:why_not", "Say why a memory does not come back for a question."),
    "forget": (".corrections:forget", "Erase memories on purpose."),
    "find": (".recall:find", "List memories, without a question."),
    "count": (".recall:count", "Count memories."),
    "get": (".recall:get", "Show memories whole, by id."),
    "update": (".corrections:update", "Give a memory another text."),
    "history": (".corrections:history", "Show a memory's history."),
    "scopes": (".maintenance:scopes", "List the scopes of the file: whose memories it holds."),
    "rename-scope": (".maintenance:rename_scope", "Give a scope another name."),
    "clone-scope": (".maintenance:clone_scope", "Copy a scope to a new one."),
    "copy": (".maintenance:copy", "Copy scopes between files and PostgreSQL databases."),
    "export": (".interchange:export", "Write a scope as JSON Lines."),
    "import": (".interchange:import_", "Read an export, or a file of another program, into a scope."),
    "postgres": (".maintenance:postgres", "Make the tables of a PostgreSQL database, and let a role use them."),
    "reembed": (".maintenance:reembed", "Change a scope to another embedding model."),
    "bulk": (".bulk:bulk", "Consolidate, embed again or import many scopes."),
    "doctor": (".maintenance:doctor", "Check the file, and say how to repair what is wrong with it."),
    "plugins": (".maintenance:plugins", "List the plug-ins of other packages, and whether each can be imported."),
    "mcp": (".mcp:mcp", "Serve the memory to an MCP host, such as Claude Desktop."),
    "hook": (".hook:hook", "Remember and recall at the events of a coding agent's session."),
    "demo": (".demo.command:demo", "See it work on the chat of six friends."),
    "ask": (".recall:ask", "Answer a question from the memories."),
    "consolidate": (".consolidation:consolidate", "Find updates of facts, aliases and insights in new memories."),
    "updates": (".consolidation:updates", "Show which memories supersede or contradict others."),
    "accept": (".consolidation:accept", "Accept an update that is pending."),
    "reject": (".consolidation:reject", "Reject an update that was found."),
    "undo": (".consolidation:undo", "Undo the latest consolidation, import, accept, reject or merge."),
    "insights": (".consolidation:insights", "Show what memories say together."),
    "decayed": (".consolidation:decayed", "Show decayed memories."),
    "pin": (".consolidation:pin", "Keep memories from decay."),
    "unpin": (".consolidation:unpin", "Let pinned memories decay again."),
    "archive": (".consolidation:archive", "Rank memories below all others."),
    "unarchive": (".consolidation:unarchive", "Rank archived memories among the others again."),
    "backup": (".consolidation:backup", "Copy the whole file while it is in use."),
    "serve": (".serve:serve", "Serve the memory file over HTTP."),
    "token": (".serve:token", "Make, list and revoke the access tokens of the server."),
    "learn": (".learn:learn", "Learn from questions whose evidence is known."),
    "bench": (f"{BENCH_PACKAGE}.commands:bench", "Measure recall on public data sets, and speed."),
}
"""The commands: where each is defined, and the line that ``ecphora --help`` prints of it."""


@click.group(
    cls=ErrorHandlingGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog=EXIT_CODES_HELP,
)
@click.version_option(__version__, prog_name="ecphora", message="%(prog)s %(version)s")
@click.option("--traceback", is_flag=True, help="Show where an error arose (goes before the command).")
def main(*, traceback: bool) -> None:
    """Associative long-term memory in one file: tell it what happened, ask it later, see why.

    \b
    ecphora remember "Ana moved to Porto." --speaker Ana --happened-at 2026-05-03
    ecphora recall "Where does Ana live?"
    ecphora demo
    """
    del traceback  # read by ErrorHandlingGroup


class LazyCommand(click.Command):
    """A placeholder for a command, which is loaded only when it is called, so that ``--help`` is instant."""

    def __init__(self, name: str, place: str, help_: str) -> None:
        super().__init__(name, help=help_)
        self.place = place

    def load(self) -> click.Command:
        """Import the command. Raises ``ClickException`` for ``bench`` where the benchmarks cannot be imported."""
        module, _, function = self.place.partition(":")
        if module.startswith(BENCH_PACKAGE) and find_spec(BENCH_PACKAGE) is None:
            raise click.ClickException(_missing_benchmarks())
        command: click.Command = getattr(import_module(module, __package__), function)
        return command

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        return self.load().make_context(info_name, args, parent, **extra)


def _missing_benchmarks() -> str:
    """The sentence that says where the benchmarks are, with the repository's address from pyproject.toml."""
    from importlib.metadata import PackageNotFoundError, metadata  # noqa: PLC0415  # too slow for --help

    try:
        links = dict(entry.split(", ", 1) for entry in metadata("ecphora").get_all("Project-URL") or ())
    except PackageNotFoundError:  # run from a folder that nothing installed
        links = {}
    address = f" ({links['Repository']})" if "Repository" in links else ""
    return (
        f"the benchmarks are not part of the installed package; clone the repository{address} "
        "and run ./scripts/setup dev in it"
    )


for _name, (_place, _help) in COMMANDS.items():
    main.add_command(LazyCommand(_name, _place, _help))

if __name__ == "__main__":
    main()
