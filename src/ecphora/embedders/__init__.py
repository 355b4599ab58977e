"""Embedders: adapters that turn texts into vectors."""
