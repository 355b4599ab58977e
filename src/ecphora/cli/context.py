"""What the commands share: their common options, exit codes, errors, and how their output is written."""

import errno
import functools
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TextIO

import click

from ..errors import EcphoraError, InvalidInput, InvalidText, StoreReadOnly, UnknownName
from ..model.text_format import escape_invisible, single_line
from ..stores.postgres.urls import is_postgres_url

if TYPE_CHECKING:  # importing these takes a third of a second, too long for --help
    from rich.console import Console

    from ..memory import Memory
    from ..model.ports import Store
    from ..model.types import Vectors
    from ..settings import Settings

EXIT_NOT_FOUND = 3
"""Exit code: the memory does not hold what was asked for."""
EXIT_UNSURE = 4
"""Exit code: what was quoted may not answer the question."""
EXIT_INTERRUPTED = 130
FUTURE_REVISION = 2**62
"""A revision that no scope reaches: reading the changes since it returns only the scope's revision and embedder."""

EXIT_CODES_HELP = """Exit codes: 0 done; 1 an error, see stderr; 2 wrong usage; 3 not found (recall without evidence,
an unknown id); 130 interrupted."""

CommandFunction = Callable[..., Any]


class ErrorHandlingGroup(click.Group):
    """A group that turns errors into a line on stderr and an exit code; ``--traceback`` raises them instead."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the named command."""
        for stream in (sys.stdout, sys.stderr):
            if hasattr(stream, "reconfigure"):
                stream.reconfigure(errors="replace")  # characters that the terminal cannot encode become question marks
        try:
            return super().invoke(ctx)
        except click.exceptions.Exit:
            raise
        except click.ClickException as error:
            error.message = single_line(error.message)  # type: ignore[misc]  # final to mypy alone
            raise
        except (KeyboardInterrupt, click.Abort):
            click.echo("interrupted; what was acknowledged is kept", err=True)
            ctx.exit(EXIT_INTERRUPTED)
        except BrokenPipeError:
            _exit_silently(ctx)
        except Exception as error:
            if isinstance(error, OSError) and error.errno in {errno.EPIPE, errno.EINVAL} and error.filename is None:
                _exit_silently(ctx)
            if ctx.params.get("traceback"):
                raise
            _print_error(error, as_json=bool(ctx.meta.get("ecphora.json")))
            ctx.exit(1)


def _exit_silently(ctx: click.Context) -> NoReturn:
    """Exit after a broken pipe without further output, even when Python flushes stdout at exit."""
    with suppress(OSError, ValueError):  # a stream without a file descriptor is no pipe
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    ctx.exit(1)


def _print_error(error: Exception, *, as_json: bool) -> None:
    message = str(error)
    if isinstance(error, UnicodeEncodeError):
        message = "a text, name or path is not valid Unicode; decode it with the encoding it was written in"
    elif isinstance(error, OSError) and not isinstance(error, EcphoraError):
        message = _describe_os_error(error)
    elif not isinstance(error, EcphoraError):
        message = f"{type(error).__name__}: {error} (unexpected: please report it, with what --traceback prints)"
    message = message.encode("utf-8", "backslashreplace").decode()
    if as_json:
        click.echo(json.dumps({"error": {"type": type(error).__name__, "message": message}}), err=True)
    else:
        click.echo(f"error: {single_line(message)}", err=True)


_OS_MENDS = {
    errno.ENAMETOOLONG: "the name is too long; give a shorter path",
    errno.ENOSPC: "no space is left; free some, what was acknowledged is safe",
    errno.EDQUOT: "your quota of disk space is used up; free some, what was acknowledged is safe",
    errno.EACCES: "you may not read or write it; check its rights",
    errno.EPERM: "you may not read or write it; check its rights",
    errno.EROFS: "the disk is read-only; give a path elsewhere",
    errno.ENOENT: "there is no such file or folder; check the path",
    errno.EISDIR: "it is a folder; give a file",
    errno.ENOTDIR: "a part of the path is no folder; check the path",
}
"""What an error of the operating system means, and the mend."""
_MAX_SHOWN_PATH = 120


def _describe_os_error(error: OSError) -> str:
    """An error of the operating system in words, with its path if there is one."""
    words = _OS_MENDS.get(error.errno or 0, error.strerror or str(error))
    path = str(error.filename or "")
    shown = path if len(path) <= _MAX_SHOWN_PATH else f"{path[:_MAX_SHOWN_PATH]}…"
    return f"{shown}: {words}" if path else words


