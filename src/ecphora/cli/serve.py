"""The command ``serve``: a memory file over HTTP."""

import importlib.util
import json
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from ..errors import InvalidInput
from .context import CommandContext, common_options, strategy_options
from .server_access import access_options, find_tokens, make_policy

if TYPE_CHECKING:  # needs the extra
    from ..server.tracing import RequestTracer

GRACE_SECONDS = 30
"""Seconds that requests in progress have to end once the server is told to stop."""
MEBIBYTE = 1 << 20


@click.command(epilog="Stop it with Ctrl-C or SIGTERM: it answers what it has begun, and closes the file.")
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
) -> None:
    """Serve the memory file over HTTP, to programs that have a token.

    Make a token first: ecphora token create NAME. A request names its scope, so --scope counts for nothing here.
    """
    tokens = find_tokens(context.file, host, no_auth=no_auth)
    if missing := [name for name in ("fastapi", "uvicorn") if importlib.util.find_spec(name) is None]:
        raise InvalidInput(
            f"the server needs {' and '.join(missing)}; install them with: pip install 'ecphora[server]'"
        )
    from ..server.app import ServerOptions, make_app  # noqa: PLC0415  # needs the extra
    from ..server.limits import Limits  # noqa: PLC0415
    from ..server.listening import run_server  # noqa: PLC0415

    app = make_app(
        context.settings,
        ServerOptions(
            make_policy(tokens, host, origins, hosts),
            Limits(
                max_body * MEBIBYTE,
                max_import * MEBIBYTE,
                requests_per_second=rate_limit,
                receive_seconds=receive_timeout,
            ),
            open_scopes=open_scopes,
            threads=threads,
            tracer=None if otlp is None else _make_tracer(otlp),
        ),
        llm=context.settings.make_llm(),
    )

    def on_start(url: str) -> None:
        if context.as_json:
            context.write_json({"url": url, "db": str(context.settings.db)})
            sys.stdout.flush()
        else:
            print(json.dumps({"listening": url, "db": str(context.settings.db)}), file=sys.stderr, flush=True)  # noqa: T201

    run_server(
        app,
        host=host,
        port=port,
        head_seconds=receive_timeout,
        grace_seconds=GRACE_SECONDS,
        on_start=on_start,
    )


def _make_tracer(url: str) -> "RequestTracer":
    try:
        from ..server.tracing import RequestTracer  # noqa: PLC0415  # needs the extra
    except ImportError as error:
        raise InvalidInput(
            f'--otlp needs OpenTelemetry ({error.name}); install it: pip install "ecphora[otel]"'
        ) from error
    return RequestTracer(url)
