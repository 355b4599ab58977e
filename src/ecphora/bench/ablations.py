"""The registry of ablations: each model whole and with a part left out, as published, and that with a part left out.

What was published and left open stands in the strategies themselves; here stands only what is taken away. Variants that
write recall from the memory that their model filled, so that what is compared is the way of recalling.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np

from .. import learn, strategies
from ..errors import UnknownName
from ..learn.ranking import UNTAUGHT, Lesson, train
from ..stages import choose, seed, sidenet, signals
from ..stages.fading import Fading
from ..stages.ranker import Ranker
from ..stages.sidenet import Example
from ..strategies import ecphory, eisa, synapse, synaptic, weave
from ..strategies.ecphory import Ecphory
from ..strategies.eisa import Eisa
from ..strategies.fused import Fused
from ..strategies.synapse import Synapse
from ..strategies.synaptic import Synaptic
from ..strategies.weave import Weave
from . import learning
from .spaces import Space
from .variants import Model, Special, Trained, Variant

SETS = ("locomo", "realtalk", "lihua", "musique", "2wikimultihopqa", "hotpotqa", "beam_100k")
"""The sets that are run where none is named."""

BASELINES = tuple(Variant(name, strategies.by_name(name)) for name in ("dense", "bm25", "rrf", "fused"))
"""What stands under every model for comparison."""
DENSE = BASELINES[0]
"""The baseline that gains at equal counts are measured against."""

PUBLISHED = "as published"

NEAREST = 20
"""Memories near a question, of which those that hold no evidence are what the side network learns to tell apart."""
RATE, EPOCHS = 0.1, 5
"""How the side network is trained."""


def _synaptic() -> Model:
    ours, theirs = Synaptic(), synaptic.FAITHFUL
    full, published = Variant("synaptic", ours), Variant(PUBLISHED, theirs)
    # Without temporal score or propagation control a cue reaches everything: seconds a question in a library.
    less = (
        ("no temporal score", replace(theirs, temporal=False)),
        ("no propagation control", replace(theirs, stimulus_th=0.0)),
        ("no dynamic tau", replace(theirs, dynamic=False)),
    )
    return Model(
        "synaptic",
        full,
        (
            Variant("no temporal score", replace(ours, temporal=False), home=full),
            Variant("no propagation", replace(ours, generations=1), home=full),
            published,
            *(Variant(f"published, {label}", way, home=published, base=published, talk=True) for label, way in less),
        ),
        frozenset({Special.EQUAL_COUNT}),
    )


def _synapse() -> Model:
    ours, theirs = Synapse(), synapse.FAITHFUL
    published = Variant(PUBLISHED, theirs)
    return Model(
        "synapse",
        Variant("synapse", ours),
        (
            *(Variant(label, way) for label, way in _without(ours)),
            published,
            *(Variant(f"published, {label}", way, base=published) for label, way in _without(theirs)),
        ),
        frozenset({Special.LOW_SIMILARITY, Special.GATE}),
    )


def _without(whole: Synapse) -> Iterator[tuple[str, Synapse]]:
    """The ablations of SYNAPSE's paper."""
    yield "no gate", replace(whole, tau_gate=0.0)
    yield "no inhibition", replace(whole, beta=0.0)
    yield "no fan effect", replace(whole, fan=False)
    yield "no decay", replace(whole, delta=0.0)
    yield "no spreading", replace(whole, T=0)
    alone = replace(whole, lexical=False, context=False, by_words=False, unreached=True)
    yield "vectors only", replace(alone, T=0, lambda2=0.0, lambda3=0.0)


def _eisa() -> Model:
    ours, theirs = Eisa(), eisa.FAITHFUL
    published = Variant(PUBLISHED, theirs)
    return Model(
        "eisa",
        Variant("eisa", ours),
        (
            Variant("no chronology", replace(ours, kappa=0.0)),
            Variant("one bank", replace(ours, encm=None)),
            Variant("side network", Trained(_with_side_network), apart=True),
            published,
            Variant("published, no chronology", replace(theirs, kappa=0.0), base=published),
            Variant("published, one bank", replace(theirs, encm=None), base=published),
        ),
    )