@dataclass(frozen=True, slots=True)
class CommandContext:
    """What a command works with: the settings and the output format."""

    settings: "Settings"
    as_json: bool

    @property
    def out(self) -> "Console":
        """A console on stdout, for people."""
        from .render import make_console  # noqa: PLC0415

        return make_console()

    @property
    def err(self) -> "Console":
        """A console on stderr, for people: progress and notes."""
        from .render import make_console  # noqa: PLC0415

        return make_console(stderr=True)

    @property
    def has_progress_bar(self) -> bool:
        """Whether to show progress bars: stderr is a terminal and the output is not JSON."""
        return not self.as_json and sys.stderr.isatty()

    def write_json(self, value: object, *, stream: TextIO | None = None) -> None:
        """Write a value in its JSON form as one line; characters that would control a terminal are escaped."""
        from ..model.json_form import to_json  # noqa: PLC0415  # loads numpy

        stream = stream or sys.stdout
        utf = (getattr(stream, "encoding", None) or "utf-8").lower().startswith("utf")
        stream.write(escape_invisible(json.dumps(to_json(value), ensure_ascii=not utf)) + "\n")

    def print_line(self, text: str) -> None:
        """Write one line to stdout; line breaks and control characters in names and ids are replaced."""
        click.echo(single_line(text))

    def note(self, text: str) -> None:
        """Write a side note as a line on stderr; nothing in JSON mode."""
        if not self.as_json:
            click.echo(single_line(text), err=True)

    def warn(self, text: str) -> None:
        """Write a line on stderr, in JSON mode too."""
        click.echo(single_line(text), err=True)

    def note_all(self, texts: Iterable[str]) -> None:
        """Write side notes, each as a line."""
        for text in texts:
            self.note(text)

    @contextmanager
    def open_memory(self, *, create: bool = False, needs_embedder: bool = False) -> Iterator["Memory"]:
        """Open the memory; ``create`` may make the file and the scope, ``needs_embedder`` loads the scope's model."""
        from ..memory import Memory  # noqa: PLC0415

        settings = self.settings
        store = self.open_store(create=create)
        try:
            tag = store.changes_since(settings.scope, FUTURE_REVISION)
            if not create and not tag.revision:
                scope_names = ", ".join(repr(scope.name) for scope in store.scopes())
                contents = f"it holds {scope_names}" if scope_names else "it holds nothing yet"
                raise UnknownName(f"no scope is called {settings.scope!r} in {settings.location}; {contents}")
            is_loaded = needs_embedder or settings.embedder is not None or tag.embedder is None
            embedder = settings.make_embedder(tag.embedder) if is_loaded else NoEmbedder(tag.embedder or "")
            with Memory(
                store,
                scope=settings.scope,
                embedder=embedder,
                extractor=settings.make_extractor(),
                strategy=settings.make_strategy(),
                reranker=settings.make_reranker(),
                evidence_bands=settings.make_evidence_bands(),
                zone=settings.zone,
            ) as memory:
                yield memory
        finally:
            store.close()

    def open_store(self, *, create: bool = False) -> "Store":
        """Open the memory's store, to be closed by the caller; ``create`` may make the file."""
        if self.settings.store is None and not create:
            self.require_file()
        return self.settings.open_store()

    @property
    def file(self) -> Path:
        """The path of the memory's file, which may not exist yet; raises ``InvalidInput`` if a store replaces it."""
        if self.settings.store is not None:
            raise InvalidInput(
                f"this command works on a file, and the memory is in {self.settings.location}; give --db"
            )
        return self.settings.db

    def require_location(self) -> str | Path:
        """The path of the memory's file, or the URL of its PostgreSQL database."""
        url = self.settings.store
        return url if url is not None and is_postgres_url(url) else self.require_file()

    def require_file(self) -> Path:
        """The path of the memory's file; raises ``StoreReadOnly`` if there is none."""
        path = self.file
        if not path.exists():
            raise StoreReadOnly(f"there is no memory at {path}; name one with --db, or begin one with ecphora remember")
        return path


def check_output_path(file: str) -> None:
    """Check that a file can be written at a path; raises ``InvalidInput`` if it is a folder, or its folder is unfit."""
    folder = Path(file).absolute().parent
    if Path(file).is_dir():
        raise InvalidInput(f"{file} is a folder; name a file in it")
    if not folder.is_dir():
        raise InvalidInput(f"{file} cannot be written: there is no folder {folder}; make it, or name another file")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise InvalidInput(f"{file} cannot be written: {folder} is read-only; change its rights, or name another file")


def open_context(*, as_json: bool, **arguments: str | None) -> CommandContext:
    """A context with the settings and these arguments; prints the notes of the settings on stderr."""
    from .. import settings  # noqa: PLC0415

    context = CommandContext(settings.load(arguments=arguments), as_json)
    for note in context.settings.notes:
        context.note(note)
    return context


