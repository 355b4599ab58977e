"""Steps of EcphoryRAG: cue matching, search over engrams, co-occurrence."""
