"""Trained numbers that come with the package, as readable JSON that says how they were trained and how they err.

Nothing is trained here: see ``scripts`` for that, and :mod:`ecphora.learn`.
"""

import json
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from ..errors import InvalidRecord
from ..stages.knowing import SIGNS, Knowing
from ..stages.ranker import Head, Ranker
from ..stages.sheet import SORTS

if TYPE_CHECKING:  # each strategy pays for its own
    from ..stages.comparing import Judge
    from ..stages.need import Encm


@cache
def encm(embedder: str | None = None) -> "Encm":
    """EISA's necessity checker, trained on the lines of ``scripts/data/encm.jsonl``.

    With the name of the embedder whose vectors it was trained on, it reads vectors too. With any other name, or none,
    it judges by columns alone: another embedder's vectors would mean nothing to it.
    """
    return encm_of(files(__package__).joinpath("encm.json").read_text(encoding="utf-8"), embedder)


def encm_of(text: str, embedder: str | None = None) -> "Encm":
    """A checker as it stands in a JSON text."""
    from ..stages.need import COLUMNS, Encm, Head  # noqa: PLC0415

    found = json.loads(text)
    if tuple(found["columns"]) != COLUMNS:
        raise InvalidRecord(f"a checker trained on the columns {found['columns']}, not {COLUMNS}; train it anew")
    alone, reading = found["alone"], found["reading"]
    return Encm(
        alone=Head(alone["bias"], tuple(alone["columns"])),
        reading=Head(reading["bias"], tuple(reading["columns"]), tuple(reading["vector"]))
        if embedder is not None and embedder == found["embedder"]
        else None,
        threshold=found["threshold"],
    )


# ---- fused


@cache
def fused() -> tuple[Ranker, Knowing]:
    """What columns and signs are worth in ``fused``: trained by ``ecphora learn`` on sets whose licence allows it."""
    return fused_of(files(__package__).joinpath("fused.json").read_text(encoding="utf-8"))


def fused_of(text: str) -> tuple[Ranker, Knowing]:
    """Both as they stand in a JSON text; raises ``InvalidRecord`` for one that does not hold them."""
    try:
        found = json.loads(text)
        ranker = Ranker(*(_head(found[name]) for name in SORTS))
        talk, text_ = (found["knowing"][name] for name in ("talk", "text"))
        knowing = Knowing(_signs(talk), float(talk["bias"]), _signs(text_), float(text_["bias"]))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InvalidRecord(f"no weights of fused ({error!r}); make them with ecphora learn") from error
    return ranker, knowing


def _head(found: dict[str, Any]) -> Head:
    return Head(float(found["bias"]), {str(name): float(weight) for name, weight in found["columns"].items()})


def _signs(found: dict[str, Any]) -> tuple[float, ...]:
    if strange := found["signs"].keys() - set(SIGNS):
        raise KeyError(f"there is no sign {min(strange)!r}")
    return tuple(float(found["signs"].get(name, 0.0)) for name in SIGNS)


# ---- changes of facts


@cache
def changes() -> "Judge":
    """What tells that a later memory replaces an earlier one, trained by ``scripts/train_changes.py``."""
    return changes_of(files(__package__).joinpath("changes.json").read_text(encoding="utf-8"))


def changes_of(text: str) -> "Judge":
    """The gate and the judge as they stand in a JSON text; raises ``InvalidRecord`` for one that does not hold them."""
    from ..stages.comparing import GATE, SIGNS, Judge  # noqa: PLC0415

    try:
        found = json.loads(text)
        return Judge(_named(found["gate"], GATE), _named(found["judge"], SIGNS))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InvalidRecord(f"no weights of changes ({error!r}); make them with scripts/train_changes.py") from error


def _named(found: dict[str, Any], names: tuple[str, ...]) -> Head:
    if strange := found["signs"].keys() - set(names):
        raise KeyError(f"there is no sign {min(strange)!r}")
    return Head(float(found["bias"]), {str(name): float(weight) for name, weight in found["signs"].items()})
