"""The names that features had before 0.1.0, so that weights that a user trained then still load."""

from typing import Any

FEATURES = {
    "meaning": "dense similarity",
    "context": "dense similarity with previous turn",
    "topic": "topic similarity",
    "topic in context": "topic similarity with previous turn",
    "words": "bm25",
    "words in context": "bm25 with previous turn",
    "meaning, standing out": "dense similarity z-score",
    "context, standing out": "dense similarity with previous turn z-score",
    "topic, standing out": "topic similarity z-score",
    "topic in context, standing out": "topic similarity with previous turn z-score",
    "words, standing out": "bm25 z-score",
    "words in context, standing out": "bm25 with previous turn z-score",
    "rank": "first-stage rank",
    "rarest word": "rarest term",
    "around": "window term coverage",
    "uncovered": "novel term coverage",
    "like words": "term similarity sum",
    "likest word": "term similarity max",
    "least word": "term similarity min",
    "words met": "term similarity coverage",
    "speaker": "named speaker",
    "one of them": "one of named speakers",
    "length": "turn length",
    "asks": "is question",
    "dated": "mentions time",
    "names": "entity count",
    "neighbour": "adjacent turn",
    "after": "next turn",
    "answers": "follows question",
    "session": "session score",
    "date": "date match",
    "date alone": "rare date match",
    "when": "time for when-question",
    "number": "number for how-many-question",
    "latest": "recency for now-question",
    "title": "title match",
    "names asked": "query entity coverage",
    "link": "title link",
    "shared names": "shared entities",
    "met names": "entity 1-hop",
    "met again": "entity 2-hop",
    "way": "best entity link",
    "close centroid": "centroid similarity",
    "said better": "redundancy",
    "further meaning": "residual similarity",
}
"""Of the ranker of ``fused``."""
ANSWERABILITY_FEATURES = {
    "odds of the best": "top log-odds",
    "odds together": "log sum of probabilities",
    "ahead of the tenth": "margin over tenth",
    "meaning": "dense similarity",
    "words": "bm25 fraction",
    "covered by the best": "top term coverage",
    "covered around one": "window term coverage",
    "covered together": "joint term coverage",
    "held around one": "log window idf",
    "unknown words": "out-of-corpus terms",
    "words asked": "query term count",
    "person": "names one speaker",
    "right person": "speaker margin",
    "date asked": "query has date",
    "date met": "date match",
    "unknown name": "has unknown entity",
    "looked at": "log pool size",
}
"""Of the answerability model of ``fused``."""
NECESSITY_FEATURES = {
    "asks": "is question",
    "spoken": "is utterance",
    "words": "log term count",
    "titled": "has title",
    "dated": "mentions time",
}
"""Of EISA's necessity classifier."""
_GENRES = {"spoken": "utterance", "noted": "note", "written": "passage"}


def upgrade_fused(weights: dict[str, Any]) -> dict[str, Any]:
    """Return weights of ``fused`` with today's names; weights that have them are returned unchanged."""
    if "knowing" not in weights:
        return weights
    found = {name: part for name, part in weights.items() if name not in {"knowing", *_GENRES}}
    for genre, name in _GENRES.items():
        model = weights[genre]
        found[name] = {"bias": model["bias"], "features": _rename(model["columns"], FEATURES)}
    talk, text = weights["knowing"]["talk"], weights["knowing"]["text"]
    found["answerability"] = {
        name: {"bias": model["bias"], "features": _rename(model["signs"], ANSWERABILITY_FEATURES)}
        for name, model in (("dialogue", talk), ("text", text))
    }
    return found


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


def _rename(features: dict[str, Any], names: dict[str, str]) -> dict[str, Any]:
    return {names.get(name, name): weight for name, weight in features.items()}
