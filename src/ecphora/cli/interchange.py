"""The commands ``export`` and ``import``: a scope as JSON Lines, out and in."""

import dataclasses
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from ..errors import InvalidText
from ..maintenance.interchange import importers
from ..model.text_format import count_noun
from .context import CommandContext, HomePath, check_output_path, common_options, read_stdin
from .render import progress_bar


@click.command()
@click.argument("file", default="-", metavar="[FILE|-]", type=HomePath(allow_dash=True))
@click.option(
    "--vectors",
    is_flag=True,
    help="Write the vectors too: a larger file, but import embeds only English texts, for their English vectors.",
)
@common_options
def export(context: CommandContext, *, file: str, vectors: bool) -> None:
    """Write a scope as JSON Lines, to a file or to stdout; nothing is lost."""
    with context.open_memory() as memory, _atomic_output(file) as out:
        count = memory.export(out, vectors=vectors)
    if file == "-":
        return
    if context.as_json:
        context.write_json(dataclasses.asdict(count))
    else:
        context.print_line(
            f"wrote {count.nodes:,} nodes, {count.edges:,} links and {count.accesses:,} accesses to {file}"
        )


@contextmanager
def _atomic_output(file: str) -> Any:
    """Open a text file that appears complete or not at all, readable by its owner only; stdout for ``-``."""
    if file == "-":
        yield sys.stdout
        sys.stdout.flush()
        return
    check_output_path(file)
    handle, name = tempfile.mkstemp(prefix=".ecphora-", dir=Path(file).parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as out:
            yield out
        Path(name).replace(file)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


@click.command("import")
@click.argument("file", metavar="FILE|-", type=HomePath(allow_dash=True))
@click.option(
    "--format",
    "format_name",
    metavar="NAME",
    default=importers.NATIVE_FORMAT,
    show_default=True,
    help="The format of the file: ecphora for an export, or that of a plug-in (ecphora plugins lists them).",
)
@click.option("--restore", is_flag=True, help="Also import what was forgotten here on purpose.")
@click.option(
    "--change-existing",
    is_flag=True,
    help="Also import what ends, archives, links or blocks memories that the file does not bring.",
)
@common_options
def import_(context: CommandContext, *, file: str, format_name: str, restore: bool, change_existing: bool) -> None:
    """Read an export into a scope, which may already hold memories.

    The whole file is checked before anything is written. Importing it twice changes nothing, and ecphora undo takes it
    back. With --format, a plug-in reads a file or folder of another program.
    """
    if change_existing and format_name != importers.NATIVE_FORMAT:
        raise click.UsageError("--change-existing is for exports of ecphora; leave it out with --format")
    if format_name != importers.NATIVE_FORMAT:
        _import_with_plugin(context, file, format_name, restore=restore)
        return
    bar = progress_bar(context.err, "importing", is_shown=context.has_progress_bar)
    with context.open_memory(create=True, needs_embedder=True) as memory, _open_lines(file) as lines, bar as progress:
        count = memory.import_(lines, restore=restore, change_existing=change_existing, progress=progress)
    if context.as_json:
        context.write_json(dataclasses.asdict(count))
        return
    context.print_line(
        f"imported {count.nodes:,} nodes, {count.edges:,} links and {count.accesses:,} accesses; "
        f"{count.existing:,} existed already, {count.blocked:,} were blocked because they were forgotten here"
    )
    for notice in count.notices:
        context.note(f"note: {notice}")


def _import_with_plugin(context: CommandContext, file: str, format_name: str, *, restore: bool) -> None:
    """Remember the episodes that a plug-in reads; the file is read completely before the first is written."""
    reading = progress_bar(context.err, "reading", is_shown=context.has_progress_bar)
    with _file_of(file) as path, reading as progress:
        episodes = importers.read_episodes(format_name, path, progress=progress)
    writing = progress_bar(context.err, "importing", is_shown=context.has_progress_bar)
    with context.open_memory(create=True, needs_embedder=True) as memory, writing as progress:
        result = memory.remember(episodes, restore=restore, progress=progress)
    if context.as_json:
        context.write_json(result.to_dict())
        return
    context.print_line(
        f"imported {count_noun(len(result.created), 'memory', 'memories')}; {len(result.existing):,} existed already, "
        f"{len(result.blocked):,} were blocked because they were forgotten here"
    )


@contextmanager
def _file_of(file: str) -> Iterator[str]:
    """The path of a file; stdin, for ``-``, is copied to a temporary file, because formats may need to seek."""
    if file != "-":
        yield file
        return
    with tempfile.TemporaryDirectory(prefix="ecphora-") as folder:
        copy = Path(folder) / "stdin"
        with copy.open("wb") as out:
            shutil.copyfileobj(sys.stdin.buffer, out)
        yield str(copy)


@contextmanager
def _open_lines(file: str) -> Any:
    if file == "-":
        yield read_stdin().split("\n")
        return
    try:
        with Path(file).open(encoding="utf-8-sig", newline="\n") as lines:
            yield lines
    except UnicodeDecodeError as error:
        raise InvalidText(f"{file} is not UTF-8 (byte {error.start} of a part of it); is it an export?") from error
