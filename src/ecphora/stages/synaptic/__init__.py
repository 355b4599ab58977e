"""Steps of SynapticRAG: spike trains and states replayed from the access log, temporal association, propagation."""
