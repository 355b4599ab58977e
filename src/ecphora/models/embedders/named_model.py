"""What embedders of any model have in common: its name, its prefixes, and a dimension that the first vector tells."""

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np

from ...model.reprs import call_repr
from ...model.text_format import replace_surrogates
from ...model.types import Vectors
from ...model.validation import check_name, check_string


class NamedModelEmbedder(ABC):
    """An embedder of a model that its user names; ``backend`` is what runs it.

    The prefixes are put before every text of their kind, as some models require ("passage: ", "query: "); they are part
    of the embedder's name, since other prefixes give other vectors.
    """

    def __init__(self, model: str, backend: str, *, document_prefix: str, query_prefix: str) -> None:
        check_name("model", model)
        check_string("document_prefix", document_prefix)
        check_string("query_prefix", query_prefix)
        prefixes = f"({document_prefix}|{query_prefix})" if document_prefix or query_prefix else ""
        self.name = f"{model}@{backend}{prefixes}"
        self._model = model
        self._document_prefix = document_prefix
        self._query_prefix = query_prefix
        self._dim = 0

    def __repr__(self) -> str:
        return call_repr(type(self).__name__, self._model)

    @property
    def dim(self) -> int:
        """The length of every vector; if it is not known yet, one text is embedded to find out."""
        if not self._dim:
            self.embed(["."])
        return self._dim

    def coverage(self, _text: str, /) -> float:
        """Always 1.0: nothing says which scripts the model was trained on."""
        return 1.0

    def embed(self, texts: Sequence[str], /, *, is_query: bool = False) -> Vectors:
        """Embed texts, shape ``(len(texts), dim)``, unit rows; ``is_query`` chooses the prefix.

        Raises ``EmbedderUnavailable`` if the model cannot be used, ``WrongVector`` if it returns a wrong number or
        length of vectors, or numbers that are not finite.
        """
        if not texts:
            return np.zeros((0, self.dim), np.float32)
        prefix = self._query_prefix if is_query else self._document_prefix
        vectors = self._embed_prefixed([replace_surrogates(prefix + text) for text in texts])
        self._dim = vectors.shape[1]
        return vectors

    @abstractmethod
    def _embed_prefixed(self, texts: Sequence[str]) -> Vectors:
        """Embed at least one text with its prefix, as unit rows; a ``_dim`` above 0 is the required length of a row."""
