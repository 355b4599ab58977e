"""The types of the strategies that the package names."""

from dataclasses import replace

import pytest

from ecphora import strategies


def test_types_are_those_of_the_names() -> None:
    from ecphora.strategies import Ecphory, Eisa, Fused, Synapse, Synaptic, Weave  # noqa: PLC0415

    for paper in (Fused, Synaptic, Synapse, Eisa, Ecphory, Weave):
        assert isinstance(strategies.BUILT_IN[paper().name], paper)
    assert replace(Synapse(), beta=0.0) != Synapse()


def test_other_names_are_refused() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        getattr(strategies, "Nothing")  # noqa: B009  # mypy knows that it is none
