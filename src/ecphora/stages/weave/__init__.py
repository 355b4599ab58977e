"""Steps of Cognitive Weave: particles, strands, clustering, summaries and their objective, insight aggregates."""
