"""SynapticRAG, and the baselines of its paper."""
