"""The commands ``bulk consolidate``, ``bulk reembed`` and ``bulk import``: work on many scopes at once."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import click

from ..errors import InvalidInput
from ..maintenance import reembedding
from ..maintenance.bulk import ScopeWork, process_pool, run_bulk
from ..maintenance.interchange import formats
from ..maintenance.interchange.streaming import import_episodes
from ..settings import Settings
from .context import FUTURE_REVISION, CommandContext, CommandFunction, HomePath, file_options
from .interchange import open_lines
from .render import progress_bar

LEDGER_SUFFIX = "-bulk.jsonl"
"""What the name of the ledger has after the name of the memory file."""


@dataclass(frozen=True, slots=True)
class _StoredScopes:
    """A work on the scopes that are stored; the state of a scope is its revision."""

    settings: Settings

    def states(self) -> Mapping[str, str]:
        """The revision of each scope."""
        store = self.settings.open_store()
        try:
            return {info.name: str(info.revision) for info in store.scopes()}
        finally:
            store.close()

    def repeat(self, scope: str, step: Callable[[], int]) -> tuple[int, str]:
        """Repeat a step until it changes nothing; so the revision before it is one at which nothing is left to do."""
        total, store = 0, self.settings.open_store()
        try:
            while True:
                revision = store.changes_since(scope, FUTURE_REVISION).revision
                changed = step()
                total += changed
                if not changed:
                    return total, str(revision)
        finally:
            store.close()


@dataclass(frozen=True, slots=True)
class _Consolidation(_StoredScopes):
    name = "consolidate"

    def run(self, scope: str, /) -> tuple[int, str]:
        """Consolidate a scope; the count is of new memories."""
        context = CommandContext(replace(self.settings, scope=scope), as_json=True)
        llm = context.settings.make_llm()
        with context.open_memory(needs_embedder=True) as memory:

            def step() -> int:
                result = memory.consolidate(llm=llm)
                return 0 if result.is_regression else result.counts.get("memories", 0)

            return self.repeat(scope, step)


@dataclass(frozen=True, slots=True)
class _Reembedding(_StoredScopes):
    @property
    def name(self) -> str:
        return f"reembed {self.settings.embedder}"

    def run(self, scope: str, /) -> tuple[int, str]:
        """Embed a scope again; the count is of memories embedded."""
        place = CommandContext(self.settings, as_json=True).require_location()
        embedder = self.settings.make_embedder()
        return self.repeat(scope, lambda: reembedding.reembed(place, scope=scope, embedder=embedder))


@dataclass(frozen=True, slots=True)
class _Import:
    """An import of each file of a folder into the scope that its name names; the state is the digest of the file."""

    settings: Settings
    folder: Path
    name = "import"

    def states(self) -> Mapping[str, str]:
        """The digest of each file, by its scope; raises ``InvalidInput`` for two files of one name."""
        files = self._files()
        names = [path.stem for path in files]
        if twice := [name for name in names if names.count(name) > 1]:
            raise InvalidInput(f"{self.folder} has two files for the scope {twice[0]!r}; rename one")
        return {path.stem: _digest(path) for path in files}

    def run(self, scope: str, /) -> tuple[int, str]:
        """Import a scope's file; the count is of memories that it lacked."""
        path = next(path for path in self._files() if path.stem == scope)
        context, state = CommandContext(replace(self.settings, scope=scope), as_json=True), _digest(path)
        own = formats.own_format(path)
        with context.open_memory(create=True, needs_embedder=True) as memory:
            if own == formats.NATIVE_FORMAT:
                with open_lines(str(path)) as lines:
                    count = memory.import_(lines)
                return count.nodes - count.existing, state
            if own is not None:
                raise InvalidInput(f"{path} is a knowledge graph; import it with ecphora import")
            return import_episodes(memory, formats.find_format(str(path), None).read(str(path))).created, state

    def _files(self) -> list[Path]:
        return sorted(path for path in self.folder.iterdir() if path.is_file() and not path.name.startswith("."))


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _bulk_options(command: CommandFunction) -> CommandFunction:
    """Add the options that the commands share."""
    decorators: Sequence[Callable[[CommandFunction], CommandFunction]] = (
        click.option("--workers", type=click.IntRange(min=1), help="Scopes at once.  [default: one for each core]"),
        click.option("--ray", metavar="ADDRESS", help="Run on the Ray cluster there, by Ray Data."),
        click.option(
            "--ledger",
            type=HomePath(dir_okay=False),
            help="The file that says which scopes are done.  [default: next to the memory]",
        ),
    )
    for decorator in reversed(decorators):
        command = decorator(command)
    return file_options(command)


