"""The command ``remember``: texts from arguments, files or stdin become memories."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click

from ..errors import InvalidInput
from ..maintenance.interchange.json_lines import SkippedLine, skipped_notices
from ..memory import Memory
from ..model.types import ExtractionReport, Media, RememberResult
from ..models.llms.from_setting import parse_prices
from ..recall import lookup
from . import remember_input
from .context import CommandContext, common_options, strategy_options
from .options import parse_key_values, parse_media
from .render import estimate_text, progress_bar

PROGRESS_MIN_TEXTS = 16
"""A progress bar is shown from this number of texts on."""


@click.command()
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
@click.option(
    "--field",
    "field_names",
    multiple=True,
    metavar="NAME=FIELD",
    callback=parse_key_values,
    help="With --jsonl: the objects call the FIELD of a memory NAME, as in message=text; may be repeated.",
)
@click.option(
    "--other-fields",
    type=click.Choice(["error", "skip", "metadata"]),
    default="error",
    show_default=True,
    help="With --jsonl: what becomes of fields that a memory does not have.",
)
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
@click.option(
    "--media",
    multiple=True,
    metavar="JSON",
    callback=parse_media,
    help='A picture, sound or video of it, as {"reference": "a.jpg", "caption": "..."}; may be repeated.',
)
@click.option("--supersedes", metavar="ID", help="The memory that this one supersedes.")
@click.option("--restore", is_flag=True, help="Remember it even if it was forgotten on purpose.")
@click.option("--dry-run", is_flag=True, help="Write and send nothing; show what a language model would cost.")
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
    field_names: dict[str, Any],
    other_fields: str,
    id_: str | None,
    happened_at: str | None,
    metadata: dict[str, Any],
    media: tuple[Media, ...],
    supersedes: str | None,
    restore: bool,
    dry_run: bool,
    **text_fields: str | None,
) -> None:
    """Remember texts: the arguments, files, or stdin by paragraph.

    The memory's file is created on first use. Stdin or files that are remembered twice are stored
    once; a single TEXT that is said again after something newer is a new memory. A file becomes one memory: its
    source is the path, its title is the file's name, and it happened when the file was last changed, unless
    --happened-at is given. In prose from stdin, blank lines separate the memories. A program that passes on other
    people's texts should use --text or stdin, because a TEXT that names a file is an error.
    """
    fields = {
        "id": id_,
        "happened_at": happened_at,
        "metadata": metadata,
        "media": media,
        "supersedes": supersedes,
        **text_fields,
    }
    fields = {key: value for key, value in fields.items() if value}
    field_options = remember_input.FieldOptions(field_names, other_fields)
    if not jsonl and field_options != remember_input.FieldOptions({}):
        raise click.UsageError("--field and --other-fields say how --jsonl is read; add --jsonl")
    is_told = bool(literal) or texts not in {(), ("-",)}
    forms = [form for form, on in (("lines", lines), ("whole", whole), ("jsonl", jsonl)) if on]
    skipped: list[SkippedLine] = []
    if files or recursive:
        if texts or literal or forms or not files:
            raise click.UsageError("--file PATH [--recursive] takes no TEXT, --lines, --whole or --jsonl")
        episodes = remember_input.episodes_from_files(context, files, fields, recursive=recursive)
    elif is_told:
        if forms:
            raise click.UsageError(f"--{forms[0]} says how stdin is read; leave out TEXT")
        episodes = remember_input.episodes_from_arguments(texts, literal, fields)
    else:
        episodes, skipped = remember_input.episodes_from_stdin(forms, fields, field_options, is_explicit=bool(texts))
    if id_ is not None and len(episodes) > 1:
        raise InvalidInput(f"one id, {id_!r}, for {len(episodes)} texts; give ids with --jsonl")
    bar = progress_bar(
        context.err, "remembering", is_shown=context.has_progress_bar and len(episodes) >= PROGRESS_MIN_TEXTS
    )
    with _open_memory(context, dry_run=dry_run) as memory, bar as progress:
        if files and happened_at is None:
            episodes = [remember_input.with_stored_time(memory, episode) for episode in episodes]
        if supersedes:
            full_id = lookup.resolve_id(supersedes, memory.graph())
            episodes = [
                replace(episode, supersedes=full_id) if episode.supersedes == supersedes else episode
                for episode in episodes
            ]
        content = episodes[0] if is_told and len(episodes) == 1 else episodes
        result = memory.remember(content, restore=restore, dry_run=dry_run, progress=progress)
    _print_remember_result(context, result, skipped, dry_run=dry_run)


@contextmanager
def _open_memory(context: CommandContext, *, dry_run: bool) -> Iterator[Memory]:
    """Open the memory, for a dry run without creating its file."""
    settings = context.settings
    if not dry_run or settings.store is not None or settings.db.exists():
        with context.open_memory(create=True, needs_embedder=True) as memory:
            yield memory
        return
    with TemporaryDirectory() as folder:
        temporary = replace(context, settings=replace(settings, db=Path(folder, "memory.db")))
        with temporary.open_memory(create=True, needs_embedder=True) as memory:
            yield memory


def _print_remember_result(
    context: CommandContext, result: RememberResult, skipped: Sequence[SkippedLine], *, dry_run: bool
) -> None:
    notices = skipped_notices(skipped)
    if context.as_json:
        extra = {"skipped_lines": len(skipped), "notices": list(notices)} if skipped else {}
        context.write_json({**result.to_dict(), **extra})
        return
    context.note_all(notices)
    done = "would remember" if dry_run else "remembered"
    if len(result.ids) == 1:
        word = done if result.created else "exists already" if result.existing else "blocked"
        context.print_line(f"{word}: {result.id}")
    else:
        counts = (
            (len(result.created), done),
            (len(result.existing), "exist already"),
            (len(result.blocked), "blocked"),
        )
        context.print_line(", ".join(f"{count:,} {word}" for count, word in counts if count) or "nothing to remember")
    if result.estimate is not None:
        context.print_line(estimate_text(result.estimate, parse_prices(context.settings.llm_prices)))
    if result.extraction is not None:
        _note_extraction(context, result.extraction)
    if result.blocked:
        ids = ", ".join(result.blocked[:10])
        context.note(f"blocked, because they were forgotten on purpose (--restore remembers them): {ids}")


def _note_extraction(context: CommandContext, report: ExtractionReport) -> None:
    tokens = report.usage.tokens_in + report.usage.tokens_out
    context.note(f"the language model read {report.by_model:,} texts with {tokens:,} tokens")
    if report.by_rules:
        context.note(f"{report.by_rules:,} texts were left to the rules: {'; '.join(report.errors)}")
