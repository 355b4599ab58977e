"""Readers: adapters that score whether a memory answers a question."""
