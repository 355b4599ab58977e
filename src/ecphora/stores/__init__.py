"""Stores: one SQLite file, and a temporary one."""
