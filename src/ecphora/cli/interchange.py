"""The commands ``export`` and ``import``: a scope as JSON Lines, out and in, and files of other programs."""

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from ..errors import InvalidInput, InvalidText
from ..maintenance.interchange import importers
from ..model.text_format import count_noun
from .context import CommandContext, HomePath, check_output_path, common_options, read_stdin
from .render import progress_bar

NO_LIMIT = 2**31
"""More memories than a scope has."""


@click.command()
@click.argument("file", default="-", metavar="[FILE|-]", type=HomePath(allow_dash=True))
@click.option(
    "--format",
    "format_name",
    type=click.Choice([importers.NATIVE_FORMAT, importers.MCP_FORMAT]),
    default=importers.NATIVE_FORMAT,
    show_default=True,
    help="The format: ecphora, or mcp for a new file of the reference memory server of MCP.",
)
@click.option(
    "--vectors",
    is_flag=True,
    help="Write the vectors too: a larger file, but import embeds only English texts, for their English vectors.",
)
@common_options
def export(context: CommandContext, *, file: str, format_name: str, vectors: bool) -> None:
    """Write a scope as JSON Lines, to a file or to stdout; nothing is lost.

    With --format mcp, only what was imported in this format is written, and no file is replaced.
    """
    if format_name == importers.MCP_FORMAT:
        if vectors:
            raise click.UsageError("--vectors is for exports of ecphora; leave it out with --format")
        _export_graph(context, file)
        return
    with context.open_memory() as memory, _atomic_output(file) as out:
        count = memory.export(out, vectors=vectors)
    if file == "-":
        return
    if context.as_json:
        context.write_json(count)
    else:
        context.print_line(
            f"wrote {count.nodes:,} nodes, {count.edges:,} links and {count.accesses:,} accesses to {file}"
        )


def _export_graph(context: CommandContext, file: str) -> None:
    """Write the knowledge graph of a scope."""
    from ..maintenance.interchange import graph_lines, knowledge_graph  # noqa: PLC0415

    if file != "-" and Path(file).exists():
        raise InvalidInput(f"{file} exists already; name a new file")
    with context.open_memory() as memory, _atomic_output(file) as out:
        graph = knowledge_graph.build_graph(memory.find(where=knowledge_graph.MEMBERS, limit=NO_LIMIT))
        out.write("\n".join(graph_lines.write_lines(graph)))
    if file == "-":
        return
    if context.as_json:
        context.write_json({"entities": len(graph.entities), "relations": len(graph.relations)})
    else:
        entities = count_noun(len(graph.entities), "entity", "entities")
        context.print_line(
            f"wrote {entities} and {count_noun(len(graph.relations), 'relation', 'relations')} to {file}"
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
    help="The format of the file: ecphora for an export, mcp for a file of the reference memory server of MCP, or that "
    "of a plug-in (ecphora plugins lists them).",
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
    back. With --format, a file or folder of another program is read.
    """
    if change_existing and format_name != importers.NATIVE_FORMAT:
        raise click.UsageError("--change-existing is for exports of ecphora; leave it out with --format")
    if format_name == importers.MCP_FORMAT:
        _import_graph(context, file, restore=restore)
        return
    if format_name != importers.NATIVE_FORMAT:
        _import_with_plugin(context, file, format_name, restore=restore)
        return
    bar = progress_bar(context.err, "importing", is_shown=context.has_progress_bar)
    with context.open_memory(create=True, needs_embedder=True) as memory, _open_lines(file) as lines, bar as progress:
        count = memory.import_(lines, restore=restore, change_existing=change_existing, progress=progress)
    if context.as_json:
        context.write_json(count)
        return
    context.print_line(
        f"imported {count.nodes:,} nodes, {count.edges:,} links and {count.accesses:,} accesses; "
        f"{count.existing:,} existed already, {count.blocked:,} were blocked because they were forgotten here"
    )
    for notice in count.notices:
        context.note(f"note: {notice}")


def _import_graph(context: CommandContext, file: str, *, restore: bool) -> None:
    """Remember what a knowledge graph has and the scope lacks; the file is read before the first is written."""
    from ..maintenance.interchange import graph_lines, knowledge_graph  # noqa: PLC0415

    with _open_lines(file) as lines:
        found = graph_lines.read_lines(lines)
    bar = progress_bar(context.err, "importing", is_shown=context.has_progress_bar)
    with context.open_memory(create=True, needs_embedder=True) as memory, bar as progress:
        nodes = list(memory.find(where=knowledge_graph.MEMBERS, limit=NO_LIMIT))
        episodes = knowledge_graph.missing_episodes(found.graph, nodes)
        result = memory.remember(episodes, restore=restore, progress=progress)
    added = graph_lines.GraphImport.of(result, episodes, found.skipped)
    if context.as_json:
        context.write_json(added)
        return
    context.print_line(
        f"imported {count_noun(added.entities, 'entity', 'entities')}, "
        f"{count_noun(added.observations, 'observation', 'observations')} and "
        f"{count_noun(added.relations, 'relation', 'relations')} that were not there yet; {added.blocked:,} were "
        "blocked because they were forgotten here"
    )
    context.note_all(added.notices)


def _import_with_plugin(context: CommandContext, file: str, format_name: str, *, restore: bool) -> None:
    """Remember the episodes that a plug-in reads; the file is read completely before the first is written."""
    reading = progress_bar(context.err, "reading", is_shown=context.has_progress_bar)
    with _file_of(file) as path, reading as progress:
        episodes = importers.read_episodes(format_name, path, progress=progress)
    writing = progress_bar(context.err, "importing", is_shown=context.has_progress_bar)
    with context.open_memory(create=True, needs_embedder=True) as memory, writing as progress:
        result = memory.remember(episodes, restore=restore, progress=progress)
    if context.as_json:
        context.write_json(result)
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
