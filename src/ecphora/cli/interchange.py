"""The commands ``export`` and ``import``: a scope as JSON Lines, out and in, and files of other programs."""

import csv
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..errors import InvalidInput, InvalidText
from ..language.chat_roles import Role
from ..maintenance.interchange import formats
from ..maintenance.interchange.streaming import (
    ImportOptions,
    ImportSummary,
    import_episodes,
    summarize,
)
from ..model.text_format import count_noun, iso_minute
from ..model.times import check_zone, utc_now
from .context import (
    FUTURE_REVISION,
    CommandContext,
    HomePath,
    NoEmbedder,
    check_output_path,
    common_options,
    read_stdin,
)
from .render import progress_bar

if TYPE_CHECKING:
    from ..memory import Memory

OKF_FORMAT = "okf"
"""The format of a folder of Markdown files."""
NO_LIMIT = 2**31
"""More memories than a scope has."""
MAX_SHOWN = 10
"""The speakers of a file that are shown."""


@click.command()
@click.argument("file", default="-", metavar="[FILE|-]", type=HomePath(allow_dash=True))
@click.option(
    "--format",
    "format_name",
    type=click.Choice([formats.NATIVE_FORMAT, formats.MCP_FORMAT, OKF_FORMAT]),
    default=formats.NATIVE_FORMAT,
    show_default=True,
    help="The format: ecphora, mcp for a new file of the reference memory server of MCP, or okf for a new folder of "
    "Markdown files (Open Knowledge Format).",
)
@click.option(
    "--vectors",
    is_flag=True,
    help="Write the vectors too: a larger file, but import embeds only English texts, for their English vectors.",
)
@common_options
def export(context: CommandContext, *, file: str, format_name: str, vectors: bool) -> None:
    """Write a scope as JSON Lines, to a file or to stdout; nothing is lost.

    With --format mcp, only what was imported in this format is written, and no file is replaced. With --format okf,
    each memory becomes a Markdown file with its speaker, times and validity; names and insights are left out.
    """
    if format_name != formats.NATIVE_FORMAT:
        if vectors:
            raise click.UsageError("--vectors is for exports of ecphora; leave it out with --format")
        (_export_graph if format_name == formats.MCP_FORMAT else _export_folder)(context, file)
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


def _export_folder(context: CommandContext, folder: str) -> None:
    """Write the memories of a scope as Markdown files."""
    from ..maintenance.interchange.documents import okf  # noqa: PLC0415

    if folder == "-":
        raise click.UsageError("--format okf writes a folder; name a new one")
    with context.open_memory(), closing(context.open_store()) as store:
        count = okf.export_okf(store, context.settings.scope, folder, now=utc_now())
    if context.as_json:
        context.write_json(count)
    else:
        context.print_line(f"wrote {count_noun(count.nodes, 'memory', 'memories')} to {folder}")


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
    help="The format (docs/how-to/import.md has the list) or a plug-in.  [default: recognized from the file]",
)
@click.option(
    "--columns",
    metavar="FIELD=COLUMN,…",
    help="Of a CSV file: which column is the text, speaker, time, session, title or id, as in "
    "text=Body,time=Created.  [default: known names]",
)
@click.option("--restore", is_flag=True, help="Also import what was forgotten here on purpose.")
@click.option(
    "--change-existing",
    is_flag=True,
    help="Of an export: also import what ends, archives, links or blocks memories that the file does not bring.",
)
@click.option("--dry-run", is_flag=True, help="Write nothing; show what the file holds and what would be imported.")
@click.option(
    "--trust",
    type=click.FloatRange(0, 1),
    metavar="NUMBER",
    help="The trust of what is imported, 0 to 1.  [default: 1]",
)
@click.option("--as", "user", metavar="NAME", help="The speaker in the file who is you; becomes the speaker user.")
@common_options
def import_(
    context: CommandContext,
    *,
    file: str,
    format_name: str | None,
    columns: str | None,
    restore: bool,
    change_existing: bool,
    dry_run: bool,
    trust: float | None,
    user: str | None,
) -> None:
    """Read an export, or a file or folder of another program, into a scope, which may already hold memories.

    The whole file is checked before anything is written. Importing it twice changes nothing, and an import that was
    interrupted is started again. ecphora undo takes back the import of an export.
    """
    if change_existing and format_name not in {None, formats.NATIVE_FORMAT}:
        raise click.UsageError("--change-existing is for exports of ecphora; leave it out with --format")
    mapping = _read_columns(columns)
    with _file_of(file) if format_name not in formats.OWN_FORMATS else nullcontext(file) as path:
        own = format_name if format_name in formats.OWN_FORMATS else None
        if format_name is None:
            own = formats.own_format(path)
        if own is None:
            if change_existing:
                raise click.UsageError("--change-existing is for exports of ecphora, and the file is none")
            found, options = formats.find_format(path, format_name, columns=mapping), ImportOptions(trust, user)
            _import_format(context, path, found, options=options, restore=restore, dry_run=dry_run)
            return
        if dry_run or mapping or trust is not None or user is not None:
            raise click.UsageError(
                "--dry-run, --columns, --trust and --as are for files of other programs; leave them out"
            )
        if own == formats.MCP_FORMAT:
            if change_existing:
                raise click.UsageError("--change-existing is for exports of ecphora, and the file is none")
            _import_graph(context, path, restore=restore)
        else:
            _import_export(context, path, restore=restore, change_existing=change_existing)


