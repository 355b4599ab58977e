"""The command line: arguments in, text or JSON out. :class:`Memory` does the work."""

import atexit
import gc
import os
import sys
import tempfile
from collections.abc import Sequence
from contextlib import closing, contextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .. import __version__
from ..errors import InvalidInput, InvalidText
from .context import (
    EXIT_CODES_HELP,
    EXIT_NOT_FOUND,
    CommandContext,
    ErrorHandlingGroup,
    HomePath,
    common_options,
    filter_options,
    open_context,
    parse_key_values,
    question_options,
    read_stdin,
    strategy_options,
)

if TYPE_CHECKING:
    from ..memory import Memory
    from ..model import Filter, RememberResult

# Keeps short commands fast. NumPy's threads would spin for 0.1 s before they sleep, and the garbage collector would
# search all imported objects for cycles a hundred times (docs/storage.md, "What a start costs").
os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "4")
gc.set_threshold(50_000)
atexit.register(gc.freeze)

PROGRESS_MIN_TEXTS = 16
"""A progress bar is shown from this number of texts on."""


@click.group(
    cls=ErrorHandlingGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog=EXIT_CODES_HELP,
)
@click.version_option(__version__, prog_name="ecphora", message="%(prog)s %(version)s")
@click.option("--traceback", is_flag=True, help="Show where an error arose (goes before the command).")
def main(*, traceback: bool) -> None:
    """Associative long-term memory in one file: tell it what happened, ask it later, see why.

    \b
    ecphora remember "Ana moved to Porto." --speaker Ana --happened-at 2026-05-03
    ecphora recall "Where does Ana live?"
    ecphora demo
    """
    del traceback  # read by ErrorHandlingGroup


# ---- remember


@main.command()
@click.argument("texts", nargs=-1, metavar="[TEXT]...")
@click.option("--text", "literal", multiple=True, metavar="TEXT", help="A text, even if it names a file; repeatable.")
@click.option(
    "--file",
    "files",
    multiple=True,
    metavar="PATH",
    help="Remember Markdown and text files (.md, .markdown, .txt, .text): a path, a pattern such as 'notes/*.md', or "
    "with --recursive a folder; may be repeated.",
)
@click.option("--recursive", is_flag=True, help="Read the folders of --file and all folders below them.")
@click.option("--lines", is_flag=True, help="Read stdin line by line.  [default: by paragraph]")
@click.option("--whole", is_flag=True, help="Read the whole of stdin as one text.")
@click.option("--jsonl", is_flag=True, help="Read stdin as JSON Lines: objects with text, id, speaker, happened_at ...")
@click.option("--id", "id_", metavar="ID", help="An id of your own for the memory.")
@click.option("--speaker", metavar="NAME", help="Who said it.")
@click.option("--session", metavar="NAME", help="The conversation or file it belongs to.")
@click.option("--happened-at", metavar="DATE", help="When it happened: 2026-05-03 or 2026-05-03T14:30.  [default: now]")
@click.option("--title", metavar="TEXT", help="What it is about.")
@click.option("--source", metavar="NAME", help="Where it comes from.")
@click.option(
    "--metadata",
    multiple=True,
    metavar="KEY=VALUE",
    callback=parse_key_values,
    help="Metadata to keep; may be repeated.",
)
@click.option("--supersedes", metavar="ID", help="The memory that this one supersedes.")
@click.option("--restore", is_flag=True, help="Remember it even if it was forgotten on purpose.")
@strategy_options
@common_options
def remember(
    context: CommandContext,
    *,
    texts: tuple[str, ...],
    literal: tuple[str, ...],
    files: tuple[str, ...],
    recursive: bool,
    lines: bool,
    whole: bool,
    jsonl: bool,
    id_: str | None,
    happened_at: str | None,
    metadata: dict[str, Any],
    supersedes: str | None,
    restore: bool,
    **text_fields: str | None,
) -> None:
    """Remember texts: the arguments, files, or stdin by paragraph.

    The memory's file is created on first use. A text that exists already is stored once. A file becomes one memory: its
    source is the path, its title is the file's name, and it happened when the file was last changed, unless
    --happened-at is given. In prose from stdin, blank lines separate the memories. A program that passes on other
    people's texts should use --text or stdin, because a TEXT that names a file is an error.
    """
    from dataclasses import replace

    from .. import short_ids
    from . import remember_input, text_files
    from .render import progress_bar

    fields = {"id": id_, "happened_at": happened_at, "metadata": metadata, "supersedes": supersedes, **text_fields}
    fields = {key: value for key, value in fields.items() if value}
    forms = [form for form, on in (("lines", lines), ("whole", whole), ("jsonl", jsonl)) if on]
    if files or recursive:
        if texts or literal or forms or not files:
            raise click.UsageError("--file PATH [--recursive] takes no TEXT, --lines, --whole or --jsonl")
        episodes = remember_input.episodes_from_files(context, files, fields, recursive=recursive)
    elif literal or texts not in {(), ("-",)}:
        if forms:
            raise click.UsageError(f"--{forms[0]} says how stdin is read; leave out TEXT")
        episodes = remember_input.episodes_from_arguments(texts, literal, fields)
    else:
        episodes = remember_input.episodes_from_stdin(forms, fields, is_explicit=bool(texts))
    if id_ is not None and len(episodes) > 1:
        raise InvalidInput(f"one id, {id_!r}, for {len(episodes)} texts; give ids with --jsonl")
    bar = progress_bar(
        context.err, "remembering", is_shown=context.has_progress_bar and len(episodes) >= PROGRESS_MIN_TEXTS
    )
    with context.open_memory(create=True, needs_embedder=True) as memory, bar as progress:
        if files and happened_at is None:
            episodes = [text_files.with_stored_time(memory, episode) for episode in episodes]
        if supersedes:
            full_id = short_ids.resolve_id(supersedes, memory.graph())
            episodes = [
                replace(episode, supersedes=full_id) if episode.supersedes == supersedes else episode
                for episode in episodes
            ]
        result = memory.remember(episodes, restore=restore, progress=progress)
    _print_remember_result(context, result)


