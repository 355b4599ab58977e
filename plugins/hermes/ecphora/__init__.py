"""Ecphora as the memory provider of Hermes Agent; what it does is in ``ecphora.adapters.hermes``."""

from typing import Any

from ecphora.adapters.hermes import EcphoraMemoryProvider


def register(ctx: Any) -> None:
    """Called by Hermes when it loads the folder."""
    ctx.register_memory_provider(EcphoraMemoryProvider())
