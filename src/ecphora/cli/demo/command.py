"""The command ``demo``."""

from pathlib import Path

import click

from ..context import HomePath, open_context
from . import show


@click.command()
@click.option("--db", type=HomePath(path_type=Path), help="Create the demo's memory here, and keep it.")
@click.option("--keep", is_flag=True, help="Keep the demo's memory, to try your own questions on it.")
@click.option("--embedder", metavar="NAME", default="e5", show_default=True, help="As for the other commands.")
@click.option("--json", "as_json", is_flag=True, help="Write JSON to stdout, and nothing else.")
@click.pass_context
def demo(ctx: click.Context, *, db: Path | None, keep: bool, embedder: str, as_json: bool) -> None:
    """See it work: remember the chat of six friends over fourteen months, and ask about it.

    Asks twelve hard questions with known answers, and shows what is missed. No key, no network, half a minute.
    """
    ctx.meta["ecphora.json"] = as_json
    show.run_demo(open_context(as_json=as_json, embedder=embedder), db, keep=keep)
