"""The commands ``serve``, a memory file over HTTP, and ``token``, which says who may use the server."""

import importlib.util
import json
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import click

from ..errors import InvalidInput
from ..models.http_client import is_loopback
from ..remote.server.addresses import ANY_ORIGIN, LOOPBACK_NAMES, OPAQUE_ORIGIN, is_origin
from ..remote.server.tokens import ALL_SCOPES, Grant, Right, Tokens
from .context import DB_HELP, CommandContext, CommandFunction, common_options, open_context, strategy_options
from .render import table

if TYPE_CHECKING:
    from ..remote.server.access_control import AccessPolicy
    from ..remote.server.tracing import RequestTracer
    from ..settings import Settings


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


def find_tokens(settings: "Settings", host: str, *, no_auth: bool) -> Tokens | None:
    """The tokens that are let in, None if none are needed; raises ``UsageError`` for what is unsafe or useless."""
    tokens, place = Tokens(settings.token_base), settings.location
    if no_auth and not is_loopback(host):
        raise click.UsageError(
            f"--no-auth is for this machine alone, and others reach {host}; leave out one of the two"
        )
    if not no_auth and not tokens.grants():
        raise click.UsageError(f"no token may use {place} yet; make one: ecphora token create NAME --db {place}")
    return None if no_auth else tokens


def make_policy(tokens: Tokens | None, host: str, origins: Sequence[str], hosts: Sequence[str]) -> "AccessPolicy":
    """The policy of a server that listens on ``host``; raises ``UsageError`` for origins that are wrong or unsafe."""
    from ..remote.server.access_control import AccessPolicy  # noqa: PLC0415  # needs the extra

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


def _options(command: CommandFunction) -> CommandFunction:
    """Add the options that the commands share."""
    json_option = click.option("--json", "as_json", is_flag=True, help="Write JSON to stdout, and nothing else.")
    db_option = click.option("--db", metavar="PATH", help=DB_HELP)
    return db_option(json_option(command))


def _open(db: str | None, *, as_json: bool) -> tuple[CommandContext, Tokens]:
    click.get_current_context().meta["ecphora.json"] = as_json
    context = open_context(as_json=as_json, db=db)
    if context.settings.store is not None:
        context.settings.token_base.parent.mkdir(parents=True, exist_ok=True)  # the memory has no folder of its own
    return context, Tokens(context.settings.token_base, zone=context.settings.zone)


@click.group()
def token() -> None:
    """Make, list and revoke the access tokens of the server.

    They are kept in a file next to the memory's file, as digests: a token is shown once, when it is made. A change
    counts at once, also for a server that runs.
    """


@token.command()
@click.argument("name")
@click.option(
    "--scope",
    "scopes",
    multiple=True,
    metavar="NAME",
    help="A scope that the token is for; may be repeated.  [default: the scope that is set, else 'default']",
)
@click.option("--all-scopes", is_flag=True, help="For every scope, also for those to come.")
@click.option(
    "--right",
    "rights",
    multiple=True,
    type=click.Choice([right.value for right in Right]),
    default=(Right.READ.value, Right.WRITE.value),
    help="What the token may do; may be repeated. admin includes the others.  [default: read and write]",
)
@click.option("--expires-at", metavar="DATE", help="From this time on the token is refused.  [default: never]")
@click.option(
    "--zone",
    metavar="NAME",
    help="The time zone of the token's user, such as Europe/Lisbon.  [default: the zone of the server]",
)
@_options
def create(
    *,
    name: str,
    scopes: Sequence[str],
    all_scopes: bool,
    rights: Sequence[str],
    expires_at: str | None,
    zone: str | None,
    db: str | None,
    as_json: bool,
) -> None:
    """Make a token and print it, this one time. NAME says what the token is for, such as "laptop"."""
    if all_scopes and scopes:
        raise click.UsageError("give --scope or --all-scopes, not both")
    context, tokens = _open(db, as_json=as_json)
    chosen = ALL_SCOPES if all_scopes else tuple(scopes) or (context.settings.scope,)
    made = tokens.create(name, scopes=chosen, rights=rights, expires_at=expires_at, zone=zone)
    grant = next(grant for grant in tokens.grants() if grant.name == name)
    if as_json:
        context.write_json({"token": made, **grant.to_dict()})
        return
    context.note(f"The token {name} may {_rights(grant)} in {_scopes(grant)}. Keep it: it is not shown again.")
    context.print_line(made)


@token.command(name="list")
@_options
def list_(*, db: str | None, as_json: bool) -> None:
    """List the tokens: their names, scopes and rights."""
    context, tokens = _open(db, as_json=as_json)
    grants = tokens.grants()
    if as_json:
        context.write_json(grants)
        return
    rows = [
        (
            grant.name,
            _scopes(grant),
            _rights(grant),
            f"{grant.created_at:%Y-%m-%d}",
            "never" if grant.expires_at is None else f"{grant.expires_at:%Y-%m-%d %H:%M}",
            grant.zone or "",
        )
        for grant in grants
    ]
    columns = dict.fromkeys(("token", "scopes", "rights", "made", "expires", "zone"), "left")
    context.out.print(table(columns, rows) if rows else "no tokens yet; make one with ecphora token create NAME")


