"""The strategy ``fused``: many features of a memory in one ranking, read again by a reranker."""
