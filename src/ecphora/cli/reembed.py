"""The command ``reembed``: changes a scope to another embedding model, or chunks its texts again."""

from contextlib import closing

import click

from .. import rechunking, reembedding
from ..stores.sqlite import SQLiteStore
from .context import CommandContext, common_options
from .render import progress_bar


@click.command()
@click.option(
    "--rechunk", is_flag=True, help="Cut long texts into chunks again as this version does; alone or with --embedder."
)
@common_options
def reembed(context: CommandContext, *, rechunk: bool) -> None:
    """Change a scope to another embedding model, given by --embedder; with --rechunk cut long texts again."""
    settings = context.settings
    if settings.embedder is None and not rechunk:
        raise click.UsageError("name the new model with --embedder")
    path = context.require_file()
    counts: dict[str, int] = {}
    if settings.embedder is not None:
        with progress_bar(context.err, "embedding", is_shown=context.has_progress_bar) as progress:
            counts["reembedded_count"] = reembedding.reembed(
                path, scope=settings.scope, embedder=settings.make_embedder(), progress=progress
            )
    if rechunk:
        with progress_bar(context.err, "chunking", is_shown=context.has_progress_bar) as progress:
            with closing(SQLiteStore(path)) as store:
                stored = next((info.embedder for info in store.scopes() if info.name == settings.scope), None)
            embedder = settings.make_embedder(stored)
            counts["rechunked_count"] = rechunking.rechunk(
                path, scope=settings.scope, embedder=embedder, progress=progress
            )
    if context.as_json:
        context.write_json(counts)
    else:
        labels = {"reembedded_count": "memories embedded again", "rechunked_count": "memories got other chunks"}
        context.print_line("; ".join(f"{count:,} {labels[name]}" for name, count in counts.items()))
