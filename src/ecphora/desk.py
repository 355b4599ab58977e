"""What the commands share: their common options, exit codes, errors, and how their output is written."""

import errno
import functools
import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TextIO

import click

from .errors import EcphoraError, InvalidInput, InvalidText, StoreReadOnly, UnknownName
from .visible import line, spelled_out

if TYPE_CHECKING:  # these cost a third of a second, which --help should not
    from rich.console import Console

    from .memory import Memory
    from .model import Vectors
    from .settings import Settings

MISSING = 3
"""Exit code: the memory was asked, and does not have it."""
INTERRUPTED = 130
LATEST = 2**62
"""A revision that no scope will reach: asking for what came after it asks for nothing but the scope's name tag."""

CODES = """Exit codes: 0 done; 1 an error, told on stderr; 2 wrong usage; 3 not there (recall without evidence,
an unknown id); 130 interrupted."""

Command = Callable[..., Any]


class Commands(click.Group):
    """A group that turns errors into a line on stderr and an exit code, unless ``--traceback`` asks for more."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command that was named."""
        for stream in (sys.stdout, sys.stderr):
            if hasattr(stream, "reconfigure"):
                stream.reconfigure(errors="replace")  # a terminal that knows no bars gets question marks
        try:
            return super().invoke(ctx)
        except click.exceptions.Exit:
            raise
        except click.ClickException as error:
            error.message = line(error.message)  # type: ignore[misc]  # final to mypy alone
            raise
        except (KeyboardInterrupt, click.Abort):
            click.echo("interrupted; what was acknowledged is kept", err=True)
            ctx.exit(INTERRUPTED)
        except BrokenPipeError:
            _hush(ctx)
        except Exception as error:
            if isinstance(error, OSError) and error.errno in {errno.EPIPE, errno.EINVAL} and error.filename is None:
                _hush(ctx)
            if ctx.params.get("traceback"):
                raise
            _tell(error, as_json=bool(ctx.meta.get("ecphora.json")))
            ctx.exit(1)


def _hush(ctx: click.Context) -> NoReturn:
    """Nobody reads on: say no more, not even when Python flushes at its end."""
    with suppress(OSError, ValueError):  # what is no real file will not be flushed to a pipe
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    ctx.exit(1)


def _tell(error: Exception, *, as_json: bool) -> None:
    message = str(error)
    if isinstance(error, UnicodeEncodeError):
        message = "a text, name or path is not valid Unicode; decode it with the encoding it was written in"
    elif not isinstance(error, EcphoraError | OSError):
        message = f"{type(error).__name__}: {error} (unexpected: please report it, with what --traceback prints)"
    message = message.encode("utf-8", "backslashreplace").decode()
    if as_json:
        click.echo(json.dumps({"error": {"type": type(error).__name__, "message": message}}), err=True)
    else:
        click.echo(f"error: {line(message)}", err=True)


