"""Cognitive Weave."""
