"""Contracts for stores, strategies, embedders, cross-encoders and language models, for those who write their own.

There are no fixtures. Subclass a contract in a test module and give it the one fixture it asks for::

    class TestMyStore(StoreContract):
        processes = True

        @pytest.fixture
        def locations(self, tmp_path_factory):
            return lambda: functools.partial(MyStore, tmp_path_factory.mktemp("store") / "memory")

The tests of stores and graphs that try many histories need Hypothesis; nothing else here needs more than the package.
"""

from .comparers import ConstantCrossEncoder, CrossEncoderContract, Overlap
from .embedders import EmbedderContract
from .llms import ChatServer, LLMContract, ScriptedLLM
from .samples import (
    NOON,
    SAMPLES,
    SCOPE,
    TURNS,
    FakeClock,
    Opener,
    differences,
    sample_change,
    sample_cue,
    sample_graph,
    sample_name,
    sample_node,
    sample_question,
    sample_reading,
    sample_vector,
)
from .stores import Locations, StoreContract
from .strategies import StrategyContract

__all__ = [
    "NOON",
    "SAMPLES",
    "SCOPE",
    "TURNS",
    "ChatServer",
    "ConstantCrossEncoder",
    "CrossEncoderContract",
    "EmbedderContract",
    "FakeClock",
    "LLMContract",
    "Locations",
    "Opener",
    "Overlap",
    "ScriptedLLM",
    "StoreContract",
    "StrategyContract",
    "differences",
    "sample_change",
    "sample_cue",
    "sample_graph",
    "sample_name",
    "sample_node",
    "sample_question",
    "sample_reading",
    "sample_vector",
]
