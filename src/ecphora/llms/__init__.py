"""Language models: one adapter per file."""