def _print_remember_result(context: CommandContext, result: "RememberResult") -> None:
    if context.as_json:
        context.write_json(result.to_dict())
        return
    if len(result.ids) == 1:
        word = "remembered" if result.created else "exists already" if result.existing else "blocked"
        context.print_line(f"{word}: {result.id}")
    else:
        counts = (
            (len(result.created), "remembered"),
            (len(result.existing), "exist already"),
            (len(result.blocked), "blocked"),
        )
        context.print_line(", ".join(f"{count:,} {word}" for count, word in counts if count) or "nothing to remember")
    if result.blocked:
        ids = ", ".join(result.blocked[:10])
        context.note(f"blocked, because they were forgotten on purpose (--restore remembers them): {ids}")


# ---- recall


@main.command(epilog="Exits with 3 when the evidence is none: the hits, if any, hold no answer.")
@question_options
@click.option("--explain/--no-explain", default=None, help="Show the parts of each score too / show no reasons.")
@click.option("--no-log-access", is_flag=True, help="Do not write to the access log.")
@common_options
def recall(
    context: CommandContext,
    *,
    question: str,
    limit: int,
    budget: int | None,
    where: "Filter",
    explain: bool | None,
    no_log_access: bool,
    **recall_options: Any,
) -> None:
    """Recall the memories that belong to a question, with confidence and reasons."""
    from .. import short_ids
    from ..model import Evidence
    from . import render

    with context.open_memory(needs_embedder=True) as memory:
        found = memory.recall(
            question,
            limit=limit,
            budget=budget,
            where=where,
            explain=explain is not False,
            log_access=not no_log_access,
            **recall_options,
        )
        if context.as_json:
            context.write_json(found.to_dict())
        else:
            console = context.out
            console.print(render.recollection_heading(found, question))
            ids = short_ids.abbreviate((hit.id for hit in found), memory.graph())
            render.print_recollection(console, found, explain=explain, label_node=render.node_labeler(memory), ids=ids)
            if not found.hits:
                console.print("  nothing came back", style="bright_black")
    if found.evidence == Evidence.NONE:
        click.get_current_context().exit(EXIT_NOT_FOUND)


