"""The options of several commands: filters, a question with the options of a recall, and KEY=VALUE pairs."""

import json
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import click

from ..model.validation import RECALL_LIMIT
from .context import CommandFunction, strategy_options

if TYPE_CHECKING:
    from ..model.types import Media, MediaQuery


def filter_options(command: CommandFunction) -> CommandFunction:
    """Add the options that filter memories; the command gets them as one ``Filter``, ``where``."""
    options = [
        click.option("--speaker", multiple=True, metavar="NAME", help="Only what this person said; may be repeated."),
        click.option("--not-speaker", multiple=True, metavar="NAME", help="Nothing that this person said; repeatable."),
        click.option("--session", multiple=True, metavar="NAME", help="Only from this session; may be repeated."),
        click.option("--not-session", multiple=True, metavar="NAME", help="Nothing from this session; repeatable."),
        click.option("--source", multiple=True, metavar="NAME", help="Only from this source; may be repeated."),
        click.option("--not-source", multiple=True, metavar="NAME", help="Nothing from this source; repeatable."),
        click.option(
            "--metadata",
            multiple=True,
            metavar="KEY=VALUE",
            callback=parse_key_values,
            help="Only with this metadata; repeatable.",
        ),
        click.option(
            "--where",
            "conditions",
            metavar="JSON",
            callback=parse_json_object,
            help='Only with metadata that meets these conditions, such as \'{"year": {"$gte": 2026}}\'.',
        ),
        click.option("--min-trust", type=click.FloatRange(0, 1), default=0.0, help="Only with at least this trust."),
        click.option("--after", metavar="DATE", help="Only what happened at this time or later."),
        click.option("--before", metavar="DATE", help="Only what happened before this time."),
    ]

    def with_filter(
        *,
        speaker: tuple[str, ...],
        not_speaker: tuple[str, ...],
        session: tuple[str, ...],
        not_session: tuple[str, ...],
        source: tuple[str, ...],
        not_source: tuple[str, ...],
        metadata: dict[str, Any],
        conditions: dict[str, Any] | None,
        min_trust: float,
        after: str | None,
        before: str | None,
        **arguments: Any,
    ) -> Any:
        from ..model.types import Filter  # noqa: PLC0415

        parts = [part for part in ({key: {"$eq": value} for key, value in metadata.items()}, conditions) if part]
        matched = {"$and": parts} if parts else {}
        where = Filter(
            speaker or None, session or None, source or None, matched, after, before, min_trust=min_trust,
            not_speakers=not_speaker, not_sessions=not_session, not_sources=not_source,
        )  # fmt: skip
        return command(where=where, **arguments)

    with_filter.__name__, with_filter.__doc__ = command.__name__, command.__doc__
    with_filter.__dict__.update(command.__dict__)
    for option in reversed(options):
        with_filter = option(with_filter)
    return with_filter


include_option: Callable[[CommandFunction], CommandFunction] = click.option(
    "--include",
    multiple=True,
    type=click.Choice(["engrams", "insights", "exchanges"]),
    help="Beside the memories: names they mention, summaries, or earlier answers; repeatable.",
)


def question_options(command: CommandFunction) -> CommandFunction:
    """Add the question argument and the options of a recall; the command gets the rare ones as ``RecallOptions``."""
    decorators: list[Callable[[CommandFunction], CommandFunction]] = [
        click.argument("question"),
        click.option(
            "--limit", type=click.IntRange(min=1), default=RECALL_LIMIT, show_default=True, help="Memories to recall."
        ),
        click.option(
            "--budget", type=click.IntRange(min=1), help="The most tokens of their texts together (estimated)."
        ),
        filter_options,
        click.option("--as-of", metavar="DATE", help="As of this time: without what happened later."),
        click.option("--retroactive", is_flag=True, help="With --as-of: also what was said later about that time."),
        click.option("--known-at", metavar="DATE", help="As known at this time: without what was stored later."),
        click.option("--goal", metavar="TEXT", help="What the answer is for: memories that fit it rank higher."),
        click.option(
            "--media-query",
            metavar="JSON",
            callback=parse_media_query,
            help='The vector of a picture or sound to search with, as {"model": "clip", "vector": [...]}.',
        ),
        click.option(
            "--rerank",
            type=click.Choice(["auto", "never", "always"]),
            default="auto",
            show_default=True,
            help="When the reranker that is set reads the best memories: in doubt, never or always.",
        ),
        click.option(
            "--rerank-ms",
            type=click.FloatRange(min=0, min_open=True),
            metavar="MS",
            help="A deadline for the reranker; if it is too short for all that there is to read, stderr says so.",
        ),
        strategy_options,
    ]

    def with_recall_options(
        *, retroactive: bool, media_query: "MediaQuery | None", rerank_ms: float | None, **arguments: Any
    ) -> Any:
        from ..model.types import RecallOptions  # noqa: PLC0415

        return command(options=RecallOptions(retroactive, media_query, rerank_ms), **arguments)

    with_recall_options.__name__, with_recall_options.__doc__ = command.__name__, command.__doc__
    with_recall_options.__dict__.update(command.__dict__)
    for decorator in reversed(decorators):
        with_recall_options = decorator(with_recall_options)
    return with_recall_options


def parse_key_values(_ctx: click.Context, _param: click.Parameter, values: Sequence[str]) -> dict[str, Any]:
    """KEY=VALUE options as a mapping; a JSON number, string, list, true, false or null is parsed."""
    values_by_key: dict[str, Any] = {}
    for value in values:
        key, sign, text = value.partition("=")
        if not sign or not key:
            raise click.BadParameter(f"{value!r} is not KEY=VALUE")
        try:
            parsed: object = json.loads(text)
        except ValueError:
            parsed = text
        values_by_key[key] = text if isinstance(parsed, dict) else parsed
    return values_by_key


def parse_media(ctx: click.Context, param: click.Parameter, values: Sequence[str]) -> "tuple[Media, ...]":
    """JSON options as media."""
    from ..model.types import Media  # noqa: PLC0415
    from ..remote.wire import from_json  # noqa: PLC0415

    return tuple(from_json(Media, parse_json_object(ctx, param, value)) for value in values)


def parse_media_query(ctx: click.Context, param: click.Parameter, value: str | None) -> "MediaQuery | None":
    """A JSON option as a query by media, None if it is not given."""
    from ..model.types import MediaQuery  # noqa: PLC0415
    from ..remote.wire import from_json  # noqa: PLC0415

    return None if value is None else from_json(MediaQuery, parse_json_object(ctx, param, value))


def parse_json_object(_ctx: click.Context, _param: click.Parameter, value: str | None) -> dict[str, Any] | None:
    """A JSON object, None if the option is not given."""
    if value is None:
        return None
    try:
        parsed: object = json.loads(value)
    except ValueError as error:
        raise click.BadParameter(f"this is no JSON: {error}") from error
    if not isinstance(parsed, dict):
        raise click.BadParameter('give a JSON object, such as \'{"year": {"$gte": 2026}}\'')
    return parsed
