"""Commands for a whole file or scope: ``doctor``, ``reembed``, ``scopes``, ``rename-scope``, ``clone-scope``, ``copy``.

``plugins`` lists the plug-ins that are installed.
"""

from contextlib import closing
from pathlib import Path
from typing import Any

import click

from ..errors import EcphoraError, InvalidInput
from ..maintenance import rechunking, reembedding
from ..maintenance import scopes as scope_calls
from ..maintenance.doctor import examine
from ..model import plugins as installed_plugins
from ..model.plugins import GROUPS, Plugin
from ..stores.opening import open_store
from ..stores.postgres.urls import is_postgres_url
from . import render
from .context import CommandContext, common_options, file_options, json_option
from .render import progress_bar, table


@click.command(epilog="Exits with 1 if a problem is left.")
@click.option("--fix", is_flag=True, help="Repair what can be repaired without loss.")
@common_options
def doctor(context: CommandContext, *, fix: bool) -> None:
    """Check the file, and say how to repair what is wrong with it."""
    report = examine(context.require_file(), fix=fix, make_embedder=context.settings.make_embedder)
    if context.as_json:
        context.write_json(report)
    else:
        render.print_report(context.out, report)
    if not report.is_healthy:
        click.get_current_context().exit(1)


@click.command()
@click.option(
    "--rechunk", is_flag=True, help="Cut long texts into chunks again as this version does; alone or with --embedder."
)
@common_options
def reembed(context: CommandContext, *, rechunk: bool) -> None:
    """Change a scope to another embedding model, given by --embedder; with --rechunk cut long texts again.

    English memories that have no English vector yet get one. With neither option, nothing else is done.
    """
    settings = context.settings
    path = context.require_location()
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


def _stored_embedder(path: str | Path, scope: str) -> str | None:
    """The name of the embedder that a scope has, None if there is no such scope."""
    with closing(open_store(path)) as store:
        return next((info.embedder for info in store.scopes() if info.name == scope), None)


@click.command()
@common_options
def plugins(context: CommandContext) -> None:
    """List the plug-ins that are installed, and whether each can be imported.

    Embedders, extractors, importers, stores and strategies of other packages.
    docs/how-to/plugins.md says how to write one.
    """
    found = [_describe(plugin) for plugin in installed_plugins.list_plugins()]
    if context.as_json:
        context.write_json(found)
        return
    if not found:
        context.print_line(f"no plug-ins are installed; a package declares them in the groups {', '.join(GROUPS)}")
        return
    columns = {"name": "left", "group": "left", "package": "left", "version": "left", "state": "left"}
    rows = [tuple(str(one[column]) for column in columns) for one in found]
    context.out.print(table(columns, rows))
    for one in found:
        if one["error"] is not None:
            context.note(f"error: {one['error']}")


def _describe(plugin: Plugin) -> dict[str, Any]:
    """A plug-in as JSON values; ``state`` is "loads", "fails" or "hidden", by something built in of its name."""
    error = None
    if not plugin.is_hidden:
        try:
            installed_plugins.find(plugin.group, plugin.name)
            plugin.load()
        except EcphoraError as problem:
            error = str(problem)
    return {
        "name": plugin.name,
        "group": plugin.group,
        "package": plugin.package,
        "version": plugin.version,
        "target": plugin.target,
        "state": "hidden" if plugin.is_hidden else "loads" if error is None else "fails",
        "error": error,
    }


@click.command()
@common_options
def scopes(context: CommandContext) -> None:
    """List the scopes of the file: whose memories it holds."""
    with closing(context.open_store()) as store:
        infos = store.scopes()
    if context.as_json:
        context.write_json(infos)
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
    scope_calls.rename_scope(context.require_location(), scope, new_name)
    _print_names(context, "renamed", scope, new_name)


@click.command("clone-scope")
@click.argument("scope")
@click.argument("new_name")
@file_options
def clone_scope(context: CommandContext, *, scope: str, new_name: str) -> None:
    """Copy SCOPE to a new scope, NEW_NAME; then the two change independently."""
    scope_calls.clone_scope(context.require_location(), scope, new_name)
    _print_names(context, "copied", scope, new_name)


@click.command(epilog="FROM and TO are files or postgresql://user@host/database; PGPASSWORD keeps a password off here.")
@click.argument("source", metavar="FROM")
@click.argument("target", metavar="TO")
@click.option("--scope", "scopes", metavar="NAME", multiple=True, help="Copy this scope alone; may be repeated.")
@json_option
def copy(context: CommandContext, *, source: str, target: str, scopes: tuple[str, ...]) -> None:
    """Copy the scopes at FROM to TO, verified; both may be a file or a PostgreSQL database.

    FROM may be in use meanwhile. Each scope appears at TO whole or not at all, and nothing there is overwritten. A copy
    that was interrupted continues when called again.
    """
    with progress_bar(context.err, "copying", is_shown=context.has_progress_bar) as progress:
        result = scope_calls.copy_scopes(source, target, scopes=scopes or None, progress=progress)
    if context.as_json:
        context.write_json(result)
        return
    for label, names in (("copied", result.copied), ("there already, equal", result.existing)):
        if names:
            context.print_line(f"{label}: {', '.join(names)}")


@click.command(epilog="A role that owns no table cannot create any: run this once as the owner, with --grant ROLE.")
@click.option("--partitions", type=click.IntRange(0, 1024), default=0, help="Partition new tables by scope.")
@click.option("--grant", "role", metavar="ROLE", help="Let this role read and write memories.")
@file_options
def postgres(context: CommandContext, *, partitions: int, role: str | None) -> None:
    """Make the tables of the PostgreSQL database at --db, or bring them up to date.

    Any other command does so too, with plain tables.
    """
    url = context.settings.store
    if url is None or not is_postgres_url(url):
        raise InvalidInput(f"{context.settings.location} is no PostgreSQL database; give --db postgresql://…")
    from ..stores.postgres.store import PostgresStore  # noqa: PLC0415  # needs the extra

    with closing(PostgresStore(url, partitions=partitions)) as store:
        if role is not None:
            store.grant(role)
        count = len(store.scopes())
    if context.as_json:
        context.write_json({"scopes": count, "role": role})
    else:
        context.print_line(f"the tables are ready; scopes: {count:,}{f'; {role} may use them' if role else ''}")


def _print_names(context: CommandContext, verb: str, scope: str, new_name: str) -> None:
    if context.as_json:
        context.write_json({"scope": scope, "new_name": new_name})
    else:
        context.print_line(f"{verb}: {scope} -> {new_name}")