@dataclass(frozen=True, slots=True)
class Desk:
    """What a command works with: the settings, and where its output goes."""

    settings: "Settings"
    as_json: bool

    @property
    def out(self) -> "Console":
        """For people, on stdout."""
        from .terminal import console  # noqa: PLC0415

        return console()

    @property
    def err(self) -> "Console":
        """For people, on stderr: progress and remarks."""
        from .terminal import console  # noqa: PLC0415

        return console(stderr=True)

    @property
    def watched(self) -> bool:
        """Whether somebody sees a progress bar on stderr."""
        return not self.as_json and sys.stderr.isatty()

    def json(self, value: object, *, stream: TextIO | None = None) -> None:
        """Write one JSON document as a line; what would steer a terminal is escaped."""
        stream = stream or sys.stdout
        utf = (getattr(stream, "encoding", None) or "utf-8").lower().startswith("utf")
        stream.write(spelled_out(json.dumps(value, ensure_ascii=not utf, default=str)) + "\n")

    def say(self, text: str) -> None:
        """Write one line to stdout, whatever names and ids stand in it."""
        click.echo(line(text))

    def remark(self, text: str) -> None:
        """Say something beside the point as a line on stderr; nothing in JSON mode."""
        if not self.as_json:
            click.echo(line(text), err=True)

    @contextmanager
    def memory(self, *, new: bool = False, embeds: bool = False) -> Iterator["Memory"]:
        """Open the memory; ``new`` may make the file and the scope, ``embeds`` needs the scope's true embedder."""
        from .memory import Memory  # noqa: PLC0415
        from .stores.sqlite import SQLite  # noqa: PLC0415

        settings = self.settings
        if not new:
            self.check_there()
        store = SQLite(settings.db)
        try:
            tag = store.changes(settings.scope, LATEST)
            if not new and not tag.revision:
                there = ", ".join(repr(scope.name) for scope in store.scopes())
                holds = f"it holds {there}" if there else "it holds nothing yet"
                raise UnknownName(f"no scope is called {settings.scope!r} in {settings.db}; {holds}")
            true = embeds or settings.embedder is not None or tag.embedder is None
            embedder = settings.make_embedder(tag.embedder) if true else Idle(tag.embedder or "")
            with Memory(store, scope=settings.scope, embedder=embedder, strategy=settings.make_strategy()) as memory:
                yield memory
        finally:
            store.close()

    def check_there(self) -> Path:
        """The memory's file; raises ``StoreReadOnly`` if there is none."""
        path = self.settings.db
        if not path.exists():
            raise StoreReadOnly(f"there is no memory at {path}; name one with --db, or begin one with ecphora remember")
        return path


def open_desk(*, as_json: bool, **arguments: str | None) -> Desk:
    """A desk with the settings that hold beside these arguments; tells on stderr what a project's file may not set."""
    from . import settings  # noqa: PLC0415

    desk = Desk(settings.load(arguments=arguments), as_json)
    for note in desk.settings.notes:
        desk.remark(note)
    return desk


@dataclass(frozen=True, slots=True)
class Idle:
    """Stands in for a scope's embedder where nothing is embedded."""

    name: str
    dim: int = 0

    def reads(self, _text: str, /) -> float:
        """Nothing."""
        return 0.0

    def embed(self, _texts: Sequence[str], /, *, cue: bool = False) -> "Vectors":
        """Never called."""
        del cue
        raise InvalidInput(f"{self.name!r} was opened without its model")


class HomePath(click.Path):
    """A path in which a leading ``~`` means the home folder, also where no shell has expanded it."""

    def convert(
        self, value: "str | os.PathLike[str]", param: click.Parameter | None, ctx: click.Context | None
    ) -> "str | bytes | os.PathLike[str]":
        """The path, checked as click does; ``-`` stays as it is."""
        from .settings import expand_home  # noqa: PLC0415

        return super().convert(str(expand_home(os.fspath(value))), param, ctx)


_COMMON: tuple[Callable[[Command], Command], ...] = (
    click.option("--db", metavar="PATH", help="The memory's file.  [env ECPHORA_DB; default ecphora.db]"),
    click.option("--scope", metavar="NAME", help="Whose memory.  [env ECPHORA_SCOPE; default 'default']"),
    click.option(
        "--embedder",
        metavar="NAME",
        help="minilm, e5, hashing, openai:MODEL or sentence-transformers:MODEL.  "
        "[env ECPHORA_EMBEDDER; default: the scope's own, for a new one minilm]",
    ),
    click.option("--json", "as_json", is_flag=True, help="Write JSON to stdout, and nothing else."),
)


_BY_STRATEGY = (
    click.option(
        "--strategy",
        metavar="NAME",
        help="How to remember and recall: fused, dense, bm25, rrf, recency, or a published model: synaptic, synapse, "
        "eisa, ecphory, weave.  [env ECPHORA_STRATEGY; default fused]",
    ),
    click.option(
        "--weights",
        metavar="FILE",
        help="Weights of fused, made by ecphora learn.  [env ECPHORA_WEIGHTS; default: those that come with it]",
    ),
)


