"""Commands for consolidation and maintenance: consolidate, undo, show results, pin, archive, back up."""

import shlex
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager

import click
from rich.text import Text

from ..memory import Memory
from ..model.text_format import count_noun, short_minute, single_line
from ..model.types import FactRelation, Insight, NodeId
from ..model.validation import LIST_LIMIT
from ..models.llm_client import LLMClient
from ..models.llms.from_setting import parse_prices
from ..recall import lookup
from ..stores.sqlite import SQLiteStore
from . import render
from .context import EXIT_NOT_FOUND, CommandContext, HomePath, check_output_path, common_options

MAX_COUNTED = 1_000
"""The most pending updates that are counted."""
COUNT_LABELS = {
    "supersedes": ("updated fact", "updated facts"),
    "contradicts": ("contradiction", "contradictions"),
    "pending_updates": ("pending update", "pending updates"),
    "alias": ("alias", "aliases"),
    "insights": ("insight", "insights"),
}
"""The name of each count: singular and plural."""


@click.command()
@click.option(
    "--dry-run",
    is_flag=True,
    help="Write and send nothing; show what would be written, and what a language model would cost.",
)
@click.option(
    "--seconds",
    type=click.FloatRange(min=0, min_open=True),
    help="Stop after this many seconds; the next run continues.",
)
@click.option("--tokens", type=click.IntRange(min=1), help="Stop after this many tokens of the language model.")
@click.option("--llm", metavar="NAME", help="openai:MODEL or llamacpp:PATH; by default none.  [env ECPHORA_LLM]")
@common_options
def consolidate(
    context: CommandContext, *, dry_run: bool, seconds: float | None, tokens: int | None, llm: str | None
) -> None:
    """Find updates of facts, aliases and insights in new memories.

    Nothing is deleted, and ecphora undo reverts all of it. Questions with feedback are asked before and after: a
    consolidation that lowers their recall by a point is not written.
    """
    language_model = context.settings.with_overrides(llm=llm).make_llm()
    bar = render.progress_bar(context.err, "consolidating", is_shown=context.has_progress_bar)
    with context.open_memory(needs_embedder=True) as memory, bar as progress:
        result = memory.consolidate(
            llm=None if language_model is None else LLMClient(language_model),
            seconds=seconds,
            tokens=tokens,
            dry_run=dry_run,
            progress=progress,
        )
    if context.as_json:
        context.write_json(result)
        return
    if result.is_regression:
        written = "nothing" if result.undo_batch is None else "only a part"
        context.print_line(
            f"{written} was written: the recall of {result.probe_count:,} past questions would fall "
            f"from {result.recall_before:.1%} to {result.recall_after:.1%}"
        )
        if result.undo_batch is not None:
            context.note(f"another process wrote a batch since: undo that first, then {result.undo_batch.id}")
        return
    if not result.counts and result.pending_count:
        context.print_line(
            f"no time to write anything: {result.pending_count:,} new memories are pending; give it more seconds"
        )
        return
    if result.estimate is not None:
        context.print_line(render.estimate_text(result.estimate, parse_prices(context.settings.llm_prices)))
    if not result.counts:
        context.print_line("no new memories")
        return
    verb = "would write" if dry_run else "wrote"
    counts = [(result.counts.get(name, 0), singular, plural) for name, (singular, plural) in COUNT_LABELS.items()]
    parts = [count_noun(count, singular, plural) for count, singular, plural in counts if count]
    processed = count_noun(result.counts["memories"], "new memory", "new memories")
    context.print_line(f"processed {processed}; {verb} {', '.join(parts) or 'nothing'}")
    if result.undo_batch is not None:
        context.note(f"to undo it: ecphora undo {result.undo_batch.id}")
    if result.pending_count:
        context.note(f"{result.pending_count:,} new memories are pending; run it again")


