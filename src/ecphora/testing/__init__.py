"""Contract tests for stores, strategies, importers, adapters of hosts and of models, for whoever writes their own.

Subclass a contract in a test module and define the one fixture or attribute that it needs::

    class TestMyStore(StoreContract):
        supports_processes = True

        @pytest.fixture
        def locations(self, tmp_path_factory):
            return lambda: functools.partial(MyStore, tmp_path_factory.mktemp("store") / "memory")

The tests of stores with random histories need Hypothesis; the others need only the package.

For tests of a memory of your own there are :func:`must_recall`, :func:`must_not_recall`, and :class:`Golden`, which the
fixture ``ecphora_golden`` of the pytest plug-in returns.
"""

from .adapters import AdapterContract, AdapterDriver
from .embedders import EmbedderContract
from .extractors import ExtractorContract
from .golden import Golden
from .importers import ImporterContract
from .llms import FakeChatServer, LLMContract, ScriptedLLM
from .recall_checks import Expected, RecallArguments, must_not_recall, must_recall
from .rerankers import ConstantReranker, FakeRerankServer, OverlapReranker, RerankerContract
from .samples import (
    NOON,
    SAMPLE_EMBEDDER,
    SCOPE,
    TURNS,
    FakeClock,
    StoreOpener,
    graph_differences,
    sample_analysis,
    sample_batch,
    sample_english_vector,
    sample_entity,
    sample_graph,
    sample_node,
    sample_query,
    sample_question_batch,
    sample_vector,
)
from .stores import Locations, StoreContract
from .strategies import StrategyContract
from .update_scorers import ConstantScorer, FactUpdateScorerContract, OverlapScorer

__all__ = [
    "NOON",
    "SAMPLE_EMBEDDER",
    "SCOPE",
    "TURNS",
    "AdapterContract",
    "AdapterDriver",
    "ConstantReranker",
    "ConstantScorer",
    "EmbedderContract",
    "Expected",
    "ExtractorContract",
    "FactUpdateScorerContract",
    "FakeChatServer",
    "FakeClock",
    "FakeRerankServer",
    "Golden",
    "ImporterContract",
    "LLMContract",
    "Locations",
    "OverlapReranker",
    "OverlapScorer",
    "RecallArguments",
    "RerankerContract",
    "ScriptedLLM",
    "StoreContract",
    "StoreOpener",
    "StrategyContract",
    "graph_differences",
    "must_not_recall",
    "must_recall",
    "sample_analysis",
    "sample_batch",
    "sample_english_vector",
    "sample_entity",
    "sample_graph",
    "sample_node",
    "sample_query",
    "sample_question_batch",
    "sample_vector",
]
