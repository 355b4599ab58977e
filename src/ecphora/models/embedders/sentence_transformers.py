"""Any model of the package ``sentence-transformers``, on a CPU or a GPU; the extra ``[sentence-transformers]``.

Nils Reimers and Iryna Gurevych, "Sentence-BERT: Sentence Embeddings using Siamese BERT-Networks", 2019,
arXiv:1908.10084.
"""

import importlib
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from ...errors import EcphoraError, EmbedderUnavailable, WrongVector
from ...model.types import Vectors
from ...model.validation import check_count, check_optional_name
from .named_model import NamedModelEmbedder
from .onnx_runtime import SharedModel


class SentenceTransformersEmbedder(NamedModelEmbedder):
    """A model by the name or path that ``SentenceTransformer`` takes; loaded by the first use of ``embed`` or ``dim``.

    ``device`` is torch's name of the device, by default the package's choice. The prefixes are put before every text of
    their kind, as the model card requires ("passage: ", "query: "). ``batch_size`` texts are run at once; padding may
    then change the last bits of a vector, which a ``batch_size`` of 1 rules out. If the package or the model cannot be
    loaded, ``embed`` raises ``EmbedderUnavailable``.
    """

    def __init__(
        self,
        model: str,
        *,
        device: str | None = None,
        document_prefix: str = "",
        query_prefix: str = "",
        batch_size: int = 32,
    ) -> None:
        super().__init__(model, "sentence-transformers", document_prefix=document_prefix, query_prefix=query_prefix)
        self._device = check_optional_name("device", device)
        self._batch_size = check_count("batch_size", batch_size)
        self._shared_model: SharedModel[Any] = SharedModel(
            ("sentence-transformers", model, device),
            partial(load_model, "SentenceTransformer", model, device, EmbedderUnavailable),
        )

    def _embed_prefixed(self, texts: Sequence[str]) -> Vectors:
        answer = self._shared_model().encode(
            list(texts),
            batch_size=self._batch_size,
            normalize_embeddings=True,
            convert_to_numpy=True,
            show_progress_bar=False,
        )
        vectors: Vectors = np.asarray(answer, np.float32)
        if vectors.ndim != 2 or len(vectors) != len(texts) or vectors.shape[1] != (self._dim or vectors.shape[1]):
            raise WrongVector(f"{self._model} gave the shape {vectors.shape} for {len(texts)} texts")
        if not np.isfinite(vectors).all():
            raise WrongVector(f"{self._model} gave numbers that are not finite")
        return vectors


def load_model(kind: str, name: str, device: str | None, error_type: type[EcphoraError]) -> Any:
    """Load a model of sentence-transformers, of the class ``kind``; raises ``error_type`` where that fails."""
    try:
        return getattr(importlib.import_module("sentence_transformers"), kind)(name, device=device)
    except ImportError as error:
        raise error_type(f"{error}; install it with: pip install 'ecphora[sentence-transformers]'") from error
    except (OSError, ValueError, RuntimeError) as error:  # no such model, no network, no such device
        raise error_type(f"cannot load the model {name!r}: {error}") from error
