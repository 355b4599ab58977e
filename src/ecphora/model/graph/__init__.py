"""A scope's graph in columns, and what changes it."""
