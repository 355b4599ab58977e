"""The command ``mcp``: a memory as an MCP server, and its entry in the configuration of a host."""

import json
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..errors import InvalidInput
from ..stores.postgres.urls import hide_password, is_postgres_url
from .context import CommandContext, CommandFunction, common_options
from .project import project_folder, with_project
from .serve import access_options, find_tokens, make_policy

if TYPE_CHECKING:  # needs the extra
    from ..remote.server.access_control import AccessPolicy

STDIO_EXTRAS, HTTP_EXTRAS = "mcp", "mcp,server"
"""The extras with the packages of the server, over stdin and stdout and on a port."""
HOST_NAMES = ("claude-desktop", "claude-code", "cursor", "vscode", "windsurf", "codex", "gemini", "zed")
"""The hosts whose configuration is known, as ``host_config.HOSTS`` has them."""
DEFAULT_PORT = 8766
GRACE_SECONDS = 10
"""Seconds that requests in progress have to end once the server is told to stop."""


def _options(command: CommandFunction) -> CommandFunction:
    decorators: list[Callable[[CommandFunction], CommandFunction]] = [
        click.option(
            "--install",
            "host_name",
            metavar="HOST",
            type=click.Choice(HOST_NAMES),
            help=f"Add the server to the configuration of a host: {', '.join(HOST_NAMES)}.",
        ),
        click.option(
            "--project",
            "is_project",
            is_flag=True,
            help="The memory of the project here, as for ecphora hook.",
        ),
        click.option("--print", "is_dry_run", is_flag=True, help="With --install: print the entry and change nothing."),
    ]
    command = access_options(DEFAULT_PORT)(command)
    command = click.option("--http", "is_http", is_flag=True, help="Listen on a port, for clients with a token.")(
        command
    )
    for decorator in reversed(decorators):
        command = decorator(command)
    return command


@click.command()
@_options
@common_options
def mcp(
    context: CommandContext,
    *,
    host_name: str | None,
    is_project: bool,
    is_dry_run: bool,
    is_http: bool,
    host: str,
    port: int,
    no_auth: bool,
    origins: Sequence[str],
    hosts: Sequence[str],
    receive_timeout: float,
) -> None:
    """Serve the memory to an MCP host over stdin and stdout, or with --http on a port.

    A host, such as Claude Desktop or Cursor, starts this command by itself; --install tells it to. Several hosts may
    use one file at the same time. The options after --http go with it.

    \b
    ecphora mcp --db ~/memory.db --install claude-code
    """
    if host_name is not None and is_http:
        raise click.UsageError("--install and --http exclude each other")
    if is_dry_run and host_name is None:
        raise click.UsageError("--print goes with --install")
    if is_project and is_http:
        raise click.UsageError("--project and --http exclude each other")
    if host_name is not None:
        _install(context, host_name, is_project=is_project, is_dry_run=is_dry_run)
    elif is_http:
        tokens = find_tokens(context.settings, host, no_auth=no_auth)
        policy = partial(make_policy, tokens, host, origins, hosts)
        _serve_http(context, host=host, port=port, receive_seconds=receive_timeout, find_policy=policy)
    elif is_project:
        settings = with_project(context.settings, project_folder(Path(), os.environ))
        if settings.store is None:
            settings.db.parent.mkdir(parents=True, exist_ok=True)
        _serve(replace(context, settings=settings))
    else:
        _serve(context)


def _serve_http(
    context: CommandContext,
    *,
    host: str,
    port: int,
    receive_seconds: float,
    find_policy: Callable[[], "AccessPolicy"],
) -> None:
    names = ("mcp.http", "server.listening", "server.app", "server.admission")
    mcp_http, listening, app, gate = (_import_server(name, HTTP_EXTRAS) for name in names)
    options = app.ServerOptions(find_policy(), gate.Limits(receive_seconds=receive_seconds))

    def on_start(url: str) -> None:
        if context.as_json:
            context.write_json({"url": f"{url}{mcp_http.PATH}", "db": str(context.file)})
            sys.stdout.flush()
        else:
            line = json.dumps({"listening": f"{url}{mcp_http.PATH}", "db": str(context.file)})
            print(line, file=sys.stderr, flush=True)  # noqa: T201

    listening.run_server(
        mcp_http.make_mcp_app(context.settings, options),
        host=host,
        port=port,
        head_seconds=receive_seconds,
        grace_seconds=GRACE_SECONDS,
        on_start=on_start,
    )


def _serve(context: CommandContext) -> None:
    mcp_server = _import_server("mcp.server", STDIO_EXTRAS)
    with context.open_memory(create=True, needs_embedder=True) as memory:
        mcp_server.serve_stdio(memory)


def _import_server(module: str, extras: str) -> Any:
    """A module that needs the packages of ``extras``."""
    try:
        return import_module(f"ecphora.remote.{module}")
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("ecphora"):
            raise
        package = (error.name or "").partition(".")[0]
        command = f"pip install 'ecphora[{extras}]'"
        raise InvalidInput(f"the MCP server needs the package {package}; install it with: {command}") from error


def _location_argument(context: CommandContext) -> str:
    """Where the memory is, as a host's file names it; raises ``InvalidInput`` for a URL with a password."""
    url = context.settings.store
    if url is None or not is_postgres_url(url):
        return str(context.file.absolute())
    if hide_password(url) != url.partition("?")[0]:
        raise InvalidInput(
            "a host's settings are no place for a password; put it into ~/.pgpass, and give the URL without"
        )
    return url


def _install(context: CommandContext, host_name: str, *, is_project: bool, is_dry_run: bool) -> None:
    from ..remote.mcp import host_config  # noqa: PLC0415

    given = click.get_current_context().params
    options = {"scope": given["scope"], "embedder": given["embedder"]}
    args = ["--project"] if is_project else []
    if not is_project or given["db"] is not None:
        args += ["--db", _location_argument(context)]
    args += [part for name, value in options.items() if value is not None for part in (f"--{name}", value)]
    host, server = host_config.find_host(host_name), host_config.server_command(args)
    if is_dry_run:
        click.echo(host.snippet(server), nl=False)
        return
    done = host_config.install(host, server)
    backup = None if done.backup is None else str(done.backup)
    if context.as_json:
        context.write_json({"path": str(done.path), "is_changed": done.is_changed, "backup": backup})
    elif not done.is_changed:
        context.print_line(f"{done.path} has the entry already")
    else:
        context.print_line(f"added to {done.path}; restart {host.title}")
        if backup is not None:
            context.print_line(f"the file as it was: {backup}")
