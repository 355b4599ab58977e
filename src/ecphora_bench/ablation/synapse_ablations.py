"""The ablations of SYNAPSE: those of its paper, and those of what the practical preset adds or leaves out."""

from collections.abc import Iterator
from dataclasses import replace

from ecphora.strategies.synapse.layer_consolidation import LayerConfig
from ecphora.strategies.synapse.strategy import FAITHFUL, Synapse


def addition_ablations(ours: Synapse) -> Iterator[tuple[str, Synapse]]:
    """The parts of the practical preset that the paper does not have, and published parts that it leaves out."""
    layer = ours.layer_config
    yield "no PageRank", replace(ours, lambda3=0.0)
    yield "no lexical trigger", replace(ours, use_lexical_trigger=False)
    yield "no previous turn", replace(ours, use_previous_turn=False)
    yield "no lexical similarity", replace(ours, use_lexical_similarity=False)
    yield "no similarity floor", replace(ours, use_similarity_floor=False)
    yield "no unreached memories", replace(ours, include_unreached=False)
    yield "no anchor protection", replace(ours, protect_anchors=False)
    yield "no cold-start blend", replace(ours, blend_cold_start=False)
    yield "no grounded confidence", replace(ours, ground_confidence=False)
    yield "with merged concepts", replace(ours, layer_config=replace(layer, tau_dup=LayerConfig().tau_dup))
    yield "with whole window", replace(ours, layer_config=replace(layer, link_whole_window=True))
    yield "with edges back in time", replace(ours, layer_config=replace(layer, is_bidirectional=True))
    yield "with published gate", replace(ours, tau_gate=FAITHFUL.tau_gate)
    yield "with 30 results", replace(ours, top_k=FAITHFUL.top_k)


def published_ablations(theirs: Synapse) -> Iterator[tuple[str, Synapse]]:
    """Published parts that the practical preset does not use."""
    yield "no concept anchors", replace(theirs, layer_config=replace(theirs.layer_config, use_concept_anchors=False))


def paper_ablations(strategy: Synapse) -> Iterator[tuple[str, Synapse]]:
    """The ablations of SYNAPSE's paper."""
    yield "no gate", replace(strategy, tau_gate=0.0)
    yield "no inhibition", replace(strategy, beta=0.0)
    yield "no fan effect", replace(strategy, use_fan_effect=False)
    yield "no decay", replace(strategy, delta=0.0)
    yield "no spreading", replace(strategy, T=0)
    alone = replace(
        strategy,
        use_lexical_trigger=False,
        use_previous_turn=False,
        use_lexical_similarity=False,
        include_unreached=True,
    )
    yield "vectors only", replace(alone, T=0, lambda2=0.0, lambda3=0.0)
