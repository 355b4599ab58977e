"""Commands that tend a memory: let it sleep, take a night back, and look at what it found."""

import shlex
from contextlib import closing

import click
from rich.text import Text

from . import short_ids, terminal
from .desk import MISSING, Desk, HomePath, shared
from .guest import Guest
from .model import Insight
from .stores.sqlite import SQLite
from .visible import line

WROTE = {
    "supersedes": ("fact that changed", "facts that changed"),
    "contradicts": ("contradiction", "contradictions"),
    "alias": ("name that means another", "names that mean another"),
    "insights": ("insight", "insights"),
}
"""What a night wrote, as one and as several are told."""


@click.command()
@click.option("--dry-run", is_flag=True, help="Write nothing; say what would be written.")
@click.option("--seconds", type=click.FloatRange(min=0, min_open=True), help="Stop after so long; go on the next time.")
@click.option("--tokens", type=click.IntRange(min=1), help="Stop after so many tokens of the language model.")
@click.option("--llm", metavar="NAME", help="openai:MODEL or llamacpp:PATH; by default none.  [env ECPHORA_LLM]")
@shared
def consolidate(desk: Desk, *, dry_run: bool, seconds: float | None, tokens: int | None, llm: str | None) -> None:
    """Make sense of what is new: facts that changed, names that mean the same, insights.

    Nothing is deleted, and ecphora undo takes all of it back. Questions with feedback are replayed before and after: a
    night that costs a point of their recall is refused.
    """
    made = desk.settings.over(llm=llm).make_llm()
    bar = terminal.progress(desk.err, "consolidating", shown=desk.watched)
    with desk.memory(embeds=True) as memory, bar as told:
        found = memory.consolidate(
            llm=None if made is None else Guest(made), seconds=seconds, tokens=tokens, dry_run=dry_run, progress=told
        )
    if desk.as_json:
        desk.json(found.to_dict())
        return
    if found.refused:
        desk.say(
            f"refused: of what was of use for {found.probes:,} past questions, {found.after:.1%} would come back "
            f"instead of {found.before:.1%}; nothing was written"
        )
        return
    if not found.wrote and found.left:
        desk.say(f"no time to write anything: {found.left:,} new memories are left; give it more seconds")
        return
    if not found.wrote:
        desk.say("nothing is new")
        return
    verb = "would write" if dry_run else "wrote"
    counts = [(found.wrote.get(name, 0), one, several) for name, (one, several) in WROTE.items()]
    parts = [f"{count:,} {one if count == 1 else several}" for count, one, several in counts if count]
    desk.say(f"looked at {found.wrote['memories']:,} new memories; {verb} {', '.join(parts) or 'nothing'}")
    if found.batch is not None:
        desk.remark(f"to take it back: ecphora undo {found.batch.id}")
    if found.left:
        desk.remark(f"{found.left:,} new memories are left; run it again")


@click.command(epilog="Exits with 3 when there are none.")
@click.option("--limit", type=click.IntRange(min=1), default=20, show_default=True, help="Changes to show.")
@shared
def changes(desk: Desk, *, limit: int) -> None:
    """Show which memories were found to replace or to contradict others, and how sure that is; the latest first."""
    with desk.memory() as memory:
        found = memory.changes(limit=limit)
    if desk.as_json:
        desk.json([one.to_dict() for one in found])
    else:
        for one in found:
            what = "contradicts" if one.contradicts else f"since {terminal.clock(one.since)} instead of"
            for node, head in ((one.new, f"{one.sure:.0%} sure"), (one.old, what)):
                desk.out.print(Text(f"{head}: ", style="bright_black") + terminal.told(node))
            old, new = (shlex.quote(line(node.id)) for node in (one.old, one.new))
            reject_it = Text(f"  ecphora reject {old} {new}\n")
            desk.out.print(reject_it, soft_wrap=True)  # to be copied as it stands
        if not found:
            desk.remark("no changes yet; they are found by ecphora consolidate")
    if not found:
        click.get_current_context().exit(MISSING)


@click.command()
@click.argument("old")
@click.argument("new")
@shared
def reject(desk: Desk, *, old: str, new: str) -> None:
    """Say that memory NEW neither replaces nor contradicts memory OLD after all; ecphora undo takes it back."""
    with desk.memory() as memory:
        old, new = (short_ids.complete(id_, memory.graph()) for id_ in (old, new))
        batch = memory.reject(old, new)
    if desk.as_json:
        desk.json({"rejected": [old, new], "batch": batch.id})
    else:
        desk.say(f"rejected: {new} leaves {old} as it was")


