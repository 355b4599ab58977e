"""The commands ``scopes``, ``rename-scope`` and ``clone-scope``: whose memories a file holds."""

from contextlib import closing
from dataclasses import asdict

import click

from .. import scopes as scope_calls
from .context import CommandContext, common_options, file_options
from .render import table


@click.command()
@common_options
def scopes(context: CommandContext) -> None:
    """List the scopes of the file: whose memories it holds."""
    with closing(context.open_store()) as store:
        infos = store.scopes()
    if context.as_json:
        context.write_json([asdict(info) for info in infos])
        return
    rows = [(info.name, f"{info.episodes:,}", info.embedder or "none yet", f"{info.revision:,}") for info in infos]
    context.out.print(
        table({"scope": "left", "memories": "right", "embedder": "left", "revision": "right"}, rows)
        if rows
        else "no scopes yet"
    )


@click.command("rename-scope")
@click.argument("scope")
@click.argument("new_name")
@file_options
def rename_scope(context: CommandContext, *, scope: str, new_name: str) -> None:
    """Give SCOPE another name; all of it stays as it is.

    A program that has the scope open gets an error from then on, until it opens it by the new name.
    """
    scope_calls.rename_scope(context.require_file(), scope, new_name)
    _print_names(context, "renamed", scope, new_name)


@click.command("clone-scope")
@click.argument("scope")
@click.argument("new_name")
@file_options
def clone_scope(context: CommandContext, *, scope: str, new_name: str) -> None:
    """Copy SCOPE to a new scope, NEW_NAME; then the two change independently."""
    scope_calls.clone_scope(context.require_file(), scope, new_name)
    _print_names(context, "copied", scope, new_name)


def _print_names(context: CommandContext, verb: str, scope: str, new_name: str) -> None:
    if context.as_json:
        context.write_json({"scope": scope, "new_name": new_name})
    else:
        context.print_line(f"{verb}: {scope} -> {new_name}")
