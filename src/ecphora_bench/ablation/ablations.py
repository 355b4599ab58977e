"""The ablations: each model whole and with a part left out, as published, and that with a part left out.

What was published and left open stands in the strategies themselves; here stands only what is taken away. Variants that
write recall from the memory that their model filled, so that what is compared is the way of recalling.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import lru_cache

import numpy as np

from ecphora import strategies
from ecphora.errors import InvalidInput, UnknownName
from ecphora.maintenance import learn
from ecphora.maintenance.learn import training_examples
from ecphora.maintenance.learn.fused_training import UNTRAINED, FusedExample, train
from ecphora.maintenance.learn.query_spaces import QuerySpace
from ecphora.maintenance.learn.side_network_training import ContrastiveExample
from ecphora.model.ports import Strategy
from ecphora.models.embedders.from_setting import DEFAULT_EMBEDDER
from ecphora.retrieval import dense, filters, fusion
from ecphora.retrieval.importance import DecayPolicy
from ecphora.strategies.ecphory import strategy as ecphory
from ecphora.strategies.ecphory.strategy import Ecphory
from ecphora.strategies.eisa import side_network
from ecphora.strategies.eisa import strategy as eisa
from ecphora.strategies.eisa.strategy import Eisa
from ecphora.strategies.fused import weights
from ecphora.strategies.fused.features import feature_names_by_group
from ecphora.strategies.fused.ranker import Ranker
from ecphora.strategies.fused.strategy import Fused
from ecphora.strategies.synapse import strategy as synapse
from ecphora.strategies.synapse.strategy import Synapse
from ecphora.strategies.synaptic import strategy as synaptic
from ecphora.strategies.synaptic.strategy import PublishedSynaptic, Synaptic
from ecphora.strategies.weave import strategy as weave
from ecphora.strategies.weave.strategy import Weave

from ..recall.recall_run import needs_own_memory
from .synapse_ablations import addition_ablations, paper_ablations, published_ablations


@dataclass(frozen=True, slots=True)
class TrainedPerFold:
    """A strategy that is trained for every fold of a set, on the other folds.

    A fold is some of the spaces or, if there are fewer than three, some of the questions.
    """

    train: Callable[[Sequence[QuerySpace]], Strategy]


@dataclass(frozen=True, slots=True, eq=False)
class Variant:
    """A strategy under the name it has in its model's table.

    ``memory_owner`` is the variant that fills the memory it recalls from, if that is another; ``reference`` the one it
    is compared with, if not the whole model. ``requires_dates``: it runs only on sets with times.
    ``requires_other_spaces``: it trains on other spaces only, and is left out of sets with one. Trained variants write
    nothing. ``recalls_others``: the questions of the other folds of a space were asked before, and logged.
    """

    label: str
    strategy: Strategy | TrainedPerFold
    memory_owner: "Variant | None" = None
    reference: "Variant | None" = None
    requires_dates: bool = False
    requires_other_spaces: bool = False
    recalls_others: bool = False

    def writer(self, *, counts_write_on_store: bool) -> Strategy | None:
        """The strategy whose memory it recalls from; None for the memory shared by all that only read."""
        strategy = (self.memory_owner or self).strategy
        return (
            None
            if isinstance(strategy, TrainedPerFold)
            or not needs_own_memory(strategy, counts_write_on_store=counts_write_on_store)
            else strategy
        )


class PaperMeasurement(StrEnum):
    """A measurement of one paper, for its model, the rivals and the baselines."""

    EQUAL_COUNT = "equal count"
    LOW_SIMILARITY = "low similarity"
    GATE = "gate"


@dataclass(frozen=True, slots=True)
class Model:
    """A published model: the whole model, its variants, and the measurements and baselines of its paper."""

    name: str
    full: Variant
    variants: tuple[Variant, ...] = ()
    paper_measurements: frozenset[PaperMeasurement] = field(default_factory=frozenset)
    paper_baselines: tuple[Variant, ...] = ()

    @property
    def all_variants(self) -> tuple[Variant, ...]:
        """The whole model and its variants."""
        return (self.full, *self.variants)


# ---- models and their variants

DEFAULT_DATASETS = ("locomo", "realtalk", "lihua", "musique", "2wikimultihopqa", "hotpotqa", "beam_100k")
"""The sets that are run if none is named."""

BASELINES = tuple(Variant(name, strategies.resolve_strategy(name)) for name in ("dense", "bm25", "rrf", "fused"))
"""The baselines under every model."""
DENSE = BASELINES[0]
"""The baseline that gains at equal counts are measured against."""

PUBLISHED_LABEL = "as published"

NEGATIVE_CANDIDATES = 20
"""Memories near a question, of which those that hold no evidence are what the side network learns to tell apart."""
RATE, EPOCHS = 0.1, 5
"""How the side network is trained."""


def _synaptic() -> tuple[Model, Model]:
    ours, theirs = Synaptic(), synaptic.FAITHFUL
    full, published = Variant("synaptic", ours), Variant(PUBLISHED_LABEL, theirs)
    earlier = Variant("earlier preset", PublishedSynaptic())
    # Without temporal score or propagation control a query reaches everything: seconds a question in a library.
    less = (
        ("no temporal score", replace(theirs, use_temporal_score=False)),
        ("no propagation control", replace(theirs, stimulus_th=0.0)),
        ("no dynamic tau", replace(theirs, use_dynamic_tau=False)),
    )
    published_ablations = tuple(
        Variant(f"published, {label}", way, memory_owner=published, reference=published, requires_dates=True)
        for label, way in less
    )
    practical_ablations = (
        Variant("no temporal score", replace(ours, use_temporal_score=False)),
        Variant("no propagation", replace(ours, max_generations=1)),
        Variant("no neuron", replace(ours, firing_fraction=0.0)),
        Variant("potential kept", replace(ours, keeps_potential=True, writes_on_store=True), requires_dates=True),
        Variant(
            "past spikes counted", replace(ours, counts_past_spikes=True, writes_on_store=True), requires_dates=True
        ),
        earlier,
        Variant("earlier, no adjacent turns", replace(PublishedSynaptic(), adjacency_tau=0.0), reference=earlier),
    )
    measurements = frozenset({PaperMeasurement.EQUAL_COUNT})
    baselines = tuple(Variant(name, strategy) for name, strategy in strategies.RETENTION.items())
    return (
        Model("synaptic", full, practical_ablations, measurements, baselines),
        Model("synaptic-faithful", published, published_ablations, measurements, baselines),
    )


def _synapse() -> Model:
    ours, theirs = Synapse(), synapse.FAITHFUL
    published = Variant(PUBLISHED_LABEL, theirs)
    return Model(
        "synapse",
        Variant("synapse", ours),
        (
            *(Variant(label, way) for label, way in paper_ablations(ours)),
            *(Variant(label, way) for label, way in addition_ablations(ours)),
            published,
            *(
                Variant(f"published, {label}", way, reference=published)
                for label, way in (*paper_ablations(theirs), *published_ablations(theirs))
            ),
        ),
        frozenset({PaperMeasurement.LOW_SIMILARITY, PaperMeasurement.GATE}),
    )


def _eisa() -> Model:
    ours, theirs = Eisa(), eisa.FAITHFUL
    published = Variant(PUBLISHED_LABEL, theirs)
    with_banks = replace(ours, necessity_classifier=theirs.necessity_classifier)
    two_banks = Variant("with two banks", with_banks)
    return Model(
        "eisa",
        Variant("eisa", ours),
        (
            Variant("no chronology", replace(ours, kappa=0.0)),
            Variant("no similarity floor", replace(ours, use_similarity_floor=False)),
            Variant("no side network", replace(ours, use_packaged_side_net=False)),
            Variant("own side network", TrainedPerFold(_train_side_network), requires_other_spaces=True),
            Variant("with threshold", replace(ours, include_below_threshold=False)),
            two_banks,
            Variant("with other bank unsearched", replace(with_banks, other_bank_weight=0.0), reference=two_banks),
            Variant("with cap of five", replace(ours, max_hits=5)),
            published,
            *(
                Variant(f"published, {label}", way, reference=published)
                for label, way in (
                    ("no chronology", replace(theirs, kappa=0.0)),
                    ("one bank", replace(theirs, necessity_classifier=None)),
                    ("no threshold", replace(theirs, include_below_threshold=True)),
                    ("other bank searched", replace(theirs, other_bank_weight=ours.other_bank_weight)),
                    ("no cap", replace(theirs, max_hits=0)),
                )
            ),
        ),
    )


def _train_side_network(spaces: Sequence[QuerySpace]) -> Eisa:
    """EISA with a side network that learned from the questions of other spaces."""
    examples = [example for space in spaces for example in _examples(space)]
    if not examples:
        return Eisa()
    return Eisa(
        side_net=learn.train_side_network(
            side_network.identity(len(examples[0].query)), examples, learning_rate=RATE, epochs=EPOCHS
        )
    )


def _examples(space: QuerySpace) -> Iterator[ContrastiveExample]:
    """For each answerable question, its evidence as positives and the nearest other rows as negatives."""
    graph = space.graph
    for place, (question, query) in enumerate(zip(space.case.questions, space.queries, strict=True)):
        gold = np.isin(space.document_numbers, space.gold_documents(place)) & (graph.vector_positions >= 0)
        if query.vector is None or not question.is_answerable or not gold.any():
            continue
        near = fusion.top_rows(dense.cosine(graph, query), filters.eligible(graph, query), NEGATIVE_CANDIDATES)
        used, unused = np.flatnonzero(gold), near[~gold[near]]
        vectors = graph.vectors.view
        yield ContrastiveExample(
            query.vector, vectors[graph.vector_positions[used]], vectors[graph.vector_positions[unused]]
        )


def _ecphory() -> Model:
    ours, theirs = Ecphory(), ecphory.FAITHFUL
    published = Variant(PUBLISHED_LABEL, theirs)
    return Model(
        "ecphory",
        Variant("ecphory", ours),
        (
            *(Variant(f"depth {L}", replace(ours, L=L)) for L in (0, 1, 2, 3) if ours.L != L),
            *(Variant(f"k_final {k}", replace(ours, k_final=k)) for k in (0, 5, 10, 20, 40, 80) if ours.k_final != k),
            Variant("no BM25", replace(ours, use_lexical_backoff=False)),
            Variant("no co-occurrence", replace(ours, use_cooccurrence=False)),
            Variant("no name cues", replace(ours, name_weight=0.0)),
            Variant("no question cue", replace(ours, question_weight=0.0)),
            Variant("ranked by the question", replace(ours, rank_by_question=True)),
            Variant("no specificity", replace(ours, use_specificity=False)),
            Variant("no certainty", replace(ours, use_certainty=False)),
            Variant("no similarity floor", replace(ours, use_similarity_floor=False)),
            Variant("no importance", replace(ours, use_importance=False)),
            published,
            *(
                Variant(f"published, depth {L}", replace(theirs, L=L), reference=published)
                for L in (0, 1, 2, 3)
                if theirs.L != L
            ),
        ),
    )


def _weave() -> Model:
    ours, theirs = Weave(), weave.FAITHFUL
    full, published = Variant("weave", ours), Variant(PUBLISHED_LABEL, theirs)
    associated = replace(ours, type_weights=replace(ours.type_weights, association=0.4))
    with_associations = Variant("with associations", associated, memory_owner=full)
    shortcut = Variant("with insights as shortcuts", replace(ours, follow_insights=True), memory_owner=full)
    ways = (
        *_weave_ablations(ours),
        ("with importance", replace(ours, w_importance=0.1)),
        ("with persona", replace(ours, w_persona=0.1)),
        ("with tiers", replace(ours, use_tiers=True)),
        ("with undated passages filtered", replace(ours, undated_time_factor=ours.outside_time_factor)),
    )
    less = (
        *_weave_ablations(theirs),
        ("no associations", replace(theirs, type_weights=replace(theirs.type_weights, association=0.0))),
        ("no insights as shortcuts", replace(theirs, follow_insights=False)),
        ("no later evidence", replace(theirs, evidence_weight=0.0)),
        ("no importance", replace(theirs, w_importance=0.0)),
        ("no persona", replace(theirs, w_persona=0.0)),
        ("no tiers", replace(theirs, use_tiers=False)),
    )
    return Model(
        "weave",
        full,
        (
            *(Variant(label, way, memory_owner=full) for label, way in ways),
            with_associations,
            Variant(
                "with associations and later evidence",
                replace(associated, evidence_weight=0.5),
                memory_owner=full,
                reference=with_associations,
            ),
            Variant("with strength by use", replace(ours, use_weight=0.5), memory_owner=full, recalls_others=True),
            shortcut,
            Variant(
                "with insights as shortcuts, also of questions",
                replace(ours, follow_insights=True, use_signifiers=False),
                reference=shortcut,
            ),
            published,
            *(Variant(f"published, {label}", way, memory_owner=published, reference=published) for label, way in less),
        ),
    )


def _weave_ablations(strategy: Weave) -> Iterator[tuple[str, Weave]]:
    """What is on in both presets, each left out."""
    weights = strategy.type_weights
    yield "no strands", replace(strategy, max_hops=0)
    yield "one hop", replace(strategy, max_hops=1)
    yield "untyped strands", replace(strategy, use_types=False)
    yield "no temporal strands", replace(strategy, type_weights=replace(weights, temporal=0.0))
    yield "no causal strands", replace(strategy, type_weights=replace(weights, causal=0.0))
    yield "no thematic strands", replace(strategy, type_weights=replace(weights, thematic=0.0))
    yield "no time filter", replace(strategy, outside_time_factor=1.0)
    yield "no expiry", replace(strategy, expired_factor=1.0)


def _fused() -> Model:
    ranker, answerability = weights.load_fused_model(DEFAULT_EMBEDDER.name)
    whole = Fused(ranker, answerability)
    return Model(
        "fused",
        BASELINES[-1],
        (
            *(
                Variant(f"without {name}", replace(whole, ranker=_without_features(ranker, columns)))
                for name, columns in feature_names_by_group().items()
                if not set(ranker.feature_names).isdisjoint(columns)  # without a weight there is nothing to leave out
            ),
            Variant("without inhibition", replace(whole, ranker=_without_features(ranker, ["redundancy"]))),
            Variant("without expiry", replace(whole, expired_penalty=0.0)),
            Variant("with decay", replace(whole, decay_policy=DecayPolicy())),
            Variant("cross-validated, one set", TrainedPerFold(_train_fused)),
        ),
    )


def _without_features(ranker: Ranker, features: Iterable[str]) -> Ranker:
    """A ranker with the weights of some features at 0, not retrained."""
    gone = frozenset(features)
    heads = (
        replace(head, weights={name: weight for name, weight in head.weights.items() if name not in gone})
        for head in ranker.models
    )
    return Ranker(*heads)


def _train_fused(spaces: Sequence[QuerySpace]) -> Fused:
    """``fused`` trained on other questions of the set only."""
    taught = train([one for space in spaces for one in _fused_examples(space)], UNTRAINED)
    return Fused(taught.ranker, taught.answerability)


@lru_cache(maxsize=256)
def _fused_examples(space: QuerySpace) -> list[FusedExample]:
    return list(training_examples.space_examples("set", space))


MODELS: Mapping[str, Model] = {
    model.name: model for model in (_fused(), *_synaptic(), _synapse(), _eisa(), _ecphory(), _weave())
}
"""Every model that can be ablated, by its name. ``synaptic-faithful`` takes K, the number of rivals' hits, from what
fires in the published model.
"""


def rival_variants(model: Model) -> list[Variant]:
    """The other models and the paper's baselines, for a model whose paper has a measurement of its own; else none."""
    others = (other.full for name, other in MODELS.items() if name not in {model.name, *strategies.FAITHFUL})
    rivals = [other for other in (*others, *model.paper_baselines) if other not in BASELINES]
    return rivals if model.paper_measurements else []


