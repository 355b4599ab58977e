"""Insights: what several memories say together. Cognitive Weave, Algorithm 1."""
