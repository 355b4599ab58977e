"""SYNAPSE."""
