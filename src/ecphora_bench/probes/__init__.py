"""Probes: what people do in their first minutes with a memory, as questions with known answers."""