@main.command("why-not", epilog="Exits with 3 when the id is unknown.")
@question_options
@click.argument("id_", metavar="ID")
@click.option("--explain", is_flag=True, help="Show the largest parts of the shortfall too.")
@common_options
def why_not(
    context: CommandContext,
    *,
    question: str,
    id_: str,
    limit: int,
    budget: int | None,
    where: "Filter",
    explain: bool,
    **recall_options: Any,
) -> None:
    """Say why the memory ID does not come back for a question, and what would bring it back.

    Give the options of the recall that missed it. The access log is not written.
    """
    from .. import short_ids
    from ..explain import MissReason
    from . import render

    with context.open_memory(needs_embedder=True) as memory:
        id_ = short_ids.resolve_id(id_, memory.graph())
        found = memory.why_not(question, id_, limit=limit, budget=budget, where=where, **recall_options)
    if context.as_json:
        context.write_json(found.to_dict())
    else:
        render.print_why_not(context.out, found, explain=explain)
    if found.miss_reason == MissReason.NOT_FOUND:
        click.get_current_context().exit(EXIT_NOT_FOUND)


# ---- forget, history, scopes


@main.command(epilog="Exits with 3 when an id is unknown; the others are erased anyway.")
@click.argument("ids", nargs=-1, metavar="[ID]...")
@filter_options
@click.option("--yes", is_flag=True, help="Erase what the options select without asking.")
@common_options
def forget(context: CommandContext, *, ids: tuple[str, ...], where: "Filter", yes: bool) -> None:
    """Erase memories on purpose: by ID, or all that the options select.

    Texts, vectors and links are overwritten in the file, and the same memory is not stored when it is remembered again.
    There is no undo, so an id that you gave must be complete; an id made by Ecphora may be abbreviated.
    """
    from .. import short_ids
    from ..model import Filter

    has_filter = where != Filter()
    if bool(ids) == has_filter:
        raise click.UsageError("say what to forget: by ID, or by options such as --session, not both")
    with context.open_memory() as memory:
        ids = tuple(short_ids.resolve_id(id_, memory.graph(), allow_names=False) for id_ in ids)
        forgotten_ids = list(ids)
        if has_filter:
            forgotten_ids = _matching_ids(memory, where)
            if forgotten_ids and not yes:
                _confirm(context, memory, forgotten_ids)
        result = memory.forget(forgotten_ids)
    missing = [id_ for id_ in ids if id_ not in set(result.episode_ids)]
    if context.as_json:
        context.write_json({**result.to_dict(), "missing_ids": missing})
    else:
        context.print_line(
            f"erased {len(result.episode_ids):,} memories and {len(result.entity_ids):,} names that only they mentioned"
        )
        for id_ in (*result.episode_ids, *result.entity_ids)[:50]:
            context.print_line(f"  {id_}")
    if missing:
        context.note(f"unknown: {', '.join(missing)}")
        click.get_current_context().exit(EXIT_NOT_FOUND)


def _matching_ids(memory: "Memory", where: "Filter") -> list[str]:
    """The ids of all memories that pass a filter."""
    import numpy as np

    from ..graph import EPOCH
    from ..model import Query
    from ..stages.retrieval import filters

    graph = memory.graph()
    return [graph.id(row) for row in np.flatnonzero(filters.eligible(graph, Query("", EPOCH, where=where))).tolist()]


def _confirm(context: CommandContext, memory: "Memory", ids: Sequence[str]) -> None:
    from .render import quote_node

    if not sys.stdin.isatty():
        raise click.UsageError(f"this would erase {len(ids):,} memories; add --yes to confirm")
    for node in filter(None, map(memory.get, ids[:5])):
        context.note(f"  {quote_node(node, 71)}")
    click.confirm(f"Erase these {len(ids):,} memories for good?", abort=True, err=True)


