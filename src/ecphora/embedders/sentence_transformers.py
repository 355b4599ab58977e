"""Any model of the package ``sentence-transformers``, on a CPU or a GPU; the extra ``[sentence-transformers]``.

Nils Reimers and Iryna Gurevych, "Sentence-BERT: Sentence Embeddings using Siamese BERT-Networks", 2019,
arXiv:1908.10084.
"""

import importlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import EmbedderUnavailable, WrongVector
from ..model import Vectors
from ..reprs import call_repr
from ..validate import check_count, check_name, check_optional_name, check_string
from .shared_model import SharedModel


class SentenceTransformersEmbedder:
    """A model by the name or path that ``SentenceTransformer`` takes; loaded by the first use of ``embed`` or ``dim``.

    ``device`` is torch's name of the device, by default the package's choice. The prefixes are put before every text of
    their kind, as the model card requires ("passage: ", "query: "). ``batch_size`` texts are run at once; padding may
    then change the last bits of a vector, which a ``batch_size`` of 1 rules out.
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
        check_name("model", model)
        check_optional_name("device", device)
        check_string("document_prefix", document_prefix)
        check_string("query_prefix", query_prefix)
        prefixes = f"({document_prefix}|{query_prefix})" if document_prefix or query_prefix else ""
        self.name = f"{model}@sentence-transformers{prefixes}"
        self._model = model
        self._device = device
        self._document_prefix = document_prefix
        self._query_prefix = query_prefix
        self._batch_size = check_count("batch_size", batch_size)
        self._shared_model: SharedModel[Any] = SharedModel(("sentence-transformers", model, device), self._load_model)
        self._dim = 0

    def __repr__(self) -> str:
        return call_repr("SentenceTransformersEmbedder", self._model)

    @property
    def dim(self) -> int:
        """The length of every vector; if none was made yet, one is made to find out."""
        if not self._dim:
            self.embed(["."])
        return self._dim

    def coverage(self, _text: str, /) -> float:
        """Always 1.0: the package does not say which scripts a model was trained on."""
        return 1.0

    def embed(self, texts: Sequence[str], /, *, is_query: bool = False) -> Vectors:
        """Embed texts, shape ``(len(texts), dim)``, unit rows; ``is_query`` chooses the prefix.

        Raises ``EmbedderUnavailable`` if the package or the model cannot be loaded, ``WrongVector`` if the model's
        answer has a wrong shape or numbers that are not finite.
        """
        if not texts:
            return np.zeros((0, self.dim), np.float32)
        prefix = self._query_prefix if is_query else self._document_prefix
        prefixed = [(prefix + text).encode("utf-8", "replace").decode("utf-8") for text in texts]
        answer = self._shared_model().encode(
            prefixed,
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
        self._dim = vectors.shape[1]
        return vectors

    def _load_model(self) -> Any:
        try:
            package = importlib.import_module("sentence_transformers")
            return package.SentenceTransformer(self._model, device=self._device)
        except ImportError as error:
            raise EmbedderUnavailable(
                f"{error}; install it with: pip install 'ecphora[sentence-transformers]'"
            ) from error
        except (OSError, ValueError, RuntimeError) as error:  # no such model, no network, no such device
            raise EmbedderUnavailable(f"cannot load the model {self._model!r}: {error}") from error
