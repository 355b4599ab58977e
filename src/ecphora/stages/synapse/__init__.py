"""Steps of SYNAPSE: dual trigger, the layer of concepts and edges, spreading activation, tunneling, gate, dormancy."""
