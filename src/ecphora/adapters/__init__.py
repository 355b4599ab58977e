"""Adapters: a memory behind the interfaces of agent frameworks, one host a file. Each needs the host's package."""
