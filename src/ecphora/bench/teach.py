"""The command ``ecphora learn``: weights of ``fused`` from labelled sets and from a memory's own feedback."""

import json
import shlex
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

import click
import numpy as np
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from .. import __version__, encode, weights
from ..errors import InvalidInput
from ..learn.files import Json
from ..learn.ranking import UNTAUGHT, Lesson, Trained, lesson, train
from ..learn.weights import text
from ..memory import Memory
from ..model import Kind
from ..ports import Embedder
from . import datasets
from .cache import Cached
from .learning import Report, Score, lessons, report
from .run import Tick
from .source import FILE, FOLDER, NEW_FILE, by_embedder, cached, progress

FEEDBACK = "feedback"
"""The name under which a memory's own feedback stands among the sets."""
DIGITS = 4
"""Decimals of the figures that are kept with weights."""


def taught(sets: Sequence[str], folders: Sequence[Path], embedder: Cached, tick: Tick) -> dict[str, list[Lesson]]:
    """The lessons of named sets, each looked for in the folders in their order."""
    found = {}
    for name in sets:
        found[name] = lessons(name, list(datasets.cases(name, _folder(name, folders))), embedder)
        tick(1)
    return found


def from_feedback(memory: Memory, embedder: Embedder) -> list[Lesson]:
    """The lessons of a memory's own feedback: each question with what was of use, as the memory stands now."""
    graph = memory.graph()
    lessons_ = []
    for row in np.flatnonzero(graph.of_kind(Kind.QUESTION) & (graph.vector_places >= 0)).tolist():
        node = memory.get(graph.id(row))
        edges, _ = graph.edges_from(np.array([row]))
        used = graph.edges["dst"][edges[graph.edges["weights"][edges] > 0]]
        if node is not None:
            parts = encode.parts(node.text, graph)
            cue = encode.cue(
                node.text,
                node.happened_at,
                vector=None,
                of_parts=(parts, embedder.embed(parts.texts, cue=True)),
                meaning=embedder.reads(node.text),
                floor=float(getattr(embedder, "floor", 0.0)),
            )
            lessons_.append(
                lesson(
                    cue,
                    graph,
                    set_=FEEDBACK,
                    space=node.id,
                    question=node.id,
                    documents=np.arange(len(graph)),
                    gold=used.tolist(),
                    answerable=True if len(used) else None,
                )
            )
    return lessons_


def _folder(name: str, folders: Sequence[Path]) -> Path:
    for folder in folders:
        if name in datasets.known(folder):
            return folder
    there = ", ".join(sorted({name for folder in folders for name in datasets.known(folder)})) or "none"
    raise InvalidInput(f"no set {name!r} in {', '.join(map(str, folders))}; there are: {there}")


def learned(
    found: Mapping[str, list[Lesson]], *, anew: bool, embedder: str, command: str, checked: bool
) -> tuple[Trained, str, dict[str, Report]]:
    """Train on lessons by set, and write the weights down with where they come from; ``checked`` measures crosswise.

    ``anew`` begins with nothing; else what comes with the package is built upon. Raises ``InvalidInput`` where no
    lesson tells what belongs to a question.
    """
    whole = [one for some in found.values() for one in some]
    if not any(one.teaches for one in whole):
        raise InvalidInput("nothing to learn from: no question whose evidence came back beside other memories")
    prior = UNTAUGHT if anew else Trained(*weights.fused())
    trained = train(whole, prior)
    reports = dict(report(dict(found), prior, trained)) if checked else {}
    provenance: dict[str, Json] = {
        "ecphora": __version__,
        "embedder": embedder,
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        "command": command,
        "built_upon": "nothing" if anew else "the weights of the package",
        "questions": {name: sum(one.whole for one in some) for name, some in found.items()},
        "figures": {name: _figures(one) for name, one in reports.items()},
    }
    return trained, text(trained, provenance), reports


