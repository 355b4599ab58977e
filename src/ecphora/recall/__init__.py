"""Recall: from a question to hits, their evidence and their reasons."""
