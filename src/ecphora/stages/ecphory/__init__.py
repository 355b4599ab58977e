"""Steps of EcphoryRAG: cue matching, the engram index and its search, weights, co-occurrence, chunk search."""
