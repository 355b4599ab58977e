"""The command line: arguments in, pictures or JSON out. What is remembered and recalled is :class:`Memory`'s affair."""

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

from . import __version__
from .desk import (
    CODES,
    MISSING,
    Commands,
    Desk,
    HomePath,
    asks,
    by_strategy,
    filters,
    open_desk,
    pairs,
    read_stdin,
    shared,
)
from .errors import InvalidInput, InvalidText

if TYPE_CHECKING:
    from .memory import Memory
    from .model import Filter, Remembered

# A short command need not pay for NumPy's threads, which spin for 0.1 s before they sleep, nor for a search for
# reference cycles among all that is imported, a hundred times meanwhile and at its end (docs/storage.md, "What a start
# costs").
os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "4")
gc.set_threshold(50_000)
atexit.register(gc.freeze)

MANY = 16
"""Texts from which a progress bar is shown."""


@click.group(
    cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}, epilog=CODES
)
@click.version_option(__version__, prog_name="ecphora", message="%(prog)s %(version)s")
@click.option("--traceback", is_flag=True, help="Show where an error arose (goes before the command).")
def main(*, traceback: bool) -> None:
    """Associative long-term memory in one file: tell it what happened, ask it later, see why.

    \b
    ecphora remember "Ana moved to Porto." --speaker Ana --at 2026-05-03
    ecphora recall "Where does Ana live?"
    ecphora demo
    """
    del traceback  # read by Commands


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
@click.option("--recursive", is_flag=True, help="Read folders of --file, with all below them.")
@click.option("--lines", is_flag=True, help="Read stdin line by line.  [default: by paragraph]")
@click.option("--whole", is_flag=True, help="Read the whole of stdin as one text.")
@click.option("--jsonl", is_flag=True, help="Read stdin as JSON Lines: objects with text, id, speaker, happened_at ...")
@click.option("--id", "id_", metavar="ID", help="Your own name for the memory.")
@click.option("--speaker", metavar="NAME", help="Who said it.")
@click.option("--session", metavar="NAME", help="The conversation or file it belongs to.")
@click.option("--at", metavar="DATE", help="When it happened: 2026-05-03 or 2026-05-03T14:30.  [default: now]")
@click.option("--title", metavar="TEXT", help="What it is about.")
@click.option("--source", metavar="NAME", help="Where it comes from.")
@click.option("--meta", multiple=True, metavar="KEY=VALUE", callback=pairs, help="Metadata to keep; may be repeated.")
@click.option("--supersedes", metavar="ID", help="The memory that this one replaces.")
@click.option("--restore", is_flag=True, help="Remember it even if it was forgotten on purpose.")
@by_strategy
@shared
def remember(
    desk: Desk,
    *,
    texts: tuple[str, ...],
    literal: tuple[str, ...],
    files: tuple[str, ...],
    recursive: bool,
    lines: bool,
    whole: bool,
    jsonl: bool,
    id_: str | None,
    at: str | None,
    meta: dict[str, Any],
    supersedes: str | None,
    restore: bool,
    **named: str | None,
) -> None:
    """Remember texts: the arguments, files, or stdin by paragraph.

    The file is made on first use. Remembering the same twice is harmless. A file is one memory: its source is the path,
    its title the file's name, and it happened when the file was last changed, unless --at says else. In prose from
    stdin, blank lines part the memories. A program that passes on what it was told should use --text or stdin: a TEXT
    that names a file is an error.
    """
    from dataclasses import replace

    from . import intake, short_ids, text_files
    from .terminal import progress

    given = {"id": id_, "happened_at": at, "metadata": meta, "supersedes": supersedes, **named}
    given = {key: value for key, value in given.items() if value}
    forms = [form for form, on in (("lines", lines), ("whole", whole), ("jsonl", jsonl)) if on]
    if files or recursive:
        if texts or literal or forms or not files:
            raise click.UsageError("--file PATH [--recursive] stands for itself: no TEXT, --lines, --whole or --jsonl")
        episodes = intake.of_files(desk, files, given, recursive=recursive)
    elif literal or texts not in {(), ("-",)}:
        if forms:
            raise click.UsageError(f"--{forms[0]} says how stdin is read; give no TEXT beside it")
        episodes = intake.of_arguments(texts, literal, given)
    else:
        episodes = intake.of_stdin(forms, given, asked=bool(texts))
    if id_ is not None and len(episodes) > 1:
        raise InvalidInput(f"one id, {id_!r}, for {len(episodes)} texts; give ids with --jsonl")
    bar = progress(desk.err, "remembering", shown=desk.watched and len(episodes) >= MANY)
    with desk.memory(new=True, embeds=True) as memory, bar as told:
        if files and at is None:
            episodes = [text_files.with_known_time(memory, episode) for episode in episodes]
        if supersedes:
            known = short_ids.complete(supersedes, memory.graph())
            episodes = [replace(one, supersedes=known) if one.supersedes == supersedes else one for one in episodes]
        done = memory.remember(episodes, restore=restore, progress=told)
    _tell_remembered(desk, done)


