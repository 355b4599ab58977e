"""Extractors: adapters that find names in texts."""
