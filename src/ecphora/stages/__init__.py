"""Steps of recall: pure functions from a cue and a graph to scores aligned with the graph's rows. One idea a file."""
