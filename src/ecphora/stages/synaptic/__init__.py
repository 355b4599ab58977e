"""Steps of SynapticRAG: neurons, spike trains, membrane states replayed from the access log, propagation."""
