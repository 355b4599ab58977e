"""Steps of SYNAPSE: dual trigger, semantic layer, PageRank, spreading activation, dormancy."""
