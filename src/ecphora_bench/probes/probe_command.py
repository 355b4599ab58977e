"""The command ``ecphora bench probes``."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from ecphora import strategies
from ecphora.cli.learn import embedder_option, progress_bar
from ecphora.model.text_format import count_noun
from ecphora.model.types import Rerank

from ..command_options import (
    NEW_FOLDER,
    BenchOptions,
    json_option,
    limit_option,
    rerank_options,
    rerank_words,
    strategy_option,
    worlds_option,
)
from ..strategy_variants import parse_strategies
from .loading import choose_probes, load_maker
from .mcp_host import STRATEGY, can_host, run_hosted
from .probe import Form, Half, Kind, Probe
from .probe_run import ProbeResult, count_steps, run
from .probe_sets import write_sets
from .probe_tables import Grouping, measure, misses, probe_table

LEGEND = (
    "first, @3, @5, @10: percent of the questions with a right memory among the first 1, 3, 5, 10; for days any memory "
    "of that time is right. Of the questions without answer, and of those whose first memory is right: percent with "
    "that evidence."
)


@click.command("probes")
@click.option(
    "--kind",
    "kind_names",
    multiple=True,
    type=click.Choice([kind.value for kind in Kind]),
    help="Kind of probes; may be repeated.  [default: all]",
)
@click.option(
    "--half",
    type=click.Choice([half.value for half in Half]),
    default=Half.TEST.value,
    show_default=True,
    help="Probes that may be learned from, or those to measure with; they share no name, template or notation.",
)
@click.option(
    "--form",
    "form_names",
    multiple=True,
    type=click.Choice([form.value for form in Form]),
    help="Form of the memories; may be repeated.  [default: all]",
)
@click.option("--language", "languages", multiple=True, metavar="CODE", help="Language; may be repeated.")
@limit_option("The most questions of a kind, spread evenly over it.")
@click.option("--seed", type=int, default=0, show_default=True, help="Everything is drawn from this number.")
@worlds_option
@strategy_option("Strategy to ask; may be repeated.  [default: fused and the baselines]")
@click.option("--by", type=click.Choice([one.value for one in Grouping]), help="Divide each kind.")
@rerank_options
@click.option(
    "--host", "use_host", is_flag=True, help="Ask the probes of form mcp through `ecphora mcp`, a process a world."
)
@click.option("--misses", "show_misses", is_flag=True, help="List the questions whose first memory is wrong.")
@click.option("--write", "folder", type=NEW_FOLDER, help="Write the probes as benchmark sets, and ask nothing.")
@click.option(
    "--probes",
    "source",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Folder of the lists and templates.  [default: benchmarks/probes of the checkout]",
)
@json_option()
@embedder_option
def probes_command(
    *,
    kind_names: Sequence[str],
    form_names: Sequence[str],
    languages: Sequence[str],
    half: str,
    limit: int | None,
    seed: int,
    world_count: int,
    use_host: bool,
    folder: Path | None,
    source: Path | None,
    **options: Any,
) -> None:
    """Ask what people ask in their first minutes with a memory, with known answers.

    Identifiers, days, what people said about themselves, who did what to whom, measurements and updates, each among 150
    other memories and with questions that nothing answers. Made from lists and templates of a checkout.
    """
    kinds = [Kind(name) for name in dict.fromkeys(kind_names)] or list(Kind)

    def fits(probe: Probe) -> bool:
        return (
            (not form_names or probe.form in form_names)
            and (not languages or probe.language in languages)
            and (not use_host or can_host(probe))
        )

    probes = choose_probes(load_maker(source), kinds, Half(half), seed=seed, worlds=world_count, limit=limit, fits=fits)
    if not probes:
        raise click.UsageError("no probe is left; choose other kinds, forms or languages")
    if folder is not None:
        for name, count in write_sets(probes, folder).items():
            click.echo(f"{folder / name}: {count_noun(count, 'question', 'questions')}")
        return
    words = {"--kind": kind_names, "--form": form_names, "--language": languages, "--half": [half]}
    words |= {"--seed": [str(seed)], "--worlds": [str(world_count)]}
    _ask(probes, words, limit, use_host=use_host, **options)


def _ask(
    probes: Sequence[Probe],
    words: dict[str, Sequence[str]],
    limit: int | None,
    *,
    use_host: bool,
    strategy_names: Sequence[str],
    by: str | None,
    rerank: str,
    rerank_ms: float | None,
    show_misses: bool,
    json_target: str | None,
    embedder: str | None,
) -> None:
    """Ask the probes, print the table and write the figures."""
    baselines = [name for name in strategies.BASELINES if name != "recency"]
    names = list(dict.fromkeys(strategy_names or ("fused", *baselines)))
    some = parse_strategies(names)
    bench = BenchOptions(None, None, json_target, limit, embedder)
    words |= {"--strategy": strategy_names, "--by": [by] if by else []}
    words |= rerank_words(rerank, rerank_ms)
    command = bench.command_line("probes", words) + (" --host" if use_host else "")
    with bench.open_run(command) as (caching_embedder, out, write):
        with progress_bar("probes", count_steps(probes, some)) as tick:
            if use_host:
                names, results = [STRATEGY], list(run_hosted(probes, embedder, tick))
            else:
                when = Rerank(rerank)
                results = list(run(probes, some, caching_embedder, tick, rerank=when, rerank_ms=rerank_ms))
        figures = measure(results, Grouping(by) if by else None)
        for figure in figures:
            write(figure.to_json_line())
        out.print(probe_table(figures), LEGEND, sep="\n\n", highlight=False)
        if show_misses:
            _print_misses(results, names[0], out)


def _print_misses(results: Sequence[ProbeResult], strategy: str, out: Console) -> None:
    for miss in misses(results, strategy):
        out.print(miss, highlight=False, markup=False, soft_wrap=True)