def by_strategy(command: Command) -> Command:
    """Give a command the options of those that recall, or store what a strategy makes of new memories."""
    for option in reversed(_BY_STRATEGY):
        command = option(command)
    return command


def shared(command: Command) -> Command:
    """Give a command the common options, and a :class:`Desk` made from them as its first argument."""

    @functools.wraps(command)
    def with_desk(*, as_json: bool, **given: Any) -> Any:
        click.get_current_context().meta["ecphora.json"] = as_json
        said = {name: given.pop(name, None) for name in ("db", "scope", "embedder", "strategy", "weights")}
        return command(open_desk(as_json=as_json, **said), **given)

    for option in reversed(_COMMON):
        option(with_desk)
    return with_desk


def filters(command: Command) -> Command:
    """Give a command the options that say which memories it is about; they arrive as one ``where``."""
    options = [
        click.option("--speaker", multiple=True, metavar="NAME", help="Only what this person said; may be repeated."),
        click.option("--session", multiple=True, metavar="NAME", help="Only from this session; may be repeated."),
        click.option("--source", multiple=True, metavar="NAME", help="Only from this source; may be repeated."),
        click.option(
            "--meta", multiple=True, metavar="KEY=VALUE", callback=pairs, help="Only with this metadata; repeatable."
        ),
        click.option("--after", metavar="DATE", help="Only what happened at this time or later."),
        click.option("--before", metavar="DATE", help="Only what happened before this time."),
    ]

    def gathered(
        *,
        speaker: tuple[str, ...],
        session: tuple[str, ...],
        source: tuple[str, ...],
        meta: dict[str, Any],
        after: str | None,
        before: str | None,
        **given: Any,
    ) -> Any:
        from .language.moments import moment  # noqa: PLC0415
        from .model import Filter  # noqa: PLC0415

        start = None if after is None else moment(after)
        end = None if before is None else moment(before)
        return command(where=Filter(speaker, session, source, meta, start, end), **given)

    gathered.__name__, gathered.__doc__ = command.__name__, command.__doc__
    gathered.__dict__.update(command.__dict__)
    for option in reversed(options):
        gathered = option(gathered)
    return gathered


def asks(command: Command) -> Command:
    """Give a command the question, and the options that say how it is asked."""
    decorators: list[Callable[[Command], Command]] = [
        click.argument("question"),
        click.option(
            "--limit", type=click.IntRange(min=1), default=5, show_default=True, help="Memories to bring back."
        ),
        click.option(
            "--tokens", type=click.IntRange(min=1), help="Tokens that their texts may take together (estimated)."
        ),
        filters,
        click.option("--as-of", metavar="DATE", help="As things stood then: nothing that happened later."),
        click.option("--retroactive", is_flag=True, help="With --as-of: also what was told later of that time."),
        click.option("--known-at", metavar="DATE", help="As it was known then: nothing that was written later."),
        by_strategy,
    ]
    for decorator in reversed(decorators):
        command = decorator(command)
    return command


def pairs(_ctx: click.Context, _param: click.Parameter, values: Sequence[str]) -> dict[str, Any]:
    """KEY=VALUE options as a mapping; a value that is a JSON number, text, true, false or null is read as that."""
    found: dict[str, Any] = {}
    for value in values:
        key, sign, text = value.partition("=")
        if not sign or not key:
            raise click.BadParameter(f"{value!r} is not KEY=VALUE")
        try:
            read: object = json.loads(text)
        except ValueError:
            read = text
        found[key] = text if isinstance(read, dict | list) else read
    return found


def read_stdin() -> str:
    """All of stdin as text; raises ``InvalidText`` where it is not UTF-8."""
    try:
        return sys.stdin.buffer.read().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidText(
            f"stdin is not UTF-8 at byte {error.start}; convert it first, e.g. with iconv -t UTF-8"
        ) from error