@click.command(epilog="Exits with 3 when there are none.")
@click.option("--limit", type=click.IntRange(min=1), default=LIST_LIMIT, show_default=True, help="Updates to show.")
@click.option(
    "--pending", is_flag=True, help="Those that are not sure enough to change anything, until you accept them."
)
@common_options
def updates(context: CommandContext, *, pending: bool, limit: int) -> None:
    """Show which memories supersede or contradict others, each with its confidence; the latest first."""
    with context.open_memory() as memory:
        found = memory.facts.updates(pending=pending, limit=limit)
        pending_count = 0 if pending else len(memory.facts.updates(pending=True, limit=MAX_COUNTED))
    if context.as_json:
        context.write_json(found)
    else:
        for update in found:
            since = f", from {short_minute(update.valid_from)}"
            relation = f"{update.relation.value}{since if update.relation is FactRelation.SUPERSEDES else ''}"
            for node, head in ((update.new, f"confidence {update.confidence:.0%}"), (update.old, relation)):
                context.out.print(Text(f"{head}: ", style="bright_black") + render.node_line(node))
            old, new = (shlex.quote(single_line(node.id)) for node in (update.old, update.new))
            if pending:
                context.out.print(Text(f"  ecphora accept {old} {new}"), soft_wrap=True)
            reject_it = Text(f"  ecphora reject {old} {new}\n")
            context.out.print(reject_it, soft_wrap=True)  # can be copied and run as it is
        if not found:
            context.note("no updates; ecphora consolidate looks for them in new memories")
        if pending_count:
            context.note(f"{count_noun(pending_count, 'update is', 'updates are')} pending: ecphora updates --pending")
    if not found:
        click.get_current_context().exit(EXIT_NOT_FOUND)


@click.command()
@click.argument("old")
@click.argument("new")
@common_options
def accept(context: CommandContext, *, old: str, new: str) -> None:
    """Accept a pending update: memory NEW supersedes or contradicts memory OLD; ecphora undo reverts it."""
    with context.open_memory() as memory:
        old, new = (lookup.resolve_id(id_, memory.graph()) for id_ in (old, new))
        batch = memory.facts.accept(old, new)
    if context.as_json:
        context.write_json(batch)
    else:
        context.print_line(f"accepted: {new} changes {old}")


@click.command()
@click.argument("old")
@click.argument("new")
@common_options
def reject(context: CommandContext, *, old: str, new: str) -> None:
    """Reject an update: memory NEW neither supersedes nor contradicts memory OLD; ecphora undo reverts it."""
    with context.open_memory() as memory:
        old, new = (lookup.resolve_id(id_, memory.graph()) for id_ in (old, new))
        batch = memory.facts.reject(old, new)
    if context.as_json:
        context.write_json(batch)
    else:
        context.print_line(f"rejected: {new} does not change {old}")


@click.command()
@click.argument("batch", required=False)
@common_options
def undo(context: CommandContext, *, batch: str | None) -> None:
    """Undo the latest batch, or BATCH if that is the latest: every row that it wrote.

    A batch is what a consolidation, an import, an accepted or rejected update, merged or split names wrote. What
    remember or update wrote belongs to no batch, and what forget erased does not come back.
    """
    with context.open_memory() as memory:
        batch_ids = [entry.id for entry in memory.maintenance.batches()]
        undone_batch = memory.maintenance.undo(batch and lookup.resolve_among(batch, batch_ids))
    if context.as_json:
        context.write_json(undone_batch)
    else:
        context.print_line(f"undone: {undone_batch.id} of {short_minute(undone_batch.at)}")


@click.command(epilog="Exits with 3 when there are none.")
@click.argument("question", required=False)
@click.option("--limit", type=click.IntRange(min=1), default=LIST_LIMIT, show_default=True, help="Insights to show.")
@common_options
def insights(context: CommandContext, *, question: str | None, limit: int) -> None:
    """Show what memories say together, with the memories: newest first, or nearest to a QUESTION."""
    with context.open_memory(needs_embedder=question is not None) as memory:
        found = memory.insights(question, limit=limit)
    if context.as_json:
        context.write_json(found)
    else:
        for insight in found:
            _print_insight(context, insight)
        if not found:
            context.note("no insights; ecphora consolidate looks for them in new memories")
    if not found:
        click.get_current_context().exit(EXIT_NOT_FOUND)


