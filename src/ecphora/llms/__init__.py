"""Language models, one adapter a file."""
