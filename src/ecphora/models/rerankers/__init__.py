"""Rerankers: how well each of the best memories answers the question."""