@click.group(epilog="A run that ended early is continued by the same command. Exits with 1 if a scope failed.")
def bulk() -> None:
    """Consolidate, embed again or import many scopes, several at once, each of them once."""


@bulk.command()
@click.argument("scopes", nargs=-1, metavar="[SCOPE]...")
@_bulk_options
def consolidate(
    context: CommandContext, *, scopes: Sequence[str], workers: int | None, ray: str | None, ledger: str | None
) -> None:
    """Consolidate every SCOPE that changed since; by default all scopes."""
    _run(context, _Consolidation(_settings(context)), scopes, workers=workers, ray=ray, ledger=ledger)


@bulk.command()
@click.argument("scopes", nargs=-1, metavar="[SCOPE]...")
@click.option("--embedder", metavar="NAME", required=True, help="The embedding model to change to.")
@_bulk_options
def reembed(
    context: CommandContext,
    *,
    scopes: Sequence[str],
    embedder: str,
    workers: int | None,
    ray: str | None,
    ledger: str | None,
) -> None:
    """Change every SCOPE to another embedding model; by default all scopes."""
    work = _Reembedding(_settings(context).with_overrides(embedder=embedder))
    _run(context, work, scopes, workers=workers, ray=ray, ledger=ledger)


@bulk.command("import")
@click.argument("folder", type=HomePath(exists=True, file_okay=False))
@click.option("--embedder", metavar="NAME", help="The embedding model of new scopes.")
@_bulk_options
def import_(
    context: CommandContext,
    *,
    folder: str,
    embedder: str | None,
    workers: int | None,
    ray: str | None,
    ledger: str | None,
) -> None:
    """Import each file of FOLDER into the scope that it is named after: ana.jsonl into ana."""
    work = _Import(_settings(context).with_overrides(embedder=embedder), Path(folder).absolute())
    _run(context, work, (), workers=workers, ray=ray, ledger=ledger)


def _settings(context: CommandContext) -> Settings:
    """The settings as another process needs them."""
    return replace(context.settings, db=context.settings.db.absolute(), notes=())


def _run(
    context: CommandContext,
    work: ScopeWork,
    scopes: Sequence[str],
    *,
    workers: int | None,
    ray: str | None,
    ledger: str | None,
) -> None:
    base = context.settings.token_base
    path = base.with_name(base.name + LEDGER_SUFFIX) if ledger is None else Path(ledger)
    path.parent.mkdir(parents=True, exist_ok=True)
    context.open_store(create=isinstance(work, _Import)).close()
    if ray is None:
        executor = process_pool(workers)
    else:
        from ..remote.ray.data import ray_data  # noqa: PLC0415  # needs the extra

        executor = ray_data(ray, workers)
    with progress_bar(context.err, work.name, is_shown=context.has_progress_bar) as progress:
        result = run_bulk(work, ledger=path, executor=executor, scopes=scopes or None, progress=progress)
    if context.as_json:
        context.write_json(result)
    else:
        context.print_line(
            f"scopes done: {result.done:,}, with {result.memories:,} memories; done before: {result.skipped:,}; "
            f"failed: {len(result.failed):,}"
        )
        for one in result.failed:
            context.note(f"error: {one.scope}: {one.error}")
    if result.failed:
        click.get_current_context().exit(1)
