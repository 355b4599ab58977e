"""How many results a call returns by default: in Python, on the command line, by HTTP and in tools."""

RECALL_LIMIT = 10
"""Memories of a recall."""
LIST_LIMIT = 20
"""Items of a list, such as a page of ``find``."""