def _tell_remembered(desk: Desk, done: "Remembered") -> None:
    if desk.as_json:
        desk.json(done.to_dict())
        return
    if len(done.ids) == 1:
        word = "remembered" if done.new else "known already" if done.known else "forgotten before, so refused"
        desk.say(f"{word}: {done.id}")
    else:
        counts = (len(done.new), "remembered"), (len(done.known), "known already"), (len(done.refused), "refused")
        desk.say(", ".join(f"{count:,} {word}" for count, word in counts if count) or "nothing to remember")
    if done.refused:
        desk.remark(f"refused, because forgotten on purpose (--restore takes them): {', '.join(done.refused[:10])}")


# ---- recall


@main.command(epilog="Exits with 3 when the evidence is none: what came back, if anything, is no answer.")
@asks
@click.option("--explain/--no-explain", default=None, help="Show the shares of each score too / no reason at all.")
@click.option("--no-touch", is_flag=True, help="Leave no trace in the log of accesses.")
@shared
def recall(
    desk: Desk,
    *,
    question: str,
    limit: int,
    tokens: int | None,
    where: "Filter",
    explain: bool | None,
    no_touch: bool,
    **given: Any,
) -> None:
    """Bring back what belongs to a question, with how sure it is and why."""
    from . import short_ids, terminal
    from .model import Evidence

    with desk.memory(embeds=True) as memory:
        found = memory.recall(
            question,
            limit=limit,
            budget=tokens,
            where=where,
            explain=explain is not False,
            touch=not no_touch,
            **given,
        )
        if desk.as_json:
            desk.json(found.to_dict())
        else:
            console = desk.out
            console.print(terminal.heading(found, question))
            ids = short_ids.abbreviate((hit.id for hit in found), memory.graph())
            terminal.recollection(console, found, explain=explain, naming=terminal.naming(memory), ids=ids)
            if not found.hits:
                console.print("  nothing came back", style="bright_black")
    if found.evidence == Evidence.NONE:
        click.get_current_context().exit(MISSING)


@main.command("why-not", epilog="Exits with 3 when the id is not there.")
@asks
@click.argument("id_", metavar="ID")
@click.option("--explain", is_flag=True, help="Show the shares that its score lacks most too.")
@shared
def why_not(
    desk: Desk,
    *,
    question: str,
    id_: str,
    limit: int,
    tokens: int | None,
    where: "Filter",
    explain: bool,
    **given: Any,
) -> None:
    """Say why the memory ID does not come back for a question, and what would bring it back.

    Asked with the options of the recall that missed it. It leaves no trace in the log of accesses.
    """
    from . import short_ids, terminal
    from .explain import Fell

    with desk.memory(embeds=True) as memory:
        id_ = short_ids.complete(id_, memory.graph())
        found = memory.why_not(question, id_, limit=limit, budget=tokens, where=where, **given)
    if desk.as_json:
        desk.json(found.to_dict())
    else:
        terminal.fallen(desk.out, found, explain=explain)
    if found.stage == Fell.ABSENT:
        click.get_current_context().exit(MISSING)


# ---- forget, history, scopes


@main.command(epilog="Exits with 3 when an id is not there; the others are erased all the same.")
@click.argument("ids", nargs=-1, metavar="[ID]...")
@filters
@click.option("--yes", is_flag=True, help="Do not ask before erasing what the options choose.")
@shared
def forget(desk: Desk, *, ids: tuple[str, ...], where: "Filter", yes: bool) -> None:
    """Erase memories on purpose: by ID, or all that the options choose.

    Texts, vectors and links are overwritten in the file, and the same memory does not come back by being handed in
    again. There is no undo, so a name that you gave a memory is taken whole; an id made by Ecphora may be abbreviated.
    """
    from . import short_ids
    from .model import Filter

    chosen = where != Filter()
    if bool(ids) == chosen:
        raise click.UsageError("say what to forget: by ID, or by options such as --session, not both")
    with desk.memory() as memory:
        ids = tuple(short_ids.complete(id_, memory.graph(), names=False) for id_ in ids)
        wanted = list(ids)
        if chosen:
            wanted = _chosen(memory, where)
            if wanted and not yes:
                _confirm(desk, memory, wanted)
        erased = memory.forget(wanted)
    missing = [id_ for id_ in ids if id_ not in set(erased.episodes)]
    if desk.as_json:
        desk.json({"episodes": list(erased.episodes), "names": list(erased.entities), "missing": missing})
    else:
        desk.say(f"erased {len(erased.episodes):,} memories and {len(erased.entities):,} names only they mentioned")
        for id_ in (*erased.episodes, *erased.entities)[:50]:
            desk.say(f"  {id_}")
    if missing:
        desk.remark(f"not there: {', '.join(missing)}")
        click.get_current_context().exit(MISSING)


