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
from .share import Share


class SentenceTransformersEmbedder:
    """A model by the name or path that ``SentenceTransformer`` takes; loaded by the first use of ``embed`` or ``dim``.

    ``device`` is torch's name of it, by default what the package finds best. The prefixes are put before every text of
    their kind, as the model's card asks ("passage: ", "query: "). ``batch`` texts are run at once; padding may then
    move the last bits of a vector, a ``batch`` of 1 rules that out.
    """

    def __init__(
        self,
        model: str,
        *,
        device: str | None = None,
        document_prefix: str = "",
        cue_prefix: str = "",
        batch: int = 32,
    ) -> None:
        check_name("model", model)
        check_optional_name("device", device)
        check_string("document_prefix", document_prefix)
        check_string("cue_prefix", cue_prefix)
        prefixes = f"({document_prefix}|{cue_prefix})" if document_prefix or cue_prefix else ""
        self.name = f"{model}@sentence-transformers{prefixes}"
        self._model = model
        self._device = device
        self._document_prefix = document_prefix
        self._cue_prefix = cue_prefix
        self._batch = check_count("batch", batch)
        self._loaded: Share[Any] = Share(("sentence-transformers", model, device), self._load)
        self._dim = 0

    def __repr__(self) -> str:
        return call_repr("SentenceTransformersEmbedder", self._model)

    @property
    def dim(self) -> int:
        """The length of every vector; where none was made yet, one is made to see."""
        if not self._dim:
            self.embed(["."])
        return self._dim

    def reads(self, _text: str, /) -> float:
        """Always 1.0: the package does not say which scripts a model was trained on."""
        return 1.0

    def embed(self, texts: Sequence[str], /, *, cue: bool = False) -> Vectors:
        """Embed texts, shape ``(len(texts), dim)``, unit rows; ``cue`` chooses the prefix.

        Raises ``EmbedderUnavailable`` where the package or the model cannot be loaded, ``WrongVector`` where the
        model's answer has another shape or numbers that are not finite.
        """
        if not texts:
            return np.zeros((0, self.dim), np.float32)
        prefix = self._cue_prefix if cue else self._document_prefix
        given = [(prefix + text).encode("utf-8", "replace").decode("utf-8") for text in texts]
        answer = self._loaded().encode(
            given,
            batch_size=self._batch,
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

    def _load(self) -> Any:
        try:
            package = importlib.import_module("sentence_transformers")
            return package.SentenceTransformer(self._model, device=self._device)
        except ImportError as error:
            raise EmbedderUnavailable(
                f"{error}; install it with: pip install 'ecphora[sentence-transformers]'"
            ) from error
        except (OSError, ValueError, RuntimeError) as error:  # no such model, no network, no such device
            raise EmbedderUnavailable(f"cannot load the model {self._model!r}: {error}") from error
