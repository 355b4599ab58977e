"""Language models: in this process, or behind an endpoint."""
