"""The command ``doctor``: checks a file and repairs what it can."""

import click

from ..doctor import examine
from . import render, serialize
from .context import CommandContext, common_options


@click.command(epilog="Exits with 1 if a problem is left.")
@click.option("--fix", is_flag=True, help="Repair what can be repaired without loss.")
@common_options
def doctor(context: CommandContext, *, fix: bool) -> None:
    """Check the file, and say how to repair what is wrong with it."""
    report = examine(context.require_file(), fix=fix, make_embedder=context.settings.make_embedder)
    if context.as_json:
        context.write_json(serialize.report_to_dict(report))
    else:
        render.print_report(context.out, report)
    if not report.is_healthy:
        click.get_current_context().exit(1)
