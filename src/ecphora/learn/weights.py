"""The weights of ``fused`` as readable JSON: what columns and signs are worth, and where that was learned."""

from collections.abc import Mapping

from ..stages.knowing import SIGNS
from ..stages.ranker import Head
from ..stages.sheet import SORTS
from .files import Json, readable
from .ranking import Trained


def text(trained: Trained, provenance: Mapping[str, Json]) -> str:
    """The JSON text of weights, that :func:`ecphora.weights.fused_of` reads again."""
    ranker, knowing = trained.ranker, trained.knowing
    parts: dict[str, Json] = {"provenance": provenance}
    parts |= {sort: _head(head) for sort, head in zip(SORTS, ranker.heads, strict=True)}
    parts["knowing"] = {
        "talk": {"bias": knowing.talk_bias, "signs": _signs(knowing.talk)},
        "text": {"bias": knowing.text_bias, "signs": _signs(knowing.text)},
    }
    return readable(parts)


def _head(head: Head) -> Json:
    return {"bias": head.bias, "columns": dict(head.weights)}


def _signs(values: tuple[float, ...]) -> Json:
    return dict(zip(SIGNS, values, strict=True))