def _figures(one: Report) -> Json:
    return {
        kind: {
            name: round(value, DIGITS) if isinstance(value, float) else value for name, value in asdict(score).items()
        }
        for kind, score in (("seen", one.seen), ("cross_validated", one.crossed), ("left_out", one.left_out))
        if score is not None
    }


def shown(reports: Mapping[str, Report], out: Console) -> None:
    """Print what training reached, set by set."""
    table = Table("set", "weights", box=SIMPLE_HEAD, padding=(0, 1))
    for name in ("questions", "fraction@5", "fraction@10", "all@5", "AUROC"):
        table.add_column(name, justify="right")
    for name, one in reports.items():
        for number, (kind, score) in enumerate(
            (("seen", one.seen), ("cross-validated", one.crossed), ("set left out", one.left_out))
        ):
            if score is not None:
                table.add_row(name if not number else "", kind, *_cells(score))
        table.add_section()
    out.print(table)


def _cells(score: Score) -> tuple[str, ...]:
    values = (score.fraction5, score.fraction10, score.all5, score.auroc)
    return (str(score.questions), *("" if value is None else f"{value:.3f}" for value in values))


@click.command()
@click.option("--data", "folders", type=FOLDER, multiple=True, help="Folder of labelled sets; may be repeated.")
@click.option("--set", "sets", multiple=True, metavar="NAME", help="Set to learn from; may be repeated.")
@click.option("--db", type=FILE, metavar="PATH", help="A memory whose own feedback is to be learned from.")
@click.option("--scope", metavar="NAME", default="default", show_default=True, help="Whose memory.")
@click.option("--into", type=NEW_FILE, required=True, metavar="FILE", help="Where the weights are written, as JSON.")
@click.option("--anew", is_flag=True, help="Build on nothing.  [default: on the weights that come with the package]")
@click.option("--quick", is_flag=True, help="Leave out the cross-validation, which trains many times.")
@by_embedder
@click.option("--json", "as_json", is_flag=True, help="Write the figures as JSON to stdout, and nothing else.")
def learn(
    *,
    folders: Sequence[Path],
    sets: Sequence[str],
    db: Path | None,
    scope: str,
    into: Path,
    anew: bool,
    quick: bool,
    embedder: str | None,
    as_json: bool,
) -> None:
    """Learn what the columns of fused are worth, and how sure it may be.

    From sets of questions whose evidence is known, in the format of `ecphora bench recall`, and from what a memory was
    told of use by its feedback. The weights are used with `ecphora recall --weights FILE` or ECPHORA_WEIGHTS; to take
    back what was learned, leave them out again.
    """
    names = list(dict.fromkeys(sets))
    if bool(names) != bool(folders) or not (names or db):
        raise click.UsageError("say what to learn from: --data DIR with --set NAME, or --db PATH, or both")
    with cached(embedder) as model, progress("learning", len(names)) as tick:
        found = taught(names, folders, model, tick)
        if db is not None:
            with Memory(db, scope=scope, embedder=model) as memory:
                found[FEEDBACK] = from_feedback(memory, model)
        _, written, reports = learned(
            found,
            anew=anew,
            embedder=model.name,
            command=shlex.join([*_words(names, folders, embedder, anew=anew), *(("--db", "DB") if db else ())]),
            checked=not quick,
        )
    into.write_text(written, encoding="utf-8")
    if as_json:
        click.echo(json.dumps({name: _figures(one) for name, one in reports.items()}))
    else:
        shown(reports, Console(highlight=False))
        click.echo(f"written to {into}")


def _words(names: Sequence[str], folders: Sequence[Path], embedder: str | None, *, anew: bool) -> list[str]:
    """The command line that does it again; folders differ from machine to machine."""
    words = ["ecphora", "learn", *(word for _ in folders for word in ("--data", "DATA"))]
    words += [word for name in names for word in ("--set", name)]
    return [*words, *(("--embedder", embedder) if embedder else ()), *(["--anew"] if anew else [])]