def _read_columns(text: str | None) -> dict[str, str]:
    """The columns of fields, from ``text=Body,time=Created``; a name with a comma is quoted as in CSV."""
    pairs = [part.partition("=") for part in next(csv.reader([text or ""]), [])]
    if wrong := [field for field, sign, column in pairs if not field.strip() or not sign or not column.strip()]:
        raise click.UsageError(f"--columns has {wrong[0]!r}; give FIELD=COLUMN, as in text=Body,time=Created")
    return {field.strip(): column.strip() for field, _, column in pairs}


def _import_export(context: CommandContext, file: str, *, restore: bool, change_existing: bool) -> None:
    """Read an export of Ecphora."""
    bar = progress_bar(context.err, "importing", is_shown=context.has_progress_bar)
    with context.open_memory(create=True, needs_embedder=True) as memory, open_lines(file) as lines, bar as progress:
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

    with open_lines(file) as lines:
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


def _import_format(
    context: CommandContext,
    path: str,
    found: formats.Format,
    *,
    options: ImportOptions,
    restore: bool,
    dry_run: bool,
) -> None:
    """Import the episodes of another program: read all of the file once to say what it holds, then store it."""
    reading = progress_bar(context.err, "reading", is_shown=context.has_progress_bar)
    with reading as progress:
        summary = summarize(found.read(path, progress=progress), check_zone(context.settings.zone), options)
    if not context.as_json:
        for line in _describe(found, path, summary):
            context.print_line(line)
    if options.user is not None and Role.USER.value not in summary.speakers:
        context.note(f"note: nothing in the file is said by {options.user!r}")
    writing = progress_bar(context.err, "importing", is_shown=context.has_progress_bar)
    with _open_target(context, dry_run=dry_run) as memory, writing as progress:
        report = import_episodes(
            memory,
            found.read(path),
            restore=restore,
            dry_run=dry_run,
            progress=progress,
            total=summary.messages,
            options=options,
        )
    if context.as_json:
        context.write_json({"format": found.name, **report.to_dict()})
        return
    context.print_line(
        f"{'would import' if dry_run else 'imported'} {count_noun(report.created, 'memory', 'memories')}; "
        f"{report.existing:,} existed already, {report.blocked:,} were blocked because they were forgotten here"
    )


@contextmanager
def _open_target(context: CommandContext, *, dry_run: bool) -> Iterator["Memory"]:
    """The memory to import into; for a dry run without the scope, an empty one that is deleted afterwards."""
    from ..memory import Memory  # noqa: PLC0415

    if not dry_run or _exists(context):
        with context.open_memory(create=not dry_run, needs_embedder=not dry_run) as memory:
            yield memory
        return
    with tempfile.TemporaryDirectory(prefix="ecphora-") as folder:
        name = str(Path(folder) / "empty.db")
        with Memory(name, embedder=NoEmbedder(""), reranker=None, zone=context.settings.zone) as memory:
            yield memory


def _exists(context: CommandContext) -> bool:
    """Whether there is a scope to compare with."""
    if context.settings.store is None and not context.file.exists():
        return False
    store = context.open_store()
    try:
        return bool(store.changes_since(context.settings.scope, FUTURE_REVISION).revision)
    finally:
        store.close()


def _describe(found: formats.Format, path: str, summary: ImportSummary) -> Iterator[str]:
    """Lines that say what a file holds, what becomes of it, and what is left out."""
    yield f"format: {found.name}" + ("" if found.title == found.name else f" ({found.title})")
    conversations = count_noun(summary.conversations, "conversation", "conversations")
    yield f"found: {count_noun(summary.messages, 'message', 'messages')} in {conversations}{_period(summary)}"
    if summary.speakers:
        shown = [f"{name} ({count:,})" for name, count in list(summary.speakers.items())[:MAX_SHOWN]]
        more = len(summary.speakers) - len(shown)
        yield f"speakers: {', '.join(shown)}" + (f" and {more:,} more" if more else "")
    for name, origin in found.fields_of(path).items():
        yield f"{name}: {origin}"
    for reason, count in summary.omitted.items():
        places = summary.places.get(reason, ())
        shown = [*places, "…"] if places and count > len(places) else list(places)
        yield f"left out: {count:,} × {reason}" + (f" ({'; '.join(shown)})" if shown else "")


def _period(summary: ImportSummary) -> str:
    """From when to when the messages of a file are."""
    if summary.first is None or summary.last is None:
        return ""
    return f", {iso_minute(summary.first)} to {iso_minute(summary.last)}"


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
def open_lines(file: str) -> Any:
    if file == "-":
        yield read_stdin().split("\n")
        return
    try:
        with Path(file).open(encoding="utf-8-sig", newline="\n") as lines:
            yield lines
    except UnicodeDecodeError as error:
        raise InvalidText(f"{file} is not UTF-8 (byte {error.start} of a part of it); is it an export?") from error
