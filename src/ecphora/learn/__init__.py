"""Training: what turns questions with known evidence into weights. It recalls nothing."""

from .files import Json, readable
from .regression import logistic
from .sidenet import Provenance, learn, load, logged, save

__all__ = ["Json", "Provenance", "learn", "load", "logged", "logistic", "readable", "save"]
