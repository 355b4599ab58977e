"""Clients of an Ecphora server. Nothing is imported here."""
