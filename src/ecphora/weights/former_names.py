"""The names that features had before 0.1.0, so that weights that a user trained then still load."""

from typing import Any

NECESSITY_FEATURES = {
    "asks": "is question",
    "spoken": "is utterance",
    "words": "log term count",
    "titled": "has title",
    "dated": "mentions time",
}
"""Of EISA's necessity classifier."""


def upgrade_necessity(weights: dict[str, Any]) -> dict[str, Any]:
    """Return weights of EISA's necessity classifier with today's names."""
    if "columns" not in weights:
        return weights
    found = {name: part for name, part in weights.items() if name not in {"columns", "alone", "reading"}}
    found["features"] = [NECESSITY_FEATURES.get(name, name) for name in weights["columns"]]
    for former, name in (("alone", "feature_model"), ("reading", "vector_model")):
        model = weights[former]
        found[name] = {"bias": model["bias"], "feature_weights": model["columns"], "vector_weights": model["vector"]}
    return found
