"""The command ``reembed``: changes a scope to another embedding model, or chunks its texts again."""

from contextlib import closing
from pathlib import Path

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
    """Change a scope to another embedding model, given by --embedder; with --rechunk cut long texts again.

    English memories that have no English vector yet, such as those of an older file, get one. With neither option,
    nothing else is done.
    """
    settings = context.settings
    path = context.require_file()
    counts: dict[str, int] = {}
    if settings.embedder is not None or not rechunk:
        embedder = settings.make_embedder(_stored_embedder(path, settings.scope))
        with progress_bar(context.err, "embedding", is_shown=context.has_progress_bar) as progress:
            counts["reembedded_count"] = reembedding.reembed(
                path, scope=settings.scope, embedder=embedder, progress=progress
            )
    if rechunk:
        embedder = settings.make_embedder(_stored_embedder(path, settings.scope))
        with progress_bar(context.err, "chunking", is_shown=context.has_progress_bar) as progress:
            counts["rechunked_count"] = rechunking.rechunk(
                path, scope=settings.scope, embedder=embedder, progress=progress
            )
    if context.as_json:
        context.write_json(counts)
    else:
        labels = {"reembedded_count": "memories embedded again", "rechunked_count": "memories got other chunks"}
        context.print_line("; ".join(f"{count:,} {labels[name]}" for name, count in counts.items()))


def _stored_embedder(path: Path, scope: str) -> str | None:
    """The name of the embedder that a scope has, None if there is no such scope."""
    with closing(SQLiteStore(path)) as store:
        return next((info.embedder for info in store.scopes() if info.name == scope), None)
