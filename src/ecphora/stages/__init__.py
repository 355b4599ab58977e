"""Steps of recall: pure functions from a query and a graph to scores aligned with the graph's rows, one idea a file."""
