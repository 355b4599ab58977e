"""The commands ``token create``, ``token list`` and ``token revoke``: who may use the server."""

from collections.abc import Sequence

import click

from ..server.tokens import ALL_SCOPES, Grant, Right, Tokens
from .context import CommandContext, CommandFunction, open_context
from .render import table


def _options(command: CommandFunction) -> CommandFunction:
    """Add the options that the commands share."""
    json_option = click.option("--json", "as_json", is_flag=True, help="Write JSON to stdout, and nothing else.")
    db_option = click.option("--db", metavar="PATH", help="The memory's file.  [env ECPHORA_DB; default ecphora.db]")
    return db_option(json_option(command))


def _open(db: str | None, *, as_json: bool) -> tuple[CommandContext, Tokens]:
    click.get_current_context().meta["ecphora.json"] = as_json
    context = open_context(as_json=as_json, db=db)
    return context, Tokens(context.file, zone=context.settings.zone)


@click.group()
def token() -> None:
    """Make, list and revoke the access tokens of the server.

    They are kept in a file beside the memory's file, as digests: a token is shown once, when it is made. A change
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
    """Make a token and print it, this one time. NAME says what it is for, such as "laptop"."""
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
        context.write_json([grant.to_dict() for grant in grants])
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
        context.write_json(grant.to_dict())
    else:
        context.print_line(f"revoked {name}")


def _scopes(grant: Grant) -> str:
    return "every scope" if isinstance(grant.scopes, str) else ", ".join(grant.scopes)


def _rights(grant: Grant) -> str:
    return ", ".join(right.value for right in grant.rights)