@dataclass(frozen=True, slots=True)
class NoEmbedder:
    """Stands in for a scope's embedder when nothing is embedded."""

    name: str
    dim: int = 0

    def coverage(self, _text: str, /) -> float:
        """Return 0."""
        return 0.0

    def embed(self, _texts: Sequence[str], /, *, is_query: bool = False) -> "Vectors":
        """Raise ``InvalidInput``: there is no model."""
        del is_query
        raise InvalidInput(f"{self.name!r} was opened without its model")


class HomePath(click.Path):
    """A path in which a leading ``~`` means the home folder, even if no shell has expanded it."""

    def convert(
        self, value: "str | os.PathLike[str]", param: click.Parameter | None, ctx: click.Context | None
    ) -> "str | bytes | os.PathLike[str]":
        """The path with ``~`` expanded, checked as click does; ``-`` is kept."""
        from ..settings import expand_home  # noqa: PLC0415

        return super().convert(str(expand_home(os.fspath(value))), param, ctx)


Decorator = Callable[[CommandFunction], CommandFunction]

DB_HELP = "The memory's file, or postgresql://user@host/database.  [env ECPHORA_DB; default ecphora.db]"
_DB_OPTION: Decorator = click.option(
    "--db",
    metavar="PATH",
    help=DB_HELP,
)
_JSON_OPTION: Decorator = click.option(
    "--json", "as_json", is_flag=True, help="Write JSON to stdout, and nothing else."
)
_COMMON_OPTIONS: tuple[Decorator, ...] = (
    _DB_OPTION,
    click.option("--scope", metavar="NAME", help="The scope of the memory.  [env ECPHORA_SCOPE; default 'default']"),
    click.option(
        "--embedder",
        metavar="NAME",
        help="e5, minilm, hashing, openai:MODEL, sentence-transformers:MODEL, or a plug-in.  "
        "[env ECPHORA_EMBEDDER; default: the scope's own, for a new one e5]",
    ),
    click.option(
        "--zone",
        metavar="NAME",
        help="The time zone of dates and times, such as Europe/Berlin.  [env ECPHORA_ZONE; default: the machine's]",
    ),
    _JSON_OPTION,
)
_FILE_OPTIONS = (_DB_OPTION, _JSON_OPTION)
_SETTINGS = ("db", "scope", "embedder", "strategy", "weights", "evidence_bands", "zone")
"""The options that are settings."""

_STRATEGY_OPTIONS = (
    click.option(
        "--strategy",
        metavar="NAME",
        help="How to remember and recall: fused, dense, bm25, rrf, simple, recency, or a published model: synaptic, "
        "synapse, eisa, ecphory, weave; or a plug-in.  [env ECPHORA_STRATEGY; default fused]",
    ),
    click.option(
        "--weights",
        metavar="FILE",
        help="Weights of fused, made by ecphora learn.  [env ECPHORA_WEIGHTS; default: the packaged weights]",
    ),
)


def strategy_options(command: CommandFunction) -> CommandFunction:
    """Add the strategy options, for commands that recall or that encode new memories with a strategy."""
    for option in reversed(_STRATEGY_OPTIONS):
        command = option(command)
    return command


evidence_option: Decorator = click.option(
    "--evidence-bands",
    metavar="STRONG,WEAK",
    help="The lowest confidences of strong and of weak evidence.  [env ECPHORA_EVIDENCE_BANDS; default 0.6,0.2]",
)


def common_options(command: CommandFunction) -> CommandFunction:
    """Add the common options; the command gets a :class:`CommandContext` made from them as its first argument."""
    return _with_context(command, _COMMON_OPTIONS, _SETTINGS)


def file_options(command: CommandFunction) -> CommandFunction:
    """Add the options of a command on the whole file, not on one scope; it gets a context as with common options."""
    return _with_context(command, _FILE_OPTIONS, ("db",))


def json_option(command: CommandFunction) -> CommandFunction:
    """Add ``--json`` alone, for a command whose files are arguments; it gets a context as with common options."""
    return _with_context(command, (_JSON_OPTION,), ())


def _with_context(
    command: CommandFunction, options: Sequence[Decorator], settings_names: Sequence[str]
) -> CommandFunction:
    """Add options; the options that are settings become the context."""

    @functools.wraps(command)
    def with_context(*, as_json: bool, **arguments: Any) -> Any:
        click.get_current_context().meta["ecphora.json"] = as_json
        settings_arguments = {name: arguments.pop(name, None) for name in settings_names}
        return command(open_context(as_json=as_json, **settings_arguments), **arguments)

    for option in reversed(options):
        option(with_context)
    return with_context


def read_stdin() -> str:
    """All of stdin as text; raises ``InvalidText`` if it is not UTF-8."""
    try:
        return sys.stdin.buffer.read().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidText(
            f"stdin is not UTF-8 at byte {error.start}; convert it first, e.g. with iconv -t UTF-8"
        ) from error
