"""Training of weights from questions whose evidence is known."""

from .regression import fit_logistic
from .side_network_training import (
    TrainingInfo,
    examples_from_log,
    load_side_network,
    save_side_network,
    train_side_network,
)
from .weight_files import Json, format_json

__all__ = [
    "Json",
    "TrainingInfo",
    "examples_from_log",
    "fit_logistic",
    "format_json",
    "load_side_network",
    "save_side_network",
    "train_side_network",
]