@click.command()
@click.argument("batch", required=False)
@shared
def undo(desk: Desk, *, batch: str | None) -> None:
    """Take back the latest night, or BATCH if that is the latest: every row that it wrote."""
    with desk.memory() as memory:
        known = [one.id for one in memory.batches()]
        gone = memory.undo(batch and short_ids.complete_among(batch, known))
    if desk.as_json:
        desk.json({"undone": gone.id, "at": gone.at.isoformat(), "wrote": dict(gone.wrote)})
    else:
        desk.say(f"undone: {gone.id} of {terminal.clock(gone.at)}")


@click.command(epilog="Exits with 3 when there are none.")
@click.argument("question", required=False)
@click.option("--limit", type=click.IntRange(min=1), default=10, show_default=True, help="Insights to show.")
@shared
def insights(desk: Desk, *, question: str | None, limit: int) -> None:
    """Show what memories say together, with the memories: newest first, or nearest to a QUESTION."""
    with desk.memory(embeds=question is not None) as memory:
        found = memory.insights(question, limit=limit)
    if desk.as_json:
        desk.json([one.to_dict() for one in found])
    else:
        for one in found:
            _draw(desk, one)
        if not found:
            desk.remark("no insights yet; they are drawn by ecphora consolidate")
    if not found:
        click.get_current_context().exit(MISSING)


def _draw(desk: Desk, one: Insight) -> None:
    level = "" if one.level == 1 else f", of level {one.level}"
    held = "" if one.holds else "; one of them holds no more"
    desk.out.print(Text(terminal.safe(one.node.text), style="bold"))
    desk.out.print(Text(f"  from {len(one.sources):,} memories{level}{held}:", style="bright_black"))
    for node in one.sources:
        desk.out.print(Text("    ") + terminal.told(node))
    desk.out.print()


# ---- fading


@click.command()
@click.option("--limit", type=click.IntRange(min=1), default=20, show_default=True, help="Memories to show.")
@shared
def faded(desk: Desk, *, limit: int) -> None:
    """Show what sank: of little importance by use and age, untouched for months. Nothing is lost; it only ranks."""
    with desk.memory() as memory:
        found = memory.faded(limit=limit)
    if desk.as_json:
        desk.json([node.to_dict() for node in found])
        return
    for node in found:
        desk.out.print(terminal.told(node) + Text(f"  {line(node.id)}", style="bright_black"))
    if not found:
        desk.remark("nothing has faded")


@click.command()
@click.argument("ids", nargs=-1, required=True, metavar="ID...")
@click.option("--off", is_flag=True, help="Let them fade again.")
@shared
def protect(desk: Desk, *, ids: tuple[str, ...], off: bool) -> None:
    """Keep memories from fading."""
    with desk.memory() as memory:
        ids = tuple(short_ids.complete(id_, memory.graph()) for id_ in ids)
        memory.protect(ids, on=not off)
    _marked(desk, ids, "may fade" if off else "protected")


@click.command()
@click.argument("ids", nargs=-1, required=True, metavar="ID...")
@click.option("--off", is_flag=True, help="Put them back among the others.")
@shared
def archive(desk: Desk, *, ids: tuple[str, ...], off: bool) -> None:
    """Put memories behind all others; they still come back where nothing else does."""
    with desk.memory() as memory:
        ids = tuple(short_ids.complete(id_, memory.graph()) for id_ in ids)
        memory.archive(ids, on=not off)
    _marked(desk, ids, "returned" if off else "archived")


def _marked(desk: Desk, ids: tuple[str, ...], what: str) -> None:
    if desk.as_json:
        desk.json({what.replace(" ", "_"): list(ids)})
    else:
        desk.say(f"{what}: {', '.join(ids)}")


# ---- backup


@click.command()
@click.argument("to", type=HomePath())
@click.option("--overwrite", is_flag=True, help="Replace the file TO if it is there.")
@shared
def backup(desk: Desk, *, to: str, overwrite: bool) -> None:
    """Copy the whole file, every scope of it, to TO, while it is in use.

    The copy is one state of the file, verified, and a memory like any other: name it with --db.
    """
    bar = terminal.progress(desk.err, "copying", shown=desk.watched)
    with closing(SQLite(desk.check_there())) as store, bar as told:
        made = store.backup(to, overwrite=overwrite, progress=told)
    if desk.as_json:
        desk.json(made.to_dict())
        return
    desk.say(f"copied {made.episodes:,} memories, {made.size:,} bytes, to {made.path}")
    desk.say(f"sha256 {made.sha256}")


TENDING: tuple[click.Command, ...] = (consolidate, changes, reject, undo, insights, faded, protect, archive, backup)
"""Every command of this module."""