@main.command(epilog="Exits with 3 when the id is unknown.")
@click.argument("id_", metavar="ID")
@common_options
def history(context: CommandContext, *, id_: str) -> None:
    """Show a memory's history: what it superseded, what superseded it, and when it was accessed."""
    from .. import short_ids
    from . import render

    with context.open_memory() as memory:
        found = memory.history(short_ids.resolve_id(id_, memory.graph()))
    if found is None:
        if context.as_json:
            context.write_json(None)
        context.note(f"there is no memory {id_!r}")
        click.get_current_context().exit(EXIT_NOT_FOUND)
    if context.as_json:
        context.write_json(found.to_dict())
        return
    render.print_history(context.out, found)


@main.command()
@common_options
def scopes(context: CommandContext) -> None:
    """List the scopes of the file: whose memories it holds."""
    from ..stores.sqlite import SQLiteStore
    from .render import table

    store = SQLiteStore(context.require_file())
    try:
        infos = store.scopes()
    finally:
        store.close()
    if context.as_json:
        context.write_json([{name: getattr(info, name) for name in info.__dataclass_fields__} for info in infos])
        return
    rows = [(info.name, f"{info.episodes:,}", info.embedder or "none yet", f"{info.revision:,}") for info in infos]
    context.out.print(
        table({"scope": "left", "memories": "right", "embedder": "left", "revision": "right"}, rows)
        if rows
        else "no scopes yet"
    )


# ---- export, import, reembed


