"""Consolidation: updates of facts, names of the same person, insights."""