def _with_side_network(spaces: Sequence[Space]) -> Eisa:
    """EISA with a side network that learned from the questions of other spaces."""
    examples = [example for space in spaces for example in _examples(space)]
    if not examples:
        return Eisa()
    return Eisa(sidenet=learn.learn(sidenet.identity(len(examples[0].cue)), examples, rate=RATE, epochs=EPOCHS))


def _examples(space: Space) -> Iterator[Example]:
    """What a question's evidence says, against the nearest that is none."""
    graph = space.graph
    for place, (question, cue) in enumerate(zip(space.case.questions, space.cues, strict=True)):
        gold = np.isin(space.documents, space.gold(place)) & (graph.vector_places >= 0)
        if cue.vector is None or not question.answerable or not gold.any():
            continue
        near = choose.best(seed.meaning(graph, cue), choose.allowed(graph, cue), NEAREST)
        used, unused = np.flatnonzero(gold), near[~gold[near]]
        vectors = graph.vectors.view
        yield Example(cue.vector, vectors[graph.vector_places[used]], vectors[graph.vector_places[unused]])


def _ecphory() -> Model:
    ours, theirs = Ecphory(), ecphory.FAITHFUL
    published = Variant(PUBLISHED, theirs)
    return Model(
        "ecphory",
        Variant("ecphory", ours),
        (
            *(Variant(f"depth {L}", replace(ours, L=L)) for L in (0, 1, 2, 3) if ours.L != L),
            *(Variant(f"k_final {k}", replace(ours, k_final=k)) for k in (5, 10, 20, 40, 80) if ours.k_final != k),
            Variant("no words", replace(ours, back_off=False)),
            Variant("no co-occurrence", replace(ours, neighbours=False)),
            published,
            *(
                Variant(f"published, depth {L}", replace(theirs, L=L), base=published)
                for L in (0, 1, 2, 3)
                if theirs.L != L
            ),
        ),
    )


def _weave() -> Model:
    ours = Weave()
    full = Variant("weave", ours)
    return Model(
        "weave",
        full,
        (
            Variant("no insights", replace(ours, insights=False), home=full),
            Variant("no strands", replace(ours, hops=0), home=full),
            Variant("no time filter", replace(ours, outside=1.0, outdated=1.0), home=full),
            Variant("as specified", weave.FAITHFUL),
        ),
    )


def _fused() -> Model:
    whole = Fused()
    return Model(
        "fused",
        BASELINES[-1],
        (
            *(Variant(f"without {name}", _less(whole, columns)) for name, columns in signals.named().items()),
            Variant("without inhibition", _less(whole, ["said better"])),
            Variant("with fading", replace(whole, fading=Fading())),
            Variant("cross-validated", Trained(_taught)),
        ),
    )


def _less(whole: Fused, columns: Iterable[str]) -> Fused:
    """``fused`` with the weights of some columns at 0, nothing trained anew."""
    gone = frozenset(columns)
    heads = (
        replace(head, weights={name: weight for name, weight in head.weights.items() if name not in gone})
        for head in whole.ranker.heads
    )
    return replace(whole, ranker=Ranker(*heads))


def _taught(spaces: Sequence[Space]) -> Fused:
    """``fused`` that learned from other questions of the set, and from nothing else."""
    taught = train([one for space in spaces for one in _lessons(space)], UNTAUGHT)
    return Fused(taught.ranker, taught.knowing)


@lru_cache(maxsize=256)
def _lessons(space: Space) -> list[Lesson]:
    return list(learning.of_space("set", space))


MODELS: Mapping[str, Model] = {
    model.name: model for model in (_fused(), _synaptic(), _synapse(), _eisa(), _ecphory(), _weave())
}
"""Every model that can be ablated, by its name."""


def rivals(model: Model) -> list[Variant]:
    """The other models, for a model whose paper has a measurement of its own; else none."""
    others = (other.full for other in MODELS.values() if other.name != model.name)
    return [other for other in others if other not in BASELINES] if model.specials else []


def chosen(names: Iterable[str]) -> list[Model]:
    """The models of these names, all where there are none; raises ``UnknownName`` for one that is not there."""
    wanted = list(dict.fromkeys(names)) or list(MODELS)
    for name in wanted:
        if name not in MODELS:
            raise UnknownName(f"no model is called {name!r}; choose one of {', '.join(MODELS)}")
    return [MODELS[name] for name in wanted]
