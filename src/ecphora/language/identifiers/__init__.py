"""Codes, numbers, addresses and quantities in texts."""
