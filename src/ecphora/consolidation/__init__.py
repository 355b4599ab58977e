"""Consolidation: what is planned from new memories, namely claims and updates, aliases of entities, and insights."""
