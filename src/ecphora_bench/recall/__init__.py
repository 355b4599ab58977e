"""Recall on benchmark sets: the run, its metrics, figures and report."""