def _print_insight(context: CommandContext, insight: Insight) -> None:
    level = "" if insight.level == 1 else f", of level {insight.level}"
    validity = "" if insight.is_valid else "; one of them is superseded"
    context.out.print(Text(render.sanitize(insight.node.text), style="bold"))
    context.out.print(Text(f"  from {len(insight.sources):,} memories{level}{validity}:", style="bright_black"))
    for node in insight.sources:
        context.out.print(Text("    ") + render.node_line(node))
    context.out.print()


@click.command()
@click.option("--limit", type=click.IntRange(min=1), default=LIST_LIMIT, show_default=True, help="Memories to show.")
@common_options
def decayed(context: CommandContext, *, limit: int) -> None:
    """Show decayed memories: little used, and not for months. Nothing is lost."""
    with context.open_memory() as memory:
        found = memory.maintenance.decayed(limit=limit)
    if context.as_json:
        context.write_json(found)
        return
    for node in found:
        context.out.print(render.node_line(node) + Text(f"  {single_line(node.id)}", style="bright_black"))
    if not found:
        context.note("nothing has decayed")


_ids_argument = click.argument("ids", nargs=-1, required=True, metavar="ID...")


@click.command()
@_ids_argument
@common_options
def pin(context: CommandContext, *, ids: tuple[str, ...]) -> None:
    """Keep memories from decay."""
    with _open_with_ids(context, ids) as (memory, node_ids):
        memory.maintenance.pin(node_ids)
    _print_ids(context, node_ids, "pinned")


@click.command()
@_ids_argument
@common_options
def unpin(context: CommandContext, *, ids: tuple[str, ...]) -> None:
    """Let pinned memories decay again."""
    with _open_with_ids(context, ids) as (memory, node_ids):
        memory.maintenance.unpin(node_ids)
    _print_ids(context, node_ids, "unpinned")


@click.command()
@_ids_argument
@common_options
def archive(context: CommandContext, *, ids: tuple[str, ...]) -> None:
    """Rank memories below all others; they still come back if nothing else does."""
    with _open_with_ids(context, ids) as (memory, node_ids):
        memory.maintenance.archive(node_ids)
    _print_ids(context, node_ids, "archived")


@click.command()
@_ids_argument
@common_options
def unarchive(context: CommandContext, *, ids: tuple[str, ...]) -> None:
    """Rank archived memories among the others again."""
    with _open_with_ids(context, ids) as (memory, node_ids):
        memory.maintenance.unarchive(node_ids)
    _print_ids(context, node_ids, "unarchived")


@contextmanager
def _open_with_ids(context: CommandContext, ids: Sequence[str]) -> Iterator[tuple[Memory, tuple[NodeId, ...]]]:
    """Open the memory; yields it with the full ids for the given ones, which may be abbreviated."""
    with context.open_memory() as memory:
        yield memory, tuple(lookup.resolve_id(id_, memory.graph()) for id_ in ids)


def _print_ids(context: CommandContext, ids: Sequence[NodeId], mark: str) -> None:
    if context.as_json:
        context.write_json({f"{mark}_ids": list(ids)})
    else:
        context.print_line(f"{mark}: {', '.join(ids)}")


@click.command()
@click.argument("to", type=HomePath())
@click.option("--overwrite", is_flag=True, help="Replace the file TO if it exists.")
@common_options
def backup(context: CommandContext, *, to: str, overwrite: bool) -> None:
    """Copy the whole file, every scope of it, to TO, while it is in use.

    The copy is one state of the file, verified, and a memory like any other: name it with --db.
    """
    bar = render.progress_bar(context.err, "copying", is_shown=context.has_progress_bar)
    file = context.require_file()
    check_output_path(to)
    with closing(SQLiteStore(file)) as store, bar as progress:
        copy_info = store.backup(to, overwrite=overwrite, progress=progress)
    if context.as_json:
        context.write_json(copy_info)
        return
    memories = count_noun(copy_info.episodes, "memory", "memories")
    context.print_line(f"copied {memories}, {copy_info.size:,} bytes, to {copy_info.path}")
    context.print_line(f"sha256 {copy_info.sha256}")
    for line in copy_info.damage:
        context.print_line(f"damaged, in the copy too: {line}; run ecphora doctor")