def _chosen(memory: "Memory", where: "Filter") -> list[str]:
    """The ids of all that a filter lets through."""
    import numpy as np

    from .graph import EPOCH
    from .model import Cue
    from .stages import choose

    graph = memory.graph()
    return [graph.id(row) for row in np.flatnonzero(choose.allowed(graph, Cue("", EPOCH, where=where))).tolist()]


def _confirm(desk: Desk, memory: "Memory", ids: Sequence[str]) -> None:
    from .terminal import quoted

    if not sys.stdin.isatty():
        raise click.UsageError(f"this would erase {len(ids):,} memories; say --yes if that is meant")
    for node in filter(None, map(memory.get, ids[:5])):
        desk.remark(f"  {quoted(node, 70)}")
    click.confirm(f"Erase these {len(ids):,} memories for good?", abort=True, err=True)


@main.command(epilog="Exits with 3 when the id is not there.")
@click.argument("id_", metavar="ID")
@shared
def history(desk: Desk, *, id_: str) -> None:
    """Show a memory's life: what it replaced, what replaced it, and when it was accessed."""
    from . import short_ids, terminal

    with desk.memory() as memory:
        found = memory.history(short_ids.complete(id_, memory.graph()))
    if found is None:
        if desk.as_json:
            desk.json(None)
        desk.remark(f"there is no memory {id_!r}")
        click.get_current_context().exit(MISSING)
    if desk.as_json:
        desk.json(found.to_dict())
        return
    terminal.history(desk.out, found)


@main.command()
@shared
def scopes(desk: Desk) -> None:
    """List the scopes of the file: whose memories it holds."""
    from .stores.sqlite import SQLite
    from .terminal import table

    store = SQLite(desk.check_there())
    try:
        found = store.scopes()
    finally:
        store.close()
    if desk.as_json:
        desk.json([{name: getattr(one, name) for name in one.__dataclass_fields__} for one in found])
        return
    rows = [(one.name, f"{one.episodes:,}", one.embedder or "none yet", f"{one.revision:,}") for one in found]
    desk.out.print(
        table({"scope": "left", "memories": "right", "embedder": "left", "revision": "right"}, rows)
        if rows
        else "no scopes yet"
    )


# ---- export, import, reembed


@main.command()
@click.argument("file", default="-", metavar="[FILE|-]", type=HomePath(allow_dash=True))
@click.option("--vectors", is_flag=True, help="Write the vectors too: larger, but nothing is embedded on import.")
@shared
def export(desk: Desk, *, file: str, vectors: bool) -> None:
    """Write a scope as JSON Lines, to a file or to stdout; nothing is lost."""
    import dataclasses

    with desk.memory() as memory, _written(file) as out:
        count = memory.export(out, vectors=vectors)
    if file == "-":
        return
    if desk.as_json:
        desk.json(dataclasses.asdict(count))
    else:
        desk.say(f"wrote {count.nodes:,} nodes, {count.edges:,} links and {count.accesses:,} accesses to {file}")


@contextmanager
def _written(file: str) -> Any:
    """A text file that appears whole or not at all, its owner's alone; stdout for ``-``."""
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
@click.option("--restore", is_flag=True, help="Take in what was forgotten here on purpose, too.")
@shared
def import_(desk: Desk, *, file: str, restore: bool) -> None:
    """Read an export into a scope, which may hold memories already.

    The file is checked to its last line before anything is written. Importing twice is harmless.
    """
    import dataclasses

    from .terminal import progress

    bar = progress(desk.err, "importing", shown=desk.watched)
    with desk.memory(new=True, embeds=True) as memory, _lines(file) as lines, bar as told:
        count = memory.import_(lines, restore=restore, progress=told)
    if desk.as_json:
        desk.json(dataclasses.asdict(count))
        return
    desk.say(
        f"took in {count.nodes:,} nodes, {count.edges:,} links and {count.accesses:,} accesses; "
        f"{count.known:,} were known, {count.refused:,} refused because forgotten here"
    )
    for notice in count.notices:
        desk.remark(f"note: {notice}")


