"""What the commands that listen on a port share: where they listen, and who is let in."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..http_route import is_loopback
from ..server.addresses import ANY_ORIGIN, LOOPBACK_NAMES, OPAQUE_ORIGIN, is_origin
from ..server.tokens import Tokens
from .context import CommandFunction

if TYPE_CHECKING:  # needs the extra
    from ..server.access_control import AccessPolicy


def access_options(port: int) -> Callable[[CommandFunction], CommandFunction]:
    """The options that say where to listen, by default on ``port``, and who is let in."""
    decorators: list[Callable[[CommandFunction], CommandFunction]] = [
        click.option(
            "--host", default="127.0.0.1", show_default=True, help="Where to listen. Others need tokens, and TLS."
        ),
        click.option(
            "--port", type=click.IntRange(0, 65535), default=port, show_default=True, help="The port; 0 for any."
        ),
        click.option(
            "--no-auth", is_flag=True, help="Let every program on this machine do everything, without a token."
        ),
        click.option(
            "--allow-origin",
            "origins",
            multiple=True,
            metavar="ORIGIN",
            help="Let pages of this origin send requests; repeatable.",
        ),
        click.option(
            "--allow-host",
            "hosts",
            multiple=True,
            metavar="NAME",
            help="A name by which requests may address it; repeatable.",
        ),
        click.option(
            "--receive-timeout",
            type=click.FloatRange(min=0, min_open=True),
            default=20.0,
            show_default=True,
            help="Seconds for the head of a request to arrive, and for its body.",
        ),
    ]

    def add(command: CommandFunction) -> CommandFunction:
        for decorator in reversed(decorators):
            command = decorator(command)
        return command

    return add


def find_tokens(db: Path, host: str, *, no_auth: bool) -> Tokens | None:
    """The tokens that are let in, None if none are needed; raises ``UsageError`` for what is unsafe or useless."""
    tokens = Tokens(db)
    if no_auth and not is_loopback(host):
        raise click.UsageError(
            f"--no-auth is for this machine alone, and others reach {host}; leave out one of the two"
        )
    if not no_auth and not tokens.grants():
        raise click.UsageError(f"no token may use {db} yet; make one: ecphora token create NAME --db {db}")
    return None if no_auth else tokens


def make_policy(tokens: Tokens | None, host: str, origins: Sequence[str], hosts: Sequence[str]) -> "AccessPolicy":
    """The policy of a server that listens on ``host``; raises ``UsageError`` for origins that are wrong or unsafe."""
    from ..server.access_control import AccessPolicy  # noqa: PLC0415  # needs the extra

    for origin in origins:
        if not is_origin(origin):
            raise click.UsageError(
                f"--allow-origin {origin} is no origin of a page; give scheme, host and port as browsers do, such as "
                "https://app.example or http://localhost:3000"
            )
        if tokens is None and origin in {ANY_ORIGIN, OPAQUE_ORIGIN}:
            raise click.UsageError(
                f"--allow-origin {origin} with --no-auth would let every web page use the memory; name the origin"
            )
    names = frozenset({*LOOPBACK_NAMES, *hosts}) if is_loopback(host) else frozenset(hosts) or None
    return AccessPolicy(tokens, frozenset(origins), names)
