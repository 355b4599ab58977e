"""The command ``ecphora bench speed``."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import click

from ecphora import strategies
from ecphora.cli.learn import FOLDER, progress_bar

from ..command_options import POSITIVE_INT, BenchOptions, json_option, open_lines, strategy_option
from ..recall.recall_run import make_run
from ..strategy_variants import parse_strategies
from . import speed_tables
from .peers import PEERS
from .speed_run import SpeedPlan, SpeedRow, count_steps, run
from .synthetic import SyntheticEmbedder

DEFAULT_SIZES = (10_000,)


@click.command("speed")
@click.option(
    "--n", "sizes", type=click.IntRange(min=10), multiple=True, default=DEFAULT_SIZES, show_default=True,
    help="Memories; may be repeated.",
)  # fmt: skip
@strategy_option(
    f"Strategy to run; may be repeated.  [default: {', '.join(('the baselines', *strategies.PAPERS))}, fused]"
)
@click.option(
    "--peer",
    "peers",
    type=click.Choice(list(PEERS)),
    multiple=True,
    help="Project to run; may be repeated.  [default: all]",
)
@click.option("--recalls", type=POSITIVE_INT, default=1_000, show_default=True, help="Recalls of an engine.")
@click.option(
    "--seconds", type=click.FloatRange(min=0), default=60, show_default=True, help="The most seconds of its recalls."
)
@click.option(
    "--limit", "limit_s", type=click.FloatRange(min=0, min_open=True), default=1_800, show_default=True,
    help="The most seconds of each of its two processes; one that takes longer is ended, and named.",
)  # fmt: skip
@click.option("--out", type=FOLDER, help="Folder of a picture of the times by the number of memories.")
@json_option()
def speed_command(
    *,
    sizes: Sequence[int],
    strategy_names: Sequence[str],
    peers: Sequence[str],
    recalls: int,
    seconds: float,
    limit_s: float,
    out: Path | None,
    json_target: str | None,
) -> None:
    """Measure time, memory and file size on synthetic memories, beside other projects.

    All get the same texts and vectors, and one thread; embedding costs nothing and nothing is reranked or consolidated.
    `exact` compares all vectors by one product. Projects that are installed are measured too: pip install -r
    benchmarks/peers.txt, in an environment of their own. They run without network.
    """
    names = list(dict.fromkeys(strategy_names or default_strategies()))
    parse_strategies(names)
    plan = SpeedPlan(
        *(list(dict.fromkeys(sizes)), names, list(dict.fromkeys(peers or PEERS)), recalls, seconds, limit_s)
    )
    options = BenchOptions(None, None, json_target, None, None)
    words = {
        "--n": [str(size) for size in plan.sizes],
        "--strategy": strategy_names,
        "--peer": peers,
        "--recalls": [str(recalls)],
        "--seconds": [f"{seconds:g}"],
        "--limit": [f"{limit_s:g}"],
    }
    record = make_run(SyntheticEmbedder.name, options.command_line("speed", words))
    rows: list[SpeedRow] = []
    with open_lines(json_target) as write:
        write(replace(record, versions={**record.versions, **plan.versions}).to_json_line())
        with progress_bar("speed", count_steps(plan)) as tick:
            for row in run(plan, tick):
                write(row.to_json_line())
                rows.append(row)
    for size in plan.sizes:
        options.console.print(speed_tables.speed_table(size, [row for row in rows if row.memories == size]))
    options.console.print(speed_tables.LEGEND, highlight=False)
    notes = [f"{name}: not installed" for name in plan.missing_peers] + speed_tables.errors(rows)
    for note in (*notes, ", ".join(f"{name} {number}" for name, number in plan.versions.items())):
        options.console.print(note, highlight=False, markup=False, soft_wrap=True)
    if out is not None:
        (out / speed_tables.FILE).write_text(speed_tables.curves(rows), "utf-8")
        click.echo(f"drawn: {out / speed_tables.FILE}", err=True)


def default_strategies() -> list[str]:
    """``fused``, the baselines that compare texts, and the models of the papers."""
    baselines = [name for name in strategies.BASELINES if name not in {"recency", "dense-english"}]
    return ["fused", *baselines, *strategies.PAPERS]
