"""The command ``scopes``: whose memories a file holds."""

from dataclasses import asdict

import click

from ..stores.sqlite import SQLiteStore
from .context import CommandContext, common_options
from .render import table


@click.command()
@common_options
def scopes(context: CommandContext) -> None:
    """List the scopes of the file: whose memories it holds."""
    store = SQLiteStore(context.require_file())
    try:
        infos = store.scopes()
    finally:
        store.close()
    if context.as_json:
        context.write_json([asdict(info) for info in infos])
        return
    rows = [(info.name, f"{info.episodes:,}", info.embedder or "none yet", f"{info.revision:,}") for info in infos]
    context.out.print(
        table({"scope": "left", "memories": "right", "embedder": "left", "revision": "right"}, rows)
        if rows
        else "no scopes yet"
    )
