"""Values of retrieval and strategies cannot be changed."""

import importlib
import pkgutil
from dataclasses import is_dataclass
from types import ModuleType

import pytest

from ecphora import retrieval, strategies


@pytest.mark.parametrize("package", [retrieval, strategies], ids=lambda package: package.__name__)
def test_values_of_retrieval_and_strategies_cannot_change(package: ModuleType) -> None:
    """They are shared by recalls that run at once, and kept with a graph."""
    names = [found.name for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")]
    defined = [
        value
        for module in map(importlib.import_module, names)
        for value in vars(module).values()
        if isinstance(value, type) and value.__module__ == module.__name__ and is_dataclass(value)
    ]
    assert len(defined) > 5
    for value in defined:
        assert value.__dataclass_params__.frozen, value  # type: ignore[attr-defined]
        assert "__slots__" in vars(value), value
