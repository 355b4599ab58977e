"""Any cross-encoder of the package ``sentence-transformers``; the extra ``[sentence-transformers]``.

Rodrigo Nogueira and Kyunghyun Cho, "Passage Re-ranking with BERT", 2019, arXiv:1901.04085.
"""

import importlib
from collections.abc import Sequence
from functools import partial
from typing import Any

from ...errors import RerankerUnavailable
from ...model.validation import check_name, check_optional_name
from ..embedders.onnx_runtime import SharedModel
from ..embedders.sentence_transformers import load_model
from .pair_reranker import PairReranker


class CrossEncoderReranker(PairReranker):
    """A model by the name or path that ``CrossEncoder`` takes; loaded by the first ``score``, which may download it.

    The model must give one score per pair; the score is read as a logit, without the model's own activation. ``device``
    is torch's name of the device, by default the package's choice. ``batch_size`` pairs are run at once; padding may
    then change the last bits of a score, which a ``batch_size`` of 1 rules out. A text that is too long for the model
    is cut. If the package or the model cannot be loaded, ``score`` raises ``RerankerUnavailable``.
    """

    def __init__(self, model: str, *, device: str | None = None, batch_size: int = 16) -> None:
        self._model = check_name("model", model)
        self._device = check_optional_name("device", device)
        super().__init__(f"{model}@cross-encoder", batch_size=batch_size, scale="log_odds")
        self._shared_model: SharedModel[Any] = SharedModel(
            ("cross-encoder", model, device), partial(load_model, "CrossEncoder", model, device, RerankerUnavailable)
        )

    def _score(self, question: str, texts: Sequence[str]) -> object:
        model = self._shared_model()
        identity = importlib.import_module("torch.nn").Identity()
        try:
            return model.predict(
                [(question, text) for text in texts],
                batch_size=self.batch_size,
                activation_fn=identity,
                convert_to_numpy=True,
                show_progress_bar=False,
            )
        except (ValueError, RuntimeError) as error:  # no memory left, or a model of another kind
            raise RerankerUnavailable(f"{self._model} gives no scores: {error}") from error