def select_models(names: Iterable[str], own: Sequence[Strategy] = ()) -> list[Model]:
    """The models of these names; without names all but those as published; raises ``UnknownName``.

    ``own`` are variants of a user, whose names begin with those of their models. Each is added to its model; the model
    of one that is not among the names has no other variants.
    """
    wanted = list(dict.fromkeys(names))
    for name in wanted:
        if name not in MODELS:
            raise UnknownName(f"no model is called {name!r}; choose one of {', '.join(MODELS)}")
    if not wanted and not own:
        wanted = [name for name in MODELS if name not in strategies.FAITHFUL]
    models = {name: MODELS[name] for name in wanted}
    for strategy in own:
        model, reference = _model_of_variant(strategy.name)
        known = models.get(model.name) or Model(model.name, model.full)
        added = [Variant(strategy.name, strategy, reference=reference)]
        if reference is not None and reference not in known.variants:
            added.insert(0, reference)
        models[model.name] = replace(known, variants=(*known.variants, *added))
    return list(models.values())


def _model_of_variant(text: str) -> tuple[Model, Variant | None]:
    """The model of a variant's name, such as ``synapse:beta=0``, and what it is compared with, if not the whole model.

    A variant of ``synapse-faithful`` belongs to the model ``synapse``, and is compared with it as published.
    """
    name, _, fields = text.partition(":")
    model = MODELS.get(name) or MODELS.get(name.removesuffix("-faithful"))
    if model is None:
        raise InvalidInput(f"strategy {text!r} has no model to compare with; the models are {', '.join(MODELS)}")
    if not fields:
        raise InvalidInput(f"strategy {text!r} is the whole model; change a field, as in {name}:FIELD=VALUE")
    is_published = name not in MODELS
    return model, next((one for one in model.variants if is_published and one.label == PUBLISHED_LABEL), None)