@contextmanager
def _lines(file: str) -> Any:
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
    "--resegment", is_flag=True, help="Cut long texts anew, as they are cut today; without --embedder only that."
)
@shared
def reembed(desk: Desk, *, resegment: bool) -> None:
    """Change a scope over to another embedding model, given by --embedder; with --resegment cut long texts anew."""
    from . import reembedding, resegmentation
    from .stores.sqlite import SQLite
    from .terminal import progress

    settings = desk.settings
    if settings.embedder is None and not resegment:
        raise click.UsageError("say which model to change over to, with --embedder")
    path = desk.check_there()
    found: dict[str, int] = {}
    if settings.embedder is not None:
        with progress(desk.err, "embedding", shown=desk.watched) as told:
            found["reembedded"] = reembedding.reembed(
                path, scope=settings.scope, embedder=settings.make_embedder(), progress=told
            )
    if resegment:
        with progress(desk.err, "cutting", shown=desk.watched) as told:
            with closing(SQLite(path)) as store:
                stored = next((info.embedder for info in store.scopes() if info.name == settings.scope), None)
            embedder = settings.make_embedder(stored)
            found["resegmented"] = resegmentation.resegment(
                path, scope=settings.scope, embedder=embedder, progress=told
            )
    if desk.as_json:
        desk.json(found)
    else:
        said = {"reembedded": "memories embedded anew", "resegmented": "memories got other pieces"}
        desk.say("; ".join(f"{count:,} {said[name]}" for name, count in found.items()))


# ---- doctor, demo, bench


@main.command(epilog="Exits with 1 when something is left to mend.")
@click.option("--fix", is_flag=True, help="Mend what can be mended without loss.")
@shared
def doctor(desk: Desk, *, fix: bool) -> None:
    """Examine the file and say how to mend what is wrong with it."""
    import dataclasses

    from . import terminal
    from .doctor import examine

    report = examine(desk.check_there(), fix=fix, embedder=desk.settings.make_embedder)
    if desk.as_json:
        desk.json({**dataclasses.asdict(report), "sound": report.sound})
    else:
        terminal.findings(desk.out, report)
    if not report.sound:
        click.get_current_context().exit(1)


@main.command()
@click.option("--db", type=HomePath(path_type=Path), help="Make the demo's memory here, and keep it.")
@click.option("--keep", is_flag=True, help="Keep the demo's memory, to try your own questions on it.")
@click.option("--embedder", metavar="NAME", default="minilm", show_default=True, help="As for the other commands.")
@click.option("--json", "as_json", is_flag=True, help="Write JSON to stdout, and nothing else.")
@click.pass_context
def demo(ctx: click.Context, *, db: Path | None, keep: bool, embedder: str, as_json: bool) -> None:
    """See it work: the chat of six friends over fourteen months, remembered and asked about.

    Twelve hard questions with known answers; what is missed is shown as missed. No key, no network, half a minute.
    """
    from .demo import show

    ctx.meta["ecphora.json"] = as_json
    show.run(open_desk(as_json=as_json, embedder=embedder), db, keep=keep)


class _Later(click.Command):
    """Stands for a command of another module until it is called: listing the commands does not load it."""

    def __init__(self, name: str, module: str, help_: str) -> None:
        super().__init__(name, help=help_)
        self.module = module

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        command: click.Command = getattr(import_module(self.module, __package__), str(self.name))
        return command.make_context(info_name, args, parent, **extra)


for _name, _module, _help in (
    ("ask", ".conversation", "Answer a question from what is remembered."),
    ("chat", ".conversation", "Talk with somebody who remembers."),
    ("consolidate", ".upkeep", "Make sense of what is new."),
    ("changes", ".upkeep", "Show which facts were found to have changed."),
    ("reject", ".upkeep", "Say that a change that was found is none."),
    ("undo", ".upkeep", "Take back the latest consolidation."),
    ("insights", ".upkeep", "Show what memories say together."),
    ("faded", ".upkeep", "Show what sank."),
    ("protect", ".upkeep", "Keep memories from fading."),
    ("archive", ".upkeep", "Put memories behind all others."),
    ("backup", ".upkeep", "Copy the whole file while it is in use."),
    ("learn", ".bench.teach", "Learn from questions whose evidence is known."),
    ("bench", ".bench.commands", "Measure recall on public data sets."),
):
    main.add_command(_Later(_name, _module, _help))

if __name__ == "__main__":
    main()