@token.command()
@click.argument("name")
@_options
def revoke(*, name: str, db: str | None, as_json: bool) -> None:
    """Revoke a token by its name; servers that run refuse it from now on."""
    context, tokens = _open(db, as_json=as_json)
    grant = tokens.revoke(name)
    if as_json:
        context.write_json(grant)
    else:
        context.print_line(f"revoked {name}")


def _scopes(grant: Grant) -> str:
    return "every scope" if isinstance(grant.scopes, str) else ", ".join(grant.scopes)


def _rights(grant: Grant) -> str:
    return ", ".join(right.value for right in grant.rights)


GRACE_SECONDS = 30
"""Seconds that requests in progress have to end once the server is told to stop."""
MEBIBYTE = 1 << 20


@click.command(epilog="Stop the server with Ctrl-C or SIGTERM: it answers the open requests, and closes the file.")
@access_options(8765)
@click.option("--max-body", type=click.IntRange(min=1), default=8, show_default=True, help="MiB of a request.")
@click.option("--max-import", type=click.IntRange(min=1), default=1024, show_default=True, help="MiB of an import.")
@click.option(
    "--rate-limit",
    type=click.FloatRange(min=0),
    default=100.0,
    show_default=True,
    help="Requests a second of each token, twice as many at once; 0 for any number.",
)
@click.option("--open-scopes", type=click.IntRange(min=1), default=32, show_default=True, help="Scopes to keep open.")
@click.option("--threads", type=click.IntRange(min=1), default=8, show_default=True, help="Calls to run at once.")
@click.option("--otlp", metavar="URL", help="Send a span of each request to your OpenTelemetry collector.")
@click.option("--ray", metavar="ADDRESS", help="Run replicas on the Ray cluster there; local for this machine.")
@click.option("--replicas", metavar="N|MIN-MAX", help="With --ray: replicas, as many as requests need.  [default: 1]")
@strategy_options
@common_options
def serve(
    context: CommandContext,
    *,
    host: str,
    port: int,
    no_auth: bool,
    origins: Sequence[str],
    hosts: Sequence[str],
    receive_timeout: float,
    max_body: int,
    max_import: int,
    rate_limit: float,
    open_scopes: int,
    threads: int,
    otlp: str | None,
    ray: str | None,
    replicas: str | None,
) -> None:
    """Serve the memory file over HTTP, to programs that have a token.

    Make a token first: ecphora token create NAME. A request names its scope, so --scope counts for nothing here.
    """
    tokens = find_tokens(context.settings, host, no_auth=no_auth)
    if missing := [name for name in ("fastapi", "uvicorn") if importlib.util.find_spec(name) is None]:
        raise InvalidInput(
            f"the server needs {' and '.join(missing)}; install them with: pip install 'ecphora[server]'"
        )
    from ..remote.server.admission import Limits  # noqa: PLC0415
    from ..remote.server.app import ServerOptions, make_app  # noqa: PLC0415  # needs the extra
    from ..remote.server.listening import run_server  # noqa: PLC0415

    options = ServerOptions(
        make_policy(tokens, host, origins, hosts),
        Limits(
            max_body * MEBIBYTE,
            max_import * MEBIBYTE,
            requests_per_second=rate_limit,
            receive_seconds=receive_timeout,
        ),
        open_scopes=open_scopes,
        threads=threads,
        tracer=None if otlp is None or ray is not None else _make_tracer(otlp),
    )

    def on_start(url: str) -> None:
        if context.as_json:
            context.write_json({"url": url, "db": context.settings.location})
            sys.stdout.flush()
        else:
            print(json.dumps({"listening": url, "db": context.settings.location}), file=sys.stderr, flush=True)  # noqa: T201

    if ray is not None:
        from ..remote.ray.running import run_on_ray  # noqa: PLC0415

        counts = _parse_replicas(replicas or "1")
        run_on_ray(
            context.settings,
            options,
            address=ray,
            replicas=counts,
            host=host,
            port=port,
            otlp=otlp,
            on_start=on_start,
        )
        return
    if replicas is not None:
        raise click.UsageError("--replicas is for a server on Ray; give --ray local too")
    run_server(
        make_app(context.settings, options, llm=context.settings.make_llm()),
        host=host,
        port=port,
        head_seconds=receive_timeout,
        grace_seconds=GRACE_SECONDS,
        on_start=on_start,
    )


def _parse_replicas(text: str) -> tuple[int, int]:
    """The least and the most replicas."""
    least, _, most = text.partition("-")
    try:
        counts = int(least), int(most or least)
    except ValueError:
        counts = 0, 0
    if not 1 <= counts[0] <= counts[1]:
        raise click.UsageError(
            f"--replicas {text} is no count; give one such as 3, or the least and the most as in 1-8"
        )
    return counts


def _make_tracer(url: str) -> "RequestTracer":
    try:
        from ..remote.server.tracing import RequestTracer  # noqa: PLC0415  # needs the extra
    except ImportError as error:
        raise InvalidInput(
            f'--otlp needs OpenTelemetry ({error.name}); install it: pip install "ecphora[otel]"'
        ) from error
    return RequestTracer(url)
