"""Steps of Cognitive Weave: relational strands, clustering, extractive summaries, the oracle, particles."""