@main.command()
@click.argument("file", default="-", metavar="[FILE|-]", type=HomePath(allow_dash=True))
@click.option("--vectors", is_flag=True, help="Write the vectors too: a larger file, but import embeds nothing.")
@common_options
def export(context: CommandContext, *, file: str, vectors: bool) -> None:
    """Write a scope as JSON Lines, to a file or to stdout; nothing is lost."""
    import dataclasses

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
    handle, name = tempfile.mkstemp(prefix=".ecphora-", dir=Path(file).parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as out:
            yield out
        Path(name).replace(file)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


@main.command("import")
@click.argument("file", metavar="FILE|-", type=HomePath(allow_dash=True))
@click.option("--restore", is_flag=True, help="Also import what was forgotten here on purpose.")
@common_options
def import_(context: CommandContext, *, file: str, restore: bool) -> None:
    """Read an export into a scope, which may already hold memories.

    The whole file is checked before anything is written. Importing it twice changes nothing.
    """
    import dataclasses

    from .render import progress_bar

    bar = progress_bar(context.err, "importing", is_shown=context.has_progress_bar)
    with context.open_memory(create=True, needs_embedder=True) as memory, _open_lines(file) as lines, bar as progress:
        count = memory.import_(lines, restore=restore, progress=progress)
    if context.as_json:
        context.write_json(dataclasses.asdict(count))
        return
    context.print_line(
        f"imported {count.nodes:,} nodes, {count.edges:,} links and {count.accesses:,} accesses; "
        f"{count.existing:,} existed already, {count.blocked:,} were blocked because they were forgotten here"
    )
    for notice in count.notices:
        context.note(f"note: {notice}")


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


@main.command()
@click.option(
    "--rechunk", is_flag=True, help="Cut long texts into chunks again as this version does; alone or with --embedder."
)
@common_options
def reembed(context: CommandContext, *, rechunk: bool) -> None:
    """Change a scope to another embedding model, given by --embedder; with --rechunk cut long texts again."""
    from .. import rechunking, reembedding
    from ..stores.sqlite import SQLiteStore
    from .render import progress_bar

    settings = context.settings
    if settings.embedder is None and not rechunk:
        raise click.UsageError("name the new model with --embedder")
    path = context.require_file()
    counts: dict[str, int] = {}
    if settings.embedder is not None:
        with progress_bar(context.err, "embedding", is_shown=context.has_progress_bar) as progress:
            counts["reembedded_count"] = reembedding.reembed(
                path, scope=settings.scope, embedder=settings.make_embedder(), progress=progress
            )
    if rechunk:
        with progress_bar(context.err, "chunking", is_shown=context.has_progress_bar) as progress:
            with closing(SQLiteStore(path)) as store:
                stored = next((info.embedder for info in store.scopes() if info.name == settings.scope), None)
            embedder = settings.make_embedder(stored)
            counts["rechunked_count"] = rechunking.rechunk(
                path, scope=settings.scope, embedder=embedder, progress=progress
            )
    if context.as_json:
        context.write_json(counts)
    else:
        labels = {"reembedded_count": "memories embedded again", "rechunked_count": "memories got other chunks"}
        context.print_line("; ".join(f"{count:,} {labels[name]}" for name, count in counts.items()))


# ---- doctor, demo, bench


@main.command(epilog="Exits with 1 if a problem is left.")
@click.option("--fix", is_flag=True, help="Repair what can be repaired without loss.")
@common_options
def doctor(context: CommandContext, *, fix: bool) -> None:
    """Check the file, and say how to repair what is wrong with it."""
    from ..doctor import examine
    from . import render, serialize

    report = examine(context.require_file(), fix=fix, make_embedder=context.settings.make_embedder)
    if context.as_json:
        context.write_json(serialize.report_to_dict(report))
    else:
        render.print_report(context.out, report)
    if not report.is_healthy:
        click.get_current_context().exit(1)


@main.command()
@click.option("--db", type=HomePath(path_type=Path), help="Create the demo's memory here, and keep it.")
@click.option("--keep", is_flag=True, help="Keep the demo's memory, to try your own questions on it.")
@click.option("--embedder", metavar="NAME", default="minilm", show_default=True, help="As for the other commands.")
@click.option("--json", "as_json", is_flag=True, help="Write JSON to stdout, and nothing else.")
@click.pass_context
def demo(ctx: click.Context, *, db: Path | None, keep: bool, embedder: str, as_json: bool) -> None:
    """See it work: remember the chat of six friends over fourteen months, and ask about it.

    Asks twelve hard questions with known answers, and shows what is missed. No key, no network, half a minute.
    """
    from .demo import show

    ctx.meta["ecphora.json"] = as_json
    show.run_demo(open_context(as_json=as_json, embedder=embedder), db, keep=keep)


class _LazyCommand(click.Command):
    """A placeholder for a command of another module, which is loaded only when the command is called."""

    def __init__(self, name: str, module: str, help_: str) -> None:
        super().__init__(name, help=help_)
        self.module = module

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        command: click.Command = getattr(import_module(self.module, __package__), str(self.name))
        return command.make_context(info_name, args, parent, **extra)


for _name, _module, _help in (
    ("ask", ".chat", "Answer a question from the memories."),
    ("chat", ".chat", "Talk with the memory."),
    ("consolidate", ".consolidation", "Find updates of facts, aliases and insights in new memories."),
    ("updates", ".consolidation", "Show which memories supersede or contradict others."),
    ("reject", ".consolidation", "Reject an update that was found."),
    ("undo", ".consolidation", "Undo the latest consolidation."),
    ("insights", ".consolidation", "Show what memories say together."),
    ("decayed", ".consolidation", "Show decayed memories."),
    ("pin", ".consolidation", "Keep memories from decay."),
    ("unpin", ".consolidation", "Let pinned memories decay again."),
    ("archive", ".consolidation", "Rank memories below all others."),
    ("unarchive", ".consolidation", "Rank archived memories among the others again."),
    ("backup", ".consolidation", "Copy the whole file while it is in use."),
    ("learn", "..bench.learning.learn_command", "Learn from questions whose evidence is known."),
    ("bench", "..bench.commands", "Measure recall on public data sets."),
):
    main.add_command(_LazyCommand(_name, _module, _help))

if __name__ == "__main__":
    main()
